//! Cuts: workers say how far they are, GVT follows, and what lies before it is committed.
use super::{
    Statistics,
    commit::{Committed, Cut},
    partition::Balance,
    rounds::Rounds,
    telling::Telling,
    threads,
    worker::{Tally, Worker, World},
};
use crate::{core::Counts, message::Message, time::Tag};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Undone transitions on which the window depends, at least.
const EVIDENCE: u64 = 16;
/// Idle turns of a thread in which it spins, before it takes up what others leave lying.
const SPINS: u32 = 24;
/// Idle turns before it sleeps.
const PATIENCE: u32 = 400;
/// Sleep of an idle thread.
const NAP: Duration = Duration::from_micros(50);

/// The coordinator's orders to the workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders {
    pub gvt: Tag,
    /// Observers know all before this.
    pub kept: Tag,
    /// Undo what is at or after this tag and come home.
    pub halt: Option<Tag>,
}

/// Takes what workers say at their cuts, and commits.
pub(super) struct Coordinator {
    pub orders: Orders,
    /// By worker: the last tick to which it may go.
    pub horizons: Vec<i64>,
    pub window: i64,
    /// Whether loads are even.
    pub balance: Balance,
    pub rounds: u64,
    /// Rounds in which nothing was executed, and what was up to the last one.
    pub empty: u64,
    pub executed: u64,
    /// Nanoseconds on threads.
    pub elapsed: u64,
    pub last: (u64, u64),
    /// Why the sequential executor has to go on.
    pub parted: Option<Parted>,
}

/// Why the sequential executor has to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parted {
    /// An event that only it may run.
    Irregular,
    /// One worker has much more to do than the others.
    Skewed,
}

impl Coordinator {
    /// Counts of all workers.
    pub(super) fn statistics<M: Message>(&self, crew: &[Worker<M>], counts: &Counts) -> Statistics {
        Statistics {
            executed: crew.iter().map(|w| w.tally.executed).collect(),
            busy: crew.iter().map(|w| w.tally.busy).collect(),
            elapsed: self.elapsed,
            committed: counts.transitions(),
            rolled_back: crew.iter().map(|w| w.tally.undone).sum(),
            rollbacks: crew.iter().map(|w| w.tally.rollbacks).sum(),
            anti_messages: crew.iter().map(|w| w.tally.antis).sum(),
            gvt_rounds: self.rounds,
            empty_rounds: self.empty,
            peak_saved_bytes: crew.iter().map(|w| w.history.peak as u64).sum(),
            live_state_bytes: crew.iter().map(Worker::live_bytes).sum(),
            window: self.window,
            ..Statistics::default()
        }
    }

    /// All workers have cut: commit, and the next orders.
    pub(super) fn merge<M: Message>(
        &mut self,
        cuts: &[Cut],
        committed: &mut [Committed<M>],
        telling: &mut Telling<'_, M>,
    ) {
        self.rounds += 1;
        let least = cuts.iter().map(|c| c.own.min(c.sent)).min().unwrap_or(Tag::NEVER);
        let barrier = cuts.iter().map(|c| c.barrier).min().unwrap_or(Tag::NEVER);
        let front = cuts.iter().map(|c| c.front).max().unwrap_or(i64::MIN);
        let failed = cuts.iter().any(|c| c.failed);
        let executed: u64 = cuts.iter().map(|c| c.tally.executed).sum();
        let undone: u64 = cuts.iter().map(|c| c.tally.undone).sum();
        self.empty += u64::from(executed == self.executed);
        self.executed = executed;
        let orders = &mut self.orders;
        if let Some(after) = telling.tell(committed, orders.gvt) {
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
            self.parted = Some(Parted::Irregular);
        }
        // A stretch without anything committed would begin anew for nothing.
        if orders.halt.is_none() && telling.counts.cycles > 0 {
            let tallies: Vec<Tally> = cuts.iter().map(|c| c.tally).collect();
            if self.balance.is_skewed(&tallies) {
                orders.halt = Some(all_told);
                self.parted = Some(Parted::Skewed);
            }
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
            self.horizons.fill(orders.gvt.ticks.saturating_add(self.window));
        }
    }

    /// Workers on threads, of which there are no more than cores. The one that cuts last finds GVT
    /// and commits; nobody waits for it.
    pub(super) fn threads<M: Message>(
        &mut self,
        world: &World<'_, M>,
        crew: &mut [Worker<M>],
        telling: &mut Telling<'_, M>,
    ) {
        let now = || world.settings.clock.map_or(0, |clock| clock());
        let start = now();
        let threads = threads::for_workers(crew.len());
        let size = crew.len();
        let seat = |worker| Mutex::new(Seat { worker, learned: 0, seen: 0, idle: false });
        let shared = Shared {
            rounds: Rounds::new(Round {
                coordinator: self,
                telling,
                cuts: vec![None; size],
                committed: Vec::new(),
                spare: (0..size).map(|_| Committed::default()).collect(),
            }),
            seats: crew.iter_mut().map(seat).collect(),
            threads,
            over: AtomicBool::new(false),
        };
        threads::serve(threads, |me| shared.serve(me, world));
        self.elapsed = now() - start;
        if let Some(tag) = self.orders.halt {
            crew.iter_mut().for_each(|worker| worker.undo_from(tag));
        }
    }
}

/// One round of cuts.
struct Round<'a, 't, M: Message> {
    coordinator: &'a mut Coordinator,
    telling: &'a mut Telling<'t, M>,
    /// By worker.
    cuts: Vec<Option<Cut>>,
    committed: Vec<Committed<M>>,
    /// Empty ones to fill.
    spare: Vec<Committed<M>>,
}

/// A worker, which one thread at a time serves.
struct Seat<'a, M: Message> {
    worker: &'a mut Worker<M>,
    /// The last round whose outcome it knows.
    learned: u64,
    /// The last round in which it cut.
    seen: u64,
    /// It had nothing to do the last time.
    idle: bool,
}

/// Data that threads share.
///
/// **Why threads take workers.** A thread for each worker stands still when it has lost its core to
/// somebody else, or when there are more workers than cores, and with it everybody who waits for
/// its cut. Here whoever has nothing to do takes up what lies there, so that a round never waits
/// for a thread to wake up; on a quiet machine each thread stays with its own workers.
struct Shared<'a, 't, M: Message> {
    rounds: Rounds<Round<'a, 't, M>>,
    seats: Vec<Mutex<Seat<'a, M>>>,
    threads: usize,
    /// Go home; or a thread panicked, in an observer or by a defect, and none must wait for it.
    over: AtomicBool,
}

/// Tells the others when its thread panics.
pub(super) struct Alarm<'a>(pub &'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl<'a, 't, M: Message> Shared<'a, 't, M> {
    fn serve(&self, me: usize, world: &World<'_, M>) {
        let mut idle = 0;
        let _alarm = Alarm(&self.over);
        while !self.over.load(Ordering::Relaxed) {
            let mut busy = false;
            for i in (me..self.seats.len()).step_by(self.threads) {
                busy |= self.turn(i, world);
            }
            if !busy && idle > SPINS {
                busy = (0..self.seats.len()).any(|i| self.turn(i, world));
            }
            if busy {
                idle = 0;
                continue;
            }
            idle += 1;
            if idle <= SPINS {
                (0..1 << (idle / 4)).for_each(|_| std::hint::spin_loop());
            } else if idle <= PATIENCE {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
        }
    }

    /// A batch of a worker, and its cut when it is time; tells whether it did anything.
    fn turn(&self, i: usize, world: &World<'_, M>) -> bool {
        // Someone else serves it, or panicked in it.
        let Ok(mut seat) = self.seats[i].try_lock() else {
            return false;
        };
        let start = world.settings.clock.map(|clock| clock());
        let busy = self.attend(i, &mut seat, world);
        self.press(&seat, world);
        if let (Some(clock), Some(start), true) = (world.settings.clock, start, busy) {
            seat.worker.tally.busy += clock().saturating_sub(start);
        }
        busy
    }

    fn attend(&self, i: usize, seat: &mut Seat<'_, M>, world: &World<'_, M>) -> bool {
        let now = self.rounds.number();
        if seat.learned != now {
            seat.learned = now;
            let (orders, horizon) =
                self.rounds.look(|round| (round.coordinator.orders, round.coordinator.horizons[i]));
            seat.worker.learn(world, orders.gvt, horizon);
        }
        // Messages that were under way at the last cut are here now, so that the horizon holds.
        seat.worker.receive(world);
        let done = {
            let _mark = seat.worker.track.clone().batch(|| seat.worker.is_due());
            seat.worker.work(world, world.settings.batch)
        };
        seat.idle = done == 0;
        // After each batch: what is committed soon is still in the cache.
        if seat.seen != now {
            self.cut(i, seat, now, world);
        }
        // A cut alone is not counted: who only cuts takes up what others leave lying.
        done > 0
    }

    /// After a worker's cut, attends to those that had nothing to do: their threads may be asleep,
    /// and until all have cut nothing is committed.
    fn press(&self, cut: &Seat<'_, M>, world: &World<'_, M>) {
        for (i, seat) in self.seats.iter().enumerate() {
            let now = self.rounds.number();
            if cut.seen != now {
                return;
            }
            let Ok(mut seat) = seat.try_lock() else { continue };
            if seat.seen != now && seat.idle {
                self.attend(i, &mut seat, world);
            }
        }
    }

    /// A worker's cut in the present round.
    fn cut(&self, i: usize, seat: &mut Seat<'_, M>, now: u64, world: &World<'_, M>) {
        seat.seen = now;
        let worker = &mut *seat.worker;
        let Some((orders, mut handed)) = self.rounds.look(|round| {
            let orders = round.coordinator.orders;
            orders.halt.is_none().then(|| (orders, round.spare.pop().unwrap_or_default()))
        }) else {
            return;
        };
        let cut = {
            let _mark = worker.track.cut(orders.gvt);
            worker.cut(world, orders.gvt, orders.kept, &mut handed)
        };
        self.rounds.hand_in(|round| {
            let Round { coordinator, telling, cuts, committed, spare } = round;
            cuts[i] = Some(cut);
            committed.push(handed);
            let all = committed.len() == cuts.len();
            if all {
                let told: Vec<Cut> = cuts.iter_mut().filter_map(Option::take).collect();
                let _mark = worker.track.commit(coordinator.rounds);
                coordinator.merge(&told, committed, telling);
                spare.append(committed);
                if coordinator.orders.halt.is_some() {
                    self.over.store(true, Ordering::Release);
                }
            }
            all
        });
    }
}
