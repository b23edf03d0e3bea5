//! Bonds that do not hold: what should be equal stays apart by much of what it moves.
//!
//! A condition at the end of a macro step closes the gap that is left, if units answer to a constant effort as they
//! do to a steady one. A light, stiff unit swings within the step instead, and its gap stays or grows.
use serde::{Deserialize, Serialize};

/// The share of what has been gone through that a gap may be.
const SHARE: f64 = 0.1;
/// Steps in a row with larger ones.
const STEPS: u32 = 4;
/// A gap, relative to 1 + |x|, that is none: far more than corrections leave.
const NONE: f64 = 1e-6;

/// The gap of two signals that a bond holds equal, from step to step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Gap {
    /// The bond, and the word for its gap: `right.flange.displacement_gap`.
    name: String,
    /// The numbers of both signals.
    signals: [u16; 2],
    /// Least and largest value of both so far.
    ranges: [[f64; 2]; 2],
    /// Steps in a row after which it was large.
    large: u32,
    told: bool,
}

impl Gap {
    pub(super) fn new((name, signals): (String, [u16; 2])) -> Self {
        Self {
            name,
            signals,
            ranges: [[f64::INFINITY, f64::NEG_INFINITY]; 2],
            large: 0,
            told: false,
        }
    }

    /// Takes the signals at the end of a step. Gives the name and the gap once it has stayed large.
    pub(super) fn look(&mut self, signals: &[f64]) -> Option<(&str, f64)> {
        let both = self.signals.map(|k| signals.get(usize::from(k)).copied().unwrap_or(0.0));
        for ([least, most], x) in self.ranges.iter_mut().zip(both) {
            (*least, *most) = (least.min(x), most.max(x));
        }
        let gone = self.ranges.iter().map(|[least, most]| most - least).fold(f64::MAX, f64::min);
        let gap = (both[0] - both[1]).abs();
        let is_large = gap > SHARE * gone && gap > NONE * (1.0 + both[0].abs());
        if self.told {
            return None;
        }
        self.large = if is_large { self.large + 1 } else { 0 };
        self.told = self.large == STEPS;
        self.told.then_some((&*self.name, gap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(gaps: &[f64]) -> Vec<usize> {
        let mut gap = Gap::new((String::new(), [0, 1]));
        let each = gaps.iter().enumerate();
        each.filter_map(|(k, g)| {
            let x = k as f64;
            gap.look(&[x, x + g]).map(|_| k)
        })
        .collect()
    }

    #[test]
    fn only_gaps_that_stay_are_told_and_once() {
        assert_eq!(told(&[0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]), [] as [usize; 0]);
        assert_eq!(told(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0]), [4]);
        assert_eq!(told(&[0.0, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2]), [] as [usize; 0]);
    }
}
