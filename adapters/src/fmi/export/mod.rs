//! An FMU for co-simulation around a binary and resources that others have made.
mod pack;
mod xml;

pub use pack::pack;
pub use xml::{Offer, Value, Variable, description};
