//! `run --real-time`, `check --real-time`.
use super::{command, folder, good, json, read, superdense};
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A ball that bounces, with samples; 2 s of it.
const BALL: &str = r#"
stop = "2 s"
sample = "10 ms"
[unit.ball]
kind = "equations"
states = { x = 0.5, v = 0 }
derivatives = { x = "v", v = "-9.81" }
outputs = { x = "x" }
[[unit.ball.event]]
name = "bounce"
when = "x <= 0 and v < 0"
reset = { v = "-0.95*v" }
"#;

fn ball(name: &str) -> PathBuf {
    let dir = folder(name);
    fs::write(dir.join("ball.toml"), BALL).unwrap();
    dir
}

fn hash(dir: &Path, out: &str) -> String {
    json(&read(dir, &format!("{out}/summary.json")))["trace_hash"].as_str().unwrap().to_owned()
}

fn told(dir: &Path, out: &str) -> Json {
    json(&read(dir, &format!("{out}/performance.json")))["real_time"].clone()
}

fn seconds(told: &Json, name: &str) -> f64 {
    told.pointer(name).and_then(Json::as_f64).unwrap_or_else(|| panic!("{name} in {told}"))
}

/// The results of a run are those of a free run at each speed; it takes the time that the speed says.
#[test]
fn speeds_change_nothing_but_the_time() {
    let dir = ball("real-time-speeds");
    good(&dir, "run ball.toml --quiet --out free");
    assert!(told(&dir, "free").is_null(), "a free run tells nothing of lateness");
    for (out, speed, wall) in [
        ("four", vec!["4"], 0.5),
        ("two", vec!["2, 8 @ 1 s"], 0.625),
        ("fast", vec!["1000"], 0.002),
    ] {
        let began = Instant::now();
        let mut run = command(&dir, &format!("run ball.toml --quiet --out {out} --real-time"));
        assert!(run.args(&speed).status().unwrap().success());
        let took = began.elapsed().as_secs_f64();
        assert!((wall..wall + 10.0).contains(&took), "{speed:?}: {took} s");
        assert_eq!(hash(&dir, out), hash(&dir, "free"), "{speed:?}");
        for file in ["events.csv", "samples.csv", "trajectory.csv"] {
            assert_eq!(
                read(&dir, &format!("{out}/{file}")),
                read(&dir, &format!("free/{file}")),
                "{file}"
            );
        }
        let told = told(&dir, out);
        let [p50, p99, max] =
            ["/lateness/p50", "/lateness/p99", "/lateness/max"].map(|n| seconds(&told, n));
        assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{told}");
        // 201 samples, and bounces between them.
        let counted: u64 = told["lateness"]["histogram"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c[1].as_u64().unwrap())
            .sum();
        let bounces = read(&dir, "free/events.csv").lines().count() as u64 - 1;
        assert_eq!(
            (told["instants"].as_u64().unwrap(), counted),
            (201 + bounces, 201 + bounces),
            "{told}"
        );
        assert!(told["longest_per_kind"]["equations"].as_f64().is_some_and(|s| s > 0.0), "{told}");
    }
}

/// A process that is stopped for a while and goes on has paused: nothing that follows is late by that.
#[cfg(unix)]
#[test]
fn a_stopped_process_has_paused() {
    let dir = ball("real-time-stopped");
    good(&dir, "run ball.toml --quiet --out free");
    let mut run = command(&dir, "run ball.toml --quiet --out paused --real-time 1 --overrun slip")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let signal = |name: &str, pid: u32| {
        assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
    };
    // Rows are written once a second: those of samples show that the run is on its way.
    let rows =
        || fs::read_to_string(dir.join("paused/samples.csv")).map_or(0, |s| s.lines().count());
    while rows() < 2 && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let began = Instant::now();
    signal("-STOP", run.id());
    std::thread::sleep(Duration::from_millis(700));
    signal("-CONT", run.id());
    assert!(run.wait().unwrap().success());
    let most = began.elapsed().as_secs_f64() + 0.02;
    assert_eq!(hash(&dir, "paused"), hash(&dir, "free"));
    let paused = seconds(&told(&dir, "paused"), "/paused");
    // The last look at the clock before the stop is a nap of 20 ms before it at most.
    assert!((0.6..=most).contains(&paused), "{paused} s of {most} s");
}

/// A million simulated seconds per second is too much for anyone: each policy does what it says, and none changes results.
#[test]
fn policies_on_what_is_late() {
    let dir = ball("real-time-late");
    good(&dir, "run ball.toml --quiet --out free");
    for policy in ["catch-up", "slip"] {
        let line = format!(
            "run ball.toml --quiet --out {policy} --real-time 1e6 --late 0 --overrun {policy}"
        );
        good(&dir, &line);
        assert_eq!(hash(&dir, policy), hash(&dir, "free"));
        let told = told(&dir, policy);
        let (overruns, instants) =
            (told["overruns"].as_u64().unwrap(), told["instants"].as_u64().unwrap());
        assert_eq!(overruns, instants, "{policy}: each instant is late");
        let (slip, max) = (seconds(&told, "/slip"), seconds(&told, "/lateness/max"));
        match policy {
            "slip" => assert!(slip > max, "the sum of {instants} instants: {slip}, {max}"),
            _ => assert!(slip == 0.0 && max > 0.0, "{slip}, {max}"),
        }
        assert_eq!(told["worst"]["late"].as_f64(), Some(max), "{told}");
    }
    let stops = superdense(
        &dir,
        "run ball.toml --quiet --out stop --real-time 1e6 --late 0 --overrun stop",
    );
    assert_eq!(stops.status.code(), Some(3));
    let message = String::from_utf8_lossy(&stops.stderr).replace("\n", " ");
    assert!(message.contains("s late") && message.contains("--overrun catch-up"), "{message}");
}

#[test]
fn real_time_is_refused_where_it_makes_no_sense() {
    let dir = ball("real-time-refused");
    for (options, why) in [
        ("--real-time 0", "simulated seconds per second"),
        ("--real-time 1 --verify", "cannot be used with"),
        ("--real-time 1 --executor time-warp", "sequential executor"),
        ("--late 1", "--real-time"),
    ] {
        let refused = superdense(&dir, &format!("run ball.toml {options}"));
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{options}: {message}");
        assert!(message.contains(why), "{options}: {message}");
    }
}

/// Ten counters that hear one clock.
fn counters(dir: &Path, period: &str, wcet: &str) {
    let text = format!(
        "stop = '1 s'\nrecord = []\nconnections = ['tick.y -> work[*].u']\n[unit.tick]\nkind = 'clock'\nperiod = '{period}'\n\
         [unit.work]\nkind = 'counter'\ncount = 10\nwcet = {wcet}"
    );
    fs::write(dir.join("work.toml"), text).unwrap();
}

/// The load is that of 11 ticks for each of 10 counters, which take one and answer it; a burst of them is late by their sum.
#[test]
fn declared_times_are_checked() {
    let dir = folder("real-time-check");
    counters(&dir, "100 ms", "'2 ms'");
    let line = "check work.toml --json --real-time 1 --late 0.05";
    let told = json(&good(&dir, line))["real_time"].clone();
    assert!((seconds(&told, "/load") - 0.44).abs() < 1e-9, "{told}");
    assert!((seconds(&told, "/late") - 0.04).abs() < 1e-9, "{told}");
    assert_eq!(
        (told["units"][0]["transitions"].as_u64(), told["undeclared"].as_u64()),
        (Some(22), Some(1))
    );
    let refused = |line: &str| {
        let output = superdense(&dir, line);
        let message = String::from_utf8_lossy(&output.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        message
    };
    // The burst alone is too long for the 10 ms that are allowed.
    let message = refused("check work.toml --real-time 1");
    assert!(message.contains("it would be 0.040000 s late"), "{message}");
    // Ten times as fast, 440 ms of work come in 100 ms.
    let message = refused("check work.toml --real-time 10 --late 0.1");
    assert!(
        message.contains("0.340000 s late") && message.contains("`work[0]` takes 44.0 %"),
        "{message}"
    );
    // The times of a list follow the index.
    counters(&dir, "100 ms", "'(i + 1)/2000'");
    let told =
        json(&good(&dir, "check work.toml --json --real-time 1 --late 0.2"))["real_time"].clone();
    assert!((seconds(&told, "/late") - 0.055).abs() < 1e-9, "{told}");
    assert_eq!(told["units"][0]["unit"], "work[9]");
    // Nobody says how long anything takes.
    let ball = ball("real-time-check-ball");
    let output = superdense(&ball, "check ball.toml --real-time 1");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wcet"));
}
