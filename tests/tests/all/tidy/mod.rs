//! Tidiness as a test: what the architecture says is absent, is absent.
mod documents;
mod imports;
mod licences;
mod measures;
mod sources;

use sources::{code, sources};

#[test]
fn kernel_has_no_io_and_no_wall_clock() {
    let forbidden = ["std::fs", "std::net", "std::io", "SystemTime", "println!", "std::env"];
    for (path, text) in sources("kernel/src") {
        let measured = path.contains("tests");
        for line in code(&text).filter(|_| !measured) {
            for word in forbidden {
                assert!(!line.contains(word), "{path}: {line}");
            }
            assert!(!line.contains("Instant::now"), "{path}: {line}");
        }
    }
}

#[test]
fn models_do_not_know_scenario_files() {
    for (path, text) in sources("models/src") {
        for line in code(&text) {
            assert!(!line.contains("superdense::"), "{path}: {line}");
        }
    }
}

#[test]
fn a_file_is_a_thought() {
    let folders =
        ["kernel", "models", "adapters", "scenarios", "scenarios/study", "tests", "benches"];
    for folder in folders.map(|f| format!("{f}/src")) {
        for (path, text) in sources(&folder) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{path} has {lines} lines; split it");
        }
    }
}

#[test]
fn unsafe_code_is_at_the_border_to_c_only() {
    let borders = ["fmi/library/", "helics/library/", "mpi/library/", "fmu-runtime/src/abi/"];
    for folder in
        ["kernel/src", "models/src", "adapters/src", "adapters/fmu-runtime/src", "scenarios/src"]
    {
        for (path, text) in sources(folder) {
            // The first file of the runtime says where its border is.
            let border =
                borders.iter().any(|b| path.contains(b)) || path.ends_with("runtime/src/lib.rs");
            assert!(border || !code(&text).any(|l| l.contains("unsafe_code")), "{path}");
        }
    }
}
