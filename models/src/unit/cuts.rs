//! Steps of fixed length: who ends them early, and who does not.
//!
//! A time event that changes nothing is no reason to end a step: what it sends is on the dense output, and
//! the step goes on. Inputs, other events and flips of sides end it where they come, and that is told: the solution is
//! then no longer the one that the steps of a printed method give.
use super::wrapper::Unit;
use crate::solve::{core::Core, equations::Equations};

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
}
