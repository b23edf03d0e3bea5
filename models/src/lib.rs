//! Units of hybrid scenarios: continuous units, blocks, queues.
pub mod blocks;
pub mod poly;
pub mod random;
pub mod registry;
pub mod signal;
pub mod value;
