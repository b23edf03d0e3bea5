//! Error bars: runs with `--verify`, against instants and values that the reference simulator encloses.
//!
//! A bar is right where it reaches the enclosure of the true instant or value. Counted are events and samples that the
//! reference decides although states may be off by as much as the method may be; where it does not, a trajectory that
//! only just touches a condition may be the reason, and such cases are counted apart.
use super::{
    campaign::{self, Options, each_number},
    excluded,
    judges::Case,
    settings::{Executor, Method, Settings},
    text,
    tree::{self, Part},
};
use std::{
    collections::{BTreeMap, HashMap},
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};
use superdense_judge::model::{Expr, Instant, Model, Switching};
use superdense_judge::{Happened, Limits, Place, Run, Uncertainty, Verdict, judge};

/// Samples of a run.
const SAMPLES: i64 = 8;
/// Share of events and of samples that bars must contain.
pub const CONTAINED: f64 = 0.999;
/// Most that the median bar may be, in true errors.
pub const MEDIAN: f64 = 30.0;
/// Fewer events or samples than this say nothing of a share.
const ENOUGH: usize = 1000;

/// The worth of bars of one family of models under one method.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// Runs.
    pub runs: usize,
    /// Events with a bar and a true instant, and how many of them their bars contain.
    pub events: [usize; 2],
    /// Samples, likewise.
    pub samples: [usize; 2],
    /// Events and samples that the reference leaves open.
    pub apart: usize,
    /// Events of which the program says that not all runs have them.
    pub unmatched: usize,
    /// Bars of events and of samples in true errors. An error is at least one tick, or four units in the last place;
    /// samples that are exact and said to be count for nothing.
    ratios: [Vec<f64>; 2],
}

impl Cell {
    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        for k in 0..2 {
            self.events[k] += other.events[k];
            self.samples[k] += other.samples[k];
        }
        self.apart += other.apart;
        self.unmatched += other.unmatched;
        for (all, more) in self.ratios.iter_mut().zip(other.ratios) {
            all.extend(more);
        }
    }

    /// The median bars of events and of samples in true errors.
    pub fn medians(&self) -> [f64; 2] {
        self.ratios.clone().map(|mut all| {
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(0.0)
        })
    }

    /// Whether its bars are as they must be, as far as there are enough of them.
    pub fn is_met(&self) -> bool {
        let share =
            |[all, inside]: [usize; 2]| all < ENOUGH || inside as f64 >= CONTAINED * all as f64;
        let narrow = self.events[0] < ENOUGH || self.medians()[0] <= MEDIAN;
        share(self.events) && share(self.samples) && narrow
    }
}

/// By family and method.
pub type Table = BTreeMap<(&'static str, Method), Cell>;

/// The result of a campaign.
#[derive(Debug, Default)]
pub struct Bars {
    /// Models made.
    pub models: u64,
    /// The rows.
    pub table: Table,
    /// Models with a bar that does not reach: number, method, and which.
    pub missed: Vec<(u64, Method, String)>,
}

/// The kind of equations of a model.
fn family(model: &Model) -> &'static str {
    let any = |is: &dyn Fn(&superdense_judge::model::Unit) -> bool| model.units.iter().any(is);
    let right_sides = |u: &superdense_judge::model::Unit| {
        let modes = u.modes.iter().flat_map(|m| m.derivatives.iter().flatten().flatten());
        u.derivatives.iter().chain(&u.residuals).chain(modes).cloned().collect::<Vec<Expr>>()
    };
    let has = |is: &dyn Fn(&Part<'_>) -> bool| {
        any(&|u| {
            right_sides(u).iter().any(|e| {
                let mut list = Vec::new();
                tree::parts(e, &mut list);
                list.iter().any(is)
            })
        })
    };
    if any(&|u| !u.algebraic.is_empty()) {
        "algebraic"
    } else if any(&|u| u.switching == Switching::Sliding) {
        "sliding"
    } else if !model.wires.is_empty() || !model.links.is_empty() {
        "coupled"
    } else if excluded::is_stiff(model) {
        "stiff"
    } else if has(&excluded::is_kink) || any(&|u| !u.modes.is_empty()) {
        "switched"
    } else if excluded::is_affine(model) {
        "affine"
    } else if has(&|p| matches!(p, Part::Expression(Expr::Unary(..)))) {
        "smooth"
    } else {
        "polynomial"
    }
}

/// Tolerances of users, which leave errors larger than ticks.
fn settings(method: Method) -> Settings {
    let (relative, absolute) = match method {
        m if m.is_quantised() => (1e-4, 1e-5),
        _ => (1e-6, 1e-8),
    };
    Settings { relative, absolute, executor: Executor::Sequential, ..Settings::of(method) }
}

/// The reference, with states that may be off by so much.
fn reference(model: &Model, relative: f64, absolute: f64, samples: &[Instant]) -> (Run, i64) {
    let exact_degree = if relative < 1e-10 { 3 } else { 0 };
    let uncertainty =
        Uncertainty { relative, absolute, exact_degree, ticks: 1e-3, ..Uncertainty::default() };
    let limits = Limits { effort: 1_000_000, events: 25_000, uncertainty, ..Limits::default() };
    match judge(model, &limits, samples) {
        Verdict::Run(run) => (run, i64::MAX),
        Verdict::Undecided(undecided) => (undecided.run, undecided.until),
        Verdict::Error(failure) => (failure.run, failure.time.lo),
    }
}

fn key(happened: &Happened) -> (String, String) {
    match happened.place {
        Place::Unit(u, ..) => (format!("u{u}"), happened.name.clone()),
        Place::Link(_) => (happened.name.clone(), happened.name.clone()),
    }
}

/// Instants of events by unit and name, each in their order.
fn instants(run: &Run, until: i64) -> HashMap<(String, String), Vec<[i64; 2]>> {
    let mut all: HashMap<_, Vec<[i64; 2]>> = HashMap::new();
    for h in run.happened.iter().filter(|h| h.tick.hi < until) {
        all.entry(key(h)).or_default().push([h.tick.lo, h.tick.hi]);
    }
    all
}

/// The program of the command line, beside this one.
fn program() -> io::Result<PathBuf> {
    if let Some(given) = env::var_os("SUPERDENSE") {
        return Ok(given.into());
    }
    let own = env::current_exe()?;
    let beside = own.ancestors().skip(1).take(2).map(|dir| dir.join("superdense"));
    let missing = || io::Error::other("no program `superdense` beside this one: build it first");
    beside.into_iter().find(|file| file.is_file()).ok_or_else(missing)
}

/// The rows of a table that the program wrote, without their heading; none where there is no table.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Seconds as ticks; exact for what the program writes.
fn ticks(time: &str, resolution: u32) -> Option<i64> {
    let (whole, part) = time.split_once('.').unwrap_or((time, ""));
    let digits = format!("{part:0<width$}", width = resolution as usize);
    format!("{whole}{digits}").parse().ok()
}

/// A case under verification.
struct Bench<'a> {
    case: &'a Case,
    folder: &'a Path,
    /// Instants of samples in ticks.
    sampled: Vec<i64>,
}

impl Bench<'_> {
    fn tick(&self) -> f64 {
        10f64.powi(-i32::try_from(self.case.model.resolution).unwrap_or(9))
    }

    /// Runs it; false where the run ends in an error.
    fn run(&self, program: &Path, step: i64) -> io::Result<bool> {
        let file = self.folder.join("model.toml");
        fs::write(&file, self.case.text())?;
        let sample = text::number(step as f64 * self.tick());
        let mut command = Command::new(program);
        command.arg("run").arg(&file).args(["--quiet", "--force", "--verify", "--plot", "none"]);
        command.args(["--sample", &format!("{sample} s"), "--out"]).arg(self.folder.join("out"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.status()?.success())
    }

    /// Compares bars with true instants and values before the tick up to which things are decided.
    fn judged(&self) -> (Cell, Option<String>) {
        let Case { model, settings, .. } = self.case;
        let at = |t: &i64| Instant { numerator: *t, denominator: 10i64.pow(model.resolution) };
        let samples: Vec<Instant> = self.sampled.iter().map(at).collect();
        let (_, until) =
            reference(model, 100.0 * settings.relative, 100.0 * settings.absolute, &[]);
        let (right, sure) = reference(model, 1e-13, 1e-15, &samples);
        let mut cell = Cell { runs: 1, ..Cell::default() };
        let of_events = self.events(&right, until.min(sure), &mut cell);
        let of_samples = self.samples(&right, until.min(sure), &mut cell);
        (cell, of_events.or(of_samples))
    }

    fn events(&self, right: &Run, until: i64, cell: &mut Cell) -> Option<String> {
        let right = instants(right, until);
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        let mut missed = None;
        for row in rows(&self.folder.join("out/event_bars.csv")) {
            let [time, _, unit, event, kind, bar] = &row[..] else { continue };
            let name = (unit.clone(), event.clone());
            let number = seen.entry(name.clone()).or_default();
            let true_at = right.get(&name).and_then(|all| all.get(*number));
            *number += 1;
            // Time events have no error.
            if kind == "time" {
                continue;
            }
            let (Some(at), Some([lo, hi])) = (ticks(time, self.case.model.resolution), true_at)
            else {
                cell.apart += 1;
                continue;
            };
            let Ok(bar) = bar.parse::<f64>() else {
                cell.unmatched += 1;
                continue;
            };
            let bar = bar / self.tick();
            let beyond = (lo - at).max(at - hi).max(0) as f64;
            let inside = beyond <= bar * (1.0 + 1e-9);
            cell.events[0] += 1;
            cell.events[1] += usize::from(inside);
            let error = (at - (lo + (hi - lo) / 2)).unsigned_abs().max(1);
            cell.ratios[0].push(bar / error as f64);
            if !inside && missed.is_none() {
                missed = Some(format!(
                    "{unit}.{event} at {time} s is {beyond} ticks off, with a bar of {bar:.1}"
                ));
            }
        }
        missed
    }

    fn samples(&self, right: &Run, until: i64, cell: &mut Cell) -> Option<String> {
        let [values, bars] =
            ["samples.csv", "sample_bars.csv"].map(|f| rows(&self.folder.join("out").join(f)));
        let mut missed = None;
        for (row, bars) in values.iter().zip(&bars) {
            let at = ticks(&row[0], self.case.model.resolution);
            let true_at = right.samples.iter().find(|s| Some(s.tick) == at);
            let Some(sample) = true_at.filter(|s| !s.ambiguous && s.tick < until) else {
                cell.apart += 1;
                continue;
            };
            let outputs = sample.units.iter().flat_map(|u| &u.outputs);
            for (k, right) in outputs.enumerate() {
                let field = |row: &[String]| row.get(k + 1)?.parse::<f64>().ok();
                let (Some(value), Some(bar)) = (field(row), field(bars)) else { continue };
                let beyond = (right.lo - value).max(value - right.hi).max(0.0);
                let inside = beyond <= bar + 1e-15 * value.abs();
                cell.samples[0] += 1;
                cell.samples[1] += usize::from(inside);
                if bar > 0.0 {
                    let error = (value - right.middle()).abs();
                    cell.ratios[1].push(
                        bar / error.max(4.0 * f64::EPSILON * value.abs()).max(f64::MIN_POSITIVE),
                    );
                }
                if !inside && missed.is_none() {
                    missed = Some(format!(
                        "output {k} at {} s is {value}, {beyond:.3e} off, with a bar of {bar:.3e}",
                        row[0]
                    ));
                }
            }
        }
        missed
    }
}

/// One case; nothing where its run ends in an error.
fn verified(
    case: &Case,
    program: &Path,
    folder: &Path,
) -> io::Result<Option<(Cell, Option<String>)>> {
    let stop = case.model.stop;
    let last = i128::from(stop.numerator) * 10i128.pow(case.model.resolution);
    let last = i64::try_from(last / i128::from(stop.denominator)).unwrap_or(i64::MAX);
    let step = (last / SAMPLES).max(1);
    fs::create_dir_all(folder)?;
    let sampled = (1..=SAMPLES).map(|k| k * step).filter(|t| *t <= last).collect();
    let bench = Bench { case, folder, sampled };
    let done = bench.run(program, step)?.then(|| bench.judged());
    fs::remove_dir_all(folder)?;
    Ok(done)
}

/// Runs models with `--verify`, each under the methods asked for.
///
/// # Errors
/// When the program is not there, or there is no place for files.
pub fn run(options: &Options) -> io::Result<Bars> {
    let program = program()?;
    let folder = env::temp_dir().join(format!("superdense-bars-{}", std::process::id()));
    let found = Mutex::new((Bars::default(), None));
    let (models, _) = each_number(options, "bars", &|number| {
        let first = campaign::case(options.seed, number);
        for case in campaign::under_methods(options, &first) {
            let method = case.settings.method;
            let case = Case { settings: settings(method), ..case };
            let folder = folder.join(number.to_string());
            let done = verified(&case, &program, &folder);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                Err(why) => {
                    found.1 = Some(why);
                    return false;
                }
                Ok(None) => {}
                Ok(Some((cell, missed))) => {
                    found.0.table.entry((family(&case.model), method)).or_default().join(cell);
                    found.0.missed.extend(missed.map(|why| (number, method, why)));
                }
            }
        }
        true
    });
    let (mut bars, failed) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = failed {
        return Err(why);
    }
    bars.models = models;
    bars.missed.sort_by_key(|missed| (missed.0, missed.1));
    Ok(bars)
}
