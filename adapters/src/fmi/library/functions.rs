//! The functions of FMI 3.0 that the import uses, by name.
use super::callbacks::{Env, Logger, Update};
use libloading::Library;
use std::{
    ffi::{c_char, c_void},
    path::Path,
};

pub(super) type Raw = *mut c_void;
pub(super) type Plain = unsafe extern "C" fn(Raw) -> i32;
pub(super) type Get<T> = unsafe extern "C" fn(Raw, *const u32, usize, *mut T, usize) -> i32;
pub(super) type Set<T> = unsafe extern "C" fn(Raw, *const u32, usize, *const T, usize) -> i32;

macro_rules! functions {
    ($($field:ident: $symbol:literal => $ty:ty;)*) => {
        /// The functions of one binary.
        pub struct Functions {
            $(pub(super) $field: $ty,)*
            // Last, so that it is unloaded after nothing points into it any more.
            pub(super) binary: Option<Library>,
        }
        impl Functions {
            /// Loads a binary.
            ///
            /// # Errors
            /// When the system cannot load the library (with its message), or a function is
            /// missing.
            pub fn load(path: &Path) -> Result<Self, String> {
                // SAFETY: loading runs the binary's initialisers; the user chose the FMU.
                let library = unsafe { Library::new(path) }.map_err(|e| e.to_string())?;
                $(
                    // SAFETY: the symbol has this type in FMI 3.0; the pointer is kept beside the
                    // library only.
                    let $field = *unsafe { library.get::<$ty>(concat!($symbol, "\0").as_bytes()) }
                        .map_err(|_| concat!("the binary has no function ", $symbol).to_owned())?;
                )*
                Ok(Self { $($field,)* binary: Some(library) })
            }
        }
    };
}

functions! {
    version: "fmi3GetVersion" => unsafe extern "C" fn() -> *const c_char;
    instantiate: "fmi3InstantiateCoSimulation" => unsafe extern "C" fn(
        *const c_char, *const c_char, *const c_char, bool, bool, bool, bool,
        *const u32, usize, Env, Logger, Update) -> Raw;
    free: "fmi3FreeInstance" => unsafe extern "C" fn(Raw);
    enter_initialization: "fmi3EnterInitializationMode" =>
        unsafe extern "C" fn(Raw, bool, f64, f64, bool, f64) -> i32;
    exit_initialization: "fmi3ExitInitializationMode" => Plain;
    enter_event_mode: "fmi3EnterEventMode" => Plain;
    enter_step_mode: "fmi3EnterStepMode" => Plain;
    terminate: "fmi3Terminate" => Plain;
    update: "fmi3UpdateDiscreteStates" => unsafe extern "C" fn(
        Raw, *mut bool, *mut bool, *mut bool, *mut bool, *mut bool, *mut f64) -> i32;
    do_step: "fmi3DoStep" => unsafe extern "C" fn(
        Raw, f64, f64, bool, *mut bool, *mut bool, *mut bool, *mut f64) -> i32;
    get_float64: "fmi3GetFloat64" => Get<f64>;
    set_float64: "fmi3SetFloat64" => Set<f64>;
    get_float32: "fmi3GetFloat32" => Get<f32>;
    set_float32: "fmi3SetFloat32" => Set<f32>;
    get_int8: "fmi3GetInt8" => Get<i8>;
    set_int8: "fmi3SetInt8" => Set<i8>;
    get_uint8: "fmi3GetUInt8" => Get<u8>;
    set_uint8: "fmi3SetUInt8" => Set<u8>;
    get_int16: "fmi3GetInt16" => Get<i16>;
    set_int16: "fmi3SetInt16" => Set<i16>;
    get_uint16: "fmi3GetUInt16" => Get<u16>;
    set_uint16: "fmi3SetUInt16" => Set<u16>;
    get_int32: "fmi3GetInt32" => Get<i32>;
    set_int32: "fmi3SetInt32" => Set<i32>;
    get_uint32: "fmi3GetUInt32" => Get<u32>;
    set_uint32: "fmi3SetUInt32" => Set<u32>;
    get_int64: "fmi3GetInt64" => Get<i64>;
    set_int64: "fmi3SetInt64" => Set<i64>;
    get_uint64: "fmi3GetUInt64" => Get<u64>;
    set_uint64: "fmi3SetUInt64" => Set<u64>;
    get_bool: "fmi3GetBoolean" => Get<u8>;
    set_bool: "fmi3SetBoolean" => Set<u8>;
    set_string: "fmi3SetString" => Set<*const c_char>;
    output_derivatives: "fmi3GetOutputDerivatives" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const i32, *mut f64, usize) -> i32;
    directional: "fmi3GetDirectionalDerivative" => unsafe extern "C" fn(
        Raw, *const u32, usize, *const u32, usize, *const f64, usize, *mut f64, usize) -> i32;
    get_state: "fmi3GetFMUState" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    set_state: "fmi3SetFMUState" => unsafe extern "C" fn(Raw, Raw) -> i32;
    free_state: "fmi3FreeFMUState" => unsafe extern "C" fn(Raw, *mut Raw) -> i32;
    state_size: "fmi3SerializedFMUStateSize" => unsafe extern "C" fn(Raw, Raw, *mut usize) -> i32;
    serialize: "fmi3SerializeFMUState" =>
        unsafe extern "C" fn(Raw, Raw, *mut u8, usize) -> i32;
    deserialize: "fmi3DeserializeFMUState" =>
        unsafe extern "C" fn(Raw, *const u8, usize, *mut Raw) -> i32;
}
