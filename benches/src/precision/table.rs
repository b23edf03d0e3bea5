//! Runs of many methods on one problem, compared where their errors are equal.
use super::{Problem, Run};
use crate::child::Engine;
use serde::Serialize;
use std::fmt::Write;

/// Result of a method at one tolerance. As JSON, one object per line with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The problem.
    pub problem: &'static str,
    /// Who solved it.
    pub engine: &'static str,
    /// How.
    pub method: String,
    /// Relative tolerance, or quantum.
    pub tolerance: f64,
    /// Relative error.
    pub error: f64,
    /// Steps; of quantised methods, requantisations.
    pub steps: u64,
    /// Seconds.
    pub seconds: f64,
}

/// A Taylor method of ours and heyoka's at one tolerance; of the bounces, heyoka in a loop in Python,
/// and with callbacks.
#[derive(Debug, Clone, PartialEq)]
struct Taylor {
    ours: Point,
    theirs: Vec<Point>,
}

/// All that was measured on one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    problem: Problem,
    points: Vec<Point>,
    /// Engine, method, tolerance, why.
    failures: Vec<(&'static str, String, f64, String)>,
    /// The methods that `auto` chose, with their tolerances.
    choices: Vec<(f64, String)>,
    taylor: Option<Taylor>,
}

/// Errors at which times are compared; ten percent are no solution.
const ERRORS: [f64; 9] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/// How much slower than the best single method `auto` may be.
const AUTO: f64 = 1.5;
/// How much slower than heyoka a Taylor unit may be, and how much faster forty bounces have to be.
const TAYLOR: f64 = 3.0;
const BOUNCES: f64 = 20.0;

/// Root of the sum of squared differences over that of the reference; infinite if a state is
/// missing.
fn error(reference: &[f64], states: &[f64]) -> f64 {
    if reference.len() != states.len() {
        return f64::INFINITY;
    }
    let square = |sum: f64, x: f64| sum + x * x;
    let norm = reference.iter().copied().fold(0.0, square);
    let off = reference.iter().zip(states).map(|(r, x)| x - r).fold(0.0, square);
    let error = (off / norm).sqrt();
    if error.is_finite() { error } else { f64::INFINITY }
}

/// A method at an error: seconds and steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Seconds.
    pub seconds: f64,
    /// Steps.
    pub steps: f64,
}

/// The cost of an error of at most `wanted` under a method, given by its points from loose to
/// tight: the cheapest of the runs that reach it and of the straight lines (in logarithms) between
/// two neighbours of which only the tighter one reaches it.
pub fn at_error(points: &[&Point], wanted: f64) -> Option<Cost> {
    let cost = |p: &Point| Cost { seconds: p.seconds, steps: p.steps as f64 };
    let reached = points.iter().filter(|p| p.error <= wanted).map(|p| cost(p));
    let between = points.windows(2).filter_map(|pair| {
        let (loose, tight) = (pair[0], pair[1]);
        if !(loose.error > wanted && tight.error <= wanted && loose.error.is_finite()) {
            return None;
        }
        // Below that only rounding is left.
        let floor = tight.error.max(1e-16);
        let share = (loose.error / wanted).ln() / (loose.error / floor).ln();
        let mix = |a: f64, b: f64| (a.ln() + share * (b.ln() - a.ln())).exp();
        Some(Cost {
            seconds: mix(loose.seconds, tight.seconds),
            steps: mix(loose.steps.max(1) as f64, tight.steps.max(1) as f64),
        })
    });
    reached.chain(between).min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

impl Curves {
    /// Nothing yet.
    pub fn new(problem: Problem) -> Self {
        Self {
            problem,
            points: Vec::new(),
            failures: Vec::new(),
            choices: Vec::new(),
            taylor: None,
        }
    }

    fn point(&self, engine: Engine, reference: &[f64], run: &Run) -> Point {
        Point {
            problem: self.problem.name(),
            engine: engine.name(),
            method: run.method.clone(),
            tolerance: run.tolerance,
            error: error(reference, &run.states),
            steps: run.steps,
            seconds: run.seconds,
        }
    }

    /// Takes the runs of an engine.
    pub fn take(&mut self, engine: Engine, reference: &[f64], runs: Vec<Run>) {
        for run in runs {
            if let Some(why) = run.failed {
                // The first reason is enough, and tells tolerances from tighter ones on.
                let known =
                    |f: &(&str, String, f64, String)| f.0 == engine.name() && f.1 == run.method;
                if !self.failures.iter().any(known) {
                    self.failures.push((engine.name(), run.method, run.tolerance, why));
                }
                continue;
            }
            if run.method == "auto" {
                let chosen = run.note.strip_prefix("method ").and_then(|n| n.split(':').next());
                self.choices.push((run.tolerance, chosen.unwrap_or("?").to_owned()));
            }
            self.points.push(self.point(engine, reference, &run));
        }
    }

    /// Takes our Taylor method at heyoka's tolerance, after heyoka.
    pub fn take_taylor(&mut self, reference: &[f64], runs: Vec<Run>) {
        let theirs = self.points.iter().filter(|p| p.engine == Engine::Heyoka.name());
        let theirs: Vec<_> = theirs.cloned().collect();
        let ours = runs.first().map(|run| self.point(Engine::Ours, reference, run));
        let ours = ours.filter(|_| !theirs.is_empty());
        self.taylor = ours.map(|ours| Taylor { ours, theirs });
    }

    /// All points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The problem.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// Engines and methods in the order in which they came.
    pub(super) fn methods(&self) -> Vec<(&'static str, &str)> {
        let mut methods: Vec<(&'static str, &str)> = Vec::new();
        for p in &self.points {
            if !methods.contains(&(p.engine, p.method.as_str())) {
                methods.push((p.engine, &p.method));
            }
        }
        methods
    }

    fn cost(&self, (engine, method): (&str, &str), wanted: f64) -> Option<Cost> {
        let own = |p: &&Point| p.engine == engine && p.method == method;
        at_error(&self.points.iter().filter(own).collect::<Vec<_>>(), wanted)
    }

    /// The cheapest of some methods at an error.
    fn best(
        &self,
        wanted: f64,
        select: impl Fn(&str, &str) -> bool,
    ) -> Option<(&'static str, &str, Cost)> {
        let methods = self.methods().into_iter().filter(|&(e, m)| select(e, m));
        let costs = methods.filter_map(|(e, m)| Some((e, m, self.cost((e, m), wanted)?)));
        costs.min_by(|a, b| a.2.seconds.total_cmp(&b.2.seconds))
    }

    /// How many targets are missed.
    pub fn missed(&self) -> usize {
        let auto = self.auto().is_some_and(|(worst, _)| worst > AUTO);
        usize::from(auto) + usize::from(self.taylor_verdict().is_some_and(|(_, met)| !met))
    }

    /// The largest ratio of `auto` to the best single method in scenarios, and at which error.
    fn auto(&self) -> Option<(f64, f64)> {
        let ours = Engine::Ours.name();
        let ratio = |wanted: f64| {
            let auto = self.cost((ours, "auto"), wanted)?;
            let single = |e: &str, m: &str| e == ours && m != "auto" && !m.ends_with("Rust");
            let (.., best) = self.best(wanted, single)?;
            Some((auto.seconds / best.seconds, wanted))
        };
        ERRORS.into_iter().filter_map(ratio).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn taylor_verdict(&self) -> Option<(String, bool)> {
        let Taylor { ours, theirs } = self.taylor.as_ref()?;
        let mut text = format!(
            "taylor order 20, at 1e-14: {:.4} ms, error {:.1e}",
            ours.seconds * 1e3,
            ours.error
        );
        for peer in theirs {
            let Point { method, seconds, error, .. } = peer;
            let ms = seconds * 1e3;
            let _ = write!(text, "; heyoka {method}, at 2.2e-16, {ms:.4} ms, error {error:.1e}, ");
            let _ = match self.problem {
                Problem::Bounces => write!(text, "{:.1} times as long", seconds / ours.seconds),
                _ => write!(text, "ours {:.2} of it", ours.seconds / seconds),
            };
        }
        let ratio = theirs[0].seconds / ours.seconds;
        Some(if self.problem == Problem::Bounces {
            (format!("{text} (loop >= {BOUNCES})"), ratio >= BOUNCES)
        } else {
            (format!("{text} (<= {TAYLOR})"), 1.0 / ratio <= TAYLOR)
        })
    }

    /// The tables of one problem.
    pub fn report(&self) -> String {
        let mut text = format!("{}\n", self.problem.name());
        text += "milliseconds at equal error:\n";
        let mut line = format!("{:<24}", "error");
        for wanted in ERRORS {
            let _ = write!(line, " {wanted:>9.0e}");
        }
        text += &(line + "\n");
        for (engine, method) in self.methods() {
            let mut line = format!("{:<24}", format!("{engine} {method}"));
            for wanted in ERRORS {
                let _ = match self.cost((engine, method), wanted) {
                    Some(cost) => write!(line, " {:>9.4}", cost.seconds * 1e3),
                    None => write!(line, " {:>9}", "-"),
                };
            }
            text += &(line + "\n");
        }
        text += &self.ratios();
        for (engine, method, tolerance, why) in &self.failures {
            let why: String = why.chars().take(90).collect();
            let _ = writeln!(text, "  {engine} {method} stops at {tolerance:e}: {why}");
        }
        let choices: Vec<String> =
            self.choices.iter().map(|(tolerance, c)| format!("{tolerance:e} {c}")).collect();
        let _ = writeln!(text, "  auto chose: {}", choices.join(", "));
        let verdict = |met: bool| if met { "met" } else { "NOT MET" };
        if let Some((worst, at)) = self.auto() {
            let met = verdict(worst <= AUTO);
            let _ = writeln!(
                text,
                "  auto: at most {worst:.2} of the best single method (at {at:.0e}; <= {AUTO}): {met}"
            );
        }
        if let Some((errors, met)) = self.taylor_verdict() {
            let _ = writeln!(text, "  {errors}: {}", verdict(met));
        }
        text
    }

    /// Ours against each peer at each error that both reach.
    fn ratios(&self) -> String {
        let ours = Engine::Ours.name();
        let mut text = String::from("best of each engine, and its seconds over ours:\n");
        let mut peers: Vec<&'static str> = self.methods().iter().map(|m| m.0).collect();
        peers.dedup();
        for wanted in ERRORS {
            let Some((_, method, cost)) = self.best(wanted, |e, _| e == ours) else { continue };
            let mut line = format!(
                "  {wanted:.0e}: {method}, {:.0} steps, {:.3e} s",
                cost.steps, cost.seconds
            );
            for &peer in peers.iter().filter(|&&p| p != ours) {
                if let Some((_, method, theirs)) = self.best(wanted, |e, _| e == peer) {
                    let ratio = theirs.seconds / cost.seconds;
                    let _ = write!(
                        line,
                        "; {peer} {method}, {:.0} steps, {:.3e} s, {ratio:.2}x",
                        theirs.steps, theirs.seconds
                    );
                }
            }
            text += &(line + "\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(error: f64, seconds: f64) -> Point {
        Point {
            problem: "p",
            engine: "e",
            method: "m".into(),
            tolerance: 0.0,
            error,
            steps: (1e3 * seconds) as u64,
            seconds,
        }
    }

    #[test]
    fn costs_are_interpolated_at_equal_error() {
        let points = [point(1e-2, 1.0), point(1e-4, 100.0), point(1e-5, 50.0)];
        let points: Vec<&Point> = points.iter().collect();
        // (error, seconds): a loose run is enough; between two; a tighter run that is cheaper.
        let cases = [(1e-1, Some(1.0)), (1e-3, Some(10.0)), (1e-4, Some(50.0)), (1e-6, None)];
        for (wanted, expected) in cases {
            let found = at_error(&points, wanted).map(|c| c.seconds);
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            assert!(
                found == expected || found.zip(expected).is_some_and(|(a, b)| close(a, b)),
                "{wanted}: {found:?}, not {expected:?}"
            );
        }
    }

    /// Both engines are in the diagram, and methods without a solution are not.
    #[test]
    fn a_diagram_has_a_line_per_method() {
        let mut curves = Curves::new(Problem::Stiff);
        let run = |method: &str, tolerance: f64, off: f64| Run {
            method: method.into(),
            tolerance,
            seconds: 1e-3 / off,
            states: vec![3.0, 4.0 + off],
            ..Run::default()
        };
        assert!(super::super::figure(&curves).is_err(), "nothing was measured");
        let ours = vec![run("rk45", 1e-2, 0.1), run("rk45", 1e-4, 1e-3), run("qss1", 1e-2, 1e3)];
        curves.take(Engine::Ours, &[3.0, 4.0], ours);
        curves.take(Engine::Scipy, &[3.0, 4.0], vec![run("LSODA", 1e-3, 1e-2)]);
        let svg = super::super::figure(&curves).unwrap();
        assert!(svg.contains("rk45") && svg.contains("scipy LSODA") && !svg.contains("qss1"));
    }

    #[test]
    fn errors_are_relative_to_the_reference() {
        assert_eq!(error(&[3.0, 4.0], &[3.0, 4.5]), 0.1);
        assert_eq!(error(&[3.0, 4.0], &[3.0]), f64::INFINITY);
        assert_eq!(error(&[3.0, 4.0], &[3.0, f64::NAN]), f64::INFINITY);
    }
}
