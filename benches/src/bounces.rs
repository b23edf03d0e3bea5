//! Forty bounces of a ball: a continuous unit with a located event, alone in a model, against a loop
//! written by hand.
//!
//! The loop solves each flight's quadratic from (x, v) with `sqrt`, evaluates the state there and
//! resets; it knows nothing of events, ticks or messages.
use crate::qss::alone_with;
use serde::{Deserialize, Serialize};
use std::{hint::black_box, path::PathBuf, sync::Arc};
use superdense::Overrides;
use superdense_kernel::{Component, Options, Simulation, time::Resolution};
use superdense_models::{
    maths::expr::Scalar,
    signal::value::Value,
    solve::{
        Dims, Equations, EventSpec, Settings, Trigger,
        equations::Work,
        ode::{self, Method},
    },
    unit::Unit,
};

const G: f64 = 9.81;
const HEIGHT: f64 = 10.0;
/// How often it bounces.
pub const BOUNCES: usize = 40;

/// How the flights are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flights {
    /// By the closed form.
    Closed,
    /// By the 5(4) pair, at a tolerance of 1e-9.
    Pair,
    /// As Taylor series of order 20, at a tolerance of 1e-14: as heyoka.
    Taylor,
}

impl Flights {
    /// All.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Pair, Self::Taylor];
}

/// How the unit is written, and its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounces {
    /// As the text of the shipped scenario, instead of in Rust.
    pub text: bool,
    /// Its method.
    pub flights: Flights,
}

impl Bounces {
    /// The row of the comparison.
    pub fn name(self) -> String {
        format!("bounces-{}{}", self.method().0, if self.text { "-text" } else { "" })
    }

    /// Name, method and tolerance.
    fn method(self) -> (&'static str, Method, f64) {
        match self.flights {
            Flights::Closed => ("closed", Method::Closed, 1e-9),
            Flights::Pair => ("rk45", Method::Rk45, 1e-9),
            Flights::Taylor => ("taylor", Method::Taylor(20, None), 1e-14),
        }
    }

    /// A run to shortly after the last bounce, and its end in ticks.
    ///
    /// # Panics
    /// If the shipped scenario is not where it was.
    pub fn build(self) -> (Simulation<Value>, i64) {
        let end = (bare(HEIGHT).0 * 1e12) as i64 + 1_000_000;
        let options = Options { resolution: Resolution::PICO, ..Options::default() };
        let sim = if self.text { self.scenario(options) } else { self.unit(options) };
        (sim, end)
    }

    fn unit(self, options: Options) -> Simulation<Value> {
        let trigger = Trigger::all([(0, false), (1, true)]);
        let events = Arc::from([EventSpec::new("bounce", trigger)]);
        let (_, method, tolerance) = self.method();
        let settings = Settings {
            resolution: options.resolution,
            method,
            solver: ode::Options::tolerance(tolerance, tolerance),
            connected: vec![false; 2],
            ..Settings::default()
        };
        let unit = Unit::new(Ball(events), &[HEIGHT, 0.0], &[], &[], settings).expect("a ball");
        alone_with(Component::atomic(unit), options)
    }

    fn scenario(self, options: Options) -> Simulation<Value> {
        let file = "../scenarios/library/bouncing_ball.toml";
        let (name, method, tolerance) = self.method();
        let quoted = format!("\"{name}\"");
        let tolerance = format!("{tolerance:e}");
        let mut sets = vec![("plot", "[]"), ("record", "[]"), ("unit.ball.method", &quoted)];
        if name != "closed" {
            sets.push(("unit.ball.tolerance", &tolerance));
            sets.push(("unit.ball.absolute_tolerance", &tolerance));
        }
        if matches!(method, Method::Taylor(..)) {
            sets.push(("unit.ball.order", "20"));
        }
        let sets: Vec<_> = sets.iter().map(|&(key, v)| (key.to_owned(), v.to_owned())).collect();
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
        let overrides = Overrides { until: Some("30 s".into()), ..Overrides::default() };
        let mut plan = superdense::load(&file, &sets, &overrides).expect("a shipped scenario");
        Simulation::new(std::mem::take(&mut plan.model), options).expect("a ball")
    }
}

struct Ball(Arc<[EventSpec]>);

impl Equations for Ball {
    fn dims(&self) -> Dims {
        Dims { states: 2, outputs: 2, indicators: 2, ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &self.0
    }
    fn derivatives<S: Scalar>(&self, v: &[S], _: &mut Work<S>, dx: &mut [S]) {
        dx[0] = v[2].clone();
        dx[1] = S::constant(-G);
    }
    fn outputs<S: Scalar>(&self, v: &[S], _: &mut Work<S>, y: &mut [S]) {
        y.clone_from_slice(&v[1..3]);
    }
    fn indicators<S: Scalar>(&self, v: &[S], _: &mut Work<S>, z: &mut [S]) {
        z.clone_from_slice(&v[1..3]);
    }
    fn reset(&self, _: usize, v: &mut [f64], _: &mut Work, _: &mut Vec<(u16, Value)>) {
        v[2] *= -0.9;
    }
}

/// Time and speed after the bounces, from rest at `height`.
#[inline(never)]
fn bare(height: f64) -> (f64, f64) {
    let (mut t, mut x, mut v) = (0.0, height, 0.0);
    for _ in 0..BOUNCES {
        let flight = (v + f64::sqrt(v * v + 2.0 * G * x)) / G;
        t += flight;
        x = x + v * flight - 0.5 * G * flight * flight;
        v = -0.9 * (v - G * flight);
    }
    (t, v)
}

/// Runs of the loop, all together.
pub fn loops(runs: usize) {
    for _ in 0..runs {
        black_box(bare(black_box(HEIGHT)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_bounce_as_the_loop_does() {
        let (t, v) = bare(HEIGHT);
        for text in [false, true] {
            for flights in Flights::ALL {
                let bounces = Bounces { text, flights };
                let (mut sim, end) = bounces.build();
                sim.run_until(end).unwrap();
                assert_eq!(sim.statistics()["located"], BOUNCES as u64, "{bounces:?}");
                let found = sim.now().ticks as f64 * 1e-12;
                assert!((found - t).abs() < 1e-9, "{bounces:?}: {found}, not {t}");
                let model = sim.find(if text { "ball" } else { "system" }).unwrap();
                let speed = sim.probe(model, 1, sim.now().ticks).and_then(|v| v.as_real());
                assert!(
                    speed.is_some_and(|s| (s - v).abs() < 1e-9),
                    "{bounces:?}: {speed:?}, not {v}"
                );
            }
        }
    }
}
