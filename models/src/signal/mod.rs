//! Signals and the values that units send each other.
pub mod capabilities;
mod chebyshev;
pub mod cut;
mod held;
pub mod piece;
mod sizes;
pub mod statistics;
mod swing;
pub mod value;

pub use held::{Held, Level, NEVER, Poly, Timer, combined, horizon, repeats, shift, trimmed};
pub(crate) use sizes::{Sizes, is_late};
pub(crate) use swing::Swing;
