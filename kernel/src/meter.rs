//! Measuring where a run spends its time.
//!
//! **Why a trait.** The kernel reads no clock. Whoever wants timings gives the run a meter; it is
//! told which kind of model works, and has no way to change anything.
use crate::{Simulation, blueprint::NodeBody, message::Message};
use std::collections::BTreeMap;

/// Is told when models of a kind begin and cease to work.
pub trait Meter: Send {
    /// Models of kind number `kind` begin ([`crate::Simulation::kind_of`]): outputs, transitions
    /// or silent steps of neighbours in path order.
    fn enter(&mut self, kind: u16);
    /// They are through.
    fn leave(&mut self, kind: u16);
    /// A meter for one worker of a parallel run, which works on any thread; without one its work is
    /// not measured.
    fn fork(&self) -> Option<Box<dyn Meter>> {
        None
    }
}

impl<M: Message> Simulation<M> {
    /// Gives the run a meter; see [`crate::meter`].
    pub fn measure(&mut self, meter: impl Meter + 'static) {
        self.core.meter = Some(Box::new(meter));
        // Parts have meters of their own.
        self.apart = None;
    }

    /// The number of the kind of the model at `path`: equal for models of one Rust type.
    pub fn kind_of(&self, path: &str) -> Option<u16> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        Some(a.kind)
    }

    /// Counts that the models keep of their own work, added up by name.
    pub fn statistics(&self) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for m in 0..self.core.keys.len() as u32 {
            let (kind, slot) = self.core.homes.of(m);
            for (name, count) in self.slabs.kinds[kind as usize].statistics(slot) {
                *sums.entry(name).or_insert(0) += count;
            }
        }
        sums
    }

    /// Counts that the model at `path` keeps of its own work, by name.
    pub fn statistics_of(&self, path: &str) -> Option<BTreeMap<&'static str, u64>> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        Some(self.slabs.kinds[a.kind as usize].statistics(a.slot).into_iter().collect())
    }
}
