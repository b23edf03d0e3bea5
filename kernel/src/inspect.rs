//! Looking at a simulation without changing it: observers, counts, models, values, hashes.
use crate::{
    blueprint::NodeBody,
    core::{Cell, Counts},
    key::ModelKey,
    message::{Message, fold},
    meter::Meter,
    simulation::Simulation,
    time::{Duration, Resolution, Tag},
    trace::Observer,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

impl<M: Message> Simulation<M> {
    /// Adds an observer; keep an `Arc<Mutex<_>>` to read it later.
    pub fn observe(&mut self, observer: impl Observer<M> + 'static) {
        self.core.observers.push(Box::new(observer));
        self.core.find_heard();
    }

    /// Stops the run after the cycle in which `flag` is found set, as if an observer asked for it
    /// with this reason. Any thread may set the flag; the caller clears it.
    pub fn halt_on(&mut self, flag: Arc<AtomicBool>, reason: &str) {
        self.core.halt = Some((flag, reason.to_owned()));
    }

    /// The tag of the last cycle.
    pub fn now(&self) -> Tag {
        self.core.now
    }

    /// Whether any cycle ran at the tick of [`now`](Self::now): at the very start none has.
    pub fn has_run(&self) -> bool {
        self.ran
    }

    /// The tick at which the clock stands: no input may come before it.
    pub fn clock(&self) -> i64 {
        self.floor
    }

    /// Resolution of the run.
    pub fn resolution(&self) -> Resolution {
        self.core.resolution
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.core.counts
    }

    /// Number of atomic models.
    pub fn models(&self) -> usize {
        self.core.keys.len()
    }

    /// The atomic model at `path`, when it is an `A`.
    pub fn model<A: 'static>(&self, path: &str) -> Option<&A> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        self.slabs.kinds[a.kind as usize].model(a.slot).downcast_ref()
    }

    /// The key of the model at `path`.
    pub fn find(&self, path: &str) -> Option<ModelKey> {
        self.core.blueprint.find(path)
    }

    /// Paths of all atomic models, in path order.
    pub fn paths(&self) -> impl Iterator<Item = String> + '_ {
        self.core.keys.iter().map(|&k| self.core.blueprint.path(k))
    }

    /// The value of an output signal at tick `at`, which must not lie before the model's last
    /// transition: the right limit once all cycles at `at` ran. Never changes the run.
    pub fn probe(&self, model: ModelKey, port: u16, at: i64) -> Option<M> {
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes.get(model)?.body else { return None };
        let kind = &self.slabs.kinds[a.kind as usize];
        kind.probe(a.slot, port, Duration::between(kind.cell(a.slot).last, at))
    }

    /// Why [`probe`](Self::probe) gives no usable value, if the model can tell.
    pub fn explain(&self, model: ModelKey, port: u16, at: i64) -> Option<String> {
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes.get(model)?.body else { return None };
        let kind = &self.slabs.kinds[a.kind as usize];
        kind.explain(a.slot, port, Duration::between(kind.cell(a.slot).last, at))
    }

    /// A digest of what all models are at tick `at` beside their messages: zero unless some model has
    /// a [state digest](crate::Atomic::state_digest). `at` must not lie before a model's last transition.
    pub fn state_digest(&self, at: i64) -> u64 {
        let nodes = self.core.keys.iter().map(|&key| &self.core.blueprint.nodes[key].body);
        let digests = nodes.zip(&self.core.network.senders).map(|(body, by)| {
            let NodeBody::Atomic(a) = body else { return 0 };
            let kind = &self.slabs.kinds[a.kind as usize];
            match kind.state_digest(a.slot, Duration::between(kind.cell(a.slot).last, at)) {
                0 => 0,
                digest => fold(by.path, digest),
            }
        });
        digests.fold(0, u64::wrapping_add)
    }

    /// Names of located events of a model that follow each other too fast.
    pub(crate) fn restless(&self, path: &str) -> Option<String> {
        let model = self.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes.get(model)?.body else { return None };
        self.slabs.kinds[a.kind as usize].restless(a.slot)
    }

    /// The path of a model.
    pub fn path_of(&self, model: ModelKey) -> String {
        self.core.blueprint.path(model)
    }

    /// The trace hash of what is committed so far; see [`crate::trace`].
    pub fn trace_hash(&self) -> u64 {
        let chains = self.cells().zip(&self.core.network.senders);
        let sum = chains.fold(self.retired, |s, (c, by)| s.wrapping_add(fold(by.path, c.chain)));
        fold(sum, self.core.resolution.exponent().into())
    }

    /// The contribution of one model to the trace hash, to tell where two runs differ.
    pub fn model_hash(&self, path: &str) -> Option<u64> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        Some(self.slabs.kinds[a.kind as usize].cell(a.slot).chain)
    }

    /// The kernel's data of each model, in path order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        (0..self.core.keys.len() as u32).map(|m| {
            let (kind, slot) = self.core.homes.of(m);
            self.slabs.kinds[kind as usize].cell(slot)
        })
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

    /// A note of the model at `path` that no transition has told yet; it is told once.
    pub fn remark_of(&mut self, path: &str) -> Option<String> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        self.slabs.kinds[a.kind as usize].remark(a.slot)
    }

    /// Counts that the models keep of their own work up to the last cycle, added up by name.
    pub fn statistics(&self) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for m in 0..self.core.keys.len() as u32 {
            let (kind, slot) = self.core.homes.of(m);
            let kind = &self.slabs.kinds[kind as usize];
            let elapsed = Duration::between(kind.cell(slot).last, self.core.now.ticks);
            for (name, count) in kind.statistics(slot, elapsed) {
                *sums.entry(name).or_insert(0) += count;
            }
        }
        sums
    }

    /// Counts that the model at `path` keeps of its own work, by name, at tick `at`, which must not lie before its last
    /// transition.
    pub fn statistics_of(&self, path: &str, at: i64) -> Option<BTreeMap<&'static str, u64>> {
        let key = self.core.blueprint.find(path)?;
        let NodeBody::Atomic(a) = &self.core.blueprint.nodes[key].body else { return None };
        let kind = &self.slabs.kinds[a.kind as usize];
        let elapsed = Duration::between(kind.cell(a.slot).last, at);
        Some(kind.statistics(a.slot, elapsed).into_iter().collect())
    }
}
