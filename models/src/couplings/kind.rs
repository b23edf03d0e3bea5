//! `coupling`: the parameters of a master in a scenario.
use super::{
    Balance, Compensation, Control, Coupler, Extrapolation, LookAhead, LowPass, Pace, Policy,
    Settling, Slopes,
};
use crate::{
    blocks::params::{Checked, Reader, needed, with},
    expr::{Condition, Symbol, VarId},
    registry::{
        Context, Located, Param, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports, Span,
        UnitKind,
    },
    signal::{NEVER, Timer},
    value::Value,
};
use superdense_kernel::Component;

/// The names of the signals that pass through, which the scenario's plan gives.
pub const SIGNALS: &str = "~signals";

/// Order in which units hear each other.
pub const ORDERS: &[&str] = &["jacobi", "gauss-seidel"];

/// `coupling`: the master of a group of units, declared by `[coupling]` in a scenario or a
/// template. Not for `[unit.NAME]`: the plan lays the signals through it.
///
/// ```toml
/// [coupling]
/// order = "gauss-seidel"
/// sequence = ["left", "right"]
/// step = "10 ms"
/// extrapolation = 1
/// events = "interrupt"
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CouplingKind;

const PARAMS: &[ParamSpec] = &[
    needed("step", ParamType::Duration, "the macro step: time between two exchanges"),
    with("order", ParamType::Choice(ORDERS), "jacobi", "which units hear values of this step"),
    with("sequence", ParamType::Raw, "", "units in their order; default: as in the text"),
    with("units", ParamType::Raw, "", "the members; default: all continuous units and groups"),
    with("extrapolation", ParamType::Int, "0", "order of what receivers are told, 0 to 3"),
    with("start_extrapolation", ParamType::Int, "3", "that order at the start, if it is lower"),
    with(
        "slopes",
        ParamType::Choice(&["samples", "derivatives"]),
        "samples",
        "from the exchanged values, or from the derivatives of the outputs",
    ),
    with("interpolate", ParamType::Bool, "false", "without jumps at exchanges"),
    with(
        "events",
        ParamType::Choice(&["wait", "interrupt"]),
        "wait",
        "whether jumps wait for the next exchange or bring it about",
    ),
    with(
        "feed_through",
        ParamType::Choice(&["delayed", "settled"]),
        "delayed",
        "whether outputs that follow their inputs at once are told at the next exchange or at once",
    ),
    with(
        "relaxation",
        ParamType::Real(None),
        "",
        "part of each change that is handed on; default 1",
    ),
    with("settle_tolerance", ParamType::Real(None), "", "of settled signals; default 1e-12"),
    with(
        "compensation",
        ParamType::Choice(&["none", "nepce", "nepce-memory"]),
        "none",
        "correction by past coupling errors",
    ),
    with("low_pass", ParamType::Duration, "", "time constant of a filter on what is told"),
    with("tolerance", ParamType::Real(None), "", "aim of the adaptive macro step"),
    with("orders", ParamType::Raw, "", "orders of single signals: { \"upper.v\" = 0 }"),
    with("rates", ParamType::Raw, "", "signals that are rates: { \"upper.x\" = \"upper.v\" }"),
    with("power", ParamType::Raw, "", "pairs whose product is power: [[\"spring.f\", \"mass.v\"]]"),
    with("power_tolerance", ParamType::Real(None), "", "of that power; default 1e-12"),
    with("look_ahead", ParamType::Raw, "", "conditions of events before which to exchange"),
    with("safety", ParamType::Real(None), "0.9", "factor of the predicted time until an event"),
    with("forecast", ParamType::Real(None), "2.0", "steps over which events are foreseen"),
    with("min_step", ParamType::Duration, "", "of an adaptive macro step; default: step/1000"),
    with("max_step", ParamType::Duration, "", "of the adaptive macro step; default: 1000*step"),
    with(SIGNALS, ParamType::Raw, "", ""),
];

/// The names of the signals.
fn signals(params: &Params) -> Vec<String> {
    let Some(Param::List(list)) = params.get(SIGNALS).map(|p| &p.value) else { return Vec::new() };
    let text = |p: &Param| if let Param::Text(t) = p { Some(t.clone()) } else { None };
    list.iter().filter_map(|p| text(&p.value)).collect()
}

fn pace(r: &mut Reader<'_>, order: i64) -> Pace {
    let step = r.span("step");
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
    let mut limit = |name, default| if r.given(name) { r.span(name) } else { default };
    let shortest = limit("min_step", (step / 1000).max(1));
    let longest = limit("max_step", step.saturating_mul(1000));
    let ok = shortest <= step && step <= longest;
    r.check(ok, "step", "`step` is not between `min_step` and `max_step`", "change one of them");
    let power = order.clamp(0, 3) as f64 + 1.0;
    let control = Control { tolerance, shortest, longest: longest.max(shortest), power };
    Pace::new(step, Some(control))
}

/// The extrapolation of each signal.
fn extrapolations(r: &mut Reader<'_>, params: &Params, names: &[String]) -> Vec<Extrapolation> {
    let common = Extrapolation {
        order: r.int("extrapolation", 0, 3) as usize,
        start_order: r.int("start_extrapolation", 0, 3) as usize,
        slopes: match params.text("slopes") {
            "derivatives" => Slopes::Derivatives,
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
        match names.iter().position(|n| *n == name.value) {
            Some(at) => found.push((at, value)),
            None => r.push(strange(&name.span, &name.value, names)),
        }
    }
    found
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
    let shape = |span: &Span| {
        let error = ParamError::at(span.clone(), "this is no pair of signals");
        error.help("write power = [[\"spring.f\", \"mass.v\"]]")
    };
    let Param::List(pairs) = &list.value else {
        r.push(shape(&list.span));
        return None;
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
                Some(at) if used.contains(&at) => {
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
    Some(Balance::new(bonds, tolerance))
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

fn coupler(params: &Params, context: &Context<'_>) -> Checked<Coupler> {
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
    let pace = pace(&mut r, params.int("extrapolation"));
    let clash = r.given("tolerance") && r.given("look_ahead");
    let message = "`tolerance` and `look_ahead` contradict each other";
    r.check(!clash, "look_ahead", message, "choose one of the two");
    if names.is_empty() {
        let error = ParamError::whole("`coupling` is not a unit");
        r.push(error.help("declare it by [coupling] in the scenario or in a template"));
    }
    let clash = r.given("low_pass") && params.text("feed_through") == "settled";
    let message = "`low_pass` and settled feed-through contradict each other";
    r.check(!clash, "low_pass", message, "a filter takes time: delete one of the two");
    let low_pass = r
        .given("low_pass")
        .then(|| LowPass { tau: context.resolution.seconds(r.span("low_pass")) });
    let policy = Policy {
        pace,
        extrapolations,
        compensation,
        low_pass,
        interrupts: params.text("events") == "interrupt",
        settles: settling(&mut r, params),
        look_ahead: look_ahead(&mut r, params, &names, context),
        balance: balance(&mut r, params, &names),
        names,
    };
    r.finish(Coupler::new(policy, Timer::due(NEVER, context.resolution)))
}

impl UnitKind for CouplingKind {
    fn name(&self) -> &'static str {
        "coupling"
    }
    fn summary(&self) -> &'static str {
        "co-simulation master of a group, declared by [coupling]"
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn accuracy(&self) -> &'static [&'static str] {
        &["tolerance"]
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        let port = |name: &String| PortSpec::signal(name.clone());
        let all: Vec<PortSpec> = signals(params).iter().map(port).collect();
        Ok(Ports { inputs: all.clone(), outputs: all })
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        Ok(Component::atomic(coupler(params, context)?))
    }
}
