//! Rules 1 and 17, relations in relations, `floor` and `mod`; rule 18, sliding.
use super::table::{Near, Root, check, event, line, unit, when};

#[test]
fn rule_01_integers_are_sides() {
    let of = |start: &str, rate: &str, condition: &str| {
        format!("{}{}", line(start, rate), when("e", condition))
    };
    let area = |start: &str, rate: &str, y: &str| {
        format!(
            "states = {{ x = {start}, y = 0 }}\nderivatives = {{ x = '{rate}', y = '{y}' }}\n\
             outputs = {{ x = 'x', y = 'y' }}\n"
        )
    };
    check(&[
        unit("C1.1", &of("0", "1", "floor(x) >= 2")).event("e", Root(2, 1), 0),
        unit("C1.2", &of("0.5", "1", "floor(x) > 1")).event("e", Root(3, 2), 0),
        unit("C1.3", &of("0.75", "1", "mod(x, 1) < 0.5"))
            .stop(2.5)
            .event("e", Root(1, 4), 0)
            .event("e", Root(5, 4), 0)
            .event("e", Root(9, 4), 0),
        unit("C1.4", &of("0", "1", "mod(x, 1) >= 0.5"))
            .event("e", Root(1, 2), 0)
            .event("e", Root(3, 2), 0)
            .event("e", Root(5, 2), 0),
        unit("C1.5", &of("0.25", "1", "mod(floor(x), 2) > 0.5"))
            .stop(3.5)
            .event("e", Root(3, 4), 0)
            .event("e", Root(11, 4), 0),
        // It leaves a whole number: downwards the integer below holds, upwards its own.
        unit("C1.6", &area("2", "-1", "floor(x)")).affine(1e-2).stop(2.0).end(1, 1.0),
        unit("C1.7", &area("0", "1", "floor(x)")).affine(1e-2).stop(3.0).end(1, 3.0),
        unit("C1.8", &area("0", "1", "mod(x, 1)")).affine(1e-2).stop(3.0).end(1, 1.5),
        unit("C1.9", &area("0", "1", "ceil(x)")).affine(1e-2).stop(3.0).end(1, 6.0),
        unit("C1.10", &area("-1.5", "1", "abs(x)")).affine(1e-2).stop(3.0).end(1, 2.25),
        unit("C1.11", &area("-1", "1", "if x > 0 then 1 else -1"))
            .affine(1e-2)
            .stop(3.0)
            .end(1, 1.0),
        // At rest on a whole number until another variable sets it in motion.
        unit(
            "C1.14",
            &format!(
                "states = {{ x = 2 }}\ndiscrete = {{ go = 0 }}\nderivatives = {{ x = '-go' }}\n\
                 outputs = {{ x = 'x' }}\n{}{}{}",
                event("go", "at = '1 s'\nreset = { go = 1 }"),
                when("below", "floor(x) < 2"),
                when("never", "mod(x, 1) < 0")
            ),
        )
        .stop(1.5)
        .event("go", Root(1, 1), 0)
        .event("below", Root(1, 1), 1),
        // Equal up to sign: one side, so that both branches change together.
        unit("C1.12", &area("-1", "1", "(if x > 0 then 1 else 0) + (if 0 >= x then 1 else 0)"))
            .affine(1e-2)
            .stop(3.0)
            .end(1, 3.0),
        unit("C1.13", &area("-1", "1", "max(x, 0) + max(-x, 0) - abs(x)"))
            .affine(1e-2)
            .stop(3.0)
            .end(1, 0.0),
    ]);
}

#[test]
fn rule_17_relations_in_relations() {
    let of = |start: &str, rate: &str, condition: &str| {
        format!("{}{}", line(start, rate), when("e", condition))
    };
    let looped = |residual: &str| {
        format!(
            "states = {{ x = 0 }}\nalgebraic = {{ z = 0 }}\nderivatives = {{ x = '1' }}\n\
             residuals = {{ z = '{residual}' }}\noutputs = {{ x = 'x', z = 'z' }}\n"
        )
    };
    let back = |key: &str| {
        format!("{}{}", line("1", "-1"), event("e", &format!("{key}\nreset = {{ x = 1 }}")))
    };
    check(&[
        unit("C17.1", &of("-2", "1", "abs(x) <= 1")).event("e", Root(1, 1), 0),
        unit("C17.2", &of("-2", "1", "abs(abs(x) - 1) < 0.5"))
            .stop(4.0)
            .event("e", Root(1, 2), 0)
            .event("e", Root(5, 2), 0),
        unit("C17.3", &of("0", "1", "max(x, 1) > 2")).event("e", Root(2, 1), 0),
        unit("C17.4", &of("0", "1", "(if x > 1 then x else -x) > 0")).event("e", Root(1, 1), 0),
        // The inner relation jumps over the outer threshold: an event at the inner flip.
        unit("C17.5", &of("0", "1", "(if x > 1 then 5 else 0) > 2")).event("e", Root(1, 1), 0),
        unit("C17.6", &of("0", "1", "sign(x - 1) + sign(x - 2) > 1")).event("e", Root(2, 1), 0),
        unit("C17.7", &of("0", "1", "min(max(x, 0.5), 1.5) >= 1")).event("e", Root(1, 1), 0),
        unit("C17.8", &line("0", "if abs(x - 1) < 0.5 then 2 else 1")).stop(2.0).end(0, 2.5),
        // It ends where the condition becomes false, at 1.5 s: no second event.
        unit("C17.12", &of("0", "1", "abs(x - 1) < 0.5")).event("e", Root(1, 2), 0),
        unit("C17.13", &of("0", "1", "abs(x - 1) <= 0.5")).event("e", Root(1, 2), 0),
        unit("C17.14", &of("0", "1", "max(x - 1, 1 - x) < 0.5")).event("e", Root(1, 2), 0),
        // The inner side flips just where the outer value comes to zero: it jumps or turns back.
        unit("C17.15", &of("0.75", "-1", "mod(x, 0.5) <= 0")).error(&["remainder", "next"]),
        unit("C17.16", &of("0.75", "-1", "mod(x, 0.5) > 0")),
        unit("C17.17", &of("0", "1", "abs(x - 1) <= 0")),
        unit("C17.18", &of("0", "1", "abs(x - 1) > 0")),
        // An inner flip makes it false, and the reset of the same cycle makes it true again.
        unit("C17.20", &back("crossing = '(if x >= 0 then 1 else x) - 0.5'"))
            .stop(1.5)
            .event("e", Root(1, 1), 0)
            .event("e", Root(1, 1), 1),
        unit("C17.21", &back("when = '(if x >= 0 then 1 else x) < 0.5'")).stop(1.5).event(
            "e",
            Root(1, 1),
            0,
        ),
        unit(
            "C17.22",
            &format!(
                "{}{}",
                back("when = 'x <= 0'"),
                when("again", "(if x >= 0 then 1 else x) >= 0.5")
            ),
        )
        .stop(1.5)
        .event("e", Root(1, 1), 0)
        .event("again", Root(1, 1), 1),
        unit("C17.19", &of("0", "1/3", "abs(3*x - 1) <= 0")),
        // Sides and algebraic variables together: z follows x up to 1, and is 3 from there on.
        unit("C17.9", &looped("z - (if x > 1 then 3 else x)")).algebraic().stop(2.0).end(1, 3.0),
        unit("C17.10", &looped("z - (if z > 0.5 then 2 else 0.25) - 0.25*x"))
            .algebraic()
            .stop(0.5)
            .end(1, 0.375),
        // No side fits: z is 0 above one half and 1 below. The message names the relation.
        unit("C17.11", &looped("z - (if z > 0.5 then 0 else 1)")).algebraic().error(&["z > 0.5"]),
    ]);
}

const FINE: &[&str] = &["us", "ns", "ps", "fs"];
// The ramp makes the sliding field another function of time than an affine one.
const CURVED: &[&str] = &["rk45", "rk23", "taylor", "rodas", "auto"];
const SLIDING: &[&str] = &["rk45", "rk23", "taylor", "rodas", "closed", "auto"];

/// A value that the mode of a flip drives back onto its surface is not on it yet: it goes back first.
#[test]
fn rule_18_a_mode_that_drives_back() {
    let text = "switching = 'sliding'\nstates = { x = '-1/3' }\nderivatives = { x = '-sign(x)' }\n\
                outputs = { x = 'x' }\ninitial = 'up'\n\
                [unit.u.mode.up]\nderivatives = { x = '1' }\n\
                [[unit.u.mode.up.event]]\nname = 'above'\nwhen = 'x > 0'\nto = 'back'\n\
                [unit.u.mode.back]\n[[unit.u.mode.back.event]]\nname = 'down'\nwhen = 'x <= 0'\n";
    // At 334 ms it is 2/3 ms above, and comes down at 334.667 ms.
    check(&[unit("C18.49", text)
        .only(SLIDING)
        .resolutions(&["ms"])
        .event("above", Root(1, 3), 0)
        .event("down", Root(335, 1000), 0)
        .end(0, 0.0)]);
}

#[test]
fn rule_18_sliding() {
    let slide = |start: &str, rate: &str| {
        format!(
            "switching = 'sliding'\nstates = {{ x = {start} }}\nderivatives = {{ x = '{rate}' }}\n\
                 outputs = {{ x = 'x', f = 'sign(x)' }}\n"
        )
    };
    let free = |start: &str, rate: &str| slide(start, rate).replace("sliding", "located");
    let ramp = "switching = 'sliding'\nstates = { x = 0.5, y = 0 }\n\
                derivatives = { x = '0.5*y - sign(x)', y = '1' }\noutputs = { x = 'x', f = 'sign(x)' }\n";
    check(&[
        unit("C18.1", &slide("1", "-sign(x)"))
            .only(SLIDING)
            .resolutions(FINE)
            .end(0, 0.0)
            .end(1, 0.0),
        unit("C18.2", &slide("1", "0.5 - sign(x)"))
            .only(SLIDING)
            .resolutions(FINE)
            .end(0, 0.0)
            .end(1, 0.5),
        unit("C18.3", &slide("0", "0.25 - sign(x)"))
            .only(SLIDING)
            .resolutions(FINE)
            .end(0, 0.0)
            .end(1, 0.25),
        unit("C18.4", &slide("'1/3'", "-0.5 - sign(x)"))
            .only(SLIDING)
            .resolutions(FINE)
            .end(0, 0.0)
            .end(1, -0.5),
        // It sticks from 0.586 s on, lets go at y = 2, and is then 0.25 (t - 2)^2.
        unit("C18.5", ramp)
            .only(CURVED)
            .resolutions(FINE)
            .affine(0.0)
            .within(1e-6)
            .stop(4.0)
            .end(0, 1.0)
            .end(1, 1.0),
        // The clock y goes on in the tick in which the sliding begins.
        unit("C18.12", &format!("{ramp}{}", when("e", "x > 0")))
            .only(CURVED)
            .resolutions(&["ms", "us", "ns"])
            .affine(0.0)
            .within(1e-6)
            .stop(4.0)
            .event("e", Root(2, 1), 0)
            .end(0, 1.0)
            .end(1, 1.0),
        // An event inside a sliding piece has its own tick.
        unit("C18.6", &format!("{ramp}{}", when("e", "y >= 1 and y < 3")))
            .only(CURVED)
            .affine(0.0)
            .within(1e-6)
            .stop(2.5)
            .event("e", Near(1.0), 0)
            .end(0, 0.0625),
        // While it slides, it is on neither side (C18.10); it lets go as it flips (C18.11).
        unit(
            "C18.10",
            &format!(
                "{}{}{}{}",
                slide("1", "0.5 - sign(x)"),
                when("on", "x <= 0"),
                when("below", "x < 0"),
                when("under", "sign(x - 0) < 0")
            ),
        )
        .only(SLIDING)
        .resolutions(FINE)
        .event("on", Root(2, 1), 0),
        // So is any other function that is zero on the surface.
        unit(
            "C18.13",
            &format!(
                "{}{}{}{}",
                slide("1", "-sign(x)"),
                when("beyond", "0 + x < 0"),
                event("passes", "crossing = '2*x'"),
                when("there", "2*x <= 0")
            ),
        )
        .only(SLIDING)
        .resolutions(FINE)
        .event("there", Root(1, 1), 0),
        unit("C18.11", &format!("{ramp}{}", when("off", "x > 0")))
            .only(CURVED)
            .affine(0.0)
            .within(1e-6)
            .event("off", Near(2.0), 0)
            .end(0, 0.25),
        // H22: without leave to slide.
        unit("C18.7", &free("1", "-sign(x)")).resolutions(FINE).error(&[
            "chattering",
            "`x`",
            "switching = \"sliding\"",
        ]),
        unit("C18.8", &free("'1/3'", "0.5 - sign(x)")).resolutions(FINE).error(&[
            "chattering",
            "`x`",
            "switching = \"sliding\"",
        ]),
        unit(
            "C18.9",
            &format!(
                "states = {{ x = 0.7 }}\ndiscrete = {{ s = -1 }}\nderivatives = {{ x = 's' }}\n\
                 outputs = {{ x = 'x' }}\n{}{}",
                event("low", "when = 'x < 0'\nreset = { s = 1 }"),
                event("high", "when = 'x > 0'\nreset = { s = -1 }")
            ),
        )
        .error(&["u"]),
    ]);
}

/// A reset turns back the side inside a relation, on which the condition depends in the next cycle.
#[test]
fn rule_17_resets_turn_inner_sides_back() {
    let text = format!(
        "states = {{ x = -1, w = -1 }}\nderivatives = {{ x = '1', w = '0.125' }}\n\
         outputs = {{ x = 'x' }}\n{}{}",
        event("low", "when = 'x <= 0'\nreset = { w = 0.5 }"),
        event("e", "when = '(if x > 0 then 1 else w) > 0'\nreset = { x = -1 }")
    );
    check(&[unit("C17.30", &text)
        .stop(1.5)
        .event("e", Root(1, 1), 0)
        .event("low", Root(1, 1), 1)
        .event("e", Root(1, 1), 2)
        .end(0, -0.5)]);
}
