//! The core that steps all states at once: a solver and an event search.
use super::{
    consistent::Consistent,
    core::{Advance, Core, Failure, Scene},
    dual::Dual,
    equations::{Dims, Equations, Work},
    expander::{Expander, MAX_SEGMENT_ORDER},
    ode::{
        Arm, Locator, MAX_ORDER, Method, NotFinite, OdeSystem, Partials, Solver, StepError, put,
    },
    settings::Settings,
    watch::Watch,
};
use crate::{maths::rounding, signal::statistics::UnitStatistics};
use serde::{Deserialize, Serialize};

/// What changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SteppedState {
    pub(super) solver: Solver,
    /// The present, inside the solver's last step.
    pub(super) at: f64,
    /// Own events, then events of links, then bands of outputs that can only be sampled.
    pub(super) locator: Locator,
    /// Events found so far, and starts after jumps.
    located: u64,
    jumps: u64,
    /// Evaluations of all indicators.
    pub(super) looks: u64,
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
    consistent: Consistent,
    work: Work,
    vars: Vec<f64>,
    x: Vec<f64>,
    z: Vec<f64>,
}

/// The right-hand side with inputs filled in.
struct Field<'a, E> {
    scene: &'a Scene<E>,
    expander: &'a mut Expander,
    dual: &'a mut Dual,
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

impl<'a, E: Equations> Field<'a, E> {
    fn new(
        scene: &'a Scene<E>,
        (expander, dual): (&'a mut Expander, &'a mut Dual),
        (consistent, tolerances): (&'a mut Consistent, (f64, f64)),
        work: &'a mut Work,
        vars: &'a mut Vec<f64>,
    ) -> Self {
        scene.surround(0.0, vars);
        let origin = vars[0];
        let driven = scene.frame.inputs.iter().any(|held| held.segment.order() > 0);
        Self { scene, expander, dual, consistent, tolerances, work, vars, origin, driven }
    }

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
}

impl<E: Equations> OdeSystem for Field<'_, E> {
    // A wide pointer comes back in registers, a `String` does not (2 % of an oscillator).
    type Error = Box<str>;
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
            self.consistent.find(&self.scene.equations, self.vars, self.tolerances)?;
        }
        let memory = (&mut *self.dual, &mut *self.work);
        Ok(self.expander.solve(self.scene, memory, (t, self.vars), stride, rows))
    }
    fn linearise(&mut self, t: f64, x: &[f64], to: Partials<'_>) -> Result<bool, Self::Error> {
        if self.scene.frame.resting {
            for row in [to.dx, to.jacobian, to.drift] {
                row.fill(0.0);
            }
            return Ok(true);
        }
        self.put(t, x);
        let scene = self.scene;
        let rate = |k: usize| {
            let held = &scene.frame.inputs[k];
            held.segment.value_and_slope(scene.age(held, t)).1
        };
        self.dual.linearise(&scene.equations, self.vars, rate, to);
        Ok(true)
    }
}

impl Stepped {
    /// A core for these equations, not started yet.
    ///
    /// # Errors
    /// When the method or the order of segments does not fit the equations.
    pub fn new<E: Equations>(equations: &E, settings: &Settings) -> Result<Self, String> {
        let exact = settings.method.series_order().is_none();
        let (expander, functions, kinks) = Expander::new(equations, exact);
        check(settings, &expander, equations.dims().algebraic)?;
        let (watch, watched) = Watch::new(equations, functions, kinks, settings);
        let solver = Solver::new(settings.method, settings.solver.clone());
        let locator = Locator::new(watched);
        let state = SteppedState { solver, at: 0.0, locator, located: 0, jumps: 0, looks: 0 };
        let (vars, x, z) = (Vec::new(), Vec::new(), Vec::new());
        let snap = rounding::SNAP / (settings.resolution.ticks_per_second() as f64);
        let (dual, consistent, work) = Default::default();
        Ok(Self { state, snap, expander, watch, dual, consistent, work, vars, x, z })
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

    /// A step of the solver.
    #[inline(never)]
    fn step<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
    ) -> Result<(), Box<Failure>> {
        let Self { state, expander, dual, consistent, work, vars, .. } = self;
        let options = state.solver.options();
        let algebra = (consistent, (options.rtol, options.atol));
        let mut field = Field::new(scene, (expander, dual), algebra, work, vars);
        match state.solver.step(&mut field, stop) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.explain(scene, &error)),
        }
    }

    #[cold]
    fn failure(&self, what: &str, t: f64) -> Box<Failure> {
        let mut x = vec![0.0; self.state.solver.state().len()];
        self.state.solver.dense(t, &mut x);
        Box::new(Failure { what: what.to_owned(), t, x })
    }

    #[cold]
    fn explain<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        error: &StepError<Box<str>>,
    ) -> Box<Failure> {
        let at = self.state.at;
        match error {
            StepError::NotFinite { t, component } => {
                self.failure(&format!("{} is not finite", scene.equation(*component)), *t)
            }
            StepError::Underflow { .. } | StepError::Rejections { .. } => {
                let steepest = match self.steepest(scene) {
                    Ok(state) => state,
                    Err(why) => return self.failure(&why, at),
                };
                let what = format!(
                    "no step is short enough for the tolerances: {} grows beyond bounds, jumps \
                     without an event, or `tolerance` and `absolute_tolerance` are out of reach",
                    scene.equation(steepest)
                );
                self.failure(&what, at)
            }
            StepError::Rhs(why) => self.failure(why, at),
            _ => self.failure(&error.to_string(), at),
        }
    }

    /// The state that changes fastest in comparison with its size, at the end of the last step.
    fn steepest<E: Equations>(&mut self, scene: &Scene<E>) -> Result<usize, String> {
        let x = self.state.solver.state();
        scene.fill(self.state.solver.time(), x, &mut self.vars);
        let mut dx = vec![0.0; x.len()];
        scene.equations.derivatives(&self.vars, &mut self.work, &mut dx);
        if scene.dims.algebraic > 0 {
            self.consistent.rates(&scene.equations, &self.vars, &mut dx)?;
        }
        let pace = |i: usize| dx[i].abs() / (1.0 + x[i].abs());
        let last = |&i: &usize, &j: &usize| pace(i).total_cmp(&pace(j)).then(j.cmp(&i));
        Ok((0..x.len()).max_by(last).unwrap_or(0))
    }

    /// Leaves the indicators at the variables `vars` in `z`; places of bands hold 1 (inside).
    #[inline(always)]
    fn indicators<E: Equations>(&mut self, scene: &Scene<E>, vars: &[f64]) {
        let own = scene.dims.indicators;
        let places = own + 2 * self.watch.sampled_ports().len();
        if self.z.len() != places {
            self.z.resize(places, 1.0);
        }
        scene.equations.indicators(vars, &mut self.work, &mut self.z[..own]);
        self.state.looks += 1;
    }

    /// Arrives at `t`, where some of the watched events have happened, or none.
    #[inline(never)]
    fn arrive_among<E: Equations>(&mut self, scene: &Scene<E>, t: f64, snap: f64) {
        let solver = &mut self.state.solver;
        if t > solver.time() && solver.truncate_to(t).is_err() {
            // A tick beyond a step that is shorter than some ticks.
            self.x.resize(scene.dims.states, 0.0);
            solver.dense(t, &mut self.x);
            solver.restart(t, &self.x);
        }
        let first = scene.equations.events().len();
        let locator = &self.state.locator;
        let due = |i: &usize| locator.hit(*i).is_some_and(|hit| hit <= t + snap);
        // A link that came due at the same tick still has to be proposed.
        let waiting: Vec<usize> = (first..self.watch.events()).filter(due).collect();
        self.state.located += (0..first).filter(due).count() as u64;
        self.settle_arms(scene, t, snap);
        for i in waiting {
            self.state.locator.set(i, Arm::Armed);
        }
    }

    /// Takes over what the indicators say at `t`, where nothing happens but what was found.
    fn settle_arms<E: Equations>(&mut self, scene: &Scene<E>, t: f64, snap: f64) {
        if self.watch.events() == 0 || self.state.locator.disarm_all(t + snap) {
            return;
        }
        self.x.resize(scene.dims.states, 0.0);
        self.state.solver.dense(self.state.locator.snapped(t, self.snap), &mut self.x);
        let mut vars = std::mem::take(&mut self.vars);
        scene.fill(t, &self.x, &mut vars);
        self.indicators(scene, &vars);
        self.vars = vars;
        self.state.locator.accept_within(t, &self.z, snap);
        self.arm_bands();
    }

    /// Bands are always armed: leaving one is no event of the equations.
    #[inline]
    fn arm_bands(&mut self) {
        for k in self.watch.events()..self.state.locator.events().len() {
            self.state.locator.set(k, Arm::Armed);
        }
    }
}

/// What to do about a method that solves no algebraic equations.
pub(crate) const ALGEBRAIC: &str = "use method = \"rodas\", \"taylor\" or \"auto\"";

/// What a method asks of the equations.
fn check(settings: &Settings, expander: &Expander, algebraic: usize) -> Result<(), String> {
    let order = settings.segment_order;
    let tick = 1.0 / settings.resolution.ticks_per_second() as f64;
    if !(1..=MAX_SEGMENT_ORDER).contains(&order) {
        return Err(format!("segments of order {order}: give 1 to {MAX_SEGMENT_ORDER}"));
    }
    let series = "needs the equations' series, but their code looks at values to take its way";
    if order > 3 && !expander.any_order() {
        return Err(format!("a segment order above 3 {series}"));
    }
    if algebraic > 0 && !expander.any_order() {
        return Err(format!("a system with algebraic equations {series}"));
    }
    match settings.method {
        method if algebraic > 0 && !method.takes_algebraic() => {
            Err(format!("the method solves no algebraic equations; {ALGEBRAIC}"))
        }
        Method::Taylor(order, _) if !(2..=MAX_ORDER).contains(&order) => {
            Err(format!("Taylor order {order}: give 2 to {MAX_ORDER}"))
        }
        Method::Taylor(..) | Method::Closed if !expander.any_order() => {
            Err(format!("the method {series}"))
        }
        Method::Closed if !expander.affine() => {
            Err("the closed form needs derivatives that are affine in time, states and inputs; \
             use the method taylor or rk45"
                .into())
        }
        Method::Rk4(h) | Method::Euler(h) | Method::Taylor(_, Some(h))
            if h.is_nan() || h < tick =>
        {
            Err(format!("a step must be a tick or longer ({tick:e} s), this is {h:e} s"))
        }
        _ if settings.solver.max_step < tick => {
            let h = settings.solver.max_step;
            Err(format!("`max_step` must be a tick or longer ({tick:e} s), this is {h:e} s"))
        }
        _ => Ok(()),
    }
}

impl<E: Equations> Core<E> for Stepped {
    type State = SteppedState;

    fn state(&self) -> &SteppedState {
        &self.state
    }
    fn state_mut(&mut self) -> &mut SteppedState {
        &mut self.state
    }

    fn start(&mut self, scene: &Scene<E>, x: &[f64]) {
        self.state.solver.begin(0.0, x);
        self.state.at = 0.0;
        self.arm_bands();
        scene.fill(0.0, x, &mut self.vars);
        self.expander.prepare(scene, &mut self.dual, &self.vars);
    }

    fn time(&self) -> f64 {
        self.state.at
    }

    // Always inlined: a unit without time events advances without a limit, which leaves less to do.
    #[inline(always)]
    fn advance(&mut self, scene: &Scene<E>, stop: Option<f64>) -> Result<Advance, Box<Failure>> {
        if self.state.at >= self.state.solver.time() && !self.parabolic(scene, stop) {
            self.step(scene, stop)?;
        }
        let Self { state, snap, watch, work, .. } = self;
        // What lies within the rounding of the limit's tick happens at the limit.
        let end = state.solver.time();
        let limit = stop.is_some_and(|stop| stop <= end);
        let end = if limit { end + *snap } else { end };
        let mut found = watch.search(scene, state, work, end);
        // What is not defined somewhere in the step may be so behind an event: nearer, then.
        while let Err(NotFinite { t, .. }) = found
            && t - state.at > scene.tick
        {
            found = watch.search(scene, state, work, state.at + 0.5 * (t - state.at));
        }
        match found {
            Ok((Some(found), _)) => Ok(Advance::Found(found)),
            Ok((None, end)) => {
                state.locator.pass();
                // Series of indicators may hold for a part of the step only.
                state.at = state.solver.time().min(end);
                self.arm_bands();
                // The origin may have moved since the limit was set.
                let reached = |stop| stop - self.state.at < 0.5 * scene.tick;
                Ok(if stop.is_some_and(reached) { Advance::Stopped } else { Advance::Silent })
            }
            Err(NotFinite { t, .. }) => {
                Err(self.failure("an event condition or an output is not finite", t))
            }
        }
    }

    fn found(&self, until: f64, events: &mut Vec<u16>) {
        for i in 0..self.watch.events() {
            if self.state.locator.hit(i).is_some_and(|t| t <= until) {
                events.push(i as u16);
            }
        }
    }

    #[inline]
    fn states(&self, t: f64, x: &mut [f64]) {
        self.state.solver.dense(self.state.locator.snapped(t, self.snap), x);
    }

    #[inline]
    fn arrive(&mut self, scene: &Scene<E>, t: f64, snap: Option<f64>) {
        let own = scene.equations.events().len();
        let within = t + snap.unwrap_or(0.0);
        if t <= self.state.solver.time()
            && self.watch.events() == own
            && (own == 0 || self.state.locator.disarm_all(within))
        {
            // All that is watched has happened.
            self.state.located += own as u64;
        } else {
            self.arrive_among(scene, t, snap.unwrap_or(0.0));
        }
        self.state.solver.shift_origin(t);
        self.state.at = 0.0;
    }

    fn jump(&mut self, _: &Scene<E>, x: &[f64]) {
        self.state.solver.restart(0.0, x);
        self.state.at = 0.0;
        self.state.jumps += 1;
    }

    fn input(&mut self, _: &Scene<E>, _: usize) {
        let at = self.state.at;
        // It lies inside the step, where the unit arrived.
        let cut = self.state.solver.truncate_to(at);
        debug_assert!(cut.is_ok());
    }

    fn sent(&mut self, _: &Scene<E>, _: usize) {}

    fn settle(&mut self, scene: &Scene<E>, vars: &[f64], events: &mut Vec<u16>) -> bool {
        let count = self.watch.events();
        if count > 0 {
            self.indicators(scene, vars);
            // Conditions that became false arm their events again.
            self.state.locator.settle(&self.z, |event| {
                if event < count {
                    events.push(event as u16);
                }
            });
            self.arm_bands();
        }
        self.watch.outside(scene, vars, &mut self.work)
    }

    fn set_arm(&mut self, event: usize, arm: Arm) {
        self.state.locator.set(event, arm);
    }

    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        _: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        self.expander.segments(scene, at, order, take);
    }

    fn holds_still(&self, event: usize) -> bool {
        self.state.locator.passed(event).waits()
    }

    fn count(&self, statistics: &mut UnitStatistics) {
        let solver = self.state.solver.statistics();
        statistics.steps += solver.accepted;
        statistics.rejected_steps += solver.rejected;
        statistics.evaluations += solver.evaluations;
        statistics.located += self.state.located;
        statistics.reinitialisations += self.state.jumps;
        statistics.indicator_evaluations += self.state.looks;
    }
}
