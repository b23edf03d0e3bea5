//! Two runs side by side: where their traces part, and by how much results, events and signals differ.
use crate::{
    output::{csv, directory::SUMMARY},
    plot::{PlotError, each_row, first_line},
    report::ReportError,
};
use serde::Serialize;
use serde_json::Value as Json;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};
use superdense_kernel::time::Resolution;

/// The differences of two runs, B less A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Whether both have one trace hash, and equal tables and results.
    pub equal: bool,
    /// Trace hashes.
    pub trace_hashes: [String; 2],
    /// The first tag at which they differ in what was sent on recorded outputs, or in an event.
    pub parts: Option<Parting>,
    /// Results that both have, in the order of A.
    pub results: Vec<Difference>,
    /// Events.
    pub events: Events,
    /// Recorded signals that differ, by their largest deviation.
    pub signals: Vec<Deviation>,
}

/// Where two runs part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parting {
    /// Seconds, exact.
    pub time: String,
    /// Micro-step.
    pub micro: u64,
    /// The output or unit.
    pub place: String,
}

/// A number of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// In A.
    pub a: Option<f64>,
    /// In B.
    pub b: Option<f64>,
    /// The sum of both error bars, or half intervals, if any was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bars: Option<f64>,
}

/// Events of both runs, matched by unit and name in the order of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Events {
    /// At the same time in both.
    pub matched: u64,
    /// Within the window, but not at the same time.
    pub shifted: u64,
    /// In A only.
    pub missed: u64,
    /// In B only.
    pub extra: u64,
    /// The largest shift in seconds.
    pub largest_shift: f64,
}

/// The largest deviation of a recorded signal at the samples that both runs have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deviation {
    /// The output.
    pub signal: String,
    /// B less A.
    pub deviation: f64,
    /// Seconds.
    pub time: f64,
}

/// Compares the runs in two directories; events within `window` seconds of each other are shifted ones.
///
/// # Errors
/// When a directory holds no run that has ended, or a file is damaged.
pub fn runs(a: &Path, b: &Path, window: f64) -> Result<Comparison, ReportError> {
    let summaries = [summary(a)?, summary(b)?];
    let hash = |k: usize| summaries[k]["trace_hash"].as_str().unwrap_or_default().to_owned();
    let trace_hashes = [hash(0), hash(1)];
    let results = results(&summaries);
    let events = events(a, b, window)?;
    let signals = signals(a, b)?;
    let same = trace_hashes[0] == trace_hashes[1];
    let parts = parting(a, b, same)?;
    let equal = same
        && parts.is_none()
        && signals.is_empty()
        && (events.shifted, events.missed, events.extra) == (0, 0, 0)
        && results.iter().all(|r| r.a == r.b);
    Ok(Comparison { equal, trace_hashes, parts, results, events, signals })
}

fn summary(dir: &Path) -> Result<Json, ReportError> {
    let no_run = |why: String| {
        let dir = dir.display();
        ReportError::NoRun(format!(
            "{dir} holds no run that has ended ({why}); run its scenario first"
        ))
    };
    let text = fs::read_to_string(dir.join(SUMMARY)).map_err(|e| no_run(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| no_run(e.to_string()))
}

fn results([a, b]: &[Json; 2]) -> Vec<Difference> {
    let number = |found: &Json| found.as_f64().or_else(|| found["value"].as_f64());
    let all = a["results"].as_object().into_iter().flatten();
    let both = all.filter_map(|(name, of_a)| {
        let of_b = b["results"].get(name)?;
        let bars = [of_a, of_b].into_iter().filter_map(bar).reduce(|x, y| x + y);
        Some(Difference { name: name.clone(), a: number(of_a), b: number(of_b), bars })
    });
    both.collect()
}

/// The error bar of a result, or half of its interval.
fn bar(found: &Json) -> Option<f64> {
    let part = |key: &str| found[key].as_f64();
    part("bar").or_else(|| Some((part("high")? - part("low")?) / 2.0))
}

/// Rows of a table, its width checked.
fn table(file: &Path) -> Result<Vec<Vec<String>>, PlotError> {
    let mut rows = Vec::new();
    if !file.is_file() {
        return Ok(rows);
    }
    let width = csv::split(&first_line(file)?).len();
    each_row(file, width, |fields| {
        rows.push(fields.iter().map(|f| f.to_string()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

fn events(a: &Path, b: &Path, window: f64) -> Result<Events, PlotError> {
    type Times = BTreeMap<(String, String), Vec<f64>>;
    let times = |dir: &Path| -> Result<Times, PlotError> {
        let mut all = Times::new();
        for row in table(&dir.join("events.csv"))? {
            let [time, _, unit, event, _] = &row[..] else { continue };
            let time = time.parse().unwrap_or(f64::NAN);
            all.entry((unit.clone(), event.clone())).or_default().push(time);
        }
        Ok(all)
    };
    let (of_a, mut of_b) = (times(a)?, times(b)?);
    let mut found = Events::default();
    for (key, mut a) in of_a {
        let mut b = of_b.remove(&key).unwrap_or_default();
        found.matched += drop_equal(&mut a, &mut b);
        let (mut i, mut k) = (0, 0);
        while i < a.len() && k < b.len() {
            let shift = b[k] - a[i];
            if shift.abs() > window {
                let later = shift > 0.0;
                *(if later { &mut found.missed } else { &mut found.extra }) += 1;
                (i, k) = if later { (i + 1, k) } else { (i, k + 1) };
                continue;
            }
            found.shifted += 1;
            found.largest_shift = found.largest_shift.max(shift.abs());
            (i, k) = (i + 1, k + 1);
        }
        found.missed += (a.len() - i) as u64;
        found.extra += (b.len() - k) as u64;
    }
    found.extra += of_b.values().map(|times| times.len() as u64).sum::<u64>();
    Ok(found)
}

/// Takes the times that are in both out of two ascending lists; gives how many there are.
fn drop_equal(a: &mut Vec<f64>, b: &mut Vec<f64>) -> u64 {
    let (mut only_a, mut only_b, mut both) = (Vec::new(), Vec::new(), 0);
    let (mut i, mut k) = (0, 0);
    while i < a.len() && k < b.len() {
        let order = a[i].total_cmp(&b[k]);
        match order {
            Ordering::Less => only_a.push(a[i]),
            Ordering::Greater => only_b.push(b[k]),
            Ordering::Equal => both += 1,
        }
        (i, k) = (i + usize::from(order.is_le()), k + usize::from(order.is_ge()));
    }
    only_a.extend(&a[i..]);
    only_b.extend(&b[k..]);
    (*a, *b) = (only_a, only_b);
    both
}

fn signals(a: &Path, b: &Path) -> Result<Vec<Deviation>, PlotError> {
    let file = "samples.csv";
    let (heads, of_b) = ([a, b].map(|dir| first_line(&dir.join(file))), table(&b.join(file))?);
    let [head_a, head_b] = heads;
    let (head_a, head_b) = (head_a?, head_b?);
    let place: HashMap<_, _> = csv::split(&head_b).into_iter().zip(0..).collect();
    let rows: HashMap<&str, &Vec<String>> = of_b.iter().map(|row| (&*row[0], row)).collect();
    let labels = csv::split(&head_a);
    let mut worst: Vec<Option<Deviation>> = vec![None; labels.len()];
    for row in table(&a.join(file))? {
        let Some(other) = rows.get(&*row[0]) else { continue };
        for (k, label) in labels.iter().enumerate().skip(1) {
            let Some(&at) = place.get(label) else { continue };
            let (Ok(x), Ok(y)) = (row[k].parse::<f64>(), other[at].parse::<f64>()) else {
                continue;
            };
            let deviation = y - x;
            if deviation.abs() > worst[k].as_ref().map_or(0.0, |d| d.deviation.abs()) {
                let time = row[0].parse().unwrap_or(f64::NAN);
                worst[k] = Some(Deviation { signal: label.to_string(), deviation, time });
            }
        }
    }
    Ok(worst.into_iter().flatten().collect())
}

/// Where the runs part: in the first row of their tables that differs, or in a sample before it. A table that ends parts at
/// its next row. Trajectories with one hash differ by what was recorded only.
fn parting(a: &Path, b: &Path, same: bool) -> Result<Option<Parting>, PlotError> {
    let mut found: Vec<(f64, u64, Parting)> = Vec::new();
    let names = ["events.csv", "trajectory.csv"].into_iter().take(if same { 1 } else { 2 });
    for name in names {
        let (of_a, of_b) = (timed(a, name)?, timed(b, name)?);
        let first = (0..of_a.len().max(of_b.len())).find(|&k| of_a.get(k) != of_b.get(k));
        let Some(k) = first else { continue };
        let differing = [of_a.get(k), of_b.get(k)].into_iter().flatten();
        found.extend(differing.map(|row| part(row[0].clone(), &row[1], row[2].clone())));
    }
    // Where the tables part later, samples before that may differ by rounding.
    let rounding = if found.is_empty() { 0.0 } else { ROUNDING };
    found.extend(sampled_parting(a, b, rounding)?);
    found.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
    Ok(found.into_iter().next().map(|(_, _, parting)| parting))
}

/// A parting, with its tag as numbers.
fn part(time: String, micro: &str, place: String) -> (f64, u64, Parting) {
    let (seconds, micro) = (time.parse().unwrap_or(f64::NAN), micro.parse().unwrap_or(0));
    (seconds, micro, Parting { time, micro, place })
}

/// Rows of a table that begin with times in seconds, also where it has ticks: those of two runs may have another length.
fn timed(dir: &Path, name: &str) -> Result<Vec<Vec<String>>, PlotError> {
    let mut rows = table(&dir.join(name))?;
    if name == "trajectory.csv" {
        let exponent = crate::plot::declared(dir)?.resolution;
        let resolution = Resolution::from_exponent(exponent).unwrap_or_default();
        for row in &mut rows {
            row[0] = resolution.format(row[0].parse().unwrap_or(0));
        }
    }
    Ok(rows)
}

/// The first sample in which the runs differ by more than this part of the largest value of its column.
fn sampled_parting(
    a: &Path,
    b: &Path,
    rounding: f64,
) -> Result<Option<(f64, u64, Parting)>, PlotError> {
    let file = "samples.csv";
    let (head_a, head_b) = (first_line(&a.join(file))?, first_line(&b.join(file))?);
    let place: HashMap<_, _> = csv::split(&head_b).into_iter().zip(0..).collect();
    let columns: Vec<(usize, usize, String)> = (0..)
        .zip(csv::split(&head_a))
        .skip(1)
        .filter_map(|(k, label)| Some((k, *place.get(&label)?, label.to_string())))
        .collect();
    let (of_a, of_b) = (table(&a.join(file))?, table(&b.join(file))?);
    let number = |text: &String| text.parse::<f64>().ok();
    let largest = |k: usize| {
        let sizes = of_a.iter().filter_map(|row| number(&row[k])).map(f64::abs);
        sizes.fold(0.0, f64::max)
    };
    let allowed: Vec<f64> = columns.iter().map(|c| rounding * largest(c.0)).collect();
    for (row_a, row_b) in of_a.iter().zip(&of_b) {
        let differs = |(c, allowed): &(&(usize, usize, String), &f64)| {
            let (x, y) = (&row_a[c.0], &row_b[c.1]);
            let off = number(x).zip(number(y)).map(|(x, y)| (y - x).abs());
            x != y && off.is_none_or(|off| off > **allowed)
        };
        let found = columns.iter().zip(&allowed).find(differs);
        if let Some(((_, _, label), _)) = found.filter(|_| row_a[0] == row_b[0]) {
            let place = format!("the sample of {label}");
            // An event or a message at the same time tells more.
            let (time, _, parting) = part(row_a[0].clone(), "0", place);
            return Ok(Some((time, u64::MAX, parting)));
        }
    }
    Ok(None)
}

/// The part of the largest value of a signal by which two runs may differ while they go on in the same way.
const ROUNDING: f64 = 1e-9;
