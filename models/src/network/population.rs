//! `population`: nodes that join a network, answer, and leave it again, as a dynamic structure.
//!
//! The unit is a coupled model: `~registrar` decides who joins and leaves, and asks the kernel for
//! the changes of structure (rule R12, in the manner of DSDE: Barros 1997); each node is a model of
//! its own, coupled to the unit's ports while it is there.
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, random_ticks, with},
        ports::{event, ports},
    },
    maths::random::RandomStream,
    signal::{NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Component, Coupled, Effects, Outbox,
    path::Name,
    port::{InPort, OutPort},
    structure::{Change, PortOf},
    time::Duration,
};

/// Ports of the unit: answers, and how many nodes there are.
const ANSWERS: u16 = 0;
const REGISTRAR: &str = "~registrar";
const NODE: &str = "node";

/// Answers each message with its number, after a delay. Input 0: anything; output 0: the number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Node {
    timer: Timer,
    number: i64,
    delay: i64,
    /// Ticks of the answers to come.
    due: VecDeque<i64>,
}

impl Node {
    const IN: InPort<Value, Self> = InPort::new(0);
    const NUMBER: OutPort<i64, Self> = OutPort::new(0);

    fn settle(&mut self) {
        self.timer.set(self.due.front().copied().unwrap_or(NEVER));
    }
}

impl Atomic<Value> for Node {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        self.due
            .iter()
            .take_while(|due| **due == at)
            .for_each(|_| out.send(Self::NUMBER, self.number));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        while self.due.front().is_some_and(|due| *due == now) {
            self.due.pop_front();
        }
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let at = self.timer.now().saturating_add(self.delay);
        bag.on(Self::IN).for_each(|_| self.due.push_back(at));
        self.settle();
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.delay)
    }
    fn earliest_output(&self, _: u16) -> Duration {
        self.timer.advance()
    }
}

/// Lets nodes join and leave. Output 0: how many there are, after each change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Registrar {
    timer: Timer,
    stream: RandomStream,
    /// Joins per second, and mean time in seconds for which a node stays.
    rate: f64,
    stay: f64,
    delay: i64,
    /// Number of the next node.
    next: i64,
    /// Tick at which it joins.
    joins: i64,
    /// Ticks at which nodes leave, with their numbers, the latest first.
    leaves: Vec<(i64, i64)>,
    /// The change is asked for; what is left is to tell it.
    news: bool,
}

impl Registrar {
    const SIZE: OutPort<i64, Self> = OutPort::new(0);

    fn draw(&mut self, mean: f64) -> i64 {
        let seconds = -mean * libm::log1p(-self.stream.uniform());
        self.timer.now().saturating_add(random_ticks(seconds, self.timer.resolution()))
    }

    /// Enters a node, whose number it gives.
    fn enter(&mut self) -> i64 {
        let (at, number) = (self.draw(self.stay), self.next);
        let place = self.leaves.partition_point(|leave| *leave > (at, number));
        self.leaves.insert(place, (at, number));
        self.next += 1;
        number
    }

    fn schedule(&mut self) {
        self.joins = if self.rate > 0.0 { self.draw(1.0 / self.rate) } else { NEVER };
    }

    fn node(&self, number: i64) -> Node {
        let timer = Timer::due(NEVER, self.timer.resolution());
        Node { timer, number, delay: self.delay, due: VecDeque::new() }
    }

    fn settle(&mut self) {
        let leaves = self.leaves.last().map_or(NEVER, |leave| leave.0);
        self.timer.set(if self.news { self.timer.now() } else { self.joins.min(leaves) });
    }

    fn join(&mut self, fx: &mut Effects<Value>) {
        let number = self.enter();
        let name = name(number);
        let parent = || ".".to_owned();
        let component = Component::atomic(self.node(number));
        fx.change(Change::Add { parent: parent(), name: name.clone(), component });
        let inner = || PortOf::child(name.clone(), 0);
        let (own, translation) = (PortOf::own, None);
        fx.change(Change::Couple { parent: parent(), from: own(0), to: inner(), translation });
        let translation = None;
        let to = own(ANSWERS);
        fx.change(Change::Couple { parent: parent(), from: inner(), to, translation });
    }
}

fn name(number: i64) -> Name {
    Name::member(NODE, number as u32)
}

impl Atomic<Value> for Registrar {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.news {
            out.send(Self::SIZE, self.leaves.len() as i64);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        let now = self.timer.now();
        if std::mem::take(&mut self.news) {
            return self.settle();
        }
        while let Some((_, number)) = self.leaves.pop_if(|leave| leave.0 == now) {
            fx.change(Change::Remove { path: format!("./{}", name(number)) });
            self.news = true;
        }
        while self.joins == now {
            self.join(fx);
            self.schedule();
            self.news = true;
        }
        self.settle();
    }
}

unit_kind! {
    /// `population`: nodes that join a network and leave it, each a model of its own: the structure
    /// changes while the run goes on. Input `in` (events of any kind), which all nodes that are there
    /// hear; outputs `out` (integers: the number of each node that answers, `delay` later) and `size`
    /// (integer: how many nodes there are, at the start and one micro-step after each change).
    ///
    /// Nodes join as a Poisson stream of `rate` and stay for exponential times of mean `stay`. What
    /// a node has not answered when it leaves is not answered.
    ///
    /// ```toml
    /// [unit.peers]
    /// kind = "population"
    /// rate = 2.0           # joins per second
    /// stay = 5.0           # s; so 10 nodes in the mean, and Poisson distributed
    /// start = 10           # nodes at the start
    /// ```
    Population = "population", "nodes that join, answer, and leave (changes of structure)",
    params: [
        with("rate", ParamType::Real(Some("1/s")), "1", "nodes that join, per second"),
        with("stay", ParamType::Real(Some("s")), "10", "mean time for which a node stays, s"),
        with("start", ParamType::Int, "10", "nodes at the start, at least one"),
        with("delay", ParamType::Duration, "1 ms", "from a message to its answer"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator"),
    ],
    ports: |_| Ok(ports(
        [event("in", ValueType::Any)],
        [event("out", ValueType::Int), event("size", ValueType::Int)],
    )),
    feed_through: |params, _| match params.duration("delay") > Duration::ZERO {
        true => FeedThrough::Pairs(Vec::new()),
        false => FeedThrough::Pairs(vec![(0, 0, Passing::Always)]),
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let rate = r.finite("rate");
        r.check(rate >= 0.0, "rate", format!("`rate` is {rate}"), "give zero or more");
        let stream = r.stream(context, "population");
        // A checkpoint holds kinds that are there from the start.
        let start = r.int("start", 1, 1 << 20);
        let mut registrar = Registrar {
            timer: Timer::due(0, context.resolution),
            stream,
            rate,
            stay: r.positive("stay"),
            delay: r.duration("delay"),
            next: 0,
            joins: NEVER,
            leaves: Vec::new(),
            news: true,
        };
        r.finish(()).map(|()| {
            let mut network = Coupled::new();
            let input = network.add_input::<Value>("in");
            let out = network.add_output::<i64>("out");
            let size = network.add_output::<i64>("size");
            for _ in 0..start {
                let number = registrar.enter();
                let node = network.add(name(number), registrar.node(number));
                network.couple(input.inside(), node.input(Node::IN));
                network.couple(node.output(Node::NUMBER), out.inside());
            }
            registrar.schedule();
            let registrar = network.add(REGISTRAR, registrar);
            network.couple(registrar.output(Registrar::SIZE), size.inside());
            Component::from(network)
        })
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// The stationary number of nodes is Poisson distributed with mean `rate · stay` (M/G/∞).
    #[test]
    fn the_number_of_nodes_is_that_of_a_poisson_distribution() {
        let bench = Bench::run(
            "connections=['c.y -> p.in', 'p.out -> answers.u', 'p.size -> changes.u']\n\
             [unit.c]\nkind='clock'\nperiod=1\noffset=1\n\
             [unit.p]\nkind='population'\nrate=4.0\nstay=5.0\nstart=20\n\
             [unit.answers]\nkind='counter'\n[unit.changes]\nkind='counter'",
            2000.0,
        );
        // One answer of each node per second; samples are correlated over 5 s.
        let mean = bench.probe("answers.count") / 2000.0;
        let error = (20.0f64 * 2.0 * 5.0 / 2000.0).sqrt();
        assert!((mean - 20.0).abs() < 4.0 * error, "{mean}");
        // 4 joins and as many leaves per second.
        let changes = bench.probe("changes.count");
        assert!((changes - 16_000.0).abs() < 4.0 * 16_000f64.sqrt() * 2.0, "{changes}");
    }
}
