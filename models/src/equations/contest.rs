//! Which quantiser is the cheapest at equal error, by a trial.
//!
//! How many steps a quantiser takes says little about its error: LIQSS2 looks ahead, always to the
//! same side, so that a front comes too early by more and more; QSS1 takes many more steps at equal
//! quanta, and is exact wherever nothing moves. So those that may lead run for a while from the
//! start, beside one that is far tighter; steps are taken as they would be at an error as large as
//! the quanta, as which they go with the power -1/order of the error.
use super::auto::Choice;
use crate::solve::{
    equations::{Dims, Programs},
    qss::{
        Explicit, Implicit, Quanta,
        trial::{Beginning, Trial},
    },
};

/// Steps of the leader, and of others at most.
const STEPS: u64 = 2000;
const LIMIT: u64 = 20 * STEPS;
/// How much tighter the reference is.
const TIGHTER: f64 = 0.01;
/// An error below this part of the quanta counts no more: the quanta stay as they are.
const LEAST: f64 = 0.1;
/// Errors beyond so many quanta are no longer what tolerances add up to.
const MOST: f64 = 100.0;

fn run(choice: Choice, from: Beginning<'_>, q: Quanta, seconds: Option<f64>) -> Option<Trial> {
    let steps = if seconds.is_none() { STEPS } else { LIMIT };
    match choice {
        Choice::Qss1 => from.run::<Explicit, 1>(q, seconds, steps),
        Choice::Qss2 => from.run::<Explicit, 2>(q, seconds, steps),
        Choice::Liqss2 => from.run::<Implicit, 2>(q, seconds, steps),
        _ => None,
    }
}

/// Steps at an error as large as the quanta, of the `leader` and of the others that are able to
/// compete; nothing where there is no comparison.
pub(super) fn steps(
    programs: &Programs,
    (dims, vars): (Dims, &[f64]),
    quanta: Quanta,
    leader: Choice,
) -> Vec<(Choice, f64)> {
    let from = Beginning { dims, derivatives: &programs.derivatives, vars };
    let tight = Quanta { relative: TIGHTER * quanta.relative, minimum: TIGHTER * quanta.minimum };
    let own = run(leader, from, quanta, None).filter(|own| own.end > 0.0);
    let Some(own) = own else { return Vec::new() };
    let Some(reference) = run(leader, from, tight, Some(own.end)) else { return Vec::new() };
    let scale = |x: f64| (quanta.relative * x.abs()).max(quanta.minimum);
    let tolerated = norm(reference.x.iter().map(|&x| scale(x)));
    let of = |choice: Choice| {
        let trial = match choice == leader {
            true => own.clone(),
            false => run(choice, from, quanta, Some(own.end))?,
        };
        let error = norm(trial.x.iter().zip(&reference.x).map(|(a, b)| a - b)) / tolerated;
        let order = if choice == Choice::Qss1 { 1.0 } else { 0.5 };
        Some((choice, trial.steps as f64 * libm::pow(error.max(LEAST), order)))
    };
    [Choice::Qss1, Choice::Qss2, Choice::Liqss2].into_iter().filter_map(of).collect()
}

/// Whether the `leader` with tight quanta comes elsewhere than `to`, where a method of another kind is
/// after so many seconds: what agrees with itself alone may be wrong.
pub(super) fn misses(
    programs: &Programs,
    (dims, vars): (Dims, &[f64]),
    quanta: Quanta,
    leader: Choice,
    (seconds, to): (f64, &[f64]),
) -> bool {
    let from = Beginning { dims, derivatives: &programs.derivatives, vars };
    let tight = Quanta { relative: TIGHTER * quanta.relative, minimum: TIGHTER * quanta.minimum };
    let scale = |x: &f64| (quanta.relative * x.abs()).max(quanta.minimum);
    run(leader, from, tight, Some(seconds)).is_some_and(|trial| {
        let error = norm(trial.x.iter().zip(to).map(|(a, b)| a - b));
        error.is_nan() || error > MOST * norm(to.iter().map(scale))
    })
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}
