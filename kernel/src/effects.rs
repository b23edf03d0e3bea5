//! Requests of a transition, beside the change of its own state.
use crate::{
    message::Message,
    structure::Change,
    time::{Duration, Resolution, Tag},
};
use serde::{Deserialize, Serialize};
use std::{fmt::Display, sync::Arc};

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

/// Requests of the running transition; part of the speculative record, so that a rolled-back
/// transition leaves no mark.
#[derive(Debug)]
pub struct Effects<M: Message> {
    pub(crate) now: Tag,
    pub(crate) resolution: Resolution,
    pub(crate) raised: bool,
    /// Whether anybody may hear of facts.
    pub(crate) observed: bool,
    pub(crate) failure: Option<String>,
    pub(crate) stop: Option<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) located: bool,
    pub(crate) changes: Vec<Change<M>>,
}

impl<M: Message> Effects<M> {
    pub(crate) fn new(resolution: Resolution) -> Self {
        Self {
            now: Tag::ZERO,
            resolution,
            raised: false,
            observed: true,
            failure: None,
            stop: None,
            facts: Vec::new(),
            located: false,
            changes: Vec::new(),
        }
    }

    /// The tag of this cycle.
    pub fn now(&self) -> Tag {
        self.now
    }

    /// The resolution of the run.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// A duration of `seconds` for a discrete model; a value that is no duration fails the run.
    pub fn duration(&mut self, seconds: f64) -> Duration {
        match self.resolution.duration(seconds) {
            Ok(d) => d,
            Err(e) => {
                self.fail(e);
                Duration::INFINITE
            }
        }
    }

    /// Ends the run with an error that names this model and the tag. Say what to do about it.
    pub fn fail(&mut self, why: impl Display) {
        self.raised = true;
        self.failure.get_or_insert_with(|| why.to_string());
    }

    /// Ends the run after this cycle, as planned.
    pub fn stop(&mut self, reason: impl Into<String>) {
        self.raised = true;
        self.stop.get_or_insert_with(|| reason.into());
    }

    /// Whether anybody may hear of facts: where making one costs something, it need not be made for
    /// nobody. Nothing else may depend on it.
    pub fn observed(&self) -> bool {
        self.observed
    }

    /// Tells observers a fact.
    pub fn report(&mut self, fact: Fact) {
        self.raised = true;
        self.facts.push(fact);
    }

    /// Counts one *located state event* of a continuous unit against the guard R11(b), which
    /// ends Zeno and chattering behaviour.
    pub fn located(&mut self) {
        self.raised = true;
        self.located = true;
    }

    /// Asks for a change of structure, which takes effect after all transitions of this cycle
    /// (rule R12). In a silent step, which is in no cycle, it is an error.
    pub fn change(&mut self, change: Change<M>) {
        self.raised = true;
        self.changes.push(change);
    }
}
