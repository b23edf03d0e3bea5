//! Event mode, early return and time events.
use super::{Bench, S, WITHOUT};

const BALL: &str = "[unit.ball]\nkind = 'fmu'\npath = 'ball.fmu'\nstep = '100 ms'\n";
const EQUATIONS: &str = "[unit.twin]\nkind = 'equations'\nmethod = 'taylor'\n\
    states = { h = 10, v = 0 }\nderivatives = { h = 'v', v = '-9.81' }\n\
    outputs = { h = 'h', v = 'v' }\n[[unit.twin.event]]\nname = 'bounce'\n\
    when = 'h <= 0 and v < 0'\nreset = { v = '-0.9*v' }\n";

/// Ticks of the first bounces of a unit that goes on from its own exact instants (R14: they are
/// rounded up).
fn exact(count: usize) -> Vec<i64> {
    let (mut t, mut v) = ((2.0 * 10.0 / 9.81_f64).sqrt(), (2.0 * 9.81 * 10.0_f64).sqrt());
    let bounces = std::iter::repeat_with(|| {
        let tick = (t * 1e9).ceil() as i64;
        v *= 0.9;
        t += 2.0 * v / 9.81;
        tick
    });
    bounces.take(count).collect()
}

/// Ticks of the first bounces of a unit whose state goes on to the tick and is reset there.
fn rounded(count: usize) -> Vec<i64> {
    let (mut h, mut v, mut tick) = (10.0_f64, 0.0_f64, 0);
    let bounces = std::iter::repeat_with(|| {
        let hit = (v + (v * v + 2.0 * 9.81 * h).sqrt()) / 9.81;
        let ticks = (hit * 1e9).ceil();
        let by = ticks * 1e-9;
        h += v * by - 9.81 * by * by / 2.0;
        v = -0.9 * (v - 9.81 * by);
        tick += ticks as i64;
        tick
    });
    bounces.take(count).collect()
}

#[test]
fn bounces_are_where_they_belong() {
    // Without inputs the unit needs no state access to find its own events in time.
    for changes in [&[][..], &[WITHOUT][..]] {
        let bench = Bench::new("bounces").fmu("ball", changes);
        let run = bench.run(&format!("{BALL}{EQUATIONS}"), 15 * S);
        let ticks = |kind: &str| -> Vec<i64> {
            run.facts().iter().filter(|f| f.1 == kind).map(|f| f.0.ticks).collect()
        };
        let (own, twin) = (ticks("event private"), ticks("bounce private"));
        assert!(own.len() >= 6, "{own:?}");
        assert_eq!(own, exact(own.len()));
        assert_eq!(twin, rounded(twin.len()));
        assert_eq!(own.len(), twin.len());
        let error = (run.value("ball", 0, 15 * S) - run.value("twin", 0, 15 * S)).abs();
        assert!(error < 1e-6, "{error}");
        assert_eq!(run.value("ball", 2, 15 * S), own.len() as f64);
    }
}

#[test]
fn receivers_see_jumps_and_the_pieces_between_them() {
    let bench = Bench::new("received").fmu("ball", &[]);
    let text = format!(
        "connections = ['ball.v -> s.u', 'ball.h -> i.u', 'twin.h -> j.u']\n{BALL}{EQUATIONS}\
         [unit.s]\nkind = 'gain'\ngain = 1.0\n[unit.i]\nkind = 'integrator'\n\
         [unit.j]\nkind = 'integrator'\n"
    );
    let run = bench.run(&text, 12 * S);
    let (own, twin) = (run.value("i", 0, 12 * S), run.value("j", 0, 12 * S));
    // Pieces of order 2 are exact. Only the first one is constant: before its first step an FMU
    // gives no derivatives.
    let first = 9.81 / 6.0 * 0.1_f64.powi(3);
    assert!((own - twin - first).abs() < 1e-5, "{own} and {twin}");
    let error = (run.value("s", 0, 12 * S) - run.value("twin", 1, 12 * S)).abs();
    assert!(error < 1e-6, "{error}");
}

#[test]
fn a_run_that_goes_back_is_the_straight_run() {
    let bench = Bench::new("back").fmu("ball", &[]);
    let mut straight = bench.run(BALL, 9 * S);
    let mut run = bench.start(BALL);
    run.to(4 * S).unwrap();
    let saved = run.sim.save().unwrap();
    let bytes = run.sim.checkpoint().unwrap();
    for _ in 0..2 {
        run.to(9 * S).unwrap();
        assert_eq!(run.sim.trace_hash(), straight.sim.trace_hash());
        run.sim.restore(&saved).unwrap();
    }
    let mut fresh = bench.start(BALL);
    fresh.sim.resume(&bytes).unwrap();
    fresh.to(9 * S).unwrap();
    assert_eq!(fresh.sim.trace_hash(), straight.sim.trace_hash());
    straight.to(10 * S).unwrap();
    let mut longer = bench.start(BALL);
    longer.to(10 * S).unwrap();
    assert_eq!(longer.sim.trace_hash(), straight.sim.trace_hash());
}

/// F2: the counter rises at 1, 2, ... and asks to end when it is ten.
#[test]
fn f2_stair() {
    let bench = Bench::new("stair").fmu("stair", &[]);
    for step in ["200 ms", "5 s", "300 ms"] {
        let text = format!("[unit.stair]\nkind = 'fmu'\npath = 'stair.fmu'\nstep = '{step}'\n");
        let mut run = bench.start(&text);
        let ended = format!("{:?}", run.sim.run_through(20 * S).unwrap());
        assert!(ended.contains("stair asks to end the run"), "{ended}");
        let events: Vec<_> = run.facts().iter().map(|f| (f.0.ticks / S, f.1.clone())).collect();
        let expected: Vec<_> = (1..=9).map(|t| (t, "event time".to_owned())).collect();
        assert_eq!(events, expected, "{step}");
        assert_eq!(run.value("stair", 0, 20 * S), 10.0);
    }
}
