//! Inputs from outside, each for its tick.
use crate::{
    blueprint::NodeBody,
    error::RunError,
    event_list::LATEST,
    key::ModelKey,
    message::{Message, Payload},
    port::{self, InPort},
    simulation::{Injection, Simulation, beyond},
};
use std::any::{TypeId, type_name};

impl<M: Message> Simulation<M> {
    /// An input from outside for an input port at tick `at` (R10): of the root, whose path is empty, or of
    /// the atomic model at `path`. It joins the cycle of that tick, or has one of its own. One for a model
    /// that is gone then is void.
    ///
    /// # Errors
    /// When `at` lies in the past, there is no such model or port, or the port is another model's; the error
    /// of a run that failed.
    pub fn inject<T: Payload<M>, A: 'static>(
        &mut self,
        path: &str,
        port: InPort<T, A>,
        at: i64,
        value: T,
    ) -> Result<(), RunError> {
        self.healthy()?;
        if at < self.floor {
            return Err(RunError::Past { asked: at, now: self.core.now });
        }
        if at > LATEST {
            return Err(beyond(path, at));
        }
        let (target, (inputs, _)) = self.owner::<A>(path)?;
        let (port, value) = (port.index(), value.wrap());
        if port >= inputs {
            return Err(RunError::UnknownInput { path: path.to_owned(), port });
        }
        self.injections.entry(at).or_default().push(Injection { target, port, value });
        Ok(())
    }

    /// The model at a path that has ports of an `A`, and how many inputs and outputs: an atomic one, or the
    /// root, which is of no type.
    pub(crate) fn owner<A: 'static>(&self, path: &str) -> Result<(ModelKey, (u16, u16)), RunError> {
        let blueprint = &self.core.blueprint;
        let place = || path.to_owned();
        let key = blueprint.find(path).ok_or_else(|| RunError::UnknownModel { path: place() })?;
        let is_known = match &blueprint.nodes[key].body {
            NodeBody::Atomic(a) => self.slabs.kinds[a.kind as usize].model(a.slot).is::<A>(),
            NodeBody::Coupled(_) if key == blueprint.root => false,
            NodeBody::Coupled(_) => return Err(RunError::UnknownModel { path: place() }),
        };
        if !is_known && TypeId::of::<A>() != TypeId::of::<port::Any>() {
            return Err(RunError::OtherModel { path: place(), expected: type_name::<A>() });
        }
        Ok((key, blueprint.port_counts(key)))
    }

    /// Takes the inputs for the root's input ports that wait for a tick.
    pub(crate) fn due_outside(&mut self, ticks: i64) -> Vec<(u16, M)> {
        let root = self.core.blueprint.root;
        let Some(waiting) = self.injections.get_mut(&ticks) else { return Vec::new() };
        waiting.extract_if(.., |i| i.target == root).map(|i| (i.port, i.value)).collect()
    }

    /// Sends the inputs that wait for a tick.
    pub(crate) fn inject_due(&mut self, ticks: i64) {
        let outside = self.due_outside(ticks);
        let core = &mut self.core;
        core.send_from_outside(outside);
        let mut number = 0;
        for i in self.injections.remove(&ticks).into_iter().flatten() {
            // A target that was removed meanwhile gets nothing, as any removed model.
            if let Some(NodeBody::Atomic(a)) = core.blueprint.nodes.get(i.target).map(|n| &n.body) {
                core.bus.inject(&core.network, a.index, i.port, number, i.value);
                number += 1;
            }
        }
    }
}
