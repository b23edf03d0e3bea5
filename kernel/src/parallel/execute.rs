//! Transitions of single models: done, undone and done again.
use super::{
    history::Told,
    speculation::speculate,
    unit::{Assembly, Clockwork, Unit},
    worker::{Worker, World},
};
use crate::{
    bag::NONE,
    effects::{Effects, Fact},
    message::Message,
    slab::{Kind as Slab, Why},
    time::{Duration, Tag},
    trace::{Kind, link},
};
use std::ops::Range;

/// Facts, and whether an event was located.
type Marks = (Vec<Fact>, bool);

impl<M: Message> Worker<M> {
    /// The transition of a unit at `key`; what the sequential executor must do is left to it.
    pub(super) fn transition(&mut self, world: &World<'_, M>, u: u32, key: Tag) {
        if key.micro > world.guards.micro_steps {
            return self.bar(u, key);
        }
        let Some(number) = self.save(u, false) else {
            self.units[u as usize].irrevocable = true;
            return self.bar(u, key);
        };
        let Self { units, kinds, assembly, fx, .. } = self;
        let unit = &units[u as usize];
        let before = unit.clock;
        let imminent = before.next == key;
        let (end, bag_sum, messages) = unit.due_at(key);
        let kind = match (imminent, end > unit.done) {
            (true, false) => Kind::Internal,
            (true, true) => Kind::Confluent,
            _ => Kind::External,
        };
        let inputs = unit.done..end;
        let slab = &mut *kinds[unit.kind as usize];
        let outcome =
            speculate(|| call(slab, assembly, fx, unit, (key, kind, before.last), inputs));
        let raised = self.fx.raised;
        let facts = if raised { self.take_effects() } else { Some((Vec::new(), false)) };
        if self.probes(world) && outcome.is_some() && self.history[number].is_saved {
            self.probe(u, (key, kind, before.last), number);
        }
        let next = outcome.and_then(|(advance, silent)| plan(key, advance, silent));
        let (Some((facts, located)), Some(next)) = (facts, next) else {
            self.bring_back(u, number);
            return self.bar(u, key);
        };
        let located = if located { count(world, before.located, key) } else { before.located };
        if located.1 > world.guards.state_events {
            self.bring_back(u, number);
            return self.bar(u, key);
        }
        let told = if world.observed { self.told(u, facts, next) } else { None };
        let unit = &mut self.units[u as usize];
        let sending = if imminent { unit.held.take() } else { None };
        let outputs = sending.as_ref().map_or(0, |s| s.sum);
        unit.done = end;
        unit.clock = Clockwork {
            last: key.ticks,
            chain: link(before.chain, key, kind, bag_sum, outputs),
            next,
            located,
        };
        let record = self.executed(u, number, key, before);
        (record.kind, record.messages) = (Some(kind), messages);
        (record.sending, record.told) = (sending, told);
        self.requeue(world, u);
    }

    /// What observers are to be told of a transition.
    #[inline(never)]
    fn told(&self, u: u32, facts: Vec<Fact>, next: Tag) -> Option<Box<Told<M>>> {
        let heard = self.bus.hears(self.units[u as usize].model);
        let silent = next.micro == u32::MAX && next != Tag::NEVER;
        let next = if silent { Tag::new(next.ticks, 0) } else { next };
        let (bag, outputs) = (Vec::new(), Vec::new());
        (heard || !facts.is_empty()).then(|| Box::new(Told { heard, bag, outputs, facts, next }))
    }

    /// Silent steps of a unit, up to where something could reach it as far as is known here.
    pub(super) fn silent(&mut self, world: &World<'_, M>, u: u32) {
        let Some(number) = self.save(u, true) else {
            let unit = &mut self.units[u as usize];
            unit.irrevocable = true;
            let key = unit.clock.next;
            return self.bar(u, key);
        };
        let unit = &self.units[u as usize];
        let before = unit.clock;
        let at = before.next.ticks;
        let input = unit.inputs.get(unit.done).map_or(i64::MAX, |p| p.tag.ticks);
        let others = self.least().map_or(i64::MAX, |key| key.ticks.saturating_add(1));
        let far = input.min(others).min(world.limit).min(self.horizon.saturating_add(1));
        // What goes wrong is looked for again, step by step, to know when.
        for bound in [far.max(at + 1), at + 1] {
            let span = Duration::between(before.last, bound);
            let fx = &mut self.fx;
            fx.now = Tag::new(before.last, 0);
            let unit = &self.units[u as usize];
            let (kind, slot) = (unit.kind as usize, unit.slot);
            let kinds = &mut self.kinds;
            let called = speculate(|| kinds[kind].transition_one(slot, Why::Silent(span), fx));
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
                self.executed(u, number, until, before).tag = before.next;
                return self.requeue(world, u);
            }
            self.load(u, number);
        }
        self.history.free(number);
        self.bar(u, before.next);
    }

    /// Whether the next call is made twice.
    pub(super) fn probes(&self, world: &World<'_, M>) -> bool {
        let number = self.tally.executed;
        world.settings.probe && (number < 256 || number.is_multiple_of(64))
    }

    /// Makes a transition twice more from the state before it; another result or another state
    /// after it depends on something that no snapshot holds. The first time is not compared: it
    /// had working memory that a restored model fills again.
    fn probe(&mut self, u: u32, (key, kind, last): (Tag, Kind, i64), saved: u32) {
        let unit = &self.units[u as usize];
        let (slab, slot) = (unit.kind as usize, unit.slot);
        let mut again = || {
            self.load(u, saved);
            let inputs = self.units[u as usize].inputs_at(key);
            let called = speculate(|| self.call(u, (key, kind, last), inputs));
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

    /// A record for what a unit does next, with its state saved `always` or when that is due; none
    /// for a unit that cannot.
    #[inline]
    fn save(&mut self, u: u32, always: bool) -> Option<u32> {
        let unit = &self.units[u as usize];
        if unit.irrevocable {
            return None;
        }
        let number = self.history.reserve(unit.kind);
        let recent =
            if unit.safe { unit.saved_at >= self.gvt } else { unit.unsaved < unit.save_every };
        if unit.last != NONE && recent && !always {
            return Some(number);
        }
        let kind = &self.kinds[unit.kind as usize];
        let saved = match &mut self.history[number].state {
            Some(state) => kind.save_over(unit.slot, state),
            state => kind.save(unit.slot).map(|saved| *state = Some(saved)),
        };
        if saved.is_err() {
            self.history.free(number);
            return None;
        }
        self.history.note_saved(number);
        Some(number)
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

    /// The state before the transition that just failed, whose record is not needed.
    fn bring_back(&mut self, u: u32, record: u32) {
        if self.history[record].is_saved {
            self.load(u, record);
        } else {
            self.restore(u, NONE);
        }
        self.history.free(record);
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
            let (tag, kind, before) = (record.tag, record.kind, record.before.last);
            let (until, later) = (record.until, record.later);
            match kind {
                Some(kind) => {
                    let inputs = self.units[u as usize].inputs_at(tag);
                    self.call(u, (tag, kind, before), inputs);
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

    fn call(&mut self, u: u32, why: (Tag, Kind, i64), inputs: Range<usize>) -> (Duration, bool) {
        let Self { units, kinds, assembly, fx, .. } = self;
        let unit = &units[u as usize];
        call(&mut *kinds[unit.kind as usize], assembly, fx, unit, why, inputs)
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

/// A transition of a unit at a tag, after one at a tick, with some of its inputs.
#[inline]
fn call<M: Message>(
    slab: &mut dyn Slab<M>,
    assembly: &mut Assembly<M>,
    fx: &mut Effects<M>,
    unit: &Unit<M>,
    (tag, kind, last): (Tag, Kind, i64),
    inputs: Range<usize>,
) -> (Duration, bool) {
    fx.now = tag;
    let why = match kind {
        Kind::Internal => Why::Internal,
        Kind::External => {
            let elapsed = Duration::between(last, tag.ticks);
            Why::External(elapsed, assembly.bag(unit, inputs))
        }
        Kind::Confluent => Why::Confluent(assembly.bag(unit, inputs)),
    };
    slab.transition_one(unit.slot, why, fx)
}

/// Start and count of the window of located events (guard R11(b)), with one more at `key`.
#[cold]
fn count<M: Message>(world: &World<'_, M>, before: (i64, u32), key: Tag) -> (i64, u32) {
    let anew = before.1 == 0 || key.ticks.saturating_sub(before.0) > world.guards.window;
    if anew { (key.ticks, 1) } else { (before.0, before.1 + 1) }
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
