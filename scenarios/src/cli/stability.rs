//! `check --stability`.
use super::{
    options::CheckOptions,
    place,
    report::{Stop, columns},
};
use crate::{
    joint::Switched,
    output::directory,
    plan::Style,
    plot::{self, DeclaredPlot, Figure, Panel},
    reproduce::number,
    stability::{Coupled, judged},
};
use serde_json::{Value as Json, json};

/// Spectral radii of a scenario's coupling.
pub(super) struct Radii {
    /// Of one exchange; of the worst mode, if there are several.
    exchange: Option<f64>,
    /// Of macro steps by their length in seconds; of the worst mode, if there are several.
    steps: Vec<(f64, f64)>,
    /// The effect of switching between modes, by the names of the modes.
    switched: Vec<(Vec<String>, Switched)>,
}

/// The radii that `--stability` asks for, if it is given.
pub(super) fn stability(options: &CheckOptions) -> Result<Option<Radii>, Stop> {
    let Some(steps) = &options.stability else { return Ok(None) };
    let refused =
        |why: String| Stop::usage(format!("{}: --stability: {why}", options.plan.file.display()));
    let coupled = |value: f64| {
        let mut sets = options.plan.set.clone();
        sets.push((steps.path.clone(), value.to_string()));
        Coupled::new(&options.plan.file, &sets).map_err(refused)
    };
    let first = steps.values.first().copied().unwrap_or(1.0);
    let mut radii = Radii { exchange: None, steps: Vec::new(), switched: Vec::new() };
    for (_, mode) in coupled(first)?.modes().map_err(refused)? {
        let exchange = mode.zero_stability().map_err(refused)?;
        radii.exchange = radii.exchange.into_iter().chain(exchange).reduce(f64::max);
    }
    for &value in &steps.values {
        let of = |e| refused(format!("{} = {value}: {e}", steps.path));
        let (coupled, text) = (coupled(value)?, value.to_string());
        let radius = if coupled.is_switched() {
            let (names, switched) = coupled.switched(&text).map_err(of)?;
            let worst = switched.modes.iter().copied().fold(0.0, f64::max);
            radii.switched.push((names, switched));
            worst
        } else {
            coupled.step(&text).map_err(of)?
        };
        radii.steps.push((value, radius));
    }
    if let Some(file) = &options.plot {
        let svg = plot::svg(&radii.figure(&options.plan.name()));
        let svg = svg.map_err(|e| Stop::usage(e.to_string()))?;
        place::ends(file, "svg")?;
        directory::replace(file, svg.as_bytes())?;
    }
    Ok(Some(radii))
}

impl Radii {
    /// For people.
    pub(super) fn text(&self) -> String {
        let row = |what: String, radius: f64| vec![what, number(radius), judged(radius).into()];
        let exchange = self.exchange.map(|r| row("one exchange".into(), r));
        let mut rows: Vec<Vec<String>> = exchange.into_iter().collect();
        for (at, (h, radius)) in self.steps.iter().enumerate() {
            let step = format!("macro step {} s", number(*h));
            let Some((names, switched)) = self.switched.get(at) else {
                rows.push(row(step, *radius));
                continue;
            };
            for (name, radius) in names.iter().zip(&switched.modes) {
                rows.push(row(format!("{step}, {name}"), *radius));
            }
            let any = &switched.any;
            let bounds = format!("{} to {}", number(any.lower), number(any.upper));
            rows.push(vec![format!("{step}, any switching"), bounds, verdict(names, switched, *h)]);
        }
        format!("spectral radii\n{}", columns(&rows, &[]))
    }

    /// For programs.
    pub(super) fn object(&self) -> Json {
        let step = |(at, (h, radius)): (usize, &(f64, f64))| {
            let mut object = json!({ "step": h, "radius": radius, "verdict": judged(*radius) });
            if let Some((names, s)) = self.switched.get(at) {
                let modes = names.iter().zip(&s.modes);
                let mode = |(name, radius)| json!({ "mode": name, "radius": radius });
                let run = |(mode, steps): &(usize, usize)| json!({ "mode": names[*mode], "steps": steps });
                object["switched"] = json!({
                    "modes": modes.map(mode).collect::<Vec<_>>(),
                    "lower": s.any.lower,
                    "upper": s.any.upper,
                    "growing": s.growing.as_ref().map(|(runs, growth)| {
                        json!({ "sequence": runs.iter().map(run).collect::<Vec<_>>(), "growth": growth })
                    }),
                    "dwell": s.dwell.map(|steps| steps as f64 * h),
                });
            }
            object
        };
        json!({
            "exchange": self.exchange,
            "exchange_verdict": self.exchange.map(judged),
            "steps": self.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
        })
    }

    fn figure(&self, name: &str) -> Figure {
        let declared = DeclaredPlot {
            x_label: "log10 of the macro step / s".into(),
            y_label: "spectral radius".into(),
            ..DeclaredPlot::default()
        };
        let points: Vec<_> = self.steps.iter().map(|(h, r)| (h.log10(), *r)).collect();
        let bound = |of: fn(&Switched) -> f64| {
            let at = |(point, (_, s)): (&(f64, f64), &(Vec<String>, Switched))| (point.0, of(s));
            points.iter().zip(&self.switched).map(at).collect::<Vec<_>>()
        };
        let (lower, upper) = (bound(|s| s.any.lower), bound(|s| s.any.upper));
        let ends = |p: Option<&(f64, f64)>| p.map_or(0.0, |p| p.0);
        let span = (ends(points.first()), ends(points.last()));
        let mut curves = vec![plot::curve("ρ(A(H))".into(), Style::Line, points)];
        if !self.switched.is_empty() {
            let bounds = [("any switching, at least", lower), ("any switching, at most", upper)];
            curves
                .extend(bounds.map(|(name, points)| plot::curve(name.into(), Style::Line, points)));
        }
        Figure {
            title: format!("{name}: numerical stability"),
            caption: "Spectral radius of the matrix of one macro step; stable below 1.".into(),
            panels: vec![Panel { declared, curves, ..Panel::default() }],
            markers: Vec::new(),
            span,
        }
    }
}

/// The meaning of the bounds of a switched system, in words.
fn verdict(names: &[String], s: &Switched, h: f64) -> String {
    if s.any.upper < 1.0 {
        return "stable".to_owned();
    }
    let mut said = match &s.growing {
        Some((runs, growth)) => {
            let run = |(mode, steps): &(usize, usize)| format!("{steps} steps {}", names[*mode]);
            let runs: Vec<String> = runs.iter().map(run).collect();
            format!("unstable: grows by {} with each {}", number(*growth), runs.join(", then "))
        }
        None => "not decided".to_owned(),
    };
    if let Some(steps) = s.dwell {
        let time = number(steps as f64 * h);
        said += &format!("; stable if each mode lasts at least {time} s");
    }
    said
}
