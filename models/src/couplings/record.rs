//! Macro steps that stand although their error is far beyond the aim, and signals to which the aim says nothing.
use serde::{Deserialize, Serialize};

/// How many times its aim the error of a step may be before it counts.
const FAR: f64 = 10.0;
/// A tolerance counts beside 1 + |y|: it says little of signals below so many times as much, if they are below this
/// size, too.
const TIMES: f64 = 1e3;
const SMALL: f64 = 0.1;

/// How well a tolerance was kept, and whether it could say anything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Steps that stand with an error far beyond their aim.
    missed: u64,
    /// The largest of these errors, in aims.
    worst: f64,
    /// The largest size of any signal.
    largest: f64,
}

impl Record {
    /// A step stands whose error is `ratio` times its aim.
    pub(super) fn stands(&mut self, ratio: f64) {
        if ratio.is_nan() || ratio > FAR {
            self.missed += 1;
            self.worst = self.worst.max(ratio);
        }
    }

    /// Signals at an exchange.
    pub(super) fn saw(&mut self, values: impl Iterator<Item = f64>) {
        self.largest = values.fold(self.largest, |largest, y| largest.max(y.abs()));
    }

    /// Counts of it, where signals are exchanged to this tolerance.
    pub(super) fn statistics(&self, tolerance: Option<f64>) -> [(&'static str, u64); 3] {
        let faint = tolerance.is_some_and(|tolerance| {
            self.largest > 0.0 && self.largest < SMALL.min(TIMES * tolerance)
        });
        [
            ("missed_macro_steps", self.missed),
            ("largest_miss", self.worst.round() as u64),
            ("faint_couplings", u64::from(faint)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_far_beyond_their_aim_count() {
        let mut record = Record::default();
        [0.5, 3.0, 10.0, 250.4, 20.0].into_iter().for_each(|ratio| record.stands(ratio));
        let all = record.statistics(None);
        assert_eq!(all.map(|(_, count)| count), [2, 250, 0]);
    }

    #[test]
    fn tolerances_are_for_signals_of_size_one() {
        let faint = |size: f64, tolerance: f64| {
            let mut record = Record::default();
            record.saw([0.0, -size].into_iter());
            record.statistics(Some(tolerance))[2].1
        };
        assert_eq!([faint(1e-9, 1e-5), faint(1e-3, 1e-5), faint(0.5, 1e-2)], [1, 1, 0]);
        assert_eq!([faint(0.0, 1e-5), faint(2e-6, 1e-9)], [0, 0]);
    }
}
