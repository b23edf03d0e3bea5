//! Runs: in memory, or into a directory.
use crate::{errors, tables, wait::waited};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use std::path::PathBuf;
use superdense::{
    Diagnostics, Overrides, Plan, load,
    output::{results::Results, trajectory::Format},
    run::{
        Failure, Outcome, Session, Settings,
        executor::{Executor, Method},
        memory::{self, Finished, Keep},
    },
};

/// Settings of a scenario: paths and values, as behind `--set`.
pub(crate) type Sets = Vec<(String, String)>;

/// Everything that a run is made of.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    file: PathBuf,
    text: Option<String>,
    sets: Sets,
    seed: Option<u64>,
    until: Option<String>,
    sample: Option<String>,
    executor: String,
    workers: Option<u32>,
}

impl Wanted {
    fn overrides(&self) -> Overrides {
        let Self { text, seed, until, sample, .. } = self;
        Overrides {
            seed: *seed,
            until: until.clone(),
            sample: sample.clone(),
            text: text.clone(),
            ..Overrides::default()
        }
    }

    pub(crate) fn load(&self) -> Result<Plan, Diagnostics> {
        load(&self.file, &self.sets, &self.overrides())
    }

    fn executor(&self) -> PyResult<Executor> {
        let all = [Method::Sequential, Method::TimeWarp, Method::Conservative, Method::Auto];
        let Some(method) = all.into_iter().find(|m| m.name() == self.executor) else {
            let names = all.map(Method::name).join(", ");
            let message = format!("executor is \"{}\"; there are {names}", self.executor);
            return Err(PyValueError::new_err(message));
        };
        Ok(Executor { method, workers: self.workers })
    }
}

/// Why nothing came of a run.
enum Bad {
    Scenario(Diagnostics),
    Run(Failure),
}

impl Bad {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(found) => errors::scenario(py, found),
            Self::Run(failure) => errors::failure(py, failure),
        }
    }
}

/// Checks a scenario; its facts as a dictionary.
#[pyfunction]
pub(crate) fn plan<'py>(py: Python<'py>, wanted: Wanted) -> PyResult<Bound<'py, PyDict>> {
    let planned = waited(py, |_| {
        let plan = wanted.load()?;
        let names = |r: &superdense::result::Named| r.name.clone();
        let results: Vec<String> = plan.results.named.iter().map(names).collect();
        let texts = plan.record.iter().filter(|r| r.is_text());
        let texts: Vec<String> = texts.map(|r| r.label.clone()).collect();
        let stop = plan.resolution.seconds(plan.stop);
        Ok((plan.title, stop, results, texts, plan.warnings))
    })?;
    let (title, stop, results, texts, warnings) =
        planned.map_err(|d: Diagnostics| errors::scenario(py, &d))?;
    let facts = PyDict::new(py);
    facts.set_item("title", title)?;
    facts.set_item("stop", stop)?;
    facts.set_item("results", results)?;
    facts.set_item("texts", texts)?;
    facts.set_item("warnings", warnings)?;
    Ok(facts)
}

/// Runs in memory: the summary as JSON, and the tables of samples, events and the trajectory that are kept.
#[pyfunction]
pub(crate) fn run<'py>(
    py: Python<'py>,
    wanted: Wanted,
    keep: (bool, bool, bool),
    texts: Vec<String>,
) -> PyResult<(String, [Bound<'py, PyDict>; 3])> {
    let executor = wanted.executor()?;
    let (samples, events, trajectory) = keep;
    let keep = Keep { events, samples, trajectory };
    let done = waited(py, |pulse| -> Result<Option<Finished>, Bad> {
        let plan = wanted.load().map_err(Bad::Scenario)?;
        memory::run(plan, keep, executor, pulse).map_err(Bad::Run)
    })?;
    let done = done.map_err(|bad| bad.raise(py))?;
    let done = done.ok_or_else(|| errors::other(py, "the run was interrupted"))?;
    let summary =
        serde_json::to_string(&done.summary).map_err(|e| errors::other(py, &e.to_string()))?;
    let table = |text: &str| tables::columns(py, text, &texts);
    Ok((summary, [table(&done.samples)?, table(&done.events)?, table(&done.trajectory)?]))
}

/// Runs into a directory, with all files that the command writes; the summary as JSON.
#[pyfunction]
pub(crate) fn write(py: Python<'_>, wanted: Wanted, out: PathBuf, force: bool) -> PyResult<String> {
    let executor = wanted.executor()?;
    let settings = Settings {
        file: wanted.file.clone(),
        sets: wanted.sets.clone(),
        overrides: wanted.overrides(),
        out: out.clone(),
        event_list: Default::default(),
        real_time: None,
        replay: None,
        executor,
        checkpoint_every: None,
        ties: None,
        trajectory: Format::Csv,
        plot: Default::default(),
    };
    let done = waited(py, |pulse| -> Result<Outcome, Bad> {
        let plan = wanted.load().map_err(Bad::Scenario)?;
        let ran = Results::prepare(&out, &wanted.file, force)
            .map_err(Failure::from)
            .and_then(|_| Session::start(plan, settings, pulse.clone())?.run(&mut |_| ()));
        ran.map_err(Bad::Run)
    })?;
    match done.map_err(|bad| bad.raise(py))? {
        Outcome::Done(report) => {
            serde_json::to_string(&report.summary).map_err(|e| errors::other(py, &e.to_string()))
        }
        Outcome::Interrupted { at, .. } => {
            Err(errors::other(py, &format!("the run was interrupted at {at} s")))
        }
    }
}

/// Two directories of results side by side, as JSON.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, a: PathBuf, b: PathBuf, window: f64) -> PyResult<String> {
    let found = waited(py, |_| superdense::compare::runs(&a, &b, window))?;
    let found = found.map_err(|e| errors::other(py, &e.to_string()))?;
    serde_json::to_string(&found).map_err(|e| errors::other(py, &e.to_string()))
}

/// The report of the run or the study in a directory, as HTML.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, dir: PathBuf) -> PyResult<String> {
    let made = waited(py, |_| superdense::report::of(&dir))?;
    made.map_err(|e| errors::other(py, &e.to_string()))
}
