//! Scenario files for Superdense: reading, planning, running and reporting.
#[doc(hidden)]
pub mod cli;
pub mod compare;
pub mod diagnostics;
pub mod document;
pub mod export;
pub mod frequencies;
pub mod joint;
pub mod kinds;
pub mod library;
pub mod output;
pub mod plan;
pub mod plot;
pub mod report;
pub mod reproduce;
pub mod result;
pub mod run;
pub mod schema;
pub mod ses;
pub mod source;
pub mod stability;
#[cfg(feature = "study")]
pub mod study;

pub use diagnostics::Diagnostics;
pub use plan::{Overrides, Plan, load, load_parcel, load_with_graph};
#[cfg(feature = "fmi")]
pub use superdense_adapters::fmi::worker as fmu_worker;
