//! The block library: small units that scenarios are built from.
//!
//! **Signals.** A signal output sends a segment at the start and whenever the one that receivers
//! hold is replaced. A block that computes a signal from others (`gain`, `sum`, …) waits until
//! every input has been heard once, and answers one micro-step after each new input segment; it
//! therefore breaks no loop by itself: put an `integrator` or a `delay` into an algebraic loop.
//!
//! **Events.** An answer to an event leaves one micro-step later (Moore).
//!
//! **Time** counts from the start of the unit, in ticks ([`crate::signal::Timer`]).
//!
//! One file per kind or family; each kind is one [`crate::kinds::UnitKind`] and one line in
//! [`crate::catalogue::kinds`].

pub mod algebra;
pub mod arrivals;
pub mod automaton;
pub mod boundary;
pub mod clock;
pub mod count;
mod crossing;
pub mod delay;
pub mod detector;
pub mod events;
pub mod hold;
pub mod hysteresis;
pub mod integrator;
pub mod lag;
pub mod pid;
pub mod playlist;
pub mod pulse;
pub mod quantiser;
pub mod random;
pub mod router;
pub mod sampler;
pub mod schedule;
pub(crate) mod series;
pub mod server;
pub mod sine;
pub mod sink;
pub mod switch;
pub mod table;
pub mod transfer;
