//! Transitions of single models: done, undone and done again.
use super::{
    inputs::{Due, Inputs},
    speculation::speculate,
    unit::Clockwork,
    worker::{Worker, World},
};
use crate::{
    bag::NONE,
    effects::Effects,
    fact::Fact,
    located::counted,
    message::Message,
    slab::{Kind as Slab, Why},
    time::{Duration, Tag},
    trace::{Kind, link},
};

/// Most transitions between saved states: what lies before the last one saved can be forgotten.
const LONGEST: u32 = 1 << 10;

/// How many times rarer the state of a calm unit is saved: to do a few transitions again, once, costs
/// less than to save it before each (a seventh of the instructions of a torus of queues).
const RARER: u32 = 4;

/// Facts, and whether an event was located.
type Marks = (Vec<Fact>, bool);

impl<M: Message> Worker<M> {
    /// The transition of a unit at `key`; what the sequential executor must do is left to it.
    #[inline]
    pub(super) fn transition(&mut self, world: &World<'_, M>, u: u32, key: Tag) {
        if key.micro > world.guards.micro_steps {
            return self.bar(u, key);
        }
        let unit = &self.units[u as usize];
        let before = unit.clock;
        let imminent = before.next == key;
        let number = if imminent { unit.held } else { self.history.reserve(unit.kind) };
        if !self.save(world, u, number, false) {
            self.units[u as usize].irrevocable = true;
            return self.give_way(u, key, imminent, number);
        }
        let Self { units, kinds, inputs, fx, meter, .. } = self;
        let unit = &units[u as usize];
        let due = inputs.due(unit.inputs, key);
        let kind = match (imminent, due.messages > 0) {
            (true, false) => Kind::Internal,
            (true, true) => Kind::Confluent,
            _ => Kind::External,
        };
        let slab = &mut *kinds[unit.kind as usize];
        let (slot, which) = (unit.slot, unit.kind);
        if let Some(meter) = meter {
            meter.enter(which);
        }
        let outcome = speculate(|| call(slab, slot, inputs, fx, (key, kind, before.last), &due));
        self.end_work(which);
        let (mut facts, mut located) = (Vec::new(), before.located);
        let mut may = true;
        if self.fx.raised {
            match self.take_effects() {
                Some((told, false)) => facts = told,
                Some((told, true)) => {
                    (facts, located) = (told, counted(located, key.ticks, &world.guards))
                }
                None => may = false,
            }
            may &= located.1 <= world.guards.state_events;
        }
        if self.probes(world) && outcome.is_some() && self.history[number].is_saved {
            self.probe(u, (key, kind, before.last), (number, &due));
        }
        let next = outcome.and_then(|(advance, silent)| plan(key, advance, silent));
        let Some(next) = next.filter(|_| may) else {
            self.bring_back(u, number);
            return self.give_way(u, key, imminent, number);
        };
        let unit = &mut self.units[u as usize];
        self.inputs.take(&mut unit.inputs, &due);
        let record = &mut self.history[number];
        (record.before, record.kind) = (before, Some(kind));
        (record.inputs, record.messages) = (due.head, due.messages);
        let outputs = if imminent { record.sum } else { 0 };
        let chain = link(before.chain, key, kind, due.sum, outputs);
        unit.clock = Clockwork { last: key.ticks, chain, next, located };
        if imminent {
            unit.held = NONE;
        }
        if world.observed {
            self.told(u, number, facts, next);
        }
        self.executed(u, number, key);
        self.requeue(world, u);
    }

    /// The transition at `key` is not made here; λ keeps its record.
    #[cold]
    fn give_way(&mut self, u: u32, key: Tag, imminent: bool, number: u32) {
        if imminent {
            self.history.release(number);
        } else {
            self.history.free(number);
        }
        self.bar(u, key);
    }

    /// Notes a transition for the observers.
    #[inline(never)]
    fn told(&mut self, u: u32, number: u32, facts: Vec<Fact>, next: Tag) {
        let heard = self.bus.hears(self.units[u as usize].model);
        if !heard && facts.is_empty() {
            return;
        }
        let silent = next.micro == u32::MAX && next != Tag::NEVER;
        let next = if silent { Tag::new(next.ticks, 0) } else { next };
        let told = self.history.told(number);
        (told.heard, told.facts, told.next) = (heard, facts, next);
    }

    /// Silent steps of a unit, up to where something could reach it as far as is known here.
    pub(super) fn silent(&mut self, world: &World<'_, M>, u: u32) {
        let unit = &self.units[u as usize];
        let before = unit.clock;
        let number = self.history.reserve(unit.kind);
        if !self.save(world, u, number, true) {
            self.units[u as usize].irrevocable = true;
            return self.give_way(u, before.next, false, number);
        }
        let at = before.next.ticks;
        let unit = &self.units[u as usize];
        let input = self.inputs.next(unit.inputs).map_or(i64::MAX, |tag| tag.ticks);
        let others = self.least().map_or(i64::MAX, |key| key.ticks.saturating_add(1));
        let far = input.min(others).min(world.limit).min(self.horizon.saturating_add(1));
        // A transition that fails is looked for again, step by step, to know when it failed.
        for bound in [far.max(at + 1), at + 1] {
            let span = Duration::between(before.last, bound);
            let fx = &mut self.fx;
            fx.now = Tag::new(before.last, 0);
            let unit = &self.units[u as usize];
            let (kind, slot) = (unit.kind, unit.slot);
            if let Some(meter) = &mut self.meter {
                meter.enter(kind);
            }
            let slab = &mut self.kinds[kind as usize];
            let called = speculate(|| slab.transition_one(slot, Why::Silent(span), fx));
            self.end_work(kind);
            let quiet = !self.fx.raised;
            let _ = self.take_effects();
            let next = called.and_then(|(advance, silent)| {
                let next = plan(Tag::new(before.last, 0), advance, silent)?;
                let stalled = if silent { next.ticks < bound } else { next.ticks <= at };
                (!stalled).then_some(next)
            });
            if let Some(next) = next.filter(|_| quiet) {
                let unit = &mut self.units[u as usize];
                unit.clock.next = next;
                // The unit went no further than what it found.
                let until = Tag::new(bound.min(next.ticks) - 1, u32::MAX);
                let record = &mut self.history[number];
                (record.before, record.kind, record.messages) = (before, None, 0);
                self.executed(u, number, until);
                return self.requeue(world, u);
            }
            self.load(u, number);
        }
        self.give_way(u, before.next, false, number);
    }

    /// Whether the next call is made twice.
    pub(super) fn probes(&self, world: &World<'_, M>) -> bool {
        let number = self.tally.executed;
        world.settings.probe && (number < 256 || number.is_multiple_of(64))
    }

    /// Makes a transition twice more from the state before it; another result or another state
    /// after it depends on something that no snapshot holds. The first time is not compared: it
    /// had working memory that a restored model fills again.
    fn probe(&mut self, u: u32, (key, kind, last): (Tag, Kind, i64), (saved, due): (u32, &Due)) {
        let unit = &self.units[u as usize];
        let (slab, slot) = (unit.kind as usize, unit.slot);
        let mut again = || {
            self.load(u, saved);
            let called = speculate(|| self.call(u, (key, kind, last), due));
            (called, self.take_effects(), self.kinds[slab].to_bytes(slot).ok())
        };
        if again() != again() {
            self.distrust(u, key);
        }
    }

    /// A model did not repeat itself.
    pub(super) fn distrust(&mut self, u: u32, key: Tag) {
        let why = "does not do the same twice from the same saved state: it keeps some of its state \
                   outside of what `save` takes (a static, a file, a clock, a generator of its own); \
                   move that into the model's fields, or let `save` fail";
        let model = self.units[u as usize].model;
        self.failure.get_or_insert((model, key, why.to_owned()));
    }

    /// Saves a unit's state into a record for what it does next, `always` or when that is due; not
    /// for a unit that cannot.
    #[inline]
    fn save(&mut self, world: &World<'_, M>, u: u32, number: u32, always: bool) -> bool {
        let unit = &self.units[u as usize];
        if unit.irrevocable {
            return false;
        }
        if unit.last != NONE && !always {
            let times = if unit.is_calm() { RARER } else { 1 };
            let every = world.settings.save_every.saturating_mul(times);
            if unit.unsaved < every.min(LONGEST) {
                return true;
            }
        }
        let kind = &self.kinds[unit.kind as usize];
        let saved = match &mut self.history[number].state {
            Some(state) => kind.save_over(unit.slot, state),
            state => kind.save(unit.slot).map(|saved| *state = Some(saved)),
        };
        if saved.is_ok() {
            self.history.note_saved(number);
        }
        saved.is_ok()
    }

    /// The state before a record that has it saved.
    fn load(&mut self, u: u32, record: u32) {
        let unit = &self.units[u as usize];
        let Some(state) = self.history[record].saved() else { return };
        if let Err(why) = self.kinds[unit.kind as usize].restore(unit.slot, state) {
            let at = unit.clock.next;
            self.failure.get_or_insert((unit.model, at, why.to_string()));
        }
    }

    /// The state before the transition that just failed.
    fn bring_back(&mut self, u: u32, record: u32) {
        if self.history[record].is_saved {
            self.load(u, record);
        } else {
            self.restore(u, NONE);
        }
    }

    /// The state before a record, or the present one for [`NONE`]: from the last one saved, by
    /// silent replay.
    pub(super) fn restore(&mut self, u: u32, upto: u32) {
        let unit = &self.units[u as usize];
        let clock = if upto == NONE { unit.clock } else { self.history[upto].before };
        let Some(from) = self.history.last_saved(unit, upto) else { return };
        self.load(u, from);
        let (mut at, mut replayed) = (from, 0);
        while at != upto {
            replayed += 1;
            let record = &self.history[at];
            let (kind, before) = (record.kind, record.before.last);
            let (until, later) = (record.until, record.later);
            match kind {
                Some(kind) => {
                    let due = self.inputs.again(record.inputs);
                    self.call(u, (until, kind, before), &due);
                }
                None => {
                    let span = Duration::between(before, until.ticks + 1);
                    let unit = &self.units[u as usize];
                    self.fx.now = Tag::new(before, 0);
                    let kind = &mut self.kinds[unit.kind as usize];
                    kind.transition_one(unit.slot, Why::Silent(span), &mut self.fx);
                }
            }
            let _ = self.take_effects();
            at = later;
        }
        let unit = &mut self.units[u as usize];
        (unit.unsaved, unit.clock) = (replayed, clock);
    }

    fn call(&mut self, u: u32, why: (Tag, Kind, i64), due: &Due) -> (Duration, bool) {
        let Self { units, kinds, inputs, fx, .. } = self;
        let unit = &units[u as usize];
        call(&mut *kinds[unit.kind as usize], unit.slot, inputs, fx, why, due)
    }

    /// Facts, and whether an event was located; `None` for what cannot be done speculatively.
    fn take_effects(&mut self) -> Option<Marks> {
        let fx = &mut self.fx;
        if !std::mem::take(&mut fx.raised) {
            return Some((Vec::new(), false));
        }
        let failed = fx.failure.take().is_some();
        let stopped = fx.stop.take().is_some();
        let changes = !std::mem::take(&mut fx.changes).is_empty();
        let (facts, located) = (std::mem::take(&mut fx.facts), std::mem::take(&mut fx.located));
        (!failed && !stopped && !changes).then_some((facts, located))
    }
}

/// A transition of a model at a tag, after one at a tick, with some of its unit's inputs.
#[inline]
fn call<M: Message>(
    slab: &mut dyn Slab<M>,
    slot: u32,
    inputs: &mut Inputs<M>,
    fx: &mut Effects<M>,
    (tag, kind, last): (Tag, Kind, i64),
    due: &Due,
) -> (Duration, bool) {
    fx.now = tag;
    let why = match kind {
        Kind::Internal => Why::Internal,
        Kind::External => Why::External(Duration::between(last, tag.ticks), inputs.bag(due)),
        Kind::Confluent => Why::Confluent(inputs.bag(due)),
    };
    slab.transition_one(slot, why, fx)
}

/// The key of the next event; `None` when that is no time.
#[inline]
fn plan(now: Tag, advance: Duration, silent: bool) -> Option<Tag> {
    let ticks = advance.ticks();
    if advance.is_infinite() {
        return Some(Tag::NEVER);
    }
    if ticks == 0 && !silent {
        return Some(Tag::new(now.ticks, now.micro + 1));
    }
    let at = now.ticks.checked_add(ticks).filter(|&at| ticks >= 0 && at != i64::MAX)?;
    Some(Tag::new(at, if silent { u32::MAX } else { 0 }))
}
