//! A run without files: its results, and the tables that are wanted, in memory.
use super::{
    Failure,
    core::{Run, build},
    executor::Executor,
    pulse::Pulse,
    recorder::EVENTS,
};
use crate::{
    Plan,
    output::{reports::Summary, table::Table, trajectory::Trajectory},
};
use superdense_kernel::event_list::EventListKind;

/// The tables that a run in memory keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    /// Located and time events.
    pub events: bool,
    /// Recorded outputs at the instants of `sample`.
    pub samples: bool,
    /// Every segment or value sent on recorded outputs.
    pub trajectory: bool,
}

impl Keep {
    /// All tables.
    pub const ALL: Self = Self { events: true, samples: true, trajectory: true };
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its facts and results, as in `summary.json`.
    pub summary: Summary,
    /// The tables that were kept, each as the text of its file.
    pub events: String,
    /// See [`events`](Self::events).
    pub samples: String,
    /// See [`events`](Self::events).
    pub trajectory: String,
}

/// Runs a plan to its end; `None` if it was interrupted by the pulse.
///
/// ```
/// use superdense::{Overrides, load, run::{memory, pulse::Pulse}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let file = std::env::temp_dir().join(format!("ramp-{}.toml", std::process::id()));
/// std::fs::write(&file, r#"
///     stop = "2 s"
///     [unit.ramp]
///     kind = "equations"
///     states = { x = 1.0 }
///     derivatives = { x = "3" }
///     outputs = { x = "x" }
///     [result]
///     top = "max(ramp.x)"
/// "#)?;
/// let plan = load(&file, &[], &Overrides::default()).map_err(|d| d.to_string())?;
/// # std::fs::remove_file(&file)?;
/// let done = memory::run(plan, memory::Keep::default(), Default::default(), &Pulse::default())?;
/// let done = done.expect("nobody interrupts it");
/// assert_eq!(done.summary.results[0].outcome.value(), Some(7.0));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A model that cannot be built, or a run that fails.
pub fn run(
    mut plan: Plan,
    keep: Keep,
    executor: Executor,
    pulse: &Pulse,
) -> Result<Option<Finished>, Failure> {
    if !keep.samples {
        plan.sample = None;
    }
    let built = build(&mut plan, EventListKind::default())?;
    let table = |wanted: bool, header: &str| Table::in_memory(wanted.then_some(header));
    let events = table(keep.events, EVENTS);
    let samples = table(keep.samples, &built.identity.columns);
    let trajectory = Trajectory::in_memory(keep.trajectory, built.names());
    let how = (executor, None, pulse.clone());
    let mut run = Run::new(plan, built, (events, samples, trajectory), None, how);
    #[cfg(feature = "federation")]
    run.federate(None, std::array::from_fn(|_| Table::in_memory(None)))?;
    let Some(end) = run.simulate(&mut |_| Ok(()))? else { return Ok(None) };
    let summary = run.summary(end);
    let samples = run.samples.text();
    let mut recorder = run.recorder();
    let (events, trajectory) = (recorder.events.text(), recorder.trajectory.text());
    drop(recorder);
    Ok(Some(Finished { summary, events, samples, trajectory }))
}
