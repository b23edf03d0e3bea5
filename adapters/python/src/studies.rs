//! Studies: on threads of this process, or by an executor of `concurrent.futures`.
use crate::{
    errors,
    runs::{Sets, Wanted},
    wait::waited,
};
use pyo3::prelude::*;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};
use superdense::{
    Diagnostics, Plan,
    run::pulse::Pulse,
    study::{
        Home, Limits, Lost, Row, Runner, ScenarioRunner, Study, StudyError, answer,
        store::{Status, Stored},
    },
};

/// Results in the order of the study; none for what never happened.
type Values = Vec<Option<f64>>;

/// Results by name.
type Named = Vec<(String, Option<f64>)>;

/// How long a worker waits for a future before it looks whether the study is to end.
const BEAT: Duration = Duration::from_millis(50);

/// Runs what an executor is asked for.
struct Submitted<'a> {
    inner: &'a ScenarioRunner,
    /// `submit(sets, seed)`, which gives a future of `(trace_hash, results)`.
    submit: &'a Py<PyAny>,
    /// The exception by which the executor failed, where no run did.
    broken: Mutex<Option<PyErr>>,
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
            self.one(py, (&sets, seed), pulse).map_err(|e| {
                if pulse.interrupted() {
                    Lost::Interrupted
                } else if errors::is_of_the_run(py, &e) {
                    Lost::Failed(e.value(py).to_string())
                } else {
                    self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                    Lost::Left
                }
            })
        })
    }
}

/// Why nothing came of a study.
enum Bad {
    Scenario(Diagnostics),
    /// A question that makes no sense.
    Refused(String),
    Other(String),
    /// An exception of somebody else.
    Raised(PyErr),
}

impl Bad {
    fn other(e: impl ToString) -> Self {
        Self::Other(e.to_string())
    }

    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(found) => errors::scenario(py, found),
            Self::Refused(message) => errors::refused(py, message),
            Self::Other(message) => errors::other(py, message),
            Self::Raised(e) => e.clone_ref(py),
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
            study.only(name).map_err(Bad::Refused)?;
        }
        let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers = workers.unwrap_or_else(cores);
        if submit.is_none() {
            runner.side_by_side(workers);
        }
        let mut home = Home::open(&study, &file, &out, retry).map_err(Bad::other)?;
        let limits = Limits { workers, timeout: study.timeout, piece: None };
        let stop = || pulse.interrupted();
        let ended = match &submit {
            None => home.conduct(&study, &runner, limits, &stop, &mut |_| ()),
            Some(submit) => {
                let runner = Submitted { inner: &runner, submit, broken: Mutex::default() };
                let broken = || runner.broken.lock().unwrap_or_else(PoisonError::into_inner);
                let stop = || pulse.interrupted() || broken().is_some();
                let ended = home.conduct(&study, &runner, limits, &stop, &mut |_| ());
                if let Some(e) = broken().take() {
                    return Err(Bad::Raised(e));
                }
                ended
            }
        };
        let ended = match ended {
            Ok(Some(found)) => {
                let answers = home.write(&study, &found).map_err(Bad::other)?;
                let text = String::from_utf8_lossy(&answer::json(&answers)).into_owned();
                Some((text, found.runs.len(), found.fresh, found.lost()))
            }
            Ok(None) => None,
            Err(e) => return Err(Bad::other(e)),
        };
        home.close().map_err(Bad::other)?;
        ended.ok_or_else(|| Bad::Other("the study was interrupted; run it again to go on".into()))
    })?;
    done.map_err(|bad| bad.raise(py))
}

/// The runner of the study that this process last worked for: to read a study costs many runs' plans.
static LAST: Mutex<Option<(PathBuf, Sets, Arc<ScenarioRunner>)>> = Mutex::new(None);

fn runner_of(file: PathBuf, sets: Sets) -> Result<Arc<ScenarioRunner>, Bad> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, with, runner)) = &*last
        && (of, with) == (&file, &sets)
    {
        return Ok(Arc::clone(runner));
    }
    let runner = Arc::new(Study::read(&file, &sets).map_err(Bad::Scenario)?.1);
    *last = Some((file, sets, Arc::clone(&runner)));
    Ok(runner)
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
        let runner = runner_of(file, of_study)?;
        let (_, plan) = runner.plan(&sets, seed).map_err(Bad::Other)?;
        runner.run(plan, pulse).map_err(|lost| match lost {
            Lost::Failed(why) => Bad::Other(why),
            Lost::Interrupted | Lost::Left => Bad::Other("interrupted".into()),
        })
    })?;
    let row = done.map_err(|bad| bad.raise(py))?;
    Ok((row.trace_hash, row.results))
}

/// The settings of a point that is asked for, and its results by name, or why there are none, where the store has
/// them.
#[pyfunction]
pub(crate) fn known(
    py: Python<'_>,
    of: (PathBuf, Sets, PathBuf),
    point: Sets,
) -> PyResult<(Sets, Option<Named>, Option<String>)> {
    let found = visit(py, of, move |study, runner, home| {
        let asked = home.ask(study, runner, &varied(study, point), 0).map_err(refused)?;
        let failed = asked.known.as_ref().and_then(|run| run.error.clone());
        let run = asked.known.filter(|run| run.status == Status::Done);
        let named = |run: Stored| study.results.iter().cloned().zip(run.results).collect();
        // All that a run at this point is made with.
        let sets = study.sets.iter().cloned().chain(asked.sets).collect();
        Ok((sets, run.map(named), failed))
    })?;
    Ok(found)
}

/// A run that somebody else has made.
#[derive(FromPyObject)]
pub(crate) enum Told {
    /// Its trace hash, and its results by name.
    Done((String, HashMap<String, Option<f64>>)),
    /// Why it failed.
    Failed(String),
}

/// Keeps the run of a point that somebody else has made.
#[pyfunction]
pub(crate) fn keep(
    py: Python<'_>,
    of: (PathBuf, Sets, PathBuf),
    point: Sets,
    run: Told,
    wanted: Wanted,
) -> PyResult<()> {
    visit(py, of, move |study, runner, home| {
        let asked = home.ask(study, runner, &varied(study, point), 0).map_err(refused)?;
        let (_, plan) = runner.plan(&asked.sets, asked.seed).map_err(Bad::Other)?;
        let made = wanted.load().map_err(Bad::Scenario)?;
        let facts = |plan: &Plan| (plan.plan_hash, plan.stop, plan.seed);
        if facts(&made) != facts(&plan) {
            let message = "the run is none of this point: another scenario, seed, `until`, or other settings; make it \
                           by Scenario.run(set=point), with the point that `ask` gave";
            return Err(Bad::Refused(message.to_owned()));
        }
        let (trace_hash, found) = match run {
            Told::Done(done) => done,
            Told::Failed(why) => {
                return home.tell(study, &asked, Err(why), 0.0).map_err(Bad::other);
            }
        };
        let value = |name: &String| {
            found.get(name).copied().ok_or_else(|| {
                let remedy = "name it in [result] of the scenario, not of the study only";
                Bad::Other(format!("the run has no result `{name}`: {remedy}"))
            })
        };
        let results = study.results.iter().map(value).collect::<Result<_, _>>()?;
        home.tell(study, &asked, Ok(Row { trace_hash, results }), 0.0).map_err(Bad::other)
    })
}

/// The values of a point without the study's own settings, which `known` gives with them.
fn varied(study: &Study, point: Sets) -> Sets {
    let varies = |path: &str| study.parameters.iter().any(|p| p.path.value == path);
    let own = |set: &(String, String)| !varies(&set.0) && study.sets.contains(set);
    point.into_iter().filter(|set| !own(set)).collect()
}

/// A point that makes no sense, or a store that fails.
fn refused(e: StudyError) -> Bad {
    match e {
        StudyError::Refused(why) => Bad::Refused(why),
        other => Bad::other(other),
    }
}

/// Threads of this process ask one after another: the directory has one user at a time.
static VISIT: Mutex<()> = Mutex::new(());

/// Opens the directory of a study for one question from outside.
fn visit<T: Send>(
    py: Python<'_>,
    (file, sets, out): (PathBuf, Sets, PathBuf),
    question: impl FnOnce(&Study, &ScenarioRunner, &mut Home) -> Result<T, Bad> + Send,
) -> PyResult<T> {
    let done = waited(py, |_| -> Result<T, Bad> {
        let _alone = VISIT.lock().unwrap_or_else(PoisonError::into_inner);
        let (study, runner) = Study::read(&file, &sets).map_err(Bad::Scenario)?;
        let mut home = Home::open(&study, &file, &out, false).map_err(Bad::other)?;
        let answer = question(&study, &runner, &mut home)?;
        home.close().map_err(Bad::other)?;
        Ok(answer)
    })?;
    done.map_err(|bad| bad.raise(py))
}
