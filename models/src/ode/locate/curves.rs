//! Indicators that are polynomials over a step.

use super::Event;
use super::walk::Curves;
use crate::poly::{self, Coefficients};

/// Terms below this part of the largest one do not decide where extrema are; roots are found on
/// the whole polynomial.
const NEGLIGIBLE: f64 = 1e-14;

/// Polynomials over a step in `e`, seconds from its start: one row of coefficients per indicator.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Coefficients, row by row.
    pub rows: &'a [f64],
    /// Length of the rows.
    pub stride: usize,
}

impl<'a> Rows<'a> {
    /// Row `k`.
    #[inline]
    pub fn row(&self, k: usize) -> &'a [f64] {
        &self.rows[k * self.stride..][..self.stride]
    }
}

/// A polynomial's largest deviation from its first coefficient, up to `width`.
#[inline]
pub fn spread(c: &[f64], width: f64) -> f64 {
    width * c[1..].iter().rev().fold(0.0, |sum, k| sum * width + k.abs())
}

/// Polynomial indicators on `[start, start + width]`. `correct(k, t)` gives the true value of an
/// indicator of which the polynomial is only the beginning of a series.
pub(super) struct Polynomials<'a, R> {
    pub rows: Rows<'a>,
    pub start: f64,
    pub width: f64,
    pub correct: R,
}

impl<R: FnMut(usize, f64) -> Option<f64>> Curves for Polynomials<'_, R> {
    fn fill(&mut self, event: &Event, t: f64, row: &mut [f64]) {
        for &k in &event.indicators {
            row[k] = poly::eval(self.rows.row(k), t - self.start);
        }
    }

    fn range(&self, k: usize) -> (f64, f64) {
        let row = self.rows.row(k);
        let spread = spread(row, self.width);
        let (low, high) = (row[0] - spread, row[0] + spread);
        if low > 0.0 || high < 0.0 || row.len() <= 3 || !spread.is_finite() {
            return (low, high);
        }
        let length = significant(row, self.width);
        let net = poly::bernstein(&row[..length], self.width);
        let net = &net[..length];
        let margin = spread * length as f64 * NEGLIGIBLE;
        let least = net.iter().copied().fold(f64::INFINITY, f64::min);
        let most = net.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least - margin, most + margin)
    }

    fn partition(&self, k: usize, out: &mut Vec<f64>) {
        let row = self.rows.row(k);
        let length = significant(row, self.width);
        let mut points: Coefficients = Coefficients::default();
        let count = poly::critical_points(&row[..length], self.width, &mut points);
        out.extend(points[..count].iter().map(|e| self.start + e));
    }

    fn root(&mut self, event: &Event, k: usize, from: (f64, f64), to: (f64, f64)) -> f64 {
        let row = self.rows.row(k);
        let (low, high) = (from.0 - self.start, to.0 - self.start);
        let mut e = poly::first_satisfied(row, low, high, |z| event.satisfied(k, z));
        // The series is refined on the function that it stands for.
        for _ in 0..4 {
            let Some(z) = (self.correct)(k, self.start + e) else { break };
            let (value, slope) = poly::eval_slope(row, e);
            if event.satisfied(k, z) && (z - value).abs() <= 4.0 * f64::EPSILON * row[0].abs() {
                break;
            }
            let step = z / slope;
            let next = e - step * if event.satisfied(k, z) { 1.0 } else { 1.0 + 1e-12 };
            if !next.is_finite() || next <= low || next >= high || next == e {
                break;
            }
            e = next;
        }
        // The sum may have been rounded to the wrong side.
        let mut t = (self.start + e).min(to.0);
        while t < to.0 && !event.satisfied(k, poly::eval(row, t - self.start)) {
            t = t.next_up();
        }
        t
    }
}

/// How many coefficients matter over `width`.
fn significant(row: &[f64], width: f64) -> usize {
    let (mut power, mut largest) = (1.0, 0.0_f64);
    let mut length = 1;
    for (k, c) in row.iter().enumerate() {
        let term = c.abs() * power;
        if term > NEGLIGIBLE * largest {
            length = k + 1;
        }
        largest = largest.max(term);
        power *= width;
    }
    // A later term may have dwarfed those that seemed to matter; earlier ones stay anyway.
    length
}
