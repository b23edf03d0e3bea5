//! `summary.json` and `performance.json`.
use crate::{result::Line, run::real_time::Punctuality};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use superdense_kernel::parallel::Statistics;

/// The file of what each continuous unit counted.
pub const UNITS: &str = "units.csv";

/// Deterministic facts of a run that has ended.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Stem of the scenario file's name.
    pub scenario: String,
    /// Length of a tick, such as `1 ns`.
    pub resolution: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// The last instant in seconds, exact.
    pub end_time: Box<RawValue>,
    /// Why the run ended before its stop time, if a unit asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// `fault` where the run did not come to its end because a federate or a broker was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
    /// Simulation cycles.
    pub cycles: u64,
    /// Internal transitions.
    pub internal: u64,
    /// External transitions.
    pub external: u64,
    /// Confluent transitions.
    pub confluent: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Rows of `events.csv`.
    pub events: u64,
    /// Messages between continuous units.
    pub exchanges: u64,
    /// Their length: 12 bytes for the tag of each, and 8 for each number in it.
    pub exchanged_bytes: u64,
    /// Macro steps of couplings.
    pub macro_steps: u64,
    /// Macro steps that were repeated to correct what was told.
    #[serde(skip_serializing_if = "is_zero")]
    pub corrections: u64,
    /// Macro steps that were refused for their error.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused_macro_steps: u64,
    /// Macro steps that stand with an error far beyond their tolerance.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed_macro_steps: u64,
    /// Accepted steps of continuous units.
    pub steps: u64,
    /// Refused steps of continuous units.
    pub rejected_steps: u64,
    /// Steps of fixed length that an input or a time event cut short.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_steps: u64,
    /// The trace hash, 16 hexadecimal digits.
    pub trace_hash: String,
    /// The results of `[result]`, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub results: Vec<Line>,
    /// Remarks of units, at most a few: what `method = "auto"` chose and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn by_name<S: Serializer>(lines: &[Line], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(lines.iter().map(|line| (&line.name, &line.outcome)))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Measurements of a run; never compared.
#[derive(Debug, Clone, Serialize)]
pub struct Performance {
    /// Wall time of the simulation, over all parts of a resumed run.
    pub wall_seconds: f64,
    /// Transitions per second of wall time.
    pub events_per_second: f64,
    /// Largest resident memory of the process, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Seconds in transitions, outputs and silent steps per kind of unit, estimated from a
    /// sample of the calls since the run was started or resumed; of all workers, also what was
    /// undone.
    pub seconds_per_kind: BTreeMap<String, f64>,
    /// Units per kind.
    pub units_per_kind: BTreeMap<String, u64>,
    /// The executor and its figures.
    pub executor: Executor,
    /// How late a run at the pace of the wall clock was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time: Option<Punctuality>,
}

/// Figures of the executor.
#[derive(Debug, Clone, Serialize)]
pub struct Executor {
    /// Its name.
    pub name: &'static str,
    /// The executor that `auto` used for most of the run or settled for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<&'static str>,
    /// Why that: what was measured, or what stood against trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Implementation of the event list.
    pub event_list: &'static str,
    /// Workers that run models, each on a thread.
    pub workers: u32,
    /// Atomic models.
    pub models: u64,
    /// Counts of a parallel run.
    #[serde(flatten)]
    pub parallel: Option<Parallel>,
}

/// Figures of a parallel run; all but `committed` depend on timing.
#[derive(Debug, Clone, Serialize)]
pub struct Parallel {
    /// Transitions that workers committed.
    pub committed: u64,
    /// Transitions and silent steps that were undone.
    pub rolled_back: u64,
    /// Committed over committed and undone.
    pub efficiency: f64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Undone transitions per rollback.
    pub mean_rollback_length: f64,
    /// Anti-messages.
    pub anti_messages: u64,
    /// Rounds that found a lower bound on all that may still happen.
    pub gvt_rounds: u64,
    /// Rounds in which no unit did anything.
    pub empty_rounds: u64,
    /// Units that went to other workers.
    pub migrated: u64,
    /// Largest size of saved states, what they own on the heap not counted.
    pub peak_saved_bytes: u64,
    /// Size of the states of all models, counted likewise.
    pub live_state_bytes: u64,
    /// Ticks to which workers ran ahead at the end.
    pub window: i64,
    /// Share of each worker in the executed transitions.
    pub share: Vec<f64>,
    /// Share of its time in which each worker was busy.
    pub busy: Vec<f64>,
    /// Cycles of the sequential executor: those that only it may run, and those for which windows
    /// did not pay.
    pub sequential_cycles: u64,
    /// Times at which windows held too little, and the sequential executor went on for a while.
    pub poor_windows: u64,
    /// A unit that promises no delay, for which the conservative executor went from cycle to cycle,
    /// or one that does not keep its promise or cannot save its state, for which it ran sequentially.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_lookahead: Option<String>,
}

impl Parallel {
    /// The figures of a run.
    pub fn of(s: &Statistics) -> Self {
        let all = s.executed.iter().sum::<u64>().max(1) as f64;
        Self {
            committed: s.committed,
            rolled_back: s.rolled_back,
            efficiency: s.efficiency(),
            rollbacks: s.rollbacks,
            mean_rollback_length: s.mean_rollback_length(),
            anti_messages: s.anti_messages,
            gvt_rounds: s.gvt_rounds,
            empty_rounds: s.empty_rounds,
            migrated: s.migrated,
            peak_saved_bytes: s.peak_saved_bytes,
            live_state_bytes: s.live_state_bytes,
            window: s.window,
            share: s.executed.iter().map(|&n| n as f64 / all).collect(),
            busy: s.busy.iter().map(|&n| n as f64 / s.elapsed.max(1) as f64).collect(),
            sequential_cycles: s.sequential_cycles,
            poor_windows: s.poor_windows,
            no_lookahead: s.no_lookahead.clone(),
        }
    }
}

/// An exact decimal as a JSON number.
pub fn decimal(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_default()
}

/// The report as a file: readable, with a final line end.
pub fn to_json(report: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Largest resident memory of this process so far.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
