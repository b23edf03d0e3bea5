//! How to run a model, as its caller says.
use crate::{event_list::EventListKind, time::Resolution};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// How to run a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Ticks per second, for models and error messages.
    pub resolution: Resolution,
    /// The first tick.
    pub start: i64,
    /// Implementation of the event list; never changes results.
    pub event_list: EventListKind,
    /// Limits against runs that make no progress.
    pub guards: Guards,
    /// Permutes bags by this seed, to find models that depend on their order.
    pub ties: Option<u64>,
}

/// Limits after which a run that makes no progress ends in error (rule R11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// Largest micro-step at one tick.
    pub micro_steps: u32,
    /// Largest number of located state events of one model at most [`Guards::gap`] ticks after the one before.
    pub state_events: u32,
    /// Ticks between two events that are close. Chattering comes back at the next tick on one side at least,
    /// so that a control which switches regularly is none.
    pub gap: i64,
    /// Ticks without a state event after which none is counted any more.
    pub pause: i64,
}

impl Default for Guards {
    fn default() -> Self {
        Self { micro_steps: 10_000, state_events: 1_000, gap: 2, pause: 20 }
    }
}

/// A flag that stops a run, and the reason that is then given.
pub(crate) type Halt = Option<(Arc<AtomicBool>, String)>;

/// The reason to stop, when somebody outside wants that.
#[inline(always)]
pub(crate) fn halted(halt: &Halt) -> Option<&str> {
    let (flag, reason) = halt.as_ref()?;
    flag.load(Ordering::Relaxed).then_some(reason)
}
