//! The schema accepts every scenario that is shipped, and refuses what is misspelt.
use crate::scenarios;
use serde_json::Value as Json;

/// Checks a value against the part of JSON Schema that the schema uses.
fn check(root: &Json, schema: &Json, value: &Json, path: &str, errors: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = &root["$defs"][name.trim_start_matches("#/$defs/")];
        assert!(!target.is_null(), "{name} leads nowhere");
        check(root, target, value, path, errors);
    }
    let is = |ty: &str| match ty {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    };
    let fits = match &schema["type"] {
        Json::String(ty) => is(ty),
        Json::Array(list) => list.iter().any(|ty| is(ty.as_str().unwrap())),
        _ => true,
    };
    if !fits {
        errors.push(format!("{path}: not of type {}", schema["type"]));
        return;
    }
    if schema.get("const").is_some_and(|c| c != value)
        || schema["enum"].as_array().is_some_and(|e| !e.contains(value))
    {
        errors.push(format!("{path}: {value} is not allowed"));
    }
    let fails = |schema: &Json| {
        let mut inner = Vec::new();
        check(root, schema, value, path, &mut inner);
        inner
    };
    if let Some(any) = schema["anyOf"].as_array() {
        let results: Vec<_> = any.iter().map(fails).collect();
        if results.iter().all(|r| !r.is_empty()) {
            errors.extend(results.into_iter().next().unwrap());
        }
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        if part.get("if").is_none() || fails(&part["if"]).is_empty() {
            errors.extend(fails(part.get("then").unwrap_or(part)));
        }
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten() {
            if !object.contains_key(key.as_str().unwrap()) {
                errors.push(format!("{path}: {key} is missing"));
            }
        }
        for (key, inner) in object {
            let path = format!("{path}.{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(s), _) => check(root, s, inner, &path, errors),
                (None, Some(Json::Bool(false))) => errors.push(format!("{path}: unknown key")),
                (None, Some(s)) => check(root, s, inner, &path, errors),
                (None, None) => {}
            }
        }
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{path}[{i}]"), errors);
    }
}

fn errors(text: &str) -> Vec<String> {
    let schema = superdense::schema::schema();
    let value: Json = toml::from_str(text).unwrap();
    let mut errors = Vec::new();
    check(&schema, &schema, &value, "", &mut errors);
    errors
}

#[test]
fn shipped_scenarios_are_valid() {
    for folder in
        ["argesim", "connectors", "continuous", "grid", "network", "papers", "../parts", "."]
    {
        let files = scenarios(&format!("library/{folder}"));
        assert!(!files.is_empty(), "{folder}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(errors(&text), [""; 0], "{}", file.display());
        }
    }
}

/// So are the examples of the guide to the format.
#[test]
fn examples_of_the_format_are_valid() {
    let text = std::fs::read_to_string("../docs/format.md").unwrap();
    let snippets = text.split("```toml\n").skip(1).filter_map(|s| Some(s.split_once("```")?.0));
    let whole: Vec<&str> = snippets.filter(|snippet| snippet.contains("stop = ")).collect();
    assert!(whole.len() > 20, "{}", whole.len());
    for snippet in whole {
        assert_eq!(errors(snippet), [""; 0], "{snippet}");
    }
}

#[test]
fn every_kind_appears_with_its_parameters() {
    let schema = superdense::schema::schema();
    for kind in superdense_models::catalogue::kinds() {
        let own = &schema["$defs"][format!("kind_{}", kind.name())]["properties"];
        for p in kind.params().iter().filter(|p| !p.name.starts_with('~')) {
            assert!(own[p.name]["description"].is_string(), "{}.{}", kind.name(), p.name);
        }
    }
}

#[test]
fn misspelt_scenarios_are_not() {
    for (text, message) in [
        ("stop = true", ".stop: not of type [\"number\",\"string\"]"),
        ("stop = 1\nsotp = 2", ".sotp: unknown key"),
        ("stop = 1\n[unit.a]\nkind = 'gian'", ".unit.a.kind: \"gian\" is not allowed"),
        ("stop = 1\n[unit.a]\nkind = 'gain'", ".unit.a: \"gain\" is missing"),
        ("stop = 1\n[unit.a]\nkind = 'gain'\ngain = 1\nx = 1", ".unit.a.x: unknown key"),
        ("stop = 1\n[unit.a]\nx = 1", ".unit.a: \"kind\" is missing"),
    ] {
        let errors = errors(text);
        assert!(errors.iter().any(|e| e == message), "{text}: {errors:?}");
    }
}
