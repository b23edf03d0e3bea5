//! The output directory: what may be written where.
use super::OutputError;
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Component, Path, PathBuf},
};

/// The checkpoint's file name.
pub const CHECKPOINT: &str = "checkpoint";
/// The summary's file name.
pub const SUMMARY: &str = "summary.json";
/// The file with the request of a verification, as long as it has not ended.
pub const VERIFYING: &str = "verifying.json";

/// Every file that a run may write, besides the manifest and parts of a trajectory.
pub const FILES: [&str; 14] = [
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
///
/// # Errors
/// When the name of the scenario is none of a folder: with the remedy.
pub fn default_for(scenario: &str) -> Result<PathBuf, String> {
    let mut parts = Path::new(scenario).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => Ok(Path::new("out").join(name)),
        _ => Err(format!(
            "the scenario's name `{scenario}` cannot be that of a folder for its results; rename the \
             file, or choose a folder with --out"
        )),
    }
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

/// Puts a whole file in place: it appears complete or not at all, also after a power failure. Nothing but
/// the file itself is touched, and a link of its name is replaced, not followed.
///
/// # Errors
/// When it cannot be written.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    replace_by(file, bytes, &format!(".{name}.{}.part", super::manifest::random()))
}

/// As [`replace`], by way of an unfinished file of this name.
pub(super) fn replace_by(file: &Path, bytes: &[u8], part: &str) -> Result<(), OutputError> {
    let part = file.with_file_name(part);
    let write = || {
        let mut f = create(&part)?;
        let written = f.write_all(bytes).and_then(|()| f.sync_all());
        if let Err(e) = written.and_then(|()| fs::rename(&part, file)) {
            let _ = fs::remove_file(&part);
            return Err(e);
        }
        // The rename itself must last; not every system lets a directory be synced.
        if let Some(dir) = file.parent().filter(|d| !d.as_os_str().is_empty()) {
            let _ = File::open(dir).and_then(|d| d.sync_all());
        }
        Ok(())
    };
    write().map_err(OutputError::at(file))
}

/// A new file, which never is one that was there. An unfinished one of a run that was killed, known by
/// the number in its name, makes room.
fn create(part: &Path) -> io::Result<File> {
    match File::create_new(part) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(part)?.is_file() {
                fs::remove_file(part)?;
            }
            File::create_new(part)
        }
        made => made,
    }
}
