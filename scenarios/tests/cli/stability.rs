//! `check --stability`: spectral radii of couplings. What papers print of them is checked by
//! `reproduce`.
use serde_json::Value as Json;

/// x' = -x + u, both ways: with zero-order hold x_{k+1} = q x_k + (1 - q) x'_k, q = exp(-H). The
/// sum of both stays, the difference is multiplied by 2q - 1.
const PAIR: &str = r#"
stop = "1 s"
sample = "none"
connections = ["a.x -> b.u", "b.x -> a.u"]
[parameters]
H = 0.1
loss = 0.0
bend = 0.0
[coupling]
step = "H"
[unit.a]
kind = "equations"
inputs = { u = 0.0 }
states = { x = 1.0 }
derivatives = { x = "-x + (1 - loss)*u - bend*x^2" }
outputs = { x = "x" }
tolerance = 1e-12
absolute_tolerance = 1e-12
[unit.b]
kind = "equations"
inputs = { u = 0.0 }
states = { x = 0.0 }
derivatives = { x = "-x + (1 - loss)*u" }
outputs = { x = "x" }
tolerance = 1e-12
absolute_tolerance = 1e-12
"#;

fn radii(dir: &std::path::Path, options: &str) -> Vec<f64> {
    let told = super::json(&super::good(dir, &format!("check pair.toml --json {options}")));
    let steps = told["stability"]["steps"].as_array().unwrap();
    assert_eq!(told["stability"]["exchange"], 0.0, "no output follows an input at once");
    let radius = |s: &Json| s["radius"].as_f64().unwrap();
    steps.iter().map(radius).collect()
}

#[test]
fn radii_of_a_pair() {
    let dir = super::folder("stability");
    std::fs::write(dir.join("pair.toml"), PAIR).unwrap();
    for r in radii(&dir, "--stability H=0.1,1 --plot radii.svg") {
        assert!((r - 1.0).abs() < 1e-9, "nothing is lost: {r}");
    }
    assert!(super::read(&dir, "radii.svg").contains("ρ(A(H))"));
    let text = super::good(&dir, "check pair.toml --stability H=0.1,0.3,1");
    assert_eq!(text.matches("on the border").count(), 3, "{text}");
    for (h, r) in [0.1f64, 2.0].into_iter().zip(radii(&dir, "--set loss=0.5 --stability H=0.1,2")) {
        let q = (-h).exp();
        assert!((r - (q + 0.5 * (1.0 - q))).abs() < 1e-9, "H = {h}: {r}");
    }
    // With extrapolation the master remembers: what it remembers is found by stacking steps.
    let line = "--set loss=0.5 --set coupling.extrapolation=1 --stability H=0.1";
    let r = radii(&dir, line)[0];
    assert!((r - (-0.05f64).exp()).abs() < 1e-3, "{r}: nearly the exact exp(-H/2)");
    let text = super::good(&dir, "check pair.toml --set loss=0.5 --stability H=0.1");
    assert!(text.contains("macro step 0.1 s") && text.contains("stable"), "{text}");
}

/// Two lags under a zero-order hold, a' = -a + b and b' = -b/2 - 0.8 a, with tolerances as they come: radii of the matrix
/// of a step for all of 40 macro steps.
#[test]
fn radii_do_not_depend_on_tolerances() {
    let dir = super::folder("stability-lags");
    let unit = |name: &str, derivative: &str| {
        format!(
            "[unit.{name}]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '{derivative}' }}\noutputs = {{ x = 'x' }}\n"
        )
    };
    let head = "stop = 4\nconnections = ['a.x -> b.u', 'b.x -> a.u']\nparameters = { H = 0.1 }\n\
                coupling = { step = 'H' }\n";
    let text = head.to_owned() + &unit("a", "-x + u") + &unit("b", "-0.5*x - 0.8*u");
    std::fs::write(dir.join("pair.toml"), text).unwrap();
    let steps: Vec<f64> = (1..=40).map(|k| f64::from(k) / 20.0).collect();
    let list: Vec<String> = steps.iter().map(f64::to_string).collect();
    let found = radii(&dir, &format!("--stability H={}", list.join(",")));
    assert_eq!(found.len(), steps.len());
    for (h, found) in steps.into_iter().zip(found) {
        let (p, q) = ((-h).exp(), (-0.5 * h).exp());
        let (half, det) = (0.5 * (p + q), p * q + 1.6 * (1.0 - p) * (1.0 - q));
        let root = half * half - det;
        let radius = if root < 0.0 { det.sqrt() } else { half + root.sqrt() };
        assert!((found - radius).abs() < 1e-4, "H = {h}: {found}, not {radius}");
    }
}

#[test]
fn what_cannot_be_analysed_is_refused() {
    let dir = super::folder("stability-refused");
    std::fs::write(dir.join("pair.toml"), PAIR).unwrap();
    std::fs::write(dir.join("alone.toml"), "stop = 1\n[unit.s]\nkind = \"sine\"\nfrequency = 1\n")
        .unwrap();
    for (line, why) in [
        ("pair.toml --set bend=1 --stability H=0.1", "H = 0.1: the scenario is not linear"),
        ("alone.toml --stability stop=1", "no equation unit of the scenario has an input"),
        ("pair.toml --stability H=-1", "positive seconds"),
        ("pair.toml --stability K=1", "no `K` to set"),
    ] {
        let output = super::superdense(&dir, &format!("check {line}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{line}: {said}");
    }
}

/// Linear units under a policy that does not answer in proportion: the message names the policy.
#[test]
fn policies_that_are_not_linear_are_named() {
    let dir = super::folder("stability-policies");
    std::fs::write(dir.join("pair.toml"), PAIR).unwrap();
    for (policy, name) in [
        ("coupling.power=[[\"a.x\",\"b.x\"]]", "by `power` is not in proportion"),
        ("coupling.tolerance=1e-3", "by `tolerance` is not in proportion"),
    ] {
        let output =
            super::superdense(&dir, &format!("check pair.toml --set {policy} --stability H=0.1"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(name), "{policy}: {said}");
        assert!(!said.contains("linear unit"), "{said}");
    }
}

/// A scenario that is linear only as long as a state is positive.
#[test]
fn other_signs_and_sizes_are_tried() {
    let dir = super::folder("stability-switched");
    let one = |name: &str, derivative: &str| {
        format!(
            "[unit.{name}]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = \"{derivative}\" }}\noutputs = {{ x = 'x' }}\n"
        )
    };
    let head = "stop = 4\nconnections = ['a.x -> b.u', 'b.x -> a.u']\n[coupling]\nstep = 0.1\n";
    for (wrong, what) in [
        ("if x > 0 then -x + u else 5*x + u", "state `x` of unit `b`"),
        ("-x + u - max(x - 2, 0)", "state `x` of unit `b`"),
        ("-x + u + min(0, x*u)", "state `x` of unit `b`"),
    ] {
        let text = head.to_owned() + &one("a", "-x - u") + &one("b", wrong);
        std::fs::write(dir.join("switched.toml"), text).unwrap();
        let output = super::superdense(&dir, "check switched.toml --stability coupling.step=0.1");
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = output.status.code() == Some(2) && said.contains("is not linear");
        assert!(refused && said.contains(what), "{wrong}: {said}");
    }
}

/// Two units that make a damped oscillation together; one of them switches between two speeds, at
/// which the ellipse lies or stands.
const SWITCHED: &str = r#"
stop = "1 s"
connections = ["a.x -> b.u", "b.y -> a.u"]
[parameters]
H = 0.1
damping = 0.1
[unit.a]
kind = "equations"
inputs = { u = 0.0 }
states = { x = 1.0 }
outputs = { x = "x" }
tolerance = 1e-12
absolute_tolerance = 1e-12
[unit.a.mode.wide]
derivatives = { x = "-damping*x + 3*u" }
event = [{ name = "narrow", when = "x < -1", to = "narrow" }]
[unit.a.mode.narrow]
derivatives = { x = "-damping*x + u/3" }
event = [{ name = "widen", when = "x > 1", to = "wide" }]
[unit.b]
kind = "equations"
inputs = { u = 0.0 }
states = { y = 0.0 }
outputs = { y = "y" }
tolerance = 1e-12
absolute_tolerance = 1e-12
[unit.b.mode.wide]
derivatives = { y = "-damping*y - u/3" }
event = [{ name = "narrow", when = "y < -1", to = "narrow" }]
[unit.b.mode.narrow]
derivatives = { y = "-damping*y - 3*u" }
event = [{ name = "widen", when = "y > 1", to = "wide" }]
"#;

/// The report on a switched scenario: radii of its modes, bounds, a sequence that grows, and how
/// long modes have to last.
#[test]
fn switching_may_make_stable_modes_grow() {
    let dir = super::folder("stability-modes");
    std::fs::write(dir.join("modes.toml"), SWITCHED).unwrap();
    let line = "check modes.toml --stability H=0.4 --plot modes.svg";
    let told = super::json(&super::good(&dir, &format!("{line} --json")));
    let switched = &told["stability"]["steps"][0]["switched"];
    let modes = switched["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 4, "{told:#}");
    assert_eq!(modes[0]["mode"], "a.wide, b.wide");
    for mode in modes {
        // Without a coupling units follow each other between exchanges: the exact solution.
        let radius = mode["radius"].as_f64().unwrap();
        assert!((radius - (-0.04f64).exp()).abs() < 1e-6, "{mode}");
    }
    let (lower, upper) = (switched["lower"].as_f64().unwrap(), switched["upper"].as_f64().unwrap());
    assert!(lower > 1.2 && lower <= upper && upper < 2.0, "{lower} {upper}");
    assert!(switched["growing"]["growth"].as_f64().unwrap() > 1.2);
    let sequence = switched["growing"]["sequence"].as_array().unwrap();
    assert!(sequence.len() > 1 && sequence.iter().all(|s| s["steps"].as_u64().unwrap() > 0));
    assert!(switched["dwell"].as_f64().unwrap() > 0.4);
    assert!(super::read(&dir, "modes.svg").contains("any switching, at most"));
    let text = super::good(&dir, line);
    assert!(text.contains("unstable: grows by") && text.contains("each mode lasts"), "{text}");
    // So much damping that no switching matters.
    let text = super::good(&dir, "check modes.toml --stability H=0.4 --set damping=3");
    assert!(text.contains("any switching") && !text.contains("unstable"), "{text}");
    // A master of fixed steps is in the matrices; one that remembers exchanges is refused.
    let coupled = "check modes.toml --stability H=0.4 --set";
    let line = format!("{coupled} coupling={{step='H'}} --json");
    let told = super::json(&super::good(&dir, &line));
    let radius = told["stability"]["steps"][0]["switched"]["modes"][0]["radius"].as_f64().unwrap();
    assert!((radius - (-0.04f64).exp()).abs() > 1e-3, "not the exact solution: {radius}");
    let resets = SWITCHED.replace("to = \"narrow\"", "to = \"narrow\", reset = { damp = \"1\" }");
    std::fs::write(
        dir.join("resets.toml"),
        resets.replace("states =", "discrete = { damp = 0 }\nstates ="),
    )
    .unwrap();
    for (line, why) in [
        (
            "modes.toml --stability H=0.4 --set coupling={step='H',extrapolation=1}",
            "remembers no earlier",
        ),
        ("resets.toml --stability H=0.4", "an event of unit `a` resets"),
    ] {
        let output = super::superdense(&dir, &format!("check {line}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{line}: {said}");
    }
}

/// A master that exchanges in some macro steps only has no matrix of one macro step.
#[test]
fn inner_steps_go_into_macro_steps() {
    let dir = super::folder("stability-inner");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/library/papers/003_hierarchical.toml");
    for (h, inner) in [("0.004", "0.025"), ("0.03", "0.025"), ("0.1", "0.03")] {
        let line = format!("check {file} --set H2={inner} --stability H={h}");
        let output = super::superdense(&dir, &line);
        let said = String::from_utf8_lossy(&output.stderr);
        let wanted =
            format!("the step of the coupling of `rest`, {inner} s, does not go into macro steps");
        assert!(output.status.code() == Some(2) && said.contains(&wanted), "{line}: {said}");
        assert!(said.contains(&format!("H = {h}")) && said.contains("take multiples"), "{said}");
    }
    for inner in ["0.004", "H", "H/3"] {
        super::good(&dir, &format!("check {file} --set H2={inner} --stability H=0.004"));
    }
}

/// The masters that look back farthest, against the spectral radius of a step matrix that was set
/// up by hand: three units, x' = a x + b u + c v, which hear the other two.
#[test]
fn masters_that_remember_much() {
    let dir = super::folder("stability-memory");
    let unit = |k: usize, [a, b, c]: [f64; 3]| {
        format!(
            "[unit.n{k}]\nkind = 'equations'\nmethod = 'closed'\nsegment_order = 12\n\
             inputs = {{ u = 0, v = 0 }}\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '{a}*x + {b}*u + {c}*v' }}\noutputs = {{ x = 'x' }}\n"
        )
    };
    let coefficients = [[-0.37, -0.1, -0.29], [-1.79, 0.93, 0.61], [-1.78, -0.79, -0.02]];
    let units: String = coefficients.into_iter().enumerate().map(|(k, c)| unit(k, c)).collect();
    let text = format!(
        "stop = 2\nresolution = 'ps'\nconnections = ['n1.x -> n0.u', 'n2.x -> n0.v', 'n0.x -> n1.u', \
         'n2.x -> n1.v', 'n0.x -> n2.u', 'n1.x -> n2.v']\n[parameters]\nH = 0.1\n[coupling]\n\
         step = 'H'\norder = 'jacobi'\nextrapolation = 3\nslopes = 'samples'\n\
         compensation = 'nepce'\n{units}"
    );
    std::fs::write(dir.join("pair.toml"), text).unwrap();
    for (found, wanted) in
        radii(&dir, "--stability H=0.2,0.4,1").into_iter().zip([1.1645, 1.3205, 1.6861])
    {
        assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
    }
}
