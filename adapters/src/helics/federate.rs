//! A federate: it joins, goes from grant to grant, and leaves.
pub use super::watch::{Interrupted, Launch};
use super::{
    library::{Held, Joining, Library, Tested, Trouble},
    looker::{Looker, Waiting},
    names::Names,
    owner::Owner,
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
mod error;
mod findings;

pub use broker::BrokerAt;
pub use error::FederationError;

/// Time in which HELICS answers what needs no other federate.
const PROMPT: Duration = Duration::from_secs(20);
/// Time between two questions for federates that are still missing.
const ASKED_AGAIN: Duration = Duration::from_millis(50);
/// Time in which federates that have joined register their endpoints.
const REGISTERED: Duration = Duration::from_secs(3);
/// Time between two questions for who waits for whom.
const ASKED_WHO_WAITS: Duration = Duration::from_secs(1);
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
    /// The endpoints that it sends to and hears from.
    pub peers: Vec<String>,
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
    /// Time without a grant after which the run ends, if it is to end then.
    pub stall: Option<Duration>,
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

/// A federate that has joined.
#[derive(Debug)]
pub struct Federation {
    owner: Owner,
    looker: Option<Looker>,
    watch: Watch,
    names: Names,
    /// The others, as far as they are known before all begin.
    others: Vec<String>,
    taking: Taking,
    notes: Vec<String>,
    /// The version of the library.
    version: String,
}

/// The findings of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// All that does not fit.
    pub mistakes: Vec<String>,
    /// All that may go wrong.
    pub remarks: Vec<String>,
}

/// A wait for a grant, for whoever looks on.
#[derive(Debug)]
pub struct Look {
    /// How long it lasts.
    pub elapsed: Duration,
    /// Who waits for whom, where that was told since the last look.
    pub who: Option<Vec<Waiting>>,
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
        let started = this.registered(deadline).and_then(|()| this.started(deadline, false));
        let started = match started {
            Ok(found) if found.is_empty() => Ok(()),
            Ok(found) => Err(FederationError::Findings(found)),
            Err(why) => Err(why),
        };
        if started.is_err() {
            this.part();
        }
        started.map(|()| this)
    }

    /// Joins, gives all that does not fit, and leaves.
    ///
    /// # Errors
    /// As [`join`](Self::join); federates that do not come are among what does not fit.
    pub fn check(taking: Taking, interrupted: Interrupted) -> Result<Checked, FederationError> {
        let deadline = Instant::now() + taking.join;
        let mut this = Self::alone(taking, interrupted)?;
        let found = this.registered(deadline).and_then(|()| this.checked(deadline));
        let remarks = found.as_ref().ok().and_then(|_| this.remarks().ok()).unwrap_or_default();
        this.part();
        Ok(Checked { mistakes: found?, remarks })
    }

    /// Federates whose grants HELICS may get wrong. Of three and more it grants interruptible ones a late time, now and
    /// then, before a value or a message of an earlier one has come to them, and gives them that afterwards or not at all.
    fn remarks(&mut self) -> Result<Vec<String>, FederationError> {
        if self.others.len() < 2 {
            return Ok(Vec::new());
        }
        let answer = self.ask("root", "global_time_debugging")?;
        let others = Waiting::interruptible(&answer);
        let others = others.into_iter().filter(|name| *name != self.taking.name);
        let others: Vec<String> = others.map(|name| format!("`{name}`")).collect();
        let told = format!(
            "{} can be interrupted: in a federation of three and more, HELICS {} now and then grants such federates a \
             time before what was sent to them earlier has come; set HELICS_FLAG_UNINTERRUPTIBLE in them",
            others.join(", "),
            self.version
        );
        Ok(if others.is_empty() { Vec::new() } else { vec![told] })
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
        self.started(deadline, true)
    }

    /// The library behind its thread.
    fn alone(taking: Taking, interrupted: Interrupted) -> Result<Self, FederationError> {
        let library = Library::find()?;
        let notes = match library.tested() {
            Tested::Yes => Vec::new(),
            Tested::No(note) => vec![note],
        };
        let version = library.version.clone();
        let watch = Watch::new(taking.patience, interrupted);
        let make = move || Ok::<_, FederationError>(Held::new(library));
        let owner = Owner::start(make).map_err(|e| e.unwrap_or(FederationError::Gone))?;
        let (looker, names, others) = (None, Names::default(), Vec::new());
        Ok(Self { owner, looker, watch, names, others, taking, notes, version })
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
        let asker = self.prompt("a way to ask", |held| held.asker())?;
        self.looker = asker.ok().and_then(Looker::start);
        let taking = self.taking.clone();
        self.waited("registering", deadline, move |held| register(held, &taking))
    }

    /// Waits for the others, begins with them, and gives all that does not fit.
    fn started(&mut self, deadline: Instant, check: bool) -> Result<Vec<String>, FederationError> {
        self.all_there(deadline)?;
        self.depend_on_peers(deadline)?;
        self.settle(deadline)?;
        self.learn_names()?;
        let mut found = self.clashes_before(check)?;
        match self.with_others(deadline, Held::enter_initializing) {
            Ok(()) => {}
            Err(why @ FederationError::Refused { .. }) if !found.is_empty() => {
                found.push(why.to_string());
                return Ok(found);
            }
            Err(why) => return Err(why),
        }
        self.learn_names()?;
        let after = self.findings(check)?;
        // Later it may be known better who it is about.
        let about = |text: &str| text.split(", which ").next().unwrap_or_default().to_owned();
        let before: Vec<String> = found.iter().map(|f| about(f)).collect();
        found.extend(after.into_iter().filter(|f| !before.contains(&about(f))));
        Ok(found)
    }

    /// Learns which federate has which number, as messages of HELICS tell numbers.
    fn learn_names(&mut self) -> Result<(), FederationError> {
        // HELICS 3.6.1 ends the program where it is asked for `federate_map` and a federate has a tag.
        let map = self.ask("root", "dependency_graph")?;
        self.names.learn(&map);
        self.others = self.names("root", "federates")?;
        self.others.retain(|name| *name != self.taking.name);
        Ok(())
    }

    /// A call that all others have to make, too. HELICS itself finds out in time only later who is gone: so all are asked
    /// in turn whether they are still there.
    fn with_others(
        &mut self,
        deadline: Instant,
        job: impl FnOnce(&mut Held) -> Result<(), Trouble> + Send + 'static,
    ) -> Result<(), FederationError> {
        let Self { owner, looker, watch, others, taking, .. } = self;
        let mut turn = 0;
        let mut look = |_: Duration| {
            let help = "start all federates that the broker waits for, or raise `join`";
            if Instant::now() >= deadline {
                let (call, waited) = ("the start", taking.join);
                return Err(FederationError::Silent { call, waited, help });
            }
            let Some(looker) = looker.as_mut().filter(|_| !others.is_empty()) else {
                return watch.look();
            };
            turn += usize::from(looker.answer().is_some());
            let name = &others[turn % others.len()];
            if looker.waits() > 2 * taking.patience {
                return Err(FederationError::NoAnswer(name.clone()));
            }
            looker.ask(name, "interface_details");
            watch.look()
        };
        let done = owner.call(job, &mut look)?;
        done.map_err(|e| self.named("the start", e))
    }

    /// Makes time wait for those whose messages are heard, before anybody may begin. HELICS 3.6.1 does so for targeted
    /// endpoints, and else where a value is heard of the federate as well; of others it waits at the start for ever.
    fn depend_on_peers(&mut self, deadline: Instant) -> Result<(), FederationError> {
        let heard = self.taking.endpoints.iter().filter(|e| e.hears);
        let mut heard: Vec<String> = heard.flat_map(|e| e.peers.clone()).collect();
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
        self.with_others(deadline, Held::enter_executing)?;
        let heard = self.prompt("reading values", move |held| hear(held, &taking))?;
        heard.map_err(|e| self.named("reading values", e))
    }

    /// Sends values, asks for a time in nanoseconds, and gives the one that is granted with the values that came.
    /// While it is waited for, `look` is called.
    ///
    /// # Errors
    /// When a federate or the broker is lost, HELICS refuses something, the run is interrupted, or nothing is granted for
    /// `stall`.
    pub fn exchange(
        &mut self,
        sent: Vec<Departure>,
        now: i64,
        next: i64,
        look: &mut dyn FnMut(&Look),
    ) -> Result<(i64, Vec<Arrival>), FederationError> {
        let (taking, stall) = (self.taking.clone(), self.taking.stall);
        let Self { watch, looker, .. } = self;
        let (mut told, mut asked) = (Vec::new(), Duration::ZERO);
        let mut looked = |elapsed: Duration| {
            let answer = looker.as_mut().and_then(Looker::answer);
            let who = answer.map(|answer| Waiting::read(&answer));
            if let Some(who) = &who {
                told.clone_from(who);
            }
            look(&Look { elapsed, who });
            if let Some(looker) = looker.as_mut().filter(|_| elapsed >= asked + ASKED_WHO_WAITS) {
                asked = elapsed;
                looker.ask("root", "global_time_debugging");
            }
            match stall {
                Some(stall) if elapsed >= stall && !is_traced() => {
                    let who = std::mem::take(&mut told);
                    Err(FederationError::Stalled { waited: elapsed, who })
                }
                _ => watch.look(),
            }
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
        let looks = self.looker.take().is_none_or(Looker::end);
        let ending = move |held: &mut Held| {
            let _ = held.end_broker();
            if looks {
                held.close();
            }
        };
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
        let looks = self.looker.take().is_none_or(Looker::end);
        let leave = move |held: &mut Held| {
            let _ = (held.leave(), held.end_broker());
            if looks {
                held.close();
            }
        };
        let _ = self.owner.call(leave, &mut |_| given_up(begun));
    }

    /// The federate that sends by a publication or an endpoint of this name, where it still answers.
    pub fn sender(&mut self, name: &str) -> Option<String> {
        let sends = |this: &mut Self, federate: &str| {
            let mut of = |kind| this.names(federate, kind).unwrap_or_default();
            of("publications").into_iter().chain(of("endpoints")).any(|own| own == name)
        };
        self.others.clone().into_iter().find(|federate| sends(self, federate))
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

/// Whether a debugger holds this process.
pub fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|number| number.trim() != "0")
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
        held.endpoint(&e.name, &e.peers, (e.sends, e.hears))?;
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
