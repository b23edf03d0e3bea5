//! Consistent values of algebraic variables: those that make the residuals zero.
//!
//! Newton's iteration with the natural monotonicity test for its damping (Deuflhard 2004, Newton
//! Methods for Nonlinear Problems, section 3.3), from the values that the variables have: start
//! values, or those before a jump. It runs to rounding, so that what comes out hardly depends on
//! where it began.
use super::{
    equations::{Dims, Equations, Work},
    failures::AlgebraicError,
    series::Series,
};
use nalgebra::{DMatrix, DVector, DVectorViewMut, Dyn, FullPivLU};

/// Corrections after which Newton's iteration gives up.
const MAX_TURNS: usize = 200;
/// A pivot that is so much smaller than the largest one counts as zero.
const SINGULAR: f64 = 1e-13;
/// The condition number from which on states that follow from constraints are lost.
const LOST: f64 = 1e4;
/// Places at which equations are tried that do not determine the algebraic variables here.
const ELSEWHERE: usize = 16;

/// How far beside a place the search begins again, and how near the solutions have to be.
const BESIDE: f64 = 1e-3;
const ONE: f64 = 1e-6;

/// Working memory for finding consistent values.
#[derive(Debug, Default)]
pub(crate) struct Consistent {
    vars: Vec<Series<2>>,
    dx: Vec<Series<2>>,
    work: Work<Series<2>>,
    plain: Work,
    values: Vec<f64>,
    /// The sizes of the last corrections: what was found is no worse.
    pub(crate) corrections: Vec<f64>,
}

/// Residuals and how they change with the algebraic variables.
pub(crate) struct Linearised {
    factors: FullPivLU<f64, Dyn, Dyn>,
    /// Factors of rows and columns that bring entries to about one.
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// The ratio of the largest to the smallest pivot.
    condition: f64,
}

impl Linearised {
    /// From a square matrix; else the number of a row that the others leave nothing to say.
    fn new(mut matrix: DMatrix<f64>) -> Result<Self, usize> {
        let n = matrix.nrows();
        let inverse = |largest: f64| if largest > 0.0 { 1.0 / largest } else { 1.0 };
        let rows: Vec<f64> = matrix.row_iter().map(|row| inverse(row.amax())).collect();
        for (mut row, factor) in matrix.row_iter_mut().zip(&rows) {
            row *= *factor;
        }
        let columns: Vec<f64> = matrix.column_iter().map(|c| inverse(c.amax())).collect();
        for (mut column, factor) in matrix.column_iter_mut().zip(&columns) {
            column *= *factor;
        }
        let factors = FullPivLU::new(matrix);
        let pivots = factors.u().diagonal();
        match (0..n).find(|&k| pivots[k].abs() <= SINGULAR * pivots[0].abs()) {
            None => {
                let condition = if n > 0 { (pivots[0] / pivots[n - 1]).abs() } else { 1.0 };
                Ok(Self { factors, rows, columns, condition })
            }
            Some(k) => {
                let mut order = DVector::from_fn(n, |i, _| i);
                factors.p().permute_rows(&mut order);
                Err(order[k])
            }
        }
    }

    /// The correction of the variables for these residuals, in place.
    pub(crate) fn solve(&self, residuals: &mut [f64]) {
        residuals.iter_mut().zip(&self.rows).for_each(|(r, factor)| *r *= -factor);
        let n = residuals.len();
        self.factors.solve_mut(&mut DVectorViewMut::from_slice(residuals, n));
        residuals.iter_mut().zip(&self.columns).for_each(|(r, factor)| *r *= factor);
    }

    /// An estimate of the condition number, with rows and columns scaled: rounding in the residuals moves
    /// the variables by so many times as much.
    pub(crate) fn condition(&self) -> f64 {
        self.condition
    }
}

impl Consistent {
    /// Residuals at `vars`.
    fn residuals<E: Equations>(&mut self, equations: &E, vars: &[f64], to: &mut [f64]) {
        let dims = equations.dims();
        self.values.resize(dims.states, 0.0);
        equations.derivatives(vars, &mut self.plain, &mut self.values);
        to.copy_from_slice(&self.values[dims.differential()..]);
    }

    /// How residuals change with the algebraic variables at `vars`.
    ///
    /// # Errors
    /// When the algebraic variables do not follow from the equations.
    pub(crate) fn linearise<E: Equations>(
        &mut self,
        equations: &E,
        vars: &[f64],
    ) -> Result<Linearised, Box<AlgebraicError>> {
        let matrix = self.slopes(equations, vars);
        let is_finite = |row: &usize| matrix.row(*row).iter().all(|m| m.is_finite());
        if let Some(row) = (0..matrix.nrows()).find(|row| !is_finite(row)) {
            let equation = named(equations, row, vars);
            return Err(AlgebraicError::NoSlope { equation, near: near(equations, vars) }.into());
        }
        let found =
            Linearised::new(matrix).map_err(|row| self.undetermined(equations, vars, row).into());
        let dependent = equations.dependent();
        if dependent.is_empty() || found.as_ref().is_ok_and(|l| l.condition < LOST) {
            return found;
        }
        let (states, near) = (dependent.to_vec(), near(equations, vars));
        Err(AlgebraicError::Lost { states, near }.into())
    }

    /// The slopes of the residuals along the algebraic variables.
    fn slopes<E: Equations>(&mut self, equations: &E, vars: &[f64]) -> DMatrix<f64> {
        let dims = equations.dims();
        self.vars.clear();
        self.vars.extend(vars.iter().map(|&v| Series([v, 0.0])));
        self.dx.resize(dims.states, Series::default());
        let mut matrix = DMatrix::zeros(dims.algebraic, dims.algebraic);
        for (place, mut column) in dims.algebraic_places().zip(matrix.column_iter_mut()) {
            self.vars[place].0[1] = 1.0;
            equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
            self.vars[place].0[1] = 0.0;
            let slopes = self.dx[dims.differential()..].iter();
            column.iter_mut().zip(slopes).for_each(|(c, dx)| *c = dx.0[1]);
        }
        matrix
    }

    /// Why the algebraic variables do not follow at `vars`, where equation `row` adds nothing to the
    /// others.
    #[cold]
    fn undetermined<E: Equations>(
        &mut self,
        equations: &E,
        vars: &[f64],
        row: usize,
    ) -> AlgebraicError {
        let (equation, near) = (named(equations, row, vars), near(equations, vars));
        if self.is_determined_elsewhere(equations, vars) {
            AlgebraicError::BadlyConditioned { equation, condition: 1.0 / SINGULAR, near }
        } else {
            AlgebraicError::Undetermined { equation, near }
        }
    }

    /// Whether the algebraic variables follow from the equations at some other values of the states:
    /// then the index is 1, and only the place is bad.
    fn is_determined_elsewhere<E: Equations>(&mut self, equations: &E, vars: &[f64]) -> bool {
        let states = Dims::STATES..equations.dims().first_input();
        let mut other = vars.to_vec();
        let mut turn = 0.0;
        (0..ELSEWHERE).any(|place| {
            for (x, here) in other[states.clone()].iter_mut().zip(&vars[states.clone()]) {
                // Between -1 and 1, never twice the same.
                turn = (turn + 0.618_033_988_749_894_9) % 1.0;
                let part = 2.0 * turn - 1.0;
                *x = if place % 2 == 0 { part } else { here + 0.3 * part * (1.0 + here.abs()) };
            }
            let matrix = self.slopes(equations, &other);
            matrix.iter().all(|m| m.is_finite()) && Linearised::new(matrix).is_ok()
        })
    }

    /// Turns residuals in `dx` into the rates of the algebraic variables; before them stand those of
    /// the states. Inputs count as constant.
    ///
    /// # Errors
    /// As [`linearise`](Self::linearise).
    pub(super) fn rates<E: Equations>(
        &mut self,
        equations: &E,
        vars: &[f64],
        dx: &mut [f64],
    ) -> Result<(), Box<AlgebraicError>> {
        let linearised = self.linearise(equations, vars)?;
        let (states, rest) = dx.split_at_mut(equations.dims().differential());
        self.vars[0].0[1] = 1.0;
        for (var, rate) in self.vars[Dims::STATES..].iter_mut().zip(&*states) {
            var.0[1] = *rate;
        }
        equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
        rest.iter_mut().zip(&self.dx[states.len()..]).for_each(|(r, dx)| *r = dx.0[1]);
        linearised.solve(rest);
        Ok(())
    }

    /// Changes the algebraic variables among `vars` such that all residuals are zero. They are
    /// known well enough when a correction is below `tolerances`, relative and absolute, by far. `follow`
    /// gives other variables, such as sides, the values that go with the algebraic ones on the way.
    ///
    /// Where the equations say nothing at the place at which the search begins, as `q*abs(q)` at zero, it begins beside
    /// it: on both sides, which have to lead to one solution.
    ///
    /// # Errors
    /// When there are no such values, or the search does not find them.
    pub(crate) fn find<E: Equations>(
        &mut self,
        equations: &E,
        vars: &mut [f64],
        tolerances: (f64, f64),
        mut follow: impl FnMut(&mut [f64]),
    ) -> Result<(), Box<AlgebraicError>> {
        let places = equations.dims().algebraic_places();
        let start = vars[places.clone()].to_vec();
        let found = self.search(equations, vars, tolerances, &mut follow);
        let Err(why) = found else { return Ok(()) };
        if !why.is_of_the_place() || vars[places.clone()] != start {
            return Err(why);
        }
        let mut solutions: [Vec<f64>; 2] = Default::default();
        for (way, solution) in [-BESIDE, BESIDE].into_iter().zip(&mut solutions) {
            let beside = start.iter().map(|z| z + way * (1.0 + z.abs()));
            vars[places.clone()].iter_mut().zip(beside).for_each(|(z, beside)| *z = beside);
            let found = self.search(equations, vars, tolerances, &mut follow);
            *solution = vars[places.clone()].to_vec();
            if let Err(other) = found {
                vars[places].copy_from_slice(&start);
                return Err(if other.is_of_the_place() { why } else { other });
            }
        }
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= ONE * (1.0 + a.abs());
        if solutions[0].iter().zip(&solutions[1]).all(near) {
            return Ok(());
        }
        vars[places].copy_from_slice(&start);
        Err(why)
    }

    /// Newton's iteration from `vars`.
    fn search<E: Equations>(
        &mut self,
        equations: &E,
        vars: &mut [f64],
        (relative, absolute): (f64, f64),
        follow: &mut dyn FnMut(&mut [f64]),
    ) -> Result<(), Box<AlgebraicError>> {
        let places = equations.dims().algebraic_places();
        let weight = |z: f64| absolute + relative.max(1e-14) * z.abs();
        let norm = |step: &[f64], z: &[f64]| {
            let ratios = step.iter().zip(z).map(|(d, z)| d.abs() / weight(*z));
            // NaN is no small step.
            ratios.fold(0.0, |most: f64, r| if r > most || r.is_nan() { r } else { most })
        };
        let mut step = vec![0.0; places.len()];
        let (mut ahead, mut before) = (step.clone(), f64::INFINITY);
        follow(vars);
        self.residuals(equations, vars, &mut step);
        for _ in 0..MAX_TURNS {
            if let Some(row) = step.iter().position(|r| !r.is_finite()) {
                let equation = named(equations, row, vars);
                return Err(AlgebraicError::NotFinite { equation }.into());
            }
            let linearised = self.linearise(equations, vars)?;
            linearised.solve(&mut step);
            let start = vars[places.clone()].to_vec();
            let size = norm(&step, &start);
            // Corrections that have become small and shrink no more are rounding.
            let small = |(d, z): (&f64, &f64)| d.abs() <= 1e-9 * z.abs() + 100.0 * absolute;
            if size < 1e-2 || (size > 0.5 * before && step.iter().zip(&start).all(small)) {
                vars[places].iter_mut().zip(&step).for_each(|(z, d)| *z += d);
                self.corrections.clear();
                self.corrections.extend(step.iter().map(|d| d.abs()));
                return Ok(());
            }
            before = size;
            let mut damping = 1.0;
            loop {
                for ((z, start), d) in vars[places.clone()].iter_mut().zip(&start).zip(&step) {
                    *z = start + damping * d;
                }
                follow(vars);
                self.residuals(equations, vars, &mut ahead);
                let mut left = ahead.clone();
                linearised.solve(&mut left);
                if norm(&left, &start) <= (1.0 - 0.25 * damping) * size {
                    break;
                }
                damping *= 0.5;
                if damping < 1e-30 {
                    vars[places].copy_from_slice(&start);
                    return Err(self.failed(equations, vars));
                }
            }
            std::mem::swap(&mut step, &mut ahead);
        }
        Err(self.failed(equations, vars))
    }

    /// Why the search came to nothing at `vars`.
    fn failed<E: Equations>(&mut self, equations: &E, vars: &[f64]) -> Box<AlgebraicError> {
        let mut left = vec![0.0; equations.dims().algebraic];
        self.residuals(equations, vars, &mut left);
        let row = (0..left.len()).max_by(|&i, &j| left[i].abs().total_cmp(&left[j].abs()));
        let row = row.unwrap_or(0);
        let (equation, near) = (named(equations, row, vars), near(equations, vars));
        AlgebraicError::NotFound { equation, residual: left[row], near }.into()
    }
}

/// The algebraic equation `row`.
fn named<E: Equations>(equations: &E, row: usize, vars: &[f64]) -> String {
    match equations.equation(equations.dims().differential() + row, vars) {
        Some(text) => format!("`{text}`"),
        None => format!("number {row}"),
    }
}

/// Where the algebraic variables stand, if they are few.
fn near<E: Equations>(equations: &E, vars: &[f64]) -> Vec<f64> {
    let values = &vars[equations.dims().algebraic_places()];
    if values.len() > 4 { Vec::new() } else { values.to_vec() }
}
