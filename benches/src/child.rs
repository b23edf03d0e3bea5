//! One measurement, in a process of its own.
//!
//! # Why
//!
//! Seconds are processor seconds of that process: every engine here runs on one thread, so on a
//! quiet machine they are the seconds of the clock, and on a shared one they leave out the time
//! that other programs had.
use crate::{
    bounces::{self, BOUNCES, Bounces},
    devstone::{self, Devstone, expected},
    exchange,
    fmus::{self, Fmus},
    net::{self, Net},
    phold::Phold,
    precision::{self, Limits, Problem, Task},
    timers::{self, Load, Timers, bare::Bare, lists::Alone},
};
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::process::Command;
use superdense::run::executor::{Driver, Executor, Method, nanoseconds};
use superdense_kernel::{
    Ended,
    event_list::EventListKind,
    parallel::{Partition, Settings},
};

/// A measurement to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// A DEVStone model.
    Devstone(Devstone),
    /// Hold or ring as a model.
    Timers(Timers),
    /// Hold on an event list alone: 0 ladder, 1 heap, 2 priority queue.
    List(Timers, u8),
    /// A shipped scenario.
    Net(Net),
    /// So many exchanges of two trivial units through a coupling, Jacobi.
    Exchange(u32),
    /// A ball's bounces, in a unit or in a loop by hand.
    Bounces(Bounces),
    /// FMUs.
    Fmus(Fmus),
    /// PHOLD for so many hops, under Time Warp with so many workers; sequentially with none. For
    /// profiles.
    Phold(Phold, u32, u32),
    /// A continuous problem; prints runs instead of a measurement.
    Precision(Problem, Task, Limits),
}

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Engine {
    /// Superdense.
    Ours,
    /// xdevs 0.4.
    Xdevs,
    /// nexosim 1.0.
    Nexosim,
    /// SimPy, by `python3`.
    SimPy,
    /// A loop around `std::collections::BinaryHeap`.
    BareHeap,
    /// A loop over the flights of a ball, or over the steps of FMUs.
    BareLoop,
    /// ns-3, compiled on first use.
    Ns3,
    /// diffsol, with the feature of that name.
    Diffsol,
    /// scipy, by `python3`.
    Scipy,
    /// heyoka, by `python3`.
    Heyoka,
}

impl Engine {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "superdense",
            Self::Xdevs => "xdevs",
            Self::Nexosim => "nexosim",
            Self::SimPy => "simpy",
            Self::BareHeap => "bare-heap",
            Self::BareLoop => "bare-loop",
            Self::Ns3 => "ns3",
            Self::Diffsol => "diffsol",
            Self::Scipy => "scipy",
            Self::Heyoka => "heyoka",
        }
    }
}

/// The report of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Building the model, in seconds.
    pub build_s: f64,
    /// Simulating it.
    pub run_s: f64,
    /// Peak resident memory without program files; 0 where the system does not tell.
    pub peak_bytes: u64,
    /// Events counted: messages to DEVStone atomics, expiries, hops.
    pub events: u64,
}

/// Runs a job in a child process.
///
/// # Errors
/// When the child fails: a wrong count, a missing interpreter.
pub fn spawn(engine: Engine, job: Job) -> Result<Measured, String> {
    let mut command = match (engine, job) {
        (Engine::SimPy, Job::Timers(t)) => timers_on_simpy(t),
        (Engine::SimPy | Engine::Ns3, Job::Net(net)) => net::peer(engine, net)?,
        (Engine::BareLoop, Job::Fmus(fmus)) => fmus::peer(fmus)?,
        _ => {
            let mut own = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
            own.arg("child").arg(serde_json::to_string(&(engine, job)).expect("plain data"));
            own
        }
    };
    let output = command.output().map_err(|e| format!("{}: {e}", engine.name()))?;
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{} on {job:?}: {}", engine.name(), err.trim()));
    }
    serde_json::from_str(out.trim()).map_err(|e| format!("{}: {e}: {out}", engine.name()))
}

/// A program for SimPy, which ends with a call of what stands in `simpy_report.py`.
pub(crate) fn simpy(program: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg("-c").arg([include_str!("simpy_report.py"), program].concat());
    python
}

fn timers_on_simpy(timers: Timers) -> Command {
    let load = if timers.load == Load::Hold { "hold" } else { "ring" };
    let end = timers.events as f64 / f64::from(timers.entities);
    let mut python = simpy(include_str!("timers/simpy_peer.py"));
    python.arg(load).arg(timers.entities.to_string()).arg(end.to_string());
    python
}

/// Whether `python3` has SimPy.
pub fn has_simpy() -> bool {
    let import = Command::new("python3").args(["-c", "import simpy"]).output();
    import.is_ok_and(|o| o.status.success())
}

/// The child's side: runs the job and prints what it measured.
///
/// # Errors
/// A count that differs from what the formulas say.
pub fn serve(job: &str) -> Result<(), String> {
    let (engine, job): (Engine, Job) = serde_json::from_str(job).map_err(|e| e.to_string())?;
    let (build_s, run_s, events) = match job {
        Job::Precision(problem, task, limits) => {
            return precision::serve(engine, problem, task, limits);
        }
        Job::Devstone(d) => devstone_run(engine, d)?,
        Job::Timers(t) => timers_run(engine, t),
        Job::Net(net) => timed(|| net::Run::new(net), net::Run::run),
        Job::Exchange(exchanges) => timed(
            || exchange::build(exchanges),
            |(sim, end)| {
                sim.run_until(*end).expect("these units never fail");
                u64::from(exchanges)
            },
        ),
        Job::Bounces(bounces) => bounces_run(engine, bounces),
        Job::Fmus(fmus) => fmus::run(fmus)?,
        Job::Phold(phold, hops, workers) => {
            let settings = Settings { workers, ..Settings::default() };
            let settings = (workers > 0).then_some(settings);
            let end = phold.end(f64::from(hops));
            let (run, ..) = phold.run(end, settings.as_ref()).map_err(|e| e.to_string())?;
            (0.0, run, u64::from(hops))
        }
        Job::List(t, kind) => match engine {
            Engine::BareHeap => timed(|| Bare::new(t), Bare::run),
            _ => timed(|| Alone::new(t, EventListKind::ALL[kind as usize]), Alone::run),
        },
    };
    let measured = Measured { build_s, run_s, peak_bytes: peak_bytes(), events };
    println!("{}", serde_json::to_string(&measured).expect("plain data"));
    Ok(())
}

/// Whether xdevs was built with its parallel features; ours is left to `auto` then.
pub const PARALLEL: bool = cfg!(feature = "xdevs-parallel");

/// Seconds of this process, or those on the wall if it works in parallel.
fn seconds() -> f64 {
    if PARALLEL {
        nanoseconds() as f64 * 1e-9
    } else {
        ProcessTime::now().as_duration().as_secs_f64()
    }
}

fn timed<S, T>(build: impl FnOnce() -> S, run: impl FnOnce(&mut S) -> T) -> (f64, f64, T) {
    let start = seconds();
    let mut sim = build();
    let built = seconds() - start;
    let start = seconds();
    let result = run(&mut sim);
    let ran = seconds() - start;
    // Nothing is measured after this; the process ends soon.
    std::mem::forget(sim);
    (built, ran, result)
}

fn devstone_run(engine: Engine, d: Devstone) -> Result<(f64, f64, u64), String> {
    let e = expected(d);
    let check = |found: [u64; 4]| {
        let wanted = [e.atomics, e.transitions, e.transitions, e.events];
        let what = "atomics, internal transitions, external transitions, events";
        let name = engine.name();
        (found == wanted)
            .then_some(e.events)
            .ok_or_else(|| format!("{name} on {d:?}: {what} = {found:?}, not {wanted:?}"))
    };
    if engine == Engine::Xdevs {
        let (build, run, t) = timed(|| devstone::xdevs::Run::new(d), devstone::xdevs::Run::run);
        return Ok((build, run, check([t.atomics, t.internals, t.externals, t.events])?));
    }
    let (build, run, (counts, models)) = timed(
        || devstone::ours::build(d),
        |sim| {
            let method = if PARALLEL { Method::Auto } else { Method::Sequential };
            let executor = Executor { method, workers: None };
            let mut driver = Driver::new(executor, Partition::Blocks, i64::MAX);
            let ended = driver.run_through(sim, i64::MAX - 1);
            assert_eq!(ended, Ok(Ended::Idle));
            (sim.counts(), sim.models() as u64)
        },
    );
    if let Some(cycles) = e.cycles.filter(|&c| c != counts.cycles) {
        return Err(format!("{d:?}: {} cycles, not {cycles}", counts.cycles));
    }
    // The seeder is a model and makes one internal transition.
    let internal = counts.internal + counts.confluent - 1;
    let external = counts.external + counts.confluent;
    Ok((build, run, check([models - 1, internal, external, counts.messages])?))
}

/// Medians, since a run is over in microseconds; each of a simulation of its own.
fn bounces_run(engine: Engine, bounces: Bounces) -> (f64, f64, u64) {
    const ROUNDS: usize = 400;
    const LOOPS: usize = 1000;
    // Some together, for the clock takes its time, too; few enough to stay in the cache.
    const TOGETHER: usize = 8;
    let runs = (0..ROUNDS).map(|_| {
        if engine == Engine::BareLoop {
            let (built, ran, ()) = timed(|| (), |()| bounces::loops(LOOPS));
            return (built, ran / LOOPS as f64);
        }
        let start = ProcessTime::now();
        let mut runs: Vec<_> = (0..TOGETHER).map(|_| bounces.build()).collect();
        let built = start.elapsed().as_secs_f64();
        let start = ProcessTime::now();
        for (sim, end) in &mut runs {
            sim.run_until(*end).expect("a ball");
        }
        (built / TOGETHER as f64, start.elapsed().as_secs_f64() / TOGETHER as f64)
    });
    let (mut built, mut ran): (Vec<f64>, Vec<f64>) = runs.unzip();
    built.sort_by(f64::total_cmp);
    ran.sort_by(f64::total_cmp);
    (built[ROUNDS / 2], ran[ROUNDS / 2], BOUNCES as u64)
}

fn timers_run(engine: Engine, t: Timers) -> (f64, f64, u64) {
    match engine {
        Engine::BareHeap => timed(|| Bare::new(t), Bare::run),
        Engine::Xdevs => timed(|| timers::xdevs::Run::new(t), timers::xdevs::Run::run),
        Engine::Nexosim => timed(|| timers::nexo::build(t), |sim| timers::nexo::run(t, sim)),
        _ => timed(
            || timers::ours::build(t, EventListKind::default()),
            |sim| {
                sim.run_until(t.end()).expect("timers never fail");
                timers::ours::events(t, sim)
            },
        ),
    }
}

/// Peak resident memory of this process without its program files, which hold every engine; 0 where
/// the system does not tell.
pub fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |key: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(key));
        let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1024
    };
    bytes("VmHWM:").saturating_sub(bytes("RssFile:"))
}
