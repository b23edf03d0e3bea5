//! Common parts of the workspace-wide tests: test models, a recorder of traces, and a naive
//! reference simulator that shares no code with the kernel.
//!
//! A test model is a [`machine::Machine`], a state machine that knows neither the kernel nor the
//! reference simulator; [`unit::Unit`] makes it an atomic model of the kernel.
pub mod choices;
#[cfg(feature = "fmi")]
pub mod fmu;
pub mod generate;
pub mod golden;
pub mod machine;
pub mod parts;
pub mod record;
pub mod reference;
pub mod tree;
pub mod unit;

/// One second at the default resolution.
pub const S: i64 = 1_000_000_000;
/// One millisecond.
pub const MS: i64 = 1_000_000;
/// A time advance that never ends.
pub const NEVER: i64 = i64::MAX;

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
