//! Superdense and the outside world. Each neighbour is a feature, off by default, so that nobody
//! builds what he does not need. How to add one: `docs/extending.md`.
#[cfg(any(feature = "helics", feature = "mosaik"))]
mod child;
pub mod federation;
#[cfg(feature = "fmi")]
pub mod fmi;
#[cfg(feature = "helics")]
pub mod helics;
#[cfg(feature = "mosaik")]
pub mod mosaik;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(any(feature = "fmi", feature = "helics", feature = "mosaik"))]
mod process;
#[cfg(any(feature = "helics", feature = "mpi"))]
mod symbols;
