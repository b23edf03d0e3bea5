//! The stepwise protocol: λ and transitions as separate calls, by which a running simulation is a
//! unit of another (closure under coupling).
use crate::{
    core::Core,
    error::RunError,
    event_list::LATEST,
    message::Message,
    outbox::Outbox,
    port::OutPort,
    simulation::{Simulation, beyond},
    time::Tag,
};

impl<M: Message> Simulation<M> {
    /// λ of the cycle at tick `at`, without its transitions: what leaves through the root's
    /// output ports. Before the next event there is nothing to send.
    ///
    /// # Errors
    /// When an event lies before `at`.
    pub fn emit(&mut self, at: i64) -> Result<Vec<(u16, M)>, RunError> {
        let Some(next) = self.next_within(at)? else { return Ok(Vec::new()) };
        if at > next.ticks {
            return Err(RunError::Skipped { asked: at, next });
        }
        self.guarded(|this| this.stage(next))?;
        let core = &mut self.core;
        let bag = core.bus.outside(&core.network, core.now);
        Ok(bag.iter().flat_map(|b| b.iter()).map(|(port, value)| (port, value.clone())).collect())
    }

    /// The cycle at tick `at`, with inputs for the root's input ports: with the internal events
    /// due then, or before the next one with the inputs alone. Returns its tag; where no model
    /// is due or reached, nothing happens and the tag stays free.
    ///
    /// # Errors
    /// When `at` lies before the last cycle or an event lies before `at`; any [`RunError`].
    pub fn commit(&mut self, at: i64, inputs: Vec<(u16, M)>) -> Result<Tag, RunError> {
        self.healthy()?;
        if at < self.floor || (self.staged && at < self.core.now.ticks) {
            return Err(RunError::Past { asked: at, now: self.core.now });
        }
        if at > LATEST {
            return Err(beyond("an input", at));
        }
        let tag = match self.next_within(at)? {
            Some(next) if at > next.ticks => return Err(RunError::Skipped { asked: at, next }),
            Some(next) => next,
            None => self.tag_at(at),
        };
        let (available, _) = self.core.blueprint.port_counts(self.core.blueprint.root);
        if let Some(&(port, _)) = inputs.iter().find(|i| i.0 >= available) {
            return Err(RunError::UnknownInput { path: String::new(), port });
        }
        self.guarded(|this| {
            this.stage(tag)?;
            this.core.send_from_outside(inputs);
            let moved = this.transitions();
            this.close(moved)?;
            Ok(tag)
        })
    }
}

impl<M: Message> Core<M> {
    fn send_from_outside(&mut self, inputs: Vec<(u16, M)>) {
        let (bus, network) = (&mut self.bus, &self.network);
        let mut out = Outbox::new(bus, network, self.now, self.resolution);
        for (port, value) in inputs {
            out.send(OutPort::<M>::new(port), value);
        }
    }
}
