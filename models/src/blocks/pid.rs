//! `pid`: a continuous controller, exact for polynomial inputs.
use super::series::{Decay, Piece};
use crate::{
    equations::EquationsKind,
    kinds::{
        Context, Located, Param, ParamError, ParamType, Params, UnitKind, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Checked, ORDER, Reader, TOLERANCE, with},
        ports::{event, ports, signal},
    },
    signal::{
        Held, NEVER, Poly, Sizes, Timer, repeats,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{Atomic, Bag, Component, Effects, Outbox, port::OutPort, time::Duration};

/// `y = kp e + ki ∫e + kd (e - z)/filter`, `filter z' = e - z`, `e = reference - measured`.
/// Inputs: 0 reference, 1 measured, 2 reset; output 0: `y`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Controller {
    timer: Timer,
    kp: f64,
    ki: f64,
    kd: f64,
    filter: f64,
    reference: Option<Held>,
    measured: Option<Held>,
    /// Integral of the error and filtered error at tick `at`; the output's left limit there.
    integral: f64,
    filtered: f64,
    left: f64,
    at: i64,
    order: usize,
    tolerance: f64,
    flag: Option<Flag>,
    /// Tick of the first error: what else comes then, in later micro-steps, is part of the start.
    since: Option<i64>,
    /// The segment that receivers hold.
    sent: Option<Held>,
    sizes: Sizes,
    /// It told of an answer that is too fast for ticks.
    late: bool,
}

impl Controller {
    const Y: OutPort<Segment, Self> = OutPort::new(0);
    const REFERENCE: u16 = 0;
    const MEASURED: u16 = 1;

    /// The error from tick `at` on.
    fn error(&self, at: i64) -> Option<Poly> {
        let mut e = self.reference.as_ref()?.shifted(at, &self.timer);
        e.add(-1.0, self.measured.as_ref()?.shifted(at, &self.timer).coefficients());
        Some(e)
    }

    /// Integral, filtered error and output from tick `at` on.
    fn solution(&self) -> Option<(Poly, Decay, Decay)> {
        let e = self.error(self.at)?;
        let integral = e.integral(self.integral);
        let filtered = Decay::follow(e.coefficients(), self.filtered, 1.0 / self.filter);
        let slope = self.kd / self.filter;
        let mut plus = Poly::constant(0.0);
        plus.add(self.kp + slope, e.coefficients());
        if self.ki != 0.0 {
            plus.add(self.ki, integral.coefficients());
        }
        Some((integral, filtered, filtered.beside(plus, -slope)))
    }

    fn value(&self, at: i64) -> Option<f64> {
        Some(self.solution()?.2.value(self.timer.seconds(self.at, at)))
    }

    /// The segment that is sent at tick `at`, and the piece that it is made of. An answer to others who heard of
    /// this unit in the same tick is in full, as they may be in a loop.
    fn segment(&self) -> Option<(Segment, Piece)> {
        let (.., output) = self.solution()?;
        let settles = self.sent.as_ref().is_none_or(|sent| sent.since() != self.at);
        let tick = self.timer.resolution().seconds(1);
        let piece = output.taylor(self.order, self.tolerance, settles, tick);
        let flag = self.flag.unwrap_or(Flag::Continuous);
        let start = self.since == Some(self.at);
        let left = if flag == Flag::Jump && !start { self.left } else { output.value(0.0) };
        Some((Segment::new(piece.poly.truncated(self.order), flag, left), piece))
    }

    /// The next segment is due when that which was sent begins to leave the tolerance.
    fn schedule(&mut self, sent: Option<Piece>) {
        self.flag = None;
        self.timer.set(sent.map_or(NEVER, |piece| self.timer.within(piece.seconds)));
    }

    /// Moves the origin to `now`.
    fn rebase(&mut self, now: i64) {
        if now == self.at {
            return;
        }
        if let Some((integral, filtered, output)) = self.solution() {
            let e = self.timer.seconds(self.at, now);
            (self.integral, self.filtered) = (integral.value(e), filtered.value(e));
            self.left = output.value(e);
        }
        self.at = now;
    }
}

impl Atomic<Value> for Controller {
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
        if let Some((segment, _)) = then.segment() {
            out.send(Self::Y, segment);
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.timer.fire();
        self.rebase(self.timer.now());
        let (segment, piece) = self.segment().unzip();
        self.sent = segment.map(|segment| Held::new(segment, self.at));
        if let Some(piece) = &piece {
            self.sizes.note(0, piece.poly.value(0.0));
            piece.note_late(&mut self.late, self.timer.resolution().seconds(1), fx);
        }
        self.schedule(piece);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.timer.pass(elapsed);
        let now = self.timer.now();
        self.rebase(now);
        let before = self.value(now);
        for (port, value) in bag.iter() {
            match (port, value) {
                (Self::REFERENCE, Value::Segment(s)) => {
                    Held::receive(&mut self.reference, s, now);
                }
                (Self::MEASURED, Value::Segment(s)) => Held::receive(&mut self.measured, s, now),
                (2, _) => self.integral = 0.0,
                _ => {}
            }
        }
        let Some(error) = self.error(now) else { return };
        if self.since.is_none_or(|since| since == now) {
            // The derivative starts without a kick.
            self.filtered = error.value(0.0);
        }
        if self.since.is_none() {
            self.since = Some(now);
            self.flag = Some(Flag::Refresh);
        } else if self.flag != Some(Flag::Refresh) {
            let (was, is) = (before.unwrap_or(0.0), self.value(now).unwrap_or(0.0));
            let jumps = (was - is).abs() > self.tolerance || self.flag == Some(Flag::Jump);
            self.flag = Some(if jumps { Flag::Jump } else { Flag::Continuous });
        }
        let (segment, piece) = self.segment().unzip();
        let settled = segment.is_some_and(|s| repeats(&self.sent, &s, now));
        if self.flag == Some(Flag::Continuous) && settled {
            self.schedule(piece);
        } else {
            self.timer.at_once();
        }
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<Value> {
        self.value(self.timer.at(elapsed)).map(Value::Real)
    }
    fn statistics(&self, elapsed: Duration) -> Vec<(&'static str, u64)> {
        let present = self.value(self.timer.at(elapsed)).unwrap_or(0.0);
        UnitStatistics::coarse(self.sizes.is_coarse(0, present, self.tolerance)).entries()
    }
}

unit_kind! {
    /// `pid`: `y = kp e + ki ∫e dt + kd de/dt` with `e = reference - measured`; the derivative is
    /// filtered with the time constant `filter`. Inputs `reference`, `measured` (signals), `reset`
    /// (events, optional: clears the integral); output `y`.
    ///
    /// With `low` or `high` the output is limited, and the integral does not wind up: it is led back by
    /// (limited - unlimited)/`tracking` (back-calculation, Åström & Hägglund 1995, section 3.5); if `kp` is
    /// zero and no `tracking` is given, it stands while the output is limited and the error drives it on. Such
    /// a controller is solved as equations to a `tolerance`, not in closed form. The filter of the derivative
    /// begins at the first error; with limits that is an event `start` at the first tick.
    ///
    /// ```toml
    /// [unit.controller]
    /// kind = "pid"
    /// kp = 2.0
    /// ki = 0.5
    /// kd = 0.1
    /// filter = 0.01        # s
    /// ```
    Pid = "pid", "a continuous PID controller",
    params: [
        with("kp", ParamType::Real(None), "1.0", "proportional gain"),
        with("ki", ParamType::Real(None), "0.0", "integral gain per second"),
        with("kd", ParamType::Real(None), "0.0", "derivative gain in seconds"),
        with("filter", ParamType::Real(Some("s")), "0.01", "time constant of the derivative"),
        with("low", ParamType::Real(None), "", "least output; default no limit"),
        with("high", ParamType::Real(None), "", "largest output; default no limit"),
        with("tracking", ParamType::Real(Some("s")), "", "time constant by which the integral follows the limits; default abs(kp/ki)"),
        with("tolerance", ParamType::Real(None), "1e-9", "relative and absolute tolerance of a controller with limits"),
        ORDER,
        TOLERANCE,
    ],
    ports: |_| Ok(ports(
        [signal("reference"), signal("measured"), event("reset", ValueType::Any).optional()],
        [signal("y")],
    )),
    // Proportional part, filtered derivative; a reset of the integral.
    feed_through: |_, _| {
        FeedThrough::Pairs(vec![
            (0, 0, Passing::Value), (1, 0, Passing::Value), (2, 0, Passing::Sometimes),
        ])
    },
    build: |params, context| {
        let mut r = Reader::new(params);
        if r.given("low") || r.given("high") {
            return limited(r, context);
        }
        let given = r.given("tracking");
        r.check(!given, "tracking", "`tracking` is for limited outputs", "add `low` or `high`, or delete it");
        let (order, tolerance) = r.accuracy();
        let model = Controller {
            timer: Timer::due(NEVER, context.resolution),
            kp: r.finite("kp"),
            ki: r.finite("ki"),
            kd: r.finite("kd"),
            filter: r.positive("filter"),
            reference: None,
            measured: None,
            integral: 0.0,
            filtered: 0.0,
            left: 0.0,
            at: 0,
            order,
            tolerance,
            flag: None,
            since: None,
            sent: None,
            sizes: Sizes::default(),
            late: false,
        };
        r.finish(Component::atomic(model))
    },
}

/// The largest number that stands for no limit.
const NO_LIMIT: f64 = 1e300;

/// A controller with limits, as equations.
fn limited(mut r: Reader<'_>, context: &Context<'_>) -> Checked<Component<Value>> {
    let end = |r: &mut Reader<'_>, name, free| if r.given(name) { r.finite(name) } else { free };
    let (low, high) = (end(&mut r, "low", -NO_LIMIT), end(&mut r, "high", NO_LIMIT));
    r.check(low < high, "high", "`high` is not above `low`", "exchange the two");
    let (kp, ki, kd) = (r.finite("kp"), r.finite("ki"), r.finite("kd"));
    let filter = r.positive("filter");
    let given = r.given("tracking");
    r.check(
        !given || ki != 0.0,
        "tracking",
        "there is no integral to follow the limits: `ki` is zero",
        "delete `tracking`, or give `ki`",
    );
    let tracking = if given { r.positive("tracking") } else { (kp / ki).abs() };
    let (solver, (order, tolerance)) = (r.positive("tolerance"), r.accuracy());
    r.finish(())?;
    let within = format!("clamp(free, {low:?}, {high:?})");
    let mut free = format!("{kp:?}*error + integral");
    let integral = if ki == 0.0 {
        "0".to_owned()
    } else if tracking > 0.0 {
        format!("{ki:?}*error + ({within} - free)/{tracking:?}")
    } else {
        // Time constants go to zero with `kp`: the integral does not go beyond a limit.
        let pushes = format!("{ki:?}*error*(free - {within}) > 0");
        format!("if {pushes} then 0 else {ki:?}*error")
    };
    let filtered = format!("(error - filtered)/{filter:?}");
    let (mut states, mut derivatives) = (vec![("integral", "0")], vec![("integral", &*integral)]);
    // A filter that nobody reads would keep steps as short as its time constant.
    if kd != 0.0 {
        free += &format!(" + {kd:?}/{filter:?}*(error - filtered)*started");
        states.push(("filtered", "0"));
        derivatives.push(("filtered", &filtered));
    }
    let mut own = vec![
        ("inputs", table(&[("reference", "0"), ("measured", "0")])),
        ("states", table(&states)),
        ("discrete", table(&[("started", "0")])),
        ("let", table(&[("error", "reference - measured"), ("free", &free)])),
        ("derivatives", table(&derivatives)),
        ("outputs", table(&[("y", &within)])),
        ("event_inputs", Param::List(vec![at(Param::Text("reset".into()))])),
        ("on", with_reset(&[("input", "reset")], &[("integral", "0")])),
        ("segment_order", Param::Int(order as i64)),
        ("tolerance", Param::Real(solver)),
        ("absolute_tolerance", Param::Real(solver)),
        ("exchange_tolerance", Param::Real(tolerance)),
    ];
    if kd != 0.0 {
        // The derivative starts without a kick.
        let then = [("filtered", "error"), ("started", "1")];
        own.push(("event", with_reset(&[("name", "start"), ("when", "t > 0")], &then)));
    }
    let all = with_defaults(own);
    EquationsKind.build(&all, context).map_err(|errors| {
        let whole = |e: ParamError| ParamError::whole(e.message);
        errors.into_iter().map(whole).collect()
    })
}

fn at<T>(value: T) -> Located<T> {
    Located::new(value, 0..0)
}

fn table(entries: &[(&str, &str)]) -> Param {
    let entry =
        |(name, text): &(&str, &str)| (at((*name).to_owned()), at(Param::Text((*text).to_owned())));
    Param::Table(entries.iter().map(entry).collect())
}

/// A list of one table with more keys and a table `reset`.
fn with_reset(keys: &[(&str, &str)], reset: &[(&str, &str)]) -> Param {
    let mut whole = table(keys);
    if let Param::Table(entries) = &mut whole {
        entries.push((at("reset".to_owned()), at(table(reset))));
    }
    Param::List(vec![at(whole)])
}

/// Parameters of equations, of which some are given.
fn with_defaults(own: Vec<(&str, Param)>) -> Params {
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), at(value)));
    let mut values: Vec<(String, Located<Param>)> = own.collect();
    for spec in EquationsKind.params() {
        let value = match (spec.ty, spec.default) {
            (_, None | Some("")) => continue,
            (ParamType::Int, Some(number)) => Param::Int(number.parse().unwrap_or_default()),
            (ParamType::Real(_), Some(number)) => Param::Real(number.parse().unwrap_or_default()),
            (_, Some(word)) => Param::Text(word.to_owned()),
        };
        if values.iter().all(|(name, _)| name != spec.name) {
            values.push((spec.name.to_owned(), at(value)));
        }
    }
    Params { values }
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn answer_to_a_step_of_the_reference() {
        let bench = Bench::run(
            r#"
            connections = ["r.y -> c.reference", "m.y -> c.measured"]
            [unit.r]
            kind = "step"
            at = 1
            to = 2.0
            [unit.m]
            kind = "constant"
            value = 0.0
            [unit.c]
            kind = "pid"
            kp = 3.0
            ki = 0.5
            kd = 0.2
            filter = 0.1
            "#,
            3.0,
        );
        // e = 2 from 1 s on: y = 6 + (t-1) + 4 exp(-10 (t-1)).
        let exact = |t: f64| 6.0 + (t - 1.0) + 4.0 * (-10.0 * (t - 1.0)).exp();
        let sent = bench.signal("c.y");
        assert!(sent[1].starts_with("1@1 Jump [10.0, -39.0,"), "{}", sent[1]);
        for k in 101..=300 {
            let t = f64::from(k) * 0.01;
            assert!((bench.held("c.y", t) - exact(t)).abs() <= 1.1e-6, "at {t}");
        }
    }

    /// Messages in later micro-steps of the start are part of it: an identity between reference and
    /// controller changes nothing.
    #[test]
    fn the_start_does_not_depend_on_micro_steps() {
        let ends = ["r.y -> c.reference", "r.y -> f.u', 'f.y -> c.reference"].map(|wires| {
            let bench = Bench::run(
                &format!(
                    "connections=['{wires}', 'm.y -> c.measured']\n\
                     [unit.r]\nkind='constant'\nvalue=1.0\n[unit.m]\nkind='constant'\nvalue=0.0\n\
                     [unit.f]\nkind='transfer-function'\nnumerator=[1.0,1.0]\ndenominator=[1.0,1.0]\n\
                     [unit.c]\nkind='pid'\nkp=1.0\nkd=0.1"
                ),
                0.005,
            );
            bench.probe("c.y")
        });
        assert_eq!(ends, [1.0, 1.0]);
    }

    /// A proportional controller on an integrator: a loop of blocks, y' = 2 (1 - y).
    #[test]
    fn closed_loop() {
        let bench = Bench::run(
            r#"
            connections = ["r.y -> c.reference", "x.y -> c.measured", "c.y -> x.u"]
            [unit.r]
            kind = "constant"
            value = 1.0
            [unit.x]
            kind = "integrator"
            [unit.c]
            kind = "pid"
            kp = 2.0
            "#,
            3.0,
        );
        assert_eq!(bench.signal("c.y")[0], "0@1 [2.0] left 2");
        let error = bench.probe("x.y") - (1.0 - (-6.0f64).exp());
        assert!(error.abs() < 2e-6, "{error}");
    }

    fn loop_with(limits: &str, end: f64) -> Bench {
        Bench::run(
            &format!(
                "connections=['r.y -> c.reference', 'p.y -> c.measured', 'c.y -> p.u']\n\
                 [unit.r]\nkind='constant'\nvalue=1.0\n\
                 [unit.p]\nkind='transfer-function'\nnumerator=[1.0]\ndenominator=[1.0,1.0]\n\
                 [unit.c]\nkind='pid'\nkp=2.0\nki=4.0\nkd=0.2\nfilter=0.05\n{limits}"
            ),
            end,
        )
    }

    /// The plant x' = y - x under the limited controller, by the classical method with short steps.
    fn reference(end: f64, (low, high, tracking): (f64, f64, f64)) -> f64 {
        let f = |z: [f64; 3]| {
            let [x, integral, filtered] = z;
            let e = 1.0 - x;
            let free = 2.0 * e + integral + 4.0 * (e - filtered);
            let y = free.clamp(low, high);
            [y - x, 4.0 * e + (y - free) / tracking, (e - filtered) / 0.05]
        };
        let h = 1e-4;
        let mut z = [0.0, 0.0, 1.0];
        for _ in 0..(end / h).round() as u32 {
            let go = |k: [f64; 3], by: f64| std::array::from_fn(|i| z[i] + by * k[i]);
            let k1 = f(z);
            let k2 = f(go(k1, h / 2.0));
            let k3 = f(go(k2, h / 2.0));
            let k4 = f(go(k3, h));
            z = std::array::from_fn(|i| {
                z[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
            });
        }
        z[0]
    }

    /// A filter of a microsecond would take 3e8 steps, or end the run as too stiff.
    #[test]
    fn without_derivative_there_is_no_filter() {
        let bench = Bench::run(
            "connections=['r.y -> c.reference', 'p.y -> c.measured', 'c.y -> p.u']\n\
             [unit.r]\nkind='constant'\nvalue=1.0\n\
             [unit.p]\nkind='transfer-function'\nnumerator=[1.0]\ndenominator=[1.0,1.0]\n\
             [unit.c]\nkind='pid'\nkp=2.0\nki=4.0\nfilter=1e-6\nhigh=1.2",
            1000.0,
        );
        assert!((bench.probe("p.y") - 1.0).abs() < 1e-5);
    }

    #[test]
    fn limits_without_windup() {
        for end in [0.5, 1.0, 2.0, 5.0] {
            let found = loop_with("low=0.0\nhigh=1.2", end).probe("p.y");
            let exact = reference(end, (0.0, 1.2, 0.5));
            assert!((found - exact).abs() < 2e-5, "{end} s: {found}, not {exact}");
        }
        let tracked = loop_with("high=1.2\ntracking=0.1", 1.5).probe("p.y");
        let exact = reference(1.5, (-1e300, 1.2, 0.1));
        assert!((tracked - exact).abs() < 2e-5, "{tracked}, not {exact}");
        // Limits that are never met change nothing.
        let (wide, none) = (loop_with("low=-1e3\nhigh=1e3", 2.0), loop_with("", 2.0));
        let off = wide.probe("p.y") - none.probe("p.y");
        assert!(off.abs() < 2e-5, "{off}");
    }

    /// 2 y' = u - y under a controller of a reference of 2.
    fn limited_loop(controller: &str, end: f64) -> Bench {
        Bench::run(
            &format!(
                "connections=['r.y -> c.reference', 'p.y -> c.measured', 'c.y -> p.u']\n\
                 [unit.r]\nkind='step'\nat=20\nfrom=2.0\nto=0.5\n\
                 [unit.p]\nkind='first-order'\ntime_constant=2\n\
                 [unit.c]\nkind='pid'\n{controller}"
            ),
            end,
        )
    }

    /// Without an integral none follows the limits: u = min(2 (2 - y), 1.5) leads to y = 4/3.
    #[test]
    fn without_an_integral_limits_leave_nothing_behind() {
        for more in ["high=1.5", "high=1.5\nlow=-1.0", "high=1.5\nkd=0.5", "high=3.9"] {
            let y = limited_loop(&format!("kp=2\n{more}"), 19.9).probe("p.y");
            let rest = if more.contains("kd") { 1e-5 } else { 2e-6 };
            assert!((y - 4.0 / 3.0).abs() < rest, "{more}: {y}");
        }
    }

    /// u' = 0.8 (2 - y) to its limit of 1.2, where it stands until the reference is 0.5 at 20 s.
    #[test]
    fn an_integral_alone_stands_at_the_limit() {
        let exact = |end: f64| {
            let (mut u, mut y, h) = (0.0f64, 0.0f64, 1e-5);
            for k in 0..(end / h).round() as u32 {
                let e = if f64::from(k) * h < 20.0 { 2.0 } else { 0.5 } - y;
                let rate = if u >= 1.2 && e > 0.0 { 0.0 } else { 0.8 * e };
                (u, y) = ((u + h * rate).min(1.2), y + h * (u + 0.5 * h * rate - y) / 2.0);
            }
            [u, y]
        };
        for end in [0.7, 3.0, 20.0, 21.0, 24.0] {
            let bench = limited_loop("kp=0\nki=0.8\nhigh=1.2", end);
            for (port, exact) in ["c.y", "p.y"].iter().zip(exact(end)) {
                let found = bench.probe(port);
                assert!((found - exact).abs() < 1e-4, "{port} at {end} s: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn bad_limits_are_refused() {
        let found = mistakes("[unit.c]\nkind='pid'\nkp=2\nhigh=1\ntracking=1");
        let wanted = "there is no integral to follow the limits: `ki` is zero; delete `tracking`, or give `ki`";
        assert_eq!(found, [wanted]);
        let found = mistakes("[unit.c]\nkind='pid'\nlow=2\nhigh=1");
        assert_eq!(found, ["`high` is not above `low`; exchange the two"]);
        let found = mistakes("[unit.c]\nkind='pid'\ntracking=1");
        assert_eq!(found, ["`tracking` is for limited outputs; add `low` or `high`, or delete it"]);
    }
}
