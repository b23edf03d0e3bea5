//! Dead reckoning as a line of a connection.
use super::{folder, good, json, library::Results, read, superdense};
use std::fs;

/// Nobody is further from the vehicle than the band. Numbers of updates are those of an independent calculation; periodic
/// values that are as exact take 4220.
#[test]
fn stations_stay_within_the_band() {
    let run = Results::of("continuous/dead_reckoning.toml", &[]);
    for (name, updates, off) in
        [("linear", 208.0, 0.01), ("curved", 97.0, 0.01), ("known", 1.0, 0.0)]
    {
        assert_eq!(run.result(&format!("updates_{name}")), updates, "{name}");
        let found = run.result(&format!("off_{name}"));
        assert!((found - off).abs() < 2e-6, "{name}: {found}");
    }
    let held = run.result("off_held");
    assert!((held - 0.0099).abs() < 1e-4, "{held}");
    assert!(run.result("updates_linear") * 5.0 <= 20.0 / 4.7e-3);
}

/// A run that is stopped and resumed gives the trace of one that is not.
#[cfg(unix)]
#[test]
fn a_resumed_run_is_equal() {
    let dir = folder("dead-reckoning-resumed");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/library/continuous/dead_reckoning.toml");
    good(&dir, &format!("run {file} --quiet --out whole"));
    // A run at the pace of the clock is stopped by Ctrl-C after a while.
    let mut run = super::command(&dir, &format!("run {file} --quiet --out parts --real-time 10"))
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &run.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(run.wait().unwrap().code(), Some(130));
    good(&dir, "resume parts --quiet");
    for name in ["events.csv", "samples.csv", "trajectory.csv", "summary.json"] {
        assert_eq!(
            read(&dir, &format!("whole/{name}")),
            read(&dir, &format!("parts/{name}")),
            "{name}"
        );
    }
    let told = json(&read(&dir, "parts/performance.json"));
    assert_eq!(told["real_time"]["speed"], 10.0, "the pace is kept");
}

/// Each third update is lost on the way: the receiver is wrong from there to the next one, and no longer. Workers that roll
/// back, and those that do not, give the trace of a sequential run.
#[test]
fn a_lost_update_counts_until_the_next() {
    let dir = folder("dead-reckoning-lost");
    let text = r#"
stop = "20 s"
sample = "1 ms"
record = ["vehicle.x", "r.y"]
connections = [
  "vehicle.x -> d.u", "d.sent -> net.in", "net.out1 -> r.in", "net.out2 -> r.in", "net.out3 -> lost.u",
]
[unit.vehicle]
kind = "equations"
outputs = { x = "sin(t) + 0.3*sin(3.7*t)" }
segment_order = 9
exchange_tolerance = 1e-10
[unit.d]
kind = "dead-reckoning"
band = 0.01
[unit.net]
kind = "router"
mode = "turn"
outputs = 3
[unit.r]
kind = "dead-reckoning-receiver"
[unit.lost]
kind = "counter"
"#;
    fs::write(dir.join("lossy.toml"), text).unwrap();
    let hash = |executor: &str| {
        let done = good(&dir, &format!("run lossy.toml --json --force --out out {executor}"));
        json(&done)["summary"]["trace_hash"].clone()
    };
    for executor in ["time-warp", "conservative"] {
        let parallel = hash(&format!("--executor {executor} --workers 2"));
        assert_eq!(parallel, hash(""), "{executor}");
    }
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let events = read(&dir, "out/events.csv");
    let sent: Vec<f64> =
        events.lines().skip(1).map(|line| number(line.split(',').next().unwrap())).collect();
    assert_eq!(sent.len(), 208);
    let is_lost = |t: f64| sent.partition_point(|at| *at <= t) % 3 == 0;
    let (mut right, mut wrong) = (0.0f64, 0.0f64);
    for line in read(&dir, "out/samples.csv").lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(number).collect();
        let (off, lost) = ((cells[1] - cells[2]).abs(), is_lost(cells[0]));
        let worst = if lost { &mut wrong } else { &mut right };
        *worst = worst.max(off);
    }
    assert!((0.0098..0.01 + 1e-9).contains(&right), "{right} where nothing was lost");
    assert!((0.05..0.08).contains(&wrong), "{wrong} where an update was lost");
}

/// Mistakes in the line are told with what to write.
#[test]
fn mistakes_have_remedies() {
    let dir = folder("dead-reckoning-mistakes");
    let text = |line: &str| {
        format!(
            "stop = 1\nconnections = [{line}]\n[unit.a]\nkind = 'sine'\nfrequency = 1\n[unit.b]\nkind = 'gain'\ngain = 1"
        )
    };
    for (line, why) in [
        ("'a.y -> b.u via dead_reckoning(0)'", "`band` is 0"),
        ("'a.y -> b.u via dead_reckoning(0.1, 13)'", "`order` is 13"),
        (
            "{ from = 'a.y', to = 'b.u', via = 'dead_reckoning', band = 1, dynamics = [0, 1] }",
            "no linear system",
        ),
        (
            "{ from = 'a.y', to = 'b.u', via = 'dead_reckoning', band = 1, order = 1, dynamics = [1, 1] }",
            "leave one of the two out",
        ),
    ] {
        fs::write(dir.join("a.toml"), text(line)).unwrap();
        let output = superdense(&dir, "check a.toml");
        let message = String::from_utf8_lossy(&output.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(output.status.code() == Some(2) && message.contains(why), "{line}: {message}");
    }
}

/// After each update the model and the signal part with slope zero, as far as rounding lets them: a result that switches
/// there is exact, and no note says otherwise.
#[test]
fn distances_that_touch_zero_are_exact() {
    let dir = folder("dead-reckoning-distances");
    let text = r#"
stop = "20 s"
connections = ["src.x -> r.u via dead_reckoning(0.05)"]
[unit.src]
kind = "equations"
outputs = { x = "0.5*t + sin(t)" }
[unit.r]
kind = "gain"
gain = 1
[result]
off = "max(abs(src.x - r.y))"
"#;
    fs::write(dir.join("vehicle.toml"), text).unwrap();
    good(&dir, "run vehicle.toml --quiet --out run");
    let summary = json(&read(&dir.join("run"), "summary.json"));
    let off = summary["results"]["off"].as_f64().unwrap();
    assert!((off - 0.05).abs() < 1e-6 && summary["notes"].is_null(), "{summary}");
}
