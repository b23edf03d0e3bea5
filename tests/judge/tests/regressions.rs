//! Scenarios that once went wrong, beside those in `conformance.rs`.
mod common;
use common::*;
use superdense_judge::model::{Binary, Expr, Switching, Unary};

fn friction(
    force: f64,
    damping: f64,
    start: f64,
    resolution: u32,
) -> superdense_judge::model::Model {
    // a' = 2 + 6 sin(3t) - F - damping a, b' = (F - b/2)/2, F = 2.5 sign(a - b).
    let wave = add(n(2.0), mul(n(6.0), f(Unary::Sin, mul(n(3.0), t()))));
    let friction = mul(n(force), f(Unary::Sign, sub(x(0), x(1))));
    let a = sub(sub(wave, friction.clone()), mul(n(damping), x(0)));
    let b = div(sub(friction, mul(n(0.5), x(1))), n(2.0));
    let mut u = unit(&[start, 0.0], &[a, b]);
    u.switching = Switching::Sliding;
    u.outputs = vec![x(0)];
    model(resolution, 8, vec![u])
}

#[test]
fn sliding_is_the_same_at_every_resolution() {
    for start in [1.0, 10.0] {
        let reference = end(&friction(2.5, 0.1, start, 12), 0);
        for resolution in [6, 9, 15] {
            let other = end(&friction(2.5, 0.1, start, resolution), 0);
            let tick = 10f64.powi(-(resolution as i32));
            assert!((other - reference).abs() < 100.0 * tick + 1e-10, "{other} {reference}");
        }
    }
}

#[test]
fn tanks_run_empty() {
    let q = |i: usize| {
        let level = Expr::Binary(Binary::Max, Box::new(x(i)), Box::new(n(0.0)));
        mul(n(0.01), f(Unary::Sqrt, level))
    };
    let half = |a, b| div(sub(a, b), n(0.5));
    let u = unit(&[0.5, 0.5, 0.5], &[neg(x(0)), half(q(0), q(1)), half(q(1), q(2))]);
    let m = model(9, 20, vec![u]);
    assert!((end(&m, 0) - 0.5 * (-20.0f64).exp()).abs() < 1e-15);
}

#[test]
fn the_square_that_touches_after_a_third_is_silent() {
    let z = sub(t(), div(n(1.0), n(3.0)));
    let square = Expr::Power(Box::new(z), 2);
    let u = with(unit(&[], &[]), vec![when("e", le(square, n(0.0)), &[])]);
    happens(&alone(1, u), &[]);
}

#[test]
fn a_strict_condition_beside_an_or() {
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0, 0.0, 0.0]);
    let c = and(and(ge(x(0), n(4.0)), gt(d(0), n(0.0))), or(gt(d(1), n(-1.0)), gt(d(2), n(5.0))));
    let u = with(u, vec![when("never", c, &[(sd(1), add(d(1), n(1.0)))])]);
    happens(&alone(10, u), &[]);
}

/// Steps of a nanosecond have no end in binary numbers: the state is 2 but for roundings, and stops there.
#[test]
fn roundings_of_the_judge_move_nothing() {
    // The others divide its way into many steps.
    let rates = [sub(n(2.0), d(0)), x(2), mul(n(-4.0), x(1))];
    let u = discrete(unit(&[0.5, 1.0, 0.0], &rates), &[1.0, 0.0]);
    let first = when("first", ge(x(0), n(0.5)), &[(sd(1), n(2.0))]);
    let stops = when("stops", gt(x(0), n(2.0)), &[(sd(0), x(0))]);
    happens(
        &alone(5, with(u, vec![first, stops])),
        &[("first", 1, 0), ("stops", 1_500_000_000, 0)],
    );
}

#[test]
fn what_reads_a_side_that_is_stopped_is_decided_with_it() {
    // x comes to 2 at 1, where its speed becomes zero: sign(x - 2) is 0 there, and never 1.
    let floor = f(Unary::Floor, t());
    let u = unit(&[1.0], &[sub(n(1.0), floor)]);
    let sign = f(Unary::Sign, sub(x(0), n(2.0)));
    let m = alone(2, with(u, vec![when("e", ge(sign, n(1.0)), &[])]));
    match superdense_judge::judge(&m, &superdense_judge::Limits::default(), &[]) {
        superdense_judge::Verdict::Run(run) => assert_eq!(run.happened, []),
        superdense_judge::Verdict::Undecided(u) => assert_eq!(u.run.happened, []),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn slopes_along_a_surface_are_followed() {
    // The force comes to as much as friction at 5/2 pi, and takes nothing away.
    let friction = sub(f(Unary::Sin, t()), f(Unary::Sign, x(0)));
    let mut u = with(unit(&[-1.0], &[friction]), vec![when("off", gt(x(0), n(0.0)), &[])]);
    u.switching = Switching::Sliding;
    happens(&model(9, 8, vec![u]), &[]);
}
