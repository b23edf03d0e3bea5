//! Peers and brokers that are killed, stopped or not there.
use super::{Bench, LAG, LAGS, json, texts};
use std::{
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const SECOND: Duration = Duration::from_secs(1);
/// A peer that goes on for long.
const SCRIPT: &str =
    "pub peer/u double; sub own/x double; run; every 0.1 1000000 peer/u 0.001 0.002";

fn signal(name: &str, child: &Child) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// Waits for the end.
    fn ends(mut self) -> Output {
        let status = self.0.wait().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Output { status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody has, and neither those behind it, which brokers take, too: below those of the system.
fn free_port() -> u16 {
    let taken = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_err();
    let first = (std::process::id() % 500) as u16;
    let mut ports = (0..500).map(|k| 20_000 + 20 * ((first + k) % 500));
    ports.find(|port| (*port..port + 20).all(|port| !taken(port))).expect("free ports")
}

impl Bench {
    /// A broker of HELICS' own, and a scenario that takes part in its federation.
    fn foreign(&self, federates: u32) -> (Running, u16) {
        let port = free_port();
        let (port_, count) = (format!("--port={port}"), format!("-f{federates}"));
        // Beside the library; the program in the folder of Python only starts it.
        let broker =
            Path::new(self.shared_object).ancestors().nth(2).unwrap().join("bin/helics_broker");
        let options = [
            "-tzmq",
            &count,
            &port_,
            "--broker_key=abc",
            "--tick=500ms",
            "--timeout=2s",
            "--loglevel=no_print",
        ];
        let child = Command::new(broker).args(options).stdout(Stdio::null()).spawn().unwrap();
        let head = format!("stop = '1e6 s'\n{LAG}");
        self.write(&head, &format!("key = 'abc'\nrequire = ['peer']\n{LAGS}"), &[]);
        let text = self
            .read("s.toml")
            .replace("broker = 'start'", &format!("broker = '127.0.0.1:{port}'"));
        std::fs::write(self.dir.join("s.toml"), text).unwrap();
        (Running(child), port)
    }

    fn peer(&self, port: u16) -> Running {
        let mut command = Command::new(self.python);
        command.current_dir(&self.dir).args([
            "peer.py",
            &format!("127.0.0.1:{port}"),
            "abc",
            "peer",
            SCRIPT,
        ]);
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts the run, and waits until values have come.
    fn started(&self) -> Running {
        let mut command = self.command("run s.toml");
        let run = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let begun = Instant::now();
        let file = self.dir.join("out/s/federation/outbound.csv");
        let mut run = run;
        while std::fs::metadata(&file).map_or(0, |m| m.len()) < 200 {
            if begun.elapsed() > 30 * SECOND || run.0.try_wait().unwrap().is_some() {
                let _ = run.0.kill();
                panic!("the run has not begun: {}", texts(&run.ends()).1);
            }
            sleep(Duration::from_millis(20));
        }
        run
    }
}

/// The messages of a run that has to end in error within five seconds, with its files whole.
fn ended(bench: &Bench, mut run: Running) -> String {
    let begun = Instant::now();
    while run.0.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < 5 * SECOND, "it goes on");
        sleep(Duration::from_millis(10));
    }
    println!("ended after {:?}", begun.elapsed());
    let output = {
        let mut err = String::new();
        run.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        err
    };
    assert_eq!(run.0.wait().unwrap().code(), Some(3), "{output}");
    let summary = json(&bench.read("out/s/summary.json"));
    assert_eq!(summary["ended"], "fault");
    for name in ["inbound", "outbound"] {
        let record = bench.read(&format!("out/s/federation/{name}.csv"));
        assert!(
            record.ends_with('\n') && record.lines().all(|l| l.split(',').count() == 6),
            "{record}"
        );
    }
    // Files are whole: a run takes its own ones away.
    let again = bench.output("run s.toml --replay out/s --out out/again --until 1");
    assert!(again.status.success(), "{:?}", texts(&again));
    output
}

/// Files that two runs must have alike.
const FILES: [&str; 6] = [
    "federation/inbound.csv",
    "federation/outbound.csv",
    "trajectory.csv",
    "events.csv",
    "samples.csv",
    "summary.json",
];

/// Where a federate fails, all files go up to the last time that was granted. A replay of them ends there in error, with
/// equal files, and in order where it is told to end there.
#[test]
fn files_of_a_fault_agree() {
    let Some(bench) = Bench::new("agree") else { return };
    let head = format!("stop = '10 s'\n{}", LAG.replace("'none'", "'0.5 s'"));
    let begin = "pub peer/u double; sub own/x double; run; to 3; put peer/u 1";
    for (script, until) in [("until 10; die 7", 10.0), ("until 6.75; kill", 6.75)] {
        bench.write(
            &head,
            &LAGS.replace("0.1 s", "0.25 s"),
            &[("peer", &format!("{begin}; {script}"))],
        );
        bench.fails("run s.toml --force", 3);
        let summary = json(&bench.read("out/s/summary.json"));
        let end = summary["end_time"].as_f64().unwrap();
        assert_eq!(summary["ended"], "fault");
        assert!((until - 0.5..=10.0).contains(&end), "{end}");
        let samples = bench.read("out/s/samples.csv");
        let last: f64 = samples.lines().last().unwrap().split(',').next().unwrap().parse().unwrap();
        assert!(last <= end && last > end - 0.5, "{last} {end}");
        if until < 10.0 {
            let told = bench.fails("run s.toml --replay out/s --out out/again --force", 3);
            assert!(
                told.contains("the record in out/s ends here") && told.contains("--until"),
                "{told}"
            );
            for file in FILES {
                let [a, b] = ["s", "again"].map(|out| bench.read(&format!("out/{out}/{file}")));
                assert_eq!(a, b, "{file}");
            }
        }
        bench.run(&format!("run s.toml --replay out/s --out out/again --force --until {end}"));
    }
    // A killed run leaves no summary: then the last line counts.
    std::fs::remove_file(bench.dir.join("out/s/summary.json")).unwrap();
    let told = bench.fails("run s.toml --replay out/s --out out/again --force", 3);
    assert!(told.contains("broken off without summary.json"), "{told}");
}

/// Acceptance 10: a peer is killed, or stopped, or the broker is killed.
#[test]
fn lost_federates_are_named() {
    let Some(bench) = Bench::new("lost") else { return };
    for (who, how) in [("peer", "-KILL"), ("peer", "-STOP"), ("broker", "-KILL")] {
        let _ = std::fs::remove_dir_all(bench.dir.join("out"));
        let (broker, port) = bench.foreign(2);
        let peer = bench.peer(port);
        let run = bench.started();
        sleep(SECOND / 2);
        signal(how, if who == "peer" { &peer.0 } else { &broker.0 });
        let told = ended(&bench, run);
        let name = if who == "peer" { "`peer`".to_owned() } else { format!("127.0.0.1:{port}") };
        assert!(told.contains(&name) && told.contains("federate `own` at "), "{who} {how}: {told}");
        signal("-KILL", &peer.0);
    }
}

/// A peer that is killed before all begin is named, too.
#[test]
fn federates_lost_before_the_start_are_named() {
    let Some(bench) = Bench::new("early") else { return };
    let (_broker, port) = bench.foreign(3);
    let peer = bench.peer(port);
    let mut command = bench.command("run s.toml");
    let run = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    sleep(4 * SECOND);
    signal("-KILL", &peer.0);
    let begun = Instant::now();
    let output = run.ends();
    println!("ended after {:?}", begun.elapsed());
    assert!(begun.elapsed() < 7 * SECOND);
    let err = texts(&output).1;
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("`peer` gives no answer"), "{err}");
}

/// Where nothing is granted for long, it is told who waits for whom; the run ends only where it is to.
#[test]
fn a_stall_tells_who_waits_for_whom() {
    let Some(bench) = Bench::new("stall") else { return };
    let script = "pub peer/u double; sub own/x double; run; to 0.25; sleep 6; until 1";
    for (keys, ends) in [("stall = '1.5 s'", false), ("stall = '1.5 s'\nstall_ends = true", true)] {
        let federate = format!("{keys}\n{LAGS}");
        bench.write(&format!("stop = '1 s'\n{LAG}"), &federate, &[("peer", script)]);
        let output = bench.output("run s.toml --force");
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(if ends { 3 } else { 0 }), "{out}{err}");
        assert!(err.contains("no time was granted for "), "{err}");
        assert!(err.contains("`peer` was granted 0.2") && err.contains("no other time"), "{err}");
        assert!(err.contains("and waits for `peer` (at 0.2"), "{err}");
        assert_eq!(err.contains("remove `stall_ends`"), ends, "{err}");
    }
}

/// A federate that was started is killed, or ends in error: its last lines are told.
#[test]
fn started_federates_that_end_are_named() {
    let Some(bench) = Bench::new("started") else { return };
    for (script, part) in [("kill", "SIGKILL"), ("die 7", "no more of this")] {
        let script = format!("pub peer/u double; run; to 0.5; {script}");
        bench.write(&format!("stop = '10 s'\n{LAG}"), LAGS, &[("peer", &script)]);
        let begun = Instant::now();
        let told = bench.fails("run s.toml", 3);
        assert!(told.contains("the federate `peer`") && told.contains(part), "{told}");
        // Long before the 30 s after which a federate counts as lost, also on a busy machine.
        assert!(begun.elapsed() < 25 * SECOND);
    }
}

/// Acceptance 11: nobody listens at the broker's address.
#[test]
fn no_broker() {
    let Some(bench) = Bench::new("nobody") else { return };
    bench.write(&format!("stop = '10 s'\n{LAG}"), &format!("key = 'abc'\n{LAGS}"), &[]);
    let text = bench.read("s.toml").replace("'start'", &format!("'127.0.0.1:{}'", free_port()));
    std::fs::write(bench.dir.join("s.toml"), text.replace("'30 s'", "'2 s'")).unwrap();
    let begun = Instant::now();
    let told = bench.fails("run s.toml", 3);
    let took = begun.elapsed();
    assert!(told.contains("no broker at 127.0.0.1:") && told.contains("helics_broker"), "{told}");
    assert!(took < 20 * SECOND, "{took:?}");
}

/// Federates that have to be there do not come.
#[test]
fn missing_federates_are_named() {
    let Some(bench) = Bench::new("missing") else { return };
    let federate = format!("require = ['grid']\n{LAGS}");
    bench.write(&format!("stop = '10 s'\n{LAG}"), &federate, &[]);
    let text = bench.read("s.toml").replace("'30 s'", "'2 s'");
    std::fs::write(bench.dir.join("s.toml"), text).unwrap();
    let begun = Instant::now();
    let told = bench.fails("run s.toml", 3);
    assert!(told.contains("`grid` did not join"), "{told}");
    assert!(begun.elapsed() < 20 * SECOND);
}

/// Acceptance 24: without the library, a remedy is told.
#[test]
fn without_the_library() {
    let dir = super::folder("helics-none");
    let text = "stop = 1\n[unit.a]\nkind = 'constant'\nvalue = 1\n[federate]\nengine = 'helics'\nname = 'own'\nbroker = 'start'\n";
    std::fs::write(dir.join("s.toml"), text).unwrap();
    let mut command = super::command(&dir, "run s.toml");
    let output = command.env("PATH", "").env_remove("HELICS_LIBRARY").output().unwrap();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("pip install helics"), "{err}");
    let output =
        super::command(&dir, "run s.toml").env("HELICS_LIBRARY", "nowhere.so").output().unwrap();
    assert!(texts(&output).1.contains("HELICS_LIBRARY is nowhere.so"), "{output:?}");
}
