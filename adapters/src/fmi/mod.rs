//! FMUs as units: import of FMI 2.0 and 3.0, for co-simulation and model exchange.
//!
//! A thin loader of our own ([`library`], the only unsafe code) under safe calls ([`instance`]),
//! which live in this process or in a worker process ([`worker`]),
//! the archive and its description ([`archive`], [`description`]), the wrapper that makes an FMU
//! an atomic model ([`unit`]), and the unit kind `fmu` of scenario files ([`kind`]).
//!
//! ```toml
//! [unit.ball]
//! kind = "fmu"
//! path = "bouncing_ball.fmu"
//! step = "10 ms"
//! start = { e = 0.9 }
//! ```
//!
//! Supported: event mode, early return, intermediate update (inputs follow their segments inside
//! steps), output derivatives, state access and serialisation as snapshots, directional
//! derivatives, variables of all types, arrays. Refused by name: clocks.
pub mod archive;
mod beginning;
mod block;
mod build;
mod calls;
pub mod description;
mod discrete;
pub mod export;
mod heard;
pub mod instance;
mod isolation;
pub mod kind;
mod layout;
pub mod library;
pub mod me;
mod nominal;
mod place;
mod replay;
pub mod report;
mod settings;
mod shelf;
pub mod snapshot;
mod starts;
mod steps;
mod terminals;
mod trial;
pub mod unit;
pub mod variables;
mod words;
pub mod worker;

pub use kind::FmuKind;
