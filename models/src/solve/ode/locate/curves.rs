//! Functions that are polynomials over a step.

use super::walk::Curve;
use crate::maths::poly::{self, Coefficients};

/// Terms below this part of the largest one do not decide where extrema are; roots are found on
/// the whole polynomial.
const NEGLIGIBLE: f64 = 1e-14;

/// A series may leave out so much of a function, relative to its first coefficient or absolutely.
const LEFT_OUT: f64 = 1e-9;

/// A polynomial's largest deviation from its first coefficient, up to `width`.
#[inline]
pub fn spread(c: &[f64], width: f64) -> f64 {
    width * c[1..].iter().rev().fold(0.0, |sum, k| sum * width + k.abs())
}

/// A polynomial on `[start, start + width]`. `correct(t)` gives the true value of a function of which
/// the polynomial is only the beginning of a series.
pub(super) struct Polynomial<'a, R> {
    pub row: &'a [f64],
    pub start: f64,
    pub width: f64,
    pub correct: R,
}

impl<R: FnMut(f64) -> Option<f64>> Curve for Polynomial<'_, R> {
    fn value(&mut self, t: f64) -> f64 {
        let z = poly::eval(self.row, t - self.start);
        // A series leaves out more than rounding, which decides where the function only just comes to zero.
        let near = z.abs() <= LEFT_OUT * (1.0 + self.row[0].abs());
        if near { (self.correct)(t).unwrap_or(z) } else { z }
    }

    fn range(&self) -> (f64, f64) {
        let row = self.row;
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

    fn partition(&self, out: &mut Vec<f64>) {
        let length = significant(self.row, self.width);
        let mut points: Coefficients = Coefficients::default();
        let count = poly::critical_points(&self.row[..length], self.width, &mut points);
        out.extend(points[..count].iter().map(|e| self.start + e));
    }

    fn rounding(&self, t: f64) -> f64 {
        4.0 * f64::EPSILON * poly::size(self.row, t - self.start)
    }

    fn root(&mut self, level: f64, sign: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
        let mut c = [0.0; poly::MAX_DEGREE + 1];
        let row = &mut c[..self.row.len()];
        row.copy_from_slice(self.row);
        row[0] -= level;
        let (low, high) = (from.0 - self.start, to.0 - self.start);
        let mut e = poly::first_satisfied(row, low, high, |z| sign * z <= 0.0);
        // The series is refined on the function that it stands for.
        for _ in 0..4 {
            let Some(z) = (self.correct)(self.start + e) else { break };
            let z = z - level;
            let slope = poly::eval_slope(row, e).1;
            let next = e - z / slope;
            if !next.is_finite() || next <= low || next >= high || next == e {
                break;
            }
            let small = (next - e).abs() <= 4.0 * f64::EPSILON * e;
            e = next;
            if small {
                break;
            }
        }
        (self.start + e).min(to.0)
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
