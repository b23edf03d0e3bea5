//! Rule 7: starts on the threshold. Moving: the previous side is the opposite one. At rest: nothing.
use super::table::{Case, First, Root, check, event, line, parabola, scenario, unit, when};

#[test]
fn rule_07_starts_on_the_threshold() {
    let up = ["x >= 1", "x > 1", "not x < 1", "not x <= 1", "1 - x <= 0", "x - 1 > 0"];
    let down = ["x <= 1", "x < 1", "not x > 1", "not x >= 1", "1 - x >= 0"];
    let mut cases = Vec::<Case>::new();
    let mut row = |name: &str, rate: &str, condition: &str, fires: bool| {
        let text = format!("{}{}", line("1", rate), when("e", condition));
        let case = unit(format!("{name} ({condition}, x' = {rate})"), &text).stop(0.5);
        cases.push(if fires { case.event("e", First, 0) } else { case });
    };
    for condition in up {
        row("C7.1", "1", condition, true);
        row("C7.2", "-1", condition, false);
        row("C7.3", "0", condition, false);
        row("C7.8", "1 - x", condition, false);
    }
    for condition in down {
        row("C7.4", "-1", condition, true);
        row("C7.5", "1", condition, false);
        row("C7.6", "0", condition, false);
        row("C7.9", "1 - x", condition, false);
    }
    check(&cases);
}

/// A start on the end of a whole number carries the conditions with it that read the remainder, of the time as of a
/// state.
#[test]
fn rule_07_starts_on_whole_numbers() {
    let mut cases = Vec::<Case>::new();
    let mut row = |name: &str, condition: &str, fires: bool| {
        let text = format!("{}{}", line("0", "1"), when("e", condition));
        let case = unit(format!("{name} ({condition})"), &text).stop(0.25);
        cases.push(if fires { case.event("e", First, 0) } else { case });
    };
    for x in ["t", "x"] {
        row("C7.80", &format!("mod({x}, 1) < 0.3"), true);
        row("C7.81", &format!("mod({x}/0.5, 1) < 0.6"), true);
        row("C7.82", &format!("{x} - floor({x}) < 0.3"), true);
        row("C7.83", &format!("floor({x}) > -0.5"), true);
        row("C7.84", &format!("mod({x}, 1) >= 0.3"), false);
        row("C7.85", &format!("mod({x} + 0.5, 1) < 0.9"), false);
    }
    check(&cases);
}

/// A value that leaves its threshold in the first tick, and is stopped there, has left it.
#[test]
fn rule_07_starts_that_are_stopped() {
    let text = format!(
        "states = {{ x = 0 }}\nderivatives = {{ x = '0*x' }}\noutputs = {{ x = 'x' }}\n{}\
         [unit.u.mode.a]\nderivatives = {{ x = '-2' }}\n[[unit.u.mode.a.event]]\nname = 'e'\nwhen = 'x < 0'\n\
         to = 'b'\n[unit.u.mode.b]\n",
        when("never", "not x < 0")
    );
    check(&[unit("C7.86", &text).stop(0.5).event("e", First, 0)]);
}

#[test]
fn rule_07_starts_with_algebraic_variables() {
    let text = |rate: &str, condition: &str| {
        format!(
            "states = {{ x = -1 }}\nalgebraic = {{ z = 0 }}\nresiduals = {{ z = 'z - abs(x)' }}\n\
             derivatives = {{ x = '{rate}' }}\noutputs = {{ x = 'x' }}\n{}",
            when("e", condition)
        )
    };
    check(&[
        // At rest, but for the last bits of the algebraic variable.
        unit("C7.30", &text("1 - z", "x >= -1")).algebraic(),
        unit("C7.31", &text("1 - z", "x < -1")).algebraic(),
        // The value from which the search for it begins is not the start.
        unit("C7.32", &text("-1", "not (0 >= z)")).algebraic(),
        unit("C7.33", &text("-1", "z > 1")).algebraic().event("e", First, 0),
    ]);
}

#[test]
fn rule_07_starts_decided_by_higher_derivatives() {
    let mut cases = Vec::<Case>::new();
    // By the third one, which is as small as rounding for microseconds.
    let fast =
        "states = { x = 1 }\nderivatives = { x = '-1000*(x - cos(t))' }\noutputs = { x = 'x' }\n";
    for (name, condition, fires) in [("C7.72", "x < 1", true), ("C7.73", "x > 1", false)] {
        let case = unit(name, &format!("{fast}{}", when("e", condition)))
            .stop(1e-3)
            .without(&["qss1"], "rule 21: its quantum hides it")
            .without(&["closed"], "it is not affine");
        cases.push(if fires { case.event("e", First, 0) } else { case });
    }
    let mut row = |name: &str, a: &str, condition: &str, fires: bool| {
        let text = format!("{}{}", parabola("1", "0", a), when("e", condition));
        let case = unit(format!("{name} ({condition}, v' = {a})"), &text)
            .affine(2e-2)
            .stop(0.5)
            .without(&["qss1"], "rule 21: the second derivative is below its quantum");
        cases.push(if fires { case.event("e", First, 0) } else { case });
    };
    for condition in ["x >= 1", "x > 1", "not x < 1"] {
        // Seen with x >= 1 and v' = -1 under rk45: an event at 6 ns, where none is right.
        row("C7.10", "-1", condition, false);
        row("C7.11", "1", condition, true);
        row("C7.12", "0", condition, false);
        row("C7.13", "-x", condition, false);
    }
    for condition in ["x <= 1", "x < 1", "not x >= 1"] {
        row("C7.14", "-1", condition, true);
        row("C7.15", "1", condition, false);
        row("C7.16", "-x", condition, true);
    }
    check(&cases);
}

/// Values that are heard through other units are those of the start, not the start values of inputs.
#[test]
fn rule_07_starts_behind_other_units() {
    let three = |heard: &str, last: &str| {
        format!(
            "connections = ['a.y -> b.w', 'b.y -> u.w']\n\
             [unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ y = {heard} }}\n\
             derivatives = {{ y = '0' }}\noutputs = {{ y = 'y' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ y = 1 }}\n\
             derivatives = {{ y = 'w' }}\noutputs = {{ y = 'y' }}\n\
             [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\n{}",
            event("e", last)
        )
    };
    // b.y is at 1, and at 3 by what b hears.
    let fed = |last: &str| {
        three("2", last)
            .replace("outputs = { y = 'y' }\n[unit.u]", "outputs = { y = 'y + w' }\n[unit.u]")
    };
    // b.y leaves 1 as u.x does: by what b hears the curvature tells where to, and that is told anew.
    let bent = |id: &str, heard: &str, condition: &str| {
        let text = format!(
            "connections = ['a.y -> b.w', 'b.y -> u.w']\n\
             [unit.a]\nkind = 'equations'\nMETHOD\nstates = {{ y = {heard} }}\n\
             derivatives = {{ y = '0' }}\noutputs = {{ y = 'y' }}\n\
             [unit.b]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 1 }}\nstates = {{ y = 1, v = -1 }}\n\
             derivatives = {{ y = 'v', v = 'w' }}\noutputs = {{ y = 'y' }}\n\
             [unit.u]\nkind = 'equations'\nMETHOD\ninputs = {{ w = 0 }}\nstates = {{ x = 1 }}\n\
             derivatives = {{ x = '-1' }}\n{}",
            event("e", &format!("when = '{condition}'"))
        );
        let quantised = ["qss1", "liqss2", "mliqss2"];
        scenario(id, &text).stop(0.5).without(&quantised, "rule 21: quanta of b hide the curvature")
    };
    check(&[
        bent("C7.87", "-1", "w < x").event("e", First, 0),
        bent("C7.88", "-1", "w > x"),
        bent("C7.89", "2", "w > x").event("e", First, 0),
        bent("C7.90", "2", "w <= x"),
        scenario("C7.69", &fed("when = 'w >= 2'")).stop(0.5),
        scenario("C7.70", &fed("crossing = 'w - 2'\ndirection = 'both'")).stop(0.5),
        scenario("C7.71", &fed("when = 'w >= 3.5'")).stop(0.5).event("e", Root(1, 4), 0),
        // u.w rises from 1, falls from it, stays there: no slope makes a start for an event.
        scenario("C7.60", &three("1", "when = 'w >= 1'")).stop(0.5).event("e", First, 0),
        scenario("C7.62", &three("-1", "when = 'w < 1'")).stop(0.5).event("e", First, 0),
        scenario("C7.65", &three("1", "when = 'w > 1'")).stop(0.5).event("e", First, 0),
        scenario("C7.66", &three("1", "crossing = 'w - 1'\ndirection = 'both'")).stop(0.5),
        scenario("C7.61", &three("1", "when = 'w < 1'")).stop(0.5),
        scenario("C7.63", &three("-1", "when = 'w >= 1'")).stop(0.5),
        scenario("C7.64", &three("0", "when = 'w >= 1'")).stop(0.5),
    ]);
}

#[test]
fn rule_07_formulas_at_the_start() {
    let two = |condition: &str, x: &str, y: &str| {
        format!(
            "states = {{ x = 1, y = 2 }}\nderivatives = {{ x = '{x}', y = '{y}' }}\n\
             outputs = {{ x = 'x', y = 'y' }}\n{}",
            when("e", condition)
        )
    };
    let single = |x: &str, rate: &str, keys: &str| format!("{}{}", line(x, rate), event("e", keys));
    check(&[
        // True already with the previous sides: no event.
        unit("C7.20", &two("x >= 1 or y >= 1", "1", "1")).stop(0.5),
        unit("C7.21", &two("x >= 1 and y >= 1", "1", "1")).stop(0.5).event("e", First, 0),
        unit("C7.22", &two("x >= 1 and y >= 3", "1", "1")).stop(1.5).event("e", Root(1, 1), 0),
        // One leaves its threshold upwards as the other comes down to its own half a second later.
        unit("C7.23", &two("x > 1 and y < 2", "1", "-1")).stop(0.5).event("e", First, 0),
        unit("C7.24", &two("x > 1 and y > 2", "1", "-1")).stop(0.5),
        unit("C7.25", &single("2", "1", "when = 'x >= 1'")).stop(0.5),
        unit("C7.26", &single("2", "-1", "when = 'x >= 1'")).stop(1.5),
        unit("C7.27", &single("0", "1", "when = 'abs(x) > 0'")).stop(0.5).event("e", First, 0),
        unit("C7.28", &single("0", "1", "when = 'max(x, 0) > 0'")).stop(0.5).event("e", First, 0),
        // Relations of what starts on a whole number begin with what was before it: mod(x, 1) is 0
        // before x falls below 1, and nearly 1 from there on.
        unit("C7.37", &single("1", "-1", "when = 'mod(x, 1) > 0.5'"))
            .stop(0.4)
            .event("e", First, 0),
        unit("C7.38", &single("1", "-1", "when = 'floor(x) < 1'")).stop(0.5).event("e", First, 0),
        unit("C7.39", &single("1", "1", "when = 'mod(x, 1) < 0.5'")).stop(0.4).event("e", First, 0),
        unit("C7.41", &single("-1", "1", "when = '(if x < -1 then x else -x) > -1'"))
            .stop(0.5)
            .event("e", First, 0),
        unit("C7.40", &single("1", "0", "when = 'mod(x, 1) < 0.5'")).stop(0.4),
        // Detectors never fire at the start (H5).
        unit("C7.30", &single("1", "1", "crossing = 'x - 1'")).stop(0.5),
        unit("C7.31", &single("1", "-1", "crossing = 'x - 1'")).stop(0.5),
        unit("C7.32", &single("1", "1", "crossing = 'x - 1'\ndirection = 'rising'")).stop(0.5),
        unit("C7.33", &single("1", "0", "crossing = 'x - 1'")).stop(0.5),
        // Time itself: t leaves zero at the start (rules 7 and 15 together).
        unit("C7.34", &single("0", "1", "when = 't > 0'")).stop(0.5).event("e", First, 0),
        unit("C7.35", &single("0", "1", "when = 't >= 0'")).stop(0.5).event("e", First, 0),
        unit("C7.36", &single("0", "1", "when = 't <= 0'")).stop(0.5),
    ]);
}
