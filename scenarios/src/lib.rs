//! Scenario files for Superdense: reading, planning, running and reporting.
pub mod diagnostics;
pub mod plan;

pub use diagnostics::Diagnostics;
pub use plan::{Overrides, Plan, load};
