//! Questions about others while a call of HELICS waits: who is there, and who waits for whom.
use super::library::Asker;
use serde_json::Value as Json;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Time in which the thread ends, once it is not needed.
const PARTING: Duration = Duration::from_millis(500);
/// Seconds beyond which HELICS means the end of time.
const NEVER: f64 = 9e9;

type Question = (String, &'static str);

/// A thread that asks.
#[derive(Debug)]
pub(super) struct Looker {
    wanted: SyncSender<Question>,
    answer: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<()>,
    /// When the question was asked that has no answer yet.
    asked: Option<Instant>,
}

impl Looker {
    /// Starts the thread; nothing where the system has none.
    pub(super) fn start(asker: Asker) -> Option<Self> {
        let (wanted, questions) = sync_channel::<Question>(1);
        let answer = Arc::new(Mutex::new(None));
        let told = Arc::clone(&answer);
        let look = move || serve(&asker, &questions, &told);
        let thread = thread::Builder::new().name("helics-looks".into()).spawn(look).ok()?;
        Some(Self { wanted, answer, thread, asked: None })
    }

    /// Asks, unless a question waits for its answer.
    pub(super) fn ask(&mut self, target: &str, question: &'static str) {
        if self.asked.is_none() && self.wanted.try_send((target.to_owned(), question)).is_ok() {
            self.asked = Some(Instant::now());
        }
    }

    /// The answer, once.
    pub(super) fn answer(&mut self) -> Option<String> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if answer.is_some() {
            self.asked = None;
        }
        answer
    }

    /// How long an answer is waited for.
    pub(super) fn waits(&self) -> Duration {
        self.asked.map_or(Duration::ZERO, |asked| asked.elapsed())
    }

    /// Ends the thread; tells whether it has ended.
    pub(super) fn end(self) -> bool {
        drop(self.wanted);
        let begun = Instant::now();
        while !self.thread.is_finished() && begun.elapsed() < PARTING {
            thread::sleep(Duration::from_millis(1));
        }
        self.thread.is_finished()
    }
}

fn serve(asker: &Asker, questions: &Receiver<Question>, told: &Mutex<Option<String>>) {
    while let Ok((target, question)) = questions.recv() {
        let answer = asker.ask(&target, question).unwrap_or_default();
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

/// A federate as far as others know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Its name.
    pub name: String,
    /// The time that it was granted, in seconds.
    pub granted: f64,
    /// The time that it has asked for, in seconds; nothing while it is at work. The end of time is infinite.
    pub asked: Option<f64>,
    /// Federates that it waits for, and how far it knows them to be.
    pub on: Vec<(String, f64)>,
}

impl Waiting {
    /// The federates in an answer to `global_time_debugging` that may be granted an earlier time than they ask for.
    pub(super) fn interruptible(answer: &str) -> Vec<String> {
        let json: Json = serde_json::from_str(answer).unwrap_or_default();
        let mut nodes = Vec::new();
        federates(&json, &mut nodes);
        let may = |node: &&Json| node.get("uninterruptible") == Some(&Json::Bool(false));
        let name = |node: &Json| Some(node.pointer("/attributes/name")?.as_str()?.to_owned());
        let mut names: Vec<String> = nodes.into_iter().filter(may).filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// Reads an answer to `global_time_debugging`.
    pub(super) fn read(answer: &str) -> Vec<Self> {
        let json: Json = serde_json::from_str(answer).unwrap_or_default();
        let mut nodes = Vec::new();
        federates(&json, &mut nodes);
        let number = |node: &Json| node.pointer("/attributes/id").and_then(Json::as_u64);
        let name = |node: &Json| {
            let name = node.pointer("/attributes/name").and_then(Json::as_str);
            name.unwrap_or_default().to_owned()
        };
        let time = |node: &Json, key: &str| node.get(key).and_then(Json::as_f64);
        let all = nodes.iter().map(|node| {
            let at_work = node.get("granted_mode").and_then(Json::as_bool).unwrap_or(true);
            let endless = |t: f64| if t > NEVER { f64::INFINITY } else { t };
            let asked = time(node, "requested").filter(|_| !at_work).map(endless);
            let others = node.get("dependencies").and_then(Json::as_array);
            let on = others.into_iter().flatten().filter_map(|other| {
                let (id, next) = (other.get("id").and_then(Json::as_u64)?, time(other, "next")?);
                let who = nodes.iter().find(|n| number(n) == Some(id)).map(|n| name(n))?;
                (next < asked?).then_some((who, next))
            });
            let granted = time(node, "granted").unwrap_or_default();
            Self { name: name(node), granted, asked, on: on.collect() }
        });
        let mut all: Vec<Self> = all.collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, granted, asked, on } = self;
        let Some(asked) = asked else {
            return write!(f, "`{name}` was granted {granted} s, and has asked for no other time");
        };
        let asked = if asked.is_finite() { format!("{asked} s") } else { "the end".to_owned() };
        write!(f, "`{name}` at {granted} s has asked for {asked}")?;
        for (k, (who, next)) in on.iter().enumerate() {
            let word = if k == 0 { ", and waits for" } else { " and" };
            write!(f, "{word} `{who}` (at {next} s)")?;
        }
        Ok(())
    }
}

/// Nodes of federates in an answer.
fn federates<'a>(node: &'a Json, all: &mut Vec<&'a Json>) {
    let list = |key: &str| node.get(key).and_then(Json::as_array).into_iter().flatten();
    all.extend(list("federates"));
    for inner in list("cores").chain(list("brokers")) {
        federates(inner, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_whom() {
        let answer = r#"{"cores":[{"federates":[{"attributes":{"id":131072,"name":"own"},"granted":0.0,
            "granted_mode":false,"requested":1.0,"dependencies":[{"id":131073,"next":0.25},{"id":131074,"next":2}]}]}],
            "brokers":[{"cores":[{"federates":[{"attributes":{"id":131073,"name":"peer"},"granted":0.25,
            "granted_mode":true,"requested":0.25,"dependencies":[{"id":131072,"next":1e-9}]}]}]}]}"#;
        let told: Vec<String> = Waiting::read(answer).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "`own` at 0 s has asked for 1 s, and waits for `peer` (at 0.25 s)",
                "`peer` was granted 0.25 s, and has asked for no other time"
            ]
        );
        assert_eq!(Waiting::read("#invalid"), []);
    }
}
