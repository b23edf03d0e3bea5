//! No case may be missing.
use std::{fs, path::Path};

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of tests").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else {
            *text += &fs::read_to_string(&path).expect("a readable source");
        }
    }
}

/// T1-T11, P1-P33 and H1-H24 each have at least one test that carries the id.
#[test]
fn every_case_has_a_test() {
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all"), &mut text);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let has = |id: &str| {
        lines.windows(2).any(|w| w[0] == "#[test]" && w[1].starts_with(&format!("fn {id}_")))
    };
    let ids = (1..=11).map(|i| format!("t{i:02}")).chain((1..=33).map(|i| format!("p{i:02}")));
    let hybrid = (1..=24).map(|i| format!("h{i:02}"));
    let missing: Vec<String> = ids.chain(hybrid).filter(|id| !has(id)).collect();
    assert!(missing.is_empty(), "cases without a test: {missing:?}");
}
