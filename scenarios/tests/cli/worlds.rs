//! Scenarios as simulators of mosaik, in worlds of mosaik itself. Without Python and `mosaik` the tests say so and end.
use super::*;
use std::{os::unix::process::CommandExt, path::Path, process::Command, sync::OnceLock};

/// The page with the examples.
const PAGE: &str = include_str!("../../../docs/federation.md");

/// A Python that has mosaik.
fn python() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let own = root.join("target/mosaik/bin/python").to_string_lossy().into_owned();
        let given = std::env::var("SUPERDENSE_MOSAIK_PYTHON").ok();
        given.into_iter().chain([own, "python3".to_owned()]).find(|python| {
            let output = Command::new(python).args(["-c", "import mosaik"]).output();
            output.is_ok_and(|o| o.status.success())
        })
    };
    let found = FOUND.get_or_init(find).as_deref();
    if found.is_none() {
        println!("skipped: Python has no mosaik (tests/run installs it)");
    }
    found
}

fn snippet(words: &str, number: usize) -> &'static str {
    let open = format!("```{words}\n");
    PAGE.split(&open).nth(number + 1).and_then(|text| text.split("```").next()).expect("a snippet")
}

/// Whether a process of a group still does anything.
fn is_alive(group: u32) -> bool {
    let group = group.to_string();
    let all = Command::new("ps").args(["-e", "-o", "pgid=,stat="]).output();
    let all = all.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let is_of = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some(&*group) && words.next().is_some_and(|stat| !stat.starts_with('Z'))
    };
    all.lines().any(is_of)
}

/// A folder with the controller of the page.
struct Bench {
    dir: PathBuf,
    python: &'static str,
}

impl Bench {
    fn new(name: &str) -> Option<Self> {
        let (python, dir) = (python()?, folder(&format!("world-{name}")));
        fs::write(dir.join("controller.py"), snippet("python", 0)).unwrap();
        Some(Self { dir, python })
    }

    /// Runs a world, whose commands are `superdense` and `python3`; gives its messages.
    fn world(&self, text: &str) -> (bool, String) {
        let text = text
            .replace("'superdense ", &format!("'{} ", env!("CARGO_BIN_EXE_superdense")))
            .replace("\"superdense ", &format!("\"{} ", env!("CARGO_BIN_EXE_superdense")))
            .replace("python3 ", &format!("{} ", self.python));
        fs::write(self.dir.join("world.py"), text).unwrap();
        // Simulators may outlive their world, and hold its pipes.
        let log = fs::File::create(self.dir.join("world.log")).unwrap();
        let mut world = Command::new(self.python);
        world.arg("world.py").current_dir(&self.dir).process_group(0);
        world.stdout(log.try_clone().unwrap()).stderr(log);
        let mut world = world.spawn().unwrap();
        let status = world.wait().unwrap();
        // Ours may still write.
        for _ in 0..60 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            if !is_alive(world.id()) {
                break;
            }
        }
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", world.id())]).output();
        (status.success(), read(&self.dir, "world.log"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        // The world does not wait for the files of its simulators.
        for _ in 0..100 {
            if self.dir.join(name).is_file() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        read(&self.dir, name)
    }

    fn warmest(&self, out: &str) -> f64 {
        let summary = self.read(&format!("{out}/summary.json"));
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        summary["results"]["warmest"].as_f64().expect("a number")
    }
}

fn number(text: Option<&str>) -> f64 {
    text.and_then(|t| t.parse().ok()).expect("a number")
}

/// Acceptance 1: the example of the page says what the page says, and the room hears and does what it hears and does where it
/// is the host.
#[test]
fn a_room_in_a_world_is_the_room_of_a_host() {
    let Some(bench) = Bench::new("room") else { return };
    bench.write("simulated.toml", snippet("toml mosaik", 0));
    let (done, told) = bench.world(snippet("python", 2));
    assert!(done, "{told}");
    let warmest = bench.warmest("out/simulated");
    assert!(PAGE.contains(&format!("`warmest` is {warmest:.4}")), "{warmest}");
    let host = snippet("toml", 0)
        .replace("python3", bench.python)
        .replace(
            "\"room.temperature -> control.temperature\"",
            "\"room.temperature -> control.temperature via sample('1 min') via hold(18)\"",
        )
        .replace(
            "inputs = { temperature = \"temperature\" }",
            "inputs.temperature = { attribute = 'temperature', shifted = true, initial = 18 }",
        );
    bench.write("room.toml", &host);
    let output = command(&bench.dir, "run room.toml").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A host repeats a heat that does not change, by which the solver takes other steps.
    assert!((bench.warmest("out/room") - warmest).abs() < 1e-6, "{warmest}");
    let inbound = bench.read("out/simulated/federation/inbound.csv");
    let heard = inbound.lines().skip(1).map(|l| (l.split(',').next(), l.rsplit(',').next()));
    let heard: Vec<(f64, f64)> = heard.map(|(at, heat)| (number(at), number(heat))).collect();
    assert_eq!(heard.len(), 120);
    let trajectory = bench.read("out/room/trajectory.csv");
    let cells = trajectory.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let sent = cells.filter(|c| c[2] == "control.heat");
    let sent: Vec<_> =
        sent.map(|c| (number(c.first().copied()), number(c.get(3).copied()))).collect();
    assert_eq!(heard, sent);
    // The record takes the place of the world.
    let again = "run simulated.toml --replay out/simulated --out out/again";
    assert!(command(&bench.dir, again).status().unwrap().success());
    for file in ["trajectory.csv", "samples.csv", "federation/inbound.csv"] {
        let [a, b] = ["simulated", "again"].map(|out| bench.read(&format!("out/{out}/{file}")));
        assert_eq!(a, b, "{file}");
    }
}

/// A weak ring steps the scenario again at one time: the controller hears the temperature of the present, as with the
/// first example of the page.
#[test]
fn a_step_again_is_the_next_micro_step() {
    let Some(bench) = Bench::new("weak") else { return };
    bench.write("simulated.toml", snippet("toml mosaik", 0));
    let world = snippet("python", 2);
    let start = world.find("room = ").unwrap();
    let world = format!(
        "{}with world.group():\n    room = world.start('Room').Scenario()\n    \
         controller = world.start('Controller').Controller(wanted=21)\n\
         world.connect(room, controller, 'temperature')\nworld.connect(controller, room, 'heat', weak=True, initial_data={{'heat': 0.0}})\n\
         world.run(until=120)\n",
        &world[..start]
    );
    let (done, told) = bench.world(&world);
    assert!(done, "{told}");
    let warmest = bench.warmest("out/simulated");
    assert!((warmest - 21.1053).abs() < 5e-5, "{warmest}");
}

/// A bouncing ball whose impacts are sent to a listener.
const BALL: &str = "stop = '3 s'\nsample = '0.1 s'\nrecord = ['ball.h']\n[unit.ball]\nkind = 'equations'\n\
    states = { h = 1, v = 0 }\nderivatives = { h = 'v', v = '-9.81' }\noutputs = { h = 'h' }\n\
    event_outputs = ['hit']\n[[unit.ball.event]]\nname = 'impact'\nwhen = 'h < 0'\nreset = { v = '-0.8*v' }\n\
    emit = { hit = '-v' }\n\
    [result]\nbounces = \"count(event('ball', 'impact'))\"\n";

/// Acceptance 17: files are those of the scenario alone, whatever the times of the world; impacts between two times
/// go out at the next one, or are an error.
#[test]
fn a_ball_in_a_world_is_the_ball_alone() {
    let Some(bench) = Bench::new("ball") else { return };
    let ways = "[[federate.output]]\nfrom = 'ball.hit'\nas = 'impact'\n";
    let with = |rounding: &str| {
        format!("{BALL}[federate]\nengine = 'mosaik'\nresolution = '1 ms'\n{rounding}{ways}")
    };
    bench.write("alone.toml", BALL);
    bench.write("ball.toml", &with("rounding = 'up'\n"));
    bench.write("strict.toml", &with(""));
    bench.write("listener.py", LISTENER);
    let world = |file: &str| {
        format!(
            "import mosaik\nworld = mosaik.World({{'Ball': {{'cmd': 'superdense mosaik {file}.toml %(addr)s'}},\n\
             'Listener': {{'python': 'listener:Listener'}}}}, time_resolution=0.001)\n\
             ball = world.start('Ball').Scenario()\nlistener = world.start('Listener').Listener()\n\
             world.connect(ball, listener, 'impact')\nworld.run(until=3001)\n"
        )
    };
    let (done, told) = bench.world(&world("ball"));
    assert!(done, "{told}");
    assert!(command(&bench.dir, "run alone.toml").status().unwrap().success());
    for file in ["events.csv", "samples.csv"] {
        let [a, b] = ["ball", "alone"].map(|out| bench.read(&format!("out/{out}/{file}")));
        assert_eq!(a, b, "{file}");
    }
    let times: Vec<i64> = bench.read("heard").lines().map(|l| l.parse().unwrap()).collect();
    let events = bench.read("out/alone/events.csv");
    let impacts = events.lines().filter(|l| l.contains("impact"));
    let whole = |line: &str| {
        let seconds: f64 = line.split(',').next().unwrap().parse().unwrap();
        (seconds * 1e3).ceil() as i64
    };
    assert_eq!(times, impacts.map(whole).collect::<Vec<_>>());
    let (done, told) = bench.world(&world("strict"));
    // mosaik tells errors of simulators, and ends in order.
    assert!(done && told.contains("lies between the times that mosaik counts"), "{told}");
    assert!(bench.read("out/strict/summary.json").contains("\"ended\": \"fault\""));
}

/// Notes the times at which something comes.
const LISTENER: &str = r#"
import mosaik_api_v3

META = {"api_version": "3.0", "type": "event-based",
        "models": {"Listener": {"public": True, "params": [], "attrs": ["impact"]}}}

class Listener(mosaik_api_v3.Simulator):
    def __init__(self):
        super().__init__(META)
    def create(self, num, model):
        return [{"eid": "l", "type": model}]
    def step(self, time, inputs, max_advance):
        open("heard", "a").write(f"{time}\n")
    def get_data(self, outputs):
        return {}
"#;

/// A second controller of the same heat.
const TWO: &str = "two = world.start('Controller').Controller(wanted=20)\nworld.connect(two, room, 'heat')\n\
    world.connect(room, two, 'temperature', time_shifted=True, initial_data={'temperature': 18.0})\nworld.run";

/// Mistakes of a world and of the command line are told on both sides.
#[test]
fn worlds_that_do_not_fit_are_told() {
    let Some(bench) = Bench::new("unfit") else { return };
    bench.write("simulated.toml", snippet("toml mosaik", 0));
    bench.write("plain.toml", BALL);
    let world = snippet("python", 2);
    for (from, to, part) in [
        ("time_resolution=60", "time_resolution=30", "the scenario 60 s"),
        ("start(\"Room\")", "start(\"Room\", outside=3)", "no parameter `outside`"),
        ("Scenario()", "Scenario.create(2)[0]", "one scenario"),
        ("Scenario()", "Scenario(loss=3)", "loss"),
        ("world.run", TWO, "comes from"),
    ] {
        let (done, told) = bench.world(&world.replace(from, to));
        // Errors of a step end a world in order.
        assert!(told.contains(part) && (!done || part == "comes from"), "{to}: {told}");
    }
    for (line, code, part) in [
        ("run simulated.toml --force", 2, "superdense mosaik FILE.toml"),
        ("mosaik plain.toml 127.0.0.1:1", 2, "is no simulator of mosaik"),
        ("mosaik simulated.toml 127.0.0.1:1 --force", 3, "nobody listens at 127.0.0.1:1"),
        ("mosaik simulated.toml", 2, "HOST:PORT"),
        ("federation check simulated.toml", 2, "before it runs"),
    ] {
        let output = command(&bench.dir, line).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        assert!(err.contains(part), "{line}: {err}");
    }
}

/// A world that is killed ends the run with code 3 within a second; results up to then are kept.
#[test]
fn a_killed_world_is_told() {
    let Some(bench) = Bench::new("killed") else { return };
    bench.write("simulated.toml", snippet("toml mosaik", 0));
    let world = snippet("python", 2);
    let dies = "class Dies:\n    pass\nimport os, signal, threading\n\
                def kill():\n    import time\n    while not os.path.isfile('out/simulated/federation/outbound.csv') or \
                os.path.getsize('out/simulated/federation/outbound.csv') < 200:\n        time.sleep(0.002)\n    \
                os.kill(os.getpid(), signal.SIGKILL)\nthreading.Thread(target=kill, daemon=True).start()\n";
    let text = world
        .replace("world.run(until=120)", &format!("{dies}world.run(until=120, rt_factor=0.02)"));
    let (done, told) = bench.world(&text);
    assert!(!done, "{told}");
    let summary = bench.read("out/simulated/summary.json");
    assert!(summary.contains("\"ended\": \"fault\""), "{summary}");
    let rows = bench.read("out/simulated/federation/outbound.csv").lines().count();
    assert!((2..119).contains(&rows), "{rows} rows");
}

/// Kills the simulator once it has a checkpoint behind its start.
const KILLS: &str = r#"
def kill():
    import os, signal, time
    record = "out/parts/federation/grants.csv"
    while not os.path.isfile(record) or os.path.getsize(record) < 400:
        time.sleep(0.002)
    time.sleep(0.3)
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1]
            if int(parent) == os.getpid() and b"parts" in open(f"/proc/{process}/cmdline", "rb").read():
                os.kill(int(process), signal.SIGKILL)
        except OSError:
            pass
    # mosaik would wait for its simulator for ever.
    os._exit(1)
import threading
threading.Thread(target=kill, daemon=True).start()
"#;

/// A simulator that is killed goes on in a new world, of which one that says something else is named. With a weak ring, times are
/// stepped to again.
#[test]
fn a_killed_simulator_goes_on_in_a_new_world() {
    let Some(bench) = Bench::new("resumed") else { return };
    bench.write("simulated.toml", snippet("toml mosaik", 0));
    let plain = snippet("python", 2);
    let start = plain.find("room = ").unwrap();
    let weak = format!(
        "{}with world.group():\n    room = world.start('Room').Scenario()\n    \
         controller = world.start('Controller').Controller(wanted=21)\n\
         world.connect(room, controller, 'temperature')\nworld.connect(controller, room, 'heat', weak=True, initial_data={{'heat': 0.0}})\n\
         world.run(until=120)\n",
        &plain[..start]
    );
    for world in [plain.to_owned(), weak] {
        let _ = fs::remove_dir_all(bench.dir.join("out"));
        let (done, told) = bench.world(&world);
        assert!(done, "{told}");
        bench.read("out/simulated/summary.json");
        let parts = world.replace(
            "%(addr)s\"},\n        \"C",
            "%(addr)s --checkpoint-every 0 --out out/parts\"},\n        \"C",
        );
        let parts = parts.replace("world.run", &format!("{KILLS}world.run"));
        let controller = bench.read("controller.py");
        // With a group of simulators mosaik 3.6.0 has no real time.
        let slow = "        __import__('time').sleep(0.02)\n        (temperature,) = ";
        bench.write("controller.py", &controller.replace("        (temperature,) = ", slow));
        let (done, told) = bench.world(&parts);
        bench.write("controller.py", &controller);
        assert!(!done, "{told}");
        assert!(bench.dir.join("out/parts/checkpoint").is_file(), "{told}");
        assert!(!bench.dir.join("out/parts/summary.json").exists(), "{told}");
        let resumed = world.replace("mosaik simulated.toml", "resume out/parts");
        let (_, told) = bench.world(&resumed.replace("wanted=21", "wanted=15"));
        assert!(
            told.contains(
                "`heat from Controller-0.controller` sent 0.0, and 500.0 in the run before"
            ),
            "{told}"
        );
        let (done, told) = bench.world(&resumed);
        assert!(done, "{told}");
        bench.read("out/parts/summary.json");
        for file in DETERMINISTIC.into_iter().chain([
            "federation/inbound.csv",
            "federation/outbound.csv",
            "federation/grants.csv",
        ]) {
            let [a, b] = ["simulated", "parts"].map(|out| bench.read(&format!("out/{out}/{file}")));
            assert!(a == b, "{file}: {:?}", a.lines().zip(b.lines()).find(|(a, b)| a != b));
        }
    }
}
