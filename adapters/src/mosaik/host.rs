//! The calls of the mosaik protocol to one simulator, and what is served back to it.
use super::{
    meta::MetaError,
    wire::{Frame, Request, Wire, WireError, start},
};
use crate::child::{Process, StartError};
use serde_json::{Map, Value as Json, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    path::PathBuf,
    time::{Duration, Instant},
};

/// Time between two looks for a simulator that has not connected yet.
const LOOK: Duration = Duration::from_millis(2);

/// How long a process may take to end once its connection is closed.
const ENDING: Duration = Duration::from_millis(400);

/// Where a simulator comes from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It is started by a command, in a folder.
    Command(String, PathBuf),
    /// It listens at an address.
    Connect(String),
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostError {
    /// The process could not be started.
    #[error("{0}")]
    Start(#[from] StartError),
    /// The system gave no port.
    #[error("no port to listen at: {0}")]
    Listen(std::io::Error),
    /// Nobody listens.
    #[error(
        "nobody listens at {0} ({1}); start the simulator there before, as with `--remote`, or correct `connect`"
    )]
    Absent(String, String),
    /// It did not connect.
    #[error(
        "the simulator did not connect within {} s; check that `command` passes {{address}} on, or raise `patience`{story}",
        patience.as_secs_f64()
    )]
    Late {
        /// How long was waited.
        patience: Duration,
        /// Its last words.
        story: Story,
    },
    /// It went away.
    #[error("the simulator went away during {call}{story}")]
    Gone {
        /// The call.
        call: String,
        /// Its last words.
        story: Story,
    },
    /// It does not answer.
    #[error("no answer to {call} within {} s; if it needs longer, raise `patience`{story}", patience.as_secs_f64())]
    Silent {
        /// The call.
        call: String,
        /// How long was waited.
        patience: Duration,
        /// Its last words.
        story: Story,
    },
    /// The message is no answer.
    #[error("{call}: {why}")]
    Wire {
        /// The call.
        call: String,
        /// The mistake.
        why: WireError,
    },
    /// The simulator raised an exception.
    #[error("{call} failed in the simulator: {why}{story}")]
    Failed {
        /// The call.
        call: String,
        /// Class and text.
        why: String,
        /// Its last words.
        story: Story,
    },
    /// It asked for something that is refused.
    #[error("during {call} the simulator asked for `{name}`, which is not served: {help}")]
    Refused {
        /// The call.
        call: String,
        /// Its request.
        name: String,
        /// The remedy.
        help: &'static str,
    },
    /// Its answer has no meaning.
    #[error("{call}: {why}")]
    Strange {
        /// The call.
        call: String,
        /// The mistake, with a remedy.
        why: String,
    },
    /// Its description of itself.
    #[error("{0}")]
    Meta(#[from] MetaError),
    /// The file and the simulator contradict each other.
    #[error("{}", .0.join("; "))]
    Contradictions(Vec<String>),
}

/// How a process ended, and what it said last.
#[derive(Debug, Default)]
pub(super) struct Story {
    status: Option<String>,
    lines: Vec<String>,
}

impl std::fmt::Display for Story {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(status) = &self.status {
            write!(f, "; it ended with {status}")?;
        }
        if !self.lines.is_empty() {
            write!(f, "; its last lines:")?;
        }
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// A simulator on its way to a connection.
#[derive(Debug)]
pub(super) struct Awaited {
    process: Option<Process>,
    /// Where it connects to.
    listener: Option<TcpListener>,
    address: String,
}

impl Awaited {
    /// Starts a simulator, without waiting for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn new(origin: &Origin) -> Result<Self, HostError> {
        match origin {
            Origin::Connect(address) => {
                Ok(Self { process: None, listener: None, address: address.clone() })
            }
            Origin::Command(command, folder) => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(HostError::Listen)?;
                listener.set_nonblocking(true).map_err(HostError::Listen)?;
                let address = listener.local_addr().map_err(HostError::Listen)?.to_string();
                let process = Some(Process::start(command, &[("{address}", &address)], folder)?);
                Ok(Self { process, listener: Some(listener), address })
            }
        }
    }

    /// Waits for the connection.
    ///
    /// # Errors
    /// When there is none in time, or the process ends before.
    pub(super) fn connected(mut self, sid: &str, patience: Duration) -> Result<Host, HostError> {
        let stream = match self.listener.take() {
            Some(listener) => accepted(&listener, self.process.as_mut(), patience)?,
            None => reached(&self.address, patience)?,
        };
        let wire = Wire::new(stream, patience);
        let absent = |e: std::io::Error| HostError::Absent(self.address.clone(), e.to_string());
        Ok(Host {
            process: self.process,
            wire: wire.map_err(absent)?,
            patience,
            sid: sid.to_owned(),
            asked: 0,
            until: 0,
            time: 0,
            types: BTreeMap::new(),
            related: BTreeMap::new(),
            broken: false,
        })
    }
}

/// The connection that a started process makes.
fn accepted(
    listener: &TcpListener,
    mut process: Option<&mut Process>,
    patience: Duration,
) -> Result<TcpStream, HostError> {
    let deadline = Instant::now() + patience;
    loop {
        if let Ok((stream, _)) = listener.accept() {
            return Ok(stream);
        }
        if let Some(process) = process.as_mut()
            && let Some(status) = process.ended(Duration::ZERO)
        {
            let lines = process.last_lines(true);
            let story = Story { status: Some(status.to_string()), lines };
            return Err(HostError::Gone { call: "its start".into(), story });
        }
        if Instant::now() >= deadline {
            let lines = process.map(|p| p.last_lines(false)).unwrap_or_default();
            let story = Story { status: None, lines };
            return Err(HostError::Late { patience, story });
        }
        std::thread::sleep(LOOK);
    }
}

/// A connection to a simulator that listens.
fn reached(address: &str, patience: Duration) -> Result<TcpStream, HostError> {
    let absent = |why: String| HostError::Absent(address.to_owned(), why);
    let all: Vec<SocketAddr> =
        address.to_socket_addrs().map_err(|e| absent(e.to_string()))?.collect();
    let mut why = "the name has no address".to_owned();
    for one in all {
        match TcpStream::connect_timeout(&one, patience) {
            Ok(stream) => return Ok(stream),
            Err(e) => why = e.to_string(),
        }
    }
    Err(absent(why))
}

/// A simulator that answers.
#[derive(Debug)]
pub(super) struct Host {
    process: Option<Process>,
    wire: Wire,
    patience: Duration,
    sid: String,
    /// Requests so far.
    asked: u64,
    /// The end of the run and the present, in whole times of the simulator.
    pub until: i64,
    pub time: i64,
    /// Entities with their types, and who is related to whom.
    types: BTreeMap<String, String>,
    related: BTreeMap<String, BTreeSet<String>>,
    /// Nothing more is said to it.
    broken: bool,
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// A table as JSON, in the order of its entries.
pub(super) fn table<'a>(entries: impl Iterator<Item = (&'a str, String)>) -> String {
    let entries: Vec<String> =
        entries.map(|(key, json)| format!("{}:{json}", quoted(key))).collect();
    format!("{{{}}}", entries.join(","))
}

impl Host {
    /// Asks the simulator; `call` is what messages say of it, `args` and `kwargs` are JSON.
    ///
    /// # Errors
    /// When no answer comes, or it is a refusal.
    pub(super) fn ask(
        &mut self,
        name: &str,
        args: &str,
        kwargs: &str,
        call: &dyn Fn() -> String,
    ) -> Result<Json, HostError> {
        let asked = self.asked;
        self.asked += 1;
        let sent = self.wire.send(&format!("[0,{asked},[{},{args},{kwargs}]]", quoted(name)));
        let answer = match sent {
            Ok(()) => self.answer(asked, call),
            Err(e) => Err(self.lost(call(), e)),
        };
        if let Err(e) = &answer {
            self.broken = !matches!(e, HostError::Failed { .. } | HostError::Refused { .. });
        }
        answer
    }

    /// Waits for an answer, and serves the simulator until it comes.
    fn answer(&mut self, asked: u64, call: &dyn Fn() -> String) -> Result<Json, HostError> {
        let deadline = Instant::now() + self.patience;
        loop {
            match self.wire.receive(deadline) {
                Ok(Frame::Result(id, content)) if id == asked => return Ok(content),
                Ok(Frame::Failure(id, content)) if id == asked => {
                    return Err(self.failed(call(), &content));
                }
                Ok(Frame::Request(request)) => self.serve(&request, call)?,
                Ok(Frame::Result(id, _) | Frame::Failure(id, _)) => {
                    let why = format!("the simulator answered a request {id} that was not made");
                    return Err(HostError::Strange { call: call(), why });
                }
                Err(e) => return Err(self.lost(call(), e)),
            }
        }
    }

    fn failed(&mut self, call: String, content: &Json) -> HostError {
        let part = |k: usize| content.get(k).and_then(Json::as_str).unwrap_or_default();
        let why = match content.as_array() {
            Some(_) => format!("{}: {}", part(0), part(1)),
            None => start(&content.to_string()),
        };
        HostError::Failed { call, why, story: self.story(false) }
    }

    fn lost(&mut self, call: String, why: WireError) -> HostError {
        match why {
            WireError::Closed => HostError::Gone { call, story: self.story(true) },
            WireError::Silent => {
                HostError::Silent { call, patience: self.patience, story: self.story(false) }
            }
            why => HostError::Wire { call, why },
        }
    }

    fn story(&mut self, ending: bool) -> Story {
        let Some(process) = &mut self.process else { return Story::default() };
        let status = process.ended(if ending { ENDING } else { Duration::ZERO });
        let lines = process.last_lines(status.is_some());
        Story { status: status.map(|s| s.to_string()), lines }
    }

    /// Answers a request of the simulator.
    fn serve(&mut self, request: &Request, call: &dyn Fn() -> String) -> Result<(), HostError> {
        let Request { id, name, args, .. } = request;
        let help = match name.as_str() {
            "get_progress" => {
                let progress = match self.until {
                    0 => 0.0,
                    until => 100.0 * self.time as f64 / until as f64,
                };
                return self.reply(1, id, &json!(progress), call);
            }
            "get_related_entities" => {
                let related = self.relations(args.first().unwrap_or(&Json::Null));
                return self.reply(1, id, &related, call);
            }
            "set_event" => "give it an own next step, or an input that triggers it",
            "set_data" | "get_data" => "connect the attributes in the scenario",
            _ => "requests that are served are get_progress and get_related_entities",
        };
        let text = format!("superdense does not serve {name}: {help}");
        self.reply(2, id, &json!(["NotImplementedError", text]), call)?;
        Err(HostError::Refused { call: call(), name: name.clone(), help })
    }

    fn reply(
        &mut self,
        kind: u8,
        id: &Json,
        content: &Json,
        call: &dyn Fn() -> String,
    ) -> Result<(), HostError> {
        let sent = self.wire.send(&format!("[{kind},{id},{content}]"));
        sent.map_err(|e| self.lost(call(), e))
    }

    fn full(&self, entity: &str) -> String {
        format!("{}.{entity}", self.sid)
    }

    /// Notes an entity.
    pub(super) fn enter(&mut self, entity: &str, of: &str, related: &[String]) {
        let full = self.full(entity);
        for other in related {
            let other = self.full(other);
            self.related.entry(other.clone()).or_default().insert(full.clone());
            self.related.entry(full.clone()).or_default().insert(other);
        }
        self.types.insert(full, of.to_owned());
    }

    /// Entities and relations of this simulator: of all, of one entity, or of some.
    fn relations(&self, of: &Json) -> Json {
        let spec = |full: &String| (full.clone(), json!({ "type": self.types.get(full) }));
        let around = |full: &str| -> Json {
            self.related.get(full).into_iter().flatten().map(spec).collect::<Map<_, _>>().into()
        };
        match of {
            Json::String(full) => around(full),
            Json::Array(all) => {
                let all = all.iter().filter_map(Json::as_str);
                all.map(|full| (full.to_owned(), around(full))).collect::<Map<_, _>>().into()
            }
            _ => {
                let nodes: Map<_, _> = self.types.keys().map(spec).collect();
                let pairs =
                    self.related.iter().flat_map(|(a, all)| all.iter().map(move |b| (a, b)));
                let edges: Vec<Json> =
                    pairs.filter(|(a, b)| a <= b).map(|(a, b)| json!([a, b, {}])).collect();
                json!({ "nodes": nodes, "edges": edges })
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let asked = self.asked;
        let told =
            !self.broken && self.wire.send(&format!("[0,{asked},[\"stop\",[],{{}}]]")).is_ok();
        if let Some(process) = &mut self.process {
            process.end(told);
        }
    }
}
