//! `superdense reproduce`: every line of every table, and the page that shows them. `UPDATE_DOCS=1`
//! writes the page anew; without `REPRODUCE_ALL=1` what takes long is left out.
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use superdense::reproduce::number;

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(super::json).collect()
}

fn text<'a>(line: &'a Json, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {line}"))
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The rows of the page for some lines with the same reading.
fn row(line: &Json) -> String {
    let paper = match &line["paper"] {
        Json::Number(x) => number(x.as_f64().unwrap()),
        Json::String(said) => said.clone(),
        _ => String::new(),
    };
    let ours = line["ours"].as_f64().map_or_else(String::new, number);
    let verdict = text(line, "verdict");
    format!(
        "| {} | {paper} | {ours} | {} | {verdict} |",
        text(line, "item"),
        text(line, "tolerance")
    )
}

/// The page, with the figures under the documents that they belong to.
fn page(lines: &[Json], figures: &BTreeMap<String, String>) -> String {
    let mut page = include_str!("reproduce.md").to_owned();
    let (mut document, mut reading) = ("", "");
    page += &contents();
    for line in lines {
        if text(line, "document") != document {
            figures_of(&mut page, document, figures);
            document = text(line, "document");
            write!(page, "\n## Document {document}\n").unwrap();
        }
        if text(line, "reading") != reading {
            reading = text(line, "reading");
            let head =
                "| item | paper | ours | accepted | verdict |\n| --- | --- | --- | --- | --- |";
            write!(page, "\n{reading}\n\n{head}\n").unwrap();
        }
        writeln!(page, "{}", row(line)).unwrap();
    }
    figures_of(&mut page, document, figures);
    page
}

/// Figures, tables and results of the papers, with the lines that show them or the reason why none does.
fn contents() -> String {
    let dir = super::folder("reproduce-index");
    let mut list = String::from(
        "\n## Figures, tables and results of the papers\n\n| document | what | shown by |\n| --- | --- | --- |\n",
    );
    for entry in lines(&super::good(&dir, "reproduce --index --json")) {
        let article = entry["article"].as_str().map(|a| format!("{a}: ")).unwrap_or_default();
        let rows: Vec<&str> =
            entry["rows"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        let shown = match (entry["reason"].as_str(), rows.as_slice()) {
            (Some(why), []) => format!("nothing: {why}"),
            (None, [row]) => (*row).to_owned(),
            (None, [row, more @ ..]) if !more.is_empty() => {
                format!("{row}, and {} more", more.len())
            }
            _ => panic!("rows or a reason: {entry}"),
        };
        let (document, item) = (text(&entry, "document"), text(&entry, "item"));
        writeln!(list, "| {document} | {article}{item} | {shown} |").unwrap();
    }
    list
}

/// The bounds of a line, and that one is missing or a verdict is another one only for a reason.
fn bounded(line: &Json) {
    let (low, high, ours) = (&line["low"], &line["high"], line["ours"].as_f64().unwrap());
    let told = line["reason"].as_str().is_some_and(|why| why.len() > 20);
    assert!(told || low.is_number() && high.is_number(), "{line}");
    assert!(low.as_f64().is_none_or(|low| low <= ours), "{line}");
    assert!(high.as_f64().is_none_or(|high| ours <= high), "{line}");
    let kind = text(line, "kind");
    assert!(["printed", "derived", "own"].contains(&kind), "{line}");
    assert_eq!(kind == "printed", line["paper"].is_number(), "{line}");
    match text(line, "verdict") {
        "own" => assert!(line["paper"].is_null(), "{line}"),
        "equal" => assert!(!line["paper"].is_null(), "{line}"),
        _ => assert!(told, "{line}"),
    }
}

fn figures_of(page: &mut String, document: &str, figures: &BTreeMap<String, String>) {
    for name in figures.keys().filter(|n| !document.is_empty() && n.starts_with(document)) {
        write!(page, "\n![{name}](reproduce/{name})\n").unwrap();
    }
}

#[test]
fn every_number_is_as_it_must_be() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let all = update || std::env::var_os("REPRODUCE_ALL").is_some();
    let dir = super::folder("reproduce");
    let quick = if all { "" } else { "--quick" };
    let output = super::superdense(&dir, &format!("reproduce --json {quick}"));
    let skipped = String::from_utf8_lossy(&output.stderr);
    print!("{skipped}");
    let lines = lines(&String::from_utf8_lossy(&output.stdout));
    let wrong: Vec<_> = lines.iter().filter(|l| l["ok"] != true).collect();
    assert!(wrong.is_empty() && output.status.success(), "{wrong:#?}\n{skipped}");
    assert!(lines.len() >= 60, "{} lines", lines.len());
    for line in &lines {
        let document = text(line, "document");
        assert!(["000", "001", "002", "003", "004"].contains(&document), "{line}");
        assert!(line["ours"].is_number(), "{line}");
        for key in ["item", "tolerance", "reading", "scenario", "command"] {
            assert!(!text(line, key).is_empty(), "no {key} in {line}");
        }
        bounded(line);
        let verdicts = ["equal", "own", "misprint", "not reproducible as printed"];
        assert!(verdicts.contains(&text(line, "verdict")), "{line}");
        let scenario = dir.join("out/reproduce/scenarios/library").join(text(line, "scenario"));
        assert!(scenario.is_file(), "{}", scenario.display());
    }
    assert_eq!(all, skipped.is_empty(), "{skipped}");

    let mut figures = BTreeMap::new();
    for entry in fs::read_dir(dir.join("out/reproduce/figures")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        figures.insert(name, fs::read_to_string(entry.path()).unwrap());
    }
    if update {
        fs::create_dir_all(docs().join("reproduce")).unwrap();
        for (name, svg) in &figures {
            fs::write(docs().join("reproduce").join(name), svg).unwrap();
        }
        fs::write(docs().join("reproduce.md"), page(&lines, &figures)).unwrap();
    }
    let page = super::read(&docs(), "reproduce.md");
    assert!(page.contains(&contents()), "the list in docs/reproduce.md is out of date");
    for line in &lines {
        let row = row(line);
        assert!(page.contains(&row), "docs/reproduce.md is out of date:\n{row}");
    }
    for (name, svg) in &figures {
        assert!(super::read(&docs().join("reproduce"), name) == *svg, "{name} is out of date");
    }
}

#[test]
fn names_select_documents_and_items() {
    let dir = super::folder("reproduce-names");
    let found = lines(&super::good(&dir, "reproduce traffic --json --out a"));
    assert!(found.is_empty(), "a figure has no lines: {found:?}");
    let found = lines(&super::good(&dir, "reproduce thermostat --json --out a"));
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|l| l["document"] == "004"), "{found:?}");
    // The command of a line makes the same run.
    let command = text(&found[0], "command").strip_prefix("superdense ").unwrap();
    super::good(&dir.join("a/scenarios/library"), &format!("{command} --quiet --out again"));
    let runs = ["a/runs/004/thermostat", "a/scenarios/library/again"];
    let [first, again] = runs.map(|r| super::read(&dir.join(r), "events.csv"));
    assert_eq!(first, again);
    let told = super::good(&dir, "reproduce Thermostat --out a");
    assert!(told.contains("3 of 3 as they must be"), "{told}");
    let output = super::superdense(&dir, "reproduce 005 --out a");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no item `005`; the documents are 000, 001, 002, 003, 004"), "{said}");
}
