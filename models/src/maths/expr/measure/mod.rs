//! Dimensions of formulas: a length is not added to an acceleration.
//!
//! A name has a dimension where it is declared with a unit of measure; a value that depends on any other
//! name is unknown, and nothing is said about it. Formulas are looked at before the run, on their syntax trees;
//! compiled programs know nothing of dimensions.
//!
//! - A number in a formula fits any dimension in sums, comparisons and branches. As a factor it is a pure number.
//! - The time is in seconds beside quantities; what is made of it and of numbers alone is unknown, so
//!   that `sin(50*t)` needs no unit.
//! - Temperatures on a scale (degC, degF) count how many points are in a sum: differences none, temperatures
//!   one, so that means of temperatures are temperatures. They count in kelvin, which is why a number
//!   without a unit beside one of them is a mistake: it could be either.
//!
//! **Why not a crate.** Kept crates (`uom`, `dimensioned`) know the dimensions of types when a program is compiled,
//! not those of texts that are read at run time.

mod algebra;
mod walk;

#[cfg(test)]
mod tests;

pub use algebra::Measure;
use algebra::{Clash, Together};
