//! Continuous units: equations, a method, event indicators and a wrapper.
mod atomic;
mod auto;
mod compile;
mod consistent;
mod contest;
pub mod core;
mod dual;
mod elaborate;
pub mod equations;
mod events;
mod expander;
mod failures;
mod falling;
mod feed_through;
mod foresee;
mod formulas;
mod kind;
mod linear;
mod link_texts;
mod links;
mod read;
mod saved;
pub mod series;
mod settings;
mod sides;
mod slide;
pub(crate) mod start;
pub(crate) mod stepped;
mod text;
mod unit;
mod watch;

pub use equations::{Dims, Equations, EventSpec, LinkEquations, Programs, Rest, Trigger};
pub use expander::MAX_SEGMENT_ORDER;
pub use kind::EquationsKind;
pub use saved::SavedUnit;
pub use settings::Settings;
pub use stepped::{Stepped, SteppedState};
pub use text::{Reset, TextEquations};
pub use unit::Unit;

#[cfg(test)]
mod tests;
