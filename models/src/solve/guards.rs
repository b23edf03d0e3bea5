//! Branches that guard: `if h > 0 then sqrt(h) else 0`.
//!
//! **Why.** A side is held until the search for events finds where it changes. A state at rest, a stage or a place of
//! that search may lie beyond it by rounding, where the branch that is held has no value. There the branch counts that
//! belongs to the state.
use super::equations::{Equations, Work};

/// Sets the sides among these variables as a comparison of what they are now says, which holds nothing.
pub(crate) fn compare<E: Equations + ?Sized>(equations: &E, vars: &mut Vec<f64>, work: &mut Work) {
    let (dims, relations) = (equations.dims(), equations.relations());
    vars.resize(dims.variables(), 0.0);
    let mut z = vec![0.0; dims.indicators];
    // Once for each relation that stands in another one, and once more: inner ones come first.
    for _ in 0..=relations.len() {
        equations.indicators(vars, work, &mut z);
        let mut changed = false;
        for ((relation, z), side) in relations.iter().zip(&z).zip(&mut vars[dims.first_side()..]) {
            let before = std::mem::replace(side, relation.kind.side(*z));
            changed |= before != *side;
        }
        if !changed {
            break;
        }
    }
}

/// The value of an output.
pub(super) fn output<E: Equations + ?Sized>(equations: &E, port: usize, vars: &[f64]) -> f64 {
    let (mut y, mut work) = (vec![0.0; equations.dims().outputs], Work::default());
    equations.outputs(vars, &mut work, &mut y);
    if !y[port].is_finite() && equations.dims().indicators > 0 {
        let mut vars = vars.to_vec();
        compare(equations, &mut vars, &mut work);
        equations.outputs(&vars, &mut work, &mut y);
    }
    y[port]
}

/// The value of an output that is `y` by the sides that are held.
#[inline]
pub(super) fn finite<E: Equations>(equations: &E, vars: &[f64], (port, y): (usize, f64)) -> f64 {
    if y.is_finite() { y } else { equations.output(port, vars) }
}

/// Replaces those indicators that are not finite by the sides that are held.
#[cold]
pub(super) fn indicators<E: Equations>(
    equations: &E,
    vars: &[f64],
    work: &mut Work,
    indicators: &mut [f64],
) {
    let (mut vars, mut z) = (vars.to_vec(), indicators.to_vec());
    compare(equations, &mut vars, work);
    equations.indicators(&vars, work, &mut z);
    for (own, z) in indicators.iter_mut().zip(z).filter(|(own, _)| !own.is_finite()) {
        *own = z;
    }
}
