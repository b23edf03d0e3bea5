//! Tidiness as a test: what the architecture says is absent, is absent.
use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files below a folder, with their text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut stack = vec![root().join(folder)];
    while let Some(folder) = stack.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Lines of code: no comments, no documentation.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|l| !l.trim_start().starts_with("//"))
}

#[test]
fn kernel_has_no_io_and_no_wall_clock() {
    let forbidden = ["std::fs", "std::net", "std::io", "SystemTime", "println!", "std::env"];
    for (path, text) in sources("kernel/src") {
        let measured = path.to_string_lossy().contains("tests");
        for line in code(&text).filter(|_| !measured) {
            for word in forbidden {
                assert!(!line.contains(word), "{}: {line}", path.display());
            }
            assert!(!line.contains("Instant::now"), "{}: {line}", path.display());
        }
    }
}

#[test]
fn models_do_not_know_scenario_files() {
    for (path, text) in sources("models/src") {
        for line in code(&text) {
            assert!(!line.contains("superdense::"), "{}: {line}", path.display());
        }
    }
}

#[test]
fn a_file_is_a_thought() {
    let folders = ["kernel", "models", "adapters", "scenarios", "tests", "benches"];
    for folder in folders.map(|f| format!("{f}/src")) {
        for (path, text) in sources(&folder) {
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines; split it", path.display());
        }
    }
}

#[test]
fn unsafe_code_is_at_the_border_to_c_only() {
    for folder in ["kernel/src", "models/src", "adapters/src", "scenarios/src"] {
        for (path, text) in sources(folder) {
            let border = path.to_string_lossy().replace('\\', "/").contains("fmi/library/");
            assert!(
                border || !code(&text).any(|l| l.contains("unsafe_code")),
                "{}",
                path.display()
            );
        }
    }
}
