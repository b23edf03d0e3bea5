//! Conditions that hold from the beginning.
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations},
    unit::wrapper::Unit,
};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// At the first instant of a run, tells of an event that leads out of the mode in which the unit begins and whose
    /// condition holds: it does not rise (rule 7), so that the unit stays there, where other tools leave it.
    pub(in crate::unit) fn note_standing(&mut self, fx: &mut Effects<Value>) {
        self.note_held();
        let (equations, vars) = (&self.scene.equations, &self.scratch.held);
        // A message of the start may have made it true: that is an event.
        let comes = |k: usize| self.state.due.contains(&(k as u16));
        let holds = |k: usize| self.state.truth[k] && !comes(k) && equations.concerns(k, vars);
        let mut all = equations.events().iter().enumerate();
        let Some((_, event)) = all.find(|(k, e)| e.leads && holds(*k)) else { return };
        let note = format!(
            "event `{}` leads to another mode, and its condition holds at the start: nothing happens before it has been \
             false (rule 7 of docs/conditions.md); begin in the other mode (`initial`) if that is meant",
            event.name
        );
        fx.report(Fact::Note(note.into()));
    }
}
