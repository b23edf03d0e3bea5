//! Looks at others while HELICS is waited for: federates that we have started, the broker, Ctrl-C.
use super::federate::FederationError;
use crate::child::Process;
use std::{
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// Time in which a broker on a network answers.
const ANSWER: Duration = Duration::from_millis(500);
/// Time that federates have to end once the federation is over.
const GRACE: Duration = Duration::from_secs(5);
/// Refusals one after another by which a broker counts as gone.
const REFUSALS: u32 = 3;

/// Whether the run was interrupted.
pub type Interrupted = Arc<dyn Fn() -> bool + Send + Sync>;

/// A federate that is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Its name.
    pub name: String,
    /// Its command; `{broker}` and `{key}` stand for address and key of the broker.
    pub command: String,
}

struct Child {
    name: String,
    process: Process,
    well: bool,
}

/// Everything that is looked at.
pub(super) struct Watch {
    children: Vec<Child>,
    /// The broker's address, where it is one of others that takes connections.
    broker: Option<SocketAddr>,
    looked: Instant,
    every: Duration,
    refused: u32,
    interrupted: Interrupted,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({} processes)", self.children.len())
    }
}

impl Watch {
    /// Nothing but Ctrl-C so far.
    pub(super) fn new(patience: Duration, interrupted: Interrupted) -> Self {
        let (children, looked) = (Vec::new(), Instant::now());
        Self { children, broker: None, looked, every: patience / 4, refused: 0, interrupted }
    }

    /// Looks at a broker, too.
    pub(super) fn broker(&mut self, at: SocketAddr) {
        self.broker = Some(at);
    }

    /// Starts a federate in a folder.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn launch(
        &mut self,
        launch: &Launch,
        names: &[(&str, &str)],
        folder: &Path,
    ) -> Result<(), FederationError> {
        let name = launch.name.clone();
        match Process::start(&launch.command, names, folder) {
            Ok(process) => self.children.push(Child { name, process, well: false }),
            Err(why) => return Err(FederationError::Start { name, why: why.to_string() }),
        }
        Ok(())
    }

    /// Looks once.
    ///
    /// # Errors
    /// When a federate that we have started ended in error, the broker is gone, or the run was interrupted.
    pub(super) fn look(&mut self) -> Result<(), FederationError> {
        if (self.interrupted)() {
            return Err(FederationError::Interrupted);
        }
        for child in self.children.iter_mut().filter(|c| !c.well) {
            let Some(status) = child.process.ended(Duration::ZERO) else { continue };
            if status.success() {
                child.well = true;
                continue;
            }
            let mut lines = child.process.last_lines(true);
            if !lines.is_empty() {
                lines.insert(0, "; its last lines:".into());
            }
            let (name, lines) = (child.name.clone(), lines.join("\n  "));
            return Err(FederationError::Ended { name, how: status.to_string(), lines });
        }
        if let Some(at) = self.broker
            && self.looked.elapsed() >= self.every
        {
            self.looked = Instant::now();
            let refused = TcpStream::connect_timeout(&at, ANSWER).is_err();
            self.refused = if refused { self.refused + 1 } else { 0 };
            if self.refused >= REFUSALS {
                return Err(FederationError::BrokerLost { at: at.to_string() });
            }
        }
        Ok(())
    }

    /// Waits for the federates that we have started to end by themselves.
    ///
    /// # Errors
    /// When one of them ended in error.
    pub(super) fn end(&mut self) -> Result<(), FederationError> {
        let begun = Instant::now();
        for child in &mut self.children {
            child.process.ended(GRACE.saturating_sub(begun.elapsed()));
        }
        self.broker = None;
        self.look()
    }
}
