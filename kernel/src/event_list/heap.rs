//! The indexed heap.
//!
//! # Why
//!
//! Four children per node: half the levels of a binary heap, and the four children lie in one
//! cache line or two. Each model knows its place, so that moving an event is one sift instead of
//! a stale entry that the heap would have to carry until it surfaces.

use super::{EARLIEST, EventList, LATEST, MAX_MODELS};

/// Children per heap node.
const ARITY: usize = 4;

/// The place of a model without event.
const ABSENT: u32 = u32::MAX;

/// An event list over an indexed 4-ary heap.
///
/// [`schedule`](EventList::schedule), [`cancel`](EventList::cancel) and each model taken cost
/// O(log n), [`next_time`](EventList::next_time) O(1), always: there is nothing amortised about
/// it. It allocates only when it grows.
#[derive(Clone, Debug, Default)]
pub struct HeapList {
    heap: Vec<(i64, u32)>,
    /// Index into `heap` by model.
    places: Vec<u32>,
}

impl HeapList {
    /// Puts `entry` at the hole `place` or above.
    fn sift_up(&mut self, mut place: usize, entry: (i64, u32)) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.set(place, self.heap[parent]);
            place = parent;
        }
        self.set(place, entry);
    }

    /// Puts `entry` at the hole `place` or below.
    fn sift_down(&mut self, mut place: usize, entry: (i64, u32)) {
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut best = first;
            let mut least = self.heap[first].0;
            for (child, &(at, _)) in self.heap[..end].iter().enumerate().skip(first + 1) {
                if at < least {
                    (best, least) = (child, at);
                }
            }
            if entry.0 <= least {
                break;
            }
            self.set(place, self.heap[best]);
            place = best;
        }
        self.set(place, entry);
    }

    fn set(&mut self, place: usize, entry: (i64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }

    #[inline(never)]
    fn schedule_among(&mut self, model: u32, at: i64) {
        let place = self.places[model as usize];
        if place == ABSENT {
            self.heap.push((at, model));
            self.sift_up(self.heap.len() - 1, (at, model));
        } else if at < self.heap[place as usize].0 {
            self.sift_up(place as usize, (at, model));
        } else {
            self.sift_down(place as usize, (at, model));
        }
    }

    #[inline(never)]
    fn remove(&mut self, place: usize) {
        let last = self.heap.pop().expect("a place lies within the heap");
        if place < self.heap.len() {
            if place > 0 && last.0 < self.heap[(place - 1) / ARITY].0 {
                self.sift_up(place, last);
            } else {
                self.sift_down(place, last);
            }
        }
    }
}

impl EventList for HeapList {
    fn reset(&mut self, models: usize) {
        assert!(models <= MAX_MODELS, "room for {models} models exceeds {MAX_MODELS}");
        self.heap.clear();
        self.places.clear();
        self.places.resize(models, ABSENT);
    }

    #[inline(always)]
    fn schedule(&mut self, model: u32, at: i64) {
        debug_assert!((EARLIEST..=LATEST).contains(&at), "time {at} out of range");
        // A lone entry, most often where one unit makes silent steps.
        if self.heap.is_empty() && self.heap.capacity() > 0 {
            self.heap.push((at, model));
            self.places[model as usize] = 0;
        } else {
            self.schedule_among(model, at);
        }
    }

    #[inline(always)]
    fn cancel(&mut self, model: u32) {
        if let Some(place) = self.places.get_mut(model as usize)
            && *place != ABSENT
        {
            let hole = *place as usize;
            *place = ABSENT;
            if self.heap.len() == 1 {
                self.heap.clear();
            } else {
                self.remove(hole);
            }
        }
    }

    #[inline]
    fn next_time(&mut self) -> Option<i64> {
        self.heap.first().map(|&(at, _)| at)
    }

    fn take(&mut self, limit: i64, sink: &mut impl FnMut(u32)) -> Option<i64> {
        let at = self.next_time().filter(|&at| at <= limit)?;
        while let Some(&(time, model)) = self.heap.first()
            && time == at
        {
            self.places[model as usize] = ABSENT;
            self.remove(0);
            sink(model);
        }
        Some(at)
    }

    #[inline]
    fn time_of(&self, model: u32) -> Option<i64> {
        let &place = self.places.get(model as usize)?;
        self.heap.get(place as usize).map(|&(at, _)| at)
    }

    #[inline]
    fn len(&self) -> usize {
        self.heap.len()
    }
}
