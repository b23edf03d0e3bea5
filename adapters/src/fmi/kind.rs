//! The unit kind `fmu`.
use super::{
    beginning::Beginning,
    block::split,
    description::{Description, Type, Variable},
    discrete::Whole,
    isolation,
    layout::{Access, Checked, Layout, Ported, blocks, layout, structure},
    me::build::Numerics,
    nominal::nominals,
    settings::{Rates, Settings},
    starts::Start,
    terminals,
    words::Words,
};
use std::path::Path;
use superdense_kernel::Component;
use superdense_models::{
    kinds::{
        Context, Param, ParamError, ParamSpec, ParamType, Params, Ports, Span, Terminal, UnitKind,
        feed_through::{FeedThrough, Passing},
        needed, with,
    },
    signal::{
        capabilities::{Capabilities, Capability},
        value::Value,
    },
    solve::ode::{Method, Options},
};

/// The kind `fmu`: an FMU as a unit. Ports are the FMU's inputs and outputs;
/// elements of arrays are `name_1`, `name_2`, …, and characters that no port name can have become
/// `_`.
///
/// ```toml
/// [unit.ball]
/// kind = "fmu"
/// path = "bouncing_ball.fmu"
/// step = "10 ms"                # else the FMU's default experiment
/// start = { e = 0.9, h = 2.0 }
/// ```
#[derive(Debug)]
pub struct FmuKind;

const PARAMS: &[ParamSpec] = &[
    needed("path", ParamType::File, "the .fmu file, relative to the scenario"),
    with(
        "interface",
        ParamType::Choice(&["auto", "co-simulation", "model-exchange"]),
        "auto",
        "how to run the FMU; auto: by model exchange where it can, else by co-simulation",
    ),
    with(
        "event_mode",
        ParamType::Bool,
        "true",
        "co-simulation: use the FMU's event mode if it has one",
    ),
    with("step", ParamType::Duration, "", "communication step; default: what the FMU prefers"),
    with("start", ParamType::Raw, "", "start values: name = number, truth value, text or list"),
    with("structure", ParamType::Raw, "", "structural parameters of FMI 3.0: name = integer"),
    with("aliases", ParamType::Raw, "", "aliases of outputs that get ports: true, false or names"),
    with("ignore", ParamType::Raw, "", "inputs and outputs that get no port: names"),
    with(
        "tolerance",
        ParamType::Real(None),
        "",
        "relative tolerance, of the solver or given to the FMU",
    ),
    with(
        "solver",
        ParamType::Choice(&["rk45", "dopri5", "rk23", "rk4", "euler", "rodas"]),
        "rk45",
        "model exchange: the method, by the names of equation units",
    ),
    with("max_step", ParamType::Duration, "", "model exchange: longest step of the solver"),
    with(
        "exchange_tolerance",
        ParamType::Real(None),
        "1e-6",
        "how far an output may be off the segment that receivers hold, in its units",
    ),
    with(
        "segment_order",
        ParamType::Int,
        "",
        "highest power in segments, 0 to 3; default: derivatives that the FMU gives, else a line through its last two points",
    ),
    with(
        "state_access",
        ParamType::Raw,
        "check",
        "the FMU's state access: check, use it after a trial; true, without one; false, not at all",
    ),
    with(
        "replay",
        ParamType::Bool,
        "false",
        "without state access: go back by making all calls again, for FMUs that depend on nothing but their calls",
    ),
    isolation::PARAMS[0],
    isolation::PARAMS[1],
    isolation::PARAMS[2],
    isolation::PARAMS[3],
];

/// Capabilities of the unit, from the model description and from what the scenario withholds.
fn capabilities(layout: &Layout, params: &Params) -> Capabilities {
    let d = &layout.interface;
    let withheld = match Access::of(params) {
        Ok(Access::Without) => "withheld",
        _ => "false in its description",
    };
    let (restores, serialises) = (d.state_access, d.serialisable);
    let ahead = restores || layout.ports.inputs.is_empty();
    let order = d.output_derivatives > 0
        && (params.get("segment_order").is_none() || params.int("segment_order") > 0);
    let polynomials = |p: Ported<'_>| {
        let v = p.variable;
        !v.continuous || (follows(layout, v) && v.ty == Type::Float64)
    };
    let declared = layout.description.interface(Some(d.kind)).is_some_and(|d| d.serialisable);
    let unserialised = if declared { "no state access" } else { "false in its description" };
    let late = if ahead {
        "no hasEventMode: jumps at the ends of its own steps"
    } else {
        "it has inputs and no state access: told at the end of its own step"
    };
    use Capability as C;
    Capabilities::all()
        .unless(!restores, C::Restore, format!("canGetAndSetFMUState: {withheld}"))
        .unless(!serialises, C::Serialise, format!("canSerializeFMUState: {unserialised}"))
        .unless(!order, C::OutputDerivatives, "no maxOutputDerivativeOrder, or segment_order = 0")
        .unless(
            !layout.ported(&layout.inputs).all(polynomials),
            C::InputPolynomials,
            "no intermediate update of its inputs",
        )
        .unless(!d.variable_step, C::AnySteps, "no canHandleVariableCommunicationStepSize")
        .unless(!(ahead && d.event_mode), C::EventTimes, late)
        .without(C::Equations, "a black box")
}

/// The model structure's word on outputs and inputs; an output that it does not speak of may
/// depend on all.
fn feed_through(layout: &Layout) -> FeedThrough {
    let mut pairs = Vec::new();
    let variables = &layout.description.variables;
    let all_inputs = || layout.inputs.iter().chain(&layout.word_inputs);
    for &(output, to) in layout.outputs.iter().chain(&layout.word_outputs) {
        let known = layout.description.structure.inputs_of(output, variables);
        for &(input, from) in all_inputs() {
            let passing = match &known {
                None => Passing::Sometimes,
                Some(inputs) if inputs.contains(&input) => Passing::Value,
                Some(_) => continue,
            };
            for o in to..to + variables[output].elements {
                let all = from..from + variables[input].elements;
                pairs.extend(all.map(|i| (i as u16, o as u16, passing)));
            }
        }
    }
    FeedThrough::Pairs(pairs)
}

/// Whether an output may follow an input at once.
fn passes(layout: &Layout) -> bool {
    let Description { structure, variables, .. } = &*layout.description;
    let inputs = |&(output, _): &(usize, usize)| structure.inputs_of(output, variables);
    let all = layout.outputs.iter().chain(&layout.word_outputs);
    all.map(inputs).any(|inputs| inputs.is_none_or(|inputs| !inputs.is_empty()))
}

/// How inputs of whole numbers hear.
pub(super) fn whole(layout: &Layout, tolerance: f64, context: &Context<'_>) -> Whole {
    let mut ports = vec![false; layout.numbers(&layout.inputs)];
    for p in layout.ported(&layout.inputs) {
        ports[p.first..p.first + p.variable.elements].fill(p.variable.ty.range().is_some());
    }
    let wide = layout.wide(&layout.inputs);
    Whole { ports, wide, tolerance, tick: context.resolution.seconds(1) }
}

/// Whether an input may change inside steps.
fn follows(layout: &Layout, v: &Variable) -> bool {
    let i = &layout.interface;
    i.input_derivatives || (i.intermediate_update && v.intermediate)
}

/// Builds one unit, collecting its mistakes.
pub(super) struct Builder<'a> {
    pub params: &'a Params,
    pub context: &'a Context<'a>,
    pub layout: &'a Layout,
    pub errors: Vec<ParamError>,
}

impl Builder<'_> {
    pub(super) fn wrong(&mut self, name: &str, message: String, help: &str) {
        self.errors.push(ParamError::at(self.params.span(name), message).help(help));
    }

    pub(super) fn given(&self, name: &str) -> bool {
        self.params.get(name).is_some_and(|p| p.value != Param::Text(String::new()))
    }

    /// Ticks of the communication step.
    fn step(&mut self) -> i64 {
        let d = &self.layout.interface;
        let resolution = self.context.resolution;
        if self.given("step") {
            let ticks = self.params.duration("step").ticks();
            if ticks <= 0 || self.params.duration("step").is_infinite() {
                let help = "give a time of at least one tick, such as \"10 ms\"";
                self.wrong("step", "`step` must be longer than zero".into(), help);
                return 1;
            }
            if let (Some(own), false) = (d.internal_step, d.variable_step) {
                let n = resolution.seconds(ticks) / own;
                if (n - n.round()).abs() > 1e-9 * n || n.round() < 1.0 {
                    let message = format!("`step` is no multiple of the FMU's own step {own} s");
                    self.wrong("step", message, &format!("give {own} s or a multiple of it"));
                }
            }
            return ticks;
        }
        match self
            .layout
            .description
            .experiment
            .step
            .or(d.internal_step)
            .map(|s| resolution.duration(s))
        {
            Some(Ok(step)) if step.ticks() > 0 => step.ticks(),
            _ => {
                let help = "add step = \"10 ms\" or another communication step";
                self.wrong("path", "the FMU names no step size".into(), help);
                1
            }
        }
    }

    /// The solver of model exchange.
    pub(super) fn numerics(&mut self) -> Numerics {
        let tolerance = if self.given("tolerance") { self.params.real("tolerance") } else { 1e-9 };
        if !(tolerance.is_finite() && tolerance > 0.0) {
            let message = format!("`tolerance` is {tolerance}");
            self.wrong("tolerance", message, "give a number above zero");
        }
        let fixed = matches!(self.params.text("solver"), "rk4" | "euler");
        let resolution = self.context.resolution;
        let step = if fixed { resolution.seconds(self.step()) } else { 0.0 };
        let method = match self.params.text("solver") {
            "rk23" => Method::Rk23,
            "rk4" => Method::Rk4(step),
            "euler" => Method::Euler(step),
            "rodas" => Method::Rodas,
            _ => Method::Rk45,
        };
        let mut options = Options::tolerance(tolerance, tolerance);
        options.max_step = self.longest();
        let order = if self.given("segment_order") { self.order() } else { 3 };
        Numerics { method, options, tolerance: self.band(), order }
    }

    /// The longest step of the solver. Without states nothing else makes steps short enough to see
    /// indicators, nor where states are at rest.
    fn longest(&mut self) -> f64 {
        if self.given("max_step") {
            let d = self.params.duration("max_step");
            if d.ticks() > 0 && !d.is_infinite() {
                return self.context.resolution.seconds(d.ticks());
            }
            let help = "give a time of at least one tick, such as \"10 ms\"";
            self.wrong("max_step", "`max_step` must be longer than zero".into(), help);
        }
        let d = &self.layout.description;
        let length = d.experiment.stop.map(|stop| stop - d.experiment.start.unwrap_or(0.0));
        match length.filter(|l| *l > 0.0) {
            Some(length) => length / 50.0,
            None if d.structure.indicators > 0 || d.structure.states.is_empty() => 1.0,
            None => f64::INFINITY,
        }
    }

    /// How far outputs may be off.
    fn band(&mut self) -> f64 {
        let tolerance = self.params.real("exchange_tolerance");
        if !(tolerance.is_finite() && tolerance > 0.0) {
            let message = format!("`exchange_tolerance` is {tolerance}");
            self.wrong("exchange_tolerance", message, "give a number above zero");
        }
        tolerance
    }

    fn order(&mut self) -> usize {
        if !self.given("segment_order") {
            // Without derivatives a line through the last two communication points.
            return self.layout.interface.output_derivatives.clamp(1, 3);
        }
        let order = self.params.int("segment_order");
        if !(0..=3).contains(&order) {
            let help = "give an integer from 0 to 3";
            self.wrong("segment_order", format!("`segment_order` is {order}"), help);
        }
        order.clamp(0, 3) as usize
    }

    pub(super) fn settings(&mut self, beginning: Beginning, words: Words) -> Settings {
        let (layout, d) = (self.layout, &self.layout.interface);
        let tolerance = self.band();
        let per_second = self.context.resolution.ticks_per_second();
        // Without event mode every input is set in step mode.
        let smooth = |p: &Ported<'_>| p.variable.continuous || !d.event_mode;
        let mut intermediate = vec![None; layout.numbers(&layout.inputs)];
        for p in layout.ported(&layout.inputs) {
            let v = p.variable;
            let scalar = v.ty == Type::Float64 && v.elements == 1 && v.continuous;
            if follows(layout, v) && scalar {
                intermediate[p.first] = Some(v.reference);
            }
        }
        let mut continuous = vec![None; layout.numbers(&layout.outputs)];
        for p in layout.given().filter(|p| p.variable.continuous) {
            continuous[p.first..p.first + p.variable.elements].fill(Some(p.variable.reference));
        }
        let order = self.order();
        let rates = Rates::new(layout, order.min(d.output_derivatives));
        let discrete = blocks(layout.ported(&layout.inputs).filter(|p| !smooth(p)));
        let smooth = blocks(layout.ported(&layout.inputs).filter(smooth));
        Settings {
            name: format!("FMU {}", layout.description.model),
            step: self.step(),
            stop: (self.context.horizon * per_second as f64).round() as i64,
            tolerance,
            order,
            state_access: d.state_access,
            inputs: smooth.iter().chain(&discrete).cloned().collect(),
            smooth,
            discrete,
            passing: passes(layout) || rates.outputs > 0,
            rates,
            whole: whole(layout, tolerance, self.context),
            intermediate,
            outputs: blocks(layout.given()),
            continuous,
            wide: layout.wide(&layout.outputs),
            usual: nominals(layout),
            words,
            beginning,
        }
    }

    /// Values of the inputs as long as nothing comes, and what the reals of those of 64 bits lack.
    pub(super) fn input_starts(&self, starts: &[(usize, Span, Start)]) -> Vec<f64> {
        let wide = self.layout.wide(&self.layout.inputs).len();
        let mut out = vec![0.0; self.layout.numbers(&self.layout.inputs) + wide];
        for (p, &(v, _)) in self.layout.ported(&self.layout.inputs).zip(&self.layout.inputs) {
            let variable = p.variable;
            let own = match starts.iter().find(|s| s.0 == v).map(|s| &s.2) {
                Some(start) => start.numbers(),
                None => variable.start.iter().map(|s| written(variable, s)).collect(),
            };
            for k in 0..variable.elements {
                // One value stands for all elements.
                let (real, rest) = own.get(k).or(own.first()).copied().unwrap_or_default();
                out[p.first + k] = real;
                if variable.ty.is_wide() {
                    out[p.rest + k] = rest;
                }
            }
        }
        out
    }

    pub(super) fn beginning(&self, starts: &[(usize, Span, Start)]) -> Beginning {
        let d = &self.layout.description;
        let structure = structure(self.params).unwrap_or_default();
        let sized = structure.iter();
        let sized = sized.filter_map(|(name, &n)| Some((d.variable(name)?.clone(), n.into())));
        let given = starts.iter().map(|(v, _, start)| (d.variables[*v].clone(), start.clone()));
        let tolerance = self.given("tolerance").then(|| self.params.real("tolerance"));
        Beginning { structure: sized.collect(), starts: given.collect(), tolerance }
    }
}

/// A start value in the description: the next real, and what that lacks of a whole number.
fn written(variable: &Variable, text: &str) -> (f64, f64) {
    match text {
        "true" => (1.0, 0.0),
        "false" => (0.0, 0.0),
        _ => match (variable.item(text), text.parse()) {
            (None, Ok(whole)) if variable.ty.is_wide() => split(whole),
            (item, _) => (item.or_else(|| text.parse().ok()).unwrap_or(0.0), 0.0),
        },
    }
}

impl UnitKind for FmuKind {
    fn name(&self) -> &'static str {
        "fmu"
    }
    fn summary(&self) -> &'static str {
        "an FMU: FMI 2.0 or 3.0, co-simulation or model exchange"
    }
    fn doc(&self) -> &'static str {
        "`fmu`: an FMU of FMI 2.0 or 3.0 as a unit. Ports are the variables of its description; `superdense fmu info FILE` \
         lists them.\n\n```toml\n[unit.ball]\nkind = \"fmu\"\npath = \"ball.fmu\"        # relative to the scenario\n\
         step = \"100 ms\"          # communication step of a co-simulation FMU\nstart = { h = 10 }\n```\n"
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn accuracy(&self) -> &'static [&'static str] {
        &["exchange_tolerance"]
    }
    fn ports(&self, params: &Params) -> Checked<Ports> {
        self.ports_in(params, Path::new(""))
    }
    fn ports_in(&self, params: &Params, folder: &Path) -> Checked<Ports> {
        layout(params, folder).map(|l| l.ports)
    }
    fn capabilities(&self, params: &Params, folder: &Path) -> Capabilities {
        // A file that cannot be read is reported by `ports_in`.
        layout(params, folder).map_or_else(|_| Capabilities::all(), |l| capabilities(&l, params))
    }
    fn feed_through(&self, params: &Params, context: &Context<'_>) -> FeedThrough {
        layout(params, context.folder)
            .map_or(FeedThrough::All(Passing::Sometimes), |l| feed_through(&l))
    }
    fn terminals(&self, params: &Params, folder: &Path) -> Checked<Vec<Terminal>> {
        terminals::of_unit(params, folder)
    }
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        super::build::build(params, context)
    }
}
