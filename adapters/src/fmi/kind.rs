//! The unit kind `fmu`.
use super::{
    archive::describe,
    description::{Causality, Description, Type, Variable},
    instance::{Block, CallError, Instance},
    unit::{FmuUnit, Settings},
};
use std::{path::Path, sync::Arc};
use superdense_kernel::Component;
use superdense_models::{
    kinds::{
        Context, Located, Param, ParamError, ParamSpec, ParamType, Params, PortSpec, Ports, Span,
        UnitKind, needed, with,
    },
    signal::{
        Timer,
        capabilities::{Capabilities, Capability},
        value::Value,
    },
};

/// The kind `fmu`: an FMI 3.0 co-simulation FMU as a unit. Ports are the FMU's inputs and outputs;
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
    with("step", ParamType::Duration, "", "communication step; default: what the FMU prefers"),
    with("start", ParamType::Raw, "", "start values: name = number, truth value, text or list"),
    with("ignore", ParamType::Raw, "", "inputs and outputs that get no port: names"),
    with("tolerance", ParamType::Real(None), "", "relative tolerance given to the FMU"),
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
        "highest power in segments, 0 to 3; default: derivatives that the FMU gives",
    ),
    with("state_access", ParamType::Bool, "true", "use the FMU's state access if it has one"),
];

type Checked<T> = Result<T, Vec<ParamError>>;

/// An input or output that becomes ports, with the number of the first.
struct Ported<'a> {
    variable: &'a Variable,
    first: usize,
}

/// The description and what becomes of it.
struct Layout {
    description: Description,
    ports: Ports,
    inputs: Vec<(usize, usize)>,
    outputs: Vec<(usize, usize)>,
}

impl Layout {
    fn ported<'a>(&'a self, list: &'a [(usize, usize)]) -> impl Iterator<Item = Ported<'a>> {
        list.iter().map(|&(v, first)| Ported { variable: &self.description.variables[v], first })
    }
}

/// A name that a scenario can write.
fn port_name(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    while out.ends_with('_') && out.len() > 1 && !name.ends_with('_') {
        out.pop();
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) { format!("_{out}") } else { out }
}

/// The names in a raw list of texts.
fn names(params: &Params, key: &str) -> Checked<Vec<Located<String>>> {
    let Some(p) = params.get(key) else { return Ok(Vec::new()) };
    let wrong = |span: &Span| {
        vec![
            ParamError::at(span.clone(), format!("`{key}` is no list of names"))
                .help(format!("write {key} = [\"name\", …]")),
        ]
    };
    match &p.value {
        Param::Text(t) if t.is_empty() => Ok(Vec::new()),
        Param::List(list) => {
            let name = |p: &Located<Param>| match &p.value {
                Param::Text(t) => Ok(Located::new(t.clone(), p.span.clone())),
                _ => Err(wrong(&p.span)),
            };
            list.iter().map(name).collect()
        }
        _ => Err(wrong(&p.span)),
    }
}

fn layout(params: &Params, folder: &Path) -> Checked<Layout> {
    let span = params.span("path");
    let at = |message: String| ParamError::at(span.clone(), message);
    let file = params.text("path");
    let description = describe(&folder.join(file)).map_err(|e| {
        let help = "give an FMU that was exported for FMI 3.0 co-simulation";
        vec![at(format!("`{file}`: {e}")).help(help)]
    })?;
    let mut errors = Vec::new();
    if description.needs_tool {
        let message = format!("`{file}` runs only inside the tool that exported it");
        errors.push(at(message).help("export it without needsExecutionTool"));
    }
    let ignored = names(params, "ignore")?;
    for name in &ignored {
        if description.variable(&name.value).is_none() {
            let message = format!("`{file}` has no variable `{}`", name.value);
            errors.push(ParamError::at(name.span.clone(), message).help("remove it"));
        }
    }
    let mut ports = Ports::default();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (i, v) in description.variables.iter().enumerate() {
        if v.ty == Type::Clock && v.causality != Causality::Other {
            let message = format!("`{file}`: `{}` is a clock; clocks are not supported", v.name);
            errors.push(at(message).help("export the FMU without clocks"));
            continue;
        }
        let (list, place) = match v.causality {
            Causality::Input => (&mut ports.inputs, &mut inputs),
            Causality::Output => (&mut ports.outputs, &mut outputs),
            _ => continue,
        };
        if ignored.iter().any(|n| n.value == v.name) {
            continue;
        }
        if !v.ty.is_number() {
            let message =
                format!("`{file}`: `{}` is of type {:?}, which no port carries", v.name, v.ty);
            errors.push(at(message).help(format!("leave it out: ignore = [\"{}\"]", v.name)));
            continue;
        }
        place.push((i, list.len()));
        let base = port_name(&v.name);
        for k in 1..=v.elements {
            let name = if v.elements == 1 { base.clone() } else { format!("{base}_{k}") };
            if list.iter().any(|p| p.name == name) {
                let message = format!("`{file}`: two variables would have the port `{name}`");
                errors.push(at(message).help(format!("leave one out: ignore = [\"{}\"]", v.name)));
            }
            list.push(PortSpec { unit: v.unit.clone(), ..PortSpec::signal(name).optional() });
        }
    }
    if ports.inputs.len().max(ports.outputs.len()) > usize::from(u16::MAX) {
        errors.push(at(format!("`{file}` has more than 65535 ports")));
    }
    if errors.is_empty() { Ok(Layout { description, ports, inputs, outputs }) } else { Err(errors) }
}

/// Variables of equal types together.
fn blocks<'a>(list: impl Iterator<Item = Ported<'a>>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for Ported { variable: v, first } in list {
        let at = blocks.iter().position(|b| b.ty == v.ty).unwrap_or(blocks.len());
        if at == blocks.len() {
            let (references, variables, places) = (Vec::new(), Vec::new(), Vec::new());
            blocks.push(Block { ty: v.ty, references, variables, places });
        }
        let block = &mut blocks[at];
        block.references.push(v.reference);
        block.variables.push((v.name.clone(), v.elements));
        block.places.extend(first..first + v.elements);
    }
    blocks
}

/// A start value of the scenario.
enum Start {
    Numbers(Vec<f64>),
    Text(String),
}

/// One start value, or what is wrong with it.
fn start_value(
    v: &Variable,
    param: &Param,
    constants: &dyn Fn(&str) -> Option<f64>,
) -> Result<Start, String> {
    let number = |p: &Param| match p {
        Param::Real(x) => Ok(*x),
        Param::Int(i) => Ok(*i as f64),
        Param::Bool(b) => Ok(f64::from(u8::from(*b))),
        Param::Text(t) => {
            constants(t).ok_or_else(|| format!("`{t}` is neither a number nor a parameter"))
        }
        _ => Err("not a number".to_owned()),
    };
    let param = if let Param::Indexed(inner, _) = param { inner } else { param };
    let values = match (v.ty, param) {
        (Type::String, Param::Text(t)) => return Ok(Start::Text(t.clone())),
        (Type::String, _) => return Err("not a text".into()),
        (Type::Binary | Type::Clock, _) => {
            return Err(format!("values of type {:?} cannot be given", v.ty));
        }
        (_, Param::List(list)) => {
            list.iter().map(|p| number(&p.value)).collect::<Result<Vec<_>, _>>()?
        }
        (_, p) => vec![number(p)?],
    };
    if values.len() != v.elements {
        return Err(format!("{} values for {} elements", values.len(), v.elements));
    }
    for &x in &values {
        let (low, high) = v.ty.range().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let low = v.limits.0.map_or(low, |l| l.max(low));
        let high = v.limits.1.map_or(high, |h| h.min(high));
        if !x.is_finite() || x < low || x > high {
            return Err(format!("{x} is not within {low} … {high}"));
        }
        if v.ty.range().is_some() && x.fract() != 0.0 {
            return Err(format!("{x} is not whole"));
        }
    }
    Ok(Start::Numbers(values))
}

/// Capabilities of the unit, from the model description and from what the scenario withholds.
fn capabilities(layout: &Layout, params: &Params) -> Capabilities {
    let d = &layout.description;
    let withheld =
        if params.bool("state_access") { "false in its description" } else { "withheld" };
    let restores = d.state_access && params.bool("state_access");
    let serialises = restores && d.serialisable;
    let ahead = restores || layout.ports.inputs.is_empty();
    let order = d.output_derivatives > 0
        && (params.get("segment_order").is_none() || params.int("segment_order") > 0);
    let polynomials = |p: Ported<'_>| {
        let v = p.variable;
        !v.continuous || (d.intermediate_update && v.intermediate && v.ty == Type::Float64)
    };
    let unserialised = if d.serialisable { "no state access" } else { "false in its description" };
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

/// Builds one unit, collecting its mistakes.
struct Builder<'a> {
    params: &'a Params,
    context: &'a Context<'a>,
    layout: &'a Layout,
    errors: Vec<ParamError>,
}

impl Builder<'_> {
    fn wrong(&mut self, name: &str, message: String, help: &str) {
        self.errors.push(ParamError::at(self.params.span(name), message).help(help));
    }

    fn given(&self, name: &str) -> bool {
        self.params.get(name).is_some_and(|p| p.value != Param::Text(String::new()))
    }

    /// Ticks of the communication step.
    fn step(&mut self) -> i64 {
        let d = &self.layout.description;
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
        match d.step.or(d.internal_step).map(|s| resolution.duration(s)) {
            Some(Ok(step)) if step.ticks() > 0 => step.ticks(),
            _ => {
                let help = "add step = \"10 ms\" or another communication step";
                self.wrong("path", "the FMU names no step size".into(), help);
                1
            }
        }
    }

    /// Start values: the scenario's, by variable.
    fn starts(&mut self) -> Vec<(usize, Span, Start)> {
        let mut out = Vec::new();
        let Some(p) = self.params.get("start") else { return out };
        let entries = match &p.value {
            Param::Text(t) if t.is_empty() => return out,
            Param::Table(entries) => entries,
            _ => {
                let help = "write start = { name = value, … }";
                self.wrong("start", "`start` is no table".into(), help);
                return out;
            }
        };
        let variables = &self.layout.description.variables;
        for (key, value) in entries {
            let found = variables.iter().position(|v| v.name == key.value);
            let error = match found.map(|i| &variables[i]) {
                None => {
                    let known = variables.iter().filter(|v| v.settable).map(|v| v.name.as_str());
                    let known: Vec<&str> = known.take(12).collect();
                    Some((
                        &key.span,
                        format!("the FMU has no variable `{}`", key.value),
                        format!("among those with start values are {}", known.join(", ")),
                    ))
                }
                Some(v) if !v.settable => Some((
                    &key.span,
                    format!("`{}` takes no start value", v.name),
                    "remove it: the FMU calculates it, or its size depends on it".to_owned(),
                )),
                Some(v) => match start_value(v, &value.value, self.context.constants) {
                    Ok(start) => {
                        out.push((found.unwrap_or(0), value.span.clone(), start));
                        None
                    }
                    Err(why) => Some((
                        &value.span,
                        format!("start value of `{}`: {why}", v.name),
                        format!("give {} of type {:?}", amount(v.elements), v.ty),
                    )),
                },
            };
            if let Some((span, message, help)) = error {
                self.errors.push(ParamError::at(span.clone(), message).help(help));
            }
        }
        out
    }

    fn order(&mut self) -> usize {
        if !self.given("segment_order") {
            return self.layout.description.output_derivatives.min(3);
        }
        let order = self.params.int("segment_order");
        if !(0..=3).contains(&order) {
            let help = "give an integer from 0 to 3";
            self.wrong("segment_order", format!("`segment_order` is {order}"), help);
        }
        order.clamp(0, 3) as usize
    }

    fn settings(&mut self) -> Settings {
        let (layout, d) = (self.layout, &self.layout.description);
        let tolerance = self.params.real("exchange_tolerance");
        if !(tolerance.is_finite() && tolerance > 0.0) {
            let message = format!("`exchange_tolerance` is {tolerance}");
            self.wrong("exchange_tolerance", message, "give a number above zero");
        }
        // Without event mode every input is set in step mode.
        let smooth = |p: &Ported<'_>| p.variable.continuous || !d.event_mode;
        let mut intermediate = vec![None; layout.ports.inputs.len()];
        for p in layout.ported(&layout.inputs) {
            let v = p.variable;
            let scalar = v.ty == Type::Float64 && v.elements == 1 && v.continuous;
            if d.intermediate_update && v.intermediate && scalar {
                intermediate[p.first] = Some(v.reference);
            }
        }
        let mut continuous = vec![None; layout.ports.outputs.len()];
        for p in layout.ported(&layout.outputs).filter(|p| p.variable.continuous) {
            continuous[p.first..p.first + p.variable.elements].fill(Some(p.variable.reference));
        }
        Settings {
            name: format!("FMU {}", d.model),
            step: self.step(),
            tolerance,
            order: self.order(),
            state_access: d.state_access && self.params.bool("state_access"),
            smooth: blocks(layout.ported(&layout.inputs).filter(smooth)),
            discrete: blocks(layout.ported(&layout.inputs).filter(|p| !smooth(p))),
            intermediate,
            outputs: blocks(layout.ported(&layout.outputs)),
            continuous,
        }
    }

    /// Values of the inputs as long as nothing comes.
    fn input_starts(&self, starts: &[(usize, Span, Start)]) -> Vec<f64> {
        let mut out = vec![0.0; self.layout.ports.inputs.len()];
        for &(v, first) in &self.layout.inputs {
            let variable = &self.layout.description.variables[v];
            let own = variable.start.iter().map(|s| match s.as_str() {
                "true" => 1.0,
                "false" => 0.0,
                s => s.parse().unwrap_or(0.0),
            });
            let own: Vec<f64> = match starts.iter().find(|s| s.0 == v).map(|s| &s.2) {
                Some(Start::Numbers(x)) => x.clone(),
                _ => own.collect(),
            };
            for (k, place) in out[first..first + variable.elements].iter_mut().enumerate() {
                // One value stands for all elements.
                *place = own.get(k).or(own.first()).copied().unwrap_or(0.0);
            }
        }
        out
    }

    fn initialise(
        &self,
        instance: &Instance,
        starts: &[(usize, Span, Start)],
    ) -> Result<super::library::Updated, (Span, CallError)> {
        let d = &self.layout.description;
        for (v, span, start) in starts {
            let v = &d.variables[*v];
            let set = match start {
                Start::Text(t) => instance.write_text(&v.name, v.reference, t),
                Start::Numbers(x) => {
                    let one = Ported { variable: v, first: 0 };
                    instance.write(&blocks(std::iter::once(one)), x)
                }
            };
            set.map_err(|e| (span.clone(), e))?;
        }
        let whole = |e| (self.params.span("path"), e);
        let tolerance = self.given("tolerance").then(|| self.params.real("tolerance"));
        instance.begin(tolerance).map_err(whole)?;
        instance.initialised(d.event_mode).map_err(whole)
    }
}

fn amount(elements: usize) -> String {
    if elements == 1 { "a value".into() } else { format!("a list of {elements} values") }
}

impl UnitKind for FmuKind {
    fn name(&self) -> &'static str {
        "fmu"
    }
    fn summary(&self) -> &'static str {
        "an FMU: FMI 3.0 for co-simulation"
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
    fn build(&self, params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
        build(params, context).map(Component::atomic)
    }
}

/// Builds the unit of kind `fmu`.
///
/// # Errors
/// All mistakes of the parameters, or what the FMU refused.
pub fn build(params: &Params, context: &Context<'_>) -> Checked<FmuUnit> {
    let layout = layout(params, context.folder)?;
    let mut b = Builder { params, context, layout: &layout, errors: Vec::new() };
    let settings = b.settings();
    let starts = b.starts();
    if !b.errors.is_empty() {
        return Err(b.errors);
    }
    let span = params.span("path");
    let failed = |span: Span, why: String| {
        let help = "see what the FMU says, and check its start values";
        vec![ParamError::at(span, format!("`{}`: {why}", params.text("path"))).help(help)]
    };
    let description = Arc::new(layout.description.clone());
    let references: Vec<u32> = settings.intermediate.iter().flatten().copied().collect();
    let file = context.folder.join(params.text("path"));
    let instance = Instance::new(&file, &description, context.path, &references)
        .map_err(|e| failed(span.clone(), e))?;
    let updated = b.initialise(&instance, &starts).map_err(|(s, e)| failed(s, e.to_string()))?;
    let inputs = b.input_starts(&starts);
    let timer = Timer::due(0, context.resolution);
    FmuUnit::new(instance, description, settings, inputs, timer, updated)
        .map_err(|e| failed(span, e.to_string()))
}
