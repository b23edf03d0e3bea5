//! The output directory: what may be written where.
use super::OutputError;
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The checkpoint's file name.
pub const CHECKPOINT: &str = "checkpoint";
/// The summary's file name.
pub const SUMMARY: &str = "summary.json";
/// The file with the request of a verification, as long as it has not ended.
pub const VERIFYING: &str = "verifying.json";

/// Folders of tightened runs: this and a number.
pub const TIGHTENED: &str = "tightened-";

/// Every file that a run may write, for `--force`.
const FILES: [&str; 14] = [
    super::reports::UNITS,
    "events.csv",
    "samples.csv",
    "trajectory.csv",
    SUMMARY,
    "performance.json",
    crate::plot::NAME,
    "plot.svg",
    "plot.png",
    CHECKPOINT,
    VERIFYING,
    "event_bars.csv",
    "sample_bars.csv",
    "verify.json",
];

/// The results directory of a scenario, unless `--out` names another.
pub fn default_for(scenario: &str) -> PathBuf {
    Path::new("out").join(scenario)
}

/// Makes the directory, and keeps other runs out of it for as long as what is given lives, also of other
/// programs; where the system can lock no directories, nothing is kept out.
///
/// # Errors
/// When another run holds it, or it cannot be made.
pub fn hold(dir: &Path) -> Result<Option<File>, OutputError> {
    fs::create_dir_all(dir).map_err(OutputError::at(dir))?;
    let Ok(held) = File::open(dir) else { return Ok(None) };
    match held.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let why = "another run is writing its results here; wait for its end, or choose another \
                       directory with --out";
            Err(OutputError::at(dir)(io::Error::new(io::ErrorKind::ResourceBusy, why)))
        }
        locked => Ok(locked.ok().map(|()| held)),
    }
}

/// Makes the directory, and removes the files of an earlier run.
///
/// # Errors
/// When it has content and `force` is not given, or cannot be written.
pub fn prepare(dir: &Path, force: bool) -> Result<(), OutputError> {
    fs::create_dir_all(dir).map_err(OutputError::at(dir))?;
    let occupied = fs::read_dir(dir).map_err(OutputError::at(dir))?.next().is_some();
    if occupied && !force {
        let why = "the output directory is not empty; choose another with --out, or overwrite the \
                   results in it with --force";
        return Err(OutputError::at(dir)(io::Error::new(io::ErrorKind::AlreadyExists, why)));
    }
    // The summary goes first: while it is there, the directory holds a complete run.
    for name in [SUMMARY].iter().chain(&FILES) {
        remove(&dir.join(name))?;
    }
    // Of `--verify` and `--tighten`; with them their files go, and no others.
    for entry in fs::read_dir(dir).map_err(OutputError::at(dir))?.flatten() {
        let name = entry.file_name();
        let level = name.to_str().and_then(|name| name.strip_prefix(TIGHTENED));
        if level.is_some_and(|n| n.parse::<u32>().is_ok()) && entry.path().is_dir() {
            prepare(&entry.path(), true)?;
            let _ = fs::remove_dir(entry.path());
        }
    }
    #[cfg(feature = "parquet")]
    for entry in fs::read_dir(dir).map_err(OutputError::at(dir))?.flatten() {
        let number = superdense_adapters::parquet::part_number;
        if entry.file_name().to_str().and_then(number).is_some() {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file that may be missing.
///
/// # Errors
/// When it is there and cannot be removed.
pub fn remove(file: &Path) -> Result<(), OutputError> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(OutputError::at(file)(e)),
        _ => Ok(()),
    }
}

/// Puts a whole file in place: it appears complete or not at all, also after a power failure.
///
/// # Errors
/// When it cannot be written.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    let write = || {
        let mut f = File::create(&part)?;
        f.write_all(bytes)?;
        f.sync_all()?;
        fs::rename(&part, file)?;
        // The rename itself must last; not every system lets a directory be synced.
        if let Some(dir) = file.parent().filter(|d| !d.as_os_str().is_empty()) {
            let _ = File::open(dir).and_then(|d| d.sync_all());
        }
        Ok(())
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&part);
        OutputError::at(file)(e)
    })
}
