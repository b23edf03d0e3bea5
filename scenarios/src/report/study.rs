//! The data of the report of a study: its answers, and every point that was run.
use super::ReportError;
use crate::{
    plot::{PlotError, each_row, first_line},
    study::{
        RESULTS, Reader, STORE,
        reader::{About, SoFar},
    },
};
use serde_json::{Value as Json, json};
use std::{cmp::Ordering, collections::BTreeMap, fs, path::Path};
use superdense_study::{interval, replicate::LEVEL};

/// Points of a question that a page has, at most.
const POINTS: usize = 20_000;
/// Columns of `results.csv` before the parameters, and behind the results.
const BEFORE: usize = 3;
const BEHIND: usize = 2;

/// A point of a question.
#[derive(Default)]
struct Point {
    /// The parameters as they are written.
    words: Vec<String>,
    /// The values of each result over the replicates in which it happened.
    results: Vec<Vec<f64>>,
    runs: usize,
    lost: usize,
}

impl Point {
    fn new(words: Vec<String>, results: usize) -> Self {
        Self { words, results: vec![Vec::new(); results], ..Self::default() }
    }
}

/// Title, a line about the study, and its data.
pub(super) fn read(dir: &Path) -> Result<(String, String, Json), ReportError> {
    let reader = Reader::open(&dir.join(STORE))?;
    let about = reader.about()?;
    let whole = dir.join(RESULTS).is_file();
    let made = reader.so_far()?;
    let questions = if whole { questions(dir, &about)? } else { so_far(&made, &about) };
    // A run that several questions ask for was made once.
    let runs = made.len();
    let lost = reader.lost()?;
    let named = |list: &[(String, String)]| -> Vec<Json> {
        list.iter().map(|(name, unit)| json!({ "name": name, "unit": unit })).collect()
    };
    let answers: Vec<String> = about.answers.iter().map(|(n, a)| format!("{n}: {a}")).collect();
    let begun =
        "the study is not at its end: it has no answers yet, and numbers of points may change";
    let mut remarks =
        vec![if whole { json!(["Answers", answers]) } else { json!(["So far", [begun]]) }];
    if !lost.is_empty() {
        let told = |(point, replicate, status, why): &(usize, u32, String, String)| {
            format!("point {point}, replicate {replicate}: {status}: {why}")
        };
        remarks.push(json!(["Runs without results", lost.iter().map(told).collect::<Vec<_>>()]));
    }
    let file = about.study.display().to_string();
    let text = fs::read_to_string(&about.study).ok();
    let files = text.map(|t| json!([format!("{file}, as it was when this report was made"), t]));
    let data = json!({
        "results": [],
        "remarks": remarks,
        "tables": [],
        "panels": [],
        "span": [0, 1],
        "events": { "rows": [], "times": [], "count": 0 },
        "statistics": [],
        "questions": questions,
        "parameters": named(&about.parameters),
        "outcomes": named(&about.results),
        "rerun": whole.then(|| format!("superdense study rerun {}", dir.display())),
        "provenance": [
            ["superdense", about.version],
            ["study", file],
            ["scenario", about.scenario.display().to_string()],
            ["seed", about.seed.to_string()],
            ["runs", runs.to_string()],
        ],
        "files": files.into_iter().collect::<Vec<_>>(),
    });
    let scenario = about.scenario.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let so_far = if whole { "" } else { " so far" };
    let subtitle = format!("a study of {scenario}: {runs} runs{so_far}, seed {}", about.seed);
    Ok((about.title, subtitle, data))
}

/// The questions with their points.
fn questions(dir: &Path, about: &About) -> Result<Vec<Json>, ReportError> {
    let file = dir.join(RESULTS);
    let (parameters, results) = (about.parameters.len(), about.results.len());
    let width = BEFORE + parameters + results + BEHIND;
    let head = first_line(&file)?;
    if crate::output::csv::split(&head).len() != width {
        let why = "its columns are not those of the study".to_owned();
        return Err(PlotError::Format { file: file.display().to_string(), why }.into());
    }
    let mut asks: Vec<(String, BTreeMap<usize, Point>)> = Vec::new();
    each_row(&file, width, |fields| {
        if asks.last().is_none_or(|(name, _)| *name != *fields[0]) {
            asks.push((fields[0].to_string(), BTreeMap::new()));
        }
        let Some((_, points)) = asks.last_mut() else { return Ok(false) };
        let number = fields[1].parse().unwrap_or(usize::MAX);
        let words = fields[BEFORE..BEFORE + parameters].iter().map(|f| f.to_string());
        let point = points.entry(number).or_insert_with(|| Point::new(words.collect(), results));
        for (all, cell) in point.results.iter_mut().zip(&fields[BEFORE + parameters..]) {
            all.extend(cell.parse::<f64>().ok());
        }
        point.runs += 1;
        point.lost += usize::from(fields[width - BEHIND] != "done");
        Ok(true)
    })?;
    let question = |(name, points): (String, BTreeMap<usize, Point>)| {
        question(&name, &points, chosen(about, &name))
    };
    Ok(asks.into_iter().map(question).collect())
}

/// All points that a study under way has run, as one question.
fn so_far(made: &[SoFar], about: &About) -> Vec<Json> {
    let mut points: BTreeMap<Vec<String>, Point> = BTreeMap::new();
    for (sets, results) in made {
        // Settings have a unit behind the number: the SI unit, as columns of the table.
        let word = |(path, _): &(String, String)| {
            let text = sets.iter().find(|(p, _)| p == path).map_or("", |(_, text)| text);
            let number = text.split(' ').next().filter(|first| first.parse::<f64>().is_ok());
            number.unwrap_or(text).to_owned()
        };
        let words: Vec<String> = about.parameters.iter().map(word).collect();
        let new = || Point::new(words.clone(), about.results.len());
        let point = points.entry(words.clone()).or_insert_with(new);
        for (all, x) in point.results.iter_mut().zip(results.iter().flatten()) {
            all.extend(*x);
        }
        point.runs += 1;
        point.lost += usize::from(results.is_none());
    }
    let mut points: Vec<Point> = points.into_values().collect();
    let number = |word: &String| word.parse::<f64>().unwrap_or(f64::NAN);
    points.sort_by(|a, b| {
        let pairs = a.words.iter().zip(&b.words);
        let order = pairs.map(|(a, b)| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
        order.fold(Ordering::Equal, Ordering::then)
    });
    let points: BTreeMap<usize, Point> = points.into_iter().enumerate().collect();
    vec![question("so far", &points, None)]
}

/// The number of the first result of which the answer to a question speaks.
fn chosen(about: &About, ask: &str) -> Option<usize> {
    let (_, words) = about.answers.iter().find(|(name, _)| name == ask)?;
    let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.find_map(|word| about.results.iter().position(|(name, _)| name == word))
}

/// A question: the parameters that it has, the result that is shown first, and its points.
fn question(name: &str, points: &BTreeMap<usize, Point>, chosen: Option<usize>) -> Json {
    let some = || points.iter().take(POINTS);
    let count = points.values().next().map_or(0, |p| p.words.len());
    let over: Vec<usize> =
        (0..count).filter(|&k| points.values().any(|p| !p.words[k].is_empty())).collect();
    let point = |(number, p): (&usize, &Point)| {
        let words: Vec<&String> = over.iter().map(|&k| &p.words[k]).collect();
        let estimates: Vec<Json> = p.results.iter().map(|all| estimate(all)).collect();
        json!({ "number": number, "runs": p.runs, "lost": p.lost, "at": words, "results": estimates })
    };
    json!({
        "name": name,
        "over": over,
        "chosen": chosen,
        "points": some().map(point).collect::<Vec<_>>(),
        "count": points.len(),
    })
}

/// Mean, and the ends of its interval; nothing where a result never happened.
fn estimate(values: &[f64]) -> Json {
    if values.is_empty() {
        return Json::Null;
    }
    let found = interval::mean(values, LEVEL);
    json!([found.value, found.low, found.high])
}
