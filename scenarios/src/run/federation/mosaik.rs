//! A world of mosaik.
use super::{Broken, Outside};
use crate::run::pulse::Pulse;
use std::sync::Arc;
use superdense_adapters::{
    federation::{Arrival, Departure},
    mosaik::simulator::{Address, Offer, Simulator, SimulatorError},
};

/// A world that is joined when the run begins.
pub(super) struct World {
    offer: Offer,
    address: Address,
    pulse: Pulse,
    joined: Option<Simulator>,
    /// The last whole time of the run.
    stop: i64,
    /// The world has ended.
    over: bool,
    notes: Vec<String>,
}

impl World {
    /// # Errors
    /// Where no address is known.
    pub(super) fn new(
        offer: &Offer,
        address: Option<&Address>,
        (pulse, stop): (&Pulse, i64),
    ) -> Result<Self, String> {
        let address = address.ok_or(
            "this scenario is a simulator of mosaik, and no world is known: start it by `superdense mosaik FILE.toml \
             HOST:PORT`, go on with it by `superdense resume DIR HOST:PORT`, or feed it with the record of another run by --replay DIR",
        )?;
        let (offer, address, pulse) = (offer.clone(), address.clone(), pulse.clone());
        Ok(Self { offer, address, pulse, joined: None, stop, over: false, notes: Vec::new() })
    }

    /// The time up to which a world went that has ended.
    fn ended(&mut self, now: i64) {
        if let Some(joined) = self.joined.as_ref().filter(|_| !self.over) {
            let seconds = |time: i64| time as f64 * self.offer.resolution;
            self.over = true;
            let until = joined.until().max(now);
            if until < self.stop {
                self.notes.push(format!(
                    "mosaik went up to {} s at least, and the scenario ends at {} s: from there on it ran without it, and its \
                     inputs held",
                    seconds(until),
                    seconds(self.stop)
                ));
            }
        }
        // It ends the processes that it has started as soon as they have answered.
        self.pulse.ignore_termination();
    }
}

impl From<SimulatorError> for Broken {
    fn from(why: SimulatorError) -> Self {
        match why {
            SimulatorError::Interrupted => Self::Interrupted,
            why => Self::Failed(why.to_string()),
        }
    }
}

impl Outside for World {
    fn begin(&mut self) -> Result<Vec<Arrival>, Broken> {
        let pulse = self.pulse.clone();
        let interrupted = Arc::new(move || pulse.interrupted());
        let joined = Simulator::join(&self.address, self.offer.clone(), interrupted)?;
        match self.joined.insert(joined).stepped_to()? {
            Some((0, arrivals)) => Ok(arrivals),
            Some((time, _)) => Err(Broken::Failed(format!(
                "the first step was one at {time}; it must be one at 0"
            ))),
            None => {
                self.ended(0);
                Ok(Vec::new())
            }
        }
    }

    fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
    ) -> Result<(i64, Vec<Arrival>), Broken> {
        let Some(joined) = self.joined.as_mut().filter(|_| !self.over) else {
            return Ok((next, Vec::new()));
        };
        joined.done(sent, Some(next))?;
        match joined.stepped_to()? {
            Some((time, arrivals)) if time >= now => Ok((time, arrivals)),
            Some((time, _)) => Err(Broken::Failed(format!(
                "a step at {time} came after one at {now}; time goes on"
            ))),
            None => {
                self.ended(now);
                Ok((next, Vec::new()))
            }
        }
    }

    fn leave(&mut self, sent: Vec<Departure>, _: i64) -> Result<(), Broken> {
        if let Some(mut joined) = self.joined.take().filter(|_| !self.over) {
            joined.done(sent, None)?;
            joined.over()?;
            self.pulse.ignore_termination();
        }
        Ok(())
    }

    fn fail(&mut self, why: &str) {
        if let Some(mut joined) = self.joined.take() {
            joined.fail(why);
        }
    }

    fn sender(&mut self, _: &str) -> Option<String> {
        // Sources have the names of simulators already.
        None
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
