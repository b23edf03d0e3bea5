//! Superdense on a problem: the shipped scenario under every method, and the systems in Rust under
//! the quantised ones.
use super::{
    problem::Problem,
    systems::{Visitor, with_system},
    {Limits, Run},
};
use crate::bounces::{Bounces, Flights};
use cpu_time::ProcessTime;
use std::sync::{Arc, Mutex};
use superdense::Overrides;
use superdense_kernel::{
    Component, Coupled, Fact, ModelKey, Options, Simulation,
    time::{Resolution, Tag},
    trace::{Observer, Site, Verdict},
};
use superdense_models::{
    signal::value::Value,
    solve::qss::{Engine, Explicit, Implicit, Method, Paired, Quanta, System, SystemUnit},
};

/// Methods of scenarios.
const METHODS: [&str; 11] = [
    "rk45", "rk23", "taylor", "rodas", "qss1", "qss2", "qss3", "liqss1", "liqss2", "mliqss2",
    "auto",
];

/// Relative tolerances and quanta, from loose to tight.
const TOLERANCES: [f64; 12] =
    [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12];

/// A simulation, the model whose first outputs are the states, and ticks per second.
struct Ready {
    sim: Simulation<Value>,
    model: ModelKey,
    resolution: Resolution,
    /// The first of the outputs that are states, and the place of the others behind it.
    outputs: Vec<u16>,
}

impl Ready {
    fn tick(&self, t: f64) -> i64 {
        ticks(self.resolution, t)
    }

    fn states(&self, at: i64) -> Vec<f64> {
        let probe = |&port: &u16| self.sim.probe(self.model, port, at).and_then(|v| v.as_real());
        self.outputs.iter().map(|port| probe(port).unwrap_or(f64::NAN)).collect()
    }
}

fn ticks(resolution: Resolution, t: f64) -> i64 {
    (t * resolution.ticks_per_second() as f64).round() as i64
}

/// Takes down the first note of a run.
struct Ear(Arc<Mutex<String>>);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, _: Tag, fact: &Fact) -> Verdict {
        if let (Fact::Note(text), Ok(mut note)) = (fact, self.0.lock())
            && note.is_empty()
        {
            note.push_str(text);
        }
        Verdict::Continue(())
    }
}

fn scenario(problem: Problem, method: &str, tolerance: f64, order: usize) -> Result<Ready, String> {
    let shipped = problem.scenario();
    let mut sets = shipped.sets;
    let absolute = tolerance * problem.absolute();
    let mut set = |key: &str, value: String| {
        sets.push((format!("unit.{}.{key}", shipped.unit), value));
    };
    set("method", format!("\"{method}\""));
    set("tolerance", format!("{tolerance:e}"));
    set("absolute_tolerance", format!("{absolute:e}"));
    set("dq_rel", format!("{tolerance:e}"));
    set("dq_min", format!("{absolute:e}"));
    if method == "taylor" {
        set("order", order.to_string());
    }
    let until = Some(format!("{} s", problem.end()));
    let overrides = Overrides { until, ..Overrides::default() };
    let mut plan = superdense::load(&shipped.file, &sets, &overrides)
        .map_err(|e| e.to_string().lines().take(4).collect::<Vec<_>>().join(" "))?;
    let resolution = plan.resolution;
    let options = Options { resolution, ..Options::default() };
    let model = std::mem::take(&mut plan.model);
    let sim = Simulation::new(model, options).map_err(|e| e.to_string())?;
    let model = sim.find(shipped.unit).ok_or("the unit is not where it was")?;
    // Of machines: angles behind frequencies.
    let first = if problem == Problem::Grid { 12 } else { 0 };
    let count = if problem == Problem::Grid { 10 } else { problem.states() };
    let outputs = (first..first + count as u16).collect();
    Ok(Ready { sim, model, resolution, outputs })
}

/// The ball as a Taylor unit in Rust.
fn bouncing() -> Result<Ready, String> {
    let (sim, _) = Bounces { text: false, flights: Flights::Taylor }.build();
    let model = sim.find("system").ok_or("no system")?;
    Ok(Ready { sim, model, resolution: Resolution::PICO, outputs: vec![0, 1] })
}

/// A system in Rust under a quantised method.
struct Native {
    problem: Problem,
    method: &'static str,
    tolerance: f64,
}

impl Native {
    fn ready<M: Method<P>, const P: usize, Y: System>(&self, system: Y) -> Result<Ready, String> {
        let quanta =
            Quanta { relative: self.tolerance, minimum: self.tolerance * self.problem.absolute() };
        let mut engine = Engine::<Y, M, P>::new(system, quanta, self.problem.end());
        let phases = self.problem.phases();
        engine.start(0.0, &self.problem.start(), &[phases[0].1]).map_err(|e| e.to_string())?;
        for phase in phases.windows(2) {
            let (t, value) = (phase[0].0, phase[1].1);
            engine.run_until(t).map_err(|e| e.to_string())?;
            engine.set_discrete(t, 0, value).map_err(|e| e.to_string())?;
        }
        let resolution = Resolution::PICO;
        let mut top = Coupled::new();
        let unit = SystemUnit::of(engine, resolution);
        let component: Component<Value> = Component::atomic(unit);
        top.add_component("system", component);
        let options = Options { resolution, ..Options::default() };
        let sim = Simulation::new(top, options).map_err(|e| e.to_string())?;
        let model = sim.find("system").ok_or("no system")?;
        let outputs = (0..self.problem.states() as u16).collect();
        Ok(Ready { sim, model, resolution, outputs })
    }
}

impl Visitor for &Native {
    type Result = Result<Ready, String>;
    fn visit<Y: System>(self, system: Y) -> Self::Result {
        match self.method {
            "qss1 Rust" => self.ready::<Explicit, 1, _>(system),
            "qss2 Rust" => self.ready::<Explicit, 2, _>(system),
            "qss3 Rust" => self.ready::<Explicit, 3, _>(system),
            "liqss1 Rust" => self.ready::<Implicit, 1, _>(system),
            "liqss2 Rust" => self.ready::<Implicit, 2, _>(system),
            _ => self.ready::<Paired, 2, _>(system),
        }
    }
}

const NATIVE: [&str; 6] =
    ["qss1 Rust", "qss2 Rust", "qss3 Rust", "liqss1 Rust", "liqss2 Rust", "mliqss2 Rust"];

/// One run for the samples, stopped when it takes too long, then several for the time.
fn run(
    problem: Problem,
    limits: Limits,
    build: &dyn Fn() -> Result<Ready, String>,
) -> Result<Run, String> {
    const PIECES: usize = 50;
    let mut ready = build()?;
    let note = Arc::new(Mutex::new(String::new()));
    ready.sim.observe(Ear(Arc::clone(&note)));
    let begun = ProcessTime::now();
    let (mut states, mut before) = (Vec::new(), 0.0);
    for sample in problem.samples() {
        for piece in 1..=PIECES {
            let t = before + (sample - before) * piece as f64 / PIECES as f64;
            ready.sim.run_through(ready.tick(t)).map_err(|e| e.to_string())?;
            if begun.elapsed().as_secs_f64() > limits.seconds {
                return Err(format!("takes more than {} s", limits.seconds));
            }
        }
        before = sample;
        states.extend(ready.states(ready.tick(sample)));
    }
    let rough = begun.elapsed().as_secs_f64().max(1e-6);
    let counts = ready.sim.statistics();
    // Some short runs together: what is built in between would leave nothing of the program in the
    // caches, where peers that run again have theirs.
    let together = if rough < 1e-3 { 8 } else { 1 };
    let times = (0..limits.repetitions(rough)).map(|_| {
        let mut all = (0..together).map(|_| build()).collect::<Result<Vec<_>, _>>()?;
        let begun = ProcessTime::now();
        for Ready { sim, resolution, .. } in &mut all {
            let end = ticks(*resolution, problem.end());
            sim.run_through(end).map_err(|e| e.to_string())?;
        }
        Ok(begun.elapsed().as_secs_f64() / f64::from(together))
    });
    let mut times: Vec<f64> = times.collect::<Result<_, String>>()?;
    times.sort_by(f64::total_cmp);
    let note = note.lock().map(|n| n.clone()).unwrap_or_default();
    Ok(Run {
        method: String::new(),
        tolerance: 0.0,
        seconds: times[times.len() / 2],
        steps: counts.get("steps").copied().unwrap_or(0),
        states,
        failed: None,
        note,
    })
}

/// The tight solution that errors are measured against.
pub(super) fn reference(problem: Problem) -> Result<Vec<f64>, String> {
    let limits = Limits { seconds: 120.0, total: 0.0 };
    let method = if problem == Problem::Bounces { "closed" } else { "taylor" };
    let build = || scenario(problem, method, 1e-14, 20);
    run(problem, limits, &build).map(|run| run.states)
}

/// All methods at all tolerances. Once a method fails, tighter tolerances are not tried.
pub(super) fn runs(problem: Problem, limits: Limits, sink: &mut dyn FnMut(Run)) {
    let mut sweep = |method: &str, build: &dyn Fn(f64) -> Result<Ready, String>| {
        for tolerance in TOLERANCES {
            let mut found = run(problem, limits, &|| build(tolerance))
                .unwrap_or_else(|why| Run { failed: Some(why), ..Run::default() });
            (found.method, found.tolerance) = (method.to_owned(), tolerance);
            let failed = found.failed.is_some();
            sink(found);
            // Loose tolerances may fail where tighter ones do not.
            if failed && tolerance < 1e-2 {
                break;
            }
        }
    };
    let offered = |method: &&str| {
        problem != Problem::Grid || ["rk45", "taylor", "qss2", "qss3"].contains(method)
    };
    for method in METHODS.into_iter().filter(offered) {
        sweep(method, &|tolerance| scenario(problem, method, tolerance, 12));
    }
    if matches!(problem, Problem::Bounces | Problem::Grid) {
        // Their engine knows no events of its own, and machines are not written here.
        return;
    }
    for method in NATIVE {
        sweep(method, &|tolerance| {
            let native = Native { problem, method, tolerance };
            with_system(problem, &native).unwrap_or_else(|| Err("only as a scenario".to_owned()))
        });
    }
}

/// The problem's Taylor unit at the tolerance and order of heyoka; of the bounces, in Rust.
pub(super) fn taylor(problem: Problem, limits: Limits) -> Result<Run, String> {
    let found = run(problem, limits, &|| match problem {
        Problem::Bounces => bouncing(),
        _ => scenario(problem, "taylor", 1e-14, 20),
    })?;
    Ok(Run { method: "taylor".into(), tolerance: 1e-14, ..found })
}
