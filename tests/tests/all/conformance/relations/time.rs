//! Rule 15, thresholds of time, which are exact; rule 16, what makes no entry in the trace.
use super::table::{Case, Near, Root, Round, Time, check, event, line, scenario, unit, when};

#[test]
fn rule_15_thresholds_of_time() {
    let of = |condition: &str| format!("{}{}", line("0", "1"), when("e", condition));
    let curved = |condition: &str| {
        format!(
            "states = {{ x = 1 }}\nderivatives = {{ x = '-x*x' }}\noutputs = {{ x = 'x' }}\n{}",
            when("e", condition)
        )
    };
    let mut cases: Vec<Case> =
        ["t >= 1/3", "t > 1/3", "3*t >= 1", "1 <= 3*t", "not t < 1/3", "1 - 3*t < 0"]
            .iter()
            .map(|c| unit(format!("C15.1 ({c})"), &of(c)).event("e", Time(1, 3), 0))
            .collect();
    let next = format!(
        "states = {{ x = 0 }}\ndiscrete = {{ next = '1/3', n = 0 }}\nderivatives = {{ x = '1' }}\n\
         outputs = {{ n = 'n' }}\n{}",
        event("e", "when = 't >= next'\nreset = { next = 'next + 1/3', n = 'n + 1' }")
    );
    cases.extend([
        unit("C15.2", &of("t >= 0.1")).event("e", Time(1, 10), 0),
        unit("C15.3", &of("t >= 0.3")).event("e", Time(3, 10), 0),
        unit("C15.4", &of("t > 1")).event("e", Time(1, 1), 0),
        unit("C15.5", &of("t >= 2/3 and x > 0")).event("e", Time(2, 3), 0),
        unit("C15.6", &curved("t >= 1/3")).curved(0.0).event("e", Time(1, 3), 0),
        unit("C15.7", &curved("7*t > 2")).curved(0.0).event("e", Time(2, 7), 0),
        // `at` names an instant, which is rounded (T7); a threshold is never early.
        unit(
            "C15.8",
            &format!("{}{}{}", line("0", "1"), event("at", "at = '1/3 s'"), when("e", "t >= 1/3")),
        )
        .event("at", Round(1, 3), 0)
        .event("e", Time(1, 3), 0),
        // A first instant between ticks is not rounded by itself.
        unit(
            "C15.12",
            &format!("{}{}", line("0", "1"), event("e", "every = '1/3 s'\nfrom = '2/3 s'")),
        )
        .stop(2.0)
        .event("e", Round(2, 3), 0)
        .event("e", Round(1, 1), 0)
        .event("e", Round(4, 3), 0)
        .event("e", Round(5, 3), 0)
        .event("e", Round(2, 1), 0),
        // Passed before the start: true from there on.
        unit("C15.13", &of("t >= -1")),
        unit("C15.14", &of("floor(t + 0.5) >= 0")),
        unit("C15.15", &of("floor(t + 0.5) >= 1")).event("e", Time(1, 2), 0),
        // A discrete threshold that its own event moves on.
        unit("C15.9", &next)
            .stop(1.2)
            .event("e", Time(1, 3), 0)
            .event("e", Time(2, 3), 0)
            .event("e", Time(1, 1), 0)
            .end(0, 3.0),
        // In a derivative: the piece begins at the threshold.
        unit(
            "C15.10",
            "states = { x = 0 }\nderivatives = { x = 'if t >= 1/3 then 3 else 0' }\n\
             outputs = { x = 'x' }\n",
        )
        .affine(0.0)
        .within(1e-5)
        .stop(1.0)
        .end(0, 2.0),
        // Not affine: a root like any other.
        unit("C15.11", &of("t*t >= 4")).curved(0.0).within(1e-6).event("e", Root(2, 1), 0),
    ]);
    check(&cases);
}

/// A part of a condition that changes while the whole does not: nobody is told, and nothing counts.
#[test]
fn rule_16_flips_that_nobody_reads() {
    // The wave crosses zero 20 000 times in a second.
    let fast = |condition: &str| {
        format!(
            "states = {{ y = 0 }}\nlet = {{ w = 'sin(20000*pi*y)' }}\nderivatives = {{ y = '1' }}\n\
             outputs = {{ y = 'y' }}\n{}",
            when("e", condition)
        )
    };
    let parts = |condition: &str| format!("{}{}", line("0", "1"), when("e", condition));
    let methods: &[&str] = &["rk45", "taylor", "rodas", "auto"];
    check(&[
        // The first and the last cycle of a run with no event at all are the measure: C16.1.
        unit("C16.1", &line("0", "1")).cycles(1),
        unit("C16.2", &parts("x >= 1 and x < 0.5")).cycles(1),
        unit("C16.3", &parts("x >= 1 and (x >= 1.5 or x >= 2) and x < -1")).cycles(1),
        unit("C16.4", &parts("x >= 0.5 and x >= 1")).event("e", Root(1, 1), 0).cycles(2),
        // R11(b) counts events at most 2 ticks after the one before; at us there are 50 ticks between two.
        unit("C16.5", &fast("w > 0 and y > 5")).only(methods).curved(0.0).stop(0.25).cycles(1),
        unit("C16.6", &fast("w > 0 and y > 0.10002"))
            .only(methods)
            .curved(0.0)
            .within(1e-6)
            .stop(0.10008)
            .event("e", Near(0.100_02), 0),
        // A flip that a derivative reads stops the solver, and is no event for anybody either.
        unit("C16.7", &line("0", "if x > 1 then 2 else 1")).end(0, 5.0),
    ]);
}

/// A unit without states has no need to look further ahead than what it hears: whole numbers of all times would be
/// passed again with each segment.
#[test]
fn rule_19_whole_numbers_of_the_time_beside_segments() {
    let text = "connections = ['a.y -> b.i']\n[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = 1 }\n\
                derivatives = { x = '-64*(x - t)' }\noutputs = { y = 'x' }\n\
                [unit.b]\nkind = 'equations'\nMETHOD\ninputs = { i = 1 }\ndiscrete = { n = 0 }\n\
                outputs = { n = 'n' }\n\
                [[unit.b.event]]\nname = 'e'\nwhen = '2 < ceil(t)'\nreset = { n = 'n + 1' }\n\
                [[unit.b.event]]\nname = 'f'\nwhen = 'floor(1000*t) >= 5000'\n";
    let case = scenario("C19.16", text).curved(1.0).stop(8.0);
    let case = case.only(&["rk45", "rk23", "taylor", "rodas"]).resolutions(&["us", "ns"]);
    check(&[case.event("e", Root(2, 1), 0).event("f", Root(5, 1), 0).end_of("b", 0, 1.0)]);
}
