//! Model exchange in both versions, and co-simulation of FMI 2.0.
use super::{Bench, Run, S};

const BOUNCES: [i64; 11] = [
    451_523_641,
    1_083_656_738,
    1_526_149_907,
    1_835_895_124,
    2_052_716_777,
    2_204_491_933,
    2_310_734_543,
    2_385_104_370,
    2_437_163_249,
    2_473_604_464,
    2_499_113_314,
];
const VERSIONS: [&str; 2] = ["", "2"];

fn unit(file: &str, more: &str) -> String {
    format!("[unit.u]\nkind = 'fmu'\npath = '{file}.fmu'\n{more}\n")
}

fn both(name: &str) -> Bench {
    Bench::new(&format!("me-{name}")).fmu(name, &[]).fmu_2(name, &[])
}

fn ticks(run: &Run) -> Vec<i64> {
    run.facts().iter().map(|f| f.0.ticks).collect()
}

fn count(run: &Run, name: &str) -> u64 {
    run.sim.statistics()[name]
}

/// Events are rounded up to ticks, from which the ball goes on: as good as the equation unit's, and
/// within a nanosecond if ticks are short.
#[test]
fn bounces_of_a_ball() {
    let bench = both("bouncing");
    let twin = "[unit.twin]\nkind = 'equations'\nmethod = 'taylor'\nstates = { h = 1, v = 0 }\n\
        discrete = { g = 9.81 }\nderivatives = { h = 'v', v = '-g' }\noutputs = { h = 'h' }\n\
        [[unit.twin.event]]\nname = 'bounce'\nwhen = 'h <= 0 and v < 0'\n\
        reset = { h = '1e-300', v = 'if(0.7*v > -0.1, 0, -0.7*v)', g = 'if(0.7*v > -0.1, 0, g)' }\n";
    for version in VERSIONS {
        for solver in ["rk45", "rk23", "rodas", "dopri5"] {
            let more = format!("interface = 'model-exchange'\nsolver = '{solver}'");
            let own = unit(&format!("bouncing{version}"), &more);
            let run = bench.run(&format!("{own}{twin}"), 3 * S);
            let of = |name: &str| -> Vec<i64> {
                let facts = run.facts();
                facts.iter().filter(|f| f.1.starts_with(name)).map(|f| f.0.ticks).collect()
            };
            assert_eq!(of("event").len(), 11, "{version} {solver}: {:?}", of("event"));
            let near = |(a, b): (&i64, &i64)| (a - b).abs() <= 1;
            let same = of("event").iter().zip(&of("bounce")).all(near);
            assert!(same, "{version} {solver}: {:?} and {:?}", of("event"), of("bounce"));
            assert_eq!(run.value("u", 2, 3 * S), 11.0);
            assert_eq!((run.value("u", 0, 3 * S), run.value("u", 1, 3 * S)), (1e-300, 0.0));
            let run = bench.run(&format!("resolution = 'ps'\n{own}"), 3000 * S);
            assert_eq!(ticks(&run).len(), 11);
            for (own, exact) in ticks(&run).iter().zip(BOUNCES) {
                assert!((own - exact * 1000).abs() <= 1000, "{version} {solver}: {own}, {exact}");
            }
        }
    }
}

/// An accepted step is told once; nobody tells of one that was refused.
#[test]
fn accepted_steps_are_told_once() {
    let bench = both("vanderpol");
    for version in VERSIONS {
        let more = "interface = 'model-exchange'\nstart = { mu = 20.0 }\nmax_step = 1.0";
        let mut run = bench.start(&unit(&format!("vanderpol{version}"), more));
        run.to(40 * S).unwrap();
        let (told, accepted) = (run.value("u", 3, 40 * S), count(&run, "steps") as f64);
        assert!(count(&run, "rejected_steps") > 5, "{:?}", run.sim.statistics());
        // The last step may not have come to its end.
        assert!(accepted - told <= 1.0 && told <= accepted, "{told} of {accepted}");
        // The FMU counts those of the probes above, too.
        assert!(count(&run, "evaluations") as f64 <= run.value("u", 4, 40 * S) + 1.0);
    }
}

#[test]
fn van_der_pol_under_explicit_and_implicit_solvers() {
    let bench = both("vanderpol");
    for version in VERSIONS {
        for solver in ["rk45", "rodas"] {
            let more =
                format!("interface = 'model-exchange'\ntolerance = 1e-9\nsolver = '{solver}'");
            let run = bench.run(&unit(&format!("vanderpol{version}"), &more), 20 * S);
            let x = [run.value("u", 0, 20 * S), run.value("u", 1, 20 * S)];
            let off = (x[0] - 2.008_149_76).abs().max((x[1] + 0.042_508_82).abs());
            assert!(off < 1e-6, "{version} {solver}: {x:?}");
        }
    }
}

/// Directional derivatives give the same solution with fewer evaluations.
#[test]
fn stiff_with_and_without_directional_derivatives() {
    let without =
        ("providesDirectionalDerivatives=\"true\"", "providesDirectionalDerivatives=\"false\"");
    let runs = [&[][..], &[without][..]].map(|changes| {
        let bench = Bench::new("me-stiff").fmu("vanderpol", changes);
        let more = "solver = 'rodas'\ntolerance = 1e-7\nstart = { mu = 1000.0 }\nmax_step = 100.0";
        let run = bench.run(&unit("vanderpol", more), 2000 * S);
        (ticks(&run), count(&run, "evaluations"))
    });
    let [(with, few), (without, many)] = runs;
    assert_eq!(with.len(), without.len());
    assert!(with.len() == 2, "{with:?}");
    for (a, b) in with.iter().zip(&without) {
        assert!((a - b).abs() < 1_000_000, "{a} and {b}");
    }
    println!("evaluations: {few} with, {many} without");
    assert!(few < many);
}

#[test]
fn time_events_are_exact_and_rounds_are_micro_steps() {
    let bench = both("steps");
    for version in VERSIONS {
        let more = "interface = 'model-exchange'\nstart = { edge = 100.0 }";
        let mut run = bench.start(&unit(&format!("steps{version}"), more));
        let ended = format!("{:?}", run.sim.run_through(20 * S).unwrap());
        assert!(ended.contains("steps asks to end the run"), "{ended}");
        assert_eq!(ticks(&run), (1..=9).map(|t| t * S).collect::<Vec<_>>());
        assert!(run.facts().iter().all(|f| f.1 == "event time"));
        assert_eq!(run.value("u", 1, 20 * S), 10.0);
    }
}

/// Zero belongs to what lies below: the event is at the first tick on the new side.
#[test]
fn an_event_is_entered_on_the_far_side() {
    let bench = both("steps");
    for version in VERSIONS {
        for (falling, tick) in [(0, 300_000_001), (1, 300_000_000)] {
            let more = format!("interface = 'model-exchange'\nstart = {{ falling = {falling} }}");
            let run = bench.run(&unit(&format!("steps{version}"), &more), S / 2);
            assert_eq!(ticks(&run), [tick], "{version} {falling}");
            assert_eq!(run.value("u", 2, S / 2), 1.0);
        }
    }
}

#[test]
fn a_run_that_goes_back_is_the_straight_run() {
    let bench = both("bouncing");
    for version in VERSIONS {
        let text = unit(&format!("bouncing{version}"), "interface = 'model-exchange'");
        let straight = bench.run(&text, 3 * S);
        let mut run = bench.start(&text);
        run.to(S).unwrap();
        let saved = run.sim.save().unwrap();
        let bytes = run.sim.checkpoint().unwrap();
        for _ in 0..2 {
            run.to(3 * S).unwrap();
            assert_eq!(run.sim.trace_hash(), straight.sim.trace_hash());
            run.sim.restore(&saved).unwrap();
        }
        let mut fresh = bench.start(&text);
        fresh.sim.resume(&bytes).unwrap();
        fresh.to(3 * S).unwrap();
        assert_eq!(fresh.sim.trace_hash(), straight.sim.trace_hash());
    }
}

/// Receivers get polynomials that are as good as the exchange tolerance says.
#[test]
fn receivers_see_the_outputs() {
    let bench = both("vanderpol");
    let text = format!(
        "connections = ['u.x0 -> i.u', 't.x -> j.u']\n{}[unit.i]\nkind = 'integrator'\n\
         [unit.j]\nkind = 'integrator'\n[unit.t]\nkind = 'equations'\nstates = {{ x = 2, y = 0 }}\n\
         derivatives = {{ x = 'y', y = '(1 - x^2)*y - x' }}\noutputs = {{ x = 'x' }}\n",
        unit("vanderpol", "")
    );
    let run = bench.run(&text, 20 * S);
    let (own, twin) = (run.value("i", 0, 20 * S), run.value("j", 0, 20 * S));
    assert!((own - twin).abs() < 1e-5, "{own} and {twin}");
}

/// Co-simulation of FMI 2.0: a slave by RK4, with events of its own.
#[test]
fn fmi_2_co_simulation() {
    let bench = both("bouncing").fmu_2("vanderpol", &[]).fmu_2("steps", &[]);
    let more = "interface = 'co-simulation'\nstep = '10 ms'";
    let run = bench.run(&unit("bouncing2", more), 3 * S);
    assert_eq!(run.value("u", 2, 3 * S), 11.0);
    let run = bench.run(&unit("vanderpol2", more), 20 * S);
    assert!((run.value("u", 0, 20 * S) - 2.008_149_76).abs() < 1e-6);
    // It discards the step in which it ends, and says how far it came.
    let mut run = bench.start(&unit("steps2", "interface = 'co-simulation'\nstep = '0.4 s'"));
    let ended = format!("{:?}", run.sim.run_through(20 * S).unwrap());
    assert!(ended.contains("steps asks to end the run"), "{ended}");
}
