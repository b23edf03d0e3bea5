//! The functions of FMI 2.0 that the import uses.
use super::{
    callbacks::Callbacks2,
    table::{Plain, Raw, table},
    v3::Name,
};
use std::ffi::c_int;

pub(super) type Get<T> = unsafe extern "C" fn(Raw, *const u32, usize, *mut T) -> i32;
pub(super) type Set<T> = unsafe extern "C" fn(Raw, *const u32, usize, *const T) -> i32;
pub(super) type Fill = unsafe extern "C" fn(Raw, *mut f64, usize) -> i32;

/// `fmi2EventInfo`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventInfo {
    pub again: c_int,
    pub terminate: c_int,
    pub nominals: c_int,
    pub values: c_int,
    pub defined: c_int,
    pub next: f64,
}

/// `fmi2Type`.
pub(super) const MODEL_EXCHANGE: c_int = 0;
pub(super) const CO_SIMULATION: c_int = 1;
/// `fmi2StatusKind`.
pub(super) const LAST_SUCCESSFUL_TIME: c_int = 2;
pub(super) const TERMINATED: c_int = 3;

table! {
    all version: "fmi2GetVersion" => unsafe extern "C" fn() -> Name;
    all instantiate: "fmi2Instantiate" => unsafe extern "C" fn(
        Name, c_int, Name, Name, *const Callbacks2, c_int, c_int) -> Raw;
    all free: "fmi2FreeInstance" => unsafe extern "C" fn(Raw);
    all setup: "fmi2SetupExperiment" =>
        unsafe extern "C" fn(Raw, c_int, f64, f64, c_int, f64) -> i32;
    all enter_initialization: "fmi2EnterInitializationMode" => Plain;
    all exit_initialization: "fmi2ExitInitializationMode" => Plain;
    me enter_event_mode: "fmi2EnterEventMode" => Plain;
    me enter_continuous: "fmi2EnterContinuousTimeMode" => Plain;
    none reset: "fmi2Reset" => Plain;
    all terminate: "fmi2Terminate" => Plain;
    me update: "fmi2NewDiscreteStates" => unsafe extern "C" fn(Raw, *mut EventInfo) -> i32;
    cs do_step: "fmi2DoStep" => unsafe extern "C" fn(Raw, f64, f64, c_int) -> i32;
    none cancel: "fmi2CancelStep" => Plain;
    none real_status: "fmi2GetRealStatus" => unsafe extern "C" fn(Raw, c_int, *mut f64) -> i32;
    none bool_status: "fmi2GetBooleanStatus" =>
        unsafe extern "C" fn(Raw, c_int, *mut c_int) -> i32;
    me set_time: "fmi2SetTime" => unsafe extern "C" fn(Raw, f64) -> i32;
    me set_states: "fmi2SetContinuousStates" =>
        unsafe extern "C" fn(Raw, *const f64, usize) -> i32;
    me get_states: "fmi2GetContinuousStates" => Fill;
    me get_derivatives: "fmi2GetDerivatives" => Fill;
    me get_indicators: "fmi2GetEventIndicators" => Fill;
    none get_nominals: "fmi2GetNominalsOfContinuousStates" => Fill;
    none completed: "fmi2CompletedIntegratorStep" =>
        unsafe extern "C" fn(Raw, c_int, *mut c_int, *mut c_int) -> i32;
    none get_real: "fmi2GetReal" => Get<f64>;
    none set_real: "fmi2SetReal" => Set<f64>;
    none get_integer: "fmi2GetInteger" => Get<c_int>;
    none set_integer: "fmi2SetInteger" => Set<c_int>;
    none get_bool: "fmi2GetBoolean" => Get<c_int>;
    none set_bool: "fmi2SetBoolean" => Set<c_int>;
    none get_string: "fmi2GetString" => Get<Name>;
    none set_string: "fmi2SetString" => Set<Name>;
    none input_derivatives: "fmi2SetRealInputDerivatives" =>
        unsafe extern "C" fn(Raw, *const u32, usize, *const c_int, *const f64) -> i32;
    none output_derivatives: "fmi2GetRealOutputDerivatives" =>
        unsafe extern "C" fn(Raw, *const u32, usize, *const c_int, *mut f64) -> i32;
    none directional: "fmi2GetDirectionalDerivative" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const u32, usize, *const f64, *mut f64) -> i32;
    none get_state: "fmi2GetFMUstate" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    none set_state: "fmi2SetFMUstate" => unsafe extern "C" fn(Raw, Raw) -> i32;
    none free_state: "fmi2FreeFMUstate" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    none state_size: "fmi2SerializedFMUstateSize" =>
        unsafe extern "C" fn(Raw, Raw, *mut usize) -> i32;
    none serialize: "fmi2SerializeFMUstate" =>
        unsafe extern "C" fn(Raw, Raw, *mut u8, usize) -> i32;
    none deserialize: "fmi2DeSerializeFMUstate" =>
        unsafe extern "C" fn(Raw, *const u8, usize, *mut Raw) -> i32;
}
