//! Replications: seeds, and when to stop.
//!
//! Replicate r has its seed at all points of a study (common random numbers), so that a difference of two
//! points is a difference of paired numbers and most of the randomness cancels.
use crate::interval::Interval;
use superdense_kernel::message::Digest;

/// The level of intervals, unless a study says otherwise.
pub const LEVEL: f64 = 0.95;

/// The seed of replicate `r` from 1 on: the first 53 bits of a digest of both numbers. Replicate 0 has
/// the scenario's own seed. Neighbouring seeds would correlate under a linear congruential generator; and 53
/// bits are exact as a number of a scenario.
pub fn seed(study: u64, r: u32) -> u64 {
    let mut digest = Digest::new();
    digest.word(study);
    digest.word(u64::from(r));
    // Folded once more: the last word has not yet reached all bits.
    digest.word(0);
    digest.finish() >> 11
}

/// How exact a result is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Width {
    /// Half the width of the interval.
    Absolute(f64),
    /// Half the width as a share of the mean's size.
    Relative(f64),
}

impl Width {
    /// Whether an interval is as narrow.
    pub fn reached(self, interval: &Interval) -> bool {
        match self {
            Self::Absolute(most) => interval.half_width() <= most,
            Self::Relative(most) => interval.half_width() <= most * interval.value.abs(),
        }
    }
}

/// How many replicates a point gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replication {
    /// At least.
    pub least: u32,
    /// At most.
    pub most: u32,
}

impl Replication {
    /// A single run.
    pub const ONCE: Self = Self { least: 1, most: 1 };

    /// How many replicates a point needs that has `have` of them, and is not yet exact enough: from the
    /// least on half as many more each time (8, 12, 18, 27, …). Whether it is enough is decided after these
    /// numbers only, so that it does not depend on who is faster; and seldom, because an interval that is
    /// looked at after each replicate is too narrow by chance sooner or later.
    pub fn next(self, have: u32) -> u32 {
        if have < self.least {
            return self.least;
        }
        let mut stage = self.least.max(1);
        while stage <= have {
            stage += (stage / 2).max(1);
        }
        stage.min(self.most.max(self.least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_grow_by_half() {
        let rule = Replication { least: 8, most: 64 };
        let mut stages = vec![rule.next(0)];
        while rule.next(stages[stages.len() - 1]) > stages[stages.len() - 1] {
            stages.push(rule.next(stages[stages.len() - 1]));
        }
        assert_eq!(stages, [8, 12, 18, 27, 40, 60, 64]);
        assert_eq!(rule.next(9), 12);
        assert_eq!(Replication::ONCE.next(0), 1);
        assert_eq!(Replication::ONCE.next(1), 1);
    }

    #[test]
    fn seeds_are_far_apart_and_exact_as_numbers() {
        let all: Vec<u64> = (1..2000).map(|r| seed(1, r)).chain([seed(2, 1)]).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
        assert!(all.iter().all(|&s| s < 1 << 53 && (s as f64) as u64 == s));
        // Each bit is set about half of the time.
        for bit in 0..53 {
            let set = all.iter().filter(|&&s| s >> bit & 1 == 1).count();
            assert!((880..1120).contains(&set), "bit {bit}: {set}");
        }
        // The format of studies: these never change.
        let first = [seed(1, 1), seed(1, 2), seed(7, 1)];
        assert_eq!(first, [5273019406391890, 2859487633684909, 6526258477116544]);
    }

    #[test]
    fn widths_are_absolute_or_shares() {
        let interval = Interval { value: -10.0, low: -10.4, high: -9.6 };
        assert!(
            Width::Absolute(0.5).reached(&interval) && !Width::Absolute(0.3).reached(&interval)
        );
        assert!(
            Width::Relative(0.05).reached(&interval) && !Width::Relative(0.03).reached(&interval)
        );
    }
}
