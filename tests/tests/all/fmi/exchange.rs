//! Model exchange in both versions, and co-simulation of FMI 2.0.
use super::{Bench, Run, S};
use superdense::{Overrides, load, load_with_graph};
use superdense_adapters::fmi::report;
use superdense_kernel::Simulation;

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

/// Directional derivatives give the same solution with fewer evaluations, and so do adjoint ones where there are no others.
#[test]
fn stiff_with_and_without_directional_derivatives() {
    let without =
        ("providesDirectionalDerivatives=\"true\"", "providesDirectionalDerivatives=\"false\"");
    let adjoint =
        ("providesDirectionalDerivatives=\"true\"", "providesAdjointDerivatives=\"true\"");
    let runs = [&[][..], &[without][..], &[adjoint][..]].map(|changes| {
        let bench = Bench::new("me-stiff").fmu("vanderpol", changes);
        let more = "solver = 'rodas'\ntolerance = 1e-7\nstart = { mu = 1000.0 }\nmax_step = 100.0";
        let run = bench.run(&unit("vanderpol", more), 2000 * S);
        (ticks(&run), count(&run, "evaluations"))
    });
    let [(with, few), (without, many), by_rows] = runs;
    assert_eq!(by_rows, (with.clone(), few), "rows and columns are one Jacobian");
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

/// A sine, a jump and a number that only events take drive an FMU and the equations that it has.
#[test]
fn driven_like_the_equations() {
    let bench = both("driven");
    for version in VERSIONS {
        let text = format!(
            "connections = ['s.y -> u.u', 's.y -> t.u', 'n.y -> u.n']\n{}\
             [unit.s]\nkind = 'sine'\nfrequency = 0.25\nexchange_tolerance = 1e-9\norder = 9\n\
             [unit.n]\nkind = 'step'\nat = 2.5\nfrom = 1\nto = 7\n\
             [unit.t]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = 'u - x' }}\noutputs = {{ x = 'x', y = '2*u + x' }}\n",
            unit(&format!("driven{version}"), "interface = 'model-exchange'")
        );
        let mut run = bench.start(&text);
        for k in 1..=40 {
            let at = k * S / 4;
            run.to(at).unwrap();
            let [x, y] = [0, 1].map(|p| run.value("u", p, at) - run.value("t", p, at));
            assert!(x.abs() < 1e-6 && y.abs() < 1e-6, "{version} {k}: {x} {y}");
        }
        // sin(pi t / 2) = 0.5 at a third, and at five thirds, of each period's first half.
        let found = ticks(&run);
        let expected = [1.0 / 3.0, 5.0 / 3.0, 13.0 / 3.0, 17.0 / 3.0, 25.0 / 3.0, 29.0 / 3.0];
        assert_eq!(found.len(), expected.len(), "{version}: {found:?}");
        for (tick, t) in found.iter().zip(expected) {
            assert!((*tick as f64 * 1e-9 - t).abs() < 1e-7, "{version}: {tick} and {t}");
        }
        assert_eq!(run.value("u", 3, 10 * S), 14.0, "twice the number");
    }
}

/// A jump of an input is an event of the FMU at the same instant.
#[test]
fn a_jump_of_an_input_is_an_event() {
    let bench = both("driven");
    for version in VERSIONS {
        let text = format!(
            "connections = ['s.y -> u.u']\n{}[unit.s]\nkind = 'step'\nat = 1.2345\nto = 3.0\n",
            unit(&format!("driven{version}"), "interface = 'model-exchange'")
        );
        let mut run = bench.start(&text);
        run.to(1_234_499_999).unwrap();
        assert_eq!(run.value("u", 2, 1_234_499_999), 0.0);
        run.to(1_234_500_000).unwrap();
        assert_eq!(run.value("u", 2, 1_234_500_000), 1.0);
        run.to(3 * S).unwrap();
        let x = 3.0 * (1.0 - (-(3.0 - 1.2345_f64)).exp());
        assert!((run.value("u", 0, 3 * S) - x).abs() < 1e-8);
        assert_eq!(ticks(&run), [0_i64; 0], "the event is the input's");
    }
}

/// Inputs that an FMU hears at the start belong to its initialisation, also through another FMU: its state begins in the
/// steady state, and its first event, the only one, sees the inputs.
#[test]
fn inputs_at_the_start_are_known_at_the_initialisation() {
    let bench = both("driven");
    for (version, interface) in
        [("", "model-exchange"), ("2", "model-exchange"), ("2", "co-simulation")]
    {
        let more = format!("interface = '{interface}'\nstart = {{ settled = 1 }}");
        let first = unit(&format!("driven{version}"), &more);
        let text = format!(
            "connections = ['s.y -> u.u', 'i.y -> u.n', 'u.x -> v.u']\n{first}{}\
             [unit.s]\nkind = 'constant'\nvalue = 5\n[unit.i]\nkind = 'constant'\nvalue = 7\n",
            first.replace("[unit.u]", "[unit.v]") + "unconnected = 'ok'\n"
        );
        let run = bench.run(&text, 3 * S);
        for (path, twice) in [("u", 14.0), ("v", 2.0)] {
            let values = [0, 2, 3, 4].map(|port| run.value(path, port, 3 * S));
            assert_eq!(values, [5.0, 1.0, twice, 1.0], "{interface} of FMI {version}: {path}");
        }
    }
}

/// An FMU without derivatives of its outputs: these go on along their last step, not constant, and bars are told to
/// lack its steps.
#[test]
fn outputs_without_derivatives_go_on_as_they_came() {
    let bench = both("driven");
    let more = "interface = 'co-simulation'\nstep = '0.1 s'\nstart = { u = 1 }\nunconnected = 'ok'";
    let scenario = unit("driven2", more) + "[unit.sum]\nkind = 'integrator'\n";
    let scenario = format!("connections = ['u.x -> sum.u']\n{scenario}");
    assert_eq!(bench.load(&scenario).unwrap().sampled, ["u"]);
    let sum = bench.run(&scenario, 105 * S / 100).value("sum", 0, 105 * S / 100);
    // Exactly 0.3999; 0.3674 if they are held.
    let wanted = 1.05 - (1.0 - (-1.05_f64).exp());
    assert!((sum / wanted - 1.0).abs() < 0.01, "{sum}, not {wanted}");
}

/// Steps of one length only, and no way back: a jump between two communication points acts from the second one on.
#[test]
fn inputs_do_not_act_before_they_come() {
    let fixed = ("canHandleVariableCommunicationStepSize=\"true\"", "");
    let bench = Bench::new("cs-fixed").fmu_2("driven", &[fixed]);
    let more =
        "interface = 'co-simulation'\nstep = '0.1 s'\nstate_access = false\nunconnected = 'ok'";
    let text = format!(
        "connections = ['s.y -> u.u']\n{}[unit.s]\nkind = 'step'\nat = '1.03 s'\n",
        unit("driven2", more)
    );
    let mut run = bench.start(&text);
    let mut x = |tenths: i64| {
        run.to(tenths * S / 10).unwrap();
        run.value("u", 0, tenths * S / 10)
    };
    assert_eq!((x(10), x(11)), (0.0, 0.0));
    let (is, wanted) = (x(12), 1.0 - (-0.1_f64).exp());
    assert!((is - wanted).abs() < 1e-3, "{is}, not {wanted}");
}

/// An FMU whose next time event is never later ends the run.
#[test]
fn time_events_that_stand_are_refused() {
    let bench = both("steps");
    for version in VERSIONS {
        let more = "interface = 'model-exchange'\nstart = { falling = 3 }";
        let mut run = bench.start(&unit(&format!("steps{version}"), more));
        let ended = format!("{:?}", run.sim.run_through(20 * S));
        assert!(ended.contains("followed each other within a tick"), "{version}: {ended}");
        assert!(!ended.contains("gave error"), "the FMU returned OK: {ended}");
    }
}

/// Quantities, and parameters that are quantities, start a variable in the unit in which the FMU counts it.
#[test]
fn start_values_are_converted() {
    let bench = Bench::new("cs-starts").fmu("mass", &[("unit=\"m\"", "unit=\"mm\"")]);
    let text = |start: &str| {
        let more = format!("unconnected = 'ok'\nstart = {{ x = {start} }}");
        format!("[parameters]\nlong = '2 cm'\nheavy = '3 kg'\n{}", unit("mass", &more))
    };
    for (start, wanted) in [("'long'", 20.0), ("'0.5 m'", 500.0), ("7", 7.0)] {
        let found = bench.run(&text(start), 0).value("u", 0, 0);
        assert!((found - wanted).abs() < 1e-9, "{start}: {found}, not {wanted}");
    }
    for wrong in ["'heavy'", "'1 s'", "'1 furlong'"] {
        let refused = format!("{:?}", bench.load(&text(wrong)).map(drop).unwrap_err());
        assert!(refused.contains("start value of `x`"), "{refused}");
    }
}

/// Nothing converts between a port in millimetres and one in metres.
#[test]
fn units_that_are_no_si_base_units_are_not_mixed_with_these() {
    let bench = Bench::new("cs-units").fmu("mass", &[("unit=\"m\"", "unit=\"mm\"")]);
    let text = |declared: &str| {
        format!(
            "connections = ['u.x -> e.u']\n{}[unit.e]\nkind = 'equations'\n\
             inputs = {{ u = {declared} }}\noutputs = {{ y = 'u' }}\n",
            unit("mass", "unconnected = 'ok'")
        )
    };
    let refused = format!("{:?}", bench.load(&text("'0 m'")).map(drop).unwrap_err());
    assert!(
        refused.contains("`u.x` counts in mm") && refused.contains("gain = 0.001"),
        "{refused}"
    );
    assert!(bench.load(&text("0")).is_ok(), "an input without a unit takes it as it is");
}

/// An FMU may have no states at all: time events, and indicators of time.
#[test]
fn without_states() {
    let none = ("<Derivatives><Unknown index=\"2\"/></Derivatives>", "");
    let bench = Bench::new("me-none").fmu_2("steps", &[none]);
    let mut run =
        bench.start(&unit("steps2", "interface = 'model-exchange'\nstart = { edge = 4.3 }"));
    let ended = format!("{:?}", run.sim.run_through(20 * S).unwrap());
    assert!(ended.contains("steps asks to end the run"), "{ended}");
    let found = ticks(&run);
    assert_eq!(found.len(), 10, "{found:?}");
    assert!(found.contains(&9_000_000_000) && found.iter().any(|t| (t - 4_300_000_000).abs() < 2));
}

/// Implicit solvers, and fixed steps, see inputs as explicit ones do.
#[test]
fn solvers_agree_under_inputs() {
    let bench = both("driven");
    let run = |solver: &str| {
        let more = format!("interface = 'model-exchange'\nsolver = '{solver}'\nstep = '1 ms'");
        let text = format!(
            "connections = ['s.y -> u.u']\n{}[unit.s]\nkind = 'sine'\nfrequency = 0.25\n\
             exchange_tolerance = 1e-9\norder = 9\n",
            unit("driven", &more)
        );
        bench.run(&text, 5 * S).value("u", 0, 5 * S)
    };
    let best = run("rk45");
    for (solver, off) in [("rodas", 1e-7), ("rk4", 1e-9), ("rk23", 1e-6), ("euler", 1e-2)] {
        let x = run(solver);
        assert!((x - best).abs() < off, "{solver}: {x} and {best}");
    }
}

/// Under a master, as a unit of equations.
#[test]
fn in_a_coupled_group() {
    let bench = both("driven");
    for policy in ["", ", iterate = { tolerance = 1e-10 }"] {
        let text = |plant: &str| {
            format!(
                "connections = ['u.x -> o.x', 'o.u -> u.u']\n\
                 coupling = {{ step = '50 ms', extrapolation = 1{policy} }}\n{plant}\
                 [unit.o]\nkind = 'equations'\ninputs = {{ x = 0 }}\nstates = {{ w = 1 }}\n\
                 derivatives = {{ w = '-x' }}\noutputs = {{ u = 'w' }}\nexchange_tolerance = 1e-9\n"
            )
        };
        let fmu = text(&unit(
            "driven",
            "start = { rate = 2.0 }\nexchange_tolerance = 1e-9\nignore = ['n']",
        ));
        let twin = text(
            "[unit.u]\nkind = 'equations'\ninputs = { u = 0 }\nstates = { x = 0 }\n\
            derivatives = { x = '2*(u - x)' }\noutputs = { x = 'x' }\nexchange_tolerance = 1e-9\n",
        );
        let [black, white] = [fmu, twin].map(|text| bench.run(&text, 5 * S).value("u", 0, 5 * S));
        assert!((black - white).abs() < 1e-6, "{policy}: {black} and {white}");
    }
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

/// An FMU needs no scenario: its default experiment is one.
#[test]
fn alone() {
    let bench = both("bouncing").fmu_2("vanderpol", &[]).fmu("driven", &[]);
    for (file, stop) in [("bouncing.fmu", 3), ("bouncing2.fmu", 3), ("vanderpol2.fmu", 20)] {
        let file = bench.0.join(file);
        let plan = load(&file, &[], &Overrides::default()).unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(plan.stop, stop * S);
        assert!(plan.record.len() >= 4, "{}", plan.record.len());
        let options = plan.options();
        let mut sim = Simulation::new(plan.model, options).unwrap();
        sim.run_through(stop * S).unwrap();
    }
    let info = report::info(&bench.0.join("driven.fmu")).unwrap();
    assert_eq!((info.states, info.indicators, info.inputs.len()), (1, 1, 2));
    let text = info.text();
    for part in ["driven (FMI 3.0)", "model-exchange: state access", "directional", "  n Int32"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for name in ["bouncing.fmu", "bouncing2.fmu", "driven.fmu"] {
        assert_eq!(report::check(&bench.0.join(name)), Ok(report::Verdict::default()));
    }
}

/// What an archive tells of its FMU is what a run finds: a binary of another name is none, and a tool that is needed
/// may be there.
#[test]
fn verdicts_on_archives() {
    let own = "modelIdentifier=\"driven\"";
    let other = [(own, "modelIdentifier=\"other\"")];
    let told = report::check(&Bench::new("named").fmu("driven", &other).0.join("driven.fmu"));
    let problems = told.unwrap().problems;
    let wanted = "other.so, which the modelIdentifier for model-exchange names; there is driven.so";
    assert!(problems.iter().any(|p| p.contains(wanted)), "{problems:?}");
    let tool = format!("{own} needsExecutionTool=\"true\"");
    let bench = Bench::new("tool").fmu("driven", &[(own, &tool)]);
    let told = report::check(&bench.0.join("driven.fmu")).unwrap();
    assert_eq!((told.problems.len(), told.remarks.len()), (0, 1), "{told:?}");
}

/// Loop warnings know what an output depends on.
#[test]
fn only_declared_dependencies_are_passed_on() {
    let bench = both("driven");
    let file = bench.0.join("scenario.toml");
    for version in VERSIONS {
        let text = format!("stop = 1\n{}", unit(&format!("driven{version}"), ""));
        std::fs::write(&file, text).unwrap();
        let (_, graph) = load_with_graph(&file, &[], &Overrides::default()).unwrap();
        let at_once = &graph.units[0].at_once;
        let of = |output: &str| -> Vec<&str> {
            at_once.iter().filter(|p| p.1 == output).map(|p| p.0.as_str()).collect()
        };
        assert_eq!((of("x"), of("y")), (vec![], vec!["u"]), "{version}: {at_once:?}");
        // The model structure says nothing of this one.
        assert_eq!(of("events"), ["u", "n"]);
    }
}

/// Structural parameters decide how many ports there are.
#[test]
fn arrays_have_the_sizes_of_structural_parameters() {
    let bench = Bench::new("me-space").fmu("space", &[]);
    for (n, more) in [(2, ""), (4, "structure = { n = 4 }"), (5, "structure = { n = 5 }")] {
        let start = (1..=n).map(|i| (10 - i).to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "connections = ['s.y -> u.u_1']\n{}[unit.s]\nkind = 'step'\nat = 0.5\nto = 1.0\n",
            unit("space", &format!("{more}\nstart = {{ x = [{start}] }}"))
        );
        let run = bench.run(&text, 2 * S);
        // The mean goes by itself: its rate is k + (n - 1) c.
        let (rate, n) = (1.0 + 0.25 * f64::from(n - 1), f64::from(n));
        let mean = 10.0 - (n + 1.0) / 2.0;
        let expected = mean * (-2.0 * rate).exp() + (1.0 - (-1.5 * rate).exp()) / rate / n;
        let sum: f64 = (0..n as u16).map(|port| run.value("u", port, 2 * S)).sum();
        assert!((sum / n - expected).abs() < 1e-7, "{n}: {} and {expected}", sum / n);
    }
    for (lines, part) in [
        ("structure = { n = 6 }", "6 is not within 1 … 5"),
        ("structure = { m = 2 }", "`m` is no structural parameter"),
        ("structure = { n = 0.5 }", "no table of whole numbers"),
        ("start = { x = [1, 2, 3] }", "3 values for 2 elements"),
    ] {
        let Err(e) = bench.load(&unit("space", lines)) else { panic!("{lines}") };
        assert!(format!("{e:?}").contains(part), "{lines}: {e:?}");
    }
}

/// The answer of an FMU to an exchange is no jump of its own: under `interrupt` receivers go on to be told polynomials.
#[test]
fn answers_to_an_exchange_are_no_jumps() {
    let bench = both("driven");
    for version in VERSIONS {
        let run = |events: &str, order: u8| {
            let part = |name: &str, x: f64, rate: f64| {
                let keys = format!("start = {{ x = {x}, rate = {rate} }}\nunconnected = 'ok'");
                let own = unit(&format!("driven{version}"), &keys);
                own.replace("unit.u", &format!("unit.{name}"))
            };
            let text = format!(
                "connections = ['a.x -> b.u', 'b.x -> a.u']\n\
                 coupling = {{ step = '10 ms', extrapolation = {order}, events = '{events}' }}\n{}{}",
                part("a", 2.0, 2.0),
                part("b", 3.0, -3.0)
            );
            let run = bench.run(&text, S);
            // a' = 2 (b - a), b' = 3 (b - a).
            let wanted = 2.0 * 1.0_f64.exp();
            ((run.value("a", 0, S) - wanted).abs(), count(&run, "exchanges"))
        };
        for order in [0, 1, 2] {
            let (wait, few) = run("wait", order);
            let (interrupt, many) = run("interrupt", order);
            assert!((wait - interrupt).abs() < 1e-5, "{version} {order}: {wait} {interrupt}");
            assert!(many <= few + 4, "{version} {order}: {many} exchanges, {few}");
        }
        let [held, polynomials] = [0, 2].map(|order| run("interrupt", order).0);
        assert!(polynomials < 0.1 * held, "{version}: {polynomials} and {held}");
    }
}
