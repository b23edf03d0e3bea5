//! One instance: every call checked for its status, none made after a fatal one.
use super::{
    Api, Functions, OWN, Status, Stepped, Updated,
    callbacks::{Callbacks2, Curve, Environment, Handle, Heard},
    environment::standard_arithmetic,
    table::{Plain, Raw},
    v2, v3,
};
use std::{collections::BTreeMap, ptr};

/// An instance. Not for use by two threads at a time.
pub struct RawInstance {
    pub(super) functions: Functions,
    pub(super) handle: Handle,
    pub(super) environment: Box<Environment>,
    /// The functions that instances of FMI 2.0 call; they live as long as these.
    pub(super) _callbacks: Box<Callbacks2>,
    /// After `fatal` nothing of the binary is called any more.
    pub(super) dead: bool,
    /// Whether the instance was initialised, so that it can be terminated.
    pub(super) running: bool,
    /// Derivatives of inputs that it was told, and how many it takes.
    pub(super) slopes: Slopes,
    /// Whether the FMU saves a state into the memory of an older one.
    pub(super) reuses_states: bool,
}

/// Orders of derivatives of inputs (FMI 2.0).
#[derive(Debug)]
pub(super) struct Slopes {
    /// The highest order that each input was told; what was told once is told in every step.
    told: BTreeMap<u32, i32>,
    /// The highest order that the FMU takes, as far as it was asked.
    most: i32,
}

impl Default for Slopes {
    fn default() -> Self {
        Self { told: BTreeMap::new(), most: i32::MAX }
    }
}

/// A saved state. Freed by [`RawInstance::free_state`] only.
#[derive(Debug)]
pub struct RawState(pub(super) Raw);
// SAFETY: only a handle; it is used with its instance, under the lock.
unsafe impl Send for RawState {}
// SAFETY: nothing can be done with a shared one without the instance's lock.
unsafe impl Sync for RawState {}

pub(super) type Answer<T = ()> = (Status, T);

/// A call, by the version: pointers that are passed are those of living locals or slices, with
/// their lengths.
macro_rules! call {
    ($self:ident, $f:expr $(, $argument:expr)* $(,)?) => {
        match $f {
            Some(f) => {
                let handle = $self.handle.0;
                // SAFETY: the handle is that of a living instance; arguments as the standard has
                // them, by the types of the table.
                let raw = unsafe { f(handle $(, $argument)*) };
                $self.judge(raw)
            }
            None => $self.absent(),
        }
    };
}
pub(super) use call;

impl RawInstance {
    /// Takes what callbacks left.
    pub fn heard(&mut self) -> Heard {
        self.environment.heard.lock().map(|mut h| std::mem::take(&mut *h)).unwrap_or_default()
    }

    /// Whether callbacks left nothing.
    pub fn is_silent(&self) -> bool {
        self.environment.heard.lock().is_ok_and(|h| h.log.is_empty() && h.refused.is_none())
    }

    /// Inputs for intermediate updates of the next steps.
    pub fn set_curves(&mut self, curves: &[Curve]) {
        if let Ok(mut c) = self.environment.curves.lock() {
            curves.clone_into(&mut c);
        }
    }

    pub(super) fn judge(&mut self, raw: i32) -> Status {
        standard_arithmetic();
        let status = Status::new(raw);
        self.dead |= status == Status::Fatal;
        // After an error the instance can only be freed.
        self.running &= status != Status::Error;
        status
    }

    /// Adds to what the FMU said.
    pub(super) fn say(&self, status: Status, text: String) {
        if let Ok(mut heard) = self.environment.heard.lock() {
            heard.log.push((status, OWN.to_owned(), text));
        }
    }

    pub(super) fn absent(&mut self) -> Status {
        self.say(Status::Error, "the binary does not have this function".to_owned());
        Status::Error
    }

    pub(super) fn plain(
        &mut self,
        two: impl Fn(&v2::Table) -> Option<Plain>,
        three: impl Fn(&v3::Table) -> Option<Plain>,
    ) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let function = match &self.functions.api {
            Api::V2(f) => two(f),
            Api::V3(f) => three(f),
        };
        call!(self, function)
    }

    /// The initialisation mode begins, with start time 0 and no stop time.
    pub fn enter_initialization(&mut self, tolerance: Option<f64>) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let (given, tolerance) = (tolerance.is_some(), tolerance.unwrap_or(0.0));
        match &self.functions.api {
            Api::V2(f) => {
                let enter = f.enter_initialization;
                let status = call!(self, f.setup, given.into(), tolerance, 0.0, 0, 0.0);
                if !status.is_good() { status } else { call!(self, enter) }
            }
            Api::V3(f) => {
                call!(self, f.enter_initialization, given, tolerance, 0.0, false, 0.0)
            }
        }
    }
    /// The initialisation mode ends.
    pub fn exit_initialization(&mut self) -> Status {
        let status = self.plain(|f| f.exit_initialization, |f| f.exit_initialization);
        self.running = status.is_good();
        status
    }
    /// The instance as it was after its making; nothing if the binary cannot do that.
    pub fn reset(&mut self) -> Option<Status> {
        let has = match &self.functions.api {
            Api::V2(f) => f.reset.is_some(),
            Api::V3(f) => f.reset.is_some(),
        };
        has.then(|| {
            self.running = false;
            self.plain(|f| f.reset, |f| f.reset)
        })
    }
    /// The event mode begins.
    pub fn enter_event_mode(&mut self) -> Status {
        self.plain(|f| f.enter_event_mode, |f| f.enter_event_mode)
    }
    /// `fmi3EnterStepMode`.
    pub fn enter_step_mode(&mut self) -> Status {
        self.plain(|_| None, |f| f.enter_step_mode)
    }
    /// The configuration mode begins, or ends.
    pub fn configure(&mut self, begin: bool) -> Status {
        let of = |f: &v3::Table| if begin { f.enter_configuration } else { f.exit_configuration };
        self.plain(|_| None, of)
    }

    /// One round of an event.
    pub fn update(&mut self) -> Answer<Updated> {
        if self.dead {
            return (Status::Fatal, Updated::default());
        }
        let (mut again, mut terminate, mut nominals, mut states, mut defined) = (0, 0, 0, 0, 0);
        let mut next = 0.0;
        match &self.functions.api {
            Api::V2(f) => {
                let mut info = v2::EventInfo::default();
                let status = call!(self, f.update, &raw mut info);
                let updated = Updated {
                    again: info.again != 0,
                    terminate: info.terminate != 0,
                    next: (info.defined != 0).then_some(info.next),
                    nominals: info.nominals != 0,
                    states: info.values != 0,
                };
                (status, updated)
            }
            Api::V3(f) => {
                let status = call!(
                    self,
                    f.update,
                    &raw mut again,
                    &raw mut terminate,
                    &raw mut nominals,
                    &raw mut states,
                    &raw mut defined,
                    &raw mut next,
                );
                let updated = Updated {
                    again: again != 0,
                    terminate: terminate != 0,
                    next: (defined != 0).then_some(next),
                    nominals: nominals != 0,
                    states: states != 0,
                };
                (status, updated)
            }
        }
    }

    /// `doStep`; `certain` when no earlier state will be brought back.
    pub fn do_step(&mut self, from: f64, by: f64, certain: bool) -> Answer<Stepped> {
        let mut s = Stepped { reached: from, ..Stepped::default() };
        if self.dead {
            return (Status::Fatal, s);
        }
        let f = match &self.functions.api {
            Api::V2(_) => return self.do_step2(from, by, certain),
            Api::V3(f) => f.do_step,
        };
        let (mut event, mut terminate, mut early) = (0, 0, 0);
        let status = call!(
            self,
            f,
            from,
            by,
            certain,
            &raw mut event,
            &raw mut terminate,
            &raw mut early,
            &raw mut s.reached,
        );
        (s.event, s.terminate, s.early) = (event != 0, terminate != 0, early != 0);
        (status, s)
    }

    /// A step of FMI 2.0: what it reached stands in the status after `discard`.
    fn do_step2(&mut self, from: f64, by: f64, certain: bool) -> Answer<Stepped> {
        let mut s = Stepped { reached: from + by, ..Stepped::default() };
        let Api::V2(f) = &self.functions.api else { return (Status::Fatal, s) };
        let (step, real, truth, cancel) = (f.do_step, f.real_status, f.bool_status, f.cancel);
        let set = self.set_input_derivatives(from);
        if !set.is_good() {
            return (set, s);
        }
        match call!(self, step, from, by, certain.into()) {
            Status::Pending => {
                let _ = call!(self, cancel);
                (Status::Pending, s)
            }
            Status::Discard => {
                let (mut reached, mut terminated) = (from, 0);
                if real.is_none()
                    || !call!(self, real, v2::LAST_SUCCESSFUL_TIME, &raw mut reached).is_good()
                {
                    reached = from;
                }
                if truth.is_some()
                    && call!(self, truth, v2::TERMINATED, &raw mut terminated).is_good()
                {
                    s.terminate = terminated != 0;
                }
                (s.early, s.reached) = (true, reached);
                let moved = reached > from || s.terminate;
                (if moved { Status::Ok } else { Status::Discard }, s)
            }
            status => (status, s),
        }
    }

    /// Inputs follow their curves in the next step of FMI 2.0, as far as the FMU takes their derivatives: the standard
    /// names no highest order.
    fn set_input_derivatives(&mut self, from: f64) -> Status {
        loop {
            let (references, orders, values) = self.input_derivatives(from);
            let Api::V2(f) = &self.functions.api else { return Status::Ok };
            let (function, n) = (f.input_derivatives, references.len());
            let Some(&highest) = orders.iter().max() else { return Status::Ok };
            let (running, heard) = (self.running, self.log_length());
            let status =
                call!(self, function, references.as_ptr(), n, orders.as_ptr(), values.as_ptr());
            if !matches!(status, Status::Discard | Status::Error) {
                return status;
            }
            // It takes no part of this, and is well otherwise.
            (self.running, self.slopes.most) = (running, highest - 1);
            self.tell_refused(highest, status, heard);
        }
    }

    /// Derivatives at `from` that the FMU is to be told: one of first order per input, higher ones where they are not
    /// zero, or were not before.
    fn input_derivatives(&mut self, from: f64) -> (Vec<u32>, Vec<i32>, Vec<f64>) {
        let (mut references, mut orders, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let Ok(curves) = self.environment.curves.lock() else {
            return (references, orders, values);
        };
        let Slopes { told, most } = &mut self.slopes;
        for curve in curves.iter() {
            let all = curve.derivatives(from);
            let own = all.iter().rposition(|d| *d != 0.0).map_or(1, |k| k as i32 + 1);
            let last = told.entry(curve.reference).or_insert(1);
            *last = own.max(*last).min(*most);
            for order in 1..=*last {
                references.push(curve.reference);
                orders.push(order);
                values.push(all.get(order as usize - 1).copied().unwrap_or(0.0));
            }
        }
        (references, orders, values)
    }

    fn log_length(&self) -> usize {
        self.environment.heard.lock().map_or(0, |heard| heard.log.len())
    }

    /// One remark in place of what the FMU logged, behind so many messages, about an order that it does not take.
    fn tell_refused(&mut self, order: i32, status: Status, before: usize) {
        let Ok(mut heard) = self.environment.heard.lock() else { return };
        heard.log.truncate(before);
        let inside = match order {
            1 => "inputs hold the values of the beginnings of steps".to_owned(),
            _ => format!("inputs follow their derivatives up to order {} inside steps", order - 1),
        };
        let text = format!(
            "fmi2SetRealInputDerivatives of order {order} gave {}, though canInterpolateInputs is true: {inside}",
            status.name()
        );
        heard.log.push((Status::Warning, OWN.to_owned(), text));
    }
}

impl Drop for RawInstance {
    fn drop(&mut self) {
        if self.running {
            self.plain(|f| f.terminate, |f| f.terminate);
        }
        if !self.dead {
            let free = match &self.functions.api {
                Api::V2(f) => f.free,
                Api::V3(f) => f.free,
            };
            // SAFETY: the last call of this instance; its states are gone.
            free.into_iter().for_each(|f| unsafe { f(self.handle.0) });
            standard_arithmetic();
        } else if !self.handle.0.is_null()
            && let Some(library) = self.functions.binary.take()
        {
            // After a fatal error even unloading could run the binary's code.
            std::mem::forget(library);
        }
        self.handle = Handle(ptr::null_mut());
    }
}

impl std::fmt::Debug for RawInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawInstance(dead: {}, running: {})", self.dead, self.running)
    }
}
