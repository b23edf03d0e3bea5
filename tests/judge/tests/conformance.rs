//! Cases H of the conformance list, and what once went wrong.
mod common;
use common::*;
use superdense_judge::model::{Direction, Unary};
use superdense_judge::{FailureKind, Limits, Verdict, judge};

const S: i64 = 1_000_000_000;

#[test]
fn h6_grazing_is_no_event() {
    let z = mul(sub(t(), n(1.0)), sub(t(), n(1.0)));
    let u = with(
        unit(&[], &[]),
        vec![when("le", le(z.clone(), n(0.0)), &[]), crossing("cross", z, Direction::Both)],
    );
    happens(&alone(3, u), &[]);
}

#[test]
fn h7_linear_root_off_the_grid() {
    let u = with(unit(&[-1.0], &[n(3.0)]), vec![when("e", ge(x(0), n(0.0)), &[])]);
    let m = alone(1, u);
    happens(&m, &[("e", 333_333_334, 0)]);
    let after = run(&m).happened[0].after[0].middle();
    assert!((after - 2e-9).abs() < 1e-24, "{after}");
}

#[test]
fn h8_simultaneous_roots_and_a_clock() {
    let u = with(
        unit(&[-1.0, -2.0], &[n(1.0), n(2.0)]),
        vec![
            when("a", ge(x(0), n(0.0)), &[]),
            when("b", ge(x(1), n(0.0)), &[]),
            once("clock", at(1, 1), &[]),
        ],
    );
    happens(&alone(2, u), &[("a", S, 0), ("b", S, 0), ("clock", S, 0)]);
}

#[test]
fn h9_stale_root() {
    let u = discrete(unit(&[-0.4], &[d(0)]), &[1.0]);
    let u = with(
        u,
        vec![
            once("down", at(3, 10), &[(sd(0), n(-1.0))]),
            once("up", at(6, 10), &[(sd(0), n(1.0))]),
            when("zero", ge(x(0), n(0.0)), &[]),
        ],
    );
    happens(&alone(2, u), &[("down", 3 * S / 10, 0), ("up", 6 * S / 10, 0), ("zero", S, 0)]);
}

#[test]
fn h11_impulse_feedback() {
    let e = when("e", ge(x(0), n(1.05)), &[(sx(0), sub(x(0), n(0.5)))]);
    let m = alone(5, with(unit(&[0.0], &[n(1.0)]), vec![e]));
    let expected: Vec<(String, i64, u32)> =
        (0..8).map(|k| ("e".into(), 1_050_000_000 + k * 500_000_000, 0)).collect();
    assert_eq!(tags(&m), expected);
    assert!((end(&m, 0) - 1.0).abs() < 1e-12);
}

fn ball(rest: bool) -> superdense_judge::model::Model {
    let u = unit(&[5.0, 0.0], &[x(1), n(-10.0)]);
    let mut e = when(
        "bounce",
        and(le(x(0), n(0.0)), lt(x(1), n(0.0))),
        &[(sx(0), n(0.0)), (sx(1), mul(n(-0.5), x(1)))],
    );
    if rest {
        e.rest = Some(superdense_judge::model::Rest {
            within: at(5, 100),
            values: vec![(sx(0), 0.0), (sx(1), 0.0)],
        });
    }
    alone(4, with(u, vec![e]))
}

#[test]
fn h15_dyadic_ball_ends_in_zeno() {
    match judge(&ball(false), &Limits::default(), &[]) {
        Verdict::Error(failure) => {
            assert_eq!(failure.kind, FailureKind::Chattering);
            assert!(failure.time.lo <= 3 * S + 100 && failure.time.hi >= 3 * S);
            // 3 - 2^(2-n), exact in ns up to n = 11.
            for k in 0..11 {
                let tick = failure.run.happened[k].tick;
                let expected = 3 * S - 4 * S / (1 << (k + 1));
                assert_eq!((tick.lo, tick.hi), (expected, expected), "{k}");
            }
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn h15_with_rest_comes_to_rest() {
    // Impacts 1, 2, 2.5, 2.75, 2.875, 2.9375, 2.96875 (31.25 ms later: rest).
    let m = ball(true);
    let ticks: Vec<i64> = tags(&m).iter().map(|t| t.1).collect();
    let ms = [1000.0, 2000.0, 2500.0, 2750.0, 2875.0, 2937.5, 2968.75];
    assert_eq!(ticks, ms.map(|t| (t * 1e6) as i64));
    assert_eq!((end(&m, 0), end(&m, 1)), (0.0, 0.0));
}

#[test]
fn h17_thermostat() {
    let u = discrete(unit(&[20.0], &[cond(gt(d(0), n(0.5)), n(2.0), n(-1.0))]), &[1.0]);
    let u = with(
        u,
        vec![
            when("off", ge(x(0), n(22.0)), &[(sd(0), n(0.0))]),
            when("on", le(x(0), n(20.0)), &[(sd(0), n(1.0))]),
        ],
    );
    let found = tags(&alone(100, u));
    for (i, (name, tick, _)) in found.iter().enumerate() {
        let k = i as i64 / 2;
        let expected = if i % 2 == 0 { ("off", 3 * k + 1) } else { ("on", 3 * k + 3) };
        assert_eq!((name.as_str(), *tick), (expected.0, expected.1 * S));
    }
    assert_eq!(found.len(), 67);
}

#[test]
fn h22_chattering_is_an_error() {
    let u = unit(&[0.3], &[neg(f(Unary::Sign, x(0)))]);
    match judge(&alone(1, u), &Limits::default(), &[]) {
        Verdict::Error(failure) => {
            assert_eq!(failure.kind, FailureKind::Chattering);
            assert_eq!(failure.time.lo, 300_000_000);
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn h23_identical_conditions_both_happen() {
    let u = discrete(unit(&[1.0], &[n(-1.0)]), &[0.0, 0.0]);
    let mut first = when("first", le(x(0), n(0.0)), &[(sd(0), add(d(0), n(1.0)))]);
    let second = when("second", le(x(0), n(0.0)), &[(sd(1), add(d(0), n(10.0)))]);
    happens(
        &alone(2, with(u.clone(), vec![first.clone(), second.clone()])),
        &[("first", S, 0), ("second", S, 0)],
    );
    let m = alone(2, with(u.clone(), vec![first.clone(), second.clone()]));
    assert_eq!(run(&m).end[0].discrete[1].middle(), 11.0);
    first.priority = 1;
    let m = alone(2, with(u, vec![first, second]));
    happens(&m, &[("second", S, 0), ("first", S, 0)]);
    assert_eq!(run(&m).end[0].discrete[1].middle(), 10.0);
}

#[test]
fn h24_threshold_that_an_event_changes() {
    // Both are due at 1 s: the second keeps its turn although its threshold has moved.
    let raise = once("raise", at(1, 1), &[(sd(0), n(2.0))]);
    let over = when("over", ge(x(0), d(0)), &[(sd(1), d(0))]);
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[1.0, 0.0]);
    let m = alone(3, with(u, vec![raise, over.clone()]));
    happens(&m, &[("raise", S, 0), ("over", S, 0), ("over", 2 * S, 0)]);
    // The threshold comes down below the state: reported once, a cycle later.
    let lower = once("lower", at(1, 1), &[(sd(0), n(0.5))]);
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[1.5, 0.0]);
    happens(&alone(3, with(u, vec![lower, over])), &[("lower", S, 0), ("over", S, 1)]);
}

#[test]
fn the_pump_never_starts() {
    let u = discrete(unit(&[0.0], &[sub(n(0.25), d(2))]), &[0.0, 0.0, 0.0]);
    let level = ge(x(0), n(1.0));
    let forms = [
        and(level.clone(), or(gt(d(0), n(0.0)), gt(d(1), n(0.0)))),
        and(level.clone(), or(lt(d(0), n(0.0)), lt(d(1), n(0.0)))),
        and(level.clone(), not(and(le(d(0), n(0.0)), le(d(1), n(0.0))))),
        or(and(level.clone(), gt(d(0), n(0.0))), and(level.clone(), gt(d(1), n(0.0)))),
        // Or in strict form with a condition that always holds.
        and(and(level, gt(d(0), n(0.0))), or(gt(d(1), n(-1.0)), gt(d(2), n(5.0)))),
    ];
    for form in forms {
        let u = with(u.clone(), vec![when("start", form, &[(sd(2), n(1.0))])]);
        happens(&alone(10, u), &[]);
    }
}

#[test]
fn no_event_where_a_threshold_is_left_backwards() {
    for resolution in [3, 6, 9, 12, 15] {
        let u =
            with(unit(&[1.0, 0.0], &[x(1), neg(x(0))]), vec![when("touch", ge(x(0), n(1.0)), &[])]);
        happens(&model(resolution, 1, vec![u]), &[]);
        let u =
            with(unit(&[1.0, 0.0], &[x(1), n(-1.0)]), vec![when("touch", ge(x(0), n(1.0)), &[])]);
        happens(&model(resolution, 1, vec![u]), &[]);
    }
}

#[test]
fn what_is_approached_is_never_reached() {
    let u = with(unit(&[0.0], &[sub(n(1.0), x(0))]), vec![when("reached", ge(x(0), n(1.0)), &[])]);
    happens(&alone(60, u), &[]);
}
