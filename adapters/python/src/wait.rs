//! Long work beside the interpreter: others run meanwhile, and Ctrl-C ends it.
use pyo3::prelude::*;
use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};
use superdense::run::pulse::Pulse;

/// How often the interpreter is asked for signals.
const BEAT: Duration = Duration::from_millis(20);

fn ended(ends: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    ends.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(BEAT)
}

/// Does work on a thread of its own, without the interpreter's lock. Where a signal handler raises, the pulse is
/// interrupted, and its exception is the outcome.
pub(crate) fn waited<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Pulse) -> T + Send,
) -> PyResult<T> {
    let pulse = Pulse::default();
    let mut raised = None;
    let done = thread::scope(|scope| {
        let (alive, ends) = channel::<()>();
        let ends = Mutex::new(ends);
        let worker = scope.spawn({
            let pulse = pulse.clone();
            move || {
                let _alive = alive;
                work(&pulse)
            }
        });
        while py.detach(|| ended(&ends)) == Err(RecvTimeoutError::Timeout) {
            if let Err(e) = py.check_signals() {
                pulse.interrupt();
                raised.get_or_insert(e);
            }
        }
        py.detach(|| worker.join())
    });
    match (raised, done) {
        (Some(e), _) => Err(e),
        (None, Ok(done)) => Ok(done),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}
