//! A simulator as an atomic model.
//!
//! # Times
//! The simulator counts whole times; time n is the instant n·`resolution`. It steps once at a time, in
//! the micro-step by which all that others send it at that instant has come: its *depth*
//! in the graph of undelayed connections, which the plan knows. Until then it waits by time
//! advances of zero. In a ring that weak connections close, it steps again a *round* later.
//!
//! # Values
//! Persistent attributes are held signals, sent anew after each step; others are events. Outputs
//! leave one micro-step after the step, or at the time that the simulator gives with them.
use super::{
    begin::{Begun, begin},
    exchange::{Out, Sent},
    host::{Awaited, HostError, Origin},
    journal::{Journal, Step, Word},
    json::{ValueError, of_real, of_value, to_real},
    layout::{Layout, Port},
    meta::Stepping,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use superdense_kernel::{
    Atomic, Bag, Effects, Outbox,
    port::OutPort,
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::{Duration, Resolution, TimeError},
};
use superdense_models::{
    kinds::ValueType,
    signal::{
        Held, NEVER, Timer,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};

/// Facts about the unit that do not change in a run.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The name that the simulator is told for itself.
    pub sid: String,
    pub origin: Origin,
    pub patience: std::time::Duration,
    /// Parameters of `init`.
    pub start: Vec<(String, Json)>,
    pub layout: Layout,
    /// Per input: the name that the simulator is told for where its values come from.
    pub sources: Vec<String>,
    /// Per input: whether somebody sends to it.
    pub driven: Vec<bool>,
    pub ticks: Resolution,
    /// Ticks between two times of the simulator.
    pub step: i64,
    /// Tick at which the run ends.
    pub stop: i64,
    /// Time of a first step of a simulator that is not stepped at the start by itself.
    pub first: Option<i64>,
    /// Messages between times are heard at the next one.
    pub up: bool,
    pub rounds: u32,
    /// Micro-step of its steps, and micro-steps from one round of a ring to the next; 0 without a ring.
    pub depth: u32,
    pub ring: u32,
}

impl Settings {
    pub(super) fn seconds(&self, tick: i64) -> f64 {
        self.ticks.seconds(tick)
    }
    /// The first time that is not reached.
    pub(super) fn until(&self) -> i64 {
        self.stop / self.step + i64::from(self.stop % self.step != 0)
    }
    /// A call, for messages.
    pub(super) fn call(&self, name: &str, time: i64) -> String {
        let at = self.ticks.format(time.saturating_mul(self.step));
        format!("{name} of time {time} ({at} s)")
    }
}

/// Why the unit ends the run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("{0}")]
    Host(#[from] HostError),
    #[error("input `{0}`: {1}")]
    Input(String, ValueError),
    #[error("output `{output}` after {call}: {why}")]
    Output { output: String, call: String, why: String },
    #[error(
        "two events came to `{0}` at one instant, but the simulator hears one value of each source: connect each to an input of its own"
    )]
    Twice(String),
    #[error(
        "something came to `{input}` at {at} s, but the simulator steps only at multiples of {step} s: write rounding = \"up\", or send it at such a time"
    )]
    Between { input: String, at: String, step: String },
    #[error(
        "more than {rounds} steps in {call}: a loop that does not come to rest; see why, or raise `max_rounds`"
    )]
    Endless { rounds: u32, call: String },
    #[error(
        "{call}: {how}; a run is resumed only with simulators that do again what they did: start them as they were, or begin a new run"
    )]
    Changed { call: String, how: String },
    #[error("{0}")]
    Journal(#[from] SnapshotError),
}

/// Something that was heard.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Told {
    Signal(Held),
    Event(Word),
}

/// An input: what is heard now, and what a shifted connection lets be heard from a time on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Ear {
    now: Option<Told>,
    later: Option<(i64, Told)>,
}

impl Ear {
    fn shift(&mut self, from: i64) {
        if self.later.as_ref().is_some_and(|(at, _)| *at <= from) {
            self.now = self.later.take().map(|(_, told)| told);
        }
    }
}

/// The simulator: not started, on its way, ready, given up.
#[derive(Debug)]
enum Stage {
    New,
    Awaited(Result<Awaited, HostError>),
    Begun(Box<Begun>),
    Over,
}

/// A simulator under the kernel. See the module for how it runs.
#[derive(Debug)]
pub(super) struct MosaikUnit {
    settings: Arc<Settings>,
    stage: Stage,
    timer: Timer,
    ears: Vec<Ear>,
    /// Times at which it will step.
    due: BTreeSet<i64>,
    /// The last time at which it stepped, and how often.
    stepped: (i64, u32),
    /// It waits for the micro-step of its step.
    waits: bool,
    /// By tick: values to be sent.
    pending: BTreeMap<i64, Vec<(u16, Out)>>,
    /// Per output: the value that receivers hold.
    levels: Vec<Option<f64>>,
    counts: UnitStatistics,
    journal: Journal,
}

/// Everything of a unit but its simulator.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The simulator had begun.
    begun: bool,
    timer: Timer,
    ears: Vec<Ear>,
    due: BTreeSet<i64>,
    stepped: (i64, u32),
    waits: bool,
    pending: BTreeMap<i64, Vec<(u16, Out)>>,
    levels: Vec<Option<f64>>,
    counts: UnitStatistics,
    journal: Journal,
}

impl MosaikUnit {
    pub(super) fn new(settings: Settings) -> Self {
        let initial = |(port, p): (usize, &Port)| {
            let x = to_real(p.initial.as_ref()?).ok()?;
            Some((port as u16, Out::Signal(x)))
        };
        let outputs: Vec<_> =
            settings.layout.outputs.iter().enumerate().filter_map(initial).collect();
        let pending = if outputs.is_empty() { BTreeMap::new() } else { [(0, outputs)].into() };
        Self {
            timer: Timer::due(0, settings.ticks),
            ears: settings.layout.inputs.iter().map(|_| Ear::default()).collect(),
            levels: vec![None; settings.layout.outputs.len()],
            settings: Arc::new(settings),
            stage: Stage::New,
            due: BTreeSet::new(),
            stepped: (-1, 0),
            waits: false,
            pending,
            counts: UnitStatistics::default(),
            journal: Journal::default(),
        }
    }

    /// Waits for the simulator, which was started with the run, and prepares it.
    fn begin(&mut self) -> Result<(), Trouble> {
        if !matches!(self.stage, Stage::New | Stage::Awaited(_)) {
            return Ok(());
        }
        let begun = self.start()?;
        let first = match begun.stepping {
            Stepping::TimeBased | Stepping::Hybrid => Some(0),
            Stepping::EventBased => None,
        };
        self.stage = Stage::Begun(Box::new(begun));
        for time in [first, self.settings.first].into_iter().flatten() {
            self.want(time);
        }
        Ok(())
    }

    /// Waits for the simulator, which is given up where it does not come.
    fn start(&mut self) -> Result<Begun, Trouble> {
        let awaited = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Awaited(awaited) => awaited?,
            _ => Awaited::new(&self.settings.origin)?,
        };
        Ok(begin(awaited, &self.settings)?)
    }

    /// A step at a time, unless the run ends before.
    fn want(&mut self, time: i64) {
        if time.checked_mul(self.settings.step).is_some_and(|tick| tick < self.settings.stop) {
            self.due.insert(time);
        }
    }

    /// Takes what came.
    fn receive(&mut self, bag: &Bag<'_, Value>) -> Result<(), Trouble> {
        let settings = Arc::clone(&self.settings);
        let (now, mut last) = (self.timer.now(), None);
        for (port, value) in bag.iter() {
            let i = usize::from(port);
            let (Some(ear), Some(spec)) = (self.ears.get_mut(i), settings.layout.inputs.get(i))
            else {
                continue;
            };
            let told = match (spec.event, value) {
                (None, Value::Segment(s)) => Told::Signal(Held::new(s.clone(), now)),
                (None, _) => continue,
                (Some(_), _) if last == Some(port) => {
                    return Err(Trouble::Twice(spec.name.clone()));
                }
                (Some(ValueType::Real), Value::Int(i)) => {
                    Told::Event(Word::of(&Json::from(*i as f64)))
                }
                (Some(_), v) => {
                    let json = of_value(v).map_err(|e| Trouble::Input(spec.name.clone(), e))?;
                    Told::Event(Word::of(&json))
                }
            };
            last = Some(port);
            let next = now / settings.step + 1;
            if spec.shifted {
                ear.shift(next - 1);
                ear.later = Some((next, told));
            } else {
                ear.now = Some(told);
            }
            let Stage::Begun(begun) = &self.stage else { continue };
            if begun.triggers[i] {
                self.trigger(spec)?;
            }
        }
        Ok(())
    }

    /// A step because of something that came.
    fn trigger(&mut self, input: &Port) -> Result<(), Trouble> {
        let (now, s) = (self.timer.now(), Arc::clone(&self.settings));
        let whole = now % s.step == 0;
        if !whole && !input.shifted && !s.up {
            let (at, step) = (s.ticks.format(now), s.ticks.format(s.step));
            return Err(Trouble::Between { input: input.name.clone(), at, step });
        }
        self.want(now / s.step + i64::from(!whole || input.shifted));
        Ok(())
    }

    /// Steps, if a step is due and all have spoken.
    fn turn(&mut self, fx: &mut Effects<Value>) -> Result<(), Trouble> {
        self.waits = false;
        let Some(&time) = self.due.first() else { return Ok(()) };
        if time.checked_mul(self.settings.step) != Some(self.timer.now()) {
            return Ok(());
        }
        let micro = fx.now().micro;
        let (depth, ring) = (self.settings.depth, self.settings.ring);
        let turn = match micro.checked_sub(depth) {
            None => depth,
            Some(_) if ring == 0 => micro,
            Some(past) => depth.saturating_add(past.div_ceil(ring).saturating_mul(ring)),
        };
        if micro < turn {
            self.waits = true;
            return Ok(());
        }
        self.due.remove(&time);
        self.step(time)
    }

    fn step(&mut self, time: i64) -> Result<(), Trouble> {
        let s = Arc::clone(&self.settings);
        self.stepped = if self.stepped.0 == time { (time, self.stepped.1 + 1) } else { (time, 1) };
        if self.stepped.1 > s.rounds {
            return Err(Trouble::Endless { rounds: s.rounds, call: s.call("step", time) });
        }
        self.ears.iter_mut().for_each(|ear| ear.shift(time));
        let told = (0..self.ears.len()).map(|port| self.heard(port, time));
        let told = told.collect::<Result<Vec<_>, _>>()?;
        let Stage::Begun(begun) = &mut self.stage else { return Ok(()) };
        let next = begun.step(&s, time, &told)?;
        self.counts.steps += 1;
        for (ear, _) in
            self.ears.iter_mut().zip(&s.layout.inputs).filter(|(_, p)| p.event.is_some())
        {
            ear.now = None;
        }
        let sent = begun.outputs(&s, time)?;
        self.journal.note(&Step::new(time, &told, next, sent.clone()))?;
        next.into_iter().for_each(|next| self.want(next));
        self.send(sent);
        Ok(())
    }

    /// Takes the outputs of a step.
    fn send(&mut self, sent: Sent) {
        let Some(tick) = sent.at.checked_mul(self.settings.step) else { return };
        let pending = self.pending.entry(tick).or_default();
        pending.retain(|(port, _)| sent.values.iter().all(|(other, _)| port != other));
        pending.extend(sent.values);
        if pending.is_empty() {
            self.pending.remove(&tick);
        }
    }

    /// The value of an input at a time.
    fn heard(&self, port: usize, time: i64) -> Result<Option<Json>, Trouble> {
        let (input, now) = (&self.settings.layout.inputs[port], self.timer.now());
        let held = match &self.ears[port].now {
            None => return Ok(input.initial.clone()),
            Some(Told::Event(word)) => return Ok(Some(word.json()?)),
            Some(Told::Signal(held)) => held,
        };
        let at = if input.shifted { (time - 1) * self.settings.step } else { now };
        let value = of_real(held.value(at.max(held.since()), &self.timer));
        value.map(Some).map_err(|e| Trouble::Input(input.name.clone(), e))
    }

    /// The next action.
    fn plan(&mut self) {
        let now = self.timer.now();
        let step = self.due.first().map(|time| time.saturating_mul(self.settings.step));
        let sends = self.pending.keys().next().copied();
        let next = [step, sends].into_iter().flatten().min().unwrap_or(NEVER);
        self.timer.set(if self.waits { now } else { next.max(now) });
    }

    fn segment(&self, port: u16, to: f64) -> Segment {
        match self.levels[usize::from(port)] {
            None => Segment::constant(to, Flag::Jump, to),
            Some(from) if from.to_bits() == to.to_bits() => {
                Segment::constant(to, Flag::Refresh, to)
            }
            Some(from) => Segment::step(from, to),
        }
    }

    /// `elapsed` is `None` for the unit's own event.
    fn transition(
        &mut self,
        elapsed: Option<Duration>,
        bag: Option<&Bag<'_, Value>>,
        fx: &mut Effects<Value>,
    ) {
        match elapsed {
            None => self.timer.fire(),
            Some(elapsed) => self.timer.pass(elapsed),
        }
        if elapsed.is_none() {
            for (port, out) in self.pending.remove(&self.timer.now()).into_iter().flatten() {
                if let Out::Signal(x) = out {
                    self.levels[usize::from(port)] = Some(x);
                }
            }
        }
        let done = match &self.stage {
            Stage::Over => Ok(()),
            _ => self
                .begin()
                .and_then(|()| bag.map_or(Ok(()), |bag| self.receive(bag)))
                .and_then(|()| self.turn(fx)),
        };
        if let Err(trouble) = done {
            // Ends the process, too.
            self.stage = Stage::Over;
            self.due.clear();
            self.pending.clear();
            self.waits = false;
            fx.fail(trouble);
        }
        self.plan();
    }
}

impl Atomic<Value> for MosaikUnit {
    fn inputs(&self) -> u16 {
        self.ears.len() as u16
    }
    fn outputs(&self) -> u16 {
        self.levels.len() as u16
    }
    fn init(&mut self, _: Resolution) -> Result<(), TimeError> {
        // All simulators of a run start beside each other.
        if matches!(self.stage, Stage::New) {
            self.stage = Stage::Awaited(Awaited::new(&self.settings.origin));
        }
        Ok(())
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, value) in self.pending.get(&self.timer.next()).into_iter().flatten() {
            let value = match value {
                Out::Signal(x) => Value::Segment(self.segment(*port, *x)),
                Out::Event(value) => value.clone(),
            };
            out.send(OutPort::<Value>::new(*port), value);
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
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        self.levels.get(usize::from(port)).copied().flatten().map(Value::Real)
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        self.counts.entries()
    }
}

impl MosaikUnit {
    fn unable<T>(&self) -> Result<T, SnapshotError> {
        Err(SnapshotError::Unsupported(format!(
            "the simulator of `{}` cannot go back, for which the mosaik protocol has no call: use what needs no snapshots",
            self.settings.sid
        )))
    }

    /// Whether a saved state is one of this unit.
    fn fits(&self, saved: &Saved) -> bool {
        let sent = saved.pending.values().flatten();
        let ports = sent.map(|(port, _)| usize::from(*port)).max();
        (saved.ears.len(), saved.levels.len()) == (self.ears.len(), self.levels.len())
            && ports.is_none_or(|most| most < self.levels.len())
    }
}

/// A simulator does not go back, but a new one can be told all that the old one was.
impl Snapshot for MosaikUnit {
    type Saved = ();

    fn save(&self) -> Result<(), SnapshotError> {
        self.unable()
    }
    fn restore(&mut self, (): &()) -> Result<(), SnapshotError> {
        self.unable()
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(&Saved {
            begun: matches!(self.stage, Stage::Begun(_)),
            timer: self.timer,
            ears: self.ears.clone(),
            due: self.due.clone(),
            stepped: self.stepped,
            waits: self.waits,
            pending: self.pending.clone(),
            levels: self.levels.clone(),
            counts: self.counts,
            journal: self.journal.clone(),
        })
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let saved: Saved = decode(bytes)?;
        if !self.fits(&saved) {
            return Err(SnapshotError::Corrupt("a state of another unit".to_owned()));
        }
        if saved.begun {
            let refused = |why: Trouble| SnapshotError::Unsupported(why.to_string());
            let mut begun = self.start().map_err(refused)?;
            saved.journal.tell(&mut begun, &self.settings).map_err(refused)?;
            self.stage = Stage::Begun(Box::new(begun));
        }
        (self.timer, self.ears, self.due) = (saved.timer, saved.ears, saved.due);
        (self.stepped, self.waits, self.pending) = (saved.stepped, saved.waits, saved.pending);
        (self.levels, self.counts, self.journal) = (saved.levels, saved.counts, saved.journal);
        Ok(())
    }
}
