//! The ports of an FMU, from its description and the scenario.
use super::{
    archive::describe_with,
    description::{Causality, Description, Interface, InterfaceKind, Structural, Type, Variable},
    instance::Block,
};
use std::{path::Path, sync::Arc};
use superdense_models::kinds::{Located, Param, ParamError, Params, PortSpec, Ports, Span, ValueType};

pub(super) type Checked<T> = Result<T, Vec<ParamError>>;

/// An input or output that becomes ports, with the number of the first.
pub(super) struct Ported<'a> {
    pub variable: &'a Variable,
    pub first: usize,
    /// Place of what its first element lacks, if it has integers of 64 bits.
    pub rest: usize,
}

/// The description and what becomes of it.
pub(super) struct Layout {
    pub description: Arc<Description>,
    pub interface: Interface,
    pub ports: Ports,
    pub inputs: Vec<(usize, usize)>,
    pub outputs: Vec<(usize, usize)>,
    /// Inputs and outputs of texts and bytes, whose ports follow those of numbers.
    pub word_inputs: Vec<(usize, usize)>,
    pub word_outputs: Vec<(usize, usize)>,
}

impl Layout {
    pub(super) fn ported<'a>(
        &'a self,
        list: &'a [(usize, usize)],
    ) -> impl Iterator<Item = Ported<'a>> {
        let variables = &self.description.variables;
        let mut next = list.iter().map(|&(v, _)| variables[v].elements).sum();
        list.iter().map(move |&(v, first)| {
            let (variable, rest) = (&variables[v], next);
            next += if variable.ty.is_wide() { variable.elements } else { 0 };
            Ported { variable, first, rest }
        })
    }

    /// How many ports these have.
    pub(super) fn numbers(&self, list: &[(usize, usize)]) -> usize {
        self.ported(list).map(|p| p.variable.elements).sum()
    }

    /// Ports of integers of 64 bits.
    pub(super) fn wide(&self, list: &[(usize, usize)]) -> Vec<usize> {
        let wide = self.ported(list).filter(|p| p.variable.ty.is_wide());
        wide.flat_map(|p| p.first..p.first + p.variable.elements).collect()
    }
}

/// A name that a scenario can write.
pub(super) fn port_name(name: &str) -> String {
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

/// The interface that the scenario asks for.
fn wanted(params: &Params) -> Option<InterfaceKind> {
    match params.text("interface") {
        "co-simulation" => Some(InterfaceKind::CoSimulation),
        "model-exchange" => Some(InterfaceKind::ModelExchange),
        _ => None,
    }
}

/// Structural parameters that the scenario gives.
pub(super) fn structure(params: &Params) -> Checked<Structural> {
    let wrong = |span: &Span| {
        let message = "`structure` is no table of whole numbers".to_owned();
        vec![ParamError::at(span.clone(), message).help("write structure = { n = 4 }")]
    };
    let Some(p) = params.get("structure") else { return Ok(Structural::new()) };
    match &p.value {
        Param::Text(t) if t.is_empty() => Ok(Structural::new()),
        Param::Table(entries) => {
            let entry = |(key, value): &(Located<String>, Located<Param>)| match value.value {
                Param::Int(i) => Ok((key.value.clone(), i)),
                _ => Err(wrong(&value.span)),
            };
            entries.iter().map(entry).collect()
        }
        _ => Err(wrong(&p.span)),
    }
}

/// The FMU's description, with arrays as long as the scenario's structural parameters say.
fn described(params: &Params, folder: &Path) -> Checked<Arc<Description>> {
    let (file, structure) = (params.text("path"), structure(params)?);
    let path = folder.join(file);
    describe_with(&path, &structure).map_err(|e| {
        let (key, message, help) =
            if !structure.is_empty() && describe_with(&path, &Structural::new()).is_ok() {
                let help = "write whole numbers that these structural parameters may have";
                ("structure", format!("`structure`: {e}"), help)
            } else {
                let help = "give an FMU that was exported for FMI 2.0 or 3.0";
                ("path", format!("`{file}`: {e}"), help)
            };
        vec![ParamError::at(params.span(key), message).help(help)]
    })
}

pub(super) fn layout(params: &Params, folder: &Path) -> Checked<Layout> {
    let span = params.span("path");
    let at = |message: String| ParamError::at(span.clone(), message);
    let file = params.text("path");
    let description = described(params, folder)?;
    let Some(mut interface) = description.interface(wanted(params)).cloned() else {
        let message = format!("`{file}` does not have the interface that `interface` asks for");
        let help = "leave `interface` out, or export the FMU for it";
        return Err(vec![ParamError::at(params.span("interface"), message).help(help)]);
    };
    if interface.kind == InterfaceKind::CoSimulation {
        interface.event_mode &= params.bool("event_mode");
    }
    let mut errors = Vec::new();
    let ignored = names(params, "ignore")?;
    for name in &ignored {
        if description.variable(&name.value).is_none() {
            let message = format!("`{file}` has no variable `{}`", name.value);
            errors.push(ParamError::at(name.span.clone(), message).help("remove it"));
        }
    }
    // Without event mode, or a way back, jumps of outputs show at communication points only.
    let restores = interface.state_access && params.bool("state_access");
    let hears = description.variables.iter().any(|v| v.causality == Causality::Input);
    let exact = interface.event_mode && (restores || !hears);
    let mut ports = Ports::default();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let (mut word_inputs, mut word_outputs) = (Vec::new(), Vec::new());
    let of_words = |v: &Variable| matches!(v.ty, Type::String | Type::Binary);
    let variables = || description.variables.iter().enumerate();
    let numbers = variables().filter(|(_, v)| !of_words(v));
    for (i, v) in numbers.chain(variables().filter(|(_, v)| of_words(v))) {
        if v.ty == Type::Clock && v.causality != Causality::Other {
            let message = format!("`{file}`: `{}` is a clock; clocks are not supported", v.name);
            errors.push(at(message).help("export the FMU without clocks"));
            continue;
        }
        let (list, numbers, words) = match v.causality {
            Causality::Input => (&mut ports.inputs, &mut inputs, &mut word_inputs),
            Causality::Output => (&mut ports.outputs, &mut outputs, &mut word_outputs),
            _ => continue,
        };
        if ignored.iter().any(|n| n.value == v.name) {
            continue;
        }
        let place = if of_words(v) { words } else { numbers };
        place.push((i, list.len()));
        let sampled = interface.kind == InterfaceKind::CoSimulation && (v.continuous || !exact);
        let base = port_name(&v.name);
        for k in 1..=v.elements {
            let name = if v.shape.is_empty() { base.clone() } else { format!("{base}_{k}") };
            if list.iter().any(|p| p.name == name) {
                let message = format!("`{file}`: two variables would have the port `{name}`");
                errors.push(at(message).help(format!("leave one out: ignore = [\"{}\"]", v.name)));
            }
            if of_words(v) {
                list.push(PortSpec::event(name, ValueType::Text).optional());
                continue;
            }
            let unit = v.unit.clone();
            list.push(PortSpec { unit, sampled, ..PortSpec::signal(name).optional() });
        }
    }
    if ports.inputs.len().max(ports.outputs.len()) > usize::from(u16::MAX) {
        errors.push(at(format!("`{file}` has more than 65535 ports")));
    }
    if errors.is_empty() {
        Ok(Layout { description, interface, ports, inputs, outputs, word_inputs, word_outputs })
    } else {
        Err(errors)
    }
}

/// Variables of equal types together.
pub(super) fn blocks<'a>(list: impl Iterator<Item = Ported<'a>>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for Ported { variable: v, first, rest } in list {
        let at = blocks.iter().position(|b| b.ty == v.ty).unwrap_or(blocks.len());
        if at == blocks.len() {
            let (references, variables) = (Vec::new(), Vec::new());
            let (places, rests) = (Vec::new(), Vec::new());
            blocks.push(Block { ty: v.ty, references, variables, places, rests });
        }
        let block = &mut blocks[at];
        block.references.push(v.reference);
        block.variables.push((v.name.clone(), v.elements));
        block.places.extend(first..first + v.elements);
        block.rests.extend(rest..rest + if v.ty.is_wide() { v.elements } else { 0 });
    }
    blocks
}
