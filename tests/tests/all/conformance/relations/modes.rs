//! Rule 13, events of modes, with rule 10's exception; rule 14, equality.
use super::table::{First, Root, Time, check, event, line, scenario, unit, when};

/// A state that rises in mode `up`, and falls in mode `down`.
fn two(up: &str, down: &str) -> String {
    let events =
        |mode: &str, all: &str| all.replace("EVENT", &format!("[[unit.u.mode.{mode}.event]]"));
    format!(
        "states = {{ x = 0 }}\ndiscrete = {{ n = 0 }}\noutputs = {{ x = 'x', n = 'n' }}\n\
         initial = 'up'\n[unit.u.mode.up]\nderivatives = {{ x = '1' }}\n{}\n\
         [unit.u.mode.down]\nderivatives = {{ x = '-1' }}\n{}\n",
        events("up", up),
        events("down", down)
    )
}

#[test]
fn rule_13_modes() {
    let full = "EVENT\nname = 'full'\nwhen = 'x >= 1'\nto = 'down'\n";
    let empty = "EVENT\nname = 'empty'\nwhen = 'x <= 0.5'\nto = 'up'\n";
    let high = "EVENT\nname = 'high'\nwhen = 'x >= 0.25'\nreset = { n = 'n + 1' }\n";
    let again = "EVENT\nname = 'again'\nwhen = 'x >= 1'\nreset = { n = 'n + 10', x = 0.5 }\nto = 'up'\n\
                 EVENT\nname = 'far'\nwhen = 'x >= 100'\nto = 'down'\n";
    let stay = "EVENT\nname = 'stay'\nwhen = 'x >= 1'\nreset = { n = 'n + 10' }\nto = 'up'\n";
    let other = "EVENT\nname = 'other'\nwhen = 'x >= 1'\nreset = { n = 'n + 1' }\n";
    // A mode to which nothing leads is a mistake.
    let far = "EVENT\nname = 'far'\nwhen = 'x >= 100'\nto = 'down'\n";
    let leave = "EVENT\nname = 'leave'\nwhen = 'x <= -1'\nto = 'up'\n";
    let beside = |text: &str| {
        format!("{text}{}", event("own", "when = 'x >= 1'\npriority = 1\nreset = { n = 'n + 5' }"))
    };
    check(&[
        unit("C13.1", &two(full, empty))
            .stop(2.25)
            .event("full", Root(1, 1), 0)
            .event("empty", Root(3, 2), 0)
            .event("full", Root(2, 1), 0)
            .end(0, 0.75),
        // The condition holds at entry: at the next micro-step, and again at each entry.
        unit("C13.2", &two(full, &format!("{high}{empty}")))
            .stop(2.25)
            .event("full", Root(1, 1), 0)
            .event("high", Root(1, 1), 1)
            .event("empty", Root(3, 2), 0)
            .event("full", Root(2, 1), 0)
            .event("high", Root(2, 1), 1)
            .end(1, 2.0),
        // A transition from a mode to itself is no entry.
        unit("C13.3", &two(&format!("{high}{again}{far}"), leave))
            .stop(1.75)
            .event("high", Root(1, 4), 0)
            .event("again", Root(1, 1), 0)
            .event("again", Root(3, 2), 0)
            .end(1, 21.0)
            .end(0, 0.75),
        unit("C13.4", &two(&format!("{stay}{high}{far}"), leave))
            .stop(2.0)
            .event("high", Root(1, 4), 0)
            .event("stay", Root(1, 1), 0)
            .end(1, 11.0),
        // Rule 10: of the events of a mode that was just left no other happens.
        unit("C13.5", &two(&format!("{full}{other}"), leave))
            .stop(1.5)
            .event("full", Root(1, 1), 0)
            .end(1, 0.0),
        unit("C13.6", &two(&format!("{other}{full}"), leave))
            .stop(1.5)
            .event("other", Root(1, 1), 0)
            .event("full", Root(1, 1), 0)
            .end(1, 1.0),
        // Events of the unit itself are not of the mode.
        unit("C13.7", &beside(&two(full, leave)))
            .stop(1.5)
            .event("full", Root(1, 1), 0)
            .event("own", Root(1, 1), 0)
            .end(1, 5.0),
        // True at the start in the first mode: no event (rule 7), as without modes.
        unit("C13.8", &two(&format!("{high}{full}"), empty).replace("x = 0 }", "x = 0.75 }"))
            .stop(0.5)
            .event("full", Root(1, 4), 0),
    ]);
}

/// A mode that turns what has come to its threshold at this very tick, by a flip or since its motion decided there.
#[test]
fn rule_03_modes_turn_what_came_to_its_threshold() {
    let modes = |first: &str| {
        format!(
            "states = {{ x = 0 }}\ndiscrete = {{ n = 0 }}\noutputs = {{ x = 'x', n = 'n' }}\ninitial = 'still'\n\
             [unit.u.mode.still]\nderivatives = {{ x = '{first}' }}\n\
             [[unit.u.mode.still.event]]\nname = 'go'\nwhen = 't >= 1'\nto = 'down'\n\
             [unit.u.mode.down]\nderivatives = {{ x = '-0.5' }}\n\
             [[unit.u.mode.down.event]]\nname = 'low'\nwhen = 'x <= 0'\nto = 'up'\n\
             [unit.u.mode.up]\nderivatives = {{ x = '0.25' }}\n\
             [[unit.u.mode.up.event]]\nname = 'stuck'\nwhen = 'x <= 0'\nreset = {{ n = 'n + 1' }}\nto = 'down'\n"
        )
    };
    let all = |id: &str, text: &str| {
        let case = unit(id, text).stop(2.0).event("go", Time(1, 1), 0).event("low", Time(1, 1), 1);
        case.end(0, 0.25).end(1, 0.0)
    };
    check(&[
        all("C3.20", &modes("0")),
        // After two jumps at one tick rk45, whose estimate of a straight line is zero, knows no rounding of
        // its sums.
        all("C3.21", &modes("1").replace("x = 0 }", "x = -1 }"))
            .only(&["rk23", "taylor", "closed", "rodas", "rk4", "euler", "qss1", "qss2"]),
    ]);
}

/// A counter, and a state that a link sets back.
fn counted(condition: &str) -> String {
    format!(
        "[unit.a]\nkind = 'equations'\ndiscrete = {{ n = 0 }}\noutputs = {{ n = 'n' }}\n\
         [[unit.a.event]]\nname = 'tick'\nat = [1, 2]\nreset = {{ n = 'n + 1' }}\n\
         [unit.b]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\nderivatives = {{ x = '1' }}\n\
         outputs = {{ x = 'x' }}\n\
         [[link]]\nname = 'both'\nunits = ['a', 'b']\nwhen = '{condition}'\nreset = {{ 'b.x' = '0.5' }}\n"
    )
}

#[test]
fn rule_13_crossings_in_modes() {
    let falls = |start: &str, go: &str, then: &str| {
        format!(
            "states = {{ x = {start} }}\noutputs = {{ x = 'x' }}\ninitial = 'fall'\n\
             [unit.u.mode.fall]\nderivatives = {{ x = '-2' }}\n\
             [[unit.u.mode.fall.event]]\nname = 'go'\n{go}\nto = 'rest'\n\
             [unit.u.mode.rest]\n{then}"
        )
    };
    let anew = "[[unit.u.mode.rest.event]]\nname = 'c'\ncrossing = 'x'\n";
    let own = event("c", "crossing = 'x - 0.25'\ndirection = 'falling'");
    check(&[
        // It starts anew in the mode just entered, also where others read its relation.
        unit("C13.9", &falls("0", "when = 'x <= 0'", anew)).event("go", First, 0),
        // One of the unit itself is jumped over.
        unit("C13.10", &falls("1", "when = 'x < 0.5'\nreset = { x = 0 }", &own))
            .event("go", Root(1, 4), 0)
            .event("c", Root(1, 4), 1),
    ]);
}

#[test]
fn rule_14_equality() {
    let moving = |keys: &str| format!("{}{}", line("0", "1"), event("e", keys));
    let inner = |rate: &str| line("0", rate);
    let put = |rate: &str| {
        format!(
            "{}{}{}",
            line("0", rate),
            event("set", "at = 1\nreset = { x = 2 }"),
            when("e", "x == 2")
        )
    };
    let refused: &[&str] = &["=="];
    let sliding = format!(
        "switching = 'sliding'\nstates = {{ x = 1, y = 0 }}\n\
         derivatives = {{ x = '-sign(x)', y = '1' }}\noutputs = {{ x = 'x' }}\n{}",
        when("e", "x == 0 and y > 2")
    );
    check(&[
        // True at the tick of the flip, and false in the next cycle: it happens once.
        unit("C14.1", &moving("when = 'x == 1'\nreset = { n = 'n + 1' }"))
            .event("e", Root(1, 1), 0)
            .end(1, 1.0),
        unit("C14.2", &moving("when = 'x == 1 and n == 0'\nreset = { n = 'n + 1' }"))
            .event("e", Root(1, 1), 0)
            .end(1, 1.0),
        unit("C14.3", &moving("when = '3*x == 1'\nreset = { n = 'n + 1' }"))
            .event("e", Root(1, 3), 0)
            .end(1, 1.0),
        unit("C14.13", &moving("when = 'x == 2 and n == 0'\nreset = { n = 1 }"))
            .event("e", Root(2, 1), 0)
            .end(1, 1.0),
        unit("C14.4", &moving("when = 'x == 1 and n == 1'")),
        // At rest on it after a reset.
        unit("C14.5", &put("0")).event("set", Time(1, 1), 0).event("e", Time(1, 1), 1),
        // Touching is no flip, so never equal.
        unit(
            "C14.6",
            &format!(
                "states = {{ s = 0 }}\nderivatives = {{ s = '1' }}\noutputs = {{ s = 's' }}\n{}",
                when("e", "(s - 1)*(s - 1) == 0")
            ),
        )
        .curved(0.0),
        // `!=` on what moves is `not ==` (interpretation). Anywhere but as a conjunct of `when`: refused, with what to write instead.
        unit("C14.7", &moving("when = 'not x == 1'")).error(refused),
        unit("C14.8", &moving("when = 'x == 1 or x > 2'")).error(refused),
        unit("C14.9", &inner("if x == 1 then 2 else 1")).error(refused),
        unit("C14.10", &inner("1").replace("x = 'x',", "x = 'if x == 1 then 1 else 0',"))
            .error(refused),
        unit("C14.11", &moving("when = 'x != 1'")).error(&["!="]),
        // A remainder jumps where it is zero, and is equal to it at no tick; the remedy counts.
        unit("C14.17", &moving("when = 'mod(x, 1) == 0'")).error(&["remainder", "next"]),
        unit("C14.21", &moving("when = 'mod(x, 2) <= 0'")).error(&["remainder", "next"]),
        unit("C14.22", &moving("when = 'n > 0 or 0 >= mod(x, 2)'")).error(&["remainder", "next"]),
        unit("C14.20", &moving("when = 'mod(n, 2) == 0 or x == 1'"))
            .error(&["compare values that move"]),
        unit("C14.18", &moving("when = 'x >= n + 1'\nreset = { n = 'n + 1' }"))
            .stop(2.5)
            .event("e", Root(1, 1), 0)
            .event("e", Root(2, 1), 0),
        unit("C14.19", &format!("{}{}", line("0.25", "1"), when("e", "mod(x, 1) == 0.5")))
            .stop(2.0)
            .event("e", Root(1, 4), 0)
            .event("e", Root(5, 4), 0),
        // True while it slides: the other conjunct decides when.
        unit("C14.12", &sliding)
            .only(&["rk45", "rk23", "taylor", "rodas", "closed", "auto"])
            .event("e", Root(2, 1), 0),
        // Discrete values of other members of a link stand still, too.
        scenario("C14.14", &counted("a.n == 2"))
            .event("tick", Time(1, 1), 0)
            .event("tick", Time(2, 1), 0)
            .event("both", Time(2, 1), 2)
            .end_of("b", 0, 1.5),
        scenario("C14.15", &counted("not a.n != 2 and b.x > 0"))
            .event("tick", Time(1, 1), 0)
            .event("tick", Time(2, 1), 0)
            .event("both", Time(2, 1), 2)
            .end_of("b", 0, 1.5),
        scenario("C14.16", &counted("a.n == 2 or b.x == 1")).error(refused),
    ]);
}
