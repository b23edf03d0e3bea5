//! `check --policies`: what a coupling could be, told before it is tried.

/// Two units in a group with an input, and a third outside.
const GROUPED: &str = r#"
stop = "1 s"
connections = ["inner.x -> outer.u", "outer.y -> inner.u"]
[coupling]
step = "0.1 s"
extrapolation = 1
events = "interrupt"
[unit.inner]
template = "pair"
[unit.outer]
kind = "equations"
inputs = { u = 0.0 }
states = { y = 0.0 }
derivatives = { y = "u - y" }
outputs = { y = "y" }
[template.pair]
inputs = { u = "a.w" }
outputs = { x = "b.x" }
connections = ["a.x -> b.u", "b.x -> a.u"]
coupling = { step = "0.02 s" }
[template.pair.unit.a]
kind = "equations"
inputs = { u = 0.0, w = 0.0 }
states = { x = 1.0 }
derivatives = { x = "-x + u + w" }
outputs = { x = "x" }
[template.pair.unit.b]
kind = "equations"
inputs = { u = 0.0 }
states = { x = 0.0 }
derivatives = { x = "-x + u" }
outputs = { x = "x" }
"#;

#[test]
fn every_group_has_its_table() {
    let dir = super::folder("policies");
    std::fs::write(dir.join("grouped.toml"), GROUPED).unwrap();
    let told = super::json(&super::good(&dir, "check grouped.toml --policies --json"));
    let groups = told["couplings"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for (group, name) in [(&groups[0], ""), (&groups[1], "inner")] {
        assert_eq!(group["group"], name);
        for policy in group["policies"].as_array().unwrap() {
            let line = policy["policy"].as_str().unwrap();
            // Inputs would end whole steps.
            let refused = !name.is_empty() && line.starts_with("pre_step");
            assert_eq!(policy["possible"], !refused, "{name}: {policy}");
            // The table and the loader say the same.
            // (Courses are not for events = "interrupt", whatever the units are.)
            if let Some((key @ ("iterate" | "pre_step"), value @ ("{}" | "\"100 us\""))) =
                line.split_once(" = ").filter(|_| !name.is_empty())
            {
                let value = value.replace(' ', "");
                let line = format!("check grouped.toml --set template.pair.coupling.{key}={value}");
                assert_eq!(super::superdense(&dir, &line).status.success(), !refused, "{line}");
            }
        }
        let used = |line: &str| {
            let all = group["policies"].as_array().unwrap();
            all.iter().find(|p| p["policy"] == line).unwrap()["used"] == true
        };
        assert!(used("step = \"10 ms\""));
        assert_eq!(used("extrapolation = 1"), name.is_empty());
        assert_eq!(used("events = \"interrupt\""), name.is_empty());
        assert!(!used("order = \"gauss-seidel\"") && !used("iterate = {}"));
    }
    let text = super::good(&dir, "check grouped.toml --policies");
    for part in ["coupling of the scenario", "coupling of inner", "impossible", "instead"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without the option only what stands in is told, and here nothing does.
    assert!(!super::good(&dir, "check grouped.toml").contains("coupling of"));
}

/// A scenario without a coupling is told which it could have.
#[test]
fn before_there_is_a_coupling() {
    let dir = super::folder("policies-none");
    let text = GROUPED
        .replace("[coupling]\nstep = \"0.1 s\"\nextrapolation = 1\nevents = \"interrupt\"\n", "");
    let text = text.replace("coupling = { step = \"0.02 s\" }\n", "");
    std::fs::write(dir.join("free.toml"), text).unwrap();
    let told = super::good(&dir, "check free.toml --policies");
    assert!(told.contains("that a [coupling] of the scenario could have"), "{told}");
    assert!(told.contains("iterate = {}") && !told.contains("impossible"), "{told}");
}

/// Shared events forbid policies that tell what is not true at their start; `check`, `check --policies` and
/// `run` agree.
#[test]
fn shared_events_forbid_policies() {
    let dir = super::folder("policies-links");
    let link = "[[link]]\nname = \"hit\"\nunits = [\"inner\", \"outer\"]\nwhen = \"inner.x >= outer.y\"\n\
                reset = { \"inner.x\" = \"0\" }\n";
    let unit = "kind = \"equations\"\ninputs = { u = 0 }\nstates = { x = -1 }\nderivatives = { x = \"1 + u\" }\n\
                outputs = { x = \"x\" }\n";
    let flat = GROUPED.replace("template = \"pair\"\n", unit);
    let flat = &flat[..flat.find("[template.pair]").unwrap()];
    std::fs::write(dir.join("flat.toml"), format!("{flat}{link}")).unwrap();
    let told = super::json(&super::good(&dir, "check flat.toml --policies --json"));
    let possible = |line: &str| {
        let all = told["couplings"][0]["policies"].as_array().unwrap();
        all.iter().find(|p| p["policy"] == line).unwrap()["possible"].as_bool().unwrap()
    };
    assert!(possible("iterate = {}"));
    assert!(!possible("iterate = { method = \"waveform\" }") && !possible("pre_step = \"100 us\""));
    for (set, good) in [
        ("coupling.iterate={}", true),
        ("coupling.iterate={method=\"waveform\"}", false),
        ("coupling={step=\"0.1s\",pre_step=\"10ms\"}", false),
        ("coupling={step=\"0.1s\",extrapolation=1,iterate={}}", false),
        ("coupling={step=\"0.1s\",events=\"interrupt\",iterate={}}", false),
        (
            "coupling={step=\"0.1s\",extrapolation=1,orders={\"inner.x\"=0},events=\"interrupt\",iterate={}}",
            false,
        ),
    ] {
        for command in ["check flat.toml", "run flat.toml --quiet --force --out out"] {
            let output = super::superdense(&dir, &format!("{command} --set {set}"));
            assert_eq!(output.status.success(), good, "{command}: {set}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(good || said.contains("[[link]]"), "{command}: {set}: {said}");
        }
    }
}
