//! `check --stability`.
use super::{
    options::CheckOptions,
    report::{Stop, columns},
};
use serde_json::{Value as Json, json};
use superdense::{
    output::directory,
    plan::Style,
    plot::{self, DeclaredPlot, Figure, Panel},
    reproduce::number,
    stability::Coupled,
};

/// Spectral radii of a scenario's coupling.
pub struct Radii {
    /// Of one exchange.
    exchange: f64,
    /// Of macro steps by their length in seconds.
    steps: Vec<(f64, f64)>,
}

/// What `--stability` asks for, if it is given.
pub fn stability(options: &CheckOptions) -> Result<Option<Radii>, Stop> {
    let Some(steps) = &options.stability else { return Ok(None) };
    let coupled = |value: f64| {
        let mut sets = options.plan.set.clone();
        sets.push((steps.path.clone(), value.to_string()));
        Coupled::new(&options.plan.file, &sets).map_err(Stop::usage)
    };
    let first = steps.values.first().copied().unwrap_or(1.0);
    let exchange = coupled(first)?.zero_stability().map_err(Stop::usage)?;
    let mut radii = Radii { exchange, steps: Vec::new() };
    for &value in &steps.values {
        let radius = coupled(value)?.step(&value.to_string());
        let radius = radius.map_err(|e| Stop::usage(format!("{} = {value}: {e}", steps.path)))?;
        radii.steps.push((value, radius));
    }
    if let Some(file) = &options.plot {
        let svg = plot::svg(&radii.figure(&options.plan.name()));
        let svg = svg.map_err(|e| Stop::usage(e.to_string()))?;
        directory::replace(file, svg.as_bytes())?;
    }
    Ok(Some(radii))
}

impl Radii {
    /// For people.
    pub fn text(&self) -> String {
        let said = |stable| if stable { "stable" } else { "unstable" };
        let row =
            |what: String, radius: f64, stable| vec![what, number(radius), said(stable).into()];
        let mut rows = vec![row("one exchange".into(), self.exchange, self.exchange <= 1.0)];
        let steps = self.steps.iter();
        rows.extend(steps.map(|(h, r)| row(format!("macro step {} s", number(*h)), *r, *r < 1.0)));
        format!("spectral radii\n{}", columns(&rows, &[]))
    }

    /// For programs.
    pub fn object(&self) -> Json {
        let step = |(h, radius): &(f64, f64)| json!({ "step": h, "radius": radius });
        json!({
            "exchange": self.exchange,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }

    fn figure(&self, name: &str) -> Figure {
        let declared = DeclaredPlot {
            title: String::new(),
            y: Vec::new(),
            styles: Vec::new(),
            x_label: "log10 of the macro step / s".into(),
            y_label: "spectral radius".into(),
            events: false,
        };
        let points: Vec<_> = self.steps.iter().map(|(h, r)| (h.log10(), *r)).collect();
        let ends = |p: Option<&(f64, f64)>| p.map_or(0.0, |p| p.0);
        let span = (ends(points.first()), ends(points.last()));
        let curves = vec![plot::curve("ρ(A(H))".into(), Style::Line, points)];
        Figure {
            title: format!("{name}: numerical stability"),
            caption: "Spectral radius of the matrix of one macro step; stable below 1.".into(),
            panels: vec![Panel { declared, curves }],
            markers: Vec::new(),
            span,
        }
    }
}
