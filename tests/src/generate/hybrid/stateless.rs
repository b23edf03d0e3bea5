//! Units without differential states. The time moves them, an input, or the solution of algebraic equations; their
//! events reset discrete variables only.
use super::{
    build::{add, binary, mul, num, pow, sub, time, unary},
    units::{Draft, slope},
};
use crate::generate::random::Random;
use superdense_judge::model::{Binary, Expr, Unary, Variable};

/// Gives a unit values that move by the time, explicitly or by algebraic equations.
pub(super) fn dynamics(random: &mut Random, draft: &mut Draft) {
    draft.moving.push(time());
    draft.landmarks.extend([1.0, 2.0, 0.5]);
    for _ in 0..random.weighted(&[25, 50, 25]) {
        match random.below(5) {
            0 | 1 => explicit(random, draft),
            2 => clock(random, draft),
            _ => {
                let by = random.pick(&draft.moving);
                solved(random, draft, by);
            }
        }
    }
}

/// Lets a unit hear an input, by its first residual or a new one, or in an output.
pub(super) fn hear(random: &mut Random, draft: &mut Draft, input: &Expr, how: usize) {
    match (how, draft.unit.residuals.first_mut()) {
        (0, Some(residual)) => *residual = sub(residual.clone(), input.clone()),
        (0, None) => solved(random, draft, input.clone()),
        _ => {
            let output = mul(num(slope(random)), input.clone());
            draft.unit.outputs.push(output.clone());
            draft.moving.push(output);
        }
    }
}

/// A formula of the time.
fn explicit(random: &mut Random, draft: &mut Draft) {
    let c = random.pick(&[1.0, 0.5, 2.0]);
    let late = || sub(time(), num(c));
    let (formula, values) = match random.below(8) {
        0 => (unary(Unary::Sin, time()), [0.0, 1.0]),
        1 => (pow(late(), 2), [0.0, c * c]),
        2 => (unary(Unary::Abs, late()), [0.0, c]),
        3 => (unary(Unary::Exp, mul(num(-1.0), time())), [1.0, 0.5]),
        4 => (binary(Binary::Min, time(), num(c)), [c, 0.0]),
        5 => (binary(Binary::Mod, time(), num(c)), [0.5 * c, 0.25]),
        6 => (sub(pow(time(), 3), time()), [0.0, 0.0]),
        _ => (mul(num(slope(random)), time()), [1.0, -1.0]),
    };
    draft.unit.outputs.push(formula.clone());
    draft.moving.push(formula);
    draft.landmarks.extend(values);
}

/// The time since an instant that events may set anew.
fn clock(random: &mut Random, draft: &mut Draft) {
    let d = draft.discrete(random.pick(&[0.0, 0.0, 1.0, -1.0]));
    let since = sub(time(), draft.d(d));
    draft.moving.push(since);
    draft.landmarks.push(1.0);
}

/// An algebraic variable that follows `by`.
fn solved(random: &mut Random, draft: &mut Draft, by: Expr) {
    let z = draft.unit.algebraic.len();
    let var = || super::build::read(Variable::Algebraic(draft.at, z));
    let residual = match random.below(6) {
        0 => sub(add(var(), by), num(1.0)),
        1 => sub(add(pow(var(), 3), var()), by),
        2 => sub(mul(num(2.0), var()), by),
        3 => sub(var(), unary(Unary::Abs, by)),
        4 => sub(add(var(), unary(Unary::Tanh, var())), by),
        _ => sub(var(), binary(Binary::Min, by, num(1.0))),
    };
    draft.moving.push(var());
    draft.unit.outputs.push(var());
    draft.unit.algebraic.push(random.pick(&[0.0, 0.0, 1.0]));
    draft.unit.residuals.push(residual);
    draft.landmarks.extend([1.0, 0.0]);
}
