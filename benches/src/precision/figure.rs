//! Work-precision diagrams: seconds against error, a line per method.
use super::{Curves, table::Point};
use crate::child::Engine;
use superdense::{
    plan::Style,
    plot::{Curve, DeclaredPlot, Figure, Panel, PlotError, svg},
};

/// The errors that are shown: larger ones are no solution.
const LOOSEST: f64 = 0.3;

/// The points of a method, the most exact one first, as powers of ten.
fn curve(label: String, points: &[&Point]) -> Curve {
    let power = |p: &&Point| (p.error.log10(), p.seconds.log10());
    let mut points: Vec<(f64, f64)> = points.iter().map(power).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve::new(label, Style::Line, points)
}

fn panel(title: &str, curves: Vec<Curve>) -> Panel {
    let declared = DeclaredPlot {
        title: title.to_owned(),
        x_label: "error, power of ten".to_owned(),
        y_label: "seconds, power of ten".to_owned(),
        ..DeclaredPlot::default()
    };
    Panel { declared, curves, ..Panel::default() }
}

/// The diagram of a problem as SVG: our methods in scenarios, and below them those of the peers.
///
/// # Errors
/// When nothing was measured, or the drawing library fails.
pub fn figure(curves: &Curves) -> Result<String, PlotError> {
    let shown = |p: &&Point| p.error > 1e-16 && p.error < LOOSEST && p.seconds > 0.0;
    let points: Vec<&Point> = curves.points().iter().filter(shown).collect();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (engine, method) in curves.methods() {
        let own = |p: &&&Point| p.engine == engine && p.method == method;
        let points: Vec<&Point> = points.iter().filter(own).copied().collect();
        match engine == Engine::Ours.name() {
            _ if points.is_empty() || method.ends_with("Rust") => {}
            true => ours.push(curve(method.to_owned(), &points)),
            false => theirs.push(curve(format!("{engine} {method}"), &points)),
        }
    }
    let errors = points.iter().map(|p| p.error.log10());
    let span = errors.fold((f64::MAX, f64::MIN), |(low, high), e| (low.min(e), high.max(e)));
    if span.0 >= span.1 {
        return Err(PlotError::Draw("there is no curve to draw".to_owned()));
    }
    let mut panels = vec![panel("Superdense", ours)];
    if !theirs.is_empty() {
        panels.push(panel("Peers", theirs));
    }
    svg(&Figure {
        title: format!("Work and precision: {}", curves.problem().name()),
        caption: "Processor seconds of the solution alone against the root of the sum of squares \
                  of the error over that of the reference, over all states at twenty times; one \
                  point per tolerance or quantum."
            .to_owned(),
        panels,
        markers: Vec::new(),
        span,
    })
}
