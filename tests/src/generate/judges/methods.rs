//! All methods find the same events.
use super::{Case, Judge, Opinion, rounding};
use crate::generate::{
    excluded,
    run::{End, Outcome, Runner},
    settings::{Method, Settings},
};

pub(super) struct Methods;

impl Judge for Methods {
    fn name(&self) -> &'static str {
        "methods"
    }
    fn share(&self) -> usize {
        60
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        // Quantised methods need a step for each quantum on the way to infinity.
        let grows =
            |why: &str| ["is not finite", "grows beyond bounds"].iter().any(|w| why.contains(w));
        if matches!(&base.end, End::Failed(_, why) if grows(why)) {
            return Opinion::Skipped("a solution that grows beyond bounds");
        }
        let fits =
            |m: &Method| *m != case.settings.method && excluded::under(&case.model, *m).is_none();
        let list: Vec<Method> = Method::ALL.into_iter().filter(fits).collect();
        if list.is_empty() {
            return Opinion::Skipped("one method only");
        }
        let method = case.choices("methods").pick(&list);
        let mut other = case.clone();
        other.settings = Settings { executor: case.settings.executor, ..Settings::of(method) };
        rounding::compare(case, base, &other, runner, &format!("under {}", method.name()), &|t| t)
    }
}
