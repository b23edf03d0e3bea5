//! A report of a run, a study or a comparison: one file of HTML that needs no network.
//!
//! **Why everything is inline.** A report is sent by mail and opened years later. The page forbids all requests
//! by its Content-Security-Policy; its own scripts and styles are known by their SHA-256.
//!
//! **How texts stay texts.** Data are JSON in which `<` is escaped, and the script of the page puts texts into
//! it as text only. So a title with tags is shown with its tags.
mod comparison;
mod data;
#[cfg(feature = "study")]
mod study;

use crate::{
    compare::Comparison,
    output::{OutputError, directory::SUMMARY, manifest::Manifest},
    plot::{self, PlotError},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

const PAGE: &str = include_str!("page.html");
const CSS: &str = include_str!("page.css");
/// Parts of a page, plots, charts of studies, and the order of all.
const SCRIPTS: [&str; 4] = [
    include_str!("parts.js"),
    include_str!("plots.js"),
    include_str!("points.js"),
    include_str!("page.js"),
];
/// uPlot 1.6.32 of Leon Sorokin, from its npm package; its licence is beside it.
const UPLOT: &str = include_str!("uplot.min.js");
const UPLOT_CSS: &str = include_str!("uplot.min.css");

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file of the run is missing or damaged.
    #[error("{0}")]
    Plot(#[from] PlotError),
    /// A file cannot be read.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The directory holds no run.
    #[error("{0}")]
    NoRun(String),
    /// The store of a study cannot be read.
    #[cfg(feature = "study")]
    #[error("{0}")]
    Study(#[from] crate::study::StudyError),
}

/// The report of the run or the study in a directory.
///
/// # Errors
/// When the directory holds neither, or its files are damaged.
pub fn of(dir: &Path) -> Result<String, ReportError> {
    #[cfg(feature = "study")]
    if dir.join(crate::study::STORE).is_file() {
        let (title, subtitle, data) = study::read(dir)?;
        return Ok(page(&title, &subtitle, &data));
    }
    of_run(dir)
}

/// The report of a comparison of the runs in two directories.
///
/// # Errors
/// When files of the runs are damaged.
pub fn of_comparison(found: &Comparison, a: &Path, b: &Path) -> Result<String, ReportError> {
    let (title, subtitle, data) = comparison::read(found, a, b)?;
    Ok(page(&title, &subtitle, &data))
}

/// The report of the run in a directory.
///
/// # Errors
/// When the directory holds no run, or its files are damaged.
pub fn of_run(dir: &Path) -> Result<String, ReportError> {
    let summary = summary(dir)?;
    let manifest = Manifest::read(dir)?;
    let run = data::Run { dir, summary: summary.as_ref(), manifest: manifest.as_ref() };
    let (title, subtitle, data) = run.read()?;
    Ok(page(&title, &subtitle, &data))
}

/// The summary of a run; nothing where it failed or was interrupted.
fn summary(dir: &Path) -> Result<Option<Json>, ReportError> {
    let no_run = |why: &str| {
        let dir = dir.display();
        ReportError::NoRun(format!("{dir} holds no run ({why}); run its scenario first"))
    };
    if !dir.is_dir() {
        return Err(no_run("there is no such directory"));
    }
    let file = dir.join(SUMMARY);
    if !file.is_file() {
        let begun = dir.join(plot::NAME).is_file();
        return if begun { Ok(None) } else { Err(no_run("it has no files of one")) };
    }
    let text = fs::read_to_string(&file).map_err(OutputError::at(&file))?;
    let damaged = |e: serde_json::Error| no_run(&format!("{SUMMARY} is damaged: {e}"));
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

/// Puts the page together.
fn page(title: &str, subtitle: &str, data: &Json) -> String {
    let hash =
        |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPTS.concat());
    // In a script, `<` could end it or begin a comment.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("styles", format!("{} {}", hash(UPLOT_CSS), hash(CSS))),
        ("scripts", format!("{} {}", hash(UPLOT), hash(&script))),
        ("title", escaped(title)),
        ("subtitle", escaped(subtitle)),
        ("uplot_css", UPLOT_CSS.to_owned()),
        ("css", CSS.to_owned()),
        ("uplot", UPLOT.to_owned()),
        ("script", script.clone()),
        ("data", data),
    ];
    // One pass: what is put in is not looked at again.
    let (mut out, mut rest) = (String::new(), PAGE);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let evil = "</script><img src=x onerror=alert(1)> {script}";
        let page = page(evil, "", &serde_json::json!({ "title": evil }));
        assert!(!page.contains("<img"), "a tag of a title is in the page");
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; {script}"));
        assert!(page.contains("\\u003c/script>\\u003cimg"));
    }
}
