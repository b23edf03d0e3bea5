//! The JSON schema of scenario files, made from the registry of kinds.
//!
//! Editors that know TOML (taplo, "Even Better TOML") complete and check scenarios with it. It
//! covers the form of a file; names, types of ports and formulas are the plan's to check.
use crate::{
    kinds::kinds,
    plan::{ADAPTERS, PARTITIONS, SETTINGS, usual_ports},
};
use serde_json::{Map, Value as Json, json};
use superdense_kernel::Guards;
use superdense_models::{
    couplings::CouplingKind,
    equations::EquationsKind,
    kinds::{ParamSpec, ParamType, PortKind, PortSpec, UnitKind},
};

/// The schema.
///
/// ```
/// let schema = superdense::schema::schema();
/// assert!(schema["$defs"]["kind_equations"]["properties"]["states"].is_object());
/// ```
pub fn schema() -> Json {
    let mut definitions = Map::new();
    let mut by_kind = Vec::new();
    for kind in kinds() {
        let name = format!("kind_{}", kind.name());
        by_kind.push(json!({
            "if": { "required": ["kind"], "properties": { "kind": { "const": kind.name() } } },
            "then": { "$ref": format!("#/$defs/{name}") },
        }));
        let mut schema = unit(kind);
        schema["description"] = json!(format!("{}; {}", kind.summary(), ports(kind)));
        definitions.insert(name, schema);
    }
    let names: Vec<&str> = kinds().iter().map(|k| k.name()).collect();
    let all = shared().into_iter().chain([("unit", any_unit(&names, &by_kind))]);
    definitions.extend(all.map(|(name, schema)| (name.to_owned(), schema)));
    // Files that others include have no `stop`.
    let mut root = object(&[], &root());
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Superdense scenario");
    root["$defs"] = Json::Object(definitions);
    root
}

/// A table `[unit.NAME]`.
fn any_unit(names: &[&str], by_kind: &[Json]) -> Json {
    json!({
        "type": "object",
        "properties": {
            "kind": { "enum": names },
            "template": described(&["string"], "name of a [template.NAME]"),
            "count": described(&["integer", "string"], "makes an array: NAME[0], NAME[1], ..."),
            "unconnected": { "enum": ["ok"], "description": "no warning of signals without a connection" },
            "wcet": described(&["number", "string"], "the longest time that a transition takes, for check --real-time"),
            "bond": { "type": "object", "additionalProperties": bond() },
        },
        "anyOf": [{ "required": ["kind"] }, { "required": ["template"] }],
        "allOf": by_kind,
    })
}

/// An entry of `bond`.
fn bond() -> Json {
    json!({
        "type": "object",
        "description": "ports by which a unit is joined without saying who determines what",
        "properties": {
            "effort": described(&["string"], "a force, a voltage: an input or an output of the unit"),
            "flow": described(&["string"], "a speed, a current: the other one of both"),
            "displacement": described(&["string"], "the output that is the integral of the flow"),
            "momentum": described(&["string"], "the output that is the integral of the effort"),
            "common": { "enum": ["flow", "effort"], "description": "what is equal for all that are joined; flow by default" },
        },
        "additionalProperties": false,
    })
}

/// Definitions that several places refer to.
fn shared() -> Vec<(&'static str, Json)> {
    let values = |of: Json| json!({ "type": "object", "additionalProperties": of });
    let number = described(&["number", "string"], "a number, a quantity (\"5 ms\"), or a formula");
    let duration = described(&["number", "string"], "seconds, or text with a unit (\"50 ms\")");
    let parameter = json!({ "anyOf": [
        { "type": ["number", "string", "boolean", "array"] }, reference("parameters")
    ] });
    let parameters = json!({ "anyOf": [
        values(parameter), described(&["string"], "file with the parameters: .json or .csv")
    ] });
    vec![
        ("number", number),
        ("duration", duration),
        ("results", values(result())),
        ("texts", json!({ "type": "array", "items": { "type": "string" } })),
        ("connections", connections()),
        ("parameters", parameters),
        ("functions", values(function())),
        ("tables", values(table())),
        ("units", values(reference("unit"))),
        ("link", link()),
        ("coupling", unit(&CouplingKind)),
        ("joined", joined()),
        ("template", template()),
        ("plot", plot()),
    ]
}

/// How units that are joined by connectors are solved.
fn joined() -> Json {
    let own = EquationsKind.params().iter().filter(|p| SETTINGS.contains(&p.name));
    let mut schema = object(&[], &own.map(|p| (p.name, parameter(p))).collect::<Vec<_>>());
    schema["description"] = json!("how units that are joined by connectors are solved");
    schema
}

/// An entry of `[result]`.
fn result() -> Json {
    let table = json!({
        "value": described(&["string"], "formula: min(unit.output), first(unit.output > 1)"),
        "unit": described(&["string"], "unit of measure, for people"),
        "over": described(&["array"], "first and last instant that count"),
        "ci": described(&["number"], "level of a confidence interval by batch means: 0.95"),
    });
    json!({ "anyOf": [
        { "type": "string" },
        { "type": "object", "required": ["value"], "additionalProperties": false, "properties": table },
    ] })
}

/// A table `[function.NAME]`.
fn function() -> Json {
    object(
        &["args", "value"],
        &[
            ("args", reference("texts")),
            ("value", described(&["string", "number"], "formula over the arguments")),
        ],
    )
}

/// A table `[table.NAME]`.
fn table() -> Json {
    let list = |what: &str| described(&["array", "string"], what);
    object(
        &[],
        &[
            ("x", list("values of the first argument")),
            ("y", list("values, or those of the second argument")),
            ("z", list("values, a list for each of x")),
            ("file", described(&["string"], "file of comma-separated values with the points")),
            ("columns", reference("texts")),
            ("interpolation", json!({ "enum": ["linear", "spline", "monotone"] })),
            ("extrapolation", json!({ "enum": ["hold", "linear"] })),
        ],
    )
}

fn template() -> Json {
    let inputs = json!({ "type": "object",
        "additionalProperties": { "anyOf": [{ "type": "string" }, reference("texts")] } });
    let outputs = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    object(
        &[],
        &[
            ("description", json!({ "type": "string" })),
            ("parameters", reference("parameters")),
            ("inputs", inputs),
            ("outputs", outputs.clone()),
            ("connectors", outputs),
            ("unit", reference("units")),
            ("connections", reference("connections")),
            ("joined", reference("joined")),
            ("link", json!({ "type": "array", "items": reference("link") })),
            ("coupling", reference("coupling")),
        ],
    )
}

fn root() -> Vec<(&'static str, Json)> {
    vec![
        ("title", described(&["string"], "heading of reports and plots")),
        ("description", described(&["string"], "what the scenario shows")),
        ("stop", reference("duration")),
        (
            "resolution",
            json!({ "type": ["string", "number"], "default": "ns",
            "description": "length of a tick: s, ms, us, ns, ps, fs, or such as \"10 ns\"" }),
        ),
        ("seed", json!({ "type": ["integer", "string"], "minimum": 0, "default": 1 })),
        (
            "micro_steps",
            json!({ "type": "integer", "minimum": 1, "default": Guards::default().micro_steps,
            "description": "largest micro-step at one instant; more are a loop without delay" }),
        ),
        ("sample", json!({ "anyOf": [reference("duration"), { "const": "none" }] })),
        (
            "partition",
            json!({
                "anyOf": [
                    { "enum": PARTITIONS },
                    { "type": "array", "items": { "anyOf": [
                        { "type": "string" }, reference("texts")
                    ] } },
                ],
                "default": PARTITIONS[0],
                "description": "which units share a worker of a parallel executor, at the start",
            }),
        ),
        ("record", reference("texts")),
        ("result", reference("results")),
        ("include", json!({ "anyOf": [{ "type": "string" }, reference("texts")] })),
        ("parameters", reference("parameters")),
        ("function", reference("functions")),
        ("table", reference("tables")),
        ("unit", reference("units")),
        ("template", json!({ "type": "object", "additionalProperties": reference("template") })),
        ("connections", reference("connections")),
        ("joined", reference("joined")),
        ("link", json!({ "type": "array", "items": reference("link") })),
        (
            "federate",
            described(&["object"], "a federation of HELICS in which the scenario takes part"),
        ),
        ("coupling", reference("coupling")),
        ("plot", json!({ "type": "array", "items": reference("plot") })),
    ]
}

fn connections() -> Json {
    let adapters: Vec<&str> = ADAPTERS.iter().map(|a| a.name).collect();
    let table = json!({ "type": "object", "required": ["from", "to"], "properties": {
        "from": { "type": "string" },
        "to": { "type": "string" },
        "via": described(&["string"], &format!("adapter: {}", adapters.join(", "))),
        "for": described(&["string"], "such as \"i in 0..9\""),
    }});
    let text = json!({ "type": "string", "pattern": "->|=",
        "description": "source.y -> tank.u, source.y -> tank.u via hold(0) for i in 0..9; a.p = b.p joins connectors" });
    json!({ "type": "array", "items": { "anyOf": [text, table] } })
}

fn link() -> Json {
    object(
        &["name", "units", "when"],
        &[
            ("name", json!({ "type": "string" })),
            ("units", reference("texts")),
            ("when", described(&["string"], "condition over unit.variable")),
            ("reset", json!({ "type": "object" })),
            ("priority", described(&["integer", "string"], "lower goes first")),
            ("detect", json!({ "enum": ["between", "exchanges"] })),
            ("detectors", reference("texts")),
            ("values", json!({ "enum": ["true", "believed"] })),
            ("models", json!({ "type": "object" })),
        ],
    )
}

fn plot() -> Json {
    object(
        &["y"],
        &[
            ("title", json!({ "type": "string" })),
            ("kind", json!({ "enum": ["curves", "timeline", "distribution"] })),
            ("y", json!({ "anyOf": [{ "type": "string" }, reference("texts")] })),
            ("to", json!({ "anyOf": [{ "type": "string" }, reference("texts")] })),
            ("x_label", json!({ "type": "string", "default": "time / s" })),
            ("y_label", json!({ "type": "string" })),
            ("events", json!({ "type": "boolean", "default": true })),
            ("style", json!({ "enum": ["line", "step", "points"] })),
            ("x", described(&["string"], "the output on the horizontal axis, instead of time")),
            ("names", reference("texts")),
            ("values", reference("texts")),
            ("x_range", json!({ "type": "array" })),
            ("y_range", json!({ "type": "array" })),
            ("log", json!({ "type": "boolean", "default": false })),
            ("time_unit", json!({ "enum": ["s", "ms", "us", "ns", "min", "h", "d"] })),
            ("bands", json!({ "type": "array" })),
        ],
    )
}

/// The ports that units of a kind have by default, in words.
pub fn ports(kind: &dyn UnitKind) -> String {
    let Some(ports) = usual_ports(kind) else {
        return "inputs and outputs as the parameters say".into();
    };
    let names = |list: &[PortSpec]| {
        let name = |p: &PortSpec| match p.kind {
            PortKind::Signal => p.name.clone(),
            PortKind::Event => format!("{} (event: {})", p.name, p.ty.name()),
        };
        match list {
            [] => "none".to_owned(),
            _ => list.iter().map(name).collect::<Vec<_>>().join(", "),
        }
    };
    format!("inputs: {}; outputs: {}", names(&ports.inputs), names(&ports.outputs))
}

fn unit(kind: &dyn UnitKind) -> Json {
    let mut properties = Map::new();
    for name in ["kind", "count", "unconnected", "wcet", "bond"] {
        properties.insert(name.into(), json!({}));
    }
    let mut required = Vec::new();
    for p in kind.params().iter().filter(|p| !p.name.starts_with('~')) {
        properties.insert(p.name.into(), parameter(p));
        if p.default.is_none() {
            required.push(p.name);
        }
    }
    json!({
        "description": kind.summary(),
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Any number may also be a text: a formula, or a quantity with a unit.
fn parameter(p: &ParamSpec) -> Json {
    let mut schema = match p.ty {
        ParamType::Real(_) | ParamType::Duration | ParamType::Period | ParamType::Expression => {
            json!({ "type": ["number", "string"] })
        }
        ParamType::Int | ParamType::Bytes => json!({ "type": ["integer", "string"] }),
        ParamType::Bool => json!({ "type": ["boolean", "string"] }),
        ParamType::Text | ParamType::File => json!({ "type": "string" }),
        ParamType::Choice(words) => json!({ "enum": words }),
        ParamType::RealList => {
            json!({ "type": "array", "items": { "type": ["number", "string"] } })
        }
        ParamType::Value => json!({ "type": ["number", "string", "boolean"] }),
        ParamType::ValueList => {
            json!({ "type": "array", "items": { "type": ["number", "string", "boolean"] } })
        }
        ParamType::Raw => json!({ "type": ["array", "object", "string", "number"] }),
    };
    let unit = match p.ty {
        ParamType::Real(Some(unit)) => format!(" in {unit}"),
        ParamType::Bytes => " in bytes".into(),
        _ => String::new(),
    };
    let default = match p.default {
        Some(d) if !d.is_empty() => format!(" (default {d})"),
        _ => String::new(),
    };
    schema["description"] = json!(format!("{}{unit}{default}", p.doc));
    schema
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(types: &[&str], text: &str) -> Json {
    let types = if let [one] = types { json!(one) } else { json!(types) };
    json!({ "type": types, "description": text })
}

fn object(required: &[&str], properties: &[(&str, Json)]) -> Json {
    let properties: Map<String, Json> =
        properties.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}
