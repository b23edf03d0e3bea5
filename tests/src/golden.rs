//! Comparing with the golden traces in `data/golden`.
use crate::record::Tape;
use serde_json::Value;

/// Rows of a golden file, sorted by tag and model.
///
/// # Panics
/// When the file is missing or damaged.
pub fn read(name: &str) -> Vec<Value> {
    let path = format!("{}/data/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let file: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
    sorted(file["trace"].as_array().expect("a trace").clone())
}

/// A tape as golden rows; `root` is the name that the golden file gives to the root.
pub fn rows(tape: &Tape, root: &str) -> Vec<Value> {
    let row = |r: &crate::record::Record| {
        let model = format!("{root}.{}", r.model.replace('/', "."));
        serde_json::json!([r.t, r.n, model, r.kind, r.heard(), r.sent(), r.next])
    };
    sorted(tape.records.iter().map(row).collect())
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(|r| (r[0].as_i64(), r[1].as_i64(), r[2].as_str().map(str::to_owned)));
    rows
}

/// Fails at the first row that differs.
///
/// # Panics
/// When the traces differ.
pub fn compare(name: &str, root: &str, tape: &Tape) {
    let (expected, found) = (read(name), rows(tape, root));
    for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
        assert_eq!(e, f, "{name}: row {i}");
    }
    assert_eq!(expected.len(), found.len(), "{name}: number of rows");
}
