//! Convergence and stiffness, on systems with known solutions.
use super::*;

/// x' = A x with a dense small matrix.
struct Linear<const N: usize>([[f64; N]; N]);

impl<const N: usize> System for Linear<N> {
    fn states(&self) -> usize {
        N
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states.extend((0..N).filter(|&j| self.0[index][j] != 0.0).map(|j| j as u32));
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let row = self.0[index].iter().enumerate().filter(|(_, a)| **a != 0.0);
        row.fold(S::constant(0.0), |sum, (j, &a)| sum + at.state(j) * a)
    }
}

/// Largest error over samples, and steps.
fn measure<M: Method<P>, const P: usize, const N: usize>(
    a: [[f64; N]; N],
    x: [f64; N],
    quantum: f64,
    end: f64,
    exact: impl Fn(f64) -> f64,
) -> (f64, u64) {
    let quanta = Quanta { relative: 0.0, minimum: quantum };
    let mut engine = Engine::<_, M, P>::new(Linear(a), quanta, f64::INFINITY);
    engine.start(0.0, &x, &[]).unwrap();
    let mut worst = 0.0_f64;
    for k in 1..=100 {
        let t = end * f64::from(k) / 100.0;
        engine.run_until(t).unwrap();
        worst = worst.max((engine.value(0, t) - exact(t)).abs());
    }
    (worst, engine.state().steps)
}

const DECAY: [[f64; 1]; 1] = [[-1.0]];
const OSCILLATOR: [[f64; 2]; 2] = [[0.0, 1.0], [-1.0, 0.0]];

/// Error linear in the quantum, steps as its power -1, -1/2, -1/3.
#[test]
fn convergence() {
    type Run = fn(f64) -> (f64, u64);
    let cases: [(&str, f64, Run); 8] = [
        ("decay 1", 1.0, |q| measure::<Explicit, 1, 1>(DECAY, [1.0], q, 2.0, |t| (-t).exp())),
        ("decay 2", 2.0, |q| measure::<Explicit, 2, 1>(DECAY, [1.0], q, 2.0, |t| (-t).exp())),
        ("decay 3", 3.0, |q| measure::<Explicit, 3, 1>(DECAY, [1.0], q, 2.0, |t| (-t).exp())),
        ("decay li1", 1.0, |q| measure::<Implicit, 1, 1>(DECAY, [1.0], q, 2.0, |t| (-t).exp())),
        ("decay li2", 2.0, |q| measure::<Implicit, 2, 1>(DECAY, [1.0], q, 2.0, |t| (-t).exp())),
        ("oscillator 2", 2.0, |q| {
            measure::<Explicit, 2, 2>(OSCILLATOR, [1.0, 0.0], q, 6.0, f64::cos)
        }),
        ("oscillator 3", 3.0, |q| {
            measure::<Explicit, 3, 2>(OSCILLATOR, [1.0, 0.0], q, 6.0, f64::cos)
        }),
        ("oscillator 1", 1.0, |q| {
            measure::<Explicit, 1, 2>(OSCILLATOR, [1.0, 0.0], q, 1.0, f64::cos)
        }),
    ];
    for (name, order, run) in cases {
        let (coarse, fine) = if order == 1.0 { (1e-3, 1e-5) } else { (1e-6, 1e-9) };
        let ((e1, n1), (e2, n2)) = (run(coarse), run(fine));
        let tens = (coarse / fine).log10();
        let error_slope = (e1 / e2).log10() / tens;
        let step_slope = (n2 as f64 / n1 as f64).log10() / tens;
        println!("{name}: errors {e1:e} {e2:e}, steps {n1} {n2}");
        assert!((error_slope - 1.0).abs() < 0.2, "{name}: error slope {error_slope}");
        assert!((step_slope - 1.0 / order).abs() < 0.08, "{name}: step slope {step_slope}");
        assert!(e1 <= 8.0 * coarse, "{name}: {e1:e} at a quantum of {coarse:e}");
    }
}

/// The stiff example of Migoni et al. 2013, x1' = 0.01 x2, x2' = -100 x1 - 100 x2 + 2020 without
/// its constant, and a stiff oscillating pair, for which looking ahead in one variable is not
/// enough: explicit methods need thousands of steps for nothing.
#[test]
fn stiff_systems_take_few_steps() {
    let stiff = [[0.0, 0.01], [-100.0, -100.0]];
    let fast = -50.0 - 2499f64.sqrt();
    let slow = 1.0 / fast;
    // x1 from [1, 0] by the two eigenvalues.
    let exact = move |t: f64| (slow * (fast * t).exp() - fast * (slow * t).exp()) / (slow - fast);
    let run = |q: f64| measure::<Explicit, 2, 2>(stiff, [1.0, 0.0], q, 500.0, exact);
    let implicit = measure::<Implicit, 2, 2>(stiff, [1.0, 0.0], 1e-3, 500.0, exact);
    let first = measure::<Implicit, 1, 2>(stiff, [1.0, 0.0], 1e-3, 500.0, exact);
    let paired = measure::<Paired, 2, 2>(stiff, [1.0, 0.0], 1e-3, 500.0, exact);
    let explicit = run(1e-3);
    println!("explicit {explicit:?}, implicit {implicit:?} {first:?}, paired {paired:?}");
    for (error, _) in [explicit, implicit, first, paired] {
        assert!(error < 0.02, "{error}");
    }
    assert!(implicit.1 * 20 < explicit.1, "{} {}", implicit.1, explicit.1);
    assert!(paired.1 * 20 < explicit.1, "{} {}", paired.1, explicit.1);
}

/// Eigenvalues -1 and -1e4 from two variables with large mutual influence, neither of which is
/// fast by itself where it is looked at alone.
#[test]
fn pairs_step_together() {
    let pair = [[-1.0, 1e4], [-1e4, -1e4]];
    let count = |steps: (f64, u64)| steps.1;
    let zero = |_: f64| 0.0;
    let alone = count(measure::<Implicit, 2, 2>(pair, [1.0, 1.0], 1e-3, 1.0, zero));
    let together = count(measure::<Paired, 2, 2>(pair, [1.0, 1.0], 1e-3, 1.0, zero));
    println!("alone {alone}, together {together}");
    assert!(together < alone, "{together} {alone}");
}

/// A lossless line, where each variable drives two neighbours as hard as they drive it: all
/// methods of order 2 get through, in steps of one order of magnitude.
#[test]
fn lossless_lines() {
    const N: usize = 40;
    let mut a = [[0.0; N]; N];
    for k in 1..N {
        a[k][k - 1] = 1.0;
        a[k - 1][k] = -1.0;
    }
    let x: [f64; N] = std::array::from_fn(|k| if k < 10 { 1.0 } else { 0.0 });
    fn run<M: Method<P>, const P: usize>(a: [[f64; N]; N], x: [f64; N]) -> (Vec<f64>, u64) {
        let quanta = Quanta { relative: 1e-3, minimum: 1e-6 };
        let mut engine = Engine::<_, M, P>::new(Linear(a), quanta, f64::INFINITY);
        engine.start(0.0, &x, &[]).unwrap();
        engine.run_until(40.0).unwrap_or_else(|e| panic!("{e}"));
        ((0..N).map(|i| engine.value(i, 40.0)).collect(), engine.state().steps)
    }
    let (truth, _) = run::<Explicit, 3>(a, x);
    let (_, explicit) = run::<Explicit, 2>(a, x);
    for (name, (found, steps)) in
        [("liqss2", run::<Implicit, 2>(a, x)), ("mliqss2", run::<Paired, 2>(a, x))]
    {
        let error = found.iter().zip(&truth).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{name}: error {error:e}, {steps} steps, explicit {explicit}");
        assert!(error < 0.05, "{name}: {error}");
        assert!(steps < 5 * explicit, "{name}: {steps} steps, explicit {explicit}");
    }
}

/// x' = cos t: nothing but the time changes, and it is followed all the same.
struct Driven;

impl System for Driven {
    fn states(&self) -> usize {
        1
    }
    fn reads(&self, _: usize, _: &mut Vec<u32>) {}
    fn is_driven(&self, _: usize) -> bool {
        true
    }
    fn derivative<S: Number>(&self, _: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        at.time().cos()
    }
}

#[test]
fn time_drives() {
    fn run<M: Method<P>, const P: usize>() -> f64 {
        let quanta = Quanta { relative: 0.0, minimum: 1e-5 };
        let mut engine = Engine::<_, M, P>::new(Driven, quanta, f64::INFINITY);
        engine.start(0.0, &[0.0], &[]).unwrap();
        engine.run_until(10.0).unwrap();
        (engine.value(0, 10.0) - 10f64.sin()).abs()
    }
    let errors = [
        run::<Explicit, 1>(),
        run::<Explicit, 2>(),
        run::<Explicit, 3>(),
        run::<Implicit, 1>(),
        run::<Implicit, 2>(),
        run::<Paired, 2>(),
    ];
    // Each step leaves out at most a quantum, at random signs.
    assert!(errors.iter().all(|e| *e < 1e-3), "{errors:?}");
}

/// x' = x² from 1 ends at t = 1.
struct Blow;

impl System for Blow {
    fn states(&self) -> usize {
        1
    }
    fn reads(&self, _: usize, states: &mut Vec<u32>) {
        states.push(0);
    }
    fn derivative<S: Number>(&self, _: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        at.state(0) * at.state(0)
    }
}

#[test]
fn what_grows_beyond_bounds_is_an_error() {
    let quanta = Quanta { relative: 1e-3, minimum: 1e-6 };
    let mut engine = Engine::<_, Explicit, 2>::new(Blow, quanta, f64::INFINITY);
    engine.start(0.0, &[1.0], &[]).unwrap();
    let error = engine.run_until(2.0).unwrap_err();
    let (NotFinite::Derivative { state, t } | NotFinite::Stuck { state, t }) = error;
    assert_eq!(state, 0);
    assert!((t - 1.0).abs() < 0.02, "{error}");
    let mut engine = Engine::<_, Explicit, 1>::new(Blow, quanta, f64::INFINITY);
    assert!(engine.start(0.0, &[f64::INFINITY], &[]).is_err());
}

/// In the kernel, at once or in pieces: the same steps.
#[test]
fn as_an_atomic() {
    use superdense_kernel::{Component, Coupled, Options, Simulation, time::Resolution};
    let run = |pieces: i64| {
        let quanta = Quanta { relative: 0.0, minimum: 1e-4 };
        let resolution = Resolution::default();
        let system = Linear(OSCILLATOR);
        let unit = SystemUnit::<_, Explicit, 3>::new(system, quanta, 5.0, &[1.0, 0.0], resolution);
        let mut top = Coupled::new();
        top.add_component("line", Component::atomic(unit.unwrap()));
        let mut sim = Simulation::new(top, Options::default()).unwrap();
        let end = 5 * resolution.ticks_per_second();
        for k in 1..=pieces {
            sim.run_until(end * k / pieces).unwrap();
        }
        (sim, end)
    };
    let ((whole, end), (pieces, _)) = (run(1), run(50));
    assert_eq!(whole.statistics(), pieces.statistics());
    let key = whole.find("line").unwrap();
    let value = whole.probe(key, 0, end).unwrap().as_real().unwrap();
    assert!((value - 5f64.cos()).abs() < 2e-3, "{value}");
    let again = pieces.probe(pieces.find("line").unwrap(), 0, end).unwrap();
    assert_eq!(again.as_real().unwrap(), value);
}
