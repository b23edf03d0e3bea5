//! Outputs of the model between two grants, as values and messages.
use super::{Failure, at, convert};
use crate::plan::federate::{Federate, Told};
use serde::{Deserialize, Serialize};
use superdense_adapters::federation::{Departure, data::Type};
use superdense_kernel::{
    Simulation,
    outlet::Outlet,
    port::OutPort,
    time::{Resolution, Tag},
};
use superdense_models::signal::value::Value;

/// Something that goes out, and the tag at which it left.
pub(super) struct Out {
    pub tag: Tag,
    pub departure: Departure,
}

/// The way of a value or of messages.
enum Goes {
    Value(usize, Type),
    Messages(usize),
}

/// Something that left a port: its tag, the place of the port among those of the line, the value.
type Left = (Tag, usize, Value);

/// Ports of one value, with what they sent last.
struct Line {
    told: Told,
    goes: Goes,
    outlet: Outlet<Value, Value>,
    kept: Kept,
}

/// Everything of a line that goes on in a resumed run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The last value of each port.
    last: Vec<Option<Value>>,
    /// All that left and was not taken yet.
    left: Vec<Left>,
}

/// All ports from which something goes out.
pub(super) struct Outward {
    lines: Vec<Line>,
    resolution: Resolution,
    /// Ticks of a whole time of the federation.
    grain: i64,
    engine: &'static str,
    up: bool,
}

impl Outward {
    /// Listens to all ports.
    ///
    /// # Errors
    /// When one is not there.
    pub(super) fn new(
        facts: &Federate,
        sim: &mut Simulation<Value>,
        resolution: Resolution,
    ) -> Result<Self, Failure> {
        let values = facts.outputs.iter().enumerate();
        let values = values.map(|(k, told)| (told.clone(), Goes::Value(k, told.ty)));
        let ends = facts.endpoints.iter().enumerate();
        let messages = ends.filter_map(|(k, e)| Some((e.1.clone()?, Goes::Messages(k))));
        let mut lines = Vec::new();
        for (told, goes) in values.chain(messages) {
            let ports: Vec<_> = told.ports.iter().map(|&p| OutPort::<Value>::new(p)).collect();
            let outlet = sim.listen_to_all("", &ports)?;
            let kept = Kept { last: vec![None; told.ports.len()], left: Vec::new() };
            lines.push(Line { told, goes, outlet, kept });
        }
        let (grain, engine, up) = (facts.grain, facts.engine.label(), facts.up);
        Ok(Self { lines, resolution, grain, engine, up })
    }

    /// Everything that a resumed run needs.
    pub(super) fn keep(&mut self) -> Vec<Kept> {
        let keep = |line: &mut Line| {
            line.kept.left.extend(line.outlet.take_by_port());
            line.kept.clone()
        };
        self.lines.iter_mut().map(keep).collect()
    }

    /// Goes on with what was kept; tells whether it is of these ports.
    pub(super) fn restore(&mut self, kept: Vec<Kept>) -> bool {
        let fits = |(line, kept): (&Line, &Kept)| {
            let ports = line.kept.last.len();
            kept.last.len() == ports && kept.left.iter().all(|left| left.1 < ports)
        };
        if kept.len() != self.lines.len() || !self.lines.iter().zip(&kept).all(fits) {
            return false;
        }
        for (line, kept) in self.lines.iter_mut().zip(kept) {
            line.kept = kept;
        }
        true
    }

    /// All that left since the last call, for publication at a whole time.
    ///
    /// # Errors
    /// Text of a mistake: an output between whole times, two events at one time, a value that does not fit.
    pub(super) fn take(&mut self, now: i64) -> Result<Vec<Out>, String> {
        let (resolution, up) = (self.resolution, self.up);
        let exact = now.saturating_mul(self.grain);
        let engine = self.engine;
        let mut all = Vec::new();
        for line in &mut self.lines {
            let mut heard = std::mem::take(&mut line.kept.left);
            heard.extend(line.outlet.take_by_port());
            heard.sort_by_key(|h| (h.0, h.1));
            if let Some((tag, ..)) = heard.iter().find(|h| h.0.ticks != exact && !up) {
                let place = at(resolution, &line.told.path, *tag);
                return Err(format!(
                    "{place}: this output lies between the times that {engine} counts: round its time in the \
                     scenario, or write rounding = \"up\" below [federate]"
                ));
            }
            line.taken(heard, (engine, resolution), &mut all)?;
        }
        Ok(all)
    }
}

impl Line {
    fn taken(
        &mut self,
        heard: Vec<Left>,
        (engine, resolution): (&str, Resolution),
        all: &mut Vec<Out>,
    ) -> Result<(), String> {
        let place = |tag| at(resolution, &self.told.path, tag);
        let ty = match self.goes {
            Goes::Messages(k) => {
                for (tag, _, value) in heard {
                    let bytes = convert::bytes(&value);
                    let bytes = bytes.map_err(|why| format!("{}: it sent {why}", place(tag)))?;
                    all.push(Out { tag, departure: Departure::Message(k, bytes) });
                }
                return Ok(());
            }
            Goes::Value(_, ty) => ty,
        };
        let Some(&(tag, ..)) = heard.last() else { return Ok(()) };
        let mut seen = vec![false; self.kept.last.len()];
        for (tag, k, value) in heard {
            if seen[k] && !self.told.signal {
                return Err(format!(
                    "{}: a second event at one time, of which {engine} keeps only the last: send numbers in one event, \
                     or in HELICS as messages, by [[federate.message]]",
                    place(tag)
                ));
            }
            seen[k] = true;
            self.kept.last[k] = Some(match value {
                Value::Segment(s)
                    if s.order() > 0 && s.coefficients()[1..].iter().any(|c| *c != 0.0) =>
                {
                    return Err(format!(
                        "{}: this signal moves between events, of which {engine} takes values only: add every = \"1 s\" \
                         or quantum = 0.5 to the output",
                        place(tag)
                    ));
                }
                Value::Segment(s) => Value::Real(s.value(0.0)),
                other => other,
            });
        }
        let values: Option<Vec<Value>> = self.kept.last.iter().cloned().collect();
        let Some(values) = values else {
            let missing = self.kept.last.iter().position(Option::is_none).unwrap_or(0) + 1;
            return Err(format!(
                "{}: number {missing} of its ports has sent nothing yet: let all of them begin with a value",
                place(tag)
            ));
        };
        let data = convert::outwards(ty, &values);
        let data = data.map_err(|why| format!("{}: it sent {why}", place(tag)))?;
        if let Goes::Value(k, _) = self.goes {
            all.push(Out { tag, departure: Departure::Value(k, data) });
        }
        Ok(())
    }
}
