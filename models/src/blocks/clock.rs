//! `clock`: periodic events without drift.
use crate::{
    kinds::{
        ParamError, ParamType, Params,
        params::{Reader, with},
        ports::{event, ports, type_of},
    },
    signal::{NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock, Resolution},
};

/// Sends a value at `offset + k · period`, rounded from the index. Output 0: the events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ticker {
    timer: Timer,
    clock: RationalClock,
    next: u64,
    limit: Option<u64>,
    value: Value,
}

impl Ticker {
    const Y: OutPort<Value, Self> = OutPort::new(0);
}

impl Atomic<Value> for Ticker {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        out.send(Self::Y, self.value.clone());
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.next += 1;
        let more = self.limit.is_none_or(|limit| self.next < limit);
        // Beyond the last tick that can be counted there is no further event.
        let at = if more { self.clock.tick(self.next).unwrap_or(NEVER) } else { NEVER };
        self.timer.set(at);
    }
}

/// The clock of `period`, or of `numerator`/`denominator` seconds.
pub(crate) fn rational(
    r: &mut Reader<'_>,
    params: &Params,
    resolution: Resolution,
) -> Option<RationalClock> {
    let offset = r.duration("offset");
    let by_ratio = r.given("numerator") || r.given("denominator");
    if by_ratio == r.given("period") {
        let message = "a clock needs either `period`, or `numerator` and `denominator`";
        r.push(ParamError::whole(message).help("write period = \"0.1 s\", or numerator = 1 and denominator = 3 for a third of a second"));
        return None;
    }
    if !by_ratio {
        return Some(r.clock("period", offset, resolution));
    }
    let one = |name| if params.get(name).is_some() { params.int(name) } else { 1 };
    let (n, d) = (one("numerator"), one("denominator"));
    match RationalClock::new(n, d, offset, resolution) {
        Ok(clock) if clock.tick(1).is_ok_and(|t| t > offset) => Some(clock),
        _ => {
            let help = "both must be positive, and the period at least one tick";
            r.check(false, "numerator", format!("a period of {n}/{d} s is too short"), help);
            None
        }
    }
}

unit_kind! {
    /// `clock`: an event at `offset + k · period`, k = 0, 1, … Output `y`.
    ///
    /// Each instant is rounded from its index, so a period that is no whole number of ticks does not
    /// drift.
    ///
    /// ```toml
    /// [unit.third]
    /// kind = "clock"
    /// period = "1/3 s"     # or numerator = 1 and denominator = 3, in seconds
    /// offset = "0 s"
    /// limit = 100          # optional: how many events
    /// value = 1.0          # optional: what is sent; default an event without a value
    /// ```
    Clock = "clock", "periodic events",
    params: [
        with("period", ParamType::Period, "", "period"),
        with("numerator", ParamType::Int, "", "period in seconds: numerator"),
        with("denominator", ParamType::Int, "", "period in seconds: denominator"),
        with("offset", ParamType::Duration, "0 s", "first event"),
        with("limit", ParamType::Int, "", "number of events; default no limit"),
        with("value", ParamType::Value, "", "what is sent; default no value"),
    ],
    ports: |params| {
        let mut r = Reader::new(params);
        let value = r.value("value").unwrap_or(Value::Unit);
        r.finish(ports([], [event("y", type_of(&value))]))
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let clock = rational(&mut r, params, context.resolution);
        let limit = r.given("limit").then(|| r.int("limit", 1, i64::MAX) as u64);
        let value = r.value("value").unwrap_or(Value::Unit);
        let clock = r.finish(clock)?;
        let clock = clock.unwrap_or_else(|| unreachable!("a mistake was reported"));
        let first = clock.tick(0).unwrap_or(NEVER);
        let timer = Timer::due(first, context.resolution);
        Ok(Component::atomic(Ticker { timer, clock, next: 0, limit, value }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn a_rational_clock_meets_whole_seconds() {
        let bench = Bench::run("[unit.c]\nkind='clock'\nnumerator=1\ndenominator=3", 1e4);
        let events = bench.events("c.y");
        assert_eq!(events.len(), 30_001);
        assert_eq!(events[1], "0.333333333@0 event");
        assert_eq!(events[30_000], "10000@0 event");
    }

    #[test]
    fn offset_and_count() {
        let bench =
            Bench::run("[unit.c]\nkind='clock'\nperiod='0.1 s'\noffset=0.05\nlimit=2", 10.0);
        assert_eq!(bench.events("c.y"), ["0.05@0 event", "0.15@0 event"]);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(mistakes("[unit.c]\nkind='clock'").len(), 1);
        assert_eq!(mistakes("[unit.c]\nkind='clock'\nperiod=1\ndenominator=2").len(), 1);
        assert_eq!(
            mistakes("[unit.c]\nkind='clock'\nnumerator=1\ndenominator=-3\nlimit=0"),
            [
                "a period of 1/-3 s is too short; both must be positive, and the period at least \
                 one tick",
                "`limit` is 0; give an integer of at least 1"
            ]
        );
        assert_eq!(
            mistakes("[unit.c]\nkind='clock'\nperiod=0"),
            ["`period` must be longer than zero; give a time of at least one tick, such as \
                 \"5 ms\""]
        );
    }
}
