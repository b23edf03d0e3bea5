//! `superdense study`: questions about a scenario, answered by many runs.
use super::{
    Done,
    report::{Console, Stop, columns},
    run::left,
};
use crate::{
    output::directory,
    run::pulse::Pulse,
    study::{
        ANSWERS, Conducted, Home, Limits, Lost, Piece, RESULTS, Runner, STORE, ScenarioRunner,
        Sets, Study, StudyError,
        answer::{self, Answer},
        ask::Kind,
        conduct::Progress,
        first::{ROUND, Variant},
    },
};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

mod elsewhere;
mod export;
mod rerun;

/// Options of `study`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct StudyOptions {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    run: Option<RunOptions>,
}

/// Other things to do with a study.
#[derive(Debug, Subcommand)]
enum Action {
    /// Do one run of a study again, with all of its files.
    Rerun(rerun::RerunOptions),
    /// Write the runs of a study in another form.
    Export(export::ExportOptions),
}

/// Options of a study that is run.
#[derive(Debug, Args)]
struct RunOptions {
    /// Study file.
    file: PathBuf,
    /// Answer only this question.
    #[arg(long, value_name = "NAME")]
    ask: Option<String>,
    /// Number of runs at a time; never changes results [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: Option<u32>,
    /// Directory of the study [default: out/<study>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set a parameter or any other value of the scenario; may be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = super::options::assignment,
          allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// Tell how many runs there would be and, from one trial, how long they would take.
    #[arg(long)]
    dry_run: bool,
    /// Do runs again that failed or took too long.
    #[arg(long)]
    retry_failed: bool,
    /// Who does the runs: `local`, `dask:HOST:PORT`, or `list`, which prints commands for other machines. What they did
    /// is taken in by the next call. Never changes results.
    #[arg(long, value_name = "WHERE", default_value = "local", conflicts_with_all = ["dry_run", "piece"])]
    on: elsewhere::On,
    /// Number of commands that `--on list` prints.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pieces: u32,
    /// Do one piece of the missing runs.
    #[arg(long, value_name = "K/N", value_parser = elsewhere::piece, conflicts_with = "dry_run")]
    piece: Option<Piece>,
}

impl From<StudyError> for Stop {
    fn from(e: StudyError) -> Self {
        Self::usage(e.to_string())
    }
}

/// `superdense study …`.
pub(super) fn study(console: &Console, options: &StudyOptions) -> Done {
    match (&options.action, &options.run) {
        (Some(Action::Rerun(options)), _) => rerun::rerun(console, options),
        (Some(Action::Export(options)), _) => export::export(console, options),
        (None, Some(options)) => run(console, options),
        (None, None) => Err(Stop::usage("name a study file")),
    }
}

fn run(console: &Console, options: &RunOptions) -> Done {
    let (mut study, runner) = Study::read(&options.file, &options.set)?;
    if let Some(name) = &options.ask {
        study.only(name).map_err(Stop::usage)?;
    }
    let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = options.workers.map_or_else(cores, |n| n as usize);
    runner.side_by_side(workers);
    if options.dry_run {
        return dry_run(console, &study, &runner, workers);
    }
    let out = match &options.out {
        Some(out) => out.clone(),
        None => directory::default_for(&study.name).map_err(Stop::usage)?,
    };
    if let elsewhere::On::Dask(scheduler) = &options.on {
        elsewhere::by_dask(options, scheduler, &out)?;
    }
    let mut home = match options.piece {
        Some(piece) => Home::piece(&study, &options.file, (&out, piece), options.retry_failed)?,
        None => Home::open(&study, &options.file, &out, options.retry_failed)?,
    };
    let pulse = Pulse::default();
    // Without a handler Ctrl-C ends the program at once, which the store outlives.
    let _ = pulse.on_interrupt();
    let bar = bar(console);
    let nothing = (options.on == elsewhere::On::List).then_some(Piece { number: 0, of: 1 });
    let limits = Limits { workers, timeout: study.timeout, piece: options.piece.or(nothing) };
    let began = Instant::now();
    let mut tell = |p: Progress| show(bar.as_ref(), began, p);
    let stop = || pulse.interrupted();
    let ended = home.conduct(&study, &runner, limits, &stop, &mut tell);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let answers = match &ended {
        Ok(Some(found)) if found.left == 0 => Some(home.write(&study, found)),
        _ => None,
    };
    // Why rows were not taken says the writer.
    home.close()?;
    match ended? {
        Some(found) if found.left > 0 => elsewhere::left(console, options, &found, &out),
        Some(found) => {
            let answers = answers.transpose()?.unwrap_or_default();
            report(console, (&study, &found), &answers, &out)
        }
        None => {
            let text = format!(
                "interrupted; all runs that had ended are kept in {}\nthe same command goes on\n",
                out.display()
            );
            console.say(&text, || json!({ "status": "interrupted", "exit_code": 130, "out": out }));
            Err(Stop::Interrupted)
        }
    }
}

/// Tells the answers.
fn report(
    console: &Console,
    (study, found): (&Study, &Conducted<'_>),
    answers: &[(String, Answer)],
    out: &Path,
) -> Done {
    let (runs, lost) = (found.runs.len(), found.lost());
    let line = |(name, answer): &(String, answer::Answer)| {
        let (words, runs) = answer.line();
        vec![name.clone(), words.to_owned(), format!("{runs} runs")]
    };
    let rows: Vec<_> = answers.iter().map(line).collect();
    let text = format!(
        "{}\n{}{} runs, {} of them new: {}: {STORE} {RESULTS} {ANSWERS}\n",
        study.title,
        columns(&rows, &[2]),
        runs,
        found.fresh,
        out.display()
    );
    console.say(&text, || {
        let answers: serde_json::Value =
            serde_json::from_slice(&answer::json(answers)).unwrap_or_default();
        let status = if lost > 0 { "failed" } else { "done" };
        json!({
            "command": "study",
            "status": status,
            "exit_code": if lost > 0 { 3 } else { 0 },
            "out": out,
            "runs": runs,
            "new": found.fresh,
            "failed": lost,
            "answers": answers,
        })
    });
    if lost > 0 { Err(Stop::Lost(why(found))) } else { Ok(()) }
}

/// How many runs have no results, and why the first of them has none.
fn why(found: &Conducted<'_>) -> String {
    let lost = found.lost();
    let mut first: Vec<_> = found.runs.iter().filter(|(_, run)| run.error.is_some()).collect();
    first.sort_by_key(|((place, replicate), _)| (found.numbers[*place], *replicate));
    let example = first.first().map_or_else(String::new, |((place, replicate), run)| {
        let error = run.error.as_deref().unwrap_or_default();
        format!("; point {} replicate {replicate}: {error}", found.numbers[*place])
    });
    let runs = if lost == 1 { "run has" } else { "runs have" };
    format!("{lost} {runs} no results{example}\ndo them again with --retry-failed")
}

fn bar(console: &Console) -> Option<ProgressBar> {
    if console.quiet || console.json || !std::io::stderr().is_terminal() {
        return None;
    }
    // At most 80 columns with a million runs, a thousand of which failed.
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} runs  {msg}").ok()?;
    Some(ProgressBar::new(0).with_style(style.progress_chars("━╸─")))
}

fn show(bar: Option<&ProgressBar>, began: Instant, p: Progress) {
    let Some(bar) = bar else { return };
    bar.set_length(p.asked as u64);
    bar.set_position(p.done as u64);
    let left = left(
        began.elapsed().as_secs_f64(),
        (0, p.fresh as i64, (p.fresh + p.asked - p.done) as i64),
    );
    let lost = if p.lost > 0 { format!("{} failed  ", p.lost) } else { String::new() };
    bar.set_message(format!("{lost}{left}"));
}

/// `--dry-run`.
fn dry_run(console: &Console, study: &Study, runner: &ScenarioRunner, workers: usize) -> Done {
    let counts: Vec<_> = study.asks.iter().map(|ask| (ask, expected(study, ask))).collect();
    let began = Instant::now();
    let failed = |why: String| Stop::usage(format!("the trial failed: {why}"));
    let (_, plan) = runner.plan(&Sets::new(), None).map_err(failed)?;
    let ran = runner.run(plan, &Pulse::default());
    ran.map_err(|lost| match lost {
        Lost::Failed(why) => failed(why),
        Lost::Interrupted | Lost::Left => failed("it was interrupted".to_owned()),
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let all = |at: usize| counts.iter().map(|(_, c)| c[at]).sum::<f64>();
    let (least, most) = (all(0), all(1));
    let time = |runs: f64| runs * seconds / workers as f64;
    let range = |a: String, b: String| if a == b { a } else { format!("{a} to {b}") };
    let runs = |[a, b]: [f64; 2]| range(format!("{a:.0}"), format!("{b:.0}"));
    let row = |(ask, count): &(&crate::study::ask::Ask, [f64; 2])| {
        let about = match ask.kind {
            Kind::Boundary { .. } => "about ",
            Kind::First { .. } | Kind::Design { .. } => "",
        };
        vec![ask.name.value.clone(), format!("{about}{} runs", runs(*count))]
    };
    let rows: Vec<_> = counts.iter().map(row).collect();
    let takes = range(format!("{:.1}", time(least)), format!("{:.1}", time(most)));
    let text = format!(
        "{}\n{}one run took {seconds:.3} s, so that with {workers} workers all take about {takes} s\n",
        study.title,
        columns(&rows, &[1]),
    );
    console.say(&text, || {
        let asks: serde_json::Map<_, _> = counts
            .iter()
            .map(|(ask, [a, b])| (ask.name.value.clone(), json!({ "least": a, "most": b })))
            .collect();
        json!({
            "command": "study", "status": "dry run", "exit_code": 0, "runs": asks,
            "seconds_per_run": seconds, "seconds": [time(least), time(most)],
        })
    });
    Ok(())
}

/// Least and most runs of a question; of a search those for one change.
fn expected(study: &Study, ask: &crate::study::ask::Ask) -> [f64; 2] {
    let [fewest, points] = match &ask.kind {
        Kind::Design { points, .. } => [points.len() as f64; 2],
        Kind::Boundary { over, .. } => [study.parameters[*over].points_of_search(); 2],
        // The first round may do, and all may be needed.
        Kind::First { variants, .. } => {
            let of = |v: &Variant| v.points.len();
            let first = variants.first().map_or(0, of).min(ROUND);
            [first as f64, variants.iter().map(of).sum::<usize>() as f64]
        }
    };
    let rule = ask.replication;
    let most = if ask.until.is_empty() && matches!(ask.kind, Kind::Design { .. }) {
        rule.least
    } else {
        rule.most
    };
    [fewest * f64::from(rule.least), points * f64::from(most)]
}
