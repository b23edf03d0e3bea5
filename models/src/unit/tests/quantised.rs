//! Units under quantised-state methods.
use super::{bouncing::Ball, methods::Circle, *};
use crate::kinds::testing::Bench;
use crate::{
    signal::statistics::UnitStatistics,
    solve::qss::{Explicit, Implicit, Method as Quantiser, Paired, Quanta, Quantised},
};

fn quantised<E: Equations, M: Quantiser<P>, const P: usize>(
    equations: E,
    initial: &[f64],
    minimum: f64,
) -> Alone {
    let settings = settings(Method::default(), 1e-9);
    let quanta = Quanta { relative: 0.0, minimum };
    let core = Quantised::<M, P>::new(None, &equations, &settings, quanta).unwrap();
    Alone::with_core(equations, core, initial, settings)
}

/// Error of an oscillator after some turns, and steps.
fn oscillator<M: Quantiser<P>, const P: usize>(minimum: f64) -> (f64, f64) {
    let mut run = quantised::<_, M, P>(Circle, &[1.0, 0.0], minimum);
    run.run(10.0).unwrap();
    let steps = UnitStatistics::from_sums(&run.sim.statistics()).steps;
    ((run.output(0) - 10f64.cos()).abs(), steps as f64)
}

/// The error stays within a multiple of the quantum, and steps come as its root.
#[test]
fn errors_and_steps_follow_the_quantum() {
    type Case = (&'static str, i32, fn(f64) -> (f64, f64));
    let cases: [Case; 6] = [
        ("qss1", 1, oscillator::<Explicit, 1>),
        ("qss2", 2, oscillator::<Explicit, 2>),
        ("qss3", 3, oscillator::<Explicit, 3>),
        ("liqss1", 1, oscillator::<Implicit, 1>),
        ("liqss2", 2, oscillator::<Implicit, 2>),
        ("mliqss2", 2, oscillator::<Paired, 2>),
    ];
    let mut bad = Vec::new();
    for (name, order, run) in cases {
        let quantum = 1e-3;
        let ((error, many), (_, few)) = (run(quantum), run(64.0 * quantum));
        let expected = 64f64.powf(1.0 / f64::from(order));
        println!("{name}: error {error:e}, {many} steps, {few} with a larger quantum");
        if error > 30.0 * quantum || (many / few / expected - 1.0).abs() > 0.35 {
            bad.push(name);
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}

/// Events are looked at on the states, which QSS2 knows exactly for a parabola; reference times:
/// ARGESIM C21.
#[test]
fn events_are_located_on_the_states() {
    let mut run = quantised::<_, Explicit, 2>(Ball::new(), &[10.0, 0.0], 1e-3);
    run.run(27.1283).unwrap();
    let events = run.events();
    let at = |k: usize| events[k].0 as f64 * PS;
    for (k, reference) in [(0, 1.427843122927064), (1, 3.997960744195781), (99, 27.12826082539949)]
    {
        assert!((at(k) - reference).abs() < 1e-8, "bounce {}: {}", k + 1, at(k));
    }
}

/// A tank that runs dry: h = (sqrt(h0) - t/10)^2 touches zero, and a step beyond that went on along the other branch of
/// the root, on which the tank fills again.
#[test]
fn a_tank_that_has_run_dry_stays_empty() {
    for method in ["'qss2'\ndq_rel=1e-6\ndq_min=1e-6", "'qss3'\ndq_rel=1e-6\ndq_min=1e-6", "'auto'"]
    {
        for k in 0..12 {
            let full = 3.5162 - 0.173 * f64::from(k);
            let bench = Bench::run(
                &format!(
                    "[unit.tank]\nkind='equations'\nmethod={method}\nstates={{h={full},v=0}}\n\
                     derivatives={{h='-0.2*sqrt(max(h, 0))',v='0.2*sqrt(max(h, 0))'}}\noutputs={{h='h',v='v'}}"
                ),
                200.0,
            );
            let (h, v) = (bench.probe("tank.h"), bench.probe("tank.v"));
            assert!(h.abs() < 1e-5 && (v - full).abs() < 1e-5, "{method} from {full}: {h} {v}");
        }
    }
}
