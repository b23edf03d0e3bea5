//! Calls of model code on what may not be true.
//!
//! **Why a hook.** A model may panic on a bag that is not complete yet. That is undone and nobody
//! must hear of it, but the standard hook prints before anyone can know. So while a worker calls a
//! model, the hook keeps silent; what panics again in the sequential cycle is told as ever.
use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    static SPECULATES: Cell<bool> = const { Cell::new(false) };
}

/// Puts a hook before the present one, once per process.
pub(super) fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SPECULATES.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });
}

/// Calls model code; nothing when it panics.
pub(super) fn speculate<R>(call: impl FnOnce() -> R) -> Option<R> {
    let before = SPECULATES.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    SPECULATES.set(before);
    result.ok()
}
