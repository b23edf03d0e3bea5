//! Simulators of mosaik as units. Their programs are in `tests/mosaik`; without Python and `mosaik-api-v3` the tests
//! that need them say so and end.
mod faults;
mod grid;
mod guide;
mod values;
mod worlds;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use superdense::{
    Diagnostics, Overrides, Plan, load,
    run::{
        executor::{Executor, Method},
        memory::{self, Finished, Keep},
        pulse::Pulse,
    },
};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A Python that can import a module.
fn python(module: &'static str) -> Option<String> {
    static FOUND: OnceLock<Vec<(&str, Option<String>)>> = OnceLock::new();
    let find = |module: &str| {
        let own = root().join("target/mosaik/bin/python").to_string_lossy().into_owned();
        let given = std::env::var("SUPERDENSE_MOSAIK_PYTHON").ok();
        let all = given.into_iter().chain([own, "python3".to_owned()]);
        all.into_iter().find(|python| {
            let output = Command::new(python).args(["-c", &format!("import {module}")]).output();
            output.is_ok_and(|o| o.status.success())
        })
    };
    let modules = ["mosaik_api_v3", "mosaik", "mosaik_components.pandapower, mosaik_components.pv"];
    let all = FOUND.get_or_init(|| modules.map(|m| (m, find(m))).into());
    let found = all.iter().find(|(m, _)| *m == module).and_then(|(_, python)| python.clone());
    if found.is_none() {
        println!("skipped: Python has no {module} (tests/run installs it)");
    }
    found
}

/// A folder of one test, removed at its end.
struct Bench {
    folder: PathBuf,
    python: String,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    fn new(name: &str, python: String) -> Self {
        let folder = format!("mosaik-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(root().join("tests/mosaik/sim.py"), folder.join("sim.py")).unwrap();
        Self { folder, python }
    }

    /// A bench with the simulator of the tests, if Python is there.
    fn with_sim(name: &str) -> Option<Self> {
        Some(Self::new(name, python("mosaik_api_v3")?))
    }

    /// A unit of the simulator of the tests, which logs its steps.
    fn unit(&self, name: &str, start: &str, create: &str) -> String {
        let start = if start.is_empty() { String::new() } else { format!(", {start}") };
        format!(
            "[unit.{name}]\nkind = 'mosaik'\ncommand = '{} sim.py {{address}}'\npatience = '20 s'\n\
             start = {{ log = '{name}.log'{start} }}\n[unit.{name}.create.m]\nmodel = 'Model'\n{create}\n",
            self.python
        )
    }

    fn load(&self, text: &str) -> Result<Plan, Diagnostics> {
        let file = self.folder.join("scenario.toml");
        std::fs::write(&file, text).unwrap();
        load(&file, &[], &Overrides::default())
    }

    fn tried(&self, text: &str, method: Method) -> Result<Finished, String> {
        let plan = self.load(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let executor = Executor { method, workers: Some(2) };
        let done = memory::run(plan, Keep::ALL, executor, &Pulse::default());
        done.map(|done| done.expect("nobody interrupts it")).map_err(|e| e.to_string())
    }

    fn run(&self, text: &str) -> Finished {
        self.tried(text, Method::Sequential).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    fn fails(&self, text: &str) -> String {
        self.tried(text, Method::Sequential).expect_err("an error")
    }

    fn refused(&self, text: &str) -> String {
        self.load(text).err().map(|e| format!("{e:?}")).expect("a mistake")
    }

    /// Steps in a log: times and inputs.
    fn steps(&self, log: &str) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join(log)).unwrap();
        let step = |line: &str| {
            let line: Vec<serde_json::Value> = serde_json::from_str(line).unwrap();
            serde_json::Value::from(line[..2].to_vec())
        };
        text.lines().map(step).collect()
    }
}

/// Rows of a trajectory on one signal: tick, micro-step, and the rest.
fn rows<'a>(table: &'a str, signal: &str) -> Vec<(i64, u32, &'a str)> {
    let row = |line: &'a str| {
        let mut cells = line.splitn(4, ',');
        let (tick, micro) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        (cells.next()? == signal).then(|| (tick, micro, cells.next().unwrap_or_default()))
    };
    table.lines().filter_map(row).collect()
}
