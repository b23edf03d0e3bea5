//! Runs over ranks: whether a plan can be divided among them, and the ranks that write nothing.
use super::{
    Failure, Settings,
    checkpoint::Checkpoint,
    core::{Run, build},
    executor::Company,
    pulse::Pulse,
};
use crate::{
    Plan,
    output::{table::Table, trajectory::Trajectory},
};
use superdense_kernel::{Simulation, error::RunError, message::Digest};

/// Whether so many ranks can share a plan.
///
/// # Errors
/// A model that cannot be built, or why they cannot.
pub fn check(plan: Plan, ranks: u32, in_step: bool) -> Result<(), Failure> {
    if let Some(unit) = plan.units.iter().find(|unit| unit.kind == "mosaik") {
        let unit = unit.path.replace('/', ".");
        let why = format!(
            "`{unit}` is a simulator of mosaik, whose state cannot be saved, and models of a run over ranks come together by saved \
             states; leave --hosts out"
        );
        return Err(Failure::Mismatch(why));
    }
    let mut plan = plan;
    let options = plan.options();
    let mut sim = Simulation::new(std::mem::take(&mut plan.model), options)?;
    let settings = Company::settings(plan.partition.of(&sim), in_step);
    sim.fits_ranks(&settings, ranks).map_err(|error| match error {
        RunError::Undelayed { from, port, to } => {
            Failure::Mismatch(undelayed(&plan, &from, port, &to))
        }
        error => Failure::of(error, plan.resolution, ""),
    })
}

/// Names a wire without a delay, and what to do about it.
fn undelayed(plan: &Plan, from: &str, port: u16, to: &str) -> String {
    let unit = plan.units.iter().find(|unit| unit.path == from);
    let port = unit.and_then(|unit| unit.ports.outputs.get(usize::from(port)));
    let port = port.map_or_else(|| "?".to_owned(), |port| port.name.to_string());
    let [from, to] = [from, to].map(|path| path.replace('/', "."));
    format!(
        "the wire from `{from}.{port}` to `{to}` has no minimum delay, so that all units that send anything would be on one \
         rank: put a delay there (`via delay('10 ms')`), choose parts by `partition` that only \
         wires with delays connect, or go from cycle to cycle by --without-windows"
    )
}

/// The part of a rank that writes nothing, from the start or a checkpoint.
///
/// # Errors
/// As for any run, on all ranks alike.
pub fn follow(
    mut plan: Plan,
    settings: &Settings,
    checkpoint: Option<Checkpoint>,
    company: Company,
) -> Result<(), Failure> {
    let mut built = build(&mut plan, settings.event_list)?;
    if let Some(checkpoint) = &checkpoint {
        if let Some(why) = built.identity.difference(&checkpoint.identity) {
            return Err(Failure::Mismatch(why));
        }
        built.resume(&checkpoint.kernel, &plan)?;
    }
    let [events, samples] = [(); 2].map(|()| Table::in_memory(None));
    let tables = (events, samples, Trajectory::in_memory(false, built.names()));
    let (memory, sampled) = checkpoint.map(|c| (c.memory, c.sampled)).unzip();
    let how = (settings.executor, None, Pulse::default());
    let mut run = Run::new(plan, built, tables, memory, how);
    run.sampled = sampled.unwrap_or(run.sampled);
    run.driver.company = Some(company);
    run.simulate(&mut |_| Ok(())).map(drop)
}

/// Something by which processors show that they compute alike.
pub fn self_test() -> u64 {
    let points = (1..=64).map(|k| f64::from(k) * 0.37 - 7.0);
    let values = points.flat_map(|x| {
        let y = x.abs();
        [x.sin(), x.cos(), x.exp(), y.ln(), y.sqrt(), y.powf(x), x.tanh(), x.mul_add(y, 0.1)]
    });
    Digest::of(&values.collect::<Vec<_>>())
}
