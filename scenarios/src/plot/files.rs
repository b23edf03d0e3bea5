//! What a figure is drawn from: the files of a run.
use super::{
    PlotError,
    curves::{self, Curve, Jump, Point},
};
use crate::{
    output::csv,
    plan::{Plan, Style},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};
use superdense_kernel::time::Resolution;

/// File of the declared plots in the output directory.
pub const NAME: &str = "plots.json";
/// Curves of the panel that is drawn when a scenario declares none.
const DEFAULT_CURVES: usize = 12;
/// Columns to which long curves are thinned.
pub(super) const COLUMNS: usize = 2000;
/// Rows of `trajectory.csv` that are read for jumps; beyond them samples alone draw the curve.
const ROWS: usize = 5_000_000;

/// The declared plots, as a run stores them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Declared {
    /// Heading of the figure.
    pub title: String,
    /// Exponent `k` of 10^k ticks per second.
    pub resolution: u8,
    /// Panels from top to bottom.
    pub plots: Vec<DeclaredPlot>,
}

/// One panel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeclaredPlot {
    /// Heading.
    pub title: String,
    /// Columns of `samples.csv`.
    pub y: Vec<String>,
    /// `line`, `step` or `points`, per column.
    pub styles: Vec<String>,
    /// Label of the time axis.
    pub x_label: String,
    /// Label of the value axis.
    pub y_label: String,
    /// Whether event markers are drawn.
    pub events: bool,
}

impl Declared {
    /// The plots of a scenario; one of the first records, if it declares none.
    pub fn of(plan: &Plan) -> Self {
        let style = |label: &String, declared: Option<Style>| {
            let record = plan.record.iter().find(|r| r.label == *label);
            let natural =
                if record.is_some_and(|r| r.continuous) { Style::Line } else { Style::Step };
            name(declared.unwrap_or(natural)).to_owned()
        };
        let mut plots: Vec<DeclaredPlot> = plan
            .plots
            .iter()
            .map(|p| DeclaredPlot {
                title: p.title.clone(),
                styles: p.y.iter().map(|label| style(label, p.style)).collect(),
                y: p.y.clone(),
                x_label: p.x_label.clone(),
                y_label: p.y_label.clone(),
                events: p.events,
            })
            .collect();
        if plots.is_empty() && !plan.record.is_empty() {
            let y: Vec<_> =
                plan.record.iter().take(DEFAULT_CURVES).map(|r| r.label.clone()).collect();
            plots.push(DeclaredPlot {
                title: String::new(),
                styles: y.iter().map(|label| style(label, None)).collect(),
                y,
                x_label: "time / s".into(),
                y_label: String::new(),
                events: true,
            });
        }
        Self { title: plan.title.clone(), resolution: plan.resolution.exponent(), plots }
    }
}

fn name(style: Style) -> &'static str {
    match style {
        Style::Line => "line",
        Style::Step => "step",
        Style::Points => "points",
    }
}

/// An event marker.
#[derive(Debug, Clone)]
pub struct Marker {
    /// Seconds.
    pub at: f64,
    /// 0 private, 1 shared, 2 time.
    pub kind: usize,
}

/// One panel with its data.
#[derive(Debug)]
pub struct Panel {
    /// What was declared.
    pub declared: DeclaredPlot,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// A figure with its data.
#[derive(Debug)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// What is to be seen, below the panels.
    pub caption: String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Events of the run.
    pub markers: Vec<Marker>,
    /// First and last time in seconds.
    pub span: (f64, f64),
}

/// Reads the files of a run.
pub fn read(dir: &Path) -> Result<Figure, PlotError> {
    let file = dir.join(NAME);
    let text = std::fs::read_to_string(&file).map_err(|e| io(&file, e))?;
    let declared: Declared =
        serde_json::from_str(&text).map_err(|e| damaged(&file, &e.to_string()))?;
    let mut samples = read_samples(&dir.join("samples.csv"), &declared)?;
    let tracks = read_trajectory(&dir.join("trajectory.csv"), &declared)?;
    let mut panels = Vec::new();
    for plot in declared.plots {
        let curves = plot.y.iter().zip(&plot.styles).filter_map(|(label, style)| {
            let samples = samples.columns.get(label)?;
            let track = tracks.get(label);
            let (style, points) = match style.as_str() {
                "points" => (Style::Points, samples.clone()),
                "step" => {
                    let steps = track.filter(|t| t.constant && !t.cut);
                    let points = steps.map_or_else(|| samples.clone(), |t| t.held(samples));
                    (Style::Step, curves::staircase(&points))
                }
                _ => {
                    let jumps = track.map_or(&[][..], |t| &t.jumps);
                    (Style::Line, curves::with_jumps(samples.clone(), jumps))
                }
            };
            Some(Curve { label: label.clone(), style, points: curves::thin(points, COLUMNS) })
        });
        panels.push(Panel { curves: curves.collect(), declared: plot });
    }
    if samples.span.0 >= samples.span.1 {
        samples.span.1 = samples.span.0 + 1.0;
    }
    let markers = read_events(&dir.join("events.csv"))?;
    let (title, caption) = (declared.title, String::new());
    Ok(Figure { title, caption, panels, markers, span: samples.span })
}

struct Samples {
    columns: HashMap<String, Vec<Point>>,
    span: (f64, f64),
}

fn read_samples(file: &Path, declared: &Declared) -> Result<Samples, PlotError> {
    let mut lines = lines(file)?;
    let header = lines.next().transpose().map_err(|e| io(file, e))?.unwrap_or_default();
    let wanted = |label: &str| declared.plots.iter().any(|p| p.y.iter().any(|y| y == label));
    let labels = csv::split(&header);
    let mut columns: Vec<(usize, Vec<Point>)> = labels
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, label)| wanted(label))
        .map(|(i, _)| (i, Vec::new()))
        .collect();
    let mut span = (f64::INFINITY, f64::NEG_INFINITY);
    for line in lines {
        let line = line.map_err(|e| io(file, e))?;
        let fields = csv::split(&line);
        if fields.len() != labels.len() {
            continue; // the torn last line of a killed run
        }
        let time = number(file, &fields[0])?;
        span = (span.0.min(time), span.1.max(time));
        for (i, points) in &mut columns {
            points.push((time, fields[*i].parse().unwrap_or(f64::NAN)));
        }
    }
    if !span.0.is_finite() {
        span = (0.0, 1.0);
    }
    let columns = columns.into_iter().map(|(i, points)| (labels[i].to_string(), points));
    Ok(Samples { columns: columns.collect(), span })
}

/// What the segments of one signal say about its curve.
#[derive(Debug, Default)]
struct Track {
    jumps: Vec<Jump>,
    values: Vec<Point>,
    constant: bool,
    cut: bool,
}

impl Track {
    /// The points of a piecewise constant signal, and the samples: some units tell what they count
    /// only now and then. At an instant the sample is the last word.
    fn held(&self, samples: &[Point]) -> Vec<Point> {
        let mut points = Vec::with_capacity(self.values.len() + samples.len());
        let mut told = self.values.iter().peekable();
        for sample in samples {
            points.extend(std::iter::from_fn(|| told.next_if(|value| value.0 <= sample.0)));
            points.push(*sample);
        }
        points.extend(told);
        points
    }
}

fn read_trajectory(file: &Path, declared: &Declared) -> Result<HashMap<String, Track>, PlotError> {
    let mut tracks: HashMap<String, (Track, i64, Vec<f64>)> = HashMap::new();
    if !file.is_file() {
        // Written in another format, or not at all.
        return Ok(HashMap::new());
    }
    for label in declared.plots.iter().flat_map(|p| &p.y) {
        let track = Track { constant: true, ..Track::default() };
        tracks.insert(label.clone(), (track, i64::MIN, Vec::new()));
    }
    let resolution = Resolution::from_exponent(declared.resolution).unwrap_or_default();
    let mut rows = 0;
    for line in lines(file)?.skip(1) {
        let line = line.map_err(|e| io(file, e))?;
        let fields = csv::split(&line);
        let [tick, _, signal, value, derivatives] = &fields[..] else { continue };
        let Some((track, last, derivative_values)) = tracks.get_mut(&**signal) else { continue };
        rows += 1;
        if rows > ROWS {
            track.cut = true;
            break;
        }
        let (Ok(tick), Ok(value)) = (tick.parse::<i64>(), value.parse::<f64>()) else { continue };
        let at = resolution.seconds(tick);
        if *last == tick {
            if let Some(jump) = track.jumps.last_mut().filter(|j| j.at == at) {
                jump.right = value;
            }
            track.values.pop();
        } else if *last != i64::MIN {
            let left = taylor(derivative_values, resolution.seconds(tick - *last));
            track.jumps.push(Jump { at, left, right: value });
        }
        track.values.push((at, value));
        derivative_values.clear();
        derivative_values.push(value);
        let rest = derivatives.split_ascii_whitespace();
        derivative_values.extend(rest.map(|d| d.parse().unwrap_or(0.0)));
        track.constant &= derivative_values[1..].iter().all(|d| *d == 0.0);
        *last = tick;
    }
    if rows > ROWS {
        tracks.values_mut().for_each(|t| t.0.cut = true);
    }
    Ok(tracks.into_iter().filter(|t| t.1.1 != i64::MIN).map(|(l, t)| (l, t.0)).collect())
}

/// The value `e` after a point with these derivatives.
fn taylor(derivatives: &[f64], e: f64) -> f64 {
    let terms = derivatives.iter().enumerate().rev();
    terms.fold(0.0, |sum, (k, d)| sum * e / (k + 1) as f64 + d)
}

fn read_events(file: &Path) -> Result<Vec<Marker>, PlotError> {
    let mut markers = Vec::new();
    for line in lines(file)?.skip(1) {
        let line = line.map_err(|e| io(file, e))?;
        let fields = csv::split(&line);
        let [time, _, _, _, kind] = &fields[..] else { continue };
        let Some(kind) = ["private", "shared", "time"].iter().position(|k| k == kind) else {
            continue;
        };
        markers.push(Marker { at: number(file, time)?, kind });
    }
    Ok(markers)
}

fn lines(file: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>, PlotError> {
    Ok(BufReader::new(File::open(file).map_err(|e| io(file, e))?).lines())
}

fn number(file: &Path, text: &str) -> Result<f64, PlotError> {
    text.parse().map_err(|_| damaged(file, &format!("'{text}' is no number")))
}

fn io(file: &Path, source: std::io::Error) -> PlotError {
    PlotError::Io { file: file.display().to_string(), source }
}

fn damaged(file: &Path, why: &str) -> PlotError {
    PlotError::Format { file: file.display().to_string(), why: why.to_owned() }
}
