//! Scenarios as federates of HELICS, with peers in Python (`tests/federates`). Without Python and `helics` the tests
//! that need them say so and end.
mod examples;
mod faults;
mod federations;
mod refused;
mod repeats;
mod resumed;
mod times;
mod values;

use super::{command, folder, json, read};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A Python that has HELICS, and the library of its package.
fn python() -> Option<&'static (String, String)> {
    static FOUND: OnceLock<Option<(String, String)>> = OnceLock::new();
    let library = |python: &str| {
        let ask = "import helics, pathlib as p; f = p.Path(helics.__file__).parent / 'install'; \
                   print(next(f.glob('lib*/libhelics.so.3')))";
        let output = Command::new(python).args(["-c", ask]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then(|| (python.to_owned(), text))
    };
    let find = || {
        let own = root().join("target/helics/bin/python").to_string_lossy().into_owned();
        let given = std::env::var("SUPERDENSE_HELICS_PYTHON").ok();
        given.into_iter().chain([own, "python3".to_owned()]).find_map(|python| library(&python))
    };
    let found = FOUND.get_or_init(find).as_ref();
    if found.is_none() {
        println!("skipped: Python has no helics (tests/run installs it)");
    }
    found
}

/// A folder of one test.
struct Bench {
    dir: PathBuf,
    python: &'static str,
    shared_object: &'static str,
}

/// A federate that is started, and its script.
type Peer<'a> = (&'a str, &'a str);

impl Bench {
    fn new(name: &str) -> Option<Self> {
        let (python, shared_object) = python()?;
        let dir = folder(&format!("helics-{name}"));
        fs::copy(root().join("tests/federates/peer.py"), dir.join("peer.py")).unwrap();
        Some(Self { dir, python, shared_object })
    }

    /// Tables that start federates.
    fn launch(&self, peers: &[Peer<'_>]) -> String {
        let each = |(name, script): &Peer<'_>| {
            let python = self.python;
            format!(
                "[[federate.launch]]\nname = '{name}'\n\
                 command = \"\"\"{python} peer.py {{broker}} {{key}} {name} '{script}'\"\"\"\n"
            )
        };
        peers.iter().map(each).collect()
    }

    /// Writes a scenario; `federate` is what stands below `[federate]`.
    fn write(&self, head: &str, federate: &str, peers: &[Peer<'_>]) {
        let launch = self.launch(peers);
        let text = format!(
            "{head}\n[federate]\nengine = 'helics'\nname = 'own'\nbroker = 'start'\njoin = '30 s'\n{federate}\n{launch}"
        );
        fs::write(self.dir.join("s.toml"), text).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = command(&self.dir, line);
        command.env("HELICS_LIBRARY", self.shared_object);
        command
    }

    fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn run(&self, line: &str) -> String {
        let output = self.output(line);
        let (text, err) = texts(&output);
        assert!(output.status.success(), "superdense {line}: {}\n{text}{err}", output.status);
        text
    }

    /// The messages of a command that fails with this code.
    fn fails(&self, line: &str, code: i32) -> String {
        let output = self.output(line);
        let (text, err) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "superdense {line}\n{text}{err}");
        err
    }

    fn read(&self, name: &str) -> String {
        read(&self.dir, name)
    }

    /// The lines that a peer noted.
    fn log(&self, peer: &str) -> Vec<String> {
        self.read(&format!("{peer}.log")).lines().map(str::to_owned).collect()
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A ball that bounces, with a count of bounces.
const BALL: &str = "stop = '4 s'
[unit.ball]
kind = 'equations'
states = { x = 10.0, v = 0 }
discrete = { n = 0 }
derivatives = { x = 'v', v = '-9.81' }
outputs = { height = 'x', bounces = 'n' }
[[unit.ball.event]]
name = 'bounce'
when = 'x <= 0 and v < 0'
reset = { v = '-0.9*v', n = 'n + 1' }
";

/// A state that follows a signal.
const LAG: &str = "sample = 'none'
[unit.lag]
kind = 'equations'
inputs = { u = 0 }
states = { x = 1 }
derivatives = { x = 'u - x' }
outputs = { x = 'x' }
";

/// Its input and its output in a federation.
const LAGS: &str = "[[federate.input]]
from = 'peer/u'
to = 'lag.u'
initial = 0
[[federate.output]]
from = 'lag.x'
as = 'own/x'
every = '0.1 s'
";
