//! FMUs in processes of their own: a binary that crashes, hangs or leaves the address space is an
//! error of its unit, and the other units go on.
//!
//! A worker is this program, started with another first argument. Its standard input is one end of a
//! socket; [`host`] holds the other, [`child`] is the worker. A message has calls of the
//! instance ([`super::calls`]), in frames of a length and as many bytes. Callbacks are evaluated in
//! the worker, so that a step is one question and one answer; the reads that followed the last step are asked with it.
mod child;
mod host;
mod program;
mod recovery;
mod wire;

use super::{
    calls::Answer,
    library::{Heard, Request, Status},
};
pub use child::serve;
pub(super) use host::Remote;
pub use program::{ARGUMENT, isolate_all, isolates_all, set_program};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Number of this protocol: program and worker must have one.
const PROTOCOL: u32 = 4;

/// How an FMU is isolated.
#[derive(Debug, Clone, PartialEq)]
pub struct Isolation {
    /// Longest wall time of one call.
    pub call_timeout: Duration,
    /// Most bytes of address space, if limited.
    pub memory: Option<u64>,
    /// Whether a worker that died is started again from its last saved state.
    pub restart: bool,
}

impl Default for Isolation {
    fn default() -> Self {
        Self { call_timeout: Duration::from_secs(30), memory: None, restart: false }
    }
}

/// The first message. The answer is a `Result<(), String>`.
#[derive(Debug, Serialize, Deserialize)]
struct Start<'a> {
    protocol: u32,
    memory: Option<u64>,
    request: Request<'a>,
}

/// The beginning of a question to the worker. Calls follow, of which only the last one gives an answer; then come
/// reads that are made as a rule, each behind its number of numbers. A question without calls frees the instance.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Question {
    calls: usize,
    /// How many numbers the caller has space for.
    room: usize,
    reads: usize,
}

/// The answer to the last call, or the status of the first one that was refused.
#[derive(Debug, Serialize, Deserialize)]
struct Response {
    status: Status,
    /// How many calls before the last one was refused.
    back: usize,
    answer: Answer,
    numbers: Vec<f64>,
    /// Answers to the reads, where all was accepted.
    reads: Vec<(Answer, Vec<f64>)>,
    heard: Heard,
}
