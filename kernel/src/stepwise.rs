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
    /// is due or reached, nothing happens and the tag stays free. Inputs that reach nobody, over ports
    /// without couplings or by translations that drop them, are not in the trace hash.
    ///
    /// # Errors
    /// When `at` lies before the last cycle or an event lies before `at`; any [`RunError`].
    pub fn commit(&mut self, at: i64, mut inputs: Vec<(u16, M)>) -> Result<Tag, RunError> {
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
            inputs.extend(this.due_outside(at));
            this.core.send_from_outside(inputs);
            let moved = this.transitions();
            this.close(moved)?;
            Ok(tag)
        })
    }
}

impl<M: Message> Core<M> {
    pub(crate) fn send_from_outside(&mut self, inputs: Vec<(u16, M)>) {
        let (bus, network) = (&mut self.bus, &self.network);
        let mut out = Outbox::new(bus, network, self.now, self.resolution);
        for (port, value) in inputs {
            out.send_in(OutPort::new(port), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Atomic, Bag, Component, Coupled, Effects, Simulation, port::InPort, structure::Change,
        time::Duration,
    };
    use serde::{Deserialize, Serialize};

    const IN: InPort<u32, Sum> = InPort::new(0);

    /// Adds up what it hears; the first one removes another model at tick 5.
    #[derive(Clone, Serialize, Deserialize)]
    struct Sum(u32, bool);

    impl Atomic<u32> for Sum {
        fn inputs(&self) -> u16 {
            2
        }
        fn time_advance(&self) -> Duration {
            if self.1 { Duration::from_ticks(5) } else { Duration::INFINITE }
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            self.1 = false;
            fx.change(Change::Remove { path: "gone".into() });
        }
        fn external(&mut self, _: Duration, bag: &Bag<'_, u32>, _: &mut Effects<u32>) {
            self.0 = bag.iter().fold(self.0, |sum, (_, value)| sum.wrapping_mul(31) + value);
        }
    }

    /// Root ports: one that leads to a model, one that leads nowhere, one whose values are dropped on
    /// the way, and one that leads to both ports of a model.
    fn simulation() -> Simulation<u32> {
        let mut top = Coupled::new();
        let ports = ["heard", "open", "dropped", "twice"].map(|name| top.add_input::<u32>(name));
        let a = top.add("a", Sum(0, true));
        top.add_component("gone", Component::atomic(Sum(0, false)));
        top.couple(ports[0].inside(), a.input(IN));
        top.couple_with(ports[2].inside(), a.input(IN), "none", |_: &u32| None::<u32>);
        top.couple(ports[3].inside(), a.input(IN));
        top.couple(ports[3].inside(), a.input(InPort::<u32, Sum>::new(1)));
        Simulation::new(top, Default::default()).expect("a model")
    }

    /// Inputs that reach nobody leave no mark in the trace hash, wherever they stand among others.
    #[test]
    fn inputs_that_nobody_hears_are_not_in_the_trace_hash() {
        let committed = |inputs: &[(u16, u32)]| {
            let mut sim = simulation();
            sim.commit(3, inputs.to_vec()).expect("an input");
            (sim.trace_hash(), sim.counts())
        };
        let plain = committed(&[(0, 7), (3, 8)]);
        assert_eq!(committed(&[(1, 9), (0, 7), (3, 8)]), plain);
        assert_eq!(committed(&[(2, 9), (0, 7), (1, 9), (2, 9), (3, 8), (1, 9)]), plain);
        assert_ne!(committed(&[(3, 8), (0, 7)]).0, plain.0);

        let injected = |inputs: &[(&str, u32)]| {
            let mut sim = simulation();
            for &(path, value) in inputs {
                sim.inject(path, IN, 10, value).expect("an input");
            }
            sim.run_through(20).expect("no error");
            (sim.trace_hash(), sim.counts())
        };
        let plain = injected(&[("a", 1), ("a", 2)]);
        assert_eq!(injected(&[("gone", 9), ("a", 1), ("gone", 9), ("a", 2)]), plain);
        assert_ne!(injected(&[("a", 2), ("a", 1)]).0, plain.0);
    }
}
