//! Drawing a timeline: a row for each output, a mark where something was sent on it, a bar from
//! there to its arrival, a cross where it did not arrive.
use super::{
    PlotError,
    figure::{Area, COLOURS, Chart, INK, SCALE, draw_error, s, short, text},
    journeys::Row,
};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Heights of a row, in units of the SVG.
pub(super) const ROW: u32 = 15;
/// Canvas units; other widths than those of curves and markers, which may be dashed.
const TICK: u32 = 13;
const BAR: u32 = 34;

fn tick() -> ShapeStyle {
    COLOURS[0].stroke_width(TICK)
}
fn bar() -> ShapeStyle {
    COLOURS[5].stroke_width(BAR)
}
fn cross<C>(at: C) -> Cross<C, i32> {
    Cross::new(at, s(4), COLOURS[1].stroke_width(TICK + 2))
}

/// Where the middle of a row is on the value axis, from the top down.
fn middle(rows: &[Row], i: usize) -> f64 {
    (rows.len() - i) as f64 - 0.5
}

/// Draws all rows. `known`: arrivals are known at all.
pub(super) fn draw(
    chart: &Chart<'_, '_>,
    rows: &[Row],
    span: (f64, f64),
    known: bool,
) -> Result<(), PlotError> {
    let area = chart.plotting_area();
    let pixels = f64::from(area.get_pixel_range().0.len() as u32 / SCALE).max(1.0);
    let pixel = |t: f64| ((t - span.0) / (span.1 - span.0) * pixels).round() as i64;
    for (i, row) in rows.iter().enumerate() {
        let y = middle(rows, i);
        // First bars, then marks on them; what falls on one pixel is drawn once.
        let mut until = f64::NEG_INFINITY;
        for &(from, to) in row.marks.iter().filter(|(from, to)| pixel(*to) > pixel(*from)) {
            if to > until {
                let line = vec![(from.max(until), y), (to, y)];
                area.draw(&PathElement::new(line, bar())).map_err(draw_error)?;
                until = to;
            }
        }
        let mut last = i64::MIN;
        for &(from, _) in &row.marks {
            if pixel(from) != last {
                let line = vec![(from, y - 0.3), (from, y + 0.3)];
                area.draw(&PathElement::new(line, tick())).map_err(draw_error)?;
                last = pixel(from);
            }
        }
        let mut last = i64::MIN;
        for &(from, _) in row.marks.iter().filter(|(_, to)| known && to.is_nan()) {
            if pixel(from) != last {
                area.draw(&cross((from, y))).map_err(draw_error)?;
                last = pixel(from);
            }
        }
    }
    Ok(())
}

/// Draws the meaning of the marks.
pub(super) fn legend(area: &Area<'_>, rows: &[Row], known: bool) -> Result<(), PlotError> {
    let style = text(12, &INK).pos(Pos::new(HPos::Left, VPos::Center));
    let write = |words: &str, y| area.draw_text(words, &style, (s(43), y)).map_err(draw_error);
    let y = s(38);
    area.draw(&PathElement::new(vec![(s(21), y - s(5)), (s(21), y + s(5))], tick()))
        .map_err(draw_error)?;
    write("sent", y)?;
    if !known {
        return Ok(());
    }
    let y = s(38 + 19);
    area.draw(&PathElement::new(vec![(s(6), y), (s(36), y)], bar())).map_err(draw_error)?;
    write("on its way", y)?;
    if rows.iter().flat_map(|row| &row.marks).any(|(_, to)| to.is_nan()) {
        let y = s(38 + 2 * 19);
        area.draw(&cross((s(21), y))).map_err(draw_error)?;
        write("did not arrive", y)?;
    }
    Ok(())
}

/// Room for names on the value axis, in units of the SVG.
pub(super) fn names_width<'a>(names: impl Iterator<Item = &'a String>) -> u32 {
    let style = text(12, &INK);
    let widths = names.filter_map(|name| style.font.box_size(&short(name)).ok());
    widths.map(|(width, _)| width / SCALE + 14).max().unwrap_or(0)
}
