//! Rounds of cuts: what workers hand in, one after another, and the number of the round, which tells
//! each of them that another one began.
//!
//! With `super::sync` from loom instead of the standard library this file is checked for all orders
//! in which threads may go: `tests/loom.rs`.
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};

/// The values that are handed in, `R`, behind one lock.
#[derive(Debug)]
pub(super) struct Rounds<R> {
    /// The first round is number 1.
    number: AtomicU64,
    round: Mutex<R>,
}

impl<R> Rounds<R> {
    pub(super) fn new(round: R) -> Self {
        Self { number: AtomicU64::new(1), round: Mutex::new(round) }
    }

    /// The number of the present round. Who sees a new one sees also what the last one came to.
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&mut R) -> T) -> T {
        look(&mut self.lock())
    }

    /// Hands something in; what ends the round returns true.
    pub(super) fn hand_in(&self, hand: impl FnOnce(&mut R) -> bool) {
        let mut round = self.lock();
        if hand(&mut round) {
            self.number.fetch_add(1, Ordering::Release);
        }
    }

    /// A panic of an observer ends the run elsewhere.
    fn lock(&self) -> MutexGuard<'_, R> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
