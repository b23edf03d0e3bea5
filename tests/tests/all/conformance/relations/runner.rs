//! Runs one scenario with a limit of time, in a thread of its own: a run that hangs is a mismatch in
//! the table and not the end of the test.
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};
use superdense::{Overrides, load};
use superdense_kernel::{
    Fact, Options, Simulation,
    time::Tag,
    trace::{Observer, Site, Verdict},
};
use superdense_models::signal::value::Value;

/// The result of a run: events as tick, micro-step and name, values at the end, cycles.
pub(super) struct Outcome {
    pub(super) facts: Vec<(i64, u32, String)>,
    pub(super) values: Vec<f64>,
    pub(super) cycles: usize,
    pub(super) hung: bool,
    pub(super) end: Result<(), String>,
}

impl Outcome {
    fn failed(why: String, hung: bool) -> Self {
        Self { facts: Vec::new(), values: Vec::new(), cycles: 0, hung, end: Err(why) }
    }
    /// Whether the method does not take such equations or conditions, and says which one does.
    pub(super) fn refused_by_method(&self) -> bool {
        self.end.as_ref().is_err_and(|why| {
            why.starts_with("refused: ") && why.contains("quantised-state methods do not look")
        })
    }
    /// The events, at most eight of them.
    pub(super) fn told(&self) -> String {
        let first: Vec<_> = self.facts.iter().take(8).collect();
        format!("{} events {first:?}", self.facts.len())
    }
}

#[derive(Default)]
struct Seen {
    facts: Vec<(i64, u32, String)>,
    cycles: usize,
}

struct Ear(Arc<Mutex<Seen>>);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        if let Fact::Event { name, .. } = fact {
            self.0.lock().unwrap().facts.push((tag.ticks, tag.micro, name.to_string()));
        }
        Verdict::Continue(())
    }
    fn cycle(&mut self, _: Tag) -> Verdict {
        self.0.lock().unwrap().cycles += 1;
        Verdict::Continue(())
    }
}

/// The line of a method in a scenario, with what it needs.
fn line(method: &str) -> String {
    match method {
        "rk4" => "method = 'rk4'\nstep = 0.03".to_owned(),
        "euler" => "method = 'euler'\nstep = 0.003".to_owned(),
        other => format!("method = '{other}'"),
    }
}

/// Runs a scenario through tick `stop`.
pub(super) fn run(
    text: &str,
    method: &str,
    resolution: &str,
    stop: i64,
    ports: Vec<(&'static str, u16)>,
    limit: Duration,
) -> Outcome {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("relation-{}-{number}.toml", std::process::id());
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text = text.replace("METHOD", &line(method));
    std::fs::write(&file, format!("stop = 1000\nresolution = '{resolution}'\n{text}")).unwrap();
    let (tell, told) = mpsc::channel();
    let path = file.clone();
    let end = Instant::now() + limit;
    let worker = std::thread::spawn(move || {
        let _ = tell.send(simulate(&path, stop, &ports, end));
    });
    let outcome = match told.recv_timeout(limit + Duration::from_secs(1)) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let why = worker.join().err().and_then(|e| {
                let text = e.downcast_ref::<String>().cloned();
                text.or_else(|| e.downcast_ref::<&str>().map(ToString::to_string))
            });
            Outcome::failed(format!("panic: {}", why.unwrap_or_default()), false)
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Outcome::failed(format!("no end within {limit:?}, in one cycle"), true)
        }
    };
    let _ = std::fs::remove_file(&file);
    outcome
}

fn simulate(file: &Path, stop: i64, ports: &[(&str, u16)], end: Instant) -> Outcome {
    let plan = match load(file, &[], &Overrides::default()) {
        Ok(plan) => plan,
        Err(mistakes) => {
            let lines: Vec<_> = mistakes.to_string().lines().map(str::to_owned).collect();
            return Outcome::failed(format!("refused: {}", lines.join(" / ")), false);
        }
    };
    let mut options = Options { resolution: plan.resolution, ..Options::default() };
    options.guards.micro_steps = plan.micro_steps;
    let mut simulation = match Simulation::new(plan.model, options) {
        Ok(simulation) => simulation,
        Err(why) => return Outcome::failed(why.to_string(), false),
    };
    let seen = Arc::new(Mutex::new(Seen::default()));
    simulation.observe(Ear(Arc::clone(&seen)));
    let mut hung = false;
    let ended = loop {
        match simulation.step(stop) {
            Err(why) => break Err(why.to_string()),
            Ok(None) => break simulation.run_through(stop).map(drop).map_err(|e| e.to_string()),
            Ok(Some(tag)) if Instant::now() > end => {
                hung = true;
                break Err(format!("no end in time, at tick {}", tag.ticks));
            }
            Ok(Some(_)) => {}
        }
    };
    let value = |&(unit, port): &(&str, u16)| {
        let model = simulation.find(unit)?;
        simulation.probe(model, port, stop)?.as_real()
    };
    let values = match &ended {
        Ok(()) => ports.iter().map(|p| value(p).unwrap_or(f64::NAN)).collect(),
        Err(_) => Vec::new(),
    };
    let mut seen = seen.lock().unwrap();
    Outcome {
        facts: std::mem::take(&mut seen.facts),
        values,
        cycles: seen.cycles,
        hung,
        end: ended,
    }
}
