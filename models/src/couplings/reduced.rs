//! The Jacobian of a macro step without the signals that answer for themselves.
//!
//! Most signals are outputs y of units, whose residual G(Y) - Y has -1 on the diagonal. Conditions, as of bonds, have
//! no such entry: an effort acts on them through the units only, by as much as the step is long, or by its square.
//! The Schur complement, which is left when the outputs are eliminated, is the compliance of the units: whether
//! conditions can be met, and whether two of them say the same, is seen in it, whatever its size.
use nalgebra::{DMatrix, DVector};

/// A diagonal entry above this is that of an output.
const OWN: f64 = 0.25;
/// Smallest pivot or singular value against the largest one that is more than rounding.
const SINGULAR: f64 = 1e-9;
/// The largest step of differences, relative to 1 + |y|.
pub(super) const STEP: f64 = 1e-3;

/// A Jacobian in four blocks.
pub(super) struct Reduced {
    /// Signals that answer for themselves, and the others.
    own: Vec<usize>,
    pub rest: Vec<usize>,
    /// The inverse of the block of the first.
    inverse: DMatrix<f64>,
    /// Residuals of the others by the first, and the other way round.
    lower: DMatrix<f64>,
    upper: DMatrix<f64>,
    /// The Schur complement.
    pub schur: DMatrix<f64>,
}

impl Reduced {
    /// None if the outputs alone cannot be solved for.
    pub(super) fn of(jacobian: &DMatrix<f64>) -> Option<Self> {
        let n = jacobian.nrows();
        let (own, rest): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&i| jacobian[(i, i)].abs() > OWN);
        let block = |rows: &[usize], columns: &[usize]| {
            DMatrix::from_fn(rows.len(), columns.len(), |i, k| jacobian[(rows[i], columns[k])])
        };
        let inverse = if own.is_empty() {
            DMatrix::zeros(0, 0)
        } else {
            let lu = block(&own, &own).lu();
            let pivots = lu.u().diagonal().abs();
            (pivots.min() > SINGULAR * pivots.max()).then(|| lu.try_inverse()).flatten()?
        };
        let (lower, upper) = (block(&rest, &own), block(&own, &rest));
        let schur = block(&rest, &rest) - &lower * &inverse * &upper;
        Some(Self { own, rest, inverse, lower, upper, schur })
    }

    /// The solution of J s = r. Conditions that nothing changes, or no more than rounding does, ask for nothing.
    pub(super) fn solve(&self, r: &DVector<f64>) -> DVector<f64> {
        let part = |rows: &[usize]| DVector::from_fn(rows.len(), |i, _| r[rows[i]]);
        let own = &self.inverse * part(&self.own);
        let rest = match self.noise() < 1.0 {
            true => least(&self.schur, &(part(&self.rest) - &self.lower * &own)),
            false => DVector::zeros(self.rest.len()),
        };
        let own = own - &self.inverse * (&self.upper * &rest);
        let mut all = DVector::zeros(r.len());
        let places = self.own.iter().chain(&self.rest);
        for (&i, value) in places.zip(own.iter().chain(rest.iter())) {
            all[i] = *value;
        }
        all
    }

    /// How much of the Schur complement, against its largest entry, is rounding of the values that differences were taken
    /// of, at best.
    pub(super) fn noise(&self) -> f64 {
        let largest = |m: &DMatrix<f64>| if m.is_empty() { 0.0 } else { m.amax() };
        f64::EPSILON / STEP * largest(&self.lower).max(1.0) / largest(&self.schur)
    }
}

/// The solution of A s = r; where A is singular, the shortest of the best.
pub(super) fn least(a: &DMatrix<f64>, r: &DVector<f64>) -> DVector<f64> {
    if a.is_empty() {
        return DVector::zeros(0);
    }
    let lu = a.clone().lu();
    let pivots = lu.u().diagonal().abs();
    let solved = (pivots.min() > SINGULAR * pivots.max()).then(|| lu.solve(r)).flatten();
    solved.unwrap_or_else(|| {
        let svd = a.clone().svd(true, true);
        let least = SINGULAR * svd.singular_values.max();
        svd.solve(r, least).unwrap_or_else(|_| -r)
    })
}

/// Rows and columns of size 1. Twice, since each disturbs the other; the values are a matter of units of measure.
pub(super) fn scaled(mut matrix: DMatrix<f64>) -> DMatrix<f64> {
    for _ in 0..2 {
        for mut row in matrix.row_iter_mut() {
            let size = row.amax();
            if size > 0.0 {
                row /= size;
            }
        }
        for mut column in matrix.column_iter_mut() {
            let size = column.amax();
            if size > 0.0 {
                column /= size;
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two places and speeds, an effort that acts on them in a step of 1 microsecond, and the condition that their gap
    /// is closed.
    #[test]
    fn a_compliance_may_be_small() {
        let h = 1e-6;
        let mut j =
            DMatrix::from_diagonal(&DVector::from_row_slice(&[-1.0, -1.0, -1.0, -1.0, 0.0]));
        for (row, entry) in [(0, 0.5 * h * h), (1, h), (2, -0.25 * h * h), (3, -0.5 * h)] {
            j[(row, 4)] = entry;
        }
        for (column, entry) in [(0, 1.0 / h), (1, 1.0), (2, -1.0 / h), (3, -1.0)] {
            j[(4, column)] = entry;
        }
        let wanted = DVector::from_row_slice(&[1e-9, 2e-4, -3e-9, 1e-4, 3.0]);
        let found = solve(&j, &(&j * &wanted));
        let off = (found - &wanted).component_div(&wanted).amax();
        assert!(off < 1e-6, "{off}");
    }

    fn solve(j: &DMatrix<f64>, r: &DVector<f64>) -> DVector<f64> {
        Reduced::of(j).expect("outputs answer for themselves").solve(r)
    }

    /// A condition that nothing changes leaves its effort where it is.
    #[test]
    fn a_condition_that_nothing_changes_asks_for_nothing() {
        let j = DMatrix::from_row_slice(2, 2, &[-1.0, 0.0, 1.0, 0.0]);
        let found = solve(&j, &DVector::from_row_slice(&[2.0, 5.0]));
        assert_eq!(found.as_slice(), [-2.0, 0.0]);
    }
}
