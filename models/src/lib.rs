//! Units of hybrid scenarios: continuous units, blocks, queues.
pub mod registry;
pub mod statistics;
pub mod value;
