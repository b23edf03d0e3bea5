//! Running: cycle after cycle, to a tick or for a single step.
use crate::{
    call::Call,
    error::RunError,
    event_list::EventList,
    message::Message,
    simulation::{Ended, Simulation},
    time::Tag,
};

/// Marks a simulation as failed when it is dropped, as only a panic does it.
struct Poison<'a, M: Message>(&'a mut Simulation<M>);

impl<M: Message> Drop for Poison<'_, M> {
    fn drop(&mut self) {
        let core = &self.0.core;
        let who = Call::last().map_or_else(|| "an observer".into(), |m| core.path(m));
        let at = core.now;
        self.0.failed.get_or_insert(RunError::Panicked { who, at });
    }
}

impl<M: Message> Simulation<M> {
    /// Runs all cycles with tick < `end`; the clock then stands at `end`, or at the last event
    /// when `end` is `i64::MAX`.
    ///
    /// # Errors
    /// Any [`RunError`]; the state stays as committed, and the same error is returned again.
    pub fn run_until(&mut self, end: i64) -> Result<Ended, RunError> {
        let ended = self.run_within(end.saturating_sub(1))?;
        if !matches!(ended, Ended::Stopped(_)) && end != i64::MAX {
            self.floor = self.floor.max(end);
        }
        Ok(ended)
    }

    /// Runs all cycles with tick ≤ `end`, all micro-steps; the clock then stands at `end`, or at
    /// the last event when `end` is `i64::MAX`.
    ///
    /// # Errors
    /// Any [`RunError`]; the state stays as committed, and the same error is returned again.
    pub fn run_through(&mut self, end: i64) -> Result<Ended, RunError> {
        let ended = self.run_within(end)?;
        if !matches!(ended, Ended::Stopped(_)) && end != i64::MAX {
            self.floor = self.floor.max(end);
        }
        Ok(ended)
    }

    /// The error of a run that failed, again.
    #[inline(always)]
    pub(crate) fn healthy(&self) -> Result<(), RunError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Does something with a simulation that is of no use if that panics: a cycle is then unfinished.
    #[inline(always)]
    pub(crate) fn guarded<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        Call::last();
        let poison = Poison(self);
        let result = work(poison.0);
        std::mem::forget(poison);
        result
    }

    pub(crate) fn run_within(&mut self, limit: i64) -> Result<Ended, RunError> {
        self.guarded(|this| this.cycles(limit))
    }

    fn cycles(&mut self, limit: i64) -> Result<Ended, RunError> {
        self.healthy()?;
        if self.core.stop.is_some() {
            return Ok(self.stopped());
        }
        // The first cycle may have been staged, and what is injected lies ahead: then nothing is
        // known of the others. Nothing comes from outside during a run.
        while self.staged || !self.injections.is_empty() {
            let Some(tag) = self.next_within(limit)? else { return Ok(self.ended()) };
            self.cycle(tag)?;
            if self.core.stop.is_some() {
                return Ok(self.stopped());
            }
        }
        let mut taken = None;
        loop {
            let core = &mut self.core;
            if core.ready.is_empty() && core.silent.is_empty() {
                // By far the most cycles: the next one is that of the earliest visible event.
                let at = taken.take().or_else(|| {
                    self.imminent.clear();
                    core.list.take(limit, &mut |m| self.imminent.push(m))
                });
                let Some(at) = at else { break };
                self.begin(self.tag_at(at));
            } else {
                let Some(tag) = self.next_within(limit)? else { break };
                self.collect(tag)?;
            }
            self.complete(Some(limit), &mut taken)?;
            if self.core.stop.is_some() {
                // A run may be halted after the next cycle was taken from the list.
                if let Some(at) = taken {
                    self.imminent.iter().for_each(|&m| self.core.list.schedule(m, at));
                }
                return Ok(self.stopped());
            }
        }
        Ok(self.ended())
    }

    /// How a run ended in which nothing more is due; a silent step may have asked to stop.
    fn ended(&mut self) -> Ended {
        if self.core.stop.is_some() {
            return self.stopped();
        }
        let core = &self.core;
        let idle = core.list.is_empty() && core.silent.is_empty() && self.injections.is_empty();
        if idle && core.ready.is_empty() { Ended::Idle } else { Ended::Reached }
    }

    pub(crate) fn stopped(&mut self) -> Ended {
        let reason = self.core.stop.take().unwrap_or_default();
        for o in &mut self.core.observers {
            o.stop(self.core.now, &reason);
        }
        Ended::Stopped(reason)
    }

    /// The reason when a model or an observer asked to stop in a cycle that
    /// [`step`](Simulation::step) or [`commit`](Simulation::commit) ran; the next `run_until` or
    /// `run_through` returns it at once.
    pub fn stop_requested(&self) -> Option<&str> {
        self.core.stop.as_deref()
    }

    /// Runs the next cycle, if any is due at or before tick `limit`.
    ///
    /// # Errors
    /// Any [`RunError`].
    pub fn step(&mut self, limit: i64) -> Result<Option<Tag>, RunError> {
        while let Some(tag) = self.next_within(limit)? {
            if self.guarded(|this| this.cycle(tag))? {
                return Ok(Some(tag));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Atomic, Bag, Coupled, Effects, Ended, Outbox, Simulation,
        port::{InPort, OutPort},
        time::Duration,
    };
    use serde::{Deserialize, Serialize};
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    #[derive(Clone, Serialize, Deserialize)]
    struct Node {
        next: i64,
        heard: u32,
    }

    impl Atomic<u32> for Node {
        fn inputs(&self) -> u16 {
            1
        }
        fn outputs(&self) -> u16 {
            1
        }
        fn time_advance(&self) -> Duration {
            Duration::from_ticks(self.next)
        }
        fn output(&self, out: &mut Outbox<'_, u32>) {
            out.send(OutPort::<u32>::new(0), 1);
        }
        fn internal(&mut self, _: &mut Effects<u32>) {
            self.next = 100;
        }
        fn external(&mut self, e: Duration, bag: &Bag<'_, u32>, _: &mut Effects<u32>) {
            self.next -= e.ticks();
            self.heard += bag.len() as u32;
        }
    }

    /// Whenever a run is halted, it goes on as if it had not been.
    #[test]
    fn halted_at_any_moment() {
        let build = || {
            let mut top = Coupled::new();
            // Single models, and two at a time.
            for (i, next) in [3, 7, 100, 100].into_iter().enumerate() {
                top.add(("n", i), Node { next, heard: 0 });
            }
            Simulation::new(top, Default::default()).expect("proper wiring")
        };
        let (mut halted, mut plain) = (build(), build());
        let [halt, over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        halted.halt_on(Arc::clone(&halt), "a break");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    halt.store(true, Ordering::Relaxed);
                    std::hint::spin_loop();
                }
            });
            for _ in 0..1000 {
                let ended = halted.run_through(i64::MAX - 1);
                assert_eq!(ended, Ok(Ended::Stopped("a break".into())));
                halt.store(false, Ordering::Relaxed);
            }
            over.store(true, Ordering::Relaxed);
        });
        halted.halt_on(Arc::default(), "");
        let end = halted.now().ticks;
        for sim in [&mut halted, &mut plain] {
            sim.run_through(end).expect("no error");
        }
        assert_eq!((halted.trace_hash(), halted.counts()), (plain.trace_hash(), plain.counts()));
    }

    /// Cycles of single models follow each other in one slab, with no, one, several receivers, and
    /// that of the model itself.
    #[test]
    fn single_models_whatever_they_reach() {
        let mut top = Coupled::new();
        let node = |next| Node { next, heard: 0 };
        let nodes: Vec<_> = (0..5).map(|i| top.add(("n", i), node(10 * (i as i64 + 1)))).collect();
        for (from, to) in [(1, 2), (2, 0), (2, 4), (3, 1)] {
            let (from, to) = (nodes[from].output(OutPort::<u32, Node>::new(0)), &nodes[to]);
            top.couple(from, to.input(InPort::<u32, Node>::new(0)));
        }
        let mut sim = Simulation::new(top, Default::default()).expect("proper wiring");
        sim.run_through(1000).expect("no error");
        // Each fires ten times: at its first tick, and then every hundred.
        let heard = |i| sim.model::<Node>(&format!("n[{i}]")).expect("a node").heard;
        assert_eq!([0, 1, 2, 3, 4].map(heard), [10, 10, 10, 0, 10]);
        let counts = sim.counts();
        assert_eq!((counts.internal, counts.external, counts.cycles), (50, 40, 50));
    }
}
