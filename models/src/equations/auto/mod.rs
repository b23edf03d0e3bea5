//! `method = "auto"`: the method that turns out to be the cheapest at the tolerances of a unit.
//!
//! # How
//! All methods that take the equations run over the same stretch from the same state, each for as many
//! estimated instructions ([`prices`]): the one that comes farthest is taken ([`race`]). Races begin at
//! the start of the run, and again when a second of simulated time costs four times as much as it did,
//! or when so much was spent since that another race costs little beside it. Nothing is timed, so that
//! the choice is the same everywhere. A method that was not tried is never chosen.
//!
//! The method changes where a step ends: the new one begins there as after a jump.
mod prices;
mod race;
mod runner;

use super::start::Refused;
use crate::{
    maths::expr::{Degree, VarId},
    signal::statistics::UnitStatistics,
    solve::{
        Settings,
        core::{Advance, Core, Failure, Flips, Scene},
        equations::Equations,
        qss::Quanta,
    },
};
use prices::Prices;
use runner::{Candidate, Runner, RunnerState, each};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A second of simulated time that costs so many times what it did calls for another race.
const DEARER: f64 = 4.0;
/// Races come anyway when so much was spent since the last one, in its costs.
const PATIENCE: f64 = 4.0;
/// The least that is spent between two looks at what a second costs, in costs of the last race.
const WINDOW: f64 = 0.5;

/// Estimated instructions, spent for steps and for races.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Tally {
    spent: f64,
    /// The cost of the last race, and all that was spent up to its end.
    race: f64,
    raced: f64,
    /// Races since the method last changed.
    confirmed: i32,
    /// The cost of a second when the present method was chosen.
    rate: f64,
    /// Where the present window began: what was spent, and the time in seconds.
    window: (f64, f64),
    /// The next look is due when so much is spent.
    look: f64,
    /// Jumps and new inputs since the last race, and its time: the method starts anew at each.
    stops: u32,
    since: f64,
}

/// The part that changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AutomaticState {
    runner: RunnerState,
    tally: Tally,
    /// Counts of the methods before the present one.
    before: UnitStatistics,
    remark: Option<String>,
}

/// A core that takes the cheapest of several methods.
#[derive(Debug)]
pub(crate) struct Automatic {
    runner: Runner,
    candidates: Vec<Candidate>,
    settings: Settings,
    prices: Prices,
    tally: Tally,
    before: UnitStatistics,
    remark: Option<String>,
}

/// Quanta as large as the tolerances: methods of both kinds are compared at these.
fn quanta(settings: &Settings) -> Quanta {
    Quanta { relative: settings.solver.rtol, minimum: settings.solver.atol }
}

/// Whether the derivatives have series wherever they are finite.
fn is_smooth<E: Equations>(equations: &E) -> bool {
    let past = equations.dims().first_discrete();
    let moves = |id: VarId| (id.0 as usize) < past;
    let smooth = |d: &Degree| *d <= Degree::Smooth;
    equations.programs().is_some_and(|p| p.derivatives.degrees(moves).iter().all(smooth))
}

impl Automatic {
    /// A core for these equations.
    ///
    /// # Errors
    /// When no method takes them.
    pub(crate) fn new<E: Equations>(equations: &E, settings: &Settings) -> Result<Self, Refused> {
        let mut candidates = Candidate::ALL.to_vec();
        if !is_smooth(equations) {
            // Its series would go on beyond a kink.
            candidates.retain(|c| *c != Candidate::Taylor);
        }
        let mut refused = None;
        let build = |c: &Candidate| match c.build(equations, settings) {
            Ok(runner) => Some(runner),
            Err(why) => {
                refused = Some(why);
                None
            }
        };
        let Some(runner) = candidates.iter().find_map(build) else {
            return Err(refused.unwrap_or_else(|| Refused::Method("no method".to_owned())));
        };
        Ok(Self {
            runner,
            candidates,
            settings: settings.clone(),
            prices: Prices::new(equations),
            tally: Tally::default(),
            before: UnitStatistics::default(),
            remark: None,
        })
    }

    /// The cost of the present method's steps so far.
    fn own(&self) -> f64 {
        self.runner.spent(&self.prices)
    }

    /// An advance of the present method.
    fn advanced<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        let before = self.own();
        let result = each!(&mut self.runner, core => core.advance(scene, stop, flips));
        self.tally.spent += self.own() - before + prices::ADVANCE;
        result
    }

    /// Whether another method goes on where the present one cannot.
    #[cold]
    fn is_rescued<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &Flips,
    ) -> bool {
        let failed = self.runner.candidate();
        self.race(scene, flips, stop);
        self.runner.candidate() != failed
    }

    /// Whether a race is called for at time `now`.
    fn is_due(&mut self, now: f64) -> bool {
        let t = &mut self.tally;
        let (spent, seconds) = (t.spent - t.window.0, now - t.window.1);
        let dearer = spent > DEARER * t.rate * seconds;
        let since = t.spent - t.raced;
        let patience = PATIENCE * libm::pow(2.0, t.confirmed.into()) * t.race;
        t.window = (t.spent, now);
        t.look = (t.spent + WINDOW * t.race).min(t.raced + patience.max(since));
        dearer || since >= patience
    }

    /// The method starts anew: later costs have nothing to do with the earlier ones.
    fn note_stop(&mut self, now: f64) {
        let t = &mut self.tally;
        t.stops += 1;
        t.window = (t.spent, now);
        t.look = t.look.min(t.spent + WINDOW * t.race);
    }
}

impl<E: Equations> Core<E> for Automatic {
    type State = AutomaticState;

    fn save(&self) -> AutomaticState {
        AutomaticState {
            runner: self.runner.save::<E>(),
            tally: self.tally,
            before: self.before,
            remark: self.remark.clone(),
        }
    }
    fn restore(&mut self, scene: &Scene<E>, saved: &AutomaticState) {
        let candidate = saved.runner.candidate();
        if candidate != self.runner.candidate() {
            let built = candidate.build(&scene.equations, &self.settings);
            self.runner = built.expect("a method that took the equations before");
        }
        self.runner.restore(scene, &saved.runner);
        self.tally = saved.tally;
        self.before = saved.before;
        self.remark.clone_from(&saved.remark);
    }

    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], limit: Option<f64>) {
        each!(&mut self.runner, core => Core::<E>::start(core, scene, t, x, limit));
        let mut flips = Flips::new(scene.dims.indicators);
        flips.sides.copy_from_slice(&scene.frame.discrete[scene.dims.discrete + 1..]);
        self.race(scene, &flips, limit);
    }
    fn remark(&mut self) -> Option<Arc<str>> {
        self.remark.take().map(Arc::from)
    }

    fn time(&self) -> f64 {
        each!(&self.runner, core => Core::<E>::time(core))
    }

    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        if self.tally.spent >= self.tally.look {
            let now = scene.absolute(Core::<E>::time(self));
            if self.is_due(now) {
                self.race(scene, flips, stop);
            }
        }
        let result = self.advanced(scene, stop, flips);
        match result {
            Err(_) if self.is_rescued(scene, stop, flips) => self.advanced(scene, stop, flips),
            result => result,
        }
    }

    fn states(&self, t: f64, x: &mut [f64]) {
        each!(&self.runner, core => Core::<E>::states(core, t, x));
    }
    fn error(&self, t: f64, state: usize, x: f64) -> f64 {
        each!(&self.runner, core => Core::<E>::error(core, t, state, x))
    }
    fn arrive(&mut self, scene: &Scene<E>, t: f64) {
        each!(&mut self.runner, core => core.arrive(scene, t));
    }
    fn jump(&mut self, scene: &Scene<E>, x: &[f64]) {
        each!(&mut self.runner, core => core.jump(scene, x));
        self.note_stop(scene.absolute(0.0));
    }
    fn input(&mut self, scene: &Scene<E>, port: usize) {
        each!(&mut self.runner, core => core.input(scene, port));
        self.note_stop(scene.absolute(0.0));
    }
    fn sent(&mut self, scene: &Scene<E>, port: usize) {
        each!(&mut self.runner, core => core.sent(scene, port));
    }
    fn outside(&mut self, scene: &Scene<E>, vars: &[f64]) -> bool {
        each!(&mut self.runner, core => core.outside(scene, vars))
    }
    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        each!(&mut self.runner, core => core.expand(scene, at, order, all, take));
    }
    fn count(&self, statistics: &mut UnitStatistics) {
        statistics.add(&self.before);
        each!(&self.runner, core => Core::<E>::count(core, statistics));
    }
}
