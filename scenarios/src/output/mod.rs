//! The files of a run.
pub mod csv;
