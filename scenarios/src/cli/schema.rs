//! `superdense schema`: the JSON schema of scenario files, made from the registry of kinds.
use super::{Done, catalogue::public, report::Console};
use serde_json::{Map, Value as Json, json};
use superdense_models::registry::{ParamSpec, ParamType, UnitKind, kinds};

/// Prints the schema; it is JSON with and without `--json`.
pub fn print(console: &Console) -> Done {
    if !console.quiet || console.json {
        console.object(&schema());
    }
    Ok(())
}

fn schema() -> Json {
    let mut definitions = Map::new();
    let mut units = vec![json!({ "$ref": "#/$defs/instance" })];
    for kind in kinds() {
        let name = format!("kind_{}", kind.name());
        units.push(json!({ "$ref": format!("#/$defs/{name}") }));
        definitions.insert(name, unit(*kind));
    }
    let duration = json!({ "type": ["number", "string"],
        "description": "seconds, or text with a unit such as \"50 ms\"" });
    let names = json!({ "type": "object" });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let group = json!({
        "inputs": { "type": "object",
            "additionalProperties": { "anyOf": [{ "type": "string" }, texts] } },
        "outputs": { "type": "object", "additionalProperties": { "type": "string" } },
        "parameters": names,
        "unit": { "type": "object", "additionalProperties": { "$ref": "#/$defs/unit" } },
        "connections": { "$ref": "#/$defs/connections" },
    });
    definitions.insert("duration".into(), duration.clone());
    definitions.insert("unit".into(), json!({ "anyOf": units }));
    definitions.insert(
        "instance".into(),
        json!({ "type": "object", "required": ["template"], "properties": {
            "template": { "type": "string" },
            "count": { "type": ["integer", "string"] },
        }}),
    );
    definitions.insert("template".into(), json!({ "type": "object", "properties": group }));
    definitions.insert("connections".into(), connections());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Superdense scenario",
        "type": "object",
        "required": ["stop"],
        "additionalProperties": false,
        "properties": {
            "title": { "type": "string" },
            "description": { "type": "string" },
            "stop": { "$ref": "#/$defs/duration" },
            "resolution": { "type": ["string", "number"], "default": "ns",
                "description": "s, ms, us, ns, ps, fs, or such as \"10 ns\"" },
            "seed": { "type": ["integer", "string"], "default": 1 },
            "sample": { "anyOf": [{ "$ref": "#/$defs/duration" }, { "const": "none" }] },
            "record": texts,
            "include": texts,
            "parameters": names,
            "unit": { "type": "object", "additionalProperties": { "$ref": "#/$defs/unit" } },
            "template": { "type": "object", "additionalProperties": { "$ref": "#/$defs/template" } },
            "connections": { "$ref": "#/$defs/connections" },
            "link": { "type": "array", "items": link() },
            "plot": { "type": "array", "items": plot(&texts) },
        },
        "$defs": definitions,
    })
}

fn connections() -> Json {
    json!({ "type": "array", "items": { "anyOf": [
        { "type": "string", "pattern": "->" },
        { "type": "object", "required": ["from", "to"], "properties": {
            "from": { "type": "string" }, "to": { "type": "string" },
            "via": { "enum": ["hold", "sample", "detect"] } } },
    ]}})
}

fn link() -> Json {
    json!({ "type": "object", "additionalProperties": false,
    "required": ["name", "units", "when", "reset"],
    "properties": {
        "name": { "type": "string" },
        "units": { "type": "array", "minItems": 2, "items": { "type": "string" } },
        "when": { "type": "string" },
        "reset": { "type": "object",
            "additionalProperties": { "type": ["string", "number"] } },
        "priority": { "type": "integer", "default": 0 },
    }})
}

fn plot(texts: &Json) -> Json {
    json!({ "type": "object", "additionalProperties": false, "required": ["y"], "properties": {
        "title": { "type": "string" },
        "y": texts,
        "x_label": { "type": "string", "default": "time / s" },
        "y_label": { "type": "string" },
        "events": { "type": "boolean", "default": true },
        "style": { "enum": ["line", "step", "points"] },
    }})
}

fn unit(kind: &dyn UnitKind) -> Json {
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "const": kind.name() }));
    properties.insert("count".into(), json!({ "type": ["integer", "string"] }));
    let mut required = vec!["kind"];
    for p in public(kind) {
        properties.insert(p.name.into(), parameter(p));
        if p.default.is_none() {
            required.push(p.name);
        }
    }
    json!({
        "type": "object",
        "description": kind.summary(),
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Any number may also be a text: an expression, or a quantity with a unit.
fn parameter(p: &ParamSpec) -> Json {
    let mut schema = match p.ty {
        ParamType::Real(_) | ParamType::Duration | ParamType::Expression => {
            json!({ "type": ["number", "string"] })
        }
        ParamType::Int => json!({ "type": ["integer", "string"] }),
        ParamType::Bool => json!({ "type": "boolean" }),
        ParamType::Text | ParamType::File => json!({ "type": "string" }),
        ParamType::Choice(words) => json!({ "enum": words }),
        ParamType::RealList => {
            json!({ "type": "array", "items": { "type": ["number", "string"] } })
        }
        ParamType::Value => json!({ "type": ["number", "string", "boolean"] }),
        ParamType::Raw => json!({ "type": ["array", "object"] }),
    };
    schema["description"] = json!(p.doc);
    if let Some(default) = p.default.filter(|d| !d.is_empty()) {
        schema["description"] = json!(format!("{} (default {default})", p.doc));
    }
    schema
}
