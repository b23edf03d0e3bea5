//! Drawing a figure as SVG.
use super::{
    FONT, PlotError,
    curves::{self, Curve, Point},
    files::{Figure, Marker, Panel},
    scales,
    ticks::{Axis, Ticks},
    timeline,
};
use crate::plan::Style;
use plotters::{
    coord::Shift,
    prelude::*,
    style::{register_font, text_anchor::Pos},
};

/// Canvas units per unit of the SVG.
pub(super) const SCALE: u32 = 10;
/// Font family of all text.
pub(super) const FAMILY: &str = "DejaVu Sans";

const WIDTH: u32 = 960;
const PANEL: u32 = 270;
const HEADING: u32 = 40;
/// Height of a line of the caption, and how many characters fit into it.
const LINE: u32 = 19;
const CAPTION_COLUMNS: usize = 128;
const CURVE_WIDTH: u32 = 17;
/// Up to this many events a panel has full lines, beyond ticks above it.
const FULL_LINES: usize = 60;

pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(224, 224, 224);
const BAND: RGBColor = RGBColor(238, 238, 228);
const MARK: RGBColor = RGBColor(125, 125, 125);
/// Okabe and Ito, "Color universal design" (2008), without the yellow that is too light for lines.
pub(super) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// Dash patterns in canvas units. plotters cuts a dashed line into separate ones; SVG knows
/// patterns. So the pattern travels in the width: the curve width plus the pattern's number.
const DASHES: [&str; 4] = ["", "80 35", "20 25", "90 30 20 30"];
/// Height of a line of marks above a panel, which is the width of a symbol.
const LINE_OF_MARKS: u32 = 9;
const MARK_WIDTH: u32 = 9;
const MARK_DASHES: [&str; 3] = ["50 30", "", "10 25"];
const KINDS: [&str; 3] = ["private event", "shared event", "time event"];

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

pub(super) fn draw_error(e: impl std::fmt::Display) -> PlotError {
    PlotError::Draw(e.to_string())
}

pub(super) fn text(size: u32, colour: &RGBColor) -> TextStyle<'static> {
    // plotters divides the size by 1.24 on its way into SVG.
    (FAMILY, f64::from(size * SCALE) * 1.24).into_font().color(colour)
}

pub(super) fn s(x: u32) -> i32 {
    (x * SCALE) as i32
}

/// The figure as SVG text.
///
/// # Errors
/// When the drawing library fails.
pub fn svg(figure: &Figure) -> Result<String, PlotError> {
    register_font(FAMILY, FontStyle::Normal, FONT)
        .map_err(|_| PlotError::Draw("the font is damaged".into()))?;
    let heading = if figure.title.is_empty() { 8 } else { HEADING };
    let mut caption = textwrap::wrap(&figure.caption, CAPTION_COLUMNS);
    caption.retain(|line| !line.is_empty());
    let caption_height = LINE * caption.len() as u32;
    let panels = figure.panels.iter().map(height_of).sum::<u32>();
    let height = heading + panels + 8 + caption_height;
    let mut canvas = String::new();
    {
        let backend = SVGBackend::with_string(&mut canvas, (WIDTH * SCALE, height * SCALE));
        let root = backend.into_drawing_area();
        root.fill(&WHITE).map_err(draw_error)?;
        let (head, body) = root.split_vertically(s(heading));
        if !figure.title.is_empty() {
            let style = text(17, &INK).pos(Pos::new(
                plotters::style::text_anchor::HPos::Left,
                plotters::style::text_anchor::VPos::Center,
            ));
            head.draw_text(&figure.title, &style, (s(16), s(24))).map_err(draw_error)?;
        }
        let (mut body, foot) = body.split_vertically(s(panels + 8));
        for (i, line) in caption.iter().enumerate() {
            foot.draw_text(line, &text(13, &INK), (s(16), s(LINE) * i as i32))
                .map_err(draw_error)?;
        }
        let legend = legend_width(figure);
        // One width for all, so that instants stand below each other.
        let rows = figure.panels.iter().flat_map(|p| &p.rows).map(|row| &row.label);
        let values = figure.panels.iter().flat_map(|p| &p.declared.axes.values);
        let left = timeline::names_width(rows).max(timeline::names_width(values) + 20).max(70);
        for (i, panel) in figure.panels.iter().enumerate() {
            let (area, rest) = body.split_vertically(s(height_of(panel)));
            body = rest;
            let same = |p: &Panel| {
                p.declared.x_label == panel.declared.x_label
                    && p.span == panel.span
                    && p.declared.axes.x_range == panel.declared.axes.x_range
            };
            let shared_axis = figure.panels.get(i + 1).is_some_and(same);
            let (plot, side) = area.split_horizontally(s(WIDTH - legend));
            let kinds = draw_panel(&plot, panel, figure, (left, shared_axis))?;
            if panel.rows.is_empty() {
                draw_legend(&side, panel, kinds)?;
            } else {
                timeline::legend(&side, &panel.rows, !panel.declared.to.is_empty())?;
            }
        }
        root.present().map_err(draw_error)?;
    }
    Ok(finish(canvas, height))
}

/// Room for all rows of a timeline.
fn height_of(panel: &Panel) -> u32 {
    PANEL.max(76 + timeline::ROW * panel.rows.len() as u32)
}

/// Scales the canvas down, puts in dash patterns and fallback fonts.
fn finish(mut svg: String, height: u32) -> String {
    let size = |w: u32, h: u32| format!("width=\"{w}\" height=\"{h}\" viewBox");
    let joined = format!("stroke-linejoin=\"round\" {}", size(WIDTH, height));
    svg = svg.replacen(&size(WIDTH * SCALE, height * SCALE), &joined, 1);
    let patterns = DASHES.iter().enumerate().map(|(i, d)| (CURVE_WIDTH + i as u32, *d));
    let marks = MARK_DASHES.iter().enumerate().map(|(i, d)| (MARK_WIDTH + i as u32, *d));
    for (width, dash) in patterns.chain(marks).filter(|p| !p.1.is_empty()) {
        let plain = format!("stroke-width=\"{width}\"");
        svg = svg.replace(&plain, &format!("{plain} stroke-dasharray=\"{dash}\""));
    }
    // Names and titles may hold what XML may not.
    let svg = svg.replace(|c: char| c.is_control() && c != '\n', "\u{FFFD}");
    svg.replace(
        &format!("font-family=\"{FAMILY}\""),
        &format!("font-family=\"{FAMILY}, Verdana, sans-serif\""),
    )
}

fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

fn stroke(i: usize) -> ShapeStyle {
    colour(i).stroke_width(CURVE_WIDTH + (i % DASHES.len()) as u32)
}

fn legend_width(figure: &Figure) -> u32 {
    let style = text(12, &INK);
    let labels = figure.panels.iter().flat_map(|p| &p.curves).map(|c| short(&c.label));
    let width = labels
        .chain([KINDS[0].to_owned()])
        .filter_map(|l| style.font.box_size(&l).ok())
        .map(|(w, _)| w / SCALE)
        .max();
    (width.unwrap_or(100) + 62).clamp(140, 330)
}

/// A label of the legend, cut in the middle when very long.
pub(super) fn short(label: &str) -> String {
    let chars: Vec<char> = label.chars().collect();
    if chars.len() <= 36 {
        return label.to_owned();
    }
    let (head, tail) = (&chars[..17], &chars[chars.len() - 17..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Draws axes, markers and curves; says which kinds of markers it drew.
fn draw_panel(
    area: &Area<'_>,
    panel: &Panel,
    figure: &Figure,
    (left, shared_axis): (u32, bool),
) -> Result<[bool; 3], PlotError> {
    let axes = &panel.declared.axes;
    let unit = axes.unit.unwrap_or(1.0);
    let span = panel.span.unwrap_or((figure.span.0 / unit, figure.span.1 / unit));
    let span = axes.x_range.map_or(span, |[from, to]| (from, to));
    let x_ticks = Ticks::new(span.0, span.1, 9);
    let ((low, high), y_ticks) = value_axis(panel);
    let title = &panel.declared.title;
    let seen = seen(panel, figure, (unit, span));
    let kinds = [0, 1, 2].map(|kind| seen.iter().any(|m| m.kind == kind));
    // Each kind of marks has a line of its own.
    let lines = kinds.iter().filter(|kind| **kind).count().saturating_sub(1) as u32;
    let above = if title.is_empty() { 12 } else { 30 } + lines * LINE_OF_MARKS;
    if !title.is_empty() {
        area.draw_text(title, &text(14, &INK), (s(8 + left), s(8))).map_err(draw_error)?;
    }
    let mut chart = ChartBuilder::on(area)
        .margin_top(s(above))
        .margin_right(s(14))
        .margin_left(s(8))
        .margin_bottom(s(4))
        .set_label_area_size(LabelAreaPosition::Left, s(left))
        .set_label_area_size(LabelAreaPosition::Bottom, s(if shared_axis { 24 } else { 44 }))
        .build_cartesian_2d(Axis::new(span, &x_ticks), Axis::new((low, high), &y_ticks))
        .map_err(draw_error)?;
    let x_label =
        if shared_axis { String::new() } else { x_ticks.axis_label(&panel.declared.x_label) };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(7))
        .axis_style(INK.stroke_width(8))
        .set_all_tick_mark_size(s(4))
        .label_style(text(12, &INK))
        .axis_desc_style(text(13, &INK))
        .x_desc(x_label)
        .y_desc(y_ticks.axis_label(&panel.declared.y_label))
        .draw()
        .map_err(draw_error)?;
    if panel.span.is_none() {
        draw_bands(&chart, panel, span, (low, high))?;
    }
    draw_markers(area, &chart, &seen, span, (low, high))?;
    timeline::draw(&chart, &panel.rows, span, !panel.declared.to.is_empty())?;
    for (i, curve) in panel.curves.iter().enumerate() {
        for piece in curves::pieces(&curve.points) {
            draw_piece(&chart, curve.style, piece, i)?;
        }
    }
    Ok(kinds)
}

/// The events that a panel shows.
fn seen(panel: &Panel, figure: &Figure, (unit, span): (f64, (f64, f64))) -> Vec<Marker> {
    if !panel.declared.events || panel.span.is_some() {
        return Vec::new();
    }
    let all = figure.markers.iter().map(|m| Marker { at: m.at / unit, kind: m.kind });
    all.filter(|m| (span.0..=span.1).contains(&m.at)).collect()
}

/// The ends of the value axis, and its ticks.
fn value_axis(panel: &Panel) -> ((f64, f64), Ticks) {
    let axes = &panel.declared.axes;
    let range = || value_range(&panel.curves);
    let (low, high) = scales::values(axes).map_or_else(range, |[low, high]| (low, high));
    // States and lengths of queues have no halves.
    let whole = |c: &Curve| c.points.iter().all(|p| !p.1.is_finite() || p.1.fract() == 0.0);
    let wanted = if panel.curves.iter().all(whole) { 6.0f64.min(high - low).max(1.0) } else { 6.0 };
    if !panel.rows.is_empty() {
        let names = panel.rows.iter().rev().map(|row| short(&row.label)).collect();
        ((0.0, panel.rows.len() as f64), Ticks::named(names))
    } else if axes.log {
        ((low, high), Ticks::decades(low, high))
    } else if !axes.values.is_empty() {
        let most = axes.values.len() as f64 - 0.5;
        ((low.min(-0.5), high.max(most)), Ticks::values(&axes.values))
    } else {
        ((low, high), Ticks::new(low, high, wanted as usize))
    }
}

/// Shades intervals of time.
fn draw_bands(
    chart: &Chart<'_, '_>,
    panel: &Panel,
    span: (f64, f64),
    (low, high): (f64, f64),
) -> Result<(), PlotError> {
    let axes = &panel.declared.axes;
    for band in &axes.bands {
        let [from, to] = band.map(|t| (t / axes.unit.unwrap_or(1.0)).clamp(span.0, span.1));
        if from < to {
            let shade = Rectangle::new([(from, low), (to, high)], BAND.filled());
            chart.plotting_area().draw(&shade).map_err(draw_error)?;
        }
    }
    Ok(())
}

fn draw_piece(
    chart: &Chart<'_, '_>,
    style: Style,
    piece: &[Point],
    i: usize,
) -> Result<(), PlotError> {
    let area = chart.plotting_area();
    if style == Style::Points || piece.len() == 1 {
        for &p in piece {
            area.draw(&Circle::new(p, s(2), colour(i).filled())).map_err(draw_error)?;
        }
        return Ok(());
    }
    area.draw(&PathElement::new(piece.to_vec(), stroke(i))).map_err(draw_error)
}

fn draw_markers(
    panel: &Area<'_>,
    chart: &Chart<'_, '_>,
    markers: &[Marker],
    span: (f64, f64),
    (low, high): (f64, f64),
) -> Result<(), PlotError> {
    let full = markers.len() <= FULL_LINES;
    let area = chart.plotting_area();
    let pixels = f64::from(area.get_pixel_range().0.len() as u32 / SCALE).max(1.0);
    let mut last = [f64::NEG_INFINITY; 3];
    let mut symbols = [f64::NEG_INFINITY; 3];
    let (x0, y0) = panel.get_base_pixel();
    let present = [0, 1, 2].map(|kind| markers.iter().any(|m| m.kind == kind));
    let line = |kind: usize| present[..kind].iter().filter(|p| **p).count() as u32;
    for m in markers {
        // Marks of one kind that fall on one pixel are one mark.
        let pixel = ((m.at - span.0) / (span.1 - span.0) * pixels).round();
        if pixel == last[m.kind] {
            continue;
        }
        last[m.kind] = pixel;
        // On the panel, since the plotting area would cut the symbol in half.
        let (x, y) = area.map_coordinate(&(m.at, high));
        let at = (x - x0, y - y0 - s(3 + line(m.kind) * LINE_OF_MARKS));
        if full {
            let line = PathElement::new(vec![(m.at, low), (m.at, high)], mark_stroke(m.kind));
            area.draw(&line).map_err(draw_error)?;
        } else {
            let tick = vec![(at.0, at.1 - s(3)), (at.0, at.1 + s(3))];
            panel
                .draw(&PathElement::new(tick, MARK.stroke_width(MARK_WIDTH)))
                .map_err(draw_error)?;
        }
        // Symbols side by side; where they would lie on each other the first one stands for all.
        if full && pixel - symbols[m.kind] >= f64::from(LINE_OF_MARKS) {
            symbols[m.kind] = pixel;
            panel.draw(&symbol(at, m.kind)).map_err(draw_error)?;
        }
    }
    // Many marks are ticks, and each line of them begins with its symbol.
    for kind in (0..3).filter(|kind| present[*kind] && !full) {
        let (x, y) = area.map_coordinate(&(span.0, high));
        let at = (x - x0 - s(9), y - y0 - s(3 + line(kind) * LINE_OF_MARKS));
        panel.draw(&symbol(at, kind)).map_err(draw_error)?;
    }
    Ok(())
}

fn mark_stroke(kind: usize) -> ShapeStyle {
    MARK.stroke_width(MARK_WIDTH + kind as u32)
}

/// The symbol of a kind of event: triangle, disc, square.
fn symbol(at: (i32, i32), kind: usize) -> Polygon<(i32, i32)> {
    let corners = [3, 16, 4][kind];
    let turn = [std::f64::consts::FRAC_PI_2, 0.0, std::f64::consts::FRAC_PI_4][kind];
    let radius = f64::from(SCALE) * [4.6, 3.6, 4.4][kind];
    let corner = |i: u32| {
        let angle = turn + f64::from(i) * std::f64::consts::TAU / f64::from(corners);
        (at.0 + (radius * angle.cos()).round() as i32, at.1 + (radius * angle.sin()).round() as i32)
    };
    Polygon::new((0..corners).map(corner).collect::<Vec<_>>(), RGBColor(70, 70, 70).filled())
}

fn draw_legend(area: &Area<'_>, panel: &Panel, kinds: [bool; 3]) -> Result<(), PlotError> {
    use plotters::style::text_anchor::{HPos, VPos};
    let style = text(12, &INK).pos(Pos::new(HPos::Left, VPos::Center));
    let marks = kinds.iter().filter(|k| **k).count();
    let count = panel.curves.len();
    // Closer together where there are many.
    let height = PANEL - 70;
    let pitch = (height / (count + marks).max(1) as u32).clamp(13, 19);
    let row = |i: usize| s(38) + i as i32 * s(pitch);
    let room = (height / pitch) as usize - marks;
    let shown = if count > room { room - 1 } else { count };
    for (i, curve) in panel.curves.iter().take(shown).enumerate() {
        let y = row(i);
        match curve.style {
            Style::Points => area.draw(&Circle::new((s(21), y), s(3), colour(i).filled())),
            _ => area.draw(&PathElement::new(vec![(s(6), y), (s(36), y)], stroke(i))),
        }
        .map_err(draw_error)?;
        area.draw_text(&short(&curve.label), &style, (s(43), y)).map_err(draw_error)?;
    }
    let mut next = shown;
    if shown < count {
        let more = format!("… and {} more", count - shown);
        area.draw_text(&more, &style, (s(43), row(next))).map_err(draw_error)?;
        next += 1;
    }
    for kind in (0..3).filter(|k| kinds[*k]) {
        let y = row(next) + s(4);
        let line = PathElement::new(vec![(s(21), y - s(8)), (s(21), y + s(8))], mark_stroke(kind));
        area.draw(&line).map_err(draw_error)?;
        area.draw(&symbol((s(21), y - s(3)), kind)).map_err(draw_error)?;
        area.draw_text(KINDS[kind], &style, (s(43), y)).map_err(draw_error)?;
        next += 1;
    }
    Ok(())
}

/// Values that axes show at most, and the least differences.
const LARGEST: f64 = 1e300;
const SMALLEST: f64 = 1e-300;

/// The value axis: all curves with a little room, never empty.
fn value_range(curves: &[Curve]) -> (f64, f64) {
    let ranges = curves.iter().map(|c| curves::range(&c.points));
    let (low, high) =
        ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (a, b)| (l.min(a), h.max(b)));
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    // Beyond these, differences and powers of ten are no numbers any more.
    let (low, high) = (low.clamp(-LARGEST, LARGEST), high.clamp(-LARGEST, LARGEST));
    let (spread, size) = (high - low, low.abs().max(high.abs()));
    if spread <= (size * 1e-9).max(SMALLEST) {
        let room = if size <= SMALLEST { 1.0 } else { size * 0.1 };
        return (low - room, high + room);
    }
    (low - spread * 0.06, high + spread * 0.08)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever values a curve has, its axis has labels.
    #[test]
    fn axes_of_any_values_have_numbers() {
        for ends in [[1.7e308, -1.7e308], [1e-320, -1e-320], [0.0, 0.0], [5.0, 5.0], [0.0, 1e-320]]
        {
            let points = ends.iter().map(|&y| (0.0, y)).collect();
            let curve = Curve::new("", crate::plan::Style::Line, points);
            let (low, high) = value_range(&[curve]);
            let ticks = Ticks::new(low, high, 6);
            let labels: Vec<String> = ticks.at.iter().map(|&x| ticks.label(x)).collect();
            let plain = labels.iter().all(|l| !l.contains("NaN") && !l.contains("inf"));
            assert!(labels.len() > 1 && plain, "{ends:?}: {labels:?}");
        }
    }
}
