//! The command line as its users meet it: the real program, its files, its exit codes.
mod argesim;
mod balance;
mod bars;
mod bonds;
mod boundary;
mod budgets;
mod codes;
mod comparison;
mod connectors;
mod coupling;
mod dead_reckoning;
mod edges;
mod executors;
#[cfg(target_os = "linux")]
mod faults;
mod files;
mod foreign;
mod frequencies;
mod graph;
mod grid;
#[cfg(all(feature = "helics", target_os = "linux"))]
mod helics;
mod iteration;
mod library;
mod nested;
mod network;
mod ns3;
mod pendulum;
mod periods;
mod plots;
mod policies;
mod power_window;
mod quantised;
#[cfg(all(feature = "mpi", target_os = "linux"))]
mod ranks;
mod real_time;
mod release;
mod report;
mod reproduce;
mod resume;
mod scara;
mod ses;
mod simulators;
mod stability;
#[cfg(feature = "study")]
mod study;
mod told;
#[cfg(feature = "fmi")]
mod tools;
mod tooth;
mod workloads;
#[cfg(all(feature = "mosaik", target_os = "linux"))]
mod worlds;

use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Two masses that collide, beside a queue: private and shared events, randomness, aggregates.
const MIXED: &str = include_str!("mixed.toml");

/// An empty directory of its own for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A folder with the mixed scenario in it.
fn mixed(name: &str) -> PathBuf {
    let dir = folder(name);
    fs::write(dir.join("mixed.toml"), MIXED).unwrap();
    dir
}

fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superdense"));
    command.current_dir(dir).args(line.split_whitespace());
    command
}

fn superdense(dir: &Path, line: &str) -> Output {
    command(dir, line).output().unwrap()
}

/// Runs a command that must succeed and returns what it printed.
fn good(dir: &Path, line: &str) -> String {
    let output = superdense(dir, line);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "superdense {line}: {}\n{text}{err}", output.status);
    text
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text}"))
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name))
        .unwrap_or_else(|e| panic!("{}: {e}", dir.join(name).display()))
}

/// Files that are equal whenever the scenario and its options are.
const DETERMINISTIC: [&str; 7] = [
    "units.csv",
    "events.csv",
    "samples.csv",
    "trajectory.csv",
    "summary.json",
    "plots.json",
    "plot.svg",
];

fn assert_equal_results(a: &Path, b: &Path) {
    for name in DETERMINISTIC {
        let (left, right) = (fs::read(a.join(name)).unwrap(), fs::read(b.join(name)).unwrap());
        assert!(left == right, "{name} differs in {} and {}", a.display(), b.display());
    }
}
