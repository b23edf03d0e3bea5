//! Options, as written and resolved.
use super::{ranks::RankOptions, report::Stop};
use crate::{
    Overrides,
    output::{directory, trajectory::Format},
    plot::Pictures,
    run::{
        Settings,
        executor::{Executor, Method},
        real_time::{Overrun, RealTime},
    },
};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::PathBuf;
use superdense_kernel::event_list::EventListKind;
use superdense_models::maths::quantity::Quantity;

/// Options that decide the plan.
#[derive(Debug, Args)]
pub(super) struct PlanOptions {
    /// Scenario file.
    pub file: PathBuf,
    /// Set a parameter or any other value of the file; may be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment, allow_hyphen_values = true)]
    pub set: Vec<(String, String)>,
    /// Stop time, in place of the file's.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Time between samples, or "none".
    #[arg(long, value_name = "DT", allow_hyphen_values = true)]
    pub sample: Option<String>,
    /// Seed of all random streams.
    #[arg(long, value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub(super) struct CheckOptions {
    #[command(flatten)]
    pub plan: PlanOptions,
    /// Tell for each coupled group which policies its units allow, what is missing for the others,
    /// and what stands in for it.
    #[arg(long)]
    pub policies: bool,
    /// Tell which unit hears which, which outputs follow inputs at once, and where that goes round.
    #[arg(long)]
    pub graph: bool,
    /// Write that graph for Graphviz into this file.
    #[arg(long, value_name = "FILE.dot")]
    pub dot: Option<PathBuf>,
    /// Tell the spectral radii of the coupling of linear units: of one exchange (zero-stability),
    /// and of a macro step for each value of the parameter that is its length in seconds.
    #[arg(long, value_name = "H=0.01,0.1,...", value_parser = steps)]
    pub stability: Option<Steps>,
    /// Tell how fast the states of equation units swing and decay at this time, by eigenvalues; at the start without one.
    #[arg(long, value_name = "TIME", value_parser = seconds, num_args = 0..=1, require_equals = true, default_missing_value = "0 s")]
    pub frequencies: Option<f64>,
    /// Run the scenario with the declared `wcet` of its units in place of a clock, and refuse it where it cannot keep up with
    /// so many simulated seconds per second of wall time.
    #[arg(long, value_name = "ALPHA", value_parser = speeds)]
    pub real_time: Option<Speeds>,
    /// How late an instant may be.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10 ms", requires = "real_time")]
    pub late: f64,
    /// Draw the spectral radius over the macro step into this file.
    #[arg(long, value_name = "FILE.svg", requires = "stability")]
    pub plot: Option<PathBuf>,
}

/// Values of the parameter that is the macro step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    /// Its path.
    pub path: String,
    /// Seconds.
    pub values: Vec<f64>,
}

/// Simulated seconds per second of wall time, from simulated seconds on.
pub(super) type Speeds = std::sync::Arc<[(f64, f64)]>;

/// Options of `run`.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    #[command(flatten)]
    pub plan: PlanOptions,
    /// Output directory [default: out/<scenario>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the results of another scenario, or write beside other files; only unchanged files of a
    /// run are ever replaced.
    #[arg(long)]
    pub force: bool,
    /// Write a checkpoint at the start and then every so many seconds of wall time.
    #[arg(long, value_name = "WALL_SECONDS", value_parser = seconds)]
    pub checkpoint_every: Option<f64>,
    /// Implementation of the event list; never changes results.
    #[arg(long, value_name = "KIND", value_parser = event_list(), default_value_t)]
    pub event_list: EventListKind,
    /// Executor; never changes results.
    #[arg(long, value_enum, default_value_t)]
    pub executor: Method,
    /// Number of workers of a parallel executor [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: Option<u32>,
    #[command(flatten)]
    pub ranks: RankOptions,
    /// Write a timeline of what workers of a parallel executor do, for ui.perfetto.dev; for a program
    /// built with --features timeline.
    #[arg(long, value_name = "FILE.json")]
    pub timeline: Option<PathBuf>,
    /// Run a second time with permuted bags and report units that depend on the order of
    /// simultaneous messages, by what they send and receive and by what is recorded of them.
    #[arg(long, value_name = "SEED", value_parser = seed, allow_hyphen_values = true,
          conflicts_with_all = ["verify", "tighten"])]
    pub ties: Option<u64>,
    /// Run again with tolerances, quanta and exchange bands ten and a hundred times smaller, and
    /// report an error bar for every event and sample.
    #[arg(long)]
    pub verify: bool,
    /// Tighten until the error bars of event times (of samples, without events) are at most this,
    /// or say why that cannot be.
    #[arg(long, value_name = "BAR", value_parser = seconds, allow_hyphen_values = true)]
    pub tighten: Option<f64>,
    /// Run without the federation, fed with what came in another run, whose output directory this is.
    #[cfg(feature = "federation")]
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
    /// Keep to the wall clock: so many simulated seconds per second of wall time, also with changes at simulated times, such
    /// as "1, 10 @ 2 s". Never changes results; how late instants were is in `performance.json`.
    #[arg(long, value_name = "ALPHA", value_parser = speeds, conflicts_with_all = ["verify", "tighten", "ties"])]
    pub real_time: Option<Speeds>,
    /// The policy for instants that are ready later than `--late` allows.
    #[arg(long, value_enum, default_value_t, requires = "real_time")]
    pub overrun: Overrun,
    /// How late an instant may be.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10 ms", requires = "real_time")]
    pub late: f64,
    /// How every value sent on a recorded output is written.
    #[arg(long, value_enum, default_value_t)]
    pub trajectory: Format,
    /// Pictures that are drawn at the end; `superdense plot` draws them later, too. PNG is for a program built with
    /// --features png.
    #[arg(long, value_enum, default_value_t)]
    pub plot: Pictures,
}

impl PlanOptions {
    /// The settings that override those of the file.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            until: self.until.clone(),
            sample: self.sample.clone(),
            seed: self.seed,
            ..Overrides::default()
        }
    }

    /// Name of the scenario, as its plan has it.
    pub(super) fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl RunOptions {
    /// The settings of the run.
    pub(super) fn settings(&self) -> Result<Settings, Stop> {
        let name = self.plan.name();
        if name.is_empty() {
            return Err(Stop::usage("the scenario file has no name"));
        }
        self.trajectory.available().map_err(Stop::usage)?;
        self.plot.available().map_err(Stop::usage)?;
        if self.workers.is_some() && self.executor == Method::Sequential {
            let why = "--workers goes with a parallel executor; add --executor auto";
            return Err(Stop::usage(why));
        }
        if self.real_time.is_some() && self.executor != Method::Sequential {
            let why = "--real-time goes with the sequential executor, which knows what comes next; leave --executor out";
            return Err(Stop::usage(why));
        }
        let real_time = self.real_time.as_ref().map(|speeds| RealTime {
            speeds: speeds.to_vec(),
            overrun: self.overrun,
            late: self.late,
        });
        Ok(Settings {
            real_time,
            file: self.plan.file.clone(),
            sets: self.plan.set.clone(),
            overrides: self.plan.overrides(),
            out: match &self.out {
                Some(out) => out.clone(),
                None => directory::default_for(&name).map_err(Stop::usage)?,
            },
            event_list: self.event_list,
            executor: Executor { method: self.executor, workers: self.workers },
            checkpoint_every: self.checkpoint_every,
            ties: self.ties,
            #[cfg(feature = "federation")]
            replay: self.replay.clone(),
            #[cfg(not(feature = "federation"))]
            replay: None,
            trajectory: self.trajectory,
            plot: self.plot,
        })
    }
}

/// The names of event lists.
fn event_list() -> impl TypedValueParser<Value = EventListKind> {
    let names = EventListKind::ALL.map(EventListKind::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EventListKind>())
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write it as PATH=VALUE, such as g=9.81")?;
    if path.trim().is_empty() {
        return Err("the path before '=' is missing".to_owned());
    }
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "write a whole number from 0 on, such as 1".to_owned())
}

/// `H=0.01,0.1`.
fn steps(text: &str) -> Result<Steps, String> {
    let (path, values) = assignment(text)?;
    let values: Result<Vec<f64>, _> = values.split(',').map(|v| v.trim().parse::<f64>()).collect();
    match values {
        Ok(values) if values.iter().all(|v| v.is_finite() && *v > 0.0) => {
            Ok(Steps { path, values })
        }
        _ => Err("write the values as positive seconds, such as H=0.01,0.1".to_owned()),
    }
}

/// Seconds as a bare number or text with a unit.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = match text.trim().parse::<f64>() {
        Ok(x) => Some(x),
        Err(_) => match Quantity::parse(text) {
            Ok(Some(q)) if Quantity::parse("1 s").is_ok_and(|s| same_dimension(s.as_ref(), &q)) => {
                Some(q.si())
            }
            _ => None,
        },
    };
    number.filter(|x| x.is_finite() && *x >= 0.0).ok_or_else(|| {
        "write it as seconds, zero or more, or with a unit, such as 30 or '500 ms'".to_owned()
    })
}

/// `1`, or `1, 10 @ 2 s`.
fn speeds(text: &str) -> Result<Speeds, String> {
    let mut speeds = Vec::new();
    for (n, part) in text.split(',').enumerate() {
        let (speed, at) = match part.split_once('@') {
            Some((speed, at)) => (speed, seconds(at)?),
            None => (part, 0.0),
        };
        let speed = speed.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
        let later = speeds.last().is_none_or(|(before, _)| at > *before);
        match speed {
            Some(speed) if later && (n > 0 || at == 0.0) => speeds.push((at, speed)),
            _ => {
                return Err("write simulated seconds per second of wall time, such as 1, or with changes at later and \
                            later simulated times, such as '1, 10 @ 2 s'"
                    .to_owned());
            }
        }
    }
    Ok(speeds.into())
}

fn same_dimension(a: Option<&Quantity>, b: &Quantity) -> bool {
    a.is_some_and(|a| a.unit.dimension() == b.unit.dimension())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(seconds("0.05"), Ok(0.05));
        assert_eq!(seconds("50 ms"), Ok(0.05));
        assert!(seconds("50 m").is_err() && seconds("-1").is_err() && seconds("nan").is_err());
        assert_eq!(assignment("a.b='0.5 s'"), Ok(("a.b".into(), "'0.5 s'".into())));
        assert!(assignment("a").is_err());
        assert_eq!(steps("H=0.1, 2").unwrap().values, [0.1, 2.0]);
        assert_eq!(speeds("1").unwrap()[..], [(0.0, 1.0)]);
        assert_eq!(
            speeds("1, 10 @ 2 s, 0.5@2500 ms").unwrap()[..],
            [(0.0, 1.0), (2.0, 10.0), (2.5, 0.5)]
        );
        for wrong in
            ["0", "-1", "nan", "1 @ 2 s", "1, 2", "1, 2 @ 3 s, 4 @ 2 s", "1, x @ 2 s", "1, 2 @ 3 m"]
        {
            assert!(speeds(wrong).is_err(), "{wrong}");
        }
        assert!(steps("H=0").is_err() && steps("H=x").is_err() && steps("0.1").is_err());
    }
}
