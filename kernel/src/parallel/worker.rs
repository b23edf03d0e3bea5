//! A worker: the models of one logical process, executed in the order of their keys.
use super::{
    Cancellation, Settings,
    agenda::Agenda,
    history::{History, Record},
    lookahead::Promises,
    speculation::speculate,
    unit::{Assembly, Clockwork, Load, Packet, Receivers, Sending, Unit},
};
use crate::{
    bag::NONE,
    bus::Bus,
    effects::Effects,
    message::Message,
    network::Network,
    outbox::Outbox,
    slab::Kind as Slab,
    time::{Resolution, Tag},
};
use crossbeam::queue::SegQueue;
use smallvec::smallvec;
use std::collections::VecDeque;

/// What all workers look at and none changes.
pub(crate) struct World<'a, M: Message> {
    pub network: &'a Network<M>,
    /// Digest of the path by model.
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
    /// There are observers.
    pub observed: bool,
}

/// Counts of one worker; they depend on timing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Nanoseconds of work.
    pub busy: u64,
    pub executed: u64,
    pub undone: u64,
    pub rollbacks: u64,
    pub antis: u64,
}

pub(crate) struct Worker<M: Message> {
    pub me: u32,
    pub kinds: Vec<Box<dyn Slab<M>>>,
    pub units: Vec<Unit<M>>,
    pub(super) history: History<M>,
    agenda: Agenda,
    /// Under the conservative executor: what leaves for other workers.
    pub(super) promises: Promises,
    /// Units that wait for GVT to move.
    pub(super) waiting: Vec<u32>,
    pub(super) barred: Vec<u32>,
    /// Where records end that are not committed, in order while it `is_sorted`; also those undone.
    pub(super) log: VecDeque<(Tag, u32)>,
    pub(super) is_sorted: bool,
    /// Units with transitions that were handed over at the last cut; forgotten once observers know.
    pub(super) handed: Vec<u32>,
    /// Most records, beyond which only the earliest event goes on.
    memory: usize,
    /// The least tag of a message sent since the last cut.
    pub(super) sent: Tag,
    pub(super) front: i64,
    pub gvt: Tag,
    /// Keys at later ticks must wait.
    pub horizon: i64,
    pub(super) bus: Bus<M>,
    pub(super) fx: Effects<M>,
    pub(super) assembly: Assembly<M>,
    pub tally: Tally,
    /// A state that could not be brought back: model, tag and reason.
    pub failure: Option<(u32, Tag, String)>,
    /// The key of the cycle whose messages are on their way; what they make due joins it.
    gathers: Tag,
    // Buffers.
    now: Vec<u32>,
    joined: Vec<u32>,
}

impl<M: Message> Worker<M> {
    pub fn new(me: u32, world: &World<'_, M>, kinds: Vec<Box<dyn Slab<M>>>) -> Self {
        let mut bus = Bus::new(world.network, None);
        bus.heard = world.heard.to_vec();
        Self {
            me,
            history: History::new(kinds.len()),
            kinds,
            units: Vec::new(),
            agenda: Agenda::default(),
            promises: Promises::default(),
            waiting: Vec::new(),
            barred: Vec::new(),
            log: VecDeque::new(),
            is_sorted: true,
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
            gathers: Tag::NEVER,
            now: Vec::new(),
            joined: Vec::new(),
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
        let key = unit.key();
        if let Some(trouble) = &mut unit.trouble {
            trouble.barrier = None;
            if trouble.stale.iter().any(|s| s.tag < key) {
                self.give_up_stale(world, u, key);
            }
        }
        let beyond = key.ticks > world.limit || key.micro == u32::MAX && key.ticks == world.limit;
        if key == self.gathers && key != Tag::NEVER {
            // It is entered anew after this cycle, which takes no other entry.
            return self.joined.push(u);
        }
        self.agenda.enter(u, if beyond { Tag::NEVER } else { key });
    }

    pub(super) fn least(&mut self) -> Option<Tag> {
        self.agenda.least()
    }

    pub fn receive(&mut self, world: &World<'_, M>) {
        while let Some(packet) = world.inboxes[self.me as usize].pop() {
            let (_, u) = world.places[packet.dest as usize];
            self.accept(world, u, packet);
        }
    }

    /// Up to `events` transitions; tells how many there were.
    pub fn work(&mut self, world: &World<'_, M>, events: usize) -> usize {
        let before = self.tally.executed;
        let mut now = std::mem::take(&mut self.now);
        while ((self.tally.executed - before) as usize) < events {
            let full = self.log.len() + self.handed.len() >= self.memory;
            let (gvt, horizon) = (self.gvt, self.horizon);
            let may = |key: Tag| key <= gvt || !full && key.ticks <= horizon;
            let Some(key) = self.agenda.take(may, &mut now) else { break };
            self.cycle(world, key, &mut now);
            now.clear();
        }
        self.now = now;
        (self.tally.executed - before) as usize
    }

    /// All that is due here at `key`: the cycle of rule R2 for the models of this worker.
    fn cycle(&mut self, world: &World<'_, M>, key: Tag, now: &mut Vec<u32>) {
        let waits =
            |unit: &Unit<M>, gvt: Tag| key > gvt && unit.is_struck(world.settings.patience, gvt);
        self.gathers = key;
        for &u in &*now {
            let unit = &self.units[u as usize];
            let due = unit.clock.next == key && !unit.clock.is_silent() && unit.held.is_none();
            if due && !waits(unit, self.gvt) {
                self.send(world, u, key);
            }
        }
        self.gathers = Tag::NEVER;
        now.append(&mut self.joined);
        if now.len() > 1 {
            now.sort_unstable();
            now.dedup();
        }
        for &u in &*now {
            let unit = &self.units[u as usize];
            if unit.barrier().is_some() {
                continue;
            }
            if waits(unit, self.gvt) {
                self.agenda.enter(u, Tag::NEVER);
                self.waiting.push(u);
                continue;
            }
            self.front = self.front.max(key.ticks);
            if unit.key() != key {
                self.requeue(world, u);
            } else if unit.clock.is_silent() && unit.clock.next == key {
                self.silent(world, u);
            } else {
                self.transition(world, u, key);
            }
        }
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
        let sent = std::mem::take(&mut self.bus.log);
        let log = (!sent.is_empty()).then(|| sent.into_boxed_slice());
        let reached = std::mem::take(&mut self.bus.influenced);
        let unit = &mut self.units[u as usize];
        // What it sent before it went back, under lazy cancellation.
        let old = unit.trouble.as_mut().and_then(|trouble| {
            let at = trouble.stale.iter().position(|s| s.tag == key)?;
            Some(trouble.stale.swap_remove(at).to)
        });
        let mut to = Receivers::new();
        for &dest in &reached {
            let (bag, sum) = self.bus.bag(dest, key);
            to.push((dest, sum));
            if old.as_ref().is_some_and(|old| old.contains(&(dest, sum))) {
                continue;
            }
            let load = match bag.single() {
                Some((port, value)) => smallvec![(port, value.clone())],
                None => bag.iter().map(|(port, value)| (port, value.clone())).collect(),
            };
            self.post(world, Packet { tag: key, source: model, dest, sum, load });
        }
        for &(dest, sum) in old.iter().flatten().filter(|&sent| !to.contains(sent)) {
            self.cancel(world, model, key, dest, sum);
        }
        self.units[u as usize].held = Some(Sending { tag: key, sum, to, log });
        self.bus.influenced = reached;
        self.bus.clear();
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
            out.of(model);
            kinds[kind as usize].output_one(slot, &mut out);
            out.sum()
        })
    }

    fn post(&mut self, world: &World<'_, M>, packet: Packet<M>) {
        let (worker, u) = world.places[packet.dest as usize];
        if worker == self.me {
            return self.accept(world, u, packet);
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
        unit.trouble().barrier = Some(key);
        self.agenda.enter(u, Tag::NEVER);
        self.barred.push(u);
    }

    /// A message or its cancellation.
    fn accept(&mut self, world: &World<'_, M>, u: u32, packet: Packet<M>) {
        let unit = &mut self.units[u as usize];
        let tag = packet.tag;
        if packet.is_anti() {
            if unit.find(&packet).is_none() {
                return unit.trouble().antis.push((tag, packet.source, packet.sum));
            }
            if unit.is_past(tag) {
                self.roll_back(world, u, tag);
            }
            let unit = &mut self.units[u as usize];
            if let Some(at) = unit.find(&packet) {
                unit.inputs.remove(at);
            }
        } else if !unit.annihilate(&packet) {
            if unit.is_past(tag) {
                self.roll_back(world, u, tag);
            }
            self.units[u as usize].insert(packet);
        }
        self.requeue(world, u);
    }

    /// Undoes what a unit did at or after `tag`. Outputs at `tag` itself stay: they came from the
    /// state before the transition.
    pub fn roll_back(&mut self, world: &World<'_, M>, u: u32, tag: Tag) {
        let first = self.history.first_past(&self.units[u as usize], tag);
        if first != NONE {
            self.restore(u, first);
            self.promises.note(u);
        }
        let unit = &mut self.units[u as usize];
        let later = unit.held.take_if(|h| h.tag > tag);
        let mut undone: Vec<Sending<M>> = later.into_iter().collect();
        if first != NONE {
            let before = self.tally.undone;
            loop {
                let gone = unit.last;
                let (at, sending) = self.history.undo_last(unit);
                self.tally.undone += 1;
                match sending {
                    Some(s) if at == tag => unit.held = Some(s),
                    Some(s) => undone.push(s),
                    None => {}
                }
                if gone == first {
                    break;
                }
            }
            debug_assert!(self.tally.undone > before);
            self.tally.rollbacks += 1;
            let trouble = unit.trouble();
            if trouble.struck_at != self.gvt {
                (trouble.strikes, trouble.struck_at) = (0, self.gvt);
            }
            trouble.strikes += 1;
        }
        unit.done = unit.inputs.partition_point(|p| p.tag < tag).min(unit.done);
        match world.settings.cancellation {
            Cancellation::Lazy if undone.is_empty() => {}
            Cancellation::Lazy => unit.trouble().stale.append(&mut undone),
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
        let stale = &mut unit.trouble().stale;
        let (gone, kept) = std::mem::take(stale).into_iter().partition(|s| s.tag < key);
        let gone: Vec<Sending<M>> = gone;
        *stale = kept;
        for s in gone {
            for (dest, sum) in s.to {
                self.cancel(world, model, s.tag, dest, sum);
            }
        }
    }

    /// All models as they were before `tag`, for the way home.
    pub fn undo_from(&mut self, tag: Tag) {
        for u in 0..self.units.len() as u32 {
            let first = self.history.first_past(&self.units[u as usize], tag);
            if first != NONE {
                self.tally.undone += self.history.chain(first).count() as u64;
                self.restore(u, first);
            }
        }
    }

    /// Enters what a unit did up to `until` into its history; the record is to be filled in.
    pub(super) fn executed(
        &mut self,
        u: u32,
        number: u32,
        until: Tag,
        before: Clockwork,
    ) -> &mut Record<M> {
        self.tally.executed += 1;
        self.promises.note(u);
        let unit = &mut self.units[u as usize];
        unit.unsaved += 1;
        if self.history[number].is_saved {
            (unit.saved_at, unit.unsaved) = (until, 1);
        }
        let record = self.history.push(number, (u, unit), until, before);
        self.is_sorted &= self.log.back().is_none_or(|last| last.0 <= until);
        self.log.push_back((until, number));
        record
    }
}
