//! Indicators that are polynomials over a step.

use super::Event;
use super::walk::{Curves, Direct};
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
    fn count(&self) -> usize {
        self.rows.rows.len() / self.rows.stride.max(1)
    }

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

    /// Parabolas have closed forms: from each time at which some indicator is not satisfied yet, on
    /// to where it comes to be, until all are.
    fn direct(&mut self, event: &Event, (low, high): (f64, f64)) -> Direct {
        if event.graze.is_some() {
            return Direct::Unknown;
        }
        let mut t = low;
        // An indicator comes to be satisfied twice at most.
        for _ in 0..=2 * event.indicators.len() {
            let e = t - self.start;
            let open = |&&k: &&usize| !event.satisfied(k, poly::eval(self.rows.row(k), e));
            let Some(&k) = event.indicators.iter().find(open) else {
                return if t > low { Direct::At(t) } else { Direct::Unknown };
            };
            let row = self.rows.row(k);
            match satisfied_after(row, self.width, e, |z| event.satisfied(k, z)) {
                Direct::At(next) => t = self.start + next,
                other => return other,
            }
            if t > high {
                return Direct::Never;
            }
            // The sum may have been rounded to the wrong side.
            if !event.satisfied(k, poly::eval(row, t - self.start)) {
                t = t.next_up();
            }
            // Series are refined on what they stand for.
            if (self.correct)(k, t).is_some() {
                return Direct::Unknown;
            }
        }
        Direct::Unknown
    }
}

/// Most indicators of an event that is looked at as below.
const FEW: usize = 4;

/// When an event whose indicators are parabolas comes true, as [`Polynomials`] would say.
#[inline]
pub(super) fn comes_true(
    event: &Event,
    row: &impl Fn(usize) -> Option<[f64; 3]>,
    (start, width): (f64, f64),
) -> Direct {
    let count = event.indicators.len();
    if event.graze.is_some() || count > FEW {
        return Direct::Unknown;
    }
    let mut rows = [[0.0; 3]; FEW];
    for (c, &k) in rows.iter_mut().zip(&event.indicators) {
        match row(k) {
            Some(parabola) => *c = parabola,
            None => return Direct::Unknown,
        }
    }
    let rows = &rows[..count];
    let mut t = start;
    // An indicator comes to be satisfied twice at most.
    for _ in 0..=2 * count {
        let e = t - start;
        let value = |c: &[f64; 3], e: f64| (c[2] * e + c[1]) * e + c[0];
        let open =
            rows.iter().zip(&event.indicators).find(|&(c, &k)| !event.satisfied(k, value(c, e)));
        let Some((c, &k)) = open else {
            return if t > start { Direct::At(t) } else { Direct::Unknown };
        };
        match satisfied_after(c, width, e, |z| event.satisfied(k, z)) {
            Direct::At(next) => t = start + next,
            other => return other,
        }
        if t > start + width {
            return Direct::Never;
        }
        // The sum may have been rounded to the wrong side.
        if start != 0.0 && !event.satisfied(k, value(c, t - start)) {
            t = t.next_up();
        }
    }
    Direct::Unknown
}

/// Terms beyond the second power that are this part of a polynomial do not decide how many roots it
/// has, where these are simple.
const SMALL: f64 = 1e-10;

/// Where an indicator that is not satisfied at `e`, that is, not negative, comes to be, if it is a
/// parabola but for small terms: the first number at which its computed value is.
#[inline(always)]
fn satisfied_after(row: &[f64], width: f64, e: f64, satisfied: impl Fn(f64) -> bool) -> Direct {
    /// Numbers between a root by formula and that of the computed value.
    const APART: u32 = 8;
    let (c0, c1, c2, tail) = match *row {
        [c0, c1, c2] => (c0, c1, c2, 0.0),
        [c0, c1, c2, ref more @ ..] => {
            let size = more.iter().rev().fold(0.0, |sum, c| (sum + c.abs()) * width);
            (c0, c1, c2, size * width * width)
        }
        [c0, c1] => (c0, c1, 0.0, 0.0),
        _ => return Direct::Unknown,
    };
    let parabola = row.len() <= 3;
    let size = c0.abs() + (c1.abs() + c2.abs() * width) * width;
    if 2.0 * c0 > size + tail {
        return Direct::Never;
    }
    if !parabola && tail > SMALL * size {
        return Direct::Unknown;
    }
    let slope = |e: f64| 2.0 * c2 * e + c1;
    let clear = |slope: f64| parabola || tail == 0.0 || slope.abs() * width > 1e-4 * size;
    let value = |e: f64| if parabola { (c2 * e + c1) * e + c0 } else { poly::eval(row, e) };
    let root = if c2 == 0.0 {
        if c1 >= 0.0 {
            return if value(e) > tail { Direct::Never } else { Direct::Unknown };
        }
        -c0 / c1
    } else {
        let discriminant = c1 * c1 - 4.0 * c0 * c2;
        // Touching is a matter of rounding.
        if discriminant.abs() <= 1e-14 * (c1 * c1) + 8.0 * c2.abs() * tail {
            return Direct::Unknown;
        }
        if discriminant < 0.0 {
            return if c2 > 0.0 { Direct::Never } else { Direct::Unknown };
        }
        // It falls through zero at the first root if it opens upwards, else at the second: where
        // its slope is minus the root of the discriminant.
        let root = discriminant.sqrt();
        if c1 > 0.0 { -0.5 * (c1 + root) / c2 } else { 2.0 * c0 / (root - c1) }
    };
    // Also sorts out what is not finite.
    if !(root > e && root < f64::INFINITY) {
        let rises = c2 > 0.0 && slope(e) > 0.0 && (tail == 0.0 || value(e) > tail);
        return if rises { Direct::Never } else { Direct::Unknown };
    }
    if !clear(slope(e)) && value(e) <= tail {
        return Direct::Unknown;
    }
    if root > width {
        return Direct::Never;
    }
    if !clear(slope(root)) {
        return Direct::Unknown;
    }
    let mut root = root;
    if !parabola && tail > 0.0 {
        let (value, slope) = poly::eval_slope(row, root);
        root -= value / slope;
    }
    let over = satisfied(value(root));
    for _ in 0..APART {
        // Its neighbour: it is positive and finite.
        let bits = root.to_bits();
        let next = f64::from_bits(if over { bits - 1 } else { bits + 1 });
        if next <= e {
            break;
        }
        match (over, satisfied(value(next))) {
            (true, true) | (false, false) => root = next,
            (true, false) => return Direct::At(root),
            (false, true) => return Direct::At(next),
        }
    }
    Direct::Unknown
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
