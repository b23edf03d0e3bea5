//! Which model a panic comes from.
use std::cell::Cell;

thread_local! {
    static PANICKED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A call of a model, to be forgotten afterwards: only a panic drops it, and so nothing else costs time.
pub(crate) struct Call(pub u32);

impl Call {
    /// Calls a model.
    #[inline(always)]
    pub(crate) fn of<R>(model: u32, call: impl FnOnce() -> R) -> R {
        let this = Self(model);
        let result = call();
        std::mem::forget(this);
        result
    }

    /// The model in which the last panic of this thread was, if nobody asked since.
    pub(crate) fn last() -> Option<u32> {
        PANICKED.take()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        PANICKED.set(Some(self.0));
    }
}
