//! Fails when a fixed small run needs more instructions than stored in `gates.toml`.
use clap::Parser;
use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, ExitCode},
};
use superdense_benches::gates::{CASES, MEASURED};

/// Counts instructions with callgrind and compares them with the stored counts.
#[derive(Parser)]
struct Cli {
    /// Store the counts instead of comparing them
    #[arg(long)]
    update: bool,
    /// Run one case (used by this program itself, under callgrind)
    #[arg(long, hide = true)]
    case: Option<String>,
}

/// How much a count may grow.
const SLACK: f64 = 0.02;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Some(name) = cli.case {
        CASES.iter().filter(|c| c.name == name).for_each(|c| (c.run)());
        return ExitCode::SUCCESS;
    }
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|o| o.status.success()) {
        println!("SKIPPED: valgrind is not installed, so no instruction was counted");
        return ExitCode::SUCCESS;
    }
    match gate(cli.update) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn gate(update: bool) -> Result<bool, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("gates.toml");
    let stored = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?,
        Err(_) if update => BTreeMap::<String, u64>::new(),
        Err(e) => return Err(format!("{}: {e}; store counts with --update", path.display())),
    };
    let mut counts = BTreeMap::new();
    let mut good = true;
    for case in &CASES {
        let count = count(case.name)?;
        counts.insert(case.name, count);
        let Some(&before) = stored.get(case.name) else {
            println!("{:<18} {count:>12}  new", case.name);
            good &= update;
            continue;
        };
        let growth = count as f64 / before as f64 - 1.0;
        let bad = growth > SLACK;
        let verdict = if bad { "TOO MANY" } else { "ok" };
        println!("{:<18} {count:>12}  {:+.2} %  {verdict}", case.name, growth * 100.0);
        good &= update || !bad;
    }
    if update {
        let mut text = String::from(
            "# Instructions of fixed small runs, without the build of the model.\n\
             # Written by `cargo run --release -p superdense-benches --bin gate -- --update`.\n",
        );
        text.push_str(&toml::to_string(&counts).map_err(|e| e.to_string())?);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("stored in {}", path.display());
    } else if !good {
        println!(
            "a count grew by more than {:.0} %: find out why (callgrind_annotate), or store the \
             new counts with --update and say why in the commit",
            SLACK * 100.0
        );
    }
    Ok(good)
}

/// The instructions of one case.
fn count(case: &str) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let out = std::env::temp_dir().join(format!("gate-{}-{case}", std::process::id()));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(own)
        .args(["--case", case])
        .output()
        .map_err(|e| e.to_string())?;
    drop(std::fs::remove_file(&out));
    let log = String::from_utf8_lossy(&output.stderr);
    let collected = log.lines().find_map(|l| l.split("Collected : ").nth(1)?.trim().parse().ok());
    match collected {
        Some(n) if n > 0 => Ok(n),
        _ => Err(format!("callgrind counted nothing for {case}:\n{log}")),
    }
}
