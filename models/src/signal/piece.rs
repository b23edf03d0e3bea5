//! Pieces of signals between messages, as polynomials: the notes by which a run is evaluated.
use crate::maths::poly;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// An instant, which need not lie on a tick.
///
/// **Why two numbers.** Steps of solvers end anywhere. Late in a run one `f64` of seconds could not tell
/// where.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Moment {
    /// The tick before it.
    pub tick: i64,
    /// Seconds since then, less than a tick.
    pub part: f64,
}

impl Moment {
    /// A tick.
    pub fn at(tick: i64) -> Self {
        Self { tick, part: 0.0 }
    }

    /// So many seconds after a tick; `rate` is ticks per second.
    pub fn after(tick: i64, seconds: f64, rate: f64) -> Self {
        let whole = (seconds * rate).floor();
        let part = (seconds - whole / rate).max(0.0);
        let carried = part * rate >= 1.0;
        let tick = tick.saturating_add(whole as i64).saturating_add(carried.into());
        Self { tick, part: if carried { 0.0 } else { part } }
    }

    /// Seconds since an earlier one.
    pub fn since(self, earlier: Self, rate: f64) -> f64 {
        self.tick.saturating_sub(earlier.tick) as f64 / rate + (self.part - earlier.part)
    }

    /// Seconds since the start of the run.
    pub fn seconds(self, rate: f64) -> f64 {
        self.tick as f64 / rate + self.part
    }
}

/// Coefficients of a polynomial: those of the usual methods need no memory of their own.
pub type Coefficients = SmallVec<[f64; 8]>;

/// A signal over an interval.
///
/// `value(θ) = c0 + c1 θ + c2 θ² + …`, with θ from 0 at `from` to 1 at `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The output port.
    pub port: u16,
    /// Where it begins.
    pub from: Moment,
    /// Where it ends.
    pub to: Moment,
    /// Coefficients in θ, at least one.
    pub coefficients: Coefficients,
    /// The function changes too fast for it: see [`cut`](super::cut::cut).
    pub coarse: bool,
    /// A transition of its unit ended it, and not a step of its method.
    pub event: bool,
}

impl Piece {
    /// A piece between two instants that no transition ends.
    pub fn new(port: u16, (from, to): (Moment, Moment), coefficients: Coefficients) -> Self {
        Self { port, from, to, coefficients, coarse: false, event: false }
    }

    /// The value at θ.
    pub fn value(&self, theta: f64) -> f64 {
        poly::eval(&self.coefficients, theta)
    }

    /// How many of these coefficients, at least one, are no rounding.
    pub fn length(coefficients: &[f64]) -> usize {
        let size = coefficients.iter().fold(0.0_f64, |size, c| size.max(c.abs()));
        let rounding = |c: &&f64| c.abs() <= ROUNDING * size;
        (coefficients.len() - coefficients.iter().rev().take_while(rounding).count()).max(1)
    }
}

/// The share of the largest coefficient below which one is rounding.
pub(super) const ROUNDING: f64 = 4.0 * f64::EPSILON;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_late_in_a_run() {
        let late = 1_000_000_000_000_000_000;
        let m = Moment::after(late, 2.5e-9, 1e9);
        assert_eq!((m.tick, m.since(Moment::at(late), 1e9)), (late + 2, 2.5e-9));
        // Rounding never leaves a part of a tick that is one.
        for k in 0..1000 {
            let m = Moment::after(0, f64::from(k) * 1e-9, 1e9);
            assert!(
                m.part < 1e-9 && m.tick >= k.into() || m.tick == i64::from(k) - 1,
                "{k}: {m:?}"
            );
        }
        assert!(Moment { tick: 3, part: 0.1 } > Moment { tick: 3, part: 0.0 });
        assert!(Moment::at(4) > Moment { tick: 3, part: 0.1 });
    }
}
