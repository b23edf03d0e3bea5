//! Figures of the papers, drawn from our runs.
use super::{
    Bench, Trouble,
    measure::norms,
    table::{Comparison, Curve, Figure, Panel, Show, Sketch},
};
use crate::{
    plan::Style,
    plot::{self, DeclaredPlot},
};
use std::path::{Path, PathBuf};
use superdense_models::heat;

impl Bench<'_, '_> {
    /// Draws a figure into its file.
    pub(super) fn draw(&mut self, figure: &Figure, out: &Path) -> Result<PathBuf, Trouble> {
        let failed = |e: &dyn std::fmt::Display| Trouble::Failed(format!("{}: {e}", figure.name));
        let mut panels = Vec::new();
        for panel in &figure.panel {
            panels.push(self.panel(panel, figure.span)?);
        }
        let all = panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.points);
        let ends = |(low, high): (f64, f64), p: &(f64, f64)| (low.min(p.0), high.max(p.0));
        let span = all.fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let drawn = plot::Figure {
            title: figure.title.clone(),
            caption: figure.caption.clone(),
            panels,
            markers: Vec::new(),
            span: figure.span.unwrap_or(span),
        };
        let svg = plot::svg(&drawn).map_err(|e| failed(&e))?;
        let name = format!("figures/{}.svg", figure.name);
        self.runner.written.put(&[(&name, svg.as_bytes())]).map_err(|e| failed(&e))?;
        Ok(out.join(name))
    }

    fn panel(&mut self, panel: &Panel, span: Option<(f64, f64)>) -> Result<plot::Panel, Trouble> {
        let mut curves = Vec::new();
        for curve in &panel.curve {
            let mut points = self.points(curve)?;
            if let Some((from, to)) = span {
                points.retain(|p| (from..=to).contains(&p.0));
            }
            if panel.logarithmic {
                points.iter_mut().for_each(|p| *p = (p.0.log10(), p.1.log10()));
            }
            if let Some((low, high)) = panel.within {
                let beyond = |p: &&mut (f64, f64)| !(low..=high).contains(&p.1);
                points.iter_mut().filter(beyond).for_each(|p| p.1 = f64::NAN);
            }
            let style = match curve.style.as_deref() {
                Some("points") => Style::Points,
                Some("step") => Style::Step,
                _ => Style::Line,
            };
            curves.push(plot::curve(curve.label.clone(), style, points));
        }
        Ok(plot::Panel {
            declared: DeclaredPlot {
                title: panel.title.clone(),
                x_label: panel.x_label.clone(),
                y_label: panel.y_label.clone(),
                ..DeclaredPlot::default()
            },
            curves,
            ..plot::Panel::default()
        })
    }

    /// Numbered columns at an instant.
    fn across(&mut self, curve: &Curve) -> Result<Vec<f64>, Trouble> {
        let (Some(run), Some(across)) = (&curve.run, &curve.across) else { return Ok(Vec::new()) };
        let values = self.results(run)?.across(&across.columns, across.at);
        values.map_err(Trouble::Failed)
    }

    fn points(&mut self, curve: &Curve) -> Result<Vec<(f64, f64)>, Trouble> {
        if let Some(sketch) = &curve.sketch {
            let values = self.across(curve)?;
            return lines(sketch, &values).ok_or_else(|| {
                Trouble::Failed(format!("`{}` with {} lines has no map", sketch.rho, sketch.n))
            });
        }
        if curve.across.is_some() {
            let values = self.across(curve)?;
            let last = (values.len() - 1).max(1) as f64;
            return Ok(values.into_iter().enumerate().map(|(k, y)| (k as f64 / last, y)).collect());
        }
        let Some(name) = &curve.run else {
            let mut points = Vec::new();
            for (x, id) in curve.x.iter().zip(&curve.checks) {
                points.push((*x, self.named(id)?.unwrap_or(f64::NAN)));
            }
            return Ok(points);
        };
        let run = self.results(name)?;
        let values = match &curve.against {
            Some(against) => {
                let comparison = Comparison {
                    of: curve.y.clone(),
                    against: against.clone(),
                    to: curve.to.clone(),
                    norm: None,
                };
                norms(&comparison, &run, &*self.results(against)?)
            }
            None => {
                let name = curve.y.first().map_or("", String::as_str);
                run.column(name).map(<[f64]>::to_vec)
            }
        };
        let values = values.map_err(Trouble::Failed)?;
        Ok(run.times.iter().copied().zip(values).collect())
    }
}

/// The lines of a sketch as one curve, which is broken where y is no number.
fn lines(sketch: &Sketch, values: &[f64]) -> Option<Vec<(f64, f64)>> {
    let body = heat::Sketch::new(&sketch.rho, sketch.n)?;
    let [one, two] = body.christoffel();
    let lines = match sketch.show {
        Show::Square => body.grid(heat::Plane::Square),
        Show::Disk => body.grid(heat::Plane::Disk),
        Show::Body => body.grid(heat::Plane::Body),
        Show::Level => body.level(values, sketch.level),
        Show::Christoffel11 => body.level(&one, sketch.level),
        Show::Christoffel12 => body.level(&two, sketch.level),
    };
    let broken = |line: Vec<(f64, f64)>| {
        let end = line.last().map(|p| (p.0, f64::NAN));
        line.into_iter().chain(end)
    };
    Some(lines.into_iter().flat_map(broken).collect())
}
