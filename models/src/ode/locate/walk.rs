//! The walk over the monotone pieces of one interval.

use super::{Arm, Event, Probe};
use crate::ode::indicator::{Model, POINTS};

#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) dim: usize,
    /// Arms as they develop within the step.
    pub(super) arms: Vec<Arm>,
    /// Intervals still to do, last one first: start, end, halvings.
    pub(super) todo: Vec<(f64, f64, u32)>,
    models: Vec<Model>,
    /// Indicator values, one row per evaluated point.
    rows: Vec<f64>,
    extrema: Vec<f64>,
    /// Points of the current walk in ascending order: time and row.
    points: Vec<(f64, usize)>,
    row: Vec<f64>,
}

impl Work {
    pub(super) fn open(&mut self, dim: usize, arms: &[Arm], t_a: f64, t_b: f64) {
        self.dim = dim;
        self.models.resize_with(dim, Model::default);
        self.row.resize(dim, 0.0);
        self.arms.clear();
        self.arms.extend_from_slice(arms);
        self.todo.clear();
        self.todo.push((t_a, t_b, 0));
    }

    /// Samples and models all indicators on `[low, high]`; false if some event cannot be judged
    /// by such a model.
    pub(super) fn sample<F: FnMut(f64, &mut [f64])>(
        &mut self,
        probe: &mut Probe<F>,
        low: f64,
        high: f64,
        events: &[Event],
    ) -> bool {
        let dim = self.dim;
        self.rows.resize(POINTS.len() * dim, 0.0);
        for (row, theta) in self.rows.chunks_exact_mut(dim).zip(POINTS) {
            probe.fill(at(low, high, theta), row);
        }
        for (k, model) in self.models.iter_mut().enumerate() {
            model.fit(&std::array::from_fn(|point| self.rows[point * dim + k]));
        }
        events.iter().all(|event| {
            self.excluded(event)
                || self.certain(event)
                || event.indicators.iter().all(|&k| self.models[k].good)
        })
    }

    /// Some indicator stays positive, beyond the band of a touching event.
    fn excluded(&self, event: &Event) -> bool {
        let band = event.graze.unwrap_or(0.0);
        event.indicators.iter().any(|&k| self.models[k].low > band)
    }

    /// All indicators stay negative.
    fn certain(&self, event: &Event) -> bool {
        event.indicators.iter().all(|&k| self.models[k].high < 0.0)
    }

    /// First time in `[low, high]` at which `event` happens; its arm moves on to `high` otherwise.
    /// A disarmed event that comes true within `snap` of `low` has not left.
    pub(super) fn walk<F: FnMut(f64, &mut [f64])>(
        &mut self,
        probe: &mut Probe<F>,
        event: &Event,
        index: usize,
        (low, high): (f64, f64),
        snap: f64,
    ) -> Option<f64> {
        if self.excluded(event) {
            self.arms[index] = Arm::Armed;
            return None;
        }
        if self.certain(event) {
            let armed = self.arms[index] == Arm::Armed;
            self.arms[index] = Arm::Disarmed;
            return armed.then_some(low);
        }
        self.points(probe, event, low, high);
        let mut fresh = false;
        let mut armed = match self.arms[index] {
            Arm::Armed => {
                if event.holds(self.values(0)) || self.touches_at_start(event) {
                    return Some(low);
                }
                true
            }
            Arm::Disarmed => {
                fresh = event.left(self.values(0));
                fresh
            }
            Arm::Undecided => match self.decide(event) {
                Some(armed) => armed,
                None => return Some(low),
            },
        };
        for piece in 0..self.points.len() - 1 {
            if !armed {
                armed = event.left(self.values(piece + 1));
            } else if let Some(hit) = self.crossing(probe, event, piece) {
                if !fresh || hit - low > snap {
                    return Some(hit);
                }
                armed = event.left(self.values(piece + 1));
                fresh = false;
            } else if self.touches(event, piece + 1) {
                return Some(self.points[piece + 1].0);
            }
        }
        self.arms[index] = if armed { Arm::Armed } else { Arm::Disarmed };
        None
    }

    /// Collects samples and extrema in ascending order.
    fn points<F: FnMut(f64, &mut [f64])>(
        &mut self,
        probe: &mut Probe<F>,
        event: &Event,
        low: f64,
        high: f64,
    ) {
        let dim = self.dim;
        self.rows.truncate(POINTS.len() * dim);
        self.points.clear();
        self.points
            .extend(POINTS.iter().enumerate().map(|(row, theta)| (at(low, high, *theta), row)));
        self.extrema.clear();
        for &k in &event.indicators {
            self.models[k].extrema(&mut self.extrema);
        }
        for (row, theta) in (POINTS.len()..).zip(&self.extrema) {
            let t = at(low, high, *theta);
            self.rows.resize((row + 1) * dim, 0.0);
            probe.fill(t, &mut self.rows[row * dim..]);
            self.points.push((t, row));
        }
        self.points
            .sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    }

    fn values(&self, point: usize) -> &[f64] {
        &self.rows[self.points[point].1 * self.dim..][..self.dim]
    }

    /// Rule 1: whether an undecided event is armed, or nothing if it happens at the start.
    fn decide(&self, event: &Event) -> Option<bool> {
        let start = self.values(0);
        if !event.holds(start) {
            return Some(true);
        }
        if event.worst(start) < 0.0 {
            return Some(false);
        }
        let next = self.values(1);
        if !event.holds(next) {
            return Some(true);
        }
        (event.worst(next) == 0.0).then_some(false)
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
    fn crossing<F: FnMut(f64, &mut [f64])>(
        &mut self,
        probe: &mut Probe<F>,
        event: &Event,
        piece: usize,
    ) -> Option<f64> {
        let ((t_u, _), (t_v, _)) = (self.points[piece], self.points[piece + 1]);
        let mut latest = f64::NEG_INFINITY;
        for &k in &event.indicators {
            let (z_u, z_v) = (self.values(piece)[k], self.values(piece + 1)[k]);
            match (event.satisfied(z_u), event.satisfied(z_v)) {
                (false, false) => return None,
                (false, true) => {
                    let row = &mut self.row;
                    let value = |t| {
                        probe.fill(t, row);
                        row[k]
                    };
                    let root = itp((t_u, z_u), (t_v, z_v), value, |z| event.satisfied(z));
                    latest = latest.max(root);
                }
                _ => {}
            }
        }
        if latest == f64::NEG_INFINITY {
            return None;
        }
        probe.fill(latest, &mut self.row);
        if event.holds(&self.row) {
            Some(latest)
        } else {
            event.holds(self.values(piece + 1)).then_some(t_v)
        }
    }
}

fn at(low: f64, high: f64, theta: f64) -> f64 {
    if theta == 1.0 { high } else { low + theta * (high - low) }
}

/// The end at which `satisfied` holds of a bracket shrunk to neighbouring numbers (two units in
/// the last place). `satisfied` is false at the first point and true at the second.
///
/// ITP with κ1 = 0.2 / (b - a), κ2 = 2, n0 = 1: at most one step more than bisection.
fn itp(
    (mut a, mut z_a): (f64, f64),
    (mut b, mut z_b): (f64, f64),
    mut value: impl FnMut(f64) -> f64,
    satisfied: impl Fn(f64) -> bool,
) -> f64 {
    let epsilon = f64::EPSILON * a.abs().max(b.abs());
    let kappa = 0.2 / (b - a);
    let halvings = libm::ceil(libm::log2((b - a) / (2.0 * epsilon))).clamp(0.0, 1100.0) as i32 + 1;
    for round in 0..=halvings {
        let half = 0.5 * (b - a);
        let middle = a + half;
        if half <= epsilon || middle <= a || middle >= b {
            break;
        }
        let secant = (z_b * a - z_a * b) / (z_b - z_a);
        let toward = (middle - secant).signum();
        let truncation = kappa * (b - a) * (b - a);
        let shifted = if truncation <= (middle - secant).abs() {
            secant + toward * truncation
        } else {
            middle
        };
        let radius = libm::ldexp(epsilon, halvings - round) - half;
        let mut x =
            if (shifted - middle).abs() <= radius { shifted } else { middle - toward * radius };
        // Also sorts out NaN.
        if !(x > a && x < b) {
            x = middle;
        }
        let z = value(x);
        if satisfied(z) {
            (b, z_b) = (x, z);
        } else {
            (a, z_a) = (x, z);
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itp_ends_on_the_far_side_in_few_steps() {
        for (f, a, b, root) in [
            ((|t| 2.0 - t * t) as fn(f64) -> f64, 0.0, 5.0, 2f64.sqrt()),
            (|t| 1.0 - libm::exp(t - 3.0), 0.0, 20.0, 3.0),
            (|t| -(t - 1.0) * (t - 1.0) * (t - 1.0), 0.0, 1.7, 1.0),
            (|t| if t < 0.3 { 1.0 } else { -1e9 }, 0.0, 1.0, 0.3),
        ] {
            let mut count = 0;
            let value = |t| {
                count += 1;
                f(t)
            };
            let found = itp((a, f(a)), (b, f(b)), value, |z| z <= 0.0);
            assert!(f(found) <= 0.0);
            assert!((found - root).abs() < 1e-5 && f(found - 1e-5) > 0.0, "{found}");
            assert!(count <= 56, "{count}");
        }
    }
}
