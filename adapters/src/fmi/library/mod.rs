//! The border to C, and the only unsafe code: the functions of a binary (`v2`, `v3`), the
//! callbacks, one instance ([`RawInstance`]).
//!
//! # Why a loader of our own
//! Two tables of functions are small; generated bindings need libclang at build time.
//!
//! # Soundness
//! * Signatures are those of FMI 2.0.4 and 3.0.2 (`fmi2FunctionTypes.h`, `fmi3FunctionTypes.h`). That the
//!   binary keeps to them is what an FMU promises; nothing on this side can check it.
//! * Every function pointer lives in [`Functions`] beside the library that holds its code.
//! * All calls of one instance are made under one lock ([`super::instance`] holds the mutex), and
//!   only callbacks run inside them, on the same thread.
//! * Slices are passed with their own lengths, so that a conforming FMU stays inside them.
//! * The environment that callbacks get is boxed, outlives the instance, and is only shared.
#![allow(unsafe_code)] // Calls of C functions; the reasons stand above and at each block.
mod callbacks;
mod environment;
mod exchange;
mod raw;
mod start;
mod state;
mod table;
mod v2;
mod v3;
mod values;

use super::description::{InterfaceKind, Version};
pub use callbacks::{Curve, Heard};
pub(super) use environment::{WorkingFolder, may_move};
pub use exchange::{Completed, Vector};
use libloading::Library;
pub use raw::{RawInstance, RawState};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, path::Path};

/// Category of messages that are not the FMU's.
pub const OWN: &str = "import";

/// The functions of one binary, for one interface type.
struct Functions {
    api: Api,
    // Last, so that it is unloaded after nothing points into it any more.
    binary: Option<Library>,
}

#[allow(clippy::large_enum_variant)] // One per instance.
enum Api {
    V2(v2::Table),
    V3(v3::Table),
}

impl Functions {
    /// Loads a binary.
    ///
    /// # Errors
    /// When the system cannot load the library (with its message), or a function is missing that the
    /// interface needs.
    fn load(path: &Path, version: Version, kind: InterfaceKind) -> Result<Self, String> {
        let binary = table::open(path);
        // Libraries compiled for speed at any price change the arithmetic when they are loaded.
        environment::standard_arithmetic();
        let binary = binary?;
        let api = match version {
            Version::V2 => Api::V2(v2::Table::find(&binary, kind)?),
            Version::V3 => Api::V3(v3::Table::find(&binary, kind)?),
        };
        Ok(Self { api, binary: Some(binary) })
    }
}

/// `fmi3Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The call goes on in the background.
    Pending,
    /// No status: the worker process of the instance is gone.
    Lost,
    /// No status: the FMU was not asked, or did as it was asked; the text says what helps.
    Unasked,
}

impl Status {
    fn new(raw: i32) -> Self {
        match raw {
            0 => Self::Ok,
            1 => Self::Warning,
            2 => Self::Discard,
            3 => Self::Error,
            5 => Self::Pending,
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
            Self::Pending => "pending",
            Self::Lost => "lost",
            Self::Unasked => "no status",
        }
    }
}

impl Status {
    /// Whether the call was carried out.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Ok | Self::Warning)
    }
}

/// How to load and instantiate.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request<'a> {
    /// Version of the standard.
    pub version: Version,
    /// Interface type.
    pub kind: InterfaceKind,
    /// The binary.
    pub binary: Cow<'a, Path>,
    /// Folder of resources.
    pub resources: Cow<'a, Path>,
    /// Name of the instance.
    pub name: Cow<'a, str>,
    /// Token of the model description.
    pub token: Cow<'a, str>,
    /// Whether the importer handles events.
    pub event_mode: bool,
    /// Inputs to be set inside steps.
    pub intermediate: Cow<'a, [u32]>,
}

/// Results of `fmi3DoStep`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Updated {
    /// Once more.
    pub again: bool,
    /// The FMU asks to end the run.
    pub terminate: bool,
    /// Time of the next time event.
    pub next: Option<f64>,
    /// Nominal values of states have changed.
    pub nominals: bool,
    /// Values of states have changed.
    pub states: bool,
}
