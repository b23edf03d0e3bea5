//! A worker: the models of one logical process, executed in the order of their keys.
use super::{
    Cancellation, Settings,
    agenda::Agenda,
    speculation::speculate,
    unit::{Assembly, Load, Packet, Receivers, Sending, Unit},
};
use crate::{
    bus::Bus,
    effects::{Effects, Fact},
    message::Message,
    network::Network,
    outbox::{Outbox, Sent},
    slab::Kind as Slab,
    time::{Resolution, Tag},
    trace::Kind,
};
use crossbeam::queue::SegQueue;

/// What all workers look at and none changes.
pub(crate) struct World<'a, M: Message> {
    pub network: &'a Network<M>,
    /// Digest of the path by model.
    pub paths: &'a [u64],
    /// By model: the worker, and the number there.
    pub places: Vec<(u32, u32)>,
    pub inboxes: Vec<SegQueue<Packet<M>>>,
    pub resolution: Resolution,
    pub settings: &'a Settings,
    pub guards: crate::Guards,
    /// The last tick of the stretch.
    pub limit: i64,
    /// By model, as in [`Bus::heard`].
    pub heard: &'a [bool],
}

/// A committed transition, on its way to the observers.
pub(crate) struct Entry<M> {
    pub tag: Tag,
    pub model: u32,
    pub kind: Kind,
    pub messages: u32,
    pub told: Option<Box<Told<M>>>,
}

pub(crate) struct Told<M> {
    /// Observers want the transition, and not only the facts.
    pub heard: bool,
    pub bag: Vec<(u16, M)>,
    pub outputs: Vec<Sent<M>>,
    pub facts: Vec<Fact>,
    pub next: Tag,
}

/// What a worker says at a cut.
pub(crate) struct Cut<M> {
    /// No message or event of this worker is earlier.
    pub least: Tag,
    /// The earliest event that must be left to the sequential executor.
    pub barrier: Tag,
    /// The latest executed tick.
    pub front: i64,
    /// Nothing that is known here leaves for another worker before this tick.
    pub promise: i64,
    pub tally: Tally,
    pub failed: bool,
    pub committed: Vec<Entry<M>>,
}

/// Counts of one worker; they depend on timing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub executed: u64,
    pub undone: u64,
    pub rollbacks: u64,
    pub antis: u64,
    /// Size of saved states, now and at most.
    pub saved: usize,
    pub peak: usize,
}

pub(crate) struct Worker<M: Message> {
    pub me: u32,
    pub kinds: Vec<Box<dyn Slab<M>>>,
    pub units: Vec<Unit<M>>,
    agenda: Agenda,
    /// Under the conservative executor: ports that lead to other workers.
    pub edges: Vec<(u32, u16)>,
    /// Units that wait for GVT to move.
    waiting: Vec<u32>,
    barred: Vec<u32>,
    /// Executed and not yet committed, by and large in order; rolled-back ones are found out.
    log: Vec<(Tag, u32)>,
    /// Handed over at the last cut; forgotten once observers know.
    handed: Vec<u32>,
    /// Most entries of the log, beyond which only the earliest goes on.
    memory: usize,
    /// The least tag of a message sent since the last cut.
    sent: Tag,
    front: i64,
    pub gvt: Tag,
    /// Keys at later ticks must wait.
    pub horizon: i64,
    bus: Bus<M>,
    pub(super) fx: Effects<M>,
    pub(super) assembly: Assembly<M>,
    pub tally: Tally,
    /// A state that could not be brought back: model, tag and reason.
    pub failure: Option<(u32, Tag, String)>,
    // Buffers.
    now: Vec<u32>,
    ready: Vec<(Tag, u32)>,
    packets: Vec<Packet<M>>,
}

impl<M: Message> Worker<M> {
    pub fn new(me: u32, world: &World<'_, M>, kinds: Vec<Box<dyn Slab<M>>>) -> Self {
        let mut bus = Bus::new(world.network, None);
        bus.heard = world.heard.to_vec();
        Self {
            me,
            kinds,
            units: Vec::new(),
            agenda: Agenda::default(),
            edges: Vec::new(),
            waiting: Vec::new(),
            barred: Vec::new(),
            log: Vec::new(),
            handed: Vec::new(),
            memory: 0,
            sent: Tag::NEVER,
            front: i64::MIN,
            gvt: Tag::new(i64::MIN, 0),
            horizon: i64::MAX,
            bus,
            fx: Effects::new(world.resolution),
            assembly: Assembly::new(),
            tally: Tally::default(),
            failure: None,
            now: Vec::new(),
            ready: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Enters the keys of all units, which are dealt out.
    pub fn begin(&mut self, world: &World<'_, M>) {
        self.agenda.reset(self.units.len());
        self.memory = (self.units.len() as f64 * world.settings.memory) as usize;
        (0..self.units.len() as u32).for_each(|u| self.requeue(world, u));
    }

    /// Size of the states of all models here.
    pub fn live_bytes(&self) -> u64 {
        let size = |u: &Unit<M>| size_of_val(self.kinds[u.kind as usize].model(u.slot)) as u64;
        self.units.iter().map(size).sum()
    }

    /// Enters the key of a unit after a change of what it has to do.
    pub fn requeue(&mut self, world: &World<'_, M>, u: u32) {
        let unit = &mut self.units[u as usize];
        unit.barrier = None;
        let key = unit.key();
        if unit.stale.iter().any(|s| s.tag < key) {
            self.give_up_stale(world, u, key);
        }
        let beyond = key.ticks > world.limit || key.micro == u32::MAX && key.ticks == world.limit;
        self.agenda.enter(u, if beyond { Tag::NEVER } else { key });
    }

    pub(super) fn least(&mut self) -> Option<Tag> {
        self.agenda.least()
    }

    pub fn receive(&mut self, world: &World<'_, M>) {
        while let Some(packet) = world.inboxes[self.me as usize].pop() {
            self.accept(world, packet);
        }
    }

    /// Up to `events` transitions; tells how many there were.
    pub fn work(&mut self, world: &World<'_, M>, events: usize) -> usize {
        let before = self.tally.executed;
        while ((self.tally.executed - before) as usize) < events {
            let Some(key) = self.least() else { break };
            let full = self.log.len() >= self.memory;
            if key > self.gvt && (full || key.ticks > self.horizon) {
                break;
            }
            self.cycle(world, key);
        }
        (self.tally.executed - before) as usize
    }

    /// All that is due here at `key`: the cycle of rule R2 for the models of this worker.
    fn cycle(&mut self, world: &World<'_, M>, key: Tag) {
        let mut now = std::mem::take(&mut self.now);
        let mut first = 0;
        // What is sent may reach models that are due by that.
        while first == 0 || self.least() == Some(key) {
            self.agenda.take(key, &mut now);
            let end = now.len();
            for &u in &now[first..end] {
                let unit = &self.units[u as usize];
                if unit.strikes >= world.settings.patience
                    && unit.struck_at == self.gvt
                    && key > self.gvt
                {
                    continue;
                }
                if unit.clock.next == key && !unit.clock.silent && unit.held.is_none() {
                    self.send(world, u, key);
                }
            }
            first = end;
        }
        now.sort_unstable();
        now.dedup();
        for &u in &now {
            let unit = &self.units[u as usize];
            let struck = unit.strikes >= world.settings.patience && unit.struck_at == self.gvt;
            if unit.barrier.is_some() {
                continue;
            }
            if struck && key > self.gvt {
                self.waiting.push(u);
                continue;
            }
            self.front = self.front.max(key.ticks);
            if unit.key() != key {
                self.requeue(world, u);
            } else if unit.clock.silent && unit.clock.next == key {
                self.silent(world, u);
            } else {
                self.transition(world, u, key);
            }
        }
        now.clear();
        self.now = now;
    }

    /// λ of a unit, held until its transition.
    fn send(&mut self, world: &World<'_, M>, u: u32, key: Tag) {
        let model = self.units[u as usize].model;
        let probe = self.probes(world).then(|| {
            let sum = self.output(world, u, key);
            self.bus.clear();
            sum
        });
        let called = self.output(world, u, key);
        if probe.is_some_and(|sum| sum != called) {
            self.distrust(u, key);
        }
        let bad = self.bus.bad_port.take().is_some();
        let Some(sum) = called else {
            self.bus.clear();
            return self.bar(u, key);
        };
        let log = std::mem::take(&mut self.bus.log);
        let mut packets = std::mem::take(&mut self.packets);
        let reached = std::mem::take(&mut self.bus.influenced);
        for &dest in &reached {
            let (bag, sum) = self.bus.bag(dest, key);
            let load = bag.iter().map(|(port, value)| (port, value.clone())).collect();
            packets.push(Packet { tag: key, source: model, dest, sum, load });
        }
        self.bus.influenced = reached;
        self.bus.clear();
        let to: Receivers = packets.iter().map(|p| (p.dest, p.sum)).collect();
        let unit = &mut self.units[u as usize];
        let old = unit.stale.iter().position(|s| s.tag == key);
        let old = old.map_or(Receivers::new(), |at| unit.stale.swap_remove(at).to);
        unit.held = Some(Sending { tag: key, sum, to, log });
        for &(dest, sum) in &old {
            if !packets.iter().any(|p| (p.dest, p.sum) == (dest, sum)) {
                self.cancel(world, model, key, dest, sum);
            }
        }
        for packet in packets.drain(..) {
            if !old.contains(&(packet.dest, packet.sum)) {
                self.post(world, packet);
            }
        }
        self.packets = packets;
        if bad {
            self.bar(u, key);
        }
    }

    /// Calls λ; the digest of what it sent, or nothing when it panicked.
    fn output(&mut self, world: &World<'_, M>, u: u32, key: Tag) -> Option<u64> {
        let Unit { model, slot, kind, .. } = self.units[u as usize];
        let (kinds, bus) = (&self.kinds, &mut self.bus);
        speculate(|| {
            let mut out = Outbox::new(bus, world.network, key, world.resolution);
            out.of(model, world.paths[model as usize]);
            kinds[kind as usize].output_one(slot, &mut out);
            out.sum()
        })
    }

    fn post(&mut self, world: &World<'_, M>, packet: Packet<M>) {
        let (worker, _) = world.places[packet.dest as usize];
        if worker == self.me {
            return self.accept(world, packet);
        }
        self.sent = self.sent.min(packet.tag);
        world.inboxes[worker as usize].push(packet);
    }

    fn cancel(&mut self, world: &World<'_, M>, source: u32, tag: Tag, dest: u32, sum: u64) {
        self.tally.antis += 1;
        self.post(world, Packet { tag, source, dest, sum, load: Load::new() });
    }

    /// The event at `key` is left to the sequential executor.
    pub(super) fn bar(&mut self, u: u32, key: Tag) {
        let unit = &mut self.units[u as usize];
        unit.barrier = Some(key);
        self.agenda.enter(u, Tag::NEVER);
        self.barred.push(u);
    }

    /// A message or its cancellation.
    fn accept(&mut self, world: &World<'_, M>, packet: Packet<M>) {
        let (_, u) = world.places[packet.dest as usize];
        let unit = &mut self.units[u as usize];
        let tag = packet.tag;
        if packet.is_anti() {
            if unit.find(&packet).is_none() {
                return unit.antis.push((tag, packet.source, packet.sum));
            }
            if unit.is_past(tag) {
                self.roll_back(world, u, tag);
            }
            let unit = &mut self.units[u as usize];
            if let Some(at) = unit.find(&packet) {
                unit.inputs.remove(at);
            }
        } else {
            let identity = (tag, packet.source, packet.sum);
            if unit.is_past(tag) && !unit.antis.contains(&identity) {
                self.roll_back(world, u, tag);
            }
            self.units[u as usize].insert(packet);
        }
        self.requeue(world, u);
    }

    /// Undoes what a unit did at or after `tag`. Outputs at `tag` itself stay: they came from the
    /// state before the transition.
    pub fn roll_back(&mut self, world: &World<'_, M>, u: u32, tag: Tag) {
        let unit = &mut self.units[u as usize];
        let first = unit.records.partition_point(|r| r.until < tag);
        if first < unit.records.len() {
            self.tally.rollbacks += 1;
            self.tally.undone += (unit.records.len() - first) as u64;
            if unit.struck_at != self.gvt {
                (unit.strikes, unit.struck_at) = (0, self.gvt);
            }
            unit.strikes += 1;
            self.restore(world, u, first);
        }
        let unit = &mut self.units[u as usize];
        let later = unit.held.take_if(|h| h.tag > tag);
        let mut undone: Vec<Sending<M>> = later.into_iter().collect();
        for record in unit.records.drain(first..) {
            self.tally.saved -= record.saved_bytes();
            match record.sending {
                Some(s) if record.tag == tag => unit.held = Some(s),
                Some(s) => undone.push(s),
                None => {}
            }
        }
        unit.done = unit.inputs.partition_point(|p| p.tag < tag).min(unit.done);
        match world.settings.cancellation {
            Cancellation::Lazy => unit.stale.append(&mut undone),
            Cancellation::Aggressive => {
                let model = unit.model;
                for s in undone {
                    for (dest, sum) in s.to {
                        self.cancel(world, model, s.tag, dest, sum);
                    }
                }
            }
        }
    }

    /// Lazy cancellation: outputs before `key` will not come again.
    fn give_up_stale(&mut self, world: &World<'_, M>, u: u32, key: Tag) {
        let unit = &mut self.units[u as usize];
        let model = unit.model;
        let (gone, kept) = std::mem::take(&mut unit.stale).into_iter().partition(|s| s.tag < key);
        let gone: Vec<Sending<M>> = gone;
        unit.stale = kept;
        for s in gone {
            for (dest, sum) in s.to {
                self.cancel(world, model, s.tag, dest, sum);
            }
        }
    }

    /// All models as they were before `tag`, for the way home.
    pub fn undo_from(&mut self, world: &World<'_, M>, tag: Tag) {
        for u in 0..self.units.len() as u32 {
            let records = &self.units[u as usize].records;
            let first = records.partition_point(|r| r.until < tag);
            if first < records.len() {
                self.tally.undone += (records.len() - first) as u64;
                self.restore(world, u, first);
            }
        }
    }

    pub(super) fn executed(&mut self, u: u32, tag: Tag) {
        self.tally.executed += 1;
        self.tally.peak = self.tally.peak.max(self.tally.saved);
        self.log.push((tag, u));
    }

    /// A cut: takes in what is under way, hands over what lies before `gvt`, forgets what lies
    /// before `kept`, and says what is the least that is left.
    pub fn cut(&mut self, world: &World<'_, M>, gvt: Tag, kept: Tag) -> Cut<M> {
        self.receive(world);
        if gvt > self.gvt {
            self.gvt = gvt;
            for u in std::mem::take(&mut self.waiting) {
                self.requeue(world, u);
            }
        }
        let committed = self.commit(gvt, kept);
        let units = &self.units;
        self.barred.retain(|&u| units[u as usize].barrier.is_some());
        let barred = self.barred.iter().filter_map(|&u| units[u as usize].barrier);
        let barrier = barred.min().unwrap_or(Tag::NEVER);
        let waiting = self.waiting.iter().map(|&u| units[u as usize].key()).min();
        let least = self.sent.min(barrier).min(waiting.unwrap_or(Tag::NEVER));
        let least = self.least().map_or(least, |key| key.min(least));
        self.sent = Tag::NEVER;
        let earliest = |&(u, port): &(u32, u16)| {
            let unit = &self.units[u as usize];
            let ahead = self.kinds[unit.kind as usize].earliest_output(unit.slot, port);
            unit.clock.last.saturating_add(ahead.ticks())
        };
        let promise = self.edges.iter().map(earliest).min().unwrap_or(i64::MAX);
        let (front, tally, failed) = (self.front, self.tally, self.failure.is_some());
        Cut { least, barrier, front, promise, tally, failed, committed }
    }

    fn commit(&mut self, gvt: Tag, kept: Tag) -> Vec<Entry<M>> {
        let mut ready = std::mem::take(&mut self.ready);
        self.log.retain(|&entry| {
            let early = entry.0 < gvt;
            if early {
                ready.push(entry);
            }
            !early
        });
        ready.sort_unstable();
        ready.dedup();
        for u in self.handed.drain(..) {
            self.tally.saved -= self.units[u as usize].forget(kept);
        }
        let mut entries = Vec::with_capacity(ready.len());
        for (tag, u) in ready.drain(..) {
            let unit = &mut self.units[u as usize];
            let at = unit.records.partition_point(|r| r.tag < tag);
            let Some(record) = unit.records.get_mut(at).filter(|r| r.tag == tag) else { continue };
            self.handed.push(u);
            let Some(kind) = record.kind else { continue };
            let (facts, next) = (std::mem::take(&mut record.facts), record.next);
            let outputs = record.sending.as_mut().map(|s| std::mem::take(&mut s.log));
            let inputs = unit.inputs_at(tag);
            let load = unit.inputs.range(inputs).map(|p| &p.load);
            let messages = load.clone().map(|l| l.len() as u32).sum();
            let heard = self.bus.hears(unit.model);
            let told = (heard || !facts.is_empty()).then(|| {
                let bag = load.flatten().cloned().collect();
                Box::new(Told { heard, bag, outputs: outputs.unwrap_or_default(), facts, next })
            });
            entries.push(Entry { tag, model: unit.model, kind, messages, told });
        }
        self.ready = ready;
        entries
    }
}
