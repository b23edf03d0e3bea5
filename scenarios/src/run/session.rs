//! One run from start or checkpoint to end, interruption or failure.
use super::{
    Failure, LISTED, Outcome, Report, Settings,
    checkpoint::{Checkpoint, Identity},
    executor::{Driver, Method},
    pulse::Pulse,
    recorder::{EVENTS, EVENTS_FILE, Memory, Recorder},
    sampler::{SAMPLES_FILE, Sampler, Signals},
    stopwatch::Stopwatch,
};
use crate::{
    Plan,
    output::{
        csv,
        directory::{CHECKPOINT, SUMMARY},
        numbers::JobSources,
        reports::{self, Performance, Summary},
        results::Results,
        table::Table,
        trajectory::{Mark, Trajectory},
    },
    plot::{self, Declared},
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use superdense_kernel::{Ended, Options, Simulation, message::Digest, time::Resolution};
use superdense_models::signal::{statistics::UnitStatistics, value::Value};

/// Tables are handed to the system at least this often.
const FLUSH: Duration = Duration::from_secs(1);
/// Slices of a run, so that one without any event can be interrupted.
const SLICES: i64 = 1000;
/// Reason by which a run pauses; no scenario text can be it.
const PAUSE: &str = "\0pause";
/// Slices of parallel runs grow until one takes this long.
const BRISK: Duration = Duration::from_millis(100);

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
    settings: Settings,
    results: Results,
    plan: Plan,
    identity: Identity,
    sim: Simulation<Value>,
    recorder: Arc<Mutex<Recorder>>,
    sampler: Sampler,
    signals: Signals,
    samples: Table,
    /// Tick of the latest sample; -1 before the first.
    sampled: i64,
    pulse: Pulse,
    stopwatch: Stopwatch,
    driver: Driver,
    started: Instant,
    flushed: Instant,
    checkpointed: Instant,
    earlier_seconds: f64,
    earlier_transitions: u64,
}

struct Built {
    sim: Simulation<Value>,
    sampler: Sampler,
    signals: Signals,
    identity: Identity,
}

impl Built {
    /// Names for the trajectory: of signals, where members of aggregates have none, and of the
    /// sources of jobs.
    fn names(&self) -> (Vec<String>, Arc<JobSources>) {
        let labels = self.signals.iter().map(|s| s.2.clone().unwrap_or_default());
        (labels.collect(), Arc::clone(&self.sampler.sources))
    }
}

fn build(plan: &mut Plan, settings: &Settings) -> Result<Built, Failure> {
    let model = std::mem::take(&mut plan.model);
    let options = Options { event_list: settings.event_list, ..plan.options() };
    let sim = Simulation::new(model, options)?;
    let (sampler, signals) = sampler_of(&sim, plan)?;
    let identity = Identity {
        plan_hash: plan.plan_hash,
        resolution: plan.resolution,
        stop: plan.stop,
        sample: plan.sample,
        columns: Sampler::header(&plan.record),
    };
    Ok(Built { sim, sampler, signals, identity })
}

fn sampler_of(sim: &Simulation<Value>, plan: &Plan) -> Result<(Sampler, Signals), Failure> {
    Sampler::new(sim, plan)
        .map_err(|path| Failure::Mismatch(format!("there is no unit '{path}' to record")))
}

impl Session {
    /// A new run; `settings.out` is ready for it (see [`Results::prepare`]).
    ///
    /// # Errors
    /// A model that cannot be built; files that cannot be written.
    pub fn start(mut plan: Plan, settings: Settings, pulse: Pulse) -> Result<Self, Failure> {
        let built = build(&mut plan, &settings)?;
        let results = Results::open(&settings.out)?;
        let header = built.identity.columns.as_str();
        let [events, samples] = results.tables([(EVENTS_FILE, EVENTS), (SAMPLES_FILE, header)])?;
        let trajectory = Trajectory::create(&results, settings.trajectory, built.names())?;
        let tables = (events, samples, trajectory);
        let memory = Memory::new(built.sim.state_digest(0));
        let mut this = Self::assemble((plan, settings, results), pulse, built, tables, memory)?;
        if this.settings.checkpoint_every.is_some() {
            this.checkpoint()?;
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
        let mut built = build(&mut plan, &settings)?;
        if let Some(why) = built.identity.difference(&checkpoint.identity) {
            return Err(Failure::Mismatch(why));
        }
        built.sim.resume(&checkpoint.kernel)?;
        // The structure may be another one than at the start, and with it the keys of models.
        (built.sampler, built.signals) = sampler_of(&built.sim, &plan)?;
        let results = Results::open(&settings.out)?;
        results.go_back(&checkpoint.run, &checkpoint.files)?;
        let tables = (
            results.reopen(EVENTS_FILE)?,
            results.reopen(SAMPLES_FILE)?,
            Trajectory::reopen(&results, checkpoint.trajectory, built.names())?,
        );
        let mut this =
            Self::assemble((plan, settings, results), pulse, built, tables, checkpoint.memory)?;
        this.sampled = checkpoint.sampled;
        this.earlier_seconds = checkpoint.wall_seconds;
        this.earlier_transitions = this.transitions();
        Ok(this)
    }

    fn assemble(
        (plan, settings, results): (Plan, Settings, Results),
        pulse: Pulse,
        built: Built,
        (events, samples, trajectory): (Table, Table, Trajectory),
        memory: Memory,
    ) -> Result<Self, Failure> {
        results.put(&[(plot::NAME, &reports::to_json(&Declared::of(&plan)))])?;
        let Built { mut sim, sampler, signals, identity } = built;
        let tables = (events, trajectory);
        let sequential = settings.executor.method == Method::Sequential;
        pulse.be_patient(!sequential);
        sim.halt_on(pulse.halt(), PAUSE);
        let recorder = Recorder::new(tables, &signals, memory, plan.resolution);
        let recorder = Arc::new(Mutex::new(recorder));
        sim.observe(Arc::clone(&recorder));
        let stopwatch = Stopwatch::default();
        sim.measure(stopwatch.clone());
        let now = Instant::now();
        Ok(Self {
            driver: Driver::new(settings.executor, plan.partition.of(&sim), plan.stop),
            settings,
            results,
            plan,
            identity,
            sim,
            recorder,
            sampler,
            signals,
            samples,
            sampled: -1,
            pulse,
            stopwatch,
            started: now,
            flushed: now,
            checkpointed: now,
            earlier_seconds: 0.0,
            earlier_transitions: 0,
        })
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn transitions(&self) -> u64 {
        let c = self.sim.counts();
        c.internal + c.external + c.confluent
    }

    /// The run with an earlier beginning: what was set up before it counts as its wall time.
    #[must_use]
    pub fn since(self, began: Instant) -> Self {
        Self { started: began, ..self }
    }

    fn wall_seconds(&self) -> f64 {
        self.earlier_seconds + self.started.elapsed().as_secs_f64()
    }

    /// The simulation, as far as it came.
    pub fn simulation(&self) -> &Simulation<Value> {
        &self.sim
    }

    /// The options of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        Progress {
            now: self.sim.now().ticks,
            stop: self.plan.stop,
            transitions: self.transitions() - self.earlier_transitions,
            resolution: self.plan.resolution,
        }
    }

    /// Runs to the end or to an interruption; `tell` is called now and then.
    ///
    /// # Errors
    /// When the simulation fails or results cannot be written. What was committed is in the
    /// files.
    pub fn run(&mut self, tell: &mut dyn FnMut(Progress)) -> Result<Outcome, Failure> {
        let ended = self.simulate(tell);
        if !matches!(ended, Ok(Some(_))) {
            self.flush()?;
            self.sync(ended.is_ok())?;
        }
        match ended? {
            Some((end, reason)) => Ok(Outcome::Done(Box::new(self.finish(end, reason)?))),
            None => {
                let checkpoint = self.checkpoint().map_err(|e| e.to_string());
                let at = self.plan.resolution.format(self.sim.now().ticks);
                Ok(Outcome::Interrupted { at, checkpoint })
            }
        }
    }

    /// The last tick and why it came early; nothing when interrupted.
    fn simulate(
        &mut self,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Option<(i64, Option<String>)>, Failure> {
        let stop = self.plan.stop;
        let mut slice = (stop / SLICES).max(1);
        let mut reached = self.sim.clock();
        loop {
            if self.pulse.interrupted() {
                return Ok(None);
            }
            let due = self.next_sample();
            let limit = due.min(reached.saturating_add(slice)).min(stop);
            let begun = Instant::now();
            let ran = self.driver.run_through(&mut self.sim, limit);
            match ran.map_err(|e| Failure::of(e, self.plan.resolution))? {
                Ended::Stopped(reason) if reason == PAUSE => {
                    self.pulse.take_pause();
                    self.pause(tell)?;
                    continue;
                }
                Ended::Stopped(reason) => {
                    let end = self.sim.now().ticks;
                    self.sample(end)?;
                    return Ok(Some((end, Some(reason))));
                }
                Ended::Reached | Ended::Idle => reached = limit,
            }
            // Workers part and come home in every slice.
            if self.driver.executor().method != Method::Sequential && begun.elapsed() < BRISK {
                slice = slice.saturating_mul(2);
            }
            if limit == due || limit == stop {
                self.sample(limit)?;
            }
            if limit == stop {
                return Ok(Some((stop, None)));
            }
            if self.pulse.take_pause() {
                self.pause(tell)?;
            }
        }
    }

    fn next_sample(&self) -> i64 {
        match self.plan.sample {
            _ if self.sampled < 0 => 0,
            Some(clock) => {
                clock.tick(clock.index_from(self.sampled.saturating_add(1))).unwrap_or(i64::MAX)
            }
            None => i64::MAX,
        }
    }

    fn sample(&mut self, at: i64) -> Result<(), Failure> {
        if self.sampled == at {
            return Ok(());
        }
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let (sampler, memory) = (&self.sampler, &recorder.memory);
        sampler.row(&mut self.samples, &self.sim, &self.signals, memory, at)?;
        self.sampled = at;
        Ok(())
    }

    /// The work of a run besides simulating.
    fn pause(&mut self, tell: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        tell(self.progress());
        if self.flushed.elapsed() >= FLUSH {
            self.flush()?;
        }
        let every = self.settings.checkpoint_every;
        if every.is_some_and(|s| self.checkpointed.elapsed().as_secs_f64() >= s) {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.flushed = Instant::now();
        self.samples.flush()?;
        let mut recorder = self.recorder();
        recorder.events.flush()?;
        recorder.trajectory.flush()?;
        Ok(())
    }

    /// Makes the tables durable, tells the manifest how far they are, and returns where the trajectory
    /// stands.
    fn sync(&mut self, grows: bool) -> Result<Mark, Failure> {
        let samples = self.samples.sync(grows)?;
        let (events, (mark, trajectory)) = {
            let mut recorder = self.recorder();
            (recorder.events.sync(grows)?, recorder.trajectory.sync(grows)?)
        };
        self.results.note([samples, events].into_iter().chain(trajectory))?;
        Ok(mark)
    }

    /// Writes the checkpoint: first the tables, then the file that tells their lengths and checksums.
    fn checkpoint(&mut self) -> Result<PathBuf, Failure> {
        let trajectory = self.sync(true)?;
        let checkpoint = Checkpoint {
            run: self.results.run(),
            settings: self.settings.absolute(),
            identity: self.identity.clone(),
            sampled: self.sampled,
            memory: self.recorder().memory.clone(),
            files: self.results.files(),
            trajectory,
            wall_seconds: self.wall_seconds(),
            kernel: self.sim.checkpoint()?,
        };
        let file = self.results.put_checkpoint(&checkpoint.to_bytes()?)?;
        self.checkpointed = Instant::now();
        Ok(file)
    }

    /// Completes the results; the summary comes last, so that it stands for all of them.
    fn finish(&mut self, end: i64, stopped: Option<String>) -> Result<Report, Failure> {
        self.recorder().trajectory.finish()?;
        self.sync(false)?;
        let wall_seconds = self.wall_seconds();
        let summary = self.summary(end, stopped);
        let [performance, facts] =
            [reports::to_json(&self.performance(wall_seconds)), reports::to_json(&summary)];
        let units = self.units();
        let pictures = plot::pictures(self.results.dir()).map_err(|e| e.to_string());
        let mut files: Vec<(&str, &[u8])> = Vec::new();
        if let Ok(Some(pictures)) = &pictures {
            files.extend(pictures.files());
        }
        files.extend([("performance.json", &*performance), (reports::UNITS, units.as_bytes())]);
        files.push((SUMMARY, &facts));
        self.results.put(&files)?;
        self.results.remove(&[CHECKPOINT])?;
        let figure = pictures.map(|pictures| pictures.map_or(0, |p| p.panels));
        let memory = &self.recorder().memory;
        let few = memory.listed.len() <= LISTED;
        let events = if few { memory.listed.clone() } else { Vec::new() };
        let continuous = self.plan.units.iter().filter(|u| u.continuous).count();
        let notes = memory.notes.clone();
        Ok(Report { summary, events, continuous, notes, wall_seconds, figure })
    }

    /// The counts of the continuous units, a row for each.
    fn units(&self) -> String {
        let names = UnitStatistics::default().entries().into_iter().map(|(name, _)| name);
        let mut text = ["unit"].into_iter().chain(names).collect::<Vec<_>>().join(",") + "\n";
        for unit in self.plan.units.iter().filter(|u| u.continuous) {
            let counts = self.sim.statistics_of(&unit.path).unwrap_or_default();
            text.push_str(&csv::field(&unit.path));
            for (_, count) in UnitStatistics::from_sums(&counts).entries() {
                text.push_str(&format!(",{count}"));
            }
            text.push('\n');
        }
        text
    }

    fn summary(&self, end: i64, stopped: Option<String>) -> Summary {
        let counts = self.sim.counts();
        let units = UnitStatistics::from_sums(&self.sim.statistics());
        let (events, notes) = {
            let memory = &self.recorder().memory;
            (memory.events, memory.notes.clone())
        };
        Summary {
            scenario: self.plan.name.clone(),
            resolution: self.plan.resolution.to_string(),
            seed: self.plan.seed,
            end_time: reports::decimal(&self.plan.resolution.format(end)),
            stopped,
            cycles: counts.cycles,
            internal: counts.internal,
            external: counts.external,
            confluent: counts.confluent,
            messages: counts.messages,
            events,
            exchanges: units.exchanges,
            exchanged_bytes: units.exchanged_bytes,
            macro_steps: units.macro_steps,
            corrections: units.corrections,
            refused_macro_steps: units.refused_macro_steps,
            steps: units.steps,
            rejected_steps: units.rejected_steps,
            cut_steps: units.cut_steps,
            trace_hash: format!("{:016x}", self.hash(end)),
            notes,
        }
    }

    /// The trace hash: of messages, and of the states of continuous units at the start and at the end,
    /// where nobody may have heard of these.
    fn hash(&self, end: i64) -> u64 {
        let (trace, start) = (self.sim.trace_hash(), self.recorder().memory.start);
        match self.sim.state_digest(end) {
            0 => trace,
            states => {
                let mut digest = Digest::new();
                [trace, start, states].into_iter().for_each(|word| digest.word(word));
                digest.finish()
            }
        }
    }

    fn performance(&self, wall_seconds: f64) -> Performance {
        let mut units_per_kind = BTreeMap::new();
        for unit in &self.plan.units {
            *units_per_kind.entry(unit.kind.to_owned()).or_insert(0) += 1;
        }
        // Some transitions are timed, for all: never more than there was on all threads.
        let mut seconds_per_kind = self.stopwatch.seconds(&self.sim, &self.plan.units);
        let sum: f64 = seconds_per_kind.values().sum();
        let most = wall_seconds * f64::from(self.settings.executor.threads());
        if sum > most {
            seconds_per_kind.values_mut().for_each(|s| *s *= most / sum);
        }
        Performance {
            wall_seconds,
            events_per_second: self.transitions() as f64 / wall_seconds.max(1e-9),
            peak_memory_bytes: reports::peak_memory(),
            seconds_per_kind,
            units_per_kind,
            executor: self.executor(),
        }
    }

    fn executor(&self) -> reports::Executor {
        let executor = self.settings.executor;
        let parallel = executor.method != Method::Sequential;
        let verdict = (executor.method == Method::Auto).then(|| self.driver.verdict());
        let (chosen, why) = verdict.map(|(method, why)| (method.name(), why)).unzip();
        reports::Executor {
            name: executor.method.name(),
            chosen,
            why,
            event_list: self.settings.event_list.name(),
            workers: executor.workers(),
            models: self.sim.models() as u64,
            parallel: parallel.then(|| reports::Parallel::of(&self.driver.statistics)),
        }
    }
}
