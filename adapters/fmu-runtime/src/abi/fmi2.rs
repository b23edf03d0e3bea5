//! FMI 2.0 for co-simulation (FMI 2.0.4, chapter 4).
use super::{
    DISCARD, ERROR, Handle, Logger, OK, get_all, get_texts, int, list, list_mut, put, real,
    set_all, text, truth,
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::PathBuf,
};

/// `fmi2CallbackFunctions`.
#[repr(C)]
struct Callbacks {
    logger: Option<
        unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...),
    >,
    _allocate: *const c_void,
    _free: *const c_void,
    _finished: *const c_void,
    environment: *mut c_void,
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2SetDebugLogging(_: *mut c_void, _: c_int, _: usize, _: *const c_void) -> c_int {
    OK
}

/// The folder that a URI names.
fn folder(uri: &str) -> PathBuf {
    let path = uri.strip_prefix("file:").unwrap_or(uri);
    // `file:///a` and `file:/a`; a host may stand between.
    let path =
        path.strip_prefix("//").map_or(path, |rest| rest.find('/').map_or(rest, |at| &rest[at..]));
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: c_int,
    guid: *const c_char,
    resources: *const c_char,
    callbacks: *const Callbacks,
    _visible: c_int,
    _logging: c_int,
) -> *mut c_void {
    // SAFETY: texts and callbacks are as the standard has them.
    unsafe {
        let name = text(name).unwrap_or_default();
        let name = std::ffi::CString::new(name).unwrap_or_default();
        let told = callbacks.as_ref().map(|c| (c.logger, c.environment));
        let log: Logger = Box::new(move |status, category: &CStr, message: &CStr| {
            if let Some((Some(logger), environment)) = told {
                logger(
                    environment,
                    name.as_ptr(),
                    status,
                    category.as_ptr(),
                    c"%s".as_ptr(),
                    message.as_ptr(),
                );
            }
        });
        if kind != 1 {
            super::tell(&log, ERROR, "the FMU is one for co-simulation, not for model exchange");
            return std::ptr::null_mut();
        }
        Handle::create(text(resources).map(|uri| folder(&uri)), guid, log)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(handle: *mut c_void) {
    // SAFETY: as the standard has it.
    unsafe { Handle::free(handle) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetupExperiment(
    handle: *mut c_void,
    _tolerance_defined: c_int,
    _tolerance: f64,
    start: f64,
    stop_defined: c_int,
    stop: f64,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe {
        Handle::with(handle, |instance, _| {
            instance.enter_initialization(start, (stop_defined != 0).then_some(stop))?;
            Ok(OK)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2EnterInitializationMode(handle: *mut c_void) -> c_int {
    // SAFETY: as the standard has it. Whoever sets up no experiment begins at 0.
    unsafe {
        Handle::with(handle, |instance, _| {
            instance.initialise_if_new()?;
            Ok(OK)
        })
    }
}

macro_rules! plain {
    ($($name:ident => $method:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(handle: *mut c_void) -> c_int {
            // SAFETY: as the standard has it.
            unsafe {
                Handle::with(handle, |instance, _| {
                    #[allow(clippy::redundant_closure_call)]
                    ($method)(instance)?;
                    Ok(OK)
                })
            }
        }
    )*};
}
pub(super) use plain;

plain! {
    fmi2ExitInitializationMode => |i: &mut crate::instance::Instance| i.exit_initialization();
    fmi2Terminate => |i: &mut crate::instance::Instance| i.terminate();
    fmi2Reset => |i: &mut crate::instance::Instance| { i.reset(); Ok::<(), String>(()) };
}

macro_rules! numbers {
    ($($get:ident $set:ident $type:ty, $convert:expr, $number:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $get(h: *mut c_void, refs: *const u32, n: usize, values: *mut $type) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { Handle::with(h, |i, _| get_all(i, list(refs, n), list_mut(values, n), $convert)) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $set(h: *mut c_void, refs: *const u32, n: usize, values: *const $type) -> c_int {
            // SAFETY: as the standard has it.
            unsafe { Handle::with(h, |i, _| set_all(i, list(refs, n), list(values, n).iter().map($number))) }
        }
    )*};
}

numbers! {
    fmi2GetReal fmi2SetReal f64, real, |x| *x;
    fmi2GetInteger fmi2SetInteger c_int, int, |x| f64::from(*x);
    fmi2GetBoolean fmi2SetBoolean c_int, |d| truth(d).map(c_int::from), |x| f64::from(u8::from(*x != 0));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetString(
    h: *mut c_void,
    refs: *const u32,
    n: usize,
    values: *mut *const c_char,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe { Handle::with(h, |i, keep| get_texts(i, keep, list(refs, n), list_mut(values, n))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2DoStep(
    handle: *mut c_void,
    from: f64,
    step: f64,
    _no_set: c_int,
) -> c_int {
    // SAFETY: as the standard has it.
    unsafe {
        Handle::with(handle, |instance, keep| {
            let came = instance.step(from, step)?;
            *keep.last = (came.at, came.over.is_some());
            Ok(if came.over.is_some() { DISCARD } else { OK })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetRealStatus(handle: *mut c_void, kind: c_int, value: *mut f64) -> c_int {
    // SAFETY: as the standard has it; 2 asks for the last successful time.
    unsafe {
        Handle::with(handle, |_, keep| {
            if kind != 2 {
                return Ok(DISCARD);
            }
            put(value, keep.last.0);
            Ok(OK)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetBooleanStatus(
    handle: *mut c_void,
    kind: c_int,
    value: *mut c_int,
) -> c_int {
    // SAFETY: as the standard has it; 3 asks whether the run has ended.
    unsafe {
        Handle::with(handle, |_, keep| {
            if kind != 3 {
                return Ok(DISCARD);
            }
            put(value, c_int::from(keep.last.1));
            Ok(OK)
        })
    }
}

states! {
    fmi2GetFMUstate fmi2SetFMUstate fmi2FreeFMUstate fmi2SerializedFMUstateSize fmi2SerializeFMUstate fmi2DeSerializeFMUstate
}

macro_rules! absent {
    ($($name:ident)*) => {$(
        /// The FMU does not have what this function is for, and says so in its description.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(handle: *mut c_void) -> c_int {
            // SAFETY: as the standard has it; further arguments are not looked at.
            unsafe { Handle::with(handle, |_, _| Err(concat!(stringify!($name), " is not served by this FMU").to_owned())) }
        }
    )*};
}
pub(super) use absent;

absent! {
    fmi2SetString fmi2GetDirectionalDerivative fmi2SetRealInputDerivatives fmi2GetRealOutputDerivatives fmi2CancelStep
    fmi2GetStatus fmi2GetIntegerStatus fmi2GetStringStatus
}

#[cfg(test)]
mod tests {
    #[test]
    fn folders_of_uris() {
        for uri in
            ["file:///models/a%20b", "file:/models/a b", "/models/a b", "file://host/models/a b"]
        {
            assert_eq!(super::folder(uri), std::path::Path::new("/models/a b"), "{uri}");
        }
    }
}
