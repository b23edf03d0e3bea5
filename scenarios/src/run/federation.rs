//! A run that takes part in a federation of HELICS or mosaik.
//!
//! **From grant to grant.** At a granted time all that came is one bag at its first micro-step, together with own
//! events due; the run goes through all micro-steps of that instant; what left is published; the next own event is
//! asked for. Whoever grants, a federation of HELICS ([`helics`]), a world of mosaik ([`mosaik`]) or the record of
//! another run ([`replay`]), the run is the same. A time may be granted again: what comes then is heard in the next
//! micro-step.
//!
//! **Going on.** A checkpoint has where the run stood ([`standing`]), but nothing of its peers, which have no way to save
//! themselves. A run that is resumed starts them anew, and they catch up ([`catching_up`]).
mod catching_up;
mod convert;
#[cfg(feature = "helics")]
mod helics;
mod lines;
#[cfg(feature = "mosaik")]
mod mosaik;
mod outward;
mod replay;
mod standing;

pub use replay::{Difference, difference};

use super::{Failure, pulse::Pulse};
use crate::{
    Plan,
    output::{csv, table::Table},
    plan::federate::{Engine, Federate, Heard},
};
use catching_up::Past;
use outward::Outward;
use std::{collections::BTreeSet, path::Path};
use superdense_adapters::federation::{
    Arrival, Departure, Place,
    data::Data,
    record::{self, Line},
};
use superdense_kernel::{
    Simulation,
    port::InPort,
    time::{Resolution, Tag},
};
use superdense_models::signal::value::{Flag, Segment, Value};

/// The record of what came.
pub const INBOUND: &str = "federation/inbound.csv";
/// The record of what went out.
pub const OUTBOUND: &str = "federation/outbound.csv";
/// The record of grants.
pub const GRANTS: &str = "federation/grants.csv";
/// All records, with their headers.
pub(super) const RECORDS: [(&str, &str); 3] = [
    (INBOUND, record::HEADER),
    (OUTBOUND, record::HEADER),
    (GRANTS, "now,told,asked,granted,heard"),
];

/// Why nothing was granted.
enum Broken {
    Interrupted,
    Failed(String),
}

/// The one that grants times.
trait Outside {
    /// Begins, and gives what is there at time 0.
    fn begin(&mut self) -> Result<Vec<Arrival>, Broken>;
    /// Takes what goes out now, and gives the time that is granted, with what came: at most the one that is asked for,
    /// and perhaps the present one again.
    fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
    ) -> Result<(i64, Vec<Arrival>), Broken>;
    /// Takes the last values, and leaves.
    fn leave(&mut self, sent: Vec<Departure>, now: i64) -> Result<(), Broken>;
    /// Leaves after an error.
    fn fail(&mut self, why: &str);
    /// The name of the peer that sends by a publication or an endpoint, where that is known.
    fn sender(&mut self, source: &str) -> Option<String>;
    /// Remarks.
    fn notes(&self) -> Vec<String>;
}

/// The federation of a run.
pub(super) struct Federation {
    facts: Federate,
    outside: Box<dyn Outside>,
    outward: Outward,
    /// The last value of each signal that is heard.
    held: Vec<Option<f64>>,
    records: [Table; RECORDS.len()],
    /// The resolution of the run.
    resolution: Resolution,
    /// The last tick of the run.
    stop: i64,
    /// The granted time, once the federation has begun.
    granted: Option<i64>,
    /// The tick through which the run has come.
    pub reached: i64,
    /// All that is on its way to the peers, which is in the record already: the numbers of outputs and endpoints.
    on_the_way: Option<String>,
    /// Its values in a run that is resumed, once the peers have caught up.
    waiting: Vec<Departure>,
    /// The past of a run that is resumed, until its peers have caught up.
    past: Option<Past>,
    over: bool,
}

impl Federation {
    /// The federation of a plan that has one.
    ///
    /// # Errors
    /// A record that cannot be read; ports that are not there.
    pub(super) fn new(
        plan: &Plan,
        sim: &mut Simulation<Value>,
        folder: Option<&Path>,
        pulse: &Pulse,
        records: [Table; RECORDS.len()],
    ) -> Result<Option<Self>, Failure> {
        let facts = plan.federate.clone().filter(|f| f.engine.has_peers());
        let Some(facts) = facts else { return Ok(None) };
        let resolution = plan.resolution;
        let outside = outside(&facts, (resolution, plan.stop), folder, pulse)?;
        let inputs = facts.inputs.iter().chain(facts.endpoints.iter().filter_map(|e| e.0.as_ref()));
        let ports =
            inputs.flat_map(|h| h.ports.iter().copied()).max().map_or(0, |p| usize::from(p) + 1);
        let outward = Outward::new(&facts, sim, resolution)?;
        Ok(Some(Self {
            facts,
            outside,
            outward,
            held: vec![None; ports],
            records,
            resolution,
            stop: plan.stop,
            granted: None,
            reached: -1,
            on_the_way: None,
            waiting: Vec::new(),
            past: None,
            over: false,
        }))
    }

    /// The tick up to which the run may go; where it has come to that, the next one is waited for.
    ///
    /// # Errors
    /// A federation that failed, a value that does not fit; nothing when the run is interrupted.
    pub(super) fn bound(&mut self, sim: &mut Simulation<Value>) -> Result<Option<i64>, Failure> {
        if !self.catch_up()? {
            return Ok(None);
        }
        let now = match self.granted {
            None => {
                let arrivals = match self.outside.begin() {
                    Ok(arrivals) => arrivals,
                    Err(why) => return self.failed(why, 0),
                };
                let heard = self.hear(sim, 0, arrivals)?;
                self.note_grant([0, 0], None, heard);
                self.granted = Some(0);
                return Ok(Some(0));
            }
            Some(granted) => granted,
        };
        let limit = self.tick(now).min(self.stop);
        if self.reached < limit {
            return Ok(Some(limit));
        }
        let sent = match self.on_the_way {
            Some(_) => std::mem::take(&mut self.waiting),
            None => self.tell(now)?,
        };
        let next = sim.earliest().map_or(self.stop, |e| e.0).min(self.stop);
        let next = self.up(next).max(now + 1);
        match self.outside.exchange(sent, now, next) {
            Ok((granted, arrivals)) => {
                let heard = self.hear(sim, granted, arrivals)?;
                self.note_grant([now, granted], Some(next), heard);
                self.granted = Some(granted);
                let limit = self.tick(granted).min(self.stop);
                // At a time that is granted again the run goes through its tick once more.
                self.reached = self.reached.min(limit - 1);
                Ok(Some(limit))
            }
            Err(why) => self.failed(why, now),
        }
    }

    /// Goes on at a granted time where that may be granted again, and tells whether it was, or may be, as the run is
    /// interrupted: else all of it is known.
    ///
    /// # Errors
    /// As [`bound`](Self::bound).
    pub(super) fn again(&mut self, sim: &mut Simulation<Value>) -> Result<bool, Failure> {
        let repeats = self.facts.engine.repeats() && self.facts.replay.is_none();
        let now = self.granted.filter(|now| repeats && self.reached == self.tick(*now));
        let Some(now) = now else { return Ok(false) };
        let interrupted = self.bound(sim)?.is_none();
        Ok(interrupted || self.granted == Some(now) && !self.over)
    }

    /// The tick of a whole time.
    fn tick(&self, time: i64) -> i64 {
        time.saturating_mul(self.facts.grain)
    }

    /// The whole time at or after a tick.
    fn up(&self, tick: i64) -> i64 {
        let grain = self.facts.grain;
        tick.div_euclid(grain) + i64::from(tick.rem_euclid(grain) > 0)
    }

    /// A whole time in seconds, as text.
    fn seconds(&self, time: i64) -> String {
        self.resolution.format(self.tick(time))
    }

    fn failed(&mut self, why: Broken, now: i64) -> Result<Option<i64>, Failure> {
        self.over = true;
        match why {
            Broken::Interrupted => Ok(None),
            Broken::Failed(why) => {
                let (seconds, name) = (self.seconds(now), &self.facts.name);
                Err(Failure::Federation(format!("federate `{name}` at {seconds} s: {why}")))
            }
        }
    }

    /// Injects what came, as one bag at its time, and tells how much it was.
    fn hear(
        &mut self,
        sim: &mut Simulation<Value>,
        now: i64,
        arrivals: Vec<Arrival>,
    ) -> Result<usize, Failure> {
        let (at, mut count) = (self.tick(now), 0);
        let mut came: Vec<(u16, Value)> = Vec::new();
        for arrival in arrivals {
            let Some(heard) = self.heard(&arrival).cloned() else { continue };
            let line = self.line_of(&arrival, &heard, now);
            self.note(0, &line);
            count += 1;
            let values = convert::inwards(&arrival.data, &heard.types);
            let values = values.map_err(|why| self.misfit(&heard, &arrival, &why))?;
            came.extend(heard.ports.iter().copied().zip(values));
        }
        if self.granted.is_none() {
            let begins = self.facts.inputs.iter().flat_map(|h| h.ports.iter().zip(&h.initial));
            let begins: Vec<(u16, f64)> = begins.map(|(p, x)| (*p, *x)).collect();
            let heard: BTreeSet<u16> = came.iter().map(|(port, _)| *port).collect();
            for (port, initial) in begins {
                if !heard.contains(&port) {
                    came.push((port, Value::Real(initial)));
                }
                self.held[usize::from(port)] = Some(f64::NAN);
            }
        }
        if at > self.stop {
            return Ok(count);
        }
        for (port, value) in came {
            let value = match (self.held[usize::from(port)], &value) {
                (Some(before), Value::Real(x)) => {
                    if x.to_bits() == before.to_bits() {
                        continue;
                    }
                    self.held[usize::from(port)] = Some(*x);
                    let left = if before.is_nan() { *x } else { before };
                    Value::Segment(Segment::constant(*x, Flag::Jump, left))
                }
                _ => value,
            };
            sim.inject("", InPort::<Value>::new(port), at, value)?;
        }
        Ok(count)
    }

    /// Where an arrival leads.
    fn heard(&self, arrival: &Arrival) -> Option<&Heard> {
        match arrival.place {
            Place::Input(k) => self.facts.inputs.get(k),
            Place::Endpoint(k) => self.facts.endpoints.get(k).and_then(|e| e.0.as_ref()),
        }
    }

    /// The record of an arrival at a granted time.
    fn line_of(&self, arrival: &Arrival, heard: &Heard, now: i64) -> Line {
        let at = self.tick(now);
        Line {
            nanoseconds: nanoseconds(at, self.resolution),
            tag: (at, 0),
            port: heard.path.clone(),
            source: arrival.source.clone(),
            data: arrival.data.clone(),
        }
    }

    fn misfit(&self, heard: &Heard, arrival: &Arrival, why: &str) -> Failure {
        let seconds = self.seconds(arrival.at);
        let (path, source) = (&heard.path, &arrival.source);
        Failure::Federation(format!("`{path}` at {seconds} s: `{source}` sent {why}"))
    }

    /// All that goes out at a granted time, with its record.
    fn tell(&mut self, now: i64) -> Result<Vec<Departure>, Failure> {
        let told = self.outward.take(now).map_err(Failure::Federation)?;
        let (mut sent, mut numbers) = (Vec::with_capacity(told.len()), Vec::new());
        for out in told {
            let (port, data) = match &out.departure {
                Departure::Value(k, data) => (self.facts.outputs[*k].path.clone(), data.clone()),
                Departure::Message(k, bytes) => {
                    let told = self.facts.endpoints[*k].1.as_ref();
                    let path = told.map(|t| t.path.clone()).unwrap_or_default();
                    (path, Data::Raw(bytes.clone()))
                }
            };
            let nanoseconds = nanoseconds(self.tick(now), self.resolution);
            let (tag, source) = ((out.tag.ticks, out.tag.micro), self.facts.name.clone());
            self.note(1, &Line { nanoseconds, tag, port, source, data });
            numbers.push(catching_up::number(&out.departure));
            sent.push(out.departure);
        }
        self.on_the_way = Some(numbers.join(" "));
        // The record comes first: it has all that was told, whatever happens to us after it.
        self.flush()?;
        Ok(sent)
    }

    fn note(&mut self, record: usize, line: &Line) {
        self.records[record].line(|text| text.push_str(&written(line)));
    }

    /// Notes a grant: when it was asked for and what it is, in whole times; which time was asked for, if any was; and how
    /// much came.
    fn note_grant(&mut self, [now, granted]: [i64; 2], asked: Option<i64>, heard: usize) {
        let told = self.on_the_way.take().unwrap_or_default();
        let asked = asked.map_or(String::new(), |asked| asked.to_string());
        let line = format!("{now},{told},{asked},{granted},{heard}");
        self.records[2].line(|text| text.push_str(&line));
    }

    /// Hands the records to the system.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        for record in &mut self.records {
            record.flush()?;
        }
        Ok(())
    }

    /// The records.
    pub(super) fn records(&mut self) -> &mut [Table; RECORDS.len()] {
        &mut self.records
    }

    /// Remarks on the federation.
    pub(super) fn notes(&self) -> Vec<String> {
        self.outside.notes()
    }

    /// Publishes what left at the end of the run, and leaves.
    ///
    /// # Errors
    /// As [`bound`](Self::bound).
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        let now = self.granted.unwrap_or(0);
        let sent = self.tell(now)?;
        self.over = true;
        match self.outside.leave(sent, now) {
            Ok(()) | Err(Broken::Interrupted) => Ok(()),
            Err(why) => self.failed(why, now).map(drop),
        }
    }

    /// Leaves after an error of the run.
    pub(super) fn abandon(&mut self, why: &str) {
        if !self.over && self.granted.is_some() {
            self.outside.fail(why);
        }
        self.over = true;
    }
}

/// The one that grants times to a run.
fn outside(
    facts: &Federate,
    (resolution, stop): (Resolution, i64),
    folder: Option<&Path>,
    pulse: &Pulse,
) -> Result<Box<dyn Outside>, Failure> {
    if let Some(dir) = &facts.replay {
        let replay = replay::Replay::read(dir, facts, resolution).map_err(Failure::Mismatch)?;
        return Ok(Box::new(replay));
    }
    Ok(match &facts.engine {
        #[cfg(feature = "helics")]
        Engine::Helics(taking, stall) => {
            let status = folder.map(|f| f.join("federation/status.json"));
            // A federation ends with its last federate.
            let _ = stop;
            Box::new(helics::Live::new(taking, *stall, status, pulse))
        }
        #[cfg(feature = "mosaik")]
        Engine::Mosaik(offer, address) => {
            // Who waits for whom is known to the world.
            let _ = folder;
            Box::new(
                mosaik::World::new(offer, address.as_ref(), (pulse, stop / facts.grain))
                    .map_err(Failure::Mismatch)?,
            )
        }
        Engine::Fmi(_) => {
            return Err(Failure::Mismatch("nobody grants times to an FMU".to_owned()));
        }
    })
}

/// A line as it stands in a record.
fn written(line: &Line) -> String {
    let fields = line.fields();
    let fields: Vec<_> = fields.iter().map(|field| csv::field(field)).collect();
    fields.join(",")
}

/// Nanoseconds of a tick, as records tell times.
fn nanoseconds(tick: i64, resolution: Resolution) -> i64 {
    let nano = i128::from(Resolution::NANO.ticks_per_second());
    let count = i128::from(tick) * nano / i128::from(resolution.ticks_per_second());
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The place and the tag of a mistake.
fn at(resolution: Resolution, path: &str, tag: Tag) -> String {
    format!("`{path}` at {} s (micro-step {})", resolution.format(tag.ticks), tag.micro)
}

impl std::fmt::Debug for Federation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Federation({})", self.facts.name)
    }
}
