//! The solution inside the last step, as polynomials.

use serde::{Deserialize, Serialize};

use crate::maths::poly;

/// One polynomial per state over one step, in `e = t - start`, seconds: the dense output of every
/// method, and what indicators and outputs are composed with. Coefficients are Taylor
/// coefficients at the start of the step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    t0: f64,
    t1: f64,
    /// Number of rows.
    dim: usize,
    /// Room per row.
    stride: usize,
    /// Coefficients in use per row.
    length: usize,
    /// Never shortened, so that a start, which is a constant, costs no more than its own numbers.
    rows: Vec<f64>,
}

impl Path {
    /// Constant `x` at `t0`, until the first step.
    #[inline]
    pub(super) fn constant(&mut self, t0: f64, x: &[f64]) {
        put(self.open(t0, t0, x.len(), 1), x);
    }

    /// Begins a step; all coefficients of all rows (`length` each) are to be filled in.
    #[inline]
    pub(super) fn open(&mut self, t0: f64, t1: f64, dim: usize, length: usize) -> &mut [f64] {
        (self.t0, self.t1) = (t0, t1);
        (self.dim, self.stride, self.length) = (dim, length, length);
        if self.rows.len() < dim * length {
            self.rows.resize(dim * length, 0.0);
        }
        &mut self.rows[..dim * length]
    }

    /// Ends the step at `t1`, and uses the first `length` coefficients of each row only.
    #[inline]
    pub(super) fn close(&mut self, t1: f64, length: usize) {
        self.t1 = t1;
        self.length = length.min(self.stride);
    }

    #[inline]
    pub(super) fn shift_origin(&mut self, by: f64) {
        self.t0 -= by;
        self.t1 -= by;
    }

    /// Where the step began.
    #[inline]
    pub fn start(&self) -> f64 {
        self.t0
    }

    /// Where the whole step ended, of which a truncated solver uses only the first part.
    pub fn end(&self) -> f64 {
        self.t1
    }

    /// Number of states.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Highest power.
    #[inline]
    pub fn order(&self) -> usize {
        self.length.saturating_sub(1)
    }

    /// Coefficients of state `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.stride..][..self.length]
    }

    /// How large the states were where the step began.
    pub(crate) fn sizes(&self, sizes: &mut Vec<f64>) {
        sizes.clear();
        sizes.extend((0..self.dim()).map(|i| self.row(i)[0].abs()));
    }

    /// All states as parabolas, if there is room for no more.
    #[inline]
    pub(crate) fn parabolas(&self) -> Option<&[[f64; 3]]> {
        (self.length == 3 && self.stride == 3).then(|| self.rows.as_chunks::<3>().0)
    }

    /// States at `t`. Outside the step this extrapolates.
    #[inline]
    pub fn eval(&self, t: f64, x: &mut [f64]) {
        let e = t - self.t0;
        if let Some(rows) = self.parabolas() {
            // Most paths in closed form.
            for (slot, c) in x.iter_mut().zip(rows) {
                *slot = (c[2] * e + c[1]) * e + c[0];
            }
            return;
        }
        self.eval_series(t, x);
    }

    #[inline(never)]
    fn eval_series(&self, t: f64, x: &mut [f64]) {
        for (i, slot) in x.iter_mut().enumerate() {
            *slot = self.component(i, t);
        }
    }

    /// One state at `t`. Outside the step this extrapolates.
    pub fn component(&self, i: usize, t: f64) -> f64 {
        let (e, width) = (t - self.t0, self.t1 - self.t0);
        if e <= 2.0 * width {
            return poly::eval(self.row(i), e);
        }
        // A step that is shorter than a tick: high powers say nothing so far behind it.
        let (value, slope) = poly::eval_slope(self.row(i), width);
        value + (e - width) * slope
    }

    /// Taylor coefficients of state `i` in `e = t - at`; `out` takes as many as it has room for
    /// (cut beyond, zero-filled).
    pub fn taylor(&self, i: usize, at: f64, out: &mut [f64]) {
        let mut row = self.row(i).to_vec();
        poly::shift(&mut row, at - self.t0);
        out.fill(0.0);
        for (slot, k) in out.iter_mut().zip(row) {
            *slot = k;
        }
    }
}

/// Copies to the beginning of `to`.
#[inline(always)]
pub(crate) fn put(to: &mut [f64], from: &[f64]) {
    to[..from.len()].copy_from_slice(from);
}
