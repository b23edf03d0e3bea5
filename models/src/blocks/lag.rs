//! `first-order`: a first-order lag, exact for polynomial inputs.
use super::series::{Decay, Piece};
use crate::{
    kinds::{
        ParamType,
        feed_through::FeedThrough,
        params::{ORDER, Reader, TOLERANCE, needed, with},
        ports::{ports, signal},
    },
    signal::{
        Held, Poly, Sizes, Timer, repeats,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// `T y' = gain u - y`. Input 0: `u`; output 0: `y`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lag {
    timer: Timer,
    gain: f64,
    rate: f64,
    /// The state at tick `at`.
    y: f64,
    at: i64,
    u: Option<Held>,
    order: usize,
    tolerance: f64,
    /// The segment that receivers hold.
    sent: Option<Held>,
    sizes: Sizes,
    /// It told of an answer that is too fast for ticks.
    late: bool,
}

impl Lag {
    const Y: OutPort<Segment, Self> = OutPort::new(0);

    /// The solution from tick `at` on.
    fn solution(&self, at: i64, y: f64) -> Decay {
        match &self.u {
            Some(u) => {
                let mut scaled = Poly::constant(0.0);
                scaled.add(self.gain, u.shifted(at, &self.timer).coefficients());
                Decay::follow(scaled.coefficients(), y, self.rate)
            }
            None => Decay::follow(&[y], y, self.rate),
        }
    }

    fn value(&self, at: i64) -> f64 {
        self.solution(self.at, self.y).value(self.timer.seconds(self.at, at))
    }

    /// The piece that is sent at tick `at`. An answer to others who heard of this unit in the same tick is in full, as they may
    /// be in a loop.
    fn piece(&self) -> Piece {
        let settles = self.sent.as_ref().is_none_or(|sent| sent.since() != self.at);
        let tick = self.timer.resolution().seconds(1);
        self.solution(self.at, self.y).taylor(self.order, self.tolerance, settles, tick)
    }

    fn segment(&self, p: &Poly) -> Segment {
        let flag = if self.sent.is_some() { Flag::Continuous } else { Flag::Refresh };
        Segment::new(p.truncated(self.order), flag, self.y)
    }

    fn rebase(&mut self, now: i64) {
        if now != self.at {
            self.y = self.value(now);
            self.at = now;
        }
    }
}

impl Atomic<Value> for Lag {
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
        let mut then = self.clone();
        then.rebase(self.timer.next());
        out.send(Self::Y, then.segment(&then.piece().poly));
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.rebase(self.timer.now());
        let piece = self.piece();
        self.sent = Some(Held::new(self.segment(&piece.poly), self.at));
        self.sizes.note(0, self.y);
        piece.note_late(&mut self.late, self.timer.resolution().seconds(1), fx);
        // The series that was sent begins to leave the tolerance then.
        self.timer.set(self.timer.within(piece.seconds));
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        self.rebase(now);
        for (_, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.u, s, now);
            }
        }
        let piece = self.piece();
        if repeats(&self.sent, &self.segment(&piece.poly), now) {
            self.timer.set(self.timer.within(piece.seconds));
        } else {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.value(self.timer.at(elapsed))))
    }
    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let present = self.value(self.timer.at(elapsed));
        UnitStatistics::coarse(self.sizes.is_coarse(0, present, self.tolerance)).entries()
    }
}

unit_kind! {
    /// `first-order`: `time_constant y' = gain u - y`, `y(0) = initial`. Input `u`, output `y`.
    ///
    /// For a polynomial input the answer is a polynomial and an exponential, in closed form; it
    /// is sent as Taylor segments that stay within `exchange_tolerance`.
    ///
    /// ```toml
    /// [unit.filter]
    /// kind = "first-order"
    /// time_constant = 0.5  # s
    /// gain = 1.0
    /// initial = 0.0
    /// ```
    FirstOrder = "first-order", "a first-order lag",
    params: [
        needed("time_constant", ParamType::Real(Some("s")), "time constant in seconds"),
        with("gain", ParamType::Real(None), "1.0", "static gain"),
        with("initial", ParamType::Real(None), "0.0", "output at the start"),
        ORDER,
        TOLERANCE,
    ],
    ports: |_| Ok(ports([signal("u")], [signal("y")])),
    feed_through: |_, _| FeedThrough::None,
    build: |params, context| {
        let mut r = Reader::new(params);
        let (order, tolerance) = r.accuracy();
        let model = Lag {
            timer: Timer::due(0, context.resolution),
            gain: r.finite("gain"),
            rate: 1.0 / r.positive("time_constant"),
            y: r.finite("initial"),
            at: 0,
            u: None,
            order,
            tolerance,
            sent: None,
            sizes: Sizes::default(),
            late: false,
        };
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    #[test]
    fn step_and_ramp_answers() {
        let bench = Bench::run(
            "connections=['s.y -> f.u']\n[unit.s]\nkind='step'\nat=1\nto=4.0\n\
             [unit.f]\nkind='first-order'\ntime_constant=0.5\ngain=0.5\ninitial=1.0",
            30.0,
        );
        let exact = |t: f64| {
            let decay = (-2.0 * t).exp();
            if t < 1.0 { decay } else { decay + 2.0 * (1.0 - (-2.0 * (t - 1.0)).exp()) }
        };
        for k in 0..=300 {
            let t = f64::from(k) * 0.1;
            let error = (bench.held("f.y", t) - exact(t)).abs();
            assert!(error <= 1.1e-6, "{error} at {t}");
        }
        assert!((bench.probe("f.y") - 2.0).abs() < 1e-15);
        let last = bench.signal("f.y").last().unwrap().clone();
        assert!(last.contains("[2.0"), "the exponential is left out at last: {last}");
        assert!(bench.count("f.y") < 120, "{}", bench.count("f.y"));
    }
}
