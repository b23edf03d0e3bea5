//! The model that sender and receivers run.
use crate::{
    maths::poly,
    signal::{NEVER, Poly, Timer, horizon, trimmed},
};
use serde::{Deserialize, Serialize};

/// Powers of a piece of a linear system's solution.
const POWERS: usize = 12;
/// Powers by which a state is moved on to the next piece: exact but for rounding where twelve are good.
const EXACT: usize = 30;

/// How a model goes on from its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Law {
    /// Taylor coefficients that make a state.
    pub(super) numbers: usize,
    /// x^(n) = Σ rates[k] x^(k); none for polynomials.
    pub(super) rates: Box<[f64]>,
    /// Error of a piece.
    pub(super) tolerance: f64,
}

/// The linear system with these coefficients of the powers of s, the highest first.
pub(super) fn law(coefficients: &[f64], tolerance: f64) -> Law {
    let lead = coefficients[0];
    let rates: Box<[f64]> = coefficients[1..].iter().rev().map(|c| -c / lead).collect();
    Law { numbers: rates.len(), rates, tolerance }
}

impl Law {
    /// The Taylor coefficients from a state on, up to a power.
    fn series(&self, state: &[f64], powers: usize) -> Vec<f64> {
        let n = self.numbers;
        let mut c = vec![0.0; powers.max(n - 1) + 1];
        let known = state.len().min(n);
        c[..known].copy_from_slice(&state[..known]);
        for k in n..c.len() {
            // c_j = x^(j)/j!, so that x^(n + m)/(n + m)! is a sum of c_(j + m) (j + m)!/(n + m)!.
            let m = k - n;
            let mut factor = 1.0;
            let mut sum = 0.0;
            for j in (0..n).rev() {
                factor /= (j + m + 1) as f64;
                sum += self.rates[j] * c[j + m] * factor;
            }
            c[k] = sum;
        }
        c
    }
}

/// A model on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Model {
    /// The present piece, from tick `at` on.
    piece: Vec<f64>,
    /// The state there.
    state: Vec<f64>,
    at: i64,
    /// The tick at which the piece is replaced by the next one.
    ends: i64,
}

impl Model {
    /// Begins with a state at tick `at`.
    pub(super) fn begin(law: &Law, state: &[f64], at: i64, timer: &Timer) -> Self {
        if law.rates.is_empty() {
            let piece = trimmed(&state[..state.len().min(law.numbers)]).to_vec();
            return Self { state: piece.clone(), piece, at, ends: NEVER };
        }
        let series = law.series(state, POWERS + law.numbers);
        let seconds = horizon(POWERS + 1, &series[POWERS + 1..], law.tolerance);
        let ticks = seconds * timer.resolution().ticks_per_second() as f64;
        let ends = if ticks < 9e18 { at.saturating_add((ticks as i64).max(1)) } else { NEVER };
        let (piece, state) = (series[..=POWERS].to_vec(), series[..law.numbers].to_vec());
        Self { piece, state, at, ends }
    }

    /// A value that stays.
    pub(super) fn holds(value: f64) -> Self {
        Self { piece: vec![value], state: vec![value], at: 0, ends: NEVER }
    }

    /// The next piece of the same solution.
    pub(super) fn go_on(&mut self, law: &Law, timer: &Timer) {
        let mut state = law.series(&self.state, EXACT);
        poly::shift(&mut state, timer.seconds(self.at, self.ends));
        *self = Self::begin(law, &state, self.ends, timer);
    }

    /// Goes on, by pieces, so that the present one holds at tick `now`.
    pub(super) fn catch_up(&mut self, law: &Law, now: i64, timer: &Timer) {
        while self.ends <= now {
            self.go_on(law, timer);
        }
    }

    /// The tick at which the present piece ends.
    pub(super) fn ends(&self) -> i64 {
        self.ends
    }

    /// Coefficients of the present piece.
    pub(super) fn coefficients(&self) -> &[f64] {
        &self.piece
    }

    /// The numbers with which it began.
    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    /// The value at tick `now`.
    pub(super) fn value(&self, now: i64, timer: &Timer) -> f64 {
        poly::eval(&self.piece, timer.seconds(self.at, now))
    }

    /// The present piece with its origin at tick `now`.
    pub(super) fn shifted(&self, now: i64, timer: &Timer) -> Poly {
        let mut piece = self.piece.clone();
        poly::shift(&mut piece, timer.seconds(self.at, now));
        Poly::new(&piece)
    }
}
