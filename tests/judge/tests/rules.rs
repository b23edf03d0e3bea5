//! The rules for relations, one by one; expected values by hand.
mod common;
use common::*;
use superdense_judge::model::{
    Comparison, Condition, Direction, Mode, Switching, Trigger, Unary, Variable,
};
use superdense_judge::{Limits, Reason, Verdict, judge};

const S: i64 = 1_000_000_000;

fn count() -> [(Variable, superdense_judge::model::Expr); 1] {
    [(sd(0), add(d(0), n(1.0)))]
}

#[test]
fn rule_1_equal_relations_have_one_side() {
    // With sine, the three forms have one root, and only one relation is searched.
    let osc = unit(&[0.0, 1.0], &[x(1), neg(x(0))]);
    let c = and(and(ge(x(0), n(0.5)), le(n(0.5), x(0))), not(lt(sub(x(0), n(0.5)), n(0.0))));
    let m = alone(1, with(osc, vec![when("e", c, &[])]));
    // asin(0.5) = pi/6 = 0.52359877559829887
    let tick = run(&m).happened[0].tick;
    assert!(tick.lo > 523_598_700 && tick.hi < 523_598_900 && run(&m).happened.len() == 1);
    let middle = (tick.lo + tick.hi) / 2;
    assert_eq!(middle, 523_598_776);
}

#[test]
fn rule_2_what_does_not_move_is_compared() {
    let u = discrete(unit(&[], &[]), &[0.0, 0.0]);
    let tick = |k: i64| once(&format!("t{k}"), at(k, 1), &[(sd(0), add(d(0), n(1.0)))]);
    let e = when("three", eq(d(0), n(3.0)), &[(sd(1), d(0))]);
    let m = alone(6, with(u, vec![tick(1), tick(2), tick(3), tick(4), e]));
    happens(
        &m,
        &[("t1", S, 0), ("t2", 2 * S, 0), ("t3", 3 * S, 0), ("three", 3 * S, 1), ("t4", 4 * S, 0)],
    );
}

#[test]
fn rule_3_a_reset_onto_a_threshold_is_decided_by_where_it_goes() {
    // From 0.5 onto 1: upwards the condition becomes true, downwards it does not.
    for (speed, expected) in [(1.0, vec![("go", S, 0), ("e", S, 1)]), (-1.0, vec![("go", S, 0)])] {
        let u = discrete(unit(&[0.5], &[d(0)]), &[0.0]);
        let go = once("go", at(1, 1), &[(sx(0), n(1.0)), (sd(0), n(speed))]);
        let m = alone(2, with(u, vec![go, when("e", ge(x(0), n(1.0)), &[])]));
        happens(&m, &expected);
    }
    // At rest the side is 0: >= holds, > does not.
    let u = unit(&[0.5], &[n(0.0)]);
    let go = once("go", at(1, 1), &[(sx(0), n(1.0))]);
    let both = vec![go, when("ge", ge(x(0), n(1.0)), &[]), when("gt", gt(x(0), n(1.0)), &[])];
    happens(&alone(2, with(u, both)), &[("go", S, 0), ("ge", S, 1)]);
}

#[test]
fn rule_4_strict_and_not_strict_flip_at_one_tick() {
    let u = with(
        unit(&[0.0], &[n(1.0)]),
        vec![
            when("ge", ge(x(0), n(0.5)), &[]),
            when("gt", gt(x(0), n(0.5)), &[]),
            when("not lt", not(lt(x(0), n(0.5))), &[]),
        ],
    );
    let half = S / 2;
    happens(&alone(1, u), &[("ge", half, 0), ("gt", half, 0), ("not lt", half, 0)]);
}

#[test]
fn rule_5_touching_is_nothing_without_a_band() {
    let z = mul(sub(t(), n(1.0)), sub(t(), n(1.0)));
    let with_band = |condition: Condition, band: f64| {
        let mut e = when("e", condition, &[]);
        if let Trigger::When { touching, .. } = &mut e.trigger {
            *touching = Some(band);
        }
        alone(3, with(unit(&[], &[]), vec![e]))
    };
    happens(&with_band(le(z.clone(), n(0.0)), 1e-6), &[("e", S, 0)]);
    // Missed by 0.01, and the band is 0.001 or 0.1.
    let missed = add(z, n(0.01));
    happens(&with_band(le(missed.clone(), n(0.0)), 0.001), &[]);
    happens(&with_band(le(missed.clone(), n(0.0)), 0.1), &[("e", S, 0)]);
    // Side 0 is not below.
    happens(&with_band(lt(missed, n(0.0)), 0.1), &[]);
}

#[test]
fn rule_6_roots_within_a_snap_are_on_the_tick() {
    // 0.3 and 0.1 are not decimal numbers; the root is 1e-7 ticks away from 3 s.
    let u = with(unit(&[0.0], &[n(0.1)]), vec![when("e", ge(x(0), n(0.3)), &[])]);
    happens(&alone(4, u), &[("e", 3 * S, 0)]);
    // 2.5 ticks of 1 s: the third.
    let u = with(unit(&[0.0], &[n(1.0)]), vec![when("e", ge(x(0), n(2.5)), &[])]);
    happens(&model(0, 5, vec![u]), &[("e", 3, 0)]);
}

#[test]
fn rule_7_start_on_the_threshold() {
    let events = vec![
        when("ge", ge(x(0), n(1.0)), &[]),
        when("gt", gt(x(0), n(1.0)), &[]),
        when("not lt", not(lt(x(0), n(1.0))), &[]),
        when("le", le(x(0), n(1.0)), &[]),
        crossing("cross", sub(x(0), n(1.0)), Direction::Both),
    ];
    let go = |speed: f64| alone(1, with(unit(&[1.0], &[n(speed)]), events.clone()));
    happens(&go(1.0), &[("ge", 1, 0), ("gt", 1, 0), ("not lt", 1, 0)]);
    happens(&go(0.0), &[]);
    happens(&go(-1.0), &[("le", 1, 0)]);
    // Moving by the second derivative.
    let u = with(unit(&[1.0, 0.0], &[x(1), n(1.0)]), events);
    happens(&alone(1, u), &[("ge", 1, 0), ("gt", 1, 0), ("not lt", 1, 0)]);
}

#[test]
fn rule_7_start_on_a_whole_number() {
    let go = |speed: f64| {
        let events = vec![
            when("below", lt(f(Unary::Floor, x(0)), n(1.0)), &[]),
            when("at", ge(f(Unary::Floor, x(0)), n(1.0)), &[]),
            when("above", gt(f(Unary::Ceil, x(0)), n(1.0)), &[]),
            when("other", gt(f(Unary::Floor, x(0)), n(3.0)), &[]),
        ];
        alone(1, with(unit(&[1.0], &[n(speed)]), events))
    };
    happens(&go(-0.5), &[("below", 1, 0)]);
    happens(&go(0.0), &[]);
    happens(&go(0.5), &[("at", 1, 0), ("above", 1, 0)]);
}

#[test]
fn rule_8_a_difference_that_rests_at_zero_flips_by_no_rounding() {
    // 1e-9 s is no double, so that the state and the time differ by roundings from tick 1 on.
    let events = vec![
        when("begin", gt(x(0), n(0.0)), &[]),
        when("ahead", lt(t(), x(0)), &[]),
        crossing("two", sub(x(0), n(2.0)), Direction::Rising),
    ];
    let u = with(unit(&[0.0], &[n(1.0)]), events);
    happens(&alone(3, u), &[("begin", 1, 0), ("two", 2 * S, 0)]);
}

#[test]
fn rule_8_a_condition_that_stays_true_happens_once() {
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    let e = when("e", or(ge(x(0), n(0.5)), ge(x(0), n(0.75))), &count());
    happens(&alone(1, with(u, vec![e])), &[("e", S / 2, 0)]);
}

#[test]
fn rule_9_flips_in_one_tick_act_together() {
    // A pulse between 0.25 s and 0.5 s, at ticks of 1 s.
    let u = unit(&[0.0], &[n(1.0)]);
    let pulse = mul(sub(x(0), n(0.25)), sub(n(0.5), x(0)));
    let events = vec![
        when("when", ge(pulse.clone(), n(0.0)), &[]),
        crossing("both", pulse, Direction::Both),
    ];
    happens(&model(0, 3, vec![with(u, events)]), &[("both", 1, 0)]);
}

#[test]
fn rule_10_priority_and_what_was_left() {
    let left = when("left", ge(x(0), n(1.0)), &count());
    let mut go = when("go", ge(x(0), n(1.0)), &[]);
    go.to = Some(1);
    let mut u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    u.modes = vec![
        Mode { derivatives: None, events: vec![go, left] },
        Mode { derivatives: Some(vec![None]), events: vec![] },
    ];
    let m = alone(3, u);
    happens(&m, &[("go", S, 0)]);
    assert!((end(&m, 0) - 1.0).abs() < 1e-15);
}

#[test]
fn rule_11_micro_steps_follow_resets() {
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    let events = vec![
        when("a", ge(x(0), n(1.0)), &count()),
        when("b", ge(d(0), n(1.0)), &count()),
        when("c", ge(d(0), n(2.0)), &count()),
    ];
    happens(&alone(2, with(u, events)), &[("a", S, 0), ("b", S, 1), ("c", S, 2)]);
    // For ever: R11(a).
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    let flip = [(sd(0), sub(n(1.0), d(0)))];
    let events = vec![
        when("a", ge(x(0), n(1.0)), &flip),
        when("up", ge(d(0), n(1.0)), &flip),
        when("down", le(d(0), n(0.0)), &flip),
    ];
    let limits = Limits { events: 100_000, ..Limits::default() };
    match judge(&alone(2, with(u, events)), &limits, &[]) {
        Verdict::Error(failure) => {
            assert_eq!(failure.kind, superdense_judge::FailureKind::MicroSteps);
            assert_eq!((failure.time.lo, failure.time.hi), (S, S));
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn rule_12_contact_from_one_side() {
    // Reset onto the surface and upwards, with v < 0 in the condition: one event for each impact.
    let u = unit(&[5.0, 0.0], &[x(1), n(-10.0)]);
    let e = when(
        "hit",
        and(le(x(0), n(0.0)), lt(x(1), n(0.0))),
        &[(sx(0), n(0.0)), (sx(1), neg(x(1)))],
    );
    happens(&alone(6, with(u, vec![e])), &[("hit", S, 0), ("hit", 3 * S, 0), ("hit", 5 * S, 0)]);
}

#[test]
fn rule_12_resets_onto_whole_numbers() {
    let up = when("e", gt(f(Unary::Ceil, x(0)), n(2.0)), &[(sx(0), n(2.0))]);
    match judge(&alone(8, with(unit(&[0.0], &[n(0.3)]), vec![up])), &Limits::default(), &[]) {
        Verdict::Error(failure) => {
            assert_eq!(failure.kind, superdense_judge::FailureKind::FallsThrough);
        }
        other => panic!("{other:#?}"),
    }
    // A remainder ends by itself, and is small again at the next whole number.
    let small = when("e", lt(modulo(x(0), n(1.0)), n(0.5)), &[(sx(0), f(Unary::Floor, x(0)))]);
    let tags = tags(&alone(8, with(unit(&[0.0], &[n(0.3)]), vec![small])));
    assert_eq!(tags.iter().map(|t| t.1 / S).collect::<Vec<_>>(), [0, 3, 6]);
    // Another whole number than the condition's.
    let set = once("set", at(5, 4), &[(sd(0), n(1.0))]);
    let ready = and(gt(f(Unary::Ceil, x(0)), n(1.0)), gt(d(0), n(0.0)));
    let down = when("e", ready, &[(sx(0), n(3.0))]);
    let u = discrete(unit(&[4.0], &[n(-1.0)]), &[0.0]);
    happens(&alone(2, with(u, vec![set, down])), &[("set", 5 * S / 4, 0), ("e", 5 * S / 4, 1)]);
}

#[test]
fn rule_13_entry_happens_a_micro_step_later() {
    let mut go = when("go", ge(x(0), n(1.0)), &[]);
    go.to = Some(1);
    let mut again = once("again", at(2, 1), &[]);
    again.to = Some(1);
    let mut u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    u.events = vec![again];
    u.modes = vec![
        Mode { derivatives: None, events: vec![go] },
        Mode { derivatives: None, events: vec![when("in", ge(x(0), n(0.5)), &count())] },
    ];
    happens(&alone(3, u), &[("go", S, 0), ("in", S, 1), ("again", 2 * S, 0)]);
}

#[test]
fn rule_13_a_mode_that_is_entered_again() {
    // x' = 3 (1 - t) comes to 1 at 1 - 1/sqrt(3), is stopped a part of a tick later, and goes back from there.
    let mut hit = when("hit", ge(x(0), n(1.0)), &[]);
    hit.to = Some(1);
    let mut go = when("go", ge(t(), n(2.0)), &[]);
    go.to = Some(0);
    let mut u = unit(&[0.0], &[n(0.0)]);
    u.modes = vec![
        Mode { derivatives: Some(vec![Some(mul(n(3.0), sub(n(1.0), t())))]), events: vec![hit] },
        Mode { derivatives: Some(vec![Some(n(0.0))]), events: vec![go] },
    ];
    happens(&alone(3, u), &[("hit", 422_649_731, 0), ("go", 2 * S, 0)]);
}

#[test]
fn rule_14_equality_at_a_flip_and_at_rest() {
    let u = discrete(unit(&[0.0], &[d(0)]), &[1.0]);
    let e = when("e", eq(x(0), n(0.5)), &[]);
    let stop = once("stop", at(3, 4), &[(sd(0), n(0.0)), (sx(0), n(0.5))]);
    let m = alone(2, with(u, vec![e, stop]));
    happens(&m, &[("e", S / 2, 0), ("stop", 3 * S / 4, 0), ("e", 3 * S / 4, 1)]);
    let differs = Condition::Relation(Comparison::NotEqual, x(0), n(0.5));
    let u = with(unit(&[0.5], &[n(0.0)]), vec![when("e", differs, &[])]);
    happens(&alone(1, u), &[]);
}

#[test]
fn rule_15_conditions_on_the_time() {
    let u = unit(&[], &[]);
    let third = when("e", ge(t(), div(n(1.0), n(3.0))), &[]);
    let event = once("at", at(1, 3), &[]);
    happens(
        &alone(1, with(u.clone(), vec![third, event])),
        &[("at", 333_333_333, 0), ("e", 333_333_334, 0)],
    );
    let tenth = when("e", ge(t(), n(0.1)), &[]);
    for resolution in [3, 6, 9, 12] {
        let m = model(resolution, 1, vec![with(u.clone(), vec![tenth.clone()])]);
        happens(&m, &[("e", 10i64.pow(resolution) / 10, 0)]);
    }
}

#[test]
fn rule_16_kinks_are_followed() {
    // x' = 1 up to 1, then x' = 3 - 2x from x = 1: approaches 1.5. At ticks of 1 ns the kink is exact.
    let rate = cond(ge(x(0), n(1.0)), sub(n(3.0), mul(n(2.0), x(0))), n(1.0));
    let m = alone(3, unit(&[0.0], &[rate]));
    let expected = 1.5 - 0.5 * (-4.0f64).exp();
    assert!((end(&m, 0) - expected).abs() < 1e-14);
    // abs: x' = -|x - 1| from 2 to 1 + exp(-1).
    let u = unit(&[2.0], &[neg(f(Unary::Abs, sub(x(0), n(1.0))))]);
    assert!((end(&alone(1, u), 0) - 1.0 - (-1.0f64).exp()).abs() < 1e-14);
    // floor: x' = 1 + floor(x): 1 s to 1, 1/2 s to 2, 1/4 of 3 per second.
    let u = unit(&[0.0], &[add(n(1.0), f(Unary::Floor, x(0)))]);
    let m = model(9, 2, vec![u]);
    // At 1.5 s it is 2; the third takes 1/3 s, after 1.8333333334 s it is 3.000000001.
    let expected = 3.0 + 1e-9 + 4.0 * (2.0 - 1.833_333_334);
    assert!((end(&m, 0) - expected).abs() < 2e-9, "{}", end(&m, 0));
    let u = unit(&[0.0], &[modulo(t(), n(0.5))]);
    assert!((end(&alone(1, u), 0) - 0.25).abs() < 1e-14);
}

#[test]
fn rule_17_inner_relations_first() {
    // min(x, 1) never exceeds 1, but it reaches it.
    let events = vec![
        when("gt", gt(min(x(0), n(1.0)), n(1.0)), &[]),
        when("ge", ge(min(x(0), n(1.0)), n(1.0)), &[]),
    ];
    happens(&alone(2, with(unit(&[0.0], &[n(1.0)]), events)), &[("ge", S, 0)]);
}

#[test]
fn rule_18_friction_slides() {
    // 2 sin(t) - sign(v): sticks until sin(t) = 1/2, then v' = 2 sin(t) - 1.
    let force = mul(n(2.0), f(Unary::Sin, t()));
    let mut u = unit(&[0.0], &[sub(force, f(Unary::Sign, x(0)))]);
    u.switching = Switching::Sliding;
    u.outputs = vec![f(Unary::Sign, x(0))];
    for resolution in [6, 9, 12] {
        let m = model(resolution, 2, vec![u.clone()]);
        let start = std::f64::consts::PI / 6.0;
        let expected = 2.0 * (start.cos() - 2.0f64.cos()) - (2.0 - start);
        assert!((end(&m, 0) - expected).abs() < 1e-11, "{} {expected}", end(&m, 0));
        assert_eq!(run(&m).end[0].outputs[0].middle(), 1.0);
    }
    let m = Limits::default();
    let early = alone(2, u);
    match judge(&early, &m, &[at(1, 4)]) {
        Verdict::Run(run) => {
            let output = run.samples[0].units[0].outputs[0].middle();
            assert!((output - 2.0 * 0.25f64.sin()).abs() < 1e-12, "{output}");
            assert_eq!(run.samples[0].units[0].states[0].middle(), 0.0);
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn rule_23_pre_is_the_value_before_the_cycle() {
    let u = discrete(unit(&[0.0], &[n(1.0)]), &[0.0, 0.0]);
    let first = when("a", ge(x(0), n(1.0)), &[(sx(0), n(5.0))]);
    let pre = superdense_judge::model::Expr::Pre(sx(0));
    let second = when("b", ge(x(0), n(1.0)), &[(sd(0), pre), (sd(1), x(0))]);
    let m = alone(1, with(u, vec![first, second]));
    let run = run(&m);
    assert_eq!(run.end[0].discrete[0].middle(), 1.0);
    assert_eq!(run.end[0].discrete[1].middle(), 5.0);
}

#[test]
fn what_comes_too_near_is_undecided() {
    let near = |gap: f64| {
        let osc = unit(&[0.0, 1.0], &[x(1), neg(x(0))]);
        alone(5, with(osc, vec![when("top", ge(x(0), n(1.0 - gap)), &[])]))
    };
    for gap in [1e-12, -1e-12, 0.0] {
        match judge(&near(gap), &Limits::default(), &[]) {
            Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Touch),
            other => panic!("{gap} {other:#?}"),
        }
    }
    assert_eq!(tags(&near(-1e-3)), []);
    assert_eq!(run(&near(1e-3)).happened.len(), 1);
}

#[test]
fn fine_ticks_do_not_make_exact_roots_uncertain() {
    for resolution in [9, 12, 15] {
        let u = with(
            unit(&[0.0], &[n(1.0)]),
            vec![when("e", ge(x(0), n(1.0)), &[(sx(0), n(0.0))]), once("at", at(1, 1), &[])],
        );
        let second = 10i64.pow(resolution);
        let m = model(resolution, 3, vec![u]);
        happens(
            &m,
            &[("e", second, 0), ("at", second, 0), ("e", 2 * second, 0), ("e", 3 * second, 0)],
        );
    }
}
