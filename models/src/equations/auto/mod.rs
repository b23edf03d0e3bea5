//! `method = "auto"`: the method that turns out to be the cheapest at the tolerances of a unit.
//!
//! # How
//! Methods run over the same stretch from the same state, each for some steps, and are priced by estimated
//! instructions ([`prices`], [`race`]). All whose steps are not dear do so at the start of the run; later
//! each is tried again when that costs little beside what was paid for steps since, and all of them when a
//! second of simulated time costs four times as much as it did. Nothing is timed, so that the choice is the same
//! everywhere. A method that was not tried is never chosen.
//!
//! The method changes where a step ends: the new one begins there as after a jump.
mod prices;
mod race;
mod runner;

use super::refused::Refused;
use crate::{
    maths::expr::{Degree, VarId},
    signal::statistics::UnitStatistics,
    solve::{
        MethodError, Settings,
        core::{Advance, Core, Failure, Flips, Scene},
        equations::{Equations, Work},
        ode::Path,
        qss::Quanta,
    },
};
use prices::Prices;
use race::{Built, Record};
use runner::{Candidate, Common, Runner, RunnerState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A second of simulated time that costs so many times what it did calls for all methods.
const DEARER: f64 = 4.0;
/// The time that this is judged by, in steps of all states.
const WINDOW: f64 = 16.0;
/// So many of these tell whether a new method keeps its promise.
const TRUSTED: u32 = 8;
/// A flight between two restarts is short if it takes fewer steps of all states.
const SHORT: f64 = 30.0;
/// States below so many quanta are small, and those that stay there for a part of the run.
const SMALL: f64 = 10.0;
const LONG: f64 = 100.0;
/// Instructions that trials may cost in any run, and the part of what is paid for steps that they may cost beside:
/// those of methods that were tried, and the first one of each.
const FREE: f64 = 2e6;
const PART: f64 = 0.25;
const PART_FIRST: f64 = 0.5;
/// The cost that a trial may have before anything was paid, in instructions, and in the cost of the cheapest one.
const FIRST: f64 = 1e5;
const LEAST: f64 = 4.0;

/// Estimated instructions that were paid for steps, those of races apart, and what races told.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Tally {
    /// Spent for steps, and for trials.
    paid: f64,
    trials: f64,
    /// The first race was run.
    begun: bool,
    /// The next look is due when so much is paid.
    look: f64,
    records: [Record; Candidate::ALL.len()],
    /// The cost of a second, at the best and in the last window, and where the present window began: what was
    /// paid, and the time in seconds.
    rate: f64,
    recent: f64,
    window: (f64, f64),
    /// When all methods may be called for again.
    alarm: f64,
    /// The method before, what a second cost under it, and the windows since.
    before: Option<(Candidate, f64)>,
    windows: u32,
    /// Jumps and new inputs while flights are short, and what was paid and the time before them.
    stops: u32,
    since: (f64, f64),
    /// The sum that was paid before the last of them.
    stop: f64,
    /// The method has just started anew; the time of that.
    fresh: bool,
    /// The sum that is paid before stiff equations may call for the implicit method again, and how often they did.
    stiff: f64,
    calls: i32,
    /// A relation chatters under it, or has no sure sign under its quanta.
    chatters: bool,
    unsure: bool,
    /// Some state was not small beside its least quantum.
    large: bool,
    /// In the present race: all are, and have just begun to move.
    small: bool,
    now: f64,
}

impl Tally {
    /// A method was chosen that pays so much for a second.
    fn chosen(&mut self, now: f64, rate: f64) {
        (self.rate, self.recent) = (rate, rate);
        self.window = (self.paid, now);
        (self.stops, self.since, self.stop) = (0, self.window, self.paid);
        (self.before, self.windows) = (None, 0);
    }

    /// The sum that is paid before a trial of `candidate`.
    fn due(&self, candidate: Candidate, prices: &Prices) -> f64 {
        let record = &self.records[candidate as usize];
        if record.urgent || !self.begun {
            return record.due;
        }
        let trial = race::TYPICAL * prices.piece(candidate);
        let was_tried = record.again > 0.0;
        let part = if was_tried { PART } else { PART_FIRST };
        record.due.max((self.trials + trial - FREE) / part)
    }

    /// Calls for the implicit method, the more seldom the more often.
    fn call_stiff(&mut self, prices: &Prices) {
        self.records[Candidate::Rodas as usize].need(self.paid);
        let trial = race::TYPICAL * prices.piece(Candidate::Rodas);
        self.stiff = self.paid + race::PATIENCE * libm::pow(2.0, self.calls.into()) * trial;
        self.calls += 1;
    }

    /// The cost of a second over all flights under the present method, if there were some.
    fn average(&self, now: f64) -> Option<f64> {
        let seconds = now - self.since.1;
        (self.stops >= 2 && seconds > 0.0).then(|| (self.paid - self.since.0) / seconds)
    }

    /// The seconds from one restart to the next, where they are near each other.
    fn flight(&self, prices: &Prices, own: Candidate) -> Option<f64> {
        let stops = f64::from(self.stops);
        let (cost, seconds) = (self.paid - self.since.0, self.now - self.since.1);
        let short = stops >= 2.0 && cost < stops * SHORT * prices.piece(own);
        (short && seconds > 0.0).then(|| seconds / stops)
    }

    /// Calls for all methods where a second has become dear.
    fn watch(&mut self, now: f64, prices: &Prices, own: Candidate) {
        let (paid, seconds) = (self.paid - self.window.0, now - self.window.1);
        let long = self.paid - self.stop > DEARER * SHORT * prices.piece(own);
        let flights = if !long && self.flight(prices, own).is_some() { SHORT } else { 1.0 };
        if paid < flights * WINDOW * prices.piece(own) {
            return;
        }
        let rate = paid / seconds.max(f64::MIN_POSITIVE);
        (self.recent, self.window) = (rate, (self.paid, now));
        self.records.iter_mut().for_each(|record| record.remember(rate));
        self.windows += 1;
        let trusted = if self.windows <= TRUSTED { 1.0 } else { DEARER };
        if let Some((before, _)) = self.before.take_if(|(_, before)| rate > trusted * *before) {
            // It may have been better.
            self.records[before as usize].need(self.paid);
            if self.windows <= TRUSTED {
                // Later it becomes dear for all methods, as where an oscillator jumps.
                let lost = f64::from(self.windows) * WINDOW * prices.piece(own);
                self.records[own as usize].disappoint(self.paid, lost);
            }
        }
        if self.stops >= 2 && self.flight(prices, own).is_none() {
            // Restarts have become rare.
            (self.stops, self.since) = (0, self.window);
        }
        if self.rate == 0.0 {
            self.rate = rate;
        } else if rate > DEARER * self.rate && self.paid >= self.alarm {
            let trials = Candidate::ALL.map(|c| race::TYPICAL * prices.piece(c));
            let affordable = |trial: f64| trial <= 0.1 * self.paid;
            let cost: f64 = trials.into_iter().filter(|&t| affordable(t)).sum();
            for (record, trial) in self.records.iter_mut().zip(trials) {
                if affordable(trial) {
                    record.call(self.paid);
                }
            }
            self.alarm = self.paid + 2.0 * race::PATIENCE * cost;
            self.rate = rate;
        } else {
            self.rate = self.rate.min(rate);
        }
    }
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
    /// Cores of the methods that take part in races, and one that quantised ones are compared with.
    spares: [Option<Built>; Candidate::ALL.len()],
    checker: Option<Built>,
    common: Common,
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
        let candidates = Candidate::ALL.to_vec();
        // Its series would go on beyond a kink: only where no other method goes on.
        let barred = (!is_smooth(equations)).then_some(Candidate::Taylor);
        let common = Common::new(equations);
        let mut refused = None;
        let build = |c: &Candidate| match c.build(&common, equations, settings) {
            Ok(runner) => Some(runner),
            Err(why) => {
                refused = Some(why);
                None
            }
        };
        let usual = candidates.iter().filter(|c| Some(**c) != barred);
        let Some(runner) = usual.chain(&barred).find_map(build) else {
            return Err(refused.unwrap_or(MethodError::Nothing.into()));
        };
        let prices = Prices::new(equations);
        let mut tally = Self::begin(&candidates, &prices);
        barred.into_iter().for_each(|c| tally.records[c as usize].bar());
        Ok(Self {
            tally,
            runner,
            candidates,
            spares: Default::default(),
            checker: None,
            common,
            settings: settings.clone(),
            prices,
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
        let result = self.runner.core.advance(scene, stop, flips);
        let cost = self.own() - before + prices::ADVANCE;
        self.tally.paid += cost;
        if self.runner.core.take_doubtful() {
            (self.tally.unsure, self.tally.look) = (true, 0.0);
        }
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
        let failed = self.runner.candidate;
        for record in &mut self.tally.records {
            record.need(self.tally.paid);
        }
        self.race(scene, flips, stop, f64::INFINITY);
        let taylor = Candidate::Taylor as usize;
        if self.runner.candidate == failed && self.tally.records[taylor].is_barred() {
            self.tally.records[taylor] = Record::default();
            self.race(scene, flips, stop, f64::INFINITY);
            self.tally.records[taylor].bar();
        }
        self.runner.candidate != failed
    }

    /// Whether a state has become lost in its quantum, which the first quanta, by which a quantised method was chosen,
    /// do not show: none of these is tried again. Or a relation chatters, as where stiff equations throw explicit methods
    /// to and fro: only the implicit one goes on. Such equations are stiff. Or a relation has no sure sign under quanta,
    /// which are not tightened. It says so once, for where no other method
    /// gets on it runs on.
    fn is_lost<E: Equations>(&mut self, scene: &Scene<E>) -> bool {
        if std::mem::take(&mut self.tally.chatters) {
            let stable = Candidate::Rodas;
            self.tally.records[stable as usize].need(self.tally.paid);
            let others = Candidate::ALL.into_iter().filter(|c| *c != stable);
            others.for_each(|c| self.tally.records[c as usize].bar());
            return true;
        }
        if std::mem::take(&mut self.tally.unsure) {
            self.tally.records[Candidate::Rodas as usize].need(self.tally.paid);
            let quantised = Candidate::ALL.into_iter().filter(|c| c.order().is_some());
            quantised.for_each(|c| self.tally.records[c as usize].bar());
            return true;
        }
        let mut counts = UnitStatistics::default();
        Core::<E>::count(&self.runner.core, &mut counts);
        let runs = self.runner.candidate as usize;
        let small = counts.lost_states == 0;
        if self.tally.records[runs].is_barred() || small && !self.is_small(scene) {
            return false;
        }
        self.tally.small = small && self.tally.fresh;
        // Small states are beyond any error control, but not beyond a formula.
        let exact = small && self.candidates.contains(&Candidate::Closed);
        let other = if exact { Candidate::Closed } else { Candidate::Rodas };
        self.tally.records[other as usize].need(self.tally.paid);
        let barred = |c: &Candidate| c.order().is_some() || exact && *c != other;
        let barred = Candidate::ALL.into_iter().filter(barred);
        barred.for_each(|c| self.tally.records[c as usize].bar());
        true
    }

    /// Whether all states are far below the least quantum, and go on so slowly that they stay there for long: a quantised
    /// method lets them be anything then.
    fn is_small<E: Equations>(&mut self, scene: &Scene<E>) -> bool {
        let exact = self.candidates.contains(&Candidate::Closed);
        let runs = self.runner.candidate;
        if self.tally.large || runs == Candidate::Closed || runs.order().is_none() && !exact {
            return false;
        }
        let (now, solver) = (Core::<E>::time(&self.runner.core), &self.settings.solver);
        let states = 0..scene.dims.differential();
        let enough = |i: usize| SMALL * solver.atol * solver.nominal(i);
        let (mut x, mut vars) = (vec![0.0; scene.dims.states], Vec::new());
        Core::<E>::states(&self.runner.core, now, &mut x);
        self.tally.large = states.clone().any(|i| x[i].abs() >= enough(i));
        if self.tally.large {
            return false;
        }
        scene.fill(now, &x, &mut vars);
        let mut dx = vec![0.0; x.len()];
        scene.equations.derivatives(&vars, &mut Work::default(), &mut dx);
        let grows = |i: usize| dx[i].abs() * self.settings.horizon / LONG >= enough(i);
        dx.iter().any(|dx| *dx != 0.0) && !states.clone().any(grows)
    }

    /// The first race is for methods whose steps are not dear; others wait.
    fn begin(candidates: &[Candidate], prices: &Prices) -> Tally {
        let trial = |c: Candidate| race::TYPICAL * prices.piece(c);
        let least = candidates.iter().map(|&c| trial(c)).fold(f64::INFINITY, f64::min);
        let mut tally = Tally::default();
        for &c in candidates {
            let dear = trial(c) > (LEAST * least).max(FIRST);
            tally.records[c as usize].due = if dear { trial(c) } else { 0.0 };
        }
        tally
    }

    /// Whether some method is due.
    fn is_due(&mut self, now: f64) -> bool {
        let Self { tally, runner, prices, candidates, .. } = self;
        let own = runner.candidate;
        tally.watch(now, prices, own);
        // Where flights are short, races begin with one.
        let waits = tally.flight(prices, own).is_some() && !tally.fresh;
        let waits = waits && tally.paid - tally.stop < DEARER * SHORT * prices.piece(own);
        let rivals = candidates.iter().filter(|&&c| c != own);
        let next = rivals.map(|&c| tally.due(c, prices)).fold(f64::INFINITY, f64::min);
        let due = tally.paid >= next && !waits;
        tally.look = tally.paid + WINDOW * prices.piece(own);
        if !waits {
            tally.look = tally.look.min(next.max(tally.paid));
        }
        due
    }

    /// The method starts anew.
    fn note_stop(&mut self, now: f64) {
        let t = &mut self.tally;
        t.stops += 1;
        (t.fresh, t.now, t.stop) = (true, now, t.paid);
        t.look = t.look.min(t.paid);
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
        let candidate = saved.runner.candidate;
        if candidate != self.runner.candidate {
            let built = candidate.build(&self.common, &scene.equations, &self.settings);
            self.runner = built.expect("a method that took the equations before");
        }
        self.runner.restore(scene, &saved.runner);
        self.tally = saved.tally;
        self.before = saved.before;
        self.remark.clone_from(&saved.remark);
    }

    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], limit: Option<f64>) {
        Core::<E>::start(&mut self.runner.core, scene, t, x, limit);
        let mut flips = Flips::new(scene.dims.indicators);
        flips.sides.copy_from_slice(&scene.frame.discrete[scene.dims.discrete + 1..]);
        let now = scene.absolute(t);
        (self.tally.since, self.tally.now, self.tally.window) = ((0.0, now), now, (0.0, now));
        self.race(scene, &flips, limit, f64::INFINITY);
    }
    fn remark(&mut self) -> Option<Arc<str>> {
        self.remark.take().map(Arc::from)
    }

    fn last_remark(&self, scene: &Scene<E>) -> Option<String> {
        self.runner.core.last_remark(scene)
    }

    fn time(&self) -> f64 {
        Core::<E>::time(&self.runner.core)
    }

    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        let looks = self.tally.paid >= self.tally.look;
        if looks || self.tally.fresh && !self.tally.large {
            let now = scene.absolute(Core::<E>::time(self));
            if self.tally.unsure {
                // Another method makes sure of it.
                flips.past.iter_mut().for_each(|past| past.unsure = false);
            }
            let is_lost = self.is_lost(scene);
            if looks && self.tally.paid >= self.tally.stiff && self.runner.core.is_stiff(scene) {
                self.tally.call_stiff(&self.prices);
            }
            if looks && self.is_due(now) || is_lost {
                let mine = if is_lost { f64::INFINITY } else { self.tally.recent };
                self.race(scene, flips, stop, mine);
                self.tally.small = false;
            }
        }
        self.tally.fresh = false;
        let result = self.advanced(scene, stop, flips);
        match result {
            Err(_) if self.is_rescued(scene, stop, flips) => self.advanced(scene, stop, flips),
            result => result,
        }
    }

    fn states(&self, t: f64, x: &mut [f64]) {
        Core::<E>::states(&self.runner.core, t, x);
    }
    fn path(&self) -> Option<&Path> {
        Core::<E>::path(&self.runner.core)
    }
    fn error(&self, t: f64, state: usize, x: f64) -> f64 {
        Core::<E>::error(&self.runner.core, t, state, x)
    }
    fn arrive(&mut self, scene: &Scene<E>, t: f64) {
        self.runner.core.arrive(scene, t);
    }
    fn jump(&mut self, scene: &Scene<E>, x: &[f64]) {
        self.runner.core.jump(scene, x);
        self.note_stop(scene.absolute(0.0));
    }
    fn input(&mut self, scene: &Scene<E>, port: usize) {
        self.runner.core.input(scene, port);
        self.note_stop(scene.absolute(0.0));
    }
    fn sent(&mut self, scene: &Scene<E>, port: usize) {
        self.runner.core.sent(scene, port);
    }
    fn chatters(&mut self) {
        if self.runner.candidate != Candidate::Rodas {
            (self.tally.chatters, self.tally.look) = (true, 0.0);
        } else {
            Core::<E>::chatters(&mut self.runner.core);
        }
    }
    fn outside(&mut self, scene: &Scene<E>, vars: &[f64]) -> bool {
        self.runner.core.outside(scene, vars)
    }
    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        self.runner.core.expand(scene, at, order, all, take);
    }
    fn count(&self, statistics: &mut UnitStatistics) {
        statistics.add(&self.before);
        Core::<E>::count(&self.runner.core, statistics);
    }
}
