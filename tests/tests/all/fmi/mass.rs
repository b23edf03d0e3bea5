//! A mass on a spring: state access or none, inputs inside steps, derivatives.
use super::{Bench, S, WITHOUT};
use superdense_adapters::fmi::{archive::describe, instance::Instance};
use superdense_tests::fmu;

fn text(step: &str) -> String {
    format!(
        "connections = ['force.y -> mass.F', 'force.y -> twin.F']\n\
         [unit.force]\nkind = 'sine'\namplitude = 2.0\nfrequency = 0.3\nexchange_tolerance = 1e-9\norder = 12\n\
         [unit.mass]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '{step}'\n\
         [unit.twin]\nkind = 'equations'\ninputs = {{ F = 0 }}\nstates = {{ x = 1, v = 0 }}\n\
         derivatives = {{ x = 'v', v = 'F - 4*x - 0.5*v' }}\noutputs = {{ x = 'x', v = 'v' }}\n"
    )
}

const NO_UPDATE: (&str, &str) =
    ("providesIntermediateUpdate=\"true\"", "providesIntermediateUpdate=\"false\"");

/// Largest distance of the two trajectories.
fn error(bench: &Bench, step: &str) -> f64 {
    let mut run = bench.start(&text(step));
    let mut worst = 0.0_f64;
    for k in 1..=40 {
        let at = k * S / 4;
        run.to(at).unwrap();
        worst = worst.max((run.value("mass", 0, at) - run.value("twin", 0, at)).abs());
    }
    worst
}

#[test]
fn trajectories_are_those_of_the_equations() {
    for (name, changes) in [("with", &[][..]), ("without", &[WITHOUT][..])] {
        let bench = Bench::new(&format!("mass-{name}")).fmu("mass", changes);
        let e = error(&bench, "50 ms");
        assert!(e < 1e-6, "{name} state access: {e}; inputs follow their segments inside steps");
    }
}

#[test]
fn inputs_are_held_without_intermediate_update() {
    // Held inputs make it a method of first order in the time between exchanges.
    for (name, changes) in [("with", &[NO_UPDATE][..]), ("without", &[NO_UPDATE, WITHOUT][..])] {
        let bench = Bench::new(&format!("held-{name}")).fmu("mass", changes);
        let (a, b) = (error(&bench, "10 ms"), error(&bench, "5 ms"));
        assert!(a > 1e-4, "{name}: {a} is better than inputs that are held");
        let ratio = a / b;
        assert!((1.7..2.3).contains(&ratio), "{name}: halving the step gives {ratio}");
    }
}

#[test]
fn an_input_between_communication_points_cuts_the_step() {
    // A step of the force at an odd time, one that no communication point meets.
    for changes in [&[][..], &[WITHOUT][..]] {
        let bench = Bench::new("cut").fmu("mass", changes);
        let text = text("100 ms").replace(
            "kind = 'sine'\namplitude = 2.0\nfrequency = 0.3\nexchange_tolerance = 1e-9\norder = 12",
            "kind = 'step'\nat = 1.2345\nto = 3.0",
        );
        let run = bench.run(&text, 3 * S);
        let error = (run.value("mass", 0, 3 * S) - run.value("twin", 0, 3 * S)).abs();
        assert!(error < 1e-7, "{error}");
        let rejected = run.sim.statistics()["rejected_steps"];
        assert_eq!(rejected > 0, changes.is_empty(), "{rejected}");
    }
}

#[test]
fn going_back_and_resuming_give_the_straight_run() {
    let bench = Bench::new("mass-back").fmu("mass", &[]);
    let text = text("70 ms");
    let straight = bench.run(&text, 6 * S);
    let mut run = bench.start(&text);
    for (save, on) in [(S / 3, 2 * S), (S, 5 * S), (11 * S / 7, 6 * S)] {
        run.to(save).unwrap();
        let saved = run.sim.save().unwrap();
        let bytes = run.sim.checkpoint().unwrap();
        run.to(on).unwrap();
        run.sim.restore(&saved).unwrap();
        assert_eq!(run.sim.checkpoint().unwrap(), bytes, "restored byte for byte");
        let mut fresh = bench.start(&text);
        fresh.sim.resume(&bytes).unwrap();
        fresh.to(6 * S).unwrap();
        assert_eq!(fresh.sim.trace_hash(), straight.sim.trace_hash());
    }
    run.to(6 * S).unwrap();
    assert_eq!(run.sim.trace_hash(), straight.sim.trace_hash());
}

#[test]
fn without_state_access_snapshots_are_refused() {
    let bench = Bench::new("mass-none").fmu("mass", &[WITHOUT]);
    let mut run = bench.start(&text("50 ms"));
    run.to(S).unwrap();
    let saved = run.sim.save().err().unwrap().to_string();
    let bytes = run.sim.checkpoint().unwrap_err().to_string();
    assert!(saved.contains("mass") && saved.contains("canGetAndSetFMUState"), "{saved}");
    assert!(bytes.contains("canSerializeFMUState"), "{bytes}");
}

/// An FMU without state access goes back by making its calls again, to the bits of one with it.
#[test]
fn calls_that_are_made_again_bring_back() {
    let with = Bench::new("mass-with").fmu("mass", &[]);
    let without = Bench::new("mass-replay").fmu("mass", &[WITHOUT]);
    let replay = format!("{BLACK}\nreplay = true");
    for policy in ["iterate = { tolerance = 1e-10 }", "iterate = { method = 'newton' }"] {
        let wanted = with.run(&repeated(BLACK, policy), 2 * S);
        let found = without.run(&repeated(&replay, policy), 2 * S);
        assert_eq!(found.value("mass", 0, 2 * S), wanted.value("mass", 0, 2 * S), "{policy}");
    }
    let own = |text: String| text.replace("kind = 'fmu'", "kind = 'fmu'\nreplay = true");
    let straight = without.run(&own(text("50 ms")), 3 * S);
    let access = with.run(&text("50 ms"), 3 * S);
    assert_eq!(straight.value("mass", 0, 3 * S), access.value("mass", 0, 3 * S));
    // Back to two points, the second of which lies in a future that is left then.
    let mut run = without.start(&own(text("50 ms")));
    run.to(S).unwrap();
    let first = run.sim.save().unwrap();
    run.to(2 * S).unwrap();
    let second = run.sim.save().unwrap();
    run.to(3 * S).unwrap();
    for saved in [&first, &second, &first] {
        run.sim.restore(saved).unwrap();
        run.to(3 * S).unwrap();
        assert_eq!(run.sim.trace_hash(), straight.sim.trace_hash());
    }
}

#[test]
fn directional_derivatives() {
    let bench = Bench::new("directional");
    let file = fmu::build(&bench.0, "mass", &[]);
    let description = describe(&file).unwrap();
    let interface = description.co_simulation.clone().unwrap();
    assert!(interface.directional);
    let instance = Instance::new(&file, &description, &interface, "m", &[], None).unwrap();
    instance.begin(None).unwrap();
    instance.initialised(false).unwrap();
    let of = |name: &str| description.variable(name).unwrap().reference;
    let gain = instance.directional(&[of("a"), of("x")], &[of("F")], &[2.0]).unwrap();
    assert_eq!(gain, [2.0, 0.0], "a = (F - c x - d v) / m");
}

/// A mass and a spring to a second one, each macro step repeated: the mass as an FMU or as equations.
fn repeated(mass: &str, policy: &str) -> String {
    format!(
        "connections = ['mass.x -> other.x1', 'mass.v -> other.v1', 'other.f -> mass.F']\n\
         coupling = {{ step = '100 ms', extrapolation = 1, {policy} }}\n\
         [unit.mass]\n{mass}\n\
         [unit.other]\nkind = 'equations'\ninputs = {{ x1 = 1, v1 = 0 }}\nstates = {{ y = 0, w = 0 }}\n\
         derivatives = {{ y = 'w', w = 'x1 - 3*y + v1 - w' }}\noutputs = {{ f = 'y - x1 + w - v1' }}\n\
         exchange_tolerance = 1e-9\n"
    )
}

const BLACK: &str = "kind = 'fmu'\npath = 'mass.fmu'\nstep = '10 ms'";

/// A black box with state access corrects and refuses macro steps as equations do.
#[test]
fn macro_steps_are_repeated() {
    let white = "kind = 'equations'\ninputs = { F = 0 }\nstates = { x = 1, v = 0 }\n\
                 derivatives = { x = 'v', v = 'F - 4*x - 0.5*v' }\noutputs = { x = 'x', v = 'v' }\n\
                 exchange_tolerance = 1e-9";
    for policy in [
        "iterate = { tolerance = 1e-10 }",
        "iterate = { method = 'newton' }",
        "tolerance = 1e-3, estimate = 'doubling', correction = 'pessimistic'",
    ] {
        let bench = Bench::new("mass-repeated").fmu("mass", &[]);
        let mut runs = [BLACK, white].map(|mass| bench.start(&repeated(mass, policy)));
        for k in 1..=20 {
            let at = k * S / 5;
            let [black, white] = [0, 1].map(|r: usize| {
                runs[r].to(at).unwrap();
                runs[r].value("mass", 0, at)
            });
            assert!((black - white).abs() < 2e-4, "{policy}, {at}: {black} and {white}");
        }
        let count = |r: usize, name: &str| runs[r].sim.statistics().get(name).copied();
        let repeated = |r| count(r, "corrections").max(count(r, "refused_macro_steps"));
        assert!(repeated(0) > Some(0), "{policy}");
    }
}

#[test]
fn without_state_access_macro_steps_are_not_repeated() {
    let bench = Bench::new("mass-once").fmu("mass", &[WITHOUT]);
    let Err(mistakes) = bench.load(&repeated(BLACK, "iterate = {}")) else { panic!("a mistake") };
    let said = format!("{mistakes}");
    for part in ["repeats steps", "mass", "canGetAndSetFMUState", "without `iterate`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
