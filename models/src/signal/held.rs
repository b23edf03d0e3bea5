//! Common parts of every unit with signals: time since its start, input segments that it holds, and
//! how long a truncated series stays good.
use super::value::{Flag, Segment};
use crate::maths::{
    poly::{self, MAX_DEGREE},
    rounding::ceil_ticks,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::time::{Duration, Resolution};

/// The tick of what is never due.
pub const NEVER: i64 = i64::MAX;

/// A unit's own clock, in ticks since the unit started, and when it acts next.
///
/// **Why since the start.** A model learns elapsed times only; counting them from its own start
/// needs no knowledge of the run's origin, and a unit created during a run begins at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    now: i64,
    due: i64,
    resolution: Resolution,
}

impl Timer {
    /// Due at `due` ticks after the start ([`NEVER`]: passive).
    pub fn due(due: i64, resolution: Resolution) -> Self {
        Self { now: 0, due, resolution }
    }
    /// The time of the last transition.
    pub fn now(&self) -> i64 {
        self.now
    }
    /// The time of the next internal transition; λ runs at this time.
    pub fn next(&self) -> i64 {
        self.due
    }
    /// Ticks per second.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }
    /// The time advance.
    pub fn advance(&self) -> Duration {
        // Both count from the start, so their difference is no overflow; one that comes of false bytes is
        // refused when these are resumed.
        let ahead = self.due.wrapping_sub(self.now);
        Duration::from_ticks(if self.due == NEVER { NEVER } else { ahead })
    }
    /// For δint: the due time is now, and nothing is due any more.
    pub fn fire(&mut self) {
        self.now = self.due;
        self.due = NEVER;
    }
    /// For δext.
    pub fn pass(&mut self, elapsed: Duration) {
        self.now = self.now.saturating_add(elapsed.ticks());
    }
    /// Sets the next time.
    pub fn set(&mut self, due: i64) {
        self.due = due;
    }
    /// Due in the next micro-step.
    pub fn at_once(&mut self) {
        self.due = self.now;
    }
    /// Seconds from tick `from` to tick `to`.
    #[inline]
    pub fn seconds(&self, from: i64, to: i64) -> f64 {
        self.resolution.seconds(to - from)
    }
    /// The tick of a probe `elapsed` after the last transition.
    pub fn at(&self, elapsed: Duration) -> i64 {
        self.now.saturating_add(elapsed.ticks())
    }
    /// Rule R14: the tick of an event located `offset` seconds after tick `from`, which is at
    /// least one tick after now; [`NEVER`] when beyond all ticks.
    pub fn event(&self, from: i64, offset: f64) -> i64 {
        let per_second = self.resolution.ticks_per_second().unsigned_abs();
        match ceil_ticks(offset, per_second) {
            Some(ticks) => from.saturating_add(ticks).max(self.now + 1),
            None => NEVER,
        }
    }
    /// The last tick within `horizon` seconds from now, at least one tick ahead; [`NEVER`] when
    /// beyond all ticks.
    pub fn within(&self, horizon: f64) -> i64 {
        let ticks = horizon * self.resolution.ticks_per_second() as f64;
        if !ticks.is_finite() || ticks >= 9e18 {
            return NEVER;
        }
        self.now.saturating_add((ticks as i64).max(1))
    }
}

/// A small polynomial on the stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poly {
    c: [f64; MAX_DEGREE + 1],
    len: usize,
}

impl Poly {
    /// The constant `x`.
    pub fn constant(x: f64) -> Self {
        Self::new(&[x])
    }
    /// These coefficients, as far as there is room.
    pub fn new(coefficients: &[f64]) -> Self {
        let mut c = [0.0; MAX_DEGREE + 1];
        let len = coefficients.len().min(MAX_DEGREE + 1);
        c[..len].copy_from_slice(&coefficients[..len]);
        Self { c, len: len.max(1) }
    }
    /// The coefficients.
    pub fn coefficients(&self) -> &[f64] {
        &self.c[..self.len]
    }
    /// Adds `factor` times `other`.
    pub fn add(&mut self, factor: f64, other: &[f64]) {
        let len = other.len().min(MAX_DEGREE + 1);
        self.c.iter_mut().zip(&other[..len]).for_each(|(c, k)| *c += factor * k);
        self.len = self.len.max(len);
    }
    /// The integral from 0, plus `start`.
    #[must_use]
    pub fn integral(&self, start: f64) -> Self {
        let mut out = Self::constant(start);
        out.len = (self.len + 1).min(MAX_DEGREE + 1);
        for k in 1..out.len {
            out.c[k] = self.c[k - 1] / k as f64;
        }
        out
    }
    /// The value at `e`.
    pub fn value(&self, e: f64) -> f64 {
        poly::eval(self.coefficients(), e)
    }
    /// The first coefficients, up to the power `order`, without trailing zeros.
    pub fn truncated(&self, order: usize) -> &[f64] {
        trimmed(&self.c[..self.len.min(order + 1)])
    }
}

/// Moves the origin of a polynomial by `e0`.
pub fn shift(p: &mut Poly, e0: f64) {
    poly::shift(&mut p.c[..p.len], e0);
}

/// Without trailing zeros, but not empty.
pub fn trimmed(c: &[f64]) -> &[f64] {
    let last = c.iter().rposition(|&k| k != 0.0).unwrap_or(0);
    &c[..c.len().min(last + 1)]
}

/// How long, in seconds, the terms `tail[0] e^first + tail[1] e^(first+1) + …` stay within
/// `tolerance` for certain: each of the `m` terms may use `tolerance / m`.
pub fn horizon(first: usize, tail: &[f64], tolerance: f64) -> f64 {
    let terms = tail.iter().filter(|&&c| c != 0.0).count() as f64;
    let powers = (first..).zip(tail).filter(|(_, c)| **c != 0.0);
    powers.fold(f64::INFINITY, |least, (k, c)| {
        least.min(libm::pow(tolerance / (terms * c.abs()), 1.0 / k as f64))
    })
}

/// The segment that an input holds, since when, and the signal's left limit at that tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    segment: Segment,
    at: i64,
}

impl Held {
    /// A segment that arrived at tick `at` of the unit's own clock.
    pub fn new(segment: Segment, at: i64) -> Self {
        Self { segment, at }
    }
    /// Takes a new segment. Of several in one tick the first knows the left limit, unless the source begins
    /// anew at the start.
    #[inline]
    pub fn receive(slot: &mut Option<Self>, segment: &Segment, at: i64) {
        let mut segment = segment.clone();
        if let Some(old) = slot.as_ref().filter(|old| old.at == at)
            && !(at == 0 && segment.begins())
        {
            segment.left = old.segment.left;
            if old.segment.flag == Flag::Jump {
                segment.flag = Flag::Jump;
            }
        }
        *slot = Some(Self { segment, at });
    }
    /// The segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }
    /// When it came.
    pub fn since(&self) -> i64 {
        self.at
    }
    /// The value at tick `now`.
    #[inline]
    pub fn value(&self, now: i64, timer: &Timer) -> f64 {
        self.segment.value(timer.seconds(self.at, now))
    }
    /// The left limit at tick `now`: the value before anything happened at that tick.
    #[inline]
    pub fn left(&self, now: i64, timer: &Timer) -> f64 {
        if now == self.at { self.segment.left } else { self.value(now, timer) }
    }
    /// The polynomial with its origin at tick `now`.
    pub fn shifted(&self, now: i64, timer: &Timer) -> Poly {
        let mut p = Poly::new(self.segment.coefficients());
        shift(&mut p, timer.seconds(self.at, now));
        p
    }
}

/// Whether receivers hold just this polynomial, sent in this tick.
///
/// **Why.** Units that answer every segment would talk for ever in a loop. In a loop through an
/// integrator each round fixes one more coefficient, and then the answer repeats itself.
pub fn repeats(sent: &Option<Held>, next: &Segment, now: i64) -> bool {
    sent.as_ref().is_some_and(|h| h.at == now && h.segment.coefficients() == next.coefficients())
}

/// The flag of a signal that follows several: a jump if one jumps, else continuous.
pub fn combined(a: Option<Flag>, b: Flag) -> Flag {
    match (a, b) {
        (Some(Flag::Jump), _) | (_, Flag::Jump) => Flag::Jump,
        (Some(Flag::Refresh) | None, Flag::Refresh) => Flag::Refresh,
        _ => Flag::Continuous,
    }
}

/// A piecewise constant output: its value, and whether a segment is still to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    value: f64,
    left: f64,
    /// Tick of the last change, to keep the left limit of that tick.
    at: i64,
    flag: Option<Flag>,
}

impl Level {
    /// A start value, which is still to be sent.
    pub fn new(value: f64) -> Self {
        Self { value, left: value, at: NEVER, flag: Some(Flag::Refresh) }
    }
    /// The value.
    pub fn value(&self) -> f64 {
        self.value
    }
    /// Changes the value at tick `now`; an equal value changes nothing.
    #[inline]
    pub fn change(&mut self, value: f64, now: i64) {
        if value.to_bits() == self.value.to_bits() {
            return;
        }
        if self.flag == Some(Flag::Refresh) {
            // Never sent: the start value is simply another one.
            *self = Self { value, left: value, ..*self };
            return;
        }
        if self.at != now {
            self.left = self.value;
        }
        *self = Self { value, left: self.left, at: now, flag: Some(Flag::Jump) };
    }
    /// Sends the value again, if nothing is to be sent.
    pub fn repeat(&mut self) {
        self.flag.get_or_insert(Flag::Continuous);
    }
    /// Changes the value at tick `now`, or else the signal `begins` anew with it, at the start.
    pub fn follow(&mut self, value: f64, now: i64, begins: bool) {
        self.change(value, now);
        if begins {
            self.left = value;
        }
    }
    /// The segment to send after a change to this value at tick `now`, if one is due then.
    #[inline]
    pub fn changed(&self, value: f64, now: i64) -> Option<Segment> {
        let mut level = self.clone();
        level.change(value, now);
        level.pending()
    }
    /// The segment to send, if one is due.
    #[inline]
    pub fn pending(&self) -> Option<Segment> {
        self.flag.map(|flag| Segment::constant(self.value, flag, self.left))
    }
    /// Whether a segment is due.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.flag.is_some()
    }
    /// After λ.
    pub fn sent(&mut self) {
        self.flag = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_rounded_up_but_not_off_a_tick() {
        let t = Timer::due(NEVER, Resolution::NANO);
        assert_eq!(t.event(0, 1.0 / 3.0), 333_333_334);
        assert_eq!(t.event(5, 0.1), 100_000_005);
        assert_eq!(t.event(0, 1e-12), 1);
        assert_eq!(t.event(0, 0.0), 1, "never in the past");
        assert_eq!(t.event(0, f64::INFINITY), NEVER);
    }

    #[test]
    fn held_segments_move_and_keep_the_first_left_limit() {
        let t = Timer::due(NEVER, Resolution::SECOND);
        let mut held = None;
        Held::receive(&mut held, &Segment::new(&[1.0, 0.0, 1.0], Flag::Continuous, 1.0), 3);
        let h = held.clone().unwrap();
        assert_eq!(h.shifted(5, &t).coefficients(), [5.0, 4.0, 1.0]);
        assert_eq!((h.value(5, &t), h.left(5, &t), h.left(3, &t)), (5.0, 5.0, 1.0));
        Held::receive(&mut held, &Segment::step(5.0, 7.0), 5);
        Held::receive(&mut held, &Segment::new(&[8.0], Flag::Continuous, 7.0), 5);
        let h = held.unwrap();
        assert_eq!((h.left(5, &t), h.value(5, &t)), (5.0, 8.0));
        assert_eq!(h.segment().flag, Flag::Jump);
    }

    #[test]
    fn horizons_bound_the_rest_of_a_series() {
        let tail = [2.0, -0.5, 0.0, 3.0];
        let e = horizon(4, &tail, 1e-6);
        let rest: f64 = (4..).zip(tail).map(|(k, c)| f64::abs(c) * e.powi(k)).sum();
        assert!(rest <= 1e-6 && rest > 1e-7);
        assert_eq!(horizon(4, &[0.0], 1e-6), f64::INFINITY);
    }
}
