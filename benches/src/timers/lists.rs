//! The event lists alone: *hold* without models, next to a bare binary heap.
use super::{Source, Timers};
use superdense_kernel::event_list::{AnyEventList, EventList, EventListKind};

/// A list with one event per entity.
#[derive(Debug)]
pub struct Alone {
    timers: Timers,
    list: AnyEventList,
    sources: Vec<Source>,
}

impl Alone {
    /// Fills a list of this kind.
    pub fn new(timers: Timers, kind: EventListKind) -> Self {
        let mut sources: Vec<Source> = (0..timers.entities).map(Source::of).collect();
        let mut list = AnyEventList::of(kind);
        list.reset(sources.len());
        for (i, source) in sources.iter_mut().enumerate() {
            list.schedule(i as u32, source.draw(timers.increments));
        }
        Self { timers, list, sources }
    }

    /// Runs to the end; returns the number of events.
    #[inline(never)]
    pub fn run(&mut self) -> u64 {
        let end = self.timers.end();
        let mut events = 0;
        let mut imminent = Vec::new();
        while let Some(at) = self.list.take(end - 1, &mut |model| imminent.push(model)) {
            events += imminent.len() as u64;
            for model in imminent.drain(..) {
                let increment = self.sources[model as usize].draw(self.timers.increments);
                self.list.schedule(model, at + increment);
            }
        }
        events
    }
}
