//! One run of a study.
use super::{Sets, vary};
use crate::{
    Diagnostics, Overrides, Plan,
    run::{executor::Executor, memory, pulse::Pulse},
};
use std::path::{Path, PathBuf};
use superdense_kernel::{message::Digest, time::Resolution};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The trace hash.
    pub trace_hash: String,
    /// Results in file order; none for what never happened.
    pub results: Vec<Option<f64>>,
}

/// Why a run came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// It failed.
    Failed(String),
    /// It was told to end.
    Interrupted,
    /// Nobody did it: nothing is known of it.
    Left,
}

/// Whoever can run a scenario.
pub trait Runner: Sync {
    /// A scenario that is ready to run.
    type Plan;

    /// The names of results, in file order.
    fn results(&self) -> &[String];

    /// Plans a run, and digests everything on which its results depend. Without a seed the scenario has its
    /// own.
    ///
    /// # Errors
    /// Mistakes of the scenario at this point.
    fn plan(&self, sets: &Sets, seed: Option<u64>) -> Result<(u64, Self::Plan), String>;

    /// Runs it.
    ///
    /// # Errors
    /// When there are no results.
    fn run(&self, plan: Self::Plan, pulse: &Pulse) -> Result<Row, Lost>;
}

/// Runs scenarios in memory.
#[derive(Debug)]
pub struct ScenarioRunner {
    scenario: PathBuf,
    /// The study, whose `[result]` joins that of the scenario.
    study: PathBuf,
    /// Before those of a point.
    sets: Sets,
    names: Vec<String>,
    units: Vec<String>,
    fmus: bool,
}

impl ScenarioRunner {
    /// For a scenario with these settings, which is planned once.
    ///
    /// # Errors
    /// All mistakes of the scenario.
    pub fn new(
        scenario: &Path,
        study: &Path,
        sets: &Sets,
    ) -> Result<(Self, Resolution), Diagnostics> {
        let (scenario, study) = (scenario.to_owned(), study.to_owned());
        let (sets, names, units) = (sets.clone(), Vec::new(), Vec::new());
        let mut this = Self { scenario, study, sets, names, units, fmus: false };
        let plan = this.load(&Sets::new(), None)?;
        this.names = plan.results.named.iter().map(|r| r.name.clone()).collect();
        this.units =
            plan.results.named.iter().map(|r| r.unit.clone().unwrap_or_default()).collect();
        this.fmus = plan.units.iter().any(|unit| unit.kind == "fmu");
        Ok((this, plan.resolution))
    }

    /// Makes runs fit to go side by side on so many workers. Nobody knows which FMUs share memory of a process, so
    /// that each gets a process of its own.
    pub fn side_by_side(&self, workers: usize) {
        #[cfg(feature = "fmi")]
        if self.fmus && workers > 1 {
            superdense_adapters::fmi::worker::isolate_all();
        }
        let _ = (self.fmus, workers);
    }

    /// The names of results.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their units of measure, for people; empty where there are none.
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// Plans a point.
    ///
    /// # Errors
    /// All mistakes of the scenario there.
    pub fn load(&self, sets: &Sets, seed: Option<u64>) -> Result<Plan, Diagnostics> {
        let all: Sets = self.sets.iter().chain(sets).cloned().collect();
        let study = Some(self.study.clone());
        let overrides = Overrides { seed, study, ..Overrides::default() };
        crate::load(&self.scenario, &all, &overrides)
    }
}

impl Runner for ScenarioRunner {
    type Plan = Plan;

    fn results(&self) -> &[String] {
        &self.names
    }

    fn plan(&self, sets: &Sets, seed: Option<u64>) -> Result<(u64, Plan), String> {
        let plan = self.load(sets, seed).map_err(|mistakes| match mistakes.mistakes().first() {
            Some(first) => format!("{}; {}", first.message, first.help),
            None => mistakes.to_string(),
        })?;
        let mut digest = Digest::new();
        digest.word(plan.plan_hash);
        digest.word(plan.stop as u64);
        digest.word(u64::from(plan.micro_steps));
        digest.bytes(plan.results.text.as_bytes());
        digest.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        // A point is known by its values, too, should the plan's digest leave something out.
        for (path, value) in vary::by_path(sets) {
            digest.bytes(path.as_bytes());
            digest.bytes(value.as_bytes());
        }
        Ok((digest.finish(), plan))
    }

    fn run(&self, plan: Plan, pulse: &Pulse) -> Result<Row, Lost> {
        let ran = memory::run(plan, memory::Keep::default(), Executor::default(), pulse);
        match ran {
            Ok(Some(done)) => Ok(Row {
                trace_hash: done.summary.trace_hash,
                results: done.summary.results.iter().map(|line| line.outcome.value()).collect(),
            }),
            Ok(None) => Err(Lost::Interrupted),
            Err(failure) => Err(Lost::Failed(failure.to_string())),
        }
    }
}
