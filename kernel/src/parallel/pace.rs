//! Whether windows pay: a round in which each worker finds next to nothing to do costs more than it
//! spares.
//!
//! **How.** Rounds are counted ([`Trial`]). Where they hold little, models go home, the sequential
//! executor goes on for a while, and whoever was faster goes on for longer the next time. So what
//! is lost to the wrong one shrinks with the length of the run, and a load that changes is noticed.
use super::Settings;

/// Rounds before they are judged.
const ROUNDS: u64 = 64;
/// Nanoseconds per worker and round that are enough in any case.
const DOUBTFUL: u64 = 20_000;
/// Transitions that are, without a clock: a round costs about as much.
const FEW: u64 = 16;
/// How much longer the faster one goes on the next time.
const GROWTH: i64 = 4;

/// Counts what rounds hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    /// Rounds before they are judged; never for none.
    length: Option<u64>,
    enough: u64,
    /// By a clock: work is counted in nanoseconds, else in transitions.
    timed: bool,
    /// Rounds that held anything since the last judgement.
    rounds: u64,
    /// Transitions and work of the whole stretch, and work up to the last judgement.
    all: u64,
    work: u64,
    judged: u64,
}

impl Trial {
    /// Whether rounds hold too little, after one more up to which there were so many transitions
    /// and so many nanoseconds of work. One that held nothing does not count: a worker waited for
    /// the others.
    pub(super) fn is_poor(&mut self, transitions: u64, busy: u64, workers: u64) -> bool {
        if transitions == self.all {
            return false;
        }
        self.all = transitions;
        self.rounds += 1;
        self.work = if self.timed { busy } else { transitions };
        if self.length.is_none_or(|length| self.rounds < length) {
            return false;
        }
        let poor = self.work - self.judged < self.enough * self.rounds * workers;
        (self.rounds, self.judged) = (0, self.work);
        poor
    }
}

/// A part of a run under one executor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lap {
    pub transitions: u64,
    pub nanoseconds: u64,
}

impl Lap {
    fn is_faster(self, other: Self) -> bool {
        let cross = |a: Self, b: Self| u128::from(a.transitions) * u128::from(b.nanoseconds);
        cross(self, other) > cross(other, self)
    }
}

/// How long windows are tried, and how long not.
#[derive(Debug)]
pub(super) struct Pace {
    clock: Option<fn() -> u64>,
    rounds: u64,
    /// How many times the ticks of the windows the sequential executor goes on.
    factor: i64,
}

impl Pace {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { clock: settings.clock, rounds: ROUNDS, factor: 2 * GROWTH }
    }

    /// The time of the caller's clock, if there is one.
    pub(super) fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    pub(super) fn trial(&self, judged: bool) -> Trial {
        let timed = self.clock.is_some();
        let (length, enough) = (judged.then_some(self.rounds), if timed { DOUBTFUL } else { FEW });
        Trial { length, enough, timed, rounds: 0, all: 0, work: 0, judged: 0 }
    }

    /// The ticks that the sequential executor goes on, after windows of so many.
    pub(super) fn rest(&self, ticks: i64) -> i64 {
        ticks.max(1).saturating_mul(self.factor)
    }

    /// Notes who was faster; that windows were not, without a clock.
    pub(super) fn judge(&mut self, windows: Lap, sequential: Lap) {
        if self.clock.is_some() && windows.is_faster(sequential) {
            self.rounds = self.rounds.saturating_mul(GROWTH as u64);
            self.factor = 2 * GROWTH;
        } else {
            self.rounds = ROUNDS;
            self.factor = self.factor.saturating_mul(GROWTH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_one_goes_on_for_longer() {
        let clock = Settings { clock: Some(|| 0), ..Settings::default() };
        let mut pace = Pace::new(&clock);
        let (slow, fast) =
            (Lap { transitions: 9, nanoseconds: 10 }, Lap { transitions: 10, nanoseconds: 10 });
        pace.judge(slow, fast);
        pace.judge(slow, fast);
        assert_eq!((pace.rest(10), pace.rounds), (1280, ROUNDS));
        pace.judge(fast, slow);
        assert_eq!((pace.rest(10), pace.rounds), (80, 4 * ROUNDS));
        // Without a clock nobody knows better.
        let mut pace = Pace::new(&Settings::default());
        pace.judge(fast, slow);
        assert_eq!((pace.rest(10), pace.rounds), (320, ROUNDS));
    }

    #[test]
    fn rounds_are_judged_by_what_they_hold() {
        let pace = Pace::new(&Settings::default());
        // Two workers; each round holds so many transitions.
        for (judged, each, poor) in
            [(true, 2 * FEW, false), (true, 2 * FEW - 1, true), (false, 1, false)]
        {
            let (mut trial, mut all) = (pace.trial(judged), 0);
            for round in 1..=2 * ROUNDS {
                all += each;
                let judged = round % ROUNDS == 0;
                assert_eq!(trial.is_poor(all, 0, 2), judged && poor, "{each}, round {round}");
                assert!(!trial.is_poor(all, 0, 2), "nothing new");
            }
        }
    }
}
