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
//! **Listeners.** Units that send to nobody (sinks) need no promise: those that hear over ports which
//! lead to several parts are a window behind. They go through what others sent in the last one while
//! these are in the present one, and what is told waits for them.
//!
//! **Even loads.** Windows wait for the worker that has most to do. Where it has much more than the
//! others, models go to these, which counts what it does for those that only listen.
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
//! | `apart.rs` | models dealt out to parts, and back home |
//! | `part.rs` | one part: going ahead, and a window |
//! | `crew.rs` | threads, and the end of each window |
//! | `ranks.rs`, `abroad.rs` | other processes with parts of the models, and what passes between them |
//! | `weigh.rs` | what the next cycle weighs, for callers that choose an executor |
mod abroad;
mod apart;
mod crew;
mod layout;
mod part;
mod ranks;
mod weigh;

use super::{
    Migration, Schedule, Settings, Statistics,
    pace::{Lap, Pace},
    partition::Deal,
    telling::Telling,
    timeline::Track,
};
use crate::{
    checkpoint::SavedSimulation,
    error::{CheckpointError, RunError},
    message::Message,
    options::Halt,
    simulation::{Ended, Simulation},
    time::Tag,
};
use abroad::{Abroad, Link, Others, Told, lend};
pub(crate) use apart::Apart;
pub(super) use apart::slots;
use crew::{Crew, Ending, Leader};
use layout::{Layout, Wire};
pub(super) use part::Done;
pub use ranks::{LostRank, Ranks};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Mutex, PoisonError},
};
pub use weigh::Weight;

/// Transitions per model after which models come home to be saved, at first, and twice as many each time
/// up to so many: what has to be done again is at most as much as was done before.
const FIRST: u64 = 64;
const MOST: u64 = 512;
/// Transitions in all that are too few.
const AT_LEAST: u64 = 1 << 14;

/// The models by parts, the tracks of the workers, and the state of all.
type SavedParts<M> = (Apart<M>, Vec<Track>, SavedSimulation<M>);

impl<M: Message + Serialize + DeserializeOwned> Simulation<M> {
    /// Like [`Simulation::run_through`], together with other processes, each of which has built the same simulation
    /// and makes the same calls: each one runs a part of the models, in windows as long as the declared minimum
    /// delays between these parts. Afterwards every rank has the state of all models, and the result is that of the
    /// sequential run, byte for byte.
    ///
    /// Only on the first rank observers hear of everything; on the others they are to want the same. `settings.workers`
    /// and `settings.migration` have no meaning here. A flag of [`halt_on`](Simulation::halt_on) is looked at when a
    /// window ends, on all ranks.
    ///
    /// # Errors
    /// As [`Simulation::run_through`], on all ranks alike; [`RunError::Undelayed`] where a wire between
    /// parts has no delay, unless parts may go `in_step`, from cycle to cycle; a unit whose state cannot be saved;
    /// [`RunError::Ranks`] when a rank is lost.
    pub fn run_through_ranks(
        &mut self,
        end: i64,
        settings: &Settings,
        ranks: &mut dyn Ranks,
    ) -> Result<(Ended, Statistics), RunError> {
        let settings =
            Settings { workers: ranks.ranks(), migration: Migration::Never, ..settings.clone() };
        if settings.workers <= 1 {
            return Ok((self.run_through(end)?, Statistics::default()));
        }
        let halt = self.core.halt.take();
        let ended = self.guarded(|this| this.over_ranks(end, &settings, (ranks, &halt)));
        self.core.halt = halt;
        ended
    }

    /// Whether so many ranks can share the models: each can be saved, and there are delays between parts.
    ///
    /// # Errors
    /// The obstacles of a run, as [`run_through_ranks`](Simulation::run_through_ranks) has it.
    pub fn fits_ranks(&mut self, settings: &Settings, ranks: u32) -> Result<(), RunError> {
        let settings = Settings { workers: ranks, migration: Migration::Never, ..settings.clone() };
        for m in 0..self.core.keys.len() as u32 {
            let (kind, slot) = self.core.homes.of(m);
            if let Err(why) = self.slabs.kinds[kind as usize].to_bytes(slot) {
                return Err(self.unsaved(self.core.path(m), &why.to_string()));
            }
        }
        if ranks < 2 {
            return Ok(());
        }
        let parts = self.saved_parts(&settings, false, Some(0));
        parts.map(drop).map_err(|obstacle| self.barred(obstacle))
    }

    fn over_ranks(
        &mut self,
        end: i64,
        settings: &Settings,
        (ranks, halt): (&mut dyn Ranks, &Halt),
    ) -> Result<(Ended, Statistics), RunError> {
        let mut link = Link::new(ranks, halt);
        let ended = self.run_in_windows(end, settings, Some(&mut link));
        if let Err(error) = &ended {
            self.failed.get_or_insert_with(|| error.clone());
        }
        ended
    }
}

/// A saved state, and the last tag that observers were told of since.
type SavedAt<'a, M> = (&'a SavedSimulation<M>, Option<Tag>);

/// Why models do not go in windows.
enum Obstacle {
    /// A wire without a delay.
    Undelayed(Wire),
    /// A model whose state cannot be saved, and why.
    Unsaved(String, String),
}

impl Obstacle {
    /// The model that stands in the way.
    fn path(self) -> String {
        match self {
            Self::Undelayed(wire) => wire.from,
            Self::Unsaved(path, _) => path,
        }
    }
}

impl<M: Message> Simulation<M> {
    pub(super) fn by_windows(
        &mut self,
        end: i64,
        settings: &Settings,
    ) -> Result<(Ended, Statistics), RunError> {
        self.run_in_windows(end, settings, None)
    }

    fn run_in_windows(
        &mut self,
        end: i64,
        settings: &Settings,
        mut others: Others<'_, M>,
    ) -> Result<(Ended, Statistics), RunError> {
        let mut statistics = Statistics::default();
        super::speculation::hush();
        let mut pace = Pace::new(settings);
        // Cycles that go sequentially after something irregular.
        let mut alone = 1u64;
        let mut stretch = FIRST;
        while self.is_parallel(settings) {
            let injected = self.injections.first_key_value().map(|(&at, _)| at);
            // A window ends before the tick that stands for never.
            let limit = injected.map_or(end, |at| end.min(at - 1)).min(i64::MAX - 1);
            // The middle of an instant is for parts that go in step.
            let middle = !self.core.ready.is_empty();
            let windows = self.apart.as_ref().is_some_and(|apart| !apart.layout.is_in_step());
            let plain = !self.staged && (!middle || !windows);
            if !plain || self.earliest().is_none_or(|(at, _)| at > limit) {
                // That, an injection, or the end.
                let Some(tag) = self.next_within(end)? else { break };
                self.cycle(tag)?;
                statistics.sequential_cycles += 1;
                self.agree(lend(&mut others), None)?;
                continue;
            }
            let rank = others.as_ref().map(|others| others.rank());
            let (mut apart, tracks, saved) = match self.saved_parts(settings, middle, rank) {
                Ok(Some(all)) => all,
                Ok(None) => continue,
                Err(obstacle) if rank.is_some() => return Err(self.barred(obstacle)),
                Err(obstacle) => {
                    statistics.no_lookahead = Some(obstacle.path());
                    break;
                }
            };
            let undelayed = apart.layout.undelayed.as_ref();
            statistics.no_lookahead = undelayed.map(|wire| wire.from.clone());
            let (since, start) = (self.core.now.ticks, pace.now());
            let before = statistics.committed;
            let enough = AT_LEAST.max(stretch * self.core.keys.len() as u64);
            let how = (settings, tracks, lend(&mut others));
            let windows = ((limit, enough), &mut apart);
            let (ending, told) = self.windows(windows, how, &pace, &mut statistics)?;
            stretch = if ending.is_planned() { MOST.min(2 * stretch) } else { FIRST };
            let transitions = statistics.committed - before;
            if ending.is_planned() {
                statistics.migrated += self.even_out(&mut apart, transitions);
                apart.saved = Some(saved);
                self.apart = Some(apart);
                let lap = Lap { transitions, nanoseconds: pace.now() - start };
                let run = ((since, lap), &mut pace, &mut statistics);
                match self.after_window(ending, (limit, end), run)? {
                    ControlFlow::Continue(()) => self.agree(lend(&mut others), None)?,
                    ControlFlow::Break(None) => break,
                    ControlFlow::Break(Some(ended)) => return Ok((ended, statistics)),
                }
                continue;
            }
            let again = ((&saved, told), (apart.reached.min(end), end), rank);
            if self.after_fault(ending, again, &mut alone, &mut statistics)?.is_break() {
                break;
            }
            self.agree(lend(&mut others), Some(&saved))?;
        }
        Ok((self.run_through(end)?, statistics))
    }

    /// Goes on after a window that did not end as planned, from the state before: by the sequential executor for a
    /// while, or to the end if a model did not keep its promise; breaks if the caller is to do that.
    fn after_fault(
        &mut self,
        ending: Ending,
        (state, (reached, end), rank): (SavedAt<'_, M>, (i64, i64), Option<u32>),
        alone: &mut u64,
        statistics: &mut Statistics,
    ) -> Result<ControlFlow<()>, RunError> {
        let (saved, told) = state;
        self.again(saved, told)?;
        match ending {
            // The state is now that of which observers know.
            Ending::Lost(lost) => return Err(lost.into()),
            Ending::Stopped(reason) => self.core.stop = Some(reason),
            Ending::Broken(model) => {
                statistics.no_lookahead = Some(self.core.path(model));
                if rank.is_none() {
                    return Ok(ControlFlow::Break(()));
                }
                // All ranks are to come to the same end, also if an observer of one stops the run.
                self.sequentially(end, 0, end)?;
            }
            _ => {
                let before = self.core.counts.cycles;
                self.sequentially(reached, *alone, end)?;
                statistics.sequential_cycles += self.core.counts.cycles - before;
                *alone = (2 * *alone).min(1 << 20);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Goes on after a window that ended as planned: breaks at the end of the run, or with the reason for which
    /// an observer stops it.
    fn after_window(
        &mut self,
        ending: Ending,
        (limit, end): (i64, i64),
        (lap, pace, statistics): ((i64, Lap), &mut Pace, &mut Statistics),
    ) -> Result<ControlFlow<Option<Ended>>, RunError> {
        match ending {
            Ending::Reached if limit == end => return Ok(ControlFlow::Break(None)),
            // Then comes an injection.
            Ending::Reached => self.sequentially(limit, 1, end)?,
            Ending::Poor => {
                let ended = self.rest(end, lap, pace, statistics)?;
                if matches!(ended, Ended::Stopped(_)) {
                    return Ok(ControlFlow::Break(Some(ended)));
                }
            }
            Ending::Halted(reason) => self.core.stop = Some(reason),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The models by parts, and their saved state; nothing in the middle of an instant, unless parts go in
    /// step.
    fn saved_parts(
        &mut self,
        settings: &Settings,
        middle: bool,
        rank: Option<u32>,
    ) -> Result<Option<SavedParts<M>>, Obstacle> {
        let (network, keys) = (&self.core.network, &self.core.keys);
        let deal = Deal::of(self.deal.take(), settings, keys, network);
        let tracks = deal.tracks.clone();
        let apart = Apart::of(self, &deal.parts, (settings.workers.max(1), rank));
        self.deal = Some(deal);
        let mut apart = apart.map_err(Obstacle::Undelayed)?;
        if let Some(wire) = apart.layout.undelayed.as_ref().filter(|_| !settings.in_step) {
            return Err(Obstacle::Undelayed(wire.clone()));
        }
        if middle && !apart.layout.is_in_step() {
            self.apart = Some(apart);
            return Ok(None);
        }
        match self.save_again(apart.saved.take()) {
            Ok(saved) => Ok(Some((apart, tracks, saved))),
            Err(CheckpointError::Unit { path, source }) => {
                Err(Obstacle::Unsaved(path, source.to_string()))
            }
            Err(other) => Err(Obstacle::Unsaved(other.to_string(), String::new())),
        }
    }

    /// The error of a run over ranks that cannot go in windows.
    fn barred(&self, obstacle: Obstacle) -> RunError {
        match obstacle {
            Obstacle::Undelayed(Wire { from, port, to }) => RunError::Undelayed { from, port, to },
            Obstacle::Unsaved(path, why) => self.unsaved(path, &why),
        }
    }

    /// Moves models from a worker that has much more to do than the others; how many moved.
    fn even_out(&mut self, apart: &mut Apart<M>, transitions: u64) -> u64 {
        let Some(deal) = &mut self.deal else { return 0 };
        if !deal.balance.is_due(transitions) || apart.layout.is_in_step() {
            return 0;
        }
        let mut migrated = 0;
        let [executed, took] = &mut apart.work;
        if deal.balance.is_uneven(executed, took) {
            migrated = deal.even_out(&self.core.network, &apart.layout.parts, took);
        }
        executed.fill(0);
        took.fill(0);
        migrated
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

    /// Windows up to a tick or so many transitions; why they ended, and the last tag that observers know of. Unless
    /// that was as planned, only models are where they were, and all else is to be restored.
    ///
    /// # Errors
    /// When a rank is lost, or a model cannot be told to the others.
    fn windows(
        &mut self,
        (upto, apart): ((i64, u64), &mut Apart<M>),
        (settings, tracks, mut others): (&Settings, Vec<Track>, Others<'_, M>),
        pace: &Pace,
        statistics: &mut Statistics,
    ) -> Result<(Ending, Option<Tag>), RunError> {
        let live_state_bytes = self.live_bytes();
        self.deal_out(apart);
        let mut observers = std::mem::take(&mut self.core.observers);
        let judged = settings.schedule == Schedule::Threads && others.is_none();
        let telling = Telling::new(&self.core, &mut observers, self.ran);
        let parts = std::mem::take(&mut apart.parts).into_iter();
        let workers = apart.layout.workers;
        let leader = Leader::new(telling, pace.trial(judged), upto, others.is_some());
        let crew = Crew {
            layout: &apart.layout,
            parts: parts.map(|(n, part)| (n, Mutex::new(part))).collect(),
            mail: (0..2 * workers).map(|_| Mutex::default()).collect(),
            leader: Mutex::new(leader),
            tracks,
            late: apart.layout.has_listeners(),
        };
        let start = pace.now();
        // Models come home also when an observer panics.
        let ending = catch_unwind(AssertUnwindSafe(|| crew.work(settings, lend(&mut others))));
        let elapsed = pace.now() - start;
        let Crew { parts, leader, .. } = crew;
        let leader = leader.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Leader { telling, windows, empty, length, goal, .. } = leader;
        let Telling { counts, now, ran, stop, .. } = telling;
        let mut told = Told { now, ran, counts, stop, work: Default::default() };
        apart.parts = parts
            .into_iter()
            .map(|(n, part)| (n, part.into_inner().unwrap_or_else(PoisonError::into_inner)))
            .collect();
        apart.reached = goal.ticks;
        told.work = apart.take_work(settings.clock.is_some()).into();
        self.core.observers = observers;
        self.come_together(apart);
        let mut ending = ending.unwrap_or_else(|panic| {
            self.core.now = told.now;
            resume_unwind(panic)
        });
        if let Some(abroad) = others {
            ending = self.gather(abroad, &apart.layout, ending, &mut told)?;
        }
        let Told { now, ran, counts, work: [executed, busy], .. } = told;
        let planned = ending.is_planned();
        statistics.add(&Statistics {
            committed: if planned { counts.transitions() } else { 0 },
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
        if planned {
            self.core.now = now;
            self.core.counts.add(counts);
            self.ran = ran;
            self.floor = self.floor.max(if ran { now.ticks } else { self.floor });
        }
        Ok((ending, ran.then_some(now)))
    }

    /// Models of other ranks come home after windows, if these ended as planned; how they ended for all.
    fn gather(
        &mut self,
        abroad: &mut dyn Abroad<M>,
        layout: &Layout,
        ending: Ending,
        told: &mut Told,
    ) -> Result<Ending, RunError> {
        if let Ending::Lost(_) = ending {
            return Ok(ending);
        }
        match self.meet(abroad, layout, told, ending.is_planned()) {
            Err(RunError::Ranks { why }) => return Ok(Ending::Lost(LostRank { why })),
            met => met?,
        }
        Ok(match told.stop.take() {
            Some(reason) if ending.is_planned() => Ending::Stopped(reason),
            _ => ending,
        })
    }

    /// The size of the states of all models, without what they own on the heap.
    pub(super) fn live_bytes(&self) -> u64 {
        let homes = (0..self.core.keys.len() as u32).map(|m| self.core.homes.of(m));
        let size =
            |(kind, slot): (u16, u32)| size_of_val(self.slabs.kinds[kind as usize].model(slot));
        homes.map(|home| size(home) as u64).sum()
    }
}
