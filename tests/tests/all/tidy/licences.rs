//! Anybody may use the program and all that is linked into it.
use super::sources::root;
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

/// Licences that ask for no more than their text. MPL-2.0 asks for changes of its own files, of which there are none.
const FREE: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "MPL-2.0",
];

/// Whether one of the alternatives of an expression is free in all of its parts.
fn is_free(expression: &str) -> bool {
    let whole = expression.replace(" / ", " OR ").replace('/', " OR ").replace(['(', ')'], "");
    let part = |part: &str| part.split(" OR ").any(|one| FREE.contains(&one.trim()));
    whole.split(" AND ").all(part)
}

/// Packages that the program is built of, without those that only tests and benchmarks need, with their licences.
fn packages() -> BTreeMap<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    let output = command.current_dir(root()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Json = serde_json::from_slice(&output.stdout).expect("an object");
    let list = |of: &Json| of.as_array().cloned().unwrap_or_default();
    let text = |of: &Json| of.as_str().unwrap_or_default().to_owned();
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&all["resolve"]["nodes"]) {
        let usual = |dep: &&Json| list(&dep["dep_kinds"]).iter().any(|k| k["kind"] != "dev");
        let deps = list(&node["deps"]);
        let deps = deps.iter().filter(usual).map(|dep| text(&dep["pkg"])).collect();
        needs.insert(text(&node["id"]), deps);
    }
    let packages = list(&all["packages"]);
    let is_shipped = |p: &&Json| {
        let name = text(&p["name"]);
        p["source"].is_null() && !["superdense-tests", "superdense-benches"].contains(&&*name)
    };
    let mut open: Vec<String> =
        packages.iter().filter(is_shipped).map(|p| text(&p["id"])).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id.clone()) {
            open.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    let named = packages.iter().filter(|p| seen.contains(&text(&p["id"])));
    named.map(|p| (text(&p["name"]), text(&p["license"]))).collect()
}

#[test]
fn licences_are_free() {
    let packages = packages();
    assert!(packages.len() > 100 && packages.contains_key("serde"), "{}", packages.len());
    for (name, licence) in &packages {
        assert!(is_free(licence), "{name} is under `{licence}`");
        if name.starts_with("superdense") {
            assert_eq!(licence, "MIT OR Apache-2.0", "{name}");
        }
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(root().join(name).is_file(), "{name}");
    }
    assert!(!is_free("GPL-3.0") && !is_free("(MIT OR GPL-2.0) AND LGPL-3.0") && !is_free(""));
}
