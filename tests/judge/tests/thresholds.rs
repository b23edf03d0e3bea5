//! Values that stand on thresholds: at rest, stopped there, put back, or moved by high derivatives.
mod common;
use common::*;
use superdense_judge::model::{
    Binary, Direction, Expr, Instant, Link, Mode, Model, Rest, Switching, Trigger, Unary, Unit,
    Variable, Wire,
};
use superdense_judge::{FailureKind, Limits, Reason, Uncertainty, Verdict, judge};

const S: i64 = 1_000_000_000;

#[track_caller]
fn undecided(model: &Model, reason: Reason) {
    match judge(model, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, reason, "{}", u.detail),
        other => panic!("{other:#?}"),
    }
}

#[track_caller]
fn fails(model: &Model, kind: FailureKind) {
    match judge(model, &Limits::default(), &[]) {
        Verdict::Error(failure) => assert_eq!(failure.kind, kind, "{}", failure.message),
        other => panic!("{other:#?}"),
    }
}

fn floor_of_time() -> Expr {
    f(Unary::Floor, t())
}

fn power(a: Expr, n: u32) -> Expr {
    Expr::Power(Box::new(a), n)
}

#[test]
fn rest_names_all_that_moves() {
    let rolling = |values: Vec<(Variable, f64)>| {
        let back = mul(n(-0.5), x(0));
        let mut bounce = when("bounce", le(x(0), n(0.0)), &[(sx(0), back)]);
        let within = Instant { numerator: 1, denominator: 1000 };
        bounce.rest = Some(Rest { within, values });
        alone(1, with(unit(&[0.0, 0.0], &[n(-1.0), n(1.0)]), vec![bounce]))
    };
    fails(&rolling(vec![(sx(0), 0.0)]), FailureKind::MovesAtRest);
    let m = rolling(vec![(sx(0), 0.0), (sx(1), 7.0)]);
    happens(&m, &[("bounce", 1, 0), ("bounce", 2, 0)]);
    assert!((end(&m, 1) - 7.0).abs() < 1e-9);
}

#[test]
fn a_value_that_is_stopped_on_its_threshold_has_not_passed_it() {
    let events = vec![
        when("above", gt(x(0), n(1.0)), &[]),
        when("not above", le(x(0), n(1.0)), &[]),
        when("reached", ge(x(0), n(1.0)), &[]),
    ];
    // x = t until 1 s, and rests until 2 s.
    let u = with(unit(&[0.0], &[sub(n(1.0), floor_of_time())]), events);
    happens(&model(3, 1, vec![u.clone()]), &[("reached", 1000, 0)]);
    // Then it falls: the rules leave open whether that is seen at 2 s or a tick later.
    undecided(&model(3, 3, vec![u]), Reason::Open);
}

#[test]
fn a_value_that_turns_back_on_its_threshold_is_undecided() {
    // x = 1 + t^2/2 - t/2 in the first second: back at 1 where the remainder jumps.
    let speed = sub(modulo(t(), n(1.0)), n(0.5));
    let u = with(unit(&[1.0], &[speed]), vec![when("e", ge(x(0), n(1.0)), &[])]);
    undecided(&alone(2, u), Reason::Sign);
}

#[test]
fn high_derivatives_decide_at_the_start() {
    let u = with(
        unit(&[0.0], &[power(t(), 20)]),
        vec![when("up", ge(x(0), n(0.0)), &[]), when("down", lt(x(0), n(0.0)), &[])],
    );
    let uncertainty = Uncertainty { exact_degree: 30, ..Uncertainty::default() };
    let limits = Limits { uncertainty, ..Limits::default() };
    let Verdict::Run(run) = judge(&alone(1, u), &limits, &[]) else { panic!("not decided") };
    let names: Vec<_> = run.happened.iter().map(|h| (h.name.as_str(), h.tick.lo)).collect();
    assert_eq!(names, [("up", 1)]);
    // Beyond the order of the series.
    let u = unit(&[0.0], &[power(t(), 40)]);
    undecided(&alone(1, with(u, vec![when("e", ge(x(0), n(0.0)), &[])])), Reason::Sign);
}

#[test]
fn equal_solutions_of_two_units_are_equal_but_for_errors() {
    let member = |u: usize| unit(&[1.0], &[neg(Expr::Read(Variable::State(u, 0)))]);
    let other = Expr::Read(Variable::State(1, 0));
    let link = Link { units: vec![0, 1], when: ge(x(0), other), reset: vec![], priority: 0 };
    let mut m = model(9, 1, vec![member(0), member(1)]);
    m.links = vec![link.clone()];
    undecided(&m, Reason::Sign);
    // At rest they are equal.
    let mut m = model(9, 1, vec![unit(&[1.0], &[n(0.0)]), unit(&[1.0], &[n(0.0)])]);
    m.links = vec![link];
    happens(&m, &[]);
}

#[test]
fn what_cancels_in_one_unit_rests() {
    // Not above 1, x is the lesser of itself and 1, however it moves.
    let z = Expr::Binary(Binary::Min, Box::new(x(0)), Box::new(n(1.0)));
    let u = unit(&[0.5], &[neg(x(0))]);
    let events = vec![when("e", gt(z.clone(), x(0)), &[]), when("f", lt(z, x(0)), &[])];
    happens(&alone(1, with(u, events)), &[]);
}

#[test]
fn what_left_zero_by_less_than_roundings_is_on_it() {
    // At tick 1, x is -2.5e-19, and 1 + x is 1; the reset sends it upwards.
    let events = vec![
        when("e", ge(add(x(0), n(1.0)), n(1.0)), &[]),
        when("turn", le(x(1), n(0.0)), &[(sx(1), n(1.0))]),
    ];
    let u = with(unit(&[0.0, 0.0], &[x(1), n(-0.5)]), events);
    happens(&alone(1, u), &[("turn", 1, 0), ("e", 1, 1)]);
}

#[test]
fn rule_12_counts_quantities_inside() {
    let inside = ge(f(Unary::Sign, sub(x(0), n(1.0))), n(0.0));
    let e = when("e", inside, &[(sx(0), n(1.0))]);
    fails(&alone(1, with(unit(&[1.0], &[n(1.0)]), vec![e])), FailureKind::FallsThrough);
}

#[test]
fn a_value_that_resets_bring_back_is_decided_anew() {
    // 1e-9 goes to -1e-9 and back in one instant.
    let there =
        when("there", gt(d(0), n(0.0)), &[(sx(0), neg(x(0))), (sd(0), n(0.0)), (sd(1), n(1.0))]);
    let back = when("back", gt(d(1), n(0.0)), &[(sx(0), neg(x(0))), (sd(1), n(0.0))]);
    let e = when("e", gt(x(0), n(0.0)), &[]);
    let go = once("go", at(1, S), &[(sd(0), n(1.0))]);
    let u = with(discrete(unit(&[0.0], &[n(1.0)]), &[0.0, 0.0]), vec![e, go, there, back]);
    let expected = [("e", 1, 0), ("go", 1, 0), ("there", 1, 1), ("back", 1, 2), ("e", 1, 3)];
    happens(&alone(1, u), &expected);
}

#[test]
fn touching_counts_for_the_event_that_declares_it() {
    // x = -(t - 2)^2, for which another event declares a band.
    let mut other = when("other", gt(n(0.0), x(0)), &[]);
    if let Trigger::When { touching, .. } = &mut other.trigger {
        *touching = Some(0.001);
    }
    let u = unit(&[-4.0], &[mul(n(-2.0), sub(t(), n(2.0)))]);
    let u = with(u, vec![when("e", ge(x(0), n(0.0)), &[]), other]);
    let names: Vec<_> = run(&alone(3, u)).happened.into_iter().map(|h| h.name).collect();
    assert!(!names.contains(&"e".into()), "{names:?}");
}

#[test]
fn a_solved_absolute_value_does_not_become_negative() {
    let z = Expr::Read(Variable::Algebraic(0, 0));
    let mut u = unit(&[-1.0], &[n(1.0)]);
    u.algebraic = vec![1.0];
    u.residuals = vec![sub(z.clone(), f(Unary::Abs, x(0)))];
    let u = with(u, vec![when("e", ge(z, n(0.0)), &[])]);
    match judge(&alone(2, u), &Limits::default(), &[]) {
        Verdict::Run(run) => assert!(run.happened.is_empty(), "{run:?}"),
        Verdict::Undecided(u) => assert!(u.run.happened.is_empty(), "{u:?}"),
        Verdict::Error(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn whether_a_value_that_is_stopped_on_a_whole_number_has_passed_it_is_left_open() {
    // x = t until 1 s, rests on 1 until 2 s, and falls. It is above 1 at no time, but for roundings.
    let low = when("low", lt(f(Unary::Ceil, x(0)), n(2.0)), &[]);
    let u = with(unit(&[0.0], &[sub(n(1.0), floor_of_time())]), vec![low]);
    undecided(&alone(3, u), Reason::Sign);
}

#[test]
fn a_unit_is_looked_at_at_a_root_behind_its_tick() {
    // Each root lies 0.0006 ticks behind a tick. Two of them are more than R14 allows, unless the state has what the
    // first tick was early.
    let step = 0.100_000_6;
    let reset = [(sd(0), add(d(0), n(step)))];
    let u = with(unit(&[0.0], &[n(1.0)]), vec![when("e", ge(x(0), d(0)), &reset)]);
    let expected: Vec<_> = (1..=10).map(|k| ("e", 100 * k, 0)).collect();
    happens(&model(3, 1, vec![discrete(u, &[step])]), &expected);
}

#[test]
fn a_root_that_comes_to_zero_at_the_end_is_left_open() {
    // x = (1 - t/2)².
    let level = Expr::Binary(Binary::Max, Box::new(x(0)), Box::new(n(0.0)));
    let empty = when("empty", le(x(0), n(0.0)), &[]);
    let u = with(unit(&[1.0], &[neg(f(Unary::Sqrt, level))]), vec![empty]);
    undecided(&model(3, 2, vec![u]), Reason::Singular);
}

#[test]
fn a_reset_that_turns_what_is_nearly_zero_is_left_open() {
    use superdense_judge::model::Direction;
    let z = sub(f(Unary::Abs, sub(x(0), n(0.5))), n(0.5));
    let mut e = crossing("e", z, Direction::Both);
    e.reset = vec![(sx(0), neg(x(0)))];
    let limits = Limits {
        uncertainty: Uncertainty { ticks: 1000.0, exact_degree: 3, ..Uncertainty::default() },
        ..Limits::default()
    };
    match judge(&model(15, 1, vec![with(unit(&[0.5], &[n(-1.0)]), vec![e])]), &limits, &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Sign, "{}", u.detail),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_root_behind_its_tick_that_makes_no_event_moves_nothing() {
    // The top, x' = 0, comes up to 2^-10 ticks behind its tick. Instants by 60 digits.
    let down = and(le(x(0), n(0.0)), le(x(1), n(0.0)));
    let bounce = when("bounce", down, &[(sx(1), mul(n(-0.5), x(1)))]);
    let u = with(unit(&[2.0, 1.0], &[x(1), n(-1.0)]), vec![bounce]);
    let mut m = model(9, 8, vec![u]);
    m.stop = at(77_077, 10_000);
    let last = tags(&m).pop();
    assert_eq!(last, Some(("bounce".into(), 7_707_658_006, 0)));
}

#[test]
fn a_value_that_is_zero_but_for_roundings_does_not_pass_zero() {
    // x is -5e-18 where it turns upwards, and never comes back to zero.
    let mut turn = when("turn", le(x(1), n(0.0)), &[(sx(1), mul(n(-0.8), x(1)))]);
    let within = Instant { numerator: 1, denominator: 1000 };
    turn.rest = Some(Rest { within, values: vec![(sx(1), 0.0)] });
    let both = superdense_judge::model::Direction::Both;
    let passes = crossing("passes", sub(add(x(0), n(2.0)), n(2.0)), both);
    let u = with(unit(&[0.0, 0.0], &[x(1), n(-10.0)]), vec![turn, passes]);
    undecided(&alone(1, u), Reason::Touch);
}

/// `z = x - 1` by an equation, beside an equation of its own for another state.
fn solved(reset: (Variable, Expr)) -> Model {
    let z = |k: usize| Expr::Read(Variable::Algebraic(0, k));
    let mut u = unit(&[2.0, 0.0], &[n(-1.0), n(0.0)]);
    u.algebraic = vec![1.0, 0.0];
    u.residuals = vec![sub(z(0), sub(x(0), n(1.0))), sub(z(1), x(1))];
    alone(2, with(u, vec![when("e", lt(z(0), n(1.0)), &[reset])]))
}

#[test]
fn rule_12_of_what_equations_give() {
    fails(&solved((sx(0), n(2.0))), FailureKind::FallsThrough);
    happens(&solved((sx(1), n(1.0))), &[("e", 1, 0)]);
}

#[test]
fn rule_12_of_thresholds_that_resets_move() {
    // The threshold is put where time is, and time goes on.
    let late = and(ge(t(), d(0)), gt(d(0), n(0.0)));
    let set = when("set", ge(t(), n(2.0)), &[(sd(0), n(1.0))]);
    let moved = when("moved", late, &[(sd(0), n(2.0))]);
    fails(
        &alone(3, with(discrete(unit(&[], &[]), &[0.0]), vec![set, moved])),
        FailureKind::FallsThrough,
    );
}

#[test]
fn both_roots_of_a_parabola_at_the_start_of_a_long_run() {
    let z = sub(power(x(0), 2), n(0.25));
    let up = crossing("up", z, Direction::Rising);
    let m = model(6, 1_000_000_005, vec![with(unit(&[-1.0], &[n(1.0)]), vec![up])]);
    happens(&m, &[("up", 1_500_000, 0)]);
}

#[test]
fn a_value_that_is_stopped_as_it_leaves_its_surface_is_left_open() {
    // x slides along 0 until 2 sin(t) = 1, and stands from there on.
    let speed = sub(mul(n(2.0), f(Unary::Sin, t())), f(Unary::Sign, x(0)));
    let mut away = when("away", gt(x(0), n(0.0)), &[]);
    away.to = Some(1);
    let back = when("back", lt(speed.clone(), n(0.0)), &[]);
    let mut u = unit(&[0.0], &[speed]);
    u.switching = Switching::Sliding;
    u.modes = vec![
        Mode { derivatives: None, events: vec![away] },
        Mode { derivatives: Some(vec![Some(n(0.0))]), events: vec![back] },
    ];
    undecided(&alone(3, u), Reason::Open);
}

#[test]
fn a_touch_of_the_fourth_order_is_left_open_where_roundings_hide_it() {
    // x = (t - 1/2)^2; its square touches zero at 1/2 s, and is less than a rounding some microseconds beside it.
    let speed = mul(n(2.0), sub(t(), n(0.5)));
    let mut touch = crossing("touch", mul(x(0), x(0)), Direction::Both);
    if let Trigger::Crossing { touching, .. } = &mut touch.trigger {
        *touching = Some(1e-6);
    }
    let m = model(6, 1, vec![with(unit(&[0.25], &[speed]), vec![touch])]);
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert!((499_900..499_998).contains(&u.until), "{u:?}"),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_curve_that_is_heard_is_left_open_within_the_error_of_what_is_sent() {
    // z^3 + z = t passes 1/2 at 5/8 s: sent by polynomials within a tolerance.
    let z = || Expr::Read(Variable::Algebraic(0, 0));
    let mut sender = unit(&[], &[]);
    sender.algebraic = vec![0.0];
    sender.residuals = vec![sub(add(power(z(), 3), z()), t())];
    sender.outputs = vec![z()];
    let above = when("above", ge(Expr::Read(Variable::Input(1, 0)), n(0.5)), &[]);
    let hears = Unit { inputs: vec![0.0], events: vec![above], ..Unit::default() };
    let mut m = model(12, 1, vec![sender, hears]);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }];
    let uncertainty = Uncertainty { absolute: 1e-9, exact_degree: 3, ..Uncertainty::default() };
    let limits = Limits { uncertainty, ..Limits::default() };
    match judge(&m, &limits, &[]) {
        Verdict::Undecided(u) => assert!(u.until <= 624_999_999_000, "{u:?}"),
        other => panic!("{other:#?}"),
    }
}
