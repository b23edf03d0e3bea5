//! Units of hybrid scenarios: continuous units, blocks, queues.
pub mod continuous;
pub mod expr;
pub mod ode;
pub mod poly;
pub mod quantity;
pub mod registry;
pub mod statistics;
pub mod value;
