//! FMUs as units, compared with the same units as equations.
mod aliases;
mod ball;
mod bonds;
mod derivatives;
mod discrete;
mod exchange;
mod export;
mod faults;
mod isolation;
mod mass;
mod nominal;
mod peer;
mod policies;
mod refusals;
mod results;
mod ses;
mod speed;
mod starts;
mod terminals;
mod types;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use superdense::{Diagnostics, Overrides, Plan, load};
use superdense_kernel::{
    Fact, Options, Simulation,
    error::RunError,
    time::Tag,
    trace::{Observer, Site, Verdict},
};
use superdense_models::signal::value::Value;
use superdense_tests::fmu;

const S: i64 = 1_000_000_000;
const WITHOUT: (&str, &str) = ("canGetAndSetFMUState=\"true\"", "canGetAndSetFMUState=\"false\"");

type Facts = Arc<Mutex<Vec<(Tag, String)>>>;

struct Ear(Facts);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        let text = match fact {
            Fact::Event { name, kind, .. } => format!("{name} {}", kind.name()),
            Fact::Note(note) => note.to_string(),
        };
        self.0.lock().unwrap().push((tag, text));
        Verdict::Continue(())
    }
}

/// A folder with FMUs of one test, removed at its end.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        let name = format!("fmi-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    fn fmu(self, name: &str, changes: &[(&str, &str)]) -> Self {
        fmu::build(&self.0, name, changes);
        self
    }
    fn fmu_2(self, name: &str, changes: &[(&str, &str)]) -> Self {
        fmu::build_2(&self.0, name, changes);
        self
    }
    fn load(&self, text: &str) -> Result<Plan, Diagnostics> {
        let file = self.0.join("scenario.toml");
        let text = match text.strip_prefix("STOP ") {
            Some(text) => format!("stop = {text}"),
            None => format!("stop = 100\n{text}"),
        };
        std::fs::write(&file, text).unwrap();
        load(&file, &[], &Overrides::default())
    }
    fn start(&self, text: &str) -> Run {
        let plan = self.load(text).unwrap_or_else(|e| panic!("{e:?}"));
        let options = Options { resolution: plan.resolution, ..Options::default() };
        let mut sim = Simulation::new(plan.model, options).unwrap();
        let facts = Facts::default();
        sim.observe(Ear(Arc::clone(&facts)));
        Run { sim, facts }
    }
    fn run(&self, text: &str, stop: i64) -> Run {
        let mut run = self.start(text);
        run.to(stop).unwrap();
        run
    }
    fn fails(&self, text: &str, stop: i64) -> String {
        self.start(text).to(stop).unwrap_err().to_string()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Run {
    sim: Simulation<Value>,
    facts: Facts,
}

impl Run {
    fn to(&mut self, stop: i64) -> Result<(), RunError> {
        self.sim.run_through(stop).map(|_| ())
    }
    fn facts(&self) -> Vec<(Tag, String)> {
        self.facts.lock().unwrap().clone()
    }
    fn value(&self, path: &str, port: u16, at: i64) -> f64 {
        let model = self.sim.find(path).unwrap();
        self.sim.probe(model, port, at).unwrap().as_real().unwrap()
    }
}
