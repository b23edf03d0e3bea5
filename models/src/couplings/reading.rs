//! The parameters of a master into a policy; contradictions are found here and in `contradictions.rs`.
use super::{
    Ahead, Balance, Compensation, Control, Correction, Estimate, Extrapolation, Foreseen,
    Iteration, Kalman, LookAhead, LowPass, Pace, Policy, PreStep, Rehearse, Sequence, Settling,
    Slopes, Solver, Until,
    contradictions::{self, looks_ahead},
    kind::{ANSWERS, SIGNALS, TEAM},
};
use crate::{
    kinds::{
        Context, Located, Param, ParamError, Params, Span,
        params::{Checked, Entries, Reader},
    },
    maths::expr::{Condition, Symbol, VarId},
};

/// The names of the signals.
pub(super) fn signals(params: &Params) -> Vec<String> {
    texts(params, SIGNALS)
}

fn texts(params: &Params, name: &str) -> Vec<String> {
    let Some(Param::List(list)) = params.get(name).map(|p| &p.value) else { return Vec::new() };
    let text = |p: &Param| if let Param::Text(t) = p { Some(t.clone()) } else { None };
    list.iter().filter_map(|p| text(&p.value)).collect()
}

/// Whether the order of units changes from step to step.
pub(super) fn sequenced(params: &Params) -> bool {
    matches!(params.text("order"), "automatic" | "switching")
}

/// Whole numbers that the plan gives.
fn numbers<'a>(params: &'a Params, name: &str) -> impl Iterator<Item = i64> + use<'a> {
    let list = match params.get(name).map(|p| &p.value) {
        Some(Param::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().map(|p| if let Param::Int(i) = p.value { i } else { 0 })
}

/// The sequence, with the events that can be foreseen.
pub(super) fn sequence(params: &Params, foreseen: Vec<Foreseen>) -> Sequence {
    let places = |name| numbers(params, name).map(|i| i as u16);
    let ways = places(TEAM[1]).zip(places(TEAM[2])).map(|(from, to)| [from, to]);
    let switching = params.text("order") == "switching";
    Sequence::new(texts(params, TEAM[0]), ways.collect(), foreseen, switching)
}

fn pace(r: &mut Reader<'_>, params: &Params) -> Pace {
    let step = r.span("step");
    if r.given("exchanges_per_period") {
        return parts(r, step);
    }
    if !r.given("tolerance") {
        let unused: &[&str] =
            if r.given("look_ahead") { &["max_step"] } else { &["min_step", "max_step"] };
        for &name in unused {
            let message = format!("`{name}` is for adaptive macro steps");
            r.check(!r.given(name), name, message, "add a `tolerance`, or delete it");
        }
        return Pace::new(step, None);
    }
    let tolerance = r.positive("tolerance");
    let [shortest, longest] = limits(r, step);
    // The told signal misses by O(H^(q+1)); the units, which integrate it, by one power more.
    let more = if params.text("estimate") == "extrapolation" { 1.0 } else { 2.0 };
    let power = params.int("extrapolation").clamp(0, 3) as f64 + more;
    let control = Control { tolerance, shortest, longest, power };
    Pace::new(step, Some(control))
}

/// The shortest and the longest macro step.
fn limits(r: &mut Reader<'_>, step: i64) -> [i64; 2] {
    let mut limit = |name, default| if r.given(name) { r.span(name) } else { default };
    let shortest = limit("min_step", (step / 1000).max(1));
    let longest = limit("max_step", step.saturating_mul(1000));
    let ok = shortest <= step && step <= longest;
    r.check(ok, "step", "`step` is not between `min_step` and `max_step`", "change one of them");
    [shortest, longest.max(shortest)]
}

/// A macro step that follows the frequency of signals.
fn parts(r: &mut Reader<'_>, step: i64) -> Pace {
    let key = "exchanges_per_period";
    let per_period = r.positive(key);
    let message = "fewer than 3 exchanges in a period do not tell how fast a signal swings";
    r.check(per_period >= 3.0, key, message, "give a number such as 20");
    for (name, used) in [
        ("tolerance", r.given("tolerance")),
        ("look_ahead", r.given("look_ahead")),
        ("iterate", r.given("iterate")),
        ("pre_step", r.given("pre_step")),
    ] {
        let message = format!("`{key}` and `{name}` contradict each other");
        r.check(!used, key, message, "both say how long steps are, or repeat them: delete one");
    }
    Pace::following(step, per_period, limits(r, step))
}

/// The extrapolation of each signal.
fn extrapolations(r: &mut Reader<'_>, params: &Params, names: &[String]) -> Vec<Extrapolation> {
    let common = Extrapolation {
        order: r.int("extrapolation", 0, 3) as usize,
        start_order: r.int("start_extrapolation", 0, 3) as usize,
        slopes: match params.text("slopes") {
            "derivatives" => Slopes::Derivatives,
            "context" => Slopes::Context,
            _ => Slopes::Samples,
        },
        interpolate: params.bool("interpolate"),
        rate: None,
    };
    let mut all = vec![common; names.len()];
    for (at, order) in of_signals(r, params, names, "orders", "{ \"upper.v\" = 0 }") {
        if let Param::Int(order @ 0..=3) = &order.value {
            all[at].order = *order as usize;
        } else {
            let error = ParamError::at(order.span.clone(), "this is no order");
            r.push(error.help("give an integer from 0 to 3"));
        }
    }
    for (at, rate) in of_signals(r, params, names, "rates", "{ \"upper.x\" = \"upper.v\" }") {
        let text = if let Param::Text(t) = &rate.value { t.as_str() } else { "" };
        match names.iter().position(|n| n == text) {
            Some(signal) => all[at].rate = Some(signal as u16),
            None => r.push(strange(&rate.span, text, names)),
        }
    }
    all
}

/// The filters of measured signals.
fn measured(r: &mut Reader<'_>, params: &Params, names: &[String]) -> Vec<Option<Kalman>> {
    let mut all: Vec<Option<Kalman>> = Vec::new();
    for (at, given) in of_signals(r, params, names, "measured", "{ \"sensor.y\" = [0.1, 2.0] }") {
        let positive = |p: &Located<Param>| match p.value {
            Param::Real(x) if x.is_finite() && x > 0.0 => Some(x),
            Param::Int(i) if i > 0 => Some(i as f64),
            _ => None,
        };
        let two: Option<Vec<f64>> = match &given.value {
            Param::List(list) => list.iter().map(positive).collect(),
            _ => None,
        };
        match two.as_deref() {
            Some(&[noise, acceleration]) => {
                all.resize(names.len(), None);
                all[at] = Some(Kalman { noise, acceleration });
            }
            _ => {
                let message = "this is no pair of numbers above zero";
                let help = "write [noise, acceleration]: the standard deviation of the noise, and \
                            that of how much the signal accelerates, per second squared";
                r.push(ParamError::at(given.span.clone(), message).help(help));
            }
        }
    }
    for (name, used) in [
        ("compensation", params.text("compensation") != "none"),
        ("feed_through", params.text("feed_through") == "settled"),
        ("power", params.get("power").is_some()),
    ] {
        let message = format!("`measured` and `{name}` contradict each other");
        r.check(
            !used || all.is_empty(),
            name,
            message,
            "a filter takes out what this would bring back: delete one",
        );
    }
    all
}

fn strange(span: &Span, name: &str, names: &[String]) -> ParamError {
    let message = format!("no signal `{name}` passes through the coupling");
    ParamError::at(span.clone(), message).help(format!("signals: {}", names.join(", ")))
}

/// The entries of a table about single signals, by their numbers.
fn of_signals<'p>(
    r: &mut Reader<'_>,
    params: &'p Params,
    names: &[String],
    key: &str,
    example: &str,
) -> Vec<(usize, &'p Located<Param>)> {
    let Some(given) = params.get(key) else { return Vec::new() };
    let Param::Table(table) = &given.value else {
        let error = ParamError::at(given.span.clone(), format!("`{key}` is no table"));
        r.push(error.help(format!("write {key} = {example}")));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in table {
        let before = found.len();
        let all = names.iter().enumerate().filter(|(_, n)| **n == name.value);
        found.extend(all.map(|(at, _)| (at, value)));
        if found.len() == before {
            r.push(strange(&name.span, &name.value, names));
        }
    }
    found
}

/// Pairs of effort and flow, of which no signal is in two if they are `apart`.
fn pairs(
    r: &mut Reader<'_>,
    list: &Located<Param>,
    key: &str,
    names: &[String],
    apart: bool,
) -> Vec<[u16; 2]> {
    let shape = |span: &Span| {
        let error = ParamError::at(span.clone(), "this is no pair of signals");
        error.help(format!("write {key} = [[\"spring.f\", \"mass.v\"]]"))
    };
    let Param::List(pairs) = &list.value else {
        r.push(shape(&list.span));
        return Vec::new();
    };
    let (mut bonds, mut used): (Vec<[u16; 2]>, Vec<usize>) = (Vec::new(), Vec::new());
    for pair in pairs {
        let Param::List(two) = &pair.value else {
            r.push(shape(&pair.span));
            continue;
        };
        let mut bond = Vec::new();
        for item in two {
            let text = if let Param::Text(t) = &item.value { t.as_str() } else { "" };
            match names.iter().position(|n| n == text) {
                Some(at) if apart && used.contains(&at) => {
                    let message = format!("`{text}` is in two pairs");
                    let error = ParamError::at(item.span.clone(), message);
                    r.push(error.help("give the unit an output for each of its bonds"));
                }
                Some(at) => {
                    used.push(at);
                    bond.push(at as u16);
                }
                None => r.push(strange(&item.span, text, names)),
            }
        }
        match <[u16; 2]>::try_from(bond) {
            Ok(bond) => bonds.push(bond),
            Err(_) if two.len() == 2 => {}
            Err(_) => r.push(shape(&pair.span)),
        }
    }
    bonds
}

/// The bonds whose energy tells the error.
fn bonds(r: &mut Reader<'_>, params: &Params, names: &[String]) -> Vec<[u16; 2]> {
    let conserved = params.text("estimate") == "conservation";
    let given = r.given("bonds");
    let message = "`bonds` is for estimate = \"conservation\"";
    r.check(conserved || !given, "bonds", message, "add it, or delete `bonds`");
    let message = "conservation of energy needs bonds between units";
    let help = "name effort and flow: bonds = [[\"spring.f\", \"mass.v\"]]";
    r.check(given || !conserved, "estimate", message, help);
    params.get("bonds").map_or_else(Vec::new, |list| pairs(r, list, "bonds", names, false))
}

/// Pairs of signals that carry power.
fn balance(r: &mut Reader<'_>, params: &Params, names: &[String]) -> Option<Balance> {
    let message = "`power_tolerance` is for signals that carry power";
    let given = r.given("power_tolerance");
    let tolerance = if given { r.positive("power_tolerance") } else { 1e-12 };
    let Some(list) = params.get("power") else {
        r.check(!given, "power_tolerance", message, "name them by `power`, or delete it");
        return None;
    };
    for (name, used) in [
        ("compensation", params.text("compensation") != "none"),
        ("low_pass", r.given("low_pass")),
        ("interpolate", params.bool("interpolate")),
    ] {
        let message = format!("`power` and `{name}` contradict each other");
        r.check(!used, name, message, "what is told would carry another power: delete one");
    }
    Some(Balance::new(pairs(r, list, "power", names, true), tolerance))
}

/// LookAhead, if the scenario names events.
fn look_ahead(
    r: &mut Reader<'_>,
    params: &Params,
    names: &[String],
    context: &Context<'_>,
) -> Option<LookAhead> {
    let list = params.get("look_ahead")?;
    let step = r.span("step");
    let shortest = if r.given("min_step") { r.span("min_step") } else { (step / 1000).max(1) };
    let (safety, forecast) = (r.positive("safety"), r.positive("forecast"));
    r.check(safety <= 1.0, "safety", "`safety` is above 1", "give a factor from 0 to 1");
    let mut look = LookAhead::new(safety, forecast, context.resolution.seconds(shortest));
    let Param::List(items) = &list.value else {
        let error = ParamError::at(list.span.clone(), "`look_ahead` is no list of conditions");
        r.push(error.help("write look_ahead = [\"a.x <= 0 and a.v < 0\"]"));
        return None;
    };
    let scope = |name: &str| {
        let var = names.iter().position(|n| n == name).map(|i| Symbol::Var(VarId(i as u32)));
        var.or_else(|| (context.constants)(name).map(Symbol::Const))
    };
    let help =
        format!("an inequality of signals, or several with `and`; signals: {}", names.join(", "));
    for item in items {
        let text = if let Param::Text(t) = &item.value { t.as_str() } else { "" };
        let problem = match Condition::parse(text, &scope) {
            Ok(condition) if look.add(&condition) => continue,
            Ok(_) => "this is not a set of inequalities that all hold at the event".to_owned(),
            Err(errors) => errors.first().map_or_else(String::new, ToString::to_string),
        };
        r.push(ParamError::at(item.span.clone(), problem).help(help.clone()));
    }
    Some(look)
}

/// The iteration at an instant, if feed-through is to be settled.
fn settling(r: &mut Reader<'_>, params: &Params) -> Option<Settling> {
    if params.text("feed_through") != "settled" {
        for name in ["relaxation", "settle_tolerance"] {
            let message = format!("`{name}` is for settled feed-through");
            r.check(!r.given(name), name, message, "add feed_through = \"settled\", or delete it");
        }
        return None;
    }
    let mut or = |name, default| if r.given(name) { r.positive(name) } else { default };
    let (relaxation, tolerance) = (or("relaxation", 1.0), or("settle_tolerance", 1e-12));
    let message = "`relaxation` is above 1";
    r.check(relaxation <= 1.0, "relaxation", message, "give a factor from 0 to 1");
    Some(Settling { tolerance, relaxation })
}

/// Whether the policy repeats steps.
pub(super) fn rehearses(params: &Params) -> bool {
    params.get("iterate").is_some()
        || params.get("pre_step").is_some()
        || !matches!(params.text("estimate"), "extrapolation" | "conservation")
        || params.text("correction") != "optimistic"
}

/// How an implicit coupling is solved.
fn iteration(r: &mut Reader<'_>, params: &Params) -> Option<Iteration> {
    const KEYS: [&str; 5] = ["method", "tolerance", "max", "relaxation", "corrections"];
    let mut errors = Vec::new();
    let entries = Entries::new(params.get("iterate")?, &KEYS, &mut errors);
    r.extend(errors);
    let entries = entries?;
    // Whole courses are as exact as what units send: `exchange_tolerance`, 1e-6 by default.
    let whole =
        matches!(entries.get("method").map(|p| &p.value), Some(Param::Text(t)) if t == "waveform");
    let aim = if whole { 1e-5 } else { 1e-9 };
    let mut wrong = |key: &str, what: &str, help: &str| {
        let span = entries.get(key).map_or(entries.span.clone(), |p| p.span.clone());
        r.push(ParamError::at(span, format!("`{key}` {what}")).help(help));
    };
    let mut positive = |key: &str, default: f64| match entries.get(key).map(|p| &p.value) {
        None => default,
        Some(Param::Real(x)) if x.is_finite() && *x > 0.0 => *x,
        Some(Param::Int(i)) if *i > 0 => *i as f64,
        Some(_) => {
            wrong(key, "is no number above zero", "give a number such as 1e-9");
            default
        }
    };
    let (tolerance, relaxation) = (positive("tolerance", aim), positive("relaxation", 1.0));
    let mut count = |key: &str, default: u32| match entries.get(key).map(|p| &p.value) {
        None => default,
        Some(Param::Int(i @ 0..=1_000_000)) => *i as u32,
        Some(_) => {
            wrong(key, "is no count", "give an integer of at least 0");
            default
        }
    };
    let (most, corrections) = (count("max", 50), count("corrections", 0));
    let fixed = entries.get("corrections").is_some();
    let solver = match entries.get("method").map(|p| &p.value) {
        None if fixed || entries.get("relaxation").is_some() => Solver::FixedPoint(relaxation),
        None => Solver::Newton,
        Some(Param::Text(t)) if t == "fixed-point" => Solver::FixedPoint(relaxation),
        Some(Param::Text(t)) if t == "newton" => Solver::Newton,
        Some(Param::Text(t)) if t == "broyden" => Solver::Broyden,
        Some(Param::Text(t)) if t == "waveform" => Solver::Waveform,
        Some(_) => {
            let help = "choose fixed-point, newton, broyden or waveform";
            wrong("method", "is none of the methods", help);
            Solver::FixedPoint(relaxation)
        }
    };
    if entries.get("relaxation").is_some() && !matches!(solver, Solver::FixedPoint(_)) {
        wrong(
            "relaxation",
            "is for the fixed point",
            "delete it, or choose method = \"fixed-point\"",
        );
    }
    for key in ["tolerance", "max"] {
        if fixed && entries.get(key).is_some() {
            let help = "a number of corrections is done whatever they give: delete one of the two";
            wrong(key, "and `corrections` contradict each other", help);
        }
    }
    let until =
        if fixed { Until::Corrections(corrections) } else { Until::Converged(tolerance, most) };
    Some(Iteration::new(solver, until))
}

/// Pre-steps of a macro step, at most: each is kept.
const MOST_MICRO_STEPS: i64 = 100_000;

/// The part of a policy that needs trials of macro steps, if there is one.
fn rehearse(r: &mut Reader<'_>, params: &Params, signals: usize) -> Option<Rehearse> {
    let iteration = iteration(r, params);
    for (name, used) in [
        ("estimate", params.text("estimate") != "extrapolation"),
        ("correction", params.text("correction") != "optimistic"),
    ] {
        let message = format!("`{name}` is for adaptive macro steps");
        r.check(!used || r.given("tolerance"), name, message, "add a `tolerance`, or delete it");
    }
    let ok = r.given("pre_step") || params.text("pre_step_extrapolation") == "micro-steps";
    let message = "`pre_step_extrapolation` is for pre-step stabilisation";
    r.check(ok, "pre_step_extrapolation", message, "add `pre_step`, or delete it");
    if !rehearses(params) {
        return None;
    }
    let estimate = match params.text("estimate") {
        "doubling" => Estimate::Doubling,
        "milne" => Estimate::Milne,
        "multi-order" => Estimate::MultiOrder,
        "conservation" => Estimate::Conservation,
        "embedded" => Estimate::Embedded,
        "parallel-embedded" => Estimate::ParallelEmbedded,
        // The signal told for the end of an iterated step is the one that came.
        _ if iteration.is_some() && !r.given("estimate") => Estimate::ParallelEmbedded,
        _ => Estimate::Extrapolation,
    };
    let correction = match params.text("correction") {
        "pessimistic" => Correction::Pessimistic,
        "selective" => Correction::Selective,
        _ => Correction::Optimistic,
    };
    let ahead = match params.text("pre_step_extrapolation") {
        "macro-step" => Ahead::MacroStep,
        _ => Ahead::MicroSteps,
    };
    if r.given("pre_step") && r.given("step") {
        let (micro, step) = (r.span("pre_step"), r.span("step"));
        let ok = micro <= step && step / micro.max(1) <= MOST_MICRO_STEPS;
        let message = "a macro step holds from 1 to 100000 pre-steps";
        r.check(ok, "pre_step", message, "give a time from step/100000 to step");
    }
    let pre_step = r.given("pre_step").then(|| PreStep::new(r.span("pre_step"), ahead, signals));
    let rehearse = Rehearse { iteration, pre_step, estimate, correction };
    contradictions::check(r, params, &rehearse);
    Some(rehearse)
}

/// The policy, and how its steps are tried out if they are.
pub(super) fn policy(
    params: &Params,
    context: &Context<'_>,
) -> Checked<(Policy, Option<Rehearse>)> {
    let mut r = Reader::new(params);
    let names = signals(params);
    let extrapolations = extrapolations(&mut r, params, &names);
    let compensation = match params.text("compensation") {
        "nepce" => Compensation::Nepce,
        "nepce-memory" => Compensation::NepceMemory,
        _ => Compensation::None,
    };
    let clash = compensation != Compensation::None && params.bool("interpolate");
    let message = "`interpolate` and `compensation` contradict each other";
    r.check(!clash, "compensation", message, "a corrected signal jumps at exchanges: delete one");
    let pace = pace(&mut r, params);
    let clash = r.given("tolerance") && looks_ahead(params);
    let message = "`tolerance` and `look_ahead` contradict each other";
    r.check(!clash, "look_ahead", message, "choose one of the two");
    if names.is_empty() {
        let error = ParamError::whole("`coupling` is not a unit");
        r.push(error.help("declare it by [coupling] in the scenario or in a template"));
    }
    for (name, used) in [
        ("power", params.get("power").is_some()),
        ("feed_through", params.text("feed_through") == "settled"),
        ("iterate", params.get("iterate").is_some()),
        ("pre_step", r.given("pre_step")),
        ("correction", params.text("correction") != "optimistic"),
        ("estimate", rehearses(params)),
    ] {
        let message = format!("`{name}` and an order that changes contradict each other");
        let help = "choose order = \"jacobi\" or \"gauss-seidel\", or delete it";
        if sequenced(params) && used {
            r.check(false, name, message, help);
            break;
        }
    }
    let clash = r.given("low_pass") && params.text("feed_through") == "settled";
    let message = "`low_pass` and settled feed-through contradict each other";
    r.check(!clash, "low_pass", message, "a filter takes time: delete one of the two");
    let low_pass = r
        .given("low_pass")
        .then(|| LowPass { tau: context.resolution.seconds(r.span("low_pass")) });
    let rehearse = rehearse(&mut r, params, names.len());
    let policy = Policy {
        pace,
        extrapolations,
        compensation,
        measured: measured(&mut r, params, &names),
        low_pass,
        interrupts: params.text("events") == "interrupt",
        settles: settling(&mut r, params),
        look_ahead: look_ahead(&mut r, params, &names, context),
        balance: balance(&mut r, params, &names),
        sequence: None,
        bonds: bonds(&mut r, params, &names),
        answers: numbers(params, ANSWERS).map(|units| units as u32).collect(),
        names,
    };
    r.finish((policy, rehearse))
}
