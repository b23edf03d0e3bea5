//! `hold`: events as a piecewise constant signal.
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

/// Zero-order hold. Input 0: events; output 0: the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ZeroOrderHold {
    timer: Timer,
    level: Level,
}

impl ZeroOrderHold {
    const Y: OutPort<Segment, Self> = OutPort::new(0);
}

impl Atomic<Value> for ZeroOrderHold {
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
        if let Some(segment) = self.level.pending() {
            out.send(Self::Y, segment);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.level.sent();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        for (_, value) in bag.iter() {
            self.level.change(number(value, "u", fx), self.timer.now());
        }
        if self.level.is_pending() {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, _: Duration) -> Option<Value> {
        Some(Value::Real(self.level.value()))
    }
}

unit_kind! {
    /// `hold`: the value of the last event as a signal, one micro-step later. Input `u` (numbers
    /// or truth values), output `y`. Of several events in one cycle the last in path order counts.
    ///
    /// ```toml
    /// [unit.dac]
    /// kind = "hold"
    /// initial = 0.0        # before the first event
    /// ```
    Hold = "hold", "the last event's value as a signal",
    params: [with("initial", ParamType::Real(None), "0.0", "value before the first event")],
    ports: |_| Ok(ports([event("u", ValueType::Any)], [signal("y")])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, context| {
        let mut r = Reader::new(params);
        let level = Level::new(r.finite("initial"));
        let timer = Timer::due(0, context.resolution);
        r.finish(Component::atomic(ZeroOrderHold { timer, level }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H3.
    #[test]
    fn left_and_right_limits() {
        let bench = Bench::run(
            "connections=['s.y -> h.u','s.y -> d.u','d.y -> h.u']\n\
             [unit.s]\nkind='schedule'\ntimes=[1,2,3]\nvalues=[1,4,9]\n\
             [unit.d]\nkind='scaler'\ngain=10.0\n\
             [unit.h]\nkind='hold'\ninitial=-1.0",
            3.0,
        );
        assert_eq!(
            bench.signal("h.y"),
            [
                "0@0 [-1.0] left -1",
                "1@1 Jump [1.0] left -1",
                "1@2 Jump [10.0] left -1",
                "2@1 Jump [4.0] left 10",
                "2@2 Jump [40.0] left 10",
                "3@1 Jump [9.0] left 40",
                "3@2 Jump [90.0] left 40"
            ]
        );
        assert_eq!(bench.probe("h.y"), 90.0);
    }
}
