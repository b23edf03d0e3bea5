//! The adaptive ladder.
//!
//! Pending events are in unsorted buckets of equal width, a *rung*; those beyond the last bucket
//! are in an unsorted list, `far`. The rung is a wheel: emptied buckets are used again for what comes
//! after the last one, and once per turn the earlier part of `far` moves in. When the width does not
//! suit any more, a new one is laid out. A bucket that turns out crowded is spread over a finer rung
//! of its own, and so on, so that there is a stack of rungs, the finest in front; an event that
//! comes before all of them gets a rung in front of it, too.
//!
//! Invariants: nothing is pending before the front rung; each rung ends where the next coarser one
//! goes on; nothing in `far` comes before the end of the wheel's turn; therefore events at one time
//! are in one bucket, and the first bucket of the front rung that holds something holds the earliest.
//!
//! # Why
//!
//! A ladder, because a heap pays for the number of models on every event. In the hold model with
//! exponential increments, an event costs 0.43 of what it costs with a bare
//! `std::collections::BinaryHeap` (pop and push, no cancelling) with 1 024 models, and 0.37 with
//! 65 536; over uniform, Pareto, clustered, bimodal, equal and gridded increments it is about 0.3 to
//! 1.0 and 0.2 to 0.7 (`examples/event_lists.rs`). Clusters are the worst, 2.7 with 16 models; and
//! with a single model, where a heap has nothing to do, the ladder costs seven times as much.
//!
//! It does not depend on guessing a good width. Too wide a bucket splits, by 64 or more, until it
//! is one tick wide or all its events are at one time; too narrow a rung still takes in about an
//! eighth of `far`; and when a turn has many more events than it was laid out for, or far fewer,
//! everything starts anew with the rate observed meanwhile.
//!
//! A wheel, because an event then hardly ever goes to `far` with 1 024 models: whether it does
//! cannot be predicted, and at four in ten that was a tenth of the time of *hold*.
//!
//! Buckets are half empty, and searched rather than sorted, for mispredicted branches cost as much
//! as everything else. At the same widths and 1 024 models, moving each bucket into a sorted list
//! before taking from it costs 1.4 times as much, and so does moving runs of buckets into a sorted
//! array. Hence also the chains that end in a node that may be written to: a push into a bucket
//! has no branch.
//!
//! Chains are linked both ways through the models, because in a simulation many events are moved
//! or cancelled before they fire: that leaves nothing behind.

mod rungs;
mod store;

use super::{EARLIEST, EventList, LATEST, MAX_MODELS};
use rungs::{CROWD, Rung};
use store::{NEVER, Node, Store};

/// The default event list: an adaptive ladder of buckets.
///
/// [`schedule`](EventList::schedule), [`next_time`](EventList::next_time) and each model taken
/// cost O(1) amortised, [`cancel`](EventList::cancel) O(1). Once it has seen its largest number
/// of pending events, it allocates nothing. 16 bytes per model, and up to 85 more per
/// pending event.
#[derive(Clone, Debug)]
pub struct LadderList {
    store: Store,
    /// The finest rung. Nothing is pending before it.
    front: Rung,
    /// The other rungs, from the coarsest to the finest.
    rest: Vec<Rung>,
    /// Events ever scheduled and not cancelled, and those of them that were taken: one count per
    /// operation, and what is pending is the difference.
    scheduled: u64,
    taken: u64,
    /// The last time taken.
    now: i64,
    /// How many were taken when the coarsest rung began its turn, and when that was: together the
    /// rate at which events fire.
    taken_before: u64,
    since: i64,
    /// Room for a sample.
    sample: Vec<i64>,
}

impl Default for LadderList {
    fn default() -> Self {
        let mut list = Self {
            store: Store::default(),
            front: Rung::NONE,
            rest: Vec::new(),
            scheduled: 0,
            taken: 0,
            now: EARLIEST,
            taken_before: 0,
            since: EARLIEST,
            sample: Vec::new(),
        };
        list.reset(0);
        list
    }
}

/// The earliest events: their bucket, the first model in it, and whether that is the only one.
struct Earliest {
    bucket: usize,
    first: u32,
    alone: bool,
    time: i64,
}

impl LadderList {
    /// Puts a model that is nowhere where its time belongs.
    // The usual way makes no call that it comes back from, so it saves no registers.
    #[inline]
    fn place(&mut self, model: u32, at: i64) {
        let Some((bucket, word)) = self.front.bucket(at) else {
            return self.place_elsewhere(model, at);
        };
        if word < self.front.word {
            return self.place_early(bucket, word, model, at);
        }
        self.store.push(bucket, model, at);
    }

    /// Places a model in a bucket that was passed as empty.
    // This is a call, so that it is a branch that nobody takes: the search for the next event
    // would otherwise wait for the time of this one.
    #[cold]
    #[inline(never)]
    fn place_early(&mut self, bucket: usize, word: usize, model: u32, at: i64) {
        self.front.word = word;
        self.store.push(bucket, model, at);
    }

    /// Places a model whose time is not in the finest rung.
    #[inline(never)]
    fn place_elsewhere(&mut self, model: u32, at: i64) {
        if at < self.front.origin {
            self.lay_before(at);
        } else if self.rest.is_empty() {
            self.front.slide(self.now);
        }
        if let Some(bucket) = self.front.admit(at) {
            self.store.push(bucket, model, at);
            return;
        }
        for rung in self.rest.iter_mut().rev() {
            if let Some(bucket) = rung.admit(at) {
                self.store.push(bucket, model, at);
                return;
            }
        }
        self.store.push_far(model, at);
    }

    #[inline(never)]
    fn move_to(&mut self, model: u32, at: i64) {
        self.store.unlink(model);
        self.place(model, at);
    }

    /// Where the earliest events are.
    #[inline(always)]
    fn earliest(&mut self) -> Option<Earliest> {
        loop {
            let Some(bucket) = self.front.first(&self.store.occupied) else {
                if self.advance() {
                    continue;
                }
                return None;
            };
            let first = self.store.first(bucket);
            let Node { time, next, .. } = self.store.nodes[first as usize];
            if next == self.store.nil {
                return Some(Earliest { bucket, first, alone: true, time });
            }
            let least = if self.front.is_exact() { Some(time) } else { self.least(first) };
            if let Some(time) = least {
                return Some(Earliest { bucket, first, alone: false, time });
            }
            self.split(bucket);
        }
    }

    /// The earliest time in a bucket with more than one model, unless the bucket is crowded.
    fn least(&self, first: u32) -> Option<i64> {
        let (mut model, mut least) = (first, NEVER);
        for _ in 0..CROWD {
            let node = &self.store.nodes[model as usize];
            least = least.min(node.time);
            model = node.next;
            if model == self.store.nil {
                return Some(least);
            }
        }
        None
    }

    /// Takes what is at `at` from a bucket with more than one model.
    fn take_several(&mut self, bucket: usize, at: i64, sink: &mut impl FnMut(u32)) {
        let mut model = self.store.detach(bucket);
        while model != self.store.nil {
            let Node { time, next, .. } = self.store.nodes[model as usize];
            if time == at {
                self.store.nodes[model as usize].time = NEVER;
                self.taken += 1;
                sink(model);
            } else {
                self.store.push(bucket, model, time);
            }
            model = next;
        }
    }
}

impl EventList for LadderList {
    fn reset(&mut self, models: usize) {
        assert!(models <= MAX_MODELS, "room for {models} models exceeds {MAX_MODELS}");
        self.store.reset(models);
        self.front = Rung::NONE;
        self.rest.clear();
        self.scheduled = 0;
        self.taken = 0;
        self.now = EARLIEST;
        self.taken_before = 0;
        self.since = EARLIEST;
    }

    #[inline]
    fn schedule(&mut self, model: u32, at: i64) {
        debug_assert!((EARLIEST..=LATEST).contains(&at), "time {at} out of range");
        assert!(model < self.store.nil, "model {model} of {}", self.store.nil);
        if self.store.nodes[model as usize].time != NEVER {
            return self.move_to(model, at);
        }
        self.scheduled += 1;
        self.place(model, at);
    }

    #[inline]
    fn cancel(&mut self, model: u32) {
        if self.time_of(model).is_some() {
            self.store.unlink(model);
            self.store.nodes[model as usize].time = NEVER;
            self.scheduled -= 1;
        }
    }

    #[inline]
    fn next_time(&mut self) -> Option<i64> {
        // Nothing need be searched, as where all models are silent.
        if self.is_empty() {
            return None;
        }
        self.earliest().map(|e| e.time)
    }

    #[inline]
    fn take(&mut self, limit: i64, sink: &mut impl FnMut(u32)) -> Option<i64> {
        let Earliest { bucket, first, alone, time } = self.earliest()?;
        if time > limit {
            return None;
        }
        self.now = time;
        if alone {
            self.store.detach(bucket);
            self.store.nodes[first as usize].time = NEVER;
            self.taken += 1;
            sink(first);
        } else {
            self.take_several(bucket, time, sink);
        }
        Some(time)
    }

    #[inline(always)]
    fn take_alone(&mut self, limit: i64) -> Option<(i64, u32)> {
        let bucket = self.front.first(&self.store.occupied)?;
        let first = self.store.first(bucket);
        let Node { time, next, .. } = self.store.nodes[first as usize];
        if next != self.store.nil || time > limit {
            return None;
        }
        self.now = time;
        self.store.detach(bucket);
        self.store.nodes[first as usize].time = NEVER;
        self.taken += 1;
        Some((time, first))
    }

    #[inline(always)]
    fn glance(&self) -> Option<(u32, i64)> {
        let model = self.store.first(self.front.glance(&self.store.occupied)?);
        Some((model, self.store.nodes[model as usize].time))
    }

    #[inline]
    fn time_of(&self, model: u32) -> Option<i64> {
        self.store.nodes.get(model as usize).map(|node| node.time).filter(|&time| time != NEVER)
    }

    #[inline]
    fn len(&self) -> usize {
        (self.scheduled - self.taken) as usize
    }
}
