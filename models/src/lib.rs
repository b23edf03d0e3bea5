//! Units of hybrid scenarios: continuous units, blocks, queues, packet networks, grids.
//!
//! The rooms, in an order: each imports only from those above it.
//!
//! | room | content |
//! | --- | --- |
//! | [`maths`] | expressions, polynomials, quantities, random streams, rounding to ticks, sparse matrices |
//! | [`signal`] | values and segments, signals that receivers hold, capabilities, statistics |
//! | [`solve`] | systems of equations, solvers, quantised state systems, event search |
//! | [`mod@unit`] | the event-driven wrapper around a solver, and shared events |
//! | [`kinds`] | kinds of units, their parameters and ports |
//! | [`equations`] | equations as text, and the choice of a method |
//! | [`couplings`], [`blocks`], [`network`], [`grid`], [`heat`] | the units themselves |
//! | [`catalogue`] | the list of all kinds |
#[macro_use]
pub mod kinds;

pub mod blocks;
pub mod catalogue;
pub mod couplings;
pub mod equations;
pub mod grid;
pub mod heat;
pub mod maths;
pub mod network;
pub mod signal;
pub mod solve;
pub mod unit;
