//! Scenario files for Superdense: reading, planning, running and reporting.
pub mod diagnostics;
pub mod document;
pub mod plan;
pub mod source;

pub use diagnostics::Diagnostics;
pub use plan::{Overrides, Plan, load};
