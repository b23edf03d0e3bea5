//! Curves as the keys of axes ask for them: phase plots, names, units of time; for pictures logarithms and ranges.
use super::{
    curves::{self, Curve, Point},
    files::DeclaredPlot,
};
use crate::plan::{Axes, Style};
use std::collections::HashMap;

/// Curves over an output instead of time: the samples of both, in the order of time.
pub(super) fn phase(
    x: &[Point],
    plot: &DeclaredPlot,
    columns: &HashMap<String, Vec<Point>>,
) -> Vec<Curve> {
    let all = plot.y.iter().zip(&plot.styles);
    let curve = |(label, style): (&String, &String)| {
        let y = columns.get(label)?;
        let points = x.iter().zip(y).map(|(x, y)| match x.1.is_finite() {
            true => (x.1, y.1),
            false => (0.0, f64::NAN),
        });
        let style = if style == "points" { Style::Points } else { Style::Line };
        Some(Curve::new(label, style, points.collect()))
    };
    all.filter_map(curve).collect()
}

/// Gives curves their names, and times the unit of the axis.
pub(super) fn label(curves: &mut [Curve], axes: &Axes) {
    let unit = axes.unit.filter(|_| axes.x.is_none()).unwrap_or(1.0);
    for (k, curve) in curves.iter_mut().enumerate() {
        if let Some(name) = axes.names.get(k) {
            curve.label.clone_from(name);
        }
        curve.points.iter_mut().for_each(|point| point.0 /= unit);
    }
}

/// Takes logarithms where the axis has them, and cuts curves at the ends of the axes.
pub(super) fn frame(curves: &mut [Curve], axes: &Axes) {
    for curve in curves {
        for point in curve.points.iter_mut().filter(|_| axes.log) {
            point.1 = if point.1 > 0.0 { point.1.log10() } else { f64::NAN };
        }
        if axes.x_range.is_some() || axes.y_range.is_some() {
            let all = [f64::NEG_INFINITY, f64::INFINITY];
            let frame = [axes.x_range.unwrap_or(all), values(axes).unwrap_or(all)];
            curve.points = within(&curve.points, frame, curve.style == Style::Points);
        }
    }
}

/// The ends of the value axis, as it is drawn.
pub(super) fn values(axes: &Axes) -> Option<[f64; 2]> {
    axes.y_range.map(|ends| if axes.log { ends.map(f64::log10) } else { ends })
}

/// The parts of a curve in a frame of both axes, with gaps between them.
fn within(points: &[Point], frame: [[f64; 2]; 2], single: bool) -> Vec<Point> {
    let inside = |p: &Point| {
        let [x, y] = frame;
        (x[0]..=x[1]).contains(&p.0) && (y[0]..=y[1]).contains(&p.1)
    };
    if single {
        return points.iter().filter(|p| inside(p)).copied().collect();
    }
    let mut found: Vec<Point> = Vec::new();
    for piece in curves::pieces(points) {
        found.push((0.0, f64::NAN));
        if let [point] = piece {
            found.extend(Some(*point).filter(inside));
        }
        for ends in piece.windows(2) {
            let Some([from, to]) = clipped(ends[0], ends[1], frame) else { continue };
            if found.last() != Some(&from) {
                found.extend([(0.0, f64::NAN), from]);
            }
            found.push(to);
        }
    }
    found
}

/// The part of a line in a frame (Liang & Barsky 1984).
fn clipped(a: Point, b: Point, [x, y]: [[f64; 2]; 2]) -> Option<[Point; 2]> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for (d, room) in [(-dx, a.0 - x[0]), (dx, x[1] - a.0), (-dy, a.1 - y[0]), (dy, y[1] - a.1)] {
        if d == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if d < 0.0 {
            from = from.max(room / d);
        } else {
            to = to.min(room / d);
        }
    }
    let at = |s: f64| match s {
        0.0 => a,
        1.0 => b,
        _ => (a.0 + s * dx, a.1 + s * dy),
    };
    (from <= to).then(|| [at(from), at(to)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_the_frame() {
        let points = [(0.0, 0.0), (4.0, 4.0), (8.0, 0.0), (9.0, f64::NAN), (2.0, 1.0)];
        let frame = [[1.0, 7.0], [0.0, 2.0]];
        let found = within(&points, frame, false);
        let pieces: Vec<&[Point]> = curves::pieces(&found).collect();
        let expected: [&[Point]; 3] =
            [&[(1.0, 1.0), (2.0, 2.0)], &[(6.0, 2.0), (7.0, 1.0)], &[(2.0, 1.0)]];
        assert_eq!(pieces, expected);
        assert_eq!(within(&points, frame, true), [(2.0, 1.0)]);
    }

    #[test]
    fn axes_have_units_logarithms_and_names() {
        let points = vec![(60.0, 100.0), (120.0, 0.0)];
        let mut curves = [Curve::new("a.y", Style::Line, points)];
        let axes = Axes { unit: Some(60.0), log: true, names: vec!["a".into()], ..Axes::default() };
        label(&mut curves, &axes);
        frame(&mut curves, &axes);
        assert_eq!((curves[0].label.as_str(), curves[0].points[0]), ("a", (1.0, 2.0)));
        assert!(curves[0].points[1].1.is_nan());
    }
}
