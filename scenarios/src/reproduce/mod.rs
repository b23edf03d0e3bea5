//! `superdense reproduce`: every figure and table of the papers, through shipped scenarios.
//!
//! Tables say which scenario runs, what is measured and what must come out
//! ([`crate::library::EXPECTED`]); here are the few measures that they are made of. A run goes
//! the way of `superdense run`. Its scenarios are written to the output directory first, where they
//! can be run again and changed.
mod figure;
mod measure;
mod results;
mod runner;
mod table;
mod verdict;

use crate::{library, run::pulse::Pulse};
use measure::measure;
use results::Results;
use runner::Runner;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};
use superdense_models::maths::expr::{Expr, Names};
use table::{Check, Kind, Measure, Numbers, Paper, Table, Verdict};
pub use verdict::number;

/// A number of a paper and ours.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// Three digits.
    pub document: String,
    /// Where it stands, and what it is.
    pub item: String,
    /// `printed`, `derived` from what is printed, or `own`: of an instance of ours.
    pub kind: &'static str,
    /// The printed number, or what the paper says; nothing for a measure of ours alone.
    pub paper: Json,
    /// Ours; nothing when it could not be had.
    pub ours: Option<f64>,
    /// The least number that is accepted; none where the reason says why.
    pub low: Option<f64>,
    /// The largest one, likewise.
    pub high: Option<f64>,
    /// The condition on our number, in words.
    pub tolerance: String,
    /// How the paper was understood.
    pub reading: String,
    /// `equal`, `own` where the paper prints nothing, `misprint`, or `not reproducible as printed`.
    pub verdict: &'static str,
    /// Why bounds are as they are, or what is behind the verdict.
    pub reason: Option<String>,
    /// Ours is what it must be.
    pub ok: bool,
    /// The scenario below the library.
    pub scenario: String,
    /// A command that makes this run.
    pub command: String,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The documents to reproduce, and the directory for the results.
#[derive(Debug)]
pub struct Request<'a> {
    /// A document's number or its beginning, or part of the name of an item; everything without.
    pub name: Option<&'a str>,
    /// Where scenarios, results and figures go.
    pub out: &'a Path,
    /// Also what takes long.
    pub slow: bool,
    /// Ctrl-C.
    pub pulse: Pulse,
}

/// Messages while it goes on.
#[derive(Debug)]
pub enum Told {
    /// A document begins.
    Document {
        /// Three digits.
        document: String,
        /// Authors, year, title.
        source: String,
    },
    /// A line.
    Line(Box<Line>),
    /// A part that was not asked for because it takes long.
    Skipped {
        /// Its name.
        item: String,
        /// Why it takes long.
        why: String,
    },
    /// A figure that cannot be drawn.
    Missing {
        /// Its name.
        item: String,
        /// Why.
        why: String,
    },
    /// A figure was drawn.
    Figure {
        /// Its file.
        file: PathBuf,
        /// The caption of the figure.
        caption: String,
    },
}

/// Why something could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It takes long.
    Skipped(String),
    /// Ctrl-C.
    Interrupted,
    /// Anything else.
    Failed(String),
}

/// Reproduces, telling each line as soon as it is there.
///
/// # Errors
/// When there is no such document or item, the output directory cannot be written, or on Ctrl-C. A
/// run that fails is told by its line.
pub fn reproduce(request: &Request<'_>, tell: &mut dyn FnMut(Told)) -> Result<(), Trouble> {
    let tables = tables().map_err(Trouble::Failed)?;
    let wanted = |table: &Table, item: &str| match request.name {
        None => true,
        Some(name) => {
            if name.chars().all(|c| c.is_ascii_digit()) {
                return table.document.starts_with(name);
            }
            item.to_lowercase().contains(&name.to_lowercase())
        }
    };
    let mut runner = Runner::new(request.out, request.slow, &request.pulse)?;
    let (mut found, mut last) = (false, String::new());
    for (file, table) in &tables {
        let checks: Vec<_> = table.check.iter().filter(|c| wanted(table, &c.item)).collect();
        let figures: Vec<_> = table.figure.iter().filter(|f| wanted(table, &f.title)).collect();
        if checks.is_empty() && figures.is_empty() {
            continue;
        }
        found = true;
        if table.source != last {
            let (document, source) = (table.document.clone(), table.source.clone());
            tell(Told::Document { document, source });
            last.clone_from(&table.source);
        }
        let mut bench = Bench { file, table, runner: &mut runner, known: HashMap::new() };
        for check in checks {
            bench.check(check, tell)?;
        }
        for figure in figures {
            match bench.draw(figure, request.out) {
                Ok(file) => tell(Told::Figure { file, caption: figure.caption.clone() }),
                Err(Trouble::Skipped(why)) => {
                    tell(Told::Skipped { item: figure.title.clone(), why });
                }
                Err(Trouble::Failed(why)) => {
                    tell(Told::Missing { item: figure.title.clone(), why });
                }
                Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
            }
        }
    }
    match request.name {
        Some(name) if !found => Err(Trouble::Failed(format!(
            "there is no document and no item `{name}`; the documents are {}",
            documents(&tables)
        ))),
        _ => Ok(()),
    }
}

/// A figure, a table or another result of a paper, and where it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct Indexed {
    /// Three digits.
    pub document: String,
    /// Of a document with several ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub article: Option<String>,
    /// Its name.
    pub item: String,
    /// Items of lines, and titles of pictures.
    pub rows: Vec<String>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// All that the papers print, in the order of the documents.
///
/// # Errors
/// When a table or the index has a mistake, which a test finds.
pub fn index() -> Result<Vec<Indexed>, String> {
    let tables = tables()?;
    let index = table::index(library::INDEX)?;
    let rows = |entry: &table::Entry| -> Vec<String> {
        let own = tables.iter().filter(|(_, table)| table.document == entry.document);
        let items = own.flat_map(|(_, table)| {
            let checks = table.check.iter().map(|check| &check.item);
            checks.chain(table.figure.iter().map(|figure| &figure.title))
        });
        let shows = |item: &&String| entry.rows.iter().any(|part| item.contains(part));
        items.filter(shows).cloned().collect()
    };
    let indexed = |entry: table::Entry| Indexed {
        rows: rows(&entry),
        document: entry.document,
        article: entry.article,
        item: entry.item,
        reason: entry.reason,
    };
    Ok(index.entry.into_iter().map(indexed).collect())
}

fn documents(tables: &[(&'static str, Table)]) -> String {
    let mut all: Vec<&str> = tables.iter().map(|t| t.1.document.as_str()).collect();
    all.dedup();
    all.join(", ")
}

/// All tables, by the names of their files.
fn tables() -> Result<Vec<(&'static str, Table)>, String> {
    let stem =
        |name: &'static str| name.rsplit('/').next().unwrap_or(name).trim_end_matches(".toml");
    let parse = |(name, text): &(&'static str, &str)| Ok((stem(name), table::parse(name, text)?));
    library::EXPECTED.iter().map(parse).collect()
}

/// One table at work.
struct Bench<'a, 'b> {
    file: &'static str,
    table: &'a Table,
    runner: &'a mut Runner<'b>,
    /// Numbers by name.
    known: HashMap<String, f64>,
}

impl<'a> Bench<'a, '_> {
    fn results(&mut self, run: &str) -> Result<Rc<Results>, Trouble> {
        self.runner.results(self.file, self.table, run)
    }

    fn check(&mut self, check: &Check, tell: &mut dyn FnMut(Told)) -> Result<(), Trouble> {
        match self.values(check.run.as_deref(), &check.measure) {
            Ok(values) => {
                for (n, ours) in values.iter().enumerate() {
                    tell(Told::Line(Box::new(self.line(check, n, Some(*ours), None))));
                }
            }
            Err(Trouble::Skipped(why)) => tell(Told::Skipped { item: check.item.clone(), why }),
            Err(Trouble::Failed(why)) => {
                tell(Told::Line(Box::new(self.line(check, 0, None, Some(why)))))
            }
            Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
        }
        Ok(())
    }

    /// The numbers of a measure.
    fn values(&mut self, run: Option<&str>, what: &Measure) -> Result<Vec<f64>, Trouble> {
        if let Measure::Formula(text) = what {
            return self.formula(text).map(|x| vec![x]);
        }
        let name = run.unwrap_or_default();
        if let (Measure::Radius { step }, Some(run)) = (what, self.table.run.get(name)) {
            return self.runner.radius(run, step.as_deref()).map(|x| vec![x]);
        }
        let run = self.results(name)?;
        let other = what.against().map(|o| self.results(o)).transpose()?;
        measure(what, &run, other.as_deref()).map_err(Trouble::Failed)
    }

    /// The first number of the check or value with this name, if there is one.
    fn named(&mut self, name: &str) -> Result<Option<f64>, Trouble> {
        if let Some(known) = self.known.get(name) {
            return Ok(Some(*known));
        }
        let table = self.table;
        let Some((run, what)) = table.named(name) else { return Ok(None) };
        let value = self.values(run, what)?.first().copied().unwrap_or(f64::NAN);
        self.known.insert(name.to_owned(), value);
        Ok(Some(value))
    }

    fn formula(&mut self, text: &str) -> Result<f64, Trouble> {
        let mut names = Names::new();
        for word in words(text) {
            if let Some(value) = self.named(word)? {
                names = names.constant(word, value);
            }
        }
        let expr = Expr::parse(text, &names);
        expr.ok()
            .and_then(|e| e.as_constant())
            .ok_or_else(|| Trouble::Failed(format!("`{text}` is no formula of known checks")))
    }

    fn line(&self, check: &Check, n: usize, ours: Option<f64>, error: Option<String>) -> Line {
        let run = self.table.run_of(check.run.as_deref(), &check.measure);
        let item = match label(check, n) {
            Some(name) => format!("{}: {name}", check.item),
            None => check.item.clone(),
        };
        let (low, high) = verdict::bounds(check, n);
        let verdict = match (&check.paper, check.verdict) {
            (None, Verdict::Equal) => Kind::Own.text(),
            (_, verdict) => verdict.text(),
        };
        Line {
            document: self.table.document.clone(),
            item,
            kind: check.kind(self.table).text(),
            low,
            high,
            reason: check.reason.clone(),
            paper: match &check.paper {
                Some(Paper::Numbers(numbers)) => json!(Numbers::get(numbers, n)),
                Some(Paper::Says(text)) => json!(text),
                None => Json::Null,
            },
            ours: ours.filter(|x| x.is_finite()),
            tolerance: verdict::tolerance(check, n),
            reading: check.reading.clone(),
            verdict,
            ok: ours.is_some_and(|x| verdict::accepted(check, n, x)),
            scenario: run.map(|r| r.scenario.clone()).unwrap_or_default(),
            command: run.map(runner::command).unwrap_or_default(),
            error,
        }
    }
}

/// The names in a formula.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// The name of the n-th number of a check, when there are many.
fn label(check: &Check, n: usize) -> Option<String> {
    if let Some(name) = check.names.get(n) {
        return Some(name.clone());
    }
    let columns = match &check.measure {
        Measure::End(c) | Measure::Max(c) | Measure::Facts(c) | Measure::Results(c) => c,
        Measure::Errors(c) => &c.of,
        Measure::Times { nth, .. } | Measure::Values { nth, .. } => {
            return Some(format!("number {}", nth[n])).filter(|_| nth.len() > 1);
        }
        _ => return None,
    };
    columns.get(n).cloned().filter(|_| columns.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No check is one-sided without a reason, none is a number of its own, and each other verdict has a reason.
    #[test]
    fn checks_have_two_bounds() {
        for (file, table) in tables().unwrap() {
            for check in &table.check {
                let item = format!("{file}: {}", check.item);
                let many = match &check.measure {
                    Measure::End(c) | Measure::Max(c) | Measure::Facts(c) | Measure::Results(c) => {
                        c.len()
                    }
                    Measure::Errors(c) => c.of.len(),
                    Measure::Times { nth, .. } | Measure::Values { nth, .. } => nth.len(),
                    _ => 1,
                };
                let told = check.reason.as_deref().is_some_and(|why| why.len() > 20);
                for n in 0..many {
                    let (low, high) = verdict::bounds(check, n);
                    assert!(told || low.is_some() && high.is_some(), "{item} is one-sided");
                    assert!(low.is_some() || high.is_some(), "{item} has no bound");
                    assert!(low.is_none_or(|low| high.is_none_or(|high| low <= high)), "{item}");
                }
                assert!(told || check.verdict == Verdict::Equal, "{item} has no reason");
                if let Measure::Formula(text) = &check.measure {
                    let names = words(text).filter(|word| table.named(word).is_some());
                    assert!(names.count() > 0, "{item} is a number, and no measure");
                    // Numbers in a formula are parts of it, and none is a result.
                    let literal = |word: &&str| word.parse::<f64>().is_ok_and(|x| x > 100.0);
                    assert_eq!(words(text).find(literal), None, "{item}");
                }
            }
        }
    }

    /// Each figure and table of each paper has an entry with rows, or with the reason why there are none.
    #[test]
    fn everything_that_is_printed_is_in_the_index() {
        let index = index().unwrap();
        for entry in &index {
            let of = format!("{}, {:?}, {}", entry.document, entry.article, entry.item);
            let reason = entry.reason.as_deref().is_some_and(|why| !why.is_empty());
            assert!(reason == entry.rows.is_empty(), "{of}: rows or a reason, {:?}", entry.rows);
        }
        for (document, article, figures, tables) in [
            ("000", None, 6, 0),
            ("001", None, 9, 0),
            ("002", None, 6, 0),
            ("003", Some("tooth"), 7, 1),
            ("003", Some("power balance"), 3, 2),
            ("003", Some("hierarchical"), 7, 5),
            ("003", Some("SES/MB"), 6, 0),
            ("003", Some("C21"), 20, 6),
            ("003", Some("C11"), 20, 2),
            ("004", None, 22, 1),
        ] {
            for (word, last) in [("figure", figures), ("table", tables)] {
                let own = |e: &&Indexed| e.document == document && e.article.as_deref() == article;
                let number = |e: &Indexed| e.item.strip_prefix(word)?.trim().parse::<u32>().ok();
                let mut all: Vec<u32> = index.iter().filter(own).filter_map(number).collect();
                all.sort_unstable();
                let wanted: Vec<u32> = (1..=last).collect();
                assert_eq!(all, wanted, "{word}s of {document} {article:?}");
            }
        }
        // Parts of names that meet nothing are mistakes of the index, even beside others.
        let text = table::index(library::INDEX).unwrap();
        let tables = super::tables().unwrap();
        for entry in &text.entry {
            for part in &entry.rows {
                let own = tables.iter().filter(|(_, t)| t.document == entry.document);
                let found = own.flat_map(|(_, t)| {
                    let items = t.check.iter().map(|c| &c.item);
                    items.chain(t.figure.iter().map(|f| &f.title))
                });
                assert!(found.into_iter().any(|item| item.contains(part)), "nothing is `{part}`");
            }
        }
    }

    /// Whatever a table names is there, and each check can fail.
    #[test]
    fn tables_are_consistent() {
        for (file, table) in tables().unwrap() {
            let run = |name: &str| {
                assert!(table.run.contains_key(name), "{file}: there is no run `{name}`");
            };
            for check in &table.check {
                let item = format!("{file}: {}", check.item);
                let bounds = [check.least, check.most, check.paper_within];
                let bounded = check.expected.is_some() || bounds.iter().any(Option::is_some);
                assert!(bounded && !check.reading.is_empty(), "{item} accepts anything");
                match &check.measure {
                    Measure::Formula(_) => assert!(check.run.is_none(), "{item}"),
                    _ => run(check.run.as_deref().unwrap_or_else(|| panic!("{item}: no run"))),
                }
                check.measure.against().into_iter().for_each(run);
            }
            for curve in table.figure.iter().flat_map(|f| &f.panel).flat_map(|p| &p.curve) {
                curve.run.iter().chain(&curve.against).for_each(|r| run(r));
                for id in &curve.checks {
                    assert!(table.named(id).is_some(), "{file}: there is no check `{id}`");
                }
                assert_eq!(curve.x.len(), curve.checks.len(), "{file}: {}", curve.label);
            }
            for run in table.run.values() {
                let known =
                    library::SCENARIOS.iter().any(|s| s.0 == format!("library/{}", run.scenario));
                assert!(known, "{file}: there is no scenario {}", run.scenario);
            }
        }
    }
}
