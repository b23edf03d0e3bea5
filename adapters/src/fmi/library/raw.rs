//! One instance: every call checked for its status, none made after a fatal one.
use super::{
    Request, Status, Stepped, Updated,
    callbacks::{Curve, Environment, Handle, Heard, intermediate, logger, text},
    functions::{Functions, Get, Plain, Raw, Set},
};
use crate::fmi::description::Type as T;
use std::{ffi::CString, ptr, sync::Mutex};

/// An instance. Not for use by two threads at a time.
pub struct RawInstance {
    functions: Functions,
    handle: Handle,
    environment: Box<Environment>,
    /// After `fatal` nothing of the binary is called any more.
    dead: bool,
    /// Whether the instance was initialised, so that it can be terminated.
    running: bool,
}

/// A saved state. Freed by [`RawInstance::free_state`] only.
#[derive(Debug)]
pub struct RawState(Raw);
// SAFETY: only a handle; it is used with its instance, under the lock.
unsafe impl Send for RawState {}
// SAFETY: nothing can be done with a shared one without the instance's lock.
unsafe impl Sync for RawState {}

type Answer<T = ()> = (Status, T);

impl RawInstance {
    /// Instantiates.
    ///
    /// # Errors
    /// When the FMU refuses, with what it logged.
    pub fn new(functions: Functions, request: &Request<'_>) -> Result<Self, String> {
        let c = |s: &str| CString::new(s).map_err(|_| format!("{s:?} contains a zero byte"));
        let resources = format!("{}/", request.resources.display());
        let (name, token, resources) = (c(request.name)?, c(request.token)?, c(&resources)?);
        // SAFETY: takes nothing.
        let version = text(unsafe { (functions.version)() });
        if !version.starts_with("3.") {
            return Err(format!("the binary implements FMI {version}, not 3.0"));
        }
        let environment = Box::new(Environment {
            heard: Mutex::default(),
            curves: Mutex::default(),
            set_float64: functions.set_float64,
            instance: Mutex::new(Handle(ptr::null_mut())),
        });
        // SAFETY: the strings and the list live through the call, the environment as long as the
        // instance; the callbacks have the types of the standard.
        let raw = unsafe {
            (functions.instantiate)(
                name.as_ptr(),
                token.as_ptr(),
                resources.as_ptr(),
                false,
                true,
                request.event_mode,
                true,
                request.intermediate.as_ptr(),
                request.intermediate.len(),
                &raw const *environment,
                logger,
                intermediate,
            )
        };
        let mut this = Self {
            functions,
            handle: Handle(raw),
            environment,
            dead: raw.is_null(),
            running: false,
        };
        if raw.is_null() {
            let log: Vec<String> = this.heard().log.into_iter().map(|(_, _, m)| m).collect();
            return Err(format!("the FMU refused to be instantiated: {}", log.join("; ")));
        }
        if let Ok(mut h) = this.environment.instance.lock() {
            *h = this.handle;
        }
        Ok(this)
    }

    /// Takes what callbacks left.
    pub fn heard(&mut self) -> Heard {
        self.environment.heard.lock().map(|mut h| std::mem::take(&mut *h)).unwrap_or_default()
    }

    /// Inputs for intermediate updates of the next steps.
    pub fn set_curves(&mut self, curves: Vec<Curve>) {
        if let Ok(mut c) = self.environment.curves.lock() {
            *c = curves;
        }
    }

    fn judge(&mut self, raw: i32) -> Status {
        let status = Status::new(raw);
        self.dead |= status == Status::Fatal;
        // After an error the instance can only be freed.
        self.running &= status != Status::Error;
        status
    }

    fn plain(&mut self, f: impl Fn(&Functions) -> Plain) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let function = f(&self.functions);
        // SAFETY: the handle is that of a living instance.
        let raw = unsafe { function(self.handle.0) };
        self.judge(raw)
    }

    /// `fmi3EnterInitializationMode` with start time 0 and no stop time.
    pub fn enter_initialization(&mut self, tolerance: Option<f64>) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let (given, tolerance) = (tolerance.is_some(), tolerance.unwrap_or(0.0));
        let f = self.functions.enter_initialization;
        // SAFETY: living instance, plain values.
        let raw = unsafe { f(self.handle.0, given, tolerance, 0.0, false, 0.0) };
        self.judge(raw)
    }
    /// `fmi3ExitInitializationMode`.
    pub fn exit_initialization(&mut self) -> Status {
        let status = self.plain(|f| f.exit_initialization);
        self.running = matches!(status, Status::Ok | Status::Warning);
        status
    }
    /// `fmi3EnterEventMode`.
    pub fn enter_event_mode(&mut self) -> Status {
        self.plain(|f| f.enter_event_mode)
    }
    /// `fmi3EnterStepMode`.
    pub fn enter_step_mode(&mut self) -> Status {
        self.plain(|f| f.enter_step_mode)
    }

    /// `fmi3UpdateDiscreteStates`.
    pub fn update(&mut self) -> Answer<Updated> {
        if self.dead {
            return (Status::Fatal, Updated::default());
        }
        let (mut again, mut terminate, mut defined, mut next) = (false, false, false, 0.0);
        let (mut nominals, mut states) = (false, false);
        // SAFETY: living instance; the addresses are those of locals.
        let raw = unsafe {
            (self.functions.update)(
                self.handle.0,
                &raw mut again,
                &raw mut terminate,
                &raw mut nominals,
                &raw mut states,
                &raw mut defined,
                &raw mut next,
            )
        };
        (self.judge(raw), Updated { again, terminate, next: defined.then_some(next) })
    }

    /// `fmi3DoStep`; `certain` when no earlier state will be brought back.
    pub fn do_step(&mut self, from: f64, by: f64, certain: bool) -> Answer<Stepped> {
        let mut s = Stepped { reached: from, ..Stepped::default() };
        if self.dead {
            return (Status::Fatal, s);
        }
        // SAFETY: living instance; the addresses are those of locals.
        let raw = unsafe {
            (self.functions.do_step)(
                self.handle.0,
                from,
                by,
                certain,
                &raw mut s.event,
                &raw mut s.terminate,
                &raw mut s.early,
                &raw mut s.reached,
            )
        };
        (self.judge(raw), s)
    }

    /// `fmi3GetOutputDerivatives`: one order per reference.
    pub fn output_derivatives(&mut self, references: &[u32], orders: &[i32]) -> Answer<Vec<f64>> {
        let mut values = vec![0.0; references.len()];
        if self.dead || references.len() != orders.len() {
            return (Status::Fatal, values);
        }
        let n = references.len();
        // SAFETY: living instance; all three have `n` elements.
        let raw = unsafe {
            (self.functions.output_derivatives)(
                self.handle.0,
                references.as_ptr(),
                n,
                orders.as_ptr(),
                values.as_mut_ptr(),
                n,
            )
        };
        (self.judge(raw), values)
    }

    /// `fmi3GetDirectionalDerivative` of scalar variables: `unknowns`' derivatives by `knowns`
    /// in the direction `seed`.
    pub fn directional(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
    ) -> Answer<Vec<f64>> {
        let mut values = vec![0.0; unknowns.len()];
        if self.dead || knowns.len() != seed.len() {
            return (Status::Fatal, values);
        }
        // SAFETY: living instance; every pointer goes with the length of its slice.
        let raw = unsafe {
            (self.functions.directional)(
                self.handle.0,
                unknowns.as_ptr(),
                unknowns.len(),
                knowns.as_ptr(),
                knowns.len(),
                seed.as_ptr(),
                seed.len(),
                values.as_mut_ptr(),
                values.len(),
            )
        };
        (self.judge(raw), values)
    }

    /// `fmi3GetFMUState`.
    pub fn get_state(&mut self) -> Answer<RawState> {
        let mut state = ptr::null_mut();
        if self.dead {
            return (Status::Fatal, RawState(state));
        }
        // SAFETY: living instance; a null state asks for a new one.
        let raw = unsafe { (self.functions.get_state)(self.handle.0, &raw mut state) };
        (self.judge(raw), RawState(state))
    }
    /// `fmi3SetFMUState`. The state must be one of this instance.
    pub fn set_state(&mut self, state: &RawState) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        // SAFETY: both live: states are freed before their instance.
        let raw = unsafe { (self.functions.set_state)(self.handle.0, state.0) };
        self.judge(raw)
    }
    /// `fmi3FreeFMUState`.
    pub fn free_state(&mut self, state: &mut RawState) {
        if !self.dead && !state.0.is_null() {
            // SAFETY: both live; the state is given up here, once.
            unsafe { (self.functions.free_state)(self.handle.0, &raw mut state.0) };
            state.0 = ptr::null_mut();
        }
    }
    /// `fmi3SerializeFMUState`.
    pub fn serialize(&mut self, state: &RawState) -> Answer<Vec<u8>> {
        if self.dead {
            return (Status::Fatal, Vec::new());
        }
        let mut size = 0;
        // SAFETY: both live; the address is that of a local.
        let raw = unsafe { (self.functions.state_size)(self.handle.0, state.0, &raw mut size) };
        let status = self.judge(raw);
        let mut bytes = Vec::new();
        if !matches!(status, Status::Ok | Status::Warning) || bytes.try_reserve_exact(size).is_err()
        {
            return (status.max_discard(), bytes);
        }
        bytes.resize(size, 0);
        // SAFETY: the buffer has the size that the FMU asked for.
        let raw =
            unsafe { (self.functions.serialize)(self.handle.0, state.0, bytes.as_mut_ptr(), size) };
        (self.judge(raw), bytes)
    }
    /// `fmi3DeserializeFMUState`.
    pub fn deserialize(&mut self, bytes: &[u8]) -> Answer<RawState> {
        let mut state = ptr::null_mut();
        if self.dead {
            return (Status::Fatal, RawState(state));
        }
        let (f, n) = (self.functions.deserialize, bytes.len());
        // SAFETY: living instance; pointer and length of one slice.
        let raw = unsafe { f(self.handle.0, bytes.as_ptr(), n, &raw mut state) };
        (self.judge(raw), RawState(state))
    }

    fn get<T: Copy + Default>(
        &mut self,
        f: Get<T>,
        references: &[u32],
        values: &mut [f64],
        real: impl Fn(T) -> f64,
    ) -> Status {
        let mut buffer = vec![T::default(); values.len()];
        // SAFETY: living instance; every pointer goes with the length of its slice, and every bit
        // pattern of these types is valid (truth values are read as bytes).
        let raw = unsafe {
            let (vr, n) = (references.as_ptr(), references.len());
            f(self.handle.0, vr, n, buffer.as_mut_ptr(), buffer.len())
        };
        values.iter_mut().zip(buffer).for_each(|(v, b)| *v = real(b));
        self.judge(raw)
    }

    fn set<T>(&mut self, f: Set<T>, references: &[u32], values: &[T]) -> Status {
        // SAFETY: living instance; every pointer goes with the length of its slice.
        let raw = unsafe {
            let (vr, n) = (references.as_ptr(), references.len());
            f(self.handle.0, vr, n, values.as_ptr(), values.len())
        };
        self.judge(raw)
    }

    /// Reads variables of one type: `values` has room for all their elements.
    pub fn get_numbers(&mut self, ty: T, references: &[u32], values: &mut [f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = &self.functions;
        match ty {
            T::Float64 => self.get(f.get_float64, references, values, |x| x),
            T::Float32 => self.get(f.get_float32, references, values, f64::from),
            T::Int8 => self.get(f.get_int8, references, values, f64::from),
            T::UInt8 => self.get(f.get_uint8, references, values, f64::from),
            T::Int16 => self.get(f.get_int16, references, values, f64::from),
            T::UInt16 => self.get(f.get_uint16, references, values, f64::from),
            T::Int32 => self.get(f.get_int32, references, values, f64::from),
            T::UInt32 => self.get(f.get_uint32, references, values, f64::from),
            T::Int64 => self.get(f.get_int64, references, values, |x| x as f64),
            T::UInt64 => self.get(f.get_uint64, references, values, |x| x as f64),
            T::Boolean => self.get(f.get_bool, references, values, |x| f64::from(u8::from(x != 0))),
            T::String | T::Binary | T::Clock => Status::Discard,
        }
    }

    /// Sets variables of one type. Reals are rounded to integers where the type asks for it.
    pub fn set_numbers(&mut self, ty: T, references: &[u32], values: &[f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        macro_rules! whole {
            ($f:ident as $t:ty) => {{
                let v: Vec<$t> = values.iter().map(|x| x.round() as $t).collect();
                self.set(self.functions.$f, references, &v)
            }};
        }
        match ty {
            T::Float64 => self.set(self.functions.set_float64, references, values),
            T::Float32 => {
                let v: Vec<f32> = values.iter().map(|&x| x as f32).collect();
                self.set(self.functions.set_float32, references, &v)
            }
            T::Int8 => whole!(set_int8 as i8),
            T::UInt8 => whole!(set_uint8 as u8),
            T::Int16 => whole!(set_int16 as i16),
            T::UInt16 => whole!(set_uint16 as u16),
            T::Int32 => whole!(set_int32 as i32),
            T::UInt32 => whole!(set_uint32 as u32),
            T::Int64 => whole!(set_int64 as i64),
            T::UInt64 => whole!(set_uint64 as u64),
            T::Boolean => {
                let v: Vec<u8> = values.iter().map(|&x| u8::from(x != 0.0)).collect();
                self.set(self.functions.set_bool, references, &v)
            }
            T::String | T::Binary | T::Clock => Status::Discard,
        }
    }

    /// Sets a text.
    pub fn set_text(&mut self, reference: u32, value: &str) -> Status {
        let Ok(value) = CString::new(value) else { return Status::Discard };
        if self.dead {
            return Status::Fatal;
        }
        self.set(self.functions.set_string, &[reference], &[value.as_ptr()])
    }
}

impl Drop for RawInstance {
    fn drop(&mut self) {
        if self.running {
            self.plain(|f| f.terminate);
        }
        if !self.dead {
            // SAFETY: the last call of this instance; its states are gone.
            unsafe { (self.functions.free)(self.handle.0) };
        } else if !self.handle.0.is_null()
            && let Some(library) = self.functions.binary.take()
        {
            // After a fatal error even unloading could run the binary's code.
            std::mem::forget(library);
        }
    }
}

impl std::fmt::Debug for RawInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawInstance(dead: {}, running: {})", self.dead, self.running)
    }
}
