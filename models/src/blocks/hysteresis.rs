//! `hysteresis`: a two-point switch with two thresholds.
use super::crossing::{Reacting, Reaction, Relation};
use crate::{
    kinds::{
        ParamType, ValueType,
        params::{Reader, TOLERANCE, needed, with},
        ports::{event, happened, ports, signal},
    },
    signal::{
        Level, NEVER, Timer,
        value::{Segment, Value},
    },
    solve::ode::Kind,
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Component, Effects, EventKind, Outbox, port::OutPort};

/// A switch that turns on above `high` and off below `low`, which its relation looks at in turn.
/// Outputs: 0 the changes, 1 the state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TwoPoint {
    low: f64,
    high: f64,
    on: bool,
    /// The state for a start between the thresholds.
    initial: bool,
    /// The value by which the signal has begun; `announce` tells of the start once.
    begun: Option<f64>,
    level: Level,
    /// A change that is sent now, or else in the next micro-step.
    news: bool,
    /// Whether the state at the start is sent as an event.
    announce: bool,
}

impl TwoPoint {
    const Y: OutPort<bool, Self> = OutPort::new(0);
    const STATE: OutPort<Segment, Self> = OutPort::new(1);

    fn state(&self) -> f64 {
        f64::from(u8::from(self.on))
    }

    fn turn(&mut self, relation: &mut Relation) {
        self.on = !self.on;
        (relation.level, relation.side) = if self.on { (self.low, 1.0) } else { (self.high, -1.0) };
    }
}

impl Reaction for TwoPoint {
    const PORTS: [u16; 2] = [1, 2];

    fn waits(&self, relation: &Relation) -> bool {
        self.news || (relation.heard().is_some() && self.level.is_pending())
    }
    fn flips(&mut self, relation: &mut Relation, _: bool, now: i64) {
        self.turn(relation);
        self.level.change(self.state(), now);
        self.news = true;
    }
    fn hears(&mut self, relation: &mut Relation, before: Option<f64>, now: i64) {
        let (begins, was) = (before.is_none(), self.on);
        if begins && self.on != self.initial && self.begun != relation.heard() {
            // Not for the first time: a source has heard others, later in the start, and begins elsewhere.
            self.turn(relation);
            relation.decide();
        }
        if relation.side == if self.on { -1.0 } else { 1.0 } {
            self.turn(relation);
        }
        self.level.follow(self.state(), now, begins);
        let first = begins && std::mem::replace(&mut self.begun, relation.heard()).is_none();
        self.news |= (!begins || self.announce) && (first || self.on != was);
    }
    fn send(&self, _: &Timer, out: &mut Outbox<'_, Value>) {
        if self.news {
            out.send(Self::Y, self.on);
        }
        if let Some(segment) = self.level.pending() {
            out.send(Self::STATE, segment);
        }
    }
    fn sent(&mut self, _: &Timer, fx: &mut Effects<Value>) {
        if std::mem::take(&mut self.news) {
            happened(fx, if self.on { "on" } else { "off" }, EventKind::Private);
        }
        self.level.sent();
    }
    fn probe(&self, _: &Relation, port: u16, _: (i64, &Timer)) -> Option<Value> {
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
        let relation = Relation::new(
            Kind::Sign,
            if on { low } else { high },
            (1.0, r.positive("exchange_tolerance")),
        );
        let level = Level::new(f64::from(u8::from(on)));
        let own = TwoPoint {
            low,
            high,
            on,
            initial: on,
            begun: None,
            level,
            news: false,
            announce: params.bool("announce"),
        };
        let timer = Timer::due(NEVER, context.resolution);
        r.finish(Component::atomic(Reacting { timer, relation, own }))
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

    /// The source is at 0, below `low`, until it hears the constant.
    #[test]
    fn starts_behind_other_units() {
        let bench = Bench::run(
            "connections=['c.y -> g.u','g.y -> t.u']\n\
             [unit.c]\nkind='constant'\nvalue=2.0\n\
             [unit.g]\nkind='transfer-function'\nnumerator=[1, 0]\ndenominator=[1, 1]\n\
             [unit.t]\nkind='hysteresis'\nlow=1.0\nhigh=3.0\ninitial=true",
            1.0,
        );
        // 2 exp(-t) falls below 1 at ln 2, within the exchange tolerance of 1e-6.
        let [event] = &bench.events("t.y")[..] else { panic!("one event") };
        let (time, state) = event.split_once("@0 ").unwrap();
        let late = time.parse::<f64>().unwrap() - std::f64::consts::LN_2;
        assert!(late.abs() < 1e-6 && state == "false", "{event}");
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
