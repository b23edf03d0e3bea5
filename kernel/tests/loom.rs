//! Structures that threads of the parallel executors share, in all orders in which they may go
//! (loom): the source files of the library, with loom's atomics and locks instead of those of the
//! standard library.
#![allow(dead_code, unused_imports, reason = "the library uses more of these files")]

mod sync {
    pub(super) use loom::{
        hint::spin_loop,
        sync::{
            Mutex, MutexGuard,
            atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        },
        thread::yield_now,
    };
    pub(super) use std::sync::PoisonError;
}

#[path = "../src/parallel/meeting.rs"]
mod meeting;
#[path = "../src/parallel/rounds.rs"]
mod rounds;

use loom::{sync::Arc, thread};
use meeting::Meeting;
use rounds::Rounds;
use std::collections::VecDeque;
use sync::{Mutex, Ordering};

/// As few switches of threads as find the known kinds of mistakes (Musuvathi & Qadeer 2007).
fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// Nobody goes on before all have come and the last one has done its part, in meeting after meeting.
#[test]
fn all_meet() {
    explore(|| {
        let meeting = Arc::new(Meeting::of(2));
        let work = Arc::new([(); 2].map(|()| loom::sync::atomic::AtomicUsize::new(0)));
        let sum = Arc::new(Mutex::new(0));
        let serve = |me: usize| {
            let (meeting, work, sum) = (meeting.clone(), work.clone(), sum.clone());
            move || {
                for round in 1..=2 {
                    // Relaxed: the meeting alone makes it known.
                    work[me].store(round, Ordering::Relaxed);
                    let judge = || {
                        let all = work.iter().map(|w| w.load(Ordering::Relaxed)).sum::<usize>();
                        assert_eq!(all, 2 * round);
                        *sum.lock().unwrap() += all;
                    };
                    assert!(meeting.meet(judge));
                    assert_eq!(*sum.lock().unwrap(), round * (round + 1));
                    // The others do not begin the next one before this one looks.
                    assert!(meeting.meet(|| ()));
                }
            }
        };
        let other = thread::spawn(serve(1));
        serve(0)();
        other.join().unwrap();
    });
}

/// Who waits for a thread that panicked goes home.
#[test]
fn nobody_waits_for_a_thread_that_is_gone() {
    explore(|| {
        let meeting = Arc::new(Meeting::of(2));
        let gone = meeting.clone();
        let other = thread::spawn(move || gone.over.store(true, Ordering::Release));
        assert!(!meeting.meet(|| ()));
        other.join().unwrap();
    });
}

const NEVER: u64 = u64::MAX;

/// Data that workers share: their cuts with GVT, and the messages under way.
struct World {
    rounds: Rounds<Told>,
    inboxes: [Mutex<VecDeque<u64>>; 2],
}

#[derive(Default)]
struct Told {
    cuts: [Option<u64>; 2],
    gvt: u64,
}

/// A worker in miniature, with the rule of the real ones for cuts: its events each cause one at the
/// other worker, so much later. Inboxes are queues behind locks here.
struct Worker {
    me: usize,
    due: Vec<u64>,
    sent: u64,
    seen: u64,
}

impl Worker {
    fn receive(&mut self, world: &World) {
        while let Some(at) = world.inboxes[self.me].lock().unwrap().pop_front() {
            let gvt = world.rounds.look(|told| told.gvt);
            assert!(at >= gvt, "a message at {at} comes behind GVT {gvt}");
            self.due.push(at);
        }
    }

    /// Its earliest event is over, and what that causes is under way.
    fn work(&mut self, world: &World, delay: Option<u64>) {
        self.due.sort_unstable();
        if self.due.is_empty() {
            return;
        }
        let at = self.due.remove(0);
        if let Some(delay) = delay {
            self.sent = self.sent.min(at + delay);
            world.inboxes[1 - self.me].lock().unwrap().push_back(at + delay);
        }
    }

    /// Empties its inbox, and tells the least of its keys and of all tags that it sent since.
    fn cut(&mut self, world: &World) {
        let now = world.rounds.number();
        if self.seen == now {
            return;
        }
        self.seen = now;
        self.receive(world);
        let own = self.due.iter().copied().min().unwrap_or(NEVER);
        let least = own.min(std::mem::replace(&mut self.sent, NEVER));
        world.rounds.hand_in(|told| {
            told.cuts[self.me] = Some(least);
            let all = told.cuts.iter().all(Option::is_some);
            if all {
                let least = told.cuts.iter_mut().filter_map(Option::take).min();
                assert!(least >= Some(told.gvt), "GVT goes back");
                told.gvt = least.unwrap_or(NEVER);
            }
            all
        });
    }
}

/// No message is overtaken by GVT, whenever it is sent and whenever workers cut.
#[test]
fn gvt_passes_no_message_under_way() {
    explore(|| {
        let world = Arc::new(World {
            rounds: Rounds::new(Told::default()),
            inboxes: [(); 2].map(|()| Mutex::new(VecDeque::new())),
        });
        let serve = |me: usize| {
            let world = world.clone();
            move || {
                let due = vec![1 + me as u64];
                let mut worker = Worker { me, due, sent: NEVER, seen: 0 };
                worker.work(&world, Some(1));
                worker.cut(&world);
                worker.receive(&world);
                worker.work(&world, (me == 0).then_some(1));
                worker.cut(&world);
                worker.receive(&world);
                worker.cut(&world);
            }
        };
        let other = thread::spawn(serve(1));
        serve(0)();
        other.join().unwrap();
    });
}

/// Who sees a new number sees what the round came to.
#[test]
fn a_new_round_shows_what_the_last_one_came_to() {
    explore(|| {
        let rounds = Arc::new(Rounds::new((0u32, 0u32)));
        let hand = rounds.clone();
        let other = thread::spawn(move || {
            hand.hand_in(|(count, result)| {
                *count += 1;
                *result += u32::from(*count == 2);
                *count == 2
            });
        });
        rounds.hand_in(|(count, result)| {
            *count += 1;
            *result += u32::from(*count == 2);
            *count == 2
        });
        if rounds.number() == 2 {
            assert_eq!(rounds.look(|&mut (_, result)| result), 1);
        }
        other.join().unwrap();
        assert_eq!(rounds.number(), 2);
    });
}
