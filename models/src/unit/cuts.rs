//! Steps of fixed length: who ends them early, and who does not.
//!
//! A time event that changes nothing is no reason to end a step: what it sends is on the dense output, and
//! the step goes on. Inputs, other events and flips of sides end it where they come, and that is told: the solution is
//! then no longer the one that the steps of a printed method give.
use super::wrapper::Unit;
use crate::signal::value::Value;
use crate::solve::{core::Core, equations::Equations};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Whether all time events so many ticks after the last transition leave all as it is.
    pub(super) fn looks_on(&self, k: i64) -> bool {
        let at = self.scene.frame.last + k;
        let mut events = self.scene.equations.events().iter().zip(&self.looks_on);
        self.looks_on.contains(&true)
            && events.all(|(e, &looks_on)| looks_on || e.trigger.next(at, true) != Some(at))
    }

    /// Whether the planned events change nothing, not even sides, so that a step of fixed length goes on.
    pub(super) fn only_looks_on(&self) -> bool {
        let fired = &self.state.fired;
        let held = self.scene.dims.held();
        !fired.is_empty()
            && fired.iter().all(|&event| self.looks_on[usize::from(event)])
            && self.state.carried.is_empty()
            && self.state.retiring == self.scene.frame.resting
            && self.scratch.vars[held] == self.scene.frame.discrete
    }

    /// Counts a step of fixed length that ends at the present for an input, or else for an event or a flip; the
    /// first one is told.
    pub(super) fn note_cut(&mut self, input: Option<usize>, fx: &mut Effects<Value>) {
        let now = Some(self.scene.frame.last);
        let (Some(step), Some(done)) = (self.core.own_step(), self.core.inside(&self.scene)) else {
            return;
        };
        if std::mem::replace(&mut self.state.cut, now) == now {
            return;
        }
        self.state.cut_steps += 1;
        if self.state.cut_steps > 1 {
            return;
        }
        let by = match input {
            Some(port) => self.input(port),
            None => {
                let own = self.scene.equations.events();
                let event = self.state.fired.iter().find_map(|&event| own.get(usize::from(event)));
                let flip = "a change of an `if`, `abs`, `min` or `max`".to_owned();
                event.map_or(flip, |event| format!("event `{}`", event.name))
            }
        };
        let note = format!(
            "{by} cuts a step of {step} s short, after {done} s; `cut_steps` of the summary counts all. \
             For steps as long as `step` says make the time between two exchanges or events a multiple of it"
        );
        fx.report(Fact::Note(note.into()));
    }

    #[cold]
    pub(super) fn input(&self, port: usize) -> String {
        let event = port.checked_sub(self.scene.dims.inputs);
        match event.and_then(|port| self.scene.equations.reception(port)) {
            Some(name) => format!("input `{name}`"),
            None => format!("input {}", self.signal(false, port)),
        }
    }
}
