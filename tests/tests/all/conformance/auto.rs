//! `method = "auto"`: what it takes, that it says so, and that the result is within tolerance.
use super::continuous::{Ran, S};

struct Case {
    name: &'static str,
    unit: String,
    takes: &'static [&'static str],
    /// How far output `x` at the end may be from that under `rk45` at 1e-11.
    error: f64,
}

/// The front of the advection-reaction line; half of the sections at the end.
fn line(sections: usize, tolerance: &str) -> String {
    format!(
        "tolerance = {tolerance}\nabsolute_tolerance = {tolerance}\n\
         states = {{ 'u[i in 1..={sections}]' = 'if i <= {} then 1 else 0' }}\n\
         let = {{ 'u[0]' = 1 }}\n\
         derivatives = {{ 'u[i]' = \
         '{sections} * (u[i-1] - u[i]) - 1000 * u[i] * (u[i] - 0.5) * (u[i] - 1)' }}\n\
         outputs = {{ x = 'sum(u[k] for k in 1..={sections}) / {sections}' }}",
        sections / 3
    )
}

#[test]
fn auto_chooses_and_says_why() {
    let oscillator = |mu: &str, tolerance: &str| {
        format!(
            "tolerance = {tolerance}\nabsolute_tolerance = {tolerance}\n\
             states = {{ x = 2, v = 0 }}\n\
             derivatives = {{ x = 'v', v = '{mu} * (1 - x * x) * v - x' }}\noutputs = {{ x = 'x' }}"
        )
    };
    let fading = |rate: &str| {
        format!(
            "tolerance = 1e-9\nabsolute_tolerance = 1e-11\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x' }}"
        )
    };
    let ball = "states = { x = 10, v = 0 }\nderivatives = { x = 'v', v = '-9.81' }\n\
                outputs = { x = 'x' }\n[[unit.u.event]]\nname = 'hit'\n\
                when = 'x <= 0 and v < 0'\nreset = { v = '-0.9 * v' }";
    let cases = [
        // Both are exact where solutions are parabolas.
        Case { name: "ball", unit: ball.into(), takes: &["closed", "qss3"], error: 1e-8 },
        Case {
            name: "smooth and exact",
            unit: oscillator("1", "1e-12"),
            takes: &["taylor"],
            error: 1e-9,
        },
        Case {
            name: "smooth and rough",
            unit: oscillator("1", "1e-4"),
            takes: &["rk45", "taylor"],
            error: 1e-2,
        },
        // A fifth of the instructions of rodas over so short a time, by callgrind.
        Case { name: "stiff", unit: oscillator("1000", "1e-3"), takes: &["liqss2"], error: 5e-2 },
        Case { name: "a front", unit: line(200, "1e-4"), takes: &["liqss2"], error: 2e-2 },
        // Where they have come to rest, every method is free, and QSS1 the freest.
        Case {
            name: "a rate that fades",
            unit: fading("exp(-t)"),
            takes: &["rk45", "taylor"],
            error: 1e-8,
        },
        Case {
            name: "a decay that fades",
            unit: fading("-exp(-t) * x"),
            takes: &["rk45", "taylor"],
            error: 1e-8,
        },
        Case {
            name: "a root that comes to rest beside a rate that fades",
            unit: "tolerance = 1e-9\nabsolute_tolerance = 1e-11\nstates = { x = 1, y = 1 }\n\
                   derivatives = { x = '-sqrt(max(x, 0))', y = 'exp(-t)' }\noutputs = { x = 'x' }"
                .into(),
            takes: &["rk45", "taylor"],
            error: 1e-8,
        },
        Case {
            name: "a rough front",
            unit: line(200, "1e-2"),
            takes: &["liqss2", "qss1"],
            error: 1e-2,
        },
    ];
    let mut bad = Vec::new();
    for case in cases {
        let text = format!("[unit.u]\nkind = 'equations'\nMETHOD\n{}", case.unit);
        let auto = Ran::with(&text, "auto", S / 4);
        if let Err(e) = &auto.end {
            bad.push(format!("{}: {e}", case.name));
            continue;
        }
        let taken =
            |name: &&str| auto.notes.iter().any(|n| n.starts_with(&format!("method {name}:")));
        if auto.notes.len() != 1 || !case.takes.iter().any(taken) {
            bad.push(format!("{}: {:?}, not {:?}", case.name, auto.notes, case.takes));
        }
        let fine: Vec<&str> = text.lines().filter(|l| !l.contains("tolerance = ")).collect();
        let fine = fine
            .join("\n")
            .replace("METHOD", "METHOD\ntolerance = 1e-11\nabsolute_tolerance = 1e-11");
        let reference = Ran::with(&fine, "rk45", S / 4);
        let error = (auto.output("u", 0, S / 4) - reference.output("u", 0, S / 4)).abs();
        if error.is_nan() || error > case.error {
            bad.push(format!("{}: error {error:e}", case.name));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Runs on which a method that was chosen once, at the start, was the wrong one: the best one, the one that
/// the last note names, seconds, steps in those of the best one, and output 0 at the end.
#[test]
fn auto_follows_what_changes() {
    let cases = [
        ("auto_rest_at_start", "taylor", "taylor", 20, 1.5, 0.660_513_657),
        ("auto_pushed_pendulum", "taylor", "qss2", 20, 3.0, 0.511_439_681),
        ("robertson_default", "rodas", "rodas", 100_000, 4.0, 0.017_865_9),
        ("robertson_loose", "rodas", "rodas", 100_000, 8.0, 0.017_865_9),
    ];
    for (name, best, told, seconds, most, x) in cases {
        let file = format!("{}/data/regressions/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let text = text.replace("method=\"auto\"", "METHOD");
        let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("stop")).collect();
        let text = lines.join("\n");
        let stop = seconds * S;
        let [auto, single] = ["auto", best].map(|method| Ran::with(&text, method, stop));
        assert_eq!((&auto.end, &single.end), (&Ok(()), &Ok(())), "{name}");
        let last = auto.notes.last().unwrap();
        assert!(last.starts_with(&format!("method {told}:")), "{name}: {:?}", auto.notes);
        let share = auto.steps() as f64 / single.steps() as f64;
        assert!(share <= most, "{name}: {share} times the steps of {best}");
        let found = auto.output("u", 0, stop);
        let off = (found - single.output("u", 0, stop)).abs();
        assert!(off <= 2e-6, "{name}: {found}, off by {off:e}");
        assert!((found - x).abs() <= 2e-6, "{name}: {found}, not {x}");
    }
}

/// Robertson's reaction over 634 years: quanta that are wide as long as nothing moves do not tell what a second costs
/// once the states have come back to their slow motion. A note at the end names the last method, though no event told it.
#[test]
fn auto_gives_up_a_method_that_costs_more_than_it_promised() {
    let text = "resolution = 'us'\n[unit.u]\nkind = 'equations'\nMETHOD\ntolerance = 1e-6\n\
                absolute_tolerance = 1e-10\nstates = { a = 1, b = 0, c = 0 }\noutputs = { a = 'a' }\n\
                [unit.u.derivatives]\na = '-0.04*a + 1e4*b*c'\n\
                b = '0.04*a - 1e4*b*c - 3e7*b^2'\nc = '3e7*b^2'";
    let stop = 20_000_000_000 * 1_000_000;
    let [mut auto, single] = ["auto", "rodas"].map(|method| Ran::with(text, method, stop));
    assert_eq!((&auto.end, &single.end), (&Ok(()), &Ok(())));
    let share = auto.steps() as f64 / single.steps() as f64;
    assert!(share <= 1.2, "{share} times the steps of rodas");
    let off = (auto.output("u", 0, stop) - single.output("u", 0, stop)).abs();
    assert!(off <= 1e-9, "off by {off:e}");
    let remark = auto.remark("u").unwrap();
    assert!(remark.starts_with("method rodas:"), "{remark}");
}
