//! Whether stability, and not the error, limits the steps of an explicit method.
//!
//! Where it does, the errors of the last steps are along the fastest eigenvectors, and so are the highest coefficients
//! of the dense output. The difference of the right-hand side along these coefficients tells the eigenvalue (one
//! step of the power method: Hairer & Wanner, "Solving Ordinary Differential Equations II", section IV.2).

use super::{Method, OdeSystem, Solver};

/// The part of the length of stable steps from which on stability limits them.
const NEAR: f64 = 0.8;

/// The distance along the coefficients, in tolerances.
const PROBE: f64 = 0.1;

/// The product of step and eigenvalue up to which a method is stable on the negative axis: up to there the
/// polynomial by which it multiplies a solution is at most one.
fn stable(method: Method) -> Option<f64> {
    match method {
        Method::Rk23 => Some(2.513),
        Method::Rk45 => Some(3.307),
        // The order that `auto` takes.
        Method::Taylor(12, None) => Some(5.823),
        _ => None,
    }
}

impl Solver {
    /// Whether the last step was about as long as stability allows. It takes two evaluations.
    pub(crate) fn is_stiff<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
    ) -> Result<bool, S::Error> {
        let (t, n) = (self.t, self.x.len());
        let length = self.path.end() - self.path.start();
        let Some(stable) = stable(self.method) else { return Ok(false) };
        if length <= 0.0 || self.path.order() == 0 || system.differential() < n {
            return Ok(false);
        }
        let norm = |values: &[f64]| self.options.norm(&self.x, |i| values[i]);
        let last = self.path.order();
        let along: Vec<f64> = (0..n).map(|i| self.path.row(i)[last]).collect();
        let size = norm(&along);
        if size == 0.0 || !size.is_finite() {
            return Ok(false);
        }
        let mut there: Vec<f64> =
            self.x.iter().zip(&along).map(|(x, v)| x + PROBE / size * v).collect();
        let (mut here, mut beside) = (vec![0.0; n], vec![0.0; n]);
        system.rhs(t, &self.x, &mut here)?;
        system.rhs(t, &there, &mut beside)?;
        there.iter_mut().zip(beside).zip(&here).for_each(|((d, beside), here)| *d = beside - here);
        // A difference that is not finite compares as false.
        let is_near = length * norm(&there) >= NEAR * stable * PROBE;
        self.statistics.evaluations += 2;
        Ok(is_near)
    }
}
