//! The files of a run.
//!
//! | file | content |
//! | --- | --- |
//! | `events.csv` | one row per located or time event |
//! | `samples.csv` | recorded outputs at 0, DT, 2 DT, … and at the end |
//! | `trajectory.csv`, or `trajectory-NNNNN.parquet` | every segment or value sent on recorded outputs |
//! | `summary.json` | deterministic facts, there only when the run has ended |
//! | `units.csv` | what each continuous unit counted: steps, evaluations, events, exchanges |
//! | `performance.json` | wall time and memory, never compared |
//! | `plots.json` | the declared plots, for `superdense plot` |
//! | `plot.svg`, `plot.png` | the figure |
//! | `event_bars.csv`, `sample_bars.csv`, `verify.json` | error bars, after `--verify` or `--tighten` |
//! | `tightened-1`, `tightened-2`, ... | folders: the same run ten, a hundred, ... times tighter |
//! | `second-family-1`, ... | folders: likewise, by other methods |
//! | `verifying.json` | what was asked for, until these are there |
//! | `manifest.json` | names, lengths and checksums of all these |
//! | `checkpoint` | what `superdense resume` goes on from, while the run has not ended |
//!
//! Tables grow by whole lines; everything else is replaced by an atomic rename.
pub mod csv;
pub mod directory;
pub mod manifest;
pub mod numbers;
pub mod reports;
pub mod results;
pub mod table;
pub mod trajectory;

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a file of a run could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", file.display(), explained(source))]
pub struct OutputError {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Advice about an error of the operating system.
pub fn remedy(e: &io::Error) -> Option<&'static str> {
    // Errors of our own have one in their text.
    match e.raw_os_error()? {
        // Of this process, or of the system: no kind of error tells them.
        #[cfg(unix)]
        23 | 24 => return Some("end other programs, or raise the limit with: ulimit -n 4096"),
        _ => {}
    }
    Some(match e.kind() {
        io::ErrorKind::NotFound => "correct the path, or make the folder",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a place that you may use, or change its permissions"
        }
        io::ErrorKind::IsADirectory => "this is a folder, name a file",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a part of the path is a file, choose another path"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room, raise the limit (ulimit -f), or write elsewhere"
        }
        _ => return None,
    })
}

/// An error of the operating system with what to do about it.
pub fn explained(e: &io::Error) -> String {
    remedy(e).map_or_else(|| e.to_string(), |help| format!("{e}; {help}"))
}

impl OutputError {
    /// A file that is not to be touched: why, and what to do.
    pub fn refused(file: &Path, why: &str) -> Self {
        Self::at(file)(io::Error::other(why.to_owned()))
    }

    /// For `map_err`.
    pub fn at(file: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let file = file.to_owned();
        move |source| Self { file, source }
    }
}
