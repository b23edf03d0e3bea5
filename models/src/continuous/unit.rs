//! The wrapper: equations under a solver, as an atomic model.
//!
//! # What the unit does between transitions
//! It integrates ahead by silent steps, each a natural step of the solver, and searches each for
//! the earliest of: a state event, a link's event, an output that leaves the band around the
//! segment which receivers hold, a time event. What it finds becomes its time advance, rounded to
//! a tick by R14, and what it will send then is computed at once from the state before the
//! transition. An input that comes earlier makes all that void: the unit goes back to the input's
//! tag on its dense output.
//!
//! # Times
//! Offsets are seconds since the unit's last transition, so that they stay small; equations see
//! the absolute time.
use super::{
    equations::{Dims, Equations, Trigger, Work},
    links::Session,
    series::Series,
};
use crate::{
    ode::{Arm, Dopri5, Event, Locator, OdeSystem, Options, StepError, rounding},
    value::{Flag, LinkMessage, Segment, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::{Duration, Resolution},
};

/// Segments have this many coefficients (order 3).
pub(super) const COEFFICIENTS: usize = 4;
pub(super) type Expansion = Series<COEFFICIENTS>;

/// How to run a unit.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Resolution of the run.
    pub resolution: Resolution,
    /// Tick at which the run starts.
    pub start: i64,
    /// Tolerances of the solver.
    pub solver: Options,
    /// A new segment is sent when an output leaves the one that receivers hold by more than this,
    /// in the units of the output.
    pub exchange_tolerance: f64,
    /// Per signal input: the continuous unit that feeds it, for counting exchanges.
    pub sources: Vec<Option<u32>>,
}

/// A segment, and the tick of the message that brought or took it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Held {
    pub segment: Segment,
    pub at: i64,
}

/// What the unit is going to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Integrate on from the solver's time.
    Silent,
    /// Something visible, so many ticks after the last transition.
    Due(i64, Action),
    /// Nothing any more, after an error.
    Idle,
}

/// Something visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Action {
    /// Send what waits.
    Send,
    /// Own events (listed in `fired`).
    Events,
    /// Propose the event of a link.
    Propose(u16),
    /// Answer proposals and decide on them.
    Decide,
}

/// Everything that changes in a run; this is what a snapshot holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// Tick of the last transition.
    pub last: i64,
    pub solver: Dopri5,
    pub discrete: Vec<f64>,
    pub inputs: Vec<Held>,
    /// What receivers hold of each output.
    pub sent: Vec<Held>,
    /// Own events, then events of links, then bands around what receivers hold; one search over
    /// all, so that a step is sampled once.
    pub locator: Locator,
    pub plan: Plan,
    /// What λ sends at the planned time.
    pub outbox: Vec<(u16, Value)>,
    /// Events that happen at the planned time, and the states and discrete values after them.
    pub fired: Vec<u16>,
    pub after: Vec<f64>,
    pub sessions: Vec<Session>,
    pub exchanges: u64,
    pub events: u64,
}

/// A continuous unit as an atomic model.
pub struct Unit<E: Equations> {
    pub(super) equations: E,
    pub(super) dims: Dims,
    pub(super) settings: Settings,
    pub(super) state: State,
    pub(super) scratch: Scratch,
}

/// Working memory; never part of the state.
#[derive(Default)]
pub(super) struct Scratch {
    pub work: Work,
    pub expansions: Work<Expansion>,
    pub vars: Vec<f64>,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
}

impl<E: Equations> std::fmt::Debug for Unit<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unit({:?}, {:?})", self.dims, self.state.plan)
    }
}

/// The right-hand side with inputs filled in.
struct Field<'a, E: Equations> {
    equations: &'a E,
    dims: Dims,
    work: &'a mut Work,
    vars: &'a mut Vec<f64>,
    inputs: &'a [Held],
    discrete: &'a [f64],
    last: i64,
    resolution: Resolution,
}

impl<E: Equations> OdeSystem for Field<'_, E> {
    type Error = std::convert::Infallible;
    fn dim(&self) -> usize {
        self.dims.states
    }
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        fill(self.vars, &self.dims, (self.last, self.resolution), t, x, self.inputs, self.discrete);
        self.equations.derivatives(self.vars, self.work, dx);
        Ok(())
    }
}

/// Puts the variables together at offset `t`.
fn fill(
    vars: &mut Vec<f64>,
    dims: &Dims,
    (last, resolution): (i64, Resolution),
    t: f64,
    x: &[f64],
    inputs: &[Held],
    discrete: &[f64],
) {
    vars.clear();
    vars.push(resolution.seconds(last) + t);
    vars.extend_from_slice(x);
    for held in inputs {
        vars.push(held.segment.value(t - resolution.seconds(held.at - last)));
    }
    vars.extend_from_slice(discrete);
    vars.resize(dims.variables(), 0.0);
}

impl<E: Equations> Unit<E> {
    /// A unit in its initial state, with start values for the inputs.
    ///
    /// # Errors
    /// When derivatives or outputs are not finite at the start.
    pub fn new(
        equations: E,
        initial: &[f64],
        inputs: &[f64],
        discrete: &[f64],
        settings: Settings,
    ) -> Result<Self, String> {
        let dims = equations.dims();
        let state_event = |t: &Trigger| match t {
            Trigger::State { indicators, strict } => {
                Event { strict: *strict, ..Event::when(indicators.clone()) }
            }
            // Keeps the numbering; a conjunction over no indicator is never looked at.
            _ => Event::default(),
        };
        let mut watched: Vec<Event> =
            equations.events().iter().map(|e| state_event(&e.trigger)).collect();
        watched.extend(
            equations
                .links()
                .iter()
                .map(|l| Event { strict: l.strict, ..Event::when(l.indicators.clone()) }),
        );
        let bands = if settings.exchange_tolerance.is_finite() { 2 * dims.outputs } else { 0 };
        watched.extend((0..bands).map(|k| Event::when(vec![dims.indicators + k])));
        let mut solver = Dopri5::new(settings.solver.clone());
        solver.begin(0.0, initial);
        let start = settings.start;
        let held = |&x: &f64| Held { segment: Segment::step(x, x), at: start };
        let state = State {
            last: start,
            solver,
            discrete: discrete.to_vec(),
            inputs: inputs.iter().map(held).collect(),
            sent: vec![held(&0.0); dims.outputs],
            locator: Locator::new(watched),
            plan: Plan::Due(0, Action::Send),
            outbox: Vec::new(),
            fired: Vec::new(),
            after: Vec::new(),
            sessions: Vec::new(),
            exchanges: 0,
            events: 0,
        };
        let mut unit = Self { equations, dims, settings, state, scratch: Scratch::default() };
        let x = unit.state.solver.state().to_vec();
        let now = unit.vars_at(0.0, &x, discrete);
        unit.queue_segments(0.0, &now, None, Flag::Jump)?;
        Ok(unit)
    }

    pub(super) fn ticks_per_second(&self) -> u64 {
        self.settings.resolution.ticks_per_second().unsigned_abs()
    }

    pub(super) fn seconds(&self, ticks: i64) -> f64 {
        rounding::tick_seconds(ticks, self.ticks_per_second())
    }

    /// All variables at offset `t`, for these states and discrete values.
    pub(super) fn vars_at(&self, t: f64, x: &[f64], discrete: &[f64]) -> Vec<f64> {
        let mut vars = Vec::new();
        let clock = (self.state.last, self.settings.resolution);
        fill(&mut vars, &self.dims, clock, t, x, &self.state.inputs, discrete);
        vars
    }

    /// States at offset `t` on the dense output.
    pub(super) fn states_at(&self, t: f64) -> Vec<f64> {
        let mut x = vec![0.0; self.dims.states];
        self.state.solver.dense(t, &mut x);
        x
    }

    pub(super) fn outputs_of(&mut self, vars: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.dims.outputs];
        self.equations.outputs(vars, &mut self.scratch.work, &mut y);
        y
    }

    /// Leaves the indicators in the scratch; places of bands hold 1 (inside).
    pub(super) fn indicators_of(&mut self, vars: &[f64]) {
        let Self { scratch: Scratch { z, work, .. }, dims, .. } = self;
        z.clear();
        z.resize(dims.indicators + 2 * dims.outputs, 1.0);
        self.equations.indicators(vars, work, &mut z[..dims.indicators]);
    }

    /// Expands every output around offset `t` and lines the segments up for sending. `before`
    /// holds the outputs before a jump, by which jumps are told from continuous pieces; without
    /// it all get `flag`.
    pub(super) fn queue_segments(
        &mut self,
        t: f64,
        vars: &[f64],
        before: Option<&[f64]>,
        flag: Flag,
    ) -> Result<(), String> {
        let dims = self.dims;
        let mut s: Vec<Expansion> = vars.iter().map(|&v| Expansion::from_slice(&[v])).collect();
        s[0].0[1] = 1.0;
        for (held, var) in self.state.inputs.iter().zip(&mut s[dims.first_input()..]) {
            let age = t - self.settings.resolution.seconds(held.at - self.state.last);
            let mut c = held.segment.coefficients().to_vec();
            crate::poly::shift(&mut c, age);
            *var = Expansion::from_slice(&c);
        }
        let mut dx = vec![Expansion::default(); dims.states];
        for k in 1..COEFFICIENTS {
            self.equations.derivatives(&s, &mut self.scratch.expansions, &mut dx);
            for (x, dx) in s[Dims::STATES..].iter_mut().zip(&dx) {
                x.0[k] = dx.0[k - 1] / k as f64;
            }
        }
        let mut y = vec![Expansion::default(); dims.outputs];
        self.equations.outputs(&s, &mut self.scratch.expansions, &mut y);
        for (port, y) in y.iter().enumerate() {
            let finite = y.0.iter().take_while(|c| c.is_finite()).count();
            if finite == 0 {
                return Err(self.complain(vars, &format!("output {port} is not finite")));
            }
            let left = before.map_or(y.0[0], |b| b[port]);
            let jumps =
                before.map(|b| if b[port] == y.0[0] { Flag::Continuous } else { Flag::Jump });
            let segment = Segment::new(&y.0[..finite], jumps.unwrap_or(flag), left);
            self.state.outbox.push((port as u16, Value::Segment(segment)));
        }
        Ok(())
    }

    pub(super) fn complain(&self, vars: &[f64], what: &str) -> String {
        match self.equations.explain(vars) {
            Some(why) => format!("{what}: {why}"),
            None => what.to_owned(),
        }
    }

    /// The tick (after the last transition) of the next time event.
    fn next_time_event(&self) -> Option<i64> {
        let last = self.state.last;
        let next = |t: &Trigger| t.next(last, false).map(|at| at - last);
        self.equations.events().iter().filter_map(|e| next(&e.trigger)).min()
    }

    /// One natural step and the search in it.
    pub(super) fn silent_step(&mut self) -> Result<(), String> {
        let time_event = self.next_time_event();
        let stop = time_event.map(|k| self.seconds(k));
        let (clock, dims) = ((self.state.last, self.settings.resolution), self.dims);
        let State { solver, inputs, discrete, locator, sent, .. } = &mut self.state;
        let Scratch { work, vars, x, y, .. } = &mut self.scratch;
        let equations = &self.equations;
        let (last, resolution) = clock;
        let mut field = Field { equations, dims, work, vars, inputs, discrete, last, resolution };
        let step = match solver.step(&mut field, stop) {
            Ok(step) => step,
            Err(error) => return Err(self.explain_step(&error)),
        };
        let (t0, t1) = (step.t0, step.t1);
        x.resize(dims.states, 0.0);
        y.resize(dims.outputs, 0.0);
        let tick = 1.0 / resolution.ticks_per_second() as f64;
        let tolerance = self.settings.exchange_tolerance;
        let first = locator.locate(t0, t1, tick, |t, z| {
            solver.dense(t, x);
            fill(vars, &dims, clock, t, x, inputs, discrete);
            let (own, bands) = z.split_at_mut(dims.indicators.min(z.len()));
            if own.len() == dims.indicators {
                equations.indicators(vars, work, own);
            }
            if bands.is_empty() {
                return;
            }
            equations.outputs(vars, work, y);
            for (pair, (y, held)) in bands.chunks_exact_mut(2).zip(y.iter().zip(&*sent)) {
                let deviation = y - held.segment.value(t - resolution.seconds(held.at - last));
                pair[0] = tolerance - deviation;
                pair[1] = tolerance + deviation;
            }
        });
        let first = first.map_err(|e| self.explain_indicator(&e))?;
        let due = first
            .and_then(|r| rounding::ceil_ticks(r, resolution.ticks_per_second().unsigned_abs()))
            .into_iter()
            .chain(time_event.filter(|_| step.clipped))
            .min();
        match due {
            Some(k) => self.plan_at(k),
            None => {
                self.settle_arms(t1);
                Ok(())
            }
        }
    }

    fn explain_indicator(&self, e: &crate::ode::NotFinite) -> String {
        let vars = self.vars_at(e.t, &self.states_at(e.t), &self.state.discrete);
        self.complain(&vars, "an event condition or an output is not finite")
    }

    fn explain_step(&mut self, error: &StepError<std::convert::Infallible>) -> String {
        let x = self.state.solver.state().to_vec();
        let discrete = self.state.discrete.clone();
        let vars = self.vars_at(self.state.solver.time(), &x, &discrete);
        self.complain(&vars, &error.to_string())
    }

    /// Takes over what the indicators say at offset `t`, where nothing happens.
    pub(super) fn settle_arms(&mut self, t: f64) {
        let x = self.states_at(t);
        let discrete = self.state.discrete.clone();
        let vars = self.vars_at(t, &x, &discrete);
        self.indicators_of(&vars);
        self.state.locator.accept(t, &self.scratch.z);
        self.arm_bands();
    }

    /// Bands are always armed: leaving one is no event of the equations.
    pub(super) fn arm_bands(&mut self) {
        for k in self.first_link() + self.equations.links().len()..self.state.locator.events().len()
        {
            self.state.locator.set(k, Arm::Armed);
        }
    }

    /// Place of the first link's event among the watched ones; own events come before.
    pub(super) fn first_link(&self) -> usize {
        self.equations.events().len()
    }

    /// Events of the unit that happen `k` ticks from now, in order of declaration.
    fn fired_at(&self, k: i64) -> Vec<u16> {
        let until = self.seconds(k) + self.snap();
        let at = self.state.last + k;
        let fires = |(i, e): (usize, &super::equations::EventSpec)| {
            let hit = match &e.trigger {
                Trigger::State { .. } => self.state.locator.hit(i).is_some_and(|t| t <= until),
                time => time.next(at, true) == Some(at) && k > 0,
            };
            hit.then_some(i as u16)
        };
        self.equations.events().iter().enumerate().filter_map(fires).collect()
    }

    /// The part of a tick by which a tick may precede the crossing it stands for (R14).
    pub(super) fn snap(&self) -> f64 {
        1.0 / (self.ticks_per_second() as f64 * f64::from(1u32 << rounding::SNAP_BITS))
    }

    /// Plans what happens `k` ticks after the last transition, and computes it.
    fn plan_at(&mut self, k: i64) -> Result<(), String> {
        let t = self.seconds(k);
        let fired = self.fired_at(k);
        if !fired.is_empty() {
            return self.plan_events(k, fired);
        }
        let until = t + self.snap();
        let first = self.first_link();
        let hit = |i: &usize| self.state.locator.hit(first + i).is_some_and(|at| at <= until);
        let link = (0..self.equations.links().len()).filter(hit).min_by_key(|&i| self.rank(i));
        match link {
            Some(i) => self.plan_proposal(k, i),
            None => {
                let x = self.states_at(t);
                let discrete = self.state.discrete.clone();
                let vars = self.vars_at(t, &x, &discrete);
                self.queue_segments(t, &vars, None, Flag::Continuous)?;
                self.state.plan = Plan::Due(k, Action::Send);
            }
        }
        Ok(())
    }

    /// Links by priority, then by number.
    pub(super) fn rank(&self, link: usize) -> (i64, u32) {
        let l = &self.equations.links()[link];
        (l.priority, l.link)
    }

    pub(super) fn plan_proposal(&mut self, k: i64, link: usize) {
        let t = self.seconds(k);
        let values = self.link_values(t, link);
        let l = &self.equations.links()[link];
        let message = LinkMessage {
            link: l.link,
            member: l.member,
            kind: crate::value::LinkKind::Proposal,
            values: values.into(),
        };
        self.state.outbox.push((self.link_port(), Value::Link(message)));
        self.state.plan = Plan::Due(k, Action::Propose(link as u16));
    }

    pub(super) fn link_port(&self) -> u16 {
        (self.dims.outputs + self.dims.event_outputs) as u16
    }

    /// The own values that this unit tells the other members, at offset `t`.
    pub(super) fn link_values(&mut self, t: f64, link: usize) -> Vec<f64> {
        let x = self.states_at(t);
        let discrete = self.state.discrete.clone();
        let vars = self.vars_at(t, &x, &discrete);
        self.equations.links()[link].own.iter().map(|&(_, var)| vars[var]).collect()
    }

    /// Computes the events' resets and what is sent with them.
    pub(super) fn plan_events(&mut self, k: i64, fired: Vec<u16>) -> Result<(), String> {
        let t = self.seconds(k);
        let x = self.states_at(t);
        let discrete = self.state.discrete.clone();
        let mut vars = self.vars_at(t, &x, &discrete);
        let before = self.outputs_of(&vars);
        let mut emitted = Vec::new();
        for &event in &fired {
            self.equations.reset(event.into(), &mut vars, &mut self.scratch.work, &mut emitted);
        }
        self.finite_after(&vars, "a reset gives a value that is not finite")?;
        self.queue_segments(t, &vars, Some(&before), Flag::Jump)?;
        self.queue_emitted(emitted);
        let state = &mut self.state;
        state.after.clear();
        state.after.extend_from_slice(&vars);
        state.fired = fired;
        state.plan = Plan::Due(k, Action::Events);
        Ok(())
    }

    pub(super) fn finite_after(&self, vars: &[f64], what: &str) -> Result<(), String> {
        if vars.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(self.complain(vars, what)) }
    }

    pub(super) fn queue_emitted(&mut self, emitted: Vec<(u16, Value)>) {
        let first = self.dims.outputs as u16;
        self.state.outbox.extend(emitted.into_iter().map(|(port, v)| (first + port, v)));
    }

    pub(super) fn due(&self) -> Duration {
        match self.state.plan {
            Plan::Due(k, _) => Duration::from_ticks(k),
            Plan::Idle => Duration::INFINITE,
            Plan::Silent => self.silent_due(),
        }
    }

    /// The tick of the next silent step, rounded down.
    pub(super) fn silent_due(&self) -> Duration {
        let ticks = self.state.solver.time() * self.settings.resolution.ticks_per_second() as f64;
        Duration::from_ticks(ticks.floor().max(0.0) as i64)
    }
}

/// The saved state of a [`Unit`].
#[derive(Debug, Clone)]
pub struct SavedUnit(State);

impl<E: Equations> Snapshot for Unit<E> {
    type Saved = SavedUnit;
    fn save(&self) -> Result<SavedUnit, SnapshotError> {
        Ok(SavedUnit(self.state.clone()))
    }
    fn restore(&mut self, saved: &SavedUnit) -> Result<(), SnapshotError> {
        self.state.clone_from(&saved.0);
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(&self.state)
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.state = decode(bytes)?;
        Ok(())
    }
}
