//! Cuts: workers say how far they are, GVT follows, and what lies before it is committed.
use super::{
    commit::{Committed, Cut},
    telling::Telling,
    worker::{Worker, World},
};
use crate::{message::Message, time::Tag};
use crossbeam::utils::Backoff;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Batches of a worker between cuts, unless it is idle.
const BATCHES: usize = 8;
/// Undone transitions on which the window depends, at least.
const EVIDENCE: u64 = 16;
/// Turns without work before a worker sleeps.
const PATIENCE: u32 = 100;
/// Sleep of an idle worker.
const NAP: Duration = Duration::from_micros(20);

/// What the coordinator tells the workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders {
    pub gvt: Tag,
    /// Observers know all before this.
    pub kept: Tag,
    pub horizon: i64,
    /// Undo what is at or after this tag and come home.
    pub halt: Option<Tag>,
}

/// Takes what workers say at their cuts, and commits.
pub(super) struct Coordinator {
    pub orders: Orders,
    pub window: i64,
    /// The least lookahead, in ticks, of the conservative executor.
    pub lookahead: Option<i64>,
    pub rounds: u64,
    pub last: (u64, u64),
    pub rendezvous: bool,
}

impl Coordinator {
    /// All workers have cut: commit, and the next orders.
    pub(super) fn merge<M: Message>(
        &mut self,
        cuts: &[Cut],
        committed: &mut [Committed<M>],
        telling: &mut Telling<'_, M>,
    ) {
        self.rounds += 1;
        let least = cuts.iter().map(|c| c.least).min().unwrap_or(Tag::NEVER);
        let barrier = cuts.iter().map(|c| c.barrier).min().unwrap_or(Tag::NEVER);
        let front = cuts.iter().map(|c| c.front).max().unwrap_or(i64::MIN);
        let promise = cuts.iter().map(|c| c.promise).min().unwrap_or(i64::MAX);
        let failed = cuts.iter().any(|c| c.failed);
        let executed: u64 = cuts.iter().map(|c| c.tally.executed).sum();
        let undone: u64 = cuts.iter().map(|c| c.tally.undone).sum();
        let orders = &mut self.orders;
        if let Some(after) = telling.tell(committed) {
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
        if let Some(lookahead) = self.lookahead {
            // What leaves a worker from now on leaves at this tick or later.
            let safe = promise.min(orders.gvt.ticks.saturating_add(lookahead)).saturating_sub(1);
            orders.horizon = safe.max(orders.horizon);
            self.window = orders.horizon.saturating_sub(orders.gvt.ticks.max(0)).max(0);
            return;
        }
        let (done, back) = (executed - self.last.0, undone - self.last.1);
        // A few rollbacks are no evidence: a window that shrank to a handful of events would stay.
        let thrashes = back * 5 > done && back >= EVIDENCE;
        if thrashes || done >= 64 * EVIDENCE {
            self.last = (executed, undone);
        }
        if thrashes {
            let spread = front.saturating_sub(orders.gvt.ticks.max(i64::MIN / 2)).max(2);
            self.window = (self.window.min(spread) / 2).max(1);
        } else {
            self.window = self.window.saturating_mul(2);
        }
        if orders.gvt.ticks != i64::MIN {
            orders.horizon = orders.gvt.ticks.saturating_add(self.window);
        }
    }

    /// Workers as threads. The one that cuts last finds GVT and commits; nobody waits for it.
    pub fn threads<M: Message>(
        &mut self,
        world: &World<'_, M>,
        crew: &mut [Worker<M>],
        telling: &mut Telling<'_, M>,
    ) {
        let size = crew.len();
        let shared = Shared {
            epoch: AtomicU64::new(1),
            round: Mutex::new(Round {
                coordinator: self,
                telling,
                cuts: Vec::new(),
                committed: Vec::new(),
                spare: crew.iter().map(|_| Committed::default()).collect(),
                size,
            }),
            broken: AtomicBool::new(false),
        };
        let [first, others @ ..] = crew else { return };
        let joined = crossbeam::thread::scope(|scope| {
            for worker in others {
                scope.spawn(|_| shared.serve(worker, world));
            }
            shared.serve(first, world);
        });
        if let Err(panic) = joined {
            std::panic::resume_unwind(panic);
        }
    }
}

/// One round of cuts.
struct Round<'a, 't, M: Message> {
    coordinator: &'a mut Coordinator,
    telling: &'a mut Telling<'t, M>,
    cuts: Vec<Cut>,
    committed: Vec<Committed<M>>,
    /// Empty ones to fill.
    spare: Vec<Committed<M>>,
    size: usize,
}

struct Shared<'a, 't, M: Message> {
    /// Counts rounds; the first is number 1.
    epoch: AtomicU64,
    round: Mutex<Round<'a, 't, M>>,
    /// A worker panicked, in an observer or by a defect: the others must not wait for it.
    broken: AtomicBool,
}

/// Tells the others when its worker panics.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<M: Message> Shared<'_, '_, M> {
    fn serve(&self, worker: &mut Worker<M>, world: &World<'_, M>) {
        let (mut seen, mut batches, mut idle) = (0, 0, 0);
        let backoff = Backoff::new();
        let _alarm = Alarm(&self.broken);
        while !self.broken.load(Ordering::Relaxed) {
            worker.receive(world);
            let done = worker.work(world, world.settings.batch);
            batches += 1;
            let now = self.epoch.load(Ordering::Acquire);
            if now != seen && (done == 0 || batches >= BATCHES) {
                (seen, batches) = (now, 0);
                if let Some(tag) = self.cut(worker, world) {
                    return worker.undo_from(tag);
                }
            } else if done > 0 {
                idle = 0;
                backoff.reset();
            } else if idle < PATIENCE {
                idle += 1;
                backoff.snooze();
            } else {
                thread::sleep(NAP);
            }
        }
    }

    /// A worker's cut in the present round; where to undo when that is the last.
    fn cut(&self, worker: &mut Worker<M>, world: &World<'_, M>) -> Option<Tag> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let orders = round.coordinator.orders;
        if orders.halt.is_some() {
            return orders.halt;
        }
        let mut handed = round.spare.pop().unwrap_or_default();
        drop(round);
        worker.horizon = orders.horizon;
        let cut = worker.cut(world, orders.gvt, orders.kept, &mut handed);
        round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let Round { coordinator, telling, cuts, committed, spare, size } = &mut *round;
        cuts.push(cut);
        committed.push(handed);
        if cuts.len() == *size {
            coordinator.merge(cuts, committed, telling);
            cuts.clear();
            spare.append(committed);
            self.epoch.fetch_add(1, Ordering::Release);
        }
        None
    }
}
