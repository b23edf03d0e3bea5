//! Notes that models keep for whoever evaluates a run: what their signals are between messages.
use crate::{
    blueprint::NodeBody, key::ModelKey, message::Message, simulation::Simulation, time::Duration,
};
use std::any::Any;

impl<M: Message> Simulation<M> {
    /// Asks a model to keep notes of some output ports; see [`Atomic::note`](crate::Atomic::note). False where
    /// messages tell everything.
    pub fn note(&mut self, model: ModelKey, ports: &[u16]) -> bool {
        match self.place_of(model) {
            Some((kind, slot)) => self.slabs.kinds[kind].note(slot, ports),
            None => false,
        }
    }

    /// Takes the notes of a model: those that are final, or all up to a tick, which must not lie before
    /// its last transition. Changes nothing else, and what is taken in parts is what is taken at once.
    pub fn take_notes(&mut self, model: ModelKey, until: Option<i64>) -> Option<Box<dyn Any>> {
        let (kind, slot) = self.place_of(model)?;
        let kind = &mut self.slabs.kinds[kind];
        let last = kind.cell(slot).last;
        kind.take_notes(slot, until.map(|at| Duration::between(last, at)))
    }

    fn place_of(&self, model: ModelKey) -> Option<(usize, u32)> {
        match &self.core.blueprint.nodes.get(model)?.body {
            NodeBody::Atomic(a) => Some((a.kind as usize, a.slot)),
            _ => None,
        }
    }
}
