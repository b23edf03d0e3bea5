//! Pieces that a unit hears, whatever its own tolerances are.
use super::continuous::{Ran, S};

/// A unit that sends nothing of interest, and hears a sine of this size once a second.
fn hears(size: f64, told: f64, own: f64) -> String {
    format!(
        "connections = ['s.y -> u.w']\n[unit.s]\nkind = 'equations'\nmethod = 'taylor'\n\
         states = {{ x = 0, v = 1 }}\nlet = {{ w = '2*pi' }}\nderivatives = {{ x = 'w*v', v = '-w*x' }}\n\
         outputs = {{ y = '{size:e}*x' }}\nexchange_tolerance = {told:e}\n\
         [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ x = 0 }}\ndiscrete = {{ n = 0 }}\n\
         derivatives = {{ x = 'max(w, 0)' }}\noutputs = {{ n = 'n', x = 'x' }}\nexchange_tolerance = {own:e}\n\
         [[unit.u.event]]\nname = 'up'\nwhen = 'w > {:e}'\nreset = {{ n = 'n + 1' }}",
        0.5 * size
    )
}

/// The `exchange_tolerance` of the unit that hears is for what it sends: it is no dead band of what it hears.
#[test]
fn an_own_tolerance_hides_no_crossing() {
    for method in ["rk45", "taylor", "qss3", "rodas"] {
        for (size, told, own) in [(1.0, 1e-9, 2.0), (1.0, 1e-9, 0.3), (1e-7, 1e-15, 1e-6)] {
            let end = 10 * S + S / 4;
            let ran = Ran::with(&hears(size, told, own), method, end);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let [n, x] = [0, 1].map(|port| ran.output("u", port, end));
            assert_eq!(n, 11.0, "{method}: size {size}, own tolerance {own}");
            // Ten half waves and a quarter.
            let exact = size * 10.5 / std::f64::consts::PI;
            assert!((x - exact).abs() < 1e-5 * exact + 2e-9, "{method}: {x}, not {exact}");
        }
    }
}

/// An output that is no polynomial leaves a narrow band soon: the search does not look at all of a step for that.
#[test]
fn narrow_bands_cost_a_few_looks_per_message() {
    let text = "connections = ['s.y -> u.w']\n[unit.s]\nkind = 'equations'\nMETHOD\noutputs = { y = 'sin(t)' }\n\
         exchange_tolerance = 1e-12\n\
         [unit.u]\nkind = 'equations'\ninputs = { w = 0 }\nstates = { x = 0 }\nderivatives = { x = 'w' }\n\
         outputs = { x = 'x' }";
    for method in ["rk45", "rodas"] {
        let ran = Ran::with(text, method, 60 * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let (looks, told) = (ran.statistic("indicator_evaluations"), ran.statistic("exchanges"));
        assert!(looks < 100 * told, "{method}: {looks} looks for {told} messages");
        let off = ran.output("u", 0, 60 * S) - (1.0 - 60f64.cos());
        assert!(off.abs() < 1e-6, "{method}: {off}");
    }
}

/// A value that stops at a limit has reached it for others, too (rule 19): on the way they knew it within the tolerance
/// only, and now exactly.
#[test]
fn stops_at_a_limit_are_heard() {
    for method in ["rk45", "taylor", "rodas", "auto"] {
        for limit in [8.0, 7.31, 7.9, 5.05, 6.6, 4.4] {
            let text = format!(
                "connections = ['b.E -> u.E', 'b.E -> h.u']\n[unit.b]\nkind = 'equations'\nMETHOD\nstates = {{ E = 1 }}\n\
                 derivatives = {{ E = '0' }}\noutputs = {{ E = 'E' }}\n\
                 [unit.b.mode.charge]\nderivatives = {{ E = '1.1 + cos(t/3)' }}\n\
                 [[unit.b.mode.charge.event]]\nname = 'full'\nwhen = 'E >= {limit}'\nto = 'rest'\n[unit.b.mode.rest]\n\
                 [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ E = 0 }}\ndiscrete = {{ n = 0 }}\n\
                 outputs = {{ n = 'n', full = 'if E >= {limit} then 1 else 0' }}\n\
                 [[unit.u.event]]\nname = 'full'\nwhen = 'E >= {limit}'\nreset = {{ n = 'n + 1' }}\n\
                 [unit.h]\nkind = 'hysteresis'\nlow = 1\nhigh = {limit}"
            );
            let ran = Ran::with(&text, method, 20 * S);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let found = [0, 1].map(|port| ran.output("u", port, 20 * S));
            assert_eq!(found, [1.0, 1.0], "{method}, limit {limit}");
            assert_eq!(ran.output("h", 1, 20 * S), 1.0, "{method}, limit {limit}: hysteresis");
        }
    }
}
