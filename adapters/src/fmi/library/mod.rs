//! The border to C, and the only unsafe code: a loaded binary ([`functions`]), the
//! callbacks ([`callbacks`]), one instance ([`raw`]).
//!
//! # Why a loader of our own
//! A table of some thirty functions is small; generated bindings need libclang at build time.
//!
//! # What makes it sound
//! * Signatures are those of FMI 3.0.2 (`fmi3FunctionTypes.h`, `fmi3PlatformTypes.h`). That the
//!   binary keeps to them is what an FMU promises; nothing on this side can check it.
//! * Every function pointer lives in [`Functions`] beside the library that holds its code.
//! * All calls of one instance are made under one lock ([`super::instance`] holds the mutex), and
//!   only callbacks run inside them, on the same thread.
//! * Slices are passed with their own lengths, so that a conforming FMU stays inside them.
//! * The environment that callbacks get is boxed, outlives the instance, and is only shared.
#![allow(unsafe_code)] // Calls of C functions; the reasons stand above and at each block.
mod callbacks;
mod functions;
mod raw;

pub use callbacks::{Curve, Heard};
pub use functions::Functions;
pub use raw::{RawInstance, RawState};
use std::path::Path;

/// `fmi3Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All is well.
    Ok,
    /// Well, with a remark.
    Warning,
    /// The call was refused and changed nothing that matters.
    Discard,
    /// The instance can only be freed.
    Error,
    /// The binary must not be called any more.
    Fatal,
}

impl Status {
    fn new(raw: i32) -> Self {
        match raw {
            0 => Self::Ok,
            1 => Self::Warning,
            2 => Self::Discard,
            3 => Self::Error,
            _ => Self::Fatal,
        }
    }
    /// The name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "warning",
            Self::Discard => "discard",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

impl Status {
    /// Itself, if it is bad; else discard.
    fn max_discard(self) -> Self {
        match self {
            Self::Ok | Self::Warning => Self::Discard,
            bad => bad,
        }
    }
}

/// How to instantiate.
#[derive(Debug)]
pub struct Request<'a> {
    /// Name of the instance.
    pub name: &'a str,
    /// Token of the model description.
    pub token: &'a str,
    /// Folder of resources.
    pub resources: &'a Path,
    /// Whether the importer handles events.
    pub event_mode: bool,
    /// Inputs to be set inside steps.
    pub intermediate: &'a [u32],
}

/// Results of `fmi3DoStep`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stepped {
    /// Event mode is needed.
    pub event: bool,
    /// The FMU asks to end the run.
    pub terminate: bool,
    /// The step ended before its end.
    pub early: bool,
    /// The time reached.
    pub reached: f64,
}

/// Results of `fmi3UpdateDiscreteStates`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Updated {
    /// Once more.
    pub again: bool,
    /// The FMU asks to end the run.
    pub terminate: bool,
    /// Time of the next time event.
    pub next: Option<f64>,
}
