//! A parallel run: models dealt out to workers, and models back home.
use super::{
    Method, Schedule, Settings, Statistics,
    cuts::{Coordinator, Orders, Parted},
    pace::{Lap, Pace},
    partition::{Balance, Deal},
    telling::Telling,
    unit::{Clockwork, Unit},
    windows::slots,
    worker::{MOST_SAMPLES, Tally, Worker, World},
};
use crate::{
    core::{Cell, Core},
    error::RunError,
    event_list::EventList,
    message::Message,
    options::halted,
    simulation::{Ended, Simulation},
    slab::Kind,
    time::Tag,
};
use crossbeam::queue::SegQueue;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Collects the workers' measurements of all models.
fn measure<M: Message>(crew: &mut [Worker<M>], deal: &mut Deal) {
    deal.balance.add(crew.iter().map(|w| w.tally));
    for worker in crew {
        // With a clock, by the time that transitions took here on average.
        let Tally { busy, executed, .. } = worker.tally;
        let each = if busy == 0 { 1 } else { (busy / executed.max(1)).max(1) };
        for unit in &worker.units {
            deal.load[unit.model as usize] += u64::from(unit.load) * each;
        }
        let room = MOST_SAMPLES.saturating_sub(deal.traffic.len());
        deal.traffic.extend(worker.traffic.drain(..).take(room));
    }
}

impl<M: Message> Simulation<M> {
    /// Like [`Simulation::run_through`], on several workers; the result is the same, byte for
    /// byte. Runs that permute bags stay sequential.
    ///
    /// # Errors
    /// As [`Simulation::run_through`]; [`RunError::Settings`] for a `batch` of 0, before anything is done.
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
        if settings.batch == 0 {
            let why = "`batch` is 0, so that no worker would do anything; make it at least 1";
            return Err(RunError::Settings { why });
        }
        self.guarded(|this| this.by_workers(end, settings))
    }

    fn by_workers(
        &mut self,
        end: i64,
        settings: &Settings,
    ) -> Result<(Ended, Statistics), RunError> {
        let models = self.core.keys.len() as u32;
        if settings.workers > models {
            // More would have nothing to do but to wait for each other.
            let settings = Settings { workers: models, ..settings.clone() };
            return self.by_workers(end, &settings);
        }
        if settings.workers == 1 && settings.schedule == Schedule::Threads && !settings.probe {
            return self.by_one(end);
        }
        if settings.method == Method::Conservative {
            return self.by_windows(end, settings);
        }
        let mut statistics = Statistics::default();
        super::speculation::hush();
        // Cycles that go sequentially after a rendezvous; more when it hardly paid to part.
        let mut alone = 1u64;
        while self.is_parallel(settings) {
            let injected = self.injections.first_key_value().map(|(&at, _)| at);
            let limit = injected.map_or(end, |at| end.min(at - 1));
            let before = statistics.committed;
            // The structure may have changed.
            let Core { network, keys, .. } = &self.core;
            let mut deal = Deal::of(self.deal.take(), settings, keys, network);
            let mut parted = None;
            if !self.staged && self.earliest().is_some_and(|(at, _)| at <= limit) {
                parted = self.stretch(limit, settings, &mut deal, &mut statistics)?;
                self.catch_up()?;
            }
            self.deal = Some(deal);
            if self.core.stop.is_some() || parted.is_none() && limit == end {
                break;
            }
            let transitions = statistics.committed - before;
            if parted == Some(Parted::Skewed) && transitions > 0 {
                continue;
            }
            let paid = transitions > 4 * self.core.keys.len() as u64;
            alone = if paid { 1 } else { (2 * alone).min(1 << 20) };
            for _ in 0..alone {
                let Some(tag) = self.next_within(end)? else {
                    break;
                };
                self.cycle(tag)?;
                statistics.sequential_cycles += 1;
                if self.core.stop.is_some() {
                    break;
                }
            }
        }
        Ok((self.run_through(end)?, statistics))
    }

    /// Windows since a tick held too little: the sequential executor goes on for a while, and who
    /// was faster is noted.
    pub(super) fn rest(
        &mut self,
        end: i64,
        (since, windows): (i64, Lap),
        pace: &mut Pace,
        statistics: &mut Statistics,
    ) -> Result<Ended, RunError> {
        let (before, start) = (self.core.counts, pace.now());
        let now = self.core.now.ticks;
        let until = now.saturating_add(pace.rest(now.saturating_sub(since)));
        let ended = self.run_within(until.min(end))?;
        let after = self.core.counts;
        let transitions = after.transitions() - before.transitions();
        pace.judge(windows, Lap { transitions, nanoseconds: pace.now() - start });
        statistics.poor_windows += 1;
        statistics.sequential_cycles += after.cycles - before.cycles;
        Ok(ended)
    }

    /// A single worker: whatever is due next comes before all that anyone can still send, so
    /// nothing is ever undone and nothing need be kept; what is left is the sequential run.
    fn by_one(&mut self, end: i64) -> Result<(Ended, Statistics), RunError> {
        let before = self.core.counts.transitions();
        let ended = self.run_through(end)?;
        let committed = self.core.counts.transitions() - before;
        let live_state_bytes = self.live_bytes();
        let executed = vec![committed];
        Ok((ended, Statistics { executed, committed, live_state_bytes, ..Statistics::default() }))
    }

    /// Silent steps that began before the present tick and that workers undid: in the middle of a tick nobody else
    /// looks for them.
    fn catch_up(&mut self) -> Result<(), RunError> {
        let now = self.core.now.ticks;
        while !self.core.ready.is_empty()
            && let Some(at) = self.core.silent.next_time().filter(|&at| at < now)
        {
            self.silent_steps(at, now, now)?;
        }
        Ok(())
    }

    /// Whether workers can go on: nothing ended the run, and it is not one that stays sequential.
    pub(super) fn is_parallel(&self, settings: &Settings) -> bool {
        let Core { stop, halt, bus, keys, .. } = &self.core;
        let over = stop.is_some() || self.failed.is_some() || halted(halt).is_some();
        !over && !bus.disordered && settings.workers > 0 && !keys.is_empty()
    }

    /// Runs in parallel up to tick `limit`, or to where the sequential executor must go on; tells
    /// why it must.
    fn stretch(
        &mut self,
        limit: i64,
        settings: &Settings,
        deal: &mut Deal,
        statistics: &mut Statistics,
    ) -> Result<Option<Parted>, RunError> {
        let workers = settings.workers.max(1);
        let models = self.core.keys.len() as u32;
        let part_of = self.parts(&deal.parts);
        // Values that are read from the models, while they are at home.
        let clocks: Vec<Clockwork> = self.clocks();
        let dealt = self.deal_slabs(&part_of, workers);
        let mut observers = std::mem::take(&mut self.core.observers);
        let Core { network, resolution, guards, bus, .. } = &self.core;
        let mut world = World {
            network,
            places: Vec::with_capacity(models as usize),
            inboxes: (0..workers).map(|_| SegQueue::new()).collect(),
            resolution: *resolution,
            settings,
            guards: *guards,
            limit,
            heard: &bus.heard,
            observed: !observers.is_empty(),
        };
        let seats = (0..).zip(dealt).zip(&deal.tracks);
        let mut crew: Vec<Worker<M>> = seats
            .map(|((me, kinds), track)| Worker::new(me, &world, kinds, track.clone()))
            .collect();
        self.enlist(&mut world, &mut crew, (&deal.parts, &part_of), clocks);
        let mut coordinator = self.coordinator(limit, workers, deal.balance.clone());
        self.set_off(&mut crew, &world, &coordinator);
        let mut telling = Telling::new(&self.core, &mut observers, self.ran);
        // Models come home also when an observer panics.
        let done = catch_unwind(AssertUnwindSafe(|| match settings.schedule {
            Schedule::Threads => coordinator.threads(&world, &mut crew, &mut telling),
            Schedule::Virtual(seed) => {
                coordinator.virtually(&world, &mut crew, seed, &mut telling);
            }
        }));
        let Telling { counts, now, ran, stop, .. } = telling;
        self.core.observers = observers;
        statistics.add(&coordinator.statistics(&crew, &counts));
        deal.balance = coordinator.balance;
        measure(&mut crew, deal);
        let failure = crew.iter_mut().find_map(|w| w.failure.take());
        self.come_home(crew, &part_of);
        if coordinator.parted == Some(Parted::Skewed) {
            statistics.migrated += deal.migrate(&self.core.network);
        }
        self.ran = ran;
        self.floor = self.floor.max(if ran { now.ticks } else { self.floor });
        self.core.now = now;
        self.core.counts.add(counts);
        if let Some(reason) = stop {
            self.core.stop.get_or_insert(reason);
        }
        if let Err(panic) = done {
            resume_unwind(panic);
        }
        if let Some((m, at, why)) = failure {
            let error = RunError::Model { path: self.core.path(m), at, why };
            self.failed = Some(error.clone());
            return Err(error);
        }
        Ok(coordinator.parted)
    }

    /// The worker of each slot, by kind.
    pub(super) fn parts(&self, by_model: &[u32]) -> Vec<Vec<u32>> {
        let mut slots: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.slabs.kinds.len()];
        for (m, &part) in (0..).zip(by_model) {
            let (kind, slot) = self.core.homes.of(m);
            slots[kind as usize].push((slot, part));
        }
        let sorted = |mut kind: Vec<(u32, u32)>| {
            kind.sort_unstable();
            kind.into_iter().map(|s| s.1).collect()
        };
        slots.into_iter().map(sorted).collect()
    }

    /// Units for all models, with their workers.
    fn enlist<'a>(
        &'a self,
        world: &mut World<'a, M>,
        crew: &mut [Worker<M>],
        (by_model, part_of): (&[u32], &[Vec<u32>]),
        clocks: Vec<Clockwork>,
    ) {
        let ranks = slots(part_of, crew.len() as u32);
        for ((m, clock), &part) in (0..).zip(clocks).zip(by_model) {
            let worker = &mut crew[part as usize];
            let (kind, slot) = self.core.homes.of(m);
            let slot = ranks[kind as usize][slot as usize];
            world.places.push((part, worker.units.len() as u32));
            let unit = Unit::new(m, kind, slot, clock);
            worker.units.push(unit);
        }
    }

    /// The slabs of each worker.
    fn deal_slabs(&mut self, part_of: &[Vec<u32>], workers: u32) -> Vec<Vec<Box<dyn Kind<M>>>> {
        let mut dealt: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for (kind, parts) in self.slabs.kinds.iter_mut().zip(part_of) {
            for (worker, slab) in dealt.iter_mut().zip(kind.deal(parts, workers)) {
                worker.push(slab);
            }
        }
        dealt
    }

    fn set_off(&self, crew: &mut [Worker<M>], world: &World<'_, M>, coordinator: &Coordinator) {
        for (worker, &horizon) in crew.iter_mut().zip(&coordinator.horizons) {
            worker.begin(world);
            worker.horizon = horizon;
            worker.samples = coordinator.balance.is_on();
            worker.meter = self.core.meter.as_ref().and_then(|meter| meter.fork());
        }
    }

    fn coordinator(&self, limit: i64, workers: u32, balance: Balance) -> Coordinator {
        let start = Tag::new(i64::MIN, 0);
        let now = self.core.now.ticks;
        let window = (limit.saturating_sub(now) / 64).max(1);
        let first = now.saturating_add(window);
        Coordinator {
            orders: Orders { gvt: start, kept: start, halt: None },
            horizons: vec![first; workers as usize],
            window,
            balance,
            rounds: 0,
            empty: 0,
            executed: 0,
            elapsed: 0,
            last: (0, 0),
            parted: None,
        }
    }

    /// The next event of each model, by model.
    fn clocks(&mut self) -> Vec<Clockwork> {
        let ran = self.ran;
        let core = &self.core;
        let clock = |(m, cell): (u32, Cell)| {
            let micro = |at| {
                if ran && at == core.now.ticks { core.now.micro + 1 } else { 0 }
            };
            let visible = core.list.time_of(m).map(|at| Tag::new(at, micro(at)));
            let silent = core.silent.time_of(m).map(|at| Tag::new(at, u32::MAX));
            Clockwork {
                last: cell.last,
                chain: cell.chain,
                next: visible.or(silent).unwrap_or(Tag::NEVER),
                located: core.located.get(m),
            }
        };
        let mut clocks: Vec<Clockwork> = (0..).zip(self.cells()).map(clock).collect();
        for &m in &core.ready {
            let now = core.now;
            clocks[m as usize].next = Tag::new(now.ticks, now.micro + 1);
        }
        clocks
    }

    /// Models and their next events back from the workers.
    fn come_home(&mut self, crew: Vec<Worker<M>>, part_of: &[Vec<u32>]) {
        let mut slabs: Vec<Vec<_>> = part_of.iter().map(|_| Vec::new()).collect();
        let core = &mut self.core;
        core.ready.clear();
        for mut worker in crew {
            for unit in worker.units {
                let (m, clock) = (unit.model, unit.clock);
                let cell = Cell { last: clock.last, chain: clock.chain, sent: 0 };
                worker.kinds[unit.kind as usize].set_cell(unit.slot, cell);
                if clock.located.1 > 0 {
                    core.located.set(m, clock.located);
                }
                core.list.cancel(m);
                core.silent.cancel(m);
                match clock.next {
                    Tag::NEVER => {}
                    at if clock.is_silent() => core.silent.schedule(m, at.ticks),
                    at if at.micro > 0 => core.ready.push(m),
                    at => core.list.schedule(m, at.ticks),
                }
            }
            for (kind, slab) in slabs.iter_mut().zip(worker.kinds) {
                kind.push(slab);
            }
        }
        crate::order::order(&mut core.ready, &mut core.marks);
        for ((kind, parts), slabs) in self.slabs.kinds.iter_mut().zip(part_of).zip(slabs) {
            kind.collect(parts, slabs);
        }
    }
}
