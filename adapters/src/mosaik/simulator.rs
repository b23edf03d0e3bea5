//! A scenario as a simulator of mosaik: requests of a world are served, steps become grants of time.
//!
//! The simulator is hybrid and has one entity. Every input triggers it, so that it is stepped whenever something comes;
//! it asks for steps at its own next events. Signals are persistent attributes, events are not.
use super::{
    json,
    wire::{Frame, Request, Wire, WireError, start},
};
use crate::federation::{
    Arrival, Departure, Place,
    data::{Data, Type},
};
use serde_json::{Map, Value as Json, json};
use std::{
    net::{TcpListener, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

/// The model, and its only entity.
const MODEL: &str = "Scenario";
const ENTITY: &str = "scenario";
/// Time between two looks for an interruption.
const LOOK: Duration = Duration::from_millis(50);
/// Time that is left to the world to close the connection.
const PARTING: Duration = Duration::from_secs(1);
/// Time in which the world must take an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells whether the run is to end.
pub type Interrupted = Arc<dyn Fn() -> bool + Send + Sync>;

/// Where the world is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// It listens, as where it starts the simulator by a command.
    Connect(String),
    /// It connects to this port.
    Listen(u16),
}

/// An attribute of the entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// It is a signal, which holds its value; else it has events.
    pub signal: bool,
}

/// All that the world is told at the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Attributes that are heard.
    pub inputs: Vec<Attribute>,
    /// Attributes that are sent.
    pub outputs: Vec<Attribute>,
    /// A whole time, in seconds.
    pub resolution: f64,
}

/// Why a simulator cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulatorError {
    /// Nobody listens.
    #[error(
        "nobody listens at {0}: {1}; `superdense mosaik` is the command of a simulator, which mosaik starts: \
             {{\"cmd\": \"superdense mosaik FILE.toml %(addr)s\"}}"
    )]
    Absent(String, String),
    /// The port is taken.
    #[error("port {0} cannot be listened to: {1}; give another one to --listen")]
    Port(u16, std::io::Error),
    /// The connection is of no use any more.
    #[error("mosaik had not stopped the simulator: {0}; see the messages of the world")]
    Lost(String),
    /// The world does not fit the scenario.
    #[error("{0}")]
    Unfit(String),
    /// By Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// A connection to a world.
pub struct Simulator {
    wire: Wire,
    offer: Offer,
    interrupted: Interrupted,
    /// The step that waits for an answer.
    step: Option<Json>,
    created: bool,
    /// Values of outputs: the last one of each signal, and events since the last step.
    values: Vec<Option<Json>>,
    /// The latest time up to which nothing could come, as the world has said.
    until: i64,
    stopped: bool,
}

/// A request that is refused, with the reason.
type Answer = Result<Json, String>;

impl Simulator {
    /// Connects to a world.
    ///
    /// # Errors
    /// When there is none.
    pub fn join(
        address: &Address,
        offer: Offer,
        interrupted: Interrupted,
    ) -> Result<Self, SimulatorError> {
        let stream = match address {
            Address::Connect(to) => TcpStream::connect(to)
                .map_err(|e| SimulatorError::Absent(to.clone(), e.to_string()))?,
            Address::Listen(port) => accepted(*port, &interrupted)?,
        };
        let wire = Wire::new(stream, PATIENCE).map_err(|e| lost(WireError::Broken(e)))?;
        let values = vec![None; offer.outputs.len()];
        let (step, created, until, stopped) = (None, false, 0, false);
        Ok(Self { wire, offer, interrupted, step, created, values, until, stopped })
    }

    /// Serves the world up to its next step: the time of it, and what it brings. Nothing when the world has stopped the
    /// simulator.
    ///
    /// # Errors
    /// A lost connection, a value of another type than the scenario says.
    pub fn stepped_to(&mut self) -> Result<Option<(i64, Vec<Arrival>)>, SimulatorError> {
        while !self.stopped {
            let request = self.request()?;
            if request.name == "step" {
                let step = self.stepped(&request);
                if let Err(SimulatorError::Unfit(why)) = &step {
                    self.refuse(&request.id, why)?;
                } else {
                    self.step = Some(request.id);
                }
                return step.map(Some);
            }
            let answer = self.answered(&request);
            // It may end the process as soon as it has the answer.
            self.stopped |= request.name == "stop";
            match answer {
                Ok(content) => self.reply(1, &request.id, &content)?,
                Err(why) => {
                    self.refuse(&request.id, &why)?;
                    return Err(SimulatorError::Unfit(why));
                }
            }
        }
        self.wire.drain(Instant::now() + PARTING);
        Ok(None)
    }

    /// Answers the step that waits: what it sent, and the time of the next own event.
    ///
    /// # Errors
    /// A lost connection; a number that JSON does not have.
    pub fn done(&mut self, sent: Vec<Departure>, next: Option<i64>) -> Result<(), SimulatorError> {
        for (value, attribute) in self.values.iter_mut().zip(&self.offer.outputs) {
            if !attribute.signal {
                *value = None;
            }
        }
        for out in sent {
            let Departure::Value(k, data) = out else { continue };
            let name = &self.offer.outputs[k].name;
            let json = of_data(&data).map_err(|e| format!("`{name}` sent {e}"));
            self.values[k] = Some(json.map_err(SimulatorError::Unfit)?);
        }
        match self.step.take() {
            Some(id) => self.reply(1, &id, &next.map_or(Json::Null, Json::from)),
            None => Ok(()),
        }
    }

    /// Serves the world to its end: there are no more own events.
    ///
    /// # Errors
    /// As [`stepped_to`](Self::stepped_to).
    pub fn over(&mut self) -> Result<(), SimulatorError> {
        while self.stepped_to()?.is_some() {
            self.done(Vec::new(), None)?;
        }
        Ok(())
    }

    /// Tells the world that the run has failed.
    pub fn fail(&mut self, why: &str) {
        if let Some(id) = self.step.take() {
            let _ = self.refuse(&id, why);
        }
    }

    /// The latest time up to which the world has said that it goes.
    pub fn until(&self) -> i64 {
        self.until
    }

    fn request(&mut self) -> Result<Request, SimulatorError> {
        loop {
            // A world says that it stops, and asks the process to terminate at once: its word is heard first.
            let interrupted = (self.interrupted)();
            if interrupted {
                self.wire.hurry().map_err(|e| lost(WireError::Broken(e)))?;
            }
            let patience = if interrupted { Duration::ZERO } else { LOOK };
            match self.wire.receive(Instant::now() + patience) {
                Ok(Frame::Request(request)) => return Ok(request),
                Err(WireError::Silent) if interrupted => return Err(SimulatorError::Interrupted),
                Ok(_) => {
                    let why = "an answer to a request that was not made".to_owned();
                    return Err(lost(WireError::Malformed(why)));
                }
                Err(WireError::Silent) => {}
                Err(why) => return Err(lost(why)),
            }
        }
    }

    fn reply(&mut self, kind: u8, id: &Json, content: &Json) -> Result<(), SimulatorError> {
        self.wire.send(&format!("[{kind},{id},{content}]")).map_err(lost)
    }

    fn refuse(&mut self, id: &Json, why: &str) -> Result<(), SimulatorError> {
        self.reply(2, id, &json!(["SimulationError", format!("superdense: {why}")]))
    }

    fn answered(&mut self, request: &Request) -> Answer {
        match request.name.as_str() {
            "init" => self.init(&request.named),
            "create" => self.create(request),
            "setup_done" | "finalize" | "stop" => Ok(Json::Null),
            "get_data" => Ok(self.data(request.args.first())),
            other => Err(format!("the request `{other}` is not served")),
        }
    }

    fn init(&self, named: &Map<String, Json>) -> Answer {
        for (name, value) in named {
            if name != "time_resolution" {
                return Err(format!(
                    "the simulator has no parameter `{name}`; set values of the scenario in its command, such as \
                     --set unit.house.loss=20"
                ));
            }
            let own = self.offer.resolution;
            if value.as_f64() != Some(own) {
                return Err(format!(
                    "the world has the time resolution {value} s, the scenario {own} s; write time_resolution={own} to the \
                     world, or resolution = \"{value} s\" below [federate]"
                ));
            }
        }
        let names = |all: &[Attribute], events: bool| -> Vec<String> {
            let one = |a: &Attribute| (!events || !a.signal).then(|| a.name.clone());
            all.iter().filter_map(one).collect()
        };
        let Offer { inputs, outputs, .. } = &self.offer;
        let mut attrs = names(inputs, false);
        attrs.extend(names(outputs, false));
        attrs.sort_unstable();
        attrs.dedup();
        Ok(json!({
            "api_version": "3.0",
            "type": "hybrid",
            "models": { MODEL: {
                "public": true,
                "params": [],
                "attrs": attrs,
                "trigger": names(inputs, false),
                "non-persistent": names(outputs, true),
            } },
        }))
    }

    fn create(&mut self, request: &Request) -> Answer {
        let wanted = request.args.first().and_then(Json::as_u64);
        if self.created || wanted != Some(1) {
            let why = "a process has one scenario; start a simulator for each";
            return Err(why.to_owned());
        }
        if let Some(name) = request.named.keys().next() {
            return Err(format!("the model `{MODEL}` has no parameter `{name}`; see --set"));
        }
        self.created = true;
        Ok(json!([{ "eid": ENTITY, "type": MODEL, "rel": [] }]))
    }

    /// The outputs that the world asks for; events only where there were some.
    fn data(&self, asked: Option<&Json>) -> Json {
        let wanted = asked.and_then(|a| a.get(ENTITY)).and_then(Json::as_array);
        let mut own = Map::new();
        for name in wanted.into_iter().flatten().filter_map(Json::as_str) {
            let k = self.offer.outputs.iter().position(|o| o.name == name);
            if let Some(value) = k.and_then(|k| self.values[k].clone()) {
                own.insert(name.to_owned(), value);
            }
        }
        json!({ ENTITY: own })
    }

    fn stepped(&mut self, request: &Request) -> Result<(i64, Vec<Arrival>), SimulatorError> {
        let unfit = |why: &str| SimulatorError::Unfit(format!("the world sent a step with {why}"));
        let [time, inputs, until] = request.args.as_slice() else {
            return Err(unfit("other arguments than time, inputs and max_advance"));
        };
        let time = time.as_i64().ok_or_else(|| unfit("a time that is no whole number"))?;
        self.until = self.until.max(until.as_i64().unwrap_or(time));
        let mut all = Vec::new();
        let heard = inputs.get(ENTITY).and_then(Json::as_object);
        for (name, sources) in heard.into_iter().flatten() {
            // Sources are in the order of their names, whatever the order of connections.
            let sources = sources.as_object().ok_or_else(|| unfit("inputs without sources"))?;
            let places = self.offer.inputs.iter().enumerate().filter(|(_, i)| i.name == *name);
            for (k, input) in places {
                if input.signal && sources.len() > 1 {
                    let who: Vec<&str> = sources.keys().map(String::as_str).collect();
                    return Err(SimulatorError::Unfit(format!(
                        "`{name}` is a signal and comes from {}; connect one of them, or add them up before",
                        who.join(" and ")
                    )));
                }
                for (source, value) in sources {
                    let data = to_data(value, input.ty).map_err(|e| {
                        let text = start(&value.to_string());
                        SimulatorError::Unfit(format!("`{name}` came from {source} as {text}: {e}"))
                    })?;
                    let source = format!("{name} from {source}");
                    all.push(Arrival { place: Place::Input(k), at: time, source, data });
                }
            }
        }
        all.sort_by_key(|a| a.place);
        Ok((time, all))
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // After an error the world still says that it stops.
        if !self.stopped {
            self.wire.drain(Instant::now() + PARTING);
        }
    }
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("offer", &self.offer).finish_non_exhaustive()
    }
}

fn lost(why: WireError) -> SimulatorError {
    SimulatorError::Lost(why.to_string())
}

/// The connection that a world makes.
fn accepted(port: u16, interrupted: &Interrupted) -> Result<TcpStream, SimulatorError> {
    let taken = |e| SimulatorError::Port(port, e);
    let listener = TcpListener::bind(("0.0.0.0", port)).map_err(taken)?;
    listener.set_nonblocking(true).map_err(taken)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(_) if interrupted() => return Err(SimulatorError::Interrupted),
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// A value of the world as one of a type.
fn to_data(value: &Json, ty: Type) -> Result<Data, String> {
    let wrong = || format!("the scenario takes a {}", ty.name());
    let real = |x: &Json| json::to_real(x).map_err(|e| e.to_string());
    Ok(match ty {
        Type::Double => Data::Double(real(value)?),
        Type::Int => Data::Int(value.as_i64().ok_or_else(wrong)?),
        Type::Bool => Data::Bool(value.as_bool().ok_or_else(wrong)?),
        Type::Text => Data::Text(value.as_str().ok_or_else(wrong)?.to_owned()),
        Type::Vector => {
            let list = value.as_array().ok_or_else(wrong)?;
            Data::Vector(list.iter().map(real).collect::<Result<_, _>>()?)
        }
        _ => return Err(wrong()),
    })
}

/// A value as the world hears it.
fn of_data(data: &Data) -> Result<Json, json::ValueError> {
    Ok(match data {
        Data::Double(x) => json::of_real(*x)?,
        Data::Int(i) | Data::Time(i) => Json::from(*i),
        Data::Bool(b) => Json::Bool(*b),
        Data::Vector(v) => {
            v.iter().map(|x| json::of_real(*x)).collect::<Result<Vec<_>, _>>()?.into()
        }
        other => Json::from(other.text()),
    })
}
