//! `run --verify` and `run --tighten`.
//!
//! Every run is an ordinary run with its results in a folder of its own, `tightened-1` (ten times),
//! `tightened-2` (a hundred times), ... beside the results proper, `second-family-1`, ... for those by other
//! methods. What was asked for is in a file
//! until the bars are there: `superdense resume` goes on with the run that did not end.
use super::{
    Done,
    report::{Console, Stop, columns},
    run::{drive, files_in, interrupted, object, plan_of, table},
};
use crate::{
    Plan,
    output::{
        OutputError,
        directory::{self, CHECKPOINT, SUMMARY, VERIFYING},
        reports,
        results::{Results, SECOND_FAMILY, TIGHTENED},
        trajectory::Format,
    },
    run::{
        Outcome, Report, Session, Settings,
        checkpoint::Checkpoint,
        pulse::Pulse,
        verify::{FACTORS, SecondFamily, Verification, compare, told},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use superdense_kernel::time::Resolution;

/// Tightenings that are tried: a tolerance of 1e-6 comes to 1e-14.
const LEVELS: u32 = 8;

/// The verification that was asked for.
#[derive(Serialize, Deserialize)]
struct Request {
    settings: Settings,
    /// `--tighten`.
    wanted: Option<f64>,
}

/// The facts of a scenario that bars need.
struct Span {
    stop: i64,
    resolution: Resolution,
    /// Whether some unit has a second family of methods.
    second_family: bool,
    /// Parts of the error that no bar contains.
    missing: Vec<String>,
}

struct Runs<'a> {
    console: &'a Console,
    settings: Settings,
    pulse: &'a Pulse,
}

/// A run with everything 10^level times tighter, perhaps by the second family of methods.
#[derive(Clone, Copy)]
struct Twin {
    level: u32,
    second_family: bool,
}

impl Twin {
    fn tightened(level: u32) -> Self {
        Self { level, second_family: false }
    }

    fn folder(self) -> String {
        let name = if self.second_family { SECOND_FAMILY } else { TIGHTENED };
        format!("{name}{}", self.level)
    }
}

impl Runs<'_> {
    /// Makes a run, or goes on with it.
    fn run(&self, twin: Twin, out: &Path) -> Result<Report, Stop> {
        let pulse = self.pulse.clone();
        let session = if out.join(CHECKPOINT).is_file() {
            let checkpoint = Checkpoint::read(&out.join(CHECKPOINT)).map_err(Stop::before)?;
            let settings = Settings { out: out.to_owned(), ..checkpoint.settings.clone() };
            Session::resume(checkpoint, plan_of(&settings)?, settings, pulse)
        } else {
            let mut settings = Settings { out: out.to_owned(), ..self.settings.clone() };
            let level = twin.level as i32;
            settings.overrides.tighten = (level > 0).then(|| FACTORS[0].powi(level));
            settings.overrides.second_family = twin.second_family;
            settings.overrides.finer_ticks = out != self.settings.out && level > 0;
            if out != self.settings.out {
                Results::open(&self.settings.out)?.folder(&twin.folder())?;
                settings.trajectory = Format::None;
            }
            let plan = match plan_of(&settings) {
                // A long run has no room for finer ticks.
                Err(_) if settings.overrides.finer_ticks => {
                    settings.overrides.finer_ticks = false;
                    plan_of(&settings)
                }
                plan => plan,
            };
            Session::start(plan?, settings, pulse)
        };
        let mut session = session.map_err(Stop::before)?;
        match drive(self.console, &mut session) {
            Err(failure) => {
                let results = Some(out.display().to_string());
                Err(Stop::Failed { failure: failure.into(), results, notes: Vec::new() })
            }
            Ok(Outcome::Interrupted { at, checkpoint }) => {
                Err(interrupted(self.console, &at, &checkpoint, &self.settings.out))
            }
            Ok(Outcome::Done(report)) => Ok(*report),
        }
    }
}

/// Runs a scenario and its tightenings, and tells the error bars.
pub(super) fn verify(
    console: &Console,
    settings: Settings,
    wanted: Option<f64>,
    pulse: &Pulse,
) -> Done {
    let request = Request { settings: settings.absolute(), wanted };
    Results::open(&settings.out)?.put(&[(VERIFYING, &reports::to_json(&request))])?;
    complete(console, Request { settings, wanted }, pulse)
}

/// Goes on with the verification in a directory.
pub(super) fn resume(console: &Console, out: &Path) -> Done {
    let _held = directory::hold(out)?;
    let file = out.join(VERIFYING);
    let text = std::fs::read_to_string(&file).map_err(OutputError::at(&file))?;
    let request = serde_json::from_str::<Request>(&text);
    let mut request = request.map_err(|e| {
        Stop::usage(format!("{}: {e}; start the run again with --force", file.display()))
    })?;
    request.settings.out = out.to_owned();
    let pulse = Pulse::start();
    let _ = pulse.on_interrupt();
    complete(console, request, &pulse)
}

/// Makes all runs that are not there, and the bars.
fn complete(console: &Console, Request { settings, wanted }: Request, pulse: &Pulse) -> Done {
    let plan = plan_of(&settings)?;
    let Plan { stop, resolution, second_family, .. } = plan;
    let span = Span { stop, resolution, second_family, missing: missing(&plan) };
    let runs = Runs { console, settings, pulse };
    let out = runs.settings.out.clone();
    let (level, mut report, mut bars, why) = match wanted {
        None => {
            // The run proper comes last, so that it is made once, also where others are
            // interrupted; and it is made also where they fail.
            let twins = twins(&runs, 0, false);
            if let Err(Stop::Interrupted) = twins {
                return Err(Stop::Interrupted);
            }
            let report = runs.run(Twin::tightened(0), &out)?;
            twins.map_err(|stop| without_bars(stop, &out))?;
            (0, report, bars(&runs, &out, 0, &span)?, None)
        }
        Some(wanted) => {
            let (level, why) = search(&runs, wanted, &span)?;
            let report = runs.run(Twin::tightened(level), &out)?;
            (level, report, bars(&runs, &out, level, &span)?, why)
        }
    };
    bars.complete(&mut report.summary.results, span.resolution);
    let json = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let files = [
        (SUMMARY, json(reports::to_json(&report.summary))),
        ("event_bars.csv", bars.event_table()),
        ("sample_bars.csv", bars.sample_table()),
        ("verify.json", json(reports::to_json(&bars))),
    ];
    let own = Results::open(&out)?;
    own.put(&files.each_ref().map(|(name, text)| (*name, text.as_bytes())))?;
    own.remove(&[VERIFYING])?;
    let results = out.display().to_string();
    let mut names = files_in(&out);
    names.extend(files.iter().skip(1).map(|f| f.0.to_owned()));
    let text =
        table(&report, &results, &names, None) + &said(&bars, &span, level, wanted, why.as_deref());
    console.say(&text, || {
        let mut object = object(&report, &results, &names, None);
        object["verify"] = json!({
            "tightened": FACTORS[0].powi(level as i32),
            "worst_event_bar": bars.worst_event_bar,
            "worst_sample_bars": bars.worst_sample_bars,
            "result_bars": bars.result_bars,
            "event_bars": bars.events,
            "undecided": bars.undecided,
            "unmatched": bars.unmatched,
            "second_family": bars.second_family,
            "not_in_bars": span.missing,
            "met": wanted.map(|_| why.is_none()),
            "why_not": why,
        });
        object
    });
    Ok(())
}

/// The end of a verification whose tightened runs fail: the run itself is complete, and its results are there.
fn without_bars(stop: Stop, out: &Path) -> Stop {
    match stop {
        Stop::Failed { failure, results, mut notes } => {
            notes.push(format!(
                "the run at its own tolerances is complete, with results in {}; its error bars need runs with \
                 tighter tolerances, and this is the error of one of them",
                out.display()
            ));
            Stop::Failed { failure, results, notes }
        }
        stop => stop,
    }
}

/// Steps that a tightened run has as well: each is a part of the error that no bar contains.
fn missing(plan: &Plan) -> Vec<String> {
    let coupled = plan.couplings.iter().any(|master| master.declared);
    let macro_steps = coupled.then(|| "macro steps in [coupling] (`step`, `iterate`)".to_owned());
    let communication = plan.sampled.first().map(|first| {
        let more = match plan.sampled.len() {
            1 => String::new(),
            n => format!(" and {} more units", n - 1),
        };
        format!("the communication `step` of {first}{more}")
    });
    macro_steps.into_iter().chain(communication).collect()
}

/// The runs at the next two levels, unless they are there.
fn twins(runs: &Runs<'_>, level: u32, second_family: bool) -> Result<[PathBuf; 2], Stop> {
    let twins = [1, 2].map(|k| Twin { level: level + k, second_family });
    let folders = twins.map(|twin| runs.settings.out.join(twin.folder()));
    for (folder, twin) in folders.iter().zip(twins) {
        if !folder.join(SUMMARY).is_file() {
            runs.run(twin, folder)?;
        }
    }
    Ok(folders)
}

/// The bars of the run in `dir`, made at `level`, by the next two levels of both families.
fn bars(runs: &Runs<'_>, dir: &Path, level: u32, span: &Span) -> Result<Verification, Stop> {
    let tightened = twins(runs, level, false)?;
    let others = match span.second_family {
        false => Err(SecondFamily::None),
        true => match twins(runs, level, true) {
            Err(Stop::Failed { failure, .. }) => Err(SecondFamily::Failed(failure.to_string())),
            others => Ok(others?),
        },
    };
    let others = others.as_ref().map(|o| o.each_ref().map(PathBuf::as_path)).map_err(Clone::clone);
    compare(dir, [&tightened[0], &tightened[1]], others, span.stop, span.resolution)
        .map_err(Stop::before)
}

/// The level whose bars are small enough, or the best one and why it is the last.
fn search(runs: &Runs<'_>, wanted: f64, span: &Span) -> Result<(u32, Option<String>), Stop> {
    let mut before = None;
    for level in 0..LEVELS {
        let twin = Twin::tightened(level);
        let folder = runs.settings.out.join(twin.folder());
        if level == 0 && !folder.join(SUMMARY).is_file() {
            runs.run(twin, &folder)?;
        }
        let bars = match bars(runs, &folder, level, span) {
            Ok(bars) => bars,
            Err(Stop::Failed { failure, .. }) if level > 0 => {
                let why = format!("a tighter run fails: {failure}");
                return Ok((level.saturating_sub(1), Some(why)));
            }
            Err(stop) => return Err(stop),
        };
        if bars.worst() <= wanted && bars.unmatched.is_empty() {
            return Ok((level, None));
        }
        if let Some(why) = bars.why_not(wanted, before) {
            return Ok((level, Some(why)));
        }
        before = Some(bars.worst());
    }
    Ok((LEVELS - 1, Some(format!("{LEVELS} tightenings were not enough"))))
}

fn said(
    bars: &Verification,
    span: &Span,
    level: u32,
    wanted: Option<f64>,
    why: Option<&str>,
) -> String {
    let pair = |name: &str, value: String| vec![name.to_owned(), value];
    let mut facts = Vec::new();
    if wanted.is_some() {
        facts.push(pair("tightened", format!("{:.0e} times", 10f64.powi(level as i32))));
    }
    match bars.worst_event_bar {
        Some(bar) => facts.push(pair("event bars", format!("at most {bar:.2e} s"))),
        None => facts.push(pair("event bars", "no events".to_owned())),
    }
    let families = match &bars.second_family {
        SecondFamily::Compared => "two families of methods".to_owned(),
        SecondFamily::None => "one family of methods: no unit has a second".to_owned(),
        SecondFamily::Failed(why) => format!("one family of methods: the second failed: {why}"),
    };
    facts.push(pair("bars by", families));
    for part in &span.missing {
        facts.push(pair("not in bars", format!("the error of {part}: repeat with smaller ones")));
    }
    let samples = bars.worst_sample_bars.iter().take(8);
    let samples: Vec<_> = samples.map(|(name, bar)| format!("{name} {bar:.2e}")).collect();
    facts.push(pair("sample bars", samples.join(", ")));
    if let Some(wanted) = wanted {
        let verdict = match why {
            None => format!("{wanted:e} is met"),
            Some(why) => format!("{wanted:e} is not met: {why}"),
        };
        facts.push(pair("wanted", verdict));
    }
    for u in bars.undecided.iter().take(20) {
        let text = format!(
            "{} at {} s, {} at {} s: {:.1e} s apart, bars {:.1e} s",
            u.first.0, u.first.1, u.second.0, u.second.1, u.gap, u.bars
        );
        facts.push(pair("undecided", text));
    }
    for (unit, event, counts) in bars.unmatched.iter().take(20) {
        let text = format!("{event} of {unit} happens {}", told(counts));
        facts.push(pair("unmatched", text));
    }
    columns(&facts, &[])
}
