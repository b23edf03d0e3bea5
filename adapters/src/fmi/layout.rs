//! The ports of an FMU, from its description and the scenario.
use super::{
    archive::describe_with,
    description::{
        Alias, Causality, Description, Interface, InterfaceKind, Scale, Structural, Type, Variable,
    },
    instance::Block,
};
use std::{collections::BTreeMap, path::Path, sync::Arc};
use superdense_models::kinds::{
    Located, Param, ParamError, Params, PortSpec, Ports, Span, ValueType,
};

pub(super) type Checked<T> = Result<T, Vec<ParamError>>;

/// An input or output that becomes ports, with the number of the first.
pub(super) struct Ported<'a> {
    pub variable: &'a Variable,
    pub first: usize,
    /// Place of what its first element lacks, if it has integers of 64 bits.
    pub rest: usize,
    pub scale: Option<Scale>,
}

/// The description and what becomes of it.
pub(super) struct Layout {
    pub description: Arc<Description>,
    pub interface: Interface,
    pub ports: Ports,
    pub inputs: Vec<(usize, usize)>,
    pub outputs: Vec<(usize, usize)>,
    /// Its calls are made again where it has to go back.
    pub replays: bool,
    /// How outputs follow from their variables, by their first ports: those that are aliases in other units.
    pub scales: BTreeMap<usize, Scale>,
    /// Inputs and outputs of texts and bytes, whose ports follow those of numbers.
    pub word_inputs: Vec<(usize, usize)>,
    pub word_outputs: Vec<(usize, usize)>,
}

impl Layout {
    /// Its state access is not used.
    pub(super) fn distrust(&mut self, replays: bool) {
        (self.interface.state_access, self.interface.serialisable) = (replays, false);
        self.replays = replays;
    }

    pub(super) fn ported<'a>(
        &'a self,
        list: &'a [(usize, usize)],
    ) -> impl Iterator<Item = Ported<'a>> {
        let variables = &self.description.variables;
        let mut next = list.iter().map(|&(v, _)| variables[v].elements).sum();
        list.iter().map(move |&(v, first)| {
            let (variable, rest) = (&variables[v], next);
            next += if variable.ty.is_wide() { variable.elements } else { 0 };
            Ported { variable, first, rest, scale: None }
        })
    }

    /// The outputs of numbers.
    pub(super) fn given(&self) -> impl Iterator<Item = Ported<'_>> {
        let scale = |p: &Ported<'_>| self.scales.get(&p.first).copied();
        self.ported(&self.outputs).map(move |p| Ported { scale: scale(&p), ..p })
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

/// How far the state access of an FMU is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// After a trial.
    Check,
    Trust,
    Without,
}

impl Access {
    pub(super) fn of(params: &Params) -> Checked<Self> {
        match params.get("state_access").map(|p| &p.value) {
            None => Ok(Self::Check),
            Some(Param::Bool(true)) => Ok(Self::Trust),
            Some(Param::Bool(false)) => Ok(Self::Without),
            Some(Param::Text(text)) => match text.as_str() {
                "check" | "" => Ok(Self::Check),
                "true" => Ok(Self::Trust),
                "false" => Ok(Self::Without),
                _ => Err(Self::wrong(params)),
            },
            Some(_) => Err(Self::wrong(params)),
        }
    }

    fn wrong(params: &Params) -> Vec<ParamError> {
        let message = "`state_access` is none of \"check\", true and false";
        let wrong = ParamError::at(params.span("state_access"), message);
        vec![wrong.help("leave it out: then the state access is tried before it is used")]
    }
}

/// The aliases that get ports.
enum Aliases {
    All,
    Named(Vec<String>),
}

impl Aliases {
    fn takes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|n| n == name),
        }
    }
}

/// `aliases = true`, or the names of those that get ports.
fn aliases(params: &Params, description: &Description) -> Checked<Aliases> {
    match params.get("aliases").map(|p| &p.value) {
        Some(Param::Bool(false)) => return Ok(Aliases::Named(Vec::new())),
        Some(Param::List(_)) => {}
        Some(Param::Bool(true)) | None => return Ok(Aliases::All),
        Some(Param::Text(t)) if t.is_empty() => return Ok(Aliases::All),
        Some(_) => {
            let wrong = ParamError::at(params.span("aliases"), "`aliases` is no list of names");
            return Err(vec![wrong.help("write aliases = [\"name\", …], true or false")]);
        }
    }
    let named = names(params, "aliases")?;
    let outputs = description.variables.iter().filter(|v| v.causality == Causality::Output);
    let known: Vec<&Alias> = outputs.flat_map(|v| &v.aliases).collect();
    let unknown = named.iter().filter(|n| !known.iter().any(|a| a.name == n.value));
    let listed: Vec<&str> = known.iter().map(|a| a.name.as_str()).collect();
    let help = match listed.join("`, `") {
        all if all.is_empty() => "leave `aliases` out: no output has another name".to_owned(),
        all => format!("other names of outputs are `{all}`"),
    };
    let error = |n: &Located<String>| {
        ParamError::at(n.span.clone(), format!("no output has the alias `{}`", n.value)).help(&help)
    };
    let errors: Vec<ParamError> = unknown.map(error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Aliases::Named(named.into_iter().map(|n| n.value).collect()))
}

/// The ports of a variable under one of its names.
fn specs(
    v: &Variable,
    (name, unit): (&str, &Option<String>),
    words: bool,
) -> impl Iterator<Item = PortSpec> {
    let base = port_name(name);
    (1..=v.elements).map(move |k| {
        let name = if v.shape.is_empty() { base.clone() } else { format!("{base}_{k}") };
        match words {
            true => PortSpec::event(name, ValueType::Text).optional(),
            false => PortSpec { unit: unit.clone(), ..PortSpec::signal(name).optional() },
        }
    })
}

/// The interface that the scenario asks for.
fn asked(params: &Params) -> Option<InterfaceKind> {
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
    let Some(mut interface) = description.interface(asked(params)).cloned() else {
        let message = format!("`{file}` does not have the interface that `interface` asks for");
        let help = "leave `interface` out, or export the FMU for it";
        return Err(vec![ParamError::at(params.span("interface"), message).help(help)]);
    };
    if interface.kind == InterfaceKind::CoSimulation {
        interface.event_mode &= params.bool("event_mode");
    }
    let access = Access::of(params)?;
    let declared = interface.state_access && access != Access::Without;
    let replays = params.bool("replay") && !declared;
    interface.serialisable &= declared;
    interface.state_access = declared || replays;
    let mut errors = Vec::new();
    let ignored = ignored(params, &description, &mut errors)?;
    let aliases = aliases(params, &description)?;
    let shape = Shape::new(&description, &interface, (&ignored, &aliases));
    let clashes = shape.clashes.iter().map(|(name, port)| {
        let message = format!("`{file}`: two variables would have the port `{port}`");
        at(message).help(format!("leave one out: ignore = [\"{name}\"]"))
    });
    errors.extend(clashes);
    let outer = |v: &&Variable| matches!(v.causality, Causality::Input | Causality::Output);
    let clock = |v: &&Variable| v.ty == Type::Clock && !ignored.contains(&v.name);
    errors.extend(description.variables.iter().filter(outer).filter(clock).map(|v| {
        let message = format!("`{file}`: `{}` is a clock; clocks are not supported", v.name);
        at(message).help("export the FMU without clocks")
    }));
    let Shape { ports, inputs, outputs, scales, word_inputs, word_outputs, .. } = shape;
    if ports.inputs.len().max(ports.outputs.len()) > usize::from(u16::MAX) {
        errors.push(at(format!("`{file}` has more than 65535 ports")));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Layout {
        description,
        interface,
        replays,
        ports,
        inputs,
        outputs,
        scales,
        word_inputs,
        word_outputs,
    })
}

/// The names of variables without ports.
fn ignored(
    params: &Params,
    description: &Description,
    errors: &mut Vec<ParamError>,
) -> Checked<Vec<String>> {
    let ignored = names(params, "ignore")?;
    let aliases = || description.variables.iter().flat_map(|v| &v.aliases);
    for name in &ignored {
        let alias = || aliases().any(|a| a.name == name.value);
        if description.variable(&name.value).is_none() && !alias() {
            let message = format!("`{}` has no variable `{}`", params.text("path"), name.value);
            errors.push(ParamError::at(name.span.clone(), message).help("remove it"));
        }
    }
    Ok(ignored.into_iter().map(|name| name.value).collect())
}

/// The ports, and what they stand for.
#[derive(Default)]
struct Shape {
    ports: Ports,
    inputs: Vec<(usize, usize)>,
    outputs: Vec<(usize, usize)>,
    scales: BTreeMap<usize, Scale>,
    word_inputs: Vec<(usize, usize)>,
    word_outputs: Vec<(usize, usize)>,
    /// Names of variables whose ports there are already, with these.
    clashes: Vec<(String, String)>,
}

impl Shape {
    fn new(
        description: &Description,
        interface: &Interface,
        (ignored, aliases): (&[String], &Aliases),
    ) -> Self {
        // Without event mode, or a way back, jumps of outputs show at communication points only.
        let hears = description.variables.iter().any(|v| v.causality == Causality::Input);
        let exact = interface.event_mode && (interface.state_access || !hears);
        let stepped = interface.kind == InterfaceKind::CoSimulation;
        let words = |v: &Variable| matches!(v.ty, Type::String | Type::Binary);
        let mut this = Self::default();
        let variables = || description.variables.iter().enumerate();
        let numbers = variables().filter(|(_, v)| !words(v) && v.ty != Type::Clock);
        for (i, v) in numbers.chain(variables().filter(|(_, v)| words(v))) {
            let own = std::iter::once((&v.name, None));
            let others = v
                .aliases
                .iter()
                .filter(|a| v.causality == Causality::Output && aliases.takes(&a.name));
            let named = own.chain(others.map(|a| (&a.name, Some(a))));
            for (name, alias) in named.filter(|(name, _)| !ignored.contains(name)) {
                let sampled = stepped && (v.continuous || !exact) && !words(v);
                this.add((i, v), (name.as_str(), alias), sampled, words(v));
            }
        }
        this
    }

    /// Adds a variable under one of its names.
    fn add(
        &mut self,
        (place, v): (usize, &Variable),
        (name, alias): (&str, Option<&Alias>),
        sampled: bool,
        words: bool,
    ) {
        let (list, numbers, texts) = match v.causality {
            Causality::Input => (&mut self.ports.inputs, &mut self.inputs, &mut self.word_inputs),
            Causality::Output => {
                (&mut self.ports.outputs, &mut self.outputs, &mut self.word_outputs)
            }
            _ => return,
        };
        let first = list.len();
        if words { texts } else { numbers }.push((place, first));
        if let Some(scale) = alias.and_then(|a| a.scale) {
            self.scales.insert(first, scale);
        }
        let unit = alias.map_or(&v.unit, |a| &a.unit);
        for spec in specs(v, (name, unit), words) {
            if list.iter().any(|p| p.name == spec.name) {
                self.clashes.push((name.to_owned(), spec.name.clone()));
            }
            list.push(PortSpec { sampled, ..spec });
        }
    }
}

/// Variables of equal types together.
pub(super) fn blocks<'a>(list: impl Iterator<Item = Ported<'a>>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for Ported { variable: v, first, rest, scale } in list {
        let at = blocks.iter().position(|b| b.ty == v.ty).unwrap_or(blocks.len());
        if at == blocks.len() {
            let (references, variables) = (Vec::new(), Vec::new());
            let (places, rests) = (Vec::new(), Vec::new());
            let scales = Vec::new();
            blocks.push(Block { ty: v.ty, references, variables, places, rests, scales });
        }
        let block = &mut blocks[at];
        block.references.push(v.reference);
        block.variables.push((v.name.clone(), v.elements));
        block.places.extend(first..first + v.elements);
        let scaled = |scale| (first..first + v.elements).map(move |place| (place, scale));
        block.scales.extend(scale.into_iter().flat_map(scaled));
        block.rests.extend(rest..rest + if v.ty.is_wide() { v.elements } else { 0 });
    }
    blocks
}
