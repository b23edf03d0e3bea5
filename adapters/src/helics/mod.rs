//! A scenario as a federate of HELICS.
//!
//! [`library`] finds libhelics and calls it, and is the only unsafe code. [`owner`] has the thread that owns the
//! library; [`watch`] looks after processes and the broker while an answer is waited for, and [`looker`] asks who is
//! there and who waits for whom. [`federate`] joins, goes from grant to grant and leaves, and [`names`] knows who the numbers in HELICS' messages are. Values, times
//! and records of what came and went are in [`crate::federation`].
pub mod federate;
pub mod library;
mod looker;
mod names;
mod owner;
mod watch;

pub use federate::{Federation, FederationError};
pub use looker::Waiting;
