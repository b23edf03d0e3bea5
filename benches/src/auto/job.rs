//! One run of a problem, in a process of its own.
use super::SAMPLES;
use crate::gates;
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use superdense::{Overrides, Plan};
use superdense_kernel::{
    Fact, Options, Simulation,
    time::Tag,
    trace::{Observer, Site, Verdict},
};
use superdense_models::signal::value::Value;

/// A run to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The scenario.
    pub file: PathBuf,
    /// The method of unit `u`.
    pub method: String,
    /// Tolerances in those of the scenario.
    pub scale: f64,
    /// Only one call of [`gates::measured`], for callgrind.
    pub counted: bool,
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Outputs at all samples.
    pub samples: Vec<f64>,
    /// Tolerances of the scenario, relative and absolute.
    pub tolerances: (f64, f64),
    /// Processor seconds of the run.
    pub seconds: f64,
    /// Counts of the unit's method.
    pub counts: BTreeMap<String, u64>,
    /// The methods that `auto` took.
    pub chosen: Vec<String>,
}

/// Takes down the methods in the notes of a run.
struct Ear(Arc<Mutex<Vec<String>>>);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, _: Tag, fact: &Fact) -> Verdict {
        if let (Fact::Note(text), Ok(mut notes)) = (fact, self.0.lock())
            && let Some(method) = text.strip_prefix("method ").and_then(|t| t.split(':').next())
        {
            notes.push(method.to_owned());
        }
        Verdict::Continue(())
    }
}

/// The tolerances that a scenario gives its unit.
fn tolerances(file: &std::path::Path) -> Result<(f64, f64), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let table: toml::Table = toml::from_str(&text).map_err(|e| e.to_string())?;
    let key = |key: &str| table.get("unit")?.get("u")?.get(key)?.as_float();
    key("tolerance").zip(key("absolute_tolerance")).ok_or_else(|| "no tolerances".to_owned())
}

/// A scenario with the method and the tolerances of a job, and the tolerances that the file gives.
fn planned(job: &Job) -> Result<(Plan, (f64, f64)), String> {
    let (relative, absolute) = tolerances(&job.file)?;
    let mut sets = vec![("unit.u.method".to_owned(), format!("\"{}\"", job.method))];
    let keys = match job.method.starts_with('q') || job.method.contains("liqss") {
        true => ["dq_rel", "dq_min"],
        false => ["tolerance", "absolute_tolerance"],
    };
    for (key, value) in keys.into_iter().zip([relative, absolute]) {
        sets.push((format!("unit.u.{key}"), format!("{:e}", value * job.scale)));
    }
    if job.method == "taylor" {
        sets.push(("unit.u.order".to_owned(), "12".to_owned()));
    }
    let plan = superdense::load(&job.file, &sets, &Overrides::default())
        .map_err(|e| e.to_string().lines().take(4).collect::<Vec<_>>().join(" "))?;
    Ok((plan, (relative, absolute)))
}

/// Runs a job and prints its outcome.
///
/// # Errors
/// When the scenario is refused or its run fails.
pub fn serve(job: &str) -> Result<(), String> {
    let job: Job = serde_json::from_str(job).map_err(|e| e.to_string())?;
    let (mut plan, tolerances) = planned(&job)?;
    let options = Options { resolution: plan.resolution, ..Options::default() };
    let stop = plan.stop;
    let model = std::mem::take(&mut plan.model);
    let mut sim = Simulation::new(model, options).map_err(|e| e.to_string())?;
    if job.counted {
        gates::measured(&mut sim, stop);
        return Ok(());
    }
    let outcome = watched(&mut sim, stop, tolerances)?;
    println!("{}", serde_json::to_string(&outcome).map_err(|e| e.to_string())?);
    Ok(())
}

/// Runs to `stop`, with samples on the way that are at no round times.
fn watched(
    sim: &mut Simulation<Value>,
    stop: i64,
    tolerances: (f64, f64),
) -> Result<Outcome, String> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    sim.observe(Ear(Arc::clone(&notes)));
    let unit = sim.find("u").ok_or("no unit u")?;
    let mut samples = Vec::new();
    let begun = ProcessTime::now();
    for k in 1..=SAMPLES {
        let at = (stop as f64 * (k as f64 - 0.381_966) / SAMPLES as f64) as i64;
        sim.run_through(at).map_err(|e| e.to_string())?;
        let outputs = (0..).map_while(|port| sim.probe(unit, port, at));
        samples.extend(outputs.map(|v| v.as_real().unwrap_or(f64::NAN)));
    }
    sim.run_until(stop).map_err(|e| e.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut chosen = notes.lock().map_err(|e| e.to_string())?.clone();
    chosen.dedup();
    let counts = sim.statistics().into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    Ok(Outcome { samples, tolerances, seconds, counts, chosen })
}

#[cfg(test)]
mod tests {
    use super::{super::Problem, Job, planned};

    #[test]
    fn problems_are_scenarios_of_auto() {
        let folder = std::env::temp_dir().join(format!("auto-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut problems = Problem::shipped().unwrap();
        problems.extend(Problem::drawn(1, 24, &folder).unwrap());
        for Problem { name, file } in &problems {
            let job = Job { file: file.clone(), method: "auto".into(), scale: 1.0, counted: false };
            if let Err(why) = planned(&job) {
                panic!("{name}: {why}");
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(problems.len(), 72);
    }
}
