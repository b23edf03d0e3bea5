//! The directory of a study: the store, and the tables that people read.
use super::{
    ANSWERS, Conducted, RESULTS, STORE, Store, Study, StudyError, answer, store::Runs, table,
    vary::Parameter,
};
use crate::output::directory;
use serde_json::json;
use std::{fs::File, path::Path};

/// A directory that is held for one study.
#[allow(missing_debug_implementations, reason = "a store has threads")]
pub struct Home {
    /// The store in it.
    pub store: Store,
    /// The runs that were in the store.
    pub known: Runs,
    /// Keeps other programs out for as long as it lives, where the system can do that.
    pub held: Option<File>,
}

impl Home {
    /// Opens the directory of a study that was read from `file`; with `retry`, runs that failed are forgotten.
    ///
    /// # Errors
    /// A directory that holds other things, or that another program holds; a store that cannot be used.
    pub fn open(
        out: &Path,
        (study, file): (&Study, &Path),
        retry: bool,
    ) -> Result<Self, StudyError> {
        let held = directory::hold(out)?;
        ours(out)?;
        let (store, known) = Store::open(&out.join(STORE), &study.results, retry)?;
        facts(&store, study, file)?;
        Ok(Self { store, known, held })
    }
}

/// Answers by question, and the bytes of `answers.json`.
pub type Written = (Vec<(String, answer::Answer)>, Vec<u8>);

/// Writes the tables of a study that has ended; gives the answers, and the bytes of `answers.json`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(out: &Path, study: &Study, found: &Conducted<'_>) -> Result<Written, StudyError> {
    let answers = answer::answers(study, found);
    directory::replace(&out.join(RESULTS), table::csv(study, found).as_bytes())?;
    let bytes = answer::json(&answers);
    directory::replace(&out.join(ANSWERS), &bytes)?;
    Ok((answers, bytes))
}

/// Refuses a directory that holds other things, and removes tables of an earlier state of the study.
fn ours(out: &Path) -> Result<(), StudyError> {
    if out.join("manifest.json").is_file() && !out.join(STORE).is_file() {
        let why = "the results of a run are here; choose another directory with --out";
        return Err(StudyError::Refused(format!("{}: {why}", out.display())));
    }
    for name in [RESULTS, ANSWERS] {
        let file = out.join(name);
        if file.is_file() && !out.join(STORE).is_file() {
            let why = "is none of a study; choose another directory with --out";
            return Err(StudyError::Refused(format!("{}: {why}", file.display())));
        }
        directory::remove(&file)?;
    }
    Ok(())
}

/// Tells the store what `rerun`, and a person with SQL, have to know.
fn facts(store: &Store, study: &Study, file: &Path) -> Result<(), StudyError> {
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    let asks: Vec<&str> = study.asks.iter().map(|a| a.name.value.as_str()).collect();
    let parameter = |p: &Parameter| json!({ "path": p.path.value, "unit": p.unit });
    let parameters: Vec<_> = study.parameters.iter().map(parameter).collect();
    store.meta("version", json!(env!("CARGO_PKG_VERSION")))?;
    store.meta("study", json!(absolute(file)))?;
    store.meta("scenario", json!(absolute(&study.scenario)))?;
    store.meta("sets", json!(study.sets))?;
    store.meta("seed", json!(study.seed))?;
    store.meta("parameters", json!(parameters))?;
    store.meta("results", json!(study.results))?;
    store.meta("asks", json!(asks))
}
