//! Callbacks of an FMU: its log, and inputs inside a step.
use super::{
    Status,
    functions::{Raw, Set},
};
use std::{
    ffi::{CStr, c_char},
    sync::Mutex,
};

pub(super) type Env = *const Environment;
pub(super) type Logger = extern "C" fn(Env, i32, *const c_char, *const c_char);
pub(super) type Update = extern "C" fn(Env, f64, bool, bool, bool, bool, *mut bool, *mut f64);

/// An input as a polynomial of time, for intermediate update.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Value reference of a `Float64` of one element.
    pub reference: u32,
    /// Time at which the polynomial has its origin.
    pub origin: f64,
    /// Coefficients.
    pub coefficients: Vec<f64>,
}

impl Curve {
    /// The value at `t`.
    pub fn value(&self, t: f64) -> f64 {
        let e = t - self.origin;
        self.coefficients.iter().rev().fold(0.0, |sum, c| sum * e + c)
    }
}

/// Records of the callbacks.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// Log messages: status, category, text.
    pub log: Vec<(Status, String, String)>,
    /// How often inputs were set inside a step.
    pub updates: u64,
    /// The worst status of setting inputs inside a step.
    pub refused: Option<Status>,
}

/// Most messages that are kept until somebody asks.
const LOG: usize = 64;

/// Data on which the callbacks of one instance work.
pub(super) struct Environment {
    pub heard: Mutex<Heard>,
    pub curves: Mutex<Vec<Curve>>,
    pub set_float64: Set<f64>,
    pub instance: Mutex<Handle>,
}

#[derive(Clone, Copy)]
pub(super) struct Handle(pub Raw);
// SAFETY: an instance may be called from any thread, one at a time (FMI 3.0, 2.1.2); the handle
// is only used under the lock of its instance.
unsafe impl Send for Handle {}

pub(super) fn text(s: *const c_char) -> String {
    if s.is_null() {
        return String::new();
    }
    // SAFETY: not null; strings of FMUs end with a zero and live as long as the call.
    unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
}

pub(super) extern "C" fn logger(
    env: Env,
    status: i32,
    category: *const c_char,
    message: *const c_char,
) {
    // SAFETY: null, or what was given to `instantiate`: the box outlives the instance.
    let Some(env) = (unsafe { env.as_ref() }) else { return };
    let Ok(mut heard) = env.heard.lock() else { return };
    if heard.log.len() < LOG {
        let entry = (Status::new(status), text(category), text(message));
        heard.log.push(entry);
    }
}

pub(super) extern "C" fn intermediate(
    env: Env,
    time: f64,
    set_requested: bool,
    _get_allowed: bool,
    _step_finished: bool,
    _can_return: bool,
    return_requested: *mut bool,
    _return_time: *mut f64,
) {
    // SAFETY: the FMU gives the address of a flag of its own, or null.
    if let Some(early) = unsafe { return_requested.as_mut() } {
        *early = false;
    }
    // SAFETY: as for the logger.
    let Some(env) = (unsafe { env.as_ref() }) else { return };
    let (Ok(curves), Ok(instance)) = (env.curves.lock(), env.instance.lock()) else { return };
    if !set_requested || curves.is_empty() || instance.0.is_null() {
        return;
    }
    let references: Vec<u32> = curves.iter().map(|c| c.reference).collect();
    let values: Vec<f64> = curves.iter().map(|c| c.value(time)).collect();
    let (handle, n) = (*instance, references.len());
    drop((curves, instance));
    // SAFETY: the standard allows setting these variables here; lengths are those of the vectors.
    let raw = unsafe { (env.set_float64)(handle.0, references.as_ptr(), n, values.as_ptr(), n) };
    let Ok(mut heard) = env.heard.lock() else { return };
    heard.updates += 1;
    let status = Status::new(raw);
    if !matches!(status, Status::Ok | Status::Warning) {
        heard.refused = Some(status);
    }
}
