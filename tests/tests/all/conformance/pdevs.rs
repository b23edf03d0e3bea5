//! P13-P22, P24-P26, P33: the semantics of the cycle.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Component, Coupled, Ended, Options,
    error::RunError,
    parallel::{Method, Settings},
    time::{Duration, Tag},
};
use superdense_tests::{
    NEVER, S,
    machine::{Machine, On},
    parts::{Accumulator, Gen, Proc, Queue, Relay, Script, Sink},
    record::Run,
    unit::{Unit, add, any_input, chain, input, output, wire},
};

#[test]
fn p13_translation_fan_out_is_isolated() {
    for a_first in [true, false] {
        let mut top = Coupled::new();
        let g = add(&mut top, "g", Gen::once(S, 10));
        let (a, b) = (add(&mut top, "a", Sink::default()), add(&mut top, "b", Sink::default()));
        let z = |top: &mut Coupled<i64>| {
            top.couple_with(g.output(output(0)), a.input(input(0)), "+1", |v: &i64| Some(v + 1));
        };
        if a_first {
            z(&mut top);
        }
        wire(&mut top, (g, 0), (b, 0));
        if !a_first {
            z(&mut top);
        }
        let run = Run::through(top, S);
        assert_eq!(run.received("a"), [((S, 0), vec![11])]);
        assert_eq!(run.received("b"), [((S, 0), vec![10])]);
    }
}

/// Two functions of one name, each on the way to every other receiver, stay apart.
#[test]
fn p13_translations_of_one_name() {
    let mut x = Coupled::new();
    let outs = [1, 2].map(|i| x.add_output::<i64>(format!("out{i}")));
    let g = add(&mut x, "g", Gen::once(S, 10));
    for (out, add) in outs.into_iter().zip([1, 2]) {
        x.couple_with(g.output(output(0)), out.inside(), "z", move |v: &i64| Some(v + add));
    }
    let mut top = Coupled::new();
    let x = top.add_component("x", x);
    for i in 0..9usize {
        let k = top.add(("k", i), Unit::new(Sink::default()));
        top.couple(x.output(output(i as u16 % 2)), k.input(input(0)));
    }
    let run = Run::through(top, S);
    for i in 0..9 {
        assert_eq!(run.received(&format!("k[{i}]")), [((S, 0), vec![11 + i % 2])]);
    }
}

#[test]
fn p14_translation_composition() {
    let mut x = Coupled::new();
    let out = x.add_output::<i64>("out");
    let g = add(&mut x, "g", Gen::once(S, 2));
    x.couple_with(g.output(output(0)), out.inside(), "+1", |v: &i64| Some(v + 1));
    let mut y = Coupled::new();
    let inp = y.add_input::<i64>("in");
    let k = add(&mut y, "k", Sink::default());
    y.couple_with(inp.inside(), k.input(input(0)), "-3", |v: &i64| Some(v - 3));
    let mut top = Coupled::new();
    let (x, y) = (top.add_component("x", x), top.add_component("y", y));
    top.couple_with(x.output(output(0)), y.input(input(0)), "*10", |v: &i64| Some(v * 10));
    let run = Run::through(top, S);
    assert_eq!(run.received("y/k"), [((S, 0), vec![27])]);
}

/// The model of P15 and P25: v = 3, σ = 2 s.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Policy {
    v: i64,
    sigma: i64,
    policy: u8,
}

const INT_THEN_EXT: u8 = 0;
const EXT_THEN_INT: u8 = 1;
const CUSTOM: u8 = 2;

impl Machine for Policy {
    fn advance(&self) -> i64 {
        self.sigma
    }
    fn output(&self) -> Vec<On> {
        vec![(0, self.v)]
    }
    fn internal(&mut self) {
        (self.v, self.sigma) = (2 * self.v, NEVER);
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.v += bag.iter().map(|m| m.1).sum::<i64>();
        self.sigma = 5 * S;
    }
    fn confluent(&mut self, bag: &[On]) {
        match self.policy {
            INT_THEN_EXT => {
                self.internal();
                self.external(0, bag);
            }
            EXT_THEN_INT => {
                self.external(0, bag);
                self.internal();
            }
            _ => (self.v, self.sigma) = (100, S),
        }
    }
}

fn policy_model(policy: u8) -> Coupled<i64> {
    let mut top = Coupled::new();
    add(&mut top, "m", Policy { v: 3, sigma: 2 * S, policy });
    top
}

fn v(run: &Run) -> i64 {
    run.sim.model::<Unit<Policy>>("m").unwrap().machine.v
}

#[test]
fn p15_confluent_policies() {
    for (policy, after, next, then) in [
        (INT_THEN_EXT, 10, Some((7 * S, 0)), Some(10)),
        (EXT_THEN_INT, 14, None, None),
        (CUSTOM, 100, Some((3 * S, 0)), Some(100)),
    ] {
        let mut top = policy_model(policy);
        let g = add(&mut top, "g", Gen::once(2 * S, 4));
        let k = add(&mut top, "k", Sink::default());
        // The handle of `m` is needed for the wires, so that it is added anew.
        let m = top.add("n", Unit::new(Policy { v: 3, sigma: 2 * S, policy })).any();
        chain(&mut top, &[g, m, k]);
        let mut run = Run::new(top);
        run.sim.run_through(2 * S).unwrap();
        let record = run.of("n").remove(0);
        assert_eq!((record.kind, record.sent(), record.next), ("CONF", vec![3], next));
        assert_eq!(run.sim.model::<Unit<Policy>>("n").unwrap().machine.v, after);
        run.sim.run_through(20 * S).unwrap();
        assert_eq!(run.sent("n").get(1).map(|s| s.1[0]), then);
    }
}

/// σ = 10 s; inputs leave all else unchanged, and σ −= e unless forgotten.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Patient {
    sigma: i64,
    forgets: bool,
}

impl Machine for Patient {
    fn advance(&self) -> i64 {
        self.sigma
    }
    fn output(&self) -> Vec<On> {
        vec![(0, 1)]
    }
    fn internal(&mut self) {
        self.sigma = NEVER;
    }
    fn external(&mut self, elapsed: i64, _: &[On]) {
        if !self.forgets {
            self.sigma -= elapsed;
        }
    }
}

#[test]
fn p16_elapsed_after_an_ignored_input() {
    for (forgets, fires) in [(false, 10), (true, 19)] {
        let mut top = Coupled::new();
        let g = add(&mut top, "g", Gen { left: 3, ..Gen::every(3 * S) });
        let m = add(&mut top, "m", Patient { sigma: 10 * S, forgets });
        chain(&mut top, &[g, m]);
        let run = Run::through(top, 40 * S);
        assert_eq!(run.sent("m"), [((fires * S, 0), vec![1])]);
        assert_eq!(run.sim.model::<Unit<Patient>>("m").unwrap().elapsed, [3 * S; 3]);
    }
}

#[test]
fn p17_queue() {
    let mut top = Coupled::new();
    let jobs = Script::at((1..=4).map(|i| (i * S, vec![(0, i)])));
    let g = add(&mut top, "g", jobs);
    let q = add(&mut top, "q", Queue::new(3 * S / 2));
    chain(&mut top, &[g, q]);
    let mut run = Run::new(top);
    run.sim.run_through(4 * S).unwrap();
    let last = run.of("q").pop().unwrap();
    assert_eq!(
        (last.tag(), last.kind, last.sent(), last.heard(), last.next),
        ((4 * S, 0), "CONF", vec![2], vec![4], Some((11 * S / 2, 0)))
    );
    assert_eq!(run.sim.model::<Unit<Queue>>("q").unwrap().machine.jobs, [3, 4]);
    run.sim.run_through(20 * S).unwrap();
    let departures: Vec<_> = run.sent("q").iter().map(|s| (s.0.0 * 2 / S, s.1[0])).collect();
    assert_eq!(departures, [(5, 1), (8, 2), (11, 3), (14, 4)]);
}

/// Emits its value each second and adopts what it hears.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Adopter {
    v: i64,
}

impl Machine for Adopter {
    fn advance(&self) -> i64 {
        S
    }
    fn output(&self) -> Vec<On> {
        vec![(0, self.v)]
    }
    fn external(&mut self, _: i64, bag: &[On]) {
        self.v = bag[0].1;
    }
}

#[test]
fn p18_outputs_use_the_state_before() {
    let mut top = Coupled::new();
    let (a, b) = (add(&mut top, "a", Adopter { v: 1 }), add(&mut top, "b", Adopter { v: 2 }));
    wire(&mut top, (a, 0), (b, 0));
    wire(&mut top, (b, 0), (a, 0));
    let mut run = Run::new(top);
    for (t, expected) in [(1, (2, 1)), (2, (1, 2))] {
        run.sim.run_through(t * S).unwrap();
        let v = |m| run.sim.model::<Unit<Adopter>>(m).unwrap().machine.v;
        assert_eq!((v("a"), v("b")), expected);
    }
    assert!(run.tape().records.iter().all(|r| r.kind == "CONF"));
    assert_eq!(run.tape().records.len(), 4);
}

#[test]
fn p19_zero_advance_at_the_start() {
    let mut top = Coupled::new();
    let o = add(&mut top, "o", Gen::once(0, 7));
    let (a, b) = (add(&mut top, "a", Proc::new(0)), add(&mut top, "b", Proc::new(0)));
    let k = add(&mut top, "k", Sink::default());
    chain(&mut top, &[o, a, b, k]);
    wire(&mut top, (o, 0), (k, 0));
    let run = Run::through(top, S);
    let kinds: Vec<_> =
        run.tape().records.iter().map(|r| (r.tag(), r.model.clone(), r.kind)).collect();
    let expected = [
        (0, "a", "EXT"),
        (0, "k", "EXT"),
        (0, "o", "INT"),
        (1, "a", "INT"),
        (1, "b", "EXT"),
        (2, "b", "INT"),
        (2, "k", "EXT"),
    ];
    assert_eq!(kinds, expected.map(|(n, m, k)| ((0, n), m.to_owned(), k)));
    assert_eq!(run.received("k"), [((0, 0), vec![7]), ((0, 2), vec![7])]);
}

#[test]
fn p20_illegitimate_loop() {
    let mut top = Coupled::new();
    let o = add(&mut top, "o", Gen::once(S, 1));
    let (a, b) = (add(&mut top, "a", Proc::new(0)), add(&mut top, "b", Proc::new(0)));
    chain(&mut top, &[o, a, b, a]);
    let mut options = Options::default();
    options.guards.micro_steps = 100;
    let mut run = Run::with(top, options).unwrap();
    let error = run.sim.run_through(10 * S).unwrap_err();
    let RunError::MicroSteps { limit: 100, at, models } = &error else { panic!("{error}") };
    assert_eq!((*at, models.len()), (Tag::new(S, 101), 1));
    assert!(["a", "b"].contains(&models[0].as_str()));
    assert!(error.to_string().contains(&models[0]));
    let expected: Vec<_> = (0..=100).map(|n| (S, n)).collect();
    assert_eq!(run.tape().cycles, expected);
    // The state stays readable, and the error is returned again.
    assert_eq!(run.sim.run_through(20 * S).unwrap_err(), error);
    assert_eq!(run.sim.step(20 * S).unwrap_err(), error);
    assert_eq!(run.sim.now(), Tag::new(S, 100));
    assert!(run.sim.model::<Unit<Proc>>("a").is_some());
    assert_eq!(run.tape().cycles.len(), 101);
}

#[test]
fn p21_legal_zero_time_chain() {
    for (limit, reached) in [(500, true), (499, false)] {
        let mut top = Coupled::new();
        let mut row = vec![add(&mut top, "o", Gen::once(S, 1))];
        row.extend((0..500).map(|i| top.add(("relay", i), Unit::new(Relay::new(0))).any()));
        row.push(add(&mut top, "k", Sink::default()));
        chain(&mut top, &row);
        let mut options = Options::default();
        options.guards.micro_steps = limit;
        let mut run = Run::with(top, options).unwrap();
        assert_eq!(run.sim.run_through(S).is_ok(), reached);
        assert_eq!(run.received("k"), if reached { vec![((S, 500), vec![1])] } else { vec![] });
    }
}

#[test]
fn p22_accumulator() {
    let mut top = Coupled::new();
    let numbers = add(&mut top, "numbers", Gen::every(S));
    let tick = add(&mut top, "tick", Gen::every(5 * S));
    let acc = add(&mut top, "acc", Accumulator::new());
    wire(&mut top, (numbers, 0), (acc, 0));
    wire(&mut top, (tick, 0), (acc, 1));
    let run = Run::through(top, 10 * S);
    let at = |t, n| run.of("acc").into_iter().find(|r| r.tag() == (t, n)).unwrap();
    let both = at(5 * S, 0);
    assert_eq!((both.kind, both.inputs), ("EXT", vec![(0, 1), (1, 1)]));
    assert_eq!(both.next, Some((5 * S, 1)));
    assert_eq!(run.sent("acc"), [((5 * S, 1), vec![5]), ((10 * S, 1), vec![5])]);
    assert_eq!(run.sim.model::<Unit<Accumulator>>("acc").unwrap().machine.sum, 0);
}

#[test]
fn p22_accumulator_with_bags() {
    let adds = || (1..=4).map(|v| (0, v));
    let with_reset = adds().chain([(1, 0)]).collect();
    let plan = [(3, adds().collect()), (4, vec![(1, 0)]), (6, with_reset)];
    let mut top = Coupled::new();
    let script = add(&mut top, "script", Script::at(plan.map(|(t, out)| (t * S, out))));
    let acc = add(&mut top, "acc", Accumulator::new());
    wire(&mut top, (script, 0), (acc, 0));
    wire(&mut top, (script, 1), (acc, 1));
    let run = Run::through(top, 10 * S);
    assert_eq!(run.sent("acc"), [((4 * S, 1), vec![10]), ((6 * S, 1), vec![10])]);
}

#[test]
fn p24_initial_elapsed() {
    let top = |elapsed: i64| {
        let mut top = Coupled::new();
        let clock = Unit::new(Gen::every(2 * S));
        let elapsed = Duration::from_ticks(elapsed);
        top.add_component("clock", Component::with_elapsed(clock, elapsed));
        top
    };
    let cycles = Run::through(top(3 * S / 2), 5 * S).tape().cycles;
    assert_eq!(cycles, [1, 5, 9].map(|half| (half * S / 2, 0)));
    // e0 = ta: due at once. Beyond, or negative: an error.
    assert_eq!(Run::through(top(2 * S), S).tape().cycles, [(0, 0)]);
    for bad in [2 * S + 1, -1] {
        let error = Run::with(top(bad), Options::default()).unwrap_err();
        assert!(matches!(&error, RunError::BadElapsed { path, .. } if path == "clock"), "{error}");
    }
}

#[test]
fn p25_injection() {
    let mut run = Run::new(policy_model(INT_THEN_EXT));
    run.sim.inject("m", any_input(0), 2 * S, 4).unwrap();
    run.sim.run_through(2 * S).unwrap();
    assert_eq!(run.brief("m"), [((2 * S, 0), "CONF", vec![4], vec![3])]);
    assert_eq!((v(&run), run.of("m")[0].next), (10, Some((7 * S, 0))));
    // The input comes when the clock already stands at 2 s, before its cycle ran.
    let mut run = Run::new(policy_model(INT_THEN_EXT));
    run.sim.run_until(2 * S).unwrap();
    run.sim.inject("m", any_input(0), 2 * S, 4).unwrap();
    run.sim.run_through(2 * S).unwrap();
    assert_eq!(run.brief("m"), [((2 * S, 0), "CONF", vec![4], vec![3])]);
}

#[test]
fn p25_injection_after_the_instant() {
    let mut run = Run::new(policy_model(INT_THEN_EXT));
    run.sim.run_through(2 * S).unwrap();
    assert_eq!(v(&run), 6);
    let past = run.sim.inject("m", any_input(0), S, 4).unwrap_err();
    assert!(matches!(past, RunError::Past { asked: S, .. }));
    run.sim.inject("m", any_input(0), 2 * S, 4).unwrap();
    run.sim.run_through(2 * S).unwrap();
    let last = run.of("m").pop().unwrap();
    assert_eq!((last.tag(), last.kind), ((2 * S, 1), "EXT"));
    assert_eq!((v(&run), last.next), (10, Some((7 * S, 0))));
    assert_eq!(run.sim.model::<Unit<Policy>>("m").unwrap().elapsed, [0]);
    // Also when the clock moved on without a cycle.
    run.sim.run_through(3 * S).unwrap();
    assert!(run.sim.inject("m", any_input(0), 3 * S - 1, 4).is_err());
    run.sim.inject("m", any_input(0), 3 * S, 1).unwrap();
    run.sim.run_through(3 * S).unwrap();
    assert_eq!(run.of("m").pop().unwrap().tag(), (3 * S, 0));
}

#[test]
fn p25_injection_before_the_event() {
    let mut run = Run::new(policy_model(INT_THEN_EXT));
    run.sim.inject("m", any_input(0), 2 * S - 1, 4).unwrap();
    run.sim.run_through(2 * S).unwrap();
    let only = run.of("m").remove(0);
    assert_eq!((only.tag(), only.kind, v(&run)), ((2 * S - 1, 0), "EXT", 7));
    assert_eq!(only.next, Some((7 * S - 1, 0)));
    // Ports that cannot be reached are refused.
    for (path, port) in [("nobody", 0), ("m", 1), ("", 0)] {
        let error = run.sim.inject(path, any_input(port), 3 * S, 1).unwrap_err();
        let told = matches!(error, RunError::UnknownInput { .. } | RunError::UnknownModel { .. });
        assert!(told, "{error}");
    }
}

/// Several inputs of one tick share its cycle, in the order in which they were given.
#[test]
fn p25_injections_of_one_tick() {
    let mut top = Coupled::new();
    add(&mut top, "k", Sink::default());
    let mut run = Run::new(top);
    for (at, port, value) in [(5, 1, 3), (4, 0, 9), (5, 0, 2), (5, 1, 1)] {
        run.sim.inject("k", any_input(port), at, value).unwrap();
    }
    run.sim.run_through(10).unwrap();
    assert_eq!(run.received("k"), [((4, 0), vec![9]), ((5, 0), vec![2, 3, 1])]);
}

/// ta = 1, 0, 1, 0, …
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Alternating {
    zero: bool,
}

impl Machine for Alternating {
    fn advance(&self) -> i64 {
        if self.zero { 0 } else { 1 }
    }
    fn output(&self) -> Vec<On> {
        vec![(0, 1)]
    }
    fn internal(&mut self) {
        self.zero = !self.zero;
    }
}

#[test]
fn p26_elapsed_of_a_passive_listener() {
    let mut top = Coupled::new();
    let a = add(&mut top, "a", Alternating { zero: false });
    let l = add(&mut top, "l", Sink::default());
    chain(&mut top, &[a, l]);
    let run = Run::through(top, 2);
    let tags: Vec<_> = run.received("l").iter().map(|h| h.0).collect();
    assert_eq!(tags, [(1, 0), (1, 1), (2, 0), (2, 1)]);
    assert_eq!(run.sim.model::<Unit<Sink>>("l").unwrap().elapsed, [1, 0, 1, 0]);
}

#[test]
fn p33_termination() {
    let top = || {
        let mut top = Coupled::new();
        let g = add(&mut top, "g", Gen::once(3, 1));
        let p = add(&mut top, "p", Proc::new(4));
        chain(&mut top, &[g, p]);
        top
    };
    // No end given: the clock stays at the last event.
    let mut run = Run::new(top());
    assert_eq!(run.sim.run_through(i64::MAX), Ok(Ended::Idle));
    assert_eq!((run.sim.now(), run.sim.clock()), (Tag::new(7, 0), 7));
    assert_eq!(run.sim.next(), Ok(Tag::NEVER));
    let mut run = Run::new(top());
    assert_eq!(run.sim.run_until(i64::MAX), Ok(Ended::Idle));
    assert_eq!(run.sim.clock(), 7);
    for method in [Method::Conservative, Method::TimeWarp] {
        let mut run = Run::new(top());
        let settings = Settings { method, workers: 2, ..Settings::default() };
        let ended = run.sim.run_through_parallel(i64::MAX, &settings).map(|ended| ended.0);
        assert_eq!((ended, run.sim.clock()), (Ok(Ended::Idle), 7), "{method:?}");
    }
    // An end: the clock goes there.
    let mut run = Run::new(top());
    assert_eq!(run.sim.run_through(6), Ok(Ended::Reached));
    assert_eq!((run.sim.now(), run.sim.clock()), (Tag::new(3, 0), 6));
    assert_eq!(run.sim.run_through(100), Ok(Ended::Idle));
    assert_eq!((run.sim.now(), run.sim.clock()), (Tag::new(7, 0), 100));
    // Nothing at all to do.
    let mut run = Run::new(Coupled::<i64>::new());
    assert_eq!(run.sim.run_through(5), Ok(Ended::Idle));
    assert_eq!(run.sim.clock(), 5);
}
