//! Whether a scenario can keep up with the wall clock, by the times that its units declare.
//!
//! The scenario is run, and each transition takes the `wcet` of its unit on one processor, in the order of the run. An
//! instant is due at its wall time, begins when what came before is ready, and is late by what it takes beyond that. So
//! bursts of events count, which a sum of shares of periodic units would not see. For units with periods alone the load
//! is Σ C/T (Liu & Layland 1973).
use super::{Failure, core::build, pulse::Pulse};
use crate::Plan;
use serde::Serialize;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use superdense_kernel::{
    Ended, ModelKey,
    event_list::EventListKind,
    time::Resolution,
    trace::{Observer, Site, Transition, Verdict},
};
use superdense_models::signal::value::Value;

/// Slices of the run, between which Ctrl-C is heard.
const SLICES: i64 = 100;

/// The time that a scenario asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demand {
    /// Simulated seconds per second of wall time at the end.
    pub speed: f64,
    /// Part of the wall time of the run that its transitions take.
    pub load: f64,
    /// The largest lateness of an instant, in seconds.
    pub late: f64,
    /// When that is, in simulated seconds.
    pub at: f64,
    /// Units with a `wcet`, that with the largest share first.
    pub units: Vec<Share>,
    /// How many units have none, and count as if they took no time.
    pub undeclared: usize,
}

/// A unit's part of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Path.
    pub unit: String,
    /// Seconds of a transition.
    pub wcet: f64,
    /// Transitions in the run.
    pub transitions: u64,
    /// Part of the wall time of the run.
    pub load: f64,
}

/// A processor that makes all transitions, one after the other.
struct Processor {
    wcet: HashMap<ModelKey, f64>,
    counts: HashMap<ModelKey, u64>,
    speeds: Vec<(f64, f64)>,
    resolution: Resolution,
    /// The tick of the present instant, and its wall time.
    now: Option<(i64, f64)>,
    /// Wall time at which it is ready with everything so far.
    free: f64,
    late: f64,
    at: i64,
}

/// The wall time of a simulated time.
fn wall(speeds: &[(f64, f64)], at: f64) -> f64 {
    let ends = speeds.iter().skip(1).map(|s| s.0).chain([f64::INFINITY]);
    let passed = |(&(from, speed), end): (&(f64, f64), f64)| (at.min(end) - from).max(0.0) / speed;
    speeds.iter().zip(ends).map(passed).sum()
}

impl Observer<Value> for Processor {
    fn wants_transitions(&self, model: ModelKey) -> bool {
        self.wcet.contains_key(&model)
    }
    fn transition(&mut self, site: &Site<'_>, transition: &Transition<'_, Value>) -> Verdict {
        let ticks = transition.tag.ticks;
        let due = match self.now {
            Some((at, due)) if at == ticks => due,
            _ => wall(&self.speeds, self.resolution.seconds(ticks)),
        };
        self.now = Some((ticks, due));
        self.free = self.free.max(due) + self.wcet.get(&site.key()).copied().unwrap_or(0.0);
        *self.counts.entry(site.key()).or_default() += 1;
        if self.free - due > self.late {
            (self.late, self.at) = (self.free - due, ticks);
        }
        Verdict::Continue(())
    }
    fn wants_cycles(&self) -> bool {
        false
    }
}

/// Runs a plan for the time that it asks for; nothing if it was interrupted.
///
/// # Errors
/// A model that cannot be built, or a run that fails.
pub fn demand(
    mut plan: Plan,
    speeds: &[(f64, f64)],
    pulse: &Pulse,
) -> Result<Option<Demand>, Failure> {
    let mut sim = build(&mut plan, EventListKind::default())?.sim;
    let declared: Vec<(ModelKey, String, f64)> = plan
        .units
        .iter()
        .filter_map(|unit| Some((sim.find(&unit.path)?, unit.path.clone(), unit.wcet?)))
        .collect();
    let processor = Processor {
        wcet: declared.iter().map(|d| (d.0, d.2)).collect(),
        counts: HashMap::new(),
        speeds: speeds.to_vec(),
        resolution: plan.resolution,
        now: None,
        free: 0.0,
        late: 0.0,
        at: 0,
    };
    let processor = Arc::new(Mutex::new(processor));
    sim.observe(Arc::clone(&processor));
    let slice = (plan.stop / SLICES).max(1);
    let mut reached = 0;
    while reached < plan.stop {
        reached = reached.saturating_add(slice).min(plan.stop);
        let ran = sim.run_through(reached).map_err(|e| Failure::of(e, plan.resolution, ""))?;
        if let Ended::Stopped(_) = ran {
            reached = sim.now().ticks;
            break;
        }
        if pulse.interrupted() {
            return Ok(None);
        }
    }
    let processor = processor.lock().unwrap_or_else(PoisonError::into_inner);
    let length = wall(speeds, plan.resolution.seconds(reached)).max(f64::MIN_POSITIVE);
    let share = |(key, path, wcet): &(ModelKey, String, f64)| {
        let transitions = processor.counts.get(key).copied().unwrap_or(0);
        let load = wcet * transitions as f64 / length;
        Share { unit: path.replace('/', "."), wcet: *wcet, transitions, load }
    };
    let mut units: Vec<Share> = declared.iter().map(share).collect();
    units.sort_by(|a, b| b.load.total_cmp(&a.load));
    Ok(Some(Demand {
        speed: speeds.last().map_or(1.0, |s| s.1),
        load: units.iter().map(|u| u.load).sum(),
        late: processor.late,
        at: plan.resolution.seconds(processor.at),
        undeclared: plan.units.iter().filter(|u| !u.hidden && u.wcet.is_none()).count(),
        units,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_follows_the_speeds() {
        let speeds = [(0.0, 2.0), (2.0, 4.0), (10.0, 0.5)];
        for (at, expected) in
            [(0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (6.0, 2.0), (10.0, 3.0), (11.0, 5.0)]
        {
            assert!((wall(&speeds, at) - expected).abs() < 1e-12, "{at}");
        }
    }
}
