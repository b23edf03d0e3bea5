//! `hysteresis`: a two-point switch with two thresholds.
use super::crossing::{Band, Exit, Watch};
use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, TOLERANCE, needed, with},
        ports::{event, ports, signal},
    },
    signal::{
        Level, NEVER, Timer,
        value::{Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Component, Effects, EventKind, Outbox, port::OutPort, time::Duration,
};

/// A switch that turns on above `high` and off below `low`. Input 0: the signal; outputs: 0 the
/// changes, 1 the state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TwoPoint {
    timer: Timer,
    low: f64,
    high: f64,
    on: bool,
    watch: Watch,
    level: Level,
    /// A change that is sent in the next micro-step.
    news: bool,
    /// Whether the state at the start is sent as an event.
    announce: bool,
}

impl TwoPoint {
    const Y: OutPort<bool> = OutPort::new(0);
    const STATE: OutPort<Segment> = OutPort::new(1);

    fn band(&self) -> Band {
        if self.on {
            Band { low: self.low, high: f64::INFINITY }
        } else {
            Band { low: f64::NEG_INFINITY, high: self.high }
        }
    }

    fn plan(&mut self) {
        let now = self.timer.now();
        let waiting = self.news || (self.watch.held.is_some() && self.level.is_pending());
        let at = self.watch.plan(self.band(), false, &self.timer);
        self.timer.set(if waiting { now } else { at });
    }

    fn turn(&mut self, exit: Exit) {
        self.on = exit == Exit::Above;
        self.level.change(f64::from(u8::from(self.on)), self.timer.now());
    }

    /// Whether the coming internal transition is a located crossing.
    fn located(&self) -> Option<Exit> {
        let waiting = self.news || self.level.is_pending();
        if waiting { None } else { self.watch.planned() }
    }
}

impl Atomic<Value> for TwoPoint {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let mut then = self.clone();
        let located = self.located();
        if let Some(exit) = located {
            then.timer.fire();
            then.turn(exit);
        }
        if self.news || located.is_some() {
            out.send(Self::Y, then.on);
        }
        if let Some(segment) = then.level.pending() {
            out.send(Self::STATE, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        let located = self.located();
        self.timer.fire();
        if let Some(exit) = located {
            fx.located();
            self.watch.passed();
            self.turn(exit);
            crate::kinds::ports::happened(
                fx,
                if self.on { "on" } else { "off" },
                EventKind::Private,
            );
        }
        if std::mem::take(&mut self.news) {
            // A jump turned it, one micro-step ago.
            crate::kinds::ports::happened(
                fx,
                if self.on { "on" } else { "off" },
                EventKind::Private,
            );
        }
        self.level.sent();
        self.plan();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        for (_, value) in bag.iter() {
            let Value::Segment(s) = value else { continue };
            let first = self.watch.held.is_none();
            self.watch.receive(s, &self.timer);
            let band = if first && s.value(0.0) < self.low {
                Band { low: self.low, high: self.high }
            } else {
                self.band()
            };
            if let Some(exit) = self.watch.outside(band) {
                let was = self.on;
                self.turn(exit);
                self.news |= !first && self.on != was;
            }
            self.news |= first && self.announce;
        }
        self.plan();
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == Self::STATE.index()).then(|| Value::Real(self.level.value()))
    }
}

unit_kind! {
    /// `hysteresis`: true when the signal rises above `high`, false when it falls below `low`.
    /// Input `u` (signal); outputs `y` (events: truth values at changes), `state` (signal, 0 or 1).
    ///
    /// ```toml
    /// [unit.thermostat]
    /// kind = "hysteresis"
    /// low = 19.0
    /// high = 21.0
    /// initial = false      # for a signal that starts between the thresholds
    /// announce = true      # send the state at the start as an event, too
    /// ```
    Hysteresis = "hysteresis", "a two-point switch with two thresholds",
    params: [
        needed("low", ParamType::Real(None), "turns off below"),
        needed("high", ParamType::Real(None), "turns on above"),
        with("initial", ParamType::Bool, "false", "state for a start between the thresholds"),
        with("announce", ParamType::Bool, "false", "send the state at the start as an event"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports([signal("u")], [event("y", ValueType::Bool), signal("state")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let (low, high) = (r.finite("low"), r.finite("high"));
        r.check(low < high, "high", "`high` is not above `low`", "give two different thresholds");
        let on = params.bool("initial");
        let model = TwoPoint {
            timer: Timer::due(NEVER, context.resolution),
            low,
            high,
            on,
            watch: Watch::new(r.positive("exchange_tolerance")),
            level: Level::new(f64::from(u8::from(on))),
            news: false,
            announce: params.bool("announce"),
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H17: +2 per second while heating, -1 per second otherwise.
    #[test]
    fn thermostat() {
        let bench = Bench::run(
            r#"
            connections = ["room.y -> t.u", "t.state -> heat.u", "heat.y -> rate.u",
                           "rate.y -> room.u"]
            [unit.room]
            kind = "integrator"
            initial = 20.0
            [unit.t]
            kind = "hysteresis"
            low = 20.0
            high = 22.0
            [unit.heat]
            kind = "gain"
            gain = -3.0
            [unit.rate]
            kind = "offset"
            offset = 2.0
            "#,
            3000.0,
        );
        let events = bench.events("t.y");
        assert_eq!(events[..5], ["1@0 true", "3@0 false", "4@0 true", "6@0 false", "7@0 true"]);
        assert_eq!(events.last().unwrap(), "3000@0 false");
    }

    #[test]
    fn start_and_jumps() {
        let bench = Bench::run(
            "connections=['a.y -> h.u','h.y -> t.u']\n\
             [unit.a]\nkind='schedule'\ntimes=[1,2,3]\nvalues=[0.5,-2.0,2.0]\n\
             [unit.h]\nkind='hold'\ninitial=1.5\n\
             [unit.t]\nkind='hysteresis'\nlow=-1.0\nhigh=1.0\nannounce=true",
            4.0,
        );
        assert_eq!(bench.events("t.y"), ["0@1 true", "2@2 false", "3@2 true"]);
        assert_eq!(
            bench.signal("t.state"),
            ["0@1 [1.0] left 1", "2@2 Jump [0.0] left 1", "3@2 Jump [1.0] left 0"]
        );
    }
}
