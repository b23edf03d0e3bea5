//! Algebraic equations: consistent at every instant, refused where they determine nothing.
use super::continuous::{Ran, S};
use std::f64::consts::PI;

/// An algebraic loop with a switch in it, under an input that jumps, a reset and a time event: at
/// each instant the loop is closed, also at the jump itself.
#[test]
fn algebraic_loops_are_closed_at_jumps() {
    // 0 = z + max(z, 0)/2 - u + x: z is 2/3 of u - x where that is positive.
    let text = "connections = ['source.y -> u.u']\n[unit.source]\nkind = 'pulse'\nperiod = 1\n\
                high = 3\nlow = -1\n[unit.u]\nkind = 'equations'\nMETHOD\n\
                inputs = { u = 0 }\nstates = { x = 0.5 }\nalgebraic = { z = 7 }\n\
                discrete = { gain = 1 }\nderivatives = { x = 'gain*z' }\n\
                residuals = { z = 'z + max(z, 0)/2 - u + x' }\n\
                outputs = { x = 'x', z = 'z', u = 'u' }\n\
                [[unit.u.event]]\nname = 'full'\nwhen = 'z <= 0.2 and x >= 1'\nreset = { x = 0 }\n\
                [[unit.u.event]]\nname = 'change'\nat = 2.3\nreset = { gain = 0.5 }";
    for method in ["rodas", "taylor", "auto"] {
        for at in [S / 10, S / 2, S / 2 + 1, S, S + S / 3, 2 * S + S / 3, 3 * S + 1] {
            let ran = Ran::with(text, method, at);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let [x, z, u] = [0, 1, 2].map(|port| ran.output("u", port, at));
            let residual = z + z.max(0.0) / 2.0 - u + x;
            assert!(residual.abs() < 1e-9, "{method} at {at}: {z} for {u} and {x}");
        }
        let ran = Ran::with(text, method, 3 * S);
        assert!(ran.facts.iter().any(|f| f.2 == "full"), "{method}: {:?}", ran.facts);
    }
}

/// Units that make an algebraic loop hand their values round until nothing but the last bit changes, at the start
/// and at jumps.
#[test]
fn loops_of_units_stand_still_within_rounding() {
    for (conductance, resistance) in [(0.4, 0.7), (0.12, 0.85), (0.9, 0.95), (1.0, 0.6)] {
        let text = format!(
            "connections = ['p.y -> a.e', 'a.i -> b.i', 'b.u -> a.u']\n\
             [unit.p]\nkind = 'pulse'\nperiod = 0.1\n\
             [unit.a]\nkind = 'equations'\ninputs = {{ e = 0, u = 0 }}\n\
             outputs = {{ i = '{conductance}*(e - u)' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ i = 0 }}\nstates = {{ c = 0.3 }}\n\
             derivatives = {{ c = '5*(i - 0.1*c)' }}\noutputs = {{ u = 'c + {resistance}*i', c = 'c' }}"
        );
        for method in ["rk45", "rodas", "closed", "qss3"] {
            for (at, source) in [(S / 50, 1.0), (S / 5 * 4 - 1, 0.0), (S / 5 * 4, 1.0)] {
                let ran = Ran::with(&text, method, at);
                ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
                let [u, c] = [0, 1].map(|port| ran.output("b", port, at));
                let gain = conductance * resistance;
                let closed = (c + gain * source) / (1.0 + gain);
                assert!((u - closed).abs() < 2e-6, "{method} at {at}: {u} for {closed}");
            }
        }
    }
}

/// The rectifier of the format guide: its diode voltage fulfils its equation within steps as well, where
/// it follows the source alone, and where it conducts. Newton's correction is compared with the tolerances.
#[test]
fn algebraic_variables_hold_inside_steps() {
    let text = "resolution = 'us'\n[parameters]\nR = 100.0\nC = 100e-6\n\
                [unit.u]\nkind = 'equations'\nMETHOD\nstates = { u = 0 }\nalgebraic = { diode = 0.1 }\n\
                let = { source = '10*sin(2*pi*50*t)', i = '1e-9*(exp(diode/0.026) - 1)' }\n\
                derivatives = { u = '(i - u/1000)/C' }\nresiduals = { diode = 'source - u - diode - R*i' }\n\
                outputs = { u = 'u', diode = 'diode' }";
    for method in ["rodas", "taylor"] {
        for at in (0..40_000).step_by(370) {
            let ran = Ran::with(text, method, at);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let [u, diode] = [0, 1].map(|port| ran.output("u", port, at));
            let source = 10.0 * (2.0 * PI * 50.0 * at as f64 / 1e6).sin();
            let (current, slope) = (1e-9 * (diode / 0.026).exp_m1(), 1e-9 * (diode / 0.026).exp());
            let residual = source - u - diode - 100.0 * current;
            let correction = residual / (1.0 + 100.0 * slope / 0.026);
            assert!(
                correction.abs() < 64.0 * 1e-9 * (1.0 + diode.abs()),
                "{method} at {at}: {correction:e}"
            );
        }
    }
}

/// Constraints that leave the algebraic variables open: refused before the run, by their structure,
/// at the start, by their numbers, or where the solution comes to such a place.
#[test]
fn higher_index_is_refused_with_the_equation() {
    let pendulum = "[unit.u]\nkind = 'equations'\nMETHOD\nalgebraic = { f = 0 }\n\
                    states = { x = 1, y = 0, v = 0, w = 0 }\n\
                    derivatives = { x = 'v', y = 'w', v = '-f*x', w = '-f*y - 9.81' }\n\
                    residuals = { f = 'v^2 + w^2 - f*(x^2 + y^2) - 9.81*y' }\n\
                    outputs = { x = 'x', y = 'y' }";
    // With the constraint differentiated twice the length of the rod is kept.
    for method in ["rodas", "taylor"] {
        let ran = Ran::with(pendulum, method, 2 * S);
        ran.end.as_ref().unwrap();
        let [x, y] = [0, 1].map(|port| ran.output("u", port, 2 * S));
        assert!((x.hypot(y) - 1.0).abs() < 1e-7, "{method}: {}", x.hypot(y));
    }
    let fold = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\nalgebraic = { z = 1 }\n\
                derivatives = { x = '-1' }\nresiduals = { z = 'z^2 - x' }";
    for method in ["rodas", "taylor"] {
        let why = Ran::with(fold, method, 2 * S).end.unwrap_err().to_string();
        assert!(why.starts_with("u at ") && why.contains("z^2 - x"), "{method}: {why}");
    }
}

/// Sides that no algebraic variable decides come before the search, and others follow it on its way: it ends at the root
/// of the branch that holds, at the start and after jumps.
#[test]
fn searches_go_along_the_branches_that_hold() {
    let cases = [
        // The branch of the start has another root.
        ("M = 0.2", "R = 0.5", "if M < 0.5 then R^2 - 0.3 else R + 0.9", "M = 0.2", 0.3f64.sqrt()),
        // No root on the other branch.
        ("M = 0.2", "R = 0.5", "if M < 0.5 then R - 0.3 else R^2 - (M - 0.5)", "M = 0.2", 0.3),
        // A reset changes the branch.
        (
            "M = 0.2",
            "R = 0.1",
            "0.05 - R^2 - (if M < 0.5 then 3*(0.5 - M)*R else 0)",
            "M = 0.7",
            0.05f64.sqrt(),
        ),
        ("M = 0.2", "R = 0.1", "0.05 - R^2 - 3*max(0.5 - M, 0)*R", "M = 0.7", 0.05f64.sqrt()),
        (
            "M = 0.2",
            "R = 0.5",
            "if M < 0.5 then R^2 - (0.5 - M) else R - 3*(M - 0.5)",
            "M = 0.7",
            0.6,
        ),
        // The search changes it.
        ("M = 1", "R = 0.9", "R*abs(R) + 0.1*R - M", "M = -1", -(1.0025f64.sqrt() - 0.05)),
        (
            "M = 1",
            "R = 0.9",
            "(if R > 0 then R^2 else -R^2) + 0.1*R - M",
            "M = -1",
            -(1.0025f64.sqrt() - 0.05),
        ),
    ];
    for (state, guess, residual, reset, exact) in cases {
        let text = format!(
            "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ {state} }}\nalgebraic = {{ {guess} }}\n\
             derivatives = {{ M = '0' }}\nresiduals = {{ R = '{residual}' }}\noutputs = {{ R = 'R' }}\n\
             [[unit.u.event]]\nname = 'feed'\nat = 1\nreset = {{ {reset} }}"
        );
        for method in ["rodas", "taylor", "auto"] {
            let ran = Ran::with(&text, method, 2 * S);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {residual}: {e}"));
            let found = ran.output("u", 0, 2 * S);
            assert!((found - exact).abs() < 1e-9, "{method}: {residual}: {found}, not {exact}");
        }
    }
}

/// An input follows its source within the exchange tolerance, a thousand times the tolerance of the equations: the
/// algebraic variable is found anew on each piece.
#[test]
fn equations_hold_on_each_piece_of_an_input() {
    let text = "connections = ['a.n -> b.p']\n[unit.a]\nkind = 'equations'\nstates = { n = 1 }\n\
                derivatives = { n = '-n' }\noutputs = { n = 'n' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\ninputs = { p = 1 }\nalgebraic = { q = 0.6 }\n\
                residuals = { q = '2*q - p' }\noutputs = { q = 'q' }";
    for method in ["rodas", "taylor", "auto"] {
        let ran = Ran::with(text, method, 10 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let q = ran.output("b", 0, 10 * S);
        assert!((q - 0.5 * (-10f64).exp()).abs() < 1e-6, "{method}: {q}");
        assert!(ran.statistic("rejected_steps") < 50, "{method}");
    }
}
