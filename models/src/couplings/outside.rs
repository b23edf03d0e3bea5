//! Inputs from outside of a group whose macro steps are tried out.
//!
//! They are not known when a step is tried out. So the step ends where one comes: the trial is brought back to
//! the start of the step, is told once more what members have been told since, takes the input at its tag, and the
//! next step begins there. Each group keeps its own steps, whatever the group around it does.
use super::{
    Correction, Pace, Rehearsal,
    failures::Step,
    trial::{Progress, Told},
};
use crate::signal::value::Value;
use serde::{Deserialize, Serialize};
use superdense_kernel::time::Tag;

/// Messages by port.
pub(super) type Inputs = Vec<(u16, Value)>;

/// The macro step that members are in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The trial at its start.
    trial: (Vec<u8>, Progress),
    pace: Pace,
    /// Messages that the units were given since, or are about to be given.
    given: Vec<Given>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Given {
    Told(Told),
    Outside { tick: i64, micro: u32, inputs: Inputs },
}

impl Rehearsal {
    /// A step begins: keeps what is needed to come back.
    pub(super) fn keep(&mut self) -> Step<()> {
        if self.trial.outside() > 0 {
            let (trial, pace) = (self.trial.to_bytes()?, self.plan.policy.pace);
            self.plan.begun = Some(Begun { trial, pace, given: Vec::new() });
        }
        Ok(())
    }

    /// Notes the messages that are about to be told in it.
    pub(super) fn note(&mut self, told: &[Told]) {
        if let Some(begun) = &mut self.plan.begun {
            begun.given.extend(told.iter().cloned().map(Given::Told));
        }
    }

    /// Takes what came from outside at this tag, where the step ends.
    pub(super) fn interrupt(&mut self, at: Tag, inputs: Inputs) -> Step<()> {
        let Some(mut begun) = self.plan.begun.take() else {
            return self.trial.give((at.ticks, at.micro), inputs);
        };
        // Messages that are still on the agenda will not be told.
        begun.given.truncate(begun.given.len() - self.plan.agenda.len());
        self.plan.agenda.clear();
        begun.given.push(Given::Outside { tick: at.ticks, micro: at.micro, inputs });
        self.trial.restore_bytes(begun.trial.clone())?;
        self.plan.policy.pace = begun.pace;
        for given in &begun.given {
            match given {
                Given::Told(told) => {
                    let some = self.plan.rehearse.correction == Correction::Selective;
                    self.trial.repeat(told, some)?;
                }
                Given::Outside { tick, micro, inputs } => {
                    self.trial.give((*tick, *micro), inputs.clone())?;
                }
            }
        }
        self.trial.run(at.ticks, false)?;
        self.plan.planned = at.ticks;
        self.plan.begun = Some(begun);
        Ok(())
    }
}
