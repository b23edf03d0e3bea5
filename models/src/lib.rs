//! Units of hybrid scenarios: continuous units, blocks, queues.
pub mod expr;
pub mod quantity;
pub mod registry;
pub mod value;
