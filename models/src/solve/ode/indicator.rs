//! A local polynomial model of the event indicators on part of a step.

use crate::maths::poly::{bernstein, critical_points};

/// Samples that define the model: seventh degree, so that indicators linear in the state of a
/// fifth-order dense output are met exactly.
pub(super) const NODES: usize = 8;

/// Chebyshev-Lobatto points of [0, 1], rounded to short fractions, and two more to judge the model.
pub(super) const POINTS: [f64; NODES + 2] = [
    0.0,
    1.0 / 20.0,
    3.0 / 16.0,
    7.0 / 18.0,
    11.0 / 18.0,
    13.0 / 16.0,
    19.0 / 20.0,
    1.0,
    2.0 / 7.0,
    8.0 / 9.0,
];

/// `POWERS[k][j]`: coefficient of θ^k in the Lagrange polynomial of node `j`.
const POWERS: [[f64; NODES]; NODES] = lagrange();

const fn lagrange() -> [[f64; NODES]; NODES] {
    let mut out = [[0.0; NODES]; NODES];
    let mut j = 0;
    while j < NODES {
        let mut product = [0.0; NODES];
        product[0] = 1.0;
        let mut other = 0;
        while other < NODES {
            if other != j {
                // Times (θ - node) / (own node - node).
                let scale = 1.0 / (POINTS[j] - POINTS[other]);
                let mut k = NODES - 1;
                while k > 0 {
                    product[k] = (product[k - 1] - POINTS[other] * product[k]) * scale;
                    k -= 1;
                }
                product[0] *= -POINTS[other] * scale;
            }
            other += 1;
        }
        let mut k = 0;
        while k < NODES {
            out[k][j] = product[k];
            k += 1;
        }
        j += 1;
    }
    out
}

/// One indicator on one sub-interval, in θ from 0 to 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    coefficients: [f64; NODES],
    /// Bounds that hold for the indicator as far as the model does, its error included.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether the model is good enough to tell where the extrema are.
    pub(super) good: bool,
    /// How far the model misses the function at points between its nodes.
    pub(super) error: f64,
}

impl Model {
    /// Fits the values at [`POINTS`].
    pub(super) fn fit(&mut self, values: &[f64; NODES + 2]) {
        for (coefficient, row) in self.coefficients.iter_mut().zip(&POWERS) {
            *coefficient = row.iter().zip(values).fold(0.0, |sum, (w, v)| sum + w * v);
        }
        let size = values.iter().fold(0.0_f64, |size, v| size.max(v.abs()));
        let mut error = 0.0_f64;
        for k in NODES..POINTS.len() {
            let deviation = crate::maths::poly::eval(&self.coefficients, POINTS[k]) - values[k];
            error = error.max(deviation.abs());
        }
        let net = bernstein(&self.coefficients, 1.0);
        let net = &net[..NODES];
        let low = net.iter().copied().fold(f64::INFINITY, f64::min);
        let high = net.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let margin = 8.0 * error + 1e-12 * size;
        self.low = low - margin;
        self.high = high + margin;
        self.good = error <= 1e-7 * (high - low) + 1e-12 * size;
        self.error = error;
    }

    /// Extrema inside (0, 1), appended to `out`.
    pub(super) fn extrema(&self, out: &mut Vec<f64>) {
        let mut points = Default::default();
        let count = critical_points(&self.coefficients, 1.0, &mut points);
        out.extend_from_slice(&points[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventh_degree_is_exact() {
        let c = [0.3, -1.0, 2.0, 0.5, -4.0, 1.0, 3.0, -2.0];
        let values = POINTS.map(|theta| crate::maths::poly::eval(&c, theta));
        let mut model = Model::default();
        model.fit(&values);
        for (fitted, k) in model.coefficients.iter().zip(c) {
            assert!((fitted - k).abs() < 1e-11, "{fitted} {k}");
        }
        assert!(model.good);
        for k in 0..=100 {
            let value = crate::maths::poly::eval(&c, f64::from(k) / 100.0);
            assert!(model.low <= value && value <= model.high);
        }
    }

    #[test]
    fn a_kink_is_noticed() {
        let values = POINTS.map(|theta| (theta - 0.45).abs());
        let mut model = Model::default();
        model.fit(&values);
        assert!(!model.good);
    }
}
