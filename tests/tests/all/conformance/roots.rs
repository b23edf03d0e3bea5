//! Square roots that begin at zero, where their derivative has no end: vessels that are empty at the start.
use super::continuous::{Ran, S};

/// All but `closed`, for affine equations.
const METHODS: [&str; 9] =
    ["auto", "taylor", "rk23", "rk45", "rodas", "qss1", "qss2", "qss3", "liqss2"];

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
    for part in ["`y' = sqrt(t)`", "a derivative that is not finite", "\"rk45\" or \"auto\""] {
        assert!(why.contains(part), "{why}");
    }
}

/// A vessel of unit height runs empty at 50 s, h = (1 - t/50)², and stays empty: the parabola that rises again is the
/// other branch of the root. However the root is kept from negative numbers.
#[test]
fn vessels_that_ran_empty_stay_empty() {
    let guards =
        ["-0.04*sqrt(max(h, 0))", "-0.04*max(h, 0)^0.5", "if h > 0 then -0.04*sqrt(h) else 0"];
    for (guard, method) in guards.iter().flat_map(|guard| METHODS.map(|method| (guard, method))) {
        let text = format!(
            "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ h = 1 }}\nderivatives = {{ h = '{guard}' }}\n\
             outputs = {{ h = 'h' }}"
        );
        // `auto` may choose a quantised method.
        let within = match method {
            "auto" | "rk23" => 1e-6,
            "rk45" | "rodas" | "taylor" => 1e-8,
            _ => 1e-3,
        };
        for seconds in [25, 51, 70] {
            let ran = Ran::with(&text, method, seconds * S);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}, {guard}: {e}"));
            let found = ran.output("a", 0, seconds * S);
            let exact = (1.0 - seconds as f64 / 50.0).max(0.0).powi(2);
            assert!(
                (found - exact).abs() <= within,
                "{method}, {guard}: {found} at {seconds} s, not {exact}"
            );
        }
    }
}

/// A level rises through the edge of a valve, whose flow begins as a root: d' = a - k √d from there, with
/// t = -2 (k s + a ln(1 - k s / a)) / k² for s = √d.
#[test]
fn flow_begins_where_a_valve_opens() {
    for (a, k, below) in [(1.0f64, 0.8, 50.0), (0.001, 0.02, 0.05), (1e-4, 2e-3, 5e-3)] {
        let text = format!(
            "[unit.v]\nkind = 'equations'\nMETHOD\nstates = {{ d = -{below} }}\nlet = {{ q = '{k}*sqrt(max(d, 0))' }}\n\
             derivatives = {{ d = '{a} - q' }}\noutputs = {{ d = 'd', q = 'q' }}"
        );
        let level = |after: f64| {
            let (mut low, mut high) = (0.0f64, a / k);
            for _ in 0..80 {
                let s = 0.5 * (low + high);
                let t = -2.0 * (k * s + a * (-k * s / a).ln_1p()) / (k * k);
                if t < after { low = s } else { high = s }
            }
            low * low
        };
        for method in ["rk45", "rk23", "taylor", "rodas", "qss2", "qss3", "liqss2", "auto"] {
            for after in [1.0, 10.0] {
                let tick = ((below / a + after) * 1e9).round() as i64;
                let ran = Ran::with(&text, method, tick);
                ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
                let (seen, right) = (ran.output("v", 0, tick), level(after));
                // Quanta of 1e-3 of the state and 1e-6; tolerances of 1e-6.
                let most = if method.contains("qss") { 3e-3 * right + 3e-6 } else { 2e-5 };
                assert!(
                    (seen - right).abs() < most,
                    "{method}, a = {a}: {seen} after {after} s, not {right}"
                );
            }
        }
    }
}
