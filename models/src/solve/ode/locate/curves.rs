//! Indicators that are polynomials over a step.

use super::{
    Event,
    walk::{Curves, Direct},
};
use crate::maths::poly::{self, Coefficients};

/// Terms below this part of the largest one do not decide where extrema are; roots are found on
/// the whole polynomial.
const NEGLIGIBLE: f64 = 1e-14;

/// Numbers that rounding may put between a root and where its polynomial is computed to have it.
const NEIGHBOURS: u32 = 64;

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
        let first = poly::first_satisfied(row, low, high, |z| event.satisfied(k, z));
        let mut e = first;
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
        // The sum may have been rounded to the wrong side; it must hold for the polynomial as well, whose
        // own root may lie farther on than rounding does.
        for e in [e, first] {
            let mut t = (self.start + e).min(to.0);
            for _ in 0..NEIGHBOURS {
                if t >= to.0 || event.satisfied(k, poly::eval(row, t - self.start)) {
                    return t;
                }
                t = t.next_up();
            }
        }
        to.0
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

/// Indicators that are parabolas: coefficients, and the place among these of each indicator's.
pub(crate) type Parabolas<'a> = (&'a [[f64; 3]], &'a [usize]);

/// When an event whose indicators are parabolas comes true, as [`Polynomials`] would say.
///
/// From each time at which some indicator is open, that is, not satisfied yet, on to where it comes to
/// be, by formula; the number that is exact in rounding is looked for once, where all are.
#[inline(always)]
pub(super) fn comes_true(
    event: &Event,
    (rows, places): Parabolas<'_>,
    (start, width): (f64, f64),
) -> Direct {
    let count = event.indicators.len();
    if event.graze.is_some() || count == 0 {
        return Direct::Unknown;
    }
    // The indicator in question; how many before it are known to be satisfied at `e`.
    let (mut place, mut good, mut e) = (0, 0, 0.0);
    // That which came to be satisfied last, and since when it was known to be open.
    let (mut last, mut before) = (count, 0.0);
    // Each comes to be satisfied twice at most.
    let mut rest = 2 * count;
    while good < count {
        let k = event.indicators[place];
        let c = &rows[places[k]];
        if place == last || event.satisfied(k, parabola(c, e)) {
            good += 1;
        } else {
            match root_after(c, 0.0, width, e, |e| parabola(c, e)) {
                Root::At(root) if rest > 0 => (last, before, e) = (place, e, root),
                Root::Never => return Direct::Never,
                _ => return Direct::Unknown,
            }
            (good, rest) = (1, rest - 1);
        }
        place = if place + 1 == count { 0 } else { place + 1 };
    }
    let Some(&k) = event.indicators.get(last) else { return Direct::Unknown };
    let c = &rows[places[k]];
    let satisfied = |e: f64| event.satisfied(k, parabola(c, e));
    let Some(e) = first_nearby(e, before, satisfied) else { return Direct::Unknown };
    // What was satisfied there may not be so next to it.
    for (place, &k) in event.indicators.iter().enumerate() {
        if place != last && !event.satisfied(k, parabola(&rows[places[k]], e)) {
            return Direct::Unknown;
        }
    }
    let t = start + e;
    // The sum may have been rounded to the wrong side.
    Direct::At(if start != 0.0 && !satisfied(t - start) { t.next_up() } else { t })
}

#[inline(always)]
fn parabola(&[c0, c1, c2]: &[f64; 3], e: f64) -> f64 {
    (c2 * e + c1) * e + c0
}

/// Terms beyond the second power that are this part of a polynomial do not decide how many roots it
/// has, where these are simple.
const SMALL: f64 = 1e-10;

/// Where an indicator that is not satisfied at `e`, that is, not negative, comes to be, if it is a
/// parabola but for small terms: the first number at which its computed value is.
fn satisfied_after(row: &[f64], width: f64, e: f64, satisfied: impl Fn(f64) -> bool) -> Direct {
    let (c, tail) = match *row {
        [c0, c1, c2] => ([c0, c1, c2], 0.0),
        [c0, c1, c2, ref more @ ..] => {
            let size = more.iter().rev().fold(0.0, |sum, c| (sum + c.abs()) * width);
            ([c0, c1, c2], size * width * width)
        }
        [c0, c1] => ([c0, c1, 0.0], 0.0),
        _ => return Direct::Unknown,
    };
    let mut root = match root_after(&c, tail, width, e, |e| poly::eval(row, e)) {
        Root::At(root) => root,
        Root::Never => return Direct::Never,
        Root::Unknown => return Direct::Unknown,
    };
    if tail > 0.0 {
        let (value, slope) = poly::eval_slope(row, root);
        root -= value / slope;
    }
    match first_nearby(root, e, |e| satisfied(poly::eval(row, e))) {
        Some(e) => Direct::At(e),
        None => Direct::Unknown,
    }
}

/// What a formula says of the time at which an indicator comes to be satisfied.
enum Root {
    Unknown,
    Never,
    At(f64),
}

/// By formula, where an indicator that is open at `e` comes to be satisfied: a parabola, and `tail`,
/// the size of further terms. `value` computes all of it.
#[inline(always)]
fn root_after(
    &[c0, c1, c2]: &[f64; 3],
    tail: f64,
    width: f64,
    e: f64,
    value: impl Fn(f64) -> f64,
) -> Root {
    let size = c0.abs() + (c1.abs() + c2.abs() * width) * width;
    if tail > 0.0 {
        if 2.0 * c0 > size + tail {
            return Root::Never;
        }
        if tail > SMALL * size {
            return Root::Unknown;
        }
    }
    let slope = |e: f64| 2.0 * c2 * e + c1;
    let clear = |slope: f64| tail == 0.0 || slope.abs() * width > 1e-4 * size;
    let root = if c2 == 0.0 {
        if c1 >= 0.0 {
            return if value(e) > tail { Root::Never } else { Root::Unknown };
        }
        -c0 / c1
    } else {
        let discriminant = c1 * c1 - 4.0 * c0 * c2;
        // Touching is a matter of rounding.
        if discriminant.abs() <= 1e-14 * (c1 * c1) + 8.0 * c2.abs() * tail {
            return Root::Unknown;
        }
        if discriminant < 0.0 {
            return if c2 > 0.0 { Root::Never } else { Root::Unknown };
        }
        // It falls through zero at the first root if it opens upwards, else at the second: where
        // its slope is minus the root of the discriminant.
        let root = discriminant.sqrt();
        if c1 > 0.0 { -0.5 * (c1 + root) / c2 } else { 2.0 * c0 / (root - c1) }
    };
    if root <= e || root.is_nan() {
        let rises = c2 > 0.0 && slope(e) > 0.0 && (tail == 0.0 || value(e) > tail);
        return if rises { Root::Never } else { Root::Unknown };
    }
    if !clear(slope(e)) && value(e) <= tail {
        return Root::Unknown;
    }
    if root > width {
        return if root < f64::INFINITY { Root::Never } else { Root::Unknown };
    }
    if !clear(slope(root)) {
        return Root::Unknown;
    }
    Root::At(root)
}

/// The first number, near a positive `root` by formula and behind `e`, at which the computed value is
/// satisfied.
#[inline(always)]
fn first_nearby(root: f64, e: f64, satisfied: impl Fn(f64) -> bool) -> Option<f64> {
    /// Numbers between a root by formula and that of the computed value.
    const APART: u32 = 8;
    let mut root = root;
    let over = satisfied(root);
    for _ in 0..APART {
        // Its neighbour: it is positive and finite.
        let bits = root.to_bits();
        let next = f64::from_bits(if over { bits - 1 } else { bits + 1 });
        if next <= e {
            break;
        }
        match (over, satisfied(next)) {
            (true, true) | (false, false) => root = next,
            (true, false) => return Some(root),
            (false, true) => return Some(next),
        }
    }
    None
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
