//! `phold-entity`: an entity of PHOLD, the workload for parallel executors.
use super::{board::Board, link::probability};
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, random_ticks, with},
        ports::{event, ports, signal},
    },
    maths::random::RandomStream,
    signal::{NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Outputs to either kind of neighbours.
const WAYS: u16 = 4;

/// Holds tokens and passes each on, after a delay, to one of its neighbours. Input 0: tokens;
/// outputs: tokens to neighbours that are near, then to those that are far, then their number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entity {
    timer: Timer,
    stream: RandomStream,
    /// Probability of a hop to a far neighbour.
    remote: f64,
    lookahead: i64,
    /// Mean of the delay beyond the lookahead, in seconds, and the part of it that is random.
    mean: f64,
    spread: f64,
    /// Rounds of work per token.
    work: u32,
    /// Tokens here with tick of departure and output port, the latest first.
    tokens: Vec<(i64, u16)>,
    /// Tokens that came.
    taken: u64,
    board: Board,
}

impl Entity {
    const IN: InPort<Value, Self> = InPort::new(0);

    fn take(&mut self) {
        let random = -libm::log1p(-self.stream.uniform());
        let seconds = self.mean * (1.0 - self.spread + self.spread * random);
        let delay = random_ticks(seconds, self.timer.resolution()).saturating_add(self.lookahead);
        let far = self.stream.uniform() < self.remote;
        let way = self.stream.below(WAYS.into()) as u16 + if far { WAYS } else { 0 };
        let at = self.timer.now().saturating_add(delay);
        let place = self.tokens.partition_point(|t| t.0 >= at);
        self.tokens.insert(place, (at, way));
    }

    fn settle(&mut self) {
        let next = self.tokens.last().map_or(NEVER, |t| t.0);
        self.timer.set(if self.board.pending() { self.timer.now() } else { next });
    }
}

/// Integer arithmetic, branches and copies within a small record.
#[inline(never)]
pub(super) fn work(rounds: u32) {
    let mut record = [0u32; 16];
    for i in 0..rounds {
        let at = (i & 15) as usize;
        record[at] = record[(at + 7) & 15].wrapping_mul(31).wrapping_add(i);
        if record[at] & 1 == 0 {
            record.copy_within(0..8, 8);
        }
        black_box(&mut record);
    }
}

impl Atomic<Value> for Entity {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2 * WAYS + 1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let at = self.timer.next();
        let due = || self.tokens.iter().rev().take_while(|t| t.0 == at);
        // In the order of ports.
        for way in 0..2 * WAYS {
            for _ in due().filter(|t| t.1 == way) {
                out.send(OutPort::<Value>::new(way), Value::Unit);
            }
        }
        self.board.output(out);
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        while self.tokens.pop_if(|t| t.0 == self.timer.now()).is_some() {}
        self.board.sent();
        self.settle();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        for _ in bag.on(Self::IN) {
            work(self.work);
            self.taken += 1;
            self.take();
            if self.board.is_time() {
                self.board.tell(&[Some(self.taken as f64)], self.timer.now());
            }
        }
        self.settle();
    }
    fn lookahead(&self, port: u16) -> Duration {
        Duration::from_ticks(if port < 2 * WAYS { self.lookahead } else { 0 })
    }
    fn earliest_output(&self, port: u16) -> Duration {
        match self.tokens.iter().rfind(|t| t.1 == port) {
            _ if port >= 2 * WAYS => self.time_advance(),
            Some(&(at, _)) => Duration::between(self.timer.now(), at),
            None => Duration::INFINITE,
        }
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == 2 * WAYS).then_some(Value::Real(self.taken as f64))
    }
}

unit_kind! {
    /// `phold-entity`: an entity of PHOLD (Fujimoto, SCS Multiconference on Distributed Simulation
    /// 1990), the workload on which parallel executors are measured: tokens that hop between
    /// entities after a random delay. Input `in` (tokens); outputs `near1` to `near4` and `far1` to
    /// `far4` (tokens), `taken` (signal: tokens that came).
    ///
    /// A token stays `lookahead + mean (1 - spread + spread X)` with X exponential of mean 1, rounded
    /// to a tick. With `spread = 0` all delays are equal: all entities hop at the same times.
    ///
    /// ```toml
    /// [unit.entity]
    /// kind = "phold-entity"
    /// remote = 0.1          # share of hops to far neighbours
    /// lookahead = "1 ms"    # least delay of a hop, which conservative workers may rely on
    /// mean = 0.01           # s, beyond the lookahead
    /// spread = 1.0
    /// work = 100            # rounds of arithmetic per token
    /// ```
    PholdEntity = "phold-entity", "an entity of the parallel workload PHOLD",
    params: [
        with("tokens", ParamType::Int, "1", "tokens at the start"),
        with("remote", ParamType::Real(None), "0.1", "share of hops to far neighbours"),
        with("lookahead", ParamType::Duration, "0 s", "least delay of a hop"),
        with("mean", ParamType::Real(Some("s")), "0.01", "mean delay beyond the lookahead, s"),
        with("spread", ParamType::Real(None), "1", "random part of that, 0 to 1"),
        with("work", ParamType::Int, "0", "rounds of arithmetic per token"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator"),
        with("every", ParamType::Int, "", "tokens between messages to wired receivers; default 1"),
    ],
    ports: |_| {
        let way = |name: &str| event(name, ValueType::Unit);
        Ok(ports(
            [way("in")],
            [
                way("near1"), way("near2"), way("near3"), way("near4"),
                way("far1"), way("far2"), way("far3"), way("far4"),
                signal("taken"),
            ],
        ))
    },
    // Tokens stay a while; the signal counts them as they come.
    feed_through: |_, _| FeedThrough::Pairs(vec![(0, 2 * WAYS, Passing::Sometimes)]),
    build: |params, context| {
        let mut r = Reader::new(params);
        let mut model = Entity {
            timer: Timer::due(0, context.resolution),
            stream: r.stream(context, "hops"),
            remote: probability(&mut r, "remote", params.real("remote")),
            lookahead: r.duration("lookahead"),
            mean: r.positive("mean"),
            spread: r.finite("spread"),
            work: r.int("work", 0, u32::MAX.into()) as u32,
            tokens: Vec::new(),
            taken: 0,
            board: Board::new(2 * WAYS, &[Some(0.0)], &mut r, context),
        };
        let ok = (0.0..=1.0).contains(&model.spread);
        let what = format!("`spread` is {}", model.spread);
        r.check(ok, "spread", what, "give a share from 0 to 1");
        let tokens = r.int("tokens", 0, 1 << 20);
        r.finish(()).map(|()| {
            (0..tokens).for_each(|_| model.take());
            model.settle();
            Component::atomic(model)
        })
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    const WAYS: [&str; 8] = ["near1", "near2", "near3", "near4", "far1", "far2", "far3", "far4"];

    /// Two entities that send each other everything.
    fn pair(params: &str) -> String {
        let unit = |name| format!("[unit.{name}]\nkind='phold-entity'\n{params}\n");
        let wires = |from, to| WAYS.map(|way| format!("'{from}.{way} -> {to}.in'")).join(",");
        let connections = [wires("a", "b"), wires("b", "a")].join(",");
        format!("connections=[{connections}]\n{}{}", unit("a"), unit("b"))
    }

    #[test]
    fn equal_delays_are_all_ties() {
        let bench = Bench::run(&pair("lookahead='0.5 s'\nmean=0.5\nspread=0.0\nremote=1.0"), 9.5);
        assert_eq!([bench.probe("a.taken"), bench.probe("b.taken")], [9.0, 9.0]);
        let near: usize = WAYS[..4].iter().map(|way| bench.events(&format!("a.{way}")).len()).sum();
        let far: usize = WAYS[4..].iter().map(|way| bench.events(&format!("a.{way}")).len()).sum();
        assert_eq!([near, far], [0, 9]);
    }

    #[test]
    fn hops_have_their_mean_delay_and_share() {
        let bench = Bench::run(&pair("lookahead='1 ms'\nmean=0.009\nremote=0.3\ntokens=5"), 100.0);
        let taken = bench.probe("a.taken") + bench.probe("b.taken");
        // 10 tokens, one hop per 10 ms each.
        assert!((taken - 1e5).abs() < 4.0 * 1e5f64.sqrt(), "{taken}");
        let sent =
            |way| bench.events(&format!("a.{way}")).len() + bench.events(&format!("b.{way}")).len();
        let far: usize = WAYS[4..].iter().map(sent).sum();
        let share = far as f64 / taken;
        assert!((share - 0.3).abs() < 0.01, "{share}");
    }
}
