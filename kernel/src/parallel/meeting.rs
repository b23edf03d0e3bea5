//! Where threads wait for each other; the last one to come may do something for all.
//!
//! Checked for all orders in which threads may go, as `rounds.rs` is: `tests/loom.rs`.
use super::sync::{AtomicBool, AtomicUsize, Ordering, spin_loop, yield_now};

/// Turns in which a thread waits for the others before it lets another one have its core.
const SPINS: u32 = 4096;

#[derive(Debug)]
pub(super) struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    number: AtomicUsize,
    /// A thread panicked, and none must wait for it.
    pub over: AtomicBool,
}

impl Meeting {
    pub(super) fn of(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        Self { threads, arrived: zero(), number: zero(), over: AtomicBool::new(false) }
    }

    /// Waits for all; whether to go on.
    pub(super) fn meet(&self, last: impl FnOnce()) -> bool {
        let number = self.number.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            last();
            self.arrived.store(0, Ordering::Relaxed);
            self.number.store(number + 1, Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.number.load(Ordering::Acquire) == number {
            if self.over.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            if spins < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
        true
    }
}
