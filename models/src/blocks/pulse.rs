//! `pulse`: a train of rectangular pulses.
use crate::{
    kinds::{
        ParamError, ParamType,
        params::{Reader, needed, with},
        ports::{ports, signal},
    },
    signal::{
        NEVER, Timer,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// A pulse train. Output 0: the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PulseTrain {
    timer: Timer,
    /// Starts of pulses.
    clock: RationalClock,
    /// Pulses that have started.
    started: u64,
    width: i64,
    /// Pulses left; -1 for no limit.
    left: i64,
    low: f64,
    high: f64,
    /// The level that is held now, once the first segment is sent.
    level: Option<bool>,
}

impl PulseTrain {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    fn value(&self, level: bool) -> f64 {
        if level { self.high } else { self.low }
    }
    /// The level from `next` on.
    fn coming(&self) -> bool {
        match self.level {
            None => self.clock.tick(0) == Ok(0),
            Some(level) => !level,
        }
    }
}

impl Atomic<Value> for PulseTrain {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let value = self.value(self.coming());
        let segment = match self.level {
            None => Segment::new(&[value], Flag::Refresh, value),
            Some(old) => Segment::step(self.value(old), value),
        };
        out.send(Self::Y, segment);
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        let level = self.coming();
        self.timer.fire();
        self.level = Some(level);
        if level {
            self.left -= i64::from(self.left > 0);
            self.started += 1;
            self.timer.set(self.timer.now().saturating_add(self.width));
        } else {
            let next = self.clock.tick(self.started).unwrap_or(NEVER);
            self.timer.set(if self.left == 0 { NEVER } else { next });
        }
    }
    fn probe(&self, _: u16, _: Duration) -> Option<Value> {
        Some(Value::Real(self.value(self.level.unwrap_or(self.coming()))))
    }
}

unit_kind! {
    /// `pulse`: high for `width`, low for the rest of each `period`. Output `y`.
    ///
    /// ```toml
    /// [unit.square]
    /// kind = "pulse"
    /// period = "2 s"
    /// width = "1 s"        # default: half the period
    /// low = -1.0
    /// high = 1.0
    /// offset = "0 s"       # start of the first pulse
    /// limit = 10           # optional: number of pulses
    /// ```
    Pulse = "pulse", "a train of rectangular pulses",
    params: [
        needed("period", ParamType::Period, "from the start of a pulse to the next one's"),
        with("width", ParamType::Duration, "", "length of a pulse; default half the period"),
        with("low", ParamType::Real(None), "0.0", "value between pulses"),
        with("high", ParamType::Real(None), "1.0", "value during a pulse"),
        with("offset", ParamType::Duration, "0 s", "start of the first pulse"),
        with("limit", ParamType::Int, "", "number of pulses; default no limit"),
    ],
    ports: |_| Ok(ports([], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let offset = r.duration("offset");
        let clock = r.clock("period", offset, context.resolution);
        let period = clock.tick(1).unwrap_or(NEVER) - offset;
        let width = if r.given("width") { r.span("width") } else { period / 2 };
        if !(1..period).contains(&width) {
            let error = ParamError::at(params.span("width"), "a pulse must be shorter than the period");
            r.push(error.help("make `width` shorter, or `period` longer"));
        }
        let model = PulseTrain {
            timer: Timer::due(0, context.resolution),
            clock,
            started: 0,
            width,
            left: if r.given("limit") { r.int("limit", 1, i64::MAX) } else { -1 },
            low: r.finite("low"),
            high: r.finite("high"),
            level: None,
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn pulses_jump_on_the_tick() {
        let bench = Bench::run(
            "[unit.p]\nkind='pulse'\nperiod='0.3 s'\nwidth='0.1 s'\noffset=0.2\nlimit=2\nhigh=2.0",
            5.0,
        );
        assert_eq!(
            bench.signal("p.y"),
            [
                "0@0 [0.0] left 0",
                "0.2@0 Jump [2.0] left 0",
                "0.3@0 Jump [0.0] left 2",
                "0.5@0 Jump [2.0] left 0",
                "0.6@0 Jump [0.0] left 2"
            ]
        );
    }

    #[test]
    fn too_wide() {
        let text = mistakes("[unit.p]\nkind='pulse'\nperiod=1\nwidth=1");
        assert_eq!(
            text,
            ["a pulse must be shorter than the period; make `width` shorter, or `period` longer"]
        );
    }
}
