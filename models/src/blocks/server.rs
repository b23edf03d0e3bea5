//! `server`: a queue with one or several servers.
use crate::{
    kinds::{
        ParamType, PortSpec, Ports, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, TIMES, random_ticks, with},
        ports::{event, signal},
    },
    maths::random::{Distribution, RandomStream},
    signal::{
        Level, NEVER, Timer,
        value::{Job, Segment, Value, each_in_order, refused},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// First come, first served, class by class. Inputs: jobs of each class; outputs: served jobs of each
/// class, then lost jobs, number in the station, number of busy servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Station {
    timer: Timer,
    distribution: Distribution,
    stream: RandomStream,
    servers: usize,
    /// Most jobs in the station.
    capacity: Option<usize>,
    /// Per class, those first whose turn is first: waiting jobs and the ticks of their arrival.
    queues: Box<[VecDeque<(i64, Job)>]>,
    waiting: usize,
    /// Jobs in service, the ticks of their departure, in that order, and their classes.
    service: Vec<(i64, Job, u16)>,
    /// Turned away; told in the next micro-step.
    lost: Vec<Job>,
    length: Level,
    busy: Level,
}

impl Station {
    fn classes(&self) -> u16 {
        self.queues.len() as u16
    }

    fn present(&self) -> usize {
        self.waiting + self.service.len()
    }

    /// Jobs that leave at tick `at`.
    fn leaving(&self, at: i64) -> usize {
        self.service.iter().take_while(|(t, ..)| *t == at).count()
    }

    /// Fills free servers from the queues.
    fn serve(&mut self) {
        while self.service.len() < self.servers && self.waiting > 0 {
            let next = (0..).zip(&mut self.queues).find_map(|(k, q)| Some((k, q.pop_front()?)));
            let Some((class, (since, mut job))) = next else { break };
            self.waiting -= 1;
            job.waited += self.timer.now() - since;
            self.begin(job, class);
        }
    }

    /// Begins to serve a job.
    fn begin(&mut self, mut job: Job, class: u16) {
        job.hops += 1;
        let time = self.distribution.draw(&mut self.stream);
        let end = self.timer.now().saturating_add(random_ticks(time, self.timer.resolution()));
        let place = self.service.partition_point(|(t, ..)| *t <= end);
        self.service.insert(place, (end, job, class));
    }

    /// Brings the signals up to date.
    fn count(&mut self) {
        let now = self.timer.now();
        self.length.change(self.present() as f64, now);
        self.busy.change(self.service.len() as f64, now);
    }

    fn departure(&self) -> i64 {
        self.service.first().map_or(NEVER, |(t, ..)| *t)
    }
}

impl Atomic<Value> for Station {
    fn inputs(&self) -> u16 {
        self.classes()
    }
    fn outputs(&self) -> u16 {
        self.classes() + 3
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        let first = self.classes();
        for &job in &self.lost {
            out.send(OutPort::<Job>::new(first), job);
        }
        let leaving = self.leaving(at);
        for &(_, job, class) in &self.service[..leaving] {
            out.send(OutPort::<Job>::new(class), job);
        }
        // Both signals are up to date unless jobs leave.
        let rest = self.present() - leaving;
        if let Some(segment) = self.length.changed(rest as f64, at) {
            out.send(OutPort::<Segment>::new(first + 1), segment);
        }
        if let Some(segment) = self.busy.changed(rest.min(self.servers) as f64, at) {
            out.send(OutPort::<Segment>::new(first + 2), segment);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let leaving = self.leaving(self.timer.now());
        if leaving > 0 {
            self.service.drain(..leaving);
            self.serve();
            self.count();
        }
        self.lost.clear();
        // λ has told these.
        self.length.sent();
        self.busy.sent();
        self.timer.set(self.departure());
    }
    #[inline(always)]
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let classes = self.classes();
        for class in 0..classes {
            let other = each_in_order(bag, InPort::<Job>::new(class), Job::clone, |&job| {
                if self.capacity.is_some_and(|most| self.present() >= most) {
                    self.lost.push(job);
                } else if self.service.len() < self.servers {
                    // Nobody waits while a server is free.
                    self.begin(job, class);
                } else {
                    self.queues[usize::from(class)].push_back((self.timer.now(), job));
                    self.waiting += 1;
                }
            });
            refused::<Job>(other, || named("in", usize::from(class) + 1, classes.into()), fx);
        }
        self.count();
        // A router that chooses the shortest line counts what it sends until it hears of that.
        self.length.repeat();
        let news = !self.lost.is_empty() || self.length.is_pending() || self.busy.is_pending();
        self.timer.set(if news { self.timer.now() } else { self.departure() });
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        match port.checked_sub(self.classes())? {
            1 => Some(Value::Real(self.length.value())),
            2 => Some(Value::Real(self.busy.value())),
            _ => None,
        }
    }
}

unit_kind! {
    /// `server`: a station with a queue and one or several equal servers, first come, first
    /// served. Input `in` (jobs); outputs `out` (served jobs), `lost` (jobs that found the station
    /// full), `length` (signal: jobs in the station), `busy` (signal: busy servers).
    ///
    /// Jobs that arrive in one cycle queue up by creation, source and number. A departure in the
    /// cycle of an arrival goes first. Service times are rounded to ticks; those whose mean changes by that are refused.
    ///
    /// With `classes` above 1 there are inputs `in1`, `in2`, … and outputs `out1`, `out2`, … instead: a free
    /// server takes the job of the lowest class that waits, and goes on with it to its end (priorities
    /// without preemption).
    ///
    /// ```toml
    /// [unit.counter]
    /// kind = "server"
    /// rate = 1000.0        # per second: an exponential service time; or distribution = …
    /// servers = 1
    /// capacity = 20        # optional: most jobs in the station, those in service included
    /// ```
    Server = "server", "a queue with one or several servers",
    params: [
        with("servers", ParamType::Int, "1", "number of equal servers"),
        with("capacity", ParamType::Int, "", "most jobs in the station; default no limit"),
        with("classes", ParamType::Int, "1", "classes of jobs, the first one served first"),
        TIMES[0], TIMES[1], TIMES[2], TIMES[3], TIMES[4],
        TIMES[5], TIMES[6], TIMES[7], TIMES[8], TIMES[9],
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let classes = classes(&mut r);
        let all = |of: &str| -> Vec<PortSpec> {
            (1..=classes).map(|k| event(&named(of, k, classes), ValueType::Job)).collect()
        };
        let mut outputs = all("out");
        outputs.extend([event("lost", ValueType::Job), signal("length"), signal("busy")]);
        r.finish(Ports { inputs: all("in"), outputs })
    },
    // All but `out`, which takes a service.
    feed_through: |params, _| {
        let n = classes(&mut Reader::new(params)) as u16;
        let from = |input| (n..n + 3).map(move |output| (input, output, Passing::Sometimes));
        FeedThrough::Pairs((0..n).flat_map(from).collect())
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let servers = r.int("servers", 1, 1 << 20) as usize;
        let capacity = r.given("capacity").then(|| r.int("capacity", 1, i64::MAX) as usize);
        let classes = classes(&mut r);
        let distribution = r.distribution(true);
        r.check_rounding(&distribution, context);
        let stream = r.stream(context, "service");
        r.finish(Component::atomic(Station {
            timer: Timer::due(0, context.resolution),
            distribution,
            stream,
            servers,
            capacity,
            queues: vec![VecDeque::new(); classes].into(),
            waiting: 0,
            service: Vec::new(),
            lost: Vec::new(),
            length: Level::new(0.0),
            busy: Level::new(0.0),
        }))
    },
}

/// The name of a port of class `k`, from 1, of so many.
fn named(of: &str, k: usize, classes: usize) -> String {
    if classes == 1 { of.to_owned() } else { format!("{of}{k}") }
}

fn classes(r: &mut Reader<'_>) -> usize {
    r.int("classes", 1, 64) as usize
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn a_deterministic_station() {
        // One job per second, 1.5 s of service, room for two.
        let bench = Bench::run(
            "connections=['a.out -> s.in']\n\
             [unit.a]\nkind='arrivals'\ndistribution='constant'\nmean=1.0\nlimit=4\n\
             [unit.s]\nkind='server'\ndistribution='constant'\nmean=1.5\ncapacity=2",
            9.0,
        );
        assert_eq!(bench.events("s.out"), ["2.5@0 job 1", "4@0 job 2", "5.5@0 job 3", "7@0 job 4"]);
        assert_eq!(bench.count("s.lost"), 0, "job 4 comes as job 2 leaves");
        assert_eq!(
            bench.signal("s.length"),
            [
                "0@0 [0.0] left 0",
                "1@1 Jump [1.0] left 0",
                "2@1 Jump [2.0] left 1",
                "2.5@0 Jump [1.0] left 2",
                "3@1 Jump [2.0] left 1",
                "4@0 Jump [1.0] left 2",
                "4@1 Jump [2.0] left 2",
                "5.5@0 Jump [1.0] left 2",
                "7@0 Jump [0.0] left 1"
            ]
        );
        assert_eq!(bench.signal("s.busy").len(), 3);
    }

    #[test]
    fn several_servers_and_losses() {
        let bench = Bench::run(
            "connections=['a.out -> s.in']\n\
             [unit.a]\nkind='arrivals'\ndistribution='constant'\nmean=0.0\nlimit=5\n\
             [unit.s]\nkind='server'\ndistribution='constant'\nmean=1.0\nservers=2\ncapacity=3",
            9.0,
        );
        assert_eq!(bench.events("s.out"), ["1@0 job 1", "1@0 job 2", "2@0 job 3"]);
        assert_eq!(bench.count("s.lost"), 2);
    }

    #[test]
    fn no_room_at_all() {
        assert_eq!(
            mistakes("[unit.s]\nkind='server'\nrate=1.0\ncapacity=0\nservers=0"),
            [
                "`servers` is 0; give an integer from 1 to 1048576",
                "`capacity` is 0; give an integer of at least 1"
            ]
        );
    }

    /// Erlang's waiting probability (C) with three servers, and Little's law.
    #[test]
    fn several_servers_wait_as_erlang_says() {
        let bench = Bench::run(
            "connections=['a.out -> s.in', 's.out -> k.in']\n[unit.k]\nkind='sink'\n\
             [unit.a]\nkind='arrivals'\nrate=2.4\n[unit.s]\nkind='server'\nrate=1.0\nservers=3",
            100_000.0,
        );
        let a = 2.4f64;
        let last = a.powi(3) / 6.0 * 3.0 / (3.0 - a);
        let c = last / (1.0 + a + a * a / 2.0 + last);
        let mean = c / (3.0 - a) + 1.0;
        // 240 000 customers, whose times are correlated over about 1/(3 - 2.4)^2 s.
        assert!((bench.probe("k.mean") - mean).abs() < 0.03, "{} {mean}", bench.probe("k.mean"));
    }

    /// Priorities without preemption (Cobham 1954): W1 = W0/(1 - ρ1), W2 = W0/((1 - ρ1)(1 - ρ1 - ρ2)).
    #[test]
    fn classes_wait_as_cobham_says() {
        let bench = Bench::run(
            "connections=['a.out -> s.in1', 'b.out -> s.in2', 's.out1 -> k.in', 's.out2 -> l.in']\n\
             [unit.k]\nkind='sink'\n[unit.l]\nkind='sink'\n\
             [unit.a]\nkind='arrivals'\nrate=0.3\n[unit.b]\nkind='arrivals'\nrate=0.4\n\
             [unit.s]\nkind='server'\nrate=1.0\nclasses=2",
            300_000.0,
        );
        let waiting = 0.7;
        for (port, mean, within) in
            [("k.mean", 1.0 + waiting / 0.7, 0.04), ("l.mean", 1.0 + waiting / (0.7 * 0.3), 0.15)]
        {
            let found = bench.probe(port);
            assert!((found - mean).abs() < within, "{port}: {found}, not {mean}");
        }
    }

    #[test]
    fn a_job_is_served_to_its_end() {
        let bench = Bench::run(
            "connections=['p.out -> s.in2', 'q.out -> s.in1']\n[unit.p]\nkind='arrivals'\ndistribution='constant'\nmean=1\nlimit=2\n\
             [unit.q]\nkind='arrivals'\ndistribution='constant'\nmean=1.5\nlimit=1\n\
             [unit.s]\nkind='server'\ndistribution='constant'\nmean=2\nclasses=2",
            9.0,
        );
        assert_eq!(bench.events("s.out1"), ["5@0 job 1"]);
        assert_eq!(bench.events("s.out2"), ["3@0 job 1", "7@0 job 2"]);
    }

    /// 0.4 ticks were none: a line in which nobody waits; 2.5 ticks were 3.
    #[test]
    fn service_that_ticks_change_is_refused() {
        let told = crate::kinds::testing::mistakes(
            "[unit.s]\nkind='server'\ndistribution='constant'\nmean=4e-10",
        );
        assert_eq!(
            told,
            [
                "times are rounded to ticks of 1e-9 s, by which their mean of 4.0000e-10 s becomes 0.0000e0 s; \
                 write a finer `resolution`"
            ]
        );
        for (times, fits) in [
            ("distribution='constant'\nmean=2.5e-9", false),
            ("distribution='constant'\nmean=3e-9", true),
            ("distribution='uniform'\nlow=2.4e-9\nhigh=2.4e-9", false),
            ("mean=3e-10", false),
            ("mean=1e-8", true),
            ("rate=3", true),
        ] {
            for kind in ["server", "arrivals"] {
                let told =
                    crate::kinds::testing::mistakes(&format!("[unit.s]\nkind='{kind}'\n{times}"));
                let constant = times.contains("constant") && kind == "arrivals";
                assert_eq!(told.is_empty(), fits || constant, "{kind} {times}: {told:?}");
            }
        }
    }
}
