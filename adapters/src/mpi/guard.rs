//! The guard of a rank: a process between `mpiexec` and the rank, which outlives it.
//!
//! **Why.** `mpiexec` kills all ranks as soon as one of them ends in error, and some say neither which one nor where.
//! A guard stays for a while, so that the first rank has the time to complete its files, and tells the launcher
//! who ended how.
use rustix::process::{Signal, set_parent_process_death_signal};
use std::{
    io::Write,
    process::{Command, ExitStatus},
    thread,
    time::Duration,
};

/// How lines begin that guards write for the launcher.
pub const MARK: &str = "superdense-rank";
/// How long a guard outlives a rank that ended in error.
const STAY: Duration = Duration::from_secs(10);

/// Has a process end when its guard does.
pub fn follow() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Runs the rank, and tells how it ended; the code to end with.
pub fn stand(rank: &mut Command) -> u8 {
    let number = number();
    let say = |what: String| {
        let line = format!("{MARK} {number} {what}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    };
    let started = rank.spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(e) => {
            say(format!("ended cannot begin: {e}"));
            return 2;
        }
    };
    say(format!("began {}", child.id()));
    let code = match child.wait() {
        Ok(status) => {
            say(format!("ended {}", told(status)));
            status.code().and_then(|code| u8::try_from(code).ok())
        }
        Err(e) => {
            say(format!("ended without a trace: {e}"));
            None
        }
    };
    if code != Some(0) {
        thread::sleep(STAY);
    }
    code.unwrap_or(3)
}

/// How a process ended: its code, or a sentence.
fn told(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    status.code().map_or_else(|| status.to_string(), |code| code.to_string())
}

/// The number of this rank, from whoever started it.
pub fn number() -> String {
    let known = ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"];
    known.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "?".to_owned())
}
