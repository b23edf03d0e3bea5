//! The federation itself.
use super::Outside;
use crate::{output::directory, plan::federate::Federate, run::pulse::Pulse};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use superdense_adapters::helics::{
    Federation, FederationError,
    clock::seconds,
    federate::{Arrival, Departure, Taking},
};

/// Time between two writings of the status.
const EVERY: Duration = Duration::from_secs(1);

/// A federation that is joined when it begins.
pub(super) struct Live {
    taking: Taking,
    pulse: Pulse,
    joined: Option<Federation>,
    status: Option<PathBuf>,
    told: Instant,
}

impl Live {
    pub(super) fn new(facts: &Federate, status: Option<PathBuf>, pulse: &Pulse) -> Self {
        let (taking, pulse) = (facts.taking.clone(), pulse.clone());
        Self { taking, pulse, joined: None, status, told: Instant::now() }
    }
}

impl Outside for Live {
    fn begin(&mut self) -> Result<Vec<Arrival>, FederationError> {
        let pulse = self.pulse.clone();
        let interrupted = Arc::new(move || pulse.interrupted());
        let mut joined = Federation::join(self.taking.clone(), interrupted)?;
        let begun = joined.begin();
        self.joined = Some(joined);
        begun
    }

    fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
    ) -> Result<(i64, Vec<Arrival>), FederationError> {
        let Self { joined, status, told, .. } = self;
        let Some(joined) = joined else { return Err(FederationError::Gone) };
        let mut look = |waited: Duration| {
            if let Some(file) = status.as_ref().filter(|_| told.elapsed() >= EVERY) {
                *told = Instant::now();
                let status = json!({ "time": seconds(now), "asked_for": seconds(next),
                                     "waiting_seconds": waited.as_secs_f64() });
                // It is for looking at only.
                let _ = directory::replace(file, format!("{status:#}\n").as_bytes());
            }
        };
        joined.exchange(sent, now, next, &mut look)
    }

    fn leave(&mut self, sent: Vec<Departure>, now: i64) -> Result<(), FederationError> {
        if let Some(file) = &self.status {
            let _ = directory::remove(file);
        }
        self.joined.take().map_or(Ok(()), |joined| joined.leave(sent, now))
    }

    fn fail(&mut self, why: &str) {
        if let Some(joined) = self.joined.take() {
            joined.fail(why);
        }
    }

    fn notes(&self) -> Vec<String> {
        self.joined.as_ref().map(|j| j.notes().to_vec()).unwrap_or_default()
    }
}
