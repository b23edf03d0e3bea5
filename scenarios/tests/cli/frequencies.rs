//! How fast states and outputs swing, and macro steps that follow it.
use super::{command, folder, good, json, read};
use serde_json::Value as Json;
use std::{
    f64::consts::{LN_10, TAU},
    fs,
    path::Path,
};

/// The motions that `check --frequencies` tells of a unit: frequency and growth.
fn motions(dir: &Path, options: &str) -> Vec<(f64, f64)> {
    let told = json(&good(dir, &format!("check s.toml --json {options}")));
    let units = told["frequencies"]["units"].as_array().expect("units");
    let number = |motion: &Json, key: &str| motion[key].as_f64().expect("a number");
    let all = units.iter().flat_map(|unit| unit["motions"].as_array().expect("motions"));
    all.map(|motion| (number(motion, "frequency"), number(motion, "growth"))).collect()
}

/// Oscillators of a known frequency: a damped one, one that changes it with the time, a pendulum near its upper end, one
/// with an algebraic variable, and one of connected parts.
#[test]
fn oscillators_have_their_frequency() {
    let dir = folder("frequencies-states");
    let near = |found: f64, known: f64, of: &str| {
        assert!((found / known - 1.0).abs() < 1e-6, "{of}: {found}, not {known}");
    };
    let unit = |states: &str, derivatives: &str| {
        format!(
            "stop = 4\n[unit.o]\nkind = 'equations'\nstates = {{ {states} }}\nderivatives = {{ {derivatives} }}\n"
        )
    };
    let write = |text: String| fs::write(dir.join("s.toml"), text).unwrap();
    write(unit("x = 1, v = 0, slow = 1", "x = 'v', v = '-25*x - 2*v', slow = '-0.5*slow'"));
    let [swing, decay] = motions(&dir, "--frequencies")[..] else { panic!("two motions") };
    near(swing.0, 24f64.sqrt() / TAU, "a damped swing");
    near(swing.1, -1.0, "its damping");
    assert_eq!(decay, (0.0, -0.5));
    write(unit("x = 1, v = 0", "x = 'v', v = '-(6.283185307179586*(1 + t))^2*x'"));
    near(motions(&dir, "--frequencies")[0].0, 1.0, "at the start");
    near(motions(&dir, "--frequencies=2")[0].0, 3.0, "later");
    // The state itself counts: g/L = 9 at rest, and -9 cos(2) beside the upper end.
    write(unit("a = 2, w = 0", "a = 'w', w = '-9*sin(a)'"));
    let falls = motions(&dir, "--frequencies");
    near(falls[0].1.abs(), (-9.0 * 2f64.cos()).sqrt(), "a pendulum that falls");
    write(
        unit("x = 1, v = 0", "x = 'v', v = 'a'")
            + "algebraic = { a = 0 }\nresiduals = { a = '2*a + 32*x' }\nmethod = 'rodas'\n",
    );
    near(motions(&dir, "--frequencies")[0].0, 4.0 / TAU, "with an algebraic variable");
    write(
        "stop = 1\nconnections = ['m.flange = k.a', 'k.b = g.flange']\n\
         [unit.m]\ntemplate = 'mass'\nm = 2.0\n[unit.k]\ntemplate = 'spring'\nc = 18.0\n[unit.g]\ntemplate = 'fixed'\n"
            .to_owned()
            + include_str!("../../parts/translation.toml"),
    );
    near(motions(&dir, "--frequencies")[0].0, 3.0 / TAU, "of parts");
    let text = good(&dir, "check s.toml --frequencies");
    assert!(
        text.contains("frequencies of states at 0 s") && text.contains("0.4774648 Hz"),
        "{text}"
    );
    write("stop = 1\n[unit.s]\nkind = 'sine'\nfrequency = 1\n".to_owned());
    let refused = command(&dir, "check s.toml --frequencies").output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("a unit of kind \"frequency\""), "{told}");
}

/// A source whose frequency grows from 1 to 10 Hz in 10 s, and a unit that hears it.
const CHIRP: &str = r#"
stop = "10 s"
sample = "0.1 s"
connections = [
  "source.y -> ear.u", "source.y -> read.u", "read.y -> box.u", "box.y -> meter.u",
]
[coupling]
step = "20 ms"
units = ["source", "ear"]
extrapolation = 1
[unit.source]
kind = "equations"
outputs = { y = "3 + 2*sin(6.283185307179586*10/2.302585092994046*(exp(0.2302585092994046*t) - 1))" }
[unit.ear]
kind = "equations"
inputs = { u = 3 }
states = { x = 3 }
derivatives = { x = "u - x" }
outputs = { heard = "u", x = "x" }
[unit.read]
kind = "sampler"
period = "5 ms"
[unit.box]
kind = "hold"
initial = 3
[unit.meter]
kind = "frequency"
period = "5 ms"
[result]
off = "max(if time > 0.2 then abs(source.y - ear.heard) else 0)"    # the first step holds
"#;

/// From values alone, which a hold behind a sampler tells, the frequency is within a tenth of the true one.
#[test]
fn the_frequency_of_a_chirp_is_followed() {
    let dir = folder("frequencies-chirp");
    fs::write(dir.join("s.toml"), CHIRP).unwrap();
    good(&dir, "run s.toml --quiet --force --out out --trajectory none --set record=['meter.y']");
    let samples = read(&dir, "out/samples.csv");
    let mut seen = 0;
    for line in samples.lines().skip(1) {
        let (t, found) = line.split_once(',').expect("two columns");
        let (t, found): (f64, f64) = (t.parse().unwrap(), found.parse().unwrap());
        if t > 0.5 {
            let known = (LN_10 * t / 10.0).exp();
            assert!((found / known - 1.0).abs() < 0.1, "{found} Hz at {t} s, not {known}");
            seen += 1;
        }
    }
    assert_eq!(seen, 95);
}

/// Macro steps are a twentieth of the period all along. A fixed step with half as many exchanges more is still less
/// exact, as it is too long where the signal is fast.
#[test]
fn macro_steps_follow_a_chirp() {
    let dir = folder("frequencies-steps");
    fs::write(dir.join("s.toml"), CHIRP).unwrap();
    let run = |options: &str| {
        let done = json(&good(&dir, &format!("run s.toml --json --force --out out {options}")));
        let summary = &done["summary"];
        let steps = summary["macro_steps"].as_f64().expect("macro steps");
        (steps, summary["results"]["off"].as_f64().expect("a result"))
    };
    let follow = "--set coupling.exchanges_per_period=20";
    // Periods from a time on, in the second that follows.
    let periods =
        |from: f64| 10.0 / LN_10 * (LN_10 * from / 10.0).exp() * ((LN_10 / 10.0).exp() - 1.0);
    for from in [2.0, 5.0, 8.0] {
        let until = |t: f64| run(&format!("{follow} --until {t}")).0;
        let (found, known) = (until(from + 1.0) - until(from), 20.0 * periods(from));
        assert!((found / known - 1.0).abs() < 0.1, "{found} steps from {from} s, not {known}");
    }
    let (steps, off) = run(follow);
    let (more, fixed) = run(&format!("--set coupling.step={:.6}", 10.0 / (1.5 * steps)));
    assert!(more > 1.45 * steps && fixed > off, "{more} steps: {fixed}; {steps} steps: {off}");
    // A linear extrapolation misses by the square of a step in radians, whatever the frequency.
    let known = 2.0 * (TAU / 20.0).powi(2);
    assert!((off / known - 1.0).abs() < 0.15, "{off}, not {known}");
}

#[test]
fn contradictions_are_refused() {
    let dir = folder("frequencies-refused");
    fs::write(dir.join("s.toml"), CHIRP).unwrap();
    for (set, why) in [
        ("exchanges_per_period=2", "fewer than 3 exchanges in a period"),
        ("exchanges_per_period=20 --set coupling.tolerance=1e-3", "and `tolerance` contradict"),
        ("exchanges_per_period=20 --set coupling.iterate={}", "and `iterate` contradict"),
    ] {
        let done = command(&dir, &format!("check s.toml --set coupling.{set}")).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && told.contains(why), "{set}: {told}");
    }
}
