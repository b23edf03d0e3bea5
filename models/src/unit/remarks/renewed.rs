//! Events whose conditions others make true again at the instant at which they end them.
//!
//! **Why.** A condition rises between cycles. A bucket that tips as it is full, and is filled by a jug in the cycle in which it
//! tips, has been full throughout, and does not tip again: that is seldom what is meant, so it is told.
use crate::{
    signal::value::Value,
    solve::{
        core::Core,
        equations::{Equations, Trigger},
        guards::compare,
    },
    unit::wrapper::Unit,
};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Notes `event`, which has just happened on the scratch's variables, if its condition does not hold by these.
    pub(in crate::unit) fn note_ended(&mut self, event: u16) {
        let spec = &self.scene.equations.events()[usize::from(event)];
        if !matches!(spec.trigger, Trigger::State { .. }) {
            return;
        }
        let mut vars = self.scratch.vars.clone();
        compare(&self.scene.equations, &mut vars, &mut self.scratch.work);
        self.note_over(event, &vars);
    }

    /// Notes the events that have just happened of which the conditions do not hold now, before messages take effect.
    pub(in crate::unit) fn note_all_ended(&mut self) {
        self.note_held();
        let held = std::mem::take(&mut self.scratch.held);
        (0..self.state.fired.len()).for_each(|k| self.note_over(self.state.fired[k], &held));
        self.scratch.held = held;
    }

    fn note_over(&mut self, event: u16, vars: &[f64]) {
        let number = usize::from(event);
        let spec = &self.scene.equations.events()[number];
        // On its threshold numbers do not tell that it holds: it is over by what the event has set.
        let reads =
            |place| self.readers.of[number].iter().any(|&k| self.readers.read(k, |id| id == place));
        if let Trigger::State { truth, crossing: None, .. } = &spec.trigger
            && (spec.leads || spec.sets(reads))
            && !truth.holds(&self.scene.dims, vars, &mut self.scratch.work)
        {
            self.state.over.push(event);
        }
    }

    /// Tells of the first of these whose condition holds after all, once in a run.
    #[inline]
    pub(in crate::unit) fn note_renewed(&mut self, fx: &mut Effects<Value>) {
        if self.state.over.is_empty() {
            return;
        }
        let over = std::mem::take(&mut self.state.over);
        let renewed = over.into_iter().find(|&event| self.state.truth[usize::from(event)]);
        let Some(event) = renewed.filter(|_| !self.state.renewed) else { return };
        self.state.renewed = true;
        let name = &self.scene.equations.events()[usize::from(event)].name;
        let note = format!(
            "event `{name}` ended its condition, and something else in that cycle made it true again: it counts as \
             true throughout, and `{name}` does not happen again before it has been false; let `{name}` come \
             after it (`priority`, or the order in the text), or one of them later (rules 8 and 10 of docs/conditions.md)"
        );
        fx.report(Fact::Note(note.into()));
    }
}
