//! Where models live: in which slab, and in which slot there.
//!
//! **Why runs.** Neighbours in path order are neighbours in their slab, unless the structure
//! changed. So a table of runs is enough, a cycle looks once for all neighbours, and it remembers
//! where it looked last: single models of one kind then cost no look at all. A small network goes
//! from kind to kind with every message; two bytes per model tell it the run without a search.
use crate::{
    blueprint::{Blueprint, ModelKey, NodeBody},
    message::Message,
};
use std::ops::Range;

/// Models from `first` on, up to the next home's, side by side in a slab.
#[derive(Debug, Clone, Copy)]
struct Home {
    first: u32,
    slot: u32,
    kind: u16,
}

/// Neighbours of one slab among the models of a cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    pub kind: u16,
    /// Slot minus model number, the same for all of them.
    shift: u32,
}

impl Run {
    #[inline(always)]
    pub fn slot(self, model: u32) -> usize {
        model.wrapping_add(self.shift) as usize
    }
}

/// The homes of all models.
#[derive(Debug)]
pub(crate) struct Homes {
    homes: Vec<Home>,
    /// Number of the home by model; empty when there are too many homes, or they moved.
    numbers: Vec<u16>,
    recent: usize,
    range: Range<u32>,
    run: Run,
}

impl Homes {
    /// The homes of models in path order.
    pub fn new<M: Message>(blueprint: &Blueprint<M>, keys: &[ModelKey]) -> Self {
        let place = |(m, &key): (u32, &ModelKey)| {
            let NodeBody::Atomic(a) = &blueprint.nodes[key].body else { unreachable!("atomic") };
            (m, a.kind, a.slot)
        };
        Self::of_some((0..).zip(keys).map(place), keys.len())
    }

    /// The homes of some of so many models: number, kind and slot, in path order. Nobody may ask for
    /// those of others.
    pub fn of_some(places: impl Iterator<Item = (u32, u16, u32)>, models: usize) -> Self {
        let mut homes: Vec<Home> = Vec::new();
        let mut before = 0;
        for (m, kind, slot) in places {
            let goes_on =
                |h: &Home| before + 1 == m && h.kind == kind && h.slot + (m - h.first) == slot;
            if !homes.last().is_some_and(goes_on) {
                homes.push(Home { first: m, slot, kind });
            }
            before = m;
        }
        let mut numbers = Vec::new();
        if homes.len() <= usize::from(u16::MAX) {
            numbers.reserve_exact(models);
            for number in 0..homes.len() {
                let end = homes.get(number + 1).map_or(models, |h| h.first as usize);
                numbers.resize(end, number as u16);
            }
        }
        Self { homes, numbers, recent: 0, range: 0..0, run: Run::default() }
    }

    /// Kind and slot of a model.
    pub fn of(&self, m: u32) -> (u16, u32) {
        let Home { first, slot, kind } = self.homes[self.index(m)];
        (kind, slot + (m - first))
    }

    #[inline(always)]
    fn index(&self, m: u32) -> usize {
        match self.numbers.get(m as usize) {
            Some(&number) => number.into(),
            None => self.search(m),
        }
    }

    /// The same where only a search tells; the home after the recent one is the usual case.
    #[cold]
    fn search(&self, m: u32) -> usize {
        match self.homes[self.recent..] {
            [_, Home { first, .. }] if first <= m => self.recent + 1,
            [_, Home { first, .. }, next, ..] if first <= m && m < next.first => self.recent + 1,
            _ => self.homes.partition_point(|h| h.first <= m) - 1,
        }
    }

    /// The run of a model, and the first model after the run.
    #[inline]
    pub fn run(&mut self, m: u32) -> (Run, u32) {
        if m < self.range.start || m >= self.range.end {
            self.look_up(m);
        }
        (self.run, self.range.end)
    }

    /// Whether a model is in the run that was looked up last.
    #[inline(always)]
    pub fn is_neighbour(&self, m: u32) -> bool {
        self.range.contains(&m)
    }

    #[inline]
    fn look_up(&mut self, m: u32) {
        let index = self.index(m);
        let Home { first, slot, kind } = self.homes[index];
        self.recent = index;
        self.range = first..self.homes.get(index + 1).map_or(u32::MAX, |h| h.first);
        self.run = Run { kind, shift: slot.wrapping_sub(first) };
    }

    /// Notes that one model has moved to another slot.
    pub fn relocate(&mut self, m: u32, slot: u32) {
        let at = self.index(m);
        let old = self.homes[at];
        let moved = Home { slot, first: m, ..old };
        let after = Home { first: m + 1, slot: old.slot + (m + 1 - old.first), ..old };
        let last = self.homes.get(at + 1).is_some_and(|h| h.first == m + 1);
        let before = (old.first < m).then_some(old);
        let parts = before.into_iter().chain([moved]).chain((!last).then_some(after));
        self.homes.splice(at..=at, parts.collect::<Vec<_>>());
        self.numbers = Vec::new();
        self.recent = 0;
        self.range = 0..0;
    }
}
