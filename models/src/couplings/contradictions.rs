//! Choices that contradict each other in a policy whose steps are tried out.
use super::{
    iteration::Iteration,
    rehearsal::{Correction, Rehearse},
    trust::Estimate,
};
use crate::kinds::{Located, Param, Params, params::Reader};

/// One row: whether the choices are made, the key that the mistake stands at, and its words.
type Row = (bool, &'static str, String, &'static str);

/// Whether the scenario names events to look for; an empty list names none.
pub(super) fn looks_ahead(params: &Params) -> bool {
    let none = |p: &Located<Param>| matches!(&p.value, Param::List(list) if list.is_empty());
    params.get("look_ahead").is_some_and(|p| !none(p))
}

/// Refuses choices that contradict each other in a policy whose steps are tried out.
pub(super) fn check(r: &mut Reader<'_>, params: &Params, rehearse: &Rehearse) {
    let rows = estimates(r, params, rehearse).into_iter().chain(others(r, params, rehearse));
    for (wrong, key, message, help) in rows.collect::<Vec<_>>() {
        r.check(!wrong, key, message, help);
    }
}

/// Estimates of the error, and what they cannot be used with.
fn estimates(r: &Reader<'_>, params: &Params, rehearse: &Rehearse) -> Vec<Row> {
    const ITERATED: &str = "iterated steps are told what is true at their end: choose \"parallel-embedded\" \
                            or \"milne\"";
    let (is, iterates) = (|e| rehearse.estimate == e, rehearse.iteration.is_some());
    vec![
        (
            is(Estimate::Extrapolation) && iterates && r.given("tolerance"),
            "estimate",
            "estimate = \"extrapolation\" and `iterate` contradict each other".into(),
            ITERATED,
        ),
        (
            is(Estimate::Embedded) && params.text("order") != "jacobi",
            "estimate",
            "estimate = \"embedded\" sees only what the coupling tells".into(),
            "units of a sequence hear each other directly: choose \"parallel-embedded\", or order = \"jacobi\"",
        ),
        (
            is(Estimate::Milne) && !iterates,
            "estimate",
            "Milne's device compares a step with its correction".into(),
            "add `iterate`, or choose \"doubling\"",
        ),
        (
            is(Estimate::Embedded) && iterates,
            "estimate",
            "estimate = \"embedded\" and `iterate` contradict each other".into(),
            ITERATED,
        ),
        (
            is(Estimate::MultiOrder) && params.int("extrapolation") >= 3,
            "estimate",
            "there is no order above 3 to compare with".into(),
            "choose a lower `extrapolation`, or \"doubling\"",
        ),
    ]
}

/// Keys that exclude each other.
fn others(r: &Reader<'_>, params: &Params, rehearse: &Rehearse) -> Vec<Row> {
    let iterates = rehearse.iteration.is_some();
    let waveform = rehearse.iteration.as_ref().is_some_and(Iteration::is_waveform);
    let interrupts = params.text("events") == "interrupt";
    let mut rows: Vec<Row> = vec![
        (
            waveform && r.given("tolerance"),
            "tolerance",
            "`tolerance` and the method waveform contradict each other".into(),
            "what it tells is the solution itself: delete `tolerance`, or choose another method",
        ),
        (
            waveform && interrupts,
            "events",
            "`events` and the method waveform contradict each other".into(),
            "a course beyond a jump would be told before it happens: delete `events`, or choose another method",
        ),
    ];
    let mut add = |used: bool, key, with, help| {
        let message = format!("`{key}` and {with} contradict each other");
        rows.push((used, key, message, help));
    };
    let selective = rehearse.correction == Correction::Selective;
    for (key, used) in
        [("estimate", rehearse.estimate != Estimate::Extrapolation), ("iterate", iterates)]
    {
        let help = "which units are sensitive is seen by what they were told: delete it, or choose \
                    correction = \"pessimistic\"";
        add(used && selective, key, "selective correction", help);
    }
    for (key, used) in [
        ("compensation", params.text("compensation") != "none"),
        ("low_pass", r.given("low_pass")),
        ("measured", params.get("measured").is_some()),
        ("look_ahead", looks_ahead(params)),
        ("power", params.get("power").is_some()),
        ("feed_through", params.text("feed_through") == "settled"),
        ("interpolate", params.bool("interpolate") && iterates),
    ] {
        let help = "delete it, or `iterate`, `pre_step`, `estimate` and `correction`";
        add(used, key, "steps that are repeated", help);
    }
    for (key, used) in [
        ("iterate", iterates),
        ("tolerance", r.given("tolerance")),
        ("interpolate", params.bool("interpolate")),
        ("extrapolation", params.int("extrapolation") > 0),
        ("events", interrupts),
    ] {
        let help = "the inputs that a pre-step finds are held over a fixed step: delete one";
        add(used && rehearse.pre_step.is_some(), key, "`pre_step`", help);
    }
    rows
}
