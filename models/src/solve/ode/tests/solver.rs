use super::*;

/// Slope of log error over log step between two fixed steps.
fn slopes<S: OdeSystem<Error = std::convert::Infallible>>(
    system: &mut S,
    x0: &[f64],
    interpolant: Interpolant,
    exact: impl Fn(f64) -> f64,
) -> (f64, f64) {
    let mut run = |steps: u32| {
        let h = 2.0 / f64::from(steps);
        let loose =
            Options { interpolant, initial_step: h, max_step: h, ..Options::tolerance(1e9, 1e9) };
        let mut solver = Solver::dopri5(loose);
        solver.begin(0.0, x0);
        let result = errors(&mut solver, system, 2.0, &exact);
        assert_eq!(solver.statistics().accepted, u64::from(steps));
        result
    };
    let (coarse, fine) = (run(32), run(64));
    ((coarse.0 / fine.0).log2(), (coarse.1 / fine.1).log2())
}

#[test]
fn fifth_order_inside_and_at_the_ends() {
    let (ends, inside) = slopes(&mut oscillator(), &[0.0, 1.0], Interpolant::Quintic, libm::sin);
    assert!((ends - 5.0).abs() < 0.3 && (inside - 5.0).abs() < 0.4, "{ends} {inside}");
    // Logistic growth, nonlinear.
    let mut logistic =
        FnSystem::new(1, |_t, x: &[f64], dx: &mut [f64]| dx[0] = 3.0 * x[0] * (1.0 - x[0]));
    let exact = |t: f64| 1.0 / (1.0 + 9.0 * libm::exp(-3.0 * t));
    let (ends, inside) = slopes(&mut logistic, &[0.1], Interpolant::Quintic, exact);
    assert!((ends - 5.0).abs() < 0.4 && (inside - 5.0).abs() < 0.5, "{ends} {inside}");
    // Explicit time.
    let mut forced = FnSystem::new(1, |t, x: &[f64], dx: &mut [f64]| dx[0] = -x[0] * libm::cos(t));
    let exact = |t: f64| libm::exp(-libm::sin(t));
    let (ends, inside) = slopes(&mut forced, &[1.0], Interpolant::Quintic, exact);
    assert!(ends > 4.6 && inside > 4.6, "{ends} {inside}");
    // The free interpolant is of fourth order locally: its global error is one power worse inside.
    let (_, inside) = slopes(&mut oscillator(), &[0.0, 1.0], Interpolant::Quartic, libm::sin);
    assert!(inside > 4.6, "{inside}");
}

#[test]
fn dense_output_is_as_good_as_the_solution() {
    let worst = |interpolant| {
        let mut solver = Solver::dopri5(Options { interpolant, ..Options::tolerance(1e-8, 1e-8) });
        solver.begin(0.0, &[0.0, 1.0]);
        errors(&mut solver, &mut oscillator(), 10.0, libm::sin)
    };
    let (ends, inside) = worst(Interpolant::Quintic);
    assert!(inside < 1.2 * ends, "{inside} {ends}");
    let (ends, inside) = worst(Interpolant::Quartic);
    assert!(inside < 20.0 * ends, "{inside} {ends}");
}

#[test]
fn errors_follow_the_tolerance() {
    for tolerance in [1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
        let mut solver = Solver::dopri5(Options::tolerance(tolerance, tolerance));
        solver.begin(0.0, &[0.0, 1.0]);
        let (ends, inside) = errors(&mut solver, &mut oscillator(), 20.0, libm::sin);
        assert!(
            ends < 100.0 * tolerance && inside < 100.0 * tolerance,
            "{tolerance}: {ends} {inside}"
        );
        assert!(ends > 0.01 * tolerance, "{tolerance}: {ends}, steps are wasted");

        let mut decay = FnSystem::new(1, |_t, x: &[f64], dx: &mut [f64]| dx[0] = -x[0]);
        solver.begin(0.0, &[1.0]);
        let (ends, inside) = errors(&mut solver, &mut decay, 5.0, |t| libm::exp(-t));
        assert!(
            ends < 10.0 * tolerance && inside < 10.0 * tolerance,
            "{tolerance}: {ends} {inside}"
        );
    }
}

/// The estimate of an embedded pair may be zero for some lengths of steps, however large the error is; that of
/// rodas is not for real z.
#[test]
fn no_length_of_a_first_step_is_wrong() {
    for method in [Method::Rk23, Method::Rk45] {
        for tolerance in [1e-3, 1e-6, 1e-9] {
            let (mut worst, mut taken) = (0.0_f64, 0);
            for n in -60_000..=10_000 {
                let z = f64::from(n) / 20_000.0;
                let mut system =
                    FnSystem::new(1, move |_, x: &[f64], dx: &mut [f64]| dx[0] = z * x[0]);
                let first =
                    Options { initial_step: 1.0, ..Options::tolerance(tolerance, tolerance) };
                let mut solver = Solver::new(method, first);
                solver.begin(0.0, &[1.0]);
                if solver.step(&mut system, None).unwrap().t1 == 1.0 {
                    let exact = libm::exp(z);
                    let scale = tolerance * (1.0 + exact.max(1.0));
                    worst = worst.max((solver.state()[0] - exact).abs() / scale);
                    taken += 1;
                }
            }
            println!("{method:?} {tolerance}: {worst} tolerances, {taken} steps");
            assert!(worst < 16.0 && taken > 0, "{method:?}: {worst}");
        }
    }
}

/// The steps of the oscillator do not change unnoticed.
#[test]
fn effort() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-8, 1e-8));
    solver.begin(0.0, &[0.0, 1.0]);
    errors(&mut solver, &mut oscillator(), 20.0, libm::sin);
    let statistics = solver.statistics();
    let expected = Statistics {
        accepted: 198,
        rejected: 0,
        evaluations: 2 + 8 * 198 + 25,
        restarts: 1,
        truncations: 0,
    };
    assert_eq!(statistics, expected);
}

#[test]
fn projectile_is_exact_to_rounding() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-6, 1e-6));
    solver.begin(0.0, &[10.0, 3.0]);
    let exact = |t: f64| 10.0 + 3.0 * t - 0.5 * 9.81 * t * t;
    let (ends, inside) = errors(&mut solver, &mut fall(9.81), 3.0, exact);
    assert!(ends < 3e-14 && inside < 3e-14, "{ends:e} {inside:e}");
    let mut c = [0.0; 8];
    solver.dense_coeffs(0, 3.0, &mut c);
    let expected = [exact(3.0), 3.0 - 3.0 * 9.81, -0.5 * 9.81];
    for (k, c) in c.iter().enumerate() {
        assert!((c - expected.get(k).unwrap_or(&0.0)).abs() < 1e-11, "{k} {c:e}");
    }
}

#[test]
fn taylor_coefficients_inside_a_step() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-12, 1e-12));
    solver.begin(0.0, &[0.0, 1.0]);
    let mut step = solver.step(&mut oscillator(), None).unwrap();
    for _ in 0..20 {
        step = solver.step(&mut oscillator(), None).unwrap();
    }
    let at = 0.5 * (step.t0 + step.t1);
    let mut c = [0.0; 4];
    solver.dense_coeffs(0, at, &mut c);
    let expected = [at.sin(), at.cos(), -at.sin() / 2.0, -at.cos() / 6.0];
    for (k, (c, expected)) in c.iter().zip(expected).enumerate() {
        assert!((c - expected).abs() < [1e-11, 1e-9, 1e-7, 1e-4][k], "{k}: {c} {expected}");
    }
}

#[test]
fn steps_do_not_depend_on_a_caller_that_only_looks() {
    let mut solver = Solver::dopri5(Options::default());
    solver.begin(0.0, &[0.0, 1.0]);
    let natural: Vec<f64> =
        (0..20).map(|_| solver.step(&mut oscillator(), None).unwrap().t1).collect();
    // A far limit changes nothing until it is reached; a clipped step keeps the natural size.
    let limit = 0.5 * (natural[9] + natural[10]);
    solver.begin(0.0, &[0.0, 1.0]);
    for &t1 in &natural[..10] {
        assert_eq!(solver.step(&mut oscillator(), Some(limit)).unwrap().t1, t1);
    }
    let next = solver.next_step();
    let step = solver.step(&mut oscillator(), Some(limit)).unwrap();
    assert!(step.clipped && step.t1 == limit && solver.time() == limit);
    assert_eq!(solver.next_step(), next);
    assert!(matches!(solver.step(&mut oscillator(), Some(limit)), Err(StepError::NotAhead { .. })));
    assert!(matches!(
        solver.step(&mut oscillator(), Some(f64::NAN)),
        Err(StepError::NotAhead { .. })
    ));
}

#[test]
fn truncation_continues_from_the_dense_output() {
    let mut solver = Solver::dopri5(Options::tolerance(1e-10, 1e-10));
    solver.begin(0.0, &[0.0, 1.0]);
    for _ in 0..5 {
        solver.step(&mut oscillator(), None).unwrap();
    }
    let step = solver.step(&mut oscillator(), None).unwrap();
    let at = 0.3 * step.t0 + 0.7 * step.t1;
    let size = solver.next_step().min(step.t1 - step.t0);
    let mut x = [0.0; 2];
    solver.dense(at, &mut x);
    solver.truncate_to(at).unwrap();
    assert_eq!((solver.time(), solver.state()), (at, &x[..]));
    assert!((solver.next_step() - size).abs() < 1e-15);
    // What was kept of the step can still be read, what was cut off is gone.
    solver.dense(step.t0, &mut x);
    assert!((x[0] - step.t0.sin()).abs() < 1e-9);
    assert!(solver.truncate_to(step.t1).is_err() && solver.truncate_to(-1.0).is_err());
    solver.shift_origin(at);
    assert_eq!(solver.time(), 0.0);
    let (ends, inside) = errors(&mut solver, &mut oscillator(), 3.0, |t| (t + at).sin());
    assert!(ends < 1e-8 && inside < 1e-8);
}

#[test]
fn copies_continue_byte_equally() {
    let mut van_der_pol = FnSystem::new(2, |_t, x: &[f64], dx: &mut [f64]| {
        dx[0] = x[1];
        dx[1] = 5.0 * (1.0 - x[0] * x[0]) * x[1] - x[0];
    });
    let mut solver = Solver::dopri5(Options { nominal: vec![2.0, 10.0], ..Options::default() });
    solver.begin(0.0, &[2.0, 0.0]);
    let mut steps = 0;
    let mut advance = |solver: &mut Solver| {
        for k in 0..25 {
            let step = solver.step(&mut van_der_pol, None).unwrap();
            if k == 3 {
                solver.truncate_to(0.5 * (step.t0 + step.t1)).unwrap();
            }
        }
    };
    while steps < 20 {
        let bytes = postcard::to_stdvec(&solver).unwrap();
        let mut restored: Solver = postcard::from_bytes(&bytes).unwrap();
        let mut cloned = solver.clone();
        assert_eq!(postcard::to_stdvec(&cloned).unwrap(), bytes);
        for copy in [&mut solver, &mut restored, &mut cloned] {
            advance(copy);
        }
        let bytes = postcard::to_stdvec(&solver).unwrap();
        assert_eq!(postcard::to_stdvec(&restored).unwrap(), bytes);
        assert_eq!(postcard::to_stdvec(&cloned).unwrap(), bytes);
        steps += 1;
    }
    assert!(solver.statistics().rejected > 0);
}

/// Fails beyond a time.
struct Refusing;

impl OdeSystem for Refusing {
    type Error = &'static str;

    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, t: f64, _x: &[f64], dx: &mut [f64]) -> Result<(), Self::Error> {
        dx[0] = 1.0;
        if t > 1.0 { Err("no input yet") } else { Ok(()) }
    }
}

#[test]
fn failures_are_named_and_leave_the_state() {
    let mut solver = Solver::dopri5(Options::default());
    solver.begin(0.0, &[0.0]);
    let error = (0..).find_map(|_| solver.step(&mut Refusing, None).err()).unwrap();
    assert_eq!(error, StepError::Rhs("no input yet"));
    assert_eq!(error.to_string(), "right-hand side: no input yet");
    let reached = solver.time();
    assert!((solver.state()[0] - reached).abs() < 1e-15 && reached < 1.0);
    solver.step(&mut Refusing, Some(1.0)).unwrap();
    assert!((solver.state()[0] - 1.0).abs() < 1e-15);

    // A derivative that is not finite at the start, later, and a pole.
    let mut bad =
        FnSystem::new(2, |_t, _x: &[f64], dx: &mut [f64]| dx.copy_from_slice(&[0.0, f64::NAN]));
    solver.begin(0.5, &[0.0, 0.0]);
    assert_eq!(solver.step(&mut bad, None), Err(StepError::NotFinite { t: 0.5, component: 1 }));
    let mut wall = FnSystem::new(1, |t: f64, _x: &[f64], dx: &mut [f64]| dx[0] = (1.0 - t).sqrt());
    solver.begin(0.0, &[0.0]);
    let error = (0..100_000).find_map(|_| solver.step(&mut wall, None).err()).unwrap();
    assert!(
        matches!(error, StepError::NotFinite { component: 0, t } if (t - 1.0).abs() < 1e-6),
        "{error}"
    );
    let mut pole = FnSystem::new(1, |_t, x: &[f64], dx: &mut [f64]| dx[0] = x[0] * x[0]);
    solver.begin(0.0, &[1.0]);
    let error = (0..100_000).find_map(|_| solver.step(&mut pole, None).err()).unwrap();
    assert!(solver.time() < 1.0 && solver.time() > 0.999, "{error}");
    let mut larger = oscillator();
    assert!(matches!(
        solver.step(&mut larger, None),
        Err(StepError::Dimension { system: 2, solver: 1 })
    ));
}

#[test]
fn no_states_at_all() {
    let mut nothing = FnSystem::new(0, |_t, _x: &[f64], _dx: &mut [f64]| {});
    let mut solver = Solver::dopri5(Options { max_step: 2.0, ..Options::default() });
    solver.begin(0.0, &[]);
    assert_eq!(solver.step(&mut nothing, Some(1e-9)).unwrap().t1, 1e-9);
}

/// A fast eigenvalue beside a slow motion limits the steps by stability, an oscillation by its error.
#[test]
fn stiffness_shows() {
    for method in [Method::Rk45, Method::Rk23] {
        let stiff_after = |rate: f64, end: f64| {
            let mut system = FnSystem::new(2, move |t: f64, x: &[f64], dx: &mut [f64]| {
                dx[0] = rate * (t.cos() - x[0]);
                dx[1] = -x[1];
            });
            let mut solver = Solver::new(method, Options::tolerance(1e-6, 1e-6));
            solver.begin(0.0, &[1.0, 1.0]);
            let mut stiff = 0;
            for _ in 0..40 {
                solver.step(&mut system, Some(end)).unwrap();
                stiff += u32::from(solver.is_stiff(&mut system).unwrap());
            }
            stiff
        };
        assert!(stiff_after(1e4, 1e3) > 20, "{method:?}");
        assert_eq!(stiff_after(1.0, 1e3), 0, "{method:?}");
        let mut system = oscillator();
        let mut solver = Solver::new(method, Options::tolerance(1e-6, 1e-6));
        solver.begin(0.0, &[1.0, 0.0]);
        for _ in 0..40 {
            solver.step(&mut system, None).unwrap();
            assert!(!solver.is_stiff(&mut system).unwrap(), "{method:?}");
        }
    }
}
