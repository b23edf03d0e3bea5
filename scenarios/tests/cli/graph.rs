//! `check --graph`: who depends on whom, and what goes round at one instant.
use super::{folder, good, json, read, superdense};
use std::fs;

const LOOP: &str = r#"
stop = 1
record = ["a.y"]
connections = ["a.y -> b.u", "b.y -> a.u", "a.x -> c.u", "c.y -> d.u"]
[unit.a]
kind = "equations"
states = { x = 1 }
inputs = { u = 0 }
let = { seen = "if u > 0 then GAIN*u else GAIN*u" }
derivatives = { x = "-x + u" }
outputs = { y = "x + seen", x = "x" }
[unit.b]
kind = "equations"
inputs = { u = 0 }
algebraic = { z = 0 }
residuals = { z = "z - u" }
outputs = { y = "z" }
method = "rodas"
[unit.c]
kind = "equations"
inputs = { u = 0 }
states = { x = 0 }
derivatives = { x = "u" }
outputs = { y = "x", mean = "x" }
[unit.d]
kind = "gain"
gain = 1
"#;

/// Loops through texts are found, with what a coupling does about them, and a run that fails in one
/// names it.
#[test]
fn algebraic_loops_are_found_in_texts() {
    let dir = folder("graph");
    fs::write(dir.join("loop.toml"), LOOP.replace("GAIN", "(-1.5)")).unwrap();
    let told = json(&good(&dir, "check loop.toml --graph --json --dot loop.dot"));
    let loops = told["graph"]["loops"].as_array().unwrap();
    assert_eq!(loops.len(), 1, "{told:#}");
    assert_eq!(loops[0]["what"], "algebraic loop");
    assert_eq!(loops[0]["path"], serde_json::json!(["a.y -> b.u", "b.y -> a.u"]));
    assert!(loops[0]["coupling"].is_null());
    let feed_through = |unit: usize| {
        let all = told["graph"]["units"][unit]["feed_through"].as_array().unwrap();
        all.iter().map(|p| format!("{} {} {}", p["input"], p["output"], p["how"])).collect()
    };
    let units: Vec<Vec<String>> = (0..4).map(feed_through).collect();
    let value =
        |input: &str, output: &str, how: &str| vec![format!("{input:?} {output:?} {how:?}")];
    assert_eq!(units[0], value("u", "y", "by value"), "not x, which is a state");
    assert_eq!(units[1], value("u", "y", "by value"), "through an algebraic variable");
    assert_eq!(units[2], Vec::<String>::new());
    assert_eq!(units[3], value("u", "y", "always"));
    let dot = read(&dir, "loop.dot");
    assert_eq!(dot.matches("color=red").count(), 2, "{dot}");
    assert_eq!(dot.matches(" -> n").count(), 4, "{dot}");
    let warned = |line: &str| {
        let output = superdense(&dir, line);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = warned("check loop.toml");
    assert!(code == Some(0) && said.contains("warning: algebraic loop: a.y -> b.u, b.y -> a.u"));
    let (code, said) = warned("run loop.toml --quiet");
    assert!(code == Some(3) && said.contains("note: algebraic loop: a.y -> b.u"), "{said}");
    let output = superdense(&dir, "run loop.toml --force --json");
    let told = super::json(&String::from_utf8_lossy(&output.stdout));
    assert!(told["notes"][0].as_str().unwrap().contains("a.y -> b.u, b.y -> a.u"), "{told:#}");
    // Errors have names, not numbers.
    let plain = LOOP.replace("GAIN", "(-1.5)").replace("method = \"rodas\"", "");
    let plain = plain.replace("algebraic = { z = 0 }\nresiduals = { z = \"z - u\" }\n", "");
    fs::write(dir.join("plain.toml"), plain.replace("{ y = \"z\" }", "{ y = \"u\" }")).unwrap();
    let (code, said) = warned("run plain.toml");
    assert!(code == Some(3) && said.contains("output `y` is not finite"), "{said}");
    // The remedy keeps its promise.
    let settled = "[coupling]\nstep = 0.1\nfeed_through = 'settled'\n[unit.a]";
    let text = LOOP.replace("GAIN", "(-0.5)").replacen("[unit.a]", settled, 1);
    fs::write(dir.join("settled.toml"), text).unwrap();
    let (code, said) = warned("run settled.toml --quiet");
    assert!(code == Some(0), "{said}");
    for (set, how) in [
        ("coupling.step=0.1", "settled at each exchange"),
        ("coupling.feed_through=delayed", "told at the next exchange"),
        ("coupling={step=0.1,iterate={}}", "solved by iteration"),
    ] {
        let told = json(&good(&dir, &format!("check settled.toml --graph --json --set {set}")));
        assert_eq!(told["graph"]["loops"][0]["coupling"], how, "{told:#}");
        assert_eq!(told["warnings"], serde_json::json!([]));
    }
}

/// Two equation units whose events answer each other: it depends on values whether that ends.
const PING: &str = r#"
stop = 1
connections = ["ping.out -> pong.in", "pong.out -> ping.in", "clock.y -> ping.start"]
[unit.clock]
kind = "clock"
period = 1
[unit.ping]
kind = "equations"
event_inputs = ["start", "in"]
event_outputs = ["out"]
discrete = { n = 0 }
outputs = { n = "n" }
on = [{ input = "start", emit = { out = "5" } }, { input = "in", reset = { n = "value - 1" } }]
[[unit.ping.event]]
name = "again"
when = "n > 0.5"
reset = { n = "0" }
emit = { out = "n" }
[unit.pong]
kind = "equations"
event_inputs = ["in"]
event_outputs = ["out"]
on = [{ input = "in", emit = { out = "value - 1" } }]
"#;

#[test]
fn loops_of_events_are_possible_or_certain() {
    let dir = folder("legitimate");
    fs::write(dir.join("ping.toml"), PING).unwrap();
    let output = superdense(&dir, "check ping.toml");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success());
    let path = "possible loop without delay: ping.out -> pong.in, pong.out -> ping.in";
    assert!(said.contains(path), "{said}");
    good(&dir, "run ping.toml --quiet");
    // An encoder may drop what it does not know; that it drops nothing is not known before.
    let endless = "stop = 1\nmicro_steps = 300\n\
        connections = ['c.y -> m.u1', 'm.y -> e.u', 'e.y -> m.u2']\n\
        [unit.c]\nkind = 'clock'\nperiod = 1\n[unit.m]\nkind = 'merge'\n\
        [unit.e]\nkind = 'encoder'\nmap = { 1 = 1 }\ndefault = 1\n";
    fs::write(dir.join("endless.toml"), endless).unwrap();
    good(&dir, "check endless.toml");
    let output = superdense(&dir, "run endless.toml");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said.contains("more than 300 micro-steps") && said.contains("`micro_steps`"), "{said}");
    assert!(said.contains("note: possible loop without delay: "), "{said}");
    let certain = endless.replace("'encoder'\nmap = { 1 = 1 }\ndefault = 1", "'scaler'");
    fs::write(dir.join("certain.toml"), certain).unwrap();
    assert_eq!(superdense(&dir, "check certain.toml").status.code(), Some(2));
}

/// Shipped scenarios have no loop that nothing breaks.
#[test]
fn shipped_scenarios_are_legitimate() {
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/library");
    let mut folders = vec![std::path::PathBuf::from(library)];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("studies") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") {
                seen += 1;
                let loaded =
                    superdense::load_with_graph(&path, &[], &superdense::Overrides::default());
                let (_, graph) = loaded.unwrap();
                let open: Vec<_> = graph.loops.iter().filter(|l| l.coupling.is_none()).collect();
                assert!(open.is_empty(), "{}: {open:?}", path.display());
            }
        }
    }
    assert!(seen > 30);
}

#[test]
fn conditions_that_never_change_are_told() {
    let dir = folder("idle");
    let text = "stop = 1\n[parameters]\nlimit = 3\n[unit.u]\nkind = 'equations'\n\
        states = { x = 0 }\nderivatives = { x = '1' }\ndiscrete = { n = 0, m = 0 }\n\
        [[unit.u.event]]\nname = 'fixed'\nwhen = 'limit > 5'\n\
        [[unit.u.event]]\nname = 'still'\nwhen = 'n > 5 or n < limit - 9'\n\
        [[unit.u.event]]\nname = 'moved'\nwhen = 'x > 5'\n\
        [[unit.u.event]]\nname = 'set'\nwhen = 'm > 5'\n\
        [[unit.u.event]]\nname = 'tick'\nat = 0.5\nreset = { m = 1 }\n";
    fs::write(dir.join("idle.toml"), text).unwrap();
    let told = json(&good(&dir, "check idle.toml --json"));
    let warnings: Vec<_> =
        told["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, name) in warnings.iter().zip(["fixed", "still"]) {
        assert!(warning.starts_with(&format!("u: event `{name}` never happens")), "{warning}");
    }
}
