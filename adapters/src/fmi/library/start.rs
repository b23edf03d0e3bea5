//! Making an instance.
use super::{
    Api, Functions, RawInstance, Request,
    callbacks::{Callbacks2, Environment, Handle, intermediate, logger, text},
    environment::standard_arithmetic,
    raw::Slopes,
    table::Raw,
    v2,
};
use crate::fmi::description::InterfaceKind;
use std::{
    ffi::{CStr, CString},
    fmt::Write as _,
    path::Path,
    ptr,
    sync::Mutex,
};

/// A path as a URI, which FMI 2.0 wants.
fn uri(path: &Path) -> String {
    let mut out = "file://".to_owned();
    for &b in path.display().to_string().as_bytes() {
        if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

/// Texts of the call.
struct Texts {
    name: CString,
    token: CString,
    resources: CString,
}

impl Functions {
    fn version(&self) -> String {
        let version = match &self.api {
            Api::V2(f) => f.version,
            Api::V3(f) => f.version,
        };
        // SAFETY: takes nothing.
        version.map(|f| text(unsafe { f() })).unwrap_or_default()
    }

    /// # Safety
    /// `environment` and `callbacks` must outlive the instance.
    unsafe fn instantiate(
        &self,
        texts: &Texts,
        request: &Request<'_>,
        environment: *const Environment,
        callbacks: *const Callbacks2,
    ) -> Option<Raw> {
        let exchange = request.kind == InterfaceKind::ModelExchange;
        let (name, token) = (texts.name.as_ptr(), texts.token.as_ptr());
        let resources = texts.resources.as_ptr();
        // SAFETY: the strings and the list live through the call, the rest by contract; the
        // callbacks have the types of the standard.
        unsafe {
            Some(match &self.api {
                Api::V2(f) => {
                    let kind = if exchange { v2::MODEL_EXCHANGE } else { v2::CO_SIMULATION };
                    f.instantiate?(name, kind, token, resources, callbacks, 0, 1)
                }
                Api::V3(f) if exchange => {
                    f.instantiate_me?(name, token, resources, false, true, environment, logger)
                }
                Api::V3(f) => f.instantiate_cs?(
                    name,
                    token,
                    resources,
                    false,
                    true,
                    request.event_mode,
                    true,
                    request.intermediate.as_ptr(),
                    request.intermediate.len(),
                    environment,
                    logger,
                    intermediate,
                ),
            })
        }
    }
}

impl RawInstance {
    /// Loads the binary and instantiates.
    ///
    /// # Errors
    /// When the binary cannot be loaded, or the FMU refuses, with what it logged.
    pub fn new(request: &Request<'_>) -> Result<Self, String> {
        let functions = Functions::load(&request.binary, request.version, request.kind)?;
        let c = |s: &str| CString::new(s).map_err(|_| format!("{s:?} contains a zero byte"));
        let two = matches!(functions.api, Api::V2(_));
        let resources = match two {
            true => uri(&request.resources),
            false => format!("{}/", request.resources.display()),
        };
        let texts =
            Texts { name: c(&request.name)?, token: c(&request.token)?, resources: c(&resources)? };
        let version = functions.version();
        let expected = if two { "2." } else { "3." };
        if !version.starts_with(expected) {
            return Err(format!("the binary implements FMI {version}, not {expected}0"));
        }
        let environment = Box::new(Environment {
            heard: Mutex::default(),
            curves: Mutex::default(),
            room: Mutex::default(),
            set_float64: match &functions.api {
                Api::V2(_) => None,
                Api::V3(f) => f.set_float64,
            },
            instance: Mutex::new(Handle(ptr::null_mut())),
        });
        let callbacks = Box::new(Callbacks2::new(&raw const *environment));
        // SAFETY: both boxes are kept beside the instance.
        let raw = unsafe {
            functions.instantiate(&texts, request, &raw const *environment, &raw const *callbacks)
        };
        standard_arithmetic();
        let raw = raw.unwrap_or(ptr::null_mut());
        let (handle, dead) = (Handle(raw), raw.is_null());
        let slopes = Slopes::default();
        let mut this = Self {
            functions,
            handle,
            environment,
            _callbacks: callbacks,
            dead,
            running: false,
            slopes,
            reuses_states: true,
        };
        if dead {
            let log: Vec<String> = this.heard().log.into_iter().map(|(_, _, m)| m).collect();
            return Err(format!("the FMU refused to be instantiated: {}", log.join("; ")));
        }
        if let Ok(mut h) = this.environment.instance.lock() {
            *h = this.handle;
        }
        Ok(this)
    }
}

/// A text of the FMU's, copied.
pub(super) fn copied(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; the FMU keeps it until its next call, and ends it with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri(Path::new("/a b/ü")), "file:///a%20b/%C3%BC");
    }
}
