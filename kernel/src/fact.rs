//! Facts that models report to observers.
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A fact that a model reports to observers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Fact {
    /// Something happened in the model: an event of a continuous unit, a shared event of a link.
    Event {
        /// The unit or link; `None` stands for the model's own path.
        unit: Option<Arc<str>>,
        /// The event's name.
        name: Arc<str>,
        /// Its kind.
        kind: EventKind,
    },
    /// A remark for the log.
    Note(Arc<str>),
}

/// Kinds of events of continuous units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A state event of one unit.
    Private,
    /// A state event of a link between units.
    Shared,
    /// An event at a time known beforehand.
    Time,
}

impl EventKind {
    /// `private`, `shared` or `time`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Time => "time",
        }
    }
}
