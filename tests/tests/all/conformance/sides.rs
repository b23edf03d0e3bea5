//! Sides of switching functions where they are hard to tell: at start values that are not what an input
//! brings, at zeros that are only touched, and where ticks lie beside crossings.
use super::continuous::{Ran, S};

const METHODS: [&str; 7] = ["rk45", "rk23", "taylor", "rodas", "qss2", "qss3", "auto"];

/// The values at the ports of unit `a` at the end.
fn ends(text: &str, method: &str, stop: i64, ports: u16) -> Vec<f64> {
    let ran = Ran::with(text, method, stop);
    ran.end.as_ref().unwrap_or_else(|e| panic!("{text}\n{method}: {e}"));
    (0..ports).map(|port| ran.output("a", port, stop)).collect()
}

/// The start value of an input holds until its first segment, whatever that says.
#[test]
fn first_segments_set_sides() {
    for source in ["kind = 'constant'\nvalue = 1", "kind = 'pulse'\nperiod = 9\nwidth = 8"] {
        for method in METHODS {
            let text = format!(
                "connections = ['c.y -> a.u']\n[unit.c]\n{source}\n\
                 [unit.a]\nkind = 'equations'\nMETHOD\ninputs = {{ u = 0 }}\nstates = {{ x = 0 }}\n\
                 derivatives = {{ x = 'if u > 0.5 then 1 else -1' }}\n\
                 outputs = {{ x = 'x', y = 'max(u, 0.5)' }}"
            );
            let end = ends(&text, method, S, 2);
            assert!((end[0] - 1.0).abs() < 1e-6 && end[1] == 1.0, "{source}, {method}: {end:?}");
        }
    }
    for method in ["rodas", "taylor"] {
        let text = "connections = ['c.y -> a.u']\n[unit.c]\nkind = 'constant'\nvalue = 3\n\
                    [unit.a]\nkind = 'equations'\nMETHOD\ninputs = { u = 0 }\nstates = { x = 0 }\n\
                    algebraic = { z = 1 }\nderivatives = { x = 'z' }\n\
                    residuals = { z = 'z*z - u - 1' }\noutputs = { x = 'x', z = 'z' }";
        let end = ends(text, method, S, 2);
        assert!(end.iter().all(|e| (e - 2.0).abs() < 1e-6), "{method}: {end:?}");
    }
}

/// A switching function that touches zero and turns back.
#[test]
fn zeros_that_are_touched() {
    let cube = |x: f64| x * x * x;
    let cases = [
        ("1", "abs(0.3*(x - 0.442)*(x - 0.442))", 0.1 * (cube(1.458) + cube(0.542))),
        ("1", "if x*x*0.3 >= 0 then 1 else -1", 2.0),
        ("1", "max(0.37*(x - 0.9)*(x - 0.9), 0)", 0.37 / 3.0 * (cube(1.0) + cube(1.0))),
        ("cos(t)", "sign(x*x - 2*0.434*x + 0.434*0.434)", 2.0),
    ];
    let mut bad = Vec::new();
    for (slope, rate, exact) in cases {
        for resolution in ["ns", "ps"] {
            for method in METHODS {
                let text = format!(
                    "resolution = '{resolution}'\n[unit.a]\nkind = 'equations'\nMETHOD\n\
                     states = {{ x = -0.1, y = 0 }}\nderivatives = {{ x = '{slope}', y = '{rate}' }}\n\
                     outputs = {{ y = 'y' }}"
                );
                let second = if resolution == "ns" { S } else { 1000 * S };
                let end = ends(&text, method, 2 * second, 1)[0];
                let tolerance = if method.starts_with("qss") { 1e-2 } else { 1e-5 };
                if (end - exact).abs() > tolerance {
                    bad.push(format!("{rate}, {resolution}, {method}: {end}, not {exact}"));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// A formula in `noevent` is passed as it is: no flip is located, and the solver's error control does the rest.
#[test]
fn formulas_without_events() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 0 }\noutputs = { x = 'x' }\n\
                derivatives = { x = 'noevent(abs(sin(t)))' }";
    // The integral of |sin t|, to 10.
    let exact = 7.0 - (10.0 - 3.0 * std::f64::consts::PI).cos();
    for method in ["rk45", "rk23", "taylor", "rodas"] {
        let ran = Ran::with(text, method, 10 * S);
        let x = ran.output("u", 0, 10 * S);
        assert!((x - exact).abs() < 1e-4, "{method}: {x}, not {exact}");
        let located = Ran::with(&text.replace("noevent", ""), method, 10 * S);
        assert!((located.output("u", 0, 10 * S) - exact).abs() < 1e-6, "{method}");
        assert!(ran.steps() != located.steps(), "{method}: {} steps", ran.steps());
    }
}

/// A quantity that comes to zero ever more slowly, and stays there, as in a tank that runs dry or a drop that
/// evaporates: it has come there although it goes beyond zero by no more than its error.
#[test]
fn values_that_run_dry() {
    let cases = [
        ("if x > 0 then -0.1*sqrt(x) else 0", 20.0, 0.5),
        ("-0.1*sqrt(max(x, 0))", 20.0, 0.5),
        ("-0.15*cbrt(max(x, 0))", 10.0, 1.0 / 3.0),
        ("-0.3*max(x, 0)^0.6", 1.0 / 0.12, 0.6),
    ];
    for (rate, end, power) in cases {
        for threshold in ["0", "1e-12", "1e-7"] {
            for method in ["rk45", "rk23", "taylor", "rodas", "qss2"] {
                // Not found yet: a series that touches zero exactly, and stages that lie around an infinite slope.
                let touches = method == "taylor" && rate.contains("if") && threshold == "0";
                let around = method == "rk45" && rate.contains("cbrt") && threshold != "1e-7";
                if touches || around {
                    continue;
                }
                let text = format!(
                    "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 1 }}\ndiscrete = {{ at = 0 }}\n\
                     derivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x', root = 'max(x, 0)^{power}', at = 'at' }}\n\
                     [[unit.a.event]]\nname = 'dry'\nwhen = 'x <= {threshold}'\nreset = {{ at = 't' }}\n\
                     [[unit.a.event]]\nname = 'beyond'\nwhen = 'x < 0'\n\
                     [[unit.a.event]]\nname = 'crosses'\ncrossing = 'x'"
                );
                let ran = Ran::with(&text, method, 30 * S);
                ran.end.as_ref().unwrap_or_else(|e| panic!("{rate}, {method}: {e}"));
                let [x, root, at] = [0, 1, 2].map(|port| ran.output("a", port, 30 * S));
                // Errors of the solver act on so flat a curve.
                let off = if method == "qss2" { 0.3 } else { 0.05 };
                assert!((at - end).abs() < off, "{rate}, {threshold}, {method}: {at}, not {end}");
                let rests = x.abs() < if method == "qss2" { 1e-4 } else { 1e-8 };
                assert!(rests && root >= 0.0, "{rate}, {threshold}, {method}: {x}, {root}");
                let all: Vec<&str> = ran.facts.iter().map(|f| &*f.2).collect();
                // The last quanta lie on both sides.
                assert!(
                    all == ["dry"] || method == "qss2",
                    "{rate}, {threshold}, {method}: {all:?}"
                );
            }
        }
    }
}

/// A surface from whose both sides states come back is not passed because a tick lies beside it.
#[test]
fn chattering_is_not_lost() {
    let cases = [
        ("0.674", "if x > 0.14 then -1.26 else 1.93", 3),
        (
            "1.7148008746280887",
            "abs(if 0.712*x - 0.88252 > 0.334 then -0.25034 else 0.9863 + 0.223*x) - 0.5*x + 0.3",
            1,
        ),
    ];
    for (start, rate, stop) in cases {
        for method in ["rk45", "rk23", "taylor", "closed", "rodas", "qss2", "qss3"] {
            let text = format!(
                "resolution = 'ps'\n[unit.a]\nkind = 'equations'\nMETHOD\n\
                 states = {{ x = {start} }}\nderivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x' }}"
            );
            let ran = Ran::with(&text, method, stop * 1000 * S);
            let why = ran.end.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert!(why.contains("state events, each at most"), "{rate}, {method}: {why}");
        }
    }
}

/// Products of inputs of high order are polynomials of a degree that is not kept whole.
#[test]
fn products_of_long_segments() {
    for order in [6, 9, 11, 12] {
        for method in ["rk45", "taylor", "closed", "auto"] {
            let text = format!(
                "connections = ['s.y -> a.u', 'a.o -> b.u']\n\
                 [unit.s]\nkind = 'sine'\nfrequency = 0.2\norder = {order}\n\
                 [unit.a]\nkind = 'equations'\nMETHOD\ninputs = {{ u = 0 }}\n\
                 states = {{ y = 0 }}\ndiscrete = {{ n = 0, at = 0 }}\nderivatives = {{ y = '1' }}\n\
                 outputs = {{ n = 'n', at = 'at', o = 'u*u*u*u' }}\nsegment_order = 12\n\
                 [[unit.a.event]]\nname = 'e'\nwhen = 'u*u*u*u >= 0.5'\n\
                 reset = {{ n = 'n + 1', at = 't' }}\n\
                 [unit.b]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ z = 0 }}\n\
                 derivatives = {{ z = 'u' }}\noutputs = {{ z = 'z' }}"
            );
            let ran = Ran::with(&text, method, 2 * S);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{order}, {method}: {e}"));
            let at =
                [("a", 0), ("a", 1), ("b", 0)].map(|(unit, port)| ran.output(unit, port, 2 * S));
            // The integral of sin⁴ over 0.8π in units of its angle.
            let angle = 0.8 * std::f64::consts::PI;
            let integral =
                3.0 * angle / 8.0 - f64::sin(2.0 * angle) / 4.0 + f64::sin(4.0 * angle) / 32.0;
            let exact = [1.0, 0.794_929_17, integral / (0.4 * std::f64::consts::PI)];
            let off = |k: usize| (at[k] - exact[k]).abs();
            assert!(
                off(0) == 0.0 && off(1) < 1e-5 && off(2) < 1e-4,
                "{order}, {method}: {at:?}, {exact:?}"
            );
        }
    }
}

/// Oscillations within nanoseconds have steps of less.
#[test]
fn fast_oscillations() {
    for method in ["rk45", "rk23", "rodas", "taylor"] {
        let text = "resolution = 'fs'\n[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1, v = 0 }\n\
                    derivatives = { x = 'v', v = '-1e9*1e9*x' }\noutputs = { x = 'x' }";
        let end = ends(text, method, 20_000_000, 1)[0];
        assert!((end - 20f64.cos()).abs() < 1e-4, "{method}: {end}");
    }
}

/// Derivatives that are curved functions of a state which moves along a straight line, and so has no
/// steps of its own.
#[test]
fn curves_along_straight_lines() {
    let root = |x: f64| 0.5 * (x * (x * x + 1e-6).sqrt() + 1e-6 * (x / 1e-3).asinh());
    let cases = [
        ("-0.7", "sqrt(x*x + 1e-6)", root(2.3) - root(-0.7)),
        ("0", "0.5*(1 + tanh(20*(x - 1)))", 1.0 + 1.0 + (-40f64).exp().ln_1p() / 40.0),
        ("-1.3", "1/(1 + 1e4*x*x)", ((170f64).atan() + (130f64).atan()) / 100.0),
    ];
    let mut bad = Vec::new();
    for (start, rate, exact) in cases {
        for method in ["qss1", "qss2", "qss3", "liqss2", "mliqss2", "auto"] {
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = {start}, y = 0 }}\n\
                 derivatives = {{ x = '1', y = '{rate}' }}\noutputs = {{ y = 'y' }}"
            );
            let end = ends(&text, method, 3 * S, 1)[0];
            if (end - exact).abs() > 2e-2 * exact.max(1.0) {
                bad.push(format!("{rate}, {method}: {end}, not {exact}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Series miss some things: pulses, cuts of functions, roots of squares.
#[test]
fn series_are_not_trusted_blindly() {
    let cases: [(&str, &str, i64, f64, f64); 4] = [
        ("0", "exp(-50*(t - 1)^2)", 3, 0.250_662_83, 1e-5),
        ("0", "sqrt((t - 0.7)*(t - 0.7))", 3, 2.89, 1e-5),
        ("0", "atan2(t - 0.7, -1)", 3, 3.504_604_7, 1e-3),
        ("0", "hypot(t - 0.7, 0)", 3, 2.89, 1e-5),
    ];
    let mut bad = Vec::new();
    for (start, rate, stop, exact, tolerance) in cases {
        for method in ["rk45", "taylor", "auto"] {
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = {start} }}\n\
                 derivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x' }}"
            );
            let end = ends(&text, method, stop * S, 1)[0];
            if (end - exact).abs() > tolerance {
                bad.push(format!("{rate}, {method}: {end}, not {exact}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// The laws of orifices and of Hertz: roots and powers of what is never negative. Their solutions have no
/// series where sides change, which `taylor` may say, but `auto` has to avoid.
#[test]
fn roots_of_switching_functions() {
    let tanks = "h = 1, g = 0.2 }\nderivatives = { h = '-q + 0.3*sin(3*t)', g = 'q' }\n\
                 let = { q = 'sign(h - g)*sqrt(abs(h - g))' }";
    let ball = "h = 1, g = 0 }\nderivatives = { h = 'g', g = '-9.81 + 1e4*max(-h, 0)^1.5' }";
    let mut bad = Vec::new();
    let drain = "h = 1 }\nderivatives = { h = '-sqrt(abs(h))*sign(h) + 0.2*cos(2*t) - 0.1' }";
    let cases = [(tanks, 8, 0.618_84), (ball, 1, 0.993_665), (drain, 8, -0.064_141_56)];
    for (unit, stop, exact) in cases {
        for method in ["rk45", "rk23", "taylor", "rodas", "qss2", "auto"] {
            let tolerance = if method == "qss2" { 1e-2 } else { 1e-4 };
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ {unit}\noutputs = {{ h = 'h' }}"
            );
            let ran = Ran::with(&text, method, stop * S);
            let end = match &ran.end {
                Ok(()) => format!("{}", ran.output("a", 0, stop * S)),
                Err(e) => e.to_string(),
            };
            if method == "taylor" && ran.end.is_err() {
                continue;
            }
            let off = end.parse::<f64>().map(|end| (end - exact).abs());
            if off.is_err() || off.is_ok_and(|off| off > tolerance) {
                bad.push(format!("{unit}, {method}: {end}, not {exact}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Two links with opposite conditions: one that a member proposes too early is refused, which makes the other one no more
/// true than it was.
#[test]
fn a_refused_link_sets_no_other_off() {
    let text = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1, v = 0 }\ndiscrete = { n = 0, m = 0 }\n\
                derivatives = { x = 'v', v = '-x' }\noutputs = { x = 'x', n = 'n', m = 'm' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\nstates = { y = 0, w = 0.6 }\n\
                derivatives = { y = 'w', w = '-4*y' }\noutputs = { y = 'y' }\n\
                [[link]]\nname = 'above'\nunits = ['a', 'b']\nwhen = 'a.x > b.y'\nreset = { 'a.n' = 'a.n + 1' }\n\
                [[link]]\nname = 'below'\nunits = ['a', 'b']\nwhen = 'a.x < b.y'\nreset = { 'a.m' = 'a.m + 1' }\n";
    for method in ["rk45", "rk23", "taylor", "rodas", "qss2", "qss3", "closed", "auto"] {
        let ran = Ran::with(text, method, 20 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let counts = [1, 2].map(|port| ran.output("a", port, 20 * S));
        assert_eq!(counts, [3.0, 3.0], "{method}: {:?}", ran.facts);
    }
}

/// |x| is nearly nothing just behind the zero of x, and no less: an algebraic variable is as good as the search for it
/// left it, which is far better than the tolerance.
#[test]
fn algebraic_variables_near_zero_have_their_sign() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = -1 }\nalgebraic = { z = 0 }\n\
                derivatives = { x = '2 - z' }\nresiduals = { z = 'z - abs(x)' }\noutputs = { x = 'x' }\n\
                [unit.u.mode.a]\n[[unit.u.mode.a.event]]\nname = 'zero'\ncrossing = 'x'\n\
                reset = { x = '-x' }\nto = 'b'\n\
                [unit.u.mode.b]\n[[unit.u.mode.b.event]]\nname = 'never'\nwhen = 'z <= 0'\n";
    for method in ["closed", "auto"] {
        let ran = Ran::with(text, method, S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        // At ln 2.
        assert_eq!(ran.facts, [(693_147_181, 0, "zero".to_owned())], "{method}");
    }
}
