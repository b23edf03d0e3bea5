//! Continuous units: equations, a method, event indicators and a wrapper.
mod atomic;
mod compile;
pub mod equations;
mod kind;
mod links;
mod read;
pub mod series;
mod text;
mod unit;

pub use equations::{Dims, Equations, EventSpec, LinkEquations, Trigger};
pub use kind::EquationsKind;
pub use text::{Reset, TextEquations};
pub use unit::{SavedUnit, Settings, Unit};
