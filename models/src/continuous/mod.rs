//! Continuous units: equations, a method, event indicators and a wrapper.
mod atomic;
mod compile;
pub mod core;
pub mod equations;
mod kind;
mod links;
mod read;
pub mod series;
mod settings;
mod stepped;
mod text;
mod unit;

pub use equations::{Dims, Equations, EventSpec, LinkEquations, Trigger};
pub use kind::EquationsKind;
pub use settings::Settings;
pub use stepped::{Stepped, SteppedState};
pub use text::{Reset, TextEquations};
pub use unit::{SavedUnit, Unit};
