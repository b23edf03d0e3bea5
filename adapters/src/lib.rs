//! Superdense and the outside world. Each neighbour is a feature, off by default, so that nobody
//! builds what he does not need.
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "fmi")]
pub mod fmi;
