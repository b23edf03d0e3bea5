//! The registered kind `equations`: a continuous unit from text.
//!
//! ```toml
//! [unit.ball]
//! kind = "equations"
//! parameters = { g = 9.81 }
//! states = { x = 10, v = 0 }
//! derivatives = { x = "v", v = "-g" }
//! outputs = { x = "x" }
//! [[unit.ball.event]]
//! name = "bounce"
//! when = "x <= 0 and v < 0"
//! reset = { v = "-0.9*v" }
//! ```
//! Inputs are numbered: signal inputs, hidden inputs (`~inputs`), event inputs, then `~link`;
//! outputs: signal outputs, hidden outputs (`~outputs`), event outputs, then `~link`.
use super::{
    compile::compile,
    connectors::connectors,
    elaborate::{elaborate, event_names, whole_text},
    feed_through::feed_through,
    foresee::state_events,
    idle::idle_events,
    join::{Joining, join},
    joined::JOINED,
    measures::measures,
    read::{Declared, Entry, MODE, Reader},
    start::{second_family, unused_by_method},
};
use crate::{
    kinds::{
        Context, Located, Measures, ParamError, ParamSpec, ParamType, Params, PortKind, PortSpec,
        Ports, StateEvents, UnitKind, ValueType, feed_through::FeedThrough, with,
    },
    maths::expr::{Library, Measure},
    signal::{capabilities::Capabilities, value::Value},
};
use std::{collections::HashMap, path::Path};
use superdense_kernel::Component;

described! {
    /// `equations`: differential and algebraic equations with events, written as text. Ports and variables are
    /// those that the unit declares; docs/format.md has all keys.
    ///
    /// ```toml
    /// [unit.ball]
    /// kind = "equations"
    /// states = { x = 10.0, v = 0 }                # names and values at the start
    /// derivatives = { x = "v", v = "-9.81" }
    /// outputs = { height = "x" }
    /// method = "auto"
    ///
    /// [[unit.ball.event]]
    /// name = "bounce"
    /// when = "x <= 0 and v < 0"
    /// reset = { v = "-0.9*v" }
    /// ```
    pub struct EquationsKind;
}

const fn raw(name: &'static str, doc: &'static str) -> ParamSpec {
    with(name, ParamType::Raw, "", doc)
}

const PARAMS: &[ParamSpec] = &[
    raw("parameters", "constants: name = number or expression"),
    raw("inputs", "signal inputs: name = start value"),
    raw("states", "continuous states: name = initial value"),
    raw("discrete", "values that only events change: name = initial value"),
    raw("let", "helper expressions, in order: name = expression"),
    raw("derivatives", "time derivative of each state: state = expression"),
    raw("algebraic", "variables of algebraic equations: name = where the search for it begins"),
    raw(
        "connectors",
        "what others are joined to: name = domain, or the names of its potential, flow and, if it is a rate, displacement",
    ),
    raw("residuals", "algebraic equations: algebraic variable = expression that is zero"),
    raw("outputs", "signal outputs: name = expression"),
    raw("event_inputs", "names of event inputs"),
    raw("event_outputs", "names of event outputs"),
    raw("event", "events: name, when | at | every (from), reset, emit"),
    raw(
        "mode",
        "modes by name, each with let, derivatives, residuals, outputs, event, on of its own",
    ),
    raw(
        "initial",
        "the mode at the start, else the first one; or equations of the start: name = expression that is zero then",
    ),
    raw("free", "names of states whose values at the start are found by constraints and `initial`"),
    raw("on", "what an event input does: input, reset, emit; `value` is the event's value"),
    with(
        "switching",
        ParamType::Choice(&["located", "sliding", "ignored"]),
        "located",
        "where if, abs, sign, min, max, floor, ... switch: the solver stops there, stops and may \
         slide along the surface, or does not look",
    ),
    with(
        "method",
        ParamType::Choice(&[
            "rk45", "rk23", "rk4", "euler", "taylor", "closed", "rodas", "qss1", "qss2", "qss3",
            "liqss1", "liqss2", "mliqss2", "auto",
        ]),
        "rk45",
        "how the equations are solved",
    ),
    with(
        "order",
        ParamType::Int,
        "12",
        "order of the method taylor, 2 to 30; below 6 it takes far shorter steps than the tolerance needs",
    ),
    with(
        "step",
        ParamType::Real(Some("s")),
        "",
        "fixed step: needed by rk4 and euler, possible for taylor",
    ),
    with(
        "segment_order",
        ParamType::Int,
        "3",
        "highest power in the segments that are sent, 1 to 12",
    ),
    with("tolerance", ParamType::Real(None), "1e-9", "relative tolerance of the solver"),
    with(
        "absolute_tolerance",
        ParamType::Real(None),
        "1e-9",
        "absolute tolerance of the solver, in the units of the states",
    ),
    with(
        "exchange_tolerance",
        ParamType::Real(None),
        "1e-6",
        "how far an output may leave the segment that receivers hold, in its units",
    ),
    with(
        "dq_rel",
        ParamType::Real(None),
        "1e-3",
        "quantum of the methods qss1 to mliqss2, relative to the state",
    ),
    with(
        "dq_min",
        ParamType::Real(None),
        "1e-6",
        "least quantum of the methods qss1 to mliqss2, in the units of the states",
    ),
    with(
        "max_step",
        ParamType::Real(Some("s")),
        "",
        "longest solver step; unless given a 100th of the scenario's `stop` for functions that are no \
         polynomials, else 1e6 s, or a 1000th of `stop` if that is more",
    ),
    raw(JOINED, "what connections made, for words on it"),
    raw("~inputs", "hidden inputs, made for links"),
    raw("~outputs", "hidden outputs, made for links"),
];

impl UnitKind for EquationsKind {
    fn name(&self) -> &'static str {
        "equations"
    }
    fn summary(&self) -> &'static str {
        "continuous unit: differential equations with events, given as text"
    }
    fn doc(&self) -> &'static str {
        Self::DOC
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn events(&self, params: &Params) -> Option<Vec<String>> {
        let mut reader = Reader::new(params);
        let modes = Declared::read(&mut reader).modes;
        let mut names = event_names(params.get("event"));
        for (_, entries) in &modes {
            names.extend(event_names(
                entries.iter().find(|(key, _)| key.value == "event").map(|(_, p)| *p),
            ));
        }
        Some(names)
    }
    fn unused(&self, params: &Params, name: &str) -> Option<(String, String)> {
        unused_by_method(params, name)
    }
    fn accuracy(&self) -> &'static [&'static str] {
        &["tolerance", "absolute_tolerance", "exchange_tolerance", "dq_rel", "dq_min", "step"]
    }
    fn second_family(&self, params: &Params) -> Option<Params> {
        let states = Declared::read(&mut Reader::new(params)).states.len();
        second_family(params, states)
    }
    fn capabilities(&self, _: &Params, _: &Path) -> Capabilities {
        Capabilities::all()
    }
    fn connectors(&self, params: &Params) -> Result<Vec<(String, String)>, Vec<ParamError>> {
        let mut r = Reader::new(params);
        let all = connectors(&mut r);
        let all = all.iter().map(|c| (c.name.value.clone(), c.domain())).collect();
        if r.errors.is_empty() { Ok(all) } else { Err(r.errors) }
    }
    fn join(
        &self,
        parts: &[(&str, &Params, &Context<'_>)],
        nodes: &[Vec<(usize, String)>],
    ) -> Result<Params, Vec<(usize, ParamError)>> {
        join(&Joining { parts, nodes })
    }
    fn feed_through(&self, params: &Params, context: &Context<'_>) -> FeedThrough {
        feed_through(params, context)
    }
    fn state_events(&self, params: &Params, context: &Context<'_>) -> StateEvents {
        state_events(self, params, context)
    }
    fn idle_events(&self, params: &Params, context: &Context<'_>) -> Vec<String> {
        idle_events(params, context)
    }
    fn variables(&self, params: &Params) -> Vec<(String, Option<String>)> {
        let mut r = Reader::new(params);
        let d = Declared::read(&mut r);
        let mut carriers: HashMap<String, &str> = HashMap::new();
        for (k, p) in &d.outputs {
            if let Some(name) = whole_text(&p.value) {
                carriers.entry(name).or_insert(&k.value);
            }
        }
        let carrier = |name: &str| carriers.get(name).map(|&port| port.to_owned());
        let names = d.states.iter().chain(&d.discrete).chain(&d.inputs);
        let mut all: Vec<_> = names.map(|(k, _)| (k.value.clone(), carrier(&k.value))).collect();
        if d.shows_mode() {
            all.push((MODE.into(), Some(MODE.into())));
        }
        all
    }
    fn value_names(&self, params: &Params, output: &str) -> Vec<String> {
        let d = Declared::read(&mut Reader::new(params));
        match output == MODE && d.shows_mode() {
            true => d.modes.iter().map(|(name, _)| name.value.clone()).collect(),
            false => Vec::new(),
        }
    }
    fn measures(
        &self,
        params: &Params,
        names: &dyn Fn(&str) -> Measure,
        functions: &Library,
    ) -> (Measures, Vec<ParamError>) {
        measures(params, names, functions)
    }
    fn is_discrete(&self, params: &Params, variable: &str) -> bool {
        let d = Declared::read(&mut Reader::new(params));
        (variable == MODE && d.shows_mode()) || d.discrete.iter().any(|(k, _)| k.value == variable)
    }
    fn elaborate(
        &self,
        params: Params,
        constants: &dyn Fn(&str) -> Option<f64>,
    ) -> Result<Params, Vec<ParamError>> {
        elaborate(&params, constants)
    }
    fn ports(&self, params: &Params) -> Result<Ports, Vec<ParamError>> {
        let mut r = Reader::new(params);
        let d = Declared::read(&mut r);
        let signal = |(k, _): &Entry<'_>| PortSpec::signal(k.value.clone()).optional();
        let event =
            |n: &Located<String>| PortSpec::event(n.value.clone(), ValueType::Any).optional();
        let mut ports = Ports::default();
        ports.inputs.extend(d.inputs.iter().chain(&d.hidden_inputs).map(signal));
        ports.inputs.extend(d.event_inputs.iter().map(event));
        ports.outputs.extend(d.outputs.iter().map(signal));
        ports.outputs.extend(d.shows_mode().then(|| PortSpec::signal(MODE).optional()));
        ports.outputs.extend(d.hidden_outputs.iter().map(signal));
        let sent = |n: &Located<String>| PortSpec::event(n.value.clone(), ValueType::Real);
        ports.outputs.extend(d.event_outputs.iter().map(sent));
        r.named_once(d.inputs.iter().map(|(k, _)| *k).chain(&d.event_inputs), "inputs");
        r.named_once(d.outputs.iter().map(|(k, _)| *k).chain(&d.event_outputs), "outputs");
        debug_assert!(ports.inputs.iter().all(|p| p.optional || p.kind == PortKind::Event));
        if r.errors.is_empty() { Ok(ports) } else { Err(r.errors) }
    }
    fn build(
        &self,
        params: &Params,
        context: &Context<'_>,
    ) -> Result<Component<Value>, Vec<ParamError>> {
        let mut r = Reader::new(params);
        match compile(&mut r, context) {
            Some(component) if r.errors.is_empty() => Ok(component),
            _ => Err(r.errors),
        }
    }
}
