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
    description::Interface,
    heard::{exactly, receive},
    instance::{CallError, Instance, ROUNDS, StateHandle, crowded},
    library::{Curve, Updated},
    settings::Settings,
    words::Said,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox, port::OutPort, time::Duration,
};
use superdense_models::{
    maths::rounding::ceil_ticks,
    signal::{
        Held, NEVER, Timer,
        statistics::UnitStatistics,
        value::{Segment, Value},
    },
};

/// Memory that is used again from step to step.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Values of inputs.
    pub inputs: Vec<f64>,
    /// Inputs inside a step.
    pub curves: Vec<Curve>,
    /// Outputs before a step.
    pub before: Vec<f64>,
    /// Outputs that were replaced.
    pub row: Vec<f64>,
    /// Derivatives of outputs.
    pub rates: Vec<f64>,
    /// A saved state that is needed no more.
    pub state: Option<Arc<StateHandle>>,
}

/// The unit's action at the due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Plan {
    /// The waiting messages are sent.
    Send,
    /// The FMU waits for the answers to its messages: they come one micro-step later, and would undo a step ahead.
    Listen,
    /// The FMU is there already.
    Ahead,
    /// The FMU will step.
    Present,
    /// Nothing any more.
    Done,
}

/// Results at the end of a step ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Found {
    /// Outputs, after events.
    pub y: Vec<f64>,
    pub event: bool,
    pub terminate: bool,
}

/// Where the FMU stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Its time in seconds.
    pub time: f64,
    /// Its next time event.
    pub next: Option<f64>,
    /// Slopes of the outputs over the last step.
    pub slopes: Vec<f64>,
    /// The first step was made.
    pub stepped: bool,
}

impl Place {
    /// Takes the other one's facts, and no memory.
    pub(super) fn take(&mut self, other: &Self) {
        (self.time, self.next, self.stepped) = (other.time, other.next, other.stepped);
        self.slopes.clone_from(&other.slopes);
    }
}

/// Everything that changes in a run, beside the FMU's own state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Data {
    pub timer: Timer,
    pub place: Place,
    /// The place that belongs to the saved state.
    pub base: Place,
    pub inputs: Vec<Option<Held>>,
    /// Inputs at the last communication point, where others have come since.
    pub earlier: Vec<Option<Held>>,
    /// Values of inputs without a segment.
    pub start: Vec<f64>,
    /// Outputs now, and their left limits.
    pub y: Vec<f64>,
    pub left: Vec<f64>,
    /// An event, or a jump of an input, lies between the two.
    pub jumped: bool,
    /// Inputs that wait for the next communication point: none, smooth, with a jump.
    pub waiting: Option<bool>,
    pub found: Option<Found>,
    /// The segments that receivers hold.
    pub sent: Vec<Option<Held>>,
    pub outbox: Vec<(u16, Segment)>,
    pub said: Said,
    /// All answers of this time have come, as far as anyone can tell.
    pub listened: bool,
    /// Tick at which an input of whole numbers will have changed.
    pub flip: i64,
    /// Steps so far that ended in the tick in which they began.
    pub standing: usize,
    pub plan: Plan,
    pub terminate: bool,
    pub counts: UnitStatistics,
}

/// An FMU under the kernel. See the module for how it runs.
#[derive(Debug)]
pub struct FmuUnit {
    pub(super) instance: Instance,
    pub(super) interface: Interface,
    pub(super) settings: Arc<Settings>,
    pub(super) data: Data,
    /// The FMU's state at the last transition, while it is ahead.
    pub(super) base: Option<Arc<StateHandle>>,
    pub(super) scratch: Scratch,
}

impl FmuUnit {
    /// A unit around an instance that is initialised; `updated` is what its first event told.
    pub(super) fn new(
        instance: Instance,
        interface: Interface,
        settings: Settings,
        start: Vec<f64>,
        timer: Timer,
        updated: Updated,
    ) -> Result<Self, CallError> {
        let n = settings.continuous.len();
        let mut y = vec![0.0; n + settings.wide.len()];
        instance.read(&settings.outputs, &mut y)?;
        let place = Place { time: 0.0, next: updated.next, slopes: vec![0.0; n], stepped: false };
        let data = Data {
            timer,
            base: place.clone(),
            place,
            inputs: vec![None; settings.whole.ports.len()],
            earlier: Vec::new(),
            start,
            left: y.clone(),
            y,
            jumped: true,
            waiting: None,
            found: None,
            sent: vec![None; n],
            outbox: Vec::new(),
            said: settings.words.begin(),
            listened: false,
            flip: NEVER,
            standing: 0,
            plan: Plan::Send,
            terminate: updated.terminate,
            counts: UnitStatistics::default(),
        };
        let settings = Arc::new(settings);
        let scratch = Scratch::default();
        let mut unit = Self { instance, interface, settings, data, base: None, scratch };
        unit.queue(0)?;
        unit.data.timer.at_once();
        Ok(unit)
    }

    /// The running FMU, for questions such as directional derivatives.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    fn goes_ahead(&self) -> bool {
        self.settings.state_access || self.inputs() == 0
    }

    pub(super) fn seconds(&self, tick: i64) -> f64 {
        self.data.timer.resolution().seconds(tick)
    }

    pub(super) fn tick(&self) -> f64 {
        1.0 / self.data.timer.resolution().ticks_per_second() as f64
    }

    /// Plans what comes next, with everything of this tag done.
    fn plan(&mut self, fx: &mut Effects<Value>) -> Result<(), CallError> {
        if !self.data.outbox.is_empty() || self.data.said.waits() {
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
        let mut point = (now / step).saturating_add(1).saturating_mul(step);
        // Nobody asks for what lies beyond the end, where the FMU may know nothing.
        let goes_on = now < self.settings.stop;
        if goes_on && self.interface.variable_step {
            point = point.min(self.settings.stop);
        }
        let per_second = self.data.timer.resolution().ticks_per_second().unsigned_abs();
        self.data.flip = self.flip();
        if self.interface.variable_step {
            point = point.min(self.data.flip);
        }
        // Events that the clock of the FMU has in this tick come in this tick.
        let soonest = if self.crowds(now).is_some() { now } else { now + 1 };
        let next = self.data.place.next.map(|t| ceil_ticks(t, per_second).unwrap_or(NEVER));
        let due = next.map_or(point, |t| point.min(t.max(soonest)));
        if due == NEVER {
            self.data.plan = Plan::Done;
            self.data.timer.set(NEVER);
            return Ok(());
        }
        if !(goes_on && self.goes_ahead()) {
            self.data.plan = Plan::Present;
            self.data.timer.set(due);
            return Ok(());
        }
        let hears = self.data.inputs.iter().any(Option::is_some) || self.data.said.hears();
        if hears && !self.data.listened {
            self.data.listened = true;
            self.data.plan = Plan::Listen;
            self.data.timer.at_once();
            return Ok(());
        }
        self.data.listened = false;
        self.go_ahead(due, per_second)
    }

    /// The tick at which an input of whole numbers changes next.
    fn flip(&self) -> i64 {
        let timer = &self.data.timer;
        let age = |held: &Held| timer.seconds(held.since(), timer.now());
        let first = self.settings.whole.first_flip(&self.data.inputs, age);
        first.map_or(NEVER, |s| timer.event(timer.now(), s))
    }

    /// The next event of the FMU's clock, if that is to come by tick `now`.
    fn crowds(&self, now: i64) -> Option<f64> {
        let (from, to) = (self.data.place.time, self.seconds(now));
        self.data.place.next.filter(|t| self.interface.event_mode && from < *t && *t <= to)
    }

    /// Saves the FMU's state, where that can be in the memory of the last one.
    fn save_base(&mut self) -> Result<(), CallError> {
        let mut state = self.scratch.state.take();
        match state.as_mut().and_then(Arc::get_mut) {
            Some(own) => self.instance.save_over(own)?,
            None => state = Some(Arc::new(self.instance.save()?)),
        }
        self.base = state;
        Ok(())
    }

    /// Nobody goes back to the saved state any more.
    fn leave_base(&mut self) {
        if let Some(state) = self.base.take() {
            self.scratch.state = Some(state);
        }
    }

    fn go_ahead(&mut self, due: i64, per_second: u64) -> Result<(), CallError> {
        let now = self.data.timer.now();
        if self.settings.state_access {
            self.save_base()?;
        }
        self.data.base.take(&self.data.place);
        let mut y = std::mem::take(&mut self.scratch.row);
        y.clone_from(&self.data.y);
        let target = self.target(due);
        let event = self.walk(target, true)?;
        let mut at = due;
        if event || self.data.terminate {
            let found = ceil_ticks(self.data.place.time, per_second).unwrap_or(due);
            at = found.max(now).min(due);
        }
        self.data.standing = if at > now { 0 } else { self.data.standing + 1 };
        if self.data.standing > ROUNDS {
            let next = self.data.place.next.unwrap_or(self.data.place.time);
            return Err(crowded(next, self.seconds(now)));
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

    /// Brings the FMU to the present, with all events of its clock until then.
    fn arrive(&mut self, fx: &mut Effects<Value>) -> Result<(), CallError> {
        let now = self.data.timer.now();
        let mut jumped = false;
        for round in 0.. {
            let planned = self.data.place.next;
            if self.walk(self.target(now), false)? {
                let timed = planned.is_some_and(|t| (t - self.seconds(now)).abs() <= self.tick());
                self.report(timed, fx);
            }
            jumped |= self.data.jumped;
            match self.crowds(now) {
                Some(next) if round >= ROUNDS => return Err(crowded(next, self.seconds(now))),
                Some(_) if !self.data.terminate => {}
                _ => break,
            }
        }
        self.data.jumped = jumped;
        self.queue(now)
    }

    /// Receivers now hold the segments that were sent.
    fn note_sent(&mut self) {
        let now = self.data.timer.now();
        for (port, segment) in self.data.outbox.drain(..) {
            self.data.sent[usize::from(port)] = Some(Held::new(segment, now));
        }
        self.data.said.note_sent(&self.settings.words);
    }

    /// The step ahead has become the present.
    fn commit(&mut self, fx: &mut Effects<Value>) {
        self.leave_base();
        if let Some(found) = self.data.found.take() {
            self.scratch.row = std::mem::replace(&mut self.data.y, found.y);
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
    fn receive(&mut self, bag: &Bag<'_, Value>) -> Result<Option<bool>, CallError> {
        let now = self.data.timer.now();
        let jump = receive(bag, &mut self.data.inputs, &self.data.start, now);
        let said = self.settings.words.receive(bag, &mut self.data.said)?;
        let jump = if said { Some(true) } else { jump };
        self.data.counts.exchanges += u64::from(jump.is_some());
        Ok(jump)
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
        let between = moved && !self.interface.variable_step;
        match (self.data.plan, elapsed.is_none()) {
            (Plan::Done, _) => {
                self.data.timer.set(NEVER);
                return Ok(());
            }
            (Plan::Ahead | Plan::Present, false) if between => {
                if self.data.waiting.is_none() {
                    self.data.earlier.clone_from(&self.data.inputs);
                }
                let heard = bag.map(|b| self.receive(b)).transpose()?.flatten();
                let jump = heard.unwrap_or(false);
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
                self.leave_base();
            }
            (Plan::Present, true) => self.arrive(fx)?,
            (Plan::Present, false) if moved => self.arrive(fx)?,
            (Plan::Send, true) => self.note_sent(),
            (Plan::Present | Plan::Send | Plan::Listen, _) => {}
        }
        let fresh = bag.map(|b| self.receive(b)).transpose()?.flatten();
        let mut waiting = self.data.waiting.take();
        if self.data.flip <= self.data.timer.now() {
            (waiting, self.data.flip) = (Some(true), NEVER);
        }
        if fresh.is_some() || waiting.is_some() {
            self.data.outbox.clear();
            self.data.said.forget();
            if !self.begins_again()? {
                self.apply(fresh == Some(true) || waiting == Some(true))?;
            }
            self.queue(self.data.timer.now())?;
        }
        self.plan(fx)
    }
}

impl Atomic<Value> for FmuUnit {
    fn inputs(&self) -> u16 {
        self.data.inputs.len() as u16 + self.settings.words.ports().0
    }
    fn outputs(&self) -> u16 {
        self.settings.continuous.len() as u16 + self.settings.words.ports().1
    }
    fn time_advance(&self) -> Duration {
        self.data.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, segment) in &self.data.outbox {
            out.send(OutPort::<Segment>::new(*port), segment.clone());
        }
        self.data.said.send(out);
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
        let y = *self.data.y[..self.settings.continuous.len()].get(i)?;
        if self.data.plan == Plan::Ahead && self.settings.continuous[i].is_some() {
            let whole = self.data.timer.seconds(now, self.data.timer.next());
            let part = self.data.timer.seconds(now, at) / whole;
            return Some(Value::Real(y + (self.data.left[i] - y) * part));
        }
        match &self.data.sent[i] {
            Some(held) if at != now && held.segment().as_whole().is_some() => {
                Some(Value::Segment(held.segment().clone()))
            }
            Some(held) if at != now => Some(Value::Real(held.value(at, &self.data.timer))),
            _ => Some(exactly(y, self.rests(i).map(|(rest, _)| rest))),
        }
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        self.data.counts.entries()
    }
}
