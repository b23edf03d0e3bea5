//! The thread that owns the library. No call of it is waited for without looking at the time: where HELICS does not
//! come back, the thread is left behind.
use super::library::Held;
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// Time between two looks at what else may have happened.
const LOOK: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce(&mut Held) + Send>;

/// A way to the thread.
#[derive(Debug)]
pub(super) struct Owner {
    jobs: SyncSender<Job>,
}

/// The thread is gone: a call of the library ended it.
#[derive(Debug)]
pub(super) struct Gone;

impl Owner {
    /// Starts the thread, which makes what it owns.
    ///
    /// # Errors
    /// When that cannot be made.
    pub(super) fn start<E: Send + 'static>(
        make: impl FnOnce() -> Result<Held, E> + Send + 'static,
    ) -> Result<Self, Option<E>> {
        let (jobs, wanted) = sync_channel::<Job>(1);
        let (tell, made) = sync_channel(1);
        let own = move || match make() {
            Ok(held) => {
                let _ = tell.send(Ok(()));
                serve(held, &wanted);
            }
            Err(e) => drop(tell.send(Err(e))),
        };
        thread::Builder::new().name("helics".into()).spawn(own).map_err(|_| None)?;
        match made.recv() {
            Ok(Ok(())) => Ok(Self { jobs }),
            Ok(Err(e)) => Err(Some(e)),
            Err(_) => Err(None),
        }
    }

    /// Does something with the library. While it lasts, `look` is called ten times a second with the time since the
    /// beginning, and may give up.
    ///
    /// # Errors
    /// Errors of `look`; a thread that is gone.
    pub(super) fn call<T: Send + 'static, E: From<Gone>>(
        &self,
        job: impl FnOnce(&mut Held) -> T + Send + 'static,
        look: &mut dyn FnMut(Duration) -> Result<(), E>,
    ) -> Result<T, E> {
        let (tell, done) = sync_channel(1);
        let job: Job = Box::new(move |held| drop(tell.send(job(held))));
        self.jobs.try_send(job).map_err(|_| Gone)?;
        let begun = Instant::now();
        loop {
            match done.recv_timeout(LOOK) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => look(begun.elapsed())?,
                Err(RecvTimeoutError::Disconnected) => return Err(Gone.into()),
            }
        }
    }
}

fn serve(mut held: Held, wanted: &Receiver<Job>) {
    while let Ok(job) = wanted.recv() {
        job(&mut held);
    }
    let _ = held.leave();
    let _ = held.end_broker();
}
