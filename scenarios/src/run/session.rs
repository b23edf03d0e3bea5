//! One run with its files, from start or checkpoint to end, interruption or failure.
#[cfg(feature = "federation")]
use super::federation::RECORDS;
use super::{
    Failure, LISTED, Outcome, Report, Settings,
    checkpoint::{Checkpoint, Identity},
    core::{End, Run, build},
    executor::{Company, Method},
    pulse::Pulse,
    real_time::Control,
    recorder::{EVENTS, EVENTS_FILE},
    sampler::SAMPLES_FILE,
};
use crate::{
    Plan,
    output::{
        directory::{CHECKPOINT, SUMMARY},
        reports::{self, Performance, Summary},
        results::Results,
        trajectory::{Mark, Trajectory},
    },
    plot::{self, Declared},
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};
use superdense_kernel::{Simulation, time::Resolution};
use superdense_models::signal::value::Value;

/// Tables are handed to the system at least this often.
const FLUSH: Duration = Duration::from_secs(1);

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Tick of the last cycle.
    pub now: i64,
    /// Last tick of the run.
    pub stop: i64,
    /// Transitions since this process started the run.
    pub transitions: u64,
    /// Length of a tick.
    pub resolution: Resolution,
}

/// A run that can go on.
pub struct Session {
    run: Run,
    files: Files,
}

/// The files of a run, and since when what is in them.
struct Files {
    settings: Settings,
    results: Results,
    identity: Identity,
    started: Instant,
    flushed: Instant,
    checkpointed: Instant,
    earlier_seconds: f64,
    earlier_transitions: u64,
}

impl Session {
    /// A new run; `settings.out` is ready for it (see [`Results::prepare`]).
    ///
    /// # Errors
    /// A model that cannot be built; files that cannot be written.
    pub fn start(mut plan: Plan, settings: Settings, pulse: Pulse) -> Result<Self, Failure> {
        let built = build(&mut plan, settings.event_list)?;
        let results = Results::open(&settings.out)?;
        let header = built.identity.columns.as_str();
        let [events, samples] = results.tables([(EVENTS_FILE, EVENTS), (SAMPLES_FILE, header)])?;
        let trajectory = Trajectory::create(&results, settings.trajectory, built.names())?;
        let files = Files::new(&plan, settings, results, built.identity.clone())?;
        let tables = (events, samples, trajectory);
        let how = (files.settings.executor, files.settings.real_time.clone(), pulse);
        let mut this = Self { run: Run::new(plan, built, tables, None, how), files };
        #[cfg(feature = "federation")]
        this.federate(None)?;
        if this.files.settings.checkpoint_every.is_some() {
            this.files.checkpoint(&mut this.run)?;
        }
        Ok(this)
    }

    /// Goes on from a checkpoint, with the plan made by its own options.
    ///
    /// # Errors
    /// When the scenario is another one, or the results in the directory are not those that the
    /// checkpoint was made with.
    pub fn resume(
        checkpoint: Checkpoint,
        mut plan: Plan,
        settings: Settings,
        pulse: Pulse,
    ) -> Result<Self, Failure> {
        let mut built = build(&mut plan, settings.event_list)?;
        if let Some(why) = built.identity.difference(&checkpoint.identity) {
            return Err(Failure::Mismatch(why));
        }
        if plan.has_peers() != checkpoint.federation.is_some() {
            let why = "the scenario is not the one of the checkpoint: one of them takes part in a federation, and the other does \
                       not; restore [federate] as it was, or start a new run";
            return Err(Failure::Mismatch(why.to_owned()));
        }
        built.resume(&checkpoint.kernel, &plan)?;
        let results = Results::open(&settings.out)?;
        results.go_back(&checkpoint.run, &checkpoint.files)?;
        let tables = (
            results.reopen(EVENTS_FILE)?,
            results.reopen(SAMPLES_FILE)?,
            Trajectory::reopen(&results, checkpoint.trajectory, built.names())?,
        );
        let mut files = Files::new(&plan, settings, results, built.identity.clone())?;
        let how = (files.settings.executor, files.settings.real_time.clone(), pulse);
        let mut run = Run::new(plan, built, tables, Some(checkpoint.memory), how);
        run.sampled = checkpoint.sampled;
        files.earlier_seconds = checkpoint.wall_seconds;
        files.earlier_transitions = run.transitions();
        #[cfg_attr(not(feature = "federation"), expect(unused_mut, reason = "of federations"))]
        let mut this = Self { run, files };
        #[cfg(feature = "federation")]
        this.federate(checkpoint.federation.as_deref())?;
        Ok(this)
    }

    /// Makes the run a federate, with its records, if the plan says so; one that goes on from a checkpoint stands where
    /// that says.
    #[cfg(feature = "federation")]
    fn federate(&mut self, standing: Option<&[u8]>) -> Result<(), Failure> {
        if !self.run.plan.has_peers() {
            return Ok(());
        }
        let results = &self.files.results;
        let records = match standing {
            None => results.tables(RECORDS)?,
            Some(_) => {
                let [inbound, outbound, grants] = RECORDS.map(|(name, _)| results.reopen(name));
                [inbound?, outbound?, grants?]
            }
        };
        self.run.federate(Some(results.dir()), records)?;
        match (&mut self.run.federation, standing) {
            (Some(federation), Some(standing)) => federation.go_on(standing, results.dir()),
            _ => Ok(()),
        }
    }

    /// Changes the speed of a run that follows the wall clock, also while it goes on.
    pub fn control(&self) -> Option<Control> {
        self.run.pacer.as_ref().map(|pacer| pacer.control.clone())
    }

    /// The run over ranks, of which this is the first one.
    #[must_use]
    pub fn over(mut self, company: Option<Company>) -> Self {
        self.run.driver.company = company;
        self
    }

    /// The run with an earlier beginning: what was set up before it counts as its wall time.
    #[must_use]
    pub fn since(mut self, began: Instant) -> Self {
        self.files.started = began;
        self
    }

    /// The simulation, as far as it came.
    pub fn simulation(&self) -> &Simulation<Value> {
        &self.run.sim
    }

    /// The options of the run.
    pub fn settings(&self) -> &Settings {
        &self.files.settings
    }

    /// The notes of units so far.
    pub fn notes(&self) -> Vec<String> {
        self.run.recorder().memory.notes.clone()
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        self.files.progress(&self.run)
    }

    /// Runs to the end or to an interruption; `tell` is called now and then.
    ///
    /// # Errors
    /// When the simulation fails or results cannot be written. What was committed is in the
    /// files.
    pub fn run(&mut self, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Failure> {
        let Self { run, files } = self;
        let ended = run.simulate(&mut |run| files.pause(run, tell));
        if !matches!(ended, Ok(Some(_))) {
            files.flush(run)?;
            files.sync(run, ended.is_ok())?;
        }
        if ended.as_ref().is_err_and(|failure| run.is_of_others(failure)) {
            files.fault(run)?;
        }
        match ended? {
            Some(end) => Ok(Outcome::Done(Box::new(files.finish(run, end)?))),
            None => {
                let checkpoint = files.interrupted(run);
                let at = run.plan.resolution.format(run.sim.now().ticks);
                Ok(Outcome::Interrupted { at, checkpoint })
            }
        }
    }
}

impl Files {
    fn new(
        plan: &Plan,
        settings: Settings,
        results: Results,
        identity: Identity,
    ) -> Result<Self, Failure> {
        results.put(&[(plot::NAME, &reports::to_json(&Declared::of(plan)))])?;
        let now = Instant::now();
        Ok(Self {
            settings,
            results,
            identity,
            started: now,
            flushed: now,
            checkpointed: now,
            earlier_seconds: 0.0,
            earlier_transitions: 0,
        })
    }

    fn wall_seconds(&self) -> f64 {
        self.earlier_seconds + self.started.elapsed().as_secs_f64()
    }

    fn progress(&self, run: &Run) -> Progress {
        Progress {
            now: run.sim.now().ticks,
            stop: run.plan.stop,
            transitions: run.transitions() - self.earlier_transitions,
            resolution: run.plan.resolution,
        }
    }

    /// The work of a run besides simulating.
    fn pause(&mut self, run: &mut Run, tell: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        tell(self.progress(run));
        if self.flushed.elapsed() >= FLUSH {
            self.flush(run)?;
        }
        let every = self.settings.checkpoint_every;
        if every.is_some_and(|s| self.checkpointed.elapsed().as_secs_f64() >= s) {
            self.checkpoint(run)?;
        }
        Ok(())
    }

    fn flush(&mut self, run: &mut Run) -> Result<(), Failure> {
        self.flushed = Instant::now();
        run.samples.flush()?;
        let mut recorder = run.recorder();
        recorder.events.flush()?;
        recorder.trajectory.flush()?;
        Ok(())
    }

    /// The checkpoint of an interrupted run, or why there is none.
    fn interrupted(&mut self, run: &mut Run) -> Result<PathBuf, String> {
        self.checkpoint(run).map_err(|e| e.to_string())
    }

    /// The facts of a run in which its federation or a simulator of mosaik failed. A checkpoint from before goes on.
    fn fault(&mut self, run: &mut Run) -> Result<(), Failure> {
        // Samples go as far, also where nothing has happened since the last cycle.
        let end = run.sim.clock();
        let summary = Summary { ended: Some("fault"), ..run.summary((end, None)) };
        Ok(self.results.put(&[(SUMMARY, &reports::to_json(&summary))])?)
    }

    /// Makes the tables durable, tells the manifest how far they are, and returns where the trajectory
    /// stands.
    fn sync(&mut self, run: &mut Run, grows: bool) -> Result<Mark, Failure> {
        let samples = run.samples.sync(grows)?;
        let (events, (mark, trajectory)) = {
            let mut recorder = run.recorder();
            (recorder.events.sync(grows)?, recorder.trajectory.sync(grows)?)
        };
        #[cfg(feature = "federation")]
        let records = {
            let records = run.federation.iter_mut().flat_map(|f| f.records());
            records.map(|record| record.sync(grows)).collect::<Result<Vec<_>, _>>()?
        };
        #[cfg(not(feature = "federation"))]
        let records = Vec::new();
        self.results.note([samples, events].into_iter().chain(records).chain(trajectory))?;
        Ok(mark)
    }

    /// Writes the checkpoint: first the tables, then the file that tells their lengths and checksums.
    fn checkpoint(&mut self, run: &mut Run) -> Result<PathBuf, Failure> {
        let trajectory = self.sync(run, true)?;
        #[cfg(feature = "federation")]
        let federation = run.federation.as_mut().map(|f| f.standing()).transpose()?;
        #[cfg(not(feature = "federation"))]
        let federation = None;
        let checkpoint = Checkpoint {
            run: self.results.run(),
            settings: self.settings.absolute(),
            identity: self.identity.clone(),
            sampled: run.sampled,
            federation,
            memory: run.recorder().remember(),
            files: self.results.files(),
            trajectory,
            wall_seconds: self.wall_seconds(),
            kernel: run.sim.checkpoint()?,
        };
        let file = self.results.put_checkpoint(&checkpoint.to_bytes()?)?;
        self.checkpointed = Instant::now();
        Ok(file)
    }

    /// Completes the results; the summary comes last, so that it stands for all of them.
    fn finish(&mut self, run: &mut Run, end: End) -> Result<Report, Failure> {
        run.recorder().trajectory.finish()?;
        self.sync(run, false)?;
        let wall_seconds = self.wall_seconds();
        let units = run.units(end.0);
        let summary = run.summary(end);
        let [performance, facts] =
            [reports::to_json(&self.performance(run, wall_seconds)), reports::to_json(&summary)];
        let pictures =
            plot::draw(self.results.dir(), self.settings.plot).map_err(|e| e.to_string());
        let mut files: Vec<(&str, &[u8])> = Vec::new();
        if let Ok(Some(pictures)) = &pictures {
            files.extend(pictures.files());
        }
        files.extend([("performance.json", &*performance), (reports::UNITS, units.as_bytes())]);
        files.push((SUMMARY, &facts));
        self.results.put(&files)?;
        self.results.remove(&[CHECKPOINT])?;
        let figure = pictures.map(|pictures| pictures.map_or(0, |p| p.panels));
        let memory = &run.recorder().memory;
        let few = memory.listed.len() <= LISTED;
        let events = few.then(|| memory.listed.clone());
        let continuous = run.plan.units.iter().filter(|u| u.continuous).count();
        let notes = memory.notes.clone();
        Ok(Report { summary, events, continuous, notes, wall_seconds, figure })
    }

    fn performance(&self, run: &Run, wall_seconds: f64) -> Performance {
        let mut units_per_kind = BTreeMap::new();
        for unit in &run.plan.units {
            *units_per_kind.entry(unit.kind.to_owned()).or_insert(0) += 1;
        }
        // Some transitions are timed, for all: never more than there was on all threads.
        let mut seconds_per_kind = run.stopwatch.seconds(&run.sim, &run.plan.units);
        let sum: f64 = seconds_per_kind.values().sum();
        let most = wall_seconds * f64::from(self.settings.executor.threads());
        if sum > most {
            seconds_per_kind.values_mut().for_each(|s| *s *= most / sum);
        }
        Performance {
            wall_seconds,
            events_per_second: run.transitions() as f64 / wall_seconds.max(1e-9),
            peak_memory_bytes: reports::peak_memory(),
            seconds_per_kind,
            units_per_kind,
            executor: self.executor(run),
            real_time: run.pacer.as_ref().map(|p| {
                let name = |kind| run.stopwatch.name(kind, &run.sim, &run.plan.units);
                p.punctuality(run.stopwatch.longest(&run.sim, &run.plan.units), name)
            }),
        }
    }

    fn executor(&self, run: &Run) -> reports::Executor {
        let executor = self.settings.executor;
        let parallel = executor.method != Method::Sequential;
        let verdict = (executor.method == Method::Auto).then(|| run.driver.verdict());
        let (chosen, why) = verdict.map(|(method, why)| (method.name(), why)).unzip();
        reports::Executor {
            name: executor.method.name(),
            chosen,
            why,
            event_list: self.settings.event_list.name(),
            workers: executor.workers(),
            models: run.sim.models() as u64,
            parallel: parallel.then(|| reports::Parallel::of(&run.driver.statistics)),
        }
    }
}
