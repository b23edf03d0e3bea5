//! What observers are told of a stretch, in canonical order.
use super::worker::Entry;
use crate::{
    bag::{Bag, Envelope, NONE, Parts},
    blueprint::{Blueprint, ModelKey},
    core::{Core, Counts},
    message::Message,
    time::Tag,
    trace::{Kind, Observer, Transition},
};
use std::ops::ControlFlow;

/// Tells observers, and counts, what workers commit.
pub(super) struct Telling<'a, M: Message> {
    blueprint: &'a Blueprint<M>,
    keys: &'a [ModelKey],
    observers: &'a mut [Box<dyn Observer<M>>],
    pub counts: Counts,
    pub now: Tag,
    pub ran: bool,
    /// Why an observer stopped the run.
    pub stop: Option<String>,
}

impl<'a, M: Message> Telling<'a, M> {
    pub fn new(core: &'a Core<M>, observers: &'a mut [Box<dyn Observer<M>>], ran: bool) -> Self {
        let Core { blueprint, keys, now, .. } = core;
        let (counts, now) = (Counts::default(), *now);
        Self { blueprint, keys, observers, counts, now, ran, stop: None }
    }

    /// Tells observers what the workers hand over, in canonical order; the tag after the last
    /// cycle when one of them stops the run.
    pub fn tell(&mut self, mut entries: Vec<Entry<M>>) -> Option<Tag> {
        // What each worker hands over is sorted: this merges runs.
        entries.sort_by_key(|e| (e.tag, e.model));
        for cycle in entries.chunk_by(|a, b| a.tag == b.tag) {
            (self.now, self.ran) = (cycle[0].tag, true);
            self.counts.cycles += 1;
            for entry in cycle {
                match entry.kind {
                    Kind::Internal => self.counts.internal += 1,
                    Kind::External => self.counts.external += 1,
                    Kind::Confluent => self.counts.confluent += 1,
                }
                self.counts.messages += u64::from(entry.messages);
                self.one(entry);
            }
            for o in self.observers.iter_mut() {
                if let ControlFlow::Break(reason) = o.cycle(self.now) {
                    self.stop.get_or_insert(reason);
                }
            }
            if self.stop.is_some() {
                return Some(Tag::new(self.now.ticks, self.now.micro + 1));
            }
        }
        None
    }

    fn one(&mut self, entry: &Entry<M>) {
        let Some(told) = &entry.told else { return };
        let (key, blueprint) = (self.keys[entry.model as usize], self.blueprint);
        let mut verdict = |v| {
            if let ControlFlow::Break(reason) = v {
                self.stop.get_or_insert(reason);
            }
        };
        for fact in &told.facts {
            for o in self.observers.iter_mut() {
                verdict(blueprint.site(key, |site| o.fact(site, entry.tag, fact)));
            }
        }
        if !told.heard {
            return;
        }
        let envelope = |(i, (_, value)): (usize, &(u16, M))| Envelope {
            value: value.clone(),
            source: 0,
            emission: i as u32,
            next: NONE,
            port: 0,
        };
        let arena: Vec<Envelope<M>> = told.bag.iter().enumerate().map(envelope).collect();
        let mut merged: Vec<(u16, u32)> = told.bag.iter().map(|m| m.0).zip(0..).collect();
        merged.sort_unstable();
        let parts = Parts::Merged(&merged);
        let bag = Bag { arena: &arena, len: arena.len() as u32, parts };
        let bag = (entry.kind != Kind::Internal).then_some(bag);
        let Entry { tag, kind, .. } = *entry;
        let transition = Transition { tag, kind, bag, outputs: &told.outputs, next: told.next };
        for o in self.observers.iter_mut().filter(|o| o.wants_transitions(key)) {
            verdict(blueprint.site(key, |site| o.transition(site, &transition)));
        }
    }
}
