//! Curves as they are drawn: samples with the jumps between them, thinned to what a picture shows.
use crate::plan::Style;

/// A point; `y` may be NaN, where there is no value.
pub type Point = (f64, f64);

/// A curve of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Label in the legend.
    pub label: String,
    /// How it is drawn.
    pub style: Style,
    /// Points in the order of time.
    pub points: Vec<Point>,
    /// Whether points were left out.
    pub thinned: bool,
}

impl Curve {
    /// A curve of all these points.
    pub fn new(label: impl Into<String>, style: Style, points: Vec<Point>) -> Self {
        Self { label: label.into(), style, points, thinned: false }
    }

    /// First, least, largest and last point of each of so many columns of the picture.
    pub(super) fn thin(self, columns: usize) -> Self {
        let whole = self.points.len();
        let points = thin(self.points, columns);
        Self { thinned: points.len() < whole, points, ..self }
    }
}

/// A discontinuity of a signal, known from its segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Jump {
    /// Seconds.
    pub at: f64,
    /// Left limit.
    pub left: f64,
    /// Right limit.
    pub right: f64,
}

/// Puts jumps between samples, so that they are drawn upright and not along the next sample; and
/// where there is no jump, the point at which a new segment starts, which may be a corner.
pub(super) fn with_jumps(samples: Vec<Point>, jumps: &[Jump]) -> Vec<Point> {
    let (low, high) = range(&samples);
    let visible = (high - low) * 1e-3;
    let mut jumps = jumps.iter().peekable();
    let mut points = Vec::with_capacity(samples.len() + 16);
    for (t, y) in samples {
        // A sample at the very instant of a jump is its right limit and comes after it.
        while let Some(j) = jumps.next_if(|j| j.at <= t) {
            if (j.right - j.left).abs() > visible {
                points.push((j.at, j.left));
            }
            points.push((j.at, j.right));
        }
        points.push((t, y));
    }
    points
}

/// Samples with points between them, in the order of time.
pub(super) fn merge(samples: &[Point], between: &[Point]) -> Vec<Point> {
    let mut between = between.iter().peekable();
    let mut points = Vec::with_capacity(samples.len());
    for sample in samples {
        points.extend(std::iter::from_fn(|| between.next_if(|p| p.0 < sample.0)));
        points.push(*sample);
    }
    points.extend(between);
    points
}

/// The corners of a staircase through points that hold until the next one.
pub(super) fn staircase(points: &[Point]) -> Vec<Point> {
    let mut stairs: Vec<Point> = Vec::with_capacity(points.len() * 2);
    for &(t, y) in points {
        if let Some(&(last, held)) = stairs.last()
            && last < t
            && held.to_bits() != y.to_bits()
            && !held.is_nan()
        {
            stairs.push((t, held));
        }
        stairs.push((t, y));
    }
    stairs
}

/// Least and largest value, without gaps; `(inf, -inf)` for none.
pub(super) fn range(points: &[Point]) -> (f64, f64) {
    let finite = points.iter().map(|p| p.1).filter(|y| y.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)))
}

/// Thins a curve to first, least, largest and last point per column of the picture.
fn thin(points: Vec<Point>, columns: usize) -> Vec<Point> {
    let (Some(&(start, _)), Some(&(end, _))) = (points.first(), points.last()) else {
        return points;
    };
    if points.len() <= columns * 4 || end <= start {
        return points;
    }
    let column = |t: f64| ((t - start) / (end - start) * columns as f64) as usize;
    let mut thinned = Vec::with_capacity(columns * 4);
    for bucket in
        points.chunk_by(|a, b| column(a.0) == column(b.0) && a.1.is_finite() == b.1.is_finite())
    {
        let least = |a: &usize, b: &usize| bucket[*a].1.total_cmp(&bucket[*b].1);
        let mut keep = [0, bucket.len() - 1, 0, 0];
        keep[2] = (0..bucket.len()).min_by(least).unwrap_or(0);
        keep[3] = (0..bucket.len()).max_by(least).unwrap_or(0);
        keep.sort_unstable();
        let mut last = usize::MAX;
        for i in keep {
            if i != last {
                thinned.push(bucket[i]);
            }
            last = i;
        }
    }
    thinned
}

/// The pieces of a curve between its gaps.
pub(super) fn pieces(points: &[Point]) -> impl Iterator<Item = &[Point]> {
    points.split(|p| !p.1.is_finite()).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_stand_upright() {
        let samples = vec![(0.0, 0.0), (1.0, 1.0), (2.0, -2.0)];
        let jumps =
            [Jump { at: 1.5, left: 1.5, right: -1.5 }, Jump { at: 1.6, left: 0.0, right: 0.0 }];
        let points = with_jumps(samples, &jumps);
        let expected = [(0.0, 0.0), (1.0, 1.0), (1.5, 1.5), (1.5, -1.5), (1.6, 0.0), (2.0, -2.0)];
        assert_eq!(points, expected);
        assert_eq!(staircase(&[(0.0, 1.0), (1.0, 1.0), (2.0, 3.0)]).len(), 4);
    }

    #[test]
    fn a_curve_tells_that_points_were_left_out() {
        let rising = |n: u32| (0..n).map(|i| (f64::from(i), f64::from(i))).collect();
        let curve = |n| Curve::new("a.y", Style::Line, rising(n)).thin(100);
        assert!(curve(401).thinned && !curve(400).thinned);
    }

    #[test]
    fn thinning_keeps_peaks() {
        let mut points: Vec<Point> = (0..10_000).map(|i| (f64::from(i), 0.0)).collect();
        points[5_001].1 = 9.0;
        points[7_003].1 = -3.0;
        let thinned = thin(points, 100);
        assert!(thinned.len() <= 400, "{}", thinned.len());
        assert_eq!(range(&thinned), (-3.0, 9.0));
    }
}
