//! `superdense study rerun`: one run of a study with all of its files.
use super::super::{
    Done,
    report::{Console, Stop},
    run,
};
use crate::{
    Overrides,
    output::{directory, results::Results, trajectory::Format},
    plot::Pictures,
    run::{Session, Settings, executor::Executor, pulse::Pulse},
    study::{Reader, STORE, ScenarioRunner},
};
use clap::Args;
use std::path::PathBuf;
use superdense_kernel::event_list::EventListKind;

/// Options of `study rerun`.
#[derive(Debug, Args)]
pub(super) struct RerunOptions {
    /// Directory of the study.
    dir: PathBuf,
    /// Number of the point, as in results.csv.
    #[arg(required_unless_present_any = ["min", "max"], conflicts_with_all = ["min", "max"])]
    point: Option<usize>,
    /// Number of the replicate.
    #[arg(default_value_t = 0, conflicts_with_all = ["min", "max"])]
    replicate: u32,
    /// The run in which this result is smallest.
    #[arg(long, value_name = "RESULT", conflicts_with = "max")]
    min: Option<String>,
    /// The run in which this result is largest.
    #[arg(long, value_name = "RESULT")]
    max: Option<String>,
    /// Output directory [default: DIR/point-POINT-REPLICATE].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs it.
pub(super) fn rerun(console: &Console, options: &RerunOptions) -> Done {
    let store = Reader::open(&options.dir.join(STORE))?;
    let (point, replicate) = match (&options.min, &options.max) {
        (Some(name), _) => store.extreme(name, false)?,
        (_, Some(name)) => store.extreme(name, true)?,
        _ => (options.point.unwrap_or_default(), options.replicate),
    };
    let mut sets = store.sets()?;
    sets.extend(store.point(point)?);
    let seed = match replicate {
        0 => None,
        r => Some(superdense_study::seed(store.seed()?, r)),
    };
    let name = format!("point-{point}-{replicate}");
    let settings = Settings {
        file: store.scenario()?,
        sets,
        overrides: Overrides { seed, study: Some(store.study()?), ..Overrides::default() },
        out: options.out.clone().unwrap_or_else(|| options.dir.join(name)),
        event_list: EventListKind::default(),
        executor: Executor::default(),
        real_time: None,
        checkpoint_every: None,
        ties: None,
        replay: None,
        trajectory: Format::default(),
        plot: Pictures::default(),
    };
    console.remark(&format!("point {point}, replicate {replicate}"));
    let plan = run::plan_of(&settings)?;
    let (runner, _) = ScenarioRunner::new(&settings.file, &store.study()?, &store.sets()?)?;
    if !store.is_current(point, &runner)? {
        console.remark(
            "the scenario, the study or the program has changed since: this run is another one than that of \
             results.csv; run the study again to bring its results up to date",
        );
    }
    let pulse = Pulse::start();
    let _ = pulse.on_interrupt();
    let _held = directory::hold(&settings.out)?;
    Results::prepare(&settings.out, &settings.file, false)?;
    let session = Session::start(plan, settings, pulse.clone()).map_err(Stop::before)?;
    run::go(console, session, &pulse)
}
