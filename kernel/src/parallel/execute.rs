//! Transitions of single models: done, undone and done again.
use super::{
    history::Told,
    speculation::speculate,
    unit::Clockwork,
    worker::{Worker, World},
};
use crate::{
    bag::NONE,
    effects::Fact,
    message::Message,
    slab::{SavedState, Why},
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
        let Ok(saved) = self.save(u, self.units[u as usize].save_every) else {
            self.units[u as usize].irrevocable = true;
            return self.bar(u, key);
        };
        let unit = &self.units[u as usize];
        let before = unit.clock;
        let inputs = unit.due_at(key);
        let imminent = before.next == key;
        let kind = match (imminent, inputs.is_empty()) {
            (true, true) => Kind::Internal,
            (true, false) => Kind::Confluent,
            _ => Kind::External,
        };
        let sums = unit.inputs.range(inputs.clone());
        let bag_sum = sums.fold(0u64, |sum, p| sum.wrapping_add(p.sum));
        let outcome = speculate(|| self.call(u, key, kind, before.last, inputs.clone()));
        let facts = self.take_effects();
        if let (Some(state), true) = (&saved, outcome.is_some() && self.probes(world)) {
            self.probe(u, (key, kind, before.last), state);
        }
        let plan = outcome.and_then(|(advance, silent)| plan(key, advance, silent));
        let (Some(facts), Some((next, told))) = (facts, plan) else {
            self.bring_back(u, saved);
            return self.bar(u, key);
        };
        let (facts, located) = facts;
        let window = located.then(|| {
            let (start, count) = before.located.unwrap_or((key.ticks, 0));
            let anew = key.ticks.saturating_sub(start) > world.guards.window;
            if anew { (key.ticks, 1) } else { (start, count + 1) }
        });
        if window.is_some_and(|w| w.1 > world.guards.state_events) {
            self.bring_back(u, saved);
            return self.bar(u, key);
        }
        let heard = self.bus.hears(self.units[u as usize].model);
        let told = (heard || world.observed && !facts.is_empty()).then(|| {
            Box::new(Told { heard, bag: Vec::new(), outputs: Vec::new(), facts, next: told })
        });
        let unit = &mut self.units[u as usize];
        let messages = unit.inputs.range(inputs.clone()).map(|p| p.load.len() as u32).sum();
        let sending = if imminent { unit.held.take() } else { None };
        let outputs = sending.as_ref().map_or(0, |s| s.sum);
        unit.done = inputs.end;
        unit.unsaved = if saved.is_some() { 1 } else { unit.unsaved + 1 };
        unit.clock = Clockwork {
            last: key.ticks,
            chain: link(before.chain, key, kind, bag_sum, outputs),
            next,
            silent: next.micro == u32::MAX && next != Tag::NEVER,
            located: window.or(before.located),
        };
        let record = self.executed(u, key, before, saved);
        (record.kind, record.messages) = (Some(kind), messages);
        (record.sending, record.told) = (sending, told);
        self.requeue(world, u);
    }

    /// Silent steps of a unit, up to where something could reach it as far as is known here.
    pub(super) fn silent(&mut self, world: &World<'_, M>, u: u32) {
        let Ok(saved) = self.save(u, 1) else {
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
                let (next, _) = plan(Tag::new(before.last, 0), advance, silent)?;
                let stalled = if silent { next.ticks < bound } else { next.ticks <= at };
                (!stalled).then_some(next)
            });
            if let Some(next) = next.filter(|_| quiet) {
                let unit = &mut self.units[u as usize];
                unit.clock.next = next;
                unit.clock.silent = next.micro == u32::MAX && next != Tag::NEVER;
                unit.unsaved = 1;
                // The unit went no further than what it found.
                let until = Tag::new(bound.min(next.ticks) - 1, u32::MAX);
                self.executed(u, until, before, saved).tag = before.next;
                return self.requeue(world, u);
            }
            if let Some(state) = &saved {
                self.load(u, state);
            }
        }
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
    fn probe(&mut self, u: u32, (key, kind, last): (Tag, Kind, i64), state: &SavedState) {
        let unit = &self.units[u as usize];
        let (slab, slot) = (unit.kind as usize, unit.slot);
        let mut again = || {
            self.load(u, state);
            let inputs = self.units[u as usize].inputs_at(key);
            let called = speculate(|| self.call(u, key, kind, last, inputs));
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

    /// Saves the state when it is due; fails for a unit that cannot.
    fn save(&mut self, u: u32, every: u32) -> Result<Option<SavedState>, ()> {
        let unit = &self.units[u as usize];
        if unit.irrevocable {
            return Err(());
        }
        let recent = if unit.safe { unit.saved_at >= self.gvt } else { unit.unsaved < every };
        if unit.last != NONE && recent {
            return Ok(None);
        }
        let kind = &self.kinds[unit.kind as usize];
        let saved = match self.history.spare(unit.kind) {
            None => kind.save(unit.slot),
            Some(mut state) => kind.save_over(unit.slot, &mut state).map(|()| state),
        };
        saved.map(Some).map_err(drop)
    }

    fn load(&mut self, u: u32, state: &SavedState) {
        let unit = &self.units[u as usize];
        if let Err(why) = self.kinds[unit.kind as usize].restore(unit.slot, state) {
            let at = unit.clock.next;
            self.failure.get_or_insert((unit.model, at, why.to_string()));
        }
    }

    /// The state before the transition that just failed.
    fn bring_back(&mut self, u: u32, saved: Option<SavedState>) {
        match saved {
            Some(state) => self.load(u, &state),
            None => self.restore(u, NONE),
        }
    }

    /// The state before a record, or the present one for [`NONE`]: from the last one saved, by
    /// silent replay.
    pub(super) fn restore(&mut self, u: u32, upto: u32) {
        let unit = &self.units[u as usize];
        let clock = if upto == NONE { unit.clock } else { self.history[upto].before };
        let Some(from) = self.history.last_saved(unit, upto) else { return };
        let Some(state) = self.history[from].saved.take() else { return };
        self.load(u, &state);
        self.history[from].saved = Some(state);
        let (mut at, mut replayed) = (from, 0);
        while at != upto {
            replayed += 1;
            let record = &self.history[at];
            let (tag, kind, before) = (record.tag, record.kind, record.before.last);
            let (until, later) = (record.until, record.later);
            match kind {
                Some(kind) => {
                    let inputs = self.units[u as usize].inputs_at(tag);
                    self.call(u, tag, kind, before, inputs);
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

    fn call(
        &mut self,
        u: u32,
        tag: Tag,
        kind: Kind,
        last: i64,
        inputs: Range<usize>,
    ) -> (Duration, bool) {
        self.fx.now = tag;
        let unit = &self.units[u as usize];
        let packets = unit.inputs.range(inputs);
        let elapsed = Duration::between(last, tag.ticks);
        let why = match kind {
            Kind::Internal => Why::Internal,
            Kind::External => Why::External(elapsed, self.assembly.bag(packets)),
            Kind::Confluent => Why::Confluent(self.assembly.bag(packets)),
        };
        self.kinds[unit.kind as usize].transition_one(unit.slot, why, &mut self.fx)
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

/// The key of the next event, and its tag as observers are told; `None` when that is no time.
fn plan(now: Tag, advance: Duration, silent: bool) -> Option<(Tag, Tag)> {
    let ticks = advance.ticks();
    if advance.is_infinite() {
        return Some((Tag::NEVER, Tag::NEVER));
    }
    if ticks == 0 && !silent {
        let next = Tag::new(now.ticks, now.micro + 1);
        return Some((next, next));
    }
    let at = now.ticks.checked_add(ticks).filter(|&at| ticks >= 0 && at != i64::MAX)?;
    let micro = if silent { u32::MAX } else { 0 };
    Some((Tag::new(at, micro), Tag::new(at, 0)))
}
