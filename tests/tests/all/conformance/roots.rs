//! Square roots that begin at zero, where their derivative has no end: vessels that are empty at the start.
use super::continuous::{Ran, S};

const VESSEL: &str = "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 0, y = 0 }\n\
    derivatives = { x = '1 - sqrt(max(x, 0))', y = 'sqrt(t)' }\noutputs = { x = 'x', y = 'y' }";

/// Torricelli's outflow against a constant inflow: t = -2 (s + ln(1 - s)) with s = √x.
#[test]
fn vessels_fill_from_nothing() {
    for method in ["auto", "rk23", "rk45", "rodas", "qss2", "qss3", "liqss2"] {
        let ran = Ran::with(VESSEL, method, S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let [x, y] = [0, 1].map(|port| ran.output("a", port, S));
        let (root, within) = (x.sqrt(), if method.contains("qss") { 5e-3 } else { 1e-6 });
        let time = -2.0 * (root + (-root).ln_1p());
        assert!((time - 1.0).abs() < within, "{method}: x = {x}, which is reached at {time} s");
        assert!((y - 2.0 / 3.0).abs() < within, "{method}: y = {y}");
    }
}

/// The series of a root has no second term at zero. The message names methods that do without, as tried above.
#[test]
fn series_of_roots_are_refused_at_zero() {
    let why = Ran::with(VESSEL, "taylor", S).end.unwrap_err().to_string();
    for part in
        ["`x' = 1 - sqrt(max(x, 0))`", "a derivative that is not finite", "\"rk45\" or \"auto\""]
    {
        assert!(why.contains(part), "{why}");
    }
}
