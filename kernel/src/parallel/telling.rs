//! What observers are told of a stretch, in canonical order.
use super::{
    commit::{Committed, Entry},
    windows::{Done, News},
};
use crate::{
    asked::tell_cycle,
    bag::{Bag, Envelope, NONE, Slice},
    blueprint::{Blueprint, ModelKey, NodeBody},
    core::{Core, Counts, Halt},
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
    /// Whether one of them wants to hear of every cycle.
    watched: bool,
    halt: &'a Halt,
    pub counts: Counts,
    pub now: Tag,
    pub ran: bool,
    /// Why an observer stopped the run.
    pub stop: Option<String>,
    // Buffers.
    entries: Vec<Entry<M>>,
    tags: [Vec<Tag>; 2],
}

impl<'a, M: Message> Telling<'a, M> {
    pub fn new(core: &'a Core<M>, observers: &'a mut [Box<dyn Observer<M>>], ran: bool) -> Self {
        let Core { blueprint, keys, now, watched, halt, .. } = core;
        let (counts, now, watched) = (Counts::default(), *now, *watched);
        let (stop, entries, tags) = (None, Vec::new(), Default::default());
        Self { blueprint, keys, observers, watched, halt, counts, now, ran, stop, entries, tags }
    }

    /// Takes what workers hand over, tells observers in canonical order, and returns the tag after
    /// the last cycle when one of them stops the run. Leaves empty what it was given.
    pub fn tell(&mut self, committed: &mut [Committed<M>]) -> Option<Tag> {
        if self.observers.is_empty() {
            self.count(committed);
            return None;
        }
        let mut entries = std::mem::take(&mut self.entries);
        committed.iter_mut().for_each(|c| entries.append(&mut c.entries));
        // What each worker hands over is sorted: this merges runs.
        entries.sort_by_key(|e| (e.tag, e.model));
        let after = self.cycles(&entries);
        entries.clear();
        self.entries = entries;
        after
    }

    /// Nobody looks on: cycles are all that workers cannot count alone.
    fn count(&mut self, committed: &mut [Committed<M>]) {
        if let Some(&last) = committed.iter().filter_map(|part| part.tags.last()).max() {
            (self.now, self.ran) = (last, true);
            self.counts.cycles += self.different(committed.iter().map(|part| &part.tags[..]));
        }
        for part in committed {
            self.counts.add(std::mem::take(&mut part.counts));
            part.tags.clear();
        }
    }

    /// Takes what parts did in a window, all before which is told; why an observer stops the run,
    /// if one does.
    pub fn window(&mut self, done: &mut [&mut Done<M>]) -> Option<String> {
        let (mut counts, mut news) = (Counts::default(), Vec::new());
        for part in done.iter_mut() {
            // Cycles are all that parts cannot count alone.
            counts.add(Counts { cycles: 0, ..part.counts });
            news.append(&mut part.news);
        }
        let place = |key| match &self.blueprint.nodes[key].body {
            NodeBody::Atomic(a) => a.index,
            NodeBody::Coupled(_) => NONE,
        };
        // A model's own are in order already.
        news.sort_by_cached_key(|n| (n.tag, place(n.key)));
        let mut news = news.into_iter().peekable();
        if !self.watched {
            // Cycles of which there is nothing to tell only count.
            while let Some(News { tag, key, kind, told }) = news.next() {
                (self.now, self.ran) = (tag, true);
                let (model, told) = (place(key), Some(Box::new(told)));
                self.one(&Entry { tag, model, kind, messages: 0, told });
                if self.stop.is_some() && news.peek().is_none_or(|n| n.tag != tag) {
                    return self.stop.clone();
                }
            }
            if let Some(last) = done.iter().filter_map(|part| part.tags.last()).max() {
                (self.now, self.ran) = (*last, true);
                counts.cycles = self.different(done.iter().map(|part| &part.tags[..]));
            }
            self.counts.add(counts);
            self.cycle();
            return self.stop.clone();
        }
        let mut heads: Vec<&[Tag]> = done.iter().map(|part| &part.tags[..]).collect();
        while let Some(&tag) = heads.iter().filter_map(|head| head.first()).min() {
            for head in &mut heads {
                if let [first, rest @ ..] = head
                    && *first == tag
                {
                    *head = rest;
                }
            }
            (self.now, self.ran) = (tag, true);
            counts.cycles += 1;
            while let Some(News { tag, key, kind, told }) = news.next_if(|n| n.tag == tag) {
                let (model, told) = (place(key), Some(Box::new(told)));
                self.one(&Entry { tag, model, kind, messages: 0, told });
            }
            self.cycle();
            if self.stop.is_some() {
                break;
            }
        }
        self.counts.add(counts);
        self.stop.clone()
    }

    /// How many tags are in ascending lists, each counted once.
    fn different<'t>(&mut self, lists: impl Iterator<Item = &'t [Tag]>) -> u64 {
        let [all, merged] = &mut self.tags;
        all.clear();
        let mut lists: Vec<&[Tag]> = lists.collect();
        lists.sort_by_key(|tags| tags.len());
        // The last two need not be merged to be counted.
        let Some((last, lists)) = lists.split_last() else { return 0 };
        for tags in lists.iter().filter(|tags| !tags.is_empty()) {
            merged.clear();
            union(all, tags, merged);
            std::mem::swap(all, merged);
        }
        (all.len() + last.len()) as u64 - common(all, last)
    }

    /// A cycle is over.
    fn cycle(&mut self) {
        let watching = if self.watched { &mut self.observers[..] } else { &mut [] };
        tell_cycle(watching, self.halt, self.now, &mut self.stop);
    }

    fn cycles(&mut self, entries: &[Entry<M>]) -> Option<Tag> {
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
            self.cycle();
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
        let single = |(i, m): (u32, &(u16, M))| Slice::one(m.0, i);
        let mut pieces: Vec<Slice> = (0..).zip(&told.bag).map(single).collect();
        pieces.sort_by_key(|s| s.port);
        let bag = Bag::of(&arena, arena.len() as u32, &pieces);
        let bag = (entry.kind != Kind::Internal).then_some(bag);
        let Entry { tag, kind, .. } = *entry;
        let transition = Transition { tag, kind, bag, outputs: &told.outputs, next: told.next };
        for o in self.observers.iter_mut().filter(|o| o.wants_transitions(key)) {
            verdict(blueprint.site(key, |site| o.transition(site, &transition)));
        }
    }
}

/// How many tags two ascending lists have in common.
fn common(a: &[Tag], b: &[Tag]) -> u64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let order = x.cmp(y);
        // Not one or the other: nothing can predict which.
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        both += u64::from(order.is_eq());
    }
    both
}

/// The tags of two ascending lists, each once.
fn union(a: &[Tag], b: &[Tag], into: &mut Vec<Tag>) {
    let (mut i, mut j) = (0, 0);
    if a.is_empty() {
        return into.extend_from_slice(b);
    }
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        into.push(x.min(y));
        // Not one or the other: nothing can predict which.
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    into.extend_from_slice(&a[i..]);
    into.extend_from_slice(&b[j..]);
}
