//! Builds never change results.
use super::*;
use std::process::Command;

/// Trace hashes of this build and of the release build are equal, for every shipped scenario that
/// this build runs in a moment.
#[test]
fn debug_and_release_give_one_hash() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut build = Command::new(cargo);
    // As the test command has built it.
    let packages = ["-p", "superdense", "-p", "superdense-python", "-p", "superdense-benches"];
    build.current_dir(root).args(["build", "--release", "--quiet"]).args(packages);
    // The runner sets what the build script of this build says; the release build says something else, and would be
    // made anew.
    build.env_remove("SUPERDENSE_COMMIT").env_remove("SUPERDENSE_FEATURES");
    let built = build.status().unwrap();
    assert!(built.success());
    // <target>/debug/superdense is this build.
    let this = Path::new(env!("CARGO_BIN_EXE_superdense"));
    let release = this.parent().unwrap().with_file_name("release").join("superdense");
    let dir = folder("release");
    let mut compared = 0;
    for (scenario, until) in
        [("two_masses", "2"), ("bouncing_ball", "2"), ("thermostat", "3"), ("queue", "500")]
    {
        let file = root.join("scenarios/library").join(scenario).with_extension("toml");
        let hash = |program: &Path| {
            let mut run = Command::new(program);
            let run = run.current_dir(&dir).arg("run").arg(&file);
            let done = run.args(["--json", "--force", "--until", until]).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            json(&String::from_utf8_lossy(&done.stdout))["summary"]["trace_hash"].clone()
        };
        assert_eq!(hash(this), hash(&release), "{scenario}");
        compared += 1;
    }
    assert_eq!(compared, 4);
}

/// A map that a difference in the last digit of any function turns into another number within a few steps. The number is that of
/// an independent calculation with the pinned functions, which have no instructions of a platform in them.
#[test]
fn every_platform_has_the_same_functions() {
    let dir = folder("platform");
    let text = r#"
stop = "0.5 s"
sample = "none"
[unit.map]
kind = "equations"
discrete = { x = 0.3 }
outputs = { y = "x" }
[[unit.map.event]]
name = "next"
every = "1 ms"
reset = { x = "mod(1e4*(sin(7*x) + cos(5*x) + exp(-x) + ln(2 + x) + tanh(3*x) + atan(x) + (1 + x)^1.7), 1)" }
[result]
last = "final(map.y)"
"#;
    fs::write(dir.join("map.toml"), text).unwrap();
    let done = json(&good(&dir, "run map.toml --json --force --out out"));
    let last = done["summary"]["results"]["last"].as_f64().expect("a number");
    assert!((last - 0.288_282_439_985_778_2).abs() < 1e-12, "{last}");
}
