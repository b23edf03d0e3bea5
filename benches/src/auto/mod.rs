//! `method = "auto"` against the best method that could have been named, on many problems.
//!
//! # Comparison
//! Instructions of the simulation, by callgrind, at the same error. Every fixed method gets tolerances (or
//! quanta) at which its true error is at most twice that of `auto`, and not below the half of it if it can
//! be looser. The fastest three by processor time are counted. The error is the largest one of all outputs
//! at [`SAMPLES`] times, in the tolerances that `auto` was asked for, against a run at far tighter ones
//! that a second tight run confirms.
//!
//! # Targets
//! [`Row::is_met`]: at most [`MOST`] times the instructions of the best method, beside [`TRIALS`]
//! instructions for the trials that tell methods apart. [`geometric_mean`] over all rows: at most [`MEAN`].
mod drawn;
mod job;
mod problem;
mod rivals;

pub use job::{Job, serve};
pub use problem::Problem;
pub use rivals::compare;

use serde::Serialize;

/// Times at which outputs are compared.
pub const SAMPLES: usize = 8;
/// How many times the instructions of the best method `auto` may need.
pub const MOST: f64 = 1.5;
/// In the geometric mean of all problems.
pub const MEAN: f64 = 1.2;
/// Instructions that trials may need in any run: two laps of all methods over a few steps.
pub const TRIALS: f64 = 3e6;

/// One problem. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The name of the scenario.
    pub problem: String,
    /// Methods that `auto` chose, in turn.
    pub chosen: String,
    /// Instructions under `auto`.
    pub auto_instructions: u64,
    /// The method that needs the fewest instructions.
    pub best: String,
    /// Its instructions.
    pub best_instructions: u64,
    /// `auto_instructions`, less [`TRIALS`] at most, over `best_instructions`; at least 1 if any were taken off.
    pub ratio: f64,
    /// The error under `auto`, in tolerances.
    pub error: f64,
    /// The error of the best method.
    pub best_error: f64,
}

impl Row {
    fn new(problem: String, auto: (String, u64, f64), best: (String, u64, f64)) -> Self {
        let plain = auto.1 as f64 / best.1 as f64;
        let ratio = ((auto.1 as f64 - TRIALS) / best.1 as f64).max(plain.min(1.0));
        Self {
            problem,
            chosen: auto.0,
            auto_instructions: auto.1,
            best: best.0,
            best_instructions: best.1,
            ratio,
            error: auto.2,
            best_error: best.2,
        }
    }

    /// Whether `auto` needs few enough instructions.
    pub fn is_met(&self) -> bool {
        self.ratio <= MOST
    }
}

/// The geometric mean of the ratios.
pub fn geometric_mean(rows: &[Row]) -> f64 {
    let logs: f64 = rows.iter().map(|r| r.ratio.ln()).sum();
    (logs / rows.len().max(1) as f64).exp()
}
