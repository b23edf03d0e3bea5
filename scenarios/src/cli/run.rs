//! `run`, `resume` and `plot`.
use super::{
    Done, graph,
    options::RunOptions,
    place,
    ranks::{self, RankOptions, Task},
    report::{Console, Stop, columns},
    verify::{self, verify},
};
use crate::{
    Plan, load, load_with_graph,
    output::{
        directory::{self, CHECKPOINT, SUMMARY, VERIFYING},
        numbers,
        results::Results,
        trajectory::Format,
    },
    plot::Pictures,
    result::{Line, Outcome as Found},
    run::{
        Failure, Outcome, Progress, Report, Session, Settings,
        checkpoint::Checkpoint,
        executor::{Company, Executor, Method},
        pulse::Pulse,
        ties,
        timeline::Timeline,
    },
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value as Json, json};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    time::Instant,
};
use superdense_kernel::error::RunError;

/// `superdense run FILE`.
pub(super) fn run(console: &Console, options: &RunOptions) -> Done {
    if options.ranks.hosts.is_some() {
        ranks::refuse(options)?;
        let read = || {
            let settings = options.settings()?;
            let mut plan = plan_of(&settings)?;
            options.ranks.divide(&mut plan);
            Ok((plan, settings, None))
        };
        let first =
            |company, pulse| begin(console, options, Some((company, pulse)), &mut |_| Ok(()));
        return ranks::run(console, &Task { ranks: &options.ranks, read: &read, first: &first });
    }
    begin(console, options, None, &mut |_| Ok(()))
}

/// A run of a plan that `complete` has completed, perhaps as the first of some ranks.
pub(super) fn begin(
    console: &Console,
    options: &RunOptions,
    company: Option<(Company, Pulse)>,
    complete: &mut dyn FnMut(&mut Plan) -> Done,
) -> Done {
    let began = Instant::now();
    let (company, pulse) = company.unzip();
    let mut settings = options.settings()?;
    let mut plan = plan_of(&settings)?;
    refuse_with_peers(options, &plan)?;
    if let Some(company) = &company {
        let workers = Some(company.ranks.ranks());
        settings.executor = Executor { method: Method::Conservative, workers };
        options.ranks.divide(&mut plan);
    }
    complete(&mut plan)?;
    if settings.trajectory != Format::Csv && plan.plots.iter().any(|p| p.is_of_events(&plan)) {
        console.remark(
            "note: timelines, and distributions of events, stay empty: they are drawn from \
             trajectory.csv, which is not written; leave `--trajectory` out",
        );
    }
    for warning in &plan.warnings {
        console.remark(&format!("warning: {warning}"));
    }
    let pulse = pulse.unwrap_or_else(Pulse::start);
    // Without a handler Ctrl-C ends the program at once, which a checkpoint outlives.
    let _ = pulse.on_interrupt();
    // Ends, and is complete, after the session whose workers it shows.
    options.timeline.iter().try_for_each(|file| place::ends(file, "json"))?;
    let timeline = options.timeline.as_deref().map(Timeline::start);
    let _timeline = timeline.transpose().map_err(Stop::usage)?;
    let _held = directory::hold(&settings.out)?;
    Results::prepare(&settings.out, &settings.file, options.force)?;
    if options.verify || options.tighten.is_some() {
        return verify(console, settings, options.tighten, &pulse);
    }
    let session = Session::start(plan, settings, pulse.clone()).map_err(Stop::before)?;
    go(console, session.over(company).since(began), &pulse)
}

/// `superdense resume DIR|FILE`, of a plan that `complete` completes.
pub(super) fn resume(
    console: &Console,
    from: &Path,
    ranks: &RankOptions,
    complete: &dyn Fn(&mut Plan) -> Done,
) -> Done {
    let is_dir = from.is_dir();
    let (file, dir) = match from.parent() {
        _ if is_dir => (from.join(CHECKPOINT), Some(from)),
        parent => (
            from.to_owned(),
            parent.map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p }),
        ),
    };
    if let Some(dir) = dir.filter(|d| d.join(VERIFYING).is_file()) {
        return verify::resume(console, dir);
    }
    let ended = |d: &&Path| matches!(Ending::of(d), Ending::Order);
    if let Some(dir) = dir.filter(|d| ended(d) && (is_dir || !file.is_file())) {
        let text = format!("the run in {} has ended; there is nothing to resume\n", dir.display());
        console.say(&text, || json!({ "command": "resume", "status": "done", "out": dir }));
        return Ok(());
    }
    if !file.is_file() {
        let why = format!(
            "there is no checkpoint {}; a run writes one with --checkpoint-every, or when it is interrupted by Ctrl-C",
            file.display()
        );
        return Err(Stop::usage(why));
    }
    // A directory may have been moved; a checkpoint may have been copied out of it.
    let beside = dir.filter(|d| is_dir || d.join("samples.csv").is_file());
    if ranks.hosts.is_none() {
        return go_on(console, (&file, beside), None, complete);
    }
    let read = || {
        let checkpoint = Checkpoint::read(&file).map_err(Stop::before)?;
        let settings = checkpoint.settings.clone();
        let mut plan = plan_of(&settings)?;
        ranks.divide(&mut plan);
        Ok((plan, settings, Some(checkpoint)))
    };
    let first =
        |company, pulse| go_on(console, (&file, beside), Some((company, pulse, ranks)), complete);
    ranks::run(console, &Task { ranks, read: &read, first: &first })
}

/// The way in which the run in a folder has ended.
enum Ending {
    /// Not yet, as far as its files tell.
    None,
    /// By a fault of another program, without which it could not go on.
    Fault,
    /// In order.
    Order,
}

impl Ending {
    fn of(dir: &Path) -> Self {
        let Ok(text) = std::fs::read_to_string(dir.join(SUMMARY)) else { return Self::None };
        let summary: Json = serde_json::from_str(&text).unwrap_or_default();
        if summary["ended"] == "fault" { Self::Fault } else { Self::Order }
    }
}

/// How to go on after a failure of other programs, where there is a checkpoint from before.
fn can_go_on(out: &Path, failure: &Failure) -> Option<String> {
    let others =
        matches!(Ending::of(out), Ending::Fault) || matches!(failure, Failure::Mismatch(_));
    let told =
        || format!("go on from its last checkpoint with: superdense resume {}", out.display());
    (others && out.join(CHECKPOINT).is_file()).then(told)
}

/// Goes on from a checkpoint, in a folder of results or in that which it names, perhaps as the first of some ranks.
fn go_on(
    console: &Console,
    (file, beside): (&Path, Option<&Path>),
    company: Option<(Company, Pulse, &RankOptions)>,
    complete: &dyn Fn(&mut Plan) -> Done,
) -> Done {
    let began = Instant::now();
    let checkpoint = Checkpoint::read(file).map_err(Stop::before)?;
    let out = beside.map_or_else(|| checkpoint.settings.out.clone(), Path::to_owned);
    let _held = out.is_dir().then(|| directory::hold(&out)).transpose()?;
    let mut settings = Settings { out, ..checkpoint.settings.clone() };
    let mut plan = plan_of(&settings)?;
    complete(&mut plan)?;
    let mut pulse = None;
    let company = company.map(|(company, of_ranks, ranks)| {
        let workers = Some(company.ranks.ranks());
        settings.executor = Executor { method: Method::Conservative, workers };
        ranks.divide(&mut plan);
        pulse = Some(of_ranks);
        company
    });
    let pulse = pulse.unwrap_or_else(Pulse::start);
    let _ = pulse.on_interrupt();
    let session =
        Session::resume(checkpoint, plan, settings, pulse.clone()).map_err(Stop::before)?;
    go(console, session.over(company).since(began), &pulse)
}

/// Refuses options that are not for runs in federations.
fn refuse_with_peers(options: &RunOptions, plan: &Plan) -> Done {
    let unfit = [
        ("--verify", options.verify),
        ("--tighten", options.tighten.is_some()),
        ("--ties", options.ties.is_some()),
        ("--real-time", options.real_time.is_some()),
    ];
    match unfit.iter().find(|u| u.1 && plan.has_peers()) {
        Some((name, _)) => Err(Stop::usage(format!(
            "{name}: a run in a federation is made once, and its peers do not go back; leave it out"
        ))),
        None => Ok(()),
    }
}

/// The plan, with the record that takes the place of its federation.
pub(super) fn plan_of(settings: &Settings) -> Result<Plan, Stop> {
    #[cfg_attr(not(feature = "federation"), expect(unused_mut, reason = "of federations"))]
    let mut plan = load(&settings.file, &settings.sets, &settings.overrides)?;
    #[cfg(feature = "federation")]
    if let Some(dir) = &settings.replay {
        super::federation::replay(&mut plan, dir)?;
    }
    Ok(plan)
}

/// Runs to the end, with a progress bar.
pub(super) fn drive(console: &Console, session: &mut Session) -> Result<Outcome, Failure> {
    let bar = bar(console);
    let (started, from) = (Instant::now(), session.progress().now);
    let outcome = session.run(&mut |p| show(bar.as_ref(), (started, from), p));
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    outcome
}

pub(super) fn go(console: &Console, mut session: Session, pulse: &Pulse) -> Done {
    let outcome = drive(console, &mut session);
    let out = session.settings().out.clone();
    let results = out.display().to_string();
    match outcome {
        Err(failure) => {
            // Earlier notes of units may tell the cause.
            let mut notes = session.notes();
            notes.extend(loops(session.settings(), &failure));
            notes.extend(can_go_on(&out, &failure));
            Err(Stop::Failed { failure: failure.into(), results: Some(results), notes })
        }
        Ok(Outcome::Interrupted { at, checkpoint }) => {
            // Why it took so long may be among them.
            session.notes().iter().for_each(|note| console.remark(&format!("note: {note}")));
            Err(interrupted(console, &at, &checkpoint, &out))
        }
        Ok(Outcome::Done(report)) => {
            for note in &report.notes {
                console.remark(&format!("note: {note}"));
            }
            if let Err(why) = &report.figure {
                console.remark(&format!("no figure: {why}"));
            }
            let ties = check_ties(&session, &report, pulse)?;
            let files = files_in(&out);
            console.say(&table(&report, &results, &files, ties.as_ref()), || {
                object(&report, &results, &files, ties.as_ref())
            });
            Ok(())
        }
    }
}

/// Tells of an interruption, and how to go on.
pub(super) fn interrupted(
    console: &Console,
    at: &str,
    checkpoint: &Result<PathBuf, String>,
    out: &Path,
) -> Stop {
    let results = out.display().to_string();
    let next = match checkpoint {
        Ok(_) => format!("go on with: superdense resume {results}"),
        Err(why) => format!("no checkpoint could be written: {why}"),
    };
    let text = format!("interrupted at {at} s; results so far are in {results}\n{next}\n");
    console.say(&text, || {
        json!({ "status": "interrupted", "exit_code": 130, "at": at,
                "out": results, "checkpoint": checkpoint.as_ref().ok() })
    });
    Stop::Interrupted
}

/// Names the loops of a scenario that failed after so many micro-steps of an instant that it went round
/// in one.
fn loops(settings: &Settings, failure: &Failure) -> Vec<String> {
    const MANY: u32 = 8;
    let Failure::Run { error, .. } = failure else { return Vec::new() };
    let at = match &**error {
        RunError::MicroSteps { at, .. } | RunError::Model { at, .. } => at,
        _ => return Vec::new(),
    };
    if at.micro < MANY {
        return Vec::new();
    }
    let graph = load_with_graph(&settings.file, &settings.sets, &settings.overrides);
    graph.map_or_else(|_| Vec::new(), |(_, graph)| graph::loops(&graph))
}

/// `--ties`: the seed and the models that depend on the order of simultaneous messages.
fn check_ties(
    session: &Session,
    report: &Report,
    pulse: &Pulse,
) -> Result<Option<(u64, Vec<String>)>, Stop> {
    let settings = session.settings();
    let Some(seed) = settings.ties else { return Ok(None) };
    let plan = plan_of(settings)?;
    let end = plan.resolution.parse_ticks(report.summary.end_time.get()).unwrap_or(plan.stop);
    let units = ties::compare(session, plan, end, seed, pulse).map_err(|failure| {
        let results = Some(settings.out.display().to_string());
        Stop::Failed { failure: failure.into(), results, notes: Vec::new() }
    })?;
    units.map(|u| Some((seed, u))).ok_or(Stop::Interrupted)
}

fn bar(console: &Console) -> Option<ProgressBar> {
    if console.quiet || console.json || !std::io::stderr().is_terminal() {
        return None;
    }
    // The message is cut where the terminal ends.
    let style = ProgressStyle::with_template("{bar:20} {percent:>3}%  {wide_msg}").ok()?;
    Some(ProgressBar::new(10_000).with_style(style.progress_chars("━╸─")))
}

/// `from`: the tick at which this process began, which is not zero where a run is resumed.
fn show(bar: Option<&ProgressBar>, (started, from): (Instant, i64), p: Progress) {
    let Some(bar) = bar else { return };
    let elapsed = started.elapsed().as_secs_f64();
    let rate = p.transitions as f64 / elapsed.max(1e-3);
    let seconds = |ticks: i64| p.resolution.seconds(ticks);
    let (now, stop) = (seconds(p.now), seconds(p.stop));
    bar.set_position((p.now as f64 / p.stop.max(1) as f64 * 10_000.0) as u64);
    let left = left(elapsed, (from, p.now, p.stop));
    bar.set_message(format!("{now:.4} of {stop} s  {} transitions/s  {left}", short(rate)));
}

/// An estimate of the wall time to the end, from what this process has done: since `from` it has come to
/// `now`.
pub(super) fn left(elapsed: f64, (from, now, stop): (i64, i64, i64)) -> String {
    let done = now.saturating_sub(from) as f64;
    // The first moments say nothing.
    if elapsed < 0.5 || done <= 0.0 {
        return String::new();
    }
    let seconds = elapsed * stop.saturating_sub(now).max(0) as f64 / done;
    match seconds {
        s if s < 100.0 => format!("{s:.0} s left"),
        s if s < 6000.0 => format!("{:.0} min left", s / 60.0),
        s if s < 360_000.0 => format!("{:.0} h left", s / 3600.0),
        s => format!("{:.0} d left", s / 86_400.0),
    }
}

fn short(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{:.1} M", x / 1e6),
        x if x >= 1e3 => format!("{:.1} k", x / 1e3),
        x => format!("{x:.0}"),
    }
}

pub(super) fn files_in(out: &Path) -> Vec<String> {
    let names =
        ["events.csv", "samples.csv", "trajectory.csv", "units.csv", SUMMARY, "performance.json"];
    let figures = ["plots.json", "plot.svg", "plot.png"];
    let there = |name: &&&str| out.join(name).is_file();
    let mut files: Vec<String> =
        names.iter().chain(&figures).filter(there).map(|n| (*n).to_owned()).collect();
    let parts = std::fs::read_dir(out).into_iter().flatten().flatten();
    let parts = parts.filter_map(|e| e.file_name().into_string().ok());
    let parts = parts.filter(|n| n.ends_with(".parquet")).count();
    if parts > 0 {
        files.push(format!("trajectory-*.parquet ({parts})"));
    }
    files
}

pub(super) fn table(
    report: &Report,
    results: &str,
    files: &[String],
    ties: Option<&(u64, Vec<String>)>,
) -> String {
    let s = &report.summary;
    let mut text = String::new();
    let events = report.events.as_deref().unwrap_or_default();
    if !events.is_empty() {
        let head = ["time / s", "micro", "unit", "event", "kind"].map(str::to_owned).to_vec();
        let row = |e: &crate::run::EventRow| {
            vec![
                e.time.clone(),
                e.micro.to_string(),
                e.unit.clone(),
                e.event.clone(),
                e.kind.clone(),
            ]
        };
        let rows: Vec<_> = [head].into_iter().chain(events.iter().map(row)).collect();
        text.push_str(&columns(&rows, &[1]));
        text.push('\n');
    }
    let pair = |name: &str, value: String| vec![name.to_owned(), value];
    let mut facts = vec![pair("end time", format!("{} s", s.end_time))];
    if let Some(reason) = &s.stopped {
        facts.push(pair("stopped", reason.clone()));
    }
    let (transitions, kinds) =
        (s.internal + s.external + s.confluent, [s.internal, s.external, s.confluent]);
    let [internal, external, confluent] = kinds;
    facts.extend([
        pair(
            "transitions",
            format!(
                "{transitions} ({internal} internal, {external} external, {confluent} confluent)"
            ),
        ),
        pair("messages", format!("{} in {} cycles", s.messages, s.cycles)),
    ]);
    // Counts of continuous units say nothing where there are none.
    if report.continuous > 0 || s.events > 0 {
        facts.push(pair("located", format!("{} state and time events, in events.csv", s.events)));
    }
    if report.continuous > 0 {
        facts.push(pair("exchanged", format!("{} messages among continuous units", s.exchanges)));
        let cut =
            if s.cut_steps > 0 { format!(", {} cut short", s.cut_steps) } else { String::new() };
        facts.push(pair("steps", format!("{}, {} rejected{cut}", s.steps, s.rejected_steps)));
    }
    if !s.results.is_empty() {
        text.push_str(&results_table(&s.results));
        text.push('\n');
    }
    facts.extend([
        pair("trace hash", s.trace_hash.clone()),
        pair("wall time", format!("{:.3} s", report.wall_seconds)),
    ]);
    if let Some((seed, units)) = ties {
        let said = if units.is_empty() { "no unit".to_owned() } else { units.join(", ") };
        facts.push(pair(
            "ties",
            format!("depending on the order of messages (seed {seed}): {said}"),
        ));
    }
    facts.push(pair("results", format!("{results}: {}", files.join(" "))));
    text.push_str(&format!("{}\n{}", s.scenario, columns(&facts, &[])));
    text
}

/// Names, values and units of measure.
fn results_table(lines: &[Line]) -> String {
    let rows = lines.iter().map(|line| {
        let value = match &line.outcome {
            outcome if outcome.value().is_none() => "never".to_owned(),
            Found::Number(value) => value.map_or_else(String::new, readable),
            Found::Object { value, low, high, bar, .. } => {
                let mut value = value.map_or_else(String::new, readable);
                if let Some(bar) = bar {
                    value.push_str(&format!(" ± {bar:.1e}"));
                }
                if let (Some(low), Some(high)) = (low, high) {
                    value.push_str(&format!(" (95 %: {} to {})", readable(*low), readable(*high)));
                }
                value
            }
        };
        let known = line.outcome.value().is_some();
        let unit = line.unit.as_deref().filter(|_| known).unwrap_or("");
        let guessed = matches!(line.outcome, Found::Object { sampled: true, .. });
        let mark = if guessed { " (sampled: between its steps an FMU is guessed)" } else { "" };
        vec![line.name.clone(), format!("{value} {unit}").trim_end().to_owned() + mark]
    });
    columns(&rows.collect::<Vec<_>>(), &[])
}

/// Nine digits, without zeros at the end.
fn readable(x: f64) -> String {
    let text = format!("{x:.8e}");
    let rounded: f64 = text.parse().unwrap_or(x);
    let mut out = String::new();
    numbers::real(&mut out, rounded);
    out
}

pub(super) fn object(
    report: &Report,
    results: &str,
    files: &[String],
    ties: Option<&(u64, Vec<String>)>,
) -> Json {
    let mut object = json!({
        "status": "done",
        "exit_code": 0,
        "out": results,
        "files": files,
        "summary": report.summary,
        "events": report.events,
        "wall_seconds": report.wall_seconds,
    });
    if let Some((seed, units)) = ties {
        object["ties"] = json!({ "seed": seed, "units": units });
    }
    object
}

/// `superdense plot DIR`.
pub(super) fn plot(console: &Console, dir: &Path) -> Done {
    let _held = dir.is_dir().then(|| directory::hold(dir)).transpose()?;
    let pictures = crate::plot::draw(dir, Pictures::ALL);
    let pictures = pictures.map_err(|e| Stop::usage(e.to_string()))?;
    super::compare::tell_changed(console, dir)?;
    let (mut panels, mut files) = (0, Vec::<PathBuf>::new());
    let mut text = "nothing is recorded, so there is nothing to draw\n".to_owned();
    if let Some(pictures) = &pictures {
        Results::open(dir)?.put(&pictures.files())?;
        panels = pictures.panels;
        files.extend(pictures.files().iter().map(|(name, _)| dir.join(name)));
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        text = format!("{panels} panels: {}\n", names.join(" "));
    }
    console.say(&text, || json!({ "status": "done", "panels": panels, "files": files }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of a run was done before it was resumed: that took none of the time of this process.
    #[test]
    fn estimates_begin_where_the_process_began() {
        assert_eq!(left(10.0, (500, 625, 1000)), "30 s left");
        assert_eq!(left(10.0, (0, 10, 1000)), "16 min left");
        assert_eq!(left(1.0, (0, 1, 1_000_000)), "12 d left");
        assert_eq!(left(0.1, (0, 10, 1000)), "");
        assert_eq!(left(10.0, (0, 0, 1000)), "");
        assert_eq!(left(10.0, (0, 1000, 1000)), "0 s left");
    }
}
