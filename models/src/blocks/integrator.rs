//! `integrator`: the exact integral of a polynomial signal.
use super::events::number;
use crate::{
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    signal::{
        Held, NEVER, Poly, Timer, horizon, repeats,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// Integrates its input. Inputs: 0 the signal, 1 reset events, 2 impulse events; output 0: the
/// state.
///
/// The integral of the held segment is a polynomial one order higher, so nothing is approximated
/// between segments. Powers above `order` are not sent; then a new segment follows in time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Integral {
    timer: Timer,
    start: f64,
    /// The state at tick `at`, and its left limit there.
    x: f64,
    left: f64,
    at: i64,
    u: Option<Held>,
    order: usize,
    tolerance: f64,
    flag: Option<Flag>,
    /// The segment that receivers hold.
    sent: Option<Held>,
}

impl Integral {
    const Y: OutPort<Segment, Self> = OutPort::new(0);
    const RESET: u16 = 1;
    const IMPULSE: u16 = 2;

    /// The state from tick `at` on.
    fn state(&self) -> Poly {
        match &self.u {
            Some(u) => u.shifted(self.at, &self.timer).integral(self.x),
            None => Poly::constant(self.x),
        }
    }

    fn value(&self, at: i64) -> f64 {
        self.state().value(self.timer.seconds(self.at, at))
    }

    /// The segment that is sent at tick `at`.
    fn segment(&self) -> Segment {
        let flag = self.flag.unwrap_or(Flag::Continuous);
        let left = if flag == Flag::Jump { self.left } else { self.x };
        Segment::new(self.state().truncated(self.order), flag, left)
    }

    /// When the powers that are not sent begin to matter.
    fn schedule(&mut self) {
        self.flag = None;
        self.timer.set(NEVER);
        let state = self.state();
        let c = state.coefficients();
        if c.len() > self.order + 1 {
            let e = horizon(self.order + 1, &c[self.order + 1..], self.tolerance);
            self.timer.set(self.timer.within(e));
        }
    }

    /// Moves the origin of the state to `now`.
    fn rebase(&mut self, now: i64) {
        if now != self.at {
            self.x = self.value(now);
            self.left = self.x;
            self.at = now;
        }
    }
}

impl Atomic<Value> for Integral {
    fn inputs(&self) -> u16 {
        3
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
        out.send(Self::Y, then.segment());
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        self.rebase(self.timer.now());
        self.sent = Some(Held::new(self.segment(), self.timer.now()));
        self.schedule();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        self.rebase(now);
        let before = self.x;
        let mut impulses = Vec::new();
        for (port, value) in bag.iter() {
            match (port, value) {
                (Self::RESET, Value::Unit) => self.x = self.start,
                (Self::RESET, v) => self.x = number(v, "reset", fx),
                (Self::IMPULSE, v) => impulses.push(number(v, "impulse", fx)),
                (_, Value::Segment(s)) => Held::receive(&mut self.u, s, now),
                _ => {}
            }
        }
        impulses.sort_unstable_by(f64::total_cmp);
        self.x += impulses.iter().sum::<f64>();
        let jumps = self.x != before || self.flag == Some(Flag::Jump);
        if self.flag != Some(Flag::Refresh) {
            self.flag = Some(if jumps { Flag::Jump } else { Flag::Continuous });
        }
        if self.flag == Some(Flag::Continuous) && repeats(&self.sent, &self.segment(), now) {
            self.schedule();
        } else {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        Some(Value::Real(self.value(self.timer.at(elapsed))))
    }
}

unit_kind! {
    /// `integrator`: `y' = u`, `y(0) = initial`. Inputs `u` (signal), `reset` (events: to the
    /// value sent, or to `initial` when none is sent), `impulse` (events: added to the state);
    /// output `y` (signal).
    ///
    /// In one cycle a reset comes before impulses; of several reset values the last in path order
    /// counts. The output is exact: a polynomial one order higher than the input.
    ///
    /// ```toml
    /// [unit.position]
    /// kind = "integrator"
    /// initial = 1.0
    /// ```
    Integrator = "integrator", "the exact integral of a signal, with resets and impulses",
    params: [
        with("initial", ParamType::Real(None), "0.0", "state at the start"),
        with("order", ParamType::Int, "12", "highest order of the sent segments, 1 to 12"),
        TOLERANCE,
    ],
    ports: |_| Ok(ports(
        [
            signal("u"),
            event("reset", ValueType::Any).optional(),
            event("impulse", ValueType::Any).optional(),
        ],
        [signal("y")],
    )),
    // Resets and impulses make the output jump.
    feed_through: |_, _| {
        FeedThrough::Pairs(vec![(1, 0, Passing::Sometimes), (2, 0, Passing::Sometimes)])
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        let (order, tolerance) = r.accuracy();
        let start = r.finite("initial");
        r.finish(Component::atomic(Integral {
            timer: Timer::due(0, context.resolution),
            start,
            x: start,
            left: start,
            at: 0,
            u: None,
            order,
            tolerance,
            flag: Some(Flag::Refresh),
            sent: None,
        }))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::Bench;

    /// Conformance H10.
    #[test]
    fn impulses_add_to_the_state() {
        let bench = Bench::run(
            r#"
            connections = ["one.y -> x.u", "kicks.y -> x.impulse", "zero.y -> x.reset"]
            [unit.one]
            kind = "constant"
            value = 1.0
            [unit.kicks]
            kind = "schedule"
            times = [2.0, 4.3]
            values = [2.0, -1.3]
            [unit.zero]
            kind = "schedule"
            times = [11.0, 12.0]
            values = [5.0, 5.0]
            [unit.x]
            kind = "integrator"
            "#,
            10.0,
        );
        assert_eq!(
            bench.signal("x.y"),
            [
                "0@0 [0.0] left 0",
                "0@1 ~ [0.0, 1.0] left 0",
                "2@1 Jump [4.0, 1.0] left 2",
                "4.3@1 Jump [5.0, 1.0] left 6.3"
            ]
        );
        assert!((bench.probe("x.y") - 10.7).abs() < 1e-15);
        let mut bench = bench;
        bench.go(13.0).unwrap();
        assert_eq!(bench.probe("x.y"), 6.0);
    }

    /// A loop of an integrator and a gain settles coefficient by coefficient at the start, and
    /// then is a Taylor method of order 12.
    #[test]
    fn a_loop_is_a_taylor_method() {
        let bench = Bench::run(
            r#"
            connections = ["x.y -> g.u", "g.y -> x.u"]
            [unit.x]
            kind = "integrator"
            initial = 1.0
            exchange_tolerance = 1e-12
            [unit.g]
            kind = "gain"
            gain = -1.0
            "#,
            10.0,
        );
        assert!((bench.probe("x.y") - (-10.0f64).exp()).abs() < 1e-11);
        assert!(bench.count("x.y") < 300, "{}", bench.count("x.y"));
    }

    #[test]
    fn a_chain_is_an_exact_polynomial() {
        let bench = Bench::run(
            r#"
            connections = ["g.y -> v.u", "v.y -> x.u"]
            [unit.g]
            kind = "constant"
            value = -10.0
            [unit.v]
            kind = "integrator"
            initial = 3.0
            [unit.x]
            kind = "integrator"
            initial = 5.0
            "#,
            2.0,
        );
        assert_eq!(bench.signal("x.y").last().unwrap(), "0@2 ~ [5.0, 3.0, -5.0] left 5");
        assert_eq!(bench.probe("x.y"), -9.0);
    }

    #[test]
    fn truncated_integrals_are_sent_again() {
        let bench = Bench::run(
            "connections=['r.y -> x.u']\n[unit.r]\nkind='ramp'\nslope=2.0\n\
             [unit.x]\nkind='integrator'\norder=1\nexchange_tolerance=0.01",
            1.0,
        );
        assert_eq!(bench.count("x.y"), 1 + 10);
        for k in 0..=100 {
            let t = f64::from(k) * 0.01;
            assert!((bench.held("x.y", t) - t * t).abs() < 0.01 + 1e-9);
        }
    }
}
