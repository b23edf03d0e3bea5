//! Studies: questions about a scenario, answered by many runs.
//!
//! A study file names a scenario, the parameters that vary and questions about results. [`Study::read`] checks
//! it, [`conduct`](conduct::conduct) runs what the questions ask for, on any number of threads, and keeps
//! every run in a [`store`]; a study that is started again goes on where it was. The mathematics is that of
//! the crate `superdense-study`: this module has files, clocks and threads.
//!
//! | file | content |
//! | --- | --- |
//! | [`file`] | the study file, with its mistakes |
//! | [`vary`] | the values of parameters, and how they are written into the scenario |
//! | [`ask`] | questions as they are written |
//! | [`first`] | variants in order, until one meets goals |
//! | [`question`] | questions on the way to their answer |
//! | [`runner`] | one run |
//! | [`conduct`] | who runs what, and when |
//! | [`home`] | a study in its directory, and points that are asked for by hand |
//! | [`store`] | `study.sqlite` |
//! | [`reader`] | a store that is only read |
//! | [`answer`] | `answers.json` and the line on screen |
//! | [`table`] | `results.csv` |
//! | `parquet` | the same as Parquet, with the feature `parquet` |
pub mod answer;
pub mod ask;
pub mod conduct;
pub mod file;
pub mod first;
pub mod home;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod question;
pub mod reader;
pub mod runner;
pub mod store;
pub mod table;
mod trials;
pub mod vary;

pub use conduct::{Conducted, Limits, Piece, conduct};
pub use file::Study;
pub use home::{Asked, Home};
pub use reader::Reader;
pub use runner::{Lost, Row, Runner, ScenarioRunner};
pub use store::Store;

use crate::output::OutputError;

/// The name of the store in the directory of a study.
pub const STORE: &str = "study.sqlite";
/// The name of the table of runs.
pub const RESULTS: &str = "results.csv";
/// The name of the answers.
pub const ANSWERS: &str = "answers.json";

/// Settings of a scenario: paths and values, as behind `--set`.
pub type Sets = Vec<(String, String)>;

/// Why a study stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The store does not take or give rows.
    #[error("{file}: {source}; {help}")]
    Store {
        /// The file.
        file: String,
        /// Why.
        source: rusqlite::Error,
        /// The remedy.
        help: &'static str,
    },
    /// A file cannot be written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The directory, or what is asked of it, does not fit.
    #[error("{0}")]
    Refused(String),
}
