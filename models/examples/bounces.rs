//! Forty bounces of a ball, in the kernel under each method, against a bare loop.
//!
//! The loop solves each flight's quadratic from (x, v) with `sqrt`, evaluates the state there and
//! resets; it knows nothing of events, ticks or messages. Run it with
//! `cargo run --release -p superdense-models --example bounces`.
use std::{hint::black_box, sync::Arc, time::Instant};
use superdense_kernel::{Component, Coupled, Simulation, time::Resolution};
use superdense_models::{
    continuous::{Dims, Equations, EventSpec, Settings, Trigger, Unit, equations::Work},
    expr::Scalar,
    ode::{Method, Options},
    value::Value,
};

const G: f64 = 9.81;
const BOUNCES: usize = 40;

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

/// Time and speed after the bounces.
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

fn simulation(method: Method) -> Simulation<Value> {
    let resolution: Resolution = Resolution::PICO;
    let trigger = Trigger::State { indicators: vec![0, 1], strict: false, touching: None };
    let events = Arc::from([EventSpec { strictly: vec![1], ..EventSpec::new("bounce", trigger) }]);
    let settings = Settings {
        resolution,
        method,
        solver: Options::tolerance(1e-9, 1e-9),
        connected: vec![false; 2],
        ..Settings::default()
    };
    let unit = Unit::new(Ball(events), &[10.0, 0.0], &[], &[], settings).expect("a ball");
    let mut top = Coupled::new();
    top.add_component("ball", Component::atomic(unit));
    let options =
        superdense_kernel::Options { resolution, ..superdense_kernel::Options::default() };
    Simulation::new(top, options).expect("a model")
}

#[inline(never)]
fn measured(sim: &mut Simulation<Value>, end: i64) {
    sim.run_through(end).expect("no error");
}

/// The median of seconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let only = std::env::args().nth(1);
    let rounds = if only.is_some() { 1 } else { 400 };
    let (last, _) = bare(10.0);
    let end = (last * 1e12) as i64 + 1_000_000;
    let mut loops = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..20 {
            black_box(bare(black_box(10.0)));
        }
        loops.push(start.elapsed().as_secs_f64() / 20.0);
    }
    let bare_s = median(loops);
    println!("bare loop          {:8.3} µs for {BOUNCES} bounces", bare_s * 1e6);
    let methods =
        [("closed", Method::Closed), ("rk45", Method::Rk45), ("taylor", Method::Taylor(12, None))];
    for (name, method) in methods {
        if only.as_deref().is_some_and(|o| o != name) {
            continue;
        }
        let mut times = Vec::new();
        let mut count = 0;
        for _ in 0..rounds {
            let mut sim = simulation(method);
            let start = Instant::now();
            measured(&mut sim, end);
            times.push(start.elapsed().as_secs_f64());
            count = sim.statistics()["located"];
        }
        assert_eq!(count as usize, BOUNCES);
        let s = median(times);
        println!("{name:<12} {:8.3} µs, {:6.1} times the loop", s * 1e6, s / bare_s);
    }
}
