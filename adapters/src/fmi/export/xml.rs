//! The description of an FMU (FMI 2.0.4, 2.2; FMI 3.0.1, 2.4).
use crate::fmi::description::Version;
use std::{collections::BTreeSet, fmt::Write};

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `parameter`, `input` or `output`.
    pub causality: &'static str,
    /// Its type and, unless it is an output, its value before it is set.
    pub value: Value,
    /// Its unit of measure.
    pub unit: Option<String>,
}

/// The type of a variable, with a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A double.
    Real(f64),
    /// An integer: of 32 bits in FMI 2.0, else of 64.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text, which is empty at first.
    Text,
}

/// All that a description says.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The name of the model.
    pub name: String,
    /// Its title.
    pub description: String,
    /// The name and version of the program that made it.
    pub tool: String,
    /// The token by which description and binary know each other.
    pub token: String,
    /// Seconds that a run takes unless somebody else decides.
    pub stop: f64,
    /// The variables; their references count from 1.
    pub variables: Vec<Variable>,
}

impl Offer {
    /// The name of the binary: that of the model, of the letters that C has.
    pub fn identifier(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = self.name.chars().map(plain).collect();
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if begins { name } else { format!("m{name}") }
    }
}

/// The text of `modelDescription.xml`.
pub fn description(offer: &Offer, version: Version) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let identifier = offer.identifier();
    let (number, token, state, more) = match version {
        Version::V2 => ("2.0", "guid", "FMUstate", " numberOfEventIndicators=\"0\""),
        Version::V3 => ("3.0", "instantiationToken", "FMUState", ""),
    };
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "<fmiModelDescription fmiVersion=\"{number}\" modelName=\"{}\" {token}=\"{{{}}}\" description=\"{}\" \
         generationTool=\"{}\" variableNamingConvention=\"flat\"{more}>\n  <CoSimulation modelIdentifier=\"{identifier}\" \
         canHandleVariableCommunicationStepSize=\"true\" canGetAndSet{state}=\"true\" canSerialize{state}=\"true\"/>\n",
        escaped(&offer.name),
        escaped(&offer.token),
        escaped(&offer.description),
        escaped(&offer.tool),
    );
    units(offer, &mut text);
    let stop = offer.stop;
    let _ = writeln!(text, "  <DefaultExperiment startTime=\"0\" stopTime=\"{stop:?}\"/>");
    text.push_str("  <ModelVariables>\n");
    if version == Version::V3 {
        text.push_str(
            "    <Float64 name=\"time\" valueReference=\"0\" causality=\"independent\" variability=\"continuous\"/>\n",
        );
    }
    for (k, offered) in offer.variables.iter().enumerate() {
        variable(version, k + 1, offered, &mut text);
    }
    text.push_str("  </ModelVariables>\n  <ModelStructure>\n");
    structure(offer, version, &mut text);
    text.push_str("  </ModelStructure>\n</fmiModelDescription>\n");
    text
}

fn units(offer: &Offer, text: &mut String) {
    let units: BTreeSet<&str> = offer.variables.iter().filter_map(|v| v.unit.as_deref()).collect();
    if units.is_empty() {
        return;
    }
    text.push_str("  <UnitDefinitions>\n");
    for unit in units {
        let _ = writeln!(text, "    <Unit name=\"{}\"/>", escaped(unit));
    }
    text.push_str("  </UnitDefinitions>\n");
}

/// Attributes that say who sets a variable, and when.
fn manner(variable: &Variable) -> String {
    let variability = match (variable.causality, variable.value) {
        ("parameter", _) => "fixed",
        (_, Value::Real(_)) => "continuous",
        _ => "discrete",
    };
    let initial = match variable.causality {
        "output" => " initial=\"calculated\"",
        "parameter" => " initial=\"exact\"",
        _ => "",
    };
    format!("causality=\"{}\" variability=\"{variability}\"{initial}", variable.causality)
}

/// The type, and the value that a variable starts with, unless it is calculated.
fn start(variable: &Variable, names: [&'static str; 4]) -> (&'static str, Option<String>) {
    let (name, start) = match variable.value {
        Value::Real(x) => (names[0], format!("{x:?}")),
        Value::Int(i) => (names[1], i.to_string()),
        Value::Bool(b) => (names[2], b.to_string()),
        Value::Text => (names[3], String::new()),
    };
    (name, (variable.causality != "output").then_some(start))
}

fn of_unit(variable: &Variable) -> String {
    match (&variable.unit, variable.value) {
        (Some(unit), Value::Real(_)) => format!(" unit=\"{}\"", escaped(unit)),
        _ => String::new(),
    }
}

fn variable(version: Version, reference: usize, variable: &Variable, text: &mut String) {
    let names = match version {
        Version::V2 => ["Real", "Integer", "Boolean", "String"],
        Version::V3 => ["Float64", "Int64", "Boolean", "String"],
    };
    let (ty, start) = start(variable, names);
    let start = start.map(|s| format!(" start=\"{s}\"")).unwrap_or_default();
    let (name, manner, unit) = (escaped(&variable.name), manner(variable), of_unit(variable));
    let common = format!("name=\"{name}\" valueReference=\"{reference}\" {manner}");
    let _ = match version {
        Version::V2 => {
            writeln!(text, "    <ScalarVariable {common}><{ty}{start}{unit}/></ScalarVariable>")
        }
        Version::V3 => writeln!(text, "    <{ty} {common}{start}{unit}/>"),
    };
}

/// Outputs, which depend on all that is set; all of them are known when the run begins.
fn structure(offer: &Offer, version: Version, text: &mut String) {
    let all = offer.variables.iter().enumerate();
    let outputs: Vec<usize> =
        all.filter(|(_, v)| v.causality == "output").map(|(k, _)| k + 1).collect();
    match version {
        Version::V2 => {
            for list in ["Outputs", "InitialUnknowns"] {
                let _ = writeln!(text, "    <{list}>");
                for k in &outputs {
                    let _ = writeln!(text, "      <Unknown index=\"{k}\"/>");
                }
                let _ = writeln!(text, "    </{list}>");
            }
        }
        Version::V3 => {
            for element in ["Output", "InitialUnknown"] {
                for k in &outputs {
                    let _ = writeln!(text, "    <{element} valueReference=\"{k}\"/>");
                }
            }
        }
    }
}

/// A text as the value of an attribute. Characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmi::description::Description;

    fn offer() -> Offer {
        let variable = |name: &str, causality, value, unit: Option<&str>| Variable {
            name: name.into(),
            causality,
            value,
            unit: unit.map(str::to_owned),
        };
        Offer {
            name: "2 <tanks>".into(),
            description: "\"a\" & b".into(),
            tool: "test".into(),
            token: "00ff".into(),
            stop: 5.0,
            variables: vec![
                variable("k", "parameter", Value::Real(0.1), Some("1/s")),
                variable("on", "input", Value::Bool(true), None),
                variable("tank.level", "output", Value::Real(0.0), Some("m")),
                variable("count", "output", Value::Int(0), None),
            ],
        }
    }

    #[test]
    fn descriptions_are_read_back() {
        for version in [Version::V2, Version::V3] {
            let text = description(&offer(), version);
            let read = Description::read_with(&text, &Default::default()).unwrap();
            assert_eq!(read.model, "2 <tanks>", "{text}");
        }
        assert_eq!(offer().identifier(), "m2__tanks_");
    }
}
