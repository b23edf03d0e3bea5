//! `counter` and `accumulator`: how many events, and how much in all.
use super::events::number;
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, with},
        ports::{event, ports, signal},
    },
    signal::{
        Level, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Counts or sums events. Inputs: 0 events, 1 reset; outputs: 0 the new tally, 1 the tally as a
/// signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tally {
    timer: Timer,
    /// Sums values instead of counting messages.
    sums: bool,
    start: f64,
    level: Level,
    /// An event is to be sent.
    news: bool,
}

impl Tally {
    const Y: OutPort<Value, Self> = OutPort::new(0);
    const TOTAL: OutPort<Segment, Self> = OutPort::new(1);
    const RESET: u16 = 1;
}

impl Atomic<Value> for Tally {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.news {
            let x = self.level.value();
            out.send(Self::Y, if self.sums { Value::Real(x) } else { Value::Int(x as i64) });
        }
        if let Some(segment) = self.level.pending() {
            out.send(Self::TOTAL, segment);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.level.sent();
        self.news = false;
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let mut total = self.level.value();
        if bag.iter().any(|(port, _)| port == Self::RESET) {
            total = self.start;
        }
        let events = bag.iter().filter(|(port, _)| *port != Self::RESET);
        if self.sums {
            let mut terms: Vec<f64> = events.map(|(_, v)| number(v, "u", fx)).collect();
            terms.sort_unstable_by(f64::total_cmp);
            total += terms.iter().sum::<f64>();
        } else {
            total += events.count() as f64;
        }
        self.level.change(total, self.timer.now());
        self.news = true;
        self.timer.at_once();
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == Self::TOTAL.index()).then(|| Value::Real(self.level.value()))
    }
}

unit_kind! {
    /// `counter`: how many events arrived. Inputs `u` (any events), `reset` (optional); outputs
    /// `y` (integer event after each arrival; one after several in one cycle) and `count` (signal), one micro-step
    /// later.
    ///
    /// A reset in the same cycle comes first.
    ///
    /// ```toml
    /// [unit.pieces]
    /// kind = "counter"
    /// start = 0
    /// ```
    Counter = "counter", "counts events",
    params: [with("start", ParamType::Int, "0", "count at the start and after a reset")],
    ports: |_| Ok(ports(
        [event("u", ValueType::Any), event("reset", ValueType::Any).optional()],
        [event("y", ValueType::Int), signal("count")],
    )),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let start = params.int("start") as f64;
        let timer = Timer::due(0, context.resolution);
        let model = Tally { timer, sums: false, start, level: Level::new(start), news: false };
        Ok(Component::atomic(model))
    },
}

unit_kind! {
    /// `accumulator`: the sum of all event values. Inputs `u` (numbers), `reset` (optional);
    /// outputs `y` (real event after each arrival; one after several in one cycle) and `total` (signal), one micro-step
    /// later.
    ///
    /// ```toml
    /// [unit.account]
    /// kind = "accumulator"
    /// start = 100.0
    /// ```
    Accumulator = "accumulator", "sums event values",
    params: [with("start", ParamType::Real(None), "0.0", "sum at the start and after a reset")],
    ports: |_| Ok(ports(
        [event("u", ValueType::Any), event("reset", ValueType::Any).optional()],
        [event("y", ValueType::Real), signal("total")],
    )),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let start = r.finite("start");
        let timer = Timer::due(0, context.resolution);
        let model = Tally { timer, sums: true, start, level: Level::new(start), news: false };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn counts_and_sums_with_resets() {
        let bench = Bench::run(
            r#"
            connections = ["c.y -> n.u", "c.y -> a.u", "r.y -> n.reset", "r.y -> a.reset"]
            [unit.c]
            kind = "clock"
            period = 1
            offset = 1
            value = 2.5
            [unit.r]
            kind = "schedule"
            times = [3]
            [unit.n]
            kind = "counter"
            [unit.a]
            kind = "accumulator"
            start = 1.0
            "#,
            4.0,
        );
        assert_eq!(bench.events("n.y"), ["1@1 1", "2@1 2", "3@1 1", "4@1 2"]);
        assert_eq!(
            bench.signal("n.count"),
            [
                "0@0 [0.0] left 0",
                "1@1 Jump [1.0] left 0",
                "2@1 Jump [2.0] left 1",
                "3@1 Jump [1.0] left 2",
                "4@1 Jump [2.0] left 1"
            ]
        );
        assert_eq!(bench.events("a.y"), ["1@1 3.5", "2@1 6", "3@1 3.5", "4@1 6"]);
        assert_eq!(bench.probe("a.total"), 6.0);
    }
}
