//! The data of a report: what the files of a run hold.
use super::ReportError;
use crate::{
    output::manifest::Manifest,
    plan::Style,
    plot::{self, Curve, Figure, Panel, each_row},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value as Json, json};
use std::{fs, path::Path};

/// Points of a curve beyond which it has least and largest values only, four points for each of so many columns.
pub(super) const COLUMNS: usize = 50_000;
/// Rows of the table of events, at most.
const EVENTS: usize = 20_000;
/// Where a run has no summary.
const INTERRUPTED: &str = "The run failed or was interrupted. This is what it wrote until then; it has no \
                           results and no counts. `superdense resume` goes on from a checkpoint, if one was written.";
/// Keys of `summary.json` that have a place of their own.
const APART: [&str; 3] = ["results", "notes", "scenario"];

/// A run, and its summary if it has come to its end.
pub(super) struct Run<'a> {
    pub dir: &'a Path,
    pub summary: Option<&'a Json>,
    pub manifest: Option<&'a Manifest>,
}

impl Run<'_> {
    /// Title, a line about the run, and its data.
    pub(super) fn read(&self) -> Result<(String, String, Json), ReportError> {
        let (figure, declared) = plot::read(self.dir, COLUMNS)?;
        let panels: Vec<Json> = figure.panels.iter().map(|p| panel(p, figure.span)).collect();
        let events = self.events()?;
        let of = |key: &str| said(self.fact(key));
        let scenario = self.manifest.map(|m| m.scenario.clone()).unwrap_or_default();
        let (name, subtitle, mut remarks) = match self.summary {
            Some(_) => {
                let (name, end, seed) = (of("scenario"), of("end_time"), of("seed"));
                let line = format!("{name}: {end} s, seed {seed}, trace hash {}", of("trace_hash"));
                let notes = self.fact("notes").as_array().cloned().unwrap_or_default();
                (name, line, vec![("Notes", notes)])
            }
            None => {
                let line = format!("{scenario}: a run that did not come to its end");
                (scenario, line, vec![("Not at its end", vec![json!(INTERRUPTED)])])
            }
        };
        let changed = self.manifest.map_or(Ok(Vec::new()), |m| m.changed(self.dir))?;
        remarks.push(("Not as the run left it", changed.into_iter().map(Json::from).collect()));
        remarks.retain(|(_, lines)| !lines.is_empty());
        let statistics: Vec<Json> = [self.counts(), self.units()?].into_iter().flatten().collect();
        let data = json!({
            "results": self.results(&declared),
            "remarks": remarks,
            "tables": [],
            "panels": panels,
            "span": [figure.span.0, figure.span.1],
            "events": events,
            "statistics": statistics,
            "provenance": self.provenance(),
            "questions": [],
            "files": self.scenario(),
        });
        Ok((figure_title(&figure, &name), subtitle, data))
    }

    fn results(&self, declared: &plot::Declared) -> Vec<Json> {
        let line = |(name, unit): &(String, Option<String>)| {
            let found = &self.fact("results")[name];
            let part = |key: &str| found.get(key).cloned().unwrap_or(Json::Null);
            let value = if found.is_object() { part("value") } else { found.clone() };
            json!({ "name": name, "value": value, "low": part("low"), "high": part("high"), "bar": part("bar"), "unit": unit })
        };
        let known = declared.results.iter().filter(|_| self.summary.is_some());
        known.map(line).collect()
    }

    /// An entry of the summary; null where there is none.
    fn fact(&self, key: &str) -> &Json {
        self.summary.map_or(&Json::Null, |summary| &summary[key])
    }

    fn events(&self) -> Result<Json, ReportError> {
        let (mut rows, mut times, mut count) = (Vec::new(), Vec::new(), 0u64);
        each_row(&self.dir.join("events.csv"), 5, |fields| {
            count += 1;
            if rows.len() < EVENTS {
                times.push(fields[0].parse::<f64>().unwrap_or(f64::NAN));
                rows.push(fields.iter().map(|f| f.to_string()).collect::<Vec<_>>());
            }
            Ok(true)
        })?;
        Ok(json!({ "rows": rows, "times": times, "count": count }))
    }

    /// The counts of the run.
    fn counts(&self) -> Option<Json> {
        let all = self.summary?.as_object();
        let rows = all.into_iter().flatten().filter(|(key, _)| !APART.contains(&key.as_str()));
        let rows: Vec<_> = rows.map(|(key, value)| [key.replace('_', " "), said(value)]).collect();
        Some(json!({ "title": "Counts", "head": ["what", "value"], "rows": rows, "numeric": [1] }))
    }

    /// The counts of each continuous unit, if there are any.
    fn units(&self) -> Result<Option<Json>, ReportError> {
        let file = self.dir.join("units.csv");
        let header = fs::read_to_string(&file).unwrap_or_default();
        let head = header.lines().next().unwrap_or("unit").split(',').map(|h| h.replace('_', " "));
        let head: Vec<String> = head.collect();
        let mut rows: Vec<Vec<String>> = Vec::new();
        if file.is_file() {
            each_row(&file, head.len(), |fields| {
                rows.push(fields.iter().map(|f| f.to_string()).collect());
                Ok(rows.len() < 1000)
            })?;
        }
        let numeric: Vec<usize> = (1..head.len()).collect();
        let table =
            json!({ "title": "Continuous units", "head": head, "rows": rows, "numeric": numeric });
        Ok((!rows.is_empty()).then_some(table))
    }

    fn provenance(&self) -> Json {
        let mut rows = vec![json!(["superdense", env!("CARGO_PKG_VERSION")])];
        rows.push(json!(["commit", env!("SUPERDENSE_COMMIT")]));
        for key in self.summary.iter().flat_map(|_| ["seed", "resolution", "trace_hash"]) {
            rows.push(json!([key.replace('_', " "), said(self.fact(key))]));
        }
        if let Some(manifest) = self.manifest {
            rows.push(json!(["scenario file", manifest.scenario]));
            rows.push(json!(["run", manifest.run]));
            for (name, entry) in &manifest.files {
                rows.push(json!([format!("SHA-256 of {name}"), entry.sha256]));
            }
        }
        json!(rows)
    }

    /// The text of the scenario as it is now, if it is there.
    fn scenario(&self) -> Json {
        let file = self.manifest.map(|m| m.scenario.clone()).unwrap_or_default();
        match fs::read_to_string(&file) {
            Ok(text) => json!([[format!("{file}, as it was when this report was made"), text]]),
            Err(_) => json!([]),
        }
    }
}

fn figure_title(figure: &Figure, name: &str) -> String {
    if figure.title.is_empty() { name.to_owned() } else { figure.title.clone() }
}

fn said(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// A panel; curves have their own values, and the page cuts them at the ends of the axes.
pub(super) fn panel(panel: &Panel, span: (f64, f64)) -> Json {
    let declared = &panel.declared;
    let unit = declared.axes.unit.unwrap_or(1.0);
    let span = panel.span.unwrap_or((span.0 / unit, span.1 / unit));
    let timed = panel.span.is_none();
    let rows: Vec<Json> = panel
        .rows
        .iter()
        .map(|row| {
            let marks = row.marks.iter().flat_map(|&(at, end)| [at, end]);
            json!({ "label": row.label, "data": doubles(marks) })
        })
        .collect();
    json!({
        "title": declared.title,
        "x_label": declared.x_label,
        "y_label": declared.y_label,
        "timed": timed,
        // Whether the points of curves are in the order of the horizontal axis.
        "sorted": timed || declared.axes.x.is_none(),
        "span": declared.axes.x_range.unwrap_or([span.0, span.1]),
        "y_range": declared.axes.y_range,
        "events": declared.events,
        "arrives": !declared.to.is_empty(),
        "log": declared.axes.log,
        "unit": unit,
        "values": declared.axes.values,
        "bands": declared.axes.bands,
        "curves": panel.curves.iter().map(curve).collect::<Vec<_>>(),
        "rows": rows,
    })
}

fn curve(curve: &Curve) -> Json {
    let style = match curve.style {
        Style::Points => "points",
        Style::Line | Style::Step => "line",
    };
    let numbers = curve.points.iter().map(|p| p.0).chain(curve.points.iter().map(|p| p.1));
    let thinned = curve.thinned.then_some(COLUMNS);
    json!({ "label": curve.label, "style": style, "thinned": thinned, "data": doubles(numbers) })
}

/// Little-endian doubles in base64, so that no digit is lost.
fn doubles(all: impl Iterator<Item = f64>) -> String {
    STANDARD.encode(all.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}
