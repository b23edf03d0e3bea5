//! The core that steps all states at once: a solver and an event search.
mod failures;

use super::{
    consistent::Consistent,
    core::{Advance, Core, Failure, Flips, Scene},
    dual::{Dual, Structure},
    equations::{Dims, Equations, Work},
    expander::{Expander, Functions},
    failures::{AlgebraicError, MethodError},
    guards::compare,
    ode::{Method, NotFinite, OdeSystem, Partials, Path, Solver, put},
    progress::Progress,
    settings::Settings,
    tendency::Course,
    watch::Watch,
};
use crate::{
    maths::{rounding, sparse::Pattern},
    signal::statistics::UnitStatistics,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SteppedState {
    pub(super) solver: Solver,
    /// The present, inside the solver's last step.
    pub(super) at: f64,
    /// Starts after jumps.
    jumps: u64,
    /// Evaluations of all indicators.
    pub(super) looks: u64,
    progress: Progress,
}

/// A solver that steps all states at once, with a search for events in each step.
#[derive(Debug)]
pub struct Stepped {
    state: SteppedState,
    /// Seconds by which a tick may precede the crossing it stands for.
    snap: f64,
    expander: Expander,
    watch: Watch,
    dual: Dual,
    /// The sparse Jacobian of an implicit method.
    structure: Option<Arc<Structure>>,
    consistent: Consistent,
    work: Work,
    vars: Vec<f64>,
    x: Vec<f64>,
}

/// Equations as methods of one kind need them, compiled once for several.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    expander: Expander,
    functions: Option<(Functions, Functions)>,
    structure: Option<Arc<Structure>>,
}

impl Prepared {
    /// For `method`, and for all that make series as well, or make none as well.
    pub(crate) fn new<E: Equations>(equations: &E, method: Method) -> Self {
        let (expander, functions) = Expander::new(equations, method.series_order().is_none());
        let implicit = method == Method::Rodas;
        let structure = implicit.then(|| Structure::of(equations)).flatten();
        Self { expander, functions, structure: structure.map(Arc::new) }
    }
}

/// The part of its tolerances to which a solution is tightened that chatters.
const CHATTERS: f64 = 1e-3;

/// The right-hand side with inputs filled in.
struct Field<'a, E> {
    scene: &'a Scene<E>,
    expander: &'a mut Expander,
    dual: &'a mut Dual,
    structure: Option<&'a Structure>,
    consistent: &'a mut Consistent,
    tolerances: (f64, f64),
    work: &'a mut Work,
    /// Variables, of which those that do not change in a step are in place.
    vars: &'a mut Vec<f64>,
    /// Absolute time of the origin.
    origin: f64,
    /// Whether some input changes in a step.
    driven: bool,
}

impl<E: Equations> Field<'_, E> {
    #[inline(always)]
    fn put(&mut self, t: f64, x: &[f64]) {
        self.vars[0] = self.origin + t;
        self.vars[Dims::STATES..Dims::STATES + x.len()].copy_from_slice(x);
        if self.driven {
            let first = self.scene.dims.first_input();
            for (var, held) in self.vars[first..].iter_mut().zip(&self.scene.frame.inputs) {
                *var = held.segment.value(self.scene.age(held, t));
            }
        }
    }

    /// Carries out `f` with the branches that hold at the variables, where these are others than those held.
    #[cold]
    fn compared<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        let first = self.scene.dims.first_side();
        let held = self.vars[first..].to_vec();
        compare(&self.scene.equations, self.vars, self.work);
        let result = (self.vars[first..] != held).then(|| f(self));
        self.vars[first..].copy_from_slice(&held);
        result
    }
}

impl<E: Equations> OdeSystem for Field<'_, E> {
    // A wide pointer comes back in registers, a `String` does not (2 % of an oscillator).
    type Error = Box<AlgebraicError>;
    fn dim(&self) -> usize {
        self.scene.dims.states
    }
    fn differential(&self) -> usize {
        // At rest all keep their values.
        if self.scene.frame.resting { self.dim() } else { self.scene.dims.differential() }
    }
    #[inline]
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        if self.scene.frame.resting {
            dx.fill(0.0);
            return Ok(());
        }
        self.put(t, x);
        self.scene.equations.derivatives(self.vars, self.work, dx);
        Ok(())
    }
    #[cold]
    fn beyond(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<bool, Self::Error> {
        self.put(t, x);
        let again = |this: &mut Self| {
            this.scene.equations.derivatives(this.vars, this.work, dx);
        };
        Ok(!self.scene.frame.resting && self.compared(again).is_some())
    }
    fn expand(
        &mut self,
        t: f64,
        x: &[f64],
        stride: usize,
        rows: &mut [f64],
    ) -> Result<Option<usize>, Self::Error> {
        self.put(t, x);
        if self.differential() < x.len() {
            // Series hold their residuals where these are; that they are zero is seen to here.
            self.consistent.find(&self.scene.equations, self.vars, self.tolerances, |_| ())?;
        }
        let solve = |this: &mut Self, rows: &mut [f64]| {
            let memory = (&mut *this.dual, &mut *this.work);
            this.expander.solve(this.scene, memory, (t, this.vars), stride, rows)
        };
        let length = solve(self, rows);
        if rows.iter().all(|c| c.is_finite()) {
            return Ok(length);
        }
        // A state that rounding has put beyond its guard.
        Ok(self.compared(|this| solve(this, rows)).unwrap_or(length))
    }
    fn speed(&mut self, t: f64, x: &[f64]) -> Option<(f64, usize)> {
        self.put(t, x);
        self.expander.speed(self.scene, self.dual, self.vars)
    }
    fn corrections(
        &mut self,
        t: f64,
        x: &[f64],
        residuals: &mut [f64],
    ) -> Result<f64, Self::Error> {
        self.put(t, x);
        let linearised = self.consistent.linearise(&self.scene.equations, self.vars)?;
        linearised.solve(residuals);
        Ok(4.0 * f64::EPSILON * linearised.condition())
    }
    fn pattern(&self) -> Option<&Arc<Pattern>> {
        self.structure.map(|s| &s.pattern)
    }
    fn linearise(&mut self, t: f64, x: &[f64], to: Partials<'_>) -> Result<bool, Self::Error> {
        if self.scene.frame.resting {
            [to.dx, to.jacobian, to.drift].into_iter().for_each(|row| row.fill(0.0));
            return Ok(true);
        }
        self.put(t, x);
        let scene = self.scene;
        let rate = |k: usize| {
            let held = &scene.frame.inputs[k];
            held.segment.value_and_slope(scene.age(held, t)).1
        };
        let Partials { dx, jacobian, drift } = to;
        let mut linearise = |this: &mut Self| {
            let to = Partials { dx: &mut *dx, jacobian: &mut *jacobian, drift: &mut *drift };
            this.dual.linearise(&scene.equations, this.structure, this.vars, rate, to);
            dx.iter().all(|dx| dx.is_finite())
        };
        if !linearise(self) {
            self.compared(linearise);
        }
        Ok(true)
    }
}

impl Stepped {
    /// A core for equations that are prepared for the method, not started yet.
    ///
    /// # Errors
    /// When the method or the order of segments does not fit the equations.
    pub(crate) fn new<E: Equations>(
        prepared: Prepared,
        equations: &E,
        settings: &Settings,
    ) -> Result<Self, MethodError> {
        let Prepared { expander, functions, structure } = prepared;
        settings.check(&expander, equations.dims().algebraic)?;
        let watch = Watch::new(equations, functions, settings);
        let solver = Solver::new(settings.method, settings.solver.clone());
        let progress = Progress::default();
        let state = SteppedState { solver, at: 0.0, jumps: 0, looks: 0, progress };
        let (vars, x) = (Vec::new(), Vec::new());
        let snap = rounding::SNAP / (settings.resolution.ticks_per_second() as f64);
        let (dual, consistent, work) = Default::default();
        let structure = structure.filter(|_| settings.method == Method::Rodas);
        Ok(Self { state, snap, expander, watch, dual, structure, consistent, work, vars, x })
    }

    /// From here on bands of outputs are watched, or not.
    pub(crate) fn watch_bands(&mut self, on: bool) {
        self.watch.watch_bands(on);
    }

    /// Steps, refused ones included, and evaluations of all indicators, so far.
    pub(crate) fn work(&self) -> (u64, u64) {
        let steps = self.state.solver.statistics();
        (steps.accepted + steps.rejected, self.state.looks)
    }

    /// The solution at the present is as far off as the tolerances allow.
    pub(crate) fn distrust(&mut self) {
        self.state.solver.keep_errors(1.0);
    }

    /// It tightens tolerances where a sign is not sure.
    pub(crate) fn take_doubtful(&mut self) -> bool {
        false
    }

    /// Whether stability limits the steps of an explicit method.
    pub(crate) fn is_stiff<E: Equations>(&mut self, scene: &Scene<E>) -> bool {
        let (state, mut field) = self.field(scene);
        state.solver.is_stiff(&mut field).unwrap_or(false)
    }

    /// A step by the closed form of solutions that are parabolas; gives whether there is one.
    #[inline]
    fn parabolic<E: Equations>(&mut self, scene: &Scene<E>, stop: Option<f64>) -> bool {
        let Self { state, expander, work, vars, .. } = self;
        if !state.solver.method().follows_parabolas() {
            return false;
        }
        let Some(linear) = expander.parabolic(scene) else { return false };
        let variables = scene.dims.variables();
        if vars.len() != variables {
            vars.resize(variables, 0.0);
        }
        if !scene.frame.discrete.is_empty() {
            put(&mut vars[scene.dims.first_discrete()..], &scene.frame.discrete);
        }
        put(&mut vars[Dims::STATES..], state.solver.state());
        let series = linear.parabolas(&scene.equations, work, vars);
        state.solver.parabolic(stop, series)
    }

    /// Goes back to the present with the tolerances of these states tightened to this part, if the search behind it found no
    /// flips; whether it did.
    #[cold]
    fn tighten(
        &mut self,
        (states, part): &(Vec<usize>, f64),
        flips: &mut Flips,
        first: usize,
    ) -> bool {
        let alone = flips.list.len() == first;
        if alone {
            flips.past.iter_mut().for_each(|past| past.nearing = 0.0);
        }
        alone && self.state.solver.tighten(self.state.at, states, *part).is_ok()
    }

    /// Ends the last step at `t`: inside it, or beside it by less than some ticks.
    fn end_step(&mut self, states: usize, t: f64) {
        let solver = &mut self.state.solver;
        if solver.truncate_to(t).is_err() {
            // A tick beyond a short step, or the rounding of a sum of fixed steps before its start.
            self.x.resize(states, 0.0);
            solver.dense(t, &mut self.x);
            solver.restart(t, &self.x);
        }
    }

    /// The solver, and the right-hand side that it integrates.
    #[inline(always)]
    fn field<'a, E: Equations>(
        &'a mut self,
        scene: &'a Scene<E>,
    ) -> (&'a mut SteppedState, Field<'a, E>) {
        let Self { state, expander, dual, structure, consistent, work, vars, .. } = self;
        let options = state.solver.options();
        let tolerances = (options.rtol, options.atol);
        scene.surround(0.0, vars);
        let field = Field {
            origin: vars[0],
            driven: scene.frame.inputs.iter().any(|held| held.segment.order() > 0),
            structure: structure.as_deref(),
            tolerances,
            scene,
            expander,
            dual,
            consistent,
            work,
            vars,
        };
        (state, field)
    }

    /// A step of the solver.
    #[inline(never)]
    fn step<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
    ) -> Result<(), Box<Failure>> {
        let (state, mut field) = self.field(scene);
        if let Err(error) = state.solver.step(&mut field, stop) {
            return self.explain(scene, &error);
        }
        match state.progress.look(&state.solver, scene, &mut field) {
            None => Ok(()),
            Some(slow) => self.too_slow(scene, &slow),
        }
    }
}

/// How far a solution may be off inside a step: so many times the solver's own estimate.
const SAFETY: f64 = 16.0;

impl Course for &Solver {
    fn state(&self, t: f64, i: usize) -> f64 {
        self.dense_at(t, i)
    }
    fn error(&self, t: f64, i: usize, x: f64) -> f64 {
        SAFETY * self.error_at(t, i, x)
    }
    fn may_tighten(&self, states: &[usize], part: f64) -> bool {
        Solver::may_tighten(self, states, part)
    }
}

impl<E: Equations> Core<E> for Stepped {
    type State = SteppedState;

    fn save(&self) -> SteppedState {
        self.state.clone()
    }
    fn restore(&mut self, _: &Scene<E>, saved: &SteppedState) {
        self.state.clone_from(saved);
    }

    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], _: Option<f64>) {
        self.state.solver.begin(t, x);
        self.state.at = t;
        scene.fill(t, x, &mut self.vars);
        self.expander.prepare(scene, &mut self.dual, &self.vars);
    }

    fn last_remark(&self, scene: &Scene<E>) -> Option<String> {
        self.small_state(scene)
    }

    fn chatters(&mut self) {
        // Where its error is as large as what decides the side, no side holds.
        if self.state.solver.method().own_step().is_none() {
            self.state.solver.tighten_all(CHATTERS);
        }
    }

    fn own_step(&self) -> Option<f64> {
        self.state.solver.method().own_step()
    }

    fn inside(&self, scene: &Scene<E>) -> Option<f64> {
        let step = self.state.solver.method().own_step()?;
        let done = self.state.at - self.state.solver.path().start();
        // A solver takes a sliver at the end along, and ticks round.
        let sliver = (0.01 * step).max(scene.tick);
        (done > scene.tick && done < step - sliver).then_some(done)
    }

    fn time(&self) -> f64 {
        self.state.at
    }

    // Always inlined: a unit without time events advances without a limit, which leaves less to do.
    #[inline(always)]
    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        let first = flips.list.len();
        let mut found = loop {
            if self.state.at >= self.state.solver.time() && !self.parabolic(scene, stop) {
                self.step(scene, stop)?;
            }
            let Self { state, snap, watch, work, .. } = self;
            // A flip within the rounding of a tick happens at the tick.
            let end = state.solver.time() + *snap;
            if watch.is_idle() {
                break Ok((None, end));
            }
            let found = watch.search(scene, state, work, end, flips);
            match watch.take_wide() {
                Some(wide) if self.tighten(&wide, flips, first) => {}
                _ => break found,
            }
        };
        let Self { state, snap, watch, work, .. } = self;
        // A function may be undefined behind an event only: nearer, then.
        while let Err(NotFinite { t, .. }) = found
            && t - state.at > scene.tick
        {
            let nearer = state.at + 0.5 * (t - state.at);
            found = watch.search(scene, state, work, nearer, flips);
            watch.take_wide();
        }
        match found {
            Ok((Some(left), _)) if scene.reaches((state.at, left), state.solver.time() + *snap) => {
                Ok(Advance::Left(left))
            }
            Ok((_, end)) => {
                // Series of indicators may hold for a part of the step only.
                state.at = state.solver.time().min((end - *snap).max(state.at + *snap));
                // The origin may have moved since the limit was set: by its rounding, not by steps that are
                // shorter than a tick.
                let near =
                    |stop: f64| self.snap.max(8.0 * f64::EPSILON * stop).min(0.5 * scene.tick);
                let reached = |stop: f64| stop - self.state.at < near(stop);
                Ok(if stop.is_some_and(reached) { Advance::Stopped } else { Advance::Silent })
            }
            Err(NotFinite { t, .. }) => {
                Err(self.failure("an event condition or an output is not finite", t))
            }
        }
    }

    #[inline]
    fn states(&self, t: f64, x: &mut [f64]) {
        self.state.solver.dense(t, x);
    }

    fn path(&self) -> Option<&Path> {
        Some(self.state.solver.path())
    }

    fn error(&self, t: f64, state: usize, x: f64) -> f64 {
        (&self.state.solver).error(t, state, x)
    }

    #[inline]
    fn arrive(&mut self, scene: &Scene<E>, t: f64) {
        if t > self.state.solver.time() {
            self.end_step(scene.dims.states, t);
        }
        self.state.solver.shift_origin(t);
        self.state.at = 0.0;
    }

    fn jump(&mut self, scene: &Scene<E>, x: &[f64]) {
        let solver = &mut self.state.solver;
        // Algebraic variables are solved for anew.
        let own = &x[..scene.dims.differential()];
        let goes_on = |(i, x): (usize, &f64)| {
            let (now, soon) = (solver.dense_at(0.0, i), solver.dense_at(self.snap, i));
            (x - now).abs() <= (soon - now).abs()
        };
        let errors = solver.errors(0.0).filter(|_| own.iter().enumerate().all(goes_on));
        let of = |(size, x): (&f64, (usize, &f64))| if goes_on(x) { *size } else { 0.0 };
        let sizes = solver.sizes().iter().zip(own.iter().enumerate()).map(of).collect();
        solver.restart(0.0, x);
        // A solution that goes on as it was is as far off as it was.
        errors.into_iter().for_each(|errors| solver.keep_errors(errors));
        solver.keep_sizes(sizes);
        self.state.at = 0.0;
        self.state.jumps += 1;
    }

    fn input(&mut self, scene: &Scene<E>, _: usize) {
        let dims = scene.dims;
        self.end_step(dims.states, self.state.at);
        if dims.algebraic == 0 || scene.frame.resting {
            return;
        }
        // A piece may go on from where the one before was off by the sender's tolerance, which is wider than that of
        // the equations. Where there are no values, the next step says so.
        let Self { state, consistent, vars, .. } = self;
        scene.fill(state.at, state.solver.state(), vars);
        let options = state.solver.options();
        let tolerances = (options.rtol, options.atol);
        if consistent.find(&scene.equations, vars, tolerances, |_| ()).is_ok() {
            state.solver.amend(dims.differential(), &vars[dims.algebraic_places()]);
        }
    }

    fn sent(&mut self, _: &Scene<E>, _: usize) {}

    fn outside(&mut self, scene: &Scene<E>, vars: &[f64]) -> bool {
        self.watch.outside(scene, vars, &mut self.work)
    }

    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        let path = Some(self.state.solver.path()).filter(|_| !all);
        self.expander.segments(scene, at, order, path, take);
    }

    fn count(&self, statistics: &mut UnitStatistics) {
        let solver = self.state.solver.statistics();
        statistics.steps += solver.accepted;
        statistics.rejected_steps += solver.rejected;
        statistics.evaluations += solver.evaluations;
        statistics.reinitialisations += self.state.jumps;
        statistics.indicator_evaluations += self.state.looks;
        statistics.tightened_tolerances += self.state.solver.tightened() as u64;
    }
}
