//! A run without its files: the simulation, what observes it, and how far it is.
#[cfg(feature = "federation")]
use super::federation::{Federation, RECORDS};
use super::{
    Failure,
    checkpoint::Identity,
    doubts::{DOUBTS, Doubt},
    driven,
    executor::{Driver, Executor, Method},
    pulse::Pulse,
    real_time::{Pacer, RealTime},
    recorder::{Memory, NOTES, Recorder},
    sampler::{Sampler, Seen, Signals},
    stopwatch::Stopwatch,
};
use crate::{
    Plan,
    output::{
        csv,
        numbers::JobSources,
        reports::{self, Summary},
        table::Table,
        trajectory::Trajectory,
    },
    plan::{UnitInfo, tree::dotted},
    result::evaluation::Evaluation,
};
#[cfg(feature = "federation")]
use std::path::Path;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use superdense_kernel::{
    Ended, Options, Simulation, error::RunError, event_list::EventListKind, message::Digest,
};
use superdense_models::{
    kinds::{PortKind, PortSpec},
    signal::{statistics::UnitStatistics, value::Value},
};

/// Slices of a run, so that one without any event can be interrupted; the first ones are shorter, as nobody knows yet how
/// much happens in them.
const SLICES: i64 = 1000;
const SHORTER: i64 = 1 << 12;
/// Reason by which a run pauses; no scenario text can be it.
const PAUSE: &str = "\0pause";
/// Slices shrink while one takes longer, and those of parallel runs grow until then.
const BRISK: Duration = Duration::from_millis(100);

/// A plan's model and listeners, before a run begins or goes on.
pub(super) struct Built {
    pub sim: Simulation<Value>,
    sampler: Sampler,
    signals: Signals,
    evaluation: Option<Evaluation>,
    pub identity: Identity,
}

impl Built {
    /// Goes back to a checkpoint of the kernel. The structure may be another one than at the start, and with
    /// it the keys of models.
    ///
    /// # Errors
    /// When the checkpoint is of another model.
    pub(super) fn resume(&mut self, kernel: &[u8], plan: &Plan) -> Result<(), Failure> {
        self.sim.resume(kernel)?;
        (self.sampler, self.signals, self.evaluation) = listeners(&self.sim, plan)?;
        Ok(())
    }

    /// Names for the trajectory: of signals, where members of aggregates have none, and of the
    /// sources of jobs.
    pub(super) fn names(&self) -> (Vec<String>, Arc<JobSources>) {
        let labels = self.signals.iter().map(|s| s.2.clone().unwrap_or_default());
        (labels.collect(), Arc::clone(&self.sampler.sources))
    }
}

/// Builds the model of a plan.
///
/// # Errors
/// A model that cannot be built.
pub(super) fn build(plan: &mut Plan, event_list: EventListKind) -> Result<Built, Failure> {
    let model = std::mem::take(&mut plan.model);
    let options = Options { event_list, ..plan.options() };
    let mut sim = Simulation::new(model, options)?;
    driven::begin(plan.federate.as_ref(), &mut sim)?;
    let (sampler, signals, evaluation) = listeners(&sim, plan)?;
    let identity = Identity {
        plan_hash: plan.plan_hash,
        resolution: plan.resolution,
        stop: plan.stop,
        sample: plan.sample,
        columns: Sampler::header(&plan.record),
        results: plan.results.text.clone(),
    };
    Ok(Built { sim, sampler, signals, evaluation, identity })
}

type Listeners = (Sampler, Signals, Option<Evaluation>);

fn listeners(sim: &Simulation<Value>, plan: &Plan) -> Result<Listeners, Failure> {
    let unknown = |path| Failure::Mismatch(format!("there is no unit '{path}' to record"));
    let (sampler, signals) = Sampler::new(sim, plan).map_err(unknown)?;
    let evaluation = Evaluation::new(&plan.results, sim).map_err(unknown)?;
    Ok((sampler, signals, evaluation))
}

/// The last tick of a run, and why it came early.
pub(super) type End = (i64, Option<String>);

/// A simulation with what observes it.
pub(super) struct Run {
    pub plan: Plan,
    #[cfg(feature = "federation")]
    pub federation: Option<Federation>,
    pub sim: Simulation<Value>,
    recorder: Arc<Mutex<Recorder>>,
    sampler: Sampler,
    signals: Signals,
    pub samples: Table,
    /// Tick of the latest sample; -1 before the first.
    pub sampled: i64,
    pub pulse: Pulse,
    pub stopwatch: Stopwatch,
    pub driver: Driver,
    pub pacer: Option<Pacer>,
}

impl Run {
    /// A run that begins, or goes on with a memory.
    pub(super) fn new(
        plan: Plan,
        built: Built,
        (events, samples, trajectory): (Table, Table, Trajectory),
        memory: Option<Memory>,
        (executor, real_time, pulse): (Executor, Option<RealTime>, Pulse),
    ) -> Self {
        let Built { mut sim, sampler, signals, mut evaluation, .. } = built;
        pulse.be_patient(executor.method != Method::Sequential);
        sim.halt_on(pulse.halt(), PAUSE);
        let begins = memory.is_none();
        let mut memory = memory.unwrap_or_else(|| Memory::new(sim.state_digest(0)));
        if let Some(evaluation) = &mut evaluation {
            match memory.evaluation.take() {
                Some(state) => evaluation.restore(state),
                None if begins => evaluation.begin(&mut sim),
                None => {}
            }
        }
        let observed = (events, trajectory, evaluation);
        let recorder = Recorder::new(observed, &signals, memory, plan.resolution);
        let recorder = Arc::new(Mutex::new(recorder));
        sim.observe(Arc::clone(&recorder));
        let stopwatch = Stopwatch::new(real_time.is_some());
        sim.measure(stopwatch.clone());
        let driver = Driver::new(executor, plan.partition.of(&sim), plan.stop);
        let sampled = -1;
        Self {
            plan,
            #[cfg(feature = "federation")]
            federation: None,
            sim,
            recorder,
            sampler,
            signals,
            samples,
            sampled,
            pulse,
            stopwatch,
            driver,
            pacer: real_time.map(Pacer::new),
        }
    }

    /// Makes the run a federate, if the plan says so.
    ///
    /// # Errors
    /// A record to be replayed that cannot be read.
    #[cfg(feature = "federation")]
    pub(super) fn federate(
        &mut self,
        folder: Option<&Path>,
        records: [Table; RECORDS.len()],
    ) -> Result<(), Failure> {
        self.federation = Federation::new(&self.plan, &mut self.sim, folder, &self.pulse, records)?;
        Ok(())
    }

    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn transitions(&self) -> u64 {
        let c = self.sim.counts();
        c.internal + c.external + c.confluent
    }

    fn failure(&self, error: RunError) -> Failure {
        let turns = match error {
            RunError::MicroSteps { .. } => self.recorder().loop_of_events(),
            _ => None,
        };
        Failure::of(error, self.plan.resolution, &turns.unwrap_or_default())
    }

    /// The last tick and why it came early; nothing when interrupted.
    ///
    /// # Errors
    /// When the simulation, its federation or `pause` fails.
    pub(super) fn simulate(
        &mut self,
        pause: &mut dyn FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<Option<End>, Failure> {
        let ended = self.slices(pause);
        #[cfg(feature = "federation")]
        if let Some(federation) = &mut self.federation {
            match &ended {
                Ok(Some(_)) => federation.end()?,
                Ok(None) => federation.abandon("it was interrupted"),
                Err(failure) => federation.abandon(&failure.to_string()),
            }
        }
        ended
    }

    /// The tick up to which the run may go; nothing when interrupted.
    fn bound(&mut self) -> Result<Option<i64>, Failure> {
        #[cfg(feature = "federation")]
        if let Some(federation) = &mut self.federation {
            return federation.bound(&mut self.sim);
        }
        Ok(Some(i64::MAX))
    }

    /// The run has come through a tick.
    fn came(&mut self, tick: i64) {
        #[cfg(feature = "federation")]
        if let Some(federation) = &mut self.federation {
            federation.reached = tick;
        }
        #[cfg(not(feature = "federation"))]
        let _ = tick;
    }

    /// Whether a failure is that of another program, without which nothing goes on.
    pub(super) fn is_of_others(&self, failure: &Failure) -> bool {
        let place = match failure {
            Failure::Federation(_) => return true,
            Failure::Run { error, .. } if matches!(**error, RunError::Ranks { .. }) => return true,
            Failure::Run { error, .. } => error.path(),
            _ => None,
        };
        self.plan.units.iter().any(|u| u.kind == "mosaik" && Some(u.path.as_str()) == place)
    }

    /// Whether what came makes the run go through its tick once more.
    fn again(&mut self) -> Result<bool, Failure> {
        #[cfg(feature = "federation")]
        if let Some(federation) = &mut self.federation {
            return federation.again(&mut self.sim);
        }
        Ok(false)
    }

    /// Whether nobody else hears of its slices.
    fn is_alone(&self) -> bool {
        #[cfg(feature = "federation")]
        if self.federation.is_some() {
            return false;
        }
        self.driver.company.is_none()
    }

    fn slices(
        &mut self,
        pause: &mut dyn FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<Option<End>, Failure> {
        let stop = self.plan.stop;
        let most = (stop / SLICES).max(1);
        let mut slice = if self.is_alone() { (most / SHORTER).max(1) } else { most };
        let mut reached = self.sim.clock();
        loop {
            if self.driver.company.is_none() && self.pulse.interrupted() {
                return Ok(None);
            }
            let Some(bound) = self.bound()? else { return Ok(None) };
            let due = self.next_sample();
            let limit = due.min(reached.saturating_add(slice)).min(stop).min(bound);
            let Some(limit) = self.wait(limit, pause)? else { return Ok(None) };
            let Some(limit) = self.agree(limit)? else { return Ok(None) };
            let begun = Instant::now();
            let ran = self.driver.advance(&mut self.sim, limit);
            match ran.map_err(|e| self.failure(e))? {
                Ended::Stopped(reason) if reason == PAUSE => {
                    self.pulse.take_pause();
                    pause(self)?;
                    continue;
                }
                Ended::Stopped(reason) => {
                    let end = self.sim.now().ticks;
                    self.sample(end)?;
                    return Ok(Some((end, Some(reason))));
                }
                Ended::Reached | Ended::Idle => reached = limit,
            }
            self.came(limit);
            let again = self.again();
            if matches!(again, Ok(true)) {
                continue;
            }
            self.evaluate(limit);
            self.ready(limit, limit == due || limit == stop)?;
            // Workers part and come home in every slice.
            let took = begun.elapsed();
            let grows = self.driver.executor().method != Method::Sequential || slice < most;
            if took < BRISK / 4 && grows {
                slice = slice.saturating_mul(2);
            } else if took > BRISK && self.is_alone() {
                slice = (slice / 2).max(1);
            }
            if limit == due || limit == stop {
                self.sample(limit)?;
            }
            again?;
            if limit == stop {
                return Ok(Some((stop, None)));
            }
            if self.pulse.take_pause() {
                pause(self)?;
            }
        }
    }

    /// The tick to which all ranks go, if there are any; nothing when one of them was interrupted.
    fn agree(&mut self, limit: i64) -> Result<Option<i64>, Failure> {
        if self.driver.company.is_none() {
            return Ok(Some(limit));
        }
        let wanted = if self.pulse.interrupted() { i64::MIN } else { limit };
        let agreed = self.driver.agree(wanted).map_err(|e| self.failure(e))?;
        Ok((agreed > i64::MIN).then_some(agreed))
    }

    /// Waits for the wall time of the next instant at which something happens up to `limit`, and gives that instant;
    /// nothing when interrupted.
    fn wait(
        &mut self,
        limit: i64,
        pause: &mut dyn FnMut(&mut Self) -> Result<(), Failure>,
    ) -> Result<Option<i64>, Failure> {
        let Some(mut pacer) = self.pacer.take() else { return Ok(Some(limit)) };
        let seconds = |ticks| self.plan.resolution.seconds(ticks);
        pacer.begin(seconds(self.sim.clock()));
        let next = self.sim.next_within(limit).map_err(|e| self.failure(e))?;
        let limit = next.map_or(limit, |tag| tag.ticks);
        let at = seconds(limit);
        while !pacer.nap(at, &self.pulse) {
            if self.pulse.take_pause() {
                pause(self)?;
            }
        }
        pacer.happens = next.is_some();
        self.pacer = Some(pacer);
        Ok((!self.pulse.interrupted()).then_some(limit))
    }

    /// Measures how late an instant is, at which something happened or a sample is due.
    fn ready(&mut self, tick: i64, sampled: bool) -> Result<(), Failure> {
        let Some(pacer) = self.pacer.as_mut().filter(|p| p.happens || sampled) else {
            return Ok(());
        };
        let slowest = self.stopwatch.slowest();
        let Some(late) = pacer.ready(self.plan.resolution.seconds(tick), slowest) else {
            return Ok(());
        };
        let kind = slowest.and_then(|kind| self.stopwatch.name(kind, &self.sim, &self.plan.units));
        let most = kind
            .map_or(String::new(), |kind| format!("; units of kind {kind} took most of the time"));
        let places = if late < 0.1 { 6 } else { 3 };
        Err(Failure::Late(format!(
            "at {} s the run was {late:.places$} s late, and {} s are allowed{most}. Make these units cheaper, lower the speed of \
             --real-time, allow more by --late, or choose --overrun catch-up or slip",
            self.plan.resolution.format(tick),
            pacer.how.late,
        )))
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
        if self.sampled == at || !self.driver.is_first() {
            self.sampled = at;
            return Ok(());
        }
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let (sim, signals, memory) = (&self.sim, &self.signals, &recorder.memory);
        self.sampler.row(&mut self.samples, Seen { sim, signals, memory, at })?;
        self.sampled = at;
        Ok(())
    }

    /// The value of a recorded output, with the seconds since it was sent.
    ///
    /// # Errors
    /// When it is not finite.
    pub(super) fn seen(&self, column: usize, at: i64) -> Result<Option<(Value, f64)>, Failure> {
        let recorder = self.recorder();
        let (sim, signals, memory) = (&self.sim, &self.signals, &recorder.memory);
        self.sampler.value(column, Seen { sim, signals, memory, at })
    }

    /// All cycles up to a tick, whoever else may look at them.
    ///
    /// # Errors
    /// When the simulation fails.
    pub(super) fn through(&mut self, tick: i64) -> Result<Ended, Failure> {
        let ended = self.driver.advance(&mut self.sim, tick);
        ended.map_err(|e| self.failure(e))
    }

    /// Hands on to the evaluation what is known by tick `now`.
    fn evaluate(&mut self, now: i64) {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut recorder.evaluation {
            Some(evaluation) if self.driver.is_first() => {
                evaluation.advance(&mut self.sim, now, false);
            }
            Some(evaluation) => evaluation.drop_notes(&mut self.sim),
            None => {}
        }
    }

    /// The counts of the continuous units, a row for each.
    pub(super) fn units(&self, end: i64) -> String {
        let names = UnitStatistics::default().entries().into_iter().map(|(name, _)| name);
        let mut text = ["unit"].into_iter().chain(names).collect::<Vec<_>>().join(",") + "\n";
        for unit in self.plan.units.iter().filter(|u| u.continuous) {
            let counts = self.sim.statistics_of(&unit.path, end).unwrap_or_default();
            text.push_str(&csv::field(&unit.path));
            for (_, count) in UnitStatistics::from_sums(&counts).entries() {
                text.push_str(&format!(",{count}"));
            }
            text.push('\n');
        }
        text
    }

    /// Notes of units that have told them in no transition since.
    fn last_remarks(&mut self) -> Vec<String> {
        let Self { plan, sim, .. } = self;
        let units = plan.units.iter().filter(|u| u.continuous);
        let told = units.filter_map(|u| Some((&u.path, sim.remark_of(&u.path)?)));
        told.take(NOTES).map(|(path, remark)| format!("{path}: {remark}")).collect()
    }

    /// A note on blocks that have computed nothing, since they never heard a first value.
    fn silent(&self, end: i64) -> Option<String> {
        let signal = |p: &PortSpec| p.kind == PortKind::Signal;
        let blocks = self.plan.units.iter().filter(|u| !u.continuous && !u.hidden);
        let computes = |u: &&UnitInfo| u.ports.inputs.iter().any(signal);
        let mut silent = blocks.filter(computes).filter_map(|u| {
            let key = self.sim.find(&u.path)?;
            let outputs = (0u16..).zip(&u.ports.outputs).filter(|(_, p)| signal(p));
            let mut none = outputs.filter(|(port, _)| self.sim.probe(key, *port, end).is_none());
            none.next().map(|(_, p)| format!("{}.{}", dotted(&u.path), p.name))
        });
        let first = silent.next()?;
        let more = match silent.count() {
            0 => String::new(),
            n => format!(" (and outputs of {n} more blocks)"),
        };
        Some(format!(
            "`{first}`{more} has had no value: such a block sends nothing before it has heard a first value at each of its \
             inputs; where blocks wait for each other in a ring, put a `delay`, a `first-order` or an `integrator` into it"
        ))
    }

    /// Notes on units that counted what may make their results wrong.
    fn doubts(&self, end: i64) -> Vec<String> {
        let counts_of = |unit: &'_ UnitInfo| {
            let counts =
                self.sim.statistics_of(&unit.path, end).filter(|counts| !counts.is_empty())?;
            Some((dotted(&unit.path), UnitStatistics::from_sums(&counts)))
        };
        let units: Vec<_> = self.plan.units.iter().filter_map(counts_of).collect();
        let doubt = |(counted, why): Doubt| {
            let mut found = units.iter().filter(|(_, counts)| counted(counts) > 0);
            let (first, counts) = found.next()?;
            let more = match found.count() {
                0 => String::new(),
                n => format!(" ({n} more units)"),
            };
            Some(format!("{first}{more}: {}", why(counts)))
        };
        DOUBTS.into_iter().filter_map(doubt).collect()
    }

    /// The facts of the run, with its results.
    pub(super) fn summary(&mut self, (end, stopped): End) -> Summary {
        let silent = self.silent(end).into_iter().collect();
        let doubts = [self.last_remarks(), self.doubts(end), silent].concat();
        let results = {
            let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
            let Recorder { evaluation, memory, .. } = &mut *recorder;
            let (lines, remarks) = match evaluation {
                Some(evaluation) => evaluation.finish(&mut self.sim, end),
                None => Default::default(),
            };
            memory.notes.extend(remarks);
            memory.notes.extend(doubts);
            lines
        };
        #[cfg(feature = "federation")]
        if let Some(federation) = &self.federation {
            self.recorder().memory.notes.extend(federation.notes());
        }
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
            ended: None,
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
            missed_macro_steps: units.missed_macro_steps,
            steps: units.steps,
            rejected_steps: units.rejected_steps,
            cut_steps: units.cut_steps,
            trace_hash: format!("{:016x}", self.hash(end)),
            results,
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
}
