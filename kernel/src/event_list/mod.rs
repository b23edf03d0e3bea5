//! Event lists: which model fires next, and when.
//!
//! An event list holds the pending *internal events* of a simulation. Models are dense indices
//! `0..n`; each has **at most one** pending time, so the list is a map from model to time that
//! can also tell its earliest time. Times are ticks; the micro-step of every event in the list is
//! zero, because events of zero time advance never reach it.
//!
//! | list | next, take, schedule | move, cancel | use it |
//! | --- | --- | --- | --- |
//! | [`LadderList`] | O(1) amortised | O(1) | by default |
//! | [`HeapList`] | O(log n) | O(log n) | to have a worst case per operation |
//! | [`ReferenceList`] | O(log n) | O(log n) | to check the other two |
//!
//! # Why
//!
//! The trait is generic and statically dispatched: a kernel that spends some tens of instructions
//! per event cannot spend five on a virtual call and lose inlining with it. [`AnyEventList`] is
//! for the place where the choice is made at run time; its `match` is one predictable branch.
//!
//! There is no "earliest time among the others": after [`take`](EventList::take) the imminent
//! models are gone, so [`next_time`](EventList::next_time) is that time.
//!
//! ```
//! use superdense_kernel::event_list::{EventList, LadderList};
//!
//! let mut list = LadderList::default();
//! list.reset(3);
//! list.schedule(0, 20);
//! list.schedule(1, 10);
//! list.schedule(2, 10);
//! list.schedule(2, 20); // moves it
//! assert_eq!(list.next_time(), Some(10));
//!
//! let mut imminent = Vec::new();
//! assert_eq!(list.take(9, &mut |model| imminent.push(model)), None);
//! assert_eq!(list.take(15, &mut |model| imminent.push(model)), Some(10));
//! assert_eq!(imminent, [1]);
//! assert_eq!(list.next_time(), Some(20));
//! assert_eq!(list.len(), 2);
//! ```

mod any;
mod heap;
mod ladder;
mod reference;
#[cfg(test)]
mod tests;

pub use any::{AnyEventList, EventListKind, UnknownEventList};
pub use heap::HeapList;
pub use ladder::LadderList;
pub use reference::ReferenceList;

/// The earliest time that an event list accepts, in ticks.
pub const EARLIEST: i64 = -(1 << 62);

/// The latest time that an event list accepts, in ticks; `i64::MAX` stands for "never".
pub const LATEST: i64 = i64::MAX - 1;

/// The largest number of models that an event list has room for.
pub const MAX_MODELS: usize = 1 << 30;

/// The pending internal events of models `0..n`, at most one each.
///
/// Times lie in [`EARLIEST`]`..=`[`LATEST`]. A model index that [`reset`](Self::reset) made no
/// room for is a bug of the caller and panics, except in [`time_of`](Self::time_of) and
/// [`cancel`](Self::cancel), for which such a model is merely not pending.
pub trait EventList: Default + Send {
    /// Drops every event and makes room for models `0..models`. O(n).
    ///
    /// # Panics
    /// When `models` exceeds [`MAX_MODELS`].
    fn reset(&mut self, models: usize);

    /// Sets the time of `model`, or moves it when it has one.
    ///
    /// Times before the last one taken are legal: the list keeps no clock.
    fn schedule(&mut self, model: u32, at: i64);

    /// Removes the event of `model`; nothing happens when it has none.
    fn cancel(&mut self, model: u32);

    /// The earliest pending time. It may reorganise the list, hence `&mut`.
    fn next_time(&mut self) -> Option<i64>;

    /// Removes every model of the earliest time, unless that is later than `limit`, and hands it to
    /// `sink`, in an order that depends on nothing but the calls made since `reset`; returns that
    /// time.
    fn take(&mut self, limit: i64, sink: &mut impl FnMut(u32)) -> Option<i64>;

    /// Takes a single model, where the list can tell at once that only one has the earliest time;
    /// `None` says nothing.
    fn take_alone(&mut self, limit: i64) -> Option<(i64, u32)> {
        let _ = limit;
        None
    }

    /// A model that is likely to be taken next and its time, where that can be told at once; what
    /// it is good for is memory that comes in time, so it may be wrong.
    fn glance(&self) -> Option<(u32, i64)> {
        None
    }

    /// The pending time of `model`. O(1).
    fn time_of(&self, model: u32) -> Option<i64>;

    /// Appends those of `models` that are pending before `end`, in the same order. O(models).
    fn pending_before(&self, end: i64, models: &[u32], into: &mut Vec<u32>) {
        let is_pending = |&&model: &&u32| self.time_of(model).is_some_and(|at| at < end);
        into.extend(models.iter().filter(is_pending));
    }

    /// The number of pending events. O(1).
    fn len(&self) -> usize;

    /// Whether nothing is pending. O(1).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
