//! Units of hybrid scenarios: continuous units, blocks, queues.
pub mod blocks;
pub mod continuous;
pub mod expr;
pub mod ode;
pub mod poly;
pub mod qss;
pub mod quantity;
pub mod random;
pub mod registry;
pub mod signal;
pub mod statistics;
pub mod value;
