//! Who runs the models; never changes results.
use serde::{Deserialize, Serialize};
use std::thread::available_parallelism;
use superdense_kernel::{
    Ended, Simulation,
    error::RunError,
    parallel::{self, Statistics},
};
use superdense_models::value::Value;

/// How models are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum Method {
    /// One thread, always right.
    #[default]
    Sequential,
    /// Workers that run ahead and go back where a message comes late.
    TimeWarp,
}

impl Method {
    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::TimeWarp => "time-warp",
        }
    }
}

/// A method and its number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Executor {
    /// The method.
    pub method: Method,
    /// Number of workers; by default one per core.
    pub workers: Option<u32>,
}

impl Executor {
    /// How many workers run models.
    pub fn workers(self) -> u32 {
        match self.method {
            Method::Sequential => 1,
            Method::TimeWarp => self
                .workers
                .unwrap_or_else(|| available_parallelism().map_or(1, |n| n.get() as u32)),
        }
    }

    /// Runs all cycles up to tick `limit`; adds what a parallel run did to `statistics`.
    ///
    /// # Errors
    /// As [`Simulation::run_through`], whatever the method.
    pub fn run_through(
        self,
        sim: &mut Simulation<Value>,
        limit: i64,
        statistics: &mut Statistics,
    ) -> Result<Ended, RunError> {
        if self.method == Method::Sequential {
            return sim.run_through(limit);
        }
        let settings =
            parallel::Settings { workers: self.workers(), ..parallel::Settings::default() };
        let (ended, part) = sim.run_through_parallel(limit, &settings)?;
        statistics.add(&part);
        Ok(ended)
    }
}
