//! `coupling`: the parameters of a master in a scenario.
use super::{Compensation, Control, Coupler, Extrapolation, Pace, Slopes};
use crate::{
    blocks::params::{Checked, Reader, needed, with},
    registry::{
        Context, Param, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports, UnitKind,
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
        "compensation",
        ParamType::Choice(&["none", "nepce", "nepce-memory"]),
        "none",
        "correction by past coupling errors",
    ),
    with("tolerance", ParamType::Real(None), "", "aim of the adaptive macro step"),
    with("min_step", ParamType::Duration, "", "of the adaptive macro step; default: step/1000"),
    with("max_step", ParamType::Duration, "", "of the adaptive macro step; default: 1000*step"),
    with(SIGNALS, ParamType::Raw, "", ""),
];

/// The names of the signals.
fn signals(params: &Params) -> Vec<String> {
    let Some(Param::List(list)) = params.get(SIGNALS).map(|p| &p.value) else { return Vec::new() };
    let text = |p: &Param| if let Param::Text(t) = p { Some(t.clone()) } else { None };
    list.iter().filter_map(|p| text(&p.value)).collect()
}

fn pace(r: &mut Reader<'_>, extrapolation: &Extrapolation) -> Pace {
    let step = r.span("step");
    if !r.given("tolerance") {
        for name in ["min_step", "max_step"] {
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
    let power = extrapolation.order as f64 + 1.0;
    let control = Control { tolerance, shortest, longest: longest.max(shortest), power };
    Pace::new(step, Some(control))
}

fn coupler(params: &Params, context: &Context<'_>) -> Checked<Coupler> {
    let mut r = Reader::new(params);
    let extrapolation = Extrapolation {
        order: r.int("extrapolation", 0, 3) as usize,
        slopes: match params.text("slopes") {
            "derivatives" => Slopes::Derivatives,
            _ => Slopes::Samples,
        },
        interpolate: params.bool("interpolate"),
    };
    let compensation = match params.text("compensation") {
        "nepce" => Compensation::Nepce,
        "nepce-memory" => Compensation::NepceMemory,
        _ => Compensation::None,
    };
    let clash = compensation != Compensation::None && extrapolation.interpolate;
    let message = "`interpolate` and `compensation` contradict each other";
    r.check(!clash, "compensation", message, "a corrected signal jumps at exchanges: delete one");
    let pace = pace(&mut r, &extrapolation);
    let interrupts = params.text("events") == "interrupt";
    let timer = Timer::due(NEVER, context.resolution);
    let lines = signals(params).len();
    if lines == 0 {
        let error = ParamError::whole("`coupling` is not a unit");
        r.push(error.help("declare it by [coupling] in the scenario or in a template"));
    }
    let settles = params.text("feed_through") == "settled";
    let reactions = (interrupts, settles);
    r.finish(Coupler::new(lines, pace, extrapolation, compensation, reactions, timer))
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
