//! The data of a figure: the files of a run.
use super::{
    PlotError,
    curves::{self, Curve, Jump, Point},
    journeys::{self, Row},
    rows::{each_row, first_line},
    scales,
};
use crate::{
    output::OutputError,
    output::csv,
    plan::{Axes, Figure as Kind, Plan, Style},
    result::Named,
};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, path::Path};
use superdense_kernel::time::Resolution;
use superdense_models::kinds::{PortKind, ValueType};

/// File of the declared plots in the output directory.
pub const NAME: &str = "plots.json";
/// Curves of the panel that is drawn when a scenario declares none.
const DEFAULT_CURVES: usize = 12;
/// Columns to which long curves are thinned.
pub(super) const COLUMNS: usize = 2000;
/// Rows of `trajectory.csv` that are read for jumps; beyond them samples alone draw the curve.
pub(super) const ROWS: usize = 5_000_000;
/// Samples of a run below which continuous curves also go through points of their segments, so many
/// in all.
const SPARSE: usize = 200;

/// The declared plots, as a run stores them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Declared {
    /// Heading of the figure.
    pub title: String,
    /// Exponent `k` of 10^k ticks per second.
    pub resolution: u8,
    /// Panels from top to bottom.
    pub plots: Vec<DeclaredPlot>,
    /// Names of results with their units of measure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(String, Option<String>)>,
}

/// One panel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DeclaredPlot {
    /// Heading.
    pub title: String,
    /// `timeline`, `distribution`, or empty for curves over time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Columns of `samples.csv`.
    pub y: Vec<String>,
    /// Where what left on `y` arrives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Per column: `line`, `step` or `points`; `signal`: as its pieces are, sloped or not; `event` in
    /// other kinds of panels.
    pub styles: Vec<String>,
    /// Label of the time axis.
    pub x_label: String,
    /// Label of the value axis.
    pub y_label: String,
    /// Whether event markers are drawn.
    pub events: bool,
    /// Keys of the axes that are not at their defaults.
    #[serde(flatten)]
    pub axes: Axes,
}

impl Declared {
    /// The plots of a scenario; one of the first records, if it declares none.
    pub fn of(plan: &Plan) -> Self {
        let style = |label: &String, declared: Option<Style>, kind: Kind| {
            let record = plan.record.iter().find(|r| r.label == *label);
            if kind != Kind::Curves && record.is_some_and(|r| r.kind == PortKind::Event) {
                return "event".to_owned();
            }
            let natural = match record {
                Some(r) if r.continuous => "line",
                Some(r) if r.kind == PortKind::Signal => "signal",
                Some(r) if r.ty == ValueType::Text => "text",
                _ => "step",
            };
            declared.map_or(natural, name).to_owned()
        };
        let mut plots: Vec<DeclaredPlot> = plan
            .plots
            .iter()
            .map(|p| DeclaredPlot {
                title: p.title.clone(),
                kind: p.kind.name().to_owned(),
                styles: p.y.iter().map(|label| style(label, p.style, p.kind)).collect(),
                y: p.y.clone(),
                to: p.to.clone(),
                x_label: p.x_label.clone(),
                y_label: p.y_label.clone(),
                events: p.events,
                axes: p.axes.clone(),
            })
            .collect();
        if plots.is_empty() && !plan.record.is_empty() {
            let y: Vec<_> =
                plan.record.iter().take(DEFAULT_CURVES).map(|r| r.label.clone()).collect();
            plots.push(DeclaredPlot {
                styles: y.iter().map(|label| style(label, None, Kind::Curves)).collect(),
                y,
                x_label: "time / s".into(),
                events: true,
                ..DeclaredPlot::default()
            });
        }
        let named = |named: &Named| (named.name.clone(), named.unit.clone());
        let results = plan.results.named.iter().map(named).collect();
        Self { title: plan.title.clone(), resolution: plan.resolution.exponent(), plots, results }
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
#[derive(Debug, Default)]
pub struct Panel {
    /// The declaration of the plot.
    pub declared: DeclaredPlot,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// Instead of curves: what a timeline shows.
    pub rows: Vec<Row>,
    /// First and last value on the horizontal axis, if that is not time.
    pub span: Option<(f64, f64)>,
}

/// A figure with its data.
#[derive(Debug)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// The caption below the panels.
    pub caption: String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Events of the run.
    pub markers: Vec<Marker>,
    /// First and last time in seconds.
    pub span: (f64, f64),
}

/// The plots that a run declared.
pub(crate) fn declared(dir: &Path) -> Result<Declared, PlotError> {
    let file = dir.join(NAME);
    let text = std::fs::read_to_string(&file).map_err(|e| io(&file, e))?;
    serde_json::from_str(&text).map_err(|e| damaged(&file, &e.to_string()))
}

/// Reads the data of plots, curves thinned to so many columns.
pub(super) fn read(dir: &Path, declared: Declared, columns: usize) -> Result<Figure, PlotError> {
    let mut samples = read_samples(&dir.join("samples.csv"), &declared)?;
    if samples.span.0 >= samples.span.1 {
        samples.span.1 = samples.span.0 + 1.0;
    }
    let trajectory = dir.join("trajectory.csv");
    let tracks = read_trajectory(&trajectory, &declared, &samples)?;
    let sent = journeys::read(&trajectory, &declared.plots)?;
    let resolution = Resolution::from_exponent(declared.resolution).unwrap_or_default();
    let mut panels = Vec::new();
    for mut plot in declared.plots {
        let (mut curves, mut rows, mut span) = (Vec::new(), Vec::new(), None);
        match plot.kind.as_str() {
            "timeline" => rows = journeys::rows(&sent, &plot, resolution),
            "distribution" => {
                curves = journeys::distributions((&sent, &samples.columns), &plot, resolution);
                span = Some(journeys::span(&curves));
            }
            _ => {
                let words = journeys::words(&sent, &plot);
                let all = plot.y.iter().zip(&plot.styles);
                let all = all.filter_map(|(label, style)| match style.as_str() {
                    "text" => Some(journeys::texts(&sent, label, &words, samples.span, resolution)),
                    _ => {
                        let (points, track) = (samples.columns.get(label)?, tracks.get(label));
                        Some(curve((label, style), points, track, columns))
                    }
                });
                curves = all.collect();
                if plot.axes.values.is_empty() {
                    plot.axes.values = words;
                }
                let between =
                    journeys::between(&sent, &plot.axes.between, samples.span, resolution);
                plot.axes.bands.extend(between);
                if let Some(x) = plot.axes.x.as_ref().and_then(|x| samples.columns.get(x)) {
                    curves = scales::phase(x, &plot, &samples.columns);
                    span = Some(journeys::span(&curves));
                }
                scales::label(&mut curves, &plot.axes);
            }
        }
        panels.push(Panel { curves, declared: plot, rows, span });
    }
    let markers = read_events(&dir.join("events.csv"))?;
    let (title, caption) = (declared.title, String::new());
    Ok(Figure { title, caption, panels, markers, span: samples.span })
}

/// A curve over time.
fn curve(
    (label, style): (&str, &str),
    samples: &[Point],
    track: Option<&Track>,
    columns: usize,
) -> Curve {
    let sloped = track.is_some_and(|t| !t.constant && !t.cut);
    let (style, points) = match style {
        "signal" if !sloped => return curve((label, "step"), samples, track, columns),
        "points" => (Style::Points, samples.to_vec()),
        "step" => {
            let steps = track.filter(|t| t.constant && !t.cut);
            let points = steps.map_or_else(|| samples.to_vec(), |t| t.held(samples));
            (Style::Step, curves::staircase(&points))
        }
        _ => {
            let (jumps, between) = track.map_or((&[][..], &[][..]), |t| (&t.jumps, &t.between));
            let points = curves::merge(samples, between);
            (Style::Line, curves::with_jumps(points, jumps))
        }
    };
    Curve::new(label, style, points).thin(columns)
}

struct Samples {
    columns: HashMap<String, Vec<Point>>,
    rows: usize,
    span: (f64, f64),
}

fn read_samples(file: &Path, declared: &Declared) -> Result<Samples, PlotError> {
    let header = first_line(file)?;
    // Continuous columns hold numbers, others may hold texts.
    let style = |label: &str| {
        let all = declared.plots.iter().flat_map(|p| p.y.iter().zip(&p.styles));
        let mut styles = all.filter(|(y, _)| *y == label).map(|(_, style)| style);
        let found = styles.next().map(|style| style == "line");
        found.or_else(|| {
            declared.plots.iter().find_map(|p| (p.axes.x.as_deref()? == label).then_some(false))
        })
    };
    let labels = csv::split(&header);
    if labels.first().is_none_or(|label| label != "time") {
        return Err(damaged(file, "the first line does not begin with `time`"));
    }
    let columns = labels.iter().enumerate().skip(1);
    let mut columns: Vec<(usize, bool, Vec<Point>)> =
        columns.filter_map(|(i, label)| Some((i, style(label)?, Vec::new()))).collect();
    let (mut span, mut rows) = ((f64::INFINITY, f64::NEG_INFINITY), 0);
    each_row(file, labels.len(), |fields| {
        let time = number(file, &fields[0])?;
        if time < span.1 {
            return Err(damaged(file, &format!("the time goes back to {time} s")));
        }
        span = (span.0.min(time), time);
        rows += 1;
        for (i, numeric, points) in &mut columns {
            let (field, name) = (&fields[*i], &labels[*i]);
            let value = field.parse();
            if *numeric && value.is_err() && !field.is_empty() {
                return Err(damaged(file, &format!("'{field}' in column {name} is no number")));
            }
            points.push((time, value.unwrap_or(f64::NAN)));
        }
        Ok(true)
    })?;
    if !span.0.is_finite() {
        span = (0.0, 1.0);
    }
    let columns = columns.into_iter().map(|(i, _, points)| (labels[i].to_string(), points));
    Ok(Samples { columns: columns.collect(), rows, span })
}

/// Facts about the curve of a signal, from its segments.
#[derive(Debug, Default)]
struct Track {
    jumps: Vec<Jump>,
    values: Vec<Point>,
    /// Points within segments, where samples are few.
    between: Vec<Point>,
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

    /// Points of a curved segment, so many seconds apart.
    fn bend(&mut self, last: &Last, from: f64, length: f64, apart: Option<f64>) {
        let curved = last.derivatives.iter().skip(2).any(|d| *d != 0.0);
        let Some(apart) = apart.filter(|_| curved) else { return };
        let steps = (length / apart).ceil() as usize;
        for k in 1..steps.min(2 * SPARSE) {
            let e = length * k as f64 / steps as f64;
            self.between.push((from + e, taylor(&last.derivatives, e)));
        }
    }
}

/// The last segment of a signal.
#[derive(Default)]
struct Last {
    tick: Option<i64>,
    derivatives: Vec<f64>,
}

fn read_trajectory(
    file: &Path,
    declared: &Declared,
    samples: &Samples,
) -> Result<HashMap<String, Track>, PlotError> {
    let mut tracks: HashMap<String, (Track, Last)> = HashMap::new();
    if !file.is_file() {
        // Written in another format, or not at all.
        return Ok(HashMap::new());
    }
    for label in declared.plots.iter().filter(|p| p.kind.is_empty()).flat_map(|p| &p.y) {
        let track = Track { constant: true, ..Track::default() };
        tracks.insert(label.clone(), (track, Last::default()));
    }
    let resolution = Resolution::from_exponent(declared.resolution).unwrap_or_default();
    let (begin, end) = samples.span;
    let apart = (samples.rows < SPARSE).then_some((end - begin) / (2 * SPARSE) as f64);
    let mut rows = 0;
    each_row(file, 5, |fields| {
        let [tick, _, signal, value, derivatives] = fields else { return Ok(true) };
        let Some((track, last)) = tracks.get_mut(&**signal) else { return Ok(true) };
        rows += 1;
        if rows > ROWS {
            track.cut = true;
            return Ok(false);
        }
        let (Ok(tick), Ok(value)) = (tick.parse::<i64>(), value.parse::<f64>()) else {
            return Ok(true);
        };
        if tick < last.tick.unwrap_or(0) {
            return Err(damaged(file, &format!("the tick {tick} lies before the one before")));
        }
        let at = resolution.seconds(tick);
        if last.tick == Some(tick) {
            if let Some(jump) = track.jumps.last_mut().filter(|j| j.at == at) {
                jump.right = value;
            }
            track.values.pop();
        } else if let Some(before) = last.tick {
            let length = resolution.seconds(tick - before);
            let left = taylor(&last.derivatives, length);
            track.jumps.push(Jump { at, left, right: value });
            track.bend(last, resolution.seconds(before), length, apart);
        }
        track.values.push((at, value));
        last.derivatives.clear();
        last.derivatives.push(value);
        let rest = derivatives.split_ascii_whitespace();
        last.derivatives.extend(rest.map(|d| d.parse().unwrap_or(0.0)));
        track.constant &= last.derivatives[1..].iter().all(|d| *d == 0.0);
        last.tick = Some(tick);
        Ok(true)
    })?;
    for (track, last) in tracks.values_mut() {
        track.cut |= rows > ROWS;
        if let Some(tick) = last.tick.filter(|_| !track.cut) {
            let at = resolution.seconds(tick);
            track.bend(last, at, end - at, apart);
        }
    }
    let there = tracks.into_iter().filter(|(_, (_, last))| last.tick.is_some());
    Ok(there.map(|(label, (track, _))| (label, track)).collect())
}

/// The value `e` after a point with these derivatives.
fn taylor(derivatives: &[f64], e: f64) -> f64 {
    let terms = derivatives.iter().enumerate().rev();
    terms.fold(0.0, |sum, (k, d)| sum * e / (k + 1) as f64 + d)
}

fn read_events(file: &Path) -> Result<Vec<Marker>, PlotError> {
    let mut markers = Vec::new();
    each_row(file, 5, |fields| {
        let (time, kind) = (&fields[0], &fields[4]);
        if let Some(kind) = ["private", "shared", "time"].iter().position(|k| k == kind) {
            markers.push(Marker { at: number(file, time)?, kind });
        }
        Ok(true)
    })?;
    Ok(markers)
}

pub(super) fn number(file: &Path, text: &str) -> Result<f64, PlotError> {
    text.parse().map_err(|_| damaged(file, &format!("'{text}' in column time is no number")))
}

pub(super) fn io(file: &Path, source: std::io::Error) -> PlotError {
    OutputError::at(file)(source).into()
}

pub(super) fn damaged(file: &Path, why: &str) -> PlotError {
    PlotError::Format { file: file.display().to_string(), why: why.to_owned() }
}
