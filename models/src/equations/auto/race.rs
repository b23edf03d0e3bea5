//! A race: all methods over the same stretch, from the present.
//!
//! # Rules
//! - Each method may spend the same; the one to which a second costs least goes on.
//! - The first lap shows who is out of the question. It is not counted for the others: first steps are
//!   short. In the second lap those that are left may spend four times as much.
//! - A stretch ends at the next time event, and where the unit was interrupted again and again, after
//!   as much time as there was between two interruptions: longer steps cannot be made there.
//! - A method whose single steps are dear beside all that was spent so far waits for the next race.
//! - A quantised method has to come to the states of the best of the others, since its error does not
//!   follow from its quanta. It costs as much as at an error of one tolerance: steps go with the power
//!   -1/order of the error (Cellier & Kofman, Continuous System Simulation, chapters 11 and 12).
use super::{
    Automatic, Tally,
    prices::{ADVANCE, Prices},
    runner::{Candidate, Runner, RunnerState, each},
};
use crate::solve::{
    core::{Advance, Core, Flips, Scene},
    equations::Equations,
};

/// Steps of the dearest method in the first lap, and of the cheapest one at most.
const STEPS: f64 = 4.0;
const MOST: f64 = 60.0;
/// The part of all that was spent so far which a method may spend in a lap.
const SHARE: f64 = 0.01;
/// The cost that the second lap may have, in that of the first.
const LONGER: f64 = 4.0;
/// A second that costs so many times what it costs the best puts a method out of the race.
const BEATEN: f64 = 3.0;
/// The present method stays if the best one costs more than this part of it.
const BETTER: f64 = 0.8;
/// How far off quantised methods may be, in tolerances: beyond that it is no longer what quanta add up to.
const OFF: f64 = 100.0;

/// One method in a race.
struct Heat {
    candidate: Candidate,
    runner: Runner,
    begun: RunnerState,
    flips: Flips,
    /// Its cost so far, and the time it has come to.
    spent: f64,
    t: f64,
    /// The cost of a second.
    rate: f64,
    /// It has come to the end of the stretch.
    done: bool,
    /// A quantised method whose states were compared.
    checked: bool,
}

/// The stretch of a race.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    from: f64,
    end: f64,
    x: &'a [f64],
}

impl Heat {
    /// Runs until so much more is spent; whether that went well.
    fn run<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        budget: f64,
        prices: &Prices,
    ) -> bool {
        let (spent, t) = (self.spent, self.t);
        let stop = stretch.end.is_finite().then_some(stretch.end);
        let own = self.runner.spent(prices);
        let mut advances = 0.0;
        while !self.done && self.spent - spent < budget {
            let Self { runner, flips, .. } = self;
            match each!(runner, core => core.advance(scene, stop, flips)) {
                Err(_) => return false,
                Ok(Advance::Stopped) => self.done = true,
                Ok(_) => {}
            }
            self.flips.list.clear();
            advances += ADVANCE;
            self.spent = spent + self.runner.spent(prices) - own + advances;
            self.t = each!(&self.runner, core => Core::<E>::time(core));
            self.done |= self.t >= stretch.end;
        }
        // Where all is done in the first lap, the whole counts.
        let (cost, seconds) = match spent > 0.0 && self.t > t {
            true => (self.spent - spent, self.t - t),
            false => (self.spent, self.t - stretch.from),
        };
        self.rate = cost / seconds.max(f64::MIN_POSITIVE);
        true
    }

    fn told(&self) -> String {
        format!("{} {:.1e}", self.candidate.name(), self.rate)
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

/// The method to go on with after `own`, if the best one is not much better.
fn best(heats: &[Heat], own: Candidate) -> Candidate {
    let mine = heats.iter().find(|h| h.candidate == own).map_or(f64::INFINITY, |h| h.rate);
    match heats.first() {
        Some(best) if best.rate <= BETTER * mine => best.candidate,
        _ => own,
    }
}

impl Automatic {
    /// Lets all candidates run from the present, takes the best of them, and says why.
    pub(super) fn race<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        flips: &Flips,
        limit: Option<f64>,
    ) {
        let from = Core::<E>::time(self);
        let mut x = vec![0.0; scene.dims.states];
        Core::<E>::states(self, from, &mut x);
        let stretch = Stretch { from, end: self.end(scene, from, limit), x: &x };
        let saved = self.runner.save::<E>();
        let before = self.tally.spent;
        let (heats, told) = self.heats(scene, flips, stretch);
        let own = saved.candidate();
        let first = self.tally.race == 0.0;
        let chosen =
            if first { heats.first().map_or(own, |h| h.candidate) } else { best(&heats, own) };
        let rate = heats.iter().find(|h| h.candidate == chosen).map(|h| h.rate);
        match heats.into_iter().find(|h| h.candidate == chosen && chosen != own) {
            Some(heat) => self.change(scene, heat, stretch),
            None => self.runner.restore(scene, &saved),
        }
        if first || chosen != own {
            self.note(scene, &told);
        }
        let (spent, now) = (self.tally.spent, scene.absolute(from));
        let race = (spent - before).max(ADVANCE);
        self.tally = Tally {
            spent,
            race,
            raced: spent,
            confirmed: if chosen == own { self.tally.confirmed + 1 } else { 0 },
            rate: rate.unwrap_or(self.tally.rate),
            window: (spent, now),
            look: spent + super::WINDOW * race,
            stops: 0,
            since: now,
        };
    }

    /// The end of a stretch that begins at `from`.
    fn end<E: Equations>(&self, scene: &Scene<E>, from: f64, limit: Option<f64>) -> f64 {
        let Tally { stops, since, .. } = self.tally;
        let interval = match stops {
            0 => f64::INFINITY,
            _ => (scene.absolute(from) - since) / f64::from(stops),
        };
        let interval = from + if interval > scene.tick { interval } else { f64::INFINITY };
        limit.unwrap_or(f64::INFINITY).min(interval)
    }

    /// Runs the race: those that are left, the best one first, and what is to be said of all.
    fn heats<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        flips: &Flips,
        stretch: Stretch<'_>,
    ) -> (Vec<Heat>, String) {
        let prices = self.candidates.iter().map(|&c| self.prices.step(c));
        let (least, most) = prices.fold((f64::INFINITY, 0.0_f64), |(a, b), p| (a.min(p), b.max(p)));
        let budget = (STEPS * most).min(MOST * least).max(SHARE * self.tally.spent);
        let mut told = Vec::new();
        let mut heats = self.line_up(scene, flips, stretch, budget, &mut told);
        for lap in [budget, LONGER * budget] {
            heats.retain_mut(|heat| {
                let spent = heat.spent;
                let fine = heat.run(scene, stretch, lap, &self.prices);
                self.tally.spent += heat.spent - spent;
                if !fine {
                    told.push(format!("{} failed", heat.candidate.name()));
                }
                fine
            });
            heats.sort_by(|a, b| a.rate.total_cmp(&b.rate));
            // Quantised methods that lead may be wrong.
            let best = heats.iter().find(|h| h.candidate.order().is_none());
            let best = best.map_or(f64::INFINITY, |h| h.rate);
            let beaten = heats.partition_point(|h| h.rate <= BEATEN * best);
            told.extend(heats.drain(beaten..).map(|h| h.told()));
            if heats.len() < 2 || heats.iter().all(|h| h.done) {
                break;
            }
        }
        self.check_quantised(scene, stretch, &mut heats, &mut told);
        let all: Vec<String> = heats.iter().map(Heat::told).chain(told).collect();
        (heats, all.join(", "))
    }

    /// The methods that take part.
    fn line_up<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        flips: &Flips,
        stretch: Stretch<'_>,
        budget: f64,
        told: &mut Vec<String>,
    ) -> Vec<Heat> {
        let own = self.runner.candidate();
        let mut heats = Vec::new();
        let Self { candidates, prices, settings, .. } = self;
        candidates.retain(|&candidate| {
            if candidate != own && 2.0 * prices.step(candidate) > budget {
                told.push(format!("{} not tried, a step costs too much", candidate.name()));
                return true;
            }
            let Ok(mut runner) = candidate.build(&scene.equations, settings) else { return false };
            runner.watch_bands(false);
            let begun = runner.save::<E>();
            let Stretch { from, x, .. } = stretch;
            each!(&mut runner, core => Core::<E>::start(core, scene, from, x, None));
            let flips = Flips { list: Vec::new(), ..flips.clone() };
            heats.push(Heat {
                candidate,
                runner,
                begun,
                flips,
                spent: 0.0,
                t: from,
                rate: f64::INFINITY,
                done: false,
                checked: false,
            });
            true
        });
        heats
    }

    /// Quantised methods that lead cost what they would at an error as large as the tolerances; those that
    /// come elsewhere than the best of the others are out.
    fn check_quantised<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        heats: &mut Vec<Heat>,
        told: &mut Vec<String>,
    ) {
        let reference = heats.iter().find(|h| h.candidate.order().is_none());
        let reference = reference.map_or(Candidate::Rk45, |h| h.candidate);
        while let Some(leader) = heats.first().filter(|h| !h.checked)
            && let Some(order) = leader.candidate.order()
        {
            let off = self.off(scene, stretch, leader, reference);
            if off <= OFF {
                heats[0].rate *= libm::pow(off.max(1.0), 1.0 / f64::from(order));
                heats[0].checked = true;
                heats.sort_by(|a, b| a.rate.total_cmp(&b.rate));
            } else {
                let gone = heats.remove(0);
                told.push(format!("{} off by {off:.0} tolerances", gone.candidate.name()));
            }
        }
    }

    /// How far the states of `heat` are from where `reference` comes to, in tolerances.
    fn off<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        stretch: Stretch<'_>,
        heat: &Heat,
        reference: Candidate,
    ) -> f64 {
        let Ok(mut runner) = reference.build(&scene.equations, &self.settings) else {
            return f64::INFINITY;
        };
        runner.watch_bands(false);
        let Stretch { from, x, .. } = stretch;
        each!(&mut runner, core => Core::<E>::start(core, scene, from, x, None));
        let mut flips = Flips::new(scene.dims.indicators);
        flips.sides.clone_from(&heat.flips.sides);
        let most = 100.0 * heat.spent;
        let mut spent = 0.0;
        loop {
            match each!(&mut runner, core => core.advance(scene, Some(heat.t), &mut flips)) {
                Ok(Advance::Stopped) => break,
                Ok(_) if spent < most => spent = runner.spent(&self.prices) + ADVANCE,
                _ => return f64::INFINITY,
            }
            flips.list.clear();
        }
        self.tally.spent += spent;
        let (mut own, mut other) = (x.to_vec(), x.to_vec());
        each!(&heat.runner, core => Core::<E>::states(core, heat.t, &mut own));
        each!(&runner, core => Core::<E>::states(core, heat.t, &mut other));
        let options = &self.settings.solver;
        let tolerated = |x: f64| (options.rtol * x.abs()).max(options.atol);
        let off = norm(own.iter().zip(&other).map(|(a, b)| a - b));
        let off = off / norm(other.iter().map(|&x| tolerated(x)));
        if off.is_nan() { f64::INFINITY } else { off }
    }

    /// Goes on from the present with the method of `heat`.
    fn change<E: Equations>(&mut self, scene: &Scene<E>, heat: Heat, stretch: Stretch<'_>) {
        each!(&self.runner, core => Core::<E>::count(core, &mut self.before));
        let first = self.tally.race == 0.0;
        let Heat { mut runner, begun, .. } = heat;
        // Its steps in the race do not count.
        runner.restore(scene, &begun);
        runner.watch_bands(true);
        let Stretch { from, x, .. } = stretch;
        each!(&mut runner, core => Core::<E>::start(core, scene, from, x, None));
        if !first {
            runner.distrust();
        }
        self.runner = runner;
    }

    fn note<E: Equations>(&mut self, scene: &Scene<E>, why: &str) {
        let (rtol, atol) = (self.settings.solver.rtol, self.settings.solver.atol);
        let now = scene.absolute(Core::<E>::time(self));
        self.remark = Some(format!(
            "method {}: tried from {now} s at the tolerances {rtol:e} and {atol:e}, in estimated \
             instructions per second: {why}",
            self.runner.candidate().name(),
        ));
    }
}
