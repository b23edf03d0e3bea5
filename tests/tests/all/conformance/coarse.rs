//! Ticks that are longer than the steps of a solver.
use super::continuous::Ran;

/// x' = -1000 (x - cos t), put down by one at 50 ms.
const FAST: &str = "[unit.u]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\n\
                    derivatives = { x = '-1000*(x - cos(t))' }\noutputs = { x = 'x' }\n";

/// The solution at so many milliseconds.
fn solution(ms: i64) -> f64 {
    let t = ms as f64 * 1e-3;
    let settled = (1e6 * t.cos() + 1e3 * t.sin()) / (1e6 + 1.0);
    let behind = (t - 0.05) * 1e3;
    settled + (-1e3 * t).exp() / (1e6 + 1.0) - if behind < 0.0 { 0.0 } else { (-behind).exp() }
}

/// A unit looks itself up at the tick at which it tells others: several steps beyond the one that left the tolerance.
#[test]
fn told_values_do_not_change_a_solution() {
    let heard = format!(
        "resolution = 'ms'\nconnections = ['u.x -> v.u']\n{FAST}[[unit.u.event]]\nname = 'e'\nat = '50 ms'\n\
         reset = {{ x = 'x - 1' }}\n[unit.v]\nkind = 'equations'\ninputs = {{ u = 1 }}\nstates = {{ x = 0 }}\n\
         derivatives = {{ x = 'u' }}\noutputs = {{ x = 'x' }}"
    );
    let linked = format!(
        "resolution = 'ms'\n{FAST}[unit.v]\nkind = 'equations'\nstates = {{ x = -0.05 }}\n\
         derivatives = {{ x = '1' }}\noutputs = {{ x = 'x' }}\n[[link]]\nname = 'e'\nunits = ['u', 'v']\n\
         when = 'v.x >= 0 and u.x > 0'\nreset = {{ 'u.x' = 'u.x - 1', 'v.x' = '-1' }}"
    );
    let methods = [
        ("rk23", 1e-4),
        ("rk45", 1e-6),
        ("rodas", 1e-6),
        ("taylor", 1e-6),
        ("auto", 1e-6),
        ("rk4\"\nstep = \"1 ms", 1e-2),
        ("qss1", 1e-2),
        ("qss2", 5e-3),
        ("qss3", 5e-3),
        ("liqss1", 1e-2),
        ("liqss2", 5e-3),
    ];
    for (method, within) in methods {
        for (text, ms) in
            [&heard, &linked].into_iter().flat_map(|t| (50..60).map(move |ms| (t, ms)))
        {
            let ran = Ran::with(text, method, ms);
            let (x, wanted) = (ran.output("u", 0, ms), solution(ms));
            assert!((x - wanted).abs() < within, "{method} at {ms} ms: {x}, not {wanted}\n{text}");
            let begun = ran.facts.iter().any(|(at, _, name)| *at == 50 && name.starts_with('e'));
            assert!(begun, "{method}: {:?}\n{text}", ran.facts);
        }
    }
}

/// Receivers hear at ticks. An output that leaves its tolerance far behind between two of them is told.
#[test]
fn outputs_that_outrun_ticks_are_told() {
    for (resolution, late) in [("ms", true), ("us", false), ("ns", false)] {
        let text = format!(
            "resolution = '{resolution}'\nconnections = ['u.x -> v.u']\n{FAST}[[unit.u.event]]\nname = 'e'\n\
             at = '50 ms'\nreset = {{ x = 'x - 1' }}\n[unit.v]\nkind = 'equations'\ninputs = {{ u = 1 }}\n\
             states = {{ x = 0 }}\nderivatives = {{ x = 'u' }}"
        );
        let ticks = if late { 1 } else { 1000 };
        let ran = Ran::with(&text, "rk45", 60 * ticks * if resolution == "ns" { 1000 } else { 1 });
        let told = |note: &&String| note.contains("output `x` is off by 3.5e-2");
        assert_eq!(
            ran.notes.iter().filter(told).count(),
            usize::from(late),
            "{resolution}: {:?}",
            ran.notes
        );
        assert!(late || ran.notes.is_empty(), "{resolution}: {:?}", ran.notes);
    }
}

/// A step that ends near a tick does not stand for one that ends at it.
#[test]
fn time_events_do_not_change_a_solution() {
    let text = format!(
        "resolution = 'ms'\n{FAST}discrete = {{ n = 0 }}\n\
         [[unit.u.event]]\nname = 'e'\nevery = '7 ms'\nfrom = '7 ms'\nreset = {{ n = 'n + 1' }}\n\
         [[unit.u.event]]\nname = 'down'\nat = '50 ms'\nreset = {{ x = 'x - 1' }}"
    );
    for (method, within) in
        [("rk23", 1e-7), ("rk45", 1e-8), ("rodas", 1e-8), ("taylor", 1e-8), ("auto", 1e-8)]
    {
        for ms in [49, 50, 51, 52, 56, 57, 63, 77] {
            let text =
                text.replace("METHOD", "METHOD\ntolerance = 1e-9\nabsolute_tolerance = 1e-11");
            let ran = Ran::with(&text, method, ms);
            let (x, wanted) = (ran.output("u", 0, ms), solution(ms));
            assert!((x - wanted).abs() < within, "{method} at {ms} ms: {x}, not {wanted}");
        }
    }
}

/// A tick stands for a root that lies up to 2⁻¹⁰ tick after it (R14): where the motion at the tick decides, what is
/// on its way up there does not go down.
#[test]
fn the_motion_at_an_early_tick_is_that_behind_the_root() {
    for after in [1e-4, 3e-4, 8e-4] {
        for method in ["rk23", "rk45", "rodas", "taylor", "auto"] {
            let text = format!(
                "resolution = 'ms'\n[unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\n\
                 let = {{ c = 'sin(t - 1 - {}/1000)' }}\noutputs = {{ x = 'x' }}\n\
                 initial = 'still'\n[unit.a.mode.still]\nderivatives = {{ x = '0' }}\n\
                 [[unit.a.mode.still.event]]\nname = 'wake'\nwhen = 'c > 0'\nto = 'moves'\n\
                 [unit.a.mode.moves]\nderivatives = {{ x = 'c' }}\n\
                 [[unit.a.mode.moves.event]]\nname = 'below'\nwhen = 'x < 0'",
                after
            );
            let ran = Ran::with(&text, method, 3000);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{after}, {method}: {e}"));
            assert_eq!(ran.facts, [(1000, 0, "wake".to_owned())], "{after}, {method}");
        }
    }
}
