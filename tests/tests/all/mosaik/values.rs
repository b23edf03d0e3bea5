//! Values between a simulator and other units, and their times.
use super::{Bench, rows};
use serde_json::json;

/// Inputs that nobody is connected to keep their values; held outputs leave one micro-step after the step.
#[test]
fn constant_inputs_and_held_outputs() {
    let Some(bench) = Bench::with_sim("held") else { return };
    let create = "count = 2\nparameters = { gain = 2.0, drift = 0.5 }\ninputs = { u = { attribute = 'u', initial = 3 } }\noutputs = { y = 'y' }";
    let unit = bench
        .unit("a", "step_size = 4", create)
        .replace("patience", "resolution = '1/4 s'\npatience");
    let done = bench.run(&format!("stop = 3\nrecord = ['a.y[0]', 'a.y[1]']\n{unit}"));
    let source = |eid: &str| json!({ eid: { "u": { "a.u[0]": 3 } } });
    let steps = bench.steps("a.log");
    assert_eq!(steps.len(), 3, "no step at the end");
    assert_eq!(steps[1][0], 4);
    assert_eq!(steps[1][1]["Model_0"], source("Model_0")["Model_0"]);
    assert_eq!(steps[1][1]["Model_2"]["u"], json!({ "a.u[1]": 3 }));
    let second = 1_000_000_000;
    let want = [(0, 1, "6,"), (second, 1, "8,"), (2 * second, 1, "10,")];
    for signal in ["a.y[0]", "a.y[1]"] {
        assert_eq!(rows(&done.trajectory, signal), want, "{}", done.trajectory);
    }
}

/// Signals have their value at the time of the step, to the bit; several inputs of an attribute are several sources, in
/// the order of the file.
#[test]
fn inputs_from_equations_and_blocks() {
    let Some(bench) = Bench::with_sim("inputs") else { return };
    let create = "inputs = { z = 'u', b = 'u' }\noutputs = { y = 'y' }";
    let text = format!(
        "stop = 2\nconnections = ['ramp.x -> double.u', 'double.y -> a.z', 'ramp.x -> a.b']\n\
         [unit.ramp]\nkind = 'equations'\nstates = {{ x = 0.1 }}\nderivatives = {{ x = '0.7' }}\noutputs = {{ x = 'x' }}\n\
         [unit.double]\nkind = 'gain'\ngain = 2\n{}",
        bench.unit("a", "", create).replace("patience", "resolution = '100 ms'\npatience")
    );
    bench.run(&text);
    let steps = bench.steps("a.log");
    assert_eq!(steps.len(), 20);
    let log = std::fs::read_to_string(bench.folder.join("a.log")).unwrap();
    assert!(log.lines().all(|l| l.find("double.y").unwrap() < l.find("ramp.x").unwrap()), "{log}");
    for (n, step) in steps.iter().enumerate() {
        let told = &step[1]["Model_0"]["u"];
        let x = 0.1 + 0.7 * (n as f64 * 0.1);
        for (source, want) in [("ramp.x", x), ("double.y", 2.0 * x)] {
            let x = told[source].as_f64().unwrap();
            assert!((x - want).abs() < 1e-12, "{source} at {n}: {x}");
        }
    }
}

/// Events of every type, there and back.
#[test]
fn events_of_all_types() {
    let Some(bench) = Bench::with_sim("events") else { return };
    let start = "type = 'event-based', step_size = 0";
    for (kind, values, told) in [
        ("real", "[1.5, -2]", [json!(1.5), json!(-2.0)]),
        ("any", "[true, 7]", [json!(true), json!(7)]),
    ] {
        let create = format!(
            "inputs = {{ u = {{ attribute = 'u', event = '{kind}' }} }}\n\
             outputs = {{ y = {{ attribute = 'y', event = 'any' }}, t = {{ attribute = 'text', event = 'text' }} }}"
        );
        let text = format!(
            "stop = 9\nrecord = ['a.y', 'a.t']\nconnections = ['s.y -> a.u']\n\
             [unit.s]\nkind = 'schedule'\ntimes = [2, 5]\nvalues = {values}\n{}",
            bench.unit("a", start, &create)
        );
        let done = bench.run(&text);
        let steps = bench.steps("a.log");
        let of = |time: i64, value| json!([time, { "Model_0": { "u": { "s.y": value } } }]);
        let [first, second] = told;
        assert_eq!(steps, [of(2, first), of(5, second)]);
        let texts = rows(&done.trajectory, "a.t");
        assert_eq!(texts.len(), 2, "{}", done.trajectory);
        assert!(texts[0].2.contains("at 2") && texts[0].1 == 1, "{texts:?}");
    }
}

/// A message between two times is refused, or heard at the next one.
#[test]
fn events_between_times() {
    let Some(bench) = Bench::with_sim("between") else { return };
    let start = "type = 'event-based', step_size = 0";
    let unit = bench.unit("a", start, "inputs = { u = { attribute = 'u', event = 'real' } }");
    let text = format!(
        "stop = 9\nconnections = ['s.y -> a.u']\n[unit.s]\nkind = 'schedule'\ntimes = [2.25, 5]\nvalues = [1.5, 2.5]\n{unit}"
    );
    let e = bench.fails(&text);
    assert!(e.contains("`u` at 2.25 s") && e.contains("rounding"), "{e}");
    bench.run(&text.replace("patience", "rounding = 'up'\npatience"));
    let times: Vec<_> = bench.steps("a.log").iter().map(|s| s[0].as_i64().unwrap()).collect();
    assert_eq!(times, [3, 5]);
}

/// A first event, children of entities, and what the simulator asks of its host.
#[test]
fn children_and_requests() {
    let Some(bench) = Bench::with_sim("asks") else { return };
    let create = "inputs = { u = { attribute = 'u', entity = 'Model_0-child', initial = 2 } }\n\
                  outputs = { y = { attribute = 'y', entity = 'Model_0-child', event = 'real' } }";
    let unit = bench.unit("a", "type = 'event-based', step_size = 2", create);
    let unit =
        unit.replace("sim.py", "sim.py --asks").replace("patience", "initial_event = 1\npatience");
    let done = bench.run(&format!("stop = 4\nrecord = ['a.y']\n{unit}"));
    assert_eq!(rows(&done.trajectory, "a.y").len(), 2, "{}", done.trajectory);
    let log = std::fs::read_to_string(bench.folder.join("a.log")).unwrap();
    let asked: Vec<serde_json::Value> =
        log.lines().step_by(2).map(|l| serde_json::from_str(l).unwrap()).collect();
    let child = json!({ "a.Model_0-child": { "type": "Child" } });
    assert_eq!((&asked[0][0], &asked[0][1], &asked[0][3]), (&json!(1), &json!(25.0), &child));
    assert_eq!(asked[0][2]["edges"], json!([["a.Model_0", "a.Model_0-child", {}]]));
    assert_eq!(bench.steps("a.log")[1], json!([1, { "Model_0-child": { "u": { "a.u": 2 } } }]));
}
