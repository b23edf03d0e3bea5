//! A run that goes on from a checkpoint is the run without a pause.
use super::{Case, Judge, Opinion};
use crate::generate::{
    compare::Bounds,
    run::{Outcome, Runner},
    settings::Executor,
};

pub(super) struct Resume;

impl Judge for Resume {
    fn name(&self) -> &'static str {
        "resume"
    }
    fn share(&self) -> usize {
        25
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let mut random = case.choices("resume");
        let stop = case.model.stop;
        let seconds = random.uniform() * stop.numerator as f64 / stop.denominator as f64;
        let mut at = (seconds * 10_f64.powi(case.model.resolution as i32)) as i64;
        // At, just before or just after an event.
        if !base.events.is_empty() && random.chance(60) {
            at = (base.events[random.below(base.events.len())].tick + random.within(-1, 1)).max(0);
        }
        let other = runner.resumed(&case.text(), at, [Executor::Sequential; 2]);
        let opinion = Opinion::of(
            base,
            &other,
            &format!("resumed from a checkpoint at tick {at}"),
            Bounds::EXACT,
        );
        match opinion {
            Opinion::Agrees if base.hash != other.hash && !base.values.is_empty() => {
                Opinion::Disagrees(super::Finding {
                    seen: format!("trace hash {:016x}", base.hash),
                    right: format!("trace hash {:016x} resumed at tick {at}", other.hash),
                    difference: "the trace hash".into(),
                })
            }
            opinion => opinion,
        }
    }
}
