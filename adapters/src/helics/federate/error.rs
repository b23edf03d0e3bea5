//! Why a federation failed.
use super::super::{library::LibraryError, looker::Waiting, owner::Gone};
use std::time::Duration;

/// Why a federation failed.
#[derive(Debug, thiserror::Error)]
pub enum FederationError {
    /// No library.
    #[error("{0}")]
    Library(#[from] LibraryError),
    /// The library has no such core.
    #[error(
        "this libhelics has no core of type \"{0}\"; write core = \"zmq\", or install another libhelics"
    )]
    Core(String),
    /// Nobody listens at the broker's address.
    #[error(
        "there is no broker at {at} (waited {} s); start one with `helics_broker -f {federates}`, correct `broker`, or \
         write broker = \"start\"", waited.as_secs_f64()
    )]
    NoBroker {
        /// The address.
        at: String,
        /// How long was waited.
        waited: Duration,
        /// Federates that it should wait for.
        federates: usize,
    },
    /// The broker is gone.
    #[error("the broker at {at} is gone: it takes no connections any more; look at its log")]
    BrokerLost {
        /// The address.
        at: String,
    },
    /// A federate cannot be started.
    #[error("the federate `{name}` cannot be started: {why}")]
    Start {
        /// Its name.
        name: String,
        /// The system's words.
        why: String,
    },
    /// A federate that was started ended in error.
    #[error("the federate `{name}` ended with {how}{lines}")]
    Ended {
        /// Its name.
        name: String,
        /// How.
        how: String,
        /// Its last lines.
        lines: String,
    },
    /// Federates did not come.
    #[error("{who} did not join within {} s; start them, or raise `join`", waited.as_secs_f64())]
    Missing {
        /// Their names.
        who: String,
        /// How long was waited.
        waited: Duration,
    },
    /// A federate gives no answer.
    #[error("`{0}` gives no answer: it was ended, or did not answer for longer than `patience`")]
    NoAnswer(String),
    /// No time was granted.
    #[error(
        "no time was granted for {} s: {}; mend who waits, raise `stall`, or remove `stall_ends`",
        waited.as_secs(), lines(who)
    )]
    Stalled {
        /// How long was waited.
        waited: Duration,
        /// Who waits for whom.
        who: Vec<Waiting>,
    },
    /// HELICS did not come back from a call.
    #[error("HELICS gave no answer to {call} within {} s; {help}", waited.as_secs_f64())]
    Silent {
        /// The call.
        call: &'static str,
        /// How long was waited.
        waited: Duration,
        /// The remedy.
        help: &'static str,
    },
    /// HELICS refused a call.
    #[error("{call}: {why}{help}")]
    Refused {
        /// The call.
        call: &'static str,
        /// Its words, with names in place of numbers.
        why: String,
        /// The remedy.
        help: &'static str,
    },
    /// The federation ended before this federate did.
    #[error("the federation ended before its time: a federate or the broker has stopped it")]
    Over,
    /// The others have something else than the file says.
    #[error("{}", .0.join("; "))]
    Findings(Vec<String>),
    /// A value cannot be read.
    #[error("{0}")]
    Value(String),
    /// By Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The thread of the library is gone, or could not be started.
    #[error("the thread of libhelics has ended; start the run again")]
    Gone,
}

fn lines(who: &[Waiting]) -> String {
    let all: Vec<String> = who.iter().map(ToString::to_string).collect();
    if all.is_empty() { "nobody tells for whom is waited".to_owned() } else { all.join("; ") }
}

impl From<Gone> for FederationError {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}
