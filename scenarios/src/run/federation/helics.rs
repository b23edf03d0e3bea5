//! A federation of HELICS.
use super::{Broken, Outside};
use crate::{output::directory, run::pulse::Pulse};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use superdense_adapters::{
    federation::{Arrival, Departure, clock::seconds},
    helics::{
        Federation, FederationError, Waiting,
        federate::{Look, Taking, is_traced},
    },
};

/// Time between two writings of the status.
const EVERY: Duration = Duration::from_secs(1);

/// A federation that is joined when it begins.
pub(super) struct Live {
    taking: Taking,
    /// Time without a grant after which it is told who waits for whom.
    stall: Duration,
    pulse: Pulse,
    joined: Option<Federation>,
    status: Option<PathBuf>,
    told: Instant,
}

impl Live {
    pub(super) fn new(
        taking: &Taking,
        stall: Duration,
        status: Option<PathBuf>,
        pulse: &Pulse,
    ) -> Self {
        let (taking, pulse) = (taking.clone(), pulse.clone());
        Self { taking, stall, pulse, joined: None, status, told: Instant::now() }
    }
}

/// The others in a status.
fn of(who: &[Waiting]) -> serde_json::Value {
    let one = |w: &Waiting| {
        let on = w.on.iter().map(|(name, at)| json!({ "name": name, "time": at }));
        json!({ "name": w.name, "time": w.granted, "asked_for": w.asked,
                "waits_for": on.collect::<Vec<_>>() })
    };
    who.iter().map(one).collect()
}

impl From<FederationError> for Broken {
    fn from(why: FederationError) -> Self {
        match why {
            FederationError::Interrupted => Self::Interrupted,
            why => Self::Failed(why.to_string()),
        }
    }
}

impl Outside for Live {
    fn begin(&mut self) -> Result<Vec<Arrival>, Broken> {
        let pulse = self.pulse.clone();
        let interrupted = Arc::new(move || pulse.interrupted());
        let mut joined = Federation::join(self.taking.clone(), interrupted)?;
        let begun = joined.begin();
        self.joined = Some(joined);
        Ok(begun?)
    }

    fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
    ) -> Result<(i64, Vec<Arrival>), Broken> {
        let Self { joined, status, told, stall, .. } = self;
        let Some(joined) = joined else { return Err(FederationError::Gone.into()) };
        let (mut others, mut stalls) = (Vec::new(), true);
        let mut look = |look: &Look| {
            if let Some(who) = &look.who {
                others.clone_from(who);
                if stalls && look.elapsed >= *stall && !is_traced() {
                    stalls = false;
                    eprintln!("no time was granted for {} s:", look.elapsed.as_secs());
                    who.iter().for_each(|w| eprintln!("  {w}"));
                }
            }
            if let Some(file) = status.as_ref().filter(|_| told.elapsed() >= EVERY) {
                *told = Instant::now();
                let status = json!({ "time": seconds(now), "asked_for": seconds(next),
                                     "waiting_seconds": look.elapsed.as_secs_f64(),
                                     "federates": of(&others) });
                // It is for looking at only.
                let _ = directory::replace(file, format!("{status:#}\n").as_bytes());
            }
        };
        Ok(joined.exchange(sent, now, next, &mut look)?)
    }

    fn leave(&mut self, sent: Vec<Departure>, now: i64) -> Result<(), Broken> {
        if let Some(file) = &self.status {
            let _ = directory::remove(file);
        }
        Ok(self.joined.take().map_or(Ok(()), |joined| joined.leave(sent, now))?)
    }

    fn fail(&mut self, why: &str) {
        if let Some(joined) = self.joined.take() {
            joined.fail(why);
        }
    }

    fn sender(&mut self, source: &str) -> Option<String> {
        self.joined.as_mut()?.sender(source)
    }

    fn notes(&self) -> Vec<String> {
        self.joined.as_ref().map(|j| j.notes().to_vec()).unwrap_or_default()
    }
}
