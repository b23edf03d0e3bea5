//! Rules 23 and 24: values before a cycle, and where Modelica differs.
use super::table::{First, Root, Time, check, event, line, scenario, unit};

#[test]
fn rule_23_values_before_the_cycle() {
    let fall = |first: &str, second: &str| {
        format!(
            "states = {{ x = 1 }}\ndiscrete = {{ a = 0, b = 0 }}\nderivatives = {{ x = '-1' }}\n\
             outputs = {{ a = 'a', b = 'b', x = 'x' }}\n{}{}",
            event("first", first),
            event("second", second)
        )
    };
    let down = "when = 'x <= 0'";
    check(&[
        // The second event of the cycle sees the reset in `x`, and the left limit in `pre(x)`.
        unit(
            "C23.1",
            &fall(
                &format!("{down}\nreset = {{ x = 5 }}"),
                &format!("{down}\nreset = {{ a = 'pre(x)', b = 'x' }}"),
            ),
        )
        .stop(2.0)
        .event("first", Root(1, 1), 0)
        .event("second", Root(1, 1), 0)
        .end(0, 0.0)
        .end(1, 5.0)
        .end(2, 4.0),
        // A micro-step later it is the value after the cycle (1, 0).
        unit(
            "C23.2",
            &fall(
                &format!("{down}\nreset = {{ x = 5 }}"),
                "when = 'x >= 4'\nreset = { a = 'pre(x)', b = 'x', x = 'pre(x) + 2' }",
            ),
        )
        .stop(2.0)
        .event("first", Root(1, 1), 0)
        .event("second", Root(1, 1), 1)
        .end(0, 5.0)
        .end(1, 5.0)
        .end(2, 6.0),
        // All formulas of one event read the values before it: an exchange needs no third variable.
        unit(
            "C23.3",
            &fall("at = 0.5\nreset = { a = 1, b = 2 }", "at = 1.5\nreset = { a = 'b', b = 'a' }"),
        )
        .stop(2.0)
        .event("first", Time(1, 2), 0)
        .event("second", Time(3, 2), 0)
        .end(0, 2.0)
        .end(1, 1.0),
        // `pre` of a discrete variable that the first event of the cycle sets.
        unit(
            "C23.4",
            &fall(
                &format!("{down}\nreset = {{ a = 7 }}"),
                &format!("{down}\nreset = {{ b = '10*a + pre(a)' }}"),
            ),
        )
        .stop(2.0)
        .event("first", Root(1, 1), 0)
        .event("second", Root(1, 1), 0)
        .end(1, 70.0),
        // A message that is received in this cycle sees the own event in `a`, but not in `pre(a)`.
        scenario("C23.6", RECEIVED)
            .event("sent", Time(1, 1), 0)
            .event("own", Time(1, 1), 0)
            .end(0, 107.0)
            .end(1, 7.0),
        // Outside of events there is no cycle before which a value could be (interpretation).
        unit(
            "C23.5",
            "states = { x = 1 }\nderivatives = { x = 'pre(x)' }\noutputs = { x = 'x' }\n",
        )
        .error(&["pre"]),
    ]);
}

const RECEIVED: &str = "\
connections = ['c.out -> u.hit']
[unit.c]
kind = 'equations'
event_outputs = ['out']
[[unit.c.event]]
name = 'sent'
at = 1
emit = { out = 1 }
[unit.u]
kind = 'equations'
METHOD
states = { x = 0 }
discrete = { a = 1, b = 0 }
derivatives = { x = '1' }
outputs = { b = 'b', a = 'a', x = 'x' }
event_inputs = ['hit']
[[unit.u.event]]
name = 'own'
at = 1
reset = { a = 7 }
[[unit.u.on]]
input = 'hit'
reset = { b = '100*pre(a) + a' }
";

#[test]
fn rule_24_unlike_modelica() {
    let one = |rate: &str| {
        format!("{}{}", line("1", rate), event("e", "when = 'x >= 1'\nreset = { n = 'n + 1' }"))
    };
    let both = format!(
        "{}{}{}",
        line("0", "1"),
        event("a", "when = 'x >= 1'\nreset = { n = 'n + 1' }"),
        event("b", "when = 'x >= 1'\nreset = { n = '10*(n + 1)' }")
    );
    check(&[
        // Modelica: true at the start and so no event, whichever way x moves.
        unit("C24.1", &one("1")).stop(1.0).event("e", First, 0).end(1, 1.0),
        unit("C24.2", &one("-1")).stop(1.0).end(1, 0.0),
        unit("C24.3", &one("0")).stop(1.0).end(1, 0.0),
        // Modelica: two equations for n, an error. Here one event after the other.
        unit("C24.4", &both).event("a", Root(1, 1), 0).event("b", Root(1, 1), 0).end(1, 20.0),
    ]);
}
