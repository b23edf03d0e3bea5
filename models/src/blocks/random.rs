//! `random`: random numbers as events or as a piecewise constant signal.
use crate::{
    kinds::{
        ParamType, Params, ValueType,
        params::{DISTRIBUTION, Reader, needed, with},
        ports::{event, ports, signal},
    },
    maths::random::{Distribution, RandomStream},
    signal::{Level, NEVER, Timer, value::Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// Draws a number at each period. Output 0: events or the signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Noise {
    timer: Timer,
    clock: RationalClock,
    /// Index of the next draw.
    index: u64,
    distribution: Distribution,
    stream: RandomStream,
    /// The number that λ sends next.
    next: f64,
    /// The signal, when it is one.
    level: Option<Level>,
}

impl Noise {
    const Y: OutPort<Value, Self> = OutPort::new(0);
}

impl Atomic<Value> for Noise {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        let Some(mut level) = self.level.clone() else {
            return out.send(Self::Y, Value::Real(self.next));
        };
        level.change(self.next, self.timer.next());
        if let Some(segment) = level.pending() {
            out.send(Self::Y, Value::Segment(segment));
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        if let Some(level) = &mut self.level {
            level.change(self.next, self.timer.now());
            level.sent();
        }
        self.next = self.distribution.draw(&mut self.stream);
        self.index += 1;
        self.timer.set(self.clock.tick(self.index).unwrap_or(NEVER));
    }
    fn probe(&self, _: u16, _: Duration) -> Option<Value> {
        self.level.as_ref().map(|l| Value::Real(l.value()))
    }
}

fn of_signals(params: &Params) -> bool {
    params.text("of") == "signal"
}

unit_kind! {
    /// `random`: a random number at each period, from the start on. Output `y`: real events, or
    /// a piecewise constant signal.
    ///
    /// The stream is named by the unit's path and the seed of the run; `minstd = x` takes the
    /// MINSTD generator from state x instead. Distributions: constant, exponential (`mean` or
    /// `rate`), normal (`mean`, `deviation`), uniform (`low`, `high`), erlang (`mean`, `stages`),
    /// triangular (`low`, `mode`, `high`), bernoulli (`probability`).
    ///
    /// ```toml
    /// [unit.noise]
    /// kind = "random"
    /// of = "signal"
    /// period = "10 ms"
    /// distribution = "normal"
    /// mean = 0.0
    /// deviation = 0.2
    /// ```
    Random = "random", "random numbers as events or as a signal",
    params: [
        needed("period", ParamType::Period, "time between draws"),
        with("of", ParamType::Choice(&["event", "signal"]), "event", "what is sent"),
        DISTRIBUTION[0], DISTRIBUTION[1], DISTRIBUTION[2], DISTRIBUTION[3], DISTRIBUTION[4],
        DISTRIBUTION[5], DISTRIBUTION[6], DISTRIBUTION[7], DISTRIBUTION[8], DISTRIBUTION[9],
    ],
    ports: |params| {
        let y = if of_signals(params) { signal("y") } else { event("y", ValueType::Real) };
        Ok(ports([], [y]))
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let clock = r.clock("period", 0, context.resolution);
        let distribution = r.distribution(false);
        let mut stream = r.stream(context, "values");
        let next = distribution.draw(&mut stream);
        r.finish(Component::atomic(Noise {
            timer: Timer::due(0, context.resolution),
            clock,
            index: 0,
            distribution,
            stream,
            next,
            level: of_signals(params).then(|| Level::new(next)),
        }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn minstd_draws() {
        let text = |of| {
            format!(
                "[unit.r]\nkind='random'\nperiod=1\nof='{of}'\ndistribution='uniform'\nlow=0.0\n\
                 high=2147483647.0\nminstd=1"
            )
        };
        let states = [48271, 182_605_794, 1_291_394_886];
        let bench = Bench::run(&text("event"), 2.0);
        let expected = [0, 1, 2].map(|k| format!("{k}@0 {}", states[k]));
        assert_eq!(bench.events("r.y"), expected);
        let bench = Bench::run(&text("signal"), 2.0);
        assert_eq!(bench.count("r.y"), 3);
        assert_eq!(bench.probe("r.y"), 1_291_394_886.0);
    }

    #[test]
    fn mistakes_of_distributions() {
        let m = |rest: &str| mistakes(&format!("[unit.r]\nkind='random'\nperiod=1\n{rest}"));
        assert_eq!(m(""), ["distribution \"exponential\" needs `mean` or `rate`; add mean = …"]);
        assert_eq!(
            m("distribution='normal'\nmean=1.0\nlow=2.0"),
            [
                "distribution \"normal\" needs `deviation`; add deviation = …",
                "distribution \"normal\" does not use `low` here; remove it, or choose another \
                 distribution"
            ]
        );
        assert_eq!(
            m("distribution='cauchy'"),
            ["unknown distribution `cauchy`; use constant, uniform, exponential, normal, \
                 erlang, triangular or bernoulli"]
        );
        assert_eq!(
            m("mean=-1.0"),
            ["`mean` is -1, but times are zero or more; give a positive number"]
        );
    }
}
