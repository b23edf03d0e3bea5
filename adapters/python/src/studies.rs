//! Studies: on threads of this process, or by an executor of `concurrent.futures`.
use crate::{errors, runs::Sets, wait::waited};
use pyo3::prelude::*;
use std::{path::PathBuf, thread, time::Duration};
use superdense::{
    Diagnostics,
    run::pulse::Pulse,
    study::{
        Home, Limits, Lost, Row, Runner, ScenarioRunner, Study,
        conduct::{self, key_of},
        home,
        store::{Status, Stored},
    },
};

/// Results in the order of the study; none for what never happened.
type Values = Vec<Option<f64>>;

/// How long a worker waits for a future before it looks whether the study is to end.
const BEAT: Duration = Duration::from_millis(50);

/// Runs what an executor is asked for.
struct Submitted<'a> {
    inner: &'a ScenarioRunner,
    /// `submit(sets, seed)`, which gives a future of `(trace_hash, results)`.
    submit: &'a Py<PyAny>,
}

impl Submitted<'_> {
    fn one(
        &self,
        py: Python<'_>,
        (sets, seed): (&Sets, Option<u64>),
        pulse: &Pulse,
    ) -> PyResult<Row> {
        let future = self.submit.bind(py).call1((sets.clone(), seed))?;
        while !future.call_method0("done")?.extract::<bool>()? {
            if pulse.interrupted() {
                future.call_method0("cancel")?;
                return Err(errors::other(py, "interrupted"));
            }
            let waited = future.call_method1("result", (BEAT.as_secs_f64(),));
            if waited.is_ok() {
                break;
            }
        }
        let (trace_hash, results) = future.call_method0("result")?.extract()?;
        Ok(Row { trace_hash, results })
    }
}

impl Runner for Submitted<'_> {
    type Plan = (Sets, Option<u64>);

    fn results(&self) -> &[String] {
        self.inner.results()
    }

    fn plan(&self, sets: &Sets, seed: Option<u64>) -> Result<(u64, Self::Plan), String> {
        let (key, _) = self.inner.plan(sets, seed)?;
        Ok((key, (sets.clone(), seed)))
    }

    fn run(&self, (sets, seed): Self::Plan, pulse: &Pulse) -> Result<Row, Lost> {
        Python::attach(|py| {
            self.one(py, (&sets, seed), pulse).map_err(|e| match pulse.interrupted() {
                true => Lost::Interrupted,
                false => Lost::Failed(e.value(py).to_string()),
            })
        })
    }
}

/// Why nothing came of a study.
enum Bad {
    Scenario(Diagnostics),
    Other(String),
}

impl Bad {
    fn other(e: impl ToString) -> Self {
        Self::Other(e.to_string())
    }

    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(found) => errors::scenario(py, found),
            Self::Other(message) => errors::other(py, message),
        }
    }
}

/// Answers the questions of a study into `out`: `answers.json`, and the numbers of all runs, of new ones, and of
/// those without results.
#[pyfunction]
pub(crate) fn study(
    py: Python<'_>,
    of: (PathBuf, Sets, PathBuf),
    how: (Option<String>, Option<usize>, bool),
    submit: Option<Py<PyAny>>,
) -> PyResult<(String, usize, usize, usize)> {
    let ((file, sets, out), (ask, workers, retry)) = (of, how);
    let done = waited(py, |pulse| -> Result<_, Bad> {
        let (mut study, runner) = Study::read(&file, &sets).map_err(Bad::Scenario)?;
        if let Some(name) = &ask {
            study.only(name).map_err(Bad::Other)?;
        }
        let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let alone = submit.is_none() && runner.alone();
        let workers = if alone { 1 } else { workers.unwrap_or_else(cores) };
        let Home { store, known, held: _held } =
            Home::open(&out, (&study, &file), retry).map_err(Bad::other)?;
        let limits = Limits { workers, timeout: study.timeout };
        let (rows, stop) = ((&store, &known), || pulse.interrupted());
        let ended = match &submit {
            None => conduct::conduct(&study, &runner, rows, limits, &stop, &mut |_| ()),
            Some(submit) => {
                let runner = Submitted { inner: &runner, submit };
                conduct::conduct(&study, &runner, rows, limits, &stop, &mut |_| ())
            }
        };
        store.close().map_err(Bad::other)?;
        let Some(found) = ended.map_err(Bad::other)? else {
            return Err(Bad::Other("the study was interrupted; run it again to go on".into()));
        };
        let (_, bytes) = home::write(&out, &study, &found).map_err(Bad::other)?;
        let answers = String::from_utf8_lossy(&bytes).into_owned();
        Ok((answers, found.runs.len(), found.fresh, found.lost()))
    })?;
    done.map_err(|bad| bad.raise(py))
}

/// One run of a study: its trace hash and results. This is what executors are given.
#[pyfunction]
pub(crate) fn one(
    py: Python<'_>,
    of: (PathBuf, Sets),
    run: (Sets, Option<u64>),
) -> PyResult<(String, Values)> {
    let ((file, of_study), (sets, seed)) = (of, run);
    let done = waited(py, |pulse| -> Result<Row, Bad> {
        let (_, runner) = Study::read(&file, &of_study).map_err(Bad::Scenario)?;
        let (_, plan) = runner.plan(&sets, seed).map_err(Bad::Other)?;
        runner.run(plan, pulse).map_err(|lost| match lost {
            Lost::Failed(why) => Bad::Other(why),
            Lost::Interrupted => Bad::Other("interrupted".into()),
        })
    })?;
    let row = done.map_err(|bad| bad.raise(py))?;
    Ok((row.trace_hash, row.results))
}

/// A point with its values as the study would write them, so that both are one point.
fn written(study: &Study, point: &Sets) -> Sets {
    let value = |(path, value): &(String, String)| {
        let parameter = study.parameters.iter().find(|p| p.path.value == *path);
        (path.clone(), parameter.map_or_else(|| value.clone(), |p| p.written(value)))
    };
    point.iter().map(value).collect()
}

/// The names of a study's results, and those of a point where the store has them.
#[pyfunction]
pub(crate) fn known(
    py: Python<'_>,
    of: (PathBuf, Sets, PathBuf),
    point: Sets,
) -> PyResult<(Vec<String>, Option<Values>)> {
    let (file, sets, out) = of;
    let found = waited(py, |_| -> Result<_, Bad> {
        let (study, runner) = Study::read(&file, &sets).map_err(Bad::Scenario)?;
        let point = written(&study, &point);
        let key = key_of(runner.plan(&point, None).map_err(Bad::Other)?.0, study.seed);
        let home = Home::open(&out, (&study, &file), false).map_err(Bad::other)?;
        let run = home.known.get(&(key, 0)).filter(|run| run.status == Status::Done);
        let results = run.map(|run| run.results.clone());
        home.store.close().map_err(Bad::other)?;
        Ok((study.results, results))
    })?;
    found.map_err(|bad| bad.raise(py))
}

/// Keeps the run of a point that somebody else has made: its trace hash and results.
#[pyfunction]
pub(crate) fn keep(
    py: Python<'_>,
    of: (PathBuf, Sets, PathBuf),
    point: Sets,
    run: (String, Values),
) -> PyResult<()> {
    let ((file, sets, out), (trace_hash, results)) = (of, run);
    let kept = waited(py, |_| -> Result<_, Bad> {
        let (study, runner) = Study::read(&file, &sets).map_err(Bad::Scenario)?;
        let point = written(&study, &point);
        let key = key_of(runner.plan(&point, None).map_err(Bad::Other)?.0, study.seed);
        let Home { store, held: _held, .. } =
            Home::open(&out, (&study, &file), false).map_err(Bad::other)?;
        let run = Stored { status: Status::Done, trace_hash, results, error: None };
        store.point(key, point).map_err(Bad::other)?;
        store.run((key, 0), run, 0.0).map_err(Bad::other)?;
        store.close().map_err(Bad::other)
    })?;
    kept.map_err(|bad| bad.raise(py))
}
