//! Error bars hold the truth: random small hybrid systems with known event times.
//!
//! Many systems run in one scenario, each in units of its own. `SUPERDENSE_SYSTEMS` sets how many.
use super::*;
use std::fmt::Write as _;

/// Numbers for parameters, the same in every run of the test.
struct Draw(u64);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// A system under a name: its text, and the times of its event `e` (of its unit `name`).
fn system(d: &mut Draw, number: usize) -> (String, String, Vec<f64>) {
    let name = format!("s{number}");
    let tolerance = 10f64.powf(d.between(-9.0, -4.0));
    let unit = |states: &str, derivatives: &str, when: &str, reset: &str, more: &str| {
        format!(
            "[unit.{name}]\nkind = \"equations\"\ntolerance = {tolerance:e}\n\
             absolute_tolerance = {tolerance:e}\nexchange_tolerance = {tolerance:e}\n\
             states = {{ {states} }}\nderivatives = {{ {derivatives} }}\n{more}\
             [[unit.{name}.event]]\nname = \"e\"\nwhen = \"{when}\"\nreset = {{ {reset} }}\n"
        )
    };
    let (text, times) = match number % 7 {
        0 => {
            let (g, h, r) = (d.between(5.0, 15.0), d.between(0.5, 4.0), d.between(0.5, 0.9));
            let fall = (2.0 * h / g).sqrt();
            let mut times = vec![fall];
            for k in 1..4 {
                times.push(times[k - 1] + 2.0 * fall * r.powi(k as i32));
            }
            let text = unit(
                &format!("x = {h}, v = 0"),
                &format!("x = \"v\", v = \"-{g}\""),
                // Few bounces: the times pile up where the ball comes to rest.
                "x <= 0 and v < 0 and n < 5",
                &format!("v = \"-{r}*v\", n = \"n + 1\""),
                "discrete = { n = 0 }\n",
            );
            (text, times)
        }
        1 => {
            let (a, c) = (d.between(0.3, 3.0), d.between(0.2, 0.9));
            let text =
                unit("x = 1", &format!("x = \"-{a}*x\""), &format!("x <= {c}"), "x = \"1\"", "");
            let period = -c.ln() / a;
            (text, (1..5).map(|k| f64::from(k) * period).collect())
        }
        2 => {
            let (w, c) = (d.between(1.0, 6.0), d.between(-0.8, 0.8));
            let first = (std::f64::consts::PI - c.asin()) / w;
            let text = unit(
                "x = 0, v = 1",
                &format!("x = \"{w}*v\", v = \"-{w}*x\""),
                &format!("x <= {c} and v < 0"),
                "x = \"x\"",
                "",
            );
            let turn = 2.0 * std::f64::consts::PI / w;
            (text, (0..3).map(|k| first + f64::from(k) * turn).collect())
        }
        3 => {
            let (r, x, c) = (d.between(0.5, 4.0), d.between(0.02, 0.3), d.between(0.5, 0.95));
            let text = unit(
                &format!("x = {x}"),
                &format!("x = \"{r}*x*(1 - x)\""),
                &format!("x >= {c}"),
                &format!("x = \"{x}\""),
                "",
            );
            let period = (c * (1.0 - x) / (x * (1.0 - c))).ln() / r;
            (text, (1..3).map(|k| f64::from(k) * period).collect())
        }
        4 => {
            // Another unit sends the input: exchange bands count, too.
            let (k, share) = (d.between(0.3, 2.0), d.between(0.2, 0.9));
            let text = unit(
                "x = 0",
                "x = \"u\"",
                &format!("x >= {}", share / k),
                "x = \"x\"",
                "inputs = { u = 1 }\n",
            );
            let source = format!(
                "[unit.{name}_source]\nkind = \"equations\"\ntolerance = {tolerance:e}\n\
                 absolute_tolerance = {tolerance:e}\nexchange_tolerance = {tolerance:e}\n\
                 states = {{ y = 1 }}\nderivatives = {{ y = \"-{k}*y\" }}\n\
                 outputs = {{ y = \"y\" }}\n"
            );
            (text + &source, vec![-(1.0 - share).ln() / k])
        }
        5 => {
            let (w, c) = (d.between(0.5, 2.0), d.between(0.1, 0.9));
            let text = unit(
                "x = 0",
                &format!("x = \"{w}*cos({w}*t)\""),
                &format!("x >= {c}"),
                "x = \"x\"",
                "",
            );
            (text, vec![c.asin() / w])
        }
        _ => {
            let c = d.between(0.5, 8.0);
            let text = unit("x = 0", "x = \"1 + x^2\"", &format!("x >= {c}"), "x = \"0\"", "");
            let period = c.atan();
            (text, (1..4).map(|k| f64::from(k) * period).collect())
        }
    };
    (name, text, times)
}

#[test]
fn bars_hold_the_truth_in_99_of_100_systems() {
    let count = std::env::var("SUPERDENSE_SYSTEMS").ok().and_then(|n| n.parse().ok());
    let (count, batch, stop) = (count.unwrap_or(700), 70, 4.0);
    let dir = folder("bars");
    let mut d = Draw(20_261_121);
    let (mut held, mut total, mut events) = (0, 0, 0);
    while total < count {
        let systems: Vec<_> = (0..batch).map(|k| system(&mut d, k)).collect();
        let mut text = format!("stop = {stop}\nresolution = \"ps\"\nsample = \"none\"\n");
        text.push_str("record = [\"s4_source.y\"]\nconnections = [\n");
        for k in (4..batch).step_by(7) {
            writeln!(text, "  \"s{k}_source.y -> s{k}.u\",").unwrap();
        }
        text.push_str("]\n");
        systems.iter().for_each(|(_, unit, _)| text.push_str(unit));
        fs::write(dir.join("systems.toml"), text).unwrap();
        good(&dir, "run systems.toml --quiet --verify --force --trajectory none --out out");
        let bars = read(&dir, "out/event_bars.csv");
        for (name, _, times) in &systems {
            let rows: Vec<Vec<&str>> = bars
                .lines()
                .map(|l| l.split(',').collect())
                .filter(|r: &Vec<&str>| r[2] == name && r[3] == "e")
                .collect();
            let due: Vec<f64> = times.iter().copied().filter(|t| *t < stop - 1e-3).collect();
            let inside = rows.len() >= due.len()
                && due.iter().zip(&rows).all(|(truth, row)| {
                    let (time, bar): (f64, Option<f64>) =
                        (row[0].parse().unwrap(), row[5].parse().ok());
                    bar.is_some_and(|bar| (time - truth).abs() <= bar && bar < 1e-2)
                });
            if !inside {
                println!("{name}: {due:?} in {rows:?}");
            }
            held += usize::from(inside);
            events += due.len();
            total += 1;
        }
    }
    println!("{held} of {total} systems with {events} events have their true times in the bars");
    assert!(held * 100 >= total * 99, "{held} of {total}");
}

/// Fixed steps, quanta, and blocks count as much as tolerances.
#[test]
fn bars_hold_for_steps_quanta_and_blocks() {
    let half = std::f64::consts::LN_2;
    let decays = [
        ("euler", "step = 0.1"),
        ("rk4", "step = 0.5"),
        ("taylor", "step = 0.5\norder = 3"),
        ("qss1", "dq_rel = 0.01"),
        ("qss2", "dq_rel = 0.01"),
        ("qss3", "dq_rel = 0.01"),
        ("liqss1", "dq_rel = 0.01"),
        ("liqss2", "dq_rel = 0\ndq_min = 0.001"),
    ];
    let mut text = "stop = 2\nsample = \"none\"\n\
                    connections = [\"one.y -> lag.u\", \"lag.y -> of_lag.u\",\n\
                    \"two.y -> square.u\", \"square.y -> of_square.u\"]\n\
                    [unit.one]\nkind = \"constant\"\nvalue = 1\n\
                    [unit.lag]\nkind = \"transfer-function\"\nnumerator = [1.0]\n\
                    denominator = [1.0, 1.0]\ntolerance = 1e-3\nabsolute_tolerance = 1e-3\n\
                    exchange_tolerance = 1e-2\n\
                    [unit.two]\nkind = \"ramp\"\nslope = 2\n\
                    [unit.square]\nkind = \"integrator\"\norder = 1\nexchange_tolerance = 0.01\n"
        .to_owned();
    let mut truths = vec![("of_lag", half), ("of_square", 0.5f64.sqrt())];
    for (name, _) in &truths {
        write!(
            text,
            "[unit.{name}]\nkind = \"equations\"\ninputs = {{ u = 0 }}\n\
             [[unit.{name}.event]]\nname = \"half\"\nwhen = \"u >= 0.5\"\n"
        )
        .unwrap();
    }
    for (method, options) in decays {
        write!(
            text,
            "[unit.{method}]\nkind = \"equations\"\nmethod = \"{method}\"\n{options}\n\
             states = {{ x = 1 }}\nderivatives = {{ x = \"-x\" }}\n\
             [[unit.{method}.event]]\nname = \"half\"\nwhen = \"x <= 0.5\"\n"
        )
        .unwrap();
        truths.push((method, half));
    }
    let dir = folder("bars-knobs");
    fs::write(dir.join("knobs.toml"), text).unwrap();
    good(&dir, "run knobs.toml --quiet --verify --trajectory none --out out");
    let bars = read(&dir, "out/event_bars.csv");
    for (name, truth) in truths {
        let row = bars.lines().map(|l| l.split(',').collect::<Vec<_>>()).find(|r| r[2] == name);
        let row = row.unwrap_or_else(|| panic!("{name} has no event"));
        let (time, bar): (f64, f64) = (row[0].parse().unwrap(), row[5].parse().unwrap());
        let off = (time - truth).abs();
        assert!(off > 1e-8, "{name} is exact, which tells nothing");
        assert!(off <= bar && bar < 0.5, "{name}: off by {off:e} s, bar {bar:e} s");
    }
}

/// Results have bars, on screen and in the summary; counts that all runs agree on are certain.
#[test]
fn results_have_bars() {
    let dir = folder("result-bars");
    let text = "stop = '2 s'\n[unit.d]\nkind = 'equations'\nmethod = 'rk45'\ntolerance = 1e-4\n\
                states = { x = 1 }\nderivatives = { x = '-x' }\noutputs = { x = 'x' }\n[result]\n\
                mean = 'mean(d.x)'\nhalf = 'first(d.x < 0.5)'\nups = 'count(d.x < 0.5)'\n\
                late = 'first(d.x < 0.1)'\n";
    fs::write(dir.join("decay.toml"), text).unwrap();
    let screen = good(&dir, "run decay.toml --verify --out out");
    let summary: serde_json::Value = serde_json::from_str(&read(&dir, "out/summary.json")).unwrap();
    let part = |name: &str, key: &str| summary["results"][name][key].as_f64().unwrap();
    for (name, truth) in
        [("mean", 0.5 * (1.0 - (-2.0f64).exp())), ("half", std::f64::consts::LN_2), ("ups", 1.0)]
    {
        let (value, bar) = (part(name, "value"), part(name, "bar"));
        assert!((value - truth).abs() <= bar && bar < 1e-3, "{name}: {value} ± {bar}, {truth}");
        assert!((bar == 0.0) == (name == "ups"), "{name}: {bar}");
    }
    assert!(summary["results"]["late"].is_null());
    assert!(screen.contains("±"), "{screen}");
    good(&dir, "report out");
}

/// Numbers inherit from the ticks to which events are rounded: bars know it, also where a method is exact.
#[test]
fn bars_know_ticks() {
    let dir = folder("tick-bars");
    let text = "stop = '5 s'\nresolution = 'us'\nsample = 'none'\n[unit.ball]\nkind = 'equations'\nmethod = 'closed'\n\
                states = { x = 10, v = 0 }\nderivatives = { x = 'v', v = '-9.81' }\noutputs = { x = 'x' }\n\
                [[unit.ball.event]]\nname = 'bounce'\nwhen = 'x <= 0 and v < 0'\nreset = { v = '-0.9*v' }\n\
                [result]\ntop = { value = 'max(ball.x)', over = ['2 s', 'stop'] }\nfinal = 'final(ball.x)'\n";
    fs::write(dir.join("ball.toml"), text).unwrap();
    let screen = good(&dir, "run ball.toml --verify --out out");
    assert!(!screen.contains("not in bars"), "{screen}");
    let summary: serde_json::Value = serde_json::from_str(&read(&dir, "out/summary.json")).unwrap();
    let part = |name: &str, key: &str| summary["results"][name][key].as_f64().unwrap();
    // Three flights are over after 5 s: fall, then 0.9 and 0.81 of the speed of impact.
    let fall = (20.0f64 / 9.81).sqrt();
    let speed = 9.81 * fall;
    let (second, third) = (2.0 * 0.9 * fall, 2.0 * 0.81 * fall);
    let since = 5.0 - fall - second;
    assert!(since > 0.0 && since < third, "{since}");
    let last = 0.81 * speed * since - 9.81 / 2.0 * since * since;
    for (name, truth) in [("top", 8.1), ("final", last)] {
        let (value, bar) = (part(name, "value"), part(name, "bar"));
        let off = (value - truth).abs();
        assert!(off <= bar && bar < 1e-3 && bar > 0.0, "{name}: {value} ± {bar}, off by {off:e}");
    }
}

/// Steps that time events cut are as long in tightened runs, too, unless these divide them.
#[test]
fn bars_know_steps_that_events_cut() {
    let dir = folder("cut-bars");
    let text = "stop = '5 s'\nsample = '0.5 s'\nrecord = ['d.x', 'd.n']\n[unit.d]\nkind = 'equations'\nmethod = 'taylor'\n\
                tolerance = 1e-6\nstates = { x = 4 }\ndiscrete = { n = 0 }\nderivatives = { x = '0.5*(2 - x)' }\n\
                outputs = { x = 'x', n = 'n' }\n\
                [[unit.d.event]]\nname = 'tick'\nevery = '2 s'\nfrom = '1 s'\nreset = { n = 'n + 1' }\n";
    fs::write(dir.join("cut.toml"), text).unwrap();
    good(&dir, "run cut.toml --quiet --verify --out out");
    let [samples, bars] =
        ["samples.csv", "sample_bars.csv"].map(|f| read(&dir, &format!("out/{f}")));
    let rows = |text: &str| -> Vec<Vec<f64>> {
        let numbers = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect();
        text.lines().skip(1).map(numbers).collect()
    };
    let mut largest: f64 = 0.0;
    for (row, bar) in rows(&samples).iter().zip(rows(&bars)).skip(1) {
        let off = (row[1] - 2.0 - 2.0 * (-0.5 * row[0]).exp()).abs();
        assert!(off <= bar[1] + 1e-15 && bar[1] < 1e-9, "{row:?} off by {off:e}, bar {:e}", bar[1]);
        assert_eq!(bar[2], 0.0, "counts are exact");
        largest = largest.max(off);
    }
    assert!(largest > 1e-12, "the run is exact, which tells nothing");
}

/// Chattering at ticks of a millisecond is one flip a tick, and at the finer ticks of tightened runs an error: the
/// run itself is there, and told.
#[test]
fn runs_without_bars_are_complete() {
    let dir = folder("no-bars");
    let text = "stop = '1 s'\nresolution = 'ms'\n[unit.d]\nkind = 'equations'\nstates = { x = 0 }\n\
                derivatives = { x = 'if x < 0.5 then 1 else -1' }\noutputs = { x = 'x' }\n";
    fs::write(dir.join("chatter.toml"), text).unwrap();
    good(&dir, "run chatter.toml --quiet --out alone");
    let output = superdense(&dir, "run chatter.toml --quiet --verify --out out");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("is complete, with results in out;"), "{told}");
    assert!(told.contains("chattering"), "{told}");
    assert_equal_results(&dir.join("alone"), &dir.join("out"));
}
