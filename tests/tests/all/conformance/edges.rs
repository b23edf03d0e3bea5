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

/// Members that are on the threshold of a link for ever.
#[test]
fn links_on_their_threshold_propose_nothing() {
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
    // A value that rests on its threshold sets nothing off, whatever rounding says.
    let ran = Ran::with(&text, "rk45", S);
    assert!(ran.end.is_ok() && ran.facts.is_empty(), "{:?} {:?}", ran.end, ran.facts);
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

/// Where the last coefficient of a quantised state vanishes: by itself at the start, or on the way,
/// while what its derivative reads goes on.
#[test]
fn coefficients_that_vanish() {
    let cases = [
        ("x = 0", "x = 'cos(x)'", "auto qss2 qss3 liqss2 mliqss2"),
        ("x = 1e-9", "x = 'cos(x)'", "auto qss2 qss3"),
        ("x = 0", "x = '9.81 - 0.1*x^2'", "auto qss2 qss3 liqss2 mliqss2"),
        ("x = 0", "x = '1 - x^2'", "auto qss2 liqss2"),
        ("x = -0.5", "x = '1 - x^2'", "qss2 qss3 liqss2"),
        ("x = 0, y = 0", "x = 'y^2', y = '1'", "auto qss2 qss3 liqss2 mliqss2"),
        ("x = 0, y = 0", "x = 'atan(y)', y = '1'", "qss2 qss3 liqss2"),
        ("x = 0, y = 0", "x = 'y^7', y = '1'", "auto qss2 qss3 liqss2 mliqss2"),
        ("x = 0, y = 0", "x = 't^3', y = '1'", "qss1 qss2 qss3 liqss1"),
        ("x = 0, y = 0", "x = 't^9', y = '1'", "qss1 qss2 qss3 liqss1"),
    ];
    let mut bad = Vec::new();
    for (states, derivatives, methods) in cases {
        let text = format!(
            "[unit.a]\nkind = 'equations'\nMETHOD\nabsolute_tolerance = 1e-6\ntolerance = 1e-6\n\
             states = {{ {states} }}\nderivatives = {{ {derivatives} }}\noutputs = {{ x = 'x' }}"
        );
        let right = run(&text, "rk45", 2 * S, &[("a", 0)]).1[0];
        for method in methods.split(' ') {
            let text = match method {
                "auto" => text.clone(),
                "qss1" | "liqss1" => text.replace("METHOD", "METHOD\ndq_min = 1e-3\ndq_rel = 1e-3"),
                _ => text.replace("METHOD", "METHOD\ndq_min = 1e-6\ndq_rel = 1e-6"),
            };
            let text = match method {
                "auto" => text,
                _ => text.replace("absolute_tolerance = 1e-6\ntolerance = 1e-6\n", ""),
            };
            let bound = if method.ends_with("ss1") { 2e-2 } else { 5e-5 };
            let error = (run(&text, method, 2 * S, &[("a", 0)]).1[0] - right).abs();
            if error.is_nan() || error > bound * right.abs().max(1.0) {
                bad.push(format!("{states}, {derivatives}, {method}: {error:e}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// A segment of which a quantiser of first order sees only the vanishing first powers.
#[test]
fn segments_that_begin_flat() {
    for method in ["qss1", "qss2", "liqss1", "liqss2"] {
        let text = "connections = ['b.y -> c.u']\n\
                    [unit.b]\nkind = 'equations'\nmethod = 'closed'\nstates = { x = 0 }\n\
                    derivatives = { x = '1' }\noutputs = { y = 'x^3' }\n\
                    [unit.c]\nkind = 'equations'\nMETHOD\ndq_min = 1e-3\ninputs = { u = 0 }\n\
                    states = { z = 0 }\nderivatives = { z = 'u' }\noutputs = { z = 'z' }";
        let z = run(text, method, 3 * S, &[("c", 0)]).1[0];
        assert!((z - 20.25).abs() < 0.2, "{method}: {z}");
    }
}

/// Conditions that oscillate many times within one step are followed as far as they vary.
#[test]
fn waves_within_long_steps() {
    let cases: [(&str, usize); 4] = [
        ("abs(sin(x)) <= 1e-5", 318),
        ("sin(x) >= 0.999", 159),
        ("sin(3*x) + cos(x*x/1000) >= 1.9", 89),
        ("sqrt(x) - floor(sqrt(x)) > 0.5", 32),
    ];
    let mut bad = Vec::new();
    for (condition, count) in cases {
        for method in ["rk45", "rk23", "taylor", "closed", "rodas", "auto"] {
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0.1 }}\n\
                 derivatives = {{ x = '1' }}\noutputs = {{ x = 'x' }}\n\
                 [[unit.a.event]]\nname = 'e'\nwhen = '{condition}'"
            );
            let (events, _) = run(&text, method, 1000 * S, &[]);
            if events != count {
                bad.push(format!("{condition}, {method}: {events}, not {count}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// An indicator whose beginning of a series has its root elsewhere than what it stands for.
#[test]
fn roots_of_series_that_were_cut() {
    let text = "connections = ['s.y -> b.f']\n\
                [unit.s]\nkind = 'sine'\nfrequency = 1.25\norder = 3\nexchange_tolerance = 1e-4\n\
                [unit.b]\nkind = 'equations'\nMETHOD\ninputs = { f = 0 }\nstates = { x = 0.3 }\n\
                derivatives = { x = '-0.1*x' }\noutputs = { x = 'x' }\n\
                [[unit.b.event]]\nname = 'meet'\nwhen = 'f >= x'";
    for method in ["qss1", "qss2", "qss3", "rk45", "taylor"] {
        assert_eq!(run(text, method, 10 * S, &[]).0, 13, "{method}");
    }
}

/// A crossing that a detector does not report is no event of the run.
#[test]
fn crossings_that_nobody_asked_for() {
    for (direction, events) in [("rising", 3), ("falling", 3), ("both", 6)] {
        let text = format!(
            "connections = ['s.y -> d.u']\n[unit.s]\nkind = 'sine'\nfrequency = 1.0\n\
             [unit.d]\nkind = 'detector'\nthreshold = 0.5\ndirection = '{direction}'"
        );
        assert_eq!(run(&text, "rk45", 3 * S, &[]).0, events, "{direction}");
    }
}

/// Conditions with kinks and jumps, along solutions that let steps be long: no event is lost, however
/// short its condition holds.
#[test]
fn kinks_in_conditions() {
    let fall = "x = -2, v = 3 }\nderivatives = { x = 'v', v = '-1' }";
    let line = "x = 0 }\nderivatives = { x = '1' }";
    let wave = "x = 0, v = 1 }\nderivatives = { x = 'v', v = '-x' }";
    let cases: [(&str, &str, i64, &[f64]); 12] = [
        (fall, "x >= 2.4 or x <= -1", 6, &[2.552_786_405, 5.645_751_311]),
        (fall, "not (x < 2.4 and x > -1)", 6, &[2.552_786_405, 5.645_751_311]),
        (line, "abs(x - 5) <= 1", 100, &[4.0]),
        (line, "abs(x - 50000.3) <= 1 or abs(x - 700000) <= 1", 1_000_000, &[49_999.3, 699_999.0]),
        (line, "abs(x - 50000.3) <= 1e-6", 1_000_000, &[50_000.299_999]),
        (line, "min(x, 3 - x) >= 1 and not (abs(x - 1.5) < 0.25)", 9, &[1.0, 1.75]),
        (line, "(if x > 2 then 2.5 - x else x + 1) <= 0", 9, &[2.5]),
        (line, "mod(t, 0.25) >= 0.125 and t < 1", 3, &[0.125, 0.375, 0.625, 0.875]),
        // The start counts: before it, mod(x, 1) was nearly 1 (rule 7).
        (line, "mod(x, 1) <= 0.5 and x < 4", 9, &[1e-9, 1.0, 2.0, 3.0]),
        (line, "floor(x) >= 3 and x < 4 or round(x) >= 7", 9, &[3.0, 6.5]),
        (line, "max(abs(x - 3), abs(x - 4)) <= 1 or sign(x - 6) > 0", 9, &[3.0, 6.0]),
        (wave, "abs(x) <= 1e-5 and t < 9", 20, &[3.141_582_654, 6.283_175_307]),
    ];
    let mut bad = Vec::new();
    for (unit, condition, stop, times) in cases {
        for method in ["rk45", "rk23", "taylor", "closed", "rodas", "auto"] {
            if unit == wave && method == "closed" {
                continue;
            }
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ {unit}\n\
                 discrete = {{ n = 0, sum = 0 }}\noutputs = {{ n = 'n', sum = 'sum' }}\n\
                 [[unit.a.event]]\nname = 'e'\nwhen = '{condition}'\n\
                 reset = {{ n = 'n + 1', sum = 'sum + t' }}"
            );
            let (_, at) = run(&text, method, stop * S, &[("a", 0), ("a", 1)]);
            let (count, sum) = (times.len() as f64, times.iter().sum::<f64>());
            if at[0] != count || (at[1] - sum).abs() > 1e-7 * count {
                bad.push(format!("{condition}, {method}: {at:?}, not {count} and {sum}"));
            }
        }
    }
    let text = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\n\
                derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\nstates = { y = -5 }\n\
                derivatives = { y = '0' }\noutputs = { y = 'y' }\n\
                [[link]]\nname = 'L'\nunits = ['a', 'b']\nwhen = 'abs(a.x + b.y) <= 0.5'\n\
                reset = { 'b.y' = 'b.y - 2' }";
    for method in ["rk45", "taylor", "closed", "auto"] {
        let told = run(text, method, 10 * S, &[("b", 0)]);
        if told != (3, vec![-11.0]) {
            bad.push(format!("shared, {method}: {told:?}"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// A crossing that is known as a series, at a resolution finer than what such a series leaves out.
#[test]
fn crossings_of_series_happen_once() {
    for method in ["qss1", "qss2", "qss3", "liqss2", "rk45", "taylor"] {
        let text = "resolution = 'ps'\n[unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = 0.68 }\n\
                    derivatives = { x = '0' }\noutputs = { x = 'x' }\n[[unit.b.event]]\nname = 'e'\n\
                    crossing = 'log(2 + sin(atan2(x/(1 + 1.62^2), 2 + cos((2+sin(t))^3)))) - 0.752'";
        assert_eq!(run(text, method, 3_000 * S, &[]).0, 11, "{method}");
    }
}

/// An event that is planned beyond the largest time never happens.
#[test]
fn plans_beyond_the_largest_time() {
    for method in METHODS.into_iter().chain(["liqss2", "qss1"]) {
        let text = "resolution = 'fs'\n[unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\n\
                    derivatives = { x = '1' }\noutputs = { x = 'x' }\n[[unit.b.event]]\nname = 'e'\n\
                    when = 'x >= 1000'\nreset = { x = '0' }";
        assert_eq!(run(text, method, 9_100 * 1_000_000 * S, &[]).0, 9, "{method}");
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
