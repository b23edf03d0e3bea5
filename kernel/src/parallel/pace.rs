//! Whether windows pay: a round in which each worker finds next to nothing to do costs more than it
//! spares.
//!
//! **How.** Rounds are counted ([`Trial`]). Where they hold little, models go home, the sequential
//! executor goes on for a while, and whoever was faster goes on for longer the next time. So what
//! is lost to the wrong one shrinks with the length of the run, and a load that changes is noticed.
use super::Settings;

/// Rounds before they are judged.
const ROUNDS: u64 = 64;
/// Transitions per worker and round that are enough in any case, when a clock tells whether they are.
const DOUBTFUL: u64 = 256;
/// The same without a clock: a round costs about as much.
const FEW: u64 = 16;
/// How much longer the faster one goes on the next time.
const GROWTH: i64 = 4;

/// Counts what rounds hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    /// Rounds before they are judged; never for none.
    length: Option<u64>,
    enough: u64,
    rounds: u64,
    transitions: u64,
}

impl Trial {
    /// Whether rounds up to now hold too little.
    pub fn is_poor(&mut self, rounds: u64, transitions: u64, workers: u64) -> bool {
        let (more, done) = (rounds - self.rounds, transitions - self.transitions);
        if self.length.is_none_or(|length| more < length) {
            return false;
        }
        (self.rounds, self.transitions) = (rounds, transitions);
        done < self.enough * more * workers
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
    pub fn new(settings: &Settings) -> Self {
        Self { clock: settings.clock, rounds: ROUNDS, factor: 2 * GROWTH }
    }

    /// What the caller's clock says, if there is one.
    pub fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    pub fn trial(&self, judged: bool) -> Trial {
        let enough = if self.clock.is_some() { DOUBTFUL } else { FEW };
        Trial { length: judged.then_some(self.rounds), enough, rounds: 0, transitions: 0 }
    }

    /// The ticks that the sequential executor goes on, after windows of so many.
    pub fn rest(&self, ticks: i64) -> i64 {
        ticks.max(1).saturating_mul(self.factor)
    }

    /// Notes who was faster; that windows were not, without a clock.
    pub fn judge(&mut self, windows: Lap, sequential: Lap) {
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
        for (judged, transitions, poor) in
            [(true, 2 * FEW * ROUNDS, false), (true, 2 * FEW * ROUNDS - 1, true), (false, 0, false)]
        {
            let mut trial = pace.trial(judged);
            assert!(!trial.is_poor(ROUNDS - 1, 0, 2));
            assert_eq!(trial.is_poor(ROUNDS, transitions, 2), poor, "{transitions}");
            // What was judged counts no more.
            assert!(!trial.is_poor(2 * ROUNDS, transitions + 2 * FEW * ROUNDS, 2));
        }
    }
}
