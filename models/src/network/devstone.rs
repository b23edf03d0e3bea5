//! `devstone`: an atomic of DEVStone, the workload for simulators.
use super::phold::work;
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, with},
        ports::{event, ports},
    },
    signal::{Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Counts what it hears and says so after a while. Input 0: anything; output 0: how many messages
/// came so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stone {
    timer: Timer,
    delay: i64,
    events: i64,
    /// Rounds of work in internal and external transitions.
    work: [u32; 2],
}

impl Stone {
    const IN: InPort<Value, Self> = InPort::new(0);
    const OUT: OutPort<i64, Self> = OutPort::new(0);
}

impl Atomic<Value> for Stone {
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
        out.send(Self::OUT, self.events);
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        work(self.work[0]);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        self.events += bag.on(Self::IN).count() as i64;
        self.timer.set(self.timer.now().saturating_add(self.delay));
        work(self.work[1]);
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.delay)
    }
    fn earliest_output(&self, _: u16) -> Duration {
        self.timer.advance()
    }
}

unit_kind! {
    /// `devstone`: an atomic of DEVStone (Glinsky & Wainer, DEVStone: a benchmarking technique for
    /// studying performance of DEVS modeling and simulation environments, DS-RT 2005). Input `in`
    /// (events of any kind); output `out` (integer: how many came so far), `delay` after the last
    /// one, in the next micro-step without.
    ///
    /// ```toml
    /// [unit.stone]
    /// kind = "devstone"
    /// delay = "1 ms"        # least time from hearing to saying, for conservative workers
    /// external_work = 100   # rounds of arithmetic per external transition
    /// ```
    Devstone = "devstone", "an atomic of the workload DEVStone",
    params: [
        with("delay", ParamType::Duration, "0 s", "from hearing to saying"),
        with("internal_work", ParamType::Int, "0", "rounds of arithmetic per internal transition"),
        with("external_work", ParamType::Int, "0", "rounds of arithmetic per external transition"),
    ],
    ports: |_| Ok(ports([event("in", ValueType::Any)], [event("out", ValueType::Int)])),
    feed_through: |params, _| match params.duration("delay") > Duration::ZERO {
        true => FeedThrough::Pairs(Vec::new()),
        false => FeedThrough::All(Passing::Always),
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let model = Stone {
            timer: Timer::due(crate::signal::NEVER, context.resolution),
            delay: r.duration("delay"),
            events: 0,
            work: ["internal_work", "external_work"]
                .map(|name| r.int(name, 0, u32::MAX.into()) as u32),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn says_how_many_came() {
        let bench = Bench::run(
            "connections=['a.y -> s.in', 'b.y -> s.in', 's.out -> t.in']\n\
             [unit.a]\nkind='schedule'\ntimes=[1, 2]\n[unit.b]\nkind='schedule'\ntimes=[1]\n\
             [unit.s]\nkind='devstone'\n[unit.t]\nkind='devstone'\ndelay='0.5 s'\n\
             internal_work=10\nexternal_work=10",
            5.0,
        );
        assert_eq!(bench.events("s.out"), ["1@1 2", "2@1 3"]);
        assert_eq!(bench.events("t.out"), ["1.5@0 1", "2.5@0 2"]);
    }
}
