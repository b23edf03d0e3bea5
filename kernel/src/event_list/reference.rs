//! The event list over the `priority-queue` crate.

use std::cmp::Reverse;

use priority_queue::PriorityQueue;

use super::{EARLIEST, EventList, LATEST, MAX_MODELS};

/// An event list that leaves everything to the `priority-queue` crate.
///
/// Too plain to be wrong: it is what the tests of the kernel compare the other lists with. It
/// hashes a model on every operation, each O(log n) but for the O(1) of
/// [`next_time`](EventList::next_time).
#[derive(Clone, Debug, Default)]
pub struct ReferenceList {
    queue: PriorityQueue<u32, Reverse<i64>>,
    models: usize,
}

impl EventList for ReferenceList {
    fn reset(&mut self, models: usize) {
        assert!(models <= MAX_MODELS, "room for {models} models exceeds {MAX_MODELS}");
        self.queue.clear();
        self.models = models;
    }

    fn schedule(&mut self, model: u32, at: i64) {
        debug_assert!((EARLIEST..=LATEST).contains(&at), "time {at} out of range");
        assert!((model as usize) < self.models, "model {model} of {}", self.models);
        self.queue.push(model, Reverse(at));
    }

    fn cancel(&mut self, model: u32) {
        self.queue.remove(&model);
    }

    fn next_time(&mut self) -> Option<i64> {
        self.queue.peek().map(|(_, at)| at.0)
    }

    fn take(&mut self, limit: i64, sink: &mut impl FnMut(u32)) -> Option<i64> {
        let at = self.next_time().filter(|&at| at <= limit)?;
        while let Some((model, _)) = self.queue.pop_if(|_, time| time.0 == at) {
            sink(model);
        }
        Some(at)
    }

    fn time_of(&self, model: u32) -> Option<i64> {
        self.queue.get_priority(&model).map(|at| at.0)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}
