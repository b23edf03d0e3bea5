//! Every executor gives the files of the sequential one, byte for byte.
use super::{assert_equal_results, folder, good, json, mixed, read, superdense};
use std::{fs, path::Path};

/// Scenarios that need not run to their end to be equal; closely coupled units gain nothing by
/// workers.
const SHORTER: [(&str, &str); 9] = [
    ("queue", "20s"),
    ("two_masses", "5s"),
    ("s4a", "2s"),
    ("s4b", "3s"),
    ("phold", "20ms"),
    ("000_interrupted", "2s"),
    ("001_pendulum", "20ms"),
    ("power_window", "1.3s"),
    ("c11_units", "0.35s"),
];

/// Scenarios below a folder.
fn scenarios(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("studies") {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
}

/// Lengths of queues that others follow at once, while jobs take their time to the next node.
const LENGTHS: &str = r#"
stop = "1 s"
record = ["n[*].length", "u[*].x", "z.y"]
connections = ["n[0].out1 -> n[1].in", "n[1].out1 -> n[0].in", "n[*].length -> u[*].q", "u[*].x -> z.u[*]"]
[unit.n]
kind = "queue-node"
count = 2
arrivals = 30
service = 100
exit = 0.5
neighbours = 1
delay = "10 ms"
[unit.u]
kind = "equations"
count = 2
inputs = { q = 5 }
states = { x = 0 }
derivatives = { x = "q - x" }
outputs = { x = "x" }
[unit.z]
kind = "sum"
signs = "++"
"#;

/// Signals of the first instant go to other workers, too.
#[test]
fn lengths_of_queues_are_heard_by_other_workers() {
    let dir = folder("lengths");
    fs::write(dir.join("lengths.toml"), LENGTHS).unwrap();
    good(&dir, "run lengths.toml --out plain");
    for workers in [2, 3, 4] {
        for executor in ["conservative", "time-warp"] {
            let line = format!(
                "run lengths.toml --executor {executor} --workers {workers} --out other --force"
            );
            good(&dir, &line);
            assert_equal_results(&dir.join("plain"), &dir.join("other"));
        }
    }
}

#[test]
fn shipped_scenarios_are_equal_under_every_executor() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library");
    let mut files = Vec::new();
    scenarios(&library, &mut files);
    files.sort();
    let dir = folder("executors");
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let until = SHORTER.iter().find(|s| s.0 == name);
        let until = until.map_or(String::new(), |s| format!("--until {}", s.1));
        let run = |out: &str, options: &str| {
            let file = file.display();
            let line = format!("run {file} --quiet --out {name}-{out} {until} {options}");
            good(&dir, &line);
            dir.join(format!("{name}-{out}"))
        };
        let sequential = run("sequential", "");
        for (executor, workers) in
            [("time-warp", 1), ("time-warp", 2), ("time-warp", 8), ("conservative", 2), ("auto", 2)]
        {
            let options = format!("--executor {executor} --workers {workers}");
            assert_equal_results(&sequential, &run(&format!("{executor}-{workers}"), &options));
        }
    }
}

#[test]
fn performance_tells_what_a_parallel_run_did() {
    let dir = mixed("executors-performance");
    good(&dir, "run mixed.toml --quiet --out out --executor time-warp --workers 2");
    let executor = &json(&read(&dir, "out/performance.json"))["executor"];
    assert_eq!(executor["name"], "time-warp");
    assert_eq!(executor["workers"], 2);
    let keys = [
        "committed",
        "rolled_back",
        "efficiency",
        "rollbacks",
        "mean_rollback_length",
        "anti_messages",
        "gvt_rounds",
        "peak_saved_bytes",
        "live_state_bytes",
        "window",
    ];
    for key in keys {
        assert!(executor[key].is_number(), "{key} in {executor}");
    }
    assert!(executor["committed"].as_u64() > Some(0), "{executor}");
    for shares in ["share", "busy"] {
        assert_eq!(executor[shares].as_array().map(Vec::len), Some(2), "{shares}");
    }
    let busy = executor["busy"].as_array().unwrap();
    assert!(busy.iter().any(|b| b.as_f64() > Some(0.0)), "{busy:?}");
    assert!(busy.iter().all(|b| b.as_f64() <= Some(1.0)), "{busy:?}");
}

/// The time of each kind of unit is told under every executor; `auto` says what it chose, and why.
#[test]
fn performance_tells_kinds_and_what_auto_chose() {
    let dir = folder("executors-kinds");
    let phold = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/phold.toml");
    for executor in ["sequential", "time-warp", "conservative", "auto"] {
        let workers = if executor == "sequential" { "" } else { "--workers 2" };
        let run = format!(
            "run {} --quiet --out {executor} --until 20ms --executor {executor} {workers}",
            phold.display()
        );
        good(&dir, &run);
        let told = json(&read(&dir, &format!("{executor}/performance.json")));
        let kinds = told["seconds_per_kind"].as_object().unwrap();
        assert!(kinds["phold-entity"].as_f64() > Some(0.0), "{executor}: {kinds:?}");
        let (chosen, why) = (&told["executor"]["chosen"], &told["executor"]["why"]);
        assert_eq!(chosen.is_string() && why.is_string(), executor == "auto", "{told}");
    }
}

/// Parts that a scenario names keep their units, and results are the same.
#[test]
fn a_scenario_names_who_shares_a_worker() {
    let dir = folder("executors-partition");
    let parts = [
        "partition = [['entity[0..1024]'], ['entity[1024..2048]']]",
        "partition = [['entity[0]'], ['entity[1..2048]']]",
    ];
    let phold = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/phold.toml");
    let text = fs::read_to_string(phold).unwrap();
    fs::write(dir.join("plain.toml"), &text).unwrap();
    good(&dir, "run plain.toml --quiet --out plain --until 20ms");
    for (k, part) in parts.into_iter().enumerate() {
        fs::write(dir.join(format!("plain{k}.toml")), format!("{part}\n{text}")).unwrap();
        for executor in ["time-warp", "conservative"] {
            let (file, out) = (format!("plain{k}.toml"), format!("{executor}-{k}"));
            let run = format!("run {file} --quiet --out {out} --until 20ms --executor {executor}");
            good(&dir, &format!("{run} --workers 2"));
            for table in ["samples.csv", "trajectory.csv", "units.csv"] {
                assert_eq!(
                    read(&dir, &format!("{out}/{table}")),
                    read(&dir, &format!("plain/{table}"))
                );
            }
            let told = json(&read(&dir, &format!("{out}/performance.json")))["executor"].clone();
            assert_eq!(told["migrated"], 0, "{told}");
            let share = told["share"][0].as_f64().unwrap();
            // Half of the entities, or one of them.
            let (low, high) = [(0.4, 0.6), (0.0, 0.02)][k];
            assert!(low < share && share < high, "{executor}, {part}: {told}");
        }
    }
}

/// A program without the feature says so; one with it writes one track per worker.
#[test]
fn a_timeline_has_one_track_per_worker() {
    let dir = folder("executors-timeline");
    let phold = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/phold.toml");
    let run = format!(
        "run {} --quiet --out out --until 20ms --executor time-warp --workers 3 --timeline line.json",
        phold.display()
    );
    if cfg!(not(feature = "timeline")) {
        let output = superdense(&dir, &run);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("--features timeline"), "{told}");
        return;
    }
    good(&dir, &run);
    let events = json(&read(&dir, "line.json"));
    let events = events.as_array().unwrap();
    let of = |phase: &str, name: &str| {
        let is = |e: &&serde_json::Value| e["ph"] == phase && e["name"] == name;
        events.iter().filter(is).map(|e| e["id"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    let mut workers = of("b", "worker");
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers.len(), 3);
    assert_eq!(of("b", "worker").len(), of("e", "worker").len());
    for name in ["batch", "cut", "gvt"] {
        let begun = of("b", name);
        assert!(!begun.is_empty() && begun.len() == of("e", name).len(), "{name}");
        assert!(begun.iter().all(|id| workers.contains(id)), "{name}");
    }
    // Each of them did something.
    assert!(workers.iter().all(|id| of("b", "batch").contains(id)));
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_says_so() {
    let dir = mixed("executors-no-mpi");
    let output = superdense(&dir, "run mixed.toml --hosts localhost:2");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("--features mpi") && err.contains("pip install mpich"), "{err}");
}
