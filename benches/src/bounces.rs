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
    continuous::{Dims, Equations, EventSpec, Settings, Trigger, Unit, equations::Work},
    expr::Scalar,
    ode::{self, Method},
    value::Value,
};

const G: f64 = 9.81;
const HEIGHT: f64 = 10.0;
/// How often it bounces.
pub const BOUNCES: usize = 40;

/// How the unit is written, and its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounces {
    /// As the text of the shipped scenario, instead of in Rust.
    pub text: bool,
    /// By the 5(4) pair, instead of the closed form.
    pub pair: bool,
}

impl Bounces {
    /// The row of the comparison.
    pub fn name(self) -> String {
        let method = if self.pair { "rk45" } else { "closed" };
        format!("bounces-{method}{}", if self.text { "-text" } else { "" })
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
        let trigger = Trigger::State { indicators: vec![0, 1], strict: false, touching: None };
        let events =
            Arc::from([EventSpec { strictly: vec![1], ..EventSpec::new("bounce", trigger) }]);
        let settings = Settings {
            resolution: options.resolution,
            method: if self.pair { Method::Rk45 } else { Method::Closed },
            solver: ode::Options::tolerance(1e-9, 1e-9),
            connected: vec![false; 2],
            ..Settings::default()
        };
        let unit = Unit::new(Ball(events), &[HEIGHT, 0.0], &[], &[], settings).expect("a ball");
        alone_with(Component::atomic(unit), options)
    }

    fn scenario(self, options: Options) -> Simulation<Value> {
        let file = "../scenarios/library/bouncing_ball.toml";
        let method = if self.pair { "\"rk45\"" } else { "\"closed\"" };
        let sets = [
            ("plot", "[]"),
            ("record", "[]"),
            ("unit.ball.method", method),
            ("unit.ball.tolerance", "1e-9"),
            ("unit.ball.absolute_tolerance", "1e-9"),
        ];
        let sets: Vec<_> = sets.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
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
            for pair in [false, true] {
                let bounces = Bounces { text, pair };
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
