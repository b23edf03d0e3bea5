//! `arrivals`: jobs that arrive one after the other.
use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, TIMES, random_ticks, with},
        ports::{event, ports, signal},
    },
    maths::{
        quantity::fraction,
        random::{Distribution, RandomStream},
    },
    signal::{
        Level, NEVER, Timer,
        value::{Job, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// Creates jobs. Outputs: 0 the jobs, 1 their number as a signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    timer: Timer,
    distribution: Distribution,
    stream: RandomStream,
    /// For equal gaps: instants from the start on, of which the first is no job.
    clock: Option<RationalClock>,
    source: u64,
    created: u64,
    limit: Option<u64>,
    count: Level,
    /// Tick of the next job.
    next: i64,
}

impl Source {
    const OUT: OutPort<Job, Self> = OutPort::new(0);
    const COUNT: OutPort<Segment, Self> = OutPort::new(1);

    fn draw(&mut self) {
        self.next = match self.clock {
            Some(clock) => clock.tick(self.created + 1).unwrap_or(NEVER),
            None => {
                let seconds = self.distribution.draw(&mut self.stream);
                let gap = random_ticks(seconds, self.timer.resolution());
                self.timer.now().saturating_add(gap)
            }
        };
        if self.limit.is_some_and(|limit| self.created >= limit) {
            self.next = NEVER;
        }
    }

    /// The start value of the count is sent alone.
    fn starts(&self) -> bool {
        self.count.is_pending() && self.created == 0
    }
}

impl Atomic<Value> for Source {
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.starts() {
            return out.send(Self::COUNT, Segment::step(0.0, 0.0));
        }
        let created = out.now().ticks;
        let id = self.created + 1;
        out.send(Self::OUT, Job { created, source: self.source, id, waited: 0, hops: 0 });
        out.send(Self::COUNT, Segment::step(self.created as f64, id as f64));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        let starts = self.starts();
        self.timer.fire();
        if !starts {
            self.created += 1;
            self.count.change(self.created as f64, self.timer.now());
            self.draw();
        }
        self.count.sent();
        self.timer.set(self.next);
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == Self::COUNT.index()).then(|| Value::Real(self.count.value()))
    }
}

unit_kind! {
    /// `arrivals`: a source of jobs. The gaps between jobs come from a distribution (exponential
    /// by default: a Poisson stream); the first job comes after the first gap. Outputs `out`
    /// (jobs), `count` (signal: jobs so far).
    ///
    /// Random gaps are rounded to ticks, and refused where their mean changes by that; a gap of zero is the next
    /// micro-step. Equal gaps do not drift.
    ///
    /// ```toml
    /// [unit.customers]
    /// kind = "arrivals"
    /// rate = 800.0         # per second; or mean = 0.00125 (s); or distribution = "constant", …
    /// limit = 1_000_000    # optional: number of jobs
    /// ```
    Arrivals = "arrivals", "a source of jobs",
    params: [
        with("limit", ParamType::Int, "", "number of jobs; default no limit"),
        TIMES[0], TIMES[1], TIMES[2], TIMES[3], TIMES[4],
        TIMES[5], TIMES[6], TIMES[7], TIMES[8], TIMES[9],
    ],
    ports: |_| Ok(ports([], [event("out", ValueType::Job), signal("count")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let limit = r.given("limit").then(|| r.int("limit", 1, i64::MAX) as u64);
        let distribution = r.distribution(true);
        let name = if r.given("rate") { "rate" } else { "mean" };
        let message = "all jobs come at one instant";
        let ends = distribution.mean() > 0.0 || limit.is_some();
        r.check(ends, name, message, "give a positive time between them, or a `limit`");
        let stream = r.stream(context, "gaps");
        let clock = match distribution {
            Distribution::Constant(gap) => fraction(gap)
                .and_then(|(n, d)| RationalClock::new(n, d, 0, context.resolution).ok()),
            _ => None,
        };
        if clock.is_none() {
            r.check_rounding(&distribution, context);
        }
        let mut model = Source {
            timer: Timer::due(0, context.resolution),
            distribution,
            stream,
            clock,
            source: Job::source_of(context.path),
            created: 0,
            limit,
            count: Level::new(0.0),
            next: NEVER,
        };
        let mut model = r.finish(()).map(|()| {
            model.draw();
            model
        })?;
        model.timer.set(0);
        Ok(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn periodic_jobs() {
        let bench = Bench::run(
            "[unit.a]\nkind='arrivals'\ndistribution='constant'\nmean=0.5\nlimit=3",
            9.0,
        );
        assert_eq!(bench.events("a.out"), ["0.5@0 job 1", "1@0 job 2", "1.5@0 job 3"]);
        assert_eq!(bench.probe("a.count"), 3.0);
        assert_eq!(bench.signal("a.count")[1], "0.5@0 Jump [1.0] left 0");
    }

    #[test]
    fn equal_gaps_do_not_drift() {
        let bench = Bench::run("[unit.a]\nkind='arrivals'\ndistribution='constant'\nrate=3", 1e3);
        let jobs = bench.events("a.out");
        assert_eq!(jobs.len(), 3000);
        assert_eq!([&jobs[1], &jobs[2999]], ["0.666666667@0 job 2", "1000@0 job 3000"]);
    }

    #[test]
    fn a_poisson_stream_has_its_rate() {
        let bench = Bench::run("[unit.a]\nkind='arrivals'\nrate=1000.0", 20.0);
        let count = bench.probe("a.count");
        assert!((count - 20_000.0).abs() < 4.0 * 20_000f64.sqrt(), "{count}");
    }
}
