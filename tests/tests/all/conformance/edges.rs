//! Conditions at the edge of rounding: crossings that lie on ticks, thresholds that are left with no
//! slope, shared events whose members compute the last bit in another way.
use super::continuous::{Ran, S};

const METHODS: [&str; 8] = ["rk45", "rk23", "taylor", "closed", "rodas", "qss2", "qss3", "auto"];

/// How often events happen, and what ports of units are at the end.
fn run(text: &str, method: &str, stop: i64, ports: &[(&str, u16)]) -> (usize, Vec<f64>) {
    let ran = Ran::with(text, method, stop);
    ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
    (ran.facts.len(), ports.iter().map(|&(unit, port)| ran.output(unit, port, stop)).collect())
}

/// A strict condition whose crossing lies on a tick is computed to be false there; it happens once.
#[test]
fn strict_conditions_on_ticks_happen_once() {
    for condition in ["x > TH", "TH < x", "not x <= TH", "x > TH and x < TH + 10"] {
        for (start, threshold, slope) in
            [(19.5, 20.0, 1.0), (0.0, 1.0, 0.5), (-3.0, 0.0, 2.0), (19.99, 20.0, 1e-2)]
        {
            for method in METHODS {
                let text = format!(
                    "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = {start} }}\n\
                     discrete = {{ n = 0 }}\nderivatives = {{ x = '{slope}' }}\n\
                     outputs = {{ n = 'n' }}\n[[unit.a.event]]\nname = 'hot'\n\
                     when = '{}'\nreset = {{ n = 'n + 1' }}",
                    condition.replace("TH", &threshold.to_string())
                );
                let told = run(&text, method, 3 * S, &[("a", 0)]);
                assert_eq!(told, (1, vec![1.0]), "{condition}, {start}, {method}");
            }
        }
    }
}

/// A state that leaves its threshold from rest, which rounding hides for thousands of ticks: one event,
/// and one change of a switching function.
#[test]
fn thresholds_that_are_left_from_rest() {
    for threshold in [1.0, 101_325.0] {
        for (rate, opened) in [("if p > TH then 1 else 0", 2.0), ("max(p - TH, 0)", 8.0 / 3.0)] {
            for method in ["rk45", "rk23", "taylor", "closed", "auto"] {
                let text = format!(
                    "connections = ['heater.y -> vessel.f']\n\
                     [unit.heater]\nkind = 'step'\nat = 1\nto = 2\n\
                     [unit.vessel]\nkind = 'equations'\nMETHOD\ninputs = {{ f = 0 }}\n\
                     states = {{ p = {threshold}, v = 0, q = 0 }}\ndiscrete = {{ n = 0 }}\n\
                     derivatives = {{ p = 'v', v = 'f', q = '{}' }}\noutputs = {{ n = 'n', q = 'q' }}\n\
                     [[unit.vessel.event]]\nname = 'open'\nwhen = 'p > {threshold}'\n\
                     reset = {{ n = 'n + 1' }}",
                    rate.replace("TH", &threshold.to_string())
                );
                let (events, at) = run(&text, method, 3 * S, &[("vessel", 0), ("vessel", 1)]);
                assert_eq!((events, at[0]), (1, 1.0), "{threshold}, {rate}, {method}");
                assert!((at[1] - opened).abs() < 1e-5, "{threshold}, {rate}, {method}: {}", at[1]);
            }
        }
    }
}

/// Two balls of equal mass exchange their velocities, wherever they meet: no side jumps alone.
#[test]
fn members_of_a_shared_event_jump_together() {
    for condition in ["a.x >= b.x and a.v > b.v", "a.x > b.x and a.v > b.v"] {
        for (gap, fast, slow) in
            [(1.0, 1.0, 0.0), (6.0, 3.0, 0.0), (2.0, 1.0, -1.0), (0.7, 0.3, 0.1)]
        {
            for method in METHODS {
                let ball = |name: &str, x: f64, v: f64| {
                    format!(
                        "[unit.{name}]\nkind = 'equations'\nMETHOD\nstates = {{ x = {x}, v = {v} }}\n\
                         derivatives = {{ x = 'v', v = '0' }}\noutputs = {{ x = 'x', v = 'v' }}\n"
                    )
                };
                let text = format!(
                    "{}{}[[link]]\nname = 'ab'\nunits = ['a', 'b']\nwhen = '{condition}'\n\
                     reset = {{ 'a.v' = 'b.v', 'b.v' = 'a.v' }}",
                    ball("a", 0.0, fast),
                    ball("b", gap, slow)
                );
                let told = run(&text, method, 5 * S, &[("a", 1), ("b", 1)]);
                assert_eq!(told, (1, vec![slow, fast]), "{condition}, {gap}, {method}");
            }
        }
    }
}

/// Where members cannot agree because of rounding alone, the run ends and says what to do.
#[test]
fn proposals_that_are_always_refused_are_an_error() {
    let unit = |name: &str| {
        format!(
            "[unit.{name}]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '1' }}\noutputs = {{ x = 'x' }}\n"
        )
    };
    let text = format!(
        "{}{}[[link]]\nname = 'hit'\nunits = ['a', 'b']\nwhen = 'a.x > b.x'\n\
         reset = {{ 'a.x' = 'b.x', 'b.x' = 'a.x' }}",
        unit("a"),
        unit("b")
    );
    let told = Ran::with(&text, "rk45", S).end.expect_err("no end").to_string();
    assert!(told.contains("shared event 'hit' was proposed 1000 times in a row"), "{told}");
    assert!(told.contains("leave a margin above rounding"), "{told}");
}

/// A reset onto the surface, from where the state leaves it: quantised states, too, do not fall through.
#[test]
fn resets_onto_the_surface() {
    for method in ["qss1", "qss2", "qss3", "liqss1", "liqss2", "mliqss2", "rk45", "closed"] {
        let text = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1.25, v = 0 }\n\
                    derivatives = { x = 'v', v = '-10' }\noutputs = { x = 'x' }\n\
                    [[unit.a.event]]\nname = 'b'\nwhen = 'x <= 0'\nreset = { x = 0, v = '-v' }";
        assert_eq!(run(text, method, 3 * S, &[]).0, 3, "{method}");
    }
}

/// Switching functions within switching functions, and together with events of the unit at the same
/// instant: as quadrature says.
#[test]
fn switching_functions_within_others() {
    let cases = [
        ("if mod(t, 1) < 0.5 then 1 else -1", 0.2),
        ("abs(mod(t, 1) - 0.5)", 1.33),
        ("min(mod(t, 1), 1 - mod(t, 1))", 1.27),
        ("step(0.5 - mod(t, 1))", 2.7),
        ("max(t - 3*step(t - 1), 0)", 2.92),
        ("sign(t - 2 - 2*sign(t - 1))", -0.8),
        ("floor(abs(t - 3))", 4.4),
        ("mod(abs(t - 3), 1)", 2.52),
        ("ceil(min(t, 2))", 9.4),
        ("floor(t)", 11.0),
        ("floor(2*t) - ceil(t - 0.5)", 11.0),
        ("max(floor(t), min(abs(t - 2), 1))", 12.0),
    ];
    for (rate, end) in cases {
        for clock in ["", "[[unit.a.event]]\nname = 'c'\nevery = 1\nreset = { n = 'n + 1' }\n"] {
            for method in METHODS {
                let text = format!(
                    "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\n\
                     discrete = {{ n = 0 }}\nderivatives = {{ x = '{rate}' }}\n\
                     outputs = {{ x = 'x', rate = '{rate}' }}\n{clock}"
                );
                let (_, found) = run(&text, method, 26 * S / 5, &[("a", 0)]);
                assert!((found[0] - end).abs() < 2e-3, "{rate}, {clock}, {method}: {found:?}");
            }
        }
    }
}

/// Units without states: functions of time, and discrete values that events of time change.
#[test]
fn units_without_states() {
    for method in METHODS {
        let text = "[unit.a]\nkind = 'equations'\nMETHOD\ndiscrete = { n = 0 }\n\
                    outputs = { n = 'n', y = 'sin(t) + abs(t - 1)' }\n\
                    [[unit.a.event]]\nname = 'c'\nevery = 0.5\nreset = { n = 'n + 1' }";
        let (events, found) = run(text, method, 2 * S, &[("a", 0), ("a", 1)]);
        assert_eq!((events, found[0]), (4, 4.0), "{method}");
        assert!((found[1] - (2f64.sin() + 1.0)).abs() < 1e-6, "{method}: {found:?}");
    }
}

/// Sources that share an address cannot be told apart by who measures losses: that is said, once.
#[test]
fn sources_that_share_an_address() {
    for (address, told) in [("address = 'i'", 0), ("", 1)] {
        let text = format!(
            "connections = ['s[*].out -> k.in']\n[unit.s]\nkind = 'packet-source'\ncount = 3\n\
             rate = 100.0\nbytes = 125\n{address}\n[unit.k]\nkind = 'packet-sink'"
        );
        let ran = Ran::with(&text, "", S);
        let said = ran.notes.iter().filter(|n| n.contains("share an address")).count();
        assert_eq!((ran.end.is_ok(), said), (true, told), "{:?}", ran.notes);
    }
}
