//! Constraints on states: equations of index 2 and 3, which are differentiated until they have index 1.
use super::continuous::{Ran, S};
use superdense::{Overrides, load};

const METHODS: [&str; 3] = ["rodas", "taylor", "auto"];

fn pendulum(start: &str) -> String {
    format!(
        "[unit.p]\nkind = 'equations'\nMETHOD\nparameters = {{ g = 9.81 }}\n\
         states = {{ {start} }}\nalgebraic = {{ pull = 0 }}\n\
         derivatives = {{ x = 'u', y = 'v', u = '-pull*x', v = '-pull*y - g' }}\n\
         residuals = {{ pull = 'x^2 + y^2 - 1' }}\n\
         outputs = {{ x = 'x', y = 'y', length = 'x^2 + y^2', along = 'x*u + y*v', pull = 'pull' }}"
    )
}

fn ran(text: &str, method: &str, stop: i64) -> Ran {
    let ran = Ran::with(text, method, stop);
    ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
    ran
}

/// The pendulum in Cartesian coordinates is of index 3. The figures at 2 s are those of its angle,
/// a'' = -g sin(a), by a method of order 8 at 1e-13.
#[test]
fn pendulum_in_cartesian_coordinates() {
    let text = pendulum("x = 0.6, y = -0.8, u = 0, v = 0");
    for method in METHODS {
        let run = ran(&text, method, 2 * S);
        let [x, y, length, along, pull] = [0, 1, 2, 3, 4].map(|port| run.output("p", port, 2 * S));
        assert!((x - 0.591_721_540_114_210_6).abs() < 1e-8, "{method}: {x}");
        assert!((y + 0.806_142_430_941_869_3).abs() < 1e-8, "{method}: {y}");
        // Energy gives the speed, and that the pull: v² + g·(-y), per length.
        let pulled = 2.0 * 9.81 * (-0.8 - y) - 9.81 * y;
        assert!((pull - pulled).abs() < 1e-6, "{method}: {pull} {pulled}");
        assert!((length - 1.0).abs() < 1e-8 && along.abs() < 1e-8, "{method}: {length} {along}");
    }
}

/// The constraint and its derivative are equations, so that nothing drifts.
#[test]
fn constraints_do_not_drift() {
    let text = pendulum("x = 0.6, y = -0.8, u = 0, v = 0");
    for k in [7, 31, 100] {
        let run = ran(&text, "taylor", k * S);
        let [length, along] = [2, 3].map(|port| run.output("p", port, k * S));
        assert!((length - 1.0).abs() < 1e-8 && along.abs() < 1e-8, "{k} s: {length} {along}");
    }
}

/// Index 2: shafts that are one, capacitors in parallel; index 3: a bead on a straight wire, which is affine.
#[test]
fn closed_forms() {
    let shafts = "states = { a = 0, b = 0 }\nalgebraic = { torque = 0 }\n\
        derivatives = { a = '(6 - torque)/1', b = 'torque/2' }\nresiduals = { torque = 'a - b' }\n\
        outputs = { a = 'a', b = 'b', torque = 'torque' }";
    let capacitors = "states = { p = 1, q = 1 }\nalgebraic = { i = 0 }\n\
        derivatives = { p = '(-p/2 - i)/0.5', q = 'i/1.5' }\nresiduals = { i = 'p - q' }\n\
        outputs = { p = 'p', q = 'q', i = 'i' }";
    let bead = "states = { x = 0, y = 0, u = 0, v = 0 }\nalgebraic = { push = 0 }\n\
        derivatives = { x = 'u', y = 'v', u = '-push', v = 'push - 9.81' }\n\
        residuals = { push = 'x - y' }\noutputs = { x = 'x', y = 'y', push = 'push' }";
    // Together 2 F over 2 Ohm: q' = -q/4, and i = 1.5 q'.
    let left = f64::exp(-0.25);
    for (text, exact) in [
        // 6 N m on 1 + 2 kg m²: 2 rad/s², which take 4 N m on the second.
        (shafts, [2.0, 2.0, 4.0]),
        (capacitors, [left, left, -0.375 * left]),
        (bead, [-9.81 / 4.0, -9.81 / 4.0, 9.81 / 2.0]),
    ] {
        for method in ["rodas", "taylor", "auto", "closed"] {
            let run = ran(&format!("[unit.p]\nkind = 'equations'\nMETHOD\n{text}"), method, S);
            for (port, exact) in (0..).zip(exact) {
                let end = run.output("p", port, S);
                assert!(
                    (end - exact).abs() < 1e-8,
                    "{method}: output {port} is {end}, not {exact}"
                );
            }
        }
    }
}

/// The mistakes of a scenario, if it has any.
fn refused(text: &str) -> Option<String> {
    let name = format!("index-{}.toml", std::process::id());
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text = text.replace("METHOD", "method = 'taylor'");
    std::fs::write(&file, format!("stop = 1\n{text}")).unwrap();
    let mistakes = load(&file, &[], &Overrides::default()).err().map(|all| all.to_string());
    std::fs::remove_file(&file).unwrap();
    // Without the frame of a snippet and its line breaks.
    mistakes.map(|text| text.replace('|', " ").split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Which constraints are refused, and where states that were chosen once fail.
#[test]
fn refusals_name_the_constraint() {
    let good = pendulum("x = 0.6, y = -0.8, u = 0, v = 0");
    for (from, to, parts) in [
        ("y = -0.8", "y = -0.7", ["`pull`", "initial values are not on it"]),
        ("u = 0", "u = 0.1", ["derivative 1 of it is 1.2", "and their speeds"]),
        ("'x^2 + y^2 - 1'", "'x^2 + y^2 - 1 + t - t'", ["", ""]),
        ("'x^2 + y^2 - 1'", "'0*x'", ["contains no algebraic variable", "index > 1"]),
        ("'x^2 + y^2 - 1'", "'x^2 + y^2 - far'", ["reads an input", "`pull`"]),
    ] {
        let text = good.replace(from, to).replace("METHOD", "METHOD\ninputs = { far = 1 }");
        match refused(&text) {
            None => assert!(parts[0].is_empty(), "{to} is taken"),
            Some(why) => {
                let all = !parts[0].is_empty() && parts.iter().all(|part| why.contains(part));
                assert!(all, "{to}: {why}");
            }
        }
    }
    // From the horizontal, where x follows from y, through the lowest point, where it does not.
    let flat = pendulum("x = 1, y = 0, u = 0, v = 0");
    let why = Ran::with(&flat, "rodas", S).end.unwrap_err().to_string();
    assert!(why.contains("`x`, `u` were chosen") && why.contains("method \"taylor\""), "{why}");
    // The remedy; figures of the angle again.
    let run = ran(&flat, "taylor", S);
    let [x, y] = [0, 1].map(|port| run.output("p", port, S));
    assert!((x + 0.986_291_751_131_875).abs() < 1e-7, "{x}");
    assert!((y + 0.165_010_853_125_543).abs() < 1e-7, "{y}");
}

/// A reset of a state that follows from a constraint is no reset: it is told, unless the constraint agrees.
#[test]
fn resets_of_dependent_states_are_kept_or_refused() {
    let text = "[unit.r]\nkind = 'equations'\nMETHOD\nstates = { A = 1, B = 2 }\nalgebraic = { rate = 0 }\n\
                derivatives = { A = '-rate - 0.1*A', B = 'rate - 0.3*B' }\nresiduals = { rate = 'B - 2*A' }\n\
                outputs = { A = 'A', B = 'B' }\n[[unit.r.event]]\nname = 'dose'\nat = 1\nreset = { RESET }";
    for method in ["rodas", "taylor", "auto"] {
        let dosed = |reset: &str| Ran::with(&text.replace("RESET", reset), method, 2 * S);
        let both = dosed("A = 'A + 0.5', B = 'B + 1'");
        both.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        // Both decay together: (A + B)' = -0.1 A - 0.3 B is A' = -7/30 A.
        let exact = ((-7.0 / 30.0f64).exp() + 0.5) * (-7.0 / 30.0f64).exp();
        let found = both.output("r", 0, 2 * S);
        assert!((found - exact).abs() < 1e-8, "{method}: {found}, not {exact}");
        // One of the two follows from the other, which may be set alone.
        let alone = ["A = 'A + 1.5'", "B = 'B + 1.5'"].map(|reset| dosed(reset).end.err());
        let told: Vec<String> = alone.into_iter().flatten().map(|e| e.to_string()).collect();
        let [why] = &told[..] else { panic!("{method}: {told:?}") };
        assert!(why.contains("were chosen at the start to follow from the constraints"), "{why}");
    }
}
