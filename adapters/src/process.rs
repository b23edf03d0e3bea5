//! Processes that adapters start, each the first one of a process group.
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

/// Time between two looks at a process that is waited for.
const LOOK: Duration = Duration::from_millis(1);

/// How a process ended, if it ends by itself within so long.
pub(crate) fn ended(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < within => std::thread::sleep(LOOK),
            _ => return None,
        }
    }
}

/// Ends a process and all that it has started.
pub(crate) fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // Both fail only where it has just ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}
