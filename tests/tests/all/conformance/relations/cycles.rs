//! Rules 10 to 12: which events share a cycle, what follows in the next, resets onto surfaces.
use super::table::{
    Case, First, Near, Root, Time, check, event, line, parabola, scenario, unit, when,
};

/// A state that falls to nothing at 1 s, with two discrete variables.
const FALL: &str = "states = { x = 1 }\ndiscrete = { a = 0, b = 0 }\nderivatives = { x = '-1' }\n\
                    outputs = { x = 'x', a = 'a', b = 'b' }\n";
/// A state that rises from nothing, and its limit.
fn rise(x: &str, limit: &str) -> String {
    format!(
        "states = {{ x = {x} }}\ndiscrete = {{ limit = {limit}, seen = 0 }}\n\
         derivatives = {{ x = '1' }}\noutputs = {{ x = 'x', seen = 'seen' }}\n"
    )
}

#[test]
fn rule_10_events_of_one_cycle() {
    let two =
        |first: &str, second: &str| format!("{FALL}{}{}", event("a", first), event("b", second));
    let same = two(
        "when = 'x <= 0'\nreset = { a = 'x', x = 5 }",
        "when = 'x <= 0'\nreset = { b = 'x', x = 'x + 2' }",
    );
    let turned = two(
        "when = 'x <= 0'\nreset = { a = 'x', x = 5 }\npriority = 1",
        "when = 'x <= 0'\nreset = { b = 'x', x = 'x + 2' }",
    );
    let guarded = two(
        "when = 'x <= 0'\nreset = { a = 1, x = 5 }",
        "when = 'x <= 0 and a < 1'\nreset = { b = 'a + 1' }",
    );
    let raised = two("when = 'x <= 0'\nreset = { x = 3 }", "when = 'x >= 2'\nreset = { b = 1 }");
    check(&[
        // H23: both are due at (1, 0), and the second one sees the reset of the first.
        unit("C10.1", &same)
            .stop(2.0)
            .event("a", Root(1, 1), 0)
            .event("b", Root(1, 1), 0)
            .end(2, 5.0)
            .end(0, 6.0),
        unit("C10.2", &turned)
            .stop(2.0)
            .event("b", Root(1, 1), 0)
            .event("a", Root(1, 1), 0)
            .end(1, 2.0)
            .end(0, 4.0),
        // The reset makes the condition of the second one false: it keeps its turn.
        unit("C10.3", &guarded)
            .stop(2.0)
            .event("a", Root(1, 1), 0)
            .event("b", Root(1, 1), 0)
            .end(2, 2.0),
        // It makes a condition true: that is the next micro-step (rule 11).
        unit("C10.4", &raised)
            .stop(2.0)
            .event("a", Root(1, 1), 0)
            .event("b", Root(1, 1), 1)
            .end(2, 1.0),
    ]);
}

/// H24: a threshold that another event of the same instant sets.
#[test]
fn rule_10_thresholds_that_events_set() {
    let limit = |x: &str, from: &str| {
        format!(
            "{}{}{}",
            rise(x, from),
            event("set", "at = 1\nreset = { limit = 2 }"),
            event("over", "when = 'x >= limit'\nreset = { seen = 'limit' }")
        )
    };
    check(&[
        // H24: due at the instant of the reset, and the reset is seen.
        unit("C10.5", &limit("0", "1"))
            .stop(1.5)
            .without(&["rodas"], "at ps its error of 1e-12 s decides which comes first")
            .event("set", Time(1, 1), 0)
            .event("over", Root(1, 1), 0)
            .end(1, 2.0),
        // H24: true by the reset alone.
        unit("C10.6", &limit("2", "5"))
            .stop(1.5)
            .event("set", Time(1, 1), 0)
            .event("over", Time(1, 1), 1)
            .end(1, 2.0),
        // H24: the reset puts the limit where x is: moving, so x passes it there (rule 3).
        unit("C10.7", &limit("1", "5"))
            .stop(1.5)
            .event("set", Time(1, 1), 0)
            .event("over", Time(1, 1), 1)
            .end(1, 2.0),
        // The old limit is not reached, the new one later.
        unit("C10.8", &limit("0", "5"))
            .stop(2.5)
            .event("set", Time(1, 1), 0)
            .event("over", Root(2, 1), 0)
            .end(1, 2.0),
    ]);
}

/// A time event and a state event that are due at once, in the order of their priorities.
#[test]
fn rule_10_time_and_state_events() {
    let both = |first: &str, second: &str| {
        format!(
            "{}{}{}",
            rise("0", "1"),
            event("state", &format!("when = 'x >= 1'\nreset = {{ seen = '2*seen + 1' }}\n{first}")),
            event("time", &format!("at = 1\nreset = {{ seen = '3*seen + 5' }}\n{second}"))
        )
    };
    check(&[
        unit("C10.10", &both("", ""))
            .event("state", Root(1, 1), 0)
            .event("time", Time(1, 1), 0)
            .end(1, 8.0)
            .resolutions(&["us", "ns"]),
        unit("C10.11", &both("", "priority = -1"))
            .event("time", Time(1, 1), 0)
            .event("state", Root(1, 1), 0)
            .end(1, 11.0)
            .resolutions(&["us", "ns"]),
    ]);
}

#[test]
fn rule_11_what_follows() {
    let chain = format!(
        "states = {{ x = 0 }}\ndiscrete = {{ a = 0, b = 0, c = 0 }}\nderivatives = {{ x = '1' }}\n\
         outputs = {{ c = 'c' }}\n{}{}{}{}",
        event("last", "when = 'c >= 1'"),
        event("third", "when = 'b >= 1'\nreset = { c = 1 }"),
        event("second", "when = 'a >= 1'\nreset = { b = 1 }"),
        event("first", "when = 'x >= 1'\nreset = { a = 1 }")
    );
    let state = |start: &str, rate: &str, reset: &str, condition: &str| {
        format!(
            "{}{}{}",
            line(start, rate),
            event("set", &format!("at = 1\nreset = {{ {reset} }}")),
            when("e", condition)
        )
    };
    let told = "connections = ['b.tell -> u.set']\n[unit.u]\nkind = 'equations'\nMETHOD\n\
                states = { x = 0 }\ndiscrete = { limit = 5 }\nderivatives = { x = '1' }\n\
                outputs = { x = 'x' }\nevent_inputs = ['set']\n\
                [[unit.u.event]]\nname = 'over'\nwhen = 'x >= limit'\n\
                [[unit.u.on]]\ninput = 'set'\nreset = { limit = 'value' }\n\
                [unit.b]\nkind = 'equations'\nevent_outputs = ['tell']\n\
                [[unit.b.event]]\nname = 'tell'\nat = 1\nemit = { tell = '0.5' }\n";
    let endless = format!(
        "states = {{ x = 0 }}\ndiscrete = {{ a = 0 }}\nderivatives = {{ x = '1' }}\n\
         outputs = {{ a = 'a' }}\n{}{}",
        event("up", "when = 'x >= 1 and a < 1'\nreset = { a = 1 }"),
        event("down", "when = 'a >= 1'\nreset = { a = 0 }")
    );
    check(&[
        unit("C11.1", &chain)
            .event("first", Root(1, 1), 0)
            .event("second", Root(1, 1), 1)
            .event("third", Root(1, 1), 2)
            .event("last", Root(1, 1), 3)
            .end(0, 1.0),
        unit("C11.2", &state("0", "0", "x = 2", "x >= 1")).event("set", Time(1, 1), 0).event(
            "e",
            Time(1, 1),
            1,
        ),
        unit("C11.3", &state("0", "1", "x = 5", "x >= 2")).event("set", Time(1, 1), 0).event(
            "e",
            Time(1, 1),
            1,
        ),
        // True before and after the reset: no event.
        unit("C11.4", &state("1", "1", "x = 5", "x >= 0.5")).event("set", Time(1, 1), 0),
        unit("C11.5", &state("0", "1", "x = -5", "x >= 2")).event("set", Time(1, 1), 0),
        // H24: b tells in the cycle (1, 0) of its own event, and the decision follows that cycle.
        scenario("C11.6", told).event("tell", Time(1, 1), 0).event("over", Time(1, 1), 1),
        // R11(a).
        unit("C11.7", &endless).error(&["micro", "u"]),
    ]);
}

/// A reset puts a value onto a threshold, from where an input of that cycle leads on.
#[test]
fn rule_11_sides_are_decided_once() {
    let text = |before: &str, after: &str| {
        format!(
            "connections = ['a.y -> b.i']\n\
             [unit.a]\nkind = 'equations'\ndiscrete = {{ y = {before} }}\noutputs = {{ y = 'y' }}\n\
             [[unit.a.event]]\nname = 'turn'\nat = 1\nreset = {{ y = {after} }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nstates = {{ x = 3 }}\ninputs = {{ i = 0 }}\n\
             derivatives = {{ x = 'i' }}\noutputs = {{ x = 'x' }}\n\
             [[unit.b.event]]\nname = 'set'\nat = 1\nreset = {{ x = -1 }}\n\
             [[unit.b.event]]\nname = 'below'\nwhen = 'x < -1'\n"
        )
    };
    let case = |id: &str, before: &str, after: &str| {
        let case = scenario(id, &text(before, after)).stop(2.0);
        case.event("turn", Time(1, 1), 0).event("set", Time(1, 1), 0)
    };
    check(&[
        case("C11.8", "-1", "1").end_of("b", 0, 0.0),
        case("C11.9", "1", "-1").event("below", Time(1, 1), 1).end_of("b", 0, -2.0),
    ]);
}

#[test]
fn rule_12_resets_onto_the_surface() {
    let ball = |when: &str, v: &str, rest: &str| {
        format!(
            "{}{}",
            parabola("1.25", "0", "-10"),
            event("b", &format!("when = '{when}'\nreset = {{ x = 0, v = '{v}' }}\n{rest}"))
        )
    };
    let put = |rate: &str, condition: &str| {
        format!(
            "states = {{ x = 3 }}\nderivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x' }}\n{}{}",
            event("set", "at = 1\nreset = { x = 1 }"),
            when("e", condition)
        )
    };
    let below = |rate: &str, condition: &str| put(rate, condition).replace("x = 3", "x = -3");
    let loose = &["euler", "qss1", "liqss2", "mliqss2"];
    let why = "their parabola is another one";
    let bounce = |id: &str, condition: &str| {
        unit(id, &ball(condition, "-v", ""))
            .affine(1e-2)
            .without(loose, why)
            .event("b", Root(1, 2), 0)
            .event("b", Root(3, 2), 0)
            .event("b", Root(5, 2), 0)
    };
    check(&[
        // Back up from the surface: the condition is false after the reset, by the derivative.
        bounce("C12.1", "x <= 0"),
        bounce("C12.2", "x < 0"),
        bounce("C12.3", "x <= 0 and v < 0"),
        unit("C12.6", &put("1", "x > 1")).event("set", Time(1, 1), 0),
        unit("C12.7", &put("-0.1", "x <= 1")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        unit("C12.8", &put("-0.1", "x < 1")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        unit("C12.9", &below("1", "x >= 1")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        unit("C12.10", &below("1", "x > 1")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        unit("C12.11", &below("-1", "x >= 1")).event("set", Time(1, 1), 0),
        unit("C12.12", &below("0", "x >= 1")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        unit("C12.13", &below("0", "x > 1")).event("set", Time(1, 1), 0),
        // One-sided contact: ever faster without `rest`, which is an error.
        unit("C12.14", &ball("x <= 0 and v < 0", "-0.5*v", ""))
            .affine(1e-2)
            .without(loose, why)
            .error(&["Zeno", "`b`", "`rest`", " s: "]),
        unit("C12.15", &put("1", "x >= 1")).event("set", Time(1, 1), 0),
    ]);
    // With `rest` the eleventh impact, 2^-10 s after the tenth, leaves the ball at rest on the floor.
    let still = ball("x <= 0 and v < 0", "-0.5*v", "rest = { within = '1 ms', x = 0, v = 0 }");
    let rest = unit("C12.16", &still).affine(1e-2).without(loose, why).end(0, 0.0).end(1, 0.0);
    // The event follows on itself after 1 s, which counts as within 1 s.
    let keys = "when = 'x <= 0'\nreset = { x = 1 }\nrest = { within = '1 s', x = 0.5 }";
    let within = unit("C12.17", &format!("{}{}", line("1", "-1"), event("hit", keys)))
        .only(&["rk45", "taylor", "rodas", "closed"])
        .event("hit", Root(1, 1), 0)
        .event("hit", Root(2, 1), 0)
        .end(0, 0.5);
    // An event that changes no state lets the unit rest on.
    let beside = event("tick", "at = 2.5\nreset = { n = 'n + 1' }");
    let on = unit("C12.18", &format!("{}{}{beside}", line("1", "-1"), event("hit", keys)))
        .only(&["rk45", "taylor", "rodas", "closed", "qss2"])
        .event("hit", Root(1, 1), 0)
        .event("hit", Root(2, 1), 0)
        .event("tick", Time(5, 2), 0)
        .end(0, 0.5)
        .end(1, 1.0);
    // Both directions of a crossing are one event, which follows on itself at once.
    let keys = "crossing = 'abs(x) - 0.5'\nreset = { n = 'n + 1', x = '-0.5*x' }\n\
                rest = { within = '1 ms', x = -0.25, n = 10 }";
    let both = unit("C12.39", &format!("{}{}", line("-1", "1"), event("hit", keys)))
        .only(&["rk45", "taylor", "rodas", "closed"])
        .event("hit", Root(1, 2), 0)
        .event("hit", Root(3, 4), 0)
        .event("hit", Root(3, 4), 1)
        .end(0, -0.25)
        .end(1, 10.0);
    // A crossing has no condition that could hold on.
    let falls = format!("{FALL}{}", event("c", "crossing = 'x'\nreset = { x = 0 }"));
    let crossing = unit("C12.19", &falls).event("c", Root(1, 1), 0).end(0, -2.0);
    // Another event puts it back.
    let other = format!(
        "{}{}{}",
        line("0", "1"),
        event("back", "when = 'x >= n'\nreset = { n = 5, x = 0 }"),
        when("e", "x > 0")
    );
    let other = unit("C12.20", &other).event("back", First, 0).event("e", First, 0);
    // The state that the reset reads is a sum of many steps.
    let halved = "every = '1/2 s'\nfrom = '1 s'\nreset = { x = '0.5*x' }";
    let text = format!("{}{}{}", line("1", "1"), event("half", halved), when("e", "x <= 1"));
    let summed = unit("C12.21", &text)
        .stop(1.75)
        .only(&["rk45", "rk23", "rk4", "euler", "taylor", "rodas", "closed"])
        .event("half", Root(1, 1), 0)
        .event("half", Root(3, 2), 0)
        .event("e", Root(3, 2), 1);
    check(&[on, both, crossing, other, summed]);
    let impact = |case: Case, n: u32| case.event("b", Root((3 << (n - 1)) - 2, 1 << n), 0);
    check(&[
        (1..=11).fold(rest, impact),
        within,
        // A start on the surface is a reset onto it.
        unit("C12.22", &format!("{}{}", line("0", "-1"), when("e", "x < 0"))).event("e", First, 0),
        // Rounding up to ticks keeps the ball from ever faster bounces: the rest is never reached.
        unit(
            "C12.23",
            &ball("x <= 0 and v < 0", "-0.8*v", "rest = { within = '1 us', x = 0, v = 0 }"),
        )
        .only(&["rk45", "taylor", "closed"])
        .resolutions(&["us"])
        .stop(10.0)
        .error(&["chattering", "`b`", "`rest` needs a `within` beyond 0.000001 s"]),
    ]);
}

#[test]
fn rule_12_resets_onto_whole_numbers() {
    let up = |keys: &str| format!("{}{}", line("0", "0.3"), event("e", keys));
    // Down from 4, and put back onto 3 from 2.75.
    let down = |condition: &str| {
        format!(
            "{}{}{}",
            line("4", "-1"),
            event("set", "at = 1.25\nreset = { n = 1 }"),
            event("e", &format!("when = '{condition}'\nreset = {{ x = 3, n = 2 }}"))
        )
    };
    check(&[
        unit("C12.24", &up("when = 'ceil(x) > 2'\nreset = { x = 2 }")).stop(8.0).error(&[
            "`e`",
            "falls through",
            "`rest`",
        ]),
        unit("C12.25", &up("when = 'floor(x + 0.4) >= 2'\nreset = { x = 1.6 }"))
            .stop(8.0)
            .error(&["`e`", "falls through", "`rest`"]),
        // Another relation that stands at its threshold there does not end the condition.
        unit(
            "C12.40",
            &format!(
                "{}{}{}",
                line("1", "-1"),
                event("e", "when = 'floor(x) < 1'\nreset = { x = 1 }"),
                event("f", "crossing = 'x - 1'\ndirection = 'falling'")
            ),
        )
        .only(&["rk45", "rk23", "rk4", "taylor"])
        .error(&["`e`", "falls through", "`rest`"]),
        // The condition needs another whole number than the one onto which x is put.
        unit("C12.26", &down("ceil(x) > 1 and n == 1"))
            .stop(2.0)
            .event("set", Time(5, 4), 0)
            .event("e", Time(5, 4), 1)
            .end(0, 2.25),
        // A remainder goes on from the whole number, and is small again at the next one.
        unit("C12.27", &up("when = 'mod(x, 1) < 0.5'\nreset = { x = 'floor(x)' }"))
            .stop(8.0)
            .resolutions(&["ns"])
            .event("e", First, 0)
            .event("e", Near(10.0 / 3.0), 0)
            .event("e", Near(20.0 / 3.0), 0),
    ]);
}

#[test]
fn rule_12_a_reset_of_another_system_of_equations() {
    // z1 is solved for anew beside the reset of x, and comes out elsewhere by a rounding.
    let text = format!(
        "states = {{ x = 2, y = 2 }}\nalgebraic = {{ z0 = 1, z1 = 1 }}\n\
         derivatives = {{ x = '0', y = '-1' }}\n\
         residuals = {{ z0 = 'z0 - x', z1 = 'z1^3 + z1 - y' }}\noutputs = {{ x = 'x' }}\n\
         tolerance = 1e-9\nabsolute_tolerance = 1e-11\n{}",
        event("e", "when = 'z1 < 0.3333333333333333'\nreset = { x = 0 }")
    );
    let at = Near(2.0 - 10.0 / 27.0);
    check(&[unit("C12.41", &text).algebraic().stop(2.0).event("e", at, 0).end(0, 0.0)]);
}

#[test]
fn rule_12_a_threshold_that_is_put_where_the_quantity_is() {
    let text = |n: &str, keys: &str| {
        format!(
            "states = {{ x = 0 }}\ndiscrete = {{ n = {n} }}\nderivatives = {{ x = '1' }}\n\
             outputs = {{ x = 'x', n = 'n' }}\n{}",
            event("e", keys)
        )
    };
    let falls = &["`e`", "falls through", "`rest`"];
    check(&[
        unit("C12.42", &text("0.33333333333333", "when = 'x >= n'\nreset = { n = 'x' }"))
            .error(falls),
        unit("C12.43", &text("0.33333333333333", "when = 't > n'\nreset = { n = 't' }"))
            .error(falls),
        // Put beyond the quantity, it is reached again.
        unit("C12.44", &text("1", "when = 't >= n'\nreset = { n = 't + 1' }"))
            .event("e", Root(1, 1), 0)
            .event("e", Root(2, 1), 0)
            .event("e", Root(3, 1), 0),
        // Set to the value that it has, it puts nothing there.
        unit("C12.45", &text("1", "when = 'x >= n'\nreset = { n = '1' }"))
            .event("e", Root(1, 1), 0)
            .end(1, 1.0),
    ]);
}
