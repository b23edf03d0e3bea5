//! Work against precision: seconds and error of every engine and method on continuous problems.
//!
//! # Why equal error
//! Tolerances and quanta mean something else in every method. So each one runs at many of them,
//! its error is measured against a tight solution, and times are compared where errors are equal,
//! by interpolation between the two nearest runs (see [`table`]).
//!
//! # How
//! One process per engine and problem. The error is the root of the sum of squares of the
//! differences over that of the reference, over all states at [`SAMPLES`] times. Seconds are those
//! of the solution alone, without building the model, compiling it or reading its file. Peers get
//! what they can use: sparse or banded Jacobians, restarts where a source jumps.
use crate::{
    child::{Engine, Job},
    suites::Effort,
};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};

#[cfg(feature = "diffsol")]
mod diffsol;
mod figure;
mod ours;
mod problem;
mod program;
pub mod systems;
pub mod table;

pub use figure::figure;
pub use problem::{Problem, SAMPLES};
pub use table::Curves;

/// One run of a method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The method, as its engine calls it.
    pub method: String,
    /// Relative tolerance, or quantum.
    pub tolerance: f64,
    /// Median of several.
    pub seconds: f64,
    /// Steps; of quantised methods, requantisations.
    pub steps: u64,
    /// States at the sample times, one time after the other.
    pub states: Vec<f64>,
    /// Why there is nothing.
    pub failed: Option<String>,
    /// The note of the run: why `auto` chose its method.
    pub note: String,
}

/// Limits on the time and the memory of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of one run, after which it is given up.
    pub seconds: f64,
    /// Seconds spent on repetitions.
    pub total: f64,
}

impl Limits {
    fn of(effort: Effort) -> Self {
        if effort.quick {
            Self { seconds: 0.02, total: 0.0 }
        } else {
            Self { seconds: 1.0, total: 0.2 }
        }
    }

    fn repetitions(self, seconds: f64) -> usize {
        ((self.total / seconds) as usize).clamp(1, 51)
    }
}

/// A task for a child process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// The tight solution.
    Reference,
    /// Every method at every tolerance.
    Curves,
    /// The Taylor method as heyoka has it.
    Taylor,
}

/// The child's side: prints runs as they come.
///
/// # Errors
/// When there is no reference.
pub fn serve(engine: Engine, problem: Problem, task: Task, limits: Limits) -> Result<(), String> {
    let mut sink = |run: Run| println!("{}", serde_json::to_string(&run).expect("plain data"));
    match (engine, task) {
        (Engine::Ours, Task::Reference) => {
            let states = ours::reference(problem)?;
            sink(Run { method: "reference".into(), states, ..Run::default() });
        }
        (Engine::Ours, Task::Curves) => ours::runs(problem, limits, &mut sink),
        (Engine::Ours, Task::Taylor) => sink(ours::taylor(problem, limits)?),
        #[cfg(feature = "diffsol")]
        (Engine::Diffsol, _) => diffsol::runs(problem, limits, &mut sink),
        _ => return Err(format!("{} has no child here", engine.name())),
    }
    Ok(())
}

/// Runs an engine in a process of its own.
fn spawn(engine: Engine, problem: Problem, task: Task, limits: Limits) -> Result<Vec<Run>, String> {
    let mut input = String::new();
    let numbers = [limits.seconds, limits.total, SAMPLES as f64];
    let python = |text: &str, more: &[f64]| {
        let mut python = Command::new("python3");
        python.arg("-c").arg(text).arg(problem.name());
        python.args(numbers.iter().chain(more).map(f64::to_string));
        python.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
        python
    };
    let mut command = match engine {
        Engine::Scipy => {
            python(include_str!("scipy_peer.py"), &[problem.absolute(), problem.end()])
        }
        Engine::Heyoka => {
            if problem == Problem::Grid {
                input = program::machines().map_err(|e| e.to_string())?;
            }
            python(include_str!("heyoka_peer.py"), &[problem.end()])
        }
        _ => {
            let mut own = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
            let job = (engine, Job::Precision(problem, task, limits));
            own.arg("child").arg(serde_json::to_string(&job).expect("plain data"));
            own
        }
    };
    let io = |e: std::io::Error| format!("{}: {e}", engine.name());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(io)?;
    if let Some(mut stdin) = child.stdin.take() {
        use std::io::Write;
        stdin.write_all(input.as_bytes()).map_err(io)?;
    }
    let output = child.wait_with_output().map_err(io)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} on {}: {}", engine.name(), problem.name(), why.trim()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let parse = |line: &str| {
        serde_json::from_str::<Run>(line).map_err(|e| format!("{}: {e}", engine.name()))
    };
    lines.lines().filter(|line| line.starts_with('{')).map(parse).collect()
}

/// Whether `python3` can import a module.
fn has_module(module: &str) -> bool {
    let import = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    import.is_ok_and(|o| o.status.success())
}

/// The peers of this run; says what is left out and why.
fn peers() -> Vec<Engine> {
    let mut peers = Vec::new();
    if cfg!(feature = "diffsol") {
        peers.push(Engine::Diffsol);
    } else {
        eprintln!("diffsol: skipped; to compare with it, build with --features diffsol");
    }
    for (engine, module) in [(Engine::Scipy, "scipy"), (Engine::Heyoka, "heyoka")] {
        if has_module(module) {
            peers.push(engine);
        } else {
            eprintln!(
                "{module}: skipped, python3 cannot import it; to install: pip install {module}"
            );
        }
    }
    peers
}

/// Whether this engine is compared on this problem.
fn compared(engine: Engine, problem: Problem) -> bool {
    match engine {
        Engine::Heyoka => matches!(
            problem,
            Problem::VanDerPol | Problem::LotkaVolterra | Problem::Grid | Problem::Bounces
        ),
        Engine::Scipy | Engine::Diffsol => problem != Problem::Grid,
        _ => true,
    }
}

/// All engines on these problems (all if none is named), one after the other.
///
/// # Errors
/// When a child fails, or a problem is not known.
pub fn suite(effort: Effort, only: &[String], sink: &mut dyn FnMut(Curves)) -> Result<(), String> {
    let known = |name: &String| Problem::ALL.iter().any(|p| p.name() == name);
    if let Some(name) = only.iter().find(|&name| !known(name)) {
        let names = Problem::ALL.map(Problem::name).join(", ");
        return Err(format!("there is no problem `{name}`; there are {names}"));
    }
    let limits = Limits::of(effort);
    let peers = peers();
    for problem in Problem::ALL {
        if !only.is_empty() && !only.iter().any(|name| name == problem.name()) {
            continue;
        }
        let reference = spawn(Engine::Ours, problem, Task::Reference, limits)?.remove(0).states;
        let mut curves = Curves::new(problem);
        curves.take(Engine::Ours, &reference, spawn(Engine::Ours, problem, Task::Curves, limits)?);
        for &peer in &peers {
            if compared(peer, problem) {
                curves.take(peer, &reference, spawn(peer, problem, Task::Curves, limits)?);
                if peer == Engine::Heyoka {
                    let ours = spawn(Engine::Ours, problem, Task::Taylor, limits)?;
                    curves.take_taylor(&reference, ours);
                }
            }
        }
        sink(curves);
    }
    Ok(())
}
