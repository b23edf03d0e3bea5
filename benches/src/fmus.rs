//! FMUs: what a step costs in this process and in a worker, an event of model exchange, two costly FMUs on two workers, a
//! thousand units.
//!
//! | row | ours | its peer |
//! | --- | --- | --- |
//! | `fmu-pair` | a macro step of two linear FMUs under Jacobi | a loop in C over the same binary, which saves its states |
//! | `fmu-pair-isolated` | the same in two workers | two messages to another process and back |
//! | `fmu-ball` | an event of a bouncing ball by model exchange | the ball as equations |
//! | `fmu-costly` | two FMUs of 2 ms a step, coupled, on two workers | half of one after the other |
//! | `fmu-load`, `fmu-load-10` | seconds for a thousand units of one archive, of ten | |
//!
//! The archives are compiled beside this program from `tests/fmus`.
use crate::child::{Engine, Job, Measured, spawn};
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};
use superdense::{
    Overrides,
    run::executor::{Driver, Executor, Method},
};
use superdense_kernel::{Options, Simulation, parallel::Partition, time::Resolution};
use superdense_models::signal::value::Value;

/// A measurement with FMUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fmus {
    /// So many macro steps of two linear FMUs; in workers.
    Pair(u32, bool),
    /// So many messages to another process and back.
    Pings(u32),
    /// So many bounces; of the FMU.
    Ball(u32, bool),
    /// So many macro steps of two FMUs that take 2 ms a step each; with so many workers.
    Costly(u32, u32),
    /// So many units of so many archives.
    Load(u32, u32),
}

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fmus");
const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fmus/loop.c");

/// The folder of the archives and of the loop in C.
fn folder() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(own.with_extension("fmus"))
}

fn compile(out: &Path, source: &str, flags: &[&str]) -> Result<(), String> {
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-ffp-contract=off", "-I", TESTS, "-o"]).arg(out).arg(source).args(flags);
    let output = cc.output().map_err(|e| format!("cc: {e}; a C compiler makes the FMUs"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("cc: {said}")) }
}

/// Compiles and packs what the measurements need.
///
/// # Errors
/// Without a C compiler.
pub fn prepare() -> Result<(), String> {
    let folder = folder()?;
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    compile(&folder.join("loop"), LOOP, &["-ldl"])?;
    for name in ["linear", "bouncing"] {
        let library = folder.join(format!("{name}.so"));
        compile(&library, &format!("{TESTS}/{name}.c"), &["-shared", "-fPIC", "-lm"])?;
        pack(&folder, name, name).map_err(|e| format!("{name}: {e}"))?;
    }
    for k in 0..10 {
        pack(&folder, "linear", &format!("linear-{k}")).map_err(|e| format!("{k}: {e}"))?;
    }
    Ok(())
}

/// An archive of a binary, under a name of its own.
fn pack(folder: &Path, model: &str, name: &str) -> std::io::Result<()> {
    use zip::{ZipWriter, write::SimpleFileOptions};
    let mut zip = ZipWriter::new(fs::File::create(folder.join(format!("{name}.fmu")))?);
    let text = fs::read_to_string(format!("{TESTS}/{model}.xml"))?;
    let text = text.replace("</fmi", &format!("<!-- {name} --></fmi"));
    let binary = format!("binaries/{}-linux/{model}.so", std::env::consts::ARCH);
    let bytes = fs::read(folder.join(format!("{model}.so")))?;
    for (name, bytes) in [("modelDescription.xml", text.as_bytes()), (&*binary, &*bytes)] {
        zip.start_file(name, SimpleFileOptions::default())?;
        std::io::Write::write_all(&mut zip, bytes)?;
    }
    zip.finish().map(|_| ()).map_err(std::io::Error::other)
}

/// The peer's program.
///
/// # Errors
/// Where there is none.
pub fn peer(fmus: Fmus) -> Result<Command, String> {
    let folder = folder()?;
    let (what, n) = match fmus {
        Fmus::Pair(n, _) => ("steps", n),
        Fmus::Pings(n) => ("pings", n),
        _ => return Err(format!("no loop in C does {fmus:?}")),
    };
    let mut command = Command::new(folder.join("loop"));
    command.arg(what).arg(n.to_string()).arg(folder.join("linear.so"));
    Ok(command)
}

fn text(fmus: Fmus) -> String {
    // An oscillator, whose signals change in each step.
    let pair = |n: u32, work: f64, keys: &str| {
        let unit = |name, b| {
            format!(
                "[unit.{name}]\nkind = 'fmu'\npath = 'linear.fmu'\nstep = '1 ms'\nexchange_tolerance = 1e-12\n\
                 start = {{ b = {b:.1}, work = {work:.1} }}\n{keys}\n"
            )
        };
        format!(
            "stop = '{n} ms'\nconnections = ['a.y -> b.u', 'b.y -> a.u']\n\
             coupling = {{ step = '1 ms', order = 'jacobi' }}\n{}{}",
            unit("a", 1.0),
            unit("b", -1.0)
        )
    };
    // Flights of a second without loss: as long as it takes.
    let flights = |n: u32| format!("stop = '{n}.5 s'\n");
    match fmus {
        Fmus::Pair(n, false) => pair(n, 0.0, ""),
        Fmus::Pair(n, true) => pair(n, 0.0, "isolation = 'process'"),
        Fmus::Costly(n, _) => pair(n, 2000.0, ""),
        Fmus::Pings(_) => String::new(),
        Fmus::Ball(n, true) => {
            flights(n)
                + "[unit.ball]\nkind = 'fmu'\npath = 'bouncing.fmu'\nmax_step = '1000 s'\n\
                   start = { e = 1.0, v = 4.905, h = 1e-300 }\n"
        }
        Fmus::Ball(n, false) => {
            flights(n)
                + "[unit.ball]\nkind = 'equations'\nmethod = 'rk45'\ntolerance = 1e-9\nabsolute_tolerance = 1e-9\n\
                   states = { h = 0, v = 4.905 }\nderivatives = { h = 'v', v = '-9.81' }\noutputs = { h = 'h', v = 'v' }\n\
                   [[unit.ball.event]]\nname = 'bounce'\nwhen = 'h <= 0 and v < 0'\nreset = { h = 0, v = '-v' }\n"
        }
        Fmus::Load(units, archives) => {
            let mut text = "stop = '1 ms'\n".to_owned();
            for k in 0..units {
                let name = match archives {
                    1 => "linear".to_owned(),
                    n => format!("linear-{}", k % n),
                };
                let _ = write!(text, "[unit.u{k}]\nkind = 'fmu'\npath = '{name}.fmu'\n");
            }
            text
        }
    }
}

/// The simulation, and its last tick.
fn built(fmus: Fmus) -> Result<(Simulation<Value>, i64), String> {
    let file = folder()?.join("scenario.toml");
    let overrides = Overrides { text: Some(text(fmus)), ..Overrides::default() };
    let mut plan = superdense::load(&file, &[], &overrides).map_err(|e| e.to_string())?;
    let options = Options { resolution: plan.resolution, ..Options::default() };
    debug_assert_eq!(plan.resolution, Resolution::default());
    let model = std::mem::take(&mut plan.model);
    let sim = Simulation::new(model, options).map_err(|e| e.to_string())?;
    Ok((sim, plan.stop))
}

/// The child's side: seconds to build and to run, and events.
///
/// # Errors
/// The run's.
pub fn run(fmus: Fmus) -> Result<(f64, f64, u64), String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    superdense::fmu_worker::set_program(own, vec!["worker".to_owned()]);
    let begin = Instant::now();
    let (mut sim, stop) = built(fmus)?;
    let build = begin.elapsed().as_secs_f64();
    // Where one thread does all, the seconds of the processor, which other programs do not make longer.
    let own = matches!(fmus, Fmus::Pair(_, false) | Fmus::Ball(..)).then(ProcessTime::now);
    let begin = Instant::now();
    match fmus {
        Fmus::Costly(_, workers) if workers > 0 => {
            let executor = Executor { method: Method::Conservative, workers: Some(workers) };
            Driver::new(executor, Partition::Blocks, stop)
                .run_through(&mut sim, stop)
                .map_err(|e| e.to_string())?;
        }
        _ => drop(sim.run_through(stop).map_err(|e| e.to_string())?),
    }
    let ran = own.map_or(begin.elapsed(), |own| own.elapsed()).as_secs_f64();
    let events = match fmus {
        Fmus::Pair(n, _) | Fmus::Pings(n) | Fmus::Costly(n, _) => u64::from(n),
        Fmus::Ball(..) => sim.statistics()["located"],
        Fmus::Load(units, _) => u64::from(units),
    };
    Ok((build, ran, events))
}

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The row, by the table of the module.
    pub workload: &'static str,
    /// Microseconds for each of ours; seconds for `fmu-load`.
    pub ours: f64,
    /// Those of the peer; 0 if there is none.
    pub peer: f64,
    /// Ours over the peer's.
    pub ratio: f64,
    /// The most that `ours` and `ratio` should be.
    pub most: (Option<f64>, Option<f64>),
}

impl Row {
    /// Whether it is within its bounds.
    pub fn met(&self) -> bool {
        let within = |x: f64, most: Option<f64>| most.is_none_or(|most| x <= most);
        within(self.ours, self.most.0) && within(self.ratio, self.most.1)
    }
}

/// The line above the table.
pub fn heading() -> String {
    format!("{:<20} {:>10} {:>10} {:>8}  target", "workload", "ours", "peer", "ratio")
}

/// A row of the table.
pub fn line(row: &Row) -> String {
    let Row { workload, ours, peer, ratio, most } = row;
    let unit = if workload.starts_with("fmu-load") { "s" } else { "us" };
    let ours = format!("{ours:.2} {unit}");
    let wanted =
        [most.0.map(|x| format!("<= {x} {unit}")), most.1.map(|x| format!("ratio <= {x}"))];
    let wanted: Vec<String> = wanted.into_iter().flatten().collect();
    let verdict = if row.met() { "met" } else { "NOT MET" };
    let wanted = wanted.join(", ");
    format!("{workload:<20} {ours:>10} {peer:>10.3} {ratio:>8.2}  {wanted}: {verdict}")
}

fn median(engine: Engine, fmus: Fmus, times: usize) -> Result<Measured, String> {
    let runs: Result<Vec<Measured>, String> =
        (0..times).map(|_| spawn(engine, Job::Fmus(fmus))).collect();
    let mut runs = runs?;
    runs.sort_by(|a, b| a.run_s.total_cmp(&b.run_s));
    Ok(runs[times / 2])
}

/// All rows.
///
/// # Errors
/// A failed child, or no C compiler.
pub fn suite(quick: bool, sink: &mut dyn FnMut(Row)) -> Result<(), String> {
    prepare()?;
    let (n, times) = if quick { (1000, 1) } else { (200_000, 9) };
    let each = |m: Measured| 1e6 * m.run_s / m.events as f64;
    let row = |workload, ours, peer, most| Row { workload, ours, peer, ratio: ours / peer, most };
    let bare = each(median(Engine::BareLoop, Fmus::Pair(10 * n, false), times)?);
    let ours = each(median(Engine::Ours, Fmus::Pair(n, false), times)?);
    sink(row("fmu-pair", ours, bare, (Some(4.0), Some(30.0))));
    let ping = each(median(Engine::BareLoop, Fmus::Pings(n / 10), times)?);
    let ours = each(median(Engine::Ours, Fmus::Pair(n / 10, true), times)?);
    sink(row("fmu-pair-isolated", ours, 2.0 * ping, (Some(15.0), Some(2.0))));
    let bounces = if quick { 100 } else { 10_000 };
    let equations = each(median(Engine::Ours, Fmus::Ball(bounces, false), times)?);
    let ours = each(median(Engine::Ours, Fmus::Ball(bounces, true), times)?);
    sink(row("fmu-ball", ours, equations, (None, Some(2.0))));
    let (n, times) = if quick { (20, 1) } else { (500, 3) };
    let alone = each(median(Engine::Ours, Fmus::Costly(n, 0), times)?);
    let two = each(median(Engine::Ours, Fmus::Costly(n, 2), times)?);
    sink(row("fmu-costly", two, alone / 2.0, (None, Some(1.2))));
    let units = if quick { 50 } else { 1000 };
    for (workload, archives) in [("fmu-load", 1), ("fmu-load-10", 10)] {
        let m = median(Engine::Ours, Fmus::Load(units, archives), 1)?;
        sink(row(workload, m.build_s, 0.0, (Some(10.0), None)));
    }
    Ok(())
}
