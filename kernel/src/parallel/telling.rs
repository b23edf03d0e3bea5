//! Tells observers of a stretch, in canonical order.
use super::{
    commit::Committed,
    ledger::{Ledger, Place},
    windows::Done,
};
use crate::{
    asked::tell_cycle,
    blueprint::Blueprint,
    core::{Core, Counts},
    key::ModelKey,
    message::Message,
    options::Halt,
    time::Tag,
    trace::{Kind, Observer},
};
use std::ops::ControlFlow;

/// The ledgers of all workers or parts.
type Ledgers<'l, M> = Vec<&'l mut Ledger<M>>;

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
    places: Vec<Place>,
    tags: [Vec<Tag>; 2],
}

impl<'a, M: Message> Telling<'a, M> {
    pub(super) fn new(
        core: &'a Core<M>,
        observers: &'a mut [Box<dyn Observer<M>>],
        ran: bool,
    ) -> Self {
        let Core { blueprint, keys, now, watched, halt, .. } = core;
        let (counts, now, watched) = (Counts::default(), *now, *watched);
        let (stop, places, tags) = (None, Vec::new(), Default::default());
        Self { blueprint, keys, observers, watched, halt, counts, now, ran, stop, places, tags }
    }

    /// Takes what workers hand over, which is all before `gvt`, tells observers in canonical order,
    /// and returns the tag after the last cycle when one of them, or somebody outside, stops the run.
    /// Leaves empty what it was given.
    pub(super) fn tell(&mut self, committed: &mut [Committed<M>], gvt: Tag) -> Option<Tag> {
        if self.observers.is_empty() {
            self.count(committed);
            // As everywhere, somebody outside is heard of after a cycle.
            if self.counts.cycles > 0 {
                self.cycle();
            }
            return self.stop.is_some().then_some(gvt);
        }
        let mut ledgers: Ledgers<'_, M> = committed.iter_mut().map(|c| &mut c.ledger).collect();
        let places = self.in_order(&ledgers);
        let after = self.cycles(&places, &mut ledgers);
        ledgers.iter_mut().for_each(|ledger| ledger.clear());
        self.places = places;
        after
    }

    /// Where all lines of some ledgers stand, in canonical order.
    fn in_order(&mut self, ledgers: &Ledgers<'_, M>) -> Vec<Place> {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        (0..).zip(ledgers).for_each(|(of, ledger)| places.extend(ledger.places(of)));
        // Each ledger is sorted, or nearly so: this merges runs. A model's own are in order already.
        places.sort_by_key(|place| (place.tag, place.model));
        places
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
    /// if one does. Leaves empty what was to be told.
    pub(super) fn window(&mut self, done: &mut [&mut Done<M>]) -> Option<String> {
        let mut counts = Counts::default();
        let (mut tags, mut ledgers) = (Vec::new(), Ledgers::new());
        for part in done {
            // Cycles are all that parts cannot count alone.
            counts.add(Counts { cycles: 0, ..part.counts });
            tags.push(&part.tags[..]);
            ledgers.push(&mut part.ledger);
        }
        let places = self.in_order(&ledgers);
        counts.cycles = if self.watched {
            self.each_cycle(&places, &mut ledgers, &mut tags)
        } else {
            self.cycles_told(&places, &mut ledgers, &tags)
        };
        self.counts.add(counts);
        ledgers.iter_mut().for_each(|ledger| ledger.clear());
        self.places = places;
        self.stop.clone()
    }

    /// Tells what there is to tell; other cycles only count. How many there were, unless an observer
    /// stops the run.
    fn cycles_told(
        &mut self,
        places: &[Place],
        ledgers: &mut Ledgers<'_, M>,
        tags: &[&[Tag]],
    ) -> u64 {
        for cycle in places.chunk_by(|a, b| a.tag == b.tag) {
            (self.now, self.ran) = (cycle[0].tag, true);
            cycle.iter().for_each(|place| self.one(place, ledgers));
            if self.stop.is_some() {
                return 0;
            }
        }
        if let Some(&last) = tags.iter().filter_map(|tags| tags.last()).max() {
            (self.now, self.ran) = (last, true);
        }
        self.cycle();
        self.different(tags.iter().copied())
    }

    /// Tells of every cycle.
    fn each_cycle(
        &mut self,
        places: &[Place],
        ledgers: &mut Ledgers<'_, M>,
        tags: &mut [&[Tag]],
    ) -> u64 {
        let (mut cycles, mut places) = (0, places.iter().peekable());
        while let Some(&tag) = tags.iter().filter_map(|tags| tags.first()).min() {
            for tags in &mut *tags {
                if let [first, rest @ ..] = tags
                    && *first == tag
                {
                    *tags = rest;
                }
            }
            (self.now, self.ran) = (tag, true);
            cycles += 1;
            while let Some(place) = places.next_if(|place| place.tag == tag) {
                self.one(place, ledgers);
            }
            self.cycle();
            if self.stop.is_some() {
                break;
            }
        }
        cycles
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

    fn cycles(&mut self, places: &[Place], ledgers: &mut Ledgers<'_, M>) -> Option<Tag> {
        for cycle in places.chunk_by(|a, b| a.tag == b.tag) {
            (self.now, self.ran) = (cycle[0].tag, true);
            self.counts.cycles += 1;
            for place in cycle {
                let line = ledgers[place.of as usize].line(place);
                match line.kind {
                    Kind::Internal => self.counts.internal += 1,
                    Kind::External => self.counts.external += 1,
                    Kind::Confluent => self.counts.confluent += 1,
                }
                self.counts.messages += u64::from(line.messages);
                self.one(place, ledgers);
            }
            self.cycle();
            if self.stop.is_some() {
                return Some(Tag::new(self.now.ticks, self.now.micro + 1));
            }
        }
        None
    }

    fn one(&mut self, place: &Place, ledgers: &mut Ledgers<'_, M>) {
        let ledger = &mut *ledgers[place.of as usize];
        let (key, blueprint) = (self.keys[place.model as usize], self.blueprint);
        let mut verdict = |v| {
            if let ControlFlow::Break(reason) = v {
                self.stop.get_or_insert(reason);
            }
        };
        for fact in ledger.facts(place) {
            for o in self.observers.iter_mut() {
                verdict(blueprint.site(key, |site| o.fact(site, place.tag, fact)));
            }
        }
        let Some(transition) = ledger.transition(place) else { return };
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
