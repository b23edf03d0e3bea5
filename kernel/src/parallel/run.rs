//! A parallel run: models dealt out to workers, cuts, commits, and models back home.
use super::{
    Partition, Schedule, Settings, Statistics,
    unit::{Clockwork, Unit},
    worker::{Cut, Entry, Worker, World},
};
use crate::{
    bag::{Bag, Envelope, NONE, Parts},
    core::{Core, Counts},
    error::RunError,
    event_list::EventList,
    message::{Message, fold},
    simulation::{Ended, Simulation},
    time::Tag,
    trace::{Kind, Transition},
};
use crossbeam::{channel, queue::SegQueue};
use std::{
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Batches of a worker between cuts, unless it is idle.
const BATCHES: usize = 8;
/// Longest sleep of an idle worker.
const NAP: Duration = Duration::from_micros(50);

/// What the coordinator tells the workers.
#[derive(Debug, Clone, Copy)]
struct Orders {
    gvt: Tag,
    /// Observers know all before this.
    kept: Tag,
    horizon: i64,
    /// Undo what is at or after this tag and come home.
    halt: Option<Tag>,
}

/// Takes what workers say at their cuts, and commits.
struct Coordinator {
    orders: Orders,
    window: i64,
    rounds: u64,
    last: (u64, u64),
    rendezvous: bool,
}

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
        let mut statistics =
            Statistics { workers: settings.workers.max(1), ..Statistics::default() };
        // Cycles that go sequentially after a rendezvous; more when it hardly paid to part.
        let mut alone = 1u64;
        while self.core.stop.is_none() && self.failed.is_none() && !self.is_fixed(settings) {
            let injected = self.injections.first_key_value().map(|(&at, _)| at);
            let limit = injected.map_or(end, |at| end.min(at - 1));
            let before = statistics.committed;
            if !self.staged && self.earliest().is_some_and(|(at, _)| at <= limit) {
                if !self.stretch(limit, settings, &mut statistics)? && limit == end {
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

    fn is_fixed(&self, settings: &Settings) -> bool {
        self.core.bus.disordered || settings.workers == 0 || self.core.keys.is_empty()
    }

    /// Runs in parallel up to tick `limit`, or to a cycle that must run sequentially; tells
    /// whether there is one.
    fn stretch(
        &mut self,
        limit: i64,
        settings: &Settings,
        statistics: &mut Statistics,
    ) -> Result<bool, RunError> {
        let workers = settings.workers.max(1);
        let models = self.core.keys.len() as u32;
        let part = |m: u32| match &settings.partition {
            Partition::Blocks => (u64::from(m) * u64::from(workers) / u64::from(models)) as u32,
            Partition::RoundRobin => m % workers,
            Partition::Given(parts) => parts.get(m as usize).map_or(0, |p| p % workers),
        };
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
        let Core { network, paths, homes, resolution, guards, watched, .. } = &self.core;
        let mut world = World {
            network,
            paths,
            places: Vec::new(),
            inboxes: (0..workers).map(|_| SegQueue::new()).collect(),
            resolution: *resolution,
            settings,
            guards: *guards,
            limit,
            watched: *watched,
        };
        let mut crew: Vec<Worker<M>> =
            (0..).zip(dealt).map(|(me, kinds)| Worker::new(me, &world, kinds)).collect();
        for m in 0..models {
            let worker = &mut crew[part(m) as usize];
            let (kind, slot) = homes.of(m);
            let slot = ranks[kind as usize][slot as usize];
            world.places.push((part(m), worker.units.len() as u32));
            worker.units.push(Unit::new(m, kind, slot, clocks[m as usize]));
        }
        for worker in &mut crew {
            (0..worker.units.len() as u32).for_each(|u| worker.requeue(&world, u));
        }
        let start = Tag::new(i64::MIN, 0);
        let window = (limit.saturating_sub(self.core.now.ticks) / 64).max(1);
        let orders = Orders {
            gvt: start,
            kept: start,
            horizon: self.core.now.ticks.saturating_add(window),
            halt: None,
        };
        let mut coordinator =
            Coordinator { orders, window, rounds: 0, last: (0, 0), rendezvous: false };
        // The network is lent to the workers while observers are told.
        let world_ref = &world;
        let Telling { counts, now, ran, stop } = {
            let mut told = Telling::new(self.core.now, self.ran);
            let core = &self.core;
            let mut tell = |entries: Vec<Vec<Entry<M>>>| told.tell(core, &mut observers, entries);
            match settings.schedule {
                Schedule::Threads => coordinator.threads(world_ref, &mut crew, &mut tell),
                Schedule::Virtual(seed) => {
                    coordinator.virtually(world_ref, &mut crew, seed, &mut tell);
                }
            }
            told
        };
        self.core.observers = observers;
        let failure = crew.iter_mut().find_map(|w| w.failure.take());
        for w in &crew {
            statistics.rolled_back += w.tally.undone;
            statistics.rollbacks += w.tally.rollbacks;
            statistics.anti_messages += w.tally.antis;
            statistics.peak_saved += w.tally.peak as u64;
        }
        statistics.gvt_rounds += coordinator.rounds;
        statistics.committed += counts.internal + counts.external + counts.confluent;
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

/// What observers were told in a stretch.
struct Telling {
    counts: Counts,
    now: Tag,
    ran: bool,
    stop: Option<String>,
}

impl Telling {
    fn new(now: Tag, ran: bool) -> Self {
        Self { counts: Counts::default(), now, ran, stop: None }
    }

    /// Tells observers what the workers hand over, in canonical order; the tag after the last
    /// cycle when one of them stops the run.
    fn tell<M: Message>(
        &mut self,
        core: &Core<M>,
        observers: &mut [Box<dyn crate::trace::Observer<M>>],
        parts: Vec<Vec<Entry<M>>>,
    ) -> Option<Tag> {
        let mut entries: Vec<Entry<M>> = parts.into_iter().flatten().collect();
        entries.sort_by_key(|e| (e.tag, e.model));
        for cycle in entries.chunk_by(|a, b| a.tag == b.tag) {
            (self.now, self.ran) = (cycle[0].tag, true);
            self.counts.cycles += 1;
            for entry in cycle {
                match entry.kind {
                    Kind::Internal => self.counts.internal += 1,
                    Kind::External => self.counts.external += 1,
                    Kind::Confluent => self.counts.confluent += 1,
                }
                self.counts.messages += u64::from(entry.messages);
                self.one(core, observers, entry);
            }
            for o in observers.iter_mut() {
                if let ControlFlow::Break(reason) = o.cycle(self.now) {
                    self.stop.get_or_insert(reason);
                }
            }
            if self.stop.is_some() {
                return Some(Tag::new(self.now.ticks, self.now.micro + 1));
            }
        }
        None
    }

    fn one<M: Message>(
        &mut self,
        core: &Core<M>,
        observers: &mut [Box<dyn crate::trace::Observer<M>>],
        entry: &Entry<M>,
    ) {
        let Some(told) = &entry.told else { return };
        let key = core.keys[entry.model as usize];
        let mut verdict = |v| {
            if let ControlFlow::Break(reason) = v {
                self.stop.get_or_insert(reason);
            }
        };
        for fact in &told.facts {
            for o in observers.iter_mut() {
                verdict(core.blueprint.site(key, |site| o.fact(site, entry.tag, fact)));
            }
        }
        if !core.watched {
            return;
        }
        let envelope = |(i, (_, value)): (usize, &(u16, M))| Envelope {
            value: value.clone(),
            source: 0,
            emission: i as u32,
            next: NONE,
            port: 0,
        };
        let arena: Vec<Envelope<M>> = told.bag.iter().enumerate().map(envelope).collect();
        let mut merged: Vec<(u16, u32)> = told.bag.iter().map(|m| m.0).zip(0..).collect();
        merged.sort_unstable();
        let parts = Parts::Merged(&merged);
        let bag = Bag { arena: &arena, len: arena.len() as u32, parts };
        let bag = (entry.kind != Kind::Internal).then_some(bag);
        let Entry { tag, kind, .. } = *entry;
        let transition = Transition { tag, kind, bag, outputs: &told.outputs, next: told.next };
        for o in observers.iter_mut().filter(|o| o.wants_transitions()) {
            verdict(core.blueprint.site(key, |site| o.transition(site, &transition)));
        }
    }
}

type Tell<'a, M> = dyn FnMut(Vec<Vec<Entry<M>>>) -> Option<Tag> + 'a;

impl Coordinator {
    /// All workers have cut: commit, and the next orders.
    fn merge<M: Message>(&mut self, cuts: Vec<Cut<M>>, tell: &mut Tell<'_, M>) {
        self.rounds += 1;
        let least = cuts.iter().map(|c| c.least).min().unwrap_or(Tag::NEVER);
        let barrier = cuts.iter().map(|c| c.barrier).min().unwrap_or(Tag::NEVER);
        let front = cuts.iter().map(|c| c.front).max().unwrap_or(i64::MIN);
        let failed = cuts.iter().any(|c| c.failed);
        let executed: u64 = cuts.iter().map(|c| c.tally.executed).sum();
        let undone: u64 = cuts.iter().map(|c| c.tally.undone).sum();
        let orders = &mut self.orders;
        if let Some(after) = tell(cuts.into_iter().map(|c| c.committed).collect()) {
            orders.halt = Some(after);
            return;
        }
        let all_told = orders.gvt;
        orders.kept = all_told;
        orders.gvt = orders.gvt.max(least);
        if failed || all_told == Tag::NEVER {
            orders.halt = Some(Tag::NEVER);
        } else if barrier != Tag::NEVER && barrier == all_told && barrier == least {
            orders.halt = Some(barrier);
            self.rendezvous = true;
        }
        let (done, back) = (executed - self.last.0, undone - self.last.1);
        self.last = (executed, undone);
        if back * 5 > done {
            let spread = front.saturating_sub(orders.gvt.ticks.max(i64::MIN / 2)).max(2);
            self.window = (self.window.min(spread) / 2).max(1);
        } else {
            self.window = self.window.saturating_mul(2);
        }
        if orders.gvt.ticks != i64::MIN {
            orders.horizon = orders.gvt.ticks.saturating_add(self.window);
        }
    }

    /// Workers as threads; this one commits.
    fn threads<M: Message>(
        &mut self,
        world: &World<'_, M>,
        crew: &mut [Worker<M>],
        tell: &mut Tell<'_, M>,
    ) {
        let orders = Mutex::new(self.orders);
        let epoch = AtomicU64::new(1);
        let (tx, rx) = channel::unbounded::<Cut<M>>();
        let crew_size = crew.len();
        let joined = crossbeam::thread::scope(|scope| {
            for worker in crew.iter_mut() {
                let (orders, epoch, tx) = (&orders, &epoch, tx.clone());
                scope.spawn(move |_| serve(worker, world, orders, epoch, &tx));
            }
            drop(tx);
            let mut cuts = Vec::with_capacity(crew_size);
            while let Ok(cut) = rx.recv() {
                cuts.push(cut);
                if cuts.len() < crew_size {
                    continue;
                }
                self.merge(std::mem::take(&mut cuts), tell);
                *orders.lock().unwrap_or_else(PoisonError::into_inner) = self.orders;
                epoch.fetch_add(1, Ordering::Release);
            }
        });
        if let Err(panic) = joined {
            std::panic::resume_unwind(panic);
        }
    }

    /// Workers in turn, by a seed.
    fn virtually<M: Message>(
        &mut self,
        world: &World<'_, M>,
        crew: &mut [Worker<M>],
        seed: u64,
        tell: &mut Tell<'_, M>,
    ) {
        let mut state = seed;
        let mut below = move |n: usize| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            (fold(state, state.rotate_left(31)) >> 16) as usize % n.max(1)
        };
        let mut cuts: Vec<Option<Cut<M>>> = crew.iter().map(|_| None).collect();
        loop {
            let i = below(crew.len());
            let worker = &mut crew[i];
            match below(4) {
                0 if cuts[i].is_none() => {
                    shuffle(&world.inboxes[i], &mut below);
                    worker.horizon = self.orders.horizon;
                    cuts[i] = Some(worker.cut(world, self.orders.gvt, self.orders.kept));
                }
                1 => {
                    shuffle(&world.inboxes[i], &mut below);
                    worker.receive(world);
                }
                _ => drop(worker.work(world, 1 + below(8))),
            }
            if cuts.iter().all(Option::is_some) {
                self.merge(cuts.iter_mut().filter_map(Option::take).collect(), tell);
                if let Some(tag) = self.orders.halt {
                    crew.iter_mut().for_each(|w| w.undo_from(world, tag));
                    return;
                }
            }
        }
    }
}

/// Deliveries overtake each other.
fn shuffle<M>(inbox: &SegQueue<super::unit::Packet<M>>, below: &mut impl FnMut(usize) -> usize) {
    let mut all: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
    while !all.is_empty() {
        inbox.push(all.swap_remove(below(all.len())));
    }
}

fn serve<M: Message>(
    worker: &mut Worker<M>,
    world: &World<'_, M>,
    orders: &Mutex<Orders>,
    epoch: &AtomicU64,
    tx: &channel::Sender<Cut<M>>,
) {
    let (mut seen, mut batches) = (0, 0);
    let backoff = crossbeam::utils::Backoff::new();
    loop {
        worker.receive(world);
        let done = worker.work(world, world.settings.batch);
        batches += 1;
        if done > 0 {
            backoff.reset();
        }
        let now = epoch.load(Ordering::Acquire);
        if now != seen && (done == 0 || batches >= BATCHES) {
            let told = *orders.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(tag) = told.halt {
                return worker.undo_from(world, tag);
            }
            worker.horizon = told.horizon;
            (seen, batches) = (now, 0);
            if tx.send(worker.cut(world, told.gvt, told.kept)).is_err() {
                return;
            }
        } else if done == 0 {
            if backoff.is_completed() {
                std::thread::sleep(NAP);
            } else {
                backoff.snooze();
            }
        }
    }
}
