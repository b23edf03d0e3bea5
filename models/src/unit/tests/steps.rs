//! Runs that stand, or as good as stand.
use super::*;

// A fast decay towards cos t, and a vibration within a millionth of a tick.
system!(Stiff, 1, |v, dx| {
    dx[0] = v[0].cos().sub(&v[1]).mul(&S::constant(1e9));
});
system!(Tremor, 2, |v, dx| {
    dx[0] = v[2].mul(&S::constant(1e15));
    dx[1] = v[1].mul(&S::constant(-1e15));
});

/// Equations that are too stiff for a method end the run, which names one that takes them.
#[test]
fn stiff_equations_name_the_method() {
    for method in [Method::Rk45, Method::Rk23] {
        let mut run = Alone::new(Stiff, &[1.0], settings(method, 1e-6));
        let why = run.run(1.0).unwrap_err().to_string();
        println!("{why}");
        assert!(why.contains("too stiff") && why.contains("method = \"rodas\""), "{why}");
    }
    Alone::new(Stiff, &[1.0], settings(Method::Rodas, 1e-6)).run(1.0).unwrap();
}

/// A run whose steps go on by less than a tick together ends, too; at a finer resolution it goes on.
#[test]
fn standing_runs_end() {
    let at = |resolution| Settings { resolution, ..settings(Method::Rk45, 1e-9) };
    let why = Alone::new(Tremor, &[1.0, 0.0], at(Resolution::MICRO)).run(1.0).unwrap_err();
    println!("{why}");
    assert!(why.to_string().contains("makes the time stand"), "{why}");
    Alone::new(Tremor, &[1.0, 0.0], at(Resolution::FEMTO)).run(1e-13).unwrap();
}
