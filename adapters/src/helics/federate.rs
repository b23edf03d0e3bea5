//! A federate: it joins, goes from grant to grant, and leaves.
pub use super::watch::{Interrupted, Launch};
use super::{
    library::{Held, Joining, Library, LibraryError, Tested, Trouble},
    names::Names,
    owner::{Gone, Owner},
    watch::Watch,
};
use crate::federation::{
    Arrival, Departure, Place,
    clock::{nanoseconds, seconds},
    data::{Data, Type},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

mod broker;
mod findings;

pub use broker::BrokerAt;

/// Time in which HELICS answers what needs no other federate.
const PROMPT: Duration = Duration::from_secs(20);
/// Time between two questions for federates that are still missing.
const ASKED_AGAIN: Duration = Duration::from_millis(50);
/// Time in which federates that have joined register their endpoints.
const REGISTERED: Duration = Duration::from_secs(3);
/// Time in which a federation is left after an error.
const PARTING: Duration = Duration::from_millis(500);

/// The tag by which a federate tells others when it hears them, and its value for `instant = "last"`.
const INSTANT: &str = "superdense.instant";
const LAST: &str = "last";

/// A value that is heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The key of its publication.
    pub from: String,
    /// Its type.
    pub ty: Type,
    /// Its unit, if it is to have one.
    pub unit: String,
}

/// A value that is published.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its key.
    pub key: String,
    /// Its type.
    pub ty: Type,
    /// Its unit, or nothing.
    pub unit: String,
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// The endpoint that it sends to or hears from.
    pub peer: String,
    /// It sends.
    pub sends: bool,
    /// It hears.
    pub hears: bool,
}

/// How a scenario takes part in a federation.
#[derive(Debug, Clone, PartialEq)]
pub struct Taking {
    /// Name of the federate.
    pub name: String,
    /// The type of its core.
    pub core: String,
    /// The broker.
    pub broker: BrokerAt,
    /// The key of the federation, without which nobody can join.
    pub key: Option<String>,
    /// A time is granted after its sources have passed it.
    pub last: bool,
    /// Time after which a federate that is silent counts as lost.
    pub patience: Duration,
    /// Time in which all others must have come.
    pub join: Duration,
    /// Federates that must be there.
    pub require: Vec<String>,
    /// Folder in which federates are started.
    pub folder: PathBuf,
    /// Federates that are started.
    pub launch: Vec<Launch>,
    /// Values that are heard.
    pub inputs: Vec<Input>,
    /// Values that are published.
    pub outputs: Vec<Output>,
    /// Endpoints.
    pub endpoints: Vec<Endpoint>,
}

/// Why a federation failed.
#[derive(Debug, thiserror::Error)]
pub enum FederationError {
    /// No library.
    #[error("{0}")]
    Library(#[from] LibraryError),
    /// The library has no such core.
    #[error(
        "this libhelics has no core of type \"{0}\"; write core = \"zmq\", or install another libhelics"
    )]
    Core(String),
    /// Nobody listens at the broker's address.
    #[error(
        "there is no broker at {at} (waited {} s); start one with `helics_broker -f {federates}`, correct `broker`, or \
         write broker = \"start\"", waited.as_secs_f64()
    )]
    NoBroker {
        /// The address.
        at: String,
        /// How long was waited.
        waited: Duration,
        /// Federates that it should wait for.
        federates: usize,
    },
    /// The broker is gone.
    #[error("the broker at {at} is gone: it takes no connections any more; look at its log")]
    BrokerLost {
        /// The address.
        at: String,
    },
    /// A federate cannot be started.
    #[error("the federate `{name}` cannot be started: {why}")]
    Start {
        /// Its name.
        name: String,
        /// The system's words.
        why: String,
    },
    /// A federate that was started ended in error.
    #[error("the federate `{name}` ended with {how}{lines}")]
    Ended {
        /// Its name.
        name: String,
        /// How.
        how: String,
        /// Its last lines.
        lines: String,
    },
    /// Federates did not come.
    #[error("{who} did not join within {} s; start them, or raise `join`", waited.as_secs_f64())]
    Missing {
        /// Their names.
        who: String,
        /// How long was waited.
        waited: Duration,
    },
    /// HELICS did not come back from a call.
    #[error("HELICS gave no answer to {call} within {} s; {help}", waited.as_secs_f64())]
    Silent {
        /// The call.
        call: &'static str,
        /// How long was waited.
        waited: Duration,
        /// The remedy.
        help: &'static str,
    },
    /// HELICS refused a call.
    #[error("{call}: {why}{help}")]
    Refused {
        /// The call.
        call: &'static str,
        /// Its words, with names in place of numbers.
        why: String,
        /// The remedy.
        help: &'static str,
    },
    /// The federation ended before this federate did.
    #[error("the federation ended before its time: a federate or the broker has stopped it")]
    Over,
    /// The others have something else than the file says.
    #[error("{}", .0.join("; "))]
    Findings(Vec<String>),
    /// A value cannot be read.
    #[error("{0}")]
    Value(String),
    /// By Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The thread of the library is gone, or could not be started.
    #[error("the thread of libhelics has ended; start the run again")]
    Gone,
}

impl From<Gone> for FederationError {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// A federate that has joined.
#[derive(Debug)]
pub struct Federation {
    owner: Owner,
    watch: Watch,
    names: Names,
    taking: Taking,
    notes: Vec<String>,
}

impl Federation {
    /// Joins: finds the library and the broker, starts federates, registers what the file says, and waits for the
    /// others to have done so.
    ///
    /// # Errors
    /// When anything of this fails, or lasts longer than `join`.
    pub fn join(taking: Taking, interrupted: Interrupted) -> Result<Self, FederationError> {
        let deadline = Instant::now() + taking.join;
        let mut this = Self::alone(taking, interrupted)?;
        let started = this.registered(deadline).and_then(|()| this.started(deadline));
        if started.is_err() {
            this.part();
        }
        started.map(|()| this)
    }

    /// Joins, gives all that does not fit, and leaves.
    ///
    /// # Errors
    /// As [`join`](Self::join); federates that do not come are among what does not fit.
    pub fn check(taking: Taking, interrupted: Interrupted) -> Result<Vec<String>, FederationError> {
        let deadline = Instant::now() + taking.join;
        let mut this = Self::alone(taking, interrupted)?;
        let found = this.registered(deadline).and_then(|()| this.checked(deadline));
        this.part();
        found
    }

    fn checked(&mut self, deadline: Instant) -> Result<Vec<String>, FederationError> {
        let missing = match self.all_there(deadline) {
            Ok(()) => Vec::new(),
            Err(missing @ FederationError::Missing { .. }) => vec![missing.to_string()],
            Err(other) => return Err(other),
        };
        if !missing.is_empty() {
            // Without them the others wait, too; what they have registered is known.
            return Ok([missing, self.findings(true)?].concat());
        }
        match self.started(deadline) {
            Ok(()) => self.findings(true),
            Err(why @ FederationError::Refused { .. }) => {
                Ok([self.findings(true).unwrap_or_default(), vec![why.to_string()]].concat())
            }
            Err(FederationError::Findings(_)) => self.findings(true),
            Err(other) => Err(other),
        }
    }

    /// The library behind its thread.
    fn alone(taking: Taking, interrupted: Interrupted) -> Result<Self, FederationError> {
        let library = Library::find()?;
        let notes = match library.tested() {
            Tested::Yes => Vec::new(),
            Tested::No(note) => vec![note],
        };
        let watch = Watch::new(taking.patience, interrupted);
        let make = move || Ok::<_, FederationError>(Held::new(library));
        let owner = Owner::start(make).map_err(|e| e.unwrap_or(FederationError::Gone))?;
        Ok(Self { owner, watch, names: Names::default(), taking, notes })
    }

    fn registered(&mut self, deadline: Instant) -> Result<(), FederationError> {
        let core = self.taking.core.clone();
        if !self.prompt("a look at cores", move |held| held.has_core(&core))? {
            return Err(FederationError::Core(self.taking.core.clone()));
        }
        let (address, key) = self.reach_broker(deadline)?;
        let names = [("{broker}", address.as_str()), ("{key}", key.as_str())];
        for launch in &self.taking.launch {
            self.watch.launch(launch, &names, &self.taking.folder)?;
        }
        let joining = Joining {
            name: self.taking.name.clone(),
            core: self.taking.core.clone(),
            options: self.options(&address, &key),
            last: self.taking.last,
        };
        self.waited("joining", deadline, move |held| held.join(&joining))?;
        let taking = self.taking.clone();
        self.waited("registering", deadline, move |held| register(held, &taking))
    }

    /// Waits for the others; what they have must fit.
    fn started(&mut self, deadline: Instant) -> Result<(), FederationError> {
        self.all_there(deadline)?;
        self.depend_on_peers(deadline)?;
        self.waited("the start", deadline, Held::enter_initializing)?;
        // HELICS 3.6.1 ends the program where it is asked for `federate_map` and a federate has a tag.
        let map = self.ask("root", "dependency_graph")?;
        self.names = Names::read(&map);
        match self.findings(false)? {
            found if found.is_empty() => Ok(()),
            found => Err(FederationError::Findings(found)),
        }
    }

    /// Makes time wait for those whose messages are heard, before anybody may begin. HELICS 3.6.1 does so for targeted
    /// endpoints, and else where a value is heard of the federate as well; of others it waits at the start for ever.
    fn depend_on_peers(&mut self, deadline: Instant) -> Result<(), FederationError> {
        let heard = self.taking.endpoints.iter().filter(|e| e.hears);
        let mut heard: Vec<String> = heard.map(|e| e.peer.clone()).collect();
        let own = self.taking.name.clone();
        // Federates that are known to be there register soon; a name that is wrong is told later.
        let known = !(self.taking.launch.is_empty() && self.taking.require.is_empty());
        let deadline = if known { deadline.min(Instant::now() + REGISTERED) } else { deadline };
        while !heard.is_empty() && Instant::now() < deadline {
            let federates = self.names("root", "federates")?;
            for federate in federates.into_iter().filter(|f| *f != own) {
                let endpoints = self.names(&federate, "endpoints")?;
                let count = heard.len();
                heard.retain(|peer| !endpoints.contains(peer));
                if heard.len() < count {
                    self.waited("the start", deadline, move |held| held.depend(&federate))?;
                }
            }
            self.watch.look()?;
            std::thread::sleep(ASKED_AGAIN);
        }
        Ok(())
    }

    /// Waits for the federates that must be there.
    fn all_there(&mut self, deadline: Instant) -> Result<(), FederationError> {
        let launched = self.taking.launch.iter().map(|l| &l.name);
        let wanted: Vec<String> = self.taking.require.iter().chain(launched).cloned().collect();
        loop {
            if wanted.is_empty() {
                return Ok(());
            }
            let there = self.names("root", "federates")?;
            let missing: Vec<String> =
                wanted.iter().filter(|w| !there.contains(w)).map(|w| format!("`{w}`")).collect();
            if missing.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let who = missing.join(", ");
                return Err(FederationError::Missing { who, waited: self.taking.join });
            }
            self.watch.look()?;
            std::thread::sleep(ASKED_AGAIN);
        }
    }

    /// Remarks, such as on an untested version.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Begins to execute, and gives the values that are there at time 0.
    ///
    /// # Errors
    /// When a federate is lost.
    pub fn begin(&mut self) -> Result<Vec<Arrival>, FederationError> {
        let taking = self.taking.clone();
        let deadline = Instant::now() + self.taking.join;
        self.waited("the start", deadline, Held::enter_executing)?;
        let heard = self.prompt("reading values", move |held| hear(held, &taking))?;
        heard.map_err(|e| self.named("reading values", e))
    }

    /// Sends values, asks for a time in nanoseconds, and gives the one that is granted with the values that came.
    /// While it is waited for, `look` is called with how long that lasts already.
    ///
    /// # Errors
    /// When a federate or the broker is lost, HELICS refuses something, or the run is interrupted.
    pub fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
        look: &mut dyn FnMut(Duration),
    ) -> Result<(i64, Vec<Arrival>), FederationError> {
        let taking = self.taking.clone();
        let watch = &mut self.watch;
        let mut looked = |elapsed| {
            look(elapsed);
            watch.look()
        };
        let exchanged = self.owner.call(
            move |held| {
                send(held, &sent, now)?;
                let granted = held.request(seconds(next))?;
                Ok((granted, hear(held, &taking)?))
            },
            &mut looked,
        )?;
        let (granted, heard) = exchanged.map_err(|e| self.named("asking for the next time", e))?;
        if granted > seconds(next) + 0.5 {
            return Err(FederationError::Over);
        }
        Ok((nanoseconds(granted), heard))
    }

    /// Sends the last values and leaves. Federates that were started may end by themselves.
    ///
    /// # Errors
    /// When HELICS refuses.
    pub fn leave(mut self, sent: Vec<Departure>, now: i64) -> Result<(), FederationError> {
        let done = self.prompt("the last values", move |held| {
            send(held, &sent, now)?;
            held.leave()
        })?;
        done.map_err(|e| self.named("leaving", e))?;
        // The broker serves them to their end.
        let ended = self.watch.end();
        // Before the program ends: what the library has running would look for what is gone.
        let ending = |held: &mut Held| drop((held.end_broker(), held.close()));
        self.prompt("the end of the library", ending)?;
        ended
    }

    /// Leaves after an error, and tells the others; without patience, as the library may be stuck.
    pub fn fail(mut self, why: &str) {
        let why = why.to_owned();
        let begun = Instant::now();
        let _ = self.owner.call(move |held| held.fail(&why), &mut |_| given_up(begun));
        self.part();
    }

    fn part(&mut self) {
        let begun = Instant::now();
        let leave = |held: &mut Held| drop((held.leave(), held.end_broker(), held.close()));
        let _ = self.owner.call(leave, &mut |_| given_up(begun));
    }

    /// A question to the federation, answered in JSON.
    ///
    /// # Errors
    /// When HELICS does not answer.
    pub fn ask(&mut self, target: &str, question: &str) -> Result<String, FederationError> {
        let (target, question) = (target.to_owned(), question.to_owned());
        let answer = self.prompt("a question", move |held| held.query(&target, &question))?;
        answer.map_err(|e| self.named("a question", e))
    }

    /// The answer to a question for names.
    fn names(&mut self, target: &str, question: &str) -> Result<Vec<String>, FederationError> {
        Ok(serde_json::from_str(&self.ask(target, question)?).unwrap_or_default())
    }

    /// A call that needs nobody else.
    fn prompt<T: Send + 'static>(
        &mut self,
        call: &'static str,
        job: impl FnOnce(&mut Held) -> T + Send + 'static,
    ) -> Result<T, FederationError> {
        let help = "end the processes of the federation, and start it again";
        let look = &mut |elapsed| match elapsed < PROMPT {
            true => Ok(()),
            false => Err(FederationError::Silent { call, waited: PROMPT, help }),
        };
        self.owner.call(job, look)
    }

    /// A call that waits for others, up to a deadline.
    fn waited<T: Send + 'static>(
        &mut self,
        call: &'static str,
        deadline: Instant,
        job: impl FnOnce(&mut Held) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, FederationError> {
        let (watch, waited) = (&mut self.watch, self.taking.join);
        let help = "start all federates that the broker waits for, or raise `join`";
        let look = &mut |_| match Instant::now() < deadline {
            true => watch.look(),
            false => Err(FederationError::Silent { call, waited, help }),
        };
        let done = self.owner.call(job, look)?;
        done.map_err(|e| self.named(call, e))
    }

    /// A refusal with the names of federates.
    fn named(&mut self, call: &'static str, e: Trouble) -> FederationError {
        // A process that we have started tells more.
        if let Err(why @ FederationError::Ended { .. }) = self.watch.look() {
            return why;
        }
        let help = if e.message.contains("lost comms") {
            "; it was ended, or did not answer for longer than `patience`"
        } else {
            ""
        };
        FederationError::Refused { call, why: self.names.told(&e.to_string()), help }
    }
}

fn given_up(begun: Instant) -> Result<(), FederationError> {
    if begun.elapsed() < PARTING { Ok(()) } else { Err(FederationError::Gone) }
}

/// Registers all interfaces.
fn register(held: &mut Held, taking: &Taking) -> Result<(), Trouble> {
    held.tag(INSTANT, if taking.last { LAST } else { "next" })?;
    for output in &taking.outputs {
        held.publication(&output.key, output.ty, &output.unit)?;
    }
    for (k, input) in taking.inputs.iter().enumerate() {
        let key = format!("{}/in/{k}/{}", taking.name, input.from);
        held.input(&key, input.ty, "", &input.from)?;
    }
    for e in &taking.endpoints {
        held.endpoint(&e.name, &e.peer, (e.sends, e.hears))?;
    }
    Ok(())
}

fn send(held: &mut Held, sent: &[Departure], now: i64) -> Result<(), Trouble> {
    for departure in sent {
        match departure {
            Departure::Value(output, data) => held.publish(*output, data)?,
            Departure::Message(endpoint, bytes) => held.send(*endpoint, bytes, seconds(now))?,
        }
    }
    Ok(())
}

/// All that came since the last grant, by place, time, source and order of sending.
fn hear(held: &mut Held, taking: &Taking) -> Result<Vec<Arrival>, Trouble> {
    let mut all = Vec::new();
    for (k, input) in taking.inputs.iter().enumerate() {
        if held.is_updated(k) {
            let at = nanoseconds(held.updated_at(k));
            let (source, data) = (input.from.clone(), held.value(k, input.ty)?);
            all.push(Arrival { place: Place::Input(k), at, source, data });
        }
    }
    for (k, _) in taking.endpoints.iter().enumerate().filter(|(_, e)| e.hears) {
        for m in held.messages(k)? {
            let (at, data) = (nanoseconds(m.time), Data::Raw(m.bytes));
            all.push(Arrival { place: Place::Endpoint(k), at, source: m.source, data });
        }
    }
    all.sort_by(|a, b| (a.place, a.at, &a.source).cmp(&(b.place, b.at, &b.source)));
    Ok(all)
}
