//! The engine as the core of a continuous unit.
//!
//! # Times
//! The engine keeps its own time, so that arrivals do not move the origins of thousands of variables; the unit's
//! offsets are turned into it at the border. It begins anew where its rounding has become a part of a tick.
//!
//! # What a step looks at again
//! An advance goes to the next step of the engine and makes that step only at the beginning of the
//! following one: until then every state is one polynomial, on which the unit can go back. Then
//! events and bands are looked at again only if they read a state that has a new polynomial.
//! Indicators see the states, never their quantised copies.
mod bands;
mod programs;

use programs::seen_through;

use super::{
    engine::{Engine, Input, NotFinite, State},
    errors::{Quantising, stays},
    influence::Influence,
    method::Method,
    quanta::Quanta,
    queue::Queue,
    remarks,
    sheet::{Functions, ROW, Sheet},
    system::System,
    variable::Variable,
    views::{Along, Jumped},
};
use crate::{
    maths::rounding,
    signal::statistics::UnitStatistics,
    solve::{
        Dims, Equations, MethodError, Settings,
        core::{Advance, Core, Failure, Flips, Held, Scene},
        equations::{Relation, Role},
        ode::{Interval, Locator},
        series::Series,
        tendency::{Course, Doubt, Tendency},
        watch::watched,
    },
};
use serde::{Deserialize, Serialize};

/// The part of their quanta by which states are usually off.
const USUAL: f64 = 1.0 / 32.0;

/// The part of a tick by which the engine's time may be rounded: it begins anew where it has become larger.
const ROUNDED: f64 = 1.0 / 4096.0;

/// What changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CoreState<const P: usize> {
    pub(super) engine: State<P>,
    /// Tick at which the engine's time began.
    base: i64,
    /// The engine's time at offset zero.
    shift: f64,
    /// The present, as an offset.
    at: f64,
    /// The engine's time of the last jump.
    jumped: f64,
    /// Per state: whether it was off by its quantum at the last jump, which did not set it, and how large it was at
    /// the jumps since it was set.
    off: Vec<(bool, f64)>,
    /// Per state: whether its copy has parted from it since the last jump, without having been quantised.
    parted: Vec<bool>,
    /// Per relation: until when (engine's time) it is known not to flip.
    clear: Vec<f64>,
    /// When outputs leave their bands, or have to be looked at again; engine's time.
    leave: Queue,
    jumps: u64,
    looks: u64,
    /// A derivative that was not finite where no error could be told.
    bad: Option<NotFinite>,
}

impl<const P: usize> CoreState<P> {
    /// Begins the engine's time anew, `ticks` after it began, which is at `origin` seconds of the run.
    fn count_from(&mut self, ticks: i64, origin: f64) {
        let by = std::mem::take(&mut self.shift);
        self.base += ticks;
        self.jumped -= by;
        self.leave.count_from(by);
        self.engine.count_from(by, origin);
    }
}

/// The core of a unit under a quantised-state method of order `P`.
#[derive(Debug)]
pub struct Quantised<M: Method<P>, const P: usize> {
    pub(super) state: CoreState<P>,
    engine: Engine<Sheet, M, P>,
    indicators: Functions,
    outputs: Functions,
    relations: Vec<Relation>,
    /// Per state: those whose quantised copies its derivative reads.
    readings: Vec<Vec<u32>>,
    locator: Locator,
    tendency: Tendency,
    /// State to relations, and state to outputs.
    relations_of: Influence,
    outputs_of: Influence,
    longest: f64,
    /// Whether bands of outputs are not watched: in a trial nobody receives them.
    deaf: bool,
    /// Seconds by which a tick may precede the crossing it stands for (R14).
    snap: f64,
    rows: Vec<f64>,
    /// Relations that are looked at in a search, and how long each surely does not flip.
    chosen: Vec<usize>,
    safe: Vec<f64>,
    doubtful: bool,
}

impl<M: Method<P>, const P: usize> Quantised<M, P> {
    /// A core for these equations with these quanta, not started yet. `sheet` has the derivatives, if they were
    /// made into one before.
    ///
    /// # Errors
    /// When the equations look at values to take their way, or an event condition has kinks.
    pub fn new<E: Equations>(
        sheet: Option<Sheet>,
        equations: &E,
        settings: &Settings,
        quanta: Quanta,
    ) -> Result<Self, MethodError> {
        let dims = equations.dims();
        let (programs, indicators) = seen_through(equations, P)?;
        let outputs = Functions::new(dims, &programs.outputs, P);
        let sheet = sheet.unwrap_or_else(|| Sheet::of(equations, &programs));
        let reads = |i: usize| {
            let mut states = Vec::new();
            sheet.reads(i, &mut states);
            states
        };
        let readings = (0..dims.states).map(reads).collect();
        let relations = equations.relations();
        let relations_of = Influence::of(dims.states, relations.len(), |k, states| {
            indicators.reads(k, states);
        });
        // Far enough for every run, and finite.
        let tick = 1.0 / settings.resolution.ticks_per_second() as f64;
        let end = i64::MAX as f64 * tick;
        let mut engine = Engine::new(sheet, quanta, end);
        engine.longest = settings.solver.max_step;
        engine.set_nominal(&settings.solver.nominal);
        engine.shortest = rounding::SNAP * tick;
        let state = CoreState {
            engine: engine.state().clone(),
            base: settings.start,
            shift: 0.0,
            at: 0.0,
            jumped: 0.0,
            off: vec![(false, 0.0); dims.states],
            parted: vec![false; dims.states],
            clear: vec![f64::NEG_INFINITY; relations.len()],
            leave: Queue::new(outputs.len()),
            jumps: 0,
            looks: 0,
            bad: None,
        };
        Ok(Self {
            state,
            engine,
            relations,
            readings,
            locator: Locator::new(watched(equations)),
            tendency: Tendency::new(
                (0..dims.indicators).map(|k| programs.indicators.variable(k)).collect(),
            ),
            relations_of,
            outputs_of: outputs.influence(),
            indicators,
            outputs,
            deaf: false,
            snap: rounding::SNAP * tick,
            longest: settings.solver.max_step.min(end / 16.0),
            rows: Vec::new(),
            chosen: Vec::new(),
            safe: Vec::new(),
            doubtful: false,
        })
    }

    /// From the next start on bands of outputs are watched, or not.
    pub(crate) fn watch_bands(&mut self, on: bool) {
        self.deaf = !on;
    }

    /// The states at the present are as far off as their quanta.
    pub(crate) fn distrust(&mut self) {
        self.state.off.iter_mut().for_each(|(off, _)| *off = true);
    }

    pub(crate) fn take_doubtful(&mut self) -> bool {
        std::mem::take(&mut self.doubtful)
    }

    /// Steps, and looks at indicators, so far.
    pub(crate) fn work(&self) -> (u64, u64) {
        (self.state.engine.steps, self.state.looks)
    }

    /// Lets the engine work on the state.
    fn run<R>(&mut self, f: impl FnOnce(&mut Engine<Sheet, M, P>) -> R) -> R {
        std::mem::swap(&mut self.engine.state, &mut self.state.engine);
        let result = f(&mut self.engine);
        std::mem::swap(&mut self.engine.state, &mut self.state.engine);
        result
    }

    fn failure(&self, what: String, t: f64) -> Box<Failure> {
        let e = self.state.shift + t;
        let x = self.state.engine.variables.iter().map(|v| v.state(e)).collect();
        Box::new(Failure { what, t, x })
    }

    /// The engine's time at the tag of `held`.
    fn time_of<E: Equations>(&self, scene: &Scene<E>, held: &Held) -> f64 {
        scene.seconds(held.at - self.state.base)
    }

    fn take_input<E: Equations>(&mut self, scene: &Scene<E>, port: usize) {
        let held = &scene.frame.inputs[port];
        let at = self.time_of(scene, held);
        let coefficients = held.segment.coefficients().to_vec();
        self.state.engine.inputs[port] = Input { at, coefficients };
    }

    /// Everything has to be looked at again.
    fn touch_all<E: Equations>(&mut self, scene: &Scene<E>) {
        self.state.clear.fill(f64::NEG_INFINITY);
        for port in 0..self.outputs.len() {
            self.look_at_band(scene, port, self.state.shift + self.state.at);
        }
    }

    /// Whether an input has powers that rows do not hold.
    fn curved<E: Equations>(&self, scene: &Scene<E>) -> bool {
        scene.frame.inputs.iter().any(|held| held.segment.order() > P)
    }

    /// Makes the steps that are due at the present, and marks what reads the new polynomials.
    fn steps<E: Equations>(&mut self, scene: &Scene<E>) -> Result<(), NotFinite> {
        let e = self.state.shift + self.state.at;
        // The same arithmetic as where an advance ends: else rounding could stop the clock for ever.
        while self.state.engine.queue.least() - self.state.shift <= self.state.at {
            let i = self.run(|engine| engine.step())?;
            for k in 0..self.engine.readers(i).len() {
                self.mark(scene, self.engine.readers(i)[k] as usize, e);
            }
            if M::PAIRS {
                // A partner may have stepped too.
                for k in self.engine.partners.range(i) {
                    let partner = self.engine.partners.reader(k);
                    for k in 0..self.engine.readers(partner).len() {
                        self.mark(scene, self.engine.readers(partner)[k] as usize, e);
                    }
                }
            }
        }
        Ok(())
    }

    /// State `j` has a new polynomial.
    fn mark<E: Equations>(&mut self, scene: &Scene<E>, j: usize, e: f64) {
        for &relation in self.relations_of.readers(j) {
            self.state.clear[relation as usize] = f64::NEG_INFINITY;
        }
        for k in self.outputs_of.range(j) {
            self.look_at_band(scene, self.outputs_of.reader(k), e);
        }
    }

    /// Leaves the rows of the chosen relations, and how long each surely keeps its side; the rows may hold
    /// for less than `width`.
    fn chosen_rows<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        sides: &[f64],
        width: &mut f64,
    ) -> Result<(), Box<Failure>> {
        let (start, e) = (self.state.at, self.state.shift + self.state.at);
        let curved = self.curved(scene);
        self.rows.resize(self.indicators.len() * ROW, 0.0);
        let view = Along { state: &self.state.engine, t: e };
        self.safe.clear();
        for &k in &self.chosen {
            let mut row = self.indicators.row(k, &view);
            if !row[0].is_finite() {
                let what = "an event condition is not finite".to_owned();
                return Err(self.failure(what, start));
            }
            let series = row.iter().all(|c| c.is_finite());
            if !series {
                // It has no series right here, as a root of zero.
                row[1..].fill(0.0);
                *width = width.min(scene.tick);
            }
            self.rows[k * ROW..][..ROW].copy_from_slice(&row);
            let trust = self.indicators.trust(k, &row, curved).min(self.longest);
            *width = width.min(trust.max(scene.tick));
            let safe = stays(self.locator.watched()[k], sides[k], row);
            self.safe.push(if series { safe.min(trust) } else { 0.0 });
            self.state.looks += 1;
        }
        Ok(())
    }

    /// Appends the flips from the present on, within `width` at most; the width that was searched may
    /// be less.
    fn search<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        width: &mut f64,
        flips: &mut Flips,
    ) -> Result<(), Box<Failure>> {
        let (start, e) = (self.state.at, self.state.shift + self.state.at);
        let (clear, relations) = (&self.state.clear, &self.relations);
        self.chosen.clear();
        self.chosen.extend((0..relations.len()).filter(|&k| {
            clear[k] < e + *width
                && relations[k].role == Role::Searched
                && relations[k].is_searched(&scene.frame.discrete)
        }));
        if self.chosen.is_empty() {
            return Ok(());
        }
        self.chosen_rows(scene, &flips.sides, width)?;
        let curved = self.curved(scene);
        let relations = &self.relations;
        let within = Interval { start, end: start + *width, fresh: scene.tick / 512.0 };
        let first = flips.list.len();
        let CoreState { engine: state, shift, clear, jumped, off, parted, .. } = &mut self.state;
        let course = Quantising {
            variables: &state.variables,
            readings: &self.readings,
            shift: *shift,
            exact: M::exact(*jumped),
            off,
            parted,
        };
        let mut doubts = Doubt::new(scene, &mut self.tendency, course);
        doubts.usual = USUAL;
        let functions = &mut self.indicators;
        for (&k, safe) in self.chosen.iter().zip(&self.safe) {
            let row = &self.rows[k * ROW..][..ROW];
            let correct = |t: f64| {
                let t = *shift + t;
                (!functions.holds(k, curved)).then(|| functions.row(k, &Along { state, t })[0])
            };
            let Flips { sides, list, past } = &mut *flips;
            let found = (list, &mut past[k]);
            let side = &mut sides[k];
            self.locator.polynomial((k, row), within, side, correct, &mut doubts, found);
            self.doubtful |= flips.past[k].unsure;
            clear[k] = e + safe;
        }
        flips.list[first..].sort_by(|a, b| a.t.total_cmp(&b.t).then(a.relation.cmp(&b.relation)));
        for flip in &flips.list[first..] {
            clear[usize::from(flip.relation)] = f64::NEG_INFINITY;
        }
        let stops = |f: &&crate::solve::ode::Flip| relations[usize::from(f.relation)].stops;
        if let Some(limit) = flips.list[first..].iter().find(stops).map(|f| f.t + scene.tick) {
            let keep = flips.list[first..].iter().take_while(|f| f.t <= limit).count();
            flips.cut(first + keep);
        }
        Ok(())
    }

    /// Evaluates all derivatives anew. Copies go on as before, and may part from states that go on in another way.
    fn refresh(&mut self, e: f64) {
        let result = self.run(|engine| engine.refresh(e));
        self.note(result);
        let CoreState { engine, parted, .. } = &mut self.state;
        parted.iter_mut().zip(&engine.variables).for_each(|(parted, v)| *parted |= v.parts(e));
    }

    fn note(&mut self, result: Result<(), NotFinite>) {
        if let Err(bad) = result {
            self.state.bad = Some(bad);
        }
    }

    /// Series of the states after a jump to `vars`.
    fn restarted(&mut self, dims: &Dims, vars: &[f64], e: f64) -> Vec<Series<4>> {
        let x = &vars[Dims::STATES..Dims::STATES + dims.states];
        let mut states: Vec<Series<4>> = x.iter().map(|&x| Series::from_slice(&[x])).collect();
        let mut scratch: Vec<Series<4>> = Vec::new();
        for power in 1..=P {
            let inputs = &self.state.engine.inputs;
            let view = Jumped { dims, vars, states: &states, inputs, t: e };
            let next: Vec<f64> = (0..dims.states)
                .map(|i| {
                    let f: Series<4> = self.engine.system.derivative(i, &view, &mut scratch);
                    f.0[power - 1] / power as f64
                })
                .collect();
            states.iter_mut().zip(next).for_each(|(s, c)| s.0[power] = c);
        }
        states
    }
}

impl<E: Equations, M: Method<P>, const P: usize> Core<E> for Quantised<M, P> {
    type State = CoreState<P>;

    fn save(&self) -> CoreState<P> {
        self.state.clone()
    }
    fn restore(&mut self, _: &Scene<E>, saved: &CoreState<P>) {
        self.state.clone_from(saved);
    }

    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], _: Option<f64>) {
        let none = Input { at: 0.0, coefficients: vec![0.0] };
        self.state.engine.inputs = vec![none; scene.dims.inputs];
        self.state.base = scene.frame.last;
        (self.state.shift, self.state.at, self.state.jumped) = (0.0, t, t);
        (0..scene.dims.inputs).for_each(|port| self.take_input(scene, port));
        self.state.leave = Queue::new(self.outputs.len());
        self.state.off = x.iter().map(|x| (false, x.abs())).collect();
        self.state.parted.fill(false);
        let origin = scene.absolute(0.0);
        self.engine.system.resting = scene.frame.resting;
        let result = self.run(|engine| engine.start_at((origin, t), x, &scene.frame.discrete));
        self.note(result);
        self.touch_all(scene);
    }

    fn time(&self) -> f64 {
        self.state.at
    }

    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        self.engine.system.resting = scene.frame.resting;
        let stepped = self.steps(scene);
        self.note(stepped);
        if let Some(bad) = self.state.bad {
            return Err(self.failure(remarks::told(scene, bad), self.state.at));
        }
        let stop = stop.unwrap_or(f64::INFINITY);
        let next = self.state.engine.queue.least() - self.state.shift;
        let end = next.min(stop).min(self.state.at + self.longest).max(self.state.at);
        // What lies within the rounding of the limit's tick happens at the limit.
        let mut width = end - self.state.at + self.snap;
        let whole = width;
        self.search(scene, &mut width, flips)?;
        let end = match width < whole {
            true => (self.state.at + (width - self.snap).max(self.snap)).min(end),
            false => end,
        };
        if let Some(leave) = self.band(scene, self.state.shift + end)
            && scene.reaches((self.state.at, leave.min(end)), end + self.snap)
        {
            return Ok(Advance::Left(leave.min(end)));
        }
        self.state.at = end;
        Ok(if end >= stop { Advance::Stopped } else { Advance::Silent })
    }

    fn states(&self, t: f64, x: &mut [f64]) {
        let e = self.state.shift + t;
        for (x, v) in x.iter_mut().zip(&self.state.engine.variables) {
            *x = v.state(e);
        }
    }

    fn error(&self, t: f64, state: usize, x: f64) -> f64 {
        let variables = &self.state.engine.variables;
        let CoreState { shift, jumped, ref off, ref parted, .. } = self.state;
        let (readings, exact) = (&self.readings[..], M::exact(jumped));
        let parted: &[bool] = if shift + t > jumped { parted } else { &[] };
        Quantising { variables, readings, shift, exact, off, parted }.error(t, state, x)
    }

    fn arrive(&mut self, scene: &Scene<E>, t: f64) {
        self.state.clear.fill(f64::NEG_INFINITY);
        let ticks = (t / scene.tick).round() as i64;
        let last = scene.frame.last + ticks - self.state.base;
        self.state.shift = scene.seconds(last);
        self.state.at = 0.0;
        if self.state.shift * f64::EPSILON > ROUNDED * scene.tick {
            self.state.count_from(last, scene.absolute(t));
        }
    }

    fn jump(&mut self, scene: &Scene<E>, x: &[f64]) {
        self.engine.system.resting = scene.frame.resting;
        let e = self.state.shift;
        (0..scene.dims.inputs).for_each(|port| self.take_input(scene, port));
        if self.state.engine.discrete[..] != scene.frame.discrete[..] {
            self.state.engine.discrete.copy_from_slice(&scene.frame.discrete);
            // Steps by other branches say nothing of the next one.
            self.state.engine.variables.iter_mut().for_each(|v| v.usual = 0.0);
        }
        let moved = |(v, x): (&Variable<P>, &f64)| v.state(e) != *x;
        let CoreState { engine, jumped, off, parted, .. } = &mut self.state;
        let gone: &[bool] = if e > *jumped { parted } else { &[] };
        for (i, x) in x.iter().enumerate() {
            let goes_on = !moved((&engine.variables[i], x));
            let drifts = Quantising {
                variables: &engine.variables,
                readings: &self.readings,
                shift: e,
                exact: M::exact(*jumped),
                off,
                parted: gone,
            };
            let drifted = goes_on && (off[i].0 || drifts.has_drifted(i));
            off[i] = (drifted, x.abs().max(if goes_on { off[i].1 } else { 0.0 }));
        }
        parted.fill(false);
        if self.state.engine.variables.iter().zip(x).any(moved) {
            for (v, &x) in self.state.engine.variables.iter_mut().zip(x) {
                (v.x, v.at) = (x, e);
            }
            let restarted = self.run(|engine| engine.restart(e));
            self.note(restarted);
        } else {
            self.refresh(e);
        }
        self.state.jumped = e;
        self.state.jumps += 1;
        self.touch_all(scene);
    }

    fn input(&mut self, scene: &Scene<E>, port: usize) {
        self.engine.system.resting = scene.frame.resting;
        self.take_input(scene, port);
        self.refresh(self.state.shift + self.state.at);
        self.touch_all(scene);
    }

    fn sent(&mut self, scene: &Scene<E>, port: usize) {
        self.look_at_band(scene, port, self.state.shift + self.state.at);
    }

    fn outside(&mut self, _: &Scene<E>, _: &[f64]) -> bool {
        // Bands are looked at in the next advance, for any output that has left its own.
        false
    }

    fn expand(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        self.engine.system.resting = scene.frame.resting;
        let e = self.state.shift + t;
        let dims = &scene.dims;
        let discrete = &vars[dims.first_discrete()..][..dims.discrete];
        let x = &vars[Dims::STATES..][..dims.states];
        let held = |(v, x): (&Variable<P>, &f64)| v.state(e) == *x;
        let engine = &self.state.engine;
        let jumped =
            all && !(discrete == engine.discrete && engine.variables.iter().zip(x).all(held));
        let states = if jumped { self.restarted(dims, vars, e) } else { Vec::new() };
        for port in 0..self.outputs.len() {
            let late = self.state.leave.get(port) > e + scene.tick;
            if !scene.connected[port] || (late && !all) {
                continue;
            }
            let (outputs, sheet) = (&mut self.outputs, &self.engine.system);
            let (row, _) = if jumped {
                let inputs = &self.state.engine.inputs;
                let there = Jumped { dims, vars, states: &states, inputs, t: e };
                outputs.finite_row(port, &there, sheet)
            } else {
                outputs.finite_row(port, &Along { state: &self.state.engine, t: e }, sheet)
            };
            let mut length = ROW.min(order + 1);
            while length > 1 && row[length - 1] == 0.0 {
                length -= 1;
            }
            take(port, &row[..length]);
        }
    }

    fn last_remark(&self, scene: &Scene<E>) -> Option<String> {
        self.small_state(scene)
    }

    fn count(&self, statistics: &mut UnitStatistics) {
        statistics.steps += self.state.engine.steps;
        statistics.evaluations += self.state.engine.evaluations;
        statistics.reinitialisations += self.state.jumps;
        statistics.indicator_evaluations += self.state.looks;
        statistics.lost_states += self.state.engine.lost;
    }
}
