//! What a worker says and hands over at a cut.
use super::{
    history::Told,
    worker::{Tally, Worker, World},
};
use crate::{core::Counts, message::Message, time::Tag, trace::Kind};

/// A committed transition, on its way to the observers.
pub(crate) struct Entry<M> {
    pub tag: Tag,
    pub model: u32,
    pub kind: Kind,
    pub messages: u32,
    pub told: Option<Box<Told<M>>>,
}

/// What a worker hands over at a cut, in the order of tags.
pub(crate) struct Committed<M> {
    /// For observers; without any, these two are enough:
    pub entries: Vec<Entry<M>>,
    /// Transitions and messages.
    pub counts: Counts,
    /// Those of cycles, each once.
    pub tags: Vec<Tag>,
}

impl<M> Default for Committed<M> {
    fn default() -> Self {
        Self { entries: Vec::new(), counts: Counts::default(), tags: Vec::new() }
    }
}

/// What a worker says at a cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// No event of this worker is earlier.
    pub own: Tag,
    /// No message that it sent since its last cut is earlier.
    pub sent: Tag,
    /// The earliest event that must be left to the sequential executor.
    pub barrier: Tag,
    /// The latest executed tick.
    pub front: i64,
    /// Nothing that is known here leaves for another worker before this tick.
    pub promise: i64,
    /// What is not known yet leaves so many ticks after it happens, at least.
    pub delay: i64,
    pub tally: Tally,
    pub failed: bool,
}

impl<M: Message> Worker<M> {
    /// A cut: takes in what is under way, hands over what lies before `gvt`, forgets what lies
    /// before `kept`, and says what is the least that is left.
    pub fn cut(
        &mut self,
        world: &World<'_, M>,
        gvt: Tag,
        kept: Tag,
        committed: &mut Committed<M>,
    ) -> Cut {
        self.receive(world);
        if gvt > self.gvt {
            self.gvt = gvt;
            for u in std::mem::take(&mut self.waiting) {
                self.requeue(world, u);
            }
        }
        if world.observed {
            self.hand_over(gvt, kept, committed);
        } else {
            self.count(gvt, committed);
        }
        let units = &self.units;
        self.barred.retain(|&u| units[u as usize].barrier().is_some());
        let barred = self.barred.iter().filter_map(|&u| units[u as usize].barrier());
        let barrier = barred.min().unwrap_or(Tag::NEVER);
        let waiting = self.waiting.iter().map(|&u| units[u as usize].key()).min();
        let blocked = barrier.min(waiting.unwrap_or(Tag::NEVER));
        let own = self.least().map_or(blocked, |key| key.min(blocked));
        let sent = std::mem::replace(&mut self.sent, Tag::NEVER);
        let promise = self.promises.earliest(&self.units, &self.kinds);
        let (front, tally, failed) = (self.front, self.tally, self.failure.is_some());
        Cut { own, sent, barrier, front, promise, delay: self.promises.delay, tally, failed }
    }

    /// Commits for observers, of whom one may still end the run: nothing is forgotten before all
    /// know of it.
    fn hand_over(&mut self, gvt: Tag, kept: Tag, committed: &mut Committed<M>) {
        for u in self.handed.drain(..) {
            self.history.forget(&mut self.units[u as usize], kept);
        }
        let Self { history, units, handed, bus, log, .. } = self;
        log.retain(|&(tag, number)| {
            if tag >= gvt {
                return true;
            }
            let record = &mut history[number];
            let Some(unit) = units.get(record.unit as usize) else {
                history.free(number);
                return false;
            };
            handed.push(record.unit);
            let Some(kind) = record.kind else { return false };
            let (model, messages) = (unit.model, record.messages);
            let mut told = record.told.take();
            if let Some(told) = told.as_mut().filter(|_| bus.hears(model)) {
                let inputs = unit.inputs.range(unit.inputs_at(tag));
                told.bag = inputs.flat_map(|p| &p.load).cloned().collect();
                let outputs = record.sending.as_mut().map(|s| std::mem::take(&mut s.log));
                told.outputs = outputs.unwrap_or_default();
            }
            committed.entries.push(Entry { tag, model, kind, messages, told });
            false
        });
        committed.entries.sort_by_key(|e| (e.tag, e.model));
    }

    /// Commits and forgets, when nobody looks on.
    fn count(&mut self, gvt: Tag, committed: &mut Committed<M>) {
        let Self { history, units, log, .. } = self;
        let Committed { counts, tags, .. } = committed;
        log.retain(|&(tag, number)| {
            if tag >= gvt {
                return true;
            }
            let record = &history[number];
            let Some(unit) = units.get_mut(record.unit as usize) else {
                history.free(number);
                return false;
            };
            if let Some(kind) = record.kind {
                match kind {
                    Kind::Internal => counts.internal += 1,
                    Kind::External => counts.external += 1,
                    Kind::Confluent => counts.confluent += 1,
                }
                counts.messages += u64::from(record.messages);
                if tags.last() != Some(&tag) {
                    tags.push(tag);
                }
            }
            history.forget(unit, gvt);
            false
        });
        if !tags.is_sorted() {
            tags.sort();
            tags.dedup();
        }
    }
}
