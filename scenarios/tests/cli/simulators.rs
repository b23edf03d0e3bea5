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
    let refused = superdense(&dir, "run a.toml --checkpoint-every 1");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot save its state"));
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
