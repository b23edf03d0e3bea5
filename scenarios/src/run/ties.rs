//! Looking for units whose behaviour depends on the order of simultaneous messages.
use super::{Failure, Outcome, Session, Settings, executor::Executor, pulse::Pulse};
use crate::{
    Plan,
    output::{
        OutputError, csv,
        results::{PERMUTED, Results},
    },
    plan::Source,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};
use superdense_kernel::message::Digest;

/// Runs `plan` again to tick `end`, with bags permuted by `seed`, in a folder of its own beside the
/// results. Returns the units that sent or received something else than in `plain`, which ran in the canonical
/// order, or of which something else was recorded; or nothing when interrupted.
///
/// # Errors
/// When the permuted run fails, which is a dependence on the order, too; when its files cannot be written.
pub fn compare(
    plain: &Session,
    mut plan: Plan,
    end: i64,
    seed: u64,
    pulse: &Pulse,
) -> Result<Option<Vec<String>>, Failure> {
    let results = &plain.settings().out;
    let own = Results::open(results)?;
    let out = own.folder(PERMUTED)?.dir().to_owned();
    let settings = Settings {
        out: out.clone(),
        checkpoint_every: None,
        executor: Executor::default(),
        ..plain.settings().clone()
    };
    (plan.ties, plan.stop) = (Some(seed), end);
    let units: BTreeMap<String, String> = plan
        .record
        .iter()
        .filter_map(|r| match &r.source {
            Source::Port { unit, .. } => Some((r.label.clone(), unit.clone())),
            Source::Aggregate { .. } => None,
        })
        .collect();
    let mut permuted = Session::start(plan, settings, pulse.clone())?;
    let outcome = permuted.run(&mut |_| ()).map_err(|e| {
        Failure::Mismatch(format!(
            "the run depends on the order of simultaneous messages; permuted by {seed} it fails: {e}"
        ))
    });
    let mut found = BTreeSet::new();
    if let Ok(Outcome::Done(_)) = outcome {
        let (plain, permuted) = (plain.simulation(), permuted.simulation());
        let differs = |path: &String| plain.model_hash(path) != permuted.model_hash(path);
        found.extend(plain.paths().filter(differs));
        for (file, key) in TABLES {
            let [a, b] = [results, &out].map(|dir| digests(&dir.join(file), key));
            let (a, b) = (a?, b?);
            let names = a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name));
            found.extend(names.map(|name| units.get(name).unwrap_or(name).clone()));
        }
    }
    own.remove_folder(PERMUTED)?;
    Ok(match outcome? {
        Outcome::Done(_) => Some(found.into_iter().collect()),
        Outcome::Interrupted { .. } => None,
    })
}

/// Tables, and the column by which rows belong together; of `samples.csv` columns do.
const TABLES: [(&str, Option<usize>); 3] =
    [("events.csv", Some(2)), ("trajectory.csv", Some(2)), ("samples.csv", None)];

/// Digests of a table, by unit or signal.
fn digests(file: &Path, key: Option<usize>) -> Result<BTreeMap<String, u64>, OutputError> {
    if !file.is_file() {
        return Ok(BTreeMap::new());
    }
    let failed = || OutputError::at(file);
    let mut lines = BufReader::new(File::open(file).map_err(failed())?).lines();
    let header = lines.next().transpose().map_err(failed())?.unwrap_or_default();
    let header = csv::split(&header);
    let mut digests: BTreeMap<String, Digest> = BTreeMap::new();
    let mut add = |name: &str, text: &str| {
        digests.entry(name.to_owned()).or_default().bytes(text.as_bytes());
    };
    for line in lines {
        let line = line.map_err(failed())?;
        let fields = csv::split(&line);
        match key {
            Some(key) => add(fields.get(key).map_or("", AsRef::as_ref), &line),
            None => header.iter().zip(&fields).for_each(|(name, field)| add(name, field)),
        }
    }
    Ok(digests.into_iter().map(|(name, digest)| (name, digest.finish())).collect())
}
