//! Units of hybrid scenarios: continuous units, blocks, queues, packet networks, grids.
#[macro_use]
pub mod blocks;
pub mod capabilities;
pub mod continuous;
pub mod couplings;
pub mod expr;
pub mod feed_through;
pub mod grid;
pub mod network;
pub mod ode;
pub mod poly;
pub mod qss;
pub mod quantity;
pub mod random;
pub mod registry;
pub mod signal;
pub mod statistics;
pub mod value;
