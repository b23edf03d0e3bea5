//! Simulators that speak the mosaik protocol: exit codes, and what they are told at the end.
use super::*;

/// A simulator without any library. At time 5 it kills itself where it is told so; told to stop, it says so in a file.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
const PLAIN: &str = r#"
import json, os, signal, socket, struct, sys, time
host, port = sys.argv[1].split(":")
peer = socket.create_connection((host, int(port))).makefile("rwb")
def told():
    length, = struct.unpack(">I", peer.read(4))
    return json.loads(peer.read(length))
meta = {"api_version": "3.0", "type": "time-based", "models": {"M": {"public": True, "params": [], "attrs": ["y"]}}}
while True:
    kind, number, (name, args, more) = told()
    if name == "stop":
        open("stopped", "w").write("in order")
        break
    if name == "step":
        now = args[0]
        if now == 5 and sys.argv[2] == "dies":
            print("no fuel", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[2] == "slow":
            time.sleep(0.05)
    answer = {"init": meta, "create": [{"eid": "e", "type": "M"}], "setup_done": None,
              "step": args and name == "step" and now + 1, "get_data": name == "get_data" and {"e": {"y": 0.1 * now}}}
    text = json.dumps([1, number, answer[name]]).encode()
    peer.write(struct.pack(">I", len(text)) + text)
    peer.flush()
"#;

fn scenario(how: &str) -> String {
    format!(
        "stop = 100\nrecord = ['a.y']\n[unit.a]\nkind = 'mosaik'\ncommand = 'python3 plain.py {{address}} {how}'\n\
         [unit.a.create.m]\nmodel = 'M'\noutputs = {{ y = 'y' }}\n"
    )
}

#[cfg(not(feature = "mosaik"))]
#[test]
fn simulators_need_their_feature() {
    let dir = folder("simulators-refused");
    fs::write(dir.join("a.toml"), scenario("well")).unwrap();
    let refused = superdense(&dir, "run a.toml");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--features mosaik"));
}

#[cfg(all(feature = "mosaik", target_os = "linux"))]
fn bench(name: &str, how: &str) -> Option<PathBuf> {
    let dir = folder(name);
    fs::write(dir.join("a.toml"), scenario(how)).unwrap();
    fs::write(dir.join("plain.py"), PLAIN).unwrap();
    let python = Command::new("python3").arg("--version").output();
    if python.is_ok_and(|o| o.status.success()) {
        return Some(dir);
    }
    println!("skipped: no python3");
    None
}

/// Signal values in `trajectory.csv`.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
fn rows(dir: &Path) -> usize {
    read(&dir.join("out/a"), "trajectory.csv").lines().count() - 1
}

#[cfg(all(feature = "mosaik", target_os = "linux"))]
#[test]
fn a_simulator_is_started_by_a_run_and_told_of_its_end() {
    let Some(dir) = bench("simulators-run", "well") else { return };
    good(&dir, "check a.toml");
    assert!(!dir.join("stopped").exists(), "`check` starts nobody");
    good(&dir, "run a.toml");
    assert_eq!((read(&dir, "stopped").as_str(), rows(&dir)), ("in order", 100));
}

#[cfg(all(feature = "mosaik", target_os = "linux"))]
#[test]
fn a_killed_simulator_ends_the_run_with_3_and_its_results() {
    let Some(dir) = bench("simulators-killed", "dies") else { return };
    let ended = superdense(&dir, "run a.toml");
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(3), "{text}");
    for part in ["a at 5 s", "signal: 9", "no fuel"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(rows(&dir), 5, "values up to the fault");
    let summary = json(&read(&dir, "out/a/summary.json"));
    assert_eq!((&summary["ended"], &summary["end_time"]), (&Json::from("fault"), &Json::from(5)));
}

#[cfg(all(feature = "mosaik", target_os = "linux"))]
#[test]
fn an_interrupted_run_stops_its_simulators_in_order() {
    let Some(dir) = bench("simulators-interrupted", "slow") else { return };
    let child = command(&dir, "run a.toml").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let status = child.wait_with_output().unwrap().status;
    assert_eq!((status.code(), read(&dir, "stopped").as_str()), (Some(130), "in order"));
}

/// A controller that adds up all that it hears, and notes what it is told. Its program says by which factor, how long a step
/// lasts, and at which time it kills itself.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
const KEEPER: &str = r#"
import json, os, signal, socket, struct, sys, time
host, port = sys.argv[1].split(":")
factor, rest, end = map(float, sys.argv[2:5])
peer = socket.create_connection((host, int(port))).makefile("rwb")
meta = {"api_version": "3.0", "type": "time-based", "models": {"M": {"public": True, "params": [], "attrs": ["u", "y"]}}}
log, y = open("told", "w"), 0.0
while True:
    head = peer.read(4)
    if len(head) < 4:
        break
    kind, number, (name, args, more) = json.loads(peer.read(struct.unpack(">I", head)[0]))
    if name == "stop":
        break
    if name == "step":
        now = args[0]
        log.write(json.dumps(args) + "\n")
        log.flush()
        y += factor * sum(args[1]["e"]["u"].values())
        if now == end:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(rest)
    answer = {"init": meta, "create": [{"eid": "e", "type": "M"}], "setup_done": None,
              "step": args and name == "step" and now + 1, "get_data": {"e": {"y": y}}}
    text = json.dumps([1, number, answer[name]]).encode()
    peer.write(struct.pack(">I", len(text)) + text)
    peer.flush()
"#;

/// A process with two controllers.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
fn kept(dir: &Path, how: &str) {
    let unit = |name: &str, how: &str| {
        format!(
            "[unit.{name}]\nkind = 'mosaik'\ncommand = 'python3 keeper.py {{address}} {how}'\n[unit.{name}.create.m]\n\
             model = 'M'\ninputs = {{ u = 'u' }}\noutputs = {{ y = {{ attribute = 'y', initial = 1 }} }}\n"
        )
    };
    let text = format!(
        "stop = 100\nsample = 0.25\nrecord = ['p.x', 'a.y', 'b.y']\n\
         connections = ['p.x -> a.u', 'p.x -> b.u', 'a.y -> p.y', 'b.y -> p.z']\n[unit.p]\nkind = 'equations'\n\
         inputs = {{ y = 0, z = 0 }}\nstates = {{ x = 0 }}\nderivatives = {{ x = '1 - y + z/50 - x' }}\noutputs = {{ x = 'x' }}\n{}{}",
        unit("a", how),
        unit("b", "0.01 0 -1").replace("keeper", "silent"),
    );
    fs::write(dir.join("a.toml"), text).unwrap();
}

/// A run with simulators that is killed, or whose simulator is, goes on with new ones, which are told all that those before
/// were told; one that gives something else is named.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
#[test]
fn runs_with_simulators_are_resumed() {
    let Some(dir) = bench("simulators-resumed", "well") else { return };
    fs::write(dir.join("keeper.py"), KEEPER).unwrap();
    fs::write(dir.join("silent.py"), KEEPER.replace("\"told\"", "os.devnull")).unwrap();
    kept(&dir, "0.1 0 -1");
    good(&dir, "run a.toml --out whole");
    let told = read(&dir, "told");
    assert_eq!(told.lines().count(), 100);
    let parts = dir.join("parts");
    let slow = "0.1 0.03 -1";
    kept(&dir, slow);
    let mut line = "run a.toml --out parts --checkpoint-every 0.05";
    for _ in 0..2 {
        let mut child = command(&dir, line).spawn().unwrap();
        // The journal is told at once, and takes as long as the run before.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        while !parts.join("checkpoint").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it has ended without a checkpoint");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        line = "resume parts";
    }
    resumed(&dir, slow, &told);
}

/// Goes on with faulty simulators, and at last with good ones.
#[cfg(all(feature = "mosaik", target_os = "linux"))]
fn resumed(dir: &Path, slow: &str, told: &str) {
    let parts = dir.join("parts");
    let before = read(&parts, "samples.csv");
    let wrong = |from: &str, to: &str, code: i32| {
        let file = dir.join("keeper.py");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace(from, to)).unwrap();
        let ended = superdense(dir, "resume parts");
        fs::write(&file, text).unwrap();
        let err = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{err}");
        err
    };
    let err = wrong("y += factor", "y += 1.0000001 * factor", 2);
    for part in ["a: get_data of time ", "output `y` is ", ", and was ", "start them as they were"]
    {
        assert!(err.contains(part), "{part} in {err}");
    }
    let err = wrong("now + 1", "now + 2", 2);
    assert!(
        err.contains("a: step of time 0 (0 s): its next time is 2, and was 1 in the run"),
        "{err}"
    );
    let err = wrong("if now == end:", "if now == 2:", 2);
    assert!(err.contains("signal: 9"), "{err}");
    assert_eq!(read(&parts, "samples.csv"), before, "nothing is touched");
    // A fault behind the checkpoint.
    let err = wrong("if now == end:", "if now == 95:", 3);
    assert!(err.contains("a at 95 s"), "{err}");
    assert!(read(&parts, "summary.json").contains("\"ended\": \"fault\""), "{slow}");
    good(dir, "resume parts");
    assert_equal_results(&dir.join("whole"), &parts);
    assert_eq!(read(dir, "told"), told, "the new simulator was told everything");
    assert!(!parts.join("checkpoint").exists());
}
