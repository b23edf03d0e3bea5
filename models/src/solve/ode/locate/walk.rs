//! The walk over the monotone pieces of one interval.

use super::{Arm, Event};

/// The indicators on one interval, however they are known.
pub(super) trait Curves {
    /// How many there are.
    fn count(&self) -> usize;
    /// Values of the event's indicators at `t`, at their places in `row`.
    fn fill(&mut self, event: &Event, t: f64, row: &mut [f64]);
    /// Bounds of indicator `k` on the interval.
    fn range(&self, k: usize) -> (f64, f64);
    /// Times, beside both ends, between which indicator `k` is monotone, appended to `out`.
    fn partition(&self, k: usize, out: &mut Vec<f64>);
    /// Where indicator `k`, not satisfied at the first point and satisfied at the second, comes to
    /// be satisfied: an end at which it is.
    fn root(&mut self, event: &Event, k: usize, from: (f64, f64), to: (f64, f64)) -> f64;
    /// When an event whose condition is false at `low` comes true, where that can be told without
    /// monotone pieces.
    fn direct(&mut self, _event: &Event, _interval: (f64, f64)) -> Direct {
        Direct::Unknown
    }
}

/// When an event comes true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Direct {
    /// Ask its pieces.
    Unknown,
    /// Not in the interval.
    Never,
    /// At this time.
    At(f64),
}

/// Working memory of a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    dim: usize,
    /// Points in ascending order, and the indicators there, one row per point.
    points: Vec<f64>,
    rows: Vec<f64>,
    row: Vec<f64>,
}

impl Walk {
    /// First time in `[low, high]` at which `event` happens; its arm moves on to `high` otherwise.
    /// A disarmed event that comes true within `snap` of `low` has not left.
    pub(super) fn first(
        &mut self,
        curves: &mut impl Curves,
        (event, arm): (&Event, &mut Arm),
        (low, high): (f64, f64),
        snap: f64,
    ) -> Option<f64> {
        match curves.direct(event, (low, high)) {
            Direct::Never => {
                *arm = Arm::Armed;
                return None;
            }
            Direct::At(hit) if !arm.is_recent() || hit - low > snap => return Some(hit),
            _ => {}
        }
        let band = event.graze.unwrap_or(0.0);
        let mut certain = true;
        for &k in &event.indicators {
            let (least, most) = curves.range(k);
            if least > band {
                *arm = Arm::Armed;
                return None;
            }
            certain &= most < 0.0;
        }
        if certain {
            let armed = *arm == Arm::Armed;
            *arm = Arm::Disarmed;
            return armed.then_some(low);
        }
        self.dim = curves.count();
        self.row.resize(self.dim, 0.0);
        self.place(curves, event, low, high);
        let mut fresh = false;
        let mut armed = match *arm {
            Arm::Armed => {
                if event.holds(self.values(0)) || self.touches_at_start(event) {
                    return Some(low);
                }
                true
            }
            Arm::Disarmed | Arm::Happened | Arm::Left => {
                fresh = event.left(self.values(0));
                fresh
            }
            Arm::Undecided => match self.decide(curves, event) {
                Some(armed) => armed,
                None => return Some(low),
            },
        };
        for piece in 0..self.points.len() - 1 {
            if !armed {
                armed = event.left(self.values(piece + 1));
            } else if let Some(hit) = self.crossing(curves, event, piece) {
                if !fresh || hit - low > snap {
                    return Some(hit);
                }
                armed = event.left(self.values(piece + 1));
                fresh = false;
            } else if self.touches(event, piece + 1) {
                return Some(self.points[piece + 1]);
            }
        }
        *arm = if armed { Arm::Armed } else { Arm::Disarmed };
        None
    }

    /// Collects the points of the partition in ascending order, with the values there.
    fn place(&mut self, curves: &mut impl Curves, event: &Event, low: f64, high: f64) {
        self.points.clear();
        self.points.push(low);
        for &k in &event.indicators {
            curves.partition(k, &mut self.points);
        }
        self.points.push(high);
        if self.points.len() > 3 {
            self.points.sort_unstable_by(f64::total_cmp);
        }
        let dim = self.dim;
        self.rows.resize(self.points.len() * dim, 0.0);
        for (row, &t) in self.rows.chunks_exact_mut(dim).zip(&self.points) {
            curves.fill(event, t, row);
        }
    }

    #[inline]
    fn values(&self, point: usize) -> &[f64] {
        &self.rows[point * self.dim..][..self.dim]
    }

    /// Rule 1: whether an undecided event is armed, or nothing if it happens at the start.
    fn decide(&mut self, curves: &mut impl Curves, event: &Event) -> Option<bool> {
        let start = self.values(0);
        if !event.holds(start) {
            return Some(true);
        }
        if event.worst(start) < 0.0 {
            return Some(false);
        }
        // The first piece is monotone.
        let inside = 0.5 * (self.points[0] + self.points[1]);
        curves.fill(event, inside, &mut self.row);
        if !event.holds(&self.row) {
            return Some(true);
        }
        (event.worst(&self.row) == 0.0).then_some(false)
    }

    /// A local minimum at `point`, not below zero but within the band. The last point is left to
    /// the interval that begins with it.
    fn touches(&self, event: &Event, point: usize) -> bool {
        let Some(band) = event.graze else { return false };
        if point + 1 >= self.points.len() {
            return false;
        }
        let worst = |point| event.worst(self.values(point));
        let depth = worst(point);
        depth <= band && depth < worst(point - 1) && depth <= worst(point + 1)
    }

    fn touches_at_start(&self, event: &Event) -> bool {
        event.graze.is_some_and(|band| {
            let depth = event.worst(self.values(0));
            depth <= band && depth <= event.worst(self.values(1))
        })
    }

    /// Where the condition, false at the begin of the piece, comes true.
    fn crossing(&mut self, curves: &mut impl Curves, event: &Event, piece: usize) -> Option<f64> {
        let (t_u, t_v) = (self.points[piece], self.points[piece + 1]);
        let mut latest = f64::NEG_INFINITY;
        for &k in &event.indicators {
            let (z_u, z_v) = (self.values(piece)[k], self.values(piece + 1)[k]);
            if !event.satisfied(k, z_v) {
                // It does not hold at the end, but may have until this one left; only if all
                // others arrived before.
                if !event.satisfied(k, z_u) {
                    return None;
                }
            } else if !event.satisfied(k, z_u) {
                latest = latest.max(curves.root(event, k, (t_u, z_u), (t_v, z_v)));
            }
        }
        if latest == f64::NEG_INFINITY {
            return None;
        }
        if event.indicators.len() == 1 {
            return Some(latest);
        }
        curves.fill(event, latest, &mut self.row);
        if event.holds(&self.row) {
            Some(latest)
        } else {
            event.holds(self.values(piece + 1)).then_some(t_v)
        }
    }
}
