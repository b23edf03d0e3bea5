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
/// while that depends on the method. Such a while is none: the side before goes on. A signal that is stopped where it
/// comes to its threshold stands there, and its difference is zero; rounding has put it to one side or the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Its largest coefficient.
    size: f64,
    /// Its last sign; zero before the first.
    sign: f64,
    /// Where the last piece ended.
    end: f64,
    /// How far its end may lie before or behind the threshold at which it was to stop: an event comes at a tick.
    reach: f64,
}

/// The share of the largest difference so far within which a sign is rounding: pieces are as good as that.
const ROUNDING: f64 = 1e-11;
/// A tick, in the parts of it by which it may precede an event.
const LATE: f64 = 512.0;

impl Seen {
    /// A value at an instant; its last sign if it is rounding.
    pub(super) fn kept(&self, z: f64) -> f64 {
        if z != 0.0 && z.abs() <= self.rounding() { self.sign } else { z }
    }

    /// How large a difference is still rounding.
    fn rounding(&self) -> f64 {
        self.reach.max(ROUNDING * self.size)
    }

    /// The sign of a polynomial that has only one between 0 and 1, if that shows at once. `early` is the part of
    /// this piece by which a tick may precede the event that it stands for.
    pub(super) fn side(&mut self, c: &[f64], early: f64) -> Option<f64> {
        self.size = c.iter().fold(self.size, |size, c| size.max(c.abs()));
        let rest: f64 = c[1..].iter().map(|c| c.abs()).sum();
        let level = c[1..].iter().all(|c| *c == 0.0);
        let within = c[0].abs() + rest <= self.rounding();
        // A value that moves along its threshold was put there, up to a tick late; one that stands keeps its overshoot.
        let reach = if level { self.reach } else { LATE * self.reach };
        let came = (c[0] - self.end).abs() <= self.rounding().max(reach) && self.end.abs() <= reach;
        if within && came {
            // Faster than anything that only approaches.
            self.sign = 0.0;
        } else if level {
            // Equal numbers are equal.
            self.sign = if c[0] == 0.0 { 0.0 } else { c[0].signum() };
        }
        let known = level || c[0].abs() - rest > ROUNDING * self.size;
        if known && !level {
            self.sign = c[0].signum();
        }
        self.end = c.iter().sum();
        if !level && !within {
            let slope: f64 = c.iter().enumerate().map(|(k, c)| k as f64 * c).sum();
            self.reach = slope.abs() * early;
        }
        known.then_some(self.sign)
    }

    /// The signs of a polynomial between 0 and 1, as for [`side`](Self::side).
    pub(super) fn sides(&mut self, c: &[f64], early: f64) -> Vec<Side> {
        if let Some(sign) = self.side(c, early) {
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
        let mut sides: Vec<Side> = ends.windows(2).zip(&signs).map(side).collect();
        self.sign = last;
        // A piece that begins on its threshold but for rounding has come to it from no side.
        if let [.., Some(_), _] = signs[..] {
            self.stand(&mut sides, &ends, early);
        }
        sides
    }

    /// Where a piece ends on its threshold, beyond it by less than a tick, an event has ended it there: it stands on it
    /// at this instant, whatever follows.
    fn stand(&mut self, sides: &mut Vec<Side>, ends: &[f64], early: f64) {
        let [.., begin, root, _] = ends else { return };
        let overshoots = 1.0 - root <= LATE * early && root > begin;
        if overshoots && self.end.abs() <= LATE * self.reach {
            let to = *root;
            let before = sides.iter().rfind(|side| side.to <= to).map_or(0.0, |side| side.sign);
            sides.retain(|side| side.to < to);
            sides.extend([Side { to, sign: before }, Side { to: 1.0, sign: 0.0 }]);
            self.sign = 0.0;
        }
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
