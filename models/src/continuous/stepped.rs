//! The core that steps all states at once: a solver and an event search.
use super::{
    core::{Advance, Core, Failure, Scene},
    equations::{Dims, Equations, Trigger, Work},
    series::Series,
    settings::Settings,
};
use crate::{
    ode::{Arm, Event, Locator, OdeSystem, Solver, StepError},
    poly,
    statistics::UnitStatistics,
};
use serde::{Deserialize, Serialize};

type Expansion = Series<4>;

/// What changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SteppedState {
    solver: Solver,
    /// The present, inside the solver's last step.
    at: f64,
    /// Own events, then events of links, then bands around what receivers hold; one search over
    /// all, so that a step is sampled once.
    locator: Locator,
}

/// A solver that steps all states at once, with a search for events in each step.
#[derive(Debug)]
pub struct Stepped {
    state: SteppedState,
    /// Watched events that are no bands.
    events: usize,
    work: Work,
    expansions: Work<Expansion>,
    vars: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

/// The right-hand side with inputs filled in.
struct Field<'a, 'b, E> {
    scene: &'a Scene<'b, E>,
    work: &'a mut Work,
    vars: &'a mut Vec<f64>,
}

impl<E: Equations> OdeSystem for Field<'_, '_, E> {
    type Error = std::convert::Infallible;
    fn dim(&self) -> usize {
        self.scene.dims.states
    }
    fn rhs(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        self.scene.fill(t, x, self.vars);
        self.scene.equations.derivatives(self.vars, self.work, dx);
        Ok(())
    }
}

impl Stepped {
    /// A core for these equations, not started yet.
    ///
    /// # Errors
    /// When the method does not fit the equations.
    pub fn new<E: Equations>(equations: &E, settings: &Settings) -> Result<Self, String> {
        let dims = equations.dims();
        let state_event = |t: &Trigger| match t {
            Trigger::State { indicators, strict, touching } => {
                Event { indicators: indicators.clone(), strict: *strict, graze: *touching }
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
        let events = watched.len();
        let bands = if settings.exchange_tolerance.is_finite() { 2 * dims.outputs } else { 0 };
        watched.extend((0..bands).map(|k| Event::when(vec![dims.indicators + k])));
        let solver = Solver::new(settings.method, settings.solver.clone());
        let locator = Locator::new(watched);
        Ok(Self {
            state: SteppedState { solver, at: 0.0, locator },
            events,
            work: Work::default(),
            expansions: Work::default(),
            vars: Vec::new(),
            x: Vec::new(),
            y: Vec::new(),
            z: Vec::new(),
        })
    }

    fn failure(&self, what: &str, t: f64) -> Box<Failure> {
        let mut x = vec![0.0; self.state.solver.state().len()];
        self.state.solver.dense(t, &mut x);
        Box::new(Failure { what: what.to_owned(), t, x })
    }

    /// Leaves the indicators at the variables `vars` in `z`; places of bands hold 1 (inside).
    fn indicators<E: Equations>(&mut self, equations: &E, dims: &Dims, vars: &[f64]) {
        self.z.clear();
        self.z.resize(dims.indicators + 2 * dims.outputs, 1.0);
        equations.indicators(vars, &mut self.work, &mut self.z[..dims.indicators]);
    }

    /// Takes over what the indicators say at `t`, where nothing happens.
    fn settle_arms<E: Equations>(&mut self, scene: &Scene<'_, E>, t: f64, snap: f64) {
        self.x.resize(scene.dims.states, 0.0);
        self.state.solver.dense(t, &mut self.x);
        let mut vars = std::mem::take(&mut self.vars);
        scene.fill(t, &self.x, &mut vars);
        self.indicators(scene.equations, scene.dims, &vars);
        self.vars = vars;
        self.state.locator.accept_within(t, &self.z, snap);
        self.arm_bands();
    }

    /// Bands are always armed: leaving one is no event of the equations.
    fn arm_bands(&mut self) {
        for k in self.events..self.state.locator.events().len() {
            self.state.locator.set(k, Arm::Armed);
        }
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

    fn start(&mut self, _: &Scene<'_, E>, x: &[f64]) {
        self.state.solver.begin(0.0, x);
        self.state.at = 0.0;
    }

    fn time(&self) -> f64 {
        self.state.at
    }

    fn advance(
        &mut self,
        scene: &Scene<'_, E>,
        stop: Option<f64>,
    ) -> Result<Advance, Box<Failure>> {
        let Self { state, work, vars, x, y, .. } = self;
        if state.at >= state.solver.time() {
            let step = state.solver.step(&mut Field { scene, work, vars }, stop);
            if let Err(error) = step {
                let t = match error {
                    StepError::NotFinite { t, .. } => t,
                    _ => state.at,
                };
                return Err(self.failure(&error.to_string(), t));
            }
        }
        let (t0, t1) = (state.at, state.solver.time());
        let dims = scene.dims;
        x.resize(dims.states, 0.0);
        y.resize(dims.outputs, 0.0);
        let solver = &state.solver;
        let first = state.locator.locate(t0, t1, scene.clock.tick(), |t, z| {
            solver.dense(t, x);
            scene.fill(t, x, vars);
            let (own, bands) = z.split_at_mut(dims.indicators.min(z.len()));
            if own.len() == dims.indicators {
                scene.equations.indicators(vars, work, own);
            }
            if bands.is_empty() {
                return;
            }
            scene.equations.outputs(vars, work, y);
            for (port, (pair, y)) in bands.chunks_exact_mut(2).zip(&*y).enumerate() {
                let deviation = if scene.connected[port] { y - scene.held(port, t) } else { 0.0 };
                pair[0] = scene.band - deviation;
                pair[1] = scene.band + deviation;
            }
        });
        match first {
            Ok(Some(found)) => Ok(Advance::Found(found)),
            Ok(None) => {
                self.settle_arms(scene, t1, 0.0);
                self.state.at = t1;
                // The origin may have moved since the limit was set.
                let reached = |stop| stop - t1 < 0.5 * scene.clock.tick();
                Ok(if stop.is_some_and(reached) { Advance::Stopped } else { Advance::Silent })
            }
            Err(bad) => Err(self.failure("an event condition or an output is not finite", bad.t)),
        }
    }

    fn found(&self, until: f64, events: &mut Vec<u16>) {
        let hit = |i: &usize| self.state.locator.hit(*i).is_some_and(|t| t <= until);
        events.extend((0..self.events).filter(hit).map(|i| i as u16));
    }

    fn states(&self, t: f64, x: &mut [f64]) {
        self.state.solver.dense(t, x);
    }

    fn arrive(&mut self, scene: &Scene<'_, E>, t: f64, snap: Option<f64>) {
        let solver = &mut self.state.solver;
        if t > solver.time() && solver.truncate_to(t).is_err() {
            // A tick beyond a step that is shorter than some ticks.
            self.x.resize(scene.dims.states, 0.0);
            solver.dense(t, &mut self.x);
            solver.restart(t, &self.x);
        }
        let links = scene.equations.events().len()..self.events;
        let within = t + snap.unwrap_or(0.0);
        // A link that came due at the same tick still has to be proposed.
        let locator = &self.state.locator;
        let waiting: Vec<usize> =
            links.filter(|&i| locator.hit(i).is_some_and(|hit| hit <= within)).collect();
        self.settle_arms(scene, t, snap.unwrap_or(0.0));
        for i in waiting {
            self.state.locator.set(i, Arm::Armed);
        }
        self.state.solver.shift_origin(t);
        self.state.at = 0.0;
    }

    fn jump(&mut self, _: &Scene<'_, E>, x: &[f64]) {
        self.state.solver.restart(0.0, x);
        self.state.at = 0.0;
    }

    fn input(&mut self, _: &Scene<'_, E>, _: usize) {
        let at = self.state.at;
        // It lies inside the step, where the unit arrived.
        let cut = self.state.solver.truncate_to(at);
        debug_assert!(cut.is_ok());
    }

    fn sent(&mut self, _: &Scene<'_, E>, _: usize) {}

    fn settle(&mut self, scene: &Scene<'_, E>, vars: &[f64], events: &mut Vec<u16>) -> bool {
        self.indicators(scene.equations, scene.dims, vars);
        let (locator, z) = (&self.state.locator, &self.z);
        let holds = |i: &usize| locator.arms()[*i] == Arm::Armed && locator.events()[*i].holds(z);
        events.extend(
            (0..self.events)
                .filter(|&i| !locator.events()[i].indicators.is_empty())
                .filter(holds)
                .map(|i| i as u16),
        );
        // Conditions that became false arm their events again.
        self.state.locator.accept(0.0, &self.z);
        self.arm_bands();
        if !scene.band.is_finite() {
            return false;
        }
        self.y.resize(scene.dims.outputs, 0.0);
        scene.equations.outputs(vars, &mut self.work, &mut self.y);
        let outside = |(port, y): (usize, &f64)| (y - scene.held(port, 0.0)).abs() > scene.band;
        self.y.iter().enumerate().any(|(port, y)| scene.watches(port) && outside((port, y)))
    }

    fn set_arm(&mut self, event: usize, arm: Arm) {
        self.state.locator.set(event, arm);
    }

    fn expand(
        &mut self,
        scene: &Scene<'_, E>,
        (t, vars): (f64, &[f64]),
        order: usize,
        _: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        let dims = scene.dims;
        let mut s: Vec<Expansion> = vars.iter().map(|&v| Expansion::from_slice(&[v])).collect();
        s[0].0[1] = 1.0;
        for (held, var) in scene.inputs.iter().zip(&mut s[dims.first_input()..]) {
            let mut c = held.segment.coefficients().to_vec();
            poly::shift(&mut c, scene.clock.age(held, t));
            *var = Expansion::from_slice(&c);
        }
        let mut dx = vec![Expansion::default(); dims.states];
        for k in 1..=order.min(3) {
            scene.equations.derivatives(&s, &mut self.expansions, &mut dx);
            for (x, dx) in s[Dims::STATES..].iter_mut().zip(&dx) {
                x.0[k] = dx.0[k - 1] / k as f64;
            }
        }
        let mut y = vec![Expansion::default(); dims.outputs];
        scene.equations.outputs(&s, &mut self.expansions, &mut y);
        for (port, y) in y.iter().enumerate() {
            if scene.connected[port] {
                take(port, &y.0);
            }
        }
    }

    fn count(&self, statistics: &mut UnitStatistics) {
        let solver = self.state.solver.statistics();
        statistics.steps += solver.accepted;
        statistics.rejected_steps += solver.rejected;
        statistics.evaluations += solver.evaluations;
    }
}
