//! Reports and records that a worker hands over at a cut.
use super::{
    history::Told,
    ledger::{Ledger, Line},
    worker::{Tally, Worker, World},
};
use crate::{bag::NONE, core::Counts, message::Message, time::Tag, trace::Kind};
use std::cmp::Reverse;

/// Records that a worker hands over at a cut, in the order of tags.
pub(crate) struct Committed<M> {
    /// For observers; without any, these two are enough:
    pub ledger: Ledger<M>,
    /// Transitions and messages.
    pub counts: Counts,
    /// Tags of the cycles, each once.
    pub tags: Vec<Tag>,
}

impl<M> Default for Committed<M> {
    fn default() -> Self {
        Self { ledger: Ledger::default(), counts: Counts::default(), tags: Vec::new() }
    }
}

/// The report of a worker at a cut.
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
    pub tally: Tally,
    pub failed: bool,
}

impl<M: Message> Worker<M> {
    /// A cut: takes in what is under way, hands over what lies before `gvt`, forgets what lies
    /// before `kept`, and says what is the least that is left.
    pub(super) fn cut(
        &mut self,
        world: &World<'_, M>,
        gvt: Tag,
        kept: Tag,
        committed: &mut Committed<M>,
    ) -> Cut {
        self.receive(world);
        self.learn(world, gvt, self.horizon);
        if world.observed {
            self.hand_over(gvt, kept, committed);
        } else {
            self.count(gvt, committed);
        }
        let units = &self.units;
        self.barred.retain(|&u| units[u as usize].barrier().is_some());
        let barred = self.barred.iter().filter_map(|&u| units[u as usize].barrier());
        let barrier = barred.min().unwrap_or(Tag::NEVER);
        let waiting = self.waiting.iter().map(|&u| units[u as usize].key(&self.inputs)).min();
        let blocked = barrier.min(waiting.unwrap_or(Tag::NEVER));
        let own = self.least().map_or(blocked, |key| key.min(blocked));
        let sent = std::mem::replace(&mut self.sent, Tag::NEVER);
        let (front, tally, failed) = (self.front, self.tally, self.failure.is_some());
        Cut { own, sent, barrier, front, tally, failed }
    }

    /// Takes in the results of the last cut of all workers.
    pub(super) fn learn(&mut self, world: &World<'_, M>, gvt: Tag, horizon: i64) {
        self.horizon = horizon;
        if gvt > self.gvt {
            self.gvt = gvt;
            for u in std::mem::take(&mut self.waiting) {
                self.requeue(world, u);
            }
        }
    }

    /// Commits for observers, of whom one may still end the run: nothing is forgotten before all
    /// know of it.
    fn hand_over(&mut self, gvt: Tag, kept: Tag, committed: &mut Committed<M>) {
        for u in self.handed.drain(..) {
            self.history.forget(&mut self.inputs, &mut self.units[u as usize], kept);
        }
        let ended = self.take_before(gvt);
        let Self { history, units, inputs, handed, .. } = self;
        for &(tag, number) in &ended {
            let record = &mut history[number];
            let Some(unit) = units.get(record.unit as usize) else {
                history.free(number);
                continue;
            };
            handed.push(record.unit);
            let Some(kind) = record.kind else { continue };
            let (model, messages) = (unit.model, record.messages);
            let mut line = Line::new(tag, model, kind, messages);
            let Some(mut told) = record.told.take() else {
                committed.ledger.add(line, None, None, None);
                continue;
            };
            line.next = told.heard.then_some(told.next);
            let came = if told.heard { record.inputs } else { NONE };
            let bag = inputs.messages(came).map(|(port, value)| (port, value.clone()));
            let Told { outputs, facts, .. } = &mut *told;
            committed.ledger.add(line, bag, outputs.drain(..), facts.drain(..));
            history.put_away(told);
        }
        committed.ledger.sort();
        self.ended = ended;
    }

    /// Commits and forgets, when nobody looks on.
    fn count(&mut self, gvt: Tag, committed: &mut Committed<M>) {
        let ended = self.take_before(gvt);
        let Self { history, units, inputs, .. } = self;
        let Committed { counts, tags, .. } = committed;
        let (mut moved, mut messages, mut last) = ([0; 3], 0, None);
        for &(tag, number) in &ended {
            let record = &history[number];
            let Some(unit) = units.get_mut(record.unit as usize) else {
                history.free(number);
                continue;
            };
            if let Some(kind) = record.kind {
                moved[kind as usize] += 1;
                messages += u64::from(record.messages);
                if last != Some(tag) {
                    tags.push(tag);
                    last = Some(tag);
                }
            }
            if unit.first != number {
                history.forget(inputs, unit, gvt);
            } else {
                history.forget_first(inputs, unit, gvt);
            }
        }
        counts.internal += moved[Kind::Internal as usize];
        counts.external += moved[Kind::External as usize];
        counts.confluent += moved[Kind::Confluent as usize];
        counts.messages += messages;
        self.ended = ended;
    }

    /// Takes the records that end before `gvt` off the log, in order.
    fn take_before(&mut self, gvt: Tag) -> Vec<(Tag, u32)> {
        let Self { log, late, ended, .. } = self;
        let mut ended = std::mem::take(ended);
        ended.clear();
        let done = log.partition_point(|entry| entry.0 < gvt);
        let mut in_time = log.drain(..done).peekable();
        while let Some(&Reverse(next)) = late.peek()
            && next.0 < gvt
        {
            late.pop();
            ended.extend(std::iter::from_fn(|| in_time.next_if(|entry| *entry <= next)));
            ended.push(next);
        }
        ended.extend(in_time);
        ended
    }
}
