//! Signs of polynomials between 0 and 1, and places where they turn.
use serde::{Deserialize, Serialize};
use superdense_models::maths::poly::{self, Direction};

/// The sign of a comparison's difference up to a place between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Side {
    pub to: f64,
    pub sign: f64,
}

/// The sign just before a place.
pub(super) fn before(sides: &[Side], to: f64) -> f64 {
    sides.iter().find(|side| side.to >= to).map_or(0.0, |side| side.sign)
}

/// The history of a comparison's difference.
///
/// **Why.** A signal that begins on its threshold, is put onto it or touches it is beyond it by rounding, for a
/// while that depends on the method. Such a while is none: the side before goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Its largest coefficient.
    size: f64,
    /// Its last sign; zero before the first.
    sign: f64,
}

/// The share of the largest difference so far within which a sign is rounding: pieces are as good as that.
const ROUNDING: f64 = 1e-11;

impl Seen {
    /// A value at an instant; its last sign if it is rounding.
    pub(super) fn kept(&self, z: f64) -> f64 {
        if z != 0.0 && z.abs() <= ROUNDING * self.size { self.sign } else { z }
    }

    /// The sign of a polynomial that has only one between 0 and 1, if that shows at once.
    pub(super) fn side(&mut self, c: &[f64]) -> Option<f64> {
        self.size = c.iter().fold(self.size, |size, c| size.max(c.abs()));
        if let [level] = c {
            // Equal numbers are equal.
            self.sign = if *level == 0.0 { 0.0 } else { level.signum() };
            return Some(self.sign);
        }
        let rest: f64 = c[1..].iter().map(|c| c.abs()).sum();
        if c[0].abs() - rest <= ROUNDING * self.size {
            return None;
        }
        self.sign = c[0].signum();
        Some(self.sign)
    }

    /// The signs of a polynomial between 0 and 1.
    pub(super) fn sides(&mut self, c: &[f64]) -> Vec<Side> {
        if let Some(sign) = self.side(c) {
            return vec![Side { to: 1.0, sign }];
        }
        let mut ends = vec![0.0];
        ends.extend(roots(c).into_iter().filter(|&at| at > 0.0 && at < 1.0));
        ends.push(1.0);
        let known = |pair: &[f64]| {
            let z = |share: f64| poly::eval(c, pair[0] + share * (pair[1] - pair[0]));
            let most = [0.25, 0.5, 0.75].map(z).into_iter().fold(0.0f64, |m, z| m.max(z.abs()));
            (most > ROUNDING * self.size).then(|| z(0.5).signum())
        };
        let signs: Vec<Option<f64>> = ends.windows(2).map(known).collect();
        let first = signs.iter().flatten().next().copied().unwrap_or(0.0);
        let mut last = if self.sign == 0.0 { first } else { self.sign };
        let side = |(pair, sign): (&[f64], &Option<f64>)| {
            last = sign.unwrap_or(last);
            Side { to: pair[1], sign: last }
        };
        let sides: Vec<Side> = ends.windows(2).zip(&signs).map(side).collect();
        self.sign = last;
        sides
    }
}

/// Where a polynomial turns between 0 and 1.
pub(super) fn extrema(c: &[f64]) -> Vec<f64> {
    let bend: f64 = c.iter().enumerate().skip(2).map(|(k, c)| k as f64 * c.abs()).sum();
    if c.get(1).is_none_or(|slope| slope.abs() > bend) {
        return Vec::new();
    }
    let mut slope = vec![0.0; c.len().saturating_sub(1)];
    poly::derivative(c, &mut slope);
    roots(&slope)
}

/// Where a polynomial changes its sign between 0 and 1.
fn roots(c: &[f64]) -> Vec<f64> {
    let (mut out, mut from) = (Vec::new(), 0.0);
    while let Some(root) = poly::earliest_root(c, from, 1.0, Direction::Both)
        && root.at > from
        && out.len() < c.len()
    {
        out.push(root.at);
        from = root.at;
    }
    out
}
