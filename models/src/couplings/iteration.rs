//! Implicit couplings: a macro step is repeated until what receivers were told is what sources did.
//!
//! Gomes et al. 2017, section 4.3.1 and algorithm 3 (strong coupling); Kübler &
//! Schiehlen 2000. With the values Y of the signals at the end of the macro step, receivers are told
//! the polynomial through Y and the last exchanged values; the units answer G(Y), and Y = G(Y) is
//! sought. Order 0 tells Y all along (implicit Euler for the inputs), order 1 goes straight to it
//! (trapezoidal), and so on. The order of the whole is one more than that, as under extrapolation, but
//! errors are smaller and stiff couplings stay stable.
//!
//! | `method` | next Y |
//! | --- | --- |
//! | `fixed-point` | Y + relaxation · (G(Y) - Y) |
//! | `newton` | Newton's, the Jacobian of G(Y) - Y by differences through snapshots (one more run per signal), carried on by Broyden's updates, anew when a correction does not halve the residual |
//! | `broyden` | the same without differences, from G' = 0 |
//! | `waveform` | G, of what sources did all along the step, not only at its end: `waveform.rs` |
//!
//! Newton's is the default, since algebraic loops have to be solved whatever their gain; courses go with
//! the gain.
//!
//! With `corrections` their number is fixed and nothing need converge: *semi-implicit* coupling
//! (Schweizer & Lu 2014; Gomes et al. 2017, 4.3.1).
use super::reduced::{Reduced, least};
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// How the next values are found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Solver {
    /// Fixed point with a relaxation factor.
    FixedPoint(f64),
    /// Newton with differences through snapshots.
    Newton,
    /// Quasi-Newton without.
    Broyden,
    /// Whole courses instead of values at the end (`waveform.rs`).
    Waveform,
}

/// When the iteration ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Until {
    /// All signals are within this times 1 + |y|, after at most so many corrections.
    Converged(f64, u32),
    /// After so many corrections.
    Corrections(u32),
}

/// Repeats macro steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    solver: Solver,
    /// When it ends.
    pub until: Until,
    /// Jacobian of G(Y) - Y by columns, if there is one yet.
    jacobian: Option<Vec<f64>>,
    /// Y and G(Y) - Y of the run before, in this macro step.
    before: Option<(Vec<f64>, Vec<f64>)>,
}

impl Iteration {
    /// A solver and its end.
    pub fn new(solver: Solver, until: Until) -> Self {
        Self { solver, until, jacobian: None, before: None }
    }

    /// Whether whole courses are repeated.
    pub(super) fn is_waveform(&self) -> bool {
        self.solver == Solver::Waveform
    }

    /// A macro step begins.
    pub(super) fn begin(&mut self) {
        self.before = None;
    }

    /// The next Y after the units have answered with the residual `r` = G(Y) - Y, or none when the
    /// Jacobian is needed first.
    pub(super) fn next(&mut self, y: &[f64], r: &[f64]) -> Option<Vec<f64>> {
        let fixed = match self.solver {
            Solver::FixedPoint(relaxation) => Some(relaxation),
            // Where there is no time within, the values at the end are all.
            Solver::Waveform => Some(1.0),
            Solver::Newton | Solver::Broyden => None,
        };
        if let Some(relaxation) = fixed {
            return Some(y.iter().zip(r).map(|(y, r)| y + relaxation * r).collect());
        }
        let n = y.len();
        let contracts = self.learn(y, r);
        if self.solver == Solver::Newton && !contracts {
            self.jacobian = None;
        }
        let minus_one = || DMatrix::from_diagonal_element(n, n, -1.0);
        let jacobian = match (&self.jacobian, self.solver) {
            (Some(j), _) => DMatrix::from_column_slice(n, n, j),
            (None, Solver::Newton) => return None,
            (None, _) => minus_one(),
        };
        self.before = Some((y.to_vec(), r.to_vec()));
        let r = DVector::from_column_slice(r);
        let step = solve(&jacobian, &r);
        self.jacobian = Some(jacobian.as_slice().to_vec());
        Some(y.iter().zip(step.iter()).map(|(y, s)| y - s).collect())
    }

    /// Takes the Jacobian, by columns.
    pub(super) fn take(&mut self, jacobian: Vec<f64>) {
        self.jacobian = Some(jacobian);
        self.before = None;
    }

    /// Broyden's update by what the last correction did; tells whether that halved the residual.
    fn learn(&mut self, y: &[f64], r: &[f64]) -> bool {
        let (Some(j), Some((y0, r0))) = (&mut self.jacobian, &self.before) else { return true };
        let n = y.len();
        let dy: Vec<f64> = y.iter().zip(y0).map(|(a, b)| a - b).collect();
        let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
        let length = square(&dy);
        if length > 0.0 {
            for row in 0..n {
                let expected: f64 = (0..n).map(|k| j[k * n + row] * dy[k]).sum();
                let miss = (r[row] - r0[row] - expected) / length;
                (0..n).for_each(|k| j[k * n + row] += miss * dy[k]);
            }
        }
        square(r) <= 0.25 * square(r0)
    }
}

/// Solves J s = r; where J is singular, as for conditions that nothing at this instant changes, the
/// shortest of the best s. Signals that answer for themselves are eliminated first: conditions are singular only
/// beside each other, not beside values a million times as large.
fn solve(jacobian: &DMatrix<f64>, r: &DVector<f64>) -> DVector<f64> {
    let finite = |s: &DVector<f64>| s.iter().all(|x| x.is_finite());
    let reduced = Reduced::of(jacobian).map(|reduced| reduced.solve(r)).filter(finite);
    reduced.unwrap_or_else(|| Some(least(jacobian, r)).filter(finite).unwrap_or_else(|| -r.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G(Y) = A Y + b with a gain of two, under which the fixed point diverges.
    #[test]
    fn steep_loops_are_solved() {
        let g = |y: &[f64]| vec![2.0 * y[1] + 1.0, -1.5 * y[0] + 0.5 * y[1] - 2.0];
        let residual = |y: &[f64]| g(y).iter().zip(y).map(|(g, y)| g - y).collect::<Vec<f64>>();
        let worst = |r: &[f64]| r.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        for (solver, rounds) in
            [(Solver::FixedPoint(0.2), 400), (Solver::Newton, 2), (Solver::Broyden, 12)]
        {
            let mut iteration = Iteration::new(solver, Until::Converged(1e-10, 200));
            iteration.begin();
            let mut y = vec![0.0, 0.0];
            for _ in 0..rounds {
                let r = residual(&y);
                y = iteration.next(&y, &r).unwrap_or_else(|| {
                    let column = |k: usize| {
                        let mut moved = y.clone();
                        moved[k] += 1.0;
                        let after = residual(&moved);
                        after.iter().zip(&r).map(|(a, b)| a - b).collect::<Vec<f64>>()
                    };
                    iteration.take([column(0), column(1)].concat());
                    iteration.next(&y, &r).unwrap()
                });
            }
            assert!(worst(&residual(&y)) < 1e-10, "{solver:?}: {y:?}");
        }
    }
}
