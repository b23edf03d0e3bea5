//! Groups that repeat their macro steps and hear from outside: what comes in ends the step.
use super::{assert_equal_results, folder, good, json, library::number, read};
use std::path::{Path, PathBuf};

/// Two masses in a group, and outside a third that bounces, so that what it tells the group jumps, and a
/// clock that kicks one of them.
const MASSES: &str = r#"
stop = "2 s"
sample = "0.05 s"
connections = ["pair.x -> outer.u", "outer.w -> pair.u", "clock.y -> pair.kick"]
record = ["pair.a.x", "pair.b.x", "outer.w"]
[unit.outer]
kind = "equations"
states = { y = 1.0, w = 0.0 }
inputs = { u = 0.0 }
derivatives = { y = "w", w = "-4*y + u" }
outputs = { w = "w" }
[[unit.outer.event]]
name = "bounce"
when = "y <= 0.05 and w < 0"
reset = { w = "-0.9*w" }
[unit.clock]
kind = "clock"
period = "0.3 s"
[unit.pair]
template = "pair"
[template.pair]
inputs = { u = "a.w", kick = "a.kick" }
outputs = { x = "b.x" }
connections = ["a.x -> b.u", "b.x -> a.u"]
[template.pair.unit.a]
kind = "equations"
states = { x = 1.0, v = 0.0 }
inputs = { u = 0.0, w = 1.0 }
event_inputs = ["kick"]
derivatives = { x = "v", v = "-2*x + u + w" }
outputs = { x = "x" }
[[template.pair.unit.a.on]]
input = "kick"
reset = { v = "v + 0.2" }
[template.pair.unit.b]
kind = "equations"
states = { x = 0.0, v = 0.0 }
inputs = { u = 1.0 }
derivatives = { x = "v", v = "-2*x - 0.1*v + u" }
outputs = { x = "x" }
"#;

fn masses(name: &str) -> PathBuf {
    let dir = folder(name);
    std::fs::write(dir.join("masses.toml"), MASSES).unwrap();
    dir
}

/// Samples under couplings inside of the group and around it.
fn samples(dir: &Path, inside: &str, around: &str) -> Vec<Vec<f64>> {
    let sets = [("template.pair.coupling", inside), ("coupling", around)];
    let mut line = "run masses.toml --force --out run".to_owned();
    for (place, policy) in sets.iter().filter(|s| !s.1.is_empty()) {
        line += &format!(" --set {place}={{{policy}}}");
    }
    good(dir, &line);
    let text = read(&dir.join("run"), "samples.csv");
    text.lines().skip(1).map(|l| l.split(',').map(number).collect()).collect()
}

fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let each = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs());
    each.fold(0.0, f64::max)
}

/// Inputs that come when the group exchanges anyway make no difference, but for what units that are kicked
/// tell of themselves anew: it does what one does that never repeats anything.
#[test]
fn inputs_at_exchanges_change_nothing() {
    let dir = masses("nested-exchanges");
    for order in [0, 1] {
        let around = format!("step=\"0.1s\",extrapolation={order}");
        let inside = format!("step=\"0.02s\",extrapolation={order}");
        let once = samples(&dir, &inside, &around);
        let tried = samples(&dir, &format!("{inside},iterate={{corrections=0}}"), &around);
        let off = distance(&once, &tried);
        assert!(off < 1e-7, "order {order}: {off}");
    }
}

/// Pieces and jumps that come at any time end steps, under every policy that repeats them.
#[test]
fn inputs_end_steps() {
    let dir = masses("nested-inputs");
    let exact = samples(&dir, "", "");
    let error = |h: &str, policy: &str| {
        let inside = format!("step=\"{h}s\",extrapolation=1,{policy}");
        distance(&samples(&dir, &inside, ""), &exact)
    };
    for policy in ["iterate={corrections=1}", "iterate={}"] {
        let [long, short] = ["0.1", "0.025"].map(|h| error(h, policy));
        assert!(long < 1e-3 && short < 0.2 * long, "{policy}: {long}, {short}");
    }
    let courses = error("0.1", "iterate={method=\"waveform\"}");
    assert!(courses < 1e-6, "{courses}");
    for policy in [
        "correction=\"pessimistic\"",
        "correction=\"selective\"",
        "estimate=\"doubling\",correction=\"pessimistic\"",
        "estimate=\"multi-order\"",
        "estimate=\"embedded\",correction=\"pessimistic\"",
        "estimate=\"parallel-embedded\",iterate={}",
    ] {
        let controlled = error("0.1", &format!("{policy},tolerance=1e-4"));
        assert!(controlled < 3e-3, "{policy}: {controlled}");
    }
}

/// Groups that repeat steps in a group that does keep the order.
#[test]
fn repeated_steps_within_repeated_steps() {
    let dir = masses("nested-repeated");
    let exact = samples(&dir, "", "");
    let error = |around: &str, inside: &str| {
        let policy =
            |h: &str| format!("step=\"{h}s\",extrapolation=1,events=\"interrupt\",iterate={{}}");
        distance(&samples(&dir, &policy(inside), &policy(around)), &exact)
    };
    let (long, short) = (error("0.1", "0.05"), error("0.025", "0.0125"));
    assert!(long < 1e-2 && short < 0.1 * long, "{long}, {short}");
}

/// A group of two units that repeats steps of 10 ms, in one that repeats steps into which these do not go.
const FINER: &str = r#"
stop = "1 s"
connections = ["a.x -> sub.xa", "sub.f -> a.f"]
[coupling]
step = "100 ms"
extrapolation = 2
iterate = {}
[unit.a]
kind = "equations"
inputs = { f = 0 }
states = { x = 1, v = 0 }
derivatives = { x = "v", v = "-x + f" }
outputs = { x = "x" }
[unit.sub]
template = "two"
[template.two]
inputs = { xa = "b.xa" }
outputs = { f = "b.f" }
connections = ["b.x -> c.xb", "c.x -> b.xc"]
[template.two.coupling]
step = "10 ms"
extrapolation = 2
iterate = {}
[template.two.unit.b]
kind = "equations"
inputs = { xa = 1, xc = 0 }
states = { x = 0, v = 0 }
derivatives = { x = "v", v = "2*(xa - x) + 3*(xc - x)" }
outputs = { x = "x", f = "2*(x - xa)" }
[template.two.unit.c]
kind = "equations"
inputs = { xb = 0 }
states = { x = 0, v = 0 }
derivatives = { x = "v", v = "3*(xb - x) - 0.1*v" }
outputs = { x = "x" }
[result]
x = "final(sub.c.x)"
"#;

/// An input of a group comes at some micro-step, and its units answer one later; its trial counts as they do.
#[test]
fn inner_steps_need_not_go_into_outer_ones() {
    let dir = folder("nested-finer");
    std::fs::write(dir.join("finer.toml"), FINER).unwrap();
    let x = |policy: &str| {
        good(&dir, &format!("run finer.toml --quiet --force --out run {policy}"));
        json(&read(&dir.join("run"), "summary.json"))["results"]["x"].as_f64().unwrap()
    };
    let exact = x("--set coupling.step=0.01");
    for policy in [
        "coupling.step=0.025",
        "coupling.step=0.013 --set coupling.iterate={method=\"waveform\"}",
        "coupling.step=0.025 --set coupling.iterate={method=\"waveform\"}",
        "coupling.step=0.025 --set coupling.tolerance=1e-7 --set coupling.estimate=\"milne\"",
    ] {
        let found = x(&format!("--set {policy}"));
        assert!((found - exact).abs() < 2e-5, "{policy}: {found} and {exact}");
    }
}

/// `check` knows the group, its inputs, and its rings.
#[test]
fn checks_of_them() {
    let dir = masses("nested-check");
    let set = "--set template.pair.coupling={step=\"0.1s\",iterate={}}";
    let told = good(&dir, &format!("check masses.toml --graph --policies {set}"));
    assert!(told.contains("outer.w") && told.contains("iterate = {}"), "{told}");
}

/// Nested simulations under rollbacks.
#[test]
fn rollbacks_leave_no_trace_in_them() {
    let dir = masses("nested-rollbacks");
    let set = "--set template.pair.coupling={step=\"0.05s\",extrapolation=1,iterate={}}";
    good(&dir, &format!("run masses.toml --out one {set}"));
    good(&dir, &format!("run masses.toml --out two {set} --executor time-warp --workers 2"));
    assert_equal_results(&dir.join("one"), &dir.join("two"));
}
