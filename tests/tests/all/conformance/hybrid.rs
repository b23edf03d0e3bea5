//! Those H cases that atomic models can express without continuous units.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Coupled, Effects, Options, Simulation,
    error::RunError,
    time::{Duration, Resolution},
};
use superdense_tests::{
    MS, NEVER, S,
    machine::{Machine, On},
    parts::{Gen, Proc, Script, Sink, Toggle},
    record::Run,
    unit::{Unit, add, chain, wire},
};

/// Emits the sum of the present inputs one micro-step later.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Adder {
    sum: Option<i64>,
}
impl Machine for Adder {
    const INPUTS: u16 = 2;
    fn advance(&self) -> i64 {
        self.sum.map_or(NEVER, |_| 0)
    }
    fn output(&self) -> Vec<On> {
        self.sum.iter().map(|&s| (0, s)).collect()
    }
    fn internal(&mut self) {
        self.sum = None;
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.sum = Some(bag.iter().map(|m| m.1).sum());
    }
}

#[test]
fn h01_adder_with_absent_inputs() {
    let mut top = Coupled::new();
    let a = add(&mut top, "a", Gen::every(S));
    let b = add(&mut top, "b", Gen::every(2 * S).value(10));
    let adder = add(&mut top, "adder", Adder { sum: None });
    wire(&mut top, (a, 0), (adder, 0));
    wire(&mut top, (b, 0), (adder, 1));
    let sent = Run::through(top, 4 * S).sent("adder");
    assert_eq!(sent, [(1, 1), (2, 11), (3, 1), (4, 11)].map(|(t, v)| ((t * S, 1), vec![v])));
}

/// Samples a piecewise constant signal (port 0) at a tick (port 1).
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sampler {
    left_limit: bool,
    value: i64,
    taken: Option<i64>,
}
impl Machine for Sampler {
    const INPUTS: u16 = 2;
    fn advance(&self) -> i64 {
        self.taken.map_or(NEVER, |_| 0)
    }
    fn output(&self) -> Vec<On> {
        self.taken.iter().map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.taken = None;
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        let before = self.value;
        self.value = bag.iter().rfind(|m| m.0 == 0).map_or(before, |m| m.1);
        if bag.iter().any(|m| m.0 == 1) {
            self.taken = Some(if self.left_limit { before } else { self.value });
        }
    }
}

#[test]
fn h02_sampler_at_a_jump() {
    for (left_limit, expected) in [(true, 2), (false, 7)] {
        // Either model may come first in path order.
        for (signal, tick) in [("a", "b"), ("b", "a")] {
            let mut top = Coupled::new();
            let x = add(&mut top, signal, Script::at([(0, vec![(0, 2)]), (S, vec![(0, 7)])]));
            let c = add(&mut top, tick, Gen::once(S, 0));
            let s = add(&mut top, "s", Sampler { left_limit, value: 0, taken: None });
            wire(&mut top, (x, 0), (s, 0));
            wire(&mut top, (c, 0), (s, 1));
            assert_eq!(Run::through(top, S).sent("s"), [((S, 1), vec![expected])]);
        }
    }
}

/// Holds the last value; `left` is the value before the cycles of the last instant.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Hold {
    left: i64,
    right: i64,
}
impl Machine for Hold {
    fn advance(&self) -> i64 {
        NEVER
    }
    fn external(&mut self, elapsed: i64, bag: &[On]) {
        if elapsed > 0 {
            self.left = self.right;
        }
        self.right = bag[0].1;
    }
}

#[test]
fn h03_zero_order_hold() {
    let mut top = Coupled::new();
    let squares = (1..=4).map(|k| (k * S, vec![(0, k * k)]));
    let x = add(&mut top, "x", Script::at(squares));
    let hold = add(&mut top, "hold", Hold { left: 0, right: 0 });
    let twice = add(&mut top, "twice", Hold { left: -1, right: -1 });
    let p = add(&mut top, "p", Proc::new(0));
    chain(&mut top, &[x, hold]);
    chain(&mut top, &[x, twice]);
    chain(&mut top, &[x, p, twice]);
    let mut run = Run::new(top);
    for k in 1..=4i64 {
        run.sim.run_through(k * S).unwrap();
        let hold = |m| {
            let h = &run.sim.model::<Unit<Hold>>(m).unwrap().machine;
            (h.left, h.right)
        };
        assert_eq!(hold("hold"), ((k - 1) * (k - 1), k * k));
        // Two events at one instant: the right limit is the second.
        assert_eq!(hold("twice").1, k * k);
        assert_eq!(run.of("twice").len() as i64, 2 * k);
    }
}

/// Passes a value on at the next micro-step; `minus` subtracts and stops at zero.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Micro {
    minus: i64,
    held: Option<i64>,
}
impl Machine for Micro {
    fn advance(&self) -> i64 {
        self.held.map_or(NEVER, |_| 0)
    }
    fn output(&self) -> Vec<On> {
        self.held.iter().map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.held = None;
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.held = Some(bag[0].1 - self.minus).filter(|&v| v > 0);
    }
}

#[test]
fn h04_micro_step_delay_in_feedback() {
    let mut top = Coupled::new();
    let o = add(&mut top, "o", Gen::once(S, 3));
    let f = add(&mut top, "f", Micro { minus: 0, held: None });
    let d = add(&mut top, "d", Micro { minus: 1, held: None });
    chain(&mut top, &[o, f, d, f]);
    let run = Run::through(top, 10 * S);
    assert_eq!(run.sent("o"), [((S, 0), vec![3])]);
    assert_eq!(run.sent("f"), [(1, 3), (3, 2), (5, 1)].map(|(n, v)| ((S, n), vec![v])));
    assert_eq!(run.sent("d"), [(2, 2), (4, 1)].map(|(n, v)| ((S, n), vec![v])));
    assert_eq!(run.tape().cycles.len(), 6);
}

/// Reports the sign of a change of sign one micro-step later; nothing for the first value.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Detector {
    last: Option<i64>,
    report: Option<i64>,
}
impl Machine for Detector {
    fn advance(&self) -> i64 {
        self.report.map_or(NEVER, |_| 0)
    }
    fn output(&self) -> Vec<On> {
        self.report.iter().map(|&v| (0, v)).collect()
    }
    fn internal(&mut self) {
        self.report = None;
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        let now = bag[0].1;
        self.report = self.last.filter(|l| l.signum() != now.signum()).map(|_| now.signum());
        self.last = Some(now);
    }
}

#[test]
fn h05_square_wave_and_zero_crossing() {
    let mut top = Coupled::new();
    let wave = (0..8).map(|k| (k * S, vec![(0, if k % 2 == 0 { -1 } else { 1 })]));
    let w = add(&mut top, "wave", Script::at(wave));
    let d = add(&mut top, "detector", Detector { last: None, report: None });
    chain(&mut top, &[w, d]);
    let run = Run::through(top, 7 * S);
    let expected: Vec<_> =
        (1..8).map(|k| ((k * S, 1), vec![if k % 2 == 0 { -1 } else { 1 }])).collect();
    assert_eq!(run.sent("detector"), expected);
}

#[test]
fn h14_modal_unit() {
    let mut top = Coupled::new();
    let (a, b) = (add(&mut top, "a", Gen::once(S, 1)), add(&mut top, "b", Gen::once(S, 1)));
    let later = add(&mut top, "later", Proc::new(0));
    let m = add(&mut top, "m", Toggle::new(S));
    wire(&mut top, (a, 0), (m, 0));
    wire(&mut top, (b, 0), (m, 0));
    chain(&mut top, &[a, later, m]);
    let mut run = Run::new(top);
    let on = |run: &Run| run.sim.model::<Unit<Toggle>>("m").unwrap().machine.on;
    run.sim.step(S).unwrap();
    assert_eq!(run.received("m"), [((S, 0), vec![1, 1])]);
    assert!(on(&run), "a bag of two is one toggle");
    run.sim.step(S).unwrap();
    assert!(!on(&run));
    assert_eq!(run.received("m")[1].0, (S, 1));
}

/// The ball of H15 in closed form: impacts with speed halved each time, flight time v/5 s.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ball {
    speed: f64,
    flight: f64,
    rest_below: f64,
    impacts: u32,
    resting: bool,
}
impl Ball {
    fn new(rest_below: f64) -> Self {
        // From rest at 5 m under g = 10 m/s²: one second, 10 m/s.
        Self { speed: 10.0, flight: 1.0, rest_below, impacts: 0, resting: false }
    }
}
impl Atomic<i64> for Ball {
    fn time_advance(&self) -> Duration {
        if self.resting {
            return Duration::INFINITE;
        }
        Resolution::NANO.crossing(self.flight).unwrap_or(Duration::INFINITE)
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        fx.located();
        self.impacts += 1;
        self.speed /= 2.0;
        self.flight = self.speed / 5.0;
        self.resting = self.speed < self.rest_below;
    }
}

#[test]
fn h15_dyadic_ball() {
    let mut top = Coupled::new();
    top.add("ball", Ball::new(0.1));
    let run = Run::through(top, 10 * S);
    // 3 − 2^(2−n) for n = 1, 2, …: exact in nanoseconds, rest after the seventh.
    let times: Vec<i64> = run.tape().cycles.iter().map(|c| c.0).collect();
    assert_eq!(times, (1..=7).map(|n| 3 * S - ((4 * S) >> n)).collect::<Vec<_>>());
    let ball = run.sim.model::<Ball>("ball").unwrap();
    assert_eq!((ball.impacts, ball.speed), (7, 5.0 / 64.0));
    // Without rest: the guard, no later than 10 µs after the limit point.
    let mut top = Coupled::new();
    top.add("ball", Ball::new(0.0));
    let mut run = Run::new(top);
    let error = run.sim.run_through(10 * S).unwrap_err();
    assert!(matches!(&error, RunError::Zeno { path, .. } if path == "ball"), "{error}");
    assert!(run.sim.now().ticks <= 3 * S + 10_000);
    assert!(run.tape().cycles.is_sorted_by(|a, b| a < b));
}

#[test]
fn h17_thermostat() {
    /// Heats for 1 s, cools for 2 s.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Thermostat {
        heating: bool,
        on: u64,
        last_on: i64,
        now: i64,
    }
    impl Machine for Thermostat {
        fn advance(&self) -> i64 {
            if self.heating { S } else { 2 * S }
        }
        fn internal(&mut self) {
            self.now += self.advance();
            self.heating = !self.heating;
            if self.heating {
                self.on += 1;
                self.last_on = self.now;
            }
        }
    }
    let model = || {
        let mut top = Coupled::new();
        let state = Thermostat { heating: true, on: 0, last_on: 0, now: 0 };
        add(&mut top, "thermostat", state);
        top
    };
    let first: Vec<_> =
        Run::through(model(), 9 * S).tape().cycles.iter().map(|c| c.0 / S).collect();
    assert_eq!(first, [1, 3, 4, 6, 7, 9]);
    let mut sim = Simulation::new(model(), Options::default()).unwrap();
    sim.run_through(3_000_000 * S).unwrap();
    let state = &sim.model::<Unit<Thermostat>>("thermostat").unwrap().machine;
    assert_eq!((state.on, state.last_on), (1_000_000, 3_000_000 * S));
    assert_eq!(sim.now().ticks, 3_000_000 * S);
}

/// Touching balls in a row, which collide pairwise at the next micro-step, the first pair in
/// `order` that approaches each other going first. Speeds are fractions over one denominator.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cradle {
    masses: Vec<i64>,
    speeds: Vec<(i64, i64)>,
    order: Vec<usize>,
}

fn reduced((p, q): (i64, i64)) -> (i64, i64) {
    let (mut a, mut b) = (p.abs(), q.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let g = a.max(1) * q.signum();
    (p / g, q / g)
}

impl Cradle {
    fn approaching(&self) -> Option<usize> {
        self.order.iter().copied().find(|&i| {
            let ((p, q), (r, s)) = (self.speeds[i], self.speeds[i + 1]);
            p * s > r * q
        })
    }
}

impl Machine for Cradle {
    fn advance(&self) -> i64 {
        self.approaching().map_or(NEVER, |_| 0)
    }
    fn internal(&mut self) {
        let Some(i) = self.approaching() else { return };
        let (m, k) = (self.masses[i], self.masses[i + 1]);
        let ((p, q), (r, s)) = (self.speeds[i], self.speeds[i + 1]);
        // Elastic: u' = ((m − k) u + 2 k w) / (m + k), w' = ((k − m) w + 2 m u) / (m + k).
        let d = (m + k) * q * s;
        self.speeds[i] = reduced(((m - k) * p * s + 2 * k * r * q, d));
        self.speeds[i + 1] = reduced(((k - m) * r * q + 2 * m * p * s, d));
    }
}

#[test]
fn h18_cradle_in_zero_time() {
    let run = |masses: [i64; 3], speeds: [i64; 3], order: [usize; 2]| {
        let mut top = Coupled::new();
        let speeds = speeds.map(|v| (v, 1)).to_vec();
        let cradle = Cradle { masses: masses.to_vec(), speeds, order: order.to_vec() };
        add(&mut top, "cradle", cradle);
        let mut run = Run::new(top);
        let mut trail = Vec::new();
        while run.sim.step(0).unwrap().is_some() {
            trail.push(run.sim.model::<Unit<Cradle>>("cradle").unwrap().machine.speeds.clone());
        }
        // Momentum and energy hold at every micro-step, and time stands still.
        let total = |v: &[(i64, i64)], power: u32| {
            v.iter().zip(&masses).fold((0, 1), |(p, q), (&(a, b), &m)| {
                let (a, b) = (a.pow(power), b.pow(power));
                reduced((p * b + m * a * q, q * b))
            })
        };
        for v in &trail {
            assert_eq!(total(v, 1), total(&trail[0], 1));
            assert_eq!(total(v, 2), total(&trail[0], 2));
        }
        let tags: Vec<_> = (0..trail.len() as u32).map(|n| (0, n)).collect();
        assert_eq!(run.tape().cycles, tags);
        trail
    };
    let whole = |v: [i64; 3]| v.map(|x| (x, 1)).to_vec();
    for order in [[0, 1], [1, 0]] {
        let trail = run([1, 1, 1], [1, 0, 0], order);
        assert_eq!(trail, [whole([0, 1, 0]), whole([0, 0, 1])]);
        assert_eq!(run([1, 1, 1], [1, 0, -1], order).pop(), Some(whole([-1, 0, 1])));
    }
    let last = |order| run([1, 2, 1], [1, 0, -1], order).pop().unwrap();
    assert_eq!(last([0, 1]), [(-13, 27), (-10, 27), (11, 9)]);
    assert_eq!(last([1, 0]), [(-11, 9), (10, 27), (13, 27)]);
}

#[test]
fn h20_internal_events_against_messages() {
    let mut top = Coupled::new();
    let g = add(&mut top, "g", Gen::every(MS));
    let unit = add(&mut top, "unit", Beat);
    chain(&mut top, &[g, unit]);
    let mut run = Run::new(top);
    run.sim.run_until(10 * S).unwrap();
    assert_eq!(run.tape().cycles.len(), 9_999);
    assert!(run.of("unit").iter().all(|r| r.kind == "CONF" && r.inputs.len() == 1));
}

/// An internal event every millisecond.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Beat;
impl Machine for Beat {
    fn advance(&self) -> i64 {
        MS
    }
}

/// R11(b): located events that come closely after the one before are counted; those of discrete models are not.
#[test]
fn h22_chattering_ends_in_an_error() {
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Chatter {
        gaps: [i64; 2],
        located: bool,
    }
    impl Atomic<i64> for Chatter {
        fn time_advance(&self) -> Duration {
            Duration::from_ticks(self.gaps[0])
        }
        fn internal(&mut self, fx: &mut Effects<i64>) {
            self.gaps.reverse();
            if self.located {
                fx.located();
            }
        }
    }
    let run = |gaps, located| {
        let mut top = Coupled::new();
        top.add("chatter", Chatter { gaps, located });
        let mut run = Run::new(top);
        run.sim.run_through(100_000).map(|_| ()).map_err(|e| (e, run.sim.now().ticks))
    };
    let (error, at) = run([1, 1], true).unwrap_err();
    let RunError::Zeno { path, count, gap, .. } = &error else { panic!("{error}") };
    assert_eq!((path.as_str(), *count, *gap, at), ("chatter", 1001, 2, 1001));
    assert!(run([2, 2], true).is_err());
    // One side sends it back at once, the other one later.
    assert_eq!(run([9, 1], true).map_err(|(_, at)| at), Err(10_000));
    assert!(run([1, 21], true).is_ok());
    // A control that switches regularly; and any number of events of a discrete model.
    assert!(run([3, 3], true).is_ok());
    assert!(run([1, 1], false).is_ok());
}

/// H8: roots of two units and a clock at one tag share the cycle.
#[test]
fn h08_simultaneous_events_share_the_cycle() {
    let mut top = Coupled::new();
    let k = add(&mut top, "k", Sink::default());
    for i in 0..3 {
        let unit = top.add(("unit", i), Unit::new(Gen::once(S, i as i64))).any();
        wire(&mut top, (unit, 0), (k, 0));
    }
    let run = Run::through(top, S);
    assert_eq!(run.received("k"), [((S, 0), vec![0, 1, 2])]);
    assert_eq!(run.tape().cycles, [(S, 0)]);
}
