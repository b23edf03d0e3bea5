//! The choice of an event list at run time.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

use super::{EventList, HeapList, LadderList, ReferenceList};

/// Which event list a simulation uses; see the table in the [module](super).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventListKind {
    /// [`LadderList`], written `ladder`.
    #[default]
    Ladder,
    /// [`HeapList`], written `heap`.
    Heap,
    /// [`ReferenceList`], written `priority-queue`.
    Reference,
}

impl EventListKind {
    /// Every kind, the default first.
    pub const ALL: [Self; 3] = [Self::Ladder, Self::Heap, Self::Reference];

    /// The name that [`FromStr`] accepts and [`Display`](fmt::Display) writes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Heap => "heap",
            Self::Reference => "priority-queue",
        }
    }
}

impl fmt::Display for EventListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`EventListKind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown event list `{0}`; expected `ladder`, `heap` or `priority-queue`")]
pub struct UnknownEventList(pub String);

impl FromStr for EventListKind {
    type Err = UnknownEventList;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownEventList(name.to_owned()))
    }
}

/// An event list whose kind is chosen at run time.
///
/// ```
/// use superdense_kernel::event_list::{AnyEventList, EventList, EventListKind};
///
/// let kind: EventListKind = "heap".parse()?;
/// let mut list = AnyEventList::of(kind);
/// list.reset(1);
/// list.schedule(0, 5);
/// assert_eq!((list.kind(), list.next_time()), (EventListKind::Heap, Some(5)));
/// assert!("calendar".parse::<EventListKind>().is_err());
/// # Ok::<(), superdense_kernel::event_list::UnknownEventList>(())
/// ```
// With a tag of its own: where that hides in a field of one of the lists, to ask which one it is takes
// six instructions instead of two, several times per event.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum AnyEventList {
    /// The default.
    Ladder(LadderList),
    /// The indexed heap.
    Heap(HeapList),
    /// The list that tests compare with.
    Reference(ReferenceList),
}

impl AnyEventList {
    /// An empty list of this kind, without room for models.
    pub fn of(kind: EventListKind) -> Self {
        match kind {
            EventListKind::Ladder => Self::Ladder(LadderList::default()),
            EventListKind::Heap => Self::Heap(HeapList::default()),
            EventListKind::Reference => Self::Reference(ReferenceList::default()),
        }
    }

    /// The kind of this list.
    pub const fn kind(&self) -> EventListKind {
        match self {
            Self::Ladder(_) => EventListKind::Ladder,
            Self::Heap(_) => EventListKind::Heap,
            Self::Reference(_) => EventListKind::Reference,
        }
    }
}

impl Default for AnyEventList {
    fn default() -> Self {
        Self::of(EventListKind::default())
    }
}

/// Calls the same method of whichever list it is.
macro_rules! each {
    ($any:expr, $list:ident => $call:expr) => {
        match $any {
            AnyEventList::Ladder($list) => $call,
            AnyEventList::Heap($list) => $call,
            AnyEventList::Reference($list) => $call,
        }
    };
}

impl EventList for AnyEventList {
    fn reset(&mut self, models: usize) {
        each!(self, list => list.reset(models))
    }

    #[inline]
    fn schedule(&mut self, model: u32, at: i64) {
        each!(self, list => list.schedule(model, at))
    }

    #[inline]
    fn cancel(&mut self, model: u32) {
        each!(self, list => list.cancel(model))
    }

    #[inline]
    fn next_time(&mut self) -> Option<i64> {
        each!(self, list => list.next_time())
    }

    #[inline]
    fn take(&mut self, limit: i64, sink: &mut impl FnMut(u32)) -> Option<i64> {
        each!(self, list => list.take(limit, sink))
    }

    #[inline(always)]
    fn take_alone(&mut self, limit: i64) -> Option<(i64, u32)> {
        each!(self, list => list.take_alone(limit))
    }

    #[inline]
    fn glance(&self) -> Option<(u32, i64)> {
        each!(self, list => list.glance())
    }

    #[inline]
    fn time_of(&self, model: u32) -> Option<i64> {
        each!(self, list => list.time_of(model))
    }

    fn pending_before(&self, end: i64, models: &[u32], into: &mut Vec<u32>) {
        each!(self, list => list.pending_before(end, models, into))
    }

    #[inline]
    fn len(&self) -> usize {
        each!(self, list => list.len())
    }
}
