//! Running a plan: results, checkpoints, interruption.
//!
//! A run is cut into slices by samples and by a fraction of its length; between slices, and after
//! any cycle when the [`pulse`] asks for it, the session writes checkpoints, flushes tables and
//! looks for Ctrl-C. Where the cuts fall never changes a result: they bound how far the kernel
//! goes, not where its steps fall.
pub mod checkpoint;
mod core;
pub mod demand;
mod doubts;
pub mod driven;
pub mod executor;
#[cfg(feature = "federation")]
pub mod federation;
pub mod memory;
pub mod pulse;
pub mod ranks;
pub mod real_time;
mod recorder;
pub(crate) mod sampler;
mod session;

mod stopwatch;
pub mod ties;
pub mod timeline;
pub mod verify;

pub use recorder::EventRow;
pub use session::{Progress, Session};

use crate::{
    Overrides,
    output::{OutputError, reports::Summary, trajectory::Format},
    plot::Pictures,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use superdense_kernel::{
    error::{CheckpointError, RunError},
    event_list::EventListKind,
    time::Resolution,
};

/// Events that a report lists one by one.
pub const LISTED: usize = 40;

/// How to run a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The scenario file.
    pub file: PathBuf,
    /// `--set path=value`, in order.
    pub sets: Vec<(String, String)>,
    /// Options that stand above the file.
    pub overrides: Overrides,
    /// Output directory.
    pub out: PathBuf,
    /// Implementation of the event list.
    pub event_list: EventListKind,
    /// Who runs the models.
    pub executor: executor::Executor,
    /// How the run follows the wall clock; as fast as it goes without.
    pub real_time: Option<real_time::RealTime>,
    /// Wall seconds between checkpoints; none without.
    pub checkpoint_every: Option<f64>,
    /// Seed of a second run with permuted bags.
    pub ties: Option<u64>,
    /// The output directory of another run, whose record takes the place of the federation.
    pub replay: Option<PathBuf>,
    /// How the trajectory is written.
    pub trajectory: Format,
    /// The figure that is drawn at the end.
    pub plot: Pictures,
}

impl Settings {
    /// The settings with absolute paths, for programs that are started elsewhere, too.
    pub fn absolute(&self) -> Self {
        let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
        Self {
            file: absolute(&self.file),
            out: absolute(&self.out),
            replay: self.replay.as_deref().map(absolute),
            ..self.clone()
        }
    }
}

/// Why a run stopped without an end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The simulation failed; what was committed before is in the files.
    #[error("{told}")]
    Run {
        /// The failure, with ticks.
        error: Box<RunError>,
        /// Its message, with seconds.
        told: String,
        /// When, in seconds since the start, if the run had begun.
        seconds: Option<f64>,
    },
    /// The federation failed, or what goes between it and the run does not fit.
    #[error("{0}")]
    Federation(String),
    /// The run was to keep up with the wall clock, and did not.
    #[error("{0}")]
    Late(String),
    /// A recorded value is not finite.
    #[error("{0}")]
    NotFinite(String),
    /// A result could not be written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// A checkpoint could not be made or used.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint belongs to other files or options.
    #[error("{0}")]
    Mismatch(String),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Run { told: error.to_string(), error: error.into(), seconds: None }
    }
}

impl Failure {
    /// A failure of a simulation with this resolution, and more about it. Ticks in its message become seconds.
    fn of(error: RunError, resolution: Resolution, more: &str) -> Self {
        let mut told = error.to_string();
        if let Some(at) = error.at() {
            let mut time = format!("{} s", resolution.format(at.ticks));
            if at.micro > 0 {
                time += &format!(" (micro-step {})", at.micro);
            }
            told = told.replace(&at.to_string(), &time);
        }
        let spans = match &error {
            RunError::Zeno { gap, .. } => vec![*gap],
            RunError::BadElapsed { elapsed, advance, .. } => vec![*elapsed, *advance],
            _ => Vec::new(),
        };
        for ticks in spans {
            let seconds = format!("{} s", resolution.format(ticks));
            told = told.replacen(&format!("{ticks} ticks"), &seconds, 1);
        }
        if let RunError::Zeno { .. } = &error {
            told += &format!(
                "; where events truly come that closely, write a finer `resolution` than {resolution}"
            );
        }
        let seconds = error.at().map(|at| resolution.seconds(at.ticks));
        told += more;
        Self::Run { error: error.into(), told, seconds }
    }

    /// The unit that it is about, as scenarios write it, and the time in seconds, as far as they are known.
    pub fn place(&self) -> (Option<String>, Option<f64>) {
        match self {
            Self::Run { error, seconds, .. } => {
                (error.path().map(|path| path.replace('/', ".")), *seconds)
            }
            _ => (None, None),
        }
    }
}

/// How a run returned.
#[derive(Debug)]
pub enum Outcome {
    /// At its end.
    Done(Box<Report>),
    /// By Ctrl-C; the results so far are kept.
    Interrupted {
        /// The tick that was reached, in seconds.
        at: String,
        /// The checkpoint to resume from, or why there is none.
        checkpoint: Result<PathBuf, String>,
    },
}

/// The report of a finished run.
#[derive(Debug)]
pub struct Report {
    /// Facts.
    pub summary: Summary,
    /// The events, if there are at most [`LISTED`].
    pub events: Option<Vec<EventRow>>,
    /// Continuous units.
    pub continuous: usize,
    /// Remarks of units, at most a few.
    pub notes: Vec<String>,
    /// Wall seconds.
    pub wall_seconds: f64,
    /// Why there is no figure, if it could not be drawn.
    pub figure: Result<usize, String>,
}
