//! Every executor commits what the sequential one does.
use super::{Case, Finding, Judge, Opinion};
use crate::generate::{
    compare::Bounds,
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
    let other = runner.run(text, executor);
    let opinion = Opinion::of(base, &other, &format!("under {executor:?}"), Bounds::EXACT);
    let equal = base.hash == other.hash
        && base.values.iter().zip(&other.values).all(|(a, b)| a.to_bits() == b.to_bits());
    match opinion {
        Opinion::Agrees if !equal && base.end == End::Reached => Opinion::Disagrees(Finding {
            seen: format!("trace hash {:016x}, values {:?}", base.hash, base.values),
            right: format!(
                "as {executor:?}: trace hash {:016x}, values {:?}",
                other.hash, other.values
            ),
            difference: "the trace hash or bits of values".into(),
        }),
        opinion => opinion,
    }
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
