//! Runs of library scenarios, each made once, by the way that `superdense run` takes.
use super::{
    Trouble,
    results::Results,
    table::{Run, Table},
};
use crate::{
    Overrides, load,
    output::{OutputError, directory, results, trajectory::Format},
    plot::Pictures,
    run::{Outcome, Session, Settings, executor::Executor, pulse::Pulse},
    stability::Coupled,
};
use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
};
use superdense_kernel::event_list::EventListKind;

/// Where the scenarios and what they include go in the output directory.
const SCENARIOS: &str = "scenarios";
/// Below that, the scenarios.
const LIBRARY: &str = "library";

/// Makes and remembers runs.
pub(super) struct Runner<'a> {
    out: &'a Path,
    /// Whatever is written to `out`.
    pub(super) written: results::Results,
    _held: Option<File>,
    slow: bool,
    pulse: &'a Pulse,
    made: HashMap<(String, String), Result<Rc<Results>, Trouble>>,
}

impl<'a> Runner<'a> {
    /// Writes the scenarios to `out`, where the results go, too.
    pub(super) fn new(out: &'a Path, slow: bool, pulse: &'a Pulse) -> Result<Self, Trouble> {
        let write = || {
            let held = directory::hold(out)?;
            let written = results::Results::collect(out, "superdense reproduce")?;
            crate::library::write(&written, SCENARIOS)?;
            Ok((held, written))
        };
        let written: Result<_, OutputError> = write();
        let (held, written) = written.map_err(|e| Trouble::Failed(e.to_string()))?;
        Ok(Self { out, written, _held: held, slow, pulse, made: HashMap::new() })
    }

    /// The results of a run of a table.
    pub(super) fn results(
        &mut self,
        file: &str,
        table: &Table,
        name: &str,
    ) -> Result<Rc<Results>, Trouble> {
        let key = (file.to_owned(), name.to_owned());
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let made = match table.run.get(name) {
            None => Err(Trouble::Failed(format!("{file} has no run `{name}`"))),
            Some(Run { slow: Some(why), .. }) if !self.slow => Err(Trouble::Skipped(why.clone())),
            Some(run) => self.make(run, &format!("runs/{file}/{name}")).map(Rc::new),
        };
        self.made.insert(key, made.clone());
        made
    }

    /// A spectral radius, see [`crate::stability`].
    pub(super) fn radius(&self, run: &Run, step: Option<&str>) -> Result<f64, Trouble> {
        let radius = || {
            let coupled = Coupled::new(&scenario(self.out, run), &sets(run))?;
            match step {
                Some(step) => coupled.step(step),
                None => Ok(coupled.zero_stability()?.unwrap_or(0.0)),
            }
        };
        radius().map_err(|why| Trouble::Failed(format!("{}: {why}", run.scenario)))
    }

    fn make(&self, run: &Run, folder: &str) -> Result<Results, Trouble> {
        let failed = |e: &dyn std::fmt::Display| Trouble::Failed(format!("{}: {e}", run.scenario));
        let out = self.written.folder(folder).map_err(|e| failed(&e))?.dir().to_owned();
        let settings = Settings {
            file: scenario(self.out, run),
            sets: sets(run),
            overrides: Overrides {
                until: run.until.clone(),
                sample: run.sample.clone(),
                ..Overrides::default()
            },
            out: out.clone(),
            event_list: EventListKind::default(),
            executor: Executor::default(),
            real_time: None,
            checkpoint_every: None,
            ties: None,
            replay: None,
            trajectory: Format::None,
            plot: Pictures::None,
        };
        let plan = load(&settings.file, &settings.sets, &settings.overrides);
        let plan = plan.map_err(|e| failed(&e.render(false)))?;
        let session = Session::start(plan, settings, self.pulse.clone());
        let outcome = session.and_then(|mut s| s.run(&mut |_| ()));
        match outcome.map_err(|e| failed(&e))? {
            Outcome::Done(_) => Results::read(&out).map_err(|e| failed(&e)),
            Outcome::Interrupted { .. } => Err(Trouble::Interrupted),
        }
    }
}

/// Where the scenario of a run is.
fn scenario(out: &Path, run: &Run) -> PathBuf {
    out.join(SCENARIOS).join(LIBRARY).join(&run.scenario)
}

/// `--set` options as they would be written.
fn sets(run: &Run) -> Vec<(String, String)> {
    run.set.iter().map(|(path, value)| (path.clone(), value.to_string())).collect()
}

/// The command that makes the same run, from the folder `scenarios/library`.
pub(super) fn command(run: &Run) -> String {
    let mut words = vec!["superdense run".to_owned(), run.scenario.clone()];
    for (option, value) in [("--until", &run.until), ("--sample", &run.sample)] {
        words.extend(value.iter().map(|v| format!("{option} {}", quoted(v))));
    }
    words.extend(sets(run).iter().map(|(p, v)| format!("--set {}", quoted(&format!("{p}={v}")))));
    words.join(" ")
}

/// As a shell needs it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-=/".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
}
