//! The functions of FMI 3.0 that the import uses.
use super::{
    callbacks::{Env, Logger, Update},
    table::{Plain, Raw, table},
};
use std::ffi::c_char;

pub(super) type Get<T> = unsafe extern "C" fn(Raw, *const u32, usize, *mut T, usize) -> i32;
pub(super) type Set<T> = unsafe extern "C" fn(Raw, *const u32, usize, *const T, usize) -> i32;
pub(super) type Fill = unsafe extern "C" fn(Raw, *mut f64, usize) -> i32;
pub(super) type Count = unsafe extern "C" fn(Raw, *mut usize) -> i32;
pub(super) type Name = *const c_char;

// Truth values that the FMU writes are read as bytes: every byte is one.
table! {
    all version: "fmi3GetVersion" => unsafe extern "C" fn() -> Name;
    cs instantiate_cs: "fmi3InstantiateCoSimulation" => unsafe extern "C" fn(
        Name, Name, Name, bool, bool, bool, bool, *const u32, usize, Env, Logger, Update) -> Raw;
    me instantiate_me: "fmi3InstantiateModelExchange" => unsafe extern "C" fn(
        Name, Name, Name, bool, bool, Env, Logger) -> Raw;
    all free: "fmi3FreeInstance" => unsafe extern "C" fn(Raw);
    all enter_initialization: "fmi3EnterInitializationMode" =>
        unsafe extern "C" fn(Raw, bool, f64, f64, bool, f64) -> i32;
    all exit_initialization: "fmi3ExitInitializationMode" => Plain;
    none enter_configuration: "fmi3EnterConfigurationMode" => Plain;
    none exit_configuration: "fmi3ExitConfigurationMode" => Plain;
    me enter_event_mode: "fmi3EnterEventMode" => Plain;
    none enter_step_mode: "fmi3EnterStepMode" => Plain;
    me enter_continuous: "fmi3EnterContinuousTimeMode" => Plain;
    none reset: "fmi3Reset" => Plain;
    all terminate: "fmi3Terminate" => Plain;
    me update: "fmi3UpdateDiscreteStates" => unsafe extern "C" fn(
        Raw, *mut u8, *mut u8, *mut u8, *mut u8, *mut u8, *mut f64) -> i32;
    cs do_step: "fmi3DoStep" => unsafe extern "C" fn(
        Raw, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64) -> i32;
    me set_time: "fmi3SetTime" => unsafe extern "C" fn(Raw, f64) -> i32;
    me set_states: "fmi3SetContinuousStates" =>
        unsafe extern "C" fn(Raw, *const f64, usize) -> i32;
    me get_states: "fmi3GetContinuousStates" => Fill;
    me get_derivatives: "fmi3GetContinuousStateDerivatives" => Fill;
    me get_indicators: "fmi3GetEventIndicators" => Fill;
    none get_nominals: "fmi3GetNominalsOfContinuousStates" => Fill;
    none count_states: "fmi3GetNumberOfContinuousStates" => Count;
    none count_indicators: "fmi3GetNumberOfEventIndicators" => Count;
    none completed: "fmi3CompletedIntegratorStep" =>
        unsafe extern "C" fn(Raw, bool, *mut u8, *mut u8) -> i32;
    none get_float64: "fmi3GetFloat64" => Get<f64>;
    none set_float64: "fmi3SetFloat64" => Set<f64>;
    none get_float32: "fmi3GetFloat32" => Get<f32>;
    none set_float32: "fmi3SetFloat32" => Set<f32>;
    none get_int8: "fmi3GetInt8" => Get<i8>;
    none set_int8: "fmi3SetInt8" => Set<i8>;
    none get_uint8: "fmi3GetUInt8" => Get<u8>;
    none set_uint8: "fmi3SetUInt8" => Set<u8>;
    none get_int16: "fmi3GetInt16" => Get<i16>;
    none set_int16: "fmi3SetInt16" => Set<i16>;
    none get_uint16: "fmi3GetUInt16" => Get<u16>;
    none set_uint16: "fmi3SetUInt16" => Set<u16>;
    none get_int32: "fmi3GetInt32" => Get<i32>;
    none set_int32: "fmi3SetInt32" => Set<i32>;
    none get_uint32: "fmi3GetUInt32" => Get<u32>;
    none set_uint32: "fmi3SetUInt32" => Set<u32>;
    none get_int64: "fmi3GetInt64" => Get<i64>;
    none set_int64: "fmi3SetInt64" => Set<i64>;
    none get_uint64: "fmi3GetUInt64" => Get<u64>;
    none set_uint64: "fmi3SetUInt64" => Set<u64>;
    none get_bool: "fmi3GetBoolean" => Get<u8>;
    none set_bool: "fmi3SetBoolean" => Set<u8>;
    none get_string: "fmi3GetString" => Get<Name>;
    none set_string: "fmi3SetString" => Set<Name>;
    none get_binary: "fmi3GetBinary" => unsafe extern "C" fn(
        Raw, *const u32, usize, *mut usize, *mut *const u8, usize) -> i32;
    none set_binary: "fmi3SetBinary" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const usize, *const *const u8, usize) -> i32;
    none output_derivatives: "fmi3GetOutputDerivatives" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const i32, *mut f64, usize) -> i32;
    none directional: "fmi3GetDirectionalDerivative" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const u32, usize, *const f64, usize, *mut f64, usize) -> i32;
    none adjoint: "fmi3GetAdjointDerivative" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const u32, usize, *const f64, usize, *mut f64, usize) -> i32;
    none get_state: "fmi3GetFMUState" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    none set_state: "fmi3SetFMUState" => unsafe extern "C" fn(Raw, Raw) -> i32;
    none free_state: "fmi3FreeFMUState" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    none state_size: "fmi3SerializedFMUStateSize" =>
        unsafe extern "C" fn(Raw, Raw, *mut usize) -> i32;
    none serialize: "fmi3SerializeFMUState" =>
        unsafe extern "C" fn(Raw, Raw, *mut u8, usize) -> i32;
    none deserialize: "fmi3DeserializeFMUState" =>
        unsafe extern "C" fn(Raw, *const u8, usize, *mut Raw) -> i32;
}
