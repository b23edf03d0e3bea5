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
//! # Adding a block
//! One file per kind or family, its `pub mod` here, and one line per kind in [`crate::catalogue::kinds`]. The comment in
//! `unit_kind!` is all of the documentation: `superdense list KIND` prints it, and its example in TOML is run as a test.
//! Models to copy: `algebra.rs` without memory, `lag.rs` with a state, `hysteresis.rs` with a threshold, `clock.rs` for
//! a source of events, `count.rs` for events with an input, `delay.rs` for events that come out later.
//!
//! Blocks share some helpers: `Reader::span` reads a time of at least one tick and `Reader::duration` one of zero or more;
//! [`Timer`](crate::signal::Timer) knows when the block is due (`set`, `at_once`, `fire`, `pass`), and `events.rs` takes
//! events of any type. Events of one bag have no order: a block takes them as a set, or by
//! `each_in_order`.
//!
//! A block with a state is due at tick 0 and then sends a first segment with `Flag::Refresh`. Later ones are
//! `Flag::Continuous`, or `Flag::Jump` where the signal jumps. A segment that [`crate::signal::repeats`] what receivers
//! hold is not sent: in a loop it would go round for ever. `output` is called before `internal`, so it works on a copy
//! that it moves to the due tick. Segments of a source join with steps of its `exchange_tolerance`, without `Jump`.
//!
//! Thresholds are relations ([`crate::solve::ode::Kind`]), or roots of polynomials ([`crate::maths::poly`]). A block that
//! crosses one calls `fx.located()`, and `happened` for an event that people look for in `events.csv`.
//!
//! `feed_through` says how outputs follow from inputs at the same instant: a ring of `Always` is refused, a ring of
//! `Value` is a warning, `Sometimes` is in no ring.
//!
//! Tests of one block: `cargo nextest run -p superdense-models NAME`, then `kinds::testing` (a line of `ZOO` there for a
//! block with a state), `-p superdense schema planning list_tells`, and `-p superdense-tests tidy`; then
//! `cargo fmt`, clippy and a line in `CHANGELOG.md`.

pub mod algebra;
pub mod arrivals;
pub mod automaton;
pub mod boundary;
pub mod clock;
pub mod count;
mod crossing;
pub mod dead_reckoning;
pub mod delay;
pub mod detector;
pub mod events;
pub mod frequency;
pub mod hold;
pub mod hysteresis;
pub mod integrator;
pub mod lag;
pub mod pid;
pub mod playlist;
pub mod pulse;
pub mod quantiser;
pub mod random;
pub mod rate_limiter;
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
