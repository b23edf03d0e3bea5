//! `study.sqlite`: every run of a study, kept by one writer.
//!
//! There is no state of a run that is under way: what is not there is run. The writer commits every 100 ms,
//! so that this much is lost at most when the program is killed, and readers never wait for it.
use super::{Sets, StudyError};
use rusqlite::{Connection, params};
use serde_json::{Map, Value as Json, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Time between commits.
const BEAT: Duration = Duration::from_millis(100);
/// The form of the tables.
const FORMAT: i64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS point(key TEXT PRIMARY KEY, parameters TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run(key TEXT, replicate INTEGER, status TEXT NOT NULL, trace_hash TEXT,
    results TEXT, error TEXT, PRIMARY KEY(key, replicate)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ask(name TEXT, ordinal INTEGER, key TEXT NOT NULL,
    PRIMARY KEY(name, ordinal)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS timing(key TEXT, replicate INTEGER, seconds REAL NOT NULL,
    PRIMARY KEY(key, replicate)) WITHOUT ROWID;";

/// The fate of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has results.
    Done,
    /// It failed.
    Failed,
    /// It took longer than the study allows.
    Timeout,
}

impl Status {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Timeout].into_iter().find(|s| s.name() == name)
    }
}

/// A run in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its fate.
    pub status: Status,
    /// Its trace hash; empty without results.
    pub trace_hash: String,
    /// Its results, in the order of the study.
    pub results: Vec<Option<f64>>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Stored {
    /// A run without results.
    pub fn lost(status: Status, error: String) -> Self {
        Self { status, trace_hash: String::new(), results: Vec::new(), error: Some(error) }
    }
}

/// Runs by the key of their point and their replicate.
pub type Runs = HashMap<(u64, u32), Stored>;

enum Message {
    Meta(&'static str, Json),
    Run { key: u64, replicate: u32, run: Stored, seconds: f64 },
    Point { key: u64, parameters: Sets },
    Ask { name: String, ordinal: usize, key: u64 },
    ForgetAsks,
}

/// The store of a study that is being run.
#[derive(Debug)]
pub struct Store {
    file: PathBuf,
    sender: Option<Sender<Message>>,
    writer: Option<JoinHandle<rusqlite::Result<()>>>,
    names: Vec<String>,
}

pub(super) fn at(file: &Path) -> impl Fn(rusqlite::Error) -> StudyError + use<> {
    let file = file.display().to_string();
    move |source| {
        let help = match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => "make room, and start the study again",
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                "it is no store of a study: move it away, or choose another directory with --out"
            }
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                "another program holds it: end that first"
            }
            _ => "check the folder, or choose another directory with --out",
        };
        StudyError::Store { file: file.clone(), source, help }
    }
}

/// The text of a key.
pub fn hex(key: u64) -> String {
    format!("{key:016x}")
}

impl Store {
    /// Opens or makes the store in a file, and returns the runs that are there, together with those of `others`, which
    /// are taken in. With `retry`, runs that failed are forgotten.
    ///
    /// # Errors
    /// When a file is no store, or cannot be used.
    pub fn open(
        file: &Path,
        names: &[String],
        retry: bool,
        others: &[PathBuf],
    ) -> Result<(Self, Runs), StudyError> {
        let connection = opened(file).map_err(at(file))?;
        for other in others {
            taken_in(&connection, other).map_err(at(other))?;
        }
        if retry {
            let forgotten = connection.execute("DELETE FROM run WHERE status <> 'done'", []);
            forgotten.map_err(at(file))?;
        }
        let runs = runs(&connection, names).map_err(at(file))?;
        let (sender, receiver) = channel();
        let own = names.to_vec();
        let writer = thread::spawn(move || write(connection, &receiver, &own));
        let store = Self {
            file: file.to_owned(),
            sender: Some(sender),
            writer: Some(writer),
            names: names.to_vec(),
        };
        Ok((store, runs))
    }

    /// The names of results.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn send(&self, message: Message) -> Result<(), StudyError> {
        // Without its reader the writer has failed; why, it says at the end.
        let sent = self.sender.as_ref().map(|s| s.send(message));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(StudyError::Refused(format!(
                "{}: the store takes no more rows",
                self.file.display()
            ))),
        }
    }

    /// Keeps a fact about the study.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn meta(&self, name: &'static str, value: Json) -> Result<(), StudyError> {
        self.send(Message::Meta(name, value))
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn run(
        &self,
        (key, replicate): (u64, u32),
        run: Stored,
        seconds: f64,
    ) -> Result<(), StudyError> {
        self.send(Message::Run { key, replicate, run, seconds })
    }

    /// Keeps the parameters of a point.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn point(&self, key: u64, parameters: Sets) -> Result<(), StudyError> {
        self.send(Message::Point { key, parameters })
    }

    /// Keeps that a question asked for a point.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn ask(&self, name: &str, ordinal: usize, key: u64) -> Result<(), StudyError> {
        self.send(Message::Ask { name: name.to_owned(), ordinal, key })
    }

    /// Forgets which questions asked for which points: they ask anew.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn forget_asks(&self) -> Result<(), StudyError> {
        self.send(Message::ForgetAsks)
    }

    /// Commits what is left.
    ///
    /// # Errors
    /// When rows could not be written.
    pub fn close(mut self) -> Result<(), StudyError> {
        self.sender = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(written)) => written.map_err(at(&self.file)),
            _ => Ok(()),
        }
    }
}

fn opened(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Of a power failure the last commits may be lost, never the store.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(TABLES)?;
    connection.execute("INSERT OR IGNORE INTO meta VALUES('format', ?1)", [FORMAT])?;
    Ok(connection)
}

/// Takes in the runs of another store that are not here yet, or have failed here and are done there.
fn taken_in(connection: &Connection, other: &Path) -> rusqlite::Result<()> {
    connection.execute("ATTACH DATABASE ?1 AS other", [other.to_string_lossy()])?;
    let taken = connection.execute_batch(
        "INSERT OR REPLACE INTO run SELECT * FROM other.run WHERE status = 'done';
         INSERT OR IGNORE INTO run SELECT * FROM other.run",
    );
    connection.execute("DETACH DATABASE other", [])?;
    taken
}

/// All runs of a store.
fn runs(connection: &Connection, names: &[String]) -> rusqlite::Result<Runs> {
    let sql = "SELECT key, replicate, status, trace_hash, results, error FROM run";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut runs = Runs::new();
    while let Some(row) = rows.next()? {
        let (key, status): (String, String) = (row.get(0)?, row.get(2)?);
        let (Ok(key), Some(status)) = (u64::from_str_radix(&key, 16), Status::of(&status)) else {
            continue;
        };
        let results: Option<String> = row.get(4)?;
        let results = match results {
            None => Vec::new(),
            Some(text) => match results_of(&text, names) {
                // Of other names: run again.
                None => continue,
                Some(results) => results,
            },
        };
        let trace_hash = row.get::<_, Option<String>>(3)?.unwrap_or_default();
        runs.insert((key, row.get(1)?), Stored { status, trace_hash, results, error: row.get(5)? });
    }
    Ok(runs)
}

/// Results as an object of names.
fn object(results: &[Option<f64>], names: &[String]) -> String {
    let value = |(name, x): (&String, &Option<f64>)| (name.clone(), json!(x));
    Json::Object(names.iter().zip(results).map(value).collect::<Map<_, _>>()).to_string()
}

/// Results of these names; nothing where one of them is not there.
pub fn results_of(text: &str, names: &[String]) -> Option<Vec<Option<f64>>> {
    let object: Map<String, Json> = serde_json::from_str(text).ok()?;
    names.iter().map(|name| object.get(name).map(Json::as_f64)).collect()
}

/// The thread of the writer: takes rows until nobody sends any, and commits every [`BEAT`].
fn write(
    mut connection: Connection,
    receiver: &Receiver<Message>,
    names: &[String],
) -> rusqlite::Result<()> {
    while let Ok(first) = receiver.recv() {
        let due = Instant::now() + BEAT;
        let transaction = connection.transaction()?;
        put(&transaction, first, names)?;
        // Also where rows come without a pause.
        while let left = due.saturating_duration_since(Instant::now())
            && !left.is_zero()
            && let Ok(message) = receiver.recv_timeout(left)
        {
            put(&transaction, message, names)?;
        }
        transaction.commit()?;
    }
    // Readers that come later need no write-ahead log beside the file.
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").or(Ok(()))
}

fn put(connection: &Connection, message: Message, names: &[String]) -> rusqlite::Result<()> {
    match message {
        Message::Meta(name, value) => {
            let sql = "INSERT OR REPLACE INTO meta VALUES(?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![name, value.to_string()])?;
        }
        Message::Run { key, replicate, run, seconds } => {
            let sql = "INSERT OR REPLACE INTO run VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
            let done = run.status == Status::Done;
            let results = done.then(|| object(&run.results, names));
            let hash = done.then_some(&run.trace_hash);
            let values = params![hex(key), replicate, run.status.name(), hash, results, run.error];
            connection.prepare_cached(sql)?.execute(values)?;
            let sql = "INSERT OR REPLACE INTO timing VALUES(?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![hex(key), replicate, seconds])?;
        }
        Message::Point { key, parameters } => {
            let sql = "INSERT OR REPLACE INTO point VALUES(?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![hex(key), pairs(&parameters)])?;
        }
        Message::ForgetAsks => {
            connection.execute("DELETE FROM ask", [])?;
        }
        Message::Ask { name, ordinal, key } => {
            let sql = "INSERT OR REPLACE INTO ask VALUES(?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![name, ordinal as i64, hex(key)])?;
        }
    }
    Ok(())
}

/// Settings as an object.
pub fn pairs(sets: &Sets) -> String {
    let object: Map<_, _> = sets.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    Json::Object(object).to_string()
}
