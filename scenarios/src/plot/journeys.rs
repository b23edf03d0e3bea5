//! Items that were sent on outputs, one by one, and when each of them came out elsewhere: for
//! timelines and distributions.
//!
//! Packets and jobs are known again by what the trajectory says of them: `source/number`.
use super::{
    PlotError,
    curves::{self, Curve, Point},
    files::{COLUMNS, DeclaredPlot, ROWS, damaged},
    rows::each_row,
};
use crate::plan::{Between, Style};
use std::{
    collections::{HashMap, VecDeque},
    path::Path,
};
use superdense_kernel::time::Resolution;

/// The items that were sent on one output.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The output.
    pub label: String,
    /// When, and when it arrived, in seconds; NaN where it did not.
    pub marks: Vec<Point>,
}

/// By output: tick and text of all that was sent, in the order of time.
pub(super) type Sent = HashMap<String, Vec<(i64, String)>>;

/// Reads what was sent on the outputs of timelines and distributions.
pub(super) fn read(file: &Path, plots: &[DeclaredPlot]) -> Result<Sent, PlotError> {
    let wanted = plots.iter().filter(|p| !p.kind.is_empty()).flat_map(|p| p.y.iter().chain(&p.to));
    let texts = plots.iter().flat_map(|p| p.y.iter().zip(&p.styles));
    let texts = texts.filter(|(_, style)| *style == "text").map(|(label, _)| label);
    let ends = plots.iter().flat_map(|p| &p.axes.between).flat_map(|b| [&b.from, &b.to]);
    let mut sent: Sent =
        wanted.chain(texts).chain(ends).map(|label| (label.clone(), Vec::new())).collect();
    if sent.is_empty() || !file.is_file() {
        return Ok(sent);
    }
    let mut rows = 0;
    each_row(file, 5, |fields| {
        let Some(all) = sent.get_mut(&*fields[2]) else { return Ok(true) };
        let tick = fields[0].parse().ok().filter(|&tick: &i64| tick >= 0);
        let tick = tick.ok_or_else(|| damaged(file, &format!("'{}' is no tick", fields[0])))?;
        all.push((tick, fields[3].to_string()));
        rows += 1;
        Ok(rows < ROWS)
    })?;
    Ok(sent)
}

/// The arrival at `to` of each of `from`, in the order of time.
fn arrivals(from: &[(i64, &str)], to: &[(i64, &str)]) -> Vec<Option<i64>> {
    let mut by_text: HashMap<&str, VecDeque<i64>> = HashMap::new();
    to.iter().for_each(|&(at, text)| by_text.entry(text).or_default().push_back(at));
    let arrival = |&(at, text): &(i64, &str)| {
        let queue = by_text.get_mut(text)?;
        while queue.front().is_some_and(|arrived| *arrived < at) {
            queue.pop_front();
        }
        queue.pop_front()
    };
    from.iter().map(arrival).collect()
}

/// All that was sent on some outputs, in the order of time, with the place of the output.
fn together<'a>(sent: &'a Sent, labels: &[String]) -> Vec<(usize, (i64, &'a str))> {
    let of = |(k, label): (usize, &String)| {
        let all = sent.get(label).into_iter().flatten();
        all.map(move |(at, text)| (k, (*at, text.as_str())))
    };
    let mut all: Vec<_> = labels.iter().enumerate().flat_map(of).collect();
    all.sort_by_key(|(_, (at, _))| *at);
    all
}

/// The texts of a panel in the order in which they come first.
pub(super) fn words(sent: &Sent, plot: &DeclaredPlot) -> Vec<String> {
    let texts = plot.y.iter().zip(&plot.styles).filter(|(_, style)| *style == "text");
    let labels: Vec<String> = texts.map(|(label, _)| label.clone()).collect();
    let mut words: Vec<String> = Vec::new();
    for (_, (_, text)) in together(sent, &labels) {
        if words.len() < WORDS && !words.iter().any(|word| word == text) {
            words.push(text.to_owned());
        }
    }
    words
}

/// An output of texts as a curve over their places among `words`.
pub(super) fn texts(
    sent: &Sent,
    label: &str,
    words: &[String],
    (_, end): (f64, f64),
    resolution: Resolution,
) -> Curve {
    let all = sent.get(label).map_or(&[][..], |all| all);
    let place = |text: &String| words.iter().position(|word| word == text);
    let mut points: Vec<Point> = all
        .iter()
        .map(|(tick, text)| (resolution.seconds(*tick), place(text).map_or(f64::NAN, |k| k as f64)))
        .collect();
    if let Some(&(_, last)) = points.last() {
        points.push((end, last));
    }
    Curve::new(label, Style::Step, curves::staircase(&points)).thin(COLUMNS)
}

/// Intervals between events, in seconds; one that nothing ends goes on to the end.
pub(super) fn between(
    sent: &Sent,
    all: &[Between],
    (_, end): (f64, f64),
    resolution: Resolution,
) -> Vec<[f64; 2]> {
    let mut found = Vec::new();
    for band in all {
        let mut begun = None;
        for (place, (tick, text)) in together(sent, &[band.from.clone(), band.to.clone()]) {
            let begins = if band.is.is_empty() { place == 0 } else { text == band.is };
            let at = resolution.seconds(tick);
            match begun {
                None if begins => begun = Some(at),
                Some(from) if !begins => {
                    found.push([from, at]);
                    begun = None;
                }
                _ => {}
            }
        }
        found.extend(begun.map(|from| [from, end]));
    }
    found
}

/// Texts of a panel, at most.
const WORDS: usize = 40;
/// Rows of a timeline, at most: a picture of more is too large to draw, and to look at.
const LINES: usize = 300;

/// The rows of a timeline.
pub(super) fn rows(sent: &Sent, plot: &DeclaredPlot, resolution: Resolution) -> Vec<Row> {
    let row = |label: &String| Row { label: label.clone(), marks: Vec::new() };
    let mut rows: Vec<Row> = plot.y.iter().map(row).collect();
    let (places, from): (Vec<usize>, Vec<_>) = together(sent, &plot.y).into_iter().unzip();
    let (_, to): (Vec<usize>, Vec<_>) = together(sent, &plot.to).into_iter().unzip();
    let ends = arrivals(&from, &to);
    for ((place, (at, _)), end) in places.into_iter().zip(from).zip(ends) {
        let end = end.map_or(f64::NAN, |end| resolution.seconds(end));
        rows[place].marks.push((resolution.seconds(at), end));
    }
    if rows.len() > LINES {
        let more = rows.split_off(LINES - 1).len();
        rows.push(Row { label: format!("… and {more} more"), marks: Vec::new() });
    }
    rows
}

/// The curves of a distribution: of the times from any of `y` to each of `to`, or of the values on
/// each of `y`, which for signals are its samples.
pub(super) fn distributions(
    (sent, samples): (&Sent, &HashMap<String, Vec<Point>>),
    plot: &DeclaredPlot,
    resolution: Resolution,
) -> Vec<Curve> {
    if plot.to.is_empty() {
        let of = |(label, style): (&String, &String)| {
            if style != "event" {
                let values = samples.get(label).into_iter().flatten().map(|p| p.1);
                return distribution(label, values.collect());
            }
            let all = sent.get(label).map_or(&[][..], |all| all);
            let values: Vec<f64> = all.iter().filter_map(|(_, text)| text.parse().ok()).collect();
            let mut curve = distribution(label, values);
            if curve.points.is_empty() && !all.is_empty() {
                curve.label = format!("{label} (no numbers)");
            }
            curve
        };
        return plot.y.iter().zip(&plot.styles).map(of).collect();
    }
    let (_, from): (Vec<usize>, Vec<_>) = together(sent, &plot.y).into_iter().unzip();
    let of = |label: &String| {
        let to: Vec<_> = sent.get(label).into_iter().flatten().map(|(t, x)| (*t, &**x)).collect();
        let both = from.iter().zip(arrivals(&from, &to));
        let times = both.filter_map(|((at, _), end)| Some(resolution.seconds(end? - at)));
        distribution(label, times.collect())
    };
    plot.to.iter().map(of).collect()
}

/// The empirical distribution function: the share of values up to each.
fn distribution(label: &str, mut values: Vec<f64>) -> Curve {
    values.retain(|x| x.is_finite());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let every = (n / (4 * COLUMNS)).max(1);
    let mut points: Vec<Point> = values.first().map(|&x| (x, 0.0)).into_iter().collect();
    let mut drawn = 0;
    for (k, &x) in (1..).zip(&values) {
        // The last of equal ones has their share.
        if k == n || (values[k] > x && k - drawn >= every) {
            points.push((x, k as f64 / n as f64));
            drawn = k;
        }
    }
    Curve::new(format!("{label} ({n})"), Style::Step, curves::staircase(&points)).thin(COLUMNS)
}

/// The horizontal axis of distributions: all values, with a little room.
pub(super) fn span(curves: &[Curve]) -> (f64, f64) {
    let all = curves.iter().flat_map(|c| &c.points).map(|p| p.0);
    let (low, high) =
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    match high - low {
        spread if spread > 0.0 => (low - 0.03 * spread, high + 0.03 * spread),
        _ if low.is_finite() => {
            let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
            (low - room, low + room)
        }
        _ => (0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_known_again() {
        let from = [(1, "0/1"), (2, "0/2"), (3, "0/1"), (9, "0/3")];
        let to = [(0, "0/3"), (5, "0/1"), (6, "0/1")];
        assert_eq!(arrivals(&from, &to), [Some(5), None, Some(6), None]);
    }

    #[test]
    fn timelines_of_many_outputs_end() {
        let y = (0..40_000).map(|i| format!("source[{i}].y")).collect();
        let plot = DeclaredPlot { y, ..Default::default() };
        let rows = rows(&Sent::default(), &plot, Resolution::NANO);
        assert_eq!((rows.len(), &*rows[299].label), (300, "… and 39701 more"));
    }

    #[test]
    fn shares_of_values() {
        let curve = distribution("x", vec![3.0, 1.0, f64::NAN, 1.0, 2.0]);
        assert_eq!(curve.label, "x (4)");
        let corners = [(1.0, 0.0), (1.0, 0.5), (2.0, 0.5), (2.0, 0.75), (3.0, 0.75), (3.0, 1.0)];
        assert_eq!(curve.points, corners);
        // Many of few: each value has its step.
        let many = distribution("x", (0..20_001).map(|k| f64::from(k % 5)).collect());
        let shares: Vec<f64> = (0..5)
            .map(|x| {
                let last = many.points.iter().rfind(|p| p.0 == f64::from(x));
                last.map_or(0.0, |p| (p.1 * 5.0).round())
            })
            .collect();
        assert_eq!(shares, [1.0, 2.0, 3.0, 4.0, 5.0]);
        let many = distribution("x", (0..100_000).map(f64::from).collect());
        assert!(many.points.len() <= 4 * COLUMNS, "{}", many.points.len());
        assert!(many.points.iter().all(|(x, share)| (share * 1e5 - x).abs() < 60.0));
        assert_eq!(distribution("x", Vec::new()).points, []);
    }
}
