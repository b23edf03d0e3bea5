//! Ours and the peers, each in its own process, in turn.
use clap::{Parser, Subcommand};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use superdense_benches::{
    child, fmus, net, phold, precision,
    report::{Row, heading, line, met, target},
    suites::{Effort, bounces, devstone, exchange, timers},
    timers::Load,
    workers,
};

/// Compares Superdense with its peers in one run.
#[derive(Parser)]
struct Cli {
    /// One JSON object per line instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Small models, one repetition: a check that all runs, not a measurement
    #[arg(long, global = true)]
    quick: bool,
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// LI, HI, HO, HOmod against xdevs
    Devstone,
    /// Independent timers, and the event lists alone
    Hold,
    /// Tokens passed from entity to entity
    Ring,
    /// Two units that exchange through a coupling against events of a bare heap
    Exchange,
    /// A ball's bounces in a continuous unit against a loop written by hand
    Bounces,
    /// FMUs against loops in C, equations and bare messages
    Fmus,
    /// Queues and packet networks against SimPy and ns-3
    Grid,
    /// Time Warp against the sequential executor
    Phold {
        /// Only workloads whose names contain this: `phold`, `torus`, `qss-line`, `devstone`.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Continuous methods on equations, at equal error, against diffsol, scipy and heyoka
    Qss {
        /// advection, lc-line, van-der-pol, stiff, lotka, bounces, s1a; all if none is named
        problems: Vec<String>,
        /// Writes a work-precision diagram of each problem, PROBLEM.svg, into this folder
        #[arg(long)]
        plots: Option<PathBuf>,
    },
    /// One measurement (used by this program itself)
    #[command(hide = true)]
    Child { job: String },
    /// The worker of an FMU (used by this program itself)
    #[command(hide = true)]
    Worker,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let effort = Effort { quick: cli.quick };
    let (mut missed, mut missed_there) = (0, 0);
    let mut sink = |row: Row| {
        missed += usize::from(target(&row).is_some_and(|t| !met(&row, t)));
        if cli.json {
            println!("{}", serde_json::to_string(&row).expect("plain data"));
        } else {
            println!("{}", line(&row));
        }
    };
    let rows = matches!(
        cli.suite,
        Suite::Devstone | Suite::Hold | Suite::Ring | Suite::Exchange | Suite::Bounces
    );
    if !cli.json && rows {
        println!("{}", heading());
    }
    let result = match &cli.suite {
        Suite::Devstone => devstone(effort, &mut sink),
        Suite::Hold => timers(Load::Hold, effort, &mut sink),
        Suite::Ring => timers(Load::Ring, effort, &mut sink),
        Suite::Exchange => exchange(effort, &mut sink),
        Suite::Bounces => bounces(effort, &mut sink),
        Suite::Fmus => with_fmus(effort, cli.json, &mut missed_there),
        Suite::Worker => return superdense::fmu_worker::serve(),
        Suite::Grid => grid(effort, cli.json, &mut missed_there),
        Suite::Phold { only } => {
            let phold = || phold::compare(cli.quick, &mut |row| phold_line(cli.json, &row));
            let mut others = |row| workers_line(cli.json, &row);
            let asked = "phold".contains(&**only);
            let done = if asked { phold() } else { Ok(()) };
            done.and_then(|()| workers::compare(cli.quick, only, &mut others))
        }
        Suite::Qss { problems, plots } => precision::suite(effort, problems, &mut |curves| {
            missed_there += curves.missed();
            curves_of(cli.json, &curves);
            if let Some(folder) = plots
                && let Err(why) = diagram(folder, &curves)
            {
                eprintln!("{}: no diagram: {why}", curves.problem().name());
            }
        }),
        Suite::Child { job } => child::serve(job),
    };
    match result {
        Ok(()) => {
            missed += missed_there;
            if missed > 0 && !cli.json {
                println!("{missed} targets not met");
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn grid(effort: Effort, json: bool, missed: &mut usize) -> Result<(), String> {
    if !json {
        println!("{}", net::heading());
    }
    net::suite(effort, &mut |row| {
        *missed += usize::from(!row.met());
        if json {
            println!("{}", serde_json::to_string(&row).expect("plain data"));
        } else {
            println!("{}", net::line(&row));
        }
    })
}

fn with_fmus(effort: Effort, json: bool, missed: &mut usize) -> Result<(), String> {
    if !json {
        println!("{}", fmus::heading());
    }
    fmus::suite(effort.quick, &mut |row| {
        *missed += usize::from(!row.met());
        if json {
            println!("{}", serde_json::to_string(&row).expect("plain data"));
        } else {
            println!("{}", fmus::line(&row));
        }
    })
}

fn curves_of(json: bool, curves: &precision::Curves) {
    if !json {
        return println!("{}", curves.report());
    }
    for point in curves.points() {
        println!("{}", serde_json::to_string(point).expect("plain data"));
    }
}

fn diagram(folder: &Path, curves: &precision::Curves) -> Result<(), String> {
    let svg = precision::figure(curves).map_err(|e| e.to_string())?;
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let file = folder.join(format!("{}.svg", curves.problem().name()));
    std::fs::write(file, svg).map_err(|e| e.to_string())
}

fn workers_line(json: bool, row: &workers::Row) {
    if json {
        return println!("{}", serde_json::to_string(row).expect("plain data"));
    }
    println!(
        "{} {} x{}: speed-up {:.2}, efficiency {:.2}, {:.0} % in parallel",
        row.workload,
        row.executor,
        row.workers,
        row.speed_up,
        row.efficiency,
        100.0 * row.parallel
    );
}

fn phold_line(json: bool, row: &phold::Row) {
    if json {
        return println!("{}", serde_json::to_string(row).expect("plain data"));
    }
    println!(
        "{} {} x{}: remote {}, work {} us: speed-up {:.2} (ceiling {:.2}, bound {:.2}), efficiency {:.2}, saved {:.1}",
        row.workload,
        row.executor,
        row.workers,
        row.remote,
        row.work_us,
        row.speed_up,
        row.ceiling,
        row.bound,
        row.efficiency,
        row.saved
    );
}
