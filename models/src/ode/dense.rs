//! The solution inside the last step, as polynomials.

use serde::{Deserialize, Serialize};

use super::tableau::{D, EXTRA_C, QUINTIC};
use crate::poly;

/// Coefficients per component.
const LENGTH: usize = 6;

/// Continuous solution of one step: a polynomial of degree five (or four) per component in
/// θ = (t - t0) / h. Owned, so that it can outlive the solver's next step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DenseOutput {
    t0: f64,
    /// Scale of θ; zero before the first step.
    h: f64,
    coefficients: Vec<f64>,
}

impl DenseOutput {
    /// Constant `x` from `t0` on, until the first step.
    pub(super) fn constant(&mut self, t0: f64, x: &[f64]) {
        self.t0 = t0;
        self.h = 0.0;
        self.coefficients.clear();
        self.coefficients.resize(x.len() * LENGTH, 0.0);
        for (row, &value) in self.coefficients.chunks_exact_mut(LENGTH).zip(x) {
            row[0] = value;
        }
    }

    /// Begins a step of length `h` at `t0`.
    pub(super) fn open(&mut self, t0: f64, h: f64) {
        self.t0 = t0;
        self.h = h;
    }

    /// Shampine's quartic of component `i` from its ends and the seven stage slopes.
    pub(super) fn quartic(&mut self, i: usize, x0: f64, x1: f64, k: impl Fn(usize) -> f64) {
        let h = self.h;
        let rise = x1 - x0;
        let bend = h * k(0) - rise;
        let twist = rise - h * k(6) - bend;
        let last = h * D.iter().enumerate().fold(0.0, |sum, (stage, d)| sum + d * k(stage));
        self.row(i).copy_from_slice(&[
            x0,
            h * k(0),
            twist + last - bend,
            -twist - 2.0 * last,
            last,
            0.0,
        ]);
    }

    /// Fifth-order quintic of component `i` from its ends and four slopes: at both ends, 1/5, 1/2.
    /// Differences from a parabola keep the small coefficients of smooth solutions small.
    pub(super) fn quintic(&mut self, i: usize, x0: f64, x1: f64, slopes: [f64; 4]) {
        let h = self.h;
        let [f0, f1, fa, fb] = slopes;
        let bend = h * (f1 - f0);
        let data = [
            (x1 - x0) - (h * f0 + 0.5 * bend),
            h * (fa - f0) - EXTRA_C[0] * bend,
            h * (fb - f0) - EXTRA_C[1] * bend,
        ];
        let row = self.row(i);
        row[0] = x0;
        row[1] = h * f0;
        for (slot, weights) in row[2..].iter_mut().zip(&QUINTIC) {
            *slot = weights.iter().zip(data).fold(0.0, |sum, (w, d)| sum + w * d);
        }
        row[2] += 0.5 * bend;
    }

    fn row(&mut self, i: usize) -> &mut [f64] {
        &mut self.coefficients[i * LENGTH..][..LENGTH]
    }

    pub(super) fn shift_origin(&mut self, by: f64) {
        self.t0 -= by;
    }

    /// Where the step began.
    pub fn start(&self) -> f64 {
        self.t0
    }

    /// Length of the whole step, of which a truncated solver uses only the first part; zero before
    /// the first step.
    pub fn length(&self) -> f64 {
        self.h
    }

    /// Number of components.
    pub fn dim(&self) -> usize {
        self.coefficients.len() / LENGTH
    }

    fn theta(&self, t: f64) -> f64 {
        if self.h == 0.0 { 0.0 } else { (t - self.t0) / self.h }
    }

    /// State at `t`. Outside the step this extrapolates.
    pub fn eval(&self, t: f64, x: &mut [f64]) {
        let theta = self.theta(t);
        for (slot, row) in x.iter_mut().zip(self.coefficients.chunks_exact(LENGTH)) {
            *slot = poly::eval(row, theta);
        }
    }

    /// One component at `t`.
    pub fn component(&self, i: usize, t: f64) -> f64 {
        poly::eval(&self.coefficients[i * LENGTH..][..LENGTH], self.theta(t))
    }

    /// Taylor coefficients of component `i` in `e = t - at`; `out` takes as many as it has room
    /// for (cut beyond, zero-filled from the seventh).
    pub fn taylor(&self, i: usize, at: f64, out: &mut [f64]) {
        let mut row = [0.0; LENGTH];
        row.copy_from_slice(&self.coefficients[i * LENGTH..][..LENGTH]);
        poly::shift(&mut row, self.theta(at));
        let per_second = if self.h == 0.0 { 0.0 } else { 1.0 / self.h };
        let mut scale = 1.0;
        out.fill(0.0);
        for (slot, k) in out.iter_mut().zip(row) {
            *slot = k * scale;
            scale *= per_second;
        }
    }
}
