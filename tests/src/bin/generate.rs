//! Makes random models, runs them and judges what the program does with them.
use std::{path::PathBuf, process::ExitCode, time::Instant};
use superdense_tests::generate::{
    bars,
    campaign::{self, Options, Report},
    coverage::{DECIDED, FLOOR},
    kinds,
    settings::Method,
};

const USAGE: &str = "\
usage: generate [--seed S] [--models N] [--from K] [--kind hybrid|network|coupling|diagram|executor|bars]
                [--method M] [--all-methods] [--judge NAME] [--all-judges] [--corpus DIR] [--keep N] [--threads N]
                [--show K] [--first FILE] [--slow SECONDS] [--json]

  --from K      begin with model K; with --models 1 replays it
  --show K      print model K and stop
  --keep N      shrunk models per judge (10)
  --corpus DIR  where they go (target/generate)
  --first FILE  end at the first disagreement that the file, a line `judge:number` each, does not have;
                leave out the models that it calls slow
  --slow S      with --json: tell the models that compute for more than S seconds, with one thread";

struct Arguments {
    options: Options,
    kind: String,
    show: Option<u64>,
    json: bool,
}

fn arguments() -> Result<Arguments, String> {
    let folder = PathBuf::from("target/generate");
    let mut options = Options::new(1, 1000, folder);
    options.threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut this = Arguments { options, kind: "hybrid".into(), show: None, json: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let o = &mut this.options;
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--seed" => o.seed = number(value()?)?,
            "--models" => o.models = number(value()?)?,
            "--from" => o.from = number(value()?)?,
            "--kind" => this.kind = value()?,
            "--method" => {
                let name = value()?;
                o.method = Some(Method::of(&name).ok_or(format!("no method {name}"))?);
            }
            "--all-methods" => o.all_methods = true,
            "--judge" => o.judge = Some(value()?),
            "--all-judges" => o.all_judges = true,
            "--corpus" => o.folder = PathBuf::from(value()?),
            "--keep" => o.keep = number(value()?)? as usize,
            "--threads" => o.threads = number(value()?)? as usize,
            "--first" => {
                let file = value()?;
                let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
                o.first_beside = Some(text.lines().map(str::to_owned).collect());
            }
            "--slow" => {
                let text = value()?;
                o.slow = Some(text.parse().map_err(|_| format!("{text} is no number"))?);
            }
            "--show" => this.show = Some(number(value()?)?),
            "--json" => this.json = true,
            other => return Err(format!("no option {other}")),
        }
    }
    Ok(this)
}

fn tell(report: &Report, seconds: f64) {
    println!("{}", report.coverage.table());
    println!(
        "\n{:<12} {:>8} {:>8} {:>10} {:>10}",
        "judge", "agrees", "skipped", "undecided", "disagrees"
    );
    for (judge, [a, s, u, d]) in &report.opinions {
        println!("{judge:<12} {a:>8} {s:>8} {u:>10} {d:>10}");
    }
    for (why, numbers) in &report.errors {
        let first: Vec<_> = numbers.iter().take(4).map(u64::to_string).collect();
        println!("{:>6} {why} (models {})", numbers.len(), first.join(", "));
    }
    println!("{:>6} errors that the rules demand", report.demanded);
    let [decided, all] = report.stateless_decided();
    println!("{all:>6} models with a unit without states, {decided} of them judged to the end");
    for (why, count) in &report.reasons {
        println!("{count:>6} undecided: {why}");
    }
    for d in &report.disagreements {
        let (n, method) = (d.case.number, d.case.settings.method.name());
        println!("model {n} {method} {}: {}", d.judge, d.finding.difference);
        println!("    seen  {}\n    right {}", d.finding.seen, d.finding.right);
    }
    let rate = report.models as f64 / seconds.max(1e-9);
    println!("{} models, {} runs, {rate:.0} models/s", report.models, report.runs);
}

/// Networks, couplings, executors.
fn other_kind(arguments: &Arguments, begun: Instant) -> Result<ExitCode, String> {
    let kind = &arguments.kind;
    let names = "hybrid, network, coupling, diagram, executor, bars";
    let check = kinds::check(kind).ok_or_else(|| format!("no kind {kind}: {names}"))?;
    if let Some(why) = kinds::refusal(kind, &arguments.options) {
        return Err(why);
    }
    let found = kinds::run(kind, &arguments.options, check.as_ref()).map_err(|e| e.to_string())?;
    for (number, why) in &found.disagreements {
        println!("model {number}: {why}");
    }
    let rate = found.models as f64 / begun.elapsed().as_secs_f64().max(1e-9);
    println!("{} models, {} runs, {rate:.0} models/s", found.models, found.runs);
    if arguments.json {
        let found = Counted {
            models: found.models,
            runs: found.runs,
            undecided: 0,
            errors: 0,
            demanded: 0,
            files: &found.files,
            slow: &found.slow,
            disagreements: found.disagreements.len(),
            keys: found.disagreements.iter().map(|d| Options::key(kind, d.0)).collect(),
        };
        found.print(&arguments.options);
    }
    Ok(if found.disagreements.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The object that `--json` prints.
struct Counted<'a> {
    models: u64,
    runs: u64,
    undecided: u64,
    errors: usize,
    /// Runs that end in an error as the rules demand.
    demanded: u64,
    files: &'a [PathBuf],
    disagreements: usize,
    /// Disagreements, and what was refused.
    keys: Vec<String>,
    slow: &'a [String],
}

impl Counted<'_> {
    fn print(&self, options: &Options) {
        let files: Vec<_> = self.files.iter().map(|f| f.display().to_string()).collect();
        println!(
            "{}",
            serde_json::json!({
                "seed": options.seed,
                "models": self.models,
                "runs": self.runs,
                "undecided": self.undecided,
                "errors": self.errors,
                "demanded_errors": self.demanded,
                "disagreements": self.disagreements,
                "keys": self.keys,
                "slow": self.slow,
                "files": files,
            })
        );
    }
}

fn hybrid(arguments: &Arguments, begun: Instant) -> Result<ExitCode, String> {
    let report = campaign::run(&arguments.options).map_err(|e| e.to_string())?;
    tell(&report, begun.elapsed().as_secs_f64());
    let missing = if report.models >= FLOOR { report.coverage.missing() } else { Vec::new() };
    missing.iter().for_each(|cell| println!("never hit: {cell}"));
    let few = report.models >= FLOOR && report.decides_little();
    if few {
        println!(
            "too few of the models with a unit without states are judged to the end (below {DECIDED} %)"
        );
    }
    if arguments.json {
        let found = Counted {
            models: report.models,
            runs: report.runs,
            undecided: report.undecided,
            errors: report.errors.values().map(Vec::len).sum(),
            demanded: report.demanded,
            files: &report.files,
            slow: &report.slow,
            disagreements: report.disagreements.len(),
            keys: report.keys(),
        };
        found.print(&arguments.options);
    }
    Ok(match report.disagreements.is_empty() && missing.is_empty() && !few {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Error bars of `--verify`.
fn error_bars(arguments: &Arguments) -> Result<ExitCode, String> {
    let options = &arguments.options;
    let found = bars::run(options).map_err(|e| e.to_string())?;
    println!(
        "{:<12} {:<8} {:>6} {:>8} {:>9} {:>8} {:>9} {:>7} {:>9} {:>9} {:>9}",
        "family",
        "method",
        "runs",
        "events",
        "inside",
        "samples",
        "inside",
        "apart",
        "unmatched",
        "bar/error",
        "samples"
    );
    let percent = |[all, inside]: [usize; 2]| 100.0 * inside as f64 / all.max(1) as f64;
    for ((family, method), cell) in &found.table {
        println!(
            "{family:<12} {:<8} {:>6} {:>8} {:>8.3}% {:>8} {:>8.3}% {:>7} {:>9} {:>9.2} {:>9.2}{}",
            method.name(),
            cell.runs,
            cell.events[0],
            percent(cell.events),
            cell.samples[0],
            percent(cell.samples),
            cell.apart,
            cell.unmatched,
            cell.medians()[0],
            cell.medians()[1],
            if cell.is_met() { "" } else { "  NOT MET" }
        );
    }
    for (number, method, why) in found.missed.iter().take(options.keep) {
        println!("model {number} {}: {why}", method.name());
    }
    if arguments.json {
        let rows = found.table.iter().map(|((family, method), cell)| {
            serde_json::json!({
                "family": family, "method": method.name(), "runs": cell.runs,
                "events": cell.events[0], "events_inside": cell.events[1],
                "samples": cell.samples[0], "samples_inside": cell.samples[1],
                "apart": cell.apart, "unmatched": cell.unmatched, "medians": cell.medians(),
            })
        });
        let rows: Vec<_> = rows.collect();
        println!(
            "{}",
            serde_json::json!({ "seed": options.seed, "models": found.models, "bars": rows })
        );
    }
    let met = found.table.values().all(bars::Cell::is_met);
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    let begun = Instant::now();
    let done = arguments().and_then(|arguments| {
        if let Some(number) = arguments.show {
            print!("{}", campaign::case(arguments.options.seed, number).text());
            return Ok(ExitCode::SUCCESS);
        }
        match arguments.kind.as_str() {
            "hybrid" => hybrid(&arguments, begun),
            "bars" => error_bars(&arguments),
            _ => other_kind(&arguments, begun),
        }
    });
    done.unwrap_or_else(|why| {
        eprintln!("{why}\n{USAGE}");
        ExitCode::from(2)
    })
}
