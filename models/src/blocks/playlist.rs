//! Signals that are known beforehand as a list of pieces: `constant`, `step`, `ramp` (and, in
//! [`super::table`], `csv`).
use crate::{
    kinds::{
        ParamType,
        params::{Reader, needed, with},
        ports::{ports, signal},
    },
    signal::{
        NEVER, Timer,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, Resolution},
};

/// A straight piece of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// From this tick after the start on.
    pub at: i64,
    /// Value there.
    pub value: f64,
    /// Slope per second.
    pub slope: f64,
}

/// Sends straight pieces at their times. Output 0: the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Playlist {
    timer: Timer,
    pieces: Arc<[Piece]>,
    /// The piece that λ sends next.
    next: usize,
    /// The tick of the first row, where the pieces are those of a table.
    begins: i64,
}

impl Playlist {
    /// The output signal.
    pub const Y: OutPort<Segment, Self> = OutPort::new(0);

    /// Pieces in the order of time, the first at 0.
    pub fn new(pieces: impl Into<Arc<[Piece]>>, resolution: Resolution) -> Self {
        Self { timer: Timer::due(0, resolution), pieces: pieces.into(), next: 0, begins: 0 }
    }

    /// The pieces are those of a table whose first row is at this tick: a run that does not come to it is told of.
    pub(super) fn beginning(self, begins: i64) -> Self {
        Self { begins, ..self }
    }

    fn value(&self, piece: usize, at: i64) -> f64 {
        let p = self.pieces[piece];
        p.value + p.slope * self.timer.seconds(p.at, at)
    }
}

impl Atomic<Value> for Playlist {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let p = self.pieces[self.next];
        let left = if self.next == 0 { p.value } else { self.value(self.next - 1, p.at) };
        // A difference of a few units in the last place is a knot of straight pieces, no jump.
        let continuous = (left - p.value).abs() <= 1e-12 * left.abs().max(p.value.abs());
        let flag = match (self.next, continuous) {
            (0, _) => Flag::Refresh,
            (_, true) => Flag::Continuous,
            (_, false) => Flag::Jump,
        };
        let c = [p.value, p.slope];
        out.send(Self::Y, Segment::new(if p.slope == 0.0 { &c[..1] } else { &c }, flag, left));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.next += 1;
        self.timer.set(self.pieces.get(self.next).map_or(NEVER, |p| p.at));
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.value(self.next.saturating_sub(1), self.timer.at(elapsed))))
    }
    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let unread_tables = u64::from(self.timer.at(elapsed) < self.begins);
        UnitStatistics { unread_tables, ..UnitStatistics::default() }.entries()
    }
}

unit_kind! {
    /// `constant`: a signal that never changes. Output `y`.
    ///
    /// ```toml
    /// [unit.gravity]
    /// kind = "constant"
    /// value = 9.81
    /// ```
    Constant = "constant", "a constant signal",
    params: [needed("value", ParamType::Real(None), "the value")],
    ports: |_| Ok(ports([], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let value = r.finite("value");
        let piece = Piece { at: 0, value, slope: 0.0 };
        r.finish(Component::atomic(Playlist::new([piece], context.resolution)))
    },
}

unit_kind! {
    /// `step`: a signal that jumps once. Output `y`.
    ///
    /// ```toml
    /// [unit.load]
    /// kind = "step"
    /// at = "2 s"
    /// from = 0.0
    /// to = 5.0
    /// ```
    Step = "step", "a signal that jumps once",
    params: [
        needed("at", ParamType::Duration, "time of the jump"),
        with("from", ParamType::Real(None), "0.0", "value before"),
        with("to", ParamType::Real(None), "1.0", "value after"),
    ],
    ports: |_| Ok(ports([], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let (at, from, to) = (r.duration("at"), r.finite("from"), r.finite("to"));
        let mut pieces = vec![Piece { at, value: to, slope: 0.0 }];
        if at > 0 {
            pieces.insert(0, Piece { at: 0, value: from, slope: 0.0 });
        }
        r.finish(Component::atomic(Playlist::new(pieces, context.resolution)))
    },
}

unit_kind! {
    /// `ramp`: constant, then a straight line, then constant again. Output `y`.
    ///
    /// ```toml
    /// [unit.throttle]
    /// kind = "ramp"
    /// from = "1 s"
    /// until = "3 s"        # optional: without it the line goes on
    /// slope = 0.5          # per second
    /// value = 0.0          # before
    /// ```
    Ramp = "ramp", "a signal that rises or falls in a straight line",
    params: [
        with("from", ParamType::Duration, "0 s", "start of the line"),
        with("until", ParamType::Duration, "", "end of the line; without it, it goes on"),
        needed("slope", ParamType::Real(None), "slope per second"),
        with("value", ParamType::Real(None), "0.0", "value before the line"),
    ],
    ports: |_| Ok(ports([], [signal("y")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let (from, value, slope) = (r.duration("from"), r.finite("value"), r.finite("slope"));
        let mut pieces = vec![Piece { at: from, value, slope }];
        if from > 0 {
            pieces.insert(0, Piece { at: 0, value, slope: 0.0 });
        }
        if r.given("until") {
            let until = r.duration("until");
            r.check(until > from, "until", "the line ends before it starts", "make it later");
            let value = value + slope * context.resolution.seconds(until - from);
            pieces.push(Piece { at: until, value, slope: 0.0 });
        }
        r.finish(Component::atomic(Playlist::new(pieces, context.resolution)))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn step_and_ramp() {
        let bench = Bench::run(
            r#"
            [unit.c]
            kind = "constant"
            value = 9.81
            [unit.s]
            kind = "step"
            at = "2 s"
            to = 5.0
            [unit.r]
            kind = "ramp"
            from = 1
            until = "3 s"
            slope = 0.5
            "#,
            4.0,
        );
        assert_eq!(bench.signal("c.y"), ["0@0 [9.81] left 9.81"]);
        assert_eq!(bench.signal("s.y"), ["0@0 [0.0] left 0", "2@0 Jump [5.0] left 0"]);
        assert_eq!(
            bench.signal("r.y"),
            ["0@0 [0.0] left 0", "1@0 ~ [0.0, 0.5] left 0", "3@0 ~ [1.0] left 1"]
        );
        assert_eq!(bench.probe("r.y"), 1.0);
    }

    #[test]
    fn mistakes_say_what_to_do() {
        let text = mistakes("[unit.r]\nkind='ramp'\nfrom=3\nuntil=1\nslope=inf");
        assert_eq!(
            text,
            [
                "`slope` is inf; give a finite number",
                "the line ends before it starts; make it later"
            ]
        );
    }
}
