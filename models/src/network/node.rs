//! `queue-node`: a node of an open Jackson network.
use crate::{
    kinds::{
        ParamType, Ports, ValueType,
        feed_through::FeedThrough,
        params::{Reader, needed, random_ticks, with},
        ports::{event, signal},
    },
    maths::random::{Distribution, RandomStream},
    network::link::probability,
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

/// A single-server queue with external arrivals, random routing to its neighbours or out, and a
/// fixed delay towards the neighbours. Input 0: jobs; output 0: jobs that leave the network,
/// then one per neighbour.
///
/// **Why one model** and not arrivals, server, router and links: a network of a million nodes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Node {
    timer: Timer,
    arrival: Distribution,
    service: Distribution,
    exit: f64,
    neighbours: u16,
    delay: i64,
    stream: RandomStream,
    source: u64,
    created: u64,
    /// Tick of the next external arrival, and of the end of service.
    next: i64,
    end: i64,
    /// The first is in service.
    queue: VecDeque<Job>,
    /// Where the job in service goes; drawn when its service begins.
    port: u16,
    flight: VecDeque<(i64, u16, Job)>,
    /// The length, where somebody follows it.
    told: Option<Box<Level>>,
}

/// By hand, so that a state that is saved over an old one uses the memory of its queues.
impl Clone for Node {
    fn clone(&self) -> Self {
        let (queue, flight) = (self.queue.clone(), self.flight.clone());
        Self { queue, flight, stream: self.stream.clone(), told: self.told.clone(), ..*self }
    }
    fn clone_from(&mut self, other: &Self) {
        let mut queue = std::mem::take(&mut self.queue);
        let mut flight = std::mem::take(&mut self.flight);
        queue.clone_from(&other.queue);
        flight.clone_from(&other.flight);
        let (stream, told) = (other.stream.clone(), other.told.clone());
        *self = Self { queue, flight, stream, told, ..*other };
    }
}

impl Node {
    const IN: InPort<Job, Self> = InPort::new(0);

    fn after(&mut self, d: Distribution) -> i64 {
        let ticks = random_ticks(d.draw(&mut self.stream), self.timer.resolution());
        self.timer.now().saturating_add(ticks)
    }

    fn begin(&mut self) {
        self.end = NEVER;
        if let Some(job) = self.queue.front_mut() {
            job.hops += 1;
            self.end = self.after(self.service);
            let u = self.stream.uniform();
            self.port = if u < self.exit || self.neighbours == 0 {
                0
            } else {
                let share = (u - self.exit) / (1.0 - self.exit);
                1 + ((share * f64::from(self.neighbours)) as u16).min(self.neighbours - 1)
            };
        }
    }

    fn join(&mut self, job: Job) {
        self.queue.push_back(job);
        if self.queue.len() == 1 {
            self.begin();
        }
    }

    /// Ticks between a cause and what is sent over a port: jobs travel to neighbours, the length is told at once.
    fn delay_of(&self, port: u16) -> i64 {
        if (1..=self.neighbours).contains(&port) { self.delay } else { 0 }
    }

    /// Whether the job whose service ends leaves the node at once.
    fn is_direct(&self) -> bool {
        self.port == 0 || self.delay == 0
    }

    fn settle(&mut self) {
        let landing = self.flight.front().map_or(NEVER, |&(at, ..)| at);
        self.timer.set(self.next.min(self.end).min(landing));
        if self.told.is_some() {
            self.tell();
        }
    }

    // A call: mostly nobody is told.
    #[inline(never)]
    fn tell(&mut self) {
        let Some(told) = &mut self.told else { return };
        told.change(self.queue.len() as f64, self.timer.now());
        if told.is_pending() {
            self.timer.at_once();
        }
    }
}

impl Atomic<Value> for Node {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        self.neighbours + 2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        let landed = |&&(t, ..): &&(i64, u16, Job)| t == at;
        let mut k = 0;
        while let Some(&(_, port, job)) = self.flight.get(k).filter(landed) {
            out.send(OutPort::<_>::new(port), job);
            k += 1;
        }
        if self.end == at
            && self.is_direct()
            && let Some(&job) = self.queue.front()
        {
            out.send(OutPort::<_>::new(self.port), job);
        }
        if let Some(segment) = self.told.as_ref().and_then(|told| told.pending()) {
            out.send(OutPort::<Segment>::new(self.neighbours + 1), segment);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        if let Some(told) = &mut self.told {
            told.sent();
        }
        let now = self.timer.now();
        while self.flight.front().is_some_and(|&(t, ..)| t == now) {
            self.flight.pop_front();
        }
        if self.end == now {
            if self.is_direct() {
                self.queue.pop_front();
            } else if let Some(job) = self.queue.pop_front() {
                self.flight.push_back((now.saturating_add(self.delay), self.port, job));
            }
            self.begin();
        }
        if self.next == now {
            self.created += 1;
            let (source, id) = (self.source, self.created);
            self.join(Job { created: now, source, id, waited: 0, hops: 0 });
            self.next = self.after(self.arrival);
        }
        self.settle();
    }
    #[inline(always)]
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let other = each_in_order(bag, Self::IN, Job::clone, |&job| {
            self.join(job);
        });
        refused::<Job>(other, || "in".into(), fx);
        self.settle();
    }
    fn lookahead(&self, port: u16) -> Duration {
        Duration::from_ticks(self.delay_of(port))
    }
    fn earliest_output(&self, port: u16) -> Duration {
        if port > self.neighbours {
            return self.time_advance();
        }
        let landing = self.flight.front().map_or(NEVER, |&(at, ..)| at);
        let delay = self.delay_of(port);
        let at = landing.min(self.end.min(self.next).saturating_add(delay));
        Duration::from_ticks(at.saturating_sub(self.timer.now()))
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == self.neighbours + 1).then_some(Value::Real(self.queue.len() as f64))
    }
}

unit_kind! {
    /// `queue-node`: a node of an open Jackson network: Poisson arrivals from outside, one server
    /// with exponential service, and random routing. Input `in` (jobs); outputs `exit` (jobs that
    /// leave the network), `out1`, `out2`, … (jobs to each neighbour, all alike), and the signal
    /// `length` (jobs in the node).
    ///
    /// Jobs to a neighbour arrive `delay` later. With `delay = 0` the network has no lookahead.
    ///
    /// ```toml
    /// [unit.node]
    /// kind = "queue-node"
    /// arrivals = 100.0     # per second
    /// service = 500.0
    /// exit = 0.25
    /// neighbours = 4
    /// delay = "1 ms"
    /// ```
    QueueNode = "queue-node", "a node of an open Jackson network",
    params: [
        needed("arrivals", ParamType::Real(Some("1/s")), "external arrivals per second; 0 for none"),
        needed("service", ParamType::Real(Some("1/s")), "services per second"),
        with("exit", ParamType::Real(None), "0.25", "probability of leaving after service"),
        with("neighbours", ParamType::Int, "4", "number of neighbours"),
        with("delay", ParamType::Duration, "0 s", "on the way to a neighbour"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator"),
    ],
    ports: |params| {
        let neighbours = Reader::new(params).int("neighbours", 0, 4096);
        let outs = (1..=neighbours).map(|k| event(&format!("out{k}"), ValueType::Job));
        let outputs = std::iter::once(event("exit", ValueType::Job)).chain(outs);
        let outputs = outputs.chain([signal("length")]).collect();
        Ok(Ports { inputs: vec![event("in", ValueType::Job)], outputs })
    },
    // Services take their time.
    feed_through: |_, _| FeedThrough::None,
    build: |params, context| {
        let mut r = Reader::new(params);
        let neighbours = r.int("neighbours", 0, 4096) as u16;
        let heard = context.is_followed(neighbours + 1);
        let rate = r.finite("arrivals");
        r.check(rate >= 0.0, "arrivals", format!("`arrivals` is {rate}"), "give zero or more");
        let mut model = Node {
            timer: Timer::due(0, context.resolution),
            arrival: Distribution::Exponential { mean: 1.0 / rate },
            service: Distribution::Exponential { mean: 1.0 / r.positive("service") },
            exit: probability(&mut r, "exit", params.real("exit")),
            neighbours,
            delay: r.duration("delay"),
            stream: r.stream(context, "node"),
            source: Job::source_of(context.path),
            created: 0,
            next: NEVER,
            end: NEVER,
            queue: VecDeque::new(),
            port: 0,
            flight: VecDeque::new(),
            told: heard.then(|| Box::new(Level::new(0.0))),
        };
        model.next = if rate > 0.0 { model.after(model.arrival) } else { NEVER };
        model.settle();
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// The second of two stations hears of the first one only.
    #[test]
    fn stations_need_no_arrivals_from_outside() {
        let bench = Bench::run(
            "connections=['a.out1 -> b.in', 'b.exit -> k.in']\n\
             [unit.a]\nkind='queue-node'\narrivals=10.0\nservice=16.0\nneighbours=1\nexit=0\n\
             [unit.b]\nkind='queue-node'\narrivals=0\nservice=16.0\nneighbours=0\nexit=1\n\
             [unit.k]\nkind='sink'",
            100.0,
        );
        let jobs = bench.probe("k.count");
        assert!((850.0..1150.0).contains(&jobs), "{jobs}");
    }

    /// Who is wired to the length hears of each change.
    #[test]
    fn wired_receivers_hear_of_the_length() {
        let mut lengths = Vec::new();
        for end in 1..20 {
            let bench = Bench::run(
                "connections=['a.exit -> s.in', 'a.length -> g.u']\n\
                 [unit.s]\nkind='sink'\n[unit.g]\nkind='gain'\ngain=1.0\n\
                 [unit.a]\nkind='queue-node'\narrivals=10.0\nservice=16.0\nneighbours=0",
                f64::from(end),
            );
            lengths.push(bench.probe("a.length"));
            assert_eq!(bench.probe("g.y"), lengths[lengths.len() - 1], "{end}");
        }
        assert!(lengths.iter().any(|&l| l > 1.0) && lengths.contains(&0.0), "{lengths:?}");
    }

    /// Two nodes in tandem feedback: Jackson's L = rho/(1 - rho) per node, Little's law.
    #[test]
    fn two_nodes_with_feedback() {
        for delay in ["0", "0.01"] {
            let bench = Bench::run(
                &format!(
                    "connections=['a.out1 -> b.in','b.out1 -> a.in','a.exit -> s.in','b.exit -> s.in']\n\
                     [unit.s]\nkind='sink'\nwarm_up=2\n\
                     [unit.a]\nkind='queue-node'\narrivals=100.0\nservice=500.0\nneighbours=1\ndelay={delay}\n\
                     [unit.b]\nkind='queue-node'\narrivals=100.0\nservice=500.0\nneighbours=1\ndelay={delay}"
                ),
                400.0,
            );
            let exact = 0.04 + 3.0 * delay.parse::<f64>().unwrap();
            let [low, high] = ["s.low", "s.high"].map(|p| bench.probe(p));
            let spread = high - low;
            assert!(low - spread < exact && exact < high + spread, "{exact}: {low} … {high}");
            assert!(spread < 0.006, "{spread}");
        }
    }
}
