//! How far the results of a program may be off, by what its variables are off.
use super::bounded::Bounded;
use crate::maths::expr::{Program, Registers};

/// The results with their bounds, for variables of which number `k` is off by `error(k)`.
fn bounded(
    program: &Program,
    vars: &[f64],
    error: impl Fn(usize) -> f64,
    results: usize,
) -> Vec<Bounded<1>> {
    let vars: Vec<_> = vars.iter().enumerate().map(|(k, v)| Bounded::new(*v, error(k))).collect();
    let mut all = vec![Bounded::default(); results];
    program.eval(&vars, &mut Registers::default(), &mut all);
    all
}

/// Corrects the results of a program where a comparison was one of roundings, or a number was whole but for rounding.
pub(crate) fn snap(
    program: &Program,
    vars: &[f64],
    error: impl Fn(usize) -> f64,
    results: &mut [f64],
) {
    if !program.code().iter().any(|step| step.op.jumps()) {
        return;
    }
    let all = bounded(program, vars, error, results.len());
    for (raw, bounded) in results.iter_mut().zip(&all) {
        let value = bounded.value.0[0];
        // Where no comparison came out otherwise, both are the value.
        if (value - *raw).abs() > bounded.error[0] {
            *raw = value;
        }
    }
}

/// Writes how far expressions may be computed off at `vars`, whose entries are off by `errors`.
pub fn roundings(program: &Program, vars: &[f64], errors: &[f64], out: &mut [f64]) {
    let all = bounded(program, vars, |k| errors[k], out.len());
    out.iter_mut().zip(all).for_each(|(out, x)| *out = x.error[0]);
}
