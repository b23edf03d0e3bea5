//! Prints how `method = "auto"` does beside the best fixed method, problem by problem.
use clap::Parser;
use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use superdense_benches::auto::{self, MEAN, MOST, Problem, Row, geometric_mean};

/// Instructions of `auto` beside those of the best fixed method at the same error, by callgrind.
#[derive(Parser)]
struct Cli {
    /// One JSON object per line instead of a table
    #[arg(long)]
    json: bool,
    /// Only problems whose names contain one of these
    names: Vec<String>,
    /// The seed of the drawn problems; another one is another set
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many problems are drawn
    #[arg(long, default_value_t = 24)]
    drawn: u64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// One run (used by this program itself)
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.child {
        Some(job) => auto::serve(job).map(|()| true),
        None => table(&cli),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// All rows; whether all are met.
fn table(cli: &Cli) -> Result<bool, String> {
    let folder = std::env::temp_dir().join(format!("auto-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut problems = Problem::shipped()?;
    problems.extend(Problem::drawn(cli.seed, cli.drawn, &folder)?);
    let named = |p: &Problem| cli.names.iter().any(|n| p.name.contains(n));
    problems.retain(|p| cli.names.is_empty() || named(p));
    let (next, done) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..cli.threads.max(1) {
            scope.spawn(|| {
                while let Some(problem) = problems.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = auto::compare(problem);
                    let Ok(mut done) = done.lock() else { return };
                    match row {
                        Ok(row) => {
                            println!("{}", line(&row, cli.json));
                            done.0.push(row);
                        }
                        Err(why) => {
                            eprintln!("{why}");
                            done.1.push(why);
                        }
                    }
                }
            });
        }
    });
    drop(std::fs::remove_dir_all(&folder));
    let (rows, failed) = done.into_inner().map_err(|e| e.to_string())?;
    let missed = rows.iter().filter(|r| !r.is_met()).count();
    let mean = geometric_mean(&rows);
    let met = missed == 0 && failed.is_empty() && mean <= MEAN;
    let summary = format!(
        "{} problems, {missed} above {MOST}, {} failed, geometric mean {mean:.3} (at most {MEAN})",
        rows.len() + failed.len(),
        failed.len()
    );
    if cli.json {
        eprintln!("{summary}");
    } else {
        println!("{summary}");
    }
    Ok(met)
}

fn line(row: &Row, json: bool) -> String {
    if json {
        return serde_json::to_string(row).expect("plain data");
    }
    format!(
        "{:<22} {:>12} {:<8} {:>12} {:>7.2} {:>9.2e} {:>9.2e}  {}{}",
        row.problem,
        row.auto_instructions,
        row.best,
        row.best_instructions,
        row.ratio,
        row.error,
        row.best_error,
        row.chosen,
        if row.is_met() { "" } else { "  NOT MET" }
    )
}
