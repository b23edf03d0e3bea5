//! Atomics and locks for `meeting.rs` and `rounds.rs`; `tests/loom.rs` has the same names from
//! loom.
pub(super) use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::yield_now,
};
