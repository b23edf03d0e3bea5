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
/// comes to its threshold stands there, and its difference is zero; rounding has put it to one side or the other. One
/// that an event turns back there is zero at that instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Its largest coefficient.
    size: f64,
    /// How large it is still rounding, where it stands.
    rounding: f64,
    /// Its last sign; zero before the first.
    sign: f64,
    /// Where the last piece ended.
    end: f64,
    /// How far it went at that end within the time by which a tick may precede its event, with the sign of its slope:
    /// so far before or behind the threshold an event has ended it. Zero if no event did, or if it does not surely move.
    pace: f64,
    /// How far it went there within a tick, by which an event may come late.
    late: f64,
    /// How far off the unit that ended it there may have known it.
    band: f64,
    /// Whether it is on its threshold for the instant at which the last piece began.
    turned: bool,
    /// Whether it surely moved towards its threshold at the end of the last piece, and not as values do that only
    /// approach.
    nears: bool,
}

/// The share of a value within which it is rounding: pieces are as good as that. A value that decays has the rounding
/// of what it was for sums only, and then of what it is.
pub(super) const ROUNDING: f64 = 1e-11;
/// The share of the largest value so far that sums may have left of it as rounding.
pub(super) const LEFT: f64 = 4.0 * f64::EPSILON;
/// A difference below this share of the largest one so far may be one of values that have decayed.
const NEAR: f64 = 1e-9;
/// The share of the rounding of pieces that sums of numbers have.
const EXACT: f64 = 64.0 * f64::EPSILON / ROUNDING;
/// A tick, in the parts of it by which it may precede an event.
const LATE: f64 = 512.0;
/// The share of what its terms give at which a slope is one.
const SURE: f64 = 1e-9;
/// A value that only approaches its threshold moves less far within a piece, in roundings, once it is as near as one.
const MOVES: f64 = 1e3;

impl Seen {
    /// A value at an instant. If it is rounding, it is zero where it has moved there, and keeps its last sign elsewhere.
    pub(super) fn kept(&self, z: f64) -> f64 {
        if z == 0.0 || z.abs() > self.rounding() {
            z
        } else if self.nears {
            0.0
        } else {
            self.sign
        }
    }

    /// Its last sign.
    pub(super) fn sign(&self) -> f64 {
        self.sign
    }

    /// How large a difference is still rounding.
    fn rounding(&self) -> f64 {
        self.pace.abs().max(self.rounding)
    }

    /// Whether it is so small that [`side`](Self::side) asks for the rounding of the values in it.
    pub(super) fn is_near(&self) -> bool {
        self.end.abs() <= NEAR * self.size
    }

    /// Takes the next piece, a polynomial from 0 to 1, and gives its sign if it has but one and that shows at once;
    /// else [`sides`](Self::sides) tells. `early` is the part of this piece by which a tick may precede the event that
    /// it stands for; `band` is given where one ends it: how far off the unit that brings it about may know the
    /// difference. `rounding` is that of the values in it, where it is near its threshold.
    pub(super) fn side(
        &mut self,
        c: &[f64],
        (early, band): (f64, Option<f64>),
        rounding: Option<f64>,
    ) -> Option<f64> {
        // Without a number it has no side, and what it was goes on behind that.
        if c[0].is_nan() {
            return Some(f64::NAN);
        }
        let rest: f64 = c[1..].iter().map(|c| c.abs()).sum();
        // Only larger ones than all before can raise the size.
        if c[0].abs() + rest > self.size {
            self.size = c.iter().fold(self.size, |size, c| size.max(c.abs()));
        }
        let most = ROUNDING * self.size;
        self.rounding = rounding.map_or(most, |own| own.min(most));
        self.turned = self.is_turned(c);
        let level = rest == 0.0;
        let terms = c.iter().enumerate().skip(1).map(|(k, c)| k as f64 * c);
        let (slope, all) = terms.fold((0.0, 0.0), |(sum, all), c| (sum + c, all + c.abs()));
        let slope = if slope.abs() > SURE * all { slope } else { 0.0 };
        // Nobody has stopped a value that goes on.
        let leaves = slope * c[0] > 0.0 && rest > self.rounding;
        let within = !leaves && c[0].abs() + rest <= self.rounding();
        // A value that moves along its threshold was put there, up to a tick late; one that stands keeps its overshoot.
        // Beside it rounding may have left it, too, if it surely moved there.
        let exact = if self.pace == 0.0 { 0.0 } else { EXACT * self.rounding };
        let reach = if level { self.pace.abs().max(exact) } else { self.late };
        let came = (c[0] - self.end).abs() <= self.rounding().max(reach) && self.end.abs() <= reach;
        let known = level || c[0].abs() - rest > self.rounding;
        // It has stood on its threshold, and less than a tick has gone by: its event is still to come.
        let stands = self.sign == 0.0 && LATE * early >= 1.0 && c[0].abs() + rest <= reach;
        let stops = within && came;
        if stops || known && stands {
            // Faster than anything that only approaches.
            self.sign = 0.0;
        } else if known {
            // Equal numbers are equal.
            self.sign = if c[0] == 0.0 { 0.0 } else { c[0].signum() };
        }
        self.nears = slope * self.sign < 0.0 && slope.abs() > MOVES * self.rounding;
        self.end = c.iter().sum();
        self.band = band.unwrap_or(0.0);
        if !level && !stops {
            let slope = if band.is_some() { slope } else { 0.0 };
            // Before the piece it may have gone elsewhere.
            self.pace = slope * early.min(1.0);
            self.late = slope.abs() * (LATE * early).min(1.0);
        }
        (known && !self.turned).then_some(self.sign)
    }

    /// Whether it has come to its threshold where an event has ended the last piece.
    pub(super) fn has_arrived(&self) -> bool {
        self.sign * self.pace < 0.0 && self.end.abs() <= self.rounding().max(self.band)
    }

    /// Whether it had come to its threshold, and goes back from there, or is put somewhere else.
    fn is_turned(&self, c: &[f64]) -> bool {
        if !self.has_arrived() {
            return false;
        }
        let slope = c.get(1).copied().unwrap_or(0.0);
        let terms: f64 = c.iter().enumerate().map(|(k, c)| k as f64 * c.abs()).sum();
        let jumps = (c[0] - self.end).abs() > self.late.max(LATE * self.rounding);
        let way = if jumps { c[0] } else { slope };
        way * self.sign > 0.0 && (jumps || slope.abs() > SURE * terms)
    }

    /// The signs of the piece that [`side`](Self::side) has just taken, up to places between 0 and 1; `event` is
    /// whether one ends it.
    pub(super) fn sides(&mut self, c: &[f64], early: f64, event: bool) -> Vec<Side> {
        let mut ends = vec![0.0];
        ends.extend(roots(c).into_iter().filter(|&at| at > 0.0 && at < 1.0));
        ends.push(1.0);
        let known = |pair: &[f64]| {
            let z = |share: f64| poly::eval(c, pair[0] + share * (pair[1] - pair[0]));
            let most = [0.25, 0.5, 0.75].map(z).into_iter().fold(0.0f64, |m, z| m.max(z.abs()));
            (most > self.rounding).then(|| z(0.5).signum())
        };
        let signs: Vec<Option<f64>> = ends.windows(2).map(known).collect();
        // It came to its threshold at the kink where this piece begins, less than a tick before the event.
        let short = LATE * early > 1.0 + NEAR && ends.len() == 2;
        let begins = c[0].abs() <= self.late && c[0].abs() < self.end.abs();
        let kinked = short && begins && self.sign != 0.0;
        let first = signs.iter().flatten().next().copied().unwrap_or(0.0);
        let mut last = if self.sign == 0.0 { first } else { self.sign };
        let side = |(pair, sign): (&[f64], &Option<f64>)| {
            last = sign.unwrap_or(last);
            Side { to: pair[1], sign: last }
        };
        let instant = self.turned.then_some(Side { to: 0.0, sign: 0.0 });
        let pieces = ends.windows(2).zip(&signs).map(side);
        let mut sides: Vec<Side> = instant.into_iter().chain(pieces).collect();
        self.sign = last;
        // A piece that begins on its threshold but for rounding has come to it from no side.
        if event && (kinked || signs[..signs.len() - 1].iter().any(Option::is_some)) {
            self.stand(&mut sides, &ends, early);
        }
        sides
    }

    /// Where a piece ends on its threshold, beyond it by less than a tick, an event has ended it there: it stands on it
    /// at this instant, whatever follows.
    fn stand(&mut self, sides: &mut Vec<Side>, ends: &[f64], early: f64) {
        let [.., root, _] = ends else { return };
        if 1.0 - root <= LATE * early && self.end.abs() <= self.late {
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
