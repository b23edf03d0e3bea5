//! Whether a macro step is to be trusted: estimates of its error from trials.
//!
//! The error of a step is what a signal is off at its end because its unit heard extrapolations;
//! with told polynomials of order q it is O(H^(q+2)). It is compared with `tolerance` · (1 + |y|).
//!
//! | `estimate` | from | source |
//! | --- | --- | --- |
//! | `extrapolation` | what receivers were told for the end, and what the source did: O(H^(q+1)), pessimistic | document 004, 4.3.4 (multi-order) |
//! | `doubling` | one step and two of half its length, by Richardson: (y½ - y1)/(2^(q+1) - 1); the two halves are kept | document 004, 4.3.4 |
//! | `milne` | the first run, told extrapolations, and the last one, corrected: Milne's device with the error constants of Adams-Bashforth and Adams-Moulton formulas, which these are for the inputs | document 004, 4.3.4 |
//!
//! Under *pessimistic* correction a step with too large an error is brought back and repeated with
//! a shorter one; under *optimistic* correction it stands, and the next one is shorter.
use serde::{Deserialize, Serialize};

/// Where the error of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    /// What was told against what came.
    Extrapolation,
    /// One step against two halves.
    Doubling,
    /// The first run against the corrected one.
    Milne,
}

/// Part of the difference between the predicted and the corrected end that is the error of the
/// latter: |c*|/(|c| + |c*|) with the error constants c of Adams-Bashforth and c* of Adams-Moulton
/// formulas through q + 1 values (Hairer, Nørsett & Wanner 1993, III.1).
const MILNE: [f64; 4] = [1.0 / 2.0, 1.0 / 6.0, 1.0 / 10.0, 19.0 / 270.0];

fn worst(pairs: impl Iterator<Item = (f64, f64)>, tolerance: f64) -> f64 {
    pairs.map(|(error, y)| error.abs() / (tolerance * (1.0 + y.abs()))).fold(0.0, f64::max)
}

impl Estimate {
    /// The error that `missed` values of what was told stand for, by its aim.
    pub(super) fn missed(told: &[f64], ends: &[f64], tolerance: f64) -> f64 {
        worst(told.iter().zip(ends).map(|(u, y)| (y - u, *y)), tolerance)
    }

    /// Richardson's estimate for the two halves, by its aim.
    pub(super) fn doubling(orders: &[usize], whole: &[f64], halves: &[f64], aim: f64) -> f64 {
        // A unit answers to what the others were told: the lowest order counts.
        let order = orders.iter().copied().min().unwrap_or(0);
        let factor = libm::exp2(order as f64 + 1.0) - 1.0;
        worst(whole.iter().zip(halves).map(|(a, b)| ((a - b) / factor, *b)), aim)
    }

    /// Milne's estimate for the corrected run, by its aim.
    pub(super) fn milne(orders: &[usize], first: &[f64], last: &[f64], aim: f64) -> f64 {
        let order = orders.iter().copied().min().unwrap_or(0);
        let part = MILNE[order.min(MILNE.len() - 1)];
        worst(first.iter().zip(last).map(|(a, b)| ((a - b) * part, *b)), aim)
    }
}
