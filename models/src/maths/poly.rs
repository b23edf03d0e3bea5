//! Small polynomials in powers of `e`, the time since some tag.
//!
//! A polynomial is a slice of Taylor coefficients, `c[0] + c[1] e + c[2] e² + ...` (coefficients,
//! not derivatives), with `e` in seconds. Segments that units exchange, quantised states, Taylor
//! steps and dense output all are such slices; an event of a polynomial indicator is a root.
//!
//! # Why roots are found piece by piece
//! Between two neighbouring zeros of its derivative a polynomial is monotone, so that one sign
//! comparison decides whether it has a root there, and a bracketed iteration cannot miss it. An
//! undetected *double* zero of the derivative does no harm (the polynomial stays monotone), hence
//! only sign changes of the derivative matter, and those are what Bernstein subdivision isolates
//! safely (Lane & Riesenfeld 1981, "Bounds on a polynomial", BIT 21, 112-117: the number of sign
//! variations of the Bernstein coefficients bounds the number of roots from above).
//!
//! ```
//! use superdense_models::maths::poly::{Direction, earliest_root};
//! // A ball thrown from 1 m at 2 m/s under 10 m/s² is back on the ground after 0.69 s.
//! let height = [1.0, 2.0, -5.0];
//! let hit = earliest_root(&height, 0.0, f64::INFINITY, Direction::Falling).unwrap();
//! assert!((hit.at - (2.0 + 24f64.sqrt()) / 10.0).abs() < 1e-15);
//! ```

use serde::{Deserialize, Serialize};

mod roots;

pub(crate) use roots::{bernstein, critical_points, first_satisfied, root_bound};

/// Largest degree that the root finders accept.
pub const MAX_DEGREE: usize = 31;

/// Room for the coefficients of a polynomial of [`MAX_DEGREE`].
pub(crate) type Coefficients = [f64; MAX_DEGREE + 1];

/// Value at `e` by Horner's rule; the empty slice is zero.
///
/// ```
/// assert_eq!(superdense_models::maths::poly::eval(&[1.0, -2.0, 1.0], 3.0), 4.0);
/// ```
#[inline]
pub fn eval(c: &[f64], e: f64) -> f64 {
    // By far the most are parabolas or shorter, where a loop costs more than its sums.
    match *c {
        [c0, c1, c2] => (c2 * e + c1) * e + c0,
        [c0, c1] => c1 * e + c0,
        _ => c.iter().rev().fold(0.0, |sum, &k| sum * e + k),
    }
}

/// The sum of the magnitudes of all terms at `e`, of which rounding is a part.
#[inline]
pub(crate) fn size(c: &[f64], e: f64) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * e.abs() + c.abs())
}

/// Value and first derivative at `e` in one pass.
///
/// ```
/// assert_eq!(superdense_models::maths::poly::eval_slope(&[1.0, -2.0, 1.0], 3.0), (4.0, 4.0));
/// ```
#[inline]
pub fn eval_slope(c: &[f64], e: f64) -> (f64, f64) {
    c.iter().rev().fold((0.0, 0.0), |(value, slope), &k| (value * e + k, slope * e + value))
}

/// Writes the derivative of `c` into `out` and returns how many coefficients it has.
///
/// `out` holds at least `c.len() - 1` values; the rest is left alone.
///
/// ```
/// let mut d = [0.0; 2];
/// assert_eq!(superdense_models::maths::poly::derivative(&[5.0, 3.0, 2.0], &mut d), 2);
/// assert_eq!(d, [3.0, 4.0]);
/// ```
pub fn derivative(c: &[f64], out: &mut [f64]) -> usize {
    let mut order = 0.0;
    for (slot, &k) in out.iter_mut().zip(c.iter().skip(1)) {
        order += 1.0;
        *slot = order * k;
    }
    c.len().saturating_sub(1)
}

/// Moves the origin to `e0`: afterwards `c` describes the same polynomial in `e - e0`.
///
/// Repeated synthetic division (Knuth, The Art of Computer Programming 2, 4.6.4).
///
/// ```
/// let mut c = [1.0, 0.0, 1.0];
/// superdense_models::maths::poly::shift(&mut c, 2.0);
/// assert_eq!(c, [5.0, 4.0, 1.0]);
/// ```
pub fn shift(c: &mut [f64], e0: f64) {
    if e0 == 0.0 {
        return;
    }
    for first in 0..c.len().saturating_sub(1) {
        for k in (first..c.len() - 1).rev() {
            c[k] += e0 * c[k + 1];
        }
    }
}

/// Which crossings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
    /// Either way.
    Both,
}

/// How a polynomial meets zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootKind {
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
}

/// A root as found by [`earliest_root`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// Where, in the same `e` as the polynomial.
    pub at: f64,
    /// How.
    pub kind: RootKind,
}

impl Direction {
    fn accepts(self, kind: RootKind) -> bool {
        match kind {
            RootKind::Rising => self != Direction::Falling,
            RootKind::Falling => self != Direction::Rising,
        }
    }
}

/// Earliest root of `c` in `(a, b]`; `b` may be infinite.
///
/// A root at `a` itself does not count, only a later return to zero; nor does an extremum at zero. From
/// degree three on, the returned value is the first one (to one unit in the last place of
/// `at - a`) at which the computed polynomial has its new sign: never early. The zero polynomial
/// has no root, and neither has one with a coefficient that is not finite.
///
/// Linear and quadratic polynomials are solved in closed form without cancellation, so a leading
/// coefficient that hardly matters need not be dropped by the caller.
///
/// # Panics
/// If `c` has more than [`MAX_DEGREE`] + 1 coefficients.
///
/// ```
/// use superdense_models::maths::poly::{Direction, RootKind, earliest_root};
/// let touching = [1.0, -2.0, 1.0]; // (e - 1)²
/// assert!(earliest_root(&touching, 0.0, 2.0, Direction::Both).is_none());
/// let root = earliest_root(&[1.0, -1.0], 0.0, 2.0, Direction::Both).unwrap();
/// assert_eq!((root.at, root.kind), (1.0, RootKind::Falling));
/// ```
pub fn earliest_root(c: &[f64], a: f64, b: f64, direction: Direction) -> Option<Root> {
    assert!(c.len() <= MAX_DEGREE + 1, "polynomial of degree {} is too large", c.len() - 1);
    let length = c.len() - c.iter().rev().take_while(|&&k| k == 0.0).count();
    if length < 2 || b.is_nan() || a.is_nan() || b <= a || c.iter().any(|k| !k.is_finite()) {
        return None;
    }
    let mut own: Coefficients = [0.0; MAX_DEGREE + 1];
    let own = &mut own[..length];
    own.copy_from_slice(&c[..length]);
    shift(own, a);
    let root = match *own {
        [c0, c1] => roots::linear(c0, c1, b - a, direction),
        [c0, c1, c2] => roots::quadratic(c0, c1, c2, b - a, direction),
        _ => roots::general(own, b - a, direction),
    }?;
    // The sum may round beyond b.
    Some(Root { at: (a + root.at).min(b), kind: root.kind })
}

/// Earliest `e` in `[0, h]` at which the magnitude of the polynomial leaves `band`; zero if it is
/// outside from the start, or on the border and on its way out. `h` may be infinite.
///
/// With the difference between a unit's own solution and the segment that receivers hold, this is
/// the time of its next segment for an exchange tolerance of `band`.
///
/// ```
/// use superdense_models::maths::poly::first_exceed;
/// assert_eq!(first_exceed(&[0.0, 0.0, -0.5], 0.5, 2.0), Some(1.0));
/// assert_eq!(first_exceed(&[0.0, 0.0, -0.5], 0.5, 0.9), None);
/// ```
pub fn first_exceed(c: &[f64], band: f64, h: f64) -> Option<f64> {
    let (&first, rest) = c.split_first()?;
    // Roots at the start itself are none, so that the border is decided here.
    let outwards =
        || rest.iter().find(|k| **k != 0.0).is_some_and(|k| first == 0.0 || k * first > 0.0);
    if first.abs() > band || first.abs() == band && outwards() {
        return Some(0.0);
    }
    let worst = first.abs() + h * rest.iter().rev().fold(0.0, |sum, k| sum * h + k.abs());
    if worst <= band {
        return None;
    }
    let mut own: Coefficients = [0.0; MAX_DEGREE + 1];
    let own = &mut own[..c.len()];
    own.copy_from_slice(c);
    own[0] = first - band;
    let above = earliest_root(own, 0.0, h, Direction::Rising).map(|root| root.at);
    own[0] = first + band;
    let below = earliest_root(own, 0.0, h, Direction::Falling).map(|root| root.at);
    match (above, below) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
