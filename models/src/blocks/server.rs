//! `server`: a queue with one or several servers.
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{DISTRIBUTION, Reader, random_ticks, with},
        ports::{event, ports, signal},
    },
    maths::random::{Distribution, RandomStream},
    signal::{
        Level, NEVER, Timer,
        value::{Job, Segment, Value, each_in_order},
    },
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// First come, first served. Input 0: jobs; outputs: 0 served jobs, 1 lost jobs, 2 number in the
/// station, 3 number of busy servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Station {
    timer: Timer,
    distribution: Distribution,
    stream: RandomStream,
    servers: usize,
    /// Most jobs in the station.
    capacity: Option<usize>,
    /// Waiting jobs and the ticks of their arrival.
    queue: VecDeque<(i64, Job)>,
    /// Jobs in service and the ticks of their departure, in that order.
    service: Vec<(i64, Job)>,
    /// Turned away; told in the next micro-step.
    lost: Vec<Job>,
    length: Level,
    busy: Level,
}

impl Station {
    const IN: InPort<Job> = InPort::new(0);
    const OUT: OutPort<Job> = OutPort::new(0);
    const LOST: OutPort<Job> = OutPort::new(1);
    const LENGTH: OutPort<Segment> = OutPort::new(2);
    const BUSY: OutPort<Segment> = OutPort::new(3);

    fn present(&self) -> usize {
        self.queue.len() + self.service.len()
    }

    /// Jobs that leave at tick `at`.
    fn leaving(&self, at: i64) -> usize {
        self.service.iter().take_while(|(t, _)| *t == at).count()
    }

    /// Fills free servers from the queue.
    fn serve(&mut self) {
        let now = self.timer.now();
        while self.service.len() < self.servers {
            let Some((since, mut job)) = self.queue.pop_front() else { break };
            job.waited += now - since;
            job.hops += 1;
            let time = self.distribution.draw(&mut self.stream);
            let end = now.saturating_add(random_ticks(time, self.timer.resolution()));
            let place = self.service.partition_point(|(t, _)| *t <= end);
            self.service.insert(place, (end, job));
        }
    }

    /// Brings the signals up to date.
    fn count(&mut self) {
        let now = self.timer.now();
        self.length.change(self.present() as f64, now);
        self.busy.change(self.service.len() as f64, now);
    }

    fn departure(&self) -> i64 {
        self.service.first().map_or(NEVER, |(t, _)| *t)
    }
}

impl Atomic<Value> for Station {
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
        let at = self.timer.next();
        for &job in &self.lost {
            out.send(Self::LOST, job);
        }
        let leaving = self.leaving(at);
        for &(_, job) in &self.service[..leaving] {
            out.send(Self::OUT, job);
        }
        // Both signals are up to date unless jobs leave.
        let rest = self.present() - leaving;
        if let Some(segment) = self.length.changed(rest as f64, at) {
            out.send(Self::LENGTH, segment);
        }
        if let Some(segment) = self.busy.changed(rest.min(self.servers) as f64, at) {
            out.send(Self::BUSY, segment);
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
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        each_in_order(bag, Self::IN, Job::clone, |&job| {
            if self.capacity.is_some_and(|most| self.present() >= most) {
                self.lost.push(job);
            } else {
                self.queue.push_back((self.timer.now(), job));
                self.serve();
            }
        });
        self.count();
        let news = !self.lost.is_empty() || self.length.is_pending() || self.busy.is_pending();
        self.timer.set(if news { self.timer.now() } else { self.departure() });
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        match port {
            2 => Some(Value::Real(self.length.value())),
            3 => Some(Value::Real(self.busy.value())),
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
    /// cycle of an arrival goes first. Service times are rounded to ticks.
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
        DISTRIBUTION[0], DISTRIBUTION[1], DISTRIBUTION[2], DISTRIBUTION[3], DISTRIBUTION[4],
        DISTRIBUTION[5], DISTRIBUTION[6], DISTRIBUTION[7], DISTRIBUTION[8], DISTRIBUTION[9],
    ],
    ports: |_| Ok(ports(
        [event("in", ValueType::Job)],
        [event("out", ValueType::Job), event("lost", ValueType::Job), signal("length"), signal("busy")],
    )),
    // All but `out`, which takes a service.
    feed_through: |_, _| {
        FeedThrough::Pairs((1..4).map(|output| (0, output, Passing::Sometimes)).collect())
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let servers = r.int("servers", 1, 1 << 20) as usize;
        let capacity = r.given("capacity").then(|| r.int("capacity", 1, i64::MAX) as usize);
        let distribution = r.distribution(true);
        let stream = r.stream(context, "service");
        r.finish(Component::atomic(Station {
            timer: Timer::due(0, context.resolution),
            distribution,
            stream,
            servers,
            capacity,
            queue: VecDeque::new(),
            service: Vec::new(),
            lost: Vec::new(),
            length: Level::new(0.0),
            busy: Level::new(0.0),
        }))
    },
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
}
