//! Rules 2 to 4: relations in which nothing moves, decisions by derivatives, strict changes of sign.
use super::table::{First, Near, Root, Time, check, event, line, parabola, unit, when};
use std::f64::consts::{FRAC_PI_2, PI};

/// Nothing in the relation moves: it is compared in each cycle, exactly, and never searched.
#[test]
fn rule_02_nothing_moves() {
    let count = |step: &str, condition: &str| {
        format!(
            "states = {{ x = 0 }}\ndiscrete = {{ n = 0 }}\nderivatives = {{ x = '1' }}\n\
             outputs = {{ n = 'n' }}\n{}{}",
            event("tick", &format!("every = 1\nfrom = 1\nreset = {{ n = 'n + {step}' }}")),
            when("e", condition)
        )
    };
    let ticking = |id: &str, step: &str, condition: &str, at: i64| {
        let mut case = unit(id, &count(step, condition)).stop(5.5);
        for k in 1..=5 {
            case = case.event("tick", Time(k, 1), 0);
            if k == at {
                // The cycle in which n is reset is (k, 0): rule 11 puts the event into the next.
                case = case.event("e", Time(k, 1), 1);
            }
        }
        case
    };
    check(&[
        ticking("C2.1", "1", "n >= 3", 3),
        ticking("C2.2", "1", "n > 3", 4),
        ticking("C2.3", "1", "not n < 3", 3),
        // 0.1 + 0.1 + 0.1 is more than 0.3 in doubles: no allowance is made for that.
        ticking("C2.4", "0.1", "n > 0.3", 3),
        ticking("C2.5", "0.1", "n == 0.3", 0),
        ticking("C2.6", "1", "n == 3", 3),
        ticking("C2.7", "1", "floor(n/2) >= 2", 4),
        // A state whose derivative is nothing.
        unit(
            "C2.8",
            &format!(
                "{}{}{}",
                line("0", "0"),
                event("set", "at = 1\nreset = { x = 2 }"),
                when("e", "x >= 2")
            ),
        )
        .event("set", Time(1, 1), 0)
        .event("e", Time(1, 1), 1)
        .end(0, 2.0),
    ]);
}

/// A value that is stopped at the tick at which it comes to its threshold stands on it.
#[test]
fn rule_03_stopped_on_the_threshold() {
    let side = "if x > 0 then 1 else if x < 0 then -1 else 0";
    let moving = |rate: &str, rest: &str| {
        format!(
            "states = {{ x = -1 }}\nderivatives = {{ x = '{rate}' }}\noutputs = {{ side = '{side}' }}\n{rest}"
        )
    };
    let stopped = "discrete = { s = 1 }\n";
    let case = |id: &str, text: String| unit(id, &text).stop(2.0);
    check(&[
        case("C3.30", moving("if t < 1 then 1 else 0", "")).end(0, 0.0),
        case(
            "C3.31",
            format!("{stopped}{}", moving("s", &event("k", "at = 1\nreset = { s = 0 }"))),
        )
        .event("k", Time(1, 1), 0)
        .end(0, 0.0),
        // It stands where its derivative is zero by a sum, too.
        case(
            "C3.34",
            format!(
                "{stopped}{}",
                moving("0.5*s + 0.5", &event("k", "at = 1\nreset = { s = -1 }"))
            ),
        )
        .event("k", Time(1, 1), 0)
        .end(0, 0.0),
        // A reset leads to the threshold but for its rounding, and the motion on from there.
        (1..=3).fold(
            unit(
                "C3.35",
                &format!(
                    "{}{}{}",
                    line("0", "1"),
                    event("take", "every = 1\nfrom = 1\nreset = { x = 'x - 1' }"),
                    when("e", "x < 0")
                ),
            )
            .stop(3.5),
            |case, k| case.event("take", Time(k, 1), 0),
        ),
        // It is stopped at the tick at which its side flips, and rounding leaves it on either side.
        unit(
            "C3.36",
            &format!(
                "discrete = {{ s = 1 }}\n\
                 states = {{ x = 1 }}\nderivatives = {{ x = '-s' }}\n\
                 outputs = {{ below = 'if x < 0 then 1 else 0' }}\n{}",
                event("k", "at = 1\nreset = { s = 0 }")
            ),
        )
        .stop(2.0)
        .event("k", Time(1, 1), 0)
        .end(0, 0.0),
        // A slope that is zero but for rounding leads nowhere: the one after it does, and x > 0 for no tick.
        (0..2).fold(
            unit(
                "C3.37",
                &format!(
                    "states = {{ x = 2, v = 2 }}\nderivatives = {{ x = 'v', v = '-2' }}\n{}{}",
                    event("e", "crossing = 'x'\ndirection = 'rising'"),
                    event("k", "every = 2\nfrom = 1\nreset = { x = 0 }")
                ),
            )
            .stop(4.0),
            |case, k| case.event("k", Time(1 + 2 * k, 1), 0),
        ),
        // It moves on, back, or not at all.
        case("C3.32", moving("if t < 1 then 1 else 0.5", "")).end(0, 1.0),
        case("C3.33", moving("if t < 1 then 1 else -0.5", "")).end(0, -1.0),
    ]);
}

/// A value that a mode stops on a whole number rests there, on whatever side of it the method has put it.
#[test]
fn rule_03_stopped_on_a_whole_number() {
    let mode = |name: &str, x: &str, y: &str| {
        format!("[unit.u.mode.{name}]\nderivatives = {{ x = '{x}', y = '{y}' }}\n")
    };
    let text = format!(
        "states = {{ x = 0, y = 2 }}\noutputs = {{ y = 'y' }}\n{}{}\
         [[unit.u.mode.a.event]]\nname = 'stop'\nwhen = 'x >= 1'\nto = 'b'\n{}",
        when("never", "mod(y, 0.5) >= 0.75"),
        mode("a", "0.25", "-0.125"),
        mode("b", "0.125", "0")
    );
    check(&[unit("C3.52", &text).stop(5.0).event("stop", Root(4, 1), 0).end(0, 1.5)]);
}

/// A reset rounds what it is computed from: a value that it puts in place of a large one is known as well as others.
#[test]
fn rule_03_resets_of_large_values() {
    let down = event("down", "at = 1\nreset = { x = -1e13 }");
    let back = |value: &str| event("back", &format!("at = 2\nreset = {{ x = '{value}' }}"));
    let text =
        |events: &str| format!("{}{down}{events}{}", line("0", "1/1024"), when("e", "x >= 1"));
    let case = |id: &str, events: &str| {
        unit(id, &text(events)).event("down", Time(1, 1), 0).event("back", Time(2, 1), 0)
    };
    let other = "[unit.v]\nkind = 'equations'\nMETHOD\nstates = { y = 0 }\nderivatives = { y = 0 }\n\
                 [[link]]\nname = 'back'\nunits = ['u', 'v']\nwhen = 'u.x <= v.y - 9'\nreset = { 'u.x' = 'v.y + 0.5' }";
    check(&[
        case("C3.48", &back("0.5")).end(0, 0.500_976_562_5),
        case("C3.49", &back("0.5 + n")).end(0, 0.500_976_562_5),
        // The rounding of what is computed from large values is as large as they are.
        case("C3.50", &back("x + 1e13 + 1")).event("e", Time(2, 1), 1),
        unit("C3.51", &format!("{}{other}", text("")))
            .event("down", Time(1, 1), 0)
            .event("back", Time(1, 1), 2)
            .end(0, 0.501_953_125),
    ]);
}

/// A mode sets a value on its threshold in motion, and the next one brings it to rest there before it has moved.
#[test]
fn rule_03_rests_where_no_time_has_passed() {
    let text = |rate: &str| {
        format!(
            "{}initial = 'still'\n{}[unit.u.mode.still]\n[[unit.u.mode.still.event]]\nname = 'kick'\n\
             when = 't >= 1 and n == 0'\nreset = {{ n = 10 }}\nto = 'up'\n\
             [unit.u.mode.up]\nderivatives = {{ x = '1' }}\n\
             [[unit.u.mode.up.event]]\nname = 'left'\nwhen = 'not x < 0'\nto = 'still'\n",
            line("0", rate),
            event("on", "when = 'x <= 0'\nreset = { n = 'n + 1' }"),
        )
    };
    let case = |id: &str, rate: &str| {
        let case = unit(id, &text(rate)).affine(0.0).stop(2.0);
        let case = case.event("kick", Time(1, 1), 0).event("left", Time(1, 1), 1);
        case.event("on", Time(1, 1), 2).end(0, 0.0).end(1, 11.0)
    };
    check(&[case("C3.38", "x"), case("C3.39", "-x"), case("C3.40", "0")]);
}

/// The sign where it is sure, else that of the first derivative that is not zero, else at rest.
#[test]
fn rule_03_decisions() {
    let cubic = |jerk: &str, condition: &str| {
        format!(
            "states = {{ x = 0, v = 0, a = 0 }}\n\
             derivatives = {{ x = 'v', v = 'a', a = '{jerk}' }}\noutputs = {{ x = 'x' }}\n{}",
            when("e", condition)
        )
    };
    let bent =
        |a: &str, condition: &str| format!("{}{}", parabola("0", "0", a), when("e", condition));
    let curve = |condition: &str| {
        format!(
            "states = {{ y = 0 }}\nderivatives = {{ y = '1' }}\noutputs = {{ y = 'y' }}\n{}",
            when("e", condition)
        )
    };
    let from =
        |x: &str, rate: &str, condition: &str| format!("{}{}", line(x, rate), when("e", condition));
    let loose = 2e-2;
    // Rule 21: what decides lies below the quantum of methods of too low an order.
    let second: &[&str] = &["qss1"];
    let third: &[&str] = &["qss1", "qss2", "liqss2", "mliqss2"];
    let why = "the derivative that decides is below their quantum";
    check(&[
        unit("C3.1", &bent("1", "x > 0")).affine(loose).without(second, why).event("e", First, 0),
        unit("C3.2", &bent("1", "x >= 0")).affine(loose).without(second, why).event("e", First, 0),
        unit("C3.3", &bent("-1", "x >= 0")).affine(loose).without(second, why),
        unit("C3.4", &bent("-1", "x < 0")).affine(loose).without(second, why).event("e", First, 0),
        unit("C3.5", &bent("0", "x >= 0")).affine(loose).without(second, why),
        unit("C3.6", &bent("0", "x > 0")).affine(loose).without(second, why),
        unit("C3.7", &cubic("1", "x >= 0")).affine(loose).without(third, why).event("e", First, 0),
        unit("C3.8", &cubic("-1", "x > 0")).affine(loose).without(third, why),
        unit("C3.9", &cubic("-1", "not x >= 0"))
            .affine(loose)
            .without(third, why)
            .event("e", First, 0),
        // The first derivative that is not zero is the third; rounding hides the value for long.
        unit("C3.10", &curve("sin(y) < y")).curved(loose).event("e", First, 0),
        unit("C3.11", &curve("sin(y) > y")).curved(loose),
        // Beyond rounding beside the threshold: the sign of the value decides.
        unit("C3.12", &from("1.000000000001", "1", "x > 1")),
        unit("C3.13", &from("0.999999999999999", "1", "x > 1"))
            .resolutions(&["us", "ns"])
            .event("e", First, 0),
        unit("C3.14", &from("1.000000000001", "-1", "x > 1")),
        // A jump decides, too: the discrete rate turns while x is exactly at 1.
        unit(
            "C3.15",
            &format!(
                "states = {{ x = 1 }}\ndiscrete = {{ r = 0 }}\nderivatives = {{ x = 'r' }}\n\
                 outputs = {{ x = 'x' }}\n{}{}",
                event("go", "at = 1\nreset = { r = 1 }"),
                when("e", "x > 1")
            ),
        )
        .event("go", Time(1, 1), 0)
        // The decision after (1, 0) finds x moving up: the formula is true from there on.
        .event("e", Time(1, 1), 1)
        .end(0, 3.0),
    ]);
}

/// A jump of another state decides no relation that reads nothing of it, but where it certainly turns it.
#[test]
fn rule_04_jumps_beside() {
    let aside = |rate: &str, condition: &str| {
        format!(
            "states = {{ x = 0, y = 0 }}\nderivatives = {{ x = '{rate}', y = '0' }}\noutputs = {{ x = 'x' }}\n{}{}",
            event("set", "at = 25\nreset = { y = 1 }"),
            when("e", condition)
        )
    };
    let stopped = format!(
        "states = {{ x = 0, v = 1 }}\nderivatives = {{ x = 'v', v = '-x' }}\noutputs = {{ v = 'v' }}\n{}",
        event("e", "when = 'not v >= 0'\nreset = { x = 0 }")
    );
    let over = format!(
        "states = {{ x = 1, y = 0 }}\ndiscrete = {{ n = 0 }}\n\
         derivatives = {{ x = 'if n > 0 then -sin(t) else 1', y = '0' }}\noutputs = {{ x = 'x' }}\n{}{}{}",
        event("go", "when = 'x > 1'\nreset = { n = 1 }"),
        event("set", "when = 'n > 0'\nreset = { y = 1 }"),
        event("back", "crossing = 'x - 1'\ndirection = 'falling'")
    );
    let why = "it is lost among the quanta";
    let quantised: &[&str] = &["qss1", "qss2", "qss3", "liqss2", "mliqss2"];
    check(&[
        // It comes nearer and nearer, by now as near as rounding.
        unit("C4.20", &aside("1 - x", "x >= 1"))
            .affine(2e-2)
            .without(&["qss1"], "its last quanta cross the limit, jump or not")
            .stop(40.0)
            .event("set", Time(25, 1), 0),
        // The event leaves v where it has passed zero, and without a slope.
        unit("C4.21", &stopped).affine(2e-2).without(quantised, why).stop(2.5).event(
            "e",
            Near(FRAC_PI_2),
            0,
        ),
        // Beyond its threshold by a tick's way: it comes back to it, and is not decided to be there.
        unit("C4.22", &over)
            .curved(0.0)
            .within(1e-8)
            .only(&["rk45", "rk23", "taylor", "rodas", "auto"])
            .resolutions(&["ps"])
            .stop(1.0)
            .event("go", First, 0)
            .event("set", First, 1)
            .event("back", Near(1.414_213_6e-6), 0),
    ]);
}

/// Only a strict change of sign flips a side; strict and other comparisons flip at the same tick.
#[test]
fn rule_04_strict_changes_of_sign() {
    let all = ["x >= 1", "x > 1", "1 <= x", "1 < x", "not x < 1", "not x <= 1", "2*x - 2 > 0"];
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let with = |head: &str, conditions: &[&str]| {
        let events: Vec<_> = names.iter().zip(conditions).map(|(n, c)| when(n, c)).collect();
        format!("{head}{}", events.concat())
    };
    let at = |id: &str, text: &str, conditions: &[&str], root: super::table::At| {
        conditions.iter().zip(names).fold(unit(id, text), |case, (_, n)| case.event(n, root, 0))
    };
    let down = ["x < 1", "x <= 1", "1 > x", "not x >= 1", "not x > 1"];
    let waves = "states = { x = 1, v = 0 }\nderivatives = { x = 'v', v = '-x' }\n\
                 outputs = { x = 'x' }\n";
    let cube = "states = { y = -1 }\nderivatives = { y = '1' }\noutputs = { y = 'y' }\n";
    check(&[
        at("C4.1", &with(&line("0", "1"), &all), &all, Root(1, 1)),
        at("C4.2", &with(&line("0", "3"), &all), &all, Root(1, 3)),
        at("C4.3", &with(&line("2", "-1"), &down), &down, Root(1, 1)),
        at("C4.4", &with(&line("4", "-7"), &down), &down, Root(3, 7)),
        // A root of third order: the sign is exact on both sides of it.
        unit("C4.5", &with(cube, &["y*y*y > 0", "y*y*y >= 0", "not y^3 < 0"]))
            .curved(0.0)
            .within(1e-4)
            .event("a", Root(1, 1), 0)
            .event("b", Root(1, 1), 0)
            .event("c", Root(1, 1), 0),
        unit("C4.6", &with(waves, &["x < 0", "x <= 0", "v < -0.5 and x < 10"]))
            .affine(2e-2)
            .stop(2.5)
            .event("c", Near(PI / 6.0), 0)
            .event("a", Near(FRAC_PI_2), 0)
            .event("b", Near(FRAC_PI_2), 0),
    ]);
}
