//! Who runs the models; never changes results.
use serde::{Deserialize, Serialize};
use std::{
    sync::OnceLock,
    thread::available_parallelism,
    time::{Duration, Instant},
};
use superdense_kernel::{
    Ended, Simulation,
    error::RunError,
    message::Message,
    parallel::{self, Partition, Ranks, Settings, Statistics, Weight},
};
use superdense_models::signal::value::Value;

/// How models are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum Method {
    /// One thread, always right.
    #[default]
    Sequential,
    /// Workers that run ahead and go back where a message comes late.
    TimeWarp,
    /// Workers that go on alone for as long as declared delays allow; from cycle to cycle together
    /// without any.
    Conservative,
    /// The fastest of these, as measured on the way.
    Auto,
}

impl Method {
    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::TimeWarp => "time-warp",
            Self::Conservative => "conservative",
            Self::Auto => "auto",
        }
    }
}

/// A method and its number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Executor {
    /// The method.
    pub method: Method,
    /// Number of workers; by default one per core.
    pub workers: Option<u32>,
}

impl Executor {
    /// How many workers run models.
    pub fn workers(self) -> u32 {
        match self.method {
            Method::Sequential => 1,
            _ => self.workers.unwrap_or_else(cores),
        }
    }

    /// How many of them are at work at a time.
    pub fn threads(self) -> u32 {
        self.workers().min(cores())
    }
}

fn cores() -> u32 {
    available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Nanoseconds since the first call: the clock that the kernel is given.
pub fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Wall time of sequential execution before anything else is tried, and of each trial.
const TRIAL: Duration = Duration::from_millis(200);
/// A run goes on for so many trials at least, or none is made: one may cost as much as it takes.
const TRIALS: f64 = 10.0;
/// Predicted or measured gain below which a run stays sequential.
const GAIN: f64 = 1.15;
/// The extra cost of a transition in parallel, in seconds: saved state, record, commit. Measured
/// with PHOLD; a trial corrects it.
const OVERHEAD: f64 = 4e-7;
/// The extra cost in windows, where nothing is saved; measured with the torus of queues.
const OVERHEAD_IN_WINDOWS: f64 = 4e-8;
/// Share of the work that counts, before a trial tells.
const EFFICIENCY: f64 = 0.8;

/// Estimated nanoseconds of a first cycle from which on workers share it: what a worker waits for
/// others counts no more, and to part the models, some microseconds for each, is worth its while
/// within tens of cycles.
const HEAVY: u64 = 100_000;
/// The bound for each model of the run, and for each that the cycle reaches: lighter ones are not
/// worth the meetings of the workers.
const HEAVY_PER_MODEL: u64 = 300;
const HEAVY_EACH: u64 = 700;
/// Otherwise so many cycles are gone through, and the second half of them is measured: the first ones
/// of all, where units start, tell nothing of others. Cycles like these come by the thousand, so that
/// lighter ones are worth dividing.
const FIRST_CYCLES: u32 = 16;
const WORTHY: u64 = 10_000;
const WORTHY_PER_MODEL: u64 = 20;

/// Wall seconds and transitions under one method.
#[derive(Debug, Clone, Copy, Default)]
struct Trial {
    seconds: f64,
    transitions: u64,
    slices: u32,
}

impl Trial {
    /// Another slice. The first one of workers finds out who has which models, which is paid once:
    /// where slices are shorter than a trial, it does not count.
    fn add(&mut self, method: Method, seconds: f64, transitions: u64) {
        self.slices += 1;
        if self.slices == 2 && method != Method::Sequential {
            (self.seconds, self.transitions) = (0.0, 0);
        }
        self.seconds += seconds;
        self.transitions += transitions;
    }
    fn is_over(&self) -> bool {
        self.seconds >= TRIAL.as_secs_f64()
    }
    fn rate(&self) -> f64 {
        self.transitions as f64 / self.seconds.max(1e-9)
    }
}

/// The ranks of a run, of which this process is one.
pub struct Company {
    /// All of them.
    pub ranks: Box<dyn Ranks + Send>,
    /// Whether they may go from cycle to cycle together.
    pub in_step: bool,
}

impl std::fmt::Debug for Company {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.ranks.rank(), self.ranks.ranks())
    }
}

impl Company {
    /// How the kernel divides models among ranks.
    pub fn settings(partition: Partition, in_step: bool) -> Settings {
        let clock = Some(nanoseconds as fn() -> u64);
        let method = parallel::Method::Conservative;
        Settings { method, partition, in_step, clock, ..Settings::default() }
    }
}

/// Runs slices of a run under an executor; `auto` learns from each.
#[derive(Debug, Default)]
pub struct Driver {
    /// The other ranks, if there are any.
    pub company: Option<Company>,
    executor: Executor,
    partition: Partition,
    /// Last tick of the run.
    stop: i64,
    /// The measurements of `auto`: sequential, Time Warp, conservative.
    trials: [Trial; 3],
    /// The method it settled for, and why.
    choice: Option<(Method, String)>,
    /// Counts of parallel slices.
    pub statistics: Statistics,
}

impl Driver {
    /// A driver that has measured nothing.
    pub fn new(executor: Executor, partition: Partition, stop: i64) -> Self {
        Self { executor, partition, stop, ..Self::default() }
    }

    /// The executor that was asked for.
    pub fn executor(&self) -> Executor {
        self.executor
    }

    /// Runs all cycles up to tick `limit`, together with other ranks if there are any.
    ///
    /// # Errors
    /// As [`Simulation::run_through_ranks`].
    pub fn advance(&mut self, sim: &mut Simulation<Value>, limit: i64) -> Result<Ended, RunError> {
        let Some(Company { ranks, in_step }) = &mut self.company else {
            return self.run_through(sim, limit);
        };
        let settings = Company::settings(self.partition.clone(), *in_step);
        let (ended, part) = sim.run_through_ranks(limit, &settings, &mut **ranks)?;
        self.statistics.add(&part);
        Ok(ended)
    }

    /// Runs all cycles up to tick `limit`.
    ///
    /// # Errors
    /// As [`Simulation::run_through`], whatever the method.
    pub fn run_through<M: Message>(
        &mut self,
        sim: &mut Simulation<M>,
        limit: i64,
    ) -> Result<Ended, RunError> {
        let begins = !sim.has_run() && self.executor.threads() > 1;
        let method = match self.executor.method {
            Method::Auto if begins && is_heavy(sim, limit) => Method::Conservative,
            Method::Auto if begins && first_cycles(sim, limit)? => Method::Conservative,
            Method::Auto => self.next_method(sim.clock()),
            method => method,
        };
        let (start, before) = (Instant::now(), transitions(sim));
        let ended = self.under(method, sim, limit);
        if self.executor.method == Method::Auto && self.choice.is_none() {
            let (took, moved) = (start.elapsed().as_secs_f64(), transitions(sim) - before);
            self.trials[place(method)].add(method, took, moved);
        }
        ended
    }

    /// The least tick of those that ranks want to go to.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn agree(&mut self, wanted: i64) -> Result<i64, RunError> {
        match &mut self.company {
            Some(company) => Ok(company.ranks.least(wanted)?),
            None => Ok(wanted),
        }
    }

    /// Whether this process writes the files: the only one, or the first rank.
    pub fn is_first(&self) -> bool {
        self.company.as_ref().is_none_or(|company| company.ranks.rank() == 0)
    }

    fn under<M: Message>(
        &mut self,
        method: Method,
        sim: &mut Simulation<M>,
        limit: i64,
    ) -> Result<Ended, RunError> {
        let method = match method {
            Method::Sequential | Method::Auto => return sim.run_through(limit),
            Method::TimeWarp => parallel::Method::TimeWarp,
            Method::Conservative => parallel::Method::Conservative,
        };
        let workers = self.executor.workers();
        let (partition, clock) = (self.partition.clone(), Some(nanoseconds as fn() -> u64));
        let settings = Settings { method, workers, partition, clock, ..Settings::default() };
        let (ended, part) = sim.run_through_parallel(limit, &settings)?;
        self.statistics.add(&part);
        Ok(ended)
    }

    /// The method that `auto` tries or has chosen: sequential first; then, if the work per
    /// transition lets expect a gain and enough is left, each parallel method; then the fastest.
    /// The clock is at `now`.
    fn next_method(&mut self, now: i64) -> Method {
        if let Some((choice, _)) = self.choice {
            return choice;
        }
        let [sequential, warp, conservative] = self.trials;
        if !sequential.is_over() {
            return Method::Sequential;
        }
        let threads = self.executor.threads();
        if threads < 2 {
            return self.settle(Method::Sequential, "there is one worker or one core".into());
        }
        let done = now.max(1) as f64 / self.stop.max(1) as f64;
        let left = sequential.seconds * (1.0 - done) / done;
        let tried = warp.transitions + conservative.transitions > 0;
        if !tried && left < TRIALS * TRIAL.as_secs_f64() {
            let why = format!("about {left:.1} s were left, too little for trials of others");
            return self.settle(Method::Sequential, why);
        }
        let cost = 1.0 / sequential.rate();
        // Bound 4.13: p η (g + s)/(g + s + o).
        let gain = |o: f64| f64::from(threads) * EFFICIENCY * cost / (cost + o);
        let tries = [
            (Method::TimeWarp, warp, gain(OVERHEAD)),
            (Method::Conservative, conservative, gain(OVERHEAD_IN_WINDOWS)),
        ];
        let tries = tries.into_iter().filter(|t| t.2 >= GAIN);
        if let Some((method, ..)) = tries.clone().find(|(_, trial, _)| !trial.is_over()) {
            return method;
        }
        let pays = |t: &(Method, Trial, f64)| t.1.rate() > GAIN * sequential.rate();
        let best = tries.filter(pays).max_by(|a, b| a.1.rate().total_cmp(&b.1.rate()));
        self.settle(best.map_or(Method::Sequential, |(method, ..)| method), self.measured())
    }

    fn settle(&mut self, method: Method, why: String) -> Method {
        self.choice = Some((method, why));
        method
    }

    /// The transitions per second of what was tried.
    fn measured(&self) -> String {
        let of = |method: Method| match self.trials[place(method)] {
            trial if trial.is_over() => format!("{} {:.0}", method.name(), trial.rate()),
            _ => format!("{} not tried, too little work in each", method.name()),
        };
        let rates = [Method::Sequential, Method::TimeWarp, Method::Conservative].map(of);
        format!("transitions per second: {}; others must gain 15 %", rates.join(", "))
    }

    /// The method under which `auto` ran, and why.
    pub fn verdict(&self) -> (Method, String) {
        if let Some(choice) = &self.choice {
            return choice.clone();
        }
        let [sequential, warp, conservative] = self.trials.map(|trial| trial.seconds);
        let why = "the run was over before anything else was measured, or while it was";
        if conservative > sequential.max(warp) {
            let why = "the first cycles were worth dividing, and the run was over before a trial";
            return (Method::Conservative, why.into());
        }
        (if warp > sequential { Method::TimeWarp } else { Method::Sequential }, why.into())
    }
}

/// Whether the first cycle of all is worth dividing, before anything is measured.
fn is_heavy<M: Message>(sim: &mut Simulation<M>, limit: i64) -> bool {
    let least = HEAVY.max(HEAVY_PER_MODEL * sim.models() as u64);
    // One model keeps one worker busy.
    let shared = |weight: Weight| {
        weight.models > 1 && weight.nanoseconds > least.max(HEAVY_EACH * weight.models as u64)
    };
    sim.weigh_next(limit, nanoseconds).is_some_and(shared)
}

/// Goes through the first cycles; whether ones like the last of these are worth dividing.
fn first_cycles<M: Message>(sim: &mut Simulation<M>, limit: i64) -> Result<bool, RunError> {
    let (mut start, mut before) = (0, 0);
    for cycle in 0..FIRST_CYCLES {
        if cycle == FIRST_CYCLES / 2 {
            (start, before) = (nanoseconds(), transitions(sim));
        }
        if sim.stop_requested().is_some() || sim.step(limit)?.is_none() {
            return Ok(false);
        }
    }
    let cycles = u64::from(FIRST_CYCLES / 2);
    let (took, moved) = (nanoseconds() - start, transitions(sim) - before);
    let least = cycles * WORTHY.max(WORTHY_PER_MODEL * sim.models() as u64);
    Ok(moved > 2 * cycles && took > least.max(HEAVY_EACH * moved))
}

/// The place of a method among the trials.
fn place(method: Method) -> usize {
    match method {
        Method::Sequential | Method::Auto => 0,
        Method::TimeWarp => 1,
        Method::Conservative => 2,
    }
}

fn transitions<M: Message>(sim: &Simulation<M>) -> u64 {
    let counts = sim.counts();
    counts.internal + counts.external + counts.confluent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slice_of_workers_is_not_measured() {
        let mut parallel = Trial::default();
        for took in [0.15, 0.1, 0.1] {
            parallel.add(Method::Conservative, took, 100);
        }
        assert!(parallel.is_over() && parallel.rate() > 999.0, "{parallel:?}");
        let mut sequential = Trial::default();
        for took in [0.15, 0.1] {
            sequential.add(Method::Sequential, took, 100);
        }
        assert!(sequential.is_over() && sequential.rate() < 801.0, "{sequential:?}");
    }

    fn driver(rates: [f64; 3]) -> Driver {
        let trial = |rate: f64| Trial { seconds: 1.0, transitions: rate as u64, slices: 2 };
        let executor = Executor { method: Method::Auto, workers: Some(2) };
        Driver { trials: rates.map(trial), ..Driver::new(executor, Partition::Blocks, 1000) }
    }

    #[test]
    fn auto_takes_what_was_measured_to_be_fastest() {
        if cores() < 2 {
            return;
        }
        // 10 us per transition: worth a trial.
        for (rates, choice) in [
            ([1e5, 1.7e5, 1.5e5], Method::TimeWarp),
            ([1e5, 1.5e5, 1.7e5], Method::Conservative),
            ([1e5, 1.1e5, 0.9e5], Method::Sequential),
            // 0.25 us per transition: no trial of Time Warp.
            ([4e6, 1e9, 6e6], Method::Conservative),
            // 0.1 us: none at all.
            ([1e7, 1e9, 1e9], Method::Sequential),
        ] {
            let mut driver = driver(rates);
            assert_eq!(driver.next_method(100), choice, "{rates:?}");
            let (chosen, why) = driver.verdict();
            assert_eq!(chosen, choice);
            assert!(
                why.starts_with(&format!("transitions per second: sequential {}", rates[0])),
                "{why}"
            );
        }
        let mut fresh = driver([1e5, 0.0, 0.0]);
        fresh.trials[1] = Trial::default();
        assert_eq!(fresh.next_method(100), Method::TimeWarp, "a trial");
        assert_eq!(fresh.choice, None);
        let mut late = driver([1e5, 0.0, 0.0]);
        (late.trials[1], late.trials[2]) = Default::default();
        assert_eq!(late.next_method(900), Method::Sequential, "too little is left for a trial");
        assert_eq!(late.verdict().1, "about 0.1 s were left, too little for trials of others");
    }
}
