//! The error of a macro step from a usual method that goes along with it.
//!
//! *Parallel embedded method*, Hoepfer 2011; Gomes et al. 2017, 4.3.4. The derivatives of
//! the outputs with true inputs are read off the units' own solutions at each exchange (`outlook` in
//! `embedded.rs`). An implicit formula of Störmer and Cowell for steps of any length integrates them from
//! one exchange to the next,
//!
//! y(n+1) = y(n) + H y'(n) + ∬ p(s) ds², with p through y''(n+1), y''(n), y''(n-1), …,
//!
//! and how far the outputs of the step are from that is its error. It is of second order since first
//! derivatives at the end, such as the speed of a mass that tells its position, are off by the step
//! themselves, and second ones are not as long as outputs answer inputs by their second derivatives at
//! the latest. With told polynomials of order q the error is O(H^(q+2)), or O(H^(q+3)) of such positions; the
//! formula goes through q + 2 second derivatives, as soon as there are so many, and is off by O(H^(q+4)). It
//! sees all that the step does wrong, whatever is told, also in iterated steps.
use super::{
    Estimate, Rehearsal,
    failures::Step,
    trial::{Progress, Told},
    trust::{integrated, product},
};
use crate::maths::poly::eval;
use serde::{Deserialize, Serialize};

/// The signals at an exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Node {
    tick: i64,
    y: Vec<f64>,
    slope: Vec<f64>,
    bend: Vec<f64>,
}

/// Second derivatives beyond the order of told polynomials.
const MORE: usize = 2;

/// The integral of the integral up to `end` of the polynomial through `values` at `nodes`, by divided
/// differences.
fn twice_integrated(nodes: &[f64], mut values: Vec<f64>, end: f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..nodes.len() {
        let basis = product(nodes[..k].iter().copied());
        sum += values[k] * eval(&integrated(&integrated(&basis)), end);
        for i in (k + 1..nodes.len()).rev() {
            values[i] = (values[i] - values[i - 1]) / (nodes[i] - nodes[i - k - 1]);
        }
    }
    sum
}

impl Rehearsal {
    /// A step to `until`, and its error by its aim.
    pub(super) fn parallel_embedded(
        &mut self,
        until: i64,
        tolerance: f64,
    ) -> Step<(Vec<Told>, Option<f64>)> {
        let begun = self.trial.tick();
        // Nodes of a step that was refused are later.
        self.plan.past.retain(|node| node.tick <= begun);
        if self.plan.past.first().is_none_or(|node| node.tick < begun) {
            let u = self.trial.values();
            self.plan.past = self.node(&u, until - begun)?.into_iter().collect();
        }
        let told = self.leg(until)?;
        if self.ends_otherwise(until) {
            return Ok((told, Some(1.0)));
        }
        let ends = self.trial.ends();
        let end = self.node(&ends, until - begun)?;
        let (Some(end), false) = (end, self.plan.past.is_empty()) else {
            return Ok((told, Some(1.0)));
        };
        self.plan.past.insert(0, end);
        let order = self.plan.policy.extrapolations.iter().map(|e| e.order).max().unwrap_or(0);
        self.plan.past.truncate(order + MORE);
        let better = self.integrate(begun);
        Ok((told, Some(Estimate::missed(&better, &self.trial.answers(), tolerance))))
    }

    /// The signals here, with their derivatives as long as inputs stay as they are: first their
    /// slopes with constant inputs, then all with inputs that have those slopes.
    fn node(&mut self, u: &[f64], step: i64) -> Step<Option<Node>> {
        let tick = self.trial.tick();
        let Some([_, slopes, _]) = self.outlook((u, &vec![0.0; u.len()]), step)? else {
            return Ok(None);
        };
        let outlook = self.outlook((u, &slopes), step)?;
        Ok(outlook.map(|[y, slope, bend]| Node { tick, y, slope, bend }))
    }

    /// The signals at the last exchange, by integration from the one before, at tick `begun`.
    fn integrate(&self, begun: i64) -> Vec<f64> {
        let Progress { timer, .. } = &self.trial.now;
        let past = &self.plan.past;
        let nodes: Vec<f64> = past.iter().map(|node| timer.seconds(begun, node.tick)).collect();
        let (before, step) = (&past[1], nodes[0]);
        let each = before.y.iter().zip(&before.slope).enumerate();
        let bends = |k: usize| past.iter().map(|node| node.bend[k]).collect();
        let next = |(k, (y, slope)): (usize, (&f64, &f64))| {
            y + slope * step + twice_integrated(&nodes, bends(k), step)
        };
        each.map(next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y(n+1) = y(n) + H y'(n) + H² (y''(n+1) + 2 y''(n))/6, and with one more.
    #[test]
    fn equal_steps_give_the_known_formulas() {
        for (nodes, weights) in [
            (vec![1.0, 0.0], vec![1.0 / 6.0, 1.0 / 3.0]),
            (vec![1.0, 0.0, -1.0], vec![1.0 / 8.0, 5.0 / 12.0, -1.0 / 24.0]),
        ] {
            for (k, weight) in weights.iter().enumerate() {
                let mut values = vec![0.0; nodes.len()];
                values[k] = 1.0;
                let ours = twice_integrated(&nodes, values, 1.0);
                assert!((ours - weight).abs() < 1e-15, "{ours}, not {weight}");
            }
        }
    }
}
