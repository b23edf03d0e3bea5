//! The conformance list: T (time), P (Parallel DEVS), and those of F and H that need only
//! discrete models.
mod errors;
mod fixpoint;
mod golden;
mod hybrid;
mod ids;
mod pdevs;
mod protocol;
mod stone;
mod structure;
mod time;
