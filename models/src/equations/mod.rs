//! Equations as a scenario writes them: reading, compiling, the choice of a method, the kind itself.
mod auto;
mod compile;
mod connectors;
mod elaborate;
mod events;
mod feed_through;
mod foresee;
mod formulas;
mod idle;
mod impulse;
mod index;
mod initial;
mod join;
mod joined;
mod kind;
mod link_texts;
mod lower;
mod measures;
mod read;
mod refused;
mod rename;
mod resets;
mod slide;
pub(crate) mod start;
mod text;

pub use kind::EquationsKind;
pub use text::{Reset, TextEquations};
