//! Every executor commits what the sequential one does.
use super::{Case, Finding, Judge, Opinion};
use crate::generate::{
    compare::{Bounds, summary},
    run::{End, Outcome, Runner},
    settings::Executor,
};

pub(super) struct Executors;

/// The executors that are compared with the sequential one.
pub const EXECUTORS: [Executor; 6] = [
    Executor::TimeWarp(1),
    Executor::TimeWarp(2),
    Executor::TimeWarp(8),
    Executor::Conservative(2),
    Executor::Conservative(8),
    Executor::Auto,
];

/// Compares a text under another executor.
pub fn compare(text: &str, base: &Outcome, executor: Executor, runner: &Runner) -> Opinion {
    if matches!(base.end, End::Cut(_)) {
        return Opinion::Skipped("cut off");
    }
    same_run(base, &runner.run(text, executor), &format!("under {executor:?}"))
}

/// Whether another run did the same to the last bit: also an error is the same one.
pub fn same_run(base: &Outcome, other: &Outcome, what: &str) -> Opinion {
    let opinion = Opinion::of(base, other, what, Bounds::EXACT);
    let bits = |run: &Outcome| run.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let difference = match (&base.end, &other.end) {
        (End::Failed(_, a), End::Failed(_, b)) if a != b => "the error",
        (End::Reached, End::Reached) if base.hash != other.hash => "the trace hash",
        (End::Reached, End::Reached) if bits(base) != bits(other) => "the bits of values",
        _ => return opinion,
    };
    if !matches!(opinion, Opinion::Agrees) {
        return opinion;
    }
    let told = |run: &Outcome| format!("trace hash {:016x}, {}", run.hash, summary(run));
    Opinion::Disagrees(Finding {
        seen: told(base),
        right: format!("{what}: {}", told(other)),
        difference: difference.into(),
    })
}

impl Judge for Executors {
    fn name(&self) -> &'static str {
        "executors"
    }
    fn share(&self) -> usize {
        10
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let executor = case.choices("executors").pick(&EXECUTORS);
        compare(&case.text(), base, executor, runner)
    }
}
