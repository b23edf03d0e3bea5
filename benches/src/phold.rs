//! PHOLD (Fujimoto 1990): tokens that hop between entities, near or to the far half of them, after
//! an exponential delay beyond a lookahead, with work at every arrival.
use crate::{busy, timers::Source};
use serde::{Deserialize, Serialize};
use std::{thread, time::Instant};
use superdense::run::executor::nanoseconds;
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Outbox, Simulation,
    error::RunError,
    parallel::{Method, Partition, Settings, Statistics},
    port::{InPort, OutPort},
    time::Duration,
};

/// Ports per entity to either kind of neighbours.
const WAYS: u16 = 4;
/// Mean of the exponential part of a delay, in ticks.
const MEAN: f64 = 1_000_000.0;

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Phold {
    /// Entities, one token each at the start.
    pub entities: u32,
    /// Share of hops to the other half of the entities.
    pub remote: f64,
    /// Least delay of a hop, in ticks.
    pub lookahead: i64,
    /// Iterations of [`busy::work`] per hop.
    pub work: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entity {
    source: Source,
    remote: f64,
    lookahead: i64,
    work: u32,
    now: i64,
    /// Tokens here, the latest first: tick of departure and port.
    tokens: Vec<(i64, u16)>,
}

/// By hand, so that a state that is saved over an old one uses the memory of its tokens.
impl Clone for Entity {
    fn clone(&self) -> Self {
        Self { tokens: self.tokens.clone(), ..*self }
    }
    fn clone_from(&mut self, other: &Self) {
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clone_from(&other.tokens);
        *self = Self { tokens, ..*other };
    }
}

const IN: InPort<u64, Entity> = InPort::new(0);

impl Entity {
    fn take(&mut self) {
        let hop = (-MEAN * self.source.unit().ln()) as i64;
        let far = self.source.unit() <= self.remote;
        let way =
            ((1.0 - self.source.unit()) * f64::from(WAYS)) as u16 + if far { WAYS } else { 0 };
        let at = self.now + self.lookahead + hop;
        let place = self.tokens.partition_point(|t| t.0 >= at);
        self.tokens.insert(place, (at, way));
    }
}

impl Atomic<u64> for Entity {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2 * WAYS
    }
    fn time_advance(&self) -> Duration {
        self.tokens.last().map_or(Duration::INFINITE, |t| Duration::between(self.now, t.0))
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.lookahead)
    }
    fn earliest_output(&self, port: u16) -> Duration {
        let first = self.tokens.iter().rfind(|t| t.1 == port);
        first.map_or(Duration::INFINITE, |t| Duration::between(self.now, t.0))
    }
    fn output(&self, out: &mut Outbox<'_, u64>) {
        if let Some(&(at, way)) = self.tokens.last() {
            out.send(OutPort::<u64>::new(way), at as u64);
        }
    }
    fn internal(&mut self, fx: &mut Effects<u64>) {
        self.now = fx.now().ticks;
        self.tokens.pop();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, u64>, fx: &mut Effects<u64>) {
        self.now = fx.now().ticks;
        for _ in bag.on(IN) {
            busy::work(self.work);
            self.take();
        }
    }
}

impl Phold {
    /// The simulation, ready to run.
    ///
    /// # Errors
    /// None with at least two entities.
    pub fn build(self) -> Result<Simulation<u64>, RunError> {
        let mut top = Coupled::new();
        let n = self.entities;
        let mut wiring = Source::of(n);
        let entities: Vec<_> = (0..n)
            .map(|i| {
                let (source, tokens) = (Source::of(i), Vec::new());
                let Self { remote, lookahead, work, .. } = self;
                let mut entity = Entity { source, remote, lookahead, work, now: 0, tokens };
                entity.take();
                top.add(("entity", i as usize), entity)
            })
            .collect();
        let half = n / 2;
        for (i, from) in (0..n).zip(&entities) {
            for way in 0..2 * WAYS {
                let within = ((1.0 - wiring.unit()) * f64::from(half)) as u32;
                let upper = (i >= half) != (way >= WAYS);
                let first = if upper { half } else { 0 };
                // Nobody is a neighbour of its own.
                let within = if first + within == i { (within + 1) % half } else { within };
                let to = &entities[(first + within) as usize];
                top.couple(from.output(OutPort::<u64, _>::new(way)), to.input(IN));
            }
        }
        Simulation::new(top, Default::default())
    }

    /// The last tick of a run of so many hops.
    pub fn end(self, hops: f64) -> i64 {
        (hops / f64::from(self.entities) * (MEAN + self.lookahead as f64)) as i64
    }

    /// Seconds of a run, under Time Warp with settings; the trace hash and what workers did.
    ///
    /// # Errors
    /// The errors of the run.
    pub fn run(
        self,
        end: i64,
        settings: Option<&Settings>,
    ) -> Result<(f64, u64, Statistics), RunError> {
        let mut sim = self.build()?;
        let start = Instant::now();
        let statistics = match settings {
            Some(settings) => sim.run_through_parallel(end, settings)?.1,
            None => sim.run_through(end).map(|_| Statistics::default())?,
        };
        Ok((start.elapsed().as_secs_f64(), sim.trace_hash(), statistics))
    }
}

/// A measurement. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// `phold`.
    pub workload: &'static str,
    /// `time-warp` or `conservative`.
    pub executor: &'static str,
    /// Workers.
    pub workers: u32,
    /// Share of remote hops.
    pub remote: f64,
    /// Microseconds of work per hop.
    pub work_us: f64,
    /// Sequential over parallel time, in the same process and in turn.
    pub speed_up: f64,
    /// Committed over executed transitions.
    pub efficiency: f64,
    /// The speed-up of as many threads that only work, measured in the same run: other programs on
    /// this machine leave no more.
    pub ceiling: f64,
    /// The most to expect: workers x efficiency x (work + sequential cost) over the same plus the
    /// overhead, which is that of one busy worker among two.
    pub bound: f64,
    /// Largest size of saved states over that of all states; for the table.
    #[serde(skip)]
    pub saved: f64,
}

/// All workloads; a quick effort runs few hops.
///
/// # Errors
/// A failed run, or one with another trace than the sequential one.
pub fn compare(quick: bool, sink: &mut dyn FnMut(Row)) -> Result<(), String> {
    let per_microsecond = busy::per_microsecond();
    for remote in [0.02, 0.1, 0.5] {
        for work_us in [0.0, 0.5, 5.0, 50.0] {
            let work = (work_us * per_microsecond).round() as u32;
            let phold = Phold { entities: 2048, remote, lookahead: 100_000, work };
            let budget = if quick { 0.02 } else { 0.3 };
            let end = phold.end(budget / (work_us * 1e-6 + 5e-7));
            let pieces = (budget / 4.0 * 1e4 * per_microsecond) as u32;
            one(phold, end, (if quick { 1 } else { 3 }, pieces), work_us, sink)?;
        }
    }
    Ok(())
}

/// Seconds in which so many threads each do a hundred pieces of work.
fn bare(threads: u32, piece: u32) -> f64 {
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..100).for_each(|_| busy::work(piece)));
        }
    });
    start.elapsed().as_secs_f64()
}

/// Executors and numbers of workers.
const RUNS: [(Method, u32); 6] = [
    (Method::TimeWarp, 1),
    (Method::TimeWarp, 2),
    (Method::TimeWarp, 4),
    (Method::Conservative, 1),
    (Method::Conservative, 2),
    (Method::Conservative, 4),
];

fn one(
    phold: Phold,
    end: i64,
    (times, piece): (usize, u32),
    work_us: f64,
    sink: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let mut sequential = Vec::new();
    let mut seconds = [const { Vec::new() }; RUNS.len()];
    let mut statistics = [const { None }; RUNS.len()];
    // All on one of two workers, which saves and commits as if something could come late; a worker
    // that is alone does not.
    let mut burdened = Vec::new();
    let mut ceilings = [const { Vec::new() }; RUNS.len()];
    let clock = Some(nanoseconds as fn() -> u64);
    for _ in 0..times {
        let (s, hash, _) = phold.run(end, None).map_err(|e| e.to_string())?;
        sequential.push(s);
        let settings = Settings { partition: Partition::Given(vec![0]), ..Settings::default() };
        burdened.push(phold.run(end, Some(&settings)).map_err(|e| e.to_string())?.0);
        for (i, &(method, workers)) in RUNS.iter().enumerate() {
            ceilings[i].push(f64::from(workers) * bare(1, piece) / bare(workers, piece));
            let settings = Settings { method, workers, clock, ..Settings::default() };
            let (s, found, did) = phold.run(end, Some(&settings)).map_err(|e| e.to_string())?;
            if found != hash {
                return Err(format!("{phold:?}: another trace: {settings:?}"));
            }
            seconds[i].push(s);
            statistics[i] = Some(did);
        }
    }
    let sequential = median(sequential);
    let (seconds, ceilings) = (seconds.map(median), ceilings.map(median));
    let overhead = (median(burdened) - sequential).max(0.0);
    for ((i, &(method, workers)), did) in RUNS.iter().enumerate().zip(statistics) {
        let (Some(did), t) = (did, seconds[i]) else { continue };
        let overhead = if workers > 1 { overhead } else { (t - sequential).max(0.0) };
        let efficiency = did.efficiency();
        sink(Row {
            workload: "phold",
            executor: match method {
                Method::TimeWarp => "time-warp",
                Method::Conservative => "conservative",
            },
            workers,
            remote: phold.remote,
            work_us,
            speed_up: sequential / t,
            efficiency,
            ceiling: ceilings[i],
            bound: f64::from(workers) * efficiency * sequential / (sequential + overhead),
            saved: did.peak_saved_bytes as f64 / did.live_state_bytes.max(1) as f64,
        });
    }
    Ok(())
}

pub(crate) fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_runs_have_the_trace_of_the_sequential_one() {
        for (remote, lookahead) in [(0.02, 100_000), (0.5, 0)] {
            let phold = Phold { entities: 64, remote, lookahead, work: 0 };
            let end = phold.end(5_000.0);
            let (_, hash, _) = phold.run(end, None).expect("a run");
            for (method, workers) in RUNS.into_iter().chain([(Method::TimeWarp, 8)]) {
                let settings = Settings { method, workers, ..Settings::default() };
                let (_, found, did) = phold.run(end, Some(&settings)).expect("a run");
                assert_eq!(found, hash, "{method:?}, {workers} workers, remote {remote}");
                let fits = method == Method::TimeWarp || lookahead > 0 || workers == 1;
                assert_eq!(did.no_lookahead.is_none(), fits, "{method:?} {workers} {remote}");
                let warps = method == Method::TimeWarp;
                // Windows that hold little are given up; a sequential hop is two transitions.
                let given_up = if warps || workers == 1 { 0 } else { 2 * did.sequential_cycles };
                let transitions = did.committed + given_up;
                let sound = did.committed > 0 && transitions > 5_000 && did.live_state_bytes > 0;
                assert!(!fits || sound, "{method:?}, {workers} workers: {did:?}");
                assert!(warps || did.rollbacks == 0, "{} rollbacks", did.rollbacks);
            }
        }
    }
}
