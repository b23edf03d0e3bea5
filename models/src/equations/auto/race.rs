//! A race: methods that are due over the same stretch as the present one, from the present.
//!
//! # Rules
//! - A method starts anew in a race, with short steps. It runs as long as its steps grow, and is judged by
//!   the last ones.
//! - Where the unit starts anew again and again, races begin at a restart and go on for as much time as
//!   there is between two of them. All that a method costs there counts, and several such flights together:
//!   one differs from the next.
//! - A method that turns out dearer than the one before gives way to that again.
//! - A quantised method has to come to the states of another one, since its error does not follow from
//!   its quanta. It costs as much as at an error of one tolerance: steps go with the power -1/order of
//!   the error (Cellier & Kofman, Continuous System Simulation, chapters 11 and 12).
//! - A method that loses waits for the next race: the longer, the more it costs to try, the more clearly it
//!   lost, and the more often.
use super::{
    Automatic, Tally,
    prices::{ADVANCE, Prices},
    quanta,
    runner::{Candidate, Common, Runner, RunnerState},
};
use crate::solve::{
    Settings,
    core::{Advance, Core, Flips, Scene},
    equations::Equations,
};
use serde::{Deserialize, Serialize};

/// Pieces of a race: a step, or one of each state of a quantised method.
const PIECES: usize = 12;
/// Pieces that a trial takes as a rule.
pub(super) const TYPICAL: f64 = 4.0;
/// Pieces of a trial that is cheap beside all that was paid; it ends when steps stay as they are for so
/// many of them.
const LONG: usize = 48;
const STEADY: f64 = 8.0;
/// The cost that a trial may have beside all that was paid.
const CHEAP: f64 = 0.02;
/// Time costs less by this factor in a piece than in the one before: steps still grow.
const GROWING: f64 = 0.85;
/// By this factor at least where it goes on with more pieces than a race has: steps that double are far from
/// what they will be.
const SWELLING: f64 = 0.5;
/// A second that costs so many times what it costs the best puts a method out of the race.
const BEATEN: f64 = 4.0;
/// The present method stays if the best one costs more than this part of it.
const BETTER: f64 = 0.8;
/// How far off quantised methods may be, in tolerances: beyond that it is no longer what quanta add up to.
const OFF: f64 = 10.0;
/// The sum that is paid until a method is tried again, in the cost of the trial; the first time, when the beginning
/// was all that was known, less.
pub(super) const PATIENCE: f64 = 10.0;
const EARLY: f64 = 3.0;
/// Lost races that make the wait longer.
const LOSSES: i32 = 4;
/// As many of a method that once was far cheaper than another one: what is stiff now and then is so again.
const HOPEFUL: i32 = 2;
/// Flights that tell what a method costs, and how much of it is kept at another one.
const TRIES: u32 = 2;
const KEPT: f64 = 0.7;
/// The cost of a start.
const START: f64 = 5000.0;
/// A sum that is never paid.
const NEVER: f64 = f64::MAX;
/// The most that the check of a quantised method may cost, in the cost of its trial.
const CHECK: f64 = 2.0;

/// News of a method from races.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// It is tried when so much is paid.
    pub due: f64,
    /// Races lost in a row.
    losses: i32,
    /// The cost of a second in the last race, and when it may be tried again if the present method has become
    /// dearer than that.
    rate: f64,
    pub again: f64,
    /// It once was far cheaper than the method that it was compared with.
    hopeful: bool,
    /// The cost of a second in flights from one restart to the next, and in how many it was found.
    flights: f64,
    tries: u32,
    /// It is tried whatever trials have cost.
    pub urgent: bool,
    /// How often it cost more than the method before, and the sum that is paid before it is tried again.
    broken: i32,
    doubted: f64,
}

/// A core and its state before any start: building one costs as much as many steps.
#[derive(Debug)]
pub(super) struct Built {
    pub runner: Runner,
    pub begun: RunnerState,
}

impl Built {
    fn new<E: Equations>(
        scene: &Scene<E>,
        candidate: Candidate,
        (common, settings): (&Common, &Settings),
    ) -> Option<Self> {
        let mut runner = candidate.build(common, &scene.equations, settings).ok()?;
        runner.core.watch_bands(false);
        let begun = runner.save::<E>();
        Some(Self { runner, begun })
    }
}

/// A method that took part in a race.
struct Heat {
    candidate: Candidate,
    built: Built,
    course: Course,
}

/// How a method came on.
struct Course {
    flips: Flips,
    /// Its cost, and the time it has come to.
    spent: f64,
    t: f64,
    /// The cost of a second.
    rate: f64,
    /// It has come to the end of the stretch.
    done: bool,
}

/// The stretch of a race.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    from: f64,
    end: f64,
    x: &'a [f64],
    /// From one restart to the next: all costs count.
    whole: bool,
}

impl Course {
    fn new(flips: &Flips, t: f64) -> Self {
        let flips = Flips { list: Vec::new(), ..flips.clone() };
        Self { flips, spent: START, t, rate: f64::INFINITY, done: false }
    }

    /// One more piece: its cost and its seconds; nothing if the method failed.
    fn piece<E: Equations>(
        &mut self,
        runner: &mut Runner,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        prices: &Prices,
    ) -> Option<(f64, f64)> {
        let (spent, t) = (self.spent, self.t);
        let stop = stretch.end.is_finite().then_some(stretch.end);
        let own = runner.spent(prices);
        let budget = 0.99 * prices.piece(runner.candidate);
        let mut advances = 0.0;
        while !self.done && self.spent - spent < budget {
            match runner.core.advance(scene, stop, &mut self.flips) {
                Err(_) => return None,
                _ if runner.core.take_doubtful() => return None,
                Ok(Advance::Stopped) => self.done = true,
                Ok(_) => {}
            }
            self.flips.list.clear();
            advances += ADVANCE;
            self.spent = spent + runner.spent(prices) - own + advances;
            self.t = Core::<E>::time(&runner.core);
            self.done |= self.t >= stretch.end;
        }
        Some((self.spent - spent, self.t - t))
    }

    /// Runs until its cost of a second is known, or above that of the best one, but goes on while it costs
    /// less than is `allowed`; whether that went well.
    fn run<E: Equations>(
        &mut self,
        runner: &mut Runner,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        (best, allowed): (f64, f64),
        prices: &Prices,
    ) -> bool {
        let rate = |(cost, seconds): (f64, f64)| cost / seconds.max(f64::MIN_POSITIVE);
        let own = prices.piece(runner.candidate);
        let quantised = runner.candidate.order().is_some();
        let (mut before, mut last) = (None, (0.0, 0.0));
        for pieces in 1..=LONG {
            let Some(piece) = self.piece(runner, scene, stretch, prices) else { return false };
            // Steps of quantised methods are as long as they get from the beginning.
            let below = |part: f64| before.is_none_or(|before| rate(piece) < part * before);
            let grows = !quantised && below(GROWING);
            let swells = !quantised && below(SWELLING);
            before = Some(rate(piece));
            last = if grows { piece } else { (last.0 + piece.0, last.1 + piece.1) };
            let beaten = !grows && rate(last) > BEATEN * best;
            // A step that was refused often is dear, too, and grows later.
            let stays = !stretch.whole && !grows;
            let known = stays && last.0 > 2.5 * own;
            let steady = stays && last.0 > STEADY * own;
            let won = BEATEN * rate(last) < best && best.is_finite();
            let enough =
                self.spent > allowed && (beaten || won || known || pieces >= PIECES && !swells);
            if self.done || enough || steady {
                break;
            }
        }
        let all = (self.spent, self.t - stretch.from);
        self.rate = rate(if self.done || stretch.whole { all } else { last });
        true
    }
}

impl Heat {
    fn told(&self) -> String {
        format!("{} {:.1e}", self.candidate.name(), self.course.rate)
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

impl Automatic {
    /// Lets the candidates that are due run from the present, and takes the best of them, if a second costs
    /// less with it than `mine` under the present method.
    pub(super) fn race<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        flips: &Flips,
        limit: Option<f64>,
        mine: f64,
    ) {
        let from = Core::<E>::time(self);
        let mut x = vec![0.0; scene.dims.states];
        Core::<E>::states(self, from, &mut x);
        let (end, whole) = self.end(from, limit);
        let stretch = Stretch { from, end, x: &x, whole };
        let own = self.runner.candidate;
        let mut told = Vec::new();
        let mine = if self.tally.begun { mine } else { f64::INFINITY };
        let average = self.tally.average(scene.absolute(from)).filter(|_| mine.is_finite());
        let mine = match average {
            Some(average) if whole => average,
            _ => mine,
        };
        let mut heats = self.heats(scene, flips, stretch, mine, &mut told);
        self.check_quantised(scene, stretch, &mut heats, &mut told);
        let best = self.judge(&heats, (mine, average), whole);
        let chosen = best.map(|k| heats.swap_remove(k));
        told.splice(0..0, heats.iter().map(Heat::told));
        let first = !self.tally.begun;
        match chosen {
            Some(heat) => {
                told.insert(0, heat.told());
                if heat.candidate != own || first {
                    let changed = heat.candidate != own;
                    self.change(scene, heat, stretch, mine);
                    self.note(scene, &told.join(", "), changed && !first, own, mine);
                }
            }
            None if first => self.note(scene, &told.join(", "), false, own, mine),
            None => {}
        }
        for Heat { candidate, built, .. } in heats {
            self.spares[candidate as usize] = Some(built);
        }
        self.tally.begun = true;
    }

    /// The end of a stretch that begins at `from`, and whether it is that of a whole flight.
    fn end(&self, from: f64, limit: Option<f64>) -> (f64, bool) {
        let limit = limit.unwrap_or(f64::INFINITY);
        match self.tally.flight(&self.prices, self.runner.candidate) {
            Some(seconds) => (limit.min(from + seconds), true),
            None => (limit, false),
        }
    }

    /// Runs those that are due.
    fn heats<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        flips: &Flips,
        stretch: Stretch<'_>,
        mine: f64,
        told: &mut Vec<String>,
    ) -> Vec<Heat> {
        let (own, first) = (self.runner.candidate, !self.tally.begun);
        let mut best = mine;
        let mut heats = Vec::new();
        for candidate in Candidate::ALL {
            if (candidate == own && !first) || !self.candidates.contains(&candidate) {
                continue;
            }
            let due = self.tally.due(candidate, &self.prices);
            let record = &mut self.tally.records[candidate as usize];
            if due > self.tally.paid {
                if first && !record.is_barred() {
                    told.push(format!("{} not tried yet, its steps are dear", candidate.name()));
                }
                continue;
            }
            record.urgent = false;
            let Some(mut built) = self.built(scene, candidate) else { continue };
            let runner = &mut built.runner;
            Core::<E>::start(&mut runner.core, scene, stretch.from, stretch.x, None);
            let mut course = Course::new(flips, stretch.from);
            let allowed = CHEAP * self.tally.paid;
            let fine = course.run(runner, scene, stretch, (best, allowed), &self.prices);
            self.tally.trials += course.spent;
            if fine {
                if candidate.order().is_none() {
                    best = best.min(course.rate);
                }
                heats.push(Heat { candidate, built, course });
            } else {
                let trial = course.spent.max(TYPICAL * self.prices.piece(candidate));
                self.tally.records[candidate as usize].lose(self.tally.paid, trial, BEATEN);
                self.spares[candidate as usize] = Some(built);
                told.push(format!("{} failed", candidate.name()));
            }
        }
        heats.sort_by(|a, b| a.course.rate.total_cmp(&b.course.rate));
        heats
    }

    /// A core of a method, as it was built; nothing if the method does not take the equations.
    fn built<E: Equations>(&mut self, scene: &Scene<E>, candidate: Candidate) -> Option<Built> {
        if let Some(mut built) = self.spares[candidate as usize].take() {
            built.runner.restore(scene, &built.begun);
            return Some(built);
        }
        let built = Built::new(scene, candidate, (&self.common, &self.settings));
        if built.is_none() {
            self.candidates.retain(|&c| c != candidate);
        }
        built
    }

    /// The place of the heat whose method goes on from here.
    fn judge(
        &mut self,
        heats: &[Heat],
        (mine, average): (f64, Option<f64>),
        whole: bool,
    ) -> Option<usize> {
        let Tally { records, paid, begun, .. } = &mut self.tally;
        let own = &mut records[self.runner.candidate as usize];
        let average = average.map(|average| own.found(average, true));
        let own = average.filter(|_| whole).unwrap_or(mine);
        let least = heats.first().map_or(f64::INFINITY, |h| h.course.rate);
        let mut best: Option<(usize, f64)> = None;
        for (k, heat) in heats.iter().enumerate() {
            let record = &mut records[heat.candidate as usize];
            let rate = record.found(heat.course.rate, whole);
            if !*begun {
                // Beginnings tell little of what comes, but of quantised methods, whose steps are soon as long as they get.
                record.lose(*paid, heat.course.spent, rate / least);
                if heat.candidate.order().is_none() || rate <= BEATEN * least {
                    (record.due, record.losses) = (record.again, 0);
                }
                record.rate = rate;
                best = best.or(Some((k, least)));
                continue;
            }
            let wins = rate <= BETTER * own;
            record.hopeful |= BEATEN * rate <= own;
            record.rate = rate;
            if wins && whole && record.tries < TRIES && mine.is_finite() {
                // Another race at the next restart tells.
                record.due = *paid;
                continue;
            }
            record.lose(*paid, heat.course.spent, rate / own);
            if wins && best.is_none_or(|(_, r)| rate < r) {
                best = Some((k, rate));
            }
        }
        best.map(|(k, _)| k)
    }

    /// Quantised methods that lead cost what they would at an error as large as the tolerances; those that
    /// come elsewhere than another method are out.
    fn check_quantised<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        heats: &mut Vec<Heat>,
        told: &mut Vec<String>,
    ) {
        if heats.first().is_none_or(|h| h.candidate.order().is_none()) {
            return;
        }
        let own = self.runner.candidate;
        let stepped = heats.iter().map(|h| h.candidate).find(|c| c.order().is_none());
        let other = if own.order().is_none() && self.tally.begun { Some(own) } else { stepped };
        let candidate = other.unwrap_or(Candidate::Rk45);
        let Some(mut reference) = self.checker(scene, candidate) else { return };
        let mut k = 0;
        while let Some(leader) = heats.get_mut(k)
            && let Some(order) = leader.candidate.order()
        {
            let off = self.off(scene, stretch, leader, &mut reference);
            let record = &mut self.tally.records[leader.candidate as usize];
            if off <= OFF {
                leader.course.rate *= libm::pow(off.max(1.0), 1.0 / f64::from(order));
                k += 1;
            } else {
                let Heat { candidate, built, course } = heats.remove(k);
                record.lose(self.tally.paid, course.spent, BEATEN);
                let far =
                    if off.is_finite() { format!("by {off:.0} tolerances") } else { "far".into() };
                told.push(format!("{} off {far}", candidate.name()));
                self.spares[candidate as usize] = Some(built);
            }
        }
        self.checker = Some(reference);
        heats.sort_by(|a, b| a.course.rate.total_cmp(&b.course.rate));
    }

    /// A core that quantised ones are compared with.
    fn checker<E: Equations>(&mut self, scene: &Scene<E>, candidate: Candidate) -> Option<Built> {
        match self.checker.take() {
            Some(built) if built.runner.candidate == candidate => Some(built),
            _ => Built::new(scene, candidate, (&self.common, &self.settings)),
        }
    }

    /// How far the states of `heat` are from where `reference` comes to, in tolerances.
    fn off<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        heat: &mut Heat,
        reference: &mut Built,
    ) -> f64 {
        let Stretch { from, x, .. } = stretch;
        let flips = Flips { list: Vec::new(), ..heat.course.flips.clone() };
        let whole = Stretch { end: heat.course.t, whole: true, ..stretch };
        let Built { runner, begun } = reference;
        runner.restore(scene, begun);
        Core::<E>::start(&mut runner.core, scene, from, x, None);
        let mut course = Course::new(&flips, from);
        while !course.done && course.spent < CHECK * heat.course.spent {
            if course.piece(runner, scene, whole, &self.prices).is_none() {
                return f64::INFINITY;
            }
        }
        let at = course.t.min(heat.course.t);
        if at < heat.course.t {
            // It came less far: once more up to there.
            let Built { runner, begun } = &mut heat.built;
            runner.restore(scene, begun);
            Core::<E>::start(&mut runner.core, scene, from, x, None);
            let mut again = Course::new(&flips, from);
            let whole = Stretch { end: at, ..whole };
            while !again.done {
                if again.piece(runner, scene, whole, &self.prices).is_none() {
                    return f64::INFINITY;
                }
            }
            course.spent += again.spent;
        }
        heat.course.spent += course.spent;
        self.tally.trials += course.spent;
        let (mut own, mut other) = (x.to_vec(), x.to_vec());
        Core::<E>::states(&heat.built.runner.core, at, &mut own);
        Core::<E>::states(&reference.runner.core, at, &mut other);
        let quanta = quanta(&self.settings);
        let tolerated = |(i, x): (usize, &f64)| {
            (quanta.relative * x.abs()).max(quanta.minimum * self.settings.solver.nominal(i))
        };
        let off = norm(own.iter().zip(&other).map(|(a, b)| a - b));
        let off = off / norm(other.iter().enumerate().map(tolerated));
        if off.is_nan() { f64::INFINITY } else { off }
    }

    /// Goes on from the present with the method of `heat`.
    fn change<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        heat: Heat,
        stretch: Stretch<'_>,
        mine: f64,
    ) {
        Core::<E>::count(&self.runner.core, &mut self.before);
        // It gave way in time.
        self.before.lost_states = 0;
        let own = self.runner.candidate;
        let Heat { built: Built { mut runner, begun }, course, .. } = heat;
        // Its steps in the race do not count.
        runner.restore(scene, &begun);
        runner.core.watch_bands(true);
        let Stretch { from, x, .. } = stretch;
        Core::<E>::start(&mut runner.core, scene, from, x, None);
        if self.tally.begun {
            // Small states that begin to move are as they were.
            if !self.tally.small {
                runner.core.distrust();
            }
            for record in &mut self.tally.records {
                record.losses = 0;
            }
            self.tally.records[own as usize].wait(self.tally.paid + PATIENCE * course.spent);
        }
        self.runner = runner;
        self.tally.chosen(scene.absolute(from), course.rate);
        self.tally.before = (self.tally.begun && mine.is_finite()).then_some((own, mine));
    }

    fn note<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        why: &str,
        changed: bool,
        own: Candidate,
        mine: f64,
    ) {
        let (rtol, atol) = (self.settings.solver.rtol, self.settings.solver.atol);
        let now = scene.absolute(Core::<E>::time(self));
        let before = match changed {
            true if mine.is_infinite() => format!(", {} does not go on", own.name()),
            true => format!(", {} {mine:.1e} so far", own.name()),
            false => String::new(),
        };
        self.remark = Some(format!(
            "method {}: tried from {now} s at the tolerances {rtol:e} and {atol:e}, in estimated \
             instructions per second: {why}{before}",
            self.runner.candidate.name(),
        ));
    }
}

impl Record {
    /// The cost of a second: as it was found now, or in several flights.
    fn found(&mut self, rate: f64, whole: bool) -> f64 {
        if !whole || !rate.is_finite() {
            return rate;
        }
        let kept = if self.tries == 0 { 0.0 } else { KEPT };
        self.flights = kept * self.flights + (1.0 - kept) * rate;
        self.tries += 1;
        self.flights
    }

    /// Another trial comes when it costs little beside what was paid in between.
    fn lose(&mut self, paid: f64, trial: f64, ratio: f64) {
        let (patience, most) = if self.hopeful { (EARLY, HOPEFUL) } else { (PATIENCE, LOSSES) };
        let often = libm::pow(2.0, self.losses.min(most).into());
        let clearly = if self.hopeful { 1.0 } else { (0.5 * ratio).clamp(1.0, 8.0) };
        self.due = paid + patience * trial * often * clearly;
        self.again = paid + EARLY * trial;
        self.losses += 1;
    }

    /// The method is tried soon, if it cost less than `rate` a second.
    pub(super) fn remember(&mut self, rate: f64) {
        if self.rate > 0.0 && self.rate <= BETTER * rate {
            self.due = self.due.min(self.again).max(self.doubted);
        }
    }

    /// The method is tried at once, and more seldom only when it loses again.
    pub(super) fn call(&mut self, paid: f64) {
        self.wait(paid);
        self.losses = 0;
    }

    /// The method is tried at once, even if it has disappointed.
    pub(super) fn need(&mut self, paid: f64) {
        self.doubted = 0.0;
        self.urgent = true;
        self.call(paid);
    }

    /// The method is tried when so much is paid.
    fn wait(&mut self, paid: f64) {
        if self.due < NEVER {
            self.due = paid.max(self.doubted);
        }
    }

    /// The method cost more than the one before it, and this sum was lost by it: the more that is, and the more often, the
    /// longer it waits for another trial.
    pub(super) fn disappoint(&mut self, paid: f64, lost: f64) {
        let often = libm::pow(2.0, self.broken.min(LOSSES).into());
        self.doubted = paid + PATIENCE * often * lost;
        self.broken += 1;
    }

    /// The method is never tried again.
    pub(super) fn bar(&mut self) {
        (self.due, self.again) = (NEVER, NEVER);
    }

    pub(super) fn is_barred(&self) -> bool {
        self.due == NEVER
    }
}
