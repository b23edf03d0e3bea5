//! Rosenbrock steps for stiff equations.
//!
//! RODAS, the stiffly accurate and L-stable method of order 4(3) with six stages of Hairer & Wanner,
//! Solving Ordinary Differential Equations II, 2nd ed. 1996, section VI.4, in the variables in which
//! each stage costs one solution and no product with the Jacobian (IV.7, eq. 7.25): with J = ∂f/∂x,
//!
//! (1/(hγ) - J) u_i = f(t + c_i h, x + Σ a_ij u_j) + Σ (c_ij / h) u_j + h d_i ∂f/∂t.
//!
//! For algebraic states (`M x' = f` with a zero on the diagonal of M) 1/(hγ) and the sum of c_ij are
//! left out in their rows (VI.4, eq. 4.5); the order is the same for index 1.
//!
//! The dense output of an algebraic state takes no part in the estimate of the error, and where that state
//! follows the time alone the estimate is zero: what Newton's iteration would correct there is compared with
//! the tolerance as well.
//!
//! The coefficients are those of the authors' code of that name. All stages share one factorisation;
//! nothing is iterated, so that a step depends on the state at its start alone.

use super::{OdeSystem, Solver, StepError, explicit::Trial};
use crate::{
    maths::sparse::{Lu, Pattern},
    solve::ode::Partials,
};
use nalgebra::{DMatrix, DVectorViewMut, Dyn, linalg::LU};
use std::sync::Arc;

const GAMMA: f64 = 0.25;
const C: [f64; 6] = [0.0, 0.386, 0.21, 0.63, 1.0, 1.0];
const A: [&[f64]; 6] = [
    &[],
    &[1.544],
    &[0.9466785280815826, 0.2557011698983284],
    &[3.314825187068521, 2.896124015972201, 0.9986419139977817],
    &[1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895],
    &[1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0],
];
const COUPLED: [&[f64]; 6] = [
    &[],
    &[-5.6688],
    &[-2.430093356833875, -0.2063599157091915],
    &[-0.1073529058151375, -9.594562251023355, -20.47028614809616],
    &[7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616],
    &[
        8.083246795921522,
        -7.981132988064893,
        -31.52159432874371,
        16.31930543123136,
        -6.058818238834054,
    ],
];
const TIMED: [f64; 6] = [0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0];
/// Dense output of order 3: the two middle terms of a cubic.
const DENSE: [[f64; 5]; 2] = [
    [
        10.12623508344586,
        -7.487995877610167,
        -34.80091861555747,
        -7.992771707568823,
        1.025137723295662,
    ],
    [
        -0.6762803392801253,
        6.087714651680015,
        16.43084320892478,
        24.76722511418386,
        -6.594389125716872,
    ],
];

/// Parts of a step after which states are put into their equations: no stage lies there.
pub(super) const INSIDE: &[f64] = &[0.3, 0.8];

/// How far off they may be there, in tolerances: as much as errors are taken to be where events are doubted.
const ALLOWED: f64 = 16.0;

/// Roundings of a right side, which has many terms.
const SUMMED: f64 = 1e6 * f64::EPSILON;
/// Part of a change by which partial derivatives may miss it.
const HOLDS: f64 = 0.5;

/// The equations at the start of a step, to first order, and the stages.
#[derive(Debug, Default)]
pub(super) struct Linear {
    jacobian: Vec<f64>,
    drift: Vec<f64>,
    stages: Vec<f64>,
    factors: Factors,
}

impl Linear {
    /// Newton's correction, with the matrix of the last trial, for the residuals in `right`; whether it can be had.
    pub(super) fn correct(&mut self, right: &mut [f64]) -> bool {
        self.factors.solve(right)
    }
}

/// Factors of a matrix of some pattern, and memory for its values.
#[derive(Debug)]
struct Sparse {
    lu: Lu<f64>,
    diagonal: Vec<Option<usize>>,
    values: Vec<f64>,
}

impl Sparse {
    fn new(pattern: &Arc<Pattern>) -> Self {
        let diagonal = pattern.diagonal();
        Self { lu: Lu::new(Arc::clone(pattern)), diagonal, values: Vec::new() }
    }
}

/// Factors of 1/(hγ) - J.
#[derive(Debug, Default)]
struct Factors {
    full: Option<LU<f64, Dyn, Dyn>>,
    sparse: Option<Sparse>,
}

impl Factors {
    /// Takes the factors where `shift` is added to the diagonal of the first rows, as many as are `differential`; whether
    /// there are any: a singular matrix has none.
    fn take(&mut self, jacobian: &[f64], (n, differential): (usize, usize), shift: f64) -> bool {
        let Some(Sparse { lu, diagonal, values }) = &mut self.sparse else {
            let mut matrix = DMatrix::from_iterator(n, n, jacobian.iter().map(|j| -j));
            for i in 0..differential {
                matrix[(i, i)] += shift;
            }
            self.full = Some(LU::new(matrix));
            return true;
        };
        values.clear();
        values.extend(jacobian.iter().map(|j| -j));
        for &place in diagonal[..differential].iter().flatten() {
            values[place] += shift;
        }
        lu.factor(values)
    }

    /// Solves for a right side, in place; whether that can be done.
    fn solve(&mut self, right: &mut [f64]) -> bool {
        match self {
            Self { sparse: Some(Sparse { lu, .. }), .. } => {
                lu.solve(right);
                true
            }
            Self { full: Some(lu), .. } => {
                let n = right.len();
                lu.solve_mut(&mut DVectorViewMut::from_slice(right, n))
            }
            _ => false,
        }
    }
}

fn weighted(weights: &[f64], stages: &[f64], n: usize, i: usize) -> f64 {
    weights.iter().zip(stages.chunks_exact(n)).map(|(w, u)| w * u[i]).sum()
}

impl Solver {
    /// The equations around the committed state.
    pub(super) fn linearise<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
    ) -> Result<(), StepError<S::Error>> {
        let (t, n) = (self.t, self.x.len());
        let Linear { jacobian, drift, stages, factors } = &mut self.scratch.1;
        let pattern = system.pattern();
        if factors.sparse.is_none() {
            factors.sparse = pattern.map(Sparse::new);
        }
        jacobian.resize(pattern.map_or(n * n, |p| p.places()), 0.0);
        drift.resize(n, 0.0);
        stages.resize(6 * n, 0.0);
        self.slope.resize(n, 0.0);
        let to = Partials { dx: &mut self.slope, jacobian, drift };
        let known = system.linearise(t, &self.x, to);
        if !known.map_err(StepError::Rhs)? {
            return Err(StepError::NoJacobian);
        }
        self.statistics.evaluations += 1;
        // From step to step nothing jumps.
        if self.last_h == f64::INFINITY || self.t != self.path.end() {
            self.doubt_jacobian(system).map_err(StepError::Rhs)?;
        }
        if self.last_h == f64::INFINITY && system.differential() < n {
            // The first trial has to know how far rounding puts algebraic states off.
            self.defect(system, system.differential(), (0.0, 0.0));
        }
        let Linear { jacobian, drift, .. } = &self.scratch.1;
        let bad = |values: &[f64]| values.iter().position(|v| !v.is_finite());
        if let Some(component) = bad(&self.slope) {
            return Err(StepError::NotFinite { t, component });
        }
        if bad(drift).is_some() || bad(jacobian).is_some() {
            let component = self.difference(system).map_err(StepError::Rhs)?;
            component.map_or(Ok(()), |component| Err(StepError::NotFinite { t, component }))?;
        }
        self.fresh = true;
        Ok(())
    }

    /// Takes out partial derivatives that do not hold as far as the tolerance reaches, as those of a square root so
    /// near zero that rounding decides how large they are. The stages would take them at their word, stay where they
    /// are, and estimate no error.
    #[cold]
    fn doubt_jacobian<S: OdeSystem + ?Sized>(&mut self, system: &mut S) -> Result<(), S::Error> {
        let (t, n, x, slope) = (self.t, self.x.len(), &self.x, &self.slope);
        let by = x
            .iter()
            .zip(slope)
            .enumerate()
            .map(|(k, (x, slope))| self.options.scale(k, x.abs()).copysign(*slope));
        let by: Vec<f64> = by.collect();
        let y: Vec<f64> = x.iter().zip(&by).map(|(x, by)| x + by).collect();
        let mut beside = vec![0.0; n];
        system.rhs(t, &y, &mut beside)?;
        let Linear { jacobian, .. } = &mut self.scratch.1;
        let places = |k: usize| system.pattern().map_or(k * n..(k + 1) * n, |p| p.column(k));
        let row = |place: usize| system.pattern().map_or(place % n, |p| p.row(place));
        // The part of each row's change that they leave out.
        let mut left_out: Vec<f64> = beside.iter().zip(slope).map(|(b, s)| b - s).collect();
        for (k, by) in by.iter().enumerate() {
            places(k).for_each(|place| left_out[row(place)] -= jacobian[place] * by);
        }
        for (k, by) in by.iter().enumerate() {
            for place in places(k) {
                let (off, part) = (left_out[row(place)].abs(), (jacobian[place] * by).abs());
                let rounding = SUMMED * (slope[row(place)].abs() + beside[row(place)].abs());
                if off > rounding && off > HOLDS * part && part > 0.1 * off {
                    jacobian[place] = f64::NAN;
                }
            }
        }
        Ok(())
    }

    /// Puts quotients of differences, along the way of the solution, in place of partial derivatives that are
    /// not finite, as that of a square root at zero, and shortens the step. Gives the first state of which none is
    /// finite either.
    #[cold]
    fn difference<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
    ) -> Result<Option<usize>, S::Error> {
        let (t, n, x, slope) = (self.t, self.x.len(), &self.x, &self.slope);
        let Linear { jacobian, drift, .. } = &mut self.scratch.1;
        let (mut y, mut beside, mut worst) = (x.clone(), vec![0.0; n], None);
        let mut soon = f64::INFINITY;
        let mut mend = |entry: &mut f64, row: usize, quotient: f64| {
            if !entry.is_finite() {
                *entry = quotient;
                worst = worst.into_iter().chain((!quotient.is_finite()).then_some(row)).min();
            }
        };
        for k in 0..n {
            let column = system.pattern().map_or(k * n..(k + 1) * n, |p| p.column(k));
            if jacobian[column.clone()].iter().all(|j| j.is_finite()) {
                continue;
            }
            let by = self.options.scale(k, x[k].abs());
            soon = soon.min(by / slope[k].abs());
            let by = if slope[k] < 0.0 { -by } else { by };
            y[k] = x[k] + by;
            system.rhs(t, &y, &mut beside)?;
            y[k] = x[k];
            for place in column {
                let row = system.pattern().map_or(place % n, |p| p.row(place));
                mend(&mut jacobian[place], row, (beside[row] - slope[row]) / by);
            }
        }
        if drift.iter().any(|d| !d.is_finite()) {
            let by = self.h.max(self.options.min_step);
            system.rhs(t + by, x, &mut beside)?;
            for row in 0..n {
                mend(&mut drift[row], row, (beside[row] - slope[row]) / by);
            }
        }
        // They hold as far as the tolerance.
        if soon < self.h || self.h == 0.0 && soon < f64::INFINITY {
            self.h = soon;
        }
        Ok(worst)
    }

    /// One trial; the new state is left in the scratch.
    pub(super) fn attempt_implicit<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        t1: f64,
    ) -> Result<Trial, S::Error> {
        let (t, n, x) = (self.t, self.x.len(), &self.x);
        if n == 0 {
            // Only outputs and events of time: there is nothing to solve.
            self.path.open(t, t1, 0, 4);
            return Ok(Trial::Error(0.0));
        }
        let (y, rest) = self.scratch.0.split_at_mut(n);
        let slope = &mut rest[..n];
        let Linear { jacobian, drift, stages, factors } = &mut self.scratch.1;
        let differential = system.differential();
        // Where it is singular, it is not for some shorter step.
        if !factors.take(jacobian, (n, differential), 1.0 / (h * GAMMA)) {
            return Ok(Trial::Error(f64::MAX));
        }
        for stage in 0..6 {
            let at = if C[stage] == 1.0 { t1 } else { t + C[stage] * h };
            let (done, rest) = stages.split_at_mut(stage * n);
            if stage == 0 {
                slope.copy_from_slice(&self.slope);
            } else {
                for i in 0..n {
                    y[i] = x[i] + weighted(A[stage], done, n, i);
                }
                system.rhs(at, y, slope)?;
                self.statistics.evaluations += 1;
                if let Some(component) = system.undefined(at, y, slope)? {
                    return Ok(Trial::NotFinite { t: at, component });
                }
            }
            let u = &mut rest[..n];
            for i in 0..n {
                let moves = i < differential;
                let coupled = if moves { weighted(COUPLED[stage], done, n, i) / h } else { 0.0 };
                u[i] = slope[i] + coupled + h * TIMED[stage] * drift[i];
            }
            if !factors.solve(u) {
                return Ok(Trial::Error(f64::MAX));
            }
        }
        let last = &stages[5 * n..];
        let mut sum = 0.0;
        for i in 0..n {
            y[i] += last[i];
            // A step that is shorter is as wrong.
            let rounded = if i < differential { 0.0 } else { self.rounded };
            let scale = self.options.scale(i, self.options.magnitude(i, x[i], y[i]));
            let ratio = last[i] / (scale + rounded);
            sum += ratio * ratio;
        }
        let error = (sum / n as f64).sqrt();
        if error.is_nan() || error > 1.0 {
            return Ok(Trial::Error(if error.is_finite() { error } else { f64::MAX }));
        }
        let rows = self.path.open(t, t1, n, 4);
        for (i, row) in rows.chunks_exact_mut(4).enumerate() {
            let [one, other] = DENSE.map(|weights| weighted(&weights, stages, n, i));
            // The rise before it was added to the state, as in explicit steps.
            let rise = weighted(A[5], stages, n, i) + last[i];
            let (a, b, c) = (rise + one, other - one, -other);
            row.copy_from_slice(&[x[i], a / h, b / h / h, c / h / h / h]);
        }
        Ok(Trial::Error(error.max(self.off_inside(system, differential, h))))
    }

    /// The error of algebraic states inside a trial, of which estimates at its end know nothing.
    fn off_inside<S: OdeSystem + ?Sized>(
        &mut self,
        system: &mut S,
        differential: usize,
        h: f64,
    ) -> f64 {
        let inside = if differential < self.x.len() { INSIDE } else { &[] };
        let off = inside.iter().map(|e| self.defect(system, differential, (e * h, h)) / ALLOWED);
        off.fold(0.0, f64::max)
    }
}
