//! From the texts of a unit to equations that a solver takes: elimination of what connections made, values at the
//! start, reduction of the index.
use super::{
    formulas::Formulas,
    index::{reduced, refuse},
    initial::settle,
    joined::eliminate,
    read::{Declared, Reader, StartValues},
};
use crate::maths::expr::{Expr, Names};

/// Equations that a solver takes, and where they begin.
pub(super) struct Lowered {
    pub formulas: Formulas,
    /// Derivatives of states, then residuals of as many algebraic variables; nothing of a unit with mistakes.
    pub equations: Vec<Expr>,
    pub start: StartValues,
}

/// The formulas of a unit, as `finish` wants them, with its equations. Among the algebraic variables are states
/// that follow from constraints; they stand behind the other states from now on.
pub(super) fn lower(
    r: &mut Reader<'_>,
    d: &mut Declared<'_>,
    constants: &Names,
    finish: fn(Formulas) -> Formulas,
) -> Lowered {
    let all = d.states.clone();
    if let Some(joined) = eliminate(r, d, constants) {
        d.join(joined);
    }
    let read = |r: &mut Reader<'_>, d: &Declared<'_>| {
        let mut formulas = finish(Formulas::new(r, d, constants.clone()));
        let reduced = reduced(r, d, &mut formulas);
        (formulas, reduced)
    };
    let (mut formulas, mut found) = read(r, d);
    let begin = settle(r, d, constants);
    let constrained = found.as_ref().is_some_and(|found| !found.constraints.is_empty());
    if constrained && r.errors.is_empty() {
        let StartValues { initial, inputs, discrete, .. } = begin.start(r, d, constants);
        let mut at = [&[0.0][..], &initial, &inputs, &discrete].concat();
        at.resize(formulas.dims.variables() + formulas.relations().len(), 0.0);
        let states = found.take().map(|found| found.dependent(&at));
        match states {
            Some(Ok(states)) => {
                d.depend(&states);
                (formulas, found) = read(r, d);
            }
            Some(Err(why)) => refuse(r, d, &why),
            None => {}
        }
    }
    let equations = found.map(|found| {
        let independent = found.derivatives.len() - found.constraints.len();
        let constraints = found.constraints.into_iter().map(|(_, z)| z);
        found.derivatives.into_iter().take(independent).chain(constraints).chain(found.residuals)
    });
    let equations = equations.into_iter().flatten().collect();
    let start = begin.start(r, d, constants);
    if let Some(joined) = d.joined.clone() {
        joined.check(r, (&all, constants), (d, &start));
    }
    Lowered { formulas, equations, start }
}
