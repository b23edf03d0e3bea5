//! `method = "closed"` on affine systems whose solution is known.
use super::continuous::{Ran, S};

struct Case {
    name: &'static str,
    unit: String,
    /// Output 0 after one second, to twelve digits; and most steps for that.
    value: f64,
    steps: u64,
}

/// The part of a Poisson distribution of mean `mean` that lies at `n` or above: the fill of the last of
/// `n` equal tanks in a row.
fn poisson(n: i32, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..n {
        below += term;
        term *= mean / f64::from(k + 1);
    }
    1.0 - below
}

/// The Bessel function of order `n`: the integral over half a turn, by a sum that converges geometrically.
fn bessel(n: i32, x: f64) -> f64 {
    let points = 400;
    let at = |k: i32| f64::from(k) * std::f64::consts::PI / f64::from(points);
    let f = |k: i32| (f64::from(n) * at(k) - x * at(k).sin()).cos();
    (1..points).fold(0.5 * (f(0) + f(points)), |sum, k| sum + f(k)) / f64::from(points)
}

fn cases() -> Vec<Case> {
    // A front has yet to reach most states: they are zero, or next to it, beside others that are one.
    let tanks = |n: usize, look: usize| {
        format!(
            "states = {{ 'u[i in 1..={n}]' = 0 }}\nlet = {{ 'u[0]' = 1 }}\n\
             derivatives = {{ 'u[i]' = '20 * (u[i-1] - u[i])' }}\noutputs = {{ x = 'u[{look}]' }}"
        )
    };
    // x[k] = J_k - J_-k for an endless line in which only x[0] is not zero at first, x[0] = J_0(20 t).
    let waves = |scale: &str| {
        format!(
            "states = {{ 'x[i in 0..=120]' = 'if i == 60 then 1 else 0' }}\n\
             let = {{ 'x[-1]' = 0, 'x[121]' = 0 }}\n\
             derivatives = {{ 'x[j]' = '10 * (x[j-1] - x[j+1]){scale}' }}\n\
             outputs = {{ x = 'x[75]' }}"
        )
    };
    // The lossless line in volts and amperes with microhenries and picofarads.
    let line = "states = { 'v[i in 1..=60]' = 'if i == 30 then 1 else 0', 'a[i in 1..=61]' = 0 }\n\
                let = { 'v[0]' = 0, 'v[61]' = 0 }\n\
                derivatives = { 'v[j]' = '1e9 * (a[j] - a[j+1])', 'a[j]' = '1e-7 * (v[j-1] - v[j])' }\n\
                outputs = { x = 'v[40]' }";
    // Heat in a rod from one end; the fastest mode decays 4000 times as fast as the slowest.
    let (n, rate) = (40, 3000.0);
    let mode = |k: usize| {
        let angle = k as f64 * std::f64::consts::PI / (n + 1) as f64;
        let decay = (-2.0 * rate * (1.0 - angle.cos())).exp();
        2.0 / (n + 1) as f64 * angle.sin() * (20.0 * angle).sin() * decay
    };
    let rod = format!(
        "states = {{ 'u[i in 1..={n}]' = 'if i == 1 then 1 else 0' }}\n\
         let = {{ 'u[0]' = 0, 'u[{}]' = 0 }}\n\
         derivatives = {{ 'u[i]' = '{rate} * (u[i-1] - 2 * u[i] + u[i+1])' }}\n\
         outputs = {{ x = 'u[20]' }}",
        n + 1
    );
    vec![
        Case { name: "tanks", unit: tanks(200, 30), value: poisson(30, 20.0), steps: 40 },
        Case { name: "1000 tanks", unit: tanks(1000, 15), value: poisson(15, 20.0), steps: 40 },
        Case { name: "waves", unit: waves(""), value: bessel(15, 20.0), steps: 25 },
        Case { name: "line", unit: line.into(), value: bessel(20, 20.0), steps: 40 },
        Case { name: "rod", unit: rod, value: (1..=n).map(mode).sum(), steps: 9000 },
    ]
}

/// Steps are as long as the fastest time constant asks for, also where a front has yet to reach most of the
/// states.
#[test]
fn closed_solves_large_affine_systems() {
    let mut bad = Vec::new();
    for Case { name, unit, value, steps } in cases() {
        let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{unit}");
        let ran = Ran::with(&text, "closed", S);
        if let Err(e) = &ran.end {
            bad.push(format!("{name}: {e}"));
            continue;
        }
        let found = ran.output("u", 0, S);
        if (found - value).abs() > 1e-12 {
            bad.push(format!("{name}: {found}, not {value}: off by {:e}", found - value));
        }
        if ran.steps() > steps {
            bad.push(format!("{name}: {} steps", ran.steps()));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
