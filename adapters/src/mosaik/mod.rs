//! Simulators of the mosaik world as units: Superdense is the host, without mosaik.
//!
//! Frames ([`wire`]), the simulator's process (in `child`), what it tells of itself ([`meta`]) and the
//! calls of the protocol ([`host`]) know nothing of units. What a scenario says is read in
//! [`layout`]; [`unit`] is the atomic model, [`begin`] its first moments, [`exchange`] its steps, and [`kind`] the unit kind
//! `mosaik`. By the [`journal`] a run with simulators is resumed.
//!
//! The other way round, [`simulator`] lets mosaik be the host of a scenario.
//!
//! ```toml
//! [unit.pv]
//! kind = "mosaik"
//! command = "python3 -m my_pv {address}"
//! resolution = "1 s"
//! start = { start_date = "2024-06-01 00:00:00", step_size = 900 }
//! [unit.pv.create.panel]
//! model = "PV"
//! parameters = { latitude = 53, area = 200 }
//! inputs = { sun = "DNI[W/m2]" }
//! outputs = { power = "P[MW]" }
//! ```
mod begin;
mod exchange;
mod host;
mod journal;
mod json;
pub mod kind;
mod layout;
mod meta;
pub mod simulator;
mod unit;
mod wire;

pub use kind::MosaikKind;
