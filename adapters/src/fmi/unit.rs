//! An FMU as an atomic model.
//!
//! # Two ways to run
//! *Ahead* (with state access, or without inputs): after every transition the FMU steps to its
//! next communication point or event at once, and what is found there becomes the time advance.
//! So its own events appear at their exact time, and λ has the outputs. An input that comes
//! earlier brings the saved state back, and the FMU steps to the input's tag only.
//!
//! *Present* (inputs, but no state access): nothing that was stepped could be undone, so the FMU
//! steps only up to the present, when a communication point has come or an input has arrived; its
//! outputs follow one micro-step later, and events inside the step are told late, at its end.
//!
//! # Times
//! The FMU's own time is kept in seconds since the unit's start and never exceeds the tick that
//! stands for it (R14); differences below a tick are not stepped.
use super::{
    description::Description,
    instance::{Block, CallError, Instance, StateHandle},
    library::{Curve, Status, Updated},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox,
    port::OutPort,
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::Duration,
};
use superdense_models::{
    ode::rounding::ceil_ticks,
    signal::{Held, NEVER, Timer},
    statistics::UnitStatistics,
    value::{Flag, Segment, Value},
};

/// Halvings of a step that the FMU discards.
const HALVINGS: u32 = 12;

/// What the unit knows about its FMU beside the running state.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Name of the FMU in messages.
    pub name: String,
    /// Communication step in ticks.
    pub step: i64,
    /// How far an output may be off what receivers hold.
    pub tolerance: f64,
    /// Highest power of the segments that are sent.
    pub order: usize,
    /// Whether the state may be saved and brought back.
    pub state_access: bool,
    /// Inputs that may be set in step mode.
    pub smooth: Vec<Block>,
    /// Inputs that event mode wants.
    pub discrete: Vec<Block>,
    /// Per input: the reference, if it can be set inside steps.
    pub intermediate: Vec<Option<u32>>,
    /// Outputs.
    pub outputs: Vec<Block>,
    /// Per output: its reference, if it changes continuously.
    pub continuous: Vec<Option<u32>>,
}

/// What happens at the due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Plan {
    /// What waits is sent.
    Send,
    /// The FMU is there already.
    Ahead,
    /// The FMU will step.
    Present,
    /// Nothing any more.
    Done,
}

/// What was found at the end of a step ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Found {
    /// Outputs, after events.
    y: Vec<f64>,
    event: bool,
    terminate: bool,
}

/// Where the FMU stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    /// Its time in seconds.
    time: f64,
    /// Its next time event.
    next: Option<f64>,
    /// Slopes of the outputs over the last step.
    slopes: Vec<f64>,
    /// The first step was made.
    stepped: bool,
}

/// Everything that changes in a run, beside the FMU's own state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Data {
    timer: Timer,
    place: Place,
    /// The place that belongs to the saved state.
    base: Place,
    inputs: Vec<Option<Held>>,
    /// Values of inputs without a segment.
    start: Vec<f64>,
    /// Outputs now, and their left limits.
    y: Vec<f64>,
    left: Vec<f64>,
    /// An event, or a jump of an input, lies between the two.
    jumped: bool,
    /// Inputs that wait for the next communication point: none, smooth, with a jump.
    waiting: Option<bool>,
    found: Option<Found>,
    /// What receivers hold.
    sent: Vec<Option<Held>>,
    outbox: Vec<(u16, Segment)>,
    plan: Plan,
    terminate: bool,
    counts: UnitStatistics,
}

/// An FMU under the kernel. See the module for how it runs.
#[derive(Debug)]
pub struct FmuUnit {
    instance: Instance,
    description: Arc<Description>,
    settings: Arc<Settings>,
    data: Data,
    /// The FMU's state at the last transition, while it is ahead.
    base: Option<Arc<StateHandle>>,
}

/// A saved unit.
#[derive(Debug)]
pub struct Saved {
    data: Data,
    state: StateHandle,
    base: Option<Arc<StateHandle>>,
}

impl FmuUnit {
    /// A unit around an instance that is initialised; `updated` is what its first event told.
    pub(super) fn new(
        instance: Instance,
        description: Arc<Description>,
        settings: Settings,
        start: Vec<f64>,
        timer: Timer,
        updated: Updated,
    ) -> Result<Self, CallError> {
        let n = settings.continuous.len();
        let mut y = vec![0.0; n];
        instance.read(&settings.outputs, &mut y)?;
        let place =
            Place { time: 0.0, next: updated.next, slopes: vec![0.0; n], stepped: false };
        let data = Data {
            timer,
            base: place.clone(),
            place,
            inputs: vec![None; start.len()],
            start,
            left: y.clone(),
            y,
            jumped: true,
            waiting: None,
            found: None,
            sent: vec![None; n],
            outbox: Vec::new(),
            plan: Plan::Send,
            terminate: updated.terminate,
            counts: UnitStatistics::default(),
        };
        let settings = Arc::new(settings);
        let mut unit = Self { instance, description, settings, data, base: None };
        unit.queue(0)?;
        unit.data.timer.at_once();
        Ok(unit)
    }

    /// The running FMU, for questions such as directional derivatives.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    fn goes_ahead(&self) -> bool {
        self.settings.state_access || self.data.inputs.is_empty()
    }

    fn seconds(&self, tick: i64) -> f64 {
        self.data.timer.resolution().seconds(tick)
    }

    fn tick(&self) -> f64 {
        1.0 / self.data.timer.resolution().ticks_per_second() as f64
    }

    /// Values of all inputs at a time.
    fn inputs_at(&self, time: f64) -> Vec<f64> {
        let value = |(held, &start): (&Option<Held>, &f64)| match held {
            Some(h) => h.segment().value(time - self.seconds(h.since())),
            None => start,
        };
        self.data.inputs.iter().zip(&self.data.start).map(value).collect()
    }

    /// Inputs that the FMU asks for inside its steps.
    fn curves(&self) -> Vec<Curve> {
        let curve = |(held, reference): (&Option<Held>, &Option<u32>)| {
            let (h, &reference) = (held.as_ref()?, reference.as_ref()?);
            let coefficients = h.segment().coefficients().to_vec();
            let origin = self.seconds(h.since());
            (coefficients.len() > 1).then_some(Curve { reference, origin, coefficients })
        };
        self.data.inputs.iter().zip(&self.settings.intermediate).filter_map(curve).collect()
    }

    /// One step towards `target`; true when event mode is due.
    fn step(&mut self, target: f64) -> Result<bool, CallError> {
        let from = self.data.place.time;
        let inputs = self.inputs_at(from);
        self.instance.write(&self.settings.smooth, &inputs)?;
        let nominal = self.seconds(self.settings.step);
        let mut by = target - from;
        if (by - nominal).abs() <= 1e-9 * nominal {
            by = nominal;
        }
        let certain = !self.settings.state_access;
        let stepped = match self.instance.step(from, by, self.curves(), certain) {
            Err(e) if e.status == Status::Discard && self.can_retry() => self.retry(from, by, e)?,
            other => other?,
        };
        let place = &mut self.data.place;
        place.stepped = true;
        self.data.counts.steps += 1;
        self.data.terminate |= stepped.terminate;
        let reached = if stepped.early { stepped.reached } else { target };
        if !(from..=target).contains(&reached) {
            return Err(strange(from, by, format!("went to {reached} s")));
        }
        place.time = reached;
        if stepped.early && !stepped.event && !stepped.terminate && reached == from {
            return Err(strange(from, by, "made no progress".into()));
        }
        let due = place.next.is_some_and(|t| reached >= t);
        Ok(self.description.event_mode && (stepped.event || due))
    }

    fn can_retry(&self) -> bool {
        self.base.is_some() && self.description.variable_step && self.data.place == self.data.base
    }

    /// A discarded step once more, from the saved state, shorter and shorter.
    fn retry(
        &mut self,
        from: f64,
        by: f64,
        first: CallError,
    ) -> Result<super::library::Stepped, CallError> {
        let Some(base) = &self.base else { return Err(first) };
        let inputs = self.inputs_at(from);
        let mut by = by;
        for _ in 0..HALVINGS {
            by /= 2.0;
            self.data.counts.rejected_steps += 1;
            self.instance.restore(base)?;
            self.instance.write(&self.settings.smooth, &inputs)?;
            match self.instance.step(from, by, self.curves(), false) {
                Ok(stepped) => {
                    let reached = if stepped.early { stepped.reached } else { from + by };
                    return Ok(super::library::Stepped { early: true, reached, ..stepped });
                }
                Err(e) if e.status == Status::Discard => {}
                Err(e) => return Err(e),
            }
        }
        Err(first)
    }

    /// Steps to `target` or, if `stop`, to the first event before it. Leaves the outputs in `y`,
    /// their left limits in `left`.
    fn walk(&mut self, target: f64, stop: bool) -> Result<bool, CallError> {
        let n = self.settings.continuous.len();
        let mut happened = false;
        let (start, before) = (self.data.place.time, self.data.y.clone());
        self.data.jumped = false;
        while target - self.data.place.time >= self.tick() && !self.data.terminate {
            let event = self.step(target)?;
            if event {
                let mut left = vec![0.0; n];
                self.instance.read(&self.settings.outputs, &mut left)?;
                self.data.left = left;
                self.happen(&[])?;
                self.data.place.slopes.fill(0.0);
                (happened, self.data.jumped) = (true, true);
                if stop {
                    break;
                }
            }
        }
        let mut y = vec![0.0; n];
        self.instance.read(&self.settings.outputs, &mut y)?;
        if !happened {
            let by = self.data.place.time - start;
            if by > 0.0 {
                let slope = |(new, old): (&f64, &f64)| (new - old) / by;
                self.data.place.slopes = y.iter().zip(&before).map(slope).collect();
            }
            self.data.left.clone_from(&y);
        }
        self.data.y = y;
        Ok(happened)
    }

    /// Event mode, in which discrete inputs may be set.
    fn happen(&mut self, inputs: &[Block]) -> Result<(), CallError> {
        let values = self.inputs_at(self.data.place.time);
        let updated = self.instance.event(inputs, &values)?;
        self.data.place.next = updated.next;
        self.data.terminate |= updated.terminate;
        Ok(())
    }

    /// The FMU at the last transition again.
    fn go_back(&mut self) -> Result<(), CallError> {
        if let Some(base) = self.base.take() {
            self.instance.restore(&base)?;
            self.data.counts.rejected_steps += 1;
        }
        self.data.place.clone_from(&self.data.base);
        self.data.left.clone_from(&self.data.y);
        (self.data.found, self.data.jumped) = (None, false);
        self.data.outbox.clear();
        self.data.terminate = false;
        Ok(())
    }

    /// Makes the FMU see its inputs as they are now.
    fn apply(&mut self, jump: bool) -> Result<(), CallError> {
        let settings = Arc::clone(&self.settings);
        let values = self.inputs_at(self.seconds(self.data.timer.now()));
        if !self.description.event_mode {
            self.instance.write(&settings.smooth, &values)?;
            self.instance.write(&settings.discrete, &values)?;
        } else if jump || !settings.discrete.is_empty() {
            let all: Vec<Block> =
                settings.smooth.iter().chain(&settings.discrete).cloned().collect();
            self.happen(&all)?;
        } else {
            self.instance.write(&settings.smooth, &values)?;
        }
        self.data.jumped |= jump;
        let mut y = vec![0.0; settings.continuous.len()];
        self.instance.read(&settings.outputs, &mut y)?;
        self.data.y = y;
        Ok(())
    }

    /// Coefficients beyond the value, per output.
    fn derivatives(&self) -> Result<Vec<Vec<f64>>, CallError> {
        let settings = &self.settings;
        let place = &self.data.place;
        let mut out = vec![Vec::new(); settings.continuous.len()];
        let order = settings.order.min(self.description.output_derivatives);
        if settings.order == 0 || !place.stepped {
            return Ok(out);
        }
        if order == 0 {
            for ((c, slope), known) in out.iter_mut().zip(&place.slopes).zip(&settings.continuous) {
                c.extend(known.map(|_| slope));
            }
            return Ok(out);
        }
        let known = settings.continuous.iter().enumerate();
        let known: Vec<(usize, u32)> = known.filter_map(|(i, r)| Some((i, (*r)?))).collect();
        let (mut references, mut orders) = (Vec::new(), Vec::new());
        for k in 1..=order {
            references.extend(known.iter().map(|(_, r)| *r));
            orders.extend(known.iter().map(|_| k as i32));
        }
        if references.is_empty() {
            return Ok(out);
        }
        let values = self.instance.output_derivatives(&references, &orders)?;
        let mut factorial = 1.0;
        for (k, row) in values.chunks(known.len()).enumerate() {
            factorial *= (k + 1) as f64;
            for ((i, _), d) in known.iter().zip(row) {
                out[*i].push(d / factorial);
            }
        }
        Ok(out)
    }

    /// Lines up segments of the outputs that are not what receivers hold, for tick `at`.
    fn queue(&mut self, at: i64) -> Result<(), CallError> {
        let more = self.derivatives()?;
        let (timer, settings) = (self.data.timer, Arc::clone(&self.settings));
        let horizon = self.seconds(settings.step);
        for (port, more) in more.into_iter().enumerate() {
            let (y, left) = (self.data.y[port], self.data.left[port]);
            let mut c = vec![y];
            c.extend(more);
            if let Some(bad) = c.iter().find(|x| !x.is_finite()) {
                let time = self.data.place.time;
                let call = format!("output {} at {time} s is {bad}: fmi3GetFloat64", port_name(&settings, port));
                return Err(CallError { call, status: Status::Error, log: Vec::new() });
            }
            let smooth = settings.continuous[port].is_some();
            let jump = y != left && (self.data.jumped || !smooth);
            let new = Segment::new(&c, Flag::Continuous, y);
            let wrong = match &self.data.sent[port] {
                None => true,
                Some(held) => {
                    let e = timer.seconds(held.since(), at);
                    let off = |later: f64| {
                        (held.segment().value(e + later) - new.value(later)).abs()
                    };
                    let off = off(0.0).max(off(horizon));
                    // Not `>`: what is not a number is wrong.
                    jump || if smooth { !(off <= settings.tolerance) } else { off != 0.0 }
                }
            };
            if wrong {
                let first = self.data.sent[port].is_none();
                let held = self.data.sent[port].as_ref().map(|h| h.value(at, &timer));
                let (flag, left) = match (first, jump, smooth) {
                    (true, ..) => (Flag::Jump, y),
                    (_, true, _) => (Flag::Jump, left),
                    (_, _, false) => (Flag::Jump, held.unwrap_or(y)),
                    _ => (Flag::Continuous, y),
                };
                self.data.outbox.push((port as u16, Segment::new(&c, flag, left)));
            }
        }
        Ok(())
    }

    /// Plans what comes next, with everything of this tag done.
    fn plan(&mut self, fx: &mut Effects<Value>) -> Result<(), CallError> {
        if !self.data.outbox.is_empty() {
            self.data.plan = Plan::Send;
            self.data.timer.at_once();
            return Ok(());
        }
        if self.data.terminate {
            fx.stop(format!("{} asks to end the run", self.settings.name));
            self.data.plan = Plan::Done;
            self.data.timer.set(NEVER);
            return Ok(());
        }
        let (now, step) = (self.data.timer.now(), self.settings.step);
        let point = (now / step).saturating_add(1).saturating_mul(step);
        let per_second = self.data.timer.resolution().ticks_per_second().unsigned_abs();
        let next = self.data.place.next.map(|t| ceil_ticks(t, per_second).unwrap_or(NEVER));
        let due = next.map_or(point, |t| point.min(t.max(now + 1)));
        if due == NEVER {
            self.data.plan = Plan::Done;
            self.data.timer.set(NEVER);
            return Ok(());
        }
        if !self.goes_ahead() {
            self.data.plan = Plan::Present;
            self.data.timer.set(due);
            return Ok(());
        }
        self.go_ahead(due, per_second)
    }

    fn go_ahead(&mut self, due: i64, per_second: u64) -> Result<(), CallError> {
        let now = self.data.timer.now();
        if self.settings.state_access {
            self.base = Some(Arc::new(self.instance.save()?));
        }
        self.data.base.clone_from(&self.data.place);
        let y = self.data.y.clone();
        let target = self.target(due);
        let event = self.walk(target, true)?;
        let mut at = due;
        if event || self.data.terminate {
            let found = ceil_ticks(self.data.place.time, per_second).unwrap_or(due);
            at = found.max(now + 1).min(due);
        }
        self.queue(at)?;
        let terminate = std::mem::replace(&mut self.data.terminate, false);
        let ahead = std::mem::replace(&mut self.data.y, y);
        self.data.found = Some(Found { y: ahead, event, terminate });
        // `left` stays what was found: with `y` it gives values in between.
        self.data.plan = Plan::Ahead;
        self.data.timer.set(at);
        Ok(())
    }

    /// The time that the FMU steps to for a tick: its own event time, where that is what is due.
    fn target(&self, due: i64) -> f64 {
        let end = self.seconds(due);
        match self.data.place.next {
            Some(t) if t > self.data.place.time && t <= end && end - t < self.tick() => t,
            _ => end,
        }
    }

    /// Reports an event of the FMU.
    fn report(&mut self, timed: bool, fx: &mut Effects<Value>) {
        let kind = if timed { EventKind::Time } else { EventKind::Private };
        if !timed {
            self.data.counts.located += 1;
            fx.located();
        }
        fx.report(Fact::Event { unit: None, name: Arc::from("event"), kind });
    }

    /// Brings the FMU to the present.
    fn arrive(&mut self, fx: &mut Effects<Value>) -> Result<(), CallError> {
        let now = self.data.timer.now();
        let planned = self.data.place.next;
        if self.walk(self.target(now), false)? {
            let timed = planned.is_some_and(|t| (t - self.seconds(now)).abs() <= self.tick());
            self.report(timed, fx);
        }
        self.queue(now)
    }

    /// What was sent is what receivers hold.
    fn note_sent(&mut self) {
        let now = self.data.timer.now();
        for (port, segment) in self.data.outbox.drain(..) {
            self.data.sent[usize::from(port)] = Some(Held::new(segment, now));
        }
    }

    /// The step ahead has become the present.
    fn commit(&mut self, fx: &mut Effects<Value>) {
        self.base = None;
        if let Some(found) = self.data.found.take() {
            self.data.y = found.y;
            self.data.terminate = found.terminate;
            if found.event {
                let planned = self.data.base.next;
                let reached = self.data.place.time;
                self.report(planned.is_some_and(|t| (t - reached).abs() <= self.tick()), fx);
            }
        }
        self.note_sent();
    }

    /// Whether an input came, and whether one jumped.
    fn receive(&mut self, bag: &Bag<'_, Value>) -> Option<bool> {
        let now = self.data.timer.now();
        let mut jump = None;
        for (port, value) in bag.iter() {
            if let (Value::Segment(s), Some(slot)) =
                (value, self.data.inputs.get_mut(usize::from(port)))
            {
                let first = slot.is_none();
                Held::receive(slot, s, now);
                let start = self.data.start[usize::from(port)];
                let jumps = if first { s.value(0.0) != start } else { s.flag == Flag::Jump };
                jump = Some(jump.unwrap_or(false) | jumps);
            }
        }
        self.data.counts.exchanges += u64::from(jump.is_some());
        jump
    }

    fn transition(
        &mut self,
        elapsed: Option<Duration>,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) {
        if let Err(e) = self.try_transition(elapsed, bag, fx) {
            self.data.plan = Plan::Done;
            self.data.timer.set(NEVER);
            fx.fail(format!("{}: {e}", self.settings.name));
        }
        for warning in self.instance.warnings() {
            fx.report(Fact::Note(warning.into()));
        }
    }

    /// `elapsed` is `None` for the unit's own event.
    fn try_transition(
        &mut self,
        elapsed: Option<Duration>,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) -> Result<(), CallError> {
        let due = self.data.timer.next();
        let moved = elapsed.is_some_and(|e| e != Duration::ZERO);
        match elapsed {
            None => self.data.timer.fire(),
            Some(e) => self.data.timer.pass(e),
        }
        let between = moved && !self.description.variable_step;
        match (self.data.plan, elapsed.is_none()) {
            (Plan::Done, _) => {
                self.data.timer.set(NEVER);
                return Ok(());
            }
            (Plan::Ahead | Plan::Present, false) if between => {
                let jump = bag.and_then(|b| self.receive(b)).unwrap_or(false);
                self.data.waiting = Some(self.data.waiting.unwrap_or(false) | jump);
                self.data.timer.set(due);
                return Ok(());
            }
            (Plan::Ahead, true) => self.commit(fx),
            (Plan::Ahead, false) => {
                self.go_back()?;
                if moved {
                    self.arrive(fx)?;
                }
            }
            (Plan::Present, true) => self.arrive(fx)?,
            (Plan::Present, false) if moved => self.arrive(fx)?,
            (Plan::Send, true) => self.note_sent(),
            (Plan::Present | Plan::Send, _) => {}
        }
        let fresh = bag.and_then(|b| self.receive(b));
        let waiting = self.data.waiting.take();
        if fresh.is_some() || waiting.is_some() {
            self.data.outbox.clear();
            self.apply(fresh == Some(true) || waiting == Some(true))?;
            self.queue(self.data.timer.now())?;
        }
        self.plan(fx)
    }
}

fn strange(from: f64, by: f64, what: String) -> CallError {
    let call = format!("fmi3DoStep from {from} s by {by} s {what}: it");
    CallError { call, status: Status::Error, log: Vec::new() }
}

fn port_name(settings: &Settings, port: usize) -> String {
    for block in &settings.outputs {
        let mut places = block.places.iter();
        for (name, elements) in &block.variables {
            if places.by_ref().take(*elements).any(|&p| p == port) {
                return name.clone();
            }
        }
    }
    port.to_string()
}

impl Atomic<Value> for FmuUnit {
    fn inputs(&self) -> u16 {
        self.data.inputs.len() as u16
    }
    fn outputs(&self) -> u16 {
        self.settings.continuous.len() as u16
    }
    fn time_advance(&self) -> Duration {
        self.data.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, segment) in &self.data.outbox {
            out.send(OutPort::<Segment>::new(*port), segment.clone());
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.transition(None, None, fx);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.transition(Some(elapsed), Some(bag), fx);
    }
    fn confluent(&mut self, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.transition(None, Some(bag), fx);
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let i = usize::from(port);
        let (now, at) = (self.data.timer.now(), self.data.timer.at(elapsed));
        let y = *self.data.y.get(i)?;
        if self.data.plan == Plan::Ahead && self.settings.continuous[i].is_some() {
            let whole = self.data.timer.seconds(now, self.data.timer.next());
            let part = self.data.timer.seconds(now, at) / whole;
            return Some(Value::Real(y + (self.data.left[i] - y) * part));
        }
        match &self.data.sent[i] {
            Some(held) if at != now => Some(Value::Real(held.value(at, &self.data.timer))),
            _ => Some(Value::Real(y)),
        }
    }
    fn statistics(&self) -> Vec<(&'static str, u64)> {
        self.data.counts.entries()
    }
}

impl FmuUnit {
    fn refused(&self, e: &CallError) -> SnapshotError {
        SnapshotError::Refused(format!("{}: {e}", self.settings.name))
    }

    fn unable(&self, what: &str) -> SnapshotError {
        SnapshotError::Unsupported(format!(
            "{} has no {what}: export the FMU with it, or use what needs no snapshots",
            self.settings.name
        ))
    }
}

impl Snapshot for FmuUnit {
    type Saved = Saved;

    fn save(&self) -> Result<Saved, SnapshotError> {
        if !self.settings.state_access {
            return Err(self.unable("state access (canGetAndSetFMUState)"));
        }
        let state = self.instance.save().map_err(|e| self.refused(&e))?;
        Ok(Saved { data: self.data.clone(), state, base: self.base.clone() })
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), SnapshotError> {
        self.instance.restore(&saved.state).map_err(|e| self.refused(&e))?;
        self.data.clone_from(&saved.data);
        self.base.clone_from(&saved.base);
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        if !(self.settings.state_access && self.description.serialisable) {
            return Err(self.unable("serialisable state (canSerializeFMUState)"));
        }
        let bytes = |state: &StateHandle| {
            self.instance.serialise(state).map_err(|e| self.refused(&e))
        };
        let now = self.instance.save().map_err(|e| self.refused(&e))?;
        let base = self.base.as_deref().map(bytes).transpose()?;
        encode(&(&self.data, bytes(&now)?, base))
    }

    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let (data, now, base): (Data, Vec<u8>, Option<Vec<u8>>) = decode(bytes)?;
        if data.inputs.len() != self.data.inputs.len() || data.y.len() != self.data.y.len() {
            return Err(SnapshotError::Corrupt("another FMU's state".into()));
        }
        let state = |bytes: &Vec<u8>| {
            self.instance.deserialise(bytes).map_err(|e| self.refused(&e))
        };
        let base = base.as_ref().map(state).transpose()?.map(Arc::new);
        let now = state(&now)?;
        self.instance.restore(&now).map_err(|e| self.refused(&e))?;
        (self.data, self.base) = (data, base);
        Ok(())
    }
}
