//! The worlds of `tests/mosaik/worlds.py` here and in mosaik itself: each simulator makes the steps that it makes there, at
//! the times that it makes them there, and hears the same values, to the bit.
use super::{Bench, python, root};
use std::process::Command;
use superdense::run::executor::Method;

/// An input or output with events.
const EVENTS: &str = "model = { trigger = ['u'], non-persistent = ['y'] }";

/// `port = …` for an input that hears an entity of mosaik's name.
fn hears(port: &str, source: &str, more: &str) -> String {
    format!("{port} = {{ attribute = '{port}', source = '{source}.Model_0'{more} }}")
}

fn scenario(stop: u32, connections: &str, units: &[String]) -> String {
    format!("stop = {stop}\nconnections = [{connections}]\n{}", units.concat())
}

/// Runs a world on both sides, and compares the logs.
fn same(world: &str, names: &[&str], text: impl Fn(&Bench) -> String) {
    let Some(python) = python("mosaik") else { return };
    let bench = Bench::new(world, python);
    let text = text(&bench);
    let mut command = Command::new(&bench.python);
    command.arg(root().join("tests/mosaik/worlds.py")).args([world, "."]);
    let output = command.current_dir(&bench.folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut hashes = Vec::new();
    for method in [Method::Sequential, Method::TimeWarp, Method::Conservative] {
        let done = bench.tried(&text, method).unwrap();
        hashes.push(done.summary.trace_hash.clone());
        for name in names {
            let (own, their) = (format!("{name}.log"), format!("mosaik-{name}.log"));
            let (own, their) = (bench.steps(&own), bench.steps(&their));
            assert!(their.len() > 3, "{world}: {name} made {} steps", their.len());
            assert_eq!(own, their, "{world}: {name}");
        }
    }
    assert!(hashes.windows(2).all(|h| h[0] == h[1]), "{world}: {hashes:?}");
}

#[test]
fn time_based_simulators_of_different_steps() {
    same("chain", &["a", "b", "c"], |b| {
        let ins = format!("inputs.{}\ninputs.{}", hears("u", "b", ""), hears("v", "a", ""));
        scenario(
            13,
            "'a.y -> b.u', 'b.y -> c.u', 'a.y -> c.v'",
            &[
                b.unit(
                    "a",
                    "step_size = 2",
                    "parameters = { bias = 0.1, drift = 0.01 }\noutputs = { y = 'y' }",
                ),
                b.unit(
                    "b",
                    "step_size = 3",
                    &format!(
                        "parameters = {{ gain = 3.0 }}\ninputs.{}\noutputs = {{ y = 'y' }}",
                        hears("u", "a", "")
                    ),
                ),
                b.unit("c", "step_size = 1", &ins),
            ],
        )
    });
}

#[test]
fn a_shifted_ring() {
    same("shifted", &["a", "b"], |b| {
        let shifted = hears("u", "b", ", shifted = true, initial = 4.0");
        scenario(
            20,
            "'a.y -> b.u', 'b.y -> a.u'",
            &[
                b.unit("a", "", &format!("parameters = {{ gain = 0.5, bias = 1.0 }}\ninputs.{shifted}\noutputs = {{ y = 'y' }}")),
                b.unit("b", "", &format!("parameters = {{ gain = -0.7, bias = 0.3 }}\ninputs.{}\noutputs = {{ y = 'y' }}", hears("u", "a", ""))),
            ],
        )
    });
}

/// The third simulator, behind the ring, steps once at a time, after the ring has come to rest.
#[test]
fn a_weak_ring() {
    same("weak", &["a", "b", "c"], |b| {
        let weak = hears("u", "b", ", event = 'real', weak = true");
        let out = "outputs.y = { attribute = 'y', event = 'real' }";
        let kind =
            |kind: &str, step: u32| format!("type = '{kind}', step_size = {step}, rest = 1e-3");
        scenario(
            12,
            "'a.y -> b.u', 'b.y -> a.u', 'b.y -> c.u'",
            &[
                b.unit(
                    "a",
                    &format!("{}, {EVENTS}", kind("hybrid", 3)),
                    &format!("parameters = {{ gain = 0.5, bias = 1.0 }}\ninputs.{weak}\n{out}"),
                ),
                b.unit(
                    "b",
                    &kind("event-based", 0),
                    &format!(
                        "parameters = {{ gain = -0.7, bias = 0.3 }}\ninputs.{}\n{out}",
                        hears("u", "a", ", event = 'real'")
                    ),
                ),
                b.unit(
                    "c",
                    "type = 'event-based', step_size = 0",
                    &format!("inputs.{}", hears("u", "b", ", event = 'real'")),
                ),
            ],
        )
    });
}

#[test]
fn time_based_hybrid_and_event_based_simulators() {
    same("mixed", &["a", "b", "c", "d"], |b| {
        let c = format!(
            "inputs.{}\ninputs.{}",
            hears("u", "b", ", event = 'real'"),
            hears("v", "a", "")
        );
        scenario(
            15,
            "'a.y -> c.v', 'b.y -> c.u', 'c.y -> d.u'",
            &[
                b.unit("a", "step_size = 2", "parameters = { bias = 0.1, drift = 0.3 }\noutputs = { y = 'y' }"),
                b.unit("b", "type = 'hybrid', step_size = 3, model = { non-persistent = ['y'] }", "parameters = { bias = 5.0, drift = 0.7 }\noutputs.y = { attribute = 'y', event = 'real' }"),
                b.unit("c", "type = 'hybrid', step_size = 4, model = { trigger = ['u'] }", &format!("parameters = {{ gain = 2.0 }}\n{c}\noutputs = {{ y = 'y' }}")),
                b.unit("d", "type = 'event-based', step_size = 0", &format!("inputs.{}", hears("u", "c", ""))),
            ],
        )
    });
}

#[test]
fn outputs_at_a_later_time() {
    same("later", &["a", "b"], |b| {
        scenario(
            16,
            "'a.y -> b.u'",
            &[
                b.unit("a", "type = 'hybrid', step_size = 4, later = 3, model = { non-persistent = ['y'] }", "parameters = { bias = 1.5, drift = 0.1 }\noutputs.y = { attribute = 'y', event = 'real' }"),
                b.unit("b", "type = 'event-based', step_size = 0", &format!("inputs.{}", hears("u", "a", ", event = 'real'"))),
            ],
        )
    });
}
