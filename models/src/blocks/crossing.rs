//! When a held signal leaves a band: shared by `detector`, `hysteresis`, `quantiser`, `switch`.
use crate::{
    maths::poly::{Direction, RootKind, earliest_root, first_exceed},
    signal::{
        Held, NEVER, Poly, Timer,
        value::{Flag, Segment},
    },
};
use serde::{Deserialize, Serialize};

/// How a signal leaves a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Exit {
    Above,
    Below,
    /// Touches the finite end of the band without leaving.
    Touch,
}

/// `low ..= high`; either may be infinite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band {
    pub low: f64,
    pub high: f64,
}

/// A held signal, watched for the next exit from a band.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub held: Option<Held>,
    /// Seconds into the held segment from which the next exit is searched.
    from: f64,
    /// The next exit: seconds into the segment.
    next: Option<(Exit, f64)>,
    /// The exchange tolerance of the signal: a continuous segment that starts beyond the end of
    /// the band by less, on its way back, has not left it.
    tolerance: f64,
    touched: bool,
}

/// The sign of a polynomial just after 0 (0 for the zero polynomial).
pub(crate) fn sign_after(c: &[f64], bound: f64) -> i8 {
    let first = [c[0] - bound];
    let sign = |x: &&f64| **x != 0.0;
    let lead = first.iter().chain(&c[1..]).find(sign).copied().unwrap_or(0.0);
    if lead > 0.0 { 1 } else { -i8::from(lead < 0.0) }
}

impl Watch {
    pub(super) fn new(tolerance: f64) -> Self {
        Self { held: None, from: 0.0, next: None, tolerance, touched: false }
    }

    /// Takes a new segment.
    pub(super) fn receive(&mut self, s: &Segment, timer: &Timer) {
        Held::receive(&mut self.held, s, timer.now());
        self.from = 0.0;
        self.next = None;
    }

    /// The coefficients that are held.
    pub(super) fn coefficients(&self) -> &[f64] {
        self.held.as_ref().map_or(&[0.0], |h| h.segment().coefficients())
    }

    /// Whether the signal, at the start of its segment, is outside the band.
    pub(super) fn outside(&self, band: Band) -> Option<Exit> {
        let c = self.coefficients();
        let (exit, bound, back) = if sign_after(c, band.high) > 0 {
            (Exit::Above, band.high, Direction::Falling)
        } else if sign_after(c, band.low) < 0 {
            (Exit::Below, band.low, Direction::Rising)
        } else {
            return None;
        };
        let jump = self.held.as_ref().is_some_and(|h| h.segment().flag == Flag::Jump);
        if jump || (c[0] - bound).abs() > self.tolerance {
            return Some(exit);
        }
        let mut d = Poly::new(c);
        d.add(-1.0, &[bound]);
        let inward = if back == Direction::Falling { -1 } else { 1 };
        let returning = c.len() > 1
            && sign_after(&c[1..], 0.0) == inward
            && earliest_root(d.coefficients(), 0.0, f64::INFINITY, back, None).is_some();
        (!returning).then_some(exit)
    }

    /// The exit from a band whose upper end belongs to the region above it: a signal that rests
    /// there has left the band.
    pub(super) fn outside_open(&self, band: Band) -> Option<Exit> {
        let c = self.coefficients();
        let rests = c[0] == band.high && sign_after(c, band.high) == 0;
        if rests { Some(Exit::Above) } else { self.outside(band) }
    }

    /// Finds the next exit and returns its tick (R14).
    pub(super) fn plan(&mut self, band: Band, touches: bool, timer: &Timer) -> i64 {
        let mut next: Option<(Exit, f64)> = None;
        let mut offer = |exit: Exit, at: f64| {
            if next.is_none_or(|(_, best)| at < best) {
                next = Some((exit, at));
            }
        };
        let ends = [
            (band.high, Direction::Rising, Exit::Above),
            (band.low, Direction::Falling, Exit::Below),
        ];
        for (bound, direction, exit) in ends {
            if !bound.is_finite() || self.held.is_none() {
                continue;
            }
            let mut d = Poly::new(self.coefficients());
            d.add(-1.0, &[bound]);
            let c = d.coefficients();
            if let Some(root) = earliest_root(c, self.from, f64::INFINITY, direction, None) {
                offer(exit, root.at);
            }
            if touches
                && let Some(from) = self.touch_from(c)
                && let Some(root) =
                    earliest_root(c, from, f64::INFINITY, direction, Some(self.tolerance))
                && root.kind == RootKind::Touch
            {
                offer(Exit::Touch, root.at);
            }
        }
        self.next = next;
        let since = self.held.as_ref().map_or(0, Held::since);
        next.map_or(NEVER, |(_, at)| timer.event(since, at))
    }

    /// A touch counts once: the next one only after the signal has left the tolerance.
    fn touch_from(&self, c: &[f64]) -> Option<f64> {
        if !self.touched {
            return Some(self.from);
        }
        let mut moved = Poly::new(c);
        crate::signal::shift(&mut moved, self.from);
        let away = first_exceed(moved.coefficients(), 2.0 * self.tolerance, f64::INFINITY)?;
        Some(self.from + away)
    }

    /// The exit that was planned.
    pub(super) fn planned(&self) -> Option<Exit> {
        self.next.map(|(exit, _)| exit)
    }

    /// The planned exit has happened.
    pub(super) fn passed(&mut self) {
        if let Some((exit, at)) = self.next.take() {
            self.from = at;
            self.touched = exit == Exit::Touch;
        }
    }
}
