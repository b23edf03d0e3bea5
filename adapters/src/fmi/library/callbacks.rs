//! Callbacks of an FMU: its log, and inputs inside a step.
use super::{Status, table::Raw, v3::Set};
use serde::{Deserialize, Serialize};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::Mutex,
};

pub(super) type Env = *const Environment;
pub(super) type Logger = extern "C" fn(Env, i32, *const c_char, *const c_char);
pub(super) type Update = extern "C" fn(Env, f64, u8, u8, u8, u8, *mut u8, *mut f64);

/// `fmi2CallbackFunctions`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Callbacks2 {
    logger: extern "C" fn(Env, *const c_char, c_int, *const c_char, *const c_char),
    allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    step_finished: Option<extern "C" fn(Env, c_int)>,
    environment: Env,
}
// SAFETY: addresses of functions, and of the environment that lives beside it and is only shared.
unsafe impl Send for Callbacks2 {}
// SAFETY: as above.
unsafe impl Sync for Callbacks2 {}

unsafe extern "C" {
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
}

impl Callbacks2 {
    pub(super) fn new(environment: Env) -> Self {
        Self { logger: logger2, allocate: calloc, free, step_finished: None, environment }
    }
}

impl Default for Callbacks2 {
    fn default() -> Self {
        Self::new(ptr::null())
    }
}

/// An input as a polynomial of time, for intermediate update.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Value reference of a `Float64` of one element.
    pub reference: u32,
    /// Time at which the polynomial has its origin.
    pub origin: f64,
    /// Coefficients.
    pub coefficients: Vec<f64>,
}

impl Clone for Curve {
    fn clone(&self) -> Self {
        let Self { reference, origin, ref coefficients } = *self;
        Self { reference, origin, coefficients: coefficients.clone() }
    }
    /// Steps follow each other fast: the memory of the coefficients is used again.
    fn clone_from(&mut self, other: &Self) {
        (self.reference, self.origin) = (other.reference, other.origin);
        self.coefficients.clone_from(&other.coefficients);
    }
}

impl Curve {
    /// The value at `t`.
    pub fn value(&self, t: f64) -> f64 {
        let e = t - self.origin;
        self.coefficients.iter().rev().fold(0.0, |sum, c| sum * e + c)
    }

    /// First and further derivatives at `t`, as many as the polynomial has powers, at least one.
    pub fn derivatives(&self, t: f64) -> Vec<f64> {
        let (e, mut row, mut out) = (t - self.origin, self.coefficients.clone(), Vec::new());
        loop {
            row = row.iter().enumerate().skip(1).map(|(k, c)| k as f64 * c).collect();
            if row.is_empty() && !out.is_empty() {
                return out;
            }
            out.push(row.iter().rev().fold(0.0, |sum, c| sum * e + c));
        }
    }
}

/// Records of the callbacks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Heard {
    /// Log messages: status, category, text.
    pub log: Vec<(Status, String, String)>,
    /// How often inputs were set inside a step.
    pub updates: u64,
    /// The worst status of setting inputs inside a step.
    pub refused: Option<Status>,
}

impl Heard {
    /// Adds what came later.
    pub fn merge(&mut self, later: Self) {
        self.log.extend(later.log);
        self.updates += later.updates;
        self.refused = later.refused.or(self.refused);
    }
}

/// Most messages that are kept until somebody asks.
const LOG: usize = 64;

/// Data on which the callbacks of one instance work.
pub(super) struct Environment {
    pub heard: Mutex<Heard>,
    pub curves: Mutex<Vec<Curve>>,
    /// Memory for references and values of one update, which no lock is held during.
    pub room: Mutex<(Vec<u32>, Vec<f64>)>,
    pub set_float64: Option<Set<f64>>,
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

/// The standard gives it further arguments for the places in `message`, which stay as they are: this
/// language reads no variable arguments, and callers may pass more than a function takes.
extern "C" fn logger2(
    env: Env,
    _instance: *const c_char,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    logger(env, status, category, message);
}

pub(super) extern "C" fn intermediate(
    env: Env,
    time: f64,
    set_requested: u8,
    _get_allowed: u8,
    _step_finished: u8,
    _can_return: u8,
    return_requested: *mut u8,
    _return_time: *mut f64,
) {
    // SAFETY: the FMU gives the address of a flag of its own, or null.
    if let Some(early) = unsafe { return_requested.as_mut() } {
        *early = 0;
    }
    // SAFETY: as for the logger.
    let Some(env) = (unsafe { env.as_ref() }) else { return };
    let Some(set_float64) = env.set_float64 else { return };
    let (Ok(curves), Ok(instance)) = (env.curves.lock(), env.instance.lock()) else { return };
    if set_requested == 0 || curves.is_empty() || instance.0.is_null() {
        return;
    }
    let Ok(mut room) = env.room.lock().map(|mut room| std::mem::take(&mut *room)) else { return };
    let (references, values) = &mut room;
    references.clear();
    references.extend(curves.iter().map(|c| c.reference));
    values.clear();
    values.extend(curves.iter().map(|c| c.value(time)));
    let (handle, n) = (*instance, references.len());
    drop((curves, instance));
    // SAFETY: the standard allows setting these variables here; lengths are those of the vectors.
    let raw = unsafe { set_float64(handle.0, references.as_ptr(), n, values.as_ptr(), n) };
    if let Ok(mut own) = env.room.lock() {
        *own = room;
    }
    let Ok(mut heard) = env.heard.lock() else { return };
    heard.updates += 1;
    let status = Status::new(raw);
    if !matches!(status, Status::Ok | Status::Warning) {
        heard.refused = Some(status);
    }
}
