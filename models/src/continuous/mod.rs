//! Continuous units: equations, a method, event indicators and a wrapper.
mod atomic;
pub mod equations;
mod links;
pub mod series;
mod unit;

pub use equations::{Dims, Equations, EventSpec, LinkEquations, Trigger};
pub use unit::{SavedUnit, Settings, Unit};
