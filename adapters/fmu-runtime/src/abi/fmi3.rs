//! FMI 3.0 for co-simulation (FMI 3.0.1, chapter 4).
use super::{
    Handle, Logger, OK,
    fmi2::{absent, plain},
    get_all, get_texts, int, list, list_mut, put, real, set_all, text, truth,
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::PathBuf,
};

type LogMessage = Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char)>;

#[unsafe(no_mangle)]
extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi3SetDebugLogging(_: *mut c_void, _: bool, _: usize, _: *const c_void) -> c_int {
    OK
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateModelExchange() -> *mut c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateScheduledExecution() -> *mut c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateCoSimulation(
    _name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: bool,
    _logging: bool,
    _events: bool,
    _early: bool,
    _intermediate: *const u32,
    _intermediates: usize,
    environment: *mut c_void,
    log: LogMessage,
    _update: *const c_void,
) -> *mut c_void {
    let log: Logger = Box::new(move |status, category: &CStr, message: &CStr| {
        if let Some(log) = log {
            // SAFETY: the importer's function, with texts that live as long as the call.
            unsafe { log(environment, status, category.as_ptr(), message.as_ptr()) };
        }
    });
    // SAFETY: texts are as the standard has them.
    unsafe { Handle::create(text(resources).map(PathBuf::from), token, log) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3FreeInstance(handle: *mut c_void) {
    // SAFETY: as the standard has it.
    unsafe { Handle::free(handle) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3EnterInitializationMode(
    handle: *mut c_void,
    _tolerance_defined: bool,
    _tolerance: f64,
    start: f64,
    stop_defined: bool,
    stop: f64,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe {
        Handle::with(handle, |instance, _| {
            instance.enter_initialization(start, stop_defined.then_some(stop))?;
            Ok(OK)
        })
    }
}

plain! {
    fmi3ExitInitializationMode => |i: &mut crate::instance::Instance| i.exit_initialization();
    fmi3Terminate => |i: &mut crate::instance::Instance| i.terminate();
    fmi3Reset => |i: &mut crate::instance::Instance| { i.reset(); Ok::<(), String>(()) };
}

macro_rules! numbers {
    ($($get:ident $set:ident $type:ty, $convert:expr, $number:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $get(h: *mut c_void, refs: *const u32, n: usize, values: *mut $type, count: usize) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { Handle::with(h, |i, _| get_all(i, list(refs, n), list_mut(values, count), $convert)) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set(h: *mut c_void, refs: *const u32, n: usize, values: *const $type, count: usize) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { Handle::with(h, |i, _| set_all(i, list(refs, n), list(values, count).iter().map($number))) }
        }
    )*};
}

numbers! {
    fmi3GetFloat64 fmi3SetFloat64 f64, real, |x| *x;
    fmi3GetInt64 fmi3SetInt64 i64, int, |x| *x as f64;
    fmi3GetBoolean fmi3SetBoolean bool, truth, |x| f64::from(u8::from(*x));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetString(
    h: *mut c_void,
    refs: *const u32,
    n: usize,
    values: *mut *const c_char,
    count: usize,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe { Handle::with(h, |i, keep| get_texts(i, keep, list(refs, n), list_mut(values, count))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DoStep(
    handle: *mut c_void,
    from: f64,
    step: f64,
    _no_set: bool,
    events: *mut bool,
    over: *mut bool,
    early: *mut bool,
    last: *mut f64,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe {
        put(events, false);
        put(over, false);
        put(early, false);
        Handle::with(handle, |instance, _| {
            let came = instance.step(from, step)?;
            put(last, came.at);
            put(over, came.over.is_some());
            Ok(OK)
        })
    }
}

states! {
    fmi3GetFMUState fmi3SetFMUState fmi3FreeFMUState fmi3SerializedFMUStateSize fmi3SerializeFMUState fmi3DeserializeFMUState
}

absent! {
    fmi3EnterEventMode fmi3EnterStepMode fmi3EnterConfigurationMode fmi3ExitConfigurationMode
    fmi3GetFloat32 fmi3SetFloat32 fmi3GetInt8 fmi3SetInt8 fmi3GetUInt8 fmi3SetUInt8 fmi3GetInt16 fmi3SetInt16
    fmi3GetUInt16 fmi3SetUInt16 fmi3GetInt32 fmi3SetInt32 fmi3GetUInt32 fmi3SetUInt32 fmi3GetUInt64 fmi3SetUInt64
    fmi3SetString fmi3GetBinary fmi3SetBinary fmi3GetClock fmi3SetClock
    fmi3GetNumberOfVariableDependencies fmi3GetVariableDependencies
    fmi3GetDirectionalDerivative fmi3GetAdjointDerivative
    fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal fmi3GetShiftFraction
    fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal fmi3SetShiftFraction
    fmi3EvaluateDiscreteStates fmi3UpdateDiscreteStates fmi3EnterContinuousTimeMode fmi3CompletedIntegratorStep
    fmi3SetTime fmi3SetContinuousStates fmi3GetContinuousStateDerivatives fmi3GetEventIndicators
    fmi3GetContinuousStates fmi3GetNominalsOfContinuousStates fmi3GetNumberOfEventIndicators
    fmi3GetNumberOfContinuousStates fmi3GetOutputDerivatives fmi3ActivateModelPartition
}
