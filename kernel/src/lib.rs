//! Parallel DEVS with superdense time.
//!
//! A program outside of this workspace needs two dependencies: this crate, and `serde = { version = "1", features =
//! ["derive"] }`, since models are saved and restored.
//!
//! Begin with [`Atomic`], the trait of a model, and [`Coupled`], which puts models together; [`Simulation`] runs them,
//! [`parallel`] runs them on several threads with equal results, and [`messages!`] makes the message type of models that
//! send different things. Paths name models from the top, with `/` between names: `"cell/clerk"`.
//!
//! ```
//! use superdense_kernel::{
//!     Atomic, Bag, Coupled, Effects, Outbox, Simulation, error::RunError, parallel,
//!     port::{InPort, OutPort}, time::Duration,
//! };
//!
//! /// Sends 1, 2, 3, ... each hundred ticks.
//! #[derive(Clone, serde::Serialize, serde::Deserialize)]
//! struct Source { sent: u32 }
//!
//! impl Source { const OUT: OutPort<u32, Self> = OutPort::new(0); }
//!
//! impl Atomic<u32> for Source {
//!     fn outputs(&self) -> u16 { 1 }
//!     fn time_advance(&self) -> Duration { Duration::from_ticks(100) }
//!     fn output(&self, out: &mut Outbox<'_, u32>) { out.send(Self::OUT, self.sent + 1) }
//!     fn internal(&mut self, _: &mut Effects<u32>) { self.sent += 1 }
//!     // What it sends within that time follows from its state: other workers may go on so long.
//!     fn lookahead(&self, _: u16) -> Duration { Duration::from_ticks(100) }
//! }
//!
//! #[derive(Clone, serde::Serialize, serde::Deserialize)]
//! struct Sink { sum: u32 }
//!
//! impl Sink { const IN: InPort<u32, Self> = InPort::new(0); }
//!
//! impl Atomic<u32> for Sink {
//!     fn inputs(&self) -> u16 { 1 }
//!     fn time_advance(&self) -> Duration { Duration::INFINITE }
//!     fn internal(&mut self, _: &mut Effects<u32>) {}
//!     fn external(&mut self, _: Duration, bag: &Bag<'_, u32>, _: &mut Effects<u32>) {
//!         self.sum += bag.on(Self::IN).sum::<u32>();
//!     }
//! }
//!
//! fn simulation() -> Result<Simulation<u32>, RunError> {
//!     let mut top = Coupled::new();
//!     let source = top.add("source", Source { sent: 0 });
//!     let sink = top.add("sink", Sink { sum: 0 });
//!     top.couple(source.output(Source::OUT), sink.input(Sink::IN));
//!     Ok(Simulation::new(top, Default::default())?)
//! }
//!
//! let mut one = simulation()?;
//! one.run_through(1000)?;
//! assert_eq!(one.model::<Sink>("sink").unwrap().sum, 55);
//! for method in [parallel::Method::TimeWarp, parallel::Method::Conservative] {
//!     let mut two = simulation()?;
//!     two.run_through_parallel(1000, &parallel::Settings { method, workers: 2, ..Default::default() })?;
//!     assert_eq!(two.trace_hash(), one.trace_hash());
//! }
//! # Ok::<(), RunError>(())
//! ```
mod asked;
pub mod atomic;
pub mod bag;
pub mod blueprint;
mod bus;
mod call;
pub mod checkpoint;
// With `pub(crate)` on each of its functions the file is longer than 600 lines; it is to be split.
#[allow(unreachable_pub)]
mod core;
pub mod coupled;
mod draft;
pub mod effects;
pub mod error;
pub mod event_list;
pub mod fact;
mod flatten;
mod homes;
mod inject;
mod inspect;
mod key;
mod located;
pub mod message;
mod messages;
pub mod meter;
mod moves;
pub mod nested;
mod network;
mod notes;
mod nursery;
mod options;
mod order;
pub mod outbox;
pub mod outlet;
pub mod parallel;
pub mod path;
mod plain;
pub mod port;
mod progress;
mod restructure;
mod running;
pub mod simulation;
mod slab;
pub mod snapshot;
mod stepwise;
pub mod structure;
pub mod time;
pub mod trace;
pub mod translation;

pub use crate::{
    atomic::Atomic,
    bag::Bag,
    core::Counts,
    coupled::{Child, Component, Coupled},
    effects::Effects,
    fact::{EventKind, Fact},
    key::ModelKey,
    message::{Message, Payload},
    options::{Guards, Options},
    outbox::Outbox,
    simulation::{Ended, Simulation},
    snapshot::Snapshot,
};
