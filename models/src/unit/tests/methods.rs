use super::*;
use crate::kinds::testing::Bench;

// y' = (cos t) y: y = exp(sin t).
system!(Swing, 1, |v, dx| { dx[0] = v[0].cos().mul(&v[1]) });
// Growth: y = exp t.
system!(Growth, 1, |v, dx| { dx[0] = v[1].clone() });
// Oscillator.
system!(Circle, 2, |v, dx| {
    dx[0] = v[2].clone();
    dx[1] = v[1].neg();
});
// Van der Pol, μ = 1.
system!(VanDerPol, 2, |v, dx| {
    dx[0] = v[2].clone();
    let one = S::constant(1.0);
    dx[1] = one.sub(&v[1].mul(&v[1])).mul(&v[2]).sub(&v[1]);
});

fn error_at<E: Equations>(
    equations: E,
    initial: &[f64],
    method: Method,
    tolerance: f64,
    end: f64,
    exact: f64,
) -> f64 {
    let mut run = Alone::new(equations, initial, settings(method, tolerance));
    run.run(end).unwrap();
    (run.output(0) - exact).abs()
}

/// Every method with a fixed step has its order as the slope of error against step.
#[test]
fn orders() {
    let fixed = |order: usize, h: f64| match order {
        1 => Method::Euler(h),
        4 => Method::Rk4(h),
        _ => Method::Taylor(order, Some(h)),
    };
    for (order, h) in [(1, 0.01), (2, 0.05), (3, 0.1), (4, 0.1), (6, 0.25), (8, 0.5), (12, 1.0)] {
        let exact = 4f64.exp();
        let error = |h| error_at(Growth, &[1.0], fixed(order, h), 1e-9, 4.0, exact);
        let slope = (error(h) / error(0.5 * h)).log2();
        println!("order {order}: {slope}");
        assert!((slope - order as f64).abs() < 0.06 * order as f64, "order {order}: slope {slope}");
    }
}

/// Taylor steps of any order keep the tolerance, and so do the pairs.
#[test]
fn tolerances() {
    let reference = 2.0f64.sin().exp();
    for (method, tolerance, factor) in [
        (Method::Rk45, 1e-9, 30.0),
        (Method::Rk23, 1e-6, 30.0),
        (Method::Rodas, 1e-6, 30.0),
        (Method::Rodas, 1e-9, 30.0),
        (Method::Taylor(4, None), 1e-6, 30.0),
        (Method::Taylor(12, None), 1e-12, 30.0),
        (Method::Taylor(20, None), 1e-15, 30.0),
        (Method::Taylor(30, None), 1e-15, 30.0),
    ] {
        let error = error_at(Swing, &[1.0], method, tolerance, 2.0, reference);
        assert!(error < factor * tolerance, "{method:?} {tolerance}: {error}");
    }
}

/// Van der Pol over three limit cycles: all methods agree with the best one.
#[test]
fn van_der_pol() {
    let end = 20.0;
    let value = |method, tolerance| {
        let mut run = Alone::new(VanDerPol, &[2.0, 0.0], settings(method, tolerance));
        run.run(end).unwrap();
        run.output(0)
    };
    // heyoka and mpmath agree on these digits.
    let reference = value(Method::Taylor(24, None), 1e-16);
    for (method, tolerance, most) in [
        (Method::Taylor(12, None), 1e-12, 1e-10),
        (Method::Taylor(20, None), 1e-15, 1e-12),
        (Method::Rk45, 1e-10, 1e-7),
        (Method::Rk23, 1e-7, 1e-3),
        (Method::Rodas, 1e-10, 1e-6),
        (Method::Rk4(0.001), 1e-9, 1e-9),
    ] {
        let error = (value(method, tolerance) - reference).abs();
        println!("{method:?} {error:e}");
        assert!(error < most, "{method:?}: {error}");
    }
}

// The relaxation oscillator of Van der Pol, μ = 1000.
system!(Stiff, 2, |v, dx| {
    dx[0] = v[2].clone();
    let (one, mu) = (S::constant(1.0), S::constant(1000.0));
    dx[1] = mu.mul(&one.sub(&v[1].mul(&v[1]))).mul(&v[2]).sub(&v[1]);
});
// A chemical reaction with rates 0.04, 1e4, 3e7 (Robertson 1966).
system!(Reaction, 3, |v, dx| {
    let k = |rate: f64| S::constant(rate);
    let (a, b, c) = (&v[1], &v[2], &v[3]);
    let (slow, back, fast) = (k(0.04).mul(a), k(1e4).mul(b).mul(c), k(3e7).mul(b).mul(b));
    dx[0] = back.sub(&slow);
    dx[1] = slow.sub(&back).sub(&fast);
    dx[2] = fast;
});

/// Stiff equations, within tolerance and in as few steps as accuracy asks for. The values are those
/// of the Test Set for Initial Value Problem Solvers (Mazzia & Magherini 2008).
#[test]
fn stiff() {
    let rodas = || settings(Method::Rodas, 1e-9);
    let oscillator = Alone::new(Stiff, &[2.0, 0.0], rodas());
    let reaction = Alone::new(Reaction, &[1.0, 0.0, 0.0], rodas());
    for (mut run, end, x, most) in
        [(oscillator, 2000.0, 1.706_167_732, 4500), (reaction, 40.0, 0.715_827_068_7, 300)]
    {
        run.run(end).unwrap();
        let error = (run.output(0) - x).abs();
        let steps = run.sim.statistics()["steps"];
        println!("{error:e} in {steps} steps");
        assert!(error < 1e-7 && steps < most, "{error:e} in {steps} steps");
    }
}

/// The closed form: machine precision over any time, where the matrix is not nilpotent; refused
/// for equations that are not affine.
#[test]
fn closed_form() {
    let mut run = Alone::new(Circle, &[1.0, 0.0], settings(Method::Closed, 1e-9));
    for t in [1.0, 10.0, 100.0] {
        run.run(t).unwrap();
        assert!((run.output(0) - t.cos()).abs() < 1e-14 * t.max(4.0), "{t}: {}", run.output(0));
    }
    let why = Unit::new(VanDerPol, &[1.0, 0.0], &[], &[], settings(Method::Closed, 1e-9));
    assert!(why.unwrap_err().to_string().contains("affine"));
}

/// Decay with a rate that an event doubles.
struct Faster([EventSpec; 1]);

impl Equations for Faster {
    fn dims(&self) -> Dims {
        Dims { states: 1, discrete: 1, outputs: 1, ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &self.0
    }
    fn derivatives<S: Scalar>(&self, v: &[S], _: &mut Work<S>, dx: &mut [S]) {
        dx[0] = v[1].mul(&v[2]).neg();
    }
    fn outputs<S: Scalar>(&self, v: &[S], _: &mut Work<S>, y: &mut [S]) {
        y[0] = v[1].clone();
    }
    fn reset(&self, _: usize, v: &mut [f64], _: &mut Work, _: &mut Vec<(u16, Value)>) {
        v[2] *= 2.0;
    }
}

/// The matrix of the closed form is that of the present discrete values.
#[test]
fn the_matrix_follows_discrete_values() {
    let trigger =
        Trigger::Every(superdense_kernel::time::RationalClock::new(1, 1, 0, ps()).unwrap());
    let equations = Faster([EventSpec::new("faster", trigger)]);
    let settings = settings(Method::Closed, 1e-9);
    let unit = Unit::new(equations, &[1.0], &[], &[1.0], settings).unwrap();
    let mut top = Coupled::new();
    top.add_component("unit", Component::atomic(unit));
    let options =
        superdense_kernel::Options { resolution: ps(), ..superdense_kernel::Options::default() };
    let mut sim = Simulation::new(top, options).unwrap();
    let at = 2_500_000_000_000;
    sim.run_through(at).unwrap();
    let x = sim.probe(sim.find("unit").unwrap(), 0, at).unwrap().as_real().unwrap();
    // Rates 1, 2 and 4 for 1 s, 1 s and 0.5 s.
    let exact = (-5.0_f64).exp();
    assert!((x / exact - 1.0).abs() < 1e-14, "{x:e}, not {exact:e}");
}

/// A pressure behind an orifice, whose flow has a root with an infinite slope: rodas does not pass it. With p = u |u|
/// and u = 1/2 - (1/4 + cos t)^(1/2) beyond it, x is the integral of p over both parts.
#[test]
fn auto_goes_on_where_rodas_cannot() {
    let bench = Bench::run(
        "[unit.h]\nkind='equations'\nmethod='auto'\nstates={x=0}\nalgebraic={p=0.4}\nderivatives={x='p'}\n\
         residuals={p='cos(t) - sign(p)*sqrt(abs(p)) - p'}\noutputs={x='x'}",
        3.0,
    );
    // u + u |u| = cos t, by the trapezoidal rule on a million parts.
    let p = |t: f64| {
        let c = t.cos();
        let u = c.signum() * ((0.25 + c.abs()).sqrt() - 0.5);
        u * u.abs()
    };
    let n = 1_000_000;
    let h = 3.0 / f64::from(n);
    let sum: f64 = (1..n).map(|k| p(f64::from(k) * h)).sum();
    let exact = h * (sum + 0.5 * (p(0.0) + p(3.0)));
    let x = bench.probe("h.x");
    assert!((x - exact).abs() < 1e-8, "{x} {exact}");
}
