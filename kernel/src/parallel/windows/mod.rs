//! The conservative executor: workers go through windows of time on their own, as sequential
//! simulations of their parts.
//!
//! **The window.** With T the earliest event of all and d the least delay that units with wires to
//! other parts promise ([`Atomic::lookahead`](crate::Atomic::lookahead)), nothing that happens from T
//! on leaves a part before T + d. What does leave it until then follows from the states at T alone,
//! so these units *go ahead on their own*, over the border ports, tell the other parts what they will
//! send and when, and go back (Chandy & Misra 1979 and Nicol 1993 for the bounds; going ahead
//! instead of waiting for the least of the next outputs makes each window as long as the delay,
//! however many wires are cut). Then each part knows all that reaches it, and runs its window as the
//! sequential executor does, with nothing kept and nothing undone.
//!
//! **Listeners.** Units that send to nobody and hear of several parts (sinks) promise nothing and
//! need no promise: they come last in each window.
//!
//! **In step.** Where nothing is promised, parts go from cycle to cycle together: first all λ, then
//! all transitions (the abstract simulator of Chow & Zeigler 1994, in parallel). That pays where
//! cycles hold much work, as in DEVStone.
//!
//! **Promises are checked.** What left a part is compared with what was announced. A unit that does
//! not keep its promise costs the window, not the result: the sequential executor goes on.
//!
//! **Whatever is not plain** (errors, panics, requests to stop, changes of structure) makes all go
//! back to the last saved state of the whole; the sequential executor does again, untold, what was
//! told already, and goes through it.
//!
//! | file | thought |
//! | --- | --- |
//! | `layout.rs` | who is in which part, and what a part's network is |
//! | `part.rs` | one part: going ahead, and a window |
//! | `crew.rs` | threads, and the end of each window |
//! | `weigh.rs` | what the next cycle weighs, for callers that choose an executor |
mod crew;
mod layout;
mod part;
mod weigh;

use super::{
    Schedule, Settings, Statistics,
    pace::{Lap, Pace},
    partition::Deal,
    telling::Telling,
    timeline::Track,
};
use crate::{
    checkpoint::SavedSimulation,
    core::order,
    error::{CheckpointError, RunError},
    event_list::EventList,
    homes::Homes,
    message::Message,
    simulation::{Ended, Simulation},
    slab::{Kind as Slab, Slabs},
    time::Tag,
};
use crew::{Crew, Ending, Leader};
use layout::Layout;
use part::Part;
pub(super) use part::{Done, News};
use std::sync::{Mutex, PoisonError};

impl<M: Message> Simulation<M> {
    pub(super) fn run_in_windows(
        &mut self,
        end: i64,
        settings: &Settings,
    ) -> Result<(Ended, Statistics), RunError> {
        let mut statistics = Statistics::default();
        super::speculation::hush();
        let mut pace = Pace::new(settings);
        // Cycles that go sequentially after something irregular.
        let mut alone = 1u64;
        while self.core.stop.is_none() && self.failed.is_none() && !self.is_fixed(settings) {
            let injected = self.injections.first_key_value().map(|(&at, _)| at);
            let limit = injected.map_or(end, |at| end.min(at - 1));
            let plain = !self.staged && self.core.ready.is_empty();
            if !plain || self.earliest().is_none_or(|(at, _)| at > limit) {
                // The middle of an instant, an injection, or the end.
                let Some(tag) = self.next_within(end)? else { break };
                self.cycle(tag)?;
                statistics.sequential_cycles += 1;
                continue;
            }
            let (network, keys) = (&self.core.network, &self.core.keys);
            let deal = Deal::of(self.deal.take(), settings, keys, network);
            let workers = settings.workers.max(1);
            let layout = Layout::of(self, &deal.parts, workers).or_else(|path| {
                statistics.no_lookahead = Some(path);
                Layout::in_step(self, &deal.parts, workers).ok_or(())
            });
            let tracks = deal.tracks.clone();
            self.deal = Some(deal);
            let Ok(layout) = layout else { break };
            let saved = match self.save() {
                Ok(saved) => saved,
                Err(error) => {
                    if let CheckpointError::Unit { path, .. } = error {
                        statistics.no_lookahead = Some(path);
                    }
                    break;
                }
            };
            let (since, start) = (self.core.now.ticks, pace.now());
            let committed = statistics.committed;
            let (ending, told) =
                self.windows((limit, &layout), (settings, tracks), &pace, &mut statistics);
            let transitions = statistics.committed - committed;
            match ending {
                Ending::Renew => {}
                Ending::Reached if limit == end => break,
                // Then comes an injection.
                Ending::Reached => self.sequentially(limit, 1, end)?,
                Ending::Poor => {
                    let lap = Lap { transitions, nanoseconds: pace.now() - start };
                    let ended = self.rest(end, (since, lap), &mut pace, &mut statistics)?;
                    if matches!(ended, Ended::Stopped(_)) {
                        return Ok((ended, statistics));
                    }
                }
                Ending::Stopped(reason) => {
                    self.again(&saved, told)?;
                    self.core.stop = Some(reason);
                }
                Ending::Irregular(until) | Ending::Broken(_, until) => {
                    self.again(&saved, told)?;
                    let before = self.core.counts.cycles;
                    if let Ending::Broken(model, _) = ending {
                        statistics.no_lookahead = Some(self.core.path(model));
                        break;
                    }
                    self.sequentially(until.min(end), alone, end)?;
                    statistics.sequential_cycles += self.core.counts.cycles - before;
                    alone = (2 * alone).min(1 << 20);
                }
            }
        }
        Ok((self.run_through(end)?, statistics))
    }

    /// Sequential cycles up to a tick, and so many more.
    fn sequentially(&mut self, until: i64, more: u64, end: i64) -> Result<(), RunError> {
        let mut more = more;
        while self.core.stop.is_none() {
            let Some(tag) = self.next_within(end)? else { break };
            if tag.ticks > until {
                let Some(left) = more.checked_sub(1) else { break };
                more = left;
            }
            self.cycle(tag)?;
        }
        Ok(())
    }

    /// Goes back to a saved state, and does again what was told, untold.
    fn again(&mut self, saved: &SavedSimulation<M>, told: Option<Tag>) -> Result<(), RunError> {
        if let Err(error) = self.restore(saved) {
            let path = if let CheckpointError::Unit { path, .. } = &error { &**path } else { "" };
            let (path, at) = (path.to_owned(), self.core.now);
            let error = RunError::Model { path, at, why: error.to_string() };
            self.failed = Some(error.clone());
            return Err(error);
        }
        let core = &mut self.core;
        let observers = std::mem::take(&mut core.observers);
        core.find_heard();
        let mut done = Ok(());
        while let (Ok(()), Some(told)) = (&done, told) {
            match self.next_within(told.ticks) {
                Ok(Some(tag)) if tag <= told => done = self.cycle(tag).map(drop),
                next => {
                    done = next.map(drop);
                    break;
                }
            }
        }
        self.core.observers = observers;
        self.core.find_heard();
        done
    }

    /// Windows up to tick `limit`; why they ended, and the last tag that observers know of. Unless
    /// that was as planned, only models are where they were, and all else is to be restored.
    fn windows(
        &mut self,
        (limit, layout): (i64, &Layout),
        (settings, tracks): (&Settings, Vec<Track>),
        pace: &Pace,
        statistics: &mut Statistics,
    ) -> (Ending, Option<Tag>) {
        let live_state_bytes = self.live_bytes();
        let part_of = self.parts(&layout.parts);
        let (parts, idle) = self.part_with(layout, &part_of);
        let mut observers = std::mem::take(&mut self.core.observers);
        let mut parts = parts;
        if !observers.is_empty() {
            parts.iter_mut().for_each(|(_, part)| part.observe());
        }
        let judged = settings.schedule == Schedule::Threads;
        let leader = Leader::new(
            Telling::new(&self.core, &mut observers, self.ran),
            pace.trial(judged),
            limit,
        );
        let crew = Crew {
            layout,
            parts: parts.into_iter().map(|(n, part)| (n, Mutex::new(part))).collect(),
            mail: (0..2 * layout.workers).map(|_| Mutex::default()).collect(),
            leader: Mutex::new(leader),
            tracks,
        };
        let start = pace.now();
        let ending = crew.work(settings);
        let elapsed = pace.now() - start;
        let Crew { parts, leader, .. } = crew;
        let leader = leader.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Leader { telling: Telling { counts, now, ran, .. }, windows, empty, length, .. } =
            leader;
        let planned = matches!(ending, Ending::Reached | Ending::Renew | Ending::Poor);
        let (mut executed, mut busy) =
            (vec![0; layout.workers as usize], vec![0; layout.workers as usize]);
        let parts: Vec<(u32, Part<M>)> = parts
            .into_iter()
            .map(|(n, part)| (n, part.into_inner().unwrap_or_else(PoisonError::into_inner)))
            .collect();
        for (n, part) in &parts {
            let worker = (n % layout.workers) as usize;
            executed[worker] += part.executed;
            busy[worker] += part.busy;
        }
        let moved = counts.internal + counts.external + counts.confluent;
        statistics.add(&Statistics {
            committed: if planned { moved } else { 0 },
            rolled_back: if planned { 0 } else { executed.iter().sum() },
            executed,
            busy,
            elapsed,
            gvt_rounds: windows,
            empty_rounds: empty,
            peak_saved_bytes: live_state_bytes,
            live_state_bytes,
            window: length,
            ..Statistics::default()
        });
        self.core.observers = observers;
        self.come_together(parts, idle, &part_of);
        let core = &mut self.core;
        if planned {
            core.now = now;
            self.ran = ran;
            self.floor = self.floor.max(if ran { now.ticks } else { self.floor });
            core.counts.add(counts);
        }
        (ending, ran.then_some(now))
    }

    /// The size of the states of all models, without what they own on the heap.
    pub(super) fn live_bytes(&self) -> u64 {
        let homes = (0..self.core.keys.len() as u32).map(|m| self.core.homes.of(m));
        let size =
            |(kind, slot): (u16, u32)| size_of_val(self.slabs.kinds[kind as usize].model(slot));
        homes.map(|home| size(home) as u64).sum()
    }

    /// Models and their next events in parts; and the slabs of parts that have none.
    fn part_with(
        &mut self,
        layout: &Layout,
        part_of: &[Vec<u32>],
    ) -> (Vec<(u32, Part<M>)>, Vec<(u32, Kinds<M>)>) {
        let count = 2 * layout.workers;
        let mut dealt: Vec<Kinds<M>> = (0..count).map(|_| Vec::new()).collect();
        for (kind, parts) in self.slabs.kinds.iter_mut().zip(part_of) {
            for (part, slab) in dealt.iter_mut().zip(kind.deal(parts, count)) {
                part.push(slab);
            }
        }
        let slots = ranks(part_of, count);
        let (mut parts, mut idle) = (Vec::new(), Vec::new());
        for (number, kinds) in (0..).zip(dealt) {
            let models = layout.models(number);
            if models.is_empty() {
                idle.push((number, kinds));
                continue;
            }
            let place = |&m: &u32| {
                let (kind, slot) = self.core.homes.of(m);
                (m, kind, slots[kind as usize][slot as usize])
            };
            let core = &self.core;
            let homes = Homes::of_some(models.iter().map(place), core.keys.len());
            let network = layout.network(&core.network, number);
            let mut sim = self.part(network, homes, Slabs::of(kinds));
            for &m in &models {
                if let Some(at) = core.list.time_of(m) {
                    sim.core.list.schedule(m, at);
                }
                if let Some(at) = core.silent.time_of(m) {
                    sim.core.silent.schedule(m, at);
                }
                if let Some(&located) = core.located.get(&m) {
                    sim.core.located.insert(m, located);
                }
            }
            parts.push((number, Part::new(sim, models, layout, &core.bus.heard)));
        }
        (parts, idle)
    }

    /// Models and their next events back from parts.
    fn come_together(
        &mut self,
        parts: Vec<(u32, Part<M>)>,
        idle: Vec<(u32, Kinds<M>)>,
        part_of: &[Vec<u32>],
    ) {
        let core = &mut self.core;
        core.reset_lists(self.slabs.may_be_silent());
        core.ready.clear();
        let mut kinds = idle;
        for (number, mut part) in parts {
            for &m in &part.models {
                if let Some(at) = part.sim.core.list.time_of(m) {
                    core.list.schedule(m, at);
                }
                if let Some(at) = part.sim.core.silent.time_of(m) {
                    core.silent.schedule(m, at);
                }
            }
            core.located.append(&mut part.sim.core.located);
            core.ready.append(&mut part.sim.core.ready);
            kinds.push((number, part.sim.slabs.kinds));
        }
        order(&mut core.ready);
        kinds.sort_by_key(|(number, _)| *number);
        let mut slabs: Vec<Kinds<M>> = part_of.iter().map(|_| Vec::new()).collect();
        for (_, kinds) in kinds {
            for (kind, slab) in slabs.iter_mut().zip(kinds) {
                kind.push(slab);
            }
        }
        for ((kind, parts), slabs) in self.slabs.kinds.iter_mut().zip(part_of).zip(slabs) {
            kind.collect(parts, slabs);
        }
    }
}

/// The slabs of a part, by kind.
type Kinds<M> = Vec<Box<dyn Slab<M>>>;

/// By kind and slot: the slot in the part's own slab.
fn ranks(part_of: &[Vec<u32>], count: u32) -> Vec<Vec<u32>> {
    let each = |parts: &Vec<u32>| {
        let mut counts = vec![0; count as usize];
        let rank = |&part: &u32| {
            counts[part as usize] += 1;
            counts[part as usize] - 1
        };
        parts.iter().map(rank).collect()
    };
    part_of.iter().map(each).collect()
}
