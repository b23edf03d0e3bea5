//! Runs a scenario text in process, the way a user's file goes, under a watchdog.
use super::settings::Executor;
use std::{
    cell::Cell,
    panic,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use superdense::{Overrides, Plan, load, plan::Source, run::executor};
use superdense_kernel::{
    EventKind, Fact, Options, Simulation,
    error::RunError,
    time::Tag,
    trace::{Observer, Site, Verdict},
};
use superdense_models::signal::value::Value;

/// Cycles after which a run is cut off: such a model tells nothing more.
const CYCLES: u64 = 20_000;
/// Time of computing after which a run counts as hanging; on a loaded machine it is not wall time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Wall time after which a run counts as hanging, whatever it does: its threads may wait for each other.
const DEADLOCK: Duration = Duration::from_secs(240);

/// An event that happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Happened {
    /// Tick.
    pub tick: i64,
    /// Micro-step.
    pub micro: u32,
    /// `unit.event`, or the name of a link.
    pub name: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// At the stop.
    Reached,
    /// The file was not accepted: the first mistake.
    Refused(String),
    /// With an error, and the instant of the last cycle.
    Failed(i64, String),
    /// After more cycles than are looked at, at this tick.
    Cut(i64),
    /// A thread panicked.
    Panicked(String),
    /// No end within the limit.
    Hung,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The events in their order.
    pub events: Vec<Happened>,
    /// The recorded outputs at the end of a run that reached it.
    pub values: Vec<f64>,
    /// The trace hash.
    pub hash: u64,
    /// Remarks of units.
    pub notes: Vec<String>,
    /// The recorded outputs at each instant that was looked at by the way.
    pub course: Vec<Vec<f64>>,
}

impl Outcome {
    /// A run that only ended.
    pub fn of(end: End) -> Self {
        let (events, values, notes, course) = Default::default();
        Self { end, events, values, hash: 0, notes, course }
    }

    /// Whether the run says of itself that receivers hear a value that is off, since ticks are too coarse for it.
    pub fn hears_late(&self) -> bool {
        self.notes.iter().any(|note| note.contains("when receivers hear of it"))
    }

    /// Whether the run ended in a way that no model may bring about.
    pub fn is_broken(&self) -> bool {
        matches!(self.end, End::Panicked(_) | End::Hung)
    }
}

#[derive(Default)]
struct Heard {
    events: Vec<Happened>,
    notes: Vec<String>,
}

struct Ear(Arc<Mutex<Heard>>);

impl Observer<Value> for Ear {
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match fact {
            Fact::Event { unit, name, kind } => {
                let unit = unit.as_ref().map_or_else(|| site.path(), |u| u.to_string());
                let shared = *kind == EventKind::Shared;
                let name = if shared { name.to_string() } else { format!("{unit}.{name}") };
                let happened = Happened { tick: tag.ticks, micro: tag.micro, name };
                // Each member of a link tells of its event.
                let same_tag = heard.events.iter().rev();
                let mut same_tag =
                    same_tag.take_while(|h| (h.tick, h.micro) == (tag.ticks, tag.micro));
                if !shared || !same_tag.any(|h| *h == happened) {
                    heard.events.push(happened);
                }
            }
            Fact::Note(text) => heard.notes.push(text.to_string()),
        }
        Verdict::Continue(())
    }

    fn wants_cycles(&self) -> bool {
        false
    }
}

/// How a run gets to its end.
#[derive(Debug)]
enum Manner {
    /// Under an executor.
    Under(Executor),
    /// With a stop at this tick, from which another simulation goes on under the second executor.
    Resumed(i64, [Executor; 2]),
    /// With a look at the recorded outputs at each of these ticks.
    Looked(Vec<i64>),
}

/// Where and how runs are made.
#[derive(Debug)]
pub struct Runner {
    folder: PathBuf,
    next: AtomicU64,
    runs: AtomicU64,
}

impl Runner {
    /// A runner with a folder of its own below the one for temporary files.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new() -> std::io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("superdense-generate-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder, next: AtomicU64::new(0), runs: AtomicU64::new(0) })
    }

    /// Number of runs so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Runs a text.
    pub fn run(&self, text: &str, executor: Executor) -> Outcome {
        self.watched(text, Manner::Under(executor))
    }

    /// Runs a text with a stop by the way at this tick, from which another simulation goes on, under
    /// an executor of its own.
    pub fn resumed(&self, text: &str, at: i64, executors: [Executor; 2]) -> Outcome {
        self.watched(text, Manner::Resumed(at, executors))
    }

    /// Runs a text and looks at the recorded outputs at these ticks, in their order.
    pub fn looked(&self, text: &str, ticks: Vec<i64>) -> Outcome {
        self.watched(text, Manner::Looked(ticks))
    }

    fn watched(&self, text: &str, manner: Manner) -> Outcome {
        quiet_panics();
        self.runs.fetch_add(1, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.folder.join(format!("model-{number}.toml"));
        let halt = Arc::new(AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        let (tell, clock) = mpsc::channel();
        let (text, path, stop) = (text.to_owned(), file.clone(), Arc::clone(&halt));
        let work = move || {
            QUIET.with(|q| q.set(true));
            let _ = tell.send(std::fs::read_link("/proc/thread-self").ok());
            let run = || run(&path, &text, &manner, &stop);
            let outcome = panic::catch_unwind(panic::AssertUnwindSafe(run));
            let _ = send.send(outcome);
        };
        let spawned = thread::Builder::new().stack_size(16 << 20).spawn(work);
        let answer = patiently(&receive, &clock);
        let outcome = match (spawned, answer) {
            (Err(e), _) => Outcome::of(End::Panicked(format!("no thread: {e}"))),
            (_, Some(Ok(outcome))) => outcome,
            (_, Some(Err(panic))) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Outcome::of(End::Panicked(text.unwrap_or("panic").to_owned()))
            }
            (_, None) => {
                halt.store(true, Ordering::Relaxed);
                Outcome::of(End::Hung)
            }
        };
        let _ = std::fs::remove_file(&file);
        outcome
    }
}

/// The result that the thread of a run sends, unless it computes for too long; `clock` tells the
/// thread's folder in `/proc`, where there is one.
fn patiently<T>(receive: &mpsc::Receiver<T>, clock: &mpsc::Receiver<Option<PathBuf>>) -> Option<T> {
    let begun = Instant::now();
    let mut thread = None;
    loop {
        match receive.recv_timeout(Duration::from_secs(2)) {
            Ok(answer) => return Some(answer),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        thread = thread.or_else(|| clock.try_recv().ok().flatten());
        let computed = thread.as_deref().and_then(computed).unwrap_or(begun.elapsed());
        if computed > PATIENCE || begun.elapsed() > DEADLOCK {
            return None;
        }
    }
}

/// How long a thread has computed so far.
fn computed(thread: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics of runs are results; the others are printed as ever.
fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.with(Cell::get) {
                usual(info);
            }
        }));
    });
}

fn simulation(plan: &mut Plan) -> Result<Simulation<Value>, RunError> {
    let options: Options = plan.options();
    Simulation::new(std::mem::take(&mut plan.model), options)
}

fn run(file: &Path, text: &str, manner: &Manner, halt: &Arc<AtomicBool>) -> Outcome {
    if let Err(e) = std::fs::write(file, text) {
        return Outcome::of(End::Panicked(format!("no file: {e}")));
    }
    let plan = || load(file, &[], &Overrides::default());
    let mut first = match plan() {
        Ok(plan) => plan,
        Err(mistakes) => {
            let first = mistakes.mistakes().first();
            return Outcome::of(End::Refused(
                first.map_or_else(String::new, |m| m.message.clone()),
            ));
        }
    };
    let heard = Arc::new(Mutex::new(Heard::default()));
    let begun = begin(&mut first, &heard, halt);
    let mut course = Vec::new();
    let (end, sim) = match begun {
        Err(e) => return Outcome::of(End::Failed(0, e.to_string())),
        Ok(mut sim) => match manner {
            Manner::Under(executor) => (advance(&mut sim, &first, first.stop, *executor), sim),
            Manner::Looked(ticks) => (looked(&mut sim, &first, ticks, &mut course), sim),
            Manner::Resumed(at, [before, after]) => {
                let ended = advance(&mut sim, &first, (*at).min(first.stop), *before);
                match (ended, plan()) {
                    (End::Reached, Ok(second)) => go_on(sim, second, *after, &heard, halt),
                    (end, _) => (end, sim),
                }
            }
        },
    };
    Outcome { course, ..outcome(end, &sim, &first, &heard) }
}

fn begin(
    plan: &mut Plan,
    heard: &Arc<Mutex<Heard>>,
    halt: &Arc<AtomicBool>,
) -> Result<Simulation<Value>, RunError> {
    let mut sim = simulation(plan)?;
    sim.observe(Ear(Arc::clone(heard)));
    sim.halt_on(Arc::clone(halt), "watchdog");
    Ok(sim)
}

/// Carries the run over to a new simulation by a checkpoint.
fn go_on(
    sim: Simulation<Value>,
    mut plan: Plan,
    executor: Executor,
    heard: &Arc<Mutex<Heard>>,
    halt: &Arc<AtomicBool>,
) -> (End, Simulation<Value>) {
    let failed = |why: String| End::Failed(sim.now().ticks, why);
    let bytes = match sim.checkpoint() {
        Ok(bytes) => bytes,
        Err(e) => return (failed(format!("checkpoint: {e}")), sim),
    };
    let mut other = match begin(&mut plan, heard, halt) {
        Ok(other) => other,
        Err(e) => return (failed(e.to_string()), sim),
    };
    if let Err(e) = other.resume(&bytes) {
        return (failed(format!("resume: {e}")), sim);
    }
    (advance(&mut other, &plan, plan.stop, executor), other)
}

fn through(sim: &mut Simulation<Value>, stop: i64) -> End {
    for _ in 0..CYCLES {
        match sim.step(stop) {
            Ok(Some(_)) => {}
            Ok(None) => {
                return match sim.run_through(stop) {
                    Ok(_) => End::Reached,
                    Err(e) => End::Failed(sim.now().ticks, e.to_string()),
                };
            }
            Err(e) => return End::Failed(sim.now().ticks, e.to_string()),
        }
    }
    End::Cut(sim.now().ticks)
}

fn advance(sim: &mut Simulation<Value>, plan: &Plan, to: i64, executor: Executor) -> End {
    let (method, workers) = match executor {
        Executor::Sequential => return through(sim, to),
        Executor::TimeWarp(n) => (executor::Method::TimeWarp, Some(n)),
        Executor::Conservative(n) => (executor::Method::Conservative, Some(n)),
        Executor::Auto => (executor::Method::Auto, Some(2)),
    };
    let executor = executor::Executor { method, workers };
    let mut driver = executor::Driver::new(executor, plan.partition.of(sim), plan.stop);
    match driver.run_through(sim, to) {
        Ok(_) => End::Reached,
        Err(e) => End::Failed(sim.now().ticks, e.to_string()),
    }
}

/// Runs to the end and notes what is recorded at each of these ticks.
fn looked(
    sim: &mut Simulation<Value>,
    plan: &Plan,
    ticks: &[i64],
    course: &mut Vec<Vec<f64>>,
) -> End {
    for &tick in ticks {
        let end = through(sim, tick.min(plan.stop));
        if end != End::Reached {
            return end;
        }
        course.push(recorded(sim, plan, tick));
    }
    through(sim, plan.stop)
}

/// The record at a tick.
fn recorded(sim: &Simulation<Value>, plan: &Plan, tick: i64) -> Vec<f64> {
    let value = |source: &Source| match source {
        Source::Port { unit, port } => {
            sim.find(unit).and_then(|model| sim.probe(model, *port, tick)).and_then(|v| v.as_real())
        }
        Source::Aggregate { .. } => None,
    };
    plan.record.iter().map(|r| value(&r.source).unwrap_or(f64::NAN)).collect()
}

fn outcome(end: End, sim: &Simulation<Value>, plan: &Plan, heard: &Mutex<Heard>) -> Outcome {
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    let values = match end {
        End::Reached => recorded(sim, plan, plan.stop),
        _ => Vec::new(),
    };
    let (events, notes, hash) = (heard.events, heard.notes, sim.trace_hash());
    Outcome { values, events, notes, hash, ..Outcome::of(end) }
}
