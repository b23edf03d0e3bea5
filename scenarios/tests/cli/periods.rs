//! Periods that are no whole number of ticks.
use super::*;

/// All that repeats, every third of a second, in each way to write that.
const THIRDS: &str = r#"
stop = "1000 s"
sample = "1/3"
record = [
  "clock.y", "drawn.y", "packets.out", "pulse.y", "sampler.y", "ratio.y", "plant.tick", "adapted.count",
]
connections = [
  "pulse.y -> sampler.u",
  { from = "pulse.y", to = "adapted.u", via = "sample", period = "third" },
]

[parameters]
third = "1/f"
f = 3

[unit.clock]
kind = "clock"
period = "1/3 s"

[unit.ratio]
kind = "clock"
numerator = 1
denominator = 3

[unit.drawn]
kind = "random"
of = "event"
period = "third"
mean = 1

[unit.packets]
kind = "packet-source"
pattern = "periodic"
period = "1/3"

[unit.pulse]
kind = "pulse"
period = "1000/3 ms"

[unit.sampler]
kind = "sampler"
period = "1/f"

[unit.adapted]
kind = "counter"

[unit.plant]
kind = "equations"
states = { x = 0 }
derivatives = { x = "1" }
event_outputs = ["tick"]
[[unit.plant.event]]
name = "tick"
every = "1/3 s"
emit = { tick = 1 }
[[unit.plant.event]]
name = "tock"
every = "third"
from = "1 s"
"#;

#[test]
fn periods_do_not_drift() {
    let dir = folder("periods");
    fs::write(dir.join("thirds.toml"), THIRDS).unwrap();
    good(&dir, "run thirds.toml");
    let out = dir.join("out/thirds");
    let times: Vec<String> = (0..=3000u64)
        .map(|k| match (k / 3, k % 3) {
            (whole, 0) => format!("{whole}"),
            (whole, 1) => format!("{whole}.333333333"),
            (whole, _) => format!("{whole}.666666667"),
        })
        .collect();
    let rows = |name: &str, wanted: &dyn Fn(&[&str]) -> bool| -> Vec<String> {
        let text = read(&out, name);
        let rows = text.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>());
        rows.filter(|r| wanted(r)).map(|r| r[0].to_owned()).collect()
    };
    assert_eq!(rows("samples.csv", &|_| true), times);
    assert_eq!(rows("events.csv", &|r| r[3] == "tick"), times[1..]);
    assert_eq!(rows("events.csv", &|r| r[3] == "tock"), times[3..]);
    let ticks = |seconds: &String| match seconds.split_once('.') {
        Some((whole, rest)) => format!("{whole}{rest}").trim_start_matches('0').to_owned(),
        None if seconds == "0" => "0".to_owned(),
        None => format!("{seconds}000000000"),
    };
    let ticks: Vec<String> = times.iter().map(ticks).collect();
    for (signal, first) in [
        ("clock.y", 0),
        ("ratio.y", 0),
        ("drawn.y", 0),
        ("packets.out", 0),
        ("sampler.y", 0),
        ("plant.tick", 1),
        ("adapted.count", 0),
    ] {
        let mut found = rows("trajectory.csv", &|r| r[2] == signal);
        found.dedup();
        assert_eq!(found, ticks[first..], "{signal}");
    }
    let mut rises = rows("trajectory.csv", &|r| r[2] == "pulse.y" && r[3] == "1");
    rises.dedup();
    assert_eq!(rises, ticks, "starts of pulses");
}

/// Written times are exact or refused; computed times are rounded.
#[test]
fn written_times_are_exact() {
    let dir = folder("written_times");
    let check = |period: &str| {
        let text = format!("stop = 1\nunit.c = {{ kind = 'clock', period = {period} }}");
        fs::write(dir.join("c.toml"), text).unwrap();
        let output = superdense(&dir, "check c.toml");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for good in [
        "'1/3'",
        "'1/3 s'",
        "'2/7 ms'",
        "'0.1*3'",
        "'0.1'",
        "'1 ns'",
        "'0.30000000000'",
        "0.30000000000000004",
    ] {
        assert!(check(good).0, "{good}: {}", check(good).1);
    }
    for (fine, code) in [
        ("0.3333333333333", "time-too-fine"),
        ("'0.3333333333333'", "time-too-fine"),
        ("'0.3333333333333 s'", "time-too-fine"),
        ("'333.3333333333 ms'", "time-too-fine"),
        ("'1/3 ns'", "time-too-fine"),
        ("'1/0 s'", "not-a-number"),
        ("'-1/3 s'", "negative-time"),
    ] {
        let (good, text) = check(fine);
        assert!(!good && text.contains(code), "{fine}: {text}");
    }
}
