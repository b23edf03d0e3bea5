//! An independent judge of hybrid runs: a model tree, and a reference simulator for it.
//!
//! The generator makes a [`model::Model`], writes it as a scenario file and runs it through the
//! product; the judge says what should have happened. It reads the same tree, never the file, and
//! depends on nothing of the product: its manifest shows that.
pub mod model;
