//! A federate that is killed, interrupted or left by its peers goes on from its checkpoint, with peers that are started anew:
//! its files are those of a run that was not broken off.
use super::{Bench, LAG, LAGS, command, folder, read};
use crate::good;
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Files that are equal whenever the run is.
const FILES: [&str; 9] = [
    "units.csv",
    "events.csv",
    "samples.csv",
    "trajectory.csv",
    "summary.json",
    "plots.json",
    "federation/inbound.csv",
    "federation/outbound.csv",
    "federation/grants.csv",
];
/// A state that swings, and messages both ways.
const UNITS: &str = "[unit.alarm]
kind = 'clock'
period = '0.7 s'
[unit.lamp]
kind = 'hold'
initial = 0.0
";
const MAIL: &str = "[[federate.message]]
name = 'own/mail'
peer = 'peer/mail'
type = 'double'
from = 'alarm.y'
to = 'lamp.u'
";
/// A peer whose values depend on all that it has heard so far.
const PEER: &str = "pub peer/u double; sub own/x double; end peer/mail own/mail; run";

/// The steps of the peer, with wall time up to `sleep` for each.
fn echo(count: u32, factor: f64, sleep: f64) -> String {
    format!("echo 0.1 {count} peer/u own/x {factor} {sleep} peer/mail")
}

/// The whole script of the peer, and one that takes long enough to be killed.
fn quick() -> String {
    echo(200, 0.05, 0.0)
}
fn slow() -> String {
    echo(200, 0.05, 0.04)
}

impl Bench {
    fn scenario(&self, script: &str) {
        let head = format!("stop = '20 s'\n{}{UNITS}", LAG.replace("'none'", "'0.25 s'"));
        self.write(&head, &format!("{LAGS}{MAIL}"), &[("peer", &format!("{PEER}; {script}"))]);
    }

    /// Starts the first run or goes on with it, and kills it on its way.
    fn broken_off(&self, line: &str, by: &str) {
        let mut child = underway(&self.dir, &mut self.command(line), 100);
        sleep(Duration::from_millis(700));
        assert!(child.try_wait().unwrap().is_none(), "it has ended before {by}");
        signal(&child, by);
        let status = child.wait().unwrap();
        assert!(by == "-KILL" || status.code() == Some(130), "{status}");
        assert!(self.dir.join("parts/checkpoint").is_file());
    }

    fn grants(&self, out: &str) -> usize {
        read(&self.dir, &format!("{out}/federation/grants.csv")).lines().count() - 1
    }
}

/// Starts a command and waits until its record of grants has grown beyond so many bytes.
fn underway(dir: &Path, command: &mut Command, bytes: u64) -> Child {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let record = dir.join("parts/federation/grants.csv");
    let length = || fs::metadata(&record).map_or(0, |m| m.len());
    let (before, begun) = (length(), Instant::now());
    while length() <= before.max(bytes) && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{command:?} does not begin");
        sleep(Duration::from_millis(1));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

fn assert_whole(dir: &Path) {
    for file in FILES {
        let [a, b] = ["whole", "parts"].map(|out| read(dir, &format!("{out}/{file}")));
        assert!(a == b, "{file}: {:?}", a.lines().zip(b.lines()).find(|(a, b)| a != b));
    }
    assert!(!dir.join("parts/checkpoint").exists());
}

const FIRST: &str = "run s.toml --out parts --checkpoint-every 0.05 --force";

/// Acceptance 14: kill -9, several times in a run, and an interruption.
#[test]
fn kills_and_interruptions_leave_no_trace() {
    let Some(bench) = Bench::new("resumed") else { return };
    bench.scenario(&quick());
    bench.run("run s.toml --out whole");
    assert!(bench.grants("whole") > 400, "{}", bench.grants("whole"));
    let inbound = read(&bench.dir.join("whole"), "federation/inbound.csv");
    assert!(inbound.lines().count() > 200 && inbound.contains("lamp.u"), "{inbound}");
    bench.scenario(&slow());
    let mut line = FIRST;
    for by in ["-KILL", "-KILL", "-INT"] {
        bench.broken_off(line, by);
        line = "resume parts";
    }
    // While peers join or catch up, it can be interrupted, too.
    for wall in [300, 1300] {
        let mut child =
            bench.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(wall));
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(bench.dir.join("parts/checkpoint").is_file());
    }
    bench.scenario(&quick());
    bench.run(line);
    assert_whole(&bench.dir);
}

/// A run that is fed with a record goes on without peers, and without HELICS.
#[test]
fn a_replay_goes_on() {
    let dir = folder("helics-replayed");
    let head = format!("stop = '40 s'\n{}", LAG.replace("'none'", "'0.25 s'"));
    let federate = "[federate]\nengine = 'helics'\nname = 'own'\nbroker = 'start'\n";
    fs::write(dir.join("s.toml"), format!("{head}{federate}{LAGS}")).unwrap();
    let line = |k: u64| {
        let at = 1_000_000 * k + 1;
        format!("{at},{at}:0,lag.u,peer/u,double,{:?}\n", (k % 7) as f64)
    };
    let record: String = (1..40_000).map(line).collect();
    fs::create_dir_all(dir.join("record/federation")).unwrap();
    let header = "nanoseconds,tag,port,source,type,value\n";
    fs::write(dir.join("record/federation/inbound.csv"), format!("{header}{record}")).unwrap();
    fs::write(dir.join("record/summary.json"), "{ \"end_time\": 40 }").unwrap();
    good(&dir, "run s.toml --replay record --out whole");
    // A replay goes as fast as the machine does: a part of the record, and no wall time, says when it is killed.
    let bytes = fs::metadata(dir.join("whole/federation/grants.csv")).unwrap().len();
    let mut line = "run s.toml --replay record --out parts --checkpoint-every 0";
    for part in 1..4 {
        let mut child = underway(&dir, &mut command(&dir, line), bytes * part / 6);
        assert!(child.try_wait().unwrap().is_none(), "it has ended before it was killed");
        signal(&child, "-KILL");
        child.wait().unwrap();
        line = "resume parts";
    }
    good(&dir, line);
    assert_whole(&dir);
}

/// Acceptance 14: a peer that does something else is told, with both values, and the run can still be resumed.
#[test]
fn a_changed_peer_is_named() {
    let Some(bench) = Bench::new("changed") else { return };
    bench.scenario(&quick());
    bench.run("run s.toml --out whole");
    bench.scenario(&slow());
    bench.broken_off(FIRST, "-KILL");
    let record = read(&bench.dir.join("whole"), "federation/inbound.csv");
    let first: Vec<&str> = record.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(first[..4], ["100000001", "100000001:0", "lag.u", "peer/u"]);
    for (script, sent) in [
        (echo(200, 0.06, 0.0), format!(", and {} in the run before", first[5])),
        ("until 20".to_owned(), format!("nothing, and {} in the run before", first[5])),
        ("to 0.05; put peer/u 7; until 20".to_owned(), "7.0, and nothing in the run before".into()),
    ] {
        bench.scenario(&script);
        let told = bench.fails("resume parts", 3);
        let at = if sent.starts_with('7') { "0.05" } else { "0.100000001" };
        for part in [
            &format!("federate `own`: `lag.u` at {at} s: `peer/u` of `peer` sent "),
            &sent,
            "start them as they were",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
    }
    bench.scenario(&quick());
    let text = bench.read("s.toml");
    fs::write(bench.dir.join("s.toml"), text.replace("initial = 0\n", "initial = 1\n")).unwrap();
    let told = bench.fails("resume parts", 2);
    assert!(told.contains("restore [federate]"), "{told}");
    fs::write(bench.dir.join("s.toml"), text).unwrap();
    bench.run("resume parts");
    assert_whole(&bench.dir);
}

/// Where a peer is lost, the run has ended in a fault; it goes on from its last checkpoint with one that lives.
#[test]
fn a_lost_peer_is_replaced() {
    let Some(bench) = Bench::new("replaced") else { return };
    bench.scenario(&quick());
    bench.run("run s.toml --out whole");
    bench.scenario(&format!("{}; kill", echo(60, 0.05, 0.04)));
    let told = bench.fails(FIRST, 3);
    assert!(told.contains("`peer`") && told.contains("superdense resume parts"), "{told}");
    assert!(read(&bench.dir, "parts/summary.json").contains("\"ended\": \"fault\""));
    bench.scenario(&quick());
    bench.run("resume parts");
    assert_whole(&bench.dir);
}
