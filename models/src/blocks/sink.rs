//! `sink`: takes jobs out of the network and measures how long they took.
mod batches;

pub use batches::BatchMeans;

use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, with},
        ports::{event, ports, signal},
    },
    signal::{
        Level, Timer,
        value::{Job, Segment, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Jobs between messages that nobody follows.
const UNFOLLOWED: u64 = 1000;

/// A quantity that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// From creation to arrival here.
    Sojourn,
    /// Time spent waiting for service.
    Waiting,
}

/// Measures jobs. Input 0: jobs; outputs (signals): 0 count, 1 mean, 2 and 3 the ends of the
/// confidence interval.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Statistics {
    timer: Timer,
    measure: Measure,
    warm_up: i64,
    every: u64,
    /// Number of jobs at which receivers are told again.
    next: u64,
    batches: BatchMeans,
    /// The levels that receivers hold; `None` before they are known.
    told: [Option<Level>; 4],
}

impl Statistics {
    const IN: InPort<Job, Self> = InPort::new(0);

    fn value(&self, port: u16) -> Option<f64> {
        match port {
            0 => Some(self.batches.count() as f64),
            1 => self.batches.mean(),
            2 => self.batches.interval().map(|(low, _)| low),
            3 => self.batches.interval().map(|(_, high)| high),
            _ => None,
        }
    }

    fn tell(&mut self) {
        for port in 0..4u16 {
            let Some(x) = self.value(port) else { continue };
            match &mut self.told[usize::from(port)] {
                Some(level) => level.change(x, self.timer.now()),
                slot => *slot = Some(Level::new(x)),
            }
        }
        self.timer.at_once();
    }
}

impl Atomic<Value> for Statistics {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        4
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, level) in (0..).zip(&self.told) {
            if let Some(segment) = level.as_ref().and_then(Level::pending) {
                out.send(OutPort::<Segment>::new(port), segment);
            }
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.told.iter_mut().flatten().for_each(Level::sent);
    }
    #[inline(always)]
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let (now, since) = (fx.now().ticks, fx.now().ticks - self.timer.now());
        let other = each_in_order(bag, Self::IN, Job::clone, |job| {
            if job.created - since < self.warm_up {
                return;
            }
            let ticks = match self.measure {
                Measure::Sojourn => now - job.created,
                Measure::Waiting => job.waited,
            };
            self.batches.push(self.timer.resolution().seconds(ticks));
        });
        refused::<Job>(other, || "in".into(), fx);
        let count = self.batches.count();
        if count >= self.next {
            self.next = (count / self.every + 1).saturating_mul(self.every);
            self.tell();
        }
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        self.value(port).map(Value::Real)
    }
}

unit_kind! {
    /// `sink`: takes jobs and measures their sojourn time (since creation) or waiting time.
    /// Input `in` (jobs); outputs (signals) `count`, `mean` (s), `low` and `high` (s): the ends of
    /// the 95 % confidence interval of the mean by 20 batch means (t = 2.093), once there are 20
    /// jobs.
    ///
    /// Wired receivers are told after every `every` jobs; recording reads the current values.
    ///
    /// ```toml
    /// [unit.exit]
    /// kind = "sink"
    /// measure = "sojourn"  # or "waiting"
    /// warm_up = "10 s"     # jobs created before are not measured
    /// ```
    Sink = "sink", "takes jobs and measures how long they took",
    params: [
        with("measure", ParamType::Choice(&["sojourn", "waiting"]), "sojourn", "which time"),
        with("warm_up", ParamType::Duration, "0 s", "jobs created before are not measured"),
        with("every", ParamType::Int, "", "jobs between messages to wired receivers; default 1"),
    ],
    ports: |_| Ok(ports(
        [event("in", ValueType::Job)],
        [signal("count"), signal("mean"), signal("low"), signal("high")],
    )),
    build: |params, context| {
        let mut r = Reader::new(params);
        let mut told = [const { None }; 4];
        told[0] = Some(Level::new(0.0));
        let every = match (r.given("every"), (0..4).any(|port| context.is_followed(port))) {
            (true, _) => r.int("every", 1, i64::MAX) as u64,
            (false, true) => 1,
            (false, false) => UNFOLLOWED,
        };
        let model = Statistics {
            timer: Timer::due(0, context.resolution),
            measure: match params.text("measure") {
                "waiting" => Measure::Waiting,
                _ => Measure::Sojourn,
            },
            warm_up: r.duration("warm_up"),
            every,
            next: every,
            batches: BatchMeans::new(),
            told,
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    fn station(rest: &str, seconds: f64) -> Bench {
        Bench::run(
            &format!(
                "connections=['a.out -> s.in','s.out -> w.in','s.out -> q.in','s.lost -> n.u']\n\
                 [unit.w]\nkind='sink'\nwarm_up='2 s'\n\
                 [unit.q]\nkind='sink'\nmeasure='waiting'\nwarm_up='2 s'\n\
                 [unit.n]\nkind='counter'\n{rest}"
            ),
            seconds,
        )
    }

    fn inside(bench: &Bench, sink: &str, exact: f64) {
        let [low, mean, high] =
            ["low", "mean", "high"].map(|p| bench.probe(&format!("{sink}.{p}")));
        assert!(low < exact && exact < high, "{exact} is not in {low} … {high}");
        assert!(low < mean && mean < high);
        assert!(high - low < 0.15 * exact, "{low} … {high} is wide");
    }

    #[test]
    fn mm1() {
        let bench = station(
            "[unit.a]\nkind='arrivals'\nrate=800.0\n[unit.s]\nkind='server'\nrate=1000.0",
            300.0,
        );
        inside(&bench, "w", 0.005);
        inside(&bench, "q", 0.004);
        assert!(bench.count("w.mean") > 200);
    }

    #[test]
    fn md1() {
        let bench = station(
            "[unit.a]\nkind='arrivals'\nrate=800.0\n\
             [unit.s]\nkind='server'\ndistribution='constant'\nmean=0.001",
            200.0,
        );
        inside(&bench, "w", 0.003);
        inside(&bench, "q", 0.002);
    }

    #[test]
    fn mm1k() {
        let bench = station(
            "[unit.a]\nkind='arrivals'\nrate=1000.0\n\
             [unit.s]\nkind='server'\nrate=874.126\ncapacity=21",
            200.0,
        );
        inside(&bench, "w", 0.017_593_979_911_046_217);
        let lost = bench.probe("n.count") / bench.probe("a.count");
        assert!((lost - 0.132_755_580_456_883_3).abs() < 0.008, "{lost}");
    }
}
