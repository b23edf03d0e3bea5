//! Reports about an FMU, from its archive alone: its binary is never loaded.
use super::{
    archive::{binaries, contents, describe, platform},
    description::{Causality, Description, Interface, InterfaceKind, Type, Variable},
    layout::port_name,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

/// A port that the FMU has as a unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Port {
    /// Name in a scenario.
    pub name: String,
    /// Name in the FMU.
    pub variable: String,
    /// Type; of an enumeration that of its numbers.
    pub ty: String,
    /// Items of an enumeration, with their numbers.
    pub items: Vec<String>,
    /// Start values of an input.
    pub start: Option<String>,
    /// Physical unit.
    pub unit: Option<String>,
    /// Other names of an output, which have ports, with their units.
    pub aliases: Vec<(String, Option<String>)>,
    /// Number of elements; those of an array are `name_1`, `name_2`, …
    pub elements: usize,
}

/// A summary of an FMU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Info {
    /// Version of the standard.
    pub version: String,
    /// Name of the model.
    pub model: String,
    /// Interfaces, with their abilities.
    pub interfaces: BTreeMap<String, Vec<String>>,
    /// Machines that it has binaries for.
    pub platforms: Vec<String>,
    /// Inputs and outputs.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
    /// Parameters, with their start values.
    pub parameters: BTreeMap<String, String>,
    /// Continuous states.
    pub states: usize,
    /// Event indicators.
    pub indicators: usize,
}

fn name_of(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::CoSimulation => "co-simulation",
        InterfaceKind::ModelExchange => "model-exchange",
    }
}

fn abilities(i: &Interface) -> Vec<String> {
    let mut all: Vec<String> = [
        (i.state_access, "state access"),
        (i.serialisable, "serialisable state"),
        (i.event_mode && i.kind == InterfaceKind::CoSimulation, "event mode"),
        (i.variable_step, "steps of any length"),
        (i.intermediate_update, "intermediate update"),
        (i.input_derivatives, "input derivatives"),
        (i.directional, "directional derivatives"),
        (i.adjoint, "adjoint derivatives"),
        (i.completed_step, "is told of accepted steps"),
        (i.needs_tool, "needs the tool that exported it"),
        (i.single, "one instance per process"),
    ]
    .into_iter()
    .filter(|(has, _)| *has)
    .map(|(_, name)| name.to_owned())
    .collect();
    if i.output_derivatives > 0 {
        all.push(format!("output derivatives up to order {}", i.output_derivatives));
    }
    all
}

fn port(v: &Variable) -> Port {
    Port {
        name: port_name(&v.name),
        variable: v.name.clone(),
        ty: format!("{:?}", v.ty),
        items: v.items.iter().map(|i| format!("{} ({})", i.name, i.value)).collect(),
        start: (v.causality == Causality::Input).then(|| v.start.join(" ")),
        unit: v.unit.clone(),
        aliases: match v.causality {
            Causality::Output => {
                v.aliases.iter().map(|a| (port_name(&a.name), a.unit.clone())).collect()
            }
            _ => Vec::new(),
        },
        elements: v.elements,
    }
}

/// A summary of the FMU.
///
/// # Errors
/// When the file is no FMU of FMI 2.0 or 3.0.
pub fn info(file: &Path) -> Result<Info, String> {
    let d = describe(file)?;
    let ports = |causality| {
        let own = move |v: &&Variable| v.causality == causality && v.ty != Type::Clock;
        d.variables.iter().filter(own).map(port).collect()
    };
    let both = d.co_simulation.iter().chain(&d.model_exchange);
    let parameter = |v: &&Variable| {
        matches!(v.causality, Causality::Parameter | Causality::StructuralParameter)
    };
    let start = |v: &Variable| (v.name.clone(), v.start.join(" "));
    Ok(Info {
        version: if d.version.prefix() == "fmi2" { "2.0" } else { "3.0" }.to_owned(),
        interfaces: both.map(|i| (name_of(i.kind).to_owned(), abilities(i))).collect(),
        platforms: contents(file)?,
        inputs: ports(Causality::Input),
        outputs: ports(Causality::Output),
        parameters: d.variables.iter().filter(parameter).map(start).collect(),
        states: d.structure.states.iter().map(|s| d.variables[s.state].elements).sum(),
        indicators: d.structure.indicators,
        model: d.model.clone(),
    })
}

impl Info {
    /// As text.
    pub fn text(&self) -> String {
        let mut out = format!("{} (FMI {})\n", self.model, self.version);
        for (name, abilities) in &self.interfaces {
            let _ = writeln!(out, "  {name}: {}", listed(abilities));
        }
        let _ = writeln!(out, "  binaries for {}", listed(&self.platforms));
        if self.interfaces.contains_key("model-exchange") {
            let (n, m) = (self.states, self.indicators);
            let _ = writeln!(out, "  {n} continuous states, {m} event indicators");
        }
        for (title, ports) in [("inputs", &self.inputs), ("outputs", &self.outputs)] {
            if ports.is_empty() {
                continue;
            }
            let _ = writeln!(out, "{title}");
            for p in ports {
                let unit = p.unit.as_ref().map_or_else(String::new, |u| format!(" [{u}]"));
                let size =
                    if p.elements == 1 { String::new() } else { format!("_1…{}", p.elements) };
                let own = if p.name == p.variable { "" } else { &p.variable };
                let items = match p.items.as_slice() {
                    [] => String::new(),
                    items => format!(": {}", items.join(", ")),
                };
                let start = p.start.iter().filter(|text| !text.is_empty());
                let start: String = start.map(|text| format!(" = {text}")).collect();
                let line = format!("  {}{size} {}{items}{start}{unit} {own}", p.name, p.ty);
                let _ = writeln!(out, "{}", line.trim_end());
                for (name, unit) in &p.aliases {
                    let unit = unit.as_ref().map_or_else(String::new, |u| format!(" [{u}]"));
                    let _ = writeln!(out, "    {name}{size}{unit}, which is {}{size}", p.name);
                }
            }
        }
        if !self.parameters.is_empty() {
            let _ = writeln!(out, "parameters");
        }
        for (name, start) in &self.parameters {
            let _ = writeln!(out, "  {name} = {start}");
        }
        out
    }
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// The verdict on an FMU by its archive alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Reasons why it will not run here, and breaches of the standard.
    pub problems: Vec<String>,
    /// Things that may be missing here without being a problem of the FMU.
    pub remarks: Vec<String>,
}

/// The problems of the FMU, from its archive alone.
///
/// # Errors
/// When the file is no FMU of FMI 2.0 or 3.0.
pub fn check(file: &Path) -> Result<Verdict, String> {
    let d = describe(file)?;
    let Verdict { mut problems, mut remarks } = Verdict::default();
    let platforms = contents(file)?;
    let (own, ending) = platform(d.version);
    if !platforms.contains(&own) {
        let others = match platforms.as_slice() {
            [] => "nor for any other".to_owned(),
            others => format!("only for {}", others.join(", ")),
        };
        problems.push(format!("there is no binary for this machine (binaries/{own}), {others}"));
    }
    let all = binaries(file)?;
    for i in d.co_simulation.iter().chain(&d.model_exchange) {
        let name = format!("{}.{ending}", i.identifier);
        let there: Vec<String> =
            all.iter().filter(|(at, _)| *at == own).map(|(_, name)| name.clone()).collect();
        if platforms.contains(&own) && !there.contains(&name) {
            problems.push(format!(
                "there is no binary binaries/{own}/{name}, which the modelIdentifier for {} names; there is {}",
                name_of(i.kind),
                listed(&there)
            ));
        }
        if i.needs_tool {
            remarks.push(format!(
                "{} needs the tool that exported it (needsExecutionTool), and runs only where that is installed",
                name_of(i.kind)
            ));
        }
    }
    variables(&d, &mut problems);
    if d.model_exchange.is_some() && d.structure.unlisted {
        problems.push("the model structure lists none of the derivatives of states".to_owned());
    }
    Ok(Verdict { problems, remarks })
}

fn variables(d: &Description, problems: &mut Vec<String>) {
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for v in &d.variables {
        if !names.insert(&v.name) {
            problems.push(format!("two variables have the name {}", v.name));
        }
        let is_port = matches!(v.causality, Causality::Input | Causality::Output);
        if is_port && !ports.insert((v.causality == Causality::Input, port_name(&v.name))) {
            problems.push(format!("two variables would have the port {}", port_name(&v.name)));
        }
        if is_port && v.ty == Type::Clock {
            problems.push(format!("{} is a clock; clocks are not supported", v.name));
        }
        if let (Some(low), Some(high)) = v.limits
            && low > high
        {
            problems.push(format!("variable {}: min {low} is above max {high}", v.name));
        }
    }
}

/// A scenario that runs the FMU alone: to the end of its default experiment, with all outputs
/// recorded.
///
/// # Errors
/// When the file is no FMU of FMI 2.0 or 3.0.
pub fn scenario(file: &Path) -> Result<String, String> {
    let d = describe(file)?;
    let e = d.experiment;
    let stop = e.stop.map_or(1.0, |stop| stop - e.start.unwrap_or(0.0));
    let stop = if stop > 0.0 && stop.is_finite() { stop } else { 1.0 };
    let step = e.step.filter(|s| *s > 0.0 && *s <= stop).unwrap_or(stop / 500.0);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!("title = {}\nstop = {stop:?}\nsample = {step:?}\n", quoted(&d.model));
    let outputs = d.variables.iter().filter(|v| v.causality == Causality::Output);
    let mut record = Vec::new();
    for v in outputs.filter(|v| v.ty != Type::Clock) {
        for name in std::iter::once(&v.name).chain(v.aliases.iter().map(|a| &a.name)) {
            let base = port_name(name);
            match v.elements {
                _ if v.shape.is_empty() => record.push(quoted(&format!("fmu.{base}"))),
                n => record.extend((1..=n).map(|k| quoted(&format!("fmu.{base}_{k}")))),
            }
        }
    }
    let _ = writeln!(out, "record = [{}]", record.join(", "));
    let _ = writeln!(out, "\n[unit.fmu]\nkind = \"fmu\"\npath = {}", quoted(&name));
    let own = d.co_simulation.as_ref().and_then(|i| i.internal_step);
    if e.step.or(own).is_none() {
        let _ = writeln!(out, "step = {step:?}");
    }
    Ok(out)
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
