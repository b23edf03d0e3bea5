//! What each unit of a worker has to do next, by key.
use crate::{
    event_list::{EventList, LadderList},
    time::Tag,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Units by their next keys. Most keys are at micro-step 0, and for those a ladder beats a heap.
#[derive(Default)]
pub(super) struct Agenda {
    /// By unit; [`Tag::NEVER`] for none.
    keys: Vec<Tag>,
    /// Keys at micro-step 0.
    first: LadderList,
    /// The others, also those that are no longer true.
    later: BinaryHeap<Reverse<(Tag, u32)>>,
}

impl Agenda {
    /// An empty agenda of so many units.
    pub fn reset(&mut self, units: usize) {
        self.keys.clear();
        self.keys.resize(units, Tag::NEVER);
        self.first.reset(units);
        self.later.clear();
    }

    /// Sets the key of a unit; [`Tag::NEVER`] takes it off.
    pub fn enter(&mut self, unit: u32, key: Tag) {
        let before = std::mem::replace(&mut self.keys[unit as usize], key);
        if before == key {
            return;
        }
        if key != Tag::NEVER && key.micro == 0 {
            return self.first.schedule(unit, key.ticks);
        }
        if before.micro == 0 {
            self.first.cancel(unit);
        }
        if key != Tag::NEVER {
            self.later.push(Reverse((key, unit)));
        }
    }

    /// The least key.
    pub fn least(&mut self) -> Option<Tag> {
        while let Some(&Reverse((key, unit))) = self.later.peek()
            && self.keys[unit as usize] != key
        {
            self.later.pop();
        }
        let first = self.first.next_time().map(|ticks| Tag::new(ticks, 0));
        let later = self.later.peek().map(|&Reverse((key, _))| key);
        first.into_iter().chain(later).min()
    }

    /// Takes off all units with the least key, if that `may` be.
    #[inline]
    pub fn take(&mut self, may: impl Fn(Tag) -> bool, units: &mut Vec<u32>) -> Option<Tag> {
        let key = if self.later.is_empty() {
            Tag::new(self.first.next_time()?, 0)
        } else {
            self.least()?
        };
        if !may(key) {
            return None;
        }
        let keys = &mut self.keys;
        let mut take = |unit: u32| {
            keys[unit as usize] = Tag::NEVER;
            units.push(unit);
        };
        if key.micro == 0 {
            self.first.take(key.ticks, &mut take);
            return Some(key);
        }
        while let Some(&Reverse((at, unit))) = self.later.peek()
            && at <= key
        {
            self.later.pop();
            if self.keys[unit as usize] == key {
                self.keys[unit as usize] = Tag::NEVER;
                units.push(unit);
            }
        }
        Some(key)
    }
}
