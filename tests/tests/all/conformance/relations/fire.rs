//! Rules 8 and 9: an event is a formula that goes from false to true between cycles; changes within
//! a tick act together.
use super::table::{Near, Root, Time, check, event, line, unit, when};
use std::f64::consts::PI;

#[test]
fn rule_08_false_to_true() {
    let counted = |condition: &str, reset: &str| {
        let keys = format!("when = '{condition}'\nreset = {{ n = 'n + 1'{reset} }}");
        format!("{}{}", line("0", "1"), event("e", &keys))
    };
    let wave = "states = { x = 0, v = 1 }\nderivatives = { x = 'v', v = '-x' }\n\
                outputs = { x = 'x' }\n";
    let pulse = |condition: &str| format!("{wave}{}", when("e", condition));
    check(&[
        // It stays true after its own reset, and so happens once.
        unit("C8.1", &counted("x >= 1", "")).stop(5.0).event("e", Root(1, 1), 0).end(1, 1.0),
        unit("C8.2", &counted("x >= 1", ", x = 3")).stop(5.0).event("e", Root(1, 1), 0).end(0, 7.0),
        unit("C8.3", &counted("x >= 1", ", x = 0"))
            .stop(3.5)
            .event("e", Root(1, 1), 0)
            .event("e", Root(2, 1), 0)
            .event("e", Root(3, 1), 0)
            .end(1, 3.0),
        // One part takes over from the other in the same cycle: true throughout.
        unit("C8.4", &counted("x >= 1 and x < 2 or x >= 2", ""))
            .event("e", Root(1, 1), 0)
            .end(1, 1.0),
        unit("C8.5", &counted("x >= 1 and x <= 2 or x > 2", ""))
            .event("e", Root(1, 1), 0)
            .end(1, 1.0),
        unit("C8.6", &counted("x >= 1 and x < 2 or x >= 2.5", ""))
            .event("e", Root(1, 1), 0)
            .event("e", Root(5, 2), 0)
            .end(1, 2.0),
        unit("C8.7", &counted("x < 1 or x >= 2", "")).event("e", Root(2, 1), 0).end(1, 1.0),
        unit("C8.8", &pulse("x > 0.5"))
            .affine(3e-2)
            .within(1e-4)
            .stop(8.0)
            .without(&["euler", "qss1"], "their amplitude drifts")
            .event("e", Near(PI / 6.0), 0)
            .event("e", Near(13.0 * PI / 6.0), 0),
        // One relation has one side: at the flip's tick it is the new one, so that both comparisons
        // never hold together (interpretation: rule 14 is for `==` alone).
        unit("C8.9", &counted("x >= 1 and x <= 1", "")),
        unit("C8.10", &counted("x > 1 and x < 1", "")),
        // Always true, never true.
        unit("C8.11", &counted("x >= 1 or x < 1", "")),
        unit("C8.12", &counted("x >= 1 and not x >= 1", "")),
    ]);
}

#[test]
fn rule_08_no_other_arming() {
    let flags = |condition: &str| {
        format!(
            "states = {{ x = 0 }}\ndiscrete = {{ b = 0, m = 0, n = 0 }}\nderivatives = {{ x = '1' }}\n\
             outputs = {{ n = 'n' }}\n{}",
            event("e", &format!("when = '{condition}'\nreset = {{ n = 'n + 1' }}"))
        )
    };
    let switched = |condition: &str, reset: &str| {
        format!("{}{}", flags(condition), event("set", &format!("at = 2\nreset = {{ {reset} }}")))
    };
    check(&[
        // The part that moves becomes true, the whole does not.
        unit("C8.20", &flags("x >= 1 and (b > 0 or m > 0)")).end(0, 0.0),
        unit("C8.21", &flags("x >= 1 and (b != 0 or m != 0)")).end(0, 0.0),
        unit("C8.22", &flags("x >= 1 and (b < 0 or m < 0)")).end(0, 0.0),
        unit("C8.23", &flags("x >= 1 and not (b <= 0 and m <= 0)")).end(0, 0.0),
        unit("C8.24", &flags("(x >= 1 and b > 0) or (x >= 1 and m > 0)")).end(0, 0.0),
        unit("C8.25", &flags("x >= 1 and b > 0 and (n > -1 or m > 5)")).end(0, 0.0),
        // The request comes later: the event follows it in the next micro-step.
        unit("C8.26", &switched("x >= 1 and (b > 0 or m > 0)", "m = 1"))
            .event("set", Time(2, 1), 0)
            .event("e", Time(2, 1), 1)
            .end(0, 1.0),
        unit("C8.27", &switched("x >= 2.5 and (b > 0 or m > 0)", "b = 1"))
            .event("set", Time(2, 1), 0)
            .event("e", Root(5, 2), 0)
            .end(0, 1.0),
        unit("C8.28", &switched("x >= 1 or m > 0", "m = 1"))
            .event("e", Root(1, 1), 0)
            .event("set", Time(2, 1), 0)
            .end(0, 1.0),
        // False and true again between two cycles: (2, 0) makes it false, (2, 1) true.
        unit(
            "C8.29",
            &format!(
                "{}{}{}",
                flags("x >= 1 and m < 1"),
                event("set", "at = 2\nreset = { m = 1 }"),
                event("back", "when = 'm >= 1'\nreset = { m = 0 }")
            ),
        )
        .event("e", Root(1, 1), 0)
        .event("set", Time(2, 1), 0)
        .event("back", Time(2, 1), 1)
        .event("e", Time(2, 1), 2)
        .end(0, 2.0),
    ]);
}

#[test]
fn rule_09_pulses_within_a_tick() {
    // x is above 1 from 1.0000004 s to 1.0000007 s: both ends belong to tick 1000001 of 1 us.
    let both = |key: &str| format!("{}{}", line("'-4e-7'", "1"), event("e", key));
    let crossings = format!(
        "{}{}{}",
        line("'-4e-7'", "1"),
        event("a", "crossing = 'x - 1'"),
        event("b", "crossing = 'x - 1.0000003'")
    );
    // Two states, each of which passes its threshold within that tick.
    let pair = |condition: &str| {
        format!(
            "states = {{ x = '-4e-7', y = '-7e-7' }}\nderivatives = {{ x = '1', y = '1' }}\n\
             outputs = {{ x = 'x' }}\n{}",
            when("e", condition)
        )
    };
    let short = "when = 'x >= 1 and x < 1.0000003'";
    let pulse = both("crossing = '(x - 1)*(1.0000003 - x)'");
    let twice = [(1_000_001, 1_000_000), (10_000_004, 10_000_000), (10_000_007, 10_000_000)]
        .map(|(n, d)| Root(n, d));
    check(&[
        unit("C9.1", &both(short)).resolutions(&["us"]),
        unit("C9.2", &both(short)).resolutions(&["ns"]).event("e", Root(10_000_004, 10_000_000), 0),
        unit("C9.3", &crossings)
            .resolutions(&["us"])
            .event("a", Root(1_000_001, 1_000_000), 0)
            .event("b", Root(1_000_001, 1_000_000), 0),
        unit("C9.4", &crossings)
            .resolutions(&["ns"])
            .event("a", Root(10_000_004, 10_000_000), 0)
            .event("b", Root(10_000_007, 10_000_000), 0),
        // One relation that flips to and fro within a tick: both of its crossings are reported.
        unit("C9.10", &pulse).resolutions(&["us"]).event("e", twice[0], 0).event("e", twice[0], 0),
        unit("C9.11", &pulse).resolutions(&["ns"]).event("e", twice[1], 0).event("e", twice[2], 0),
        // Changes within a tick act together: no order between them can be seen.
        unit("C9.5", &pair("x >= 1 and y >= 1")).resolutions(&["us"]).event(
            "e",
            Root(1_000_001, 1_000_000),
            0,
        ),
        unit("C9.6", &pair("x >= 1 and y < 1")).resolutions(&["us"]),
        unit("C9.7", &pair("x >= 1 and y < 1")).resolutions(&["ns"]).event(
            "e",
            Root(10_000_004, 10_000_000),
            0,
        ),
        unit("C9.8", &pair("x < 1 or y >= 1")).resolutions(&["us"]),
        unit("C9.9", &pair("x < 1 or y >= 1")).resolutions(&["ns"]).event(
            "e",
            Root(10_000_007, 10_000_000),
            0,
        ),
    ]);
}
