//! The one integration test binary: a module per area, a test per case of the conformance list
//! (named by its id) and per property.
mod allocations;
mod checkpoint;
mod conformance;
#[cfg(feature = "fmi")]
mod fmi;
mod fuzz;
mod generated;
#[cfg(feature = "mosaik")]
mod mosaik;
mod nested;
mod properties;
mod silent;
mod tidy;
