//! The conformance list: T (time), P (Parallel DEVS), H (hybrid), and those of F that need only
//! discrete models.
mod affine;
mod ahead;
mod algebraic;
mod auto;
mod coarse;
mod continuous;
mod edges;
mod errors;
mod failures;
mod fixpoint;
mod golden;
mod heard;
mod hybrid;
mod ids;
mod index;
mod modes;
mod pdevs;
mod protocol;
mod quantised;
mod relations;
mod roots;
mod sides;
mod sliding;
mod stone;
mod structure;
mod time;
