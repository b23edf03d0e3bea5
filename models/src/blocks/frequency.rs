//! `frequency`: how fast a signal swings.
use crate::{
    kinds::{
        ParamType,
        feed_through::FeedThrough,
        params::{Reader, needed},
        ports::{ports, signal},
    },
    signal::{
        Held, Level, NEVER, Swing, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// Looks at a signal now and then. Input 0: the signal; output 0: its frequency.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Meter {
    timer: Timer,
    clock: RationalClock,
    next: u64,
    u: Option<Held>,
    swing: Swing,
    level: Level,
}

impl Meter {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    /// The tick of the next look.
    fn look(&self) -> i64 {
        self.clock.tick(self.next).unwrap_or(NEVER)
    }

    fn reschedule(&mut self) {
        self.timer.set(if self.level.is_pending() { self.timer.now() } else { self.look() });
    }
}

impl Atomic<Value> for Meter {
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
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.level.sent();
        let now = self.timer.now();
        if now >= self.look() {
            self.next += 1;
            if let Some(u) = &self.u {
                let value = u.value(now, &self.timer);
                if !value.is_finite() {
                    return fx.fail(format!(
                        "the signal is {value}, so there is no frequency of it; look at the unit that sends it"
                    ));
                }
                self.swing.take(now, value, &self.timer);
                let rate = if self.swing.is_known() { self.swing.rate() } else { 0.0 };
                self.level.change(rate / TAU, now);
            }
        }
        self.reschedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        for (_, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.u, s, self.timer.now());
            }
        }
    }
    fn probe(&self, _: u16, _: Duration) -> Option<Value> {
        Some(Value::Real(self.level.value()))
    }
}

unit_kind! {
    /// `frequency`: the frequency of a signal in Hz, from its values at each `period`, so that it needs nothing of the
    /// unit that sends it. Input `u`, output `y`.
    ///
    /// An offset and a steady trend do not count; the frequency must stay below 1/(2 `period`). A signal that decays or
    /// grows by e^(at) counts as one of the frequency a/(2π); `y` is 0 for one that rests or goes on steadily, and until
    /// half a period has been seen. Of several swings at once the one that makes the signal steepest counts most.
    ///
    /// ```toml
    /// [unit.meter]
    /// kind = "frequency"
    /// period = "1 ms"
    /// ```
    Frequency = "frequency", "how fast a signal swings",
    params: [needed("period", ParamType::Period, "time from one look at the signal to the next")],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    // The signal is looked at when its time has come.
    feed_through: |_, _| FeedThrough::None,
    build: |params, context| {
        let mut r = Reader::new(params);
        let clock = r.clock("period", 0, context.resolution);
        let timer = Timer::due(0, context.resolution);
        let (swing, level) = (Swing::default(), Level::new(0.0));
        r.finish(Component::atomic(Meter { timer, clock, next: 1, u: None, swing, level }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn a_sine_has_its_frequency_and_a_constant_none() {
        let text = "connections=['s.y -> f.u','c.y -> g.u']\n\
                    [unit.s]\nkind='sine'\nfrequency=2.5\namplitude=3.0\noffset=1.0\n\
                    [unit.f]\nkind='frequency'\nperiod=0.02\n\
                    [unit.c]\nkind='constant'\nvalue=4.0\n\
                    [unit.g]\nkind='frequency'\nperiod=0.02\n";
        let bench = Bench::run(text, 1.0);
        assert!((bench.probe("f.y") / 2.5 - 1.0).abs() < 1e-3, "{}", bench.probe("f.y"));
        assert_eq!(bench.probe("g.y"), 0.0);
        assert_eq!(bench.held("f.y", 0.15), 0.0, "before half a period");
        assert_eq!(bench.count("g.y"), 1, "nothing is said twice");
    }
}
