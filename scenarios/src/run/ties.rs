//! Looking for units whose behaviour depends on the order of simultaneous messages.
use super::{Failure, pulse::Pulse};
use crate::Plan;
use std::ops::ControlFlow;
use superdense_kernel::{
    Options, Simulation,
    event_list::EventListKind,
    time::Tag,
    trace::{Observer, Verdict},
};
use superdense_models::value::Value;

/// Ends a run on Ctrl-C.
struct Watch(Pulse);

impl Observer<Value> for Watch {
    fn cycle(&mut self, _: Tag) -> Verdict {
        if self.0.interrupted() {
            return ControlFlow::Break("interrupted".to_owned());
        }
        ControlFlow::Continue(())
    }
}

/// Runs `plan` to tick `end` with bags permuted by `seed`. Returns the paths of models whose
/// traces differ from those of `plain`, which ran in the canonical order; or nothing when
/// interrupted.
///
/// # Errors
/// When the permuted run fails, which is a dependence on the order, too.
pub fn compare(
    plain: &Simulation<Value>,
    plan: Plan,
    end: i64,
    event_list: EventListKind,
    seed: u64,
    pulse: &Pulse,
) -> Result<Option<Vec<String>>, Failure> {
    let ties = Some(seed);
    let options = Options { event_list, ties, ..plan.options() };
    let mut permuted = Simulation::new(plan.model, options)?;
    permuted.observe(Watch(pulse.clone()));
    permuted.run_through(end).map_err(|e| {
        Failure::Mismatch(format!(
            "the run depends on the order of simultaneous messages; permuted by {seed} it fails: {e}"
        ))
    })?;
    if pulse.interrupted() {
        return Ok(None);
    }
    let differs = |path: &String| plain.model_hash(path) != permuted.model_hash(path);
    Ok(Some(plain.paths().filter(differs).collect()))
}
