//! Functions whose expansion at one place knows nothing of what comes later: pulses far ahead.
use super::continuous::{Ran, S};

const METHODS: [&str; 11] = [
    "auto", "rk23", "rk45", "rodas", "taylor", "closed", "qss1", "qss2", "qss3", "liqss2",
    "mliqss2",
];

/// The area of a bell curve.
const BELL: f64 = 1.772_453_850_905_516;
/// The area of sin²⁰ over half a turn: π (19·17·…·1)/(20·18·…·2).
const PEAK: f64 = 0.553_540_748_730_843;

fn within(method: &str) -> f64 {
    if method.contains("qss") { 3e-2 } else { 1e-5 }
}

/// The derivative is nothing, with all its derivatives, where the run begins.
#[test]
fn pulses_of_derivatives_are_not_stepped_over() {
    let mut bad = Vec::new();
    for (rate, exact) in [
        ("exp(-(t-20)^2)", BELL),
        ("exp(-(t-50)^2)", BELL),
        ("exp(-((t-30)/3)^4)", 3.0 * 1.812_804_954_110_954),
        ("exp(-(s-70)^2)", BELL),
        ("sin(t*pi/5)^20", 20.0 * PEAK * 5.0 / std::f64::consts::PI),
    ] {
        // The closed form is for derivatives that are affine.
        for method in METHODS.into_iter().filter(|m| *m != "closed") {
            let text = format!(
                "[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0, s = 0 }}\n\
                 derivatives = {{ x = '{rate}', s = '1' }}\noutputs = {{ x = 'x' }}"
            );
            let ran = Ran::with(&text, method, 100 * S);
            if let Err(e) = &ran.end {
                bad.push(format!("{rate}, {method}: {e}"));
                continue;
            }
            let off = ran.output("a", 0, 100 * S) - exact;
            if off.abs() > within(method) * exact {
                bad.push(format!("{rate}, {method}: off by {off:e} of {exact}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Conditions and outputs are searched along paths that are known for the whole run.
#[test]
fn pulses_of_conditions_and_outputs_are_not_stepped_over() {
    let mut bad = Vec::new();
    for method in METHODS {
        let event = |name: &str, of: &str| {
            format!("[[unit.a.event]]\nname = '{name}'\nwhen = 'exp(-({of})^2) > 0.5'\n")
        };
        let text = format!(
            "connections = ['a.y -> b.u']\n[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '1' }}\noutputs = {{ y = 'exp(-(t-50)^2)' }}\n{}{}\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ u = 0 }}\nstates = {{ z = 0 }}\n\
             derivatives = {{ z = 'u' }}\noutputs = {{ z = 'z' }}",
            event("first", "t-50"),
            event("second", "x-70")
        );
        let ran = Ran::with(&text, method, 100 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let half = f64::sqrt(f64::ln(2.0));
        let near = |fact: &(i64, u32, String), name: &str, at: f64| {
            fact.2 == name && (fact.0 as f64 / S as f64 - at + half).abs() < within(method)
        };
        let found = ran.facts.len() == 2
            && near(&ran.facts[0], "first", 50.0)
            && near(&ran.facts[1], "second", 70.0);
        let off = ran.output("b", 0, 100 * S) - BELL;
        if !found || off.abs() > within(method) {
            bad.push(format!("{method}: {:?}, off by {off:e}", ran.facts));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
