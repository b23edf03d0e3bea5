//! Functions known by evaluation only: sampled, and modelled by a polynomial of degree seven.

use super::{
    NotFinite, Watched,
    walk::{Curve, stays},
};
use crate::solve::ode::indicator::{Model, POINTS};

/// The functions with a memory for the first value that was not finite.
pub(super) struct Probe<F> {
    pub z: F,
    pub bad: Option<NotFinite>,
}

impl<F: FnMut(f64, &mut [f64])> Probe<F> {
    pub(super) fn fill(&mut self, t: f64, row: &mut [f64]) {
        (self.z)(t, row);
        if self.bad.is_none() {
            self.bad =
                row.iter().position(|v| !v.is_finite()).map(|indicator| NotFinite { t, indicator });
        }
    }
}

/// Models of all functions on one interval.
#[derive(Debug, Default)]
pub(super) struct Models {
    models: Vec<Model>,
    rows: Vec<f64>,
    row: Vec<f64>,
}

impl Models {
    /// Samples and models all `dim` functions on `[low, high]`; false if something is not finite.
    pub(super) fn sample<F: FnMut(f64, &mut [f64])>(
        &mut self,
        probe: &mut Probe<F>,
        dim: usize,
        (low, high): (f64, f64),
    ) -> bool {
        self.models.resize_with(dim, Model::default);
        self.row.resize(dim, 0.0);
        self.rows.resize(POINTS.len() * dim, 0.0);
        for (row, theta) in self.rows.chunks_exact_mut(dim).zip(POINTS) {
            probe.fill(at(low, high, theta), row);
        }
        for (k, model) in self.models.iter_mut().enumerate() {
            model.fit(&std::array::from_fn(|point| self.rows[point * dim + k]));
        }
        probe.bad.is_none()
    }

    /// Whether the model of function `k` tells what becomes of its `side`.
    pub(super) fn judges(&self, k: usize, watched: Watched, side: f64) -> bool {
        let model = &self.models[k];
        model.good || stays(watched, side, (model.low, model.high))
    }

    /// How far the model of function `k` misses it.
    pub(super) fn error(&self, k: usize) -> f64 {
        self.models[k].error
    }
}

/// A sampled function on the interval that was sampled last.
pub(super) struct Sampled<'a, F> {
    pub probe: &'a mut Probe<F>,
    pub models: &'a mut Models,
    pub k: usize,
    pub low: f64,
    pub high: f64,
}

impl<F: FnMut(f64, &mut [f64])> Curve for Sampled<'_, F> {
    fn value(&mut self, t: f64) -> f64 {
        self.probe.fill(t, &mut self.models.row);
        self.models.row[self.k]
    }

    fn range(&self) -> (f64, f64) {
        (self.models.models[self.k].low, self.models.models[self.k].high)
    }

    fn partition(&self, out: &mut Vec<f64>) {
        // The samples as well: what the model misses may still show there.
        let (low, high) = (self.low, self.high);
        out.extend(POINTS[1..].iter().filter(|&&p| p != 1.0).map(|&p| at(low, high, p)));
        let extrema = out.len();
        self.models.models[self.k].extrema(out);
        for theta in &mut out[extrema..] {
            *theta = at(low, high, *theta);
        }
    }

    fn rounding(&self, _: f64) -> f64 {
        // An evaluated function has the errors of its variables, and no other.
        0.0
    }

    fn root(&mut self, level: f64, sign: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
        let (from, to) = ((from.0, from.1 - level), (to.0, to.1 - level));
        itp(from, to, |t| self.value(t) - level, |z| sign * z <= 0.0)
    }
}

fn at(low: f64, high: f64, theta: f64) -> f64 {
    if theta == 1.0 { high } else { low + theta * (high - low) }
}

/// The end at which `satisfied` holds of a bracket shrunk to neighbouring numbers (two units in
/// the last place). `satisfied` is false at the first point and true at the second.
///
/// ITP with κ1 = 0.2 / (b - a), κ2 = 2, n0 = 1: at most one step more than bisection.
fn itp(
    (mut a, mut z_a): (f64, f64),
    (mut b, mut z_b): (f64, f64),
    mut value: impl FnMut(f64) -> f64,
    satisfied: impl Fn(f64) -> bool,
) -> f64 {
    let epsilon = f64::EPSILON * a.abs().max(b.abs());
    let kappa = 0.2 / (b - a);
    let halvings = libm::ceil(libm::log2((b - a) / (2.0 * epsilon))).clamp(0.0, 1100.0) as i32 + 1;
    for round in 0..=halvings {
        let half = 0.5 * (b - a);
        let middle = a + half;
        if half <= epsilon || middle <= a || middle >= b {
            break;
        }
        let secant = (z_b * a - z_a * b) / (z_b - z_a);
        let toward = (middle - secant).signum();
        let truncation = kappa * (b - a) * (b - a);
        let shifted = if truncation <= (middle - secant).abs() {
            secant + toward * truncation
        } else {
            middle
        };
        let radius = libm::ldexp(epsilon, halvings - round) - half;
        let mut x =
            if (shifted - middle).abs() <= radius { shifted } else { middle - toward * radius };
        // Also sorts out NaN.
        if !(x > a && x < b) {
            x = middle;
        }
        let z = value(x);
        if satisfied(z) {
            (b, z_b) = (x, z);
        } else {
            (a, z_a) = (x, z);
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itp_ends_on_the_far_side_in_few_steps() {
        for (f, a, b, root) in [
            ((|t| 2.0 - t * t) as fn(f64) -> f64, 0.0, 5.0, 2f64.sqrt()),
            (|t| 1.0 - libm::exp(t - 3.0), 0.0, 20.0, 3.0),
            (|t| -(t - 1.0) * (t - 1.0) * (t - 1.0), 0.0, 1.7, 1.0),
            (|t| if t < 0.3 { 1.0 } else { -1e9 }, 0.0, 1.0, 0.3),
        ] {
            let mut count = 0;
            let value = |t| {
                count += 1;
                f(t)
            };
            let found = itp((a, f(a)), (b, f(b)), value, |z| z <= 0.0);
            assert!(f(found) <= 0.0);
            assert!((found - root).abs() < 1e-5 && f(found - 1e-5) > 0.0, "{found}");
            assert!(count <= 56, "{count}");
        }
    }
}
