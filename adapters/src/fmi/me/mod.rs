//! An FMU for model exchange as an atomic model: its states are solved for here, as those of an
//! equation unit are.
//!
//! # How it runs
//! After every transition the solver has one step with dense output ahead of the present
//! ([`walk`]). The FMU's event indicators are located on it; what is found becomes the time
//! advance, rounded up to the first tick at which the indicator has left its domain (the FMU owns
//! the truth: z = 0 belongs to z ≤ 0). There the FMU enters event mode; each round of its event
//! iteration is a micro-step ([`events`]). Outputs become polynomials on parts of the step
//! ([`pieces`]).
//!
//! Steps ahead change nothing in the FMU but its time, states and inputs, which every evaluation
//! sets anew. So an input that comes inside a step needs no state access: the dense output there
//! becomes the state.
pub(super) mod build;
mod events;
mod field;
mod notes;
mod pieces;
mod saved;
mod walk;

use super::{
    beginning::Beginning,
    discrete::Whole,
    heard::{exactly, receive},
    instance::{Block, CallError, Instance},
    nominal::Nominal,
    words::{Said, Words},
};
use field::Field;
use notes::Notes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, EventKind, Fact, Outbox, port::OutPort, time::Duration,
};
use superdense_models::{
    signal::{
        Held, NEVER, Timer,
        statistics::UnitStatistics,
        value::{Segment, Value},
    },
    solve::ode::{Locator, Past, Solver},
};

/// Facts that do not change in a run.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Name of the FMU in messages.
    pub name: String,
    /// How far an output may be off what receivers hold.
    pub tolerance: f64,
    /// Highest power of the segments that are sent.
    pub order: usize,
    /// Whether the state may be saved and brought back.
    pub state_access: bool,
    /// Whether it can be written down.
    pub serialisable: bool,
    /// Whether accepted steps are told.
    pub completed_step: bool,
    /// Continuous inputs, and those that only event mode takes.
    pub smooth: Vec<Block>,
    pub discrete: Vec<Block>,
    pub whole: Whole,
    /// Outputs; per port whether it changes continuously, and whether somebody receives it.
    pub outputs: Vec<Block>,
    pub continuous: Vec<bool>,
    /// Outputs of integers of 64 bits. What their reals lack follows behind the values of all outputs.
    pub wide: Vec<usize>,
    pub heard: Vec<bool>,
    /// Nominal values of outputs.
    pub usual: Vec<Nominal>,
    pub words: Words,
    /// Numbers of states and of event indicators.
    pub states: usize,
    pub indicators: usize,
    /// Nominal values of the states.
    pub nominals: Vec<f64>,
    /// For directional or adjoint derivatives, if the FMU has them.
    pub directions: Option<Directions>,
    pub beginning: Beginning,
}

/// References of derivatives, and of states with their numbers of elements, which both have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Directions {
    pub unknowns: Vec<u32>,
    pub knowns: Vec<(u32, usize)>,
    /// The FMU gives rows of the Jacobian only, and no columns.
    pub rows: bool,
}

/// The unit's action at the due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Due {
    /// The polynomials end.
    Piece,
    /// The solver's step ends.
    Step,
    /// An indicator leaves its domain.
    State,
    /// The FMU's own time event.
    Time,
    /// An input of whole numbers changes.
    Input,
    /// Nothing any more.
    Never,
}

/// Everything that changes in a run, beside the FMU's own state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Data {
    pub timer: Timer,
    pub solver: Solver,
    pub inputs: Vec<Option<Held>>,
    /// Values of inputs without a segment.
    pub start: Vec<f64>,
    /// Outputs after the last event.
    pub y: Vec<f64>,
    /// The segments that receivers hold.
    pub sent: Vec<Option<Held>>,
    pub outbox: Vec<(u16, Segment)>,
    pub said: Said,
    /// The outbox is sent first.
    pub sending: bool,
    /// The FMU is in event mode, between two rounds.
    pub in_event: bool,
    /// Rounds of this event so far.
    pub rounds: u32,
    /// An event is due at this tag, for this reason.
    pub wanted: Option<Due>,
    /// The event has changed states, or their nominal values.
    pub moved: bool,
    pub renew: bool,
    /// Outputs may have jumped since the last segments; what they were before.
    pub jumped: bool,
    pub left: Vec<f64>,
    /// Tick and reason of the next action.
    pub due: (i64, Due),
    /// The end of the solver's last step.
    pub found: (i64, Due),
    /// The FMU's next time event, in seconds since its start.
    pub next: Option<f64>,
    /// The last one, and how many so far did not bring the next one beyond the present.
    pub handled: f64,
    pub standing: usize,
    /// Tick at which an input of whole numbers will have changed.
    pub flip: i64,
    /// Domains of the indicators: 1 or -1.
    pub sides: Vec<f64>,
    pub past: Vec<Past>,
    /// The FMU knows that the solver's last step was accepted.
    pub told: bool,
    pub terminate: bool,
    /// Evaluations beside those that the solver counts.
    pub extra: u64,
    pub counts: UnitStatistics,
    notes: Option<Notes>,
}

/// An FMU for model exchange under the kernel. See the module for how it runs.
#[derive(Debug)]
pub struct ExchangeUnit {
    pub(super) instance: Instance,
    pub(super) settings: Arc<Settings>,
    pub(super) data: Data,
    locator: Locator,
}

impl ExchangeUnit {
    fn field(&self) -> Field<'_> {
        Field {
            instance: &self.instance,
            settings: &self.settings,
            inputs: &self.data.inputs,
            start: &self.data.start,
            timer: self.data.timer,
            extra: 0,
            refused: None,
        }
    }

    fn tick(&self) -> f64 {
        1.0 / self.data.timer.resolution().ticks_per_second() as f64
    }

    /// States at a time since the last transition.
    fn states(&self, t: f64) -> Vec<f64> {
        let mut x = vec![0.0; self.settings.states];
        self.data.solver.dense(t, &mut x);
        x
    }

    /// Reports an event of the FMU.
    fn report(&mut self, reason: Due, fx: &mut Effects<Value>) {
        let kind = if reason == Due::Time { EventKind::Time } else { EventKind::Private };
        if kind == EventKind::Private {
            self.data.counts.located += 1;
            fx.located();
        }
        fx.report(Fact::Event { unit: None, name: Arc::from("event"), kind });
    }

    fn transition(
        &mut self,
        elapsed: Option<Duration>,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) {
        if let Err(e) = self.try_transition(elapsed, bag, fx) {
            self.data.due = (NEVER, Due::Never);
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
        let earlier = self.data.timer;
        let before = earlier.now();
        match elapsed {
            None => self.data.timer.fire(),
            Some(e) => self.data.timer.pass(e),
        }
        if self.data.due.1 == Due::Never && !self.data.sending {
            self.data.timer.set(NEVER);
            return Ok(());
        }
        let now = self.data.timer.now();
        let (was_sending, was_in_event) = (self.data.sending, self.data.in_event);
        if elapsed.is_none() && was_sending {
            self.note_sent();
        } else if now != before {
            self.note_until(earlier, now)?;
            self.move_on(self.data.timer.seconds(before, now), elapsed.is_none())?;
        } else if elapsed.is_none() && self.data.due == (now, Due::Time) {
            self.data.wanted = Some(Due::Time);
        }
        let flipped = self.data.flip <= now;
        if flipped {
            self.data.flip = NEVER;
            self.data.wanted.get_or_insert(Due::Input);
        }
        if self.data.wanted.is_some() || bag.is_some() {
            self.note_left(now != before)?;
        }
        let fresh = bag.map(|b| self.receive(b)).transpose()?.flatten();
        let wanted = self.data.wanted.take();
        if fresh.is_some() && self.begins_again()? {
            // The start has taken its place.
        } else if self.data.in_event {
            // Inputs that come between two rounds belong to the next one.
            self.round(fresh.is_some())?;
        } else if fresh.is_some() || wanted.is_some() {
            self.cut(0.0)?;
            let wanted = wanted.or_else(|| self.data.wanted.take());
            // A change of an input is told by whoever sends it.
            if let Some(reason) = wanted.filter(|reason| *reason != Due::Input) {
                self.report(reason, fx);
            }
            let discrete = fresh.is_some() && !self.settings.discrete.is_empty();
            if wanted.is_some() || fresh == Some(true) || discrete {
                self.begin_event(self.data.next.filter(|_| wanted == Some(Due::Time)))?;
                self.round(fresh.is_some() || flipped)?;
            }
        }
        let only_sent = was_sending && !was_in_event && fresh.is_none() && wanted.is_none();
        self.plan(only_sent && elapsed.is_none(), fx)
    }

    /// Time passes: up to the due time, or to an input before it.
    fn move_on(&mut self, by: f64, due: bool) -> Result<(), CallError> {
        self.data.solver.shift_origin(by);
        match self.data.due.1 {
            _ if !due => self.cut(0.0),
            Due::Piece | Due::Never => Ok(()),
            Due::Step => self.tell(),
            reason @ (Due::State | Due::Time | Due::Input) => {
                self.data.wanted = Some(reason);
                Ok(())
            }
        }
    }

    /// Outputs before what happens now, with the inputs as they were: only what an event changes is a jump.
    fn note_left(&mut self, moved: bool) -> Result<(), CallError> {
        if self.data.jumped || self.data.in_event {
            return Ok(());
        }
        let mut left = self.data.y.clone();
        if moved && self.settings.heard.contains(&true) {
            self.field().outputs(0.0, &self.states(0.0), &mut left)?;
        }
        self.data.left = left;
        Ok(())
    }

    fn receive(&mut self, bag: &Bag<'_, Value>) -> Result<Option<bool>, CallError> {
        let now = self.data.timer.now();
        let jump = receive(bag, &mut self.data.inputs, &self.data.start, now);
        let said = self.settings.words.receive(bag, &mut self.data.said)?;
        let jump = if said { Some(true) } else { jump };
        self.data.counts.exchanges += u64::from(jump.is_some());
        Ok(jump)
    }

    /// Receivers now hold the segments that were sent.
    fn note_sent(&mut self) {
        let now = self.data.timer.now();
        self.data.sending = false;
        for (port, segment) in self.data.outbox.drain(..) {
            self.data.sent[usize::from(port)] = Some(Held::new(segment, now));
        }
        self.data.said.note_sent(&self.settings.words);
    }

    /// Plans what comes next, with everything of this tag done; `planned` when only the outbox was
    /// sent.
    fn plan(&mut self, planned: bool, fx: &mut Effects<Value>) -> Result<(), CallError> {
        if self.data.in_event {
            self.queue_values();
            self.data.sending = true;
            self.data.timer.at_once();
            return Ok(());
        }
        if self.data.terminate && self.data.outbox.is_empty() {
            self.queue_values();
            if self.data.outbox.is_empty() && !self.data.said.waits() {
                fx.stop(format!("{} asks to end the run", self.settings.name));
                self.data.due = (NEVER, Due::Never);
                self.data.timer.set(NEVER);
                return Ok(());
            }
        } else {
            let known = planned && self.data.due.0 > self.data.timer.now();
            if !(self.data.terminate || known) {
                self.look_ahead()?;
            }
        }
        self.data.sending = !self.data.outbox.is_empty() || self.data.said.waits();
        if self.data.sending {
            self.data.timer.at_once();
        } else {
            self.data.timer.set(self.data.due.0);
        }
        Ok(())
    }
}

impl Atomic<Value> for ExchangeUnit {
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
        let last = *self.data.y[..self.settings.continuous.len()].get(i)?;
        if self.data.in_event || !self.settings.continuous[i] || self.data.due.1 == Due::Never {
            return Some(exactly(last, self.rest(i)));
        }
        let t = self.data.timer.seconds(self.data.timer.now(), self.data.timer.at(elapsed));
        let mut y = self.data.y.clone();
        let read = self.field().outputs(t, &self.states(t), &mut y);
        Some(Value::Real(if read.is_ok() { y[i] } else { last }))
    }
    fn note(&mut self, ports: &[u16]) -> bool {
        let known = ports.iter().all(|&port| usize::from(port) < self.settings.continuous.len());
        if known {
            self.begin_notes(ports);
        }
        known
    }
    fn take_notes(&mut self, until: Option<Duration>) -> Option<Box<dyn std::any::Any>> {
        let timer = self.data.timer;
        if let Some(elapsed) = until
            && self.data.due.1 != Due::Never
            && self.note_until(timer, timer.at(elapsed)).is_err()
        {
            return None;
        }
        Some(Box::new(self.pieces_taken()?))
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        let solver = self.data.solver.statistics();
        let mut counts = self.data.counts;
        counts.steps = solver.accepted;
        counts.rejected_steps = solver.rejected;
        counts.evaluations = solver.evaluations + self.data.extra;
        counts.entries()
    }
}
