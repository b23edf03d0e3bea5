//! Constraints that contain no algebraic variable, as the length of a rod.
//!
//! # Why
//! A pendulum in Cartesian coordinates has the force of its rod as an algebraic variable, and the length of the
//! rod as its equation, in which the force does not stand. The equations are of index 3. The constraint is
//! differentiated along the solution until algebraic variables appear in it (Pantelides 1988). The constraint
//! itself and all but the last of its derivatives remain equations, so that no drift arises; each of them takes
//! the place of the derivative of a state, which becomes algebraic (dummy derivatives: Mattsson & Söderlind 1993).
//! States are chosen once, where the run begins, by how strongly they determine the constraints.
use super::{
    formulas::Formulas,
    joined::CONSISTENT,
    read::{Declared, Reader},
};
use crate::{
    kinds::ParamError,
    maths::expr::{Expr, VarId},
    solve::equations::Dims,
};

/// The most derivatives of a constraint: mechanisms need two, their controllers more.
const MOST: usize = 6;

/// The equations of a unit with derivatives of constraints; mistakes are reported.
pub(super) fn reduced(
    r: &mut Reader<'_>,
    d: &Declared<'_>,
    formulas: &mut Formulas,
) -> Option<Reduced> {
    let derivatives = formulas.rates(r, d, false);
    let residuals = formulas.residuals(r, d);
    if !r.errors.is_empty() {
        return None;
    }
    reduce(derivatives, residuals, &formulas.dims).map_err(|why| refuse(r, d, &why)).ok()
}

/// A mistake in the residual of an algebraic variable.
pub(super) fn refuse(r: &mut Reader<'_>, d: &Declared<'_>, why: &Irreducible) {
    let error = match &d.joined {
        Some(joined) => ParamError::whole(format!("{} {}", joined.labels[why.row], why.error)),
        None => {
            let name = d.unknowns(true)[why.row].0;
            let error = format!("the residual of `{}` {}", name.value, why.error);
            ParamError::at(name.span.clone(), error)
        }
    };
    r.errors.push(error.help(why.help.clone()));
}

/// Equations of index 1.
pub(super) struct Reduced {
    /// Derivatives of all states.
    pub derivatives: Vec<Expr>,
    /// Constraints on states alone, with the number of the residual that each comes from.
    pub constraints: Vec<(usize, Expr)>,
    /// Residuals that determine the algebraic variables.
    pub residuals: Vec<Expr>,
}

/// Why the residual of an algebraic variable, by number, cannot be reduced.
pub(super) struct Irreducible {
    row: usize,
    error: String,
    help: String,
}

/// Differentiates constraints until the residuals can determine the algebraic variables: structurally, by a
/// maximum matching. `derivatives` are those of the first states, which the algebraic variables follow.
fn reduce(
    derivatives: Vec<Expr>,
    mut residuals: Vec<Expr>,
    dims: &Dims,
) -> Result<Reduced, Irreducible> {
    let first = Dims::STATES + derivatives.len();
    let count = residuals.len();
    let one = Expr::constant(1.0);
    let states = (0..).zip(&derivatives).map(|(k, f)| (VarId((Dims::STATES + k) as u32), f));
    let field: Vec<(VarId, &Expr)> = std::iter::once((VarId(0), &one)).chain(states).collect();
    let mut constraints: Vec<(usize, Expr)> = Vec::new();
    let place = |v: &VarId| (v.0 as usize).checked_sub(first).filter(|&k| k < count);
    let read = |e: &Expr| -> Vec<usize> { e.vars().iter().filter_map(place).collect() };
    let is_input =
        |v: &VarId| (dims.first_input()..dims.first_discrete()).contains(&(v.0 as usize));
    // Per residual the algebraic variables in it.
    let mut reads: Vec<Vec<usize>> = residuals.iter().map(read).collect();
    let mut solves: Vec<Option<usize>> = vec![None; count];
    for row in 0..count {
        for times in 0.. {
            if matched(row, &reads, &mut solves, &mut vec![false; count]) {
                break;
            }
            let error = if !reads[row].is_empty() {
                "contains only algebraic variables that other residuals determine"
            } else if times == MOST || residuals[row].as_constant().is_some() {
                "contains no algebraic variable, nor do its derivatives"
            } else if residuals[row].vars().iter().any(is_input) {
                "is a constraint on states that reads an input, whose rate is not known"
            } else {
                let rate = residuals[row].derivative_along(&field);
                reads[row] = read(&rate);
                constraints.push((row, std::mem::replace(&mut residuals[row], rate)));
                continue;
            };
            let help = "the system is of index > 1: replace the constraint by its time derivative, \
                        as often as it takes for an algebraic variable to appear";
            return Err(Irreducible { row, error: error.to_owned(), help: help.to_owned() });
        }
    }
    Ok(Reduced { derivatives, constraints, residuals })
}

/// Finds a variable for equation `row`, moving other equations on to other variables if need be.
fn matched(
    row: usize,
    reads: &[Vec<usize>],
    solves: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for &variable in &reads[row] {
        if std::mem::replace(&mut seen[variable], true) {
            continue;
        }
        if solves[variable].is_none_or(|other| matched(other, reads, solves, seen)) {
            solves[variable] = Some(row);
            return true;
        }
    }
    false
}

impl Reduced {
    /// The states, of so many, that follow from the constraints: those with the largest pivots where the
    /// variables are `at`.
    pub(super) fn dependent(&self, at: &[f64]) -> Result<Vec<usize>, Irreducible> {
        let states = self.derivatives.len();
        let slope = |z: &Expr, k: usize| z.differentiate(VarId((Dims::STATES + k) as u32)).eval(at);
        let mut matrix: Vec<Vec<f64>> = self
            .constraints
            .iter()
            .map(|(_, z)| (0..states).map(|k| slope(z, k)).collect())
            .collect();
        let mut chosen = Vec::new();
        for (n, (row, z)) in self.constraints.iter().enumerate() {
            let (off, terms) = (z.eval(at), &matrix[n]);
            let size: f64 = (0..states).map(|k| (terms[k] * at[Dims::STATES + k]).abs()).sum();
            if off.is_nan() || off.abs() > CONSISTENT * (1.0 + size) {
                let before = self.constraints[..n].iter().filter(|(other, _)| other == row).count();
                let what = if before == 0 {
                    "it ".to_owned()
                } else {
                    format!("derivative {before} of it ")
                };
                let error = format!(
                    "is a constraint on states, and their initial values are not on it: {what}is {off:e}"
                );
                let help = "correct the initial values: they, and their speeds, have to satisfy it";
                return Err(Irreducible { row: *row, error, help: help.into() });
            }
        }
        for n in 0..matrix.len() {
            let largest = (0..states)
                .filter(|k| !chosen.contains(k))
                .max_by(|a, b| matrix[n][*a].abs().total_cmp(&matrix[n][*b].abs()).then(b.cmp(a)));
            let pivot = largest.map_or(0.0, |k| matrix[n][k]);
            let Some(k) = largest.filter(|_| pivot.abs() > f64::EPSILON) else {
                let row = self.constraints[n].0;
                let error = "is a constraint that determines no state at the initial values: it is \
                             redundant, or singular there";
                let help = "leave redundant constraints out, or begin elsewhere";
                return Err(Irreducible { row, error: error.into(), help: help.into() });
            };
            chosen.push(k);
            let pivots = matrix[n].clone();
            for row in &mut matrix[n + 1..] {
                let factor = row[k] / pivot;
                row.iter_mut().zip(&pivots).for_each(|(x, p)| *x -= factor * p);
            }
        }
        Ok(chosen)
    }
}
