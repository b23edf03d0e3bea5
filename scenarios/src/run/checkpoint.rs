//! The checkpoint file of a run: the kernel's checkpoint, the options of the run, and the length and
//! checksum of every file at that moment.
use super::{Failure, Settings, recorder::Memory};
use crate::output::{OutputError, manifest::Entry, results::MAGIC, trajectory::Mark};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, path::Path};
use superdense_kernel::{
    error::CheckpointError,
    message::Digest,
    time::{RationalClock, Resolution},
};

/// Bytes before the body: a mark, the number of the run, the version, a checksum of the body.
const HEAD: usize = 8 + 16 + 4 + 8;
/// Format version of this file; the kernel's part has its own.
pub const VERSION: u32 = 26;

/// Everything a run needs to go on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of the run.
    pub run: String,
    /// The options of the run, with absolute paths.
    pub settings: Settings,
    /// The identity of the plan.
    pub identity: Identity,
    /// Tick of the latest sample; -1 before the first.
    pub sampled: i64,
    /// Where the run stands in its federation, if it takes part in one.
    pub federation: Option<Vec<u8>>,
    /// The memory of the recorder.
    pub memory: Memory,
    /// The files of the run.
    pub files: BTreeMap<String, Entry>,
    /// Where the trajectory stands, beyond its files.
    pub trajectory: Mark,
    /// Wall seconds so far.
    pub wall_seconds: f64,
    /// The kernel's part.
    pub kernel: Vec<u8>,
}

/// The properties that must be equal in the plan that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Digest of units, parameters, connections, resolution and seed.
    pub plan_hash: u64,
    /// Resolution.
    pub resolution: Resolution,
    /// Last tick.
    pub stop: i64,
    /// When samples are taken.
    pub sample: Option<RationalClock>,
    /// Header of `samples.csv`.
    pub columns: String,
    /// The formulas of its results.
    pub results: String,
}

impl Identity {
    /// Says in what `self`, the plan of now, differs from the one of the checkpoint.
    pub fn difference(&self, then: &Self) -> Option<String> {
        let what = if self.resolution != then.resolution {
            format!("its resolution is {}, not {}", self.resolution, then.resolution)
        } else if self.plan_hash != then.plan_hash {
            "its units, parameters, connections or seed have changed".to_owned()
        } else if self.stop != then.stop {
            let time = |p: &Self| p.resolution.format(p.stop);
            format!("its stop time is {} s, not {} s", time(self), time(then))
        } else if self.sample != then.sample {
            "its sampling has changed".to_owned()
        } else if self.columns != then.columns {
            "its recorded outputs have changed".to_owned()
        } else if self.results != then.results {
            "its results have changed".to_owned()
        } else {
            return None;
        };
        let remedy = "restore the scenario as it was, or start a new run";
        Some(format!("the scenario is not the one of the checkpoint: {what}; {remedy}"))
    }
}

impl Checkpoint {
    /// The contents of the file.
    ///
    /// # Errors
    /// When a value has no place in it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        let body =
            postcard::to_stdvec(self).map_err(|e| CheckpointError::Unreadable(e.to_string()))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.run.as_bytes());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(digest(&body).to_le_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// When there is none, or it is damaged or of another version.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(file).map_err(OutputError::at(file))?;
        let damaged = |why: &str| {
            Failure::Checkpoint(CheckpointError::Unreadable(format!("{}: {why}", file.display())))
        };
        let (Some(magic), Some(version), Some(sum)) =
            (bytes.first_chunk::<8>(), bytes.get(24..28), bytes.get(28..HEAD))
        else {
            return Err(damaged("the file is too short"));
        };
        if magic != MAGIC {
            return Err(damaged("the header is missing"));
        }
        let found = u32::from_le_bytes(version.try_into().unwrap_or_default());
        if found != VERSION {
            return Err(CheckpointError::Version { found, expected: VERSION }.into());
        }
        let body = &bytes[HEAD..];
        if digest(body).to_le_bytes() != sum {
            return Err(damaged("its checksum does not fit"));
        }
        postcard::from_bytes(body).map_err(|e| damaged(&e.to_string()))
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut d = Digest::new();
    d.bytes(bytes);
    d.finish()
}
