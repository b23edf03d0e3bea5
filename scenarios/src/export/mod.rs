//! A scenario as an FMU: what others see of it, the files that it needs, and its runs.
//!
//! [`Parcel`](crate::plan::parcel::Parcel) and [`Plan`] become a [`Manifest`], which stands beside the files in the
//! resources of the FMU. The runtime in the FMU opens it again as a [`Model`], and steps runs of it.
#[cfg(feature = "fmi")]
mod archive;
mod manifest;
mod model;

#[cfg(feature = "fmi")]
pub use archive::fmu;
pub use manifest::{Causality, Manifest, Variable, manifest};
pub use model::Model;

/// The file of the manifest among the resources.
pub const MANIFEST: &str = "superdense.json";

/// Why a scenario is no FMU.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Units that another program computes.
    #[error(
        "`{0}` is a unit of kind `{1}`, which needs another program; whoever gets the FMU may not have it: leave the unit out, \
         and give the FMU the inputs in its place"
    )]
    Foreign(String, String),
    /// It takes part in a federation.
    #[error(
        "the scenario is a federate of {0}; write engine = \"fmi\" below [federate] for an FMU with these inputs and outputs"
    )]
    Federate(&'static str),
    /// Nothing is seen of it.
    #[error(
        "the scenario records no output with a value; name some in `record`, or as [[federate.output]]"
    )]
    Silent,
    /// Two variables have one name.
    #[error("two variables have the name `{0}`; give one of them another name by `as` or `from`")]
    Twice(String),
    /// A file that it is read from.
    #[error("`{0}`: {1}")]
    File(String, String),
    /// The resources are not those of an export.
    #[error("{0}")]
    Broken(String),
}
