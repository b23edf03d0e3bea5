//! The program that is started as a worker.
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// First argument of the command line of `superdense` that makes it a worker.
pub const ARGUMENT: &str = "__fmu-worker";

static PROGRAM: OnceLock<(PathBuf, Vec<String>)> = OnceLock::new();

/// Says which program becomes a worker ([`super::serve`]), and with which arguments. Programs other than
/// `superdense` say it once, before they build units; otherwise `superdense` is looked for beside the running
/// program, and on `PATH`.
pub fn set_program(program: PathBuf, arguments: Vec<String>) {
    // The first word counts: workers that run are of it.
    let _ = PROGRAM.set((program, arguments));
}

static ALL: AtomicBool = AtomicBool::new(false);

/// From now on this program isolates every FMU that it builds, whatever its scenario says.
pub fn isolate_all() {
    ALL.store(true, Ordering::Relaxed);
}

/// Whether [`isolate_all`] was called.
pub fn isolates_all() -> bool {
    ALL.load(Ordering::Relaxed)
}

/// The command that starts a worker.
pub(super) fn command() -> Command {
    if let Some((program, arguments)) = PROGRAM.get() {
        let mut command = Command::new(program);
        command.args(arguments);
        return command;
    }
    let own = std::env::current_exe().unwrap_or_default();
    let name = format!("superdense{}", std::env::consts::EXE_SUFFIX);
    // Tests of cargo lie one folder below the programs.
    let folders = [own.parent(), own.parent().and_then(Path::parent)];
    let found = folders.into_iter().flatten().map(|f| f.join(&name)).find(|p| p.is_file());
    let mut command = Command::new(found.unwrap_or_else(|| name.into()));
    command.arg(ARGUMENT);
    command
}
