//! What threads of the executors share; `tests/loom.rs` has the same names from loom.
pub(super) use crossbeam::queue::SegQueue as Inbox;
pub(super) use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::yield_now,
};
