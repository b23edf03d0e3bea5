//! An independent judge of hybrid runs: a model tree, and a reference simulator for it.
//!
//! The generator makes a [`model::Model`], writes it as a scenario file and runs it through the
//! product; the judge says what should have happened. It reads the same tree, never the file, and
//! depends on nothing of the product: its manifest shows that.
//!
//! Numbers are double-doubles with columns of sensitivities, so that every number comes with the
//! error that the judged program may have made there. A run is undecided where an error of that
//! size could change which events happen.
mod advance;
mod cycle;
mod decide;
mod errors;
mod eval;
mod graph;
mod kinks;
mod left;
mod linear;
mod links;
pub mod model;
mod number;
mod order;
mod polynomial;
mod rest;
mod roots;
mod run;
mod sim;
mod slide;
mod stand;
mod stands;
mod system;
mod tape;
pub mod verdict;

pub use verdict::{
    Enclosure, Failure, FailureKind, Happened, Limits, Near, Place, Reason, Run, Sample, Ticks,
    Uncertainty, Undecided, UnitEnd, Verdict, judge,
};
