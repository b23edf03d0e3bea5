//! The H cases of continuous units, as scenarios, under every method that fits them.
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};
use superdense::{Overrides, load};
use superdense_kernel::{
    Component, Coupled, Fact, Options, Simulation,
    error::RunError,
    time::Tag,
    trace::{Observer, Site, Verdict},
};
use superdense_models::{
    maths::expr::Scalar,
    signal::value::Value,
    solve::{Dims, Equations, EventSpec, Settings, Trigger, Truth, equations::Work, ode::Method},
    unit::Unit,
};

type Facts = Arc<Mutex<Vec<(i64, u32, String)>>>;

struct Ear(Facts, Arc<Mutex<Vec<String>>>);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        match fact {
            Fact::Event { name, .. } => {
                self.0.lock().unwrap().push((tag.ticks, tag.micro, name.to_string()));
            }
            Fact::Note(text) => self.1.lock().unwrap().push(text.to_string()),
        }
        Verdict::Continue(())
    }
}

/// A scenario that ran: its facts, its simulation, how it ended.
pub(super) struct Ran {
    pub(super) facts: Vec<(i64, u32, String)>,
    pub(super) notes: Vec<String>,
    sim: Simulation<Value>,
    pub(super) end: Result<(), RunError>,
}

const METHODS: [&str; 5] = ["rk45", "taylor", "rodas", "closed", "rk4\"\nstep = \"0.03"];

impl Ran {
    /// Runs a scenario whose units have the line `METHOD` in place of their method, up to `stop`.
    pub(super) fn with(text: &str, method: &str, stop: i64) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("case-{}-{number}.toml", std::process::id());
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let text = text.replace("METHOD", &format!("method = \"{method}\""));
        std::fs::write(&file, format!("stop = 100\n{text}")).unwrap();
        let plan = load(&file, &[], &Overrides::default()).unwrap_or_else(|e| panic!("{e:?}"));
        let options = Options { resolution: plan.resolution, ..Options::default() };
        let mut sim = Simulation::new(plan.model, options).unwrap();
        let (facts, notes) = (Facts::default(), Arc::new(Mutex::new(Vec::new())));
        sim.observe(Ear(Arc::clone(&facts), Arc::clone(&notes)));
        let end = sim.run_through(stop).map(|_| ());
        std::fs::remove_file(&file).unwrap();
        let facts = facts.lock().unwrap().clone();
        let notes = notes.lock().unwrap().clone();
        Self { facts, notes, sim, end }
    }

    fn ticks(&self) -> Vec<i64> {
        self.facts.iter().map(|f| f.0).collect()
    }

    /// Steps of all units.
    pub(super) fn steps(&self) -> u64 {
        self.statistic("steps")
    }

    /// The note of a unit that no event has told.
    pub(super) fn remark(&mut self, path: &str) -> Option<String> {
        self.sim.remark_of(path)
    }

    /// A count over all units.
    pub(super) fn statistic(&self, name: &str) -> u64 {
        self.sim.statistics()[name]
    }

    pub(super) fn output(&self, path: &str, port: u16, at: i64) -> f64 {
        let model = self.sim.find(path).unwrap();
        self.sim.probe(model, port, at).unwrap().as_real().unwrap()
    }
}

pub(super) const S: i64 = 1_000_000_000;

/// Runs a case under the methods that can be exact for it.
fn each(text: &str, stop: i64, check: impl Fn(&str, Ran)) {
    for method in METHODS {
        let ran = Ran::with(text, method, stop);
        if let Err(e) = &ran.end {
            panic!("{method}: {e}");
        }
        check(method, ran);
    }
}

/// x = (t - 1)² and a detector that asks for touching or for crossing.
struct Parabola(Vec<EventSpec>);

impl Equations for Parabola {
    fn dims(&self) -> Dims {
        Dims { states: 1, indicators: 1, ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &self.0
    }
    fn derivatives<N: Scalar>(&self, v: &[N], _: &mut Work<N>, dx: &mut [N]) {
        dx[0] = v[0].sub(&N::constant(1.0)).mul(&N::constant(2.0));
    }
    fn outputs<N: Scalar>(&self, _: &[N], _: &mut Work<N>, _: &mut [N]) {}
    fn indicators<N: Scalar>(&self, v: &[N], _: &mut Work<N>, z: &mut [N]) {
        z[0] = v[1].clone();
    }
}

#[test]
fn h06_grazing() {
    // Over many fixed steps rounding alone carries the solution below zero, which is no crossing.
    let fixed = [0.03, 0.004_941_058_844_013_093].map(Method::Rk4);
    for method in [Method::Rk45, Method::Taylor(12, None), Method::Closed].into_iter().chain(fixed)
    {
        for touching in [Some(1e-9), None] {
            let truth = Truth::All(vec![(0, false)]);
            let trigger = Trigger::State { truth, touching, crossing: None };
            let equations = Parabola(vec![EventSpec::new("zero", trigger)]);
            let settings = Settings { method, ..Settings::default() };
            let unit = Unit::new(equations, &[1.0], &[], &[], settings).unwrap();
            let mut top = Coupled::new();
            top.add_component("u", Component::atomic(unit));
            let mut sim = Simulation::new(top, Options::default()).unwrap();
            let facts = Facts::default();
            sim.observe(Ear(Arc::clone(&facts), Arc::default()));
            sim.run_through(3 * S).unwrap();
            let facts = facts.lock().unwrap();
            assert_eq!(facts.len(), usize::from(touching.is_some()), "{method:?} {facts:?}");
            // The minimum is flat: its place is known to the root of the rounding.
            assert!(facts.iter().all(|f| (f.0 - S).abs() <= 100), "{method:?}: {facts:?}");
        }
    }
}

#[test]
fn h07_linear_root_off_grid() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = -1 }\n\
                derivatives = { x = '3' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'up'\nwhen = 'x >= 0'";
    each(text, 333_333_334, |method, ran| {
        assert_eq!(ran.ticks(), [333_333_334], "{method}");
        assert!((ran.output("u", 0, 333_333_334) - 2e-9).abs() < 1e-15, "{method}");
    });
    each(text, 10 * S, |method, ran| assert_eq!(ran.facts.len(), 1, "{method}"));
}

/// A condition that is no polynomial, on a solution that is one over any time: its series holds
/// for a part of the step only.
#[test]
fn h07_roots_of_a_smooth_function_along_a_long_step() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\n\
                derivatives = { x = '1' }\noutputs = { y = 'sin(x)' }\n\
                [[unit.u.event]]\nname = 'high'\nwhen = 'sin(x) >= 0.5'";
    for method in METHODS.into_iter().chain(["qss2", "liqss2", "auto"]) {
        let ran = Ran::with(text, method, 20 * S);
        assert_eq!(ran.end, Ok(()), "{method}");
        let turns = [0.0, 1.0, 2.0, 3.0].map(|k| (k + 1.0 / 12.0) * std::f64::consts::TAU);
        let expected = turns.map(|t| (t * 1e9 - 1.0 / 1024.0).ceil() as i64);
        assert_eq!(ran.ticks(), expected, "{method}");
    }
}

#[test]
fn h08_simultaneous_roots_and_clock() {
    let text = "[unit.one]\nkind = 'equations'\nMETHOD\nstates = { x = -1 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
                [[unit.one.event]]\nname = 'one'\nwhen = 'x >= 0'\n\
                [unit.two]\nkind = 'equations'\nMETHOD\nstates = { x = -2 }\n\
                derivatives = { x = '2' }\noutputs = { x = 'x' }\n\
                [[unit.two.event]]\nname = 'two'\nwhen = 'x >= 0'\n\
                [[unit.two.event]]\nname = 'clock'\nevery = 1";
    each(text, S, |method, ran| {
        let at = |name: &str| (S, 0, name.to_owned());
        assert_eq!(ran.facts, [at("one"), at("two"), at("clock")], "{method}");
    });
}

#[test]
fn h09_stale_root() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = -0.4 }\n\
                discrete = { slope = 1 }\nderivatives = { x = 'slope' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'down'\nat = 0.3\nreset = { slope = -1 }\n\
                [[unit.u.event]]\nname = 'up'\nat = 0.6\nreset = { slope = 1 }\n\
                [[unit.u.event]]\nname = 'root'\nwhen = 'x >= 0'";
    each(text, 3 * S, |method, ran| {
        assert_eq!(ran.ticks(), [3 * S / 10, 6 * S / 10, S], "{method}");
    });
}

#[test]
fn h10_integrator_with_impulses() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'a'\nat = 2.0\nreset = { x = 'x + 2' }\n\
                [[unit.u.event]]\nname = 'b'\nat = 4.3\nreset = { x = 'x - 1.3' }";
    let tick = 1e-9;
    for (stop, x) in
        [(2 * S - 1, 2.0 - tick), (2 * S, 4.0), (43 * S / 10 - 1, 6.3 - tick), (10 * S, 10.7)]
    {
        each(text, stop, |method, ran| {
            let found = ran.output("u", 0, stop);
            assert!((found - x).abs() < 1e-12, "{method} {stop}: {found}");
        });
    }
}

#[test]
fn h11_impulse_feedback() {
    let text = "connections = ['u.hit -> half.in', 'half.out -> u.kick']\n\
                [unit.half]\nkind = 'equations'\nevent_inputs = ['in']\nevent_outputs = ['out']\n\
                [[unit.half.on]]\ninput = 'in'\nemit = { out = '-0.5' }\n\
                [unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
                event_inputs = ['kick']\nevent_outputs = ['hit']\n\
                [[unit.u.event]]\nname = 'high'\nwhen = 'x >= 1.05'\nemit = { hit = '1' }\n\
                [[unit.u.on]]\ninput = 'kick'\nreset = { x = 'x + value' }";
    each(text, 5 * S, |method, ran| {
        let expected: Vec<i64> = (0..8).map(|k| 1_050_000_000 + k * S / 2).collect();
        assert_eq!(ran.ticks(), expected, "{method}");
        assert!((ran.output("u", 0, 5 * S) - 1.0).abs() < 1e-8, "{method}");
    });
}

const BALL: &str = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = HEIGHT, v = 0 }\n\
    derivatives = { x = 'v', v = '-G' }\noutputs = { x = 'x' }\n\
    [[unit.u.event]]\nname = 'impact'\nwhen = 'x <= 0 and v < 0'\nreset = { v = '-E*v' }";

fn ball(height: &str, g: &str, e: &str) -> String {
    BALL.replace("HEIGHT", height).replace("-G", &format!("-{g}")).replace("-E", &format!("-{e}"))
}

#[test]
fn h15_dyadic_ball_as_equations() {
    let text = ball("5", "10", "0.5");
    each(&text, 2_998_046_875, |method, ran| {
        let impact = |n: i64| 3 * S - 4 * S / (1 << n);
        let found: Vec<i64> = ran.ticks();
        assert_eq!(found.len(), 11, "{method}");
        for (n, tick) in (1..).zip(found) {
            assert!((tick - impact(n)).abs() <= 1, "{method} {n}: {tick}");
        }
    });
    for method in METHODS {
        let ran = Ran::with(&text, method, 10 * S);
        let why = ran.end.unwrap_err().to_string();
        assert!(why.contains("Zeno"), "{method}: {why}");
        assert!(*ran.facts.iter().map(|(t, ..)| t).max().unwrap() <= 3 * S + 10_000, "{method}");
    }
}

#[test]
fn h16_ideal_ball() {
    let expected = [
        0.451523641,
        1.083656738,
        1.526149907,
        1.835895124,
        2.052716777,
        2.204491933,
        2.310734543,
        2.385104370,
        2.437163249,
        2.473604464,
        2.499113314,
    ];
    each(&ball("1", "9.81", "0.7"), 2_499_113_320, |method, ran| {
        assert_eq!(ran.facts.len(), 11, "{method}");
        for (k, (t, expected)) in (1..).zip(ran.ticks().into_iter().zip(expected)) {
            let error = (t as f64 * 1e-9 - expected).abs();
            assert!(error < 1e-9 * f64::from(k) + 1e-9, "{method}: {t} {expected}");
        }
    });
}

#[test]
fn h17_thermostat_as_equations() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 20 }\ndiscrete = { on = 1 }\n\
                derivatives = { x = '2*on - (1 - on)' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'off'\nwhen = 'x >= 22'\nreset = { on = 0 }\n\
                [[unit.u.event]]\nname = 'on'\nwhen = 'x <= 20'\nreset = { on = 1 }";
    each(text, 30 * S, |method, ran| {
        let ticks = ran.ticks();
        let expected: Vec<i64> = (0..20).map(|k| S * (1 + 3 * (k / 2) + 2 * (k % 2))).collect();
        assert_eq!(ticks, expected[..ticks.len()], "{method}");
        assert_eq!(ticks.len(), 20, "{method}");
    });
}

#[test]
fn h19_sticky_masses() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x1 = 0, v1 = 3, x2 = 6, v2 = 0 }\n\
                derivatives = { x1 = 'v1', v1 = '0', x2 = 'v2', v2 = '0' }\n\
                outputs = { x1 = 'x1', p = 'v1 + 2*v2' }\n\
                [[unit.u.event]]\nname = 'merge'\nwhen = 'x1 >= x2 and v1 > v2'\n\
                reset = { v1 = '(v1 + 2*v2)/3', v2 = '(v1 + 2*v2)/3' }";
    each(text, 5 * S, |method, ran| {
        assert_eq!(ran.ticks(), [2 * S], "{method}");
        let at = |port| ran.output("u", port, 5 * S);
        assert!((at(0) - 9.0).abs() < 1e-12 && (at(1) - 3.0).abs() < 1e-12, "{method}");
    });
}

/// An event comes in the middle of a long step: the state there is that of the step's own solution,
/// as in a run that went to that time only.
#[test]
fn h21_no_overshoot() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\ndiscrete = { a = -1 }\n\
                derivatives = { x = 'a*x' }\noutputs = { x = 'x' }\nevent_inputs = ['set']\n\
                [[unit.u.on]]\ninput = 'set'\nreset = { a = 'value' }\n\
                [unit.b]\nkind = 'equations'\nstates = { y = 0 }\nderivatives = { y = '1' }\n\
                event_outputs = ['tell']\n\
                [[unit.b.event]]\nname = 'tell'\nwhen = 'y >= 0.4'\nemit = { tell = '2' }\n";
    let text = format!("connections = ['b.tell -> u.set']\n{text}");
    each(&text, S, |method, ran| {
        let exact = f64::exp(-0.4 + 2.0 * 0.6);
        let found = ran.output("u", 0, S);
        let error = if method.starts_with("rk4\"") { 1e-6 } else { 1e-8 };
        assert!((found - exact).abs() < error, "{method}: {found} {exact}");
    });
}

#[test]
fn h22_chattering_of_equations_ends_in_an_error() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\ndiscrete = { s = -1 }\n\
                derivatives = { x = 's' }\noutputs = { x = 'x' }\n\
                [[unit.u.event]]\nname = 'low'\nwhen = 'x < 0'\nreset = { s = 1 }\n\
                [[unit.u.event]]\nname = 'high'\nwhen = 'x > 0'\nreset = { s = -1 }";
    // The surface is reached on a tick, and between two ticks.
    let starts = ["x = 1", "x = 0.7", "x = '1/3'"].map(|x| text.replace("x = 1", x));
    for (text, method) in starts.iter().flat_map(|text| METHODS.map(|method| (text, method))) {
        let why = Ran::with(text, method, 10 * S).end.unwrap_err().to_string();
        assert!(why.contains("chattering") || why.contains("micro"), "{method}: {why}");
    }
}

#[test]
fn h23_identical_conditions() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\n\
                discrete = { first = 0, second = 0, turn = 1 }\n\
                derivatives = { x = '-1' }\noutputs = { a = 'first', b = 'second', x = 'x' }\n\
                [[unit.u.event]]\nname = 'a'\nwhen = 'x <= 0'\n\
                reset = { first = 'turn', turn = 'turn + 1', x = 5 }\n\
                [[unit.u.event]]\nname = 'b'\nwhen = 'x <= 0'\n\
                reset = { second = 'turn', turn = 'turn + 1', x = 'x + 2' }";
    each(text, 2 * S, |method, ran| {
        let names: Vec<&str> = ran.facts.iter().map(|f| f.2.as_str()).collect();
        assert_eq!(names, ["a", "b"], "{method}");
        assert_eq!(ran.ticks(), [S, S], "{method}");
        let at = |port| ran.output("u", port, 2 * S);
        assert_eq!((at(0), at(1)), (1.0, 2.0), "{method}");
        assert!((at(2) - 6.0).abs() < 1e-9, "{method}");
    });
}

/// The threshold changes at a tick by another unit's event: decided with the value after that
/// cycle, reported once, a micro-step later.
#[test]
fn h24_threshold_owned_by_a_discrete_state() {
    let text = "connections = ['b.tell -> u.set']\n\
                [unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\ndiscrete = { limit = 5 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\nevent_inputs = ['set']\n\
                [[unit.u.event]]\nname = 'over'\nwhen = 'x >= limit'\n\
                [[unit.u.on]]\ninput = 'set'\nreset = { limit = 'value' }\n\
                [unit.b]\nkind = 'equations'\nevent_outputs = ['tell']\n\
                [[unit.b.event]]\nname = 'tell'\nat = 1\nemit = { tell = '0.5' }\n";
    each(text, 10 * S, |method, ran| {
        let over: Vec<_> = ran.facts.iter().filter(|f| f.2 == "over").collect();
        assert_eq!(over.len(), 1, "{method}");
        assert_eq!((over[0].0, over[0].1 > 0), (S, true), "{method}: {over:?}");
    });
}

/// Events put the state to half of what it was, after rests and at equal distances: steps have lengths at
/// which the estimate of an embedded pair vanishes (x' = a (1 - x) and steps of 1/a under `rk23`).
#[test]
fn steps_whose_estimate_vanishes() {
    let mut bad = Vec::new();
    for (rate, start) in [1.0, 0.5, 2.0, 4.0].into_iter().flat_map(|a| [(a, 1.0), (a, 0.25)]) {
        for method in ["rk23", "rk45", "rodas", "taylor", "auto"] {
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\ntolerance = 1e-6\nabsolute_tolerance = 1e-8\n\
                 states = {{ x = {start} }}\nderivatives = {{ x = '{rate} * (1 - x)' }}\n\
                 outputs = {{ x = 'x' }}\n[[unit.a.event]]\nname = 'half'\nevery = 2\nfrom = 1\n\
                 reset = {{ x = '0.5 * x' }}"
            );
            let ran = Ran::with(&text, method, 7 * S / 2);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{rate}, {method}: {e}"));
            let after = |x: f64, t: f64| 1.0 + (x - 1.0) * f64::exp(-rate * t);
            let exact = after(0.5 * after(0.5 * after(start, 1.0), 2.0), 0.5);
            let off = ran.output("a", 0, 7 * S / 2) - exact;
            if off.abs() > 2e-5 {
                bad.push(format!("{rate}, {start}, {method}: off by {off:e}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
