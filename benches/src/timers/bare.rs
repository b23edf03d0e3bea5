//! The least that a simulator can do: a binary heap, and a loop of pop and push.
use super::{Load, Source, Timers};
use std::{cmp::Reverse, collections::BinaryHeap};

/// The loop's state.
#[derive(Debug)]
pub struct Bare {
    timers: Timers,
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    sources: Vec<Source>,
}

impl Bare {
    /// One event per entity.
    pub fn new(timers: Timers) -> Self {
        let mut sources: Vec<Source> = (0..timers.entities).map(Source::of).collect();
        let first = |(i, s): (usize, &mut Source)| Reverse((s.draw(timers.increments), i as u32));
        let heap = sources.iter_mut().enumerate().map(first).collect();
        Self { timers, heap, sources }
    }

    /// Runs to the end; returns the number of events.
    #[inline(never)]
    pub fn run(&mut self) -> u64 {
        let end = self.timers.end();
        let mut events = 0;
        while let Some(Reverse((at, entity))) = self.heap.pop() {
            if at >= end {
                self.heap.push(Reverse((at, entity)));
                break;
            }
            events += 1;
            let next = match self.timers.load {
                Load::Hold => entity,
                Load::Ring => (entity + 1) % self.timers.entities,
            };
            let increment = self.sources[next as usize].draw(self.timers.increments);
            self.heap.push(Reverse((at + increment, next)));
        }
        events
    }
}
