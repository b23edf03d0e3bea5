//! Where models live: in which slab, and in which slot there.
//!
//! **Why runs.** Neighbours in path order are neighbours in their slab, unless the structure
//! changed. So a table of runs is enough, a cycle looks once for all neighbours, and it remembers
//! where it looked last: single models of one kind then cost no look at all. A small network goes
//! from kind to kind with every message; two bytes per model tell it the run without a search.
use crate::{
    blueprint::{Blueprint, NodeBody},
    key::ModelKey,
    message::Message,
};

/// Models from `first` to before `end`, side by side in a slab.
#[derive(Debug, Clone, Copy, Default)]
struct Home {
    first: u32,
    end: u32,
    run: Run,
}

/// Neighbours of one slab among the models of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub kind: u16,
    /// Slot minus model number, the same for all of them.
    shift: u32,
}

impl Run {
    #[inline(always)]
    pub(crate) fn slot(self, model: u32) -> usize {
        model.wrapping_add(self.shift) as usize
    }
}

/// The homes of all models.
#[derive(Debug)]
pub(crate) struct Homes {
    homes: Vec<Home>,
    /// Number of the home by model; empty when there are too many homes, or they moved.
    numbers: Vec<u16>,
    /// Number of the home that was searched for last.
    recent: usize,
    /// The home that was looked up last.
    last: Home,
}

impl Homes {
    /// The homes of models in path order.
    pub(crate) fn new<M: Message>(blueprint: &Blueprint<M>, keys: &[ModelKey]) -> Self {
        let place = |(m, &key): (u32, &ModelKey)| {
            let NodeBody::Atomic(a) = &blueprint.nodes[key].body else { unreachable!("atomic") };
            (m, a.kind, a.slot)
        };
        Self::of_some((0..).zip(keys).map(place), keys.len())
    }

    /// The homes of some of so many models: number, kind and slot, in path order. Nobody may ask for
    /// those of others.
    pub(crate) fn of_some(places: impl Iterator<Item = (u32, u16, u32)>, models: usize) -> Self {
        let mut homes: Vec<Home> = Vec::new();
        for (m, kind, slot) in places {
            // Slots follow each other, so that numbers between which others are missing differ in it.
            let run = Run { kind, shift: slot.wrapping_sub(m) };
            match homes.last_mut() {
                Some(home) if home.run == run => home.end = m + 1,
                _ => homes.push(Home { first: m, end: m + 1, run }),
            }
        }
        let mut numbers = Vec::new();
        if homes.len() <= usize::from(u16::MAX) {
            numbers.reserve_exact(models);
            for (number, home) in (0..).zip(&homes) {
                numbers.resize(home.end as usize, number);
            }
        }
        Self { homes, numbers, recent: 0, last: Home::default() }
    }

    /// Kind and slot of a model.
    pub(crate) fn of(&self, m: u32) -> (u16, u32) {
        let Home { run, .. } = self.homes[self.index(m)];
        (run.kind, m.wrapping_add(run.shift))
    }

    #[inline(always)]
    fn index(&self, m: u32) -> usize {
        match self.numbers.get(m as usize) {
            Some(&number) => number.into(),
            None => self.search(m),
        }
    }

    /// Finds the home by a search; the home after the recent one is the usual case.
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
    pub(crate) fn run(&mut self, m: u32) -> (Run, u32) {
        // Not first whether it is the same again: with several kinds nothing can predict that.
        match self.numbers.get(m as usize) {
            Some(&number) => self.last = self.homes[usize::from(number)],
            None if self.is_neighbour(m) => {}
            None => self.look_up(m),
        }
        (self.last.run, self.last.end)
    }

    /// Whether a model is in the run that was looked up last.
    #[inline(always)]
    pub(crate) fn is_neighbour(&self, m: u32) -> bool {
        self.last.first <= m && m < self.last.end
    }

    #[cold]
    fn look_up(&mut self, m: u32) {
        self.recent = self.search(m);
        self.last = self.homes[self.recent];
    }

    /// Notes that one model has moved to another slot.
    pub(crate) fn relocate(&mut self, m: u32, slot: u32) {
        let at = self.index(m);
        let old = self.homes[at];
        let run = Run { shift: slot.wrapping_sub(m), ..old.run };
        let moved = Home { first: m, end: m + 1, run };
        let before = (old.first < m).then_some(Home { end: m, ..old });
        let after = (m + 1 < old.end).then_some(Home { first: m + 1, ..old });
        let parts = before.into_iter().chain([moved]).chain(after);
        self.homes.splice(at..=at, parts.collect::<Vec<_>>());
        self.numbers = Vec::new();
        self.recent = 0;
        self.last = Home::default();
    }
}
