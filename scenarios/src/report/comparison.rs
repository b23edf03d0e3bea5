//! The data of the report of two runs: how they differ, and the plots of both over each other.
use super::{ReportError, data};
use crate::{compare::Comparison, plot};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Title, a line about the runs, and the data.
pub(super) fn read(
    found: &Comparison,
    a: &Path,
    b: &Path,
) -> Result<(String, String, Json), ReportError> {
    let (first, declared) = plot::read(a, data::COLUMNS)?;
    let (second, _) = plot::read(b, data::COLUMNS)?;
    let (of_a, of_b) = (a.display().to_string(), b.display().to_string());
    let both = |panel: &plot::Panel| {
        let title = &panel.declared.title;
        match second.panels.iter().find(|p| p.declared.title == *title) {
            Some(other) => over((panel, first.span), (other, second.span)),
            None => data::panel(panel, first.span),
        }
    };
    let panels: Vec<Json> = first.panels.iter().map(both).collect();
    let parts = match (&found.parts, found.equal) {
        (_, true) => format!("The runs are equal (trace hash {}).", found.trace_hashes[0]),
        (Some(p), _) => {
            format!("The runs part at {} s, micro-step {}: {}.", p.time, p.micro, p.place)
        }
        (None, _) => "Nothing that is recorded tells where the runs part.".to_owned(),
    };
    let data = json!({
        "results": [],
        "remarks": [["Comparison", [parts]]],
        "tables": tables(found, &declared),
        "panels": panels,
        "span": [first.span.0.min(second.span.0), first.span.1.max(second.span.1)],
        "events": { "rows": [], "times": [], "count": 0 },
        "statistics": [],
        "questions": [],
        "provenance": [
            ["superdense", env!("CARGO_PKG_VERSION")],
            ["first run", of_a],
            ["second run", of_b],
            ["trace hash of the first", found.trace_hashes[0]],
            ["trace hash of the second", found.trace_hashes[1]],
        ],
        "files": [],
    });
    Ok((format!("{of_a} and {of_b}"), "differences are second less first".to_owned(), data))
}

/// A panel, and first and last time of its run in seconds.
type Timed<'a> = (&'a plot::Panel, (f64, f64));

/// A panel of the first run with the curves of the second: each beside its like, in its colour, dashed.
fn over(first: Timed<'_>, second: Timed<'_>) -> Json {
    let (mut panel, other) = (data::panel(first.0, first.1), data::panel(second.0, second.1));
    let end = |of: &Json, k: usize| of["span"][k].as_f64().unwrap_or_default();
    panel["span"] = json!([end(&panel, 0).min(end(&other, 0)), end(&panel, 1).max(end(&other, 1))]);
    for key in ["curves", "rows"] {
        let list = |of: &Json| of[key].as_array().cloned().unwrap_or_default();
        let (ours, theirs) = (list(&panel), list(&other));
        let labelled = |mut part: Json, hue: usize, which: &str| {
            part["label"] =
                json!(format!("{}, {which}", part["label"].as_str().unwrap_or_default()));
            part["hue"] = json!(hue);
            part["dashed"] = json!(which == "second");
            part
        };
        let mut all = Vec::new();
        for k in 0..ours.len().max(theirs.len()) {
            all.extend(ours.get(k).map(|part| labelled(part.clone(), k, "first")));
            all.extend(theirs.get(k).map(|part| labelled(part.clone(), k, "second")));
        }
        panel[key] = json!(all);
    }
    panel
}

/// Results, events and signals.
fn tables(found: &Comparison, declared: &plot::Declared) -> Vec<Json> {
    let number = |x: Option<f64>| x.map_or_else(|| "never".to_owned(), |x| x.to_string());
    let mut tables = Vec::new();
    if !found.results.is_empty() {
        let row = |r: &crate::compare::Difference| {
            let difference =
                r.a.zip(r.b).map_or_else(String::new, |(a, b)| format!("{:.3e}", b - a));
            let bar = |bar: Option<f64>| bar.map_or_else(String::new, |x| format!("{x:.1e}"));
            [r.name.clone(), number(r.a), number(r.b), difference, bar(r.bars)]
        };
        let barred = found.results.iter().any(|r| r.bars.is_some());
        let kept = if barred { 5 } else { 4 };
        let place = |r: &crate::compare::Difference| {
            declared.results.iter().position(|(name, _)| *name == r.name)
        };
        let mut results: Vec<_> = found.results.iter().collect();
        results.sort_by_key(|r| place(r));
        let rows: Vec<_> = results.into_iter().map(|r| row(r)[..kept].to_vec()).collect();
        let head = &["result", "first", "second", "difference", "sum of both bars"][..kept];
        tables.push(
            json!({ "title": "Results", "head": head, "rows": rows, "numeric": [1, 2, 3, 4] }),
        );
    }
    let e = &found.events;
    let rows = [
        ["at the same time".to_owned(), e.matched.to_string()],
        [format!("shifted, by at most {:.3e} s", e.largest_shift), e.shifted.to_string()],
        ["in the first run only".to_owned(), e.missed.to_string()],
        ["in the second run only".to_owned(), e.extra.to_string()],
    ];
    tables.push(
        json!({ "title": "Events", "head": ["what", "count"], "rows": rows, "numeric": [1] }),
    );
    if !found.signals.is_empty() {
        let row = |d: &crate::compare::Deviation| {
            [d.signal.clone(), format!("{:.6e}", d.deviation), d.time.to_string()]
        };
        let rows: Vec<_> = found.signals.iter().map(row).collect();
        let head = ["signal", "largest deviation", "at / s"];
        tables.push(json!({ "title": "Signals", "head": head, "rows": rows, "numeric": [1, 2] }));
    }
    tables
}
