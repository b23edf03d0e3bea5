//! A parallel run: models dealt out to workers, and models back home.
use super::{
    Schedule, Settings, Statistics,
    cuts::{Coordinator, Orders},
    lookahead::{Edges, talks},
    telling::Telling,
    unit::Clockwork,
    unit::Unit,
    worker::{Worker, World},
};
use crate::{
    core::{Core, Counts},
    error::RunError,
    event_list::EventList,
    message::Message,
    simulation::{Ended, Simulation},
    time::Tag,
};
use crossbeam::queue::SegQueue;

/// Most transitions between saved states: what lies before the last one saved can be forgotten.
const LONGEST: u32 = 1 << 10;

impl<M: Message> Simulation<M> {
    /// Like [`Simulation::run_through`], on several workers; the result is the same, byte for
    /// byte. Runs that permute bags stay sequential.
    ///
    /// # Errors
    /// As [`Simulation::run_through`].
    ///
    /// ```
    /// use superdense_kernel::{Atomic, Coupled, Simulation, parallel::Settings, time::Duration};
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct Clock { ticks: u32 }
    /// impl Atomic<u32> for Clock {
    ///     fn time_advance(&self) -> Duration { Duration::from_ticks(10) }
    ///     fn internal(&mut self, _: &mut superdense_kernel::Effects<u32>) { self.ticks += 1 }
    /// }
    /// let mut top = Coupled::new();
    /// top.add("a", Clock { ticks: 0 });
    /// top.add("b", Clock { ticks: 5 });
    /// let mut sim = Simulation::new(top, Default::default())?;
    /// let (_, statistics) = sim.run_through_parallel(100, &Settings::default())?;
    /// assert_eq!((sim.model::<Clock>("b").unwrap().ticks, statistics.committed), (15, 20));
    /// # Ok::<(), superdense_kernel::error::RunError>(())
    /// ```
    pub fn run_through_parallel(
        &mut self,
        end: i64,
        settings: &Settings,
    ) -> Result<(Ended, Statistics), RunError> {
        if settings.workers == 1 && settings.schedule == Schedule::Threads && !settings.probe {
            return self.by_one(end);
        }
        let mut statistics = Statistics::default();
        super::speculation::hush();
        // Cycles that go sequentially after a rendezvous; more when it hardly paid to part.
        let mut alone = 1u64;
        while self.core.stop.is_none() && self.failed.is_none() && !self.is_fixed(settings) {
            let injected = self.injections.first_key_value().map(|(&at, _)| at);
            let limit = injected.map_or(end, |at| end.min(at - 1));
            let before = statistics.committed;
            // The structure may have changed.
            let lookahead = match self.lookahead(settings) {
                Ok(lookahead) => lookahead,
                Err(path) => {
                    statistics.no_lookahead = Some(path);
                    break;
                }
            };
            if !self.staged && self.earliest().is_some_and(|(at, _)| at <= limit) {
                if !self.stretch(limit, settings, lookahead, &mut statistics)? && limit == end {
                    break;
                }
            } else if limit == end {
                break;
            }
            let paid = statistics.committed - before > 4 * self.core.keys.len() as u64;
            alone = if paid { 1 } else { (2 * alone).min(1 << 20) };
            for _ in 0..alone {
                let Some(tag) = self.next_within(end)? else { break };
                self.cycle(tag)?;
                statistics.sequential_cycles += 1;
                if self.core.stop.is_some() {
                    break;
                }
            }
        }
        Ok((self.run_through(end)?, statistics))
    }

    /// A single worker: whatever is due next comes before all that anyone can still send, so
    /// nothing is ever undone and nothing need be kept; what is left is the sequential run.
    fn by_one(&mut self, end: i64) -> Result<(Ended, Statistics), RunError> {
        let moved = |c: Counts| c.internal + c.external + c.confluent;
        let before = moved(self.core.counts);
        let ended = self.run_through(end)?;
        let committed = moved(self.core.counts) - before;
        let homes = (0..self.core.keys.len() as u32).map(|m| self.core.homes.of(m));
        let size =
            |(kind, slot): (u16, u32)| size_of_val(self.slabs.kinds[kind as usize].model(slot));
        let live_state_bytes = homes.map(|home| size(home) as u64).sum();
        let executed = vec![committed];
        Ok((ended, Statistics { executed, committed, live_state_bytes, ..Statistics::default() }))
    }

    fn is_fixed(&self, settings: &Settings) -> bool {
        self.core.bus.disordered || settings.workers == 0 || self.core.keys.is_empty()
    }

    /// Runs in parallel up to tick `limit`, or to a cycle that must run sequentially; tells
    /// whether there is one.
    fn stretch(
        &mut self,
        limit: i64,
        settings: &Settings,
        lookahead: Option<(Edges, i64)>,
        statistics: &mut Statistics,
    ) -> Result<bool, RunError> {
        let workers = settings.workers.max(1);
        let models = self.core.keys.len() as u32;
        let part = |m: u32| settings.worker_of(m, models);
        let mut slots: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.slabs.kinds.len()];
        for m in 0..models {
            let (kind, slot) = self.core.homes.of(m);
            slots[kind as usize].push((slot, part(m)));
        }
        let part_of: Vec<Vec<u32>> = slots
            .into_iter()
            .map(|mut kind| {
                kind.sort_unstable();
                kind.into_iter().map(|s| s.1).collect()
            })
            .collect();
        let mut dealt: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for (kind, parts) in self.slabs.kinds.iter_mut().zip(&part_of) {
            for (worker, slab) in dealt.iter_mut().zip(kind.deal(parts, workers)) {
                worker.push(slab);
            }
        }
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        for parts in &part_of {
            let mut counts = vec![0; workers as usize];
            let rank = |&p: &u32| {
                counts[p as usize] += 1;
                counts[p as usize] - 1
            };
            ranks.push(parts.iter().map(rank).collect());
        }
        let clocks: Vec<Clockwork> = self.clocks();
        let mut observers = std::mem::take(&mut self.core.observers);
        let Core { network, paths, homes, resolution, guards, bus, .. } = &self.core;
        let mut world = World {
            network,
            paths,
            places: Vec::new(),
            inboxes: (0..workers).map(|_| SegQueue::new()).collect(),
            resolution: *resolution,
            settings,
            guards: *guards,
            limit,
            heard: &bus.heard,
            observed: !observers.is_empty(),
        };
        let mut crew: Vec<Worker<M>> =
            (0..).zip(dealt).map(|(me, kinds)| Worker::new(me, &world, kinds)).collect();
        for m in 0..models {
            let worker = &mut crew[part(m) as usize];
            let (kind, slot) = homes.of(m);
            let slot = ranks[kind as usize][slot as usize];
            world.places.push((part(m), worker.units.len() as u32));
            let mut unit = Unit::new(m, kind, slot, clocks[m as usize]);
            // Within a safe window one saved state is enough, for errors and stops.
            let safe = lookahead.is_some() && talks(network, m);
            let every = if safe { LONGEST } else { settings.save_every };
            unit.save_every = every.min(LONGEST);
            worker.units.push(unit);
        }
        for &(m, port) in lookahead.iter().flat_map(|l| &l.0) {
            let (worker, unit) = world.places[m as usize];
            crew[worker as usize].edges.push((unit, port));
        }
        for worker in &mut crew {
            worker.begin(&world);
        }
        let start = Tag::new(i64::MIN, 0);
        let window = (limit.saturating_sub(self.core.now.ticks) / 64).max(1);
        let orders = Orders {
            gvt: start,
            kept: start,
            horizon: self.core.now.ticks.saturating_add(window),
            halt: None,
        };
        let lookahead = lookahead.map(|l| l.1);
        let mut coordinator =
            Coordinator { orders, window, lookahead, rounds: 0, last: (0, 0), rendezvous: false };
        if lookahead.is_some() {
            // Nothing is safe before the first cut.
            coordinator.orders.horizon = self.core.now.ticks.saturating_sub(1);
        }
        crew.iter_mut().for_each(|worker| worker.horizon = coordinator.orders.horizon);
        let mut telling = Telling::new(&self.core, &mut observers, self.ran);
        match settings.schedule {
            Schedule::Threads => coordinator.threads(&world, &mut crew, &mut telling),
            Schedule::Virtual(seed) => {
                coordinator.virtually(&world, &mut crew, seed, &mut telling);
            }
        }
        let Telling { counts, now, ran, stop, .. } = telling;
        self.core.observers = observers;
        let failure = crew.iter_mut().find_map(|w| w.failure.take());
        statistics.add(&Statistics {
            executed: crew.iter().map(|w| w.tally.executed).collect(),
            committed: counts.internal + counts.external + counts.confluent,
            rolled_back: crew.iter().map(|w| w.tally.undone).sum(),
            rollbacks: crew.iter().map(|w| w.tally.rollbacks).sum(),
            anti_messages: crew.iter().map(|w| w.tally.antis).sum(),
            gvt_rounds: coordinator.rounds,
            peak_saved_bytes: crew.iter().map(|w| w.history.peak as u64).sum(),
            live_state_bytes: crew.iter().map(Worker::live_bytes).sum(),
            window: coordinator.window,
            sequential_cycles: 0,
            no_lookahead: None,
        });
        self.come_home(crew, &part_of);
        let core = &mut self.core;
        core.now = now;
        self.ran = ran;
        self.floor = self.floor.max(if ran { now.ticks } else { self.floor });
        core.counts.cycles += counts.cycles;
        core.counts.internal += counts.internal;
        core.counts.external += counts.external;
        core.counts.confluent += counts.confluent;
        core.counts.messages += counts.messages;
        if let Some(reason) = stop {
            core.stop.get_or_insert(reason);
        }
        if let Some((m, at, why)) = failure {
            let error = RunError::Model { path: self.core.path(m), at, why };
            self.failed = Some(error.clone());
            return Err(error);
        }
        Ok(coordinator.rendezvous)
    }

    /// What is due next at each model, by model.
    fn clocks(&mut self) -> Vec<Clockwork> {
        let ran = self.ran;
        let core = &self.core;
        let clock = |m: u32| {
            let cell = core.cells[m as usize];
            let micro = |at| if ran && at == core.now.ticks { core.now.micro + 1 } else { 0 };
            let visible = core.list.time_of(m).map(|at| Tag::new(at, micro(at)));
            let silent = core.silent.time_of(m).map(|at| Tag::new(at, u32::MAX));
            Clockwork {
                last: cell.last,
                chain: cell.chain,
                next: visible.or(silent).unwrap_or(Tag::NEVER),
                silent: visible.is_none() && silent.is_some(),
                located: core.located.get(&m).copied(),
            }
        };
        let mut clocks: Vec<Clockwork> = (0..core.keys.len() as u32).map(clock).collect();
        for &m in &core.ready {
            let now = core.now;
            let clock = &mut clocks[m as usize];
            (clock.next, clock.silent) = (Tag::new(now.ticks, now.micro + 1), false);
        }
        clocks
    }

    /// Models and their next events back from the workers.
    fn come_home(&mut self, crew: Vec<Worker<M>>, part_of: &[Vec<u32>]) {
        let mut slabs: Vec<Vec<_>> = part_of.iter().map(|_| Vec::new()).collect();
        let core = &mut self.core;
        core.ready.clear();
        for worker in crew {
            for (kind, slab) in slabs.iter_mut().zip(worker.kinds) {
                kind.push(slab);
            }
            for unit in worker.units {
                let (m, clock) = (unit.model, unit.clock);
                let cell = &mut core.cells[m as usize];
                (cell.last, cell.chain) = (clock.last, clock.chain);
                if let Some(window) = clock.located {
                    core.located.insert(m, window);
                }
                core.list.cancel(m);
                core.silent.cancel(m);
                match clock.next {
                    Tag::NEVER => {}
                    at if clock.silent => core.silent.schedule(m, at.ticks),
                    at if at.micro > 0 => core.ready.push(m),
                    at => core.list.schedule(m, at.ticks),
                }
            }
        }
        crate::core::order(&mut core.ready);
        for ((kind, parts), slabs) in self.slabs.kinds.iter_mut().zip(part_of).zip(slabs) {
            kind.collect(parts, slabs);
        }
    }
}
