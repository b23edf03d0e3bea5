//! A worker: the models of one logical process, executed in the order of their keys.
use super::{
    Cancellation, Settings,
    agenda::Agenda,
    history::{History, Receiver},
    inputs::{Identity, Inputs},
    speculation::speculate,
    timeline::Track,
    unit::{Load, Packet, Sending, Unit},
};
use crate::{
    bag::NONE,
    bus::Bus,
    effects::Effects,
    message::Message,
    meter::Meter,
    network::Network,
    outbox::Outbox,
    slab::Kind as Slab,
    time::{Resolution, Tag},
    trace::Kind,
};
use crossbeam::queue::SegQueue;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// Data that all workers read and none changes.
pub(crate) struct World<'a, M: Message> {
    pub network: &'a Network<M>,
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

/// One of so many transitions is looked at for where it sends.
const SAMPLE: u64 = 16;
/// Messages that are noted.
pub(super) const MOST_SAMPLES: usize = 1 << 16;

/// Uncommitted transitions that a worker of few models may have in any case: one of two models that
/// had to wait after four spent its time on waiting (M/M/1: a round of GVT for each event).
const ROOM: usize = 64;

/// A key that nothing has.
const NOWHERE: Tag = Tag { ticks: i64::MIN, micro: 0 };

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

impl Tally {
    /// Transitions that are not undone.
    pub(crate) fn done(&self) -> u64 {
        self.executed.saturating_sub(self.undone)
    }

    /// The time that the transitions took, as far as there is a clock: undone ones were work for
    /// nothing.
    pub(crate) fn load(&self) -> u64 {
        match self.busy {
            0 => self.done(),
            busy => (busy as f64 * self.done() as f64 / self.executed.max(1) as f64) as u64,
        }
    }
}

pub(crate) struct Worker<M: Message> {
    pub me: u32,
    pub kinds: Vec<Box<dyn Slab<M>>>,
    pub units: Vec<Unit>,
    pub(super) inputs: Inputs<M>,
    pub(super) history: History<M>,
    agenda: Agenda,
    /// Units with stale outputs that will not come again. They are not cancelled at once: that may
    /// bring back whoever is at work.
    hopeless: Vec<u32>,
    /// Units that wait for GVT to move.
    pub(super) waiting: Vec<u32>,
    pub(super) barred: Vec<u32>,
    /// Where records end that are not committed, in order; also those undone.
    pub(super) log: VecDeque<(Tag, u32)>,
    /// Records that end before others that were made earlier.
    pub(super) late: BinaryHeap<Reverse<(Tag, u32)>>,
    /// Where the last one of the log ends.
    latest: Tag,
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
    pub tally: Tally,
    pub meter: Option<Box<dyn Meter>>,
    pub(super) track: Track,
    /// Messages are sampled.
    pub samples: bool,
    /// Some of them: from and to.
    pub traffic: Vec<(u32, u32)>,
    /// A state that could not be brought back: model, tag and reason.
    pub failure: Option<(u32, Tag, String)>,
    /// The key of the cycle whose messages are on their way; what they make due joins it.
    gathers: Tag,
    // Buffers.
    now: Vec<u32>,
    joined: Vec<u32>,
    pub(super) ended: Vec<(Tag, u32)>,
}

impl<M: Message> Worker<M> {
    pub(super) fn new(
        me: u32,
        world: &World<'_, M>,
        kinds: Vec<Box<dyn Slab<M>>>,
        track: Track,
    ) -> Self {
        let mut bus = Bus::new(world.network, None);
        bus.heard = world.heard.to_vec();
        Self {
            me,
            inputs: Inputs::new(),
            history: History::new(kinds.len()),
            kinds,
            units: Vec::new(),
            agenda: Agenda::default(),
            hopeless: Vec::new(),
            waiting: Vec::new(),
            barred: Vec::new(),
            log: VecDeque::new(),
            late: BinaryHeap::new(),
            latest: NOWHERE,
            handed: Vec::new(),
            memory: 0,
            sent: Tag::NEVER,
            front: i64::MIN,
            gvt: Tag::new(i64::MIN, 0),
            horizon: i64::MAX,
            bus,
            fx: Effects::new(world.resolution),
            tally: Tally::default(),
            meter: None,
            track,
            samples: false,
            traffic: Vec::new(),
            failure: None,
            gathers: NOWHERE,
            now: Vec::new(),
            joined: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Enters the keys of all units, which are dealt out.
    pub(super) fn begin(&mut self, world: &World<'_, M>) {
        self.agenda.reset(self.units.len());
        let each = world.settings.memory;
        let room = (self.units.len() as f64 * each) as usize;
        self.memory = if each < 1.0 { room } else { room.max(ROOM) };
        (0..self.units.len() as u32).for_each(|u| self.requeue(world, u));
    }

    /// Size of the states of all models here.
    pub(super) fn live_bytes(&self) -> u64 {
        let size = |u: &Unit| size_of_val(self.kinds[u.kind as usize].model(u.slot)) as u64;
        self.units.iter().map(size).sum()
    }

    /// Enters the key of a unit after a change of what it has to do.
    #[inline]
    pub(super) fn requeue(&mut self, world: &World<'_, M>, u: u32) {
        let unit = &mut self.units[u as usize];
        let key = unit.key(&self.inputs);
        if let Some(trouble) = &mut unit.trouble {
            trouble.barrier = None;
            if trouble.stale.iter().any(|s| s.tag < key) {
                self.hopeless.push(u);
            }
        }
        if key == self.gathers {
            // It is entered anew after this cycle, which takes no other entry.
            return self.joined.push(u);
        }
        let beyond = key.ticks > world.limit || key.micro == u32::MAX && key.ticks == world.limit;
        self.agenda.enter(u, if beyond { Tag::NEVER } else { key });
    }

    pub(super) fn least(&mut self) -> Option<Tag> {
        self.agenda.least()
    }

    /// Whether there may be something to do.
    pub(super) fn is_due(&mut self) -> bool {
        let horizon = self.horizon;
        self.least().is_some_and(|key| key <= self.gvt || key.ticks <= horizon)
    }

    pub(super) fn receive(&mut self, world: &World<'_, M>) {
        while let Some(packet) = world.inboxes[self.me as usize].pop() {
            let (_, u) = world.places[packet.dest as usize];
            self.accept(world, u, packet);
        }
        self.give_up_stale(world);
    }

    /// Up to `events` transitions; tells how many there were.
    pub(super) fn work(&mut self, world: &World<'_, M>, events: usize) -> usize {
        let before = self.tally.executed;
        let mut now = std::mem::take(&mut self.now);
        while ((self.tally.executed - before) as usize) < events {
            let records = self.log.len() + self.late.len() + self.handed.len();
            let full = records >= self.memory;
            let horizon = if full { i64::MIN } else { self.horizon };
            let Some(key) = self.agenda.take(self.gvt, horizon, &mut now) else { break };
            self.cycle(world, key, &mut now);
            now.clear();
            if !self.hopeless.is_empty() {
                self.give_up_stale(world);
            }
        }
        self.now = now;
        (self.tally.executed - before) as usize
    }

    /// All that is due here at `key`: the cycle of rule R2 for the models of this worker.
    fn cycle(&mut self, world: &World<'_, M>, key: Tag, now: &mut Vec<u32>) {
        let waits =
            |unit: &Unit, gvt: Tag| key > gvt && unit.is_struck(world.settings.patience, gvt);
        self.gathers = key;
        for &u in &*now {
            let unit = &self.units[u as usize];
            let due = unit.clock.next == key && unit.held == NONE && !unit.clock.is_silent();
            if due && !waits(unit, self.gvt) {
                self.send(world, u, key);
            }
        }
        self.gathers = NOWHERE;
        // Some may be there twice; the second time they have another key.
        now.append(&mut self.joined);
        self.front = self.front.max(key.ticks);
        for &u in &*now {
            let unit = &self.units[u as usize];
            if unit.trouble.is_some() {
                if unit.barrier().is_some() {
                    continue;
                }
                if waits(unit, self.gvt) {
                    self.agenda.enter(u, Tag::NEVER);
                    self.waiting.push(u);
                    continue;
                }
            }
            let is_next = unit.clock.next == key;
            if unit.key(&self.inputs) != key {
                self.requeue(world, u);
            } else if is_next && unit.clock.is_silent() {
                self.silent(world, u);
            } else if is_next && unit.held == NONE {
                // It was brought back to here meanwhile: its λ is still to come.
                self.requeue(world, u);
            } else {
                self.transition(world, u, key);
            }
        }
    }

    /// λ of a unit, held until its transition.
    fn send(&mut self, world: &World<'_, M>, u: u32, key: Tag) {
        let Unit { model, kind, .. } = self.units[u as usize];
        let probe = self.probes(world).then(|| {
            let sum = self.output(world, u, key);
            self.bus.clear();
            sum
        });
        let called = self.output(world, u, key);
        if probe.is_some_and(|sum| sum != called) {
            self.distrust(u, key);
        }
        // Nothing is left of a λ that went wrong: it goes wrong again whenever it is due, so that no
        // input can make it be forgotten.
        let good = self.bus.bad_port.take().is_none();
        let Some(sum) = called.filter(|_| good) else {
            self.bus.clear();
            return self.bar(u, key);
        };
        let number = self.history.reserve(kind);
        (self.history[number].until, self.history[number].sum) = (key, sum);
        let unit = &mut self.units[u as usize];
        unit.held = number;
        let old = if unit.trouble.is_some() { self.stale(u, key) } else { NONE };
        if self.samples && self.tally.executed.is_multiple_of(SAMPLE) {
            self.sample(model);
        }
        let mut to = NONE;
        for i in 0..self.bus.influenced.len() {
            let dest = self.bus.influenced[i];
            let (bag, sum) = self.bus.bag(dest, key);
            self.history.receivers.add(&mut to, dest, sum);
            if old != NONE && self.history.receivers.holds(old, dest, sum) {
                continue;
            }
            let identity = Identity { tag: key, sum, source: model };
            let (worker, v) = world.places[dest as usize];
            if worker == self.me {
                let input = match bag.single() {
                    Some((port, value)) => self.inputs.single(identity, port, value.clone()),
                    None => {
                        let load = bag.iter().map(|(port, value)| (port, value.clone()));
                        self.inputs.several(identity, load)
                    }
                };
                self.enter(world, v, input);
            } else {
                let load = bag.iter().map(|(port, value)| (port, value.clone())).collect();
                self.post(world, Packet { identity, dest, load });
            }
        }
        self.history[number].to = to;
        if !self.bus.log.is_empty() {
            std::mem::swap(&mut self.history.told(number).outputs, &mut self.bus.log);
        }
        if old != NONE {
            self.drop_stale(world, model, (key, old), to);
        }
        self.bus.clear();
    }

    /// Notes to whom a unit sends.
    #[cold]
    fn sample(&mut self, model: u32) {
        let reached = self.bus.influenced.iter().take(16);
        if self.traffic.len() < MOST_SAMPLES {
            self.traffic.extend(reached.map(|&dest| (model, dest)));
        }
    }

    /// To whom a unit sent something at `key` before it went back, under lazy cancellation.
    #[cold]
    fn stale(&mut self, u: u32, key: Tag) -> u32 {
        let stale = &mut self.units[u as usize].trouble().stale;
        let at = stale.iter().position(|s| s.tag == key);
        at.map_or(NONE, |at| stale.swap_remove(at).to)
    }

    /// Cancels what is not sent again.
    fn drop_stale(&mut self, world: &World<'_, M>, source: u32, (tag, old): (Tag, u32), new: u32) {
        let mut old = old;
        while let Some(Receiver { dest, sum, .. }) = self.history.receivers.pop(&mut old) {
            if !self.history.receivers.holds(new, dest, sum) {
                self.cancel(world, dest, Identity { tag, sum, source });
            }
        }
    }

    /// Calls λ; the digest of what it sent, or nothing when it panicked.
    fn output(&mut self, world: &World<'_, M>, u: u32, key: Tag) -> Option<u64> {
        let Unit { model, slot, kind, .. } = self.units[u as usize];
        self.begin_work(kind);
        let (kinds, bus) = (&self.kinds, &mut self.bus);
        let sum = speculate(|| {
            let mut out = Outbox::new(bus, world.network, key, world.resolution);
            out.of(model);
            kinds[kind as usize].output_one(slot, &mut out);
            out.sum()
        });
        self.end_work(kind);
        sum
    }

    /// Tells the meter that a model of a kind begins to work.
    #[inline(always)]
    pub(super) fn begin_work(&mut self, kind: u16) {
        if let Some(meter) = &mut self.meter {
            meter.enter(kind);
        }
    }

    /// Tells the meter that it is through.
    #[inline(always)]
    pub(super) fn end_work(&mut self, kind: u16) {
        if let Some(meter) = &mut self.meter {
            meter.leave(kind);
        }
    }

    fn post(&mut self, world: &World<'_, M>, packet: Packet<M>) {
        let (worker, u) = world.places[packet.dest as usize];
        if worker == self.me {
            return self.accept(world, u, packet);
        }
        self.sent = self.sent.min(packet.identity.tag);
        world.inboxes[worker as usize].push(packet);
    }

    fn cancel(&mut self, world: &World<'_, M>, dest: u32, identity: Identity) {
        self.tally.antis += 1;
        self.post(world, Packet { identity, dest, load: Load::new() });
    }

    /// Cancels all that a λ sent.
    fn cancel_all(&mut self, world: &World<'_, M>, source: u32, Sending { tag, to }: Sending) {
        self.drop_stale(world, source, (tag, to), NONE);
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
        if !packet.is_anti() {
            let input = self.inputs.several(packet.identity, packet.load);
            return self.enter(world, u, input);
        }
        let identity = packet.identity;
        let unit = &mut self.units[u as usize];
        let executed = self.history.at(unit, identity.tag);
        let is_here = |head| self.inputs.holds(head, identity);
        if !is_here(unit.inputs.head) && !executed.is_some_and(|r| is_here(r.inputs)) {
            return unit.trouble().antis.push(identity);
        }
        if self.is_past(u, identity.tag) {
            self.roll_back(world, u, identity.tag);
        }
        self.inputs.remove(&mut self.units[u as usize].inputs, identity);
        self.requeue(world, u);
    }

    /// An input for a unit.
    #[inline]
    fn enter(&mut self, world: &World<'_, M>, u: u32, input: u32) {
        let identity = self.inputs.identity(input);
        if self.units[u as usize].annihilate(identity) {
            self.inputs.free(input);
        } else {
            if self.is_past(u, identity.tag) {
                self.roll_back(world, u, identity.tag);
            }
            self.inputs.insert(&mut self.units[u as usize].inputs, input);
        }
        self.requeue(world, u);
    }

    /// Whether an input at `tag` comes too late for what is executed: for a transition at `tag` or
    /// later, or for a λ after it that awaits its transition.
    #[inline]
    fn is_past(&self, u: u32, tag: Tag) -> bool {
        let unit = &self.units[u as usize];
        tag <= unit.until || unit.held != NONE && tag < self.history[unit.held].until
    }

    /// Undoes what a unit did at or after `tag`. Outputs at `tag` itself stay: they came from the
    /// state before the transition.
    #[cold]
    pub(super) fn roll_back(&mut self, world: &World<'_, M>, u: u32, tag: Tag) {
        let _mark = self.track.rollback(self.units[u as usize].model, tag);
        let first = self.history.first_past(&self.units[u as usize], tag);
        if first != NONE {
            self.restore(u, first);
        }
        let Self { units, inputs, history, tally, gvt, .. } = self;
        let unit = &mut units[u as usize];
        let mut undone: Vec<Sending> = Vec::new();
        if unit.held != NONE && history[unit.held].until > tag {
            undone.push(history.dismiss(unit.held));
            unit.held = NONE;
        }
        let mut gone = NONE;
        while gone != first {
            gone = unit.last;
            tally.undone += 1;
            let record = history.undo_last(unit);
            inputs.put_back(&mut unit.inputs, std::mem::replace(&mut record.inputs, NONE));
            let imminent = matches!(record.kind, Some(Kind::Internal | Kind::Confluent));
            if imminent && record.until == tag {
                unit.held = history.hold_again(gone);
            } else if imminent {
                undone.push(history.withdraw(gone));
            } else {
                record.told = None;
            }
        }
        if first != NONE {
            tally.rollbacks += 1;
            let upto = unit.load;
            let trouble = unit.trouble();
            trouble.upto = upto;
            if trouble.struck_at != *gvt {
                (trouble.strikes, trouble.struck_at) = (0, *gvt);
            }
            trouble.strikes += 1;
        }
        match world.settings.cancellation {
            Cancellation::Lazy if undone.is_empty() => {}
            Cancellation::Lazy => unit.trouble().stale.append(&mut undone),
            Cancellation::Aggressive => {
                let model = unit.model;
                undone.into_iter().for_each(|s| self.cancel_all(world, model, s));
            }
        }
    }

    /// Lazy cancellation: outputs before the next key of a unit will not come again.
    fn give_up_stale(&mut self, world: &World<'_, M>) {
        while let Some(u) = self.hopeless.pop() {
            let unit = &mut self.units[u as usize];
            let (model, key) = (unit.model, unit.key(&self.inputs));
            let gone = unit.trouble().stale.extract_if(.., |s| s.tag < key);
            let gone: Vec<Sending> = gone.collect();
            gone.into_iter().for_each(|s| self.cancel_all(world, model, s));
        }
    }

    /// All models as they were before `tag`, for the way home.
    pub(super) fn undo_from(&mut self, tag: Tag) {
        for u in 0..self.units.len() as u32 {
            let first = self.history.first_past(&self.units[u as usize], tag);
            if first != NONE {
                self.tally.undone += self.history.chain(first).count() as u64;
                self.restore(u, first);
            }
        }
    }

    /// Enters what a unit did up to `until` into its history.
    #[inline]
    pub(super) fn executed(&mut self, u: u32, number: u32, until: Tag) {
        self.tally.executed += 1;
        let unit = &mut self.units[u as usize];
        unit.unsaved += 1;
        unit.load = unit.load.saturating_add(1);
        if self.history.push(number, (u, unit), until).is_saved {
            unit.unsaved = 1;
        }
        if self.latest <= until {
            self.latest = until;
            self.log.push_back((until, number));
        } else {
            self.late.push(Reverse((until, number)));
        }
    }
}
