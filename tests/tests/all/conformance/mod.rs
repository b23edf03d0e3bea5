//! The conformance list: T (time), P (Parallel DEVS), H (hybrid), and those of F that need only
//! discrete models.
mod continuous;
mod errors;
mod fixpoint;
mod golden;
mod hybrid;
mod ids;
mod pdevs;
mod protocol;
mod quantised;
mod stone;
mod structure;
mod time;
