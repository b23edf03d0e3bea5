//! Parallel DEVS with superdense time.
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
pub mod effects;
pub mod error;
pub mod event_list;
mod flatten;
mod homes;
mod inject;
mod inspect;
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

pub use crate::{
    atomic::Atomic,
    bag::Bag,
    blueprint::ModelKey,
    core::Counts,
    coupled::{Child, Component, Coupled},
    effects::{Effects, EventKind, Fact},
    message::{Message, Payload},
    options::{Guards, Options},
    outbox::Outbox,
    simulation::{Ended, Simulation},
    snapshot::Snapshot,
};
