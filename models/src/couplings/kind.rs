//! `coupling`: the parameters of a master in a scenario.
use super::{
    Coupler, Foreseen, Rehearsal,
    reading::{self, policy, signals},
    trial::Outputs,
};
use crate::{
    kinds::{
        Context, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports, UnitKind,
        feed_through::{FeedThrough, Passing},
        params::{Checked, needed, with},
    },
    signal::{NEVER, Timer, value::Value},
};
use superdense_kernel::{Component, Simulation};

/// The names of the signals that pass through, which the scenario's plan gives.
pub const SIGNALS: &str = "~signals";

/// Per signal, the most units that pass what the coupling tells on to it at the same instant, one after the other: 0
/// where the signal follows nothing that is told at once.
pub const ANSWERS: &str = "~answers";

/// The names of the members in their sequence, and of each signal the source and the receiver by their
/// places in it, where the order changes from step to step; the plan gives them, too.
pub const TEAM: [&str; 3] = ["~members", "~from", "~to"];

/// Order in which units hear each other.
pub(super) const ORDERS: &[&str] = &["jacobi", "gauss-seidel", "automatic", "switching"];

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
    with("sequence", ParamType::Raw, "", "units in their order; default: by feed-through"),
    with("units", ParamType::Raw, "", "the members; default: all continuous units and groups"),
    with("extrapolation", ParamType::Int, "0", "order of what receivers are told, 0 to 3"),
    with("start_extrapolation", ParamType::Int, "3", "that order at the start, if it is lower"),
    with(
        "slopes",
        ParamType::Choice(&["samples", "derivatives", "context"]),
        "samples",
        "from the exchanged values, from the derivatives of the outputs, or from the exchanged values \
         with the order that they recommend",
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
    with(
        "measured",
        ParamType::Raw,
        "",
        "noisy signals, told by a Kalman filter: { \"sensor.y\" = [noise, acceleration] }",
    ),
    with(
        "exchanges_per_period",
        ParamType::Real(None),
        "",
        "exchanges in a period of the signal that swings fastest, which the macro step follows",
    ),
    with("tolerance", ParamType::Real(None), "", "aim of the adaptive macro step"),
    with(
        "estimate",
        ParamType::Choice(&[
            "extrapolation",
            "doubling",
            "milne",
            "multi-order",
            "conservation",
            "embedded",
            "parallel-embedded",
        ]),
        "extrapolation",
        "where the error comes from that the macro step follows",
    ),
    with(
        "correction",
        ParamType::Choice(&["optimistic", "pessimistic", "selective"]),
        "optimistic",
        "whether a step with too large an error stands, is repeated, or for the units that need it",
    ),
    with("iterate", ParamType::Raw, "", "repeat steps: { method = \"newton\", tolerance = 1e-9 }"),
    with("pre_step", ParamType::Duration, "", "micro-step of models for pre-step stabilisation"),
    with(
        "pre_step_extrapolation",
        ParamType::Choice(&["micro-steps", "macro-step"]),
        "micro-steps",
        "whether the exact solution is continued by micro-steps or by one implicit macro step",
    ),
    with("orders", ParamType::Raw, "", "orders of single signals: { \"upper.v\" = 0 }"),
    with("rates", ParamType::Raw, "", "signals that are rates: { \"upper.x\" = \"upper.v\" }"),
    with("power", ParamType::Raw, "", "pairs whose product is power: [[\"spring.f\", \"mass.v\"]]"),
    with(
        "bonds",
        ParamType::Raw,
        "",
        "pairs whose energy tells the error: [[\"spring.f\", \"mass.v\"]]",
    ),
    with("power_tolerance", ParamType::Real(None), "", "of that power; default 1e-12"),
    with("look_ahead", ParamType::Raw, "", "conditions of events before which to exchange"),
    with("safety", ParamType::Real(None), "0.9", "factor of the predicted time until an event"),
    with("forecast", ParamType::Real(None), "2.0", "steps over which events are foreseen"),
    with("min_step", ParamType::Duration, "", "of an adaptive macro step; default: step/1000"),
    with("max_step", ParamType::Duration, "", "of the adaptive macro step; default: 1000*step"),
    with(SIGNALS, ParamType::Raw, "", ""),
    with(ANSWERS, ParamType::Raw, "", ""),
    with(TEAM[0], ParamType::Raw, "", ""),
    with(TEAM[1], ParamType::Raw, "", ""),
    with(TEAM[2], ParamType::Raw, "", ""),
];

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
    /// Signals pass on their own; at other times than exchanges unless their loops are settled.
    fn feed_through(&self, params: &Params, _: &Context<'_>) -> FeedThrough {
        if params.text("feed_through") != "settled" {
            return FeedThrough::None;
        }
        let signals = 0..signals(params).len() as u16;
        FeedThrough::Pairs(signals.map(|k| (k, k, Passing::Value)).collect())
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        let port = |name: &String| PortSpec::signal(name.clone());
        let all: Vec<PortSpec> = signals(params).iter().map(port).collect();
        Ok(Ports { inputs: all.clone(), outputs: all })
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        let (policy, rehearse) = policy(params, context)?;
        if rehearse.is_some() || sequenced(params) {
            let message = "this master needs to know more of its units";
            let help = "see `couplings::rehearsal` and `couplings::sequence`";
            return Err(vec![ParamError::whole(message).help(help)]);
        }
        let timer = Timer::due(NEVER, context.resolution);
        Ok(Component::atomic(Coupler::new(policy, timer)))
    }
}

/// Whether a coupling with these parameters tries its steps out, and is built by [`rehearsal`].
pub fn rehearses(params: &Params) -> bool {
    reading::rehearses(params)
}

/// Whether units change their order, and the master is built by [`sequence`].
pub fn sequenced(params: &Params) -> bool {
    reading::sequenced(params)
}

/// A master that puts the unit first whose event comes first, of those `foreseen`.
///
/// # Errors
/// All mistakes of the parameters.
pub fn sequence(
    params: &Params,
    context: &Context<'_>,
    foreseen: Vec<Foreseen>,
) -> Checked<Component<Value>> {
    let (mut policy, _) = policy(params, context)?;
    policy.sequence = Some(reading::sequence(params, foreseen));
    let timer = Timer::due(NEVER, context.resolution);
    Ok(Component::atomic(Coupler::new(policy, timer)))
}

/// A master that tries its steps out with `units`: those of the group, with what passes through the
/// master as inputs and outputs, in its order.
///
/// # Errors
/// All mistakes of the parameters; a unit that cannot be brought back to an earlier state.
pub fn rehearsal(
    params: &Params,
    context: &Context<'_>,
    units: Simulation<Value>,
    outputs: &Outputs,
) -> Checked<Component<Value>> {
    let (policy, rehearse) = policy(params, context)?;
    let Some(rehearse) = rehearse else { return CouplingKind.build(params, context) };
    let timer = Timer::due(NEVER, context.resolution);
    let master = Rehearsal::new(policy, rehearse, timer, units, outputs).map_err(|why| {
        let help = "steps are repeated by saving all units and bringing them back; couplings that \
                    never do remain: without `iterate` and `pre_step`, correction = \"optimistic\", estimate = \
                    \"extrapolation\"";
        vec![ParamError::whole(format!("this coupling repeats steps, but {why}")).help(help)]
    })?;
    Ok(Component::atomic(master))
}
