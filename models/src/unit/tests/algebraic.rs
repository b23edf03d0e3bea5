//! Algebraic equations beside the differential ones.
use super::*;

// x' = -z, 0 = z + z³ - x: z' (1 + 3z²) = -z, so ln z + 3/2 z² = const - t.
system!(Cubic, 2; 1, |v, dx| {
    let (x, z) = (&v[1], &v[2]);
    dx[0] = z.neg();
    dx[1] = z.add(&z.mul(z).mul(z)).sub(x);
});

/// Time at which z has come down to a value, from z = 1.
fn time(z: f64) -> f64 {
    1.5 * (1.0 - z * z) - z.ln()
}

/// The start value of the algebraic variable is only where the search begins; the solution keeps
/// its tolerance, and every output of it fulfils the equation.
#[test]
fn solutions_keep_the_tolerance() {
    let (mut low, mut high) = (0.1f64, 1.0);
    while high - low > 1e-16 * high && 0.5 * (low + high) != low && 0.5 * (low + high) != high {
        let middle = 0.5 * (low + high);
        if time(middle) > 2.0 { low = middle } else { high = middle }
    }
    for (method, tolerance) in [
        (Method::Rodas, 1e-6),
        (Method::Rodas, 1e-9),
        (Method::Taylor(6, None), 1e-6),
        (Method::Taylor(12, None), 1e-12),
    ] {
        let mut run = Alone::new(Cubic, &[2.0, 0.3], settings(method, tolerance));
        assert!((run.output(1) - 1.0).abs() < 1e-15, "{method:?} starts at {}", run.output(1));
        run.run(2.0).unwrap();
        let (x, z) = (run.output(0), run.output(1));
        let (error, residual) = ((z - low).abs(), (z + z * z * z - x).abs());
        println!("{method:?} {tolerance:e}: {error:e}, residual {residual:e}");
        assert!(error < 300.0 * tolerance && residual < 300.0 * tolerance, "{method:?}: {error:e}");
    }
}

/// Order 4 of the implicit method also in the algebraic variable, and p of series of order p.
#[test]
fn orders() {
    let at = |method: Method, h: f64| {
        let loose = Options { initial_step: h, max_step: h, ..Options::tolerance(1e9, 1e9) };
        let mut run =
            Alone::new(Cubic, &[2.0, 1.0], Settings { solver: loose, ..settings(method, 1.0) });
        run.run(2.0).unwrap();
        run.output(1)
    };
    let exact = at(Method::Taylor(20, Some(0.125)), 0.125);
    let taylor = |order: usize, h: f64| Method::Taylor(order, Some(h));
    let rodas = |_: usize, _: f64| Method::Rodas;
    type Make = fn(usize, f64) -> Method;
    let cases: [(Make, usize, f64); 3] =
        [(rodas, 4, 0.125), (taylor, 3, 0.03125), (taylor, 4, 0.125)];
    for (method, order, h) in cases {
        let error = |h| (at(method(order, h), h) - exact).abs();
        let slope = (error(h) / error(0.5 * h)).log2();
        println!("{:?}: {slope}", method(order, h));
        assert!((slope - order as f64).abs() < 0.4, "{:?}: slope {slope}", method(order, h));
    }
}

// x' = 1, 0 = exp(z) - x from far away; x' = 1, 0 = z² + x without a solution; a pendulum with the
// constraint of its length, of index 3.
system!(Steep, 2; 1, |v, dx| {
    dx[0] = S::constant(1.0);
    dx[1] = v[2].exp().sub(&v[1]);
});
system!(Empty, 2; 1, |v, dx| {
    dx[0] = S::constant(1.0);
    dx[1] = v[2].mul(&v[2]).add(&v[1]);
});
system!(Pendulum, 5; 1, |v, dx| {
    let (x, y, force) = (&v[1], &v[2], &v[5]);
    dx[0] = v[3].clone();
    dx[1] = v[4].clone();
    dx[2] = force.mul(x).neg();
    dx[3] = S::constant(-9.81).sub(&force.mul(y));
    dx[4] = x.mul(x).add(&y.mul(y)).sub(&S::constant(1.0));
});

fn refused<E: Equations>(equations: E, initial: &[f64], method: Method) -> String {
    Unit::new(equations, initial, &[], &[], settings(method, 1e-9)).unwrap_err().to_string()
}

/// The search comes from far away, and says why it ends where there is nothing to find.
#[test]
fn starts() {
    for from in [-30.0, 0.0, 40.0] {
        let run = Alone::new(Steep, &[1e3, from], settings(Method::Rodas, 1e-9));
        assert!((run.output(1) - 1e3f64.ln()).abs() < 1e-14, "from {from}: {}", run.output(1));
    }
    let why = refused(Empty, &[1.0, 1.0], Method::Rodas);
    assert!(why.contains("residual stays at") || why.contains("singular"), "{why}");
    let why = refused(Pendulum, &[1.0, 0.0, 0.0, 0.0, 0.0], Method::Rodas);
    assert!(why.contains("index > 1"), "{why}");
    for method in [Method::Rk45, Method::Rk4(0.1)] {
        let why = refused(Cubic, &[2.0, 1.0], method);
        assert!(why.contains("rodas"), "{why}");
    }
    let quanta = crate::solve::qss::Quanta { relative: 1e-3, minimum: 1e-6 };
    let settings = settings(Method::Rk45, 1e-9);
    let core = crate::solve::qss::Quantised::<crate::solve::qss::Explicit, 2>::new(
        None, &Cubic, &settings, quanta,
    );
    assert!(core.err().unwrap().to_string().contains("algebraic"));
}

// Two nodes, of which diodes alone say how far they are from ground, driven by x.
system!(Floating, 3; 2, |v, dx| {
    let drive = v[1].sub(&v[2].sub(&v[3]));
    let diode = |z: &S| z.div(&S::constant(0.05)).exp().mul(&S::constant(1e-9));
    dx[0] = S::constant(-1.0);
    dx[1] = drive.sub(&diode(&v[2]));
    dx[2] = drive.neg().sub(&diode(&v[3]));
});

/// "Index above 1" is said of that alone: a place at which 16 digits do not do has another name.
#[test]
fn bad_condition_is_told_from_index() {
    let why = refused(Floating, &[5.0, -30.0, -35.0], Method::Rodas);
    println!("{why}");
    assert!(why.contains("badly conditioned") && !why.contains("index"), "{why}");
}

// x' = -1, 0 = z² - x: the solution ends in a fold at t = 1.
system!(Fold, 2; 1, |v, dx| {
    dx[0] = S::constant(-1.0);
    dx[1] = v[2].mul(&v[2]).sub(&v[1]);
});

/// Where the solution ends, the run ends with an error, under every method.
#[test]
fn folds() {
    for method in [Method::Rodas, Method::Taylor(12, None)] {
        let mut run = Alone::new(Fold, &[1.0, 1.0], settings(method, 1e-9));
        let why = run.run(2.0).unwrap_err().to_string();
        println!("{why}");
        assert!(why.contains("unit"), "{why}");
    }
}
