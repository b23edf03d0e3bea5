//! A study in its directory: its store, and the tables that are written at the end.
//!
//! Whoever runs a study holds its [`Home`]: the command, and programs that call this crate. Besides the
//! questions of the file, a program may ask for points of its own, run them wherever it likes, and tell what
//! came out; the store keeps these runs as it keeps all others.
//!
//! ```
//! use superdense::{run::pulse::Pulse, study::{Home, Runner, Study}};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("study-home-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let file = folder.join("study.toml");
//! std::fs::write(folder.join("scenario.toml"), r#"
//!     stop = "1 s"
//!     parameters = { a = 1.0 }
//!     [unit.x]
//!     kind = "constant"
//!     value = "a"
//!     [result]
//!     y = "final(x.y)"
//! "#)?;
//! std::fs::write(&file, r#"
//!     scenario = "scenario.toml"
//!     vary.a = { from = 0.0, to = 4.0 }
//!     ask.map = { method = "grid", over = { a = 3 } }
//! "#)?;
//! let (study, runner) = Study::read(&file, &[]).map_err(|d| d.to_string())?;
//! let mut home = Home::open(&study, &file, &folder.join("out"), false)?;
//! let asked = home.ask(&study, &runner, &[("a".into(), "2.5".into())], 0)?;
//! let (_, plan) = runner.plan(&asked.sets, asked.seed)?;
//! let row = runner.run(plan, &Pulse::default()).map_err(|lost| format!("{lost:?}"))?;
//! home.tell(&study, &asked, Ok(row), 0.1)?;
//! let again = home.ask(&study, &runner, &[("a".into(), "2.5".into())], 0)?;
//! assert_eq!(again.known.expect("it was told").results, [Some(2.5)]);
//! home.close()?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
use super::{
    ANSWERS, Conducted, Limits, RESULTS, Reader, Row, Runner, STORE, Sets, Store, Study,
    StudyError,
    answer::{self, Answer},
    conduct::{Piece, Progress, conduct, key_of},
    store::{Runs, Status, Stored},
    table,
    vary::Parameter,
};
use crate::output::directory;
use serde_json::json;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};
use superdense_models::maths::expr::nearest;

/// The folder of the pieces of a study.
const PIECES: &str = "pieces";

/// The directory of a study, which nobody else writes meanwhile.
#[derive(Debug)]
pub struct Home {
    out: PathBuf,
    /// The study file.
    file: PathBuf,
    store: Store,
    known: Runs,
    _held: Option<File>,
}

/// A point that was asked for by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The settings of the scenario, in the order of `[vary]`.
    pub sets: Sets,
    /// The replicate.
    pub replicate: u32,
    /// Its seed; none for the scenario's own.
    pub seed: Option<u64>,
    /// The digest by which the store knows the point.
    pub key: u64,
    /// The run, if the store has it.
    pub known: Option<Stored>,
}

impl Home {
    /// Opens or makes the directory `out` of a study, which was read from `file`. With `retry`, runs that
    /// failed are forgotten.
    ///
    /// # Errors
    /// When another program holds the directory, or it holds other things.
    pub fn open(study: &Study, file: &Path, out: &Path, retry: bool) -> Result<Self, StudyError> {
        Self::with(study, file, (out, &stores(&out.join(PIECES))?), retry)
    }

    /// Opens or makes the directory of a piece of a study whose directory is `out`. It knows the runs that are there, and
    /// [`open`](Self::open) takes in what it adds.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn piece(
        study: &Study,
        file: &Path,
        (out, piece): (&Path, Piece),
        retry: bool,
    ) -> Result<Self, StudyError> {
        let own = out.join(PIECES).join(format!("{}-of-{}", piece.number, piece.of));
        let whole = Some(out.join(STORE)).filter(|store| store.is_file());
        Self::with(study, file, (&own, whole.as_slice()), retry)
    }

    fn with(
        study: &Study,
        file: &Path,
        (out, others): (&Path, &[PathBuf]),
        retry: bool,
    ) -> Result<Self, StudyError> {
        let held = directory::hold(out)?;
        let fresh = !out.join(STORE).is_file();
        if fresh {
            empty(out)?;
        } else {
            same_study(&out.join(STORE), file)?;
        }
        let (store, known) = Store::open(&out.join(STORE), &study.results, retry, others)?;
        let (out, file) = (out.to_owned(), file.to_owned());
        let this = Self { out, file, store, known, _held: held };
        if fresh {
            this.facts(study)?;
        }
        Ok(this)
    }

    /// Answers the questions of the study; see [`conduct()`]. Tables of an earlier state are removed.
    ///
    /// # Errors
    /// When the store takes no rows.
    pub fn conduct<'a, R: Runner>(
        &mut self,
        study: &'a Study,
        runner: &R,
        limits: Limits,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Option<Conducted<'a>>, StudyError> {
        for name in [RESULTS, ANSWERS] {
            directory::remove(&self.out.join(name))?;
        }
        self.facts(study)?;
        let from = (&self.store, &self.known);
        let Some(found) = conduct(study, runner, from, limits, interrupted, tell)? else {
            return Ok(None);
        };
        for (&(place, replicate), run) in &found.runs {
            self.known.insert((found.places[place].key(), replicate), run.clone());
        }
        Ok(Some(found))
    }

    /// Writes `results.csv` and `answers.json`; returns the answers, in the order of the file.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(
        &self,
        study: &Study,
        found: &Conducted<'_>,
    ) -> Result<Vec<(String, Answer)>, StudyError> {
        let answers = answer::answers(study, found);
        directory::replace(&self.out.join(RESULTS), table::csv(study, found).as_bytes())?;
        directory::replace(&self.out.join(ANSWERS), &answer::json(&answers))?;
        let words: Vec<(&String, &str)> =
            answers.iter().map(|(name, answer)| (name, answer.line().0)).collect();
        self.store.meta("answers", json!(words))?;
        Ok(answers)
    }

    /// A replicate of a point, by the values of some parameters of `[vary]`: numbers in SI units, quantities or
    /// words. Others stay as they are in the scenario.
    ///
    /// # Errors
    /// When a name or a value is none of `[vary]`, or the scenario cannot be planned there.
    pub fn ask<R: Runner>(
        &self,
        study: &Study,
        runner: &R,
        values: &[(String, String)],
        replicate: u32,
    ) -> Result<Asked, StudyError> {
        let sets = settings(study, values).map_err(StudyError::Refused)?;
        let (key, _) = runner.plan(&sets, None).map_err(StudyError::Refused)?;
        let key = key_of(key, study.seed);
        let seed = (replicate > 0).then(|| superdense_study::seed(study.seed, replicate));
        let known = self.known.get(&(key, replicate)).cloned();
        Ok(Asked { sets, replicate, seed, key, known })
    }

    /// Keeps the outcome of a run that was asked for, and the wall time that it took; of a run that failed the
    /// reason. A run that is told twice is the later one.
    ///
    /// # Errors
    /// When it has not the results of the study, or the store takes no rows.
    pub fn tell(
        &mut self,
        study: &Study,
        asked: &Asked,
        outcome: Result<Row, String>,
        seconds: f64,
    ) -> Result<(), StudyError> {
        let run = match outcome {
            Err(why) => Stored::lost(Status::Failed, why),
            Ok(Row { trace_hash, results }) if results.len() == study.results.len() => {
                Stored { status: Status::Done, trace_hash, results, error: None }
            }
            Ok(row) => {
                return Err(StudyError::Refused(format!(
                    "the run has {} results, and the study {}: tell a value for each of {}",
                    row.results.len(),
                    study.results.len(),
                    study.results.join(", ")
                )));
            }
        };
        self.store.run((asked.key, asked.replicate), run.clone(), seconds)?;
        self.store.point(asked.key, asked.sets.clone())?;
        self.known.insert((asked.key, asked.replicate), run);
        Ok(())
    }

    /// Commits what is left, and lets others in.
    ///
    /// # Errors
    /// When rows could not be written.
    pub fn close(self) -> Result<(), StudyError> {
        self.store.close()
    }

    /// Tells the store what `study rerun`, and a person with SQL, have to know.
    fn facts(&self, study: &Study) -> Result<(), StudyError> {
        let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
        let asks: Vec<&str> = study.asks.iter().map(|a| a.name.value.as_str()).collect();
        let parameter = |p: &Parameter| json!({ "path": p.path.value, "unit": p.unit });
        let parameters: Vec<_> = study.parameters.iter().map(parameter).collect();
        let store = &self.store;
        store.meta("version", json!(env!("CARGO_PKG_VERSION")))?;
        store.meta("study", json!(absolute(&self.file)))?;
        store.meta("scenario", json!(absolute(&study.scenario)))?;
        store.meta("sets", json!(study.sets))?;
        store.meta("seed", json!(study.seed))?;
        store.meta("parameters", json!(parameters))?;
        store.meta("results", json!(study.results))?;
        store.meta("units", json!(study.units))?;
        store.meta("title", json!(study.title))?;
        store.meta("asks", json!(asks))
    }
}

/// The stores of the folders in a folder, in the order of their names.
fn stores(folder: &Path) -> Result<Vec<PathBuf>, StudyError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let refused = |e: std::io::Error| StudyError::Refused(format!("{}: {e}", folder.display()));
    let entries = fs::read_dir(folder).and_then(|all| all.collect::<Result<Vec<_>, _>>());
    let stores = entries.map_err(refused)?.into_iter().map(|entry| entry.path().join(STORE));
    let mut stores: Vec<PathBuf> = stores.filter(|store| store.is_file()).collect();
    stores.sort_unstable();
    Ok(stores)
}

/// Refuses a directory without a store that holds results of something else.
fn empty(out: &Path) -> Result<(), StudyError> {
    if out.join("manifest.json").is_file() {
        let why = "the results of a run are here; choose another directory with --out";
        return Err(StudyError::Refused(format!("{}: {why}", out.display())));
    }
    for file in [RESULTS, ANSWERS].map(|name| out.join(name)) {
        if file.is_file() {
            let why = "is none of a study; choose another directory with --out";
            return Err(StudyError::Refused(format!("{}: {why}", file.display())));
        }
    }
    Ok(())
}

/// Refuses the store of another study, whose tables would be replaced. A study file that was moved is no longer where
/// its store says.
fn same_study(store: &Path, file: &Path) -> Result<(), StudyError> {
    let known = Reader::open(store).and_then(|reader| reader.study());
    let real = |path: &Path| fs::canonicalize(path).ok();
    match known.ok().and_then(|other| real(&other)) {
        Some(other) if Some(&other) != real(file).as_ref() => {
            let (store, other) = (store.display(), other.display());
            let why = "choose another directory with --out, or remove this one";
            Err(StudyError::Refused(format!("{store}: belongs to the study {other}; {why}")))
        }
        _ => Ok(()),
    }
}

/// The settings for values of parameters, in the order of `[vary]`.
fn settings(study: &Study, values: &[(String, String)]) -> Result<Sets, String> {
    let paths = || study.parameters.iter().map(|p| p.path.value.as_str());
    for (at, (path, _)) in values.iter().enumerate() {
        if !paths().any(|p| p == path) {
            let help = match nearest(path, paths()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("parameters are {}", paths().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("`{path}` is no parameter of [vary]; {help}"));
        }
        if values[..at].iter().any(|(earlier, _)| earlier == path) {
            return Err(format!("`{path}` has two values; give it one"));
        }
    }
    let mut sets = Sets::new();
    for parameter in &study.parameters {
        let path = &parameter.path.value;
        let Some((_, text)) = values.iter().find(|(p, _)| p == path) else { continue };
        let x = parameter.value(text).ok_or_else(|| {
            format!("{text} is no value of `{path}`; choose {}", parameter.choices())
        })?;
        sets.push((path.clone(), parameter.text(x)));
    }
    Ok(sets)
}
