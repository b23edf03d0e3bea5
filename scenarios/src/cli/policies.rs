//! `check`: which policies a coupling can have.
use super::report::columns;
use crate::plan::policies::{Master, Policy};
use serde_json::{Value as Json, json};

/// All policies of each group, or only those in use for which something stands in.
pub(super) fn text(masters: &[Master], all: bool) -> String {
    let mut text = String::new();
    for master in masters.iter().filter(|m| all || m.declared) {
        let shown = |p: &&Policy| all || (p.used && !p.missing.is_empty());
        let rows: Vec<Vec<String>> = master.policies.iter().filter(shown).flat_map(rows).collect();
        if rows.is_empty() {
            continue;
        }
        text.push_str(&format!("{}\n", heading(master)));
        if all {
            let lacking = master.lacking.iter().flat_map(|(unit, lacks)| {
                lacks
                    .iter()
                    .map(move |(what, why)| format!("  {unit} has no {} ({why})\n", what.name()))
            });
            text.extend(lacking);
        }
        text.push_str(&columns(&rows, &[]));
    }
    text
}

fn heading(master: &Master) -> String {
    let group = if master.group.is_empty() { "the scenario" } else { &master.group };
    match master.declared {
        true => format!("coupling of {group}"),
        false => format!("policies that a [coupling] of {group} could have"),
    }
}

/// A policy, with a row for each unit that lacks something.
fn rows(p: &Policy) -> Vec<Vec<String>> {
    let said = match (p.possible, p.missing.is_empty()) {
        (true, true) => "possible",
        (true, false) => "possible, less exact",
        (false, _) => "impossible",
    };
    let used = if p.used { "*" } else { "" };
    let first = vec![used.into(), p.line.clone(), said.into(), p.what.into()];
    let indent =
        |what: &str, text: &str| vec![String::new(), String::new(), what.into(), text.into()];
    let missing = p.missing.iter().map(|m| indent("missing", m));
    let instead = if p.possible { "stands in" } else { "instead" };
    let instead = p.instead.iter().map(|text| indent(instead, text));
    [first].into_iter().chain(missing).chain(instead).collect()
}

/// For programs.
pub(super) fn object(masters: &[Master]) -> Json {
    let policy = |p: &Policy| {
        json!({
            "policy": p.line, "what": p.what, "used": p.used, "possible": p.possible,
            "missing": p.missing, "instead": p.instead,
        })
    };
    let master = |m: &Master| {
        json!({
            "group": m.group, "declared": m.declared,
            "policies": m.policies.iter().map(policy).collect::<Vec<_>>(),
        })
    };
    masters.iter().map(master).collect()
}
