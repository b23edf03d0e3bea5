//! Steps that are long beside what moves fast in them, at the tolerance of the method between steps, too.
use super::continuous::{Ran, S};

/// The states of a unit at some seconds, and how far they may be off there.
fn check(text: &str, method: &str, off: f64, exact: impl Fn(f64) -> f64, at: &[f64]) {
    for &t in at {
        let ticks = (t * S as f64).round() as i64;
        let ran = Ran::with(text, method, ticks);
        assert_eq!(ran.end, Ok(()), "{method}: {text}");
        let (x, wanted) = (ran.output("u", 0, ticks), exact(t));
        assert!((x - wanted).abs() <= off, "{method} at {t} s: {x}, not {wanted}\n{text}");
    }
}

/// A value that an event throws off its equilibrium comes back within a moment. The error that a stiffly accurate method
/// estimates at the end of a step is zero, however long the step is; its polynomial takes the whole step to come back.
#[test]
fn relaxations_after_jumps_are_as_short_as_they_are() {
    for k in [1e3, 1e6, 5e8, 1e10, 1e12, 1e14] {
        let text = format!(
            "[unit.u]\nkind = 'equations'\nMETHOD\ntolerance = 1e-9\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '-{k:e}*x' }}\noutputs = {{ x = 'x' }}\n\
             [[unit.u.event]]\nname = 'kick'\nat = '4 s'\nreset = {{ x = '-3' }}"
        );
        for method in ["rodas", "auto"] {
            let exact = |t: f64| -3.0 * (-k * (t - 4.0)).exp();
            check(&text, method, 1e-7, exact, &[4.05, 5.0, 6.5, 10.0]);
        }
    }
}

/// Prothero & Robinson 1974: what is led to a curve within a moment is on it at all times.
#[test]
fn what_follows_a_curve_is_on_it_between_steps() {
    for k in [1e2, 1e4, 1e6, 1e9] {
        let text = format!(
            "[unit.u]\nkind = 'equations'\nMETHOD\ntolerance = 1e-9\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '{k:e}*(sin(t) - x) + cos(t)' }}\noutputs = {{ x = 'x' }}"
        );
        for method in ["rodas", "auto"] {
            check(&text, method, 1e-7, f64::sin, &[0.3, 1.1, 2.7, 3.9, 5.05, 6.6, 8.8, 10.0]);
        }
    }
}

/// An algebraic equation that says nothing at the place where its variable begins has a solution beside it.
#[test]
fn a_root_beside_a_flat_place_is_found() {
    let text = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { h = 1 }\nalgebraic = { q = 0 }\n\
                derivatives = { h = '-q' }\nresiduals = { q = 'h - 4*q*abs(q)' }\noutputs = { h = 'h' }";
    check(text, "rodas", 1e-7, |t| (1.0 - t / 4.0).powi(2), &[0.5, 2.0]);
}
