//! Several units: wires, links, and algebraic variables.
mod common;
use common::*;
use superdense_judge::model::{Direction, Expr, Link, Model, Unary, Unit, Variable, Wire};
use superdense_judge::{Limits, Reason, Uncertainty, Verdict, judge};

const S: i64 = 1_000_000_000;

fn state(u: usize) -> Expr {
    Expr::Read(Variable::State(u, 0))
}

fn input(u: usize) -> Expr {
    Expr::Read(Variable::Input(u, 0))
}

/// Unit 0 rises and falls back to 0 at 1; unit 1 hears it.
fn sawtooth(receiver: Unit) -> Model {
    let mut saw = unit(&[0.0], &[n(1.0)]);
    saw.outputs = vec![x(0)];
    saw.events = vec![when("back", ge(x(0), n(1.0)), &[(sx(0), n(0.0))])];
    let mut m = alone(3, saw);
    m.stop = at(5, 2);
    m.units.push(receiver);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }];
    m
}

#[test]
fn an_input_is_the_output_it_is_wired_to() {
    // The integral of the sawtooth up to 2.5 s is 1 + 1/8.
    let receiver = Unit {
        states: vec![0.0],
        inputs: vec![0.0],
        derivatives: vec![input(1)],
        outputs: vec![],
        events: vec![when("half", ge(input(1), n(0.5)), &[])],
        ..Unit::default()
    };
    let m = sawtooth(receiver);
    let half = S / 2;
    let (up, back) = (|k: i64| ("half", k * S + half, 0), |k: i64| ("back", k * S, 0));
    happens(&m, &[up(0), back(1), up(1), back(2), up(2)]);
    let end = run(&m).end[1].states[0].middle();
    assert!((end - 1.125).abs() < 1e-14, "{end}");
}

#[test]
fn a_jump_is_heard_in_its_cycle() {
    let receiver = || Unit {
        inputs: vec![0.0],
        events: vec![
            when("low", le(input(1), n(0.0)), &[]),
            crossing("fall", sub(input(1), n(0.25)), Direction::Falling),
        ],
        ..Unit::default()
    };
    // The jump is at (1, 0). From 0 the input rises at once, so that `low` is left at the start.
    let mut m = sawtooth(receiver());
    m.stop = at(3, 2);
    happens(&m, &[("back", S, 0), ("fall", S, 1)]);
}

#[test]
fn a_ring_of_outputs_is_not_supported() {
    let through = |u: usize| Unit {
        inputs: vec![0.0],
        outputs: vec![add(input(u), n(1.0))],
        ..Unit::default()
    };
    let mut m = model(9, 1, vec![through(0), through(1)]);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }, Wire { from: (1, 0), to: (0, 0) }];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Unsupported),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn oscillator_of_two_units() {
    // x' = v, v' = -x over two wires: cos(2) at the end.
    let half = |u: usize, start: f64, sign: f64| Unit {
        states: vec![start],
        inputs: vec![1.0 - start],
        derivatives: vec![mul(n(sign), input(u))],
        outputs: vec![state(u)],
        ..Unit::default()
    };
    let mut m = model(9, 2, vec![half(0, 1.0, 1.0), half(1, 0.0, -1.0)]);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }, Wire { from: (1, 0), to: (0, 0) }];
    let end = run(&m).end[0].states[0].middle();
    assert!((end - 2.0f64.cos()).abs() < 1e-15, "{end}");
}

fn masses(resets: bool) -> Model {
    let mass = |u: usize, place: f64, speed: f64| Unit {
        states: vec![place, speed],
        derivatives: vec![Expr::Read(Variable::State(u, 1)), n(0.0)],
        outputs: vec![state(u)],
        ..Unit::default()
    };
    let mut m = model(12, 5, vec![mass(0, 0.0, 1.0), mass(1, 1.0, -0.5)]);
    let speed = |u: usize| Variable::State(u, 1);
    let reset = if resets {
        vec![(speed(0), Expr::Read(speed(1))), (speed(1), Expr::Read(speed(0)))]
    } else {
        vec![]
    };
    m.links = vec![Link {
        units: vec![0, 1],
        when: and(ge(state(0), state(1)), ge(Expr::Read(speed(0)), Expr::Read(speed(1)))),
        reset,
        priority: 0,
    }];
    m
}

#[test]
fn a_collision_takes_place_a_micro_step_after_it_is_proposed() {
    // They meet at 2/3 s, at 2/3; then unit 0 goes back with 0.5, unit 1 on with 1.
    let m = masses(true);
    happens(&m, &[("link0", 666_666_666_667, 1)]);
    let run = run(&m);
    let rest = 5.0 - 2.0 / 3.0;
    assert!((run.end[0].states[0].middle() - (2.0 / 3.0 - 0.5 * rest)).abs() < 1e-11);
    assert!((run.end[1].states[0].middle() - (2.0 / 3.0 + rest)).abs() < 1e-11);
    assert_eq!(run.happened[0].after[1].middle(), -0.5);
    // Without resets it stays true: once.
    happens(&masses(false), &[("link0", 666_666_666_667, 1)]);
}

#[test]
fn the_jump_of_a_link_is_heard_a_micro_step_later() {
    let mut m = masses(true);
    m.units[0].outputs = vec![Expr::Read(Variable::State(0, 1))];
    m.units.push(Unit {
        inputs: vec![1.0],
        events: vec![when("back", lt(input(2), n(0.0)), &[])],
        ..Unit::default()
    });
    m.wires = vec![Wire { from: (0, 0), to: (2, 0) }];
    let tick = 666_666_666_667;
    happens(&m, &[("link0", tick, 1), ("back", tick, 3)]);
}

#[test]
fn a_link_is_refused_when_an_own_event_came_first() {
    // Unit 1 jumps away at the tick at which they would meet.
    let mut m = masses(true);
    m.resolution = 9;
    m.units[1].states[1] = -1.0;
    m.units[1].events = vec![once("away", at(1, 2), &[(Variable::State(1, 0), n(3.0))])];
    // At 0.5 s both are at 0.5; unit 0 proposes, unit 1 is at 3 when they evaluate. They meet
    // again after 2.5/2 s.
    let tick = 1_000_000_000i64;
    happens(&m, &[("away", tick / 2, 0), ("link0", tick * 7 / 4, 1)]);
}

#[test]
fn own_events_of_members_wait_for_the_decision() {
    // Unit 1 counts the meeting at once; that makes a second event due in the cycle of the decision. It waits.
    let speed = |u: usize| Variable::State(u, 1);
    let count = Variable::Discrete(1, 0);
    let mut m = masses(true);
    m.units[1].discrete = vec![0.0];
    let after = when("after", ge(Expr::Read(count), n(1.0)), &[(speed(1), n(9.0))]);
    let first = when("first", le(state(1), n(2.0 / 3.0)), &[(count, n(1.0))]);
    m.units[1].events = vec![first, after.clone()];
    let found = run(&m);
    let names: Vec<_> = found.happened.iter().map(|h| (h.name.as_str(), h.micro)).collect();
    assert_eq!(names, [("first", 0), ("link0", 1), ("after", 2)], "{found:#?}");
    assert_eq!(
        found.happened[1].after[1].middle(),
        -0.5,
        "the link reads the speed before the event that waits"
    );
    // One that the jump makes false does not happen any more.
    let slow = and(ge(Expr::Read(count), n(1.0)), lt(Expr::Read(speed(1)), n(0.0)));
    m.units[1].events[1] = when("after", slow, &[(speed(1), n(9.0))]);
    let found = run(&m);
    let names: Vec<_> = found.happened.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(names, ["first", "link0"], "{found:#?}");
}

#[test]
fn of_two_links_the_other_is_decided_after_it() {
    // Both bring a count into the middle unit: its own wait for the one of higher priority.
    let mut m = masses(false);
    let count = Variable::Discrete(1, 0);
    m.units[1].discrete = vec![0.0];
    let third = m.units[0].clone();
    m.units.push(third);
    m.units[2].derivatives = vec![Expr::Read(Variable::State(2, 1)), n(0.0)];
    m.units[2].outputs = vec![state(2)];
    m.links[0].reset = vec![(count, add(Expr::Read(count), n(1.0)))];
    let other = Link {
        units: vec![2, 1],
        when: ge(state(2), state(1)),
        reset: vec![(count, mul(Expr::Read(count), n(5.0)))],
        priority: -1,
    };
    m.links.push(other);
    let found = run(&m);
    let names: Vec<_> = found.happened.iter().map(|h| (h.name.as_str(), h.micro)).collect();
    assert_eq!(names, [("link1", 1), ("link0", 2)], "{found:#?}");
    assert_eq!(found.end[1].discrete[0].middle(), 1.0);
}

#[test]
fn algebraic_variables_follow_their_equations() {
    // z^3 + z = x with x = t from 0: z = 1 at x = 2.
    let z = || Expr::Read(Variable::Algebraic(0, 0));
    let cube = Expr::Power(Box::new(z()), 3);
    let mut u = unit(&[0.0], &[n(1.0)]);
    u.algebraic = vec![0.3];
    u.residuals = vec![sub(add(cube, z()), x(0))];
    u.outputs = vec![mul(z(), z())];
    u.events = vec![when("one", ge(z(), n(1.0)), &[(sx(0), n(10.0))])];
    let m = alone(4, u);
    let run = run(&m);
    assert_eq!(run.happened.len(), 1);
    let tick = run.happened[0].tick;
    assert!(tick.lo <= 2 * S && tick.hi >= 2 * S && tick.hi - tick.lo < 100, "{tick:?}");
    // x = 12 at the end.
    let z = run.end[0].algebraic[0].middle();
    assert!((z * z * z + z - 12.0).abs() < 1e-6);
    assert!(run.end[0].outputs[0].contains(z * z));
}

#[test]
fn units_apart_do_not_disturb_each_other() {
    let one = |u: usize, speed: f64| Unit {
        states: vec![0.0],
        derivatives: vec![mul(n(speed), f(Unary::Cos, t()))],
        events: vec![when("e", ge(state(u), n(0.5)), &[])],
        ..Unit::default()
    };
    // Both at asin(0.5), within the error of each other: no order is needed.
    let m = model(9, 1, vec![one(0, 1.0), one(1, 1.0)]);
    assert_eq!(run(&m).happened.len(), 2);
}

#[test]
fn samples_near_an_uncertain_event_are_marked() {
    let osc = unit(&[0.0, 1.0], &[x(1), neg(x(0))]);
    let m = alone(2, with(osc, vec![when("e", ge(x(0), n(0.5)), &[(sx(0), n(0.0))])]));
    let near = at(523_598_776, S);
    match judge(&m, &Limits::default(), &[at(1, 2), near, at(1, 1)]) {
        Verdict::Run(run) => {
            let marks: Vec<bool> = run.samples.iter().map(|s| s.ambiguous).collect();
            assert_eq!(marks, [false, true, false]);
            let half = &run.samples[0].units[0].states[0];
            assert!(half.contains(0.5f64.sin()) && half.hi - half.lo < 1e-6);
        }
        other => panic!("{other:#?}"),
    }
}

#[test]
fn sides_that_do_not_settle_beside_the_equations_of_another_unit_are_left_open() {
    // On 0 each side leads off itself: no side, x' = 1; positive, x' = 0.
    let mut u = unit(&[0.0], &[sub(n(1.0), f(Unary::Sign, x(0)))]);
    u.inputs = vec![0.0];
    let other = Unit {
        algebraic: vec![0.0],
        residuals: vec![Expr::Read(Variable::Algebraic(1, 0))],
        outputs: vec![n(0.0)],
        ..Unit::default()
    };
    let mut m = model(9, 1, vec![u, other]);
    m.wires = vec![Wire { from: (1, 0), to: (0, 0) }];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Open, "{}", u.detail),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_member_of_a_link_may_see_what_another_only_comes_near() {
    // x = 1 - exp(-64 t) never reaches 1, and the link is true from the start.
    let rate = mul(n(-64.0), sub(Expr::Read(Variable::State(1, 0)), n(1.0)));
    let mut m = model(9, 3, vec![unit(&[0.0], &[n(0.0)]), unit(&[0.0], &[rate])]);
    m.links = vec![Link {
        units: vec![0, 1],
        when: and(ge(n(0.0), x(0)), lt(Expr::Read(Variable::State(1, 0)), n(1.0))),
        priority: 0,
        reset: vec![(sx(0), n(0.0))],
    }];
    let limits = Limits {
        uncertainty: Uncertainty { relative: 1e-3, absolute: 1e-5, ..Uncertainty::default() },
        ..Limits::default()
    };
    match judge(&m, &limits, &[]) {
        Verdict::Undecided(u) => assert!(u.until < S / 4, "{u:?}"),
        other => panic!("{other:#?}"),
    }
}

/// Two states that a link exchanges, at 1 ns; an event puts the second one above the first again before members hear.
fn exchanged_and_put_back() -> Model {
    let first = unit(&[1.0], &[n(-0.5)]);
    let up = when("up", not(gt(state(1), n(1.0))), &[(Variable::State(1, 0), n(2.0))]);
    let mut m = model(9, 3, vec![first, with(unit(&[1.0], &[n(3.0)]), vec![up])]);
    m.stop = at(1, 4);
    let exchange = [(0, 1), (1, 0)].map(|(to, from)| (Variable::State(to, 0), state(from)));
    let (when, reset) = (ge(state(1), state(0)), exchange.to_vec());
    m.links = vec![Link { units: vec![0, 1], when, priority: 0, reset }];
    m
}

#[test]
fn a_link_that_its_own_resets_end_takes_place_anew() {
    happens(&exchanged_and_put_back(), &[("link0", 1, 1), ("up", 1, 2), ("link0", 1, 4)]);
}

#[test]
fn a_link_whose_members_cannot_tell_that_it_is_over_is_left_open() {
    // A residual is solved after the jump only.
    let mut m = exchanged_and_put_back();
    m.units[0].algebraic = vec![1.0];
    m.units[0].residuals = vec![sub(Expr::Read(Variable::Algebraic(0, 0)), state(0))];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert!(u.detail.contains("begins anew"), "{u:?}"),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_link_that_moves_states_and_holds_on_is_left_open() {
    let mut m = model(9, 1, vec![unit(&[0.0], &[n(1.0)]), unit(&[0.0], &[n(0.0)])]);
    let reset = vec![(sx(0), n(2.0))];
    m.links = vec![Link { units: vec![0, 1], when: ge(t(), n(0.5)), priority: 0, reset }];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert!(u.detail.contains("does not end"), "{u:?}"),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_member_that_jumps_again_has_sent_its_first_jump() {
    // Both links hold from 1/2 s, and each sets a value of the first unit: to 2, which is heard as the other one takes
    // place.
    let mut first = discrete(unit(&[0.0], &[n(1.0)]), &[0.0]);
    first.outputs = vec![sub(d(0), n(1.0))];
    let hears = Unit {
        inputs: vec![-1.0],
        events: vec![crossing("above", input(2), Direction::Rising)],
        ..Unit::default()
    };
    let mut m = model(9, 1, vec![first, unit(&[0.0], &[n(0.0)]), hears]);
    m.wires = vec![Wire { from: (0, 0), to: (2, 0) }];
    let link = |to: f64| Link {
        units: vec![0, 1],
        when: ge(t(), n(0.5)),
        priority: 0,
        reset: vec![(Variable::Discrete(0, 0), n(to))],
    };
    m.links = vec![link(2.0), link(3.0)];
    happens(&m, &[("link0", S / 2, 1), ("link1", S / 2, 2), ("above", S / 2, 3)]);
}

#[test]
fn members_of_a_link_may_agree_on_the_tick_just_before_a_root() {
    // They meet 0.0015 or 0.003 of a tick behind 1 s.
    for (late, lo) in [(1.5e-6, 1000), (3e-6, 1001)] {
        let mut m = model(3, 2, vec![unit(&[-1.0 - late], &[n(1.0)]), unit(&[0.0], &[n(0.0)])]);
        let state = |u: usize| Expr::Read(Variable::State(u, 0));
        let reset = vec![(sx(0), n(-9.0))];
        m.links =
            vec![Link { units: vec![0, 1], when: ge(state(0), state(1)), priority: 0, reset }];
        let tick = run(&m).happened[0].tick;
        assert_eq!((tick.lo, tick.hi), (lo, 1001), "{late}");
    }
}

#[test]
fn a_touch_that_another_unit_hears_is_left_open() {
    // (t - 1/2)^2 by a unit of its own.
    let mut square = unit(&[0.25], &[mul(n(2.0), sub(t(), n(0.5)))]);
    square.outputs = vec![x(0)];
    let touch = when("e", le(input(1), n(0.0)), &[]);
    let hears = Unit { inputs: vec![0.25], events: vec![touch], ..Unit::default() };
    let mut m = model(9, 1, vec![square, hears]);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Touch, "{u:?}"),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn a_value_at_rest_that_is_set_in_motion_beside_an_event_is_undecided() {
    // At 1 s the output begins to fall, and the unit that hears it asks for the first time whether it is at most 1.
    let event = || once("go", at(1, 1), &[(sd(0), n(1.0))]);
    let mut source = with(discrete(unit(&[1.0], &[neg(d(0))]), &[0.0]), vec![event()]);
    source.outputs = vec![x(0)];
    let go = once("go", at(1, 1), &[(Variable::Discrete(1, 0), n(1.0))]);
    let asked = gt(Expr::Read(Variable::Discrete(1, 0)), n(0.0));
    let mut receiver = Unit { inputs: vec![1.0], discrete: vec![0.0], ..Unit::default() };
    receiver.events = vec![go, when("above", and(ge(input(1), n(1.0)), asked), &[])];
    let mut m = model(9, 2, vec![source, receiver]);
    m.wires = vec![Wire { from: (0, 0), to: (1, 0) }];
    match judge(&m, &Limits::default(), &[]) {
        Verdict::Undecided(u) => assert_eq!(u.reason, Reason::Open, "{}", u.detail),
        other => panic!("{other:#?}"),
    }
}

#[test]
fn whole_numbers_that_only_conditions_read_stop_nothing() {
    // x' = x - 1 from -1 passes hundreds of whole numbers, some of them up to 2^-9 of a tick behind a tick.
    let z = Expr::Read(Variable::Algebraic(0, 0));
    let mut u = unit(&[-1.0], &[sub(n(-1.0), z.clone())]);
    u.algebraic = vec![1.0];
    u.residuals = vec![sub(z, f(Unary::Abs, x(0)))];
    u.events = vec![when("e", gt(f(Unary::Ceil, x(0)), n(0.0)), &[])];
    let end = run(&model(3, 5, vec![u])).end[0].states[0];
    let exact = 1.0 - 2.0 * 5f64.exp();
    assert!(end.lo < exact && exact < end.hi, "{end:?} {exact}");
}
