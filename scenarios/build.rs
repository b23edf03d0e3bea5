//! Tells the program what it was built from: the commit and the features.
use std::{env, fs, path::Path, process::Command};

/// Features by the names of their variables.
const FEATURES: [(&str, &str); 8] = [
    ("CARGO_FEATURE_FMI", "fmi"),
    ("CARGO_FEATURE_HELICS", "helics"),
    ("CARGO_FEATURE_MOSAIK", "mosaik"),
    ("CARGO_FEATURE_MPI", "mpi"),
    ("CARGO_FEATURE_PARQUET", "parquet"),
    ("CARGO_FEATURE_PNG", "png"),
    ("CARGO_FEATURE_STUDY", "study"),
    ("CARGO_FEATURE_TIMELINE", "timeline"),
];

fn main() {
    let features: Vec<&str> =
        FEATURES.iter().filter(|f| env::var_os(f.0).is_some()).map(|f| f.1).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    println!("cargo::rustc-env=SUPERDENSE_FEATURES={features}");
    println!("cargo::rustc-env=SUPERDENSE_COMMIT={}", commit().unwrap_or("unknown".to_owned()));
}

/// The commit of a package, or of the checkout, marked where the sources differ from it. Builds for
/// development would be made anew with every commit; they do not tell it.
fn commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed=SUPERDENSE_COMMIT");
    if let Ok(given) = env::var("SUPERDENSE_COMMIT") {
        return Some(given);
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rerun-if-changed=build.rs");
        return Some("of development".to_owned());
    }
    let package = Path::new(".cargo_vcs_info.json");
    if let Ok(text) = fs::read_to_string(package) {
        let hash = text.split("\"sha1\": \"").nth(1)?.get(..12)?;
        return Some(hash.to_owned());
    }
    // Each commit and checkout is logged there. The index would not do: `git status` writes it, too, and the crate
    // would be built anew after each.
    let head = git(&["rev-parse", "--git-path", "HEAD"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", if Path::new(&log).exists() { log } else { head });
    for sources in ["src", "../adapters/src", "../models/src", "../kernel/src"] {
        println!("cargo::rerun-if-changed={sources}");
    }
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if clean { hash } else { format!("{hash}, changed") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
