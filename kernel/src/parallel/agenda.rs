//! The next action of each unit of a worker, by key.
use crate::{
    event_list::{EventList, LadderList},
    time::Tag,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Units by their next keys. Most keys are at micro-step 0, and for those a ladder beats a heap.
#[derive(Default)]
pub(super) struct Agenda {
    /// Keys at micro-step 0.
    first: LadderList,
    /// The others, also those that are no longer true.
    later: BinaryHeap<Reverse<(Tag, u32)>>,
    /// By unit: the one that is true; [`Tag::NEVER`] for none.
    truth: Vec<Tag>,
}

impl Agenda {
    /// An empty agenda of so many units.
    pub(super) fn reset(&mut self, units: usize) {
        self.first.reset(units);
        self.later.clear();
        self.truth.clear();
        self.truth.resize(units, Tag::NEVER);
    }

    /// Sets the key of a unit; [`Tag::NEVER`] takes it off.
    #[inline]
    pub(super) fn enter(&mut self, unit: u32, key: Tag) {
        if key.micro != 0 {
            return self.enter_later(unit, key);
        }
        if !self.later.is_empty() {
            self.truth[unit as usize] = Tag::NEVER;
        }
        // Many inputs leave the next event where it is.
        if self.first.time_of(unit) != Some(key.ticks) {
            self.first.schedule(unit, key.ticks);
        }
    }

    #[inline(never)]
    fn enter_later(&mut self, unit: u32, key: Tag) {
        self.first.cancel(unit);
        let before = std::mem::replace(&mut self.truth[unit as usize], key);
        if before != key && key != Tag::NEVER {
            self.later.push(Reverse((key, unit)));
        }
    }

    /// The least key.
    pub(super) fn least(&mut self) -> Option<Tag> {
        while let Some(&Reverse((key, unit))) = self.later.peek()
            && self.truth[unit as usize] != key
        {
            self.later.pop();
        }
        let first = self.first.next_time().map(|ticks| Tag::new(ticks, 0));
        let later = self.later.peek().map(|&Reverse((key, _))| key);
        first.into_iter().chain(later).min()
    }

    /// Takes off all units with the least key, unless that is later than `gvt` and than all keys of
    /// the tick `horizon`.
    #[inline]
    pub(super) fn take(&mut self, gvt: Tag, horizon: i64, units: &mut Vec<u32>) -> Option<Tag> {
        let mut limit = gvt.ticks.max(horizon);
        if !self.later.is_empty() {
            let key = self.least()?;
            if key > gvt && key.ticks > horizon {
                return None;
            }
            if key.micro > 0 {
                self.take_later(key, units);
                return Some(key);
            }
            limit = key.ticks;
        }
        let ticks = self.first.take(limit, &mut |unit| units.push(unit))?;
        Some(Tag::new(ticks, 0))
    }

    #[inline(never)]
    fn take_later(&mut self, key: Tag, units: &mut Vec<u32>) {
        while let Some(&Reverse((at, unit))) = self.later.peek()
            && at <= key
        {
            self.later.pop();
            let truth = &mut self.truth[unit as usize];
            if *truth == key {
                *truth = Tag::NEVER;
                units.push(unit);
            }
        }
    }
}
