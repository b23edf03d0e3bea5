//! Rules 5 and 6: touching and approach flip nothing; ticks of roots, and roots that come twice.
use super::table::{
    Case, First, Near, Root, Time, check, event, line, parabola, scenario, unit, when,
};

/// Touches its minimum of nothing at 1 s.
fn touching(condition: &str) -> String {
    format!("{}{}", parabola("1", "-2", "2"), when("e", condition))
}

#[test]
fn rule_05_approach_flips_nothing() {
    let rise = |rate: &str, start: &str, condition: &str| {
        format!("{}{}", line(start, rate), when("e", condition))
    };
    let far = |id: &str, rate: &str, start: &str, condition: &str| {
        unit(id, &rise(rate, start, condition)).affine(2e-2).stop(60.0)
    };
    check(&[
        far("C5.1", "1 - x", "0", "x >= 1").end(0, 1.0),
        far("C5.2", "1 - x", "0", "x > 1"),
        far("C5.3", "1 - x", "0", "not x < 1"),
        far("C5.4", "1 - x", "2", "x <= 1").end(0, 1.0),
        far("C5.5", "1 - x", "2", "x < 1"),
        far("C5.6", "-0.5*x", "1", "x <= 0").end(0, 0.0),
        unit("C5.7", &rise("x*(1 - x)", "0.5", "x >= 1")).curved(2e-2).stop(60.0).end(0, 1.0),
        // At the limit from the start: at rest, so never an event.
        far("C5.8", "1 - x", "1", "x > 1").end(0, 1.0),
        far("C5.9", "1 - x", "1", "x >= 1").end(0, 1.0),
    ]);
}

/// A square is nowhere below zero, and neither is the series that stands for it.
#[test]
fn rule_05_touching_squares_of_series() {
    let text = format!(
        "states = {{ x = 0, v = 1 }}\ndiscrete = {{ d = 0 }}\nderivatives = {{ x = 'v', v = 'x' }}\n\
         outputs = {{ x = 'x' }}\n{}",
        when("e", "(x - 0.25)^2 >= d")
    );
    let case = unit("C5.79", &text).affine(0.0).within(1e-6).stop(1.0).end(0, 1.175_201_193_6);
    check(&[case.only(&["rk45", "rk23", "rk4", "taylor", "rodas", "closed"])]);
}

/// A method that takes over from another one does not know the solution better than that did.
#[test]
fn rule_05_touching_under_changing_methods() {
    let text = format!(
        "tolerance = 1e-9\nabsolute_tolerance = 1.024e-8\nstates = {{ x = 256, y = 0 }}\n\
         derivatives = {{ x = '1024*(2*(t - 0.5))', y = '1024*exp(-(4*(t - 4)^2))' }}\n{}{}",
        when("leaves", "x/1024 < 0.25"),
        event("falls", "crossing = 'y/1024 + x/1024'\ndirection = 'falling'")
    );
    let case = unit("C5.78", &text).curved(0.0).only(&["auto"]).resolutions(&["ns"]);
    check(&[case.stop(1.0).event("leaves", First, 0)]);
}

#[test]
fn rule_05_touching_flips_nothing() {
    let square = |root: &str, condition: &str| {
        format!(
            "states = {{ s = 0 }}\nlet = {{ p = '(s - {root})*(s - {root})' }}\n\
             derivatives = {{ s = '1' }}\noutputs = {{ s = 's' }}\n{}",
            when("e", condition)
        )
    };
    let of_time = |condition: &str| format!("{}{}", line("0", "1"), when("e", condition));
    // Quantised parabolas may really dip below zero, by less than their quantum: undecided.
    let quantised: &[&str] = &["qss1", "euler"];
    let no = "their own solution crosses zero";
    let bare = |id: &str, text: &str| unit(id, text).affine(2e-2).without(quantised, no);
    let beside = format!("{}{}", touching("x <= 0"), event("tick", "every = 1\nfrom = 1"));
    check(&[
        bare("C5.20", &touching("x <= 0")).end(0, 4.0),
        bare("C5.21", &touching("x < 0")),
        bare("C5.22", &touching("not x > 0")),
        bare("C5.23", &touching("not x >= 0")),
        bare("C5.24", &touching("-x >= 0")),
        unit("C5.25", &square("1", "p <= 0")).curved(0.0),
        unit("C5.26", &square("1", "p < 0")).curved(0.0),
        unit("C5.27", &square("0.7", "p <= 0")).curved(0.0),
        unit("C5.28", &square("1/3", "p <= 0")).curved(0.0),
        unit("C5.29", &of_time("(t-1)^2 <= 0")),
        unit("C5.30", &of_time("(t-1/3)^2 <= 0")),
        unit("C5.31", &of_time("not (t-1/3)^2 > 0")),
        unit("C5.32", &of_time("-(t-1)^2 >= 0")),
        unit("C5.33", &of_time("cos(2*pi*t) >= 1")).curved(0.0).stop(3.5),
        // A cycle at the very tick of the touch: decided only after resets and jumps, and then by
        // the second derivative.
        bare("C5.34", &beside).event("tick", Time(1, 1), 0).event("tick", Time(2, 1), 0).event(
            "tick",
            Time(3, 1),
            0,
        ),
        // A conjunction that would need the touch does not happen.
        bare("C5.35", &touching("x <= 0 and v >= 0")),
        bare("C5.36", &format!("{}{}", parabola("1", "-2", "2"), event("e", "crossing = 'x'"))),
    ]);
}

/// The solution is exact but for rounding, whatever the quanta: it is beyond its threshold by less than that.
#[test]
fn rule_05_touches_under_small_quanta() {
    let mut cases = Vec::<Case>::new();
    for (n, root) in [0.3, 0.45, 0.5, 0.7].into_iter().enumerate() {
        let row = |id: &str, event: &str| {
            let text = format!(
                "dq_rel = 1e-7\ndq_min = 1e-9\nstates = {{ x = '{root}^2' }}\n\
                 derivatives = {{ x = '2*(t - {root})' }}\noutputs = {{ x = 'x' }}\n{event}"
            );
            let case = unit(format!("{id}{n} (at {root})"), &text).curved(0.0).within(1e-6);
            case.only(&["qss2", "qss3", "liqss2"]).resolutions(&["ms", "us", "ns"]).stop(1.0)
        };
        cases.push(row("C5.9", &event("e", "crossing = 'x'")));
        let touch = event("e", "when = 'x <= 0'\ntouching = 1e-3");
        cases.push(row("C5.10", &touch).event("e", Near(root), 0));
    }
    check(&cases);
}

/// Steps that end where something is heard add up the rounding of all of them, also just before the touch.
#[test]
fn rule_05_touches_behind_many_pieces() {
    let row = |(n, tolerance): (usize, &str)| {
        let text = format!(
            "connections = ['grows.y -> u.i']\n[unit.u]\nkind = 'equations'\nMETHOD\n\
             inputs = {{ i = 0 }}\nstates = {{ x = 1 }}\nderivatives = {{ x = '2*(t - 1)' }}\n{}\
             [unit.grows]\nkind = 'equations'\nMETHOD\nexchange_tolerance = {tolerance}\n\
             segment_order = 6\nstates = {{ x = 1 }}\nderivatives = {{ x = '2*x' }}\n\
             outputs = {{ y = 'x' }}\n",
            when("e", "x <= 0")
        );
        let case = scenario(format!("C5.11{n} ({tolerance})"), &text).affine(0.0).stop(2.0);
        case.only(&["rk45", "taylor", "closed", "rodas"])
    };
    let all = ["1e-9", "3e-9", "1e-10"].into_iter().enumerate();
    check(&all.map(row).collect::<Vec<_>>());
}

/// A square is never negative, however its polynomial along a step is rounded where it touches zero.
#[test]
fn rule_05_squares_touch_only() {
    let rising = |id: &str, last: &str| {
        let text = "states = { x = -1, v = 5 }\nderivatives = { x = '1 - x', v = '-9.81' }\n\
                    outputs = { x = 'x' }\n";
        unit(id, &format!("{text}{}", event("e", last))).curved(0.0).stop(2.0)
    };
    let left = |id: &str, last: &str| {
        unit(id, &format!("{}{}", line("0", "1"), event("e", last))).curved(0.0)
    };
    let both = |z: &str| format!("crossing = '{z}'\ndirection = 'both'");
    check(&[
        rising("C5.60", &both("x*x")),
        rising("C5.61", &both("(x - 0.3)^2")),
        rising("C5.62", &both("v*v")),
        rising("C5.63", &both("-2*x^4")),
        rising("C5.64", "when = 'x*x < 0'"),
        rising("C5.65", "when = 'not v^2 >= 0'"),
        rising("C5.66", "when = '0 > (x - 0.3)*(x - 0.3) + 2*v*v'"),
        rising("C5.67", "when = 'not x*x > 0'"),
        // It is left where the solution begins on it.
        left("C5.68", "when = 'x*x > 0'").event("e", First, 0),
        left("C5.69", "when = 'x^4 >= 1'").event("e", Root(1, 1), 0),
        // Each side of these, continued, crosses the threshold.
        rising("C5.70", "when = 'not abs(x) >= 0'"),
        rising("C5.71", "when = 'abs(x) + abs(v) < 0'"),
        rising("C5.72", "when = 'mod(x, 1) >= 1'"),
        rising("C5.73", "when = 'min(x, 0) > 0 or max(v, 1) < 1'"),
        rising("C5.74", "when = 'abs(x - 0.3) >= 0'"),
    ]);
}

/// Relations that touch at one instant are at zero in one cycle.
#[test]
fn rule_05_touches_at_one_instant() {
    let both = |id: &str, condition: &str| {
        let text = event("e", &format!("when = '{condition}'\ntouching = 1e-6"));
        let case = unit(id, &format!("{}{text}", parabola("1", "-2", "2"))).curved(0.0);
        case.only(&["rk45", "taylor", "closed", "rodas"])
    };
    check(&[
        both("C5.130", "(x - 1)^2 < 1 and x <= 0"),
        both("C5.131", "(x - 1)^2 >= 1 and x <= 0").event("e", Near(1.0), 0),
        both("C5.132", "x <= 0 and not 2*x > 0").event("e", Near(1.0), 0),
        both("C5.133", "x <= 0 and x > 0"),
    ]);
}

#[test]
fn rule_05_touching_band() {
    let band = |offset: &str, key: &str| {
        format!(
            "{}{}",
            parabola(&format!("'1 + {offset}'"), "-2", "2"),
            event("e", &format!("{key}\ntouching = 1e-6"))
        )
    };
    let no = "their own solution leaves the band";
    let one = |id: &str, text: &str| -> Case {
        // The minimum is flat: its place is known to the root of the error only.
        unit(id, text)
            .affine(0.0)
            .within(1e-3)
            .without(&["qss1", "euler", "qss2", "qss3", "liqss2", "mliqss2"], no)
    };
    let wide = |id: &str, key: &str| {
        unit(id, &format!("{}{}", line("0.1", "3"), event("e", &format!("{key}\ntouching = 0.95"))))
    };
    check(&[
        one("C5.50", &band("0", "when = 'x <= 0'")).event("e", Near(1.0), 0),
        one("C5.51", &band("0", "crossing = 'x'")).event("e", Near(1.0), 0),
        one("C5.52", &band("1e-8", "when = 'x <= 0'")).event("e", Near(1.0), 0),
        one("C5.53", &band("1e-8", "crossing = 'x'")).event("e", Near(1.0), 0),
        one("C5.54", &band("1e-3", "when = 'x <= 0'")),
        one("C5.55", &band("1e-3", "crossing = 'x'")),
        // The extremum lies on a time event: found in the step that ends there. From femtoseconds on its place is rounded.
        unit(
            "C5.75",
            &format!(
                "{}{}{}",
                parabola("15", "2", "-2"),
                event("k", "at = 1"),
                event("e", "crossing = 'x - 16'\ntouching = 1e-3")
            ),
        )
        .affine(0.0)
        .without(&["qss1", "euler"], no)
        .resolutions(&["us", "ns"])
        .stop(2.0)
        .event("k", Time(1, 1), 0)
        .event("e", Time(1, 1), 0),
        // It comes nearer and nearer, and rounding turns it back.
        unit(
            "C5.76",
            &format!(
                "states = {{ x = 0 }}\nderivatives = {{ x = '-1000*(x - 1)' }}\n{}{}",
                event("e", "crossing = 'x - 1'\ntouching = 1e-6"),
                event("k", "when = 'x >= 1'\ntouching = 1e-6")
            ),
        )
        .affine(0.0)
        .without(
            &["qss1", "euler", "rk4", "qss2", "qss3", "liqss1", "liqss2", "mliqss2"],
            "its steps are too long, or go to and fro in the band",
        ),
        // It goes through: once, at the crossing.
        one("C5.56", &band("-0.25", "when = 'x <= 0'")).event("e", Root(1, 2), 0),
        // A step that ends inside of the band, before the root, is no turning point.
        wide("C5.57", "when = 'x >= 1'").event("e", Root(3, 10), 0),
        wide("C5.58", "when = 'x == 1'").event("e", Root(3, 10), 0),
        wide("C5.59", "crossing = 'x - 1'").event("e", Root(3, 10), 0),
    ]);
}

#[test]
fn rule_06_ticks_of_roots() {
    let counted = |x: &str, rate: &str, condition: &str| {
        format!(
            "{}{}",
            line(x, rate),
            event("e", &format!("when = '{condition}'\nreset = {{ n = 'n + 1' }}"))
        )
    };
    let once = |id: &str, x: &str, rate: &str, condition: &str, (n, d): (i64, i64)| {
        unit(id, &counted(x, rate, condition)).event("e", Root(n, d), 0).end(1, 1.0)
    };
    check(&[
        once("C6.1", "-1", "3", "x >= 0", (1, 3)),
        once("C6.2", "-0.7", "1", "x >= 0", (7, 10)),
        once("C6.3", "-0.3", "0.1", "x > 0", (3, 1)).stop(4.0),
        once("C6.4", "19.5", "1", "x > 20", (1, 2)),
        once("C6.5", "1", "-0.9", "x <= 0", (10, 9)),
        once("C6.6", "1e6", "-1e6", "x <= 0", (1, 1))
            .without(&["qss1"], "its steps would be 1e-12 s long"),
        once("C6.7", "0", "7", "x >= 5", (5, 7)),
        // The first step is chosen for the order of the method.
        unit("C6.10", &counted("1", "-1000*x", "x <= 1/3"))
            .affine(0.0)
            .within(1e-7)
            .only(&["rk23", "rk45", "rodas", "taylor", "closed"])
            .stop(0.01)
            .event("e", Near(1.098612289e-3), 0),
        // A reset to just before the surface: the next root comes one tick later, and is another.
        unit(
            "C6.8",
            &format!(
                "{}{}",
                line("0", "1"),
                event("e", "when = 'x >= 1'\nreset = { x = '1 - 1e-3', n = 'n + 1' }")
            ),
        )
        .stop(1.0025)
        .event("e", Root(1000, 1000), 0)
        .event("e", Root(1001, 1000), 0)
        .event("e", Root(1002, 1000), 0)
        .end(1, 3.0),
        // Detectors of two units whose roots lie on the same tick.
        scenario(
            "C6.9",
            "[unit.a]\nkind = 'equations'\nMETHOD\nstates = { x = -1 }\n\
             derivatives = { x = '1' }\noutputs = { x = 'x' }\n\
             [[unit.a.event]]\nname = 'a'\ncrossing = 'x'\n\
             [unit.b]\nkind = 'equations'\nMETHOD\nstates = { x = -2 }\n\
             derivatives = { x = '2' }\noutputs = { x = 'x' }\n\
             [[unit.b.event]]\nname = 'b'\ncrossing = 'x'\n",
        )
        .event("a", Root(1, 1), 0)
        .event("b", Root(1, 1), 0),
    ]);
}

/// Roundings of large values add up over the steps to where a value touches zero.
#[test]
fn rule_05_touches_after_many_steps() {
    let text = "tolerance = 1e-11\nabsolute_tolerance = 1e-13\nstates = { x = -1, y = -0.5 }\n\
                derivatives = { x = '-2*(t - 1)', y = '0.25 - sqrt(max(y, 0))' }\noutputs = { x = 'x' }\n";
    let case = unit("C5.77", &format!("{text}{}", when("e", "x >= 0")));
    let explicit: &[&str] = &["rk45", "rk23", "auto"];
    check(&[case.curved(0.0).only(explicit).resolutions(&["ns", "ps"]).stop(1.5)]);
}
