//! `summary.json` and `performance.json`.
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

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
    /// Accepted steps of continuous units.
    pub steps: u64,
    /// Refused steps of continuous units.
    pub rejected_steps: u64,
    /// The trace hash, 16 hexadecimal digits.
    pub trace_hash: String,
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
    /// sample of the calls since the run was started or resumed.
    pub seconds_per_kind: BTreeMap<String, f64>,
    /// Units per kind.
    pub units_per_kind: BTreeMap<String, u64>,
    /// The executor and its figures.
    pub executor: Executor,
}

/// Figures of the executor.
#[derive(Debug, Clone, Serialize)]
pub struct Executor {
    /// Its name.
    pub name: &'static str,
    /// Implementation of the event list.
    pub event_list: &'static str,
    /// Threads that run models.
    pub threads: u32,
    /// Atomic models.
    pub models: u64,
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
