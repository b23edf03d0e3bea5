//! `superdense list` and `superdense schema`.
use super::{
    Done,
    report::{Console, columns},
};
use serde_json::{Value as Json, json};
use superdense::{kinds::kinds, plan::usual_ports};
use superdense_models::kinds::{ParamSpec, ParamType, PortKind, PortSpec, UnitKind};

/// Prints the kinds of units with their ports and parameters.
pub(super) fn list(console: &Console) -> Done {
    let mut text = String::new();
    for kind in kinds() {
        text.push_str(&format!("{}: {}\n", kind.name(), kind.summary()));
        text.push_str(&format!("  {}\n", superdense::schema::ports(kind)));
        let rows: Vec<_> = public(kind).map(row).collect();
        text.push_str(&columns(&rows, &[]));
    }
    console.say(&text, || json!({ "kinds": kinds().iter().map(|k| kind(*k)).collect::<Vec<_>>() }));
    Ok(())
}

/// Prints the JSON schema of scenario files; it is JSON with and without `--json`.
pub(super) fn schema(console: &Console) -> Done {
    if !console.quiet || console.json {
        console.object(&superdense::schema::schema());
    }
    Ok(())
}

/// Parameters for authors; those that the planner fills in start with `~`.
fn public(kind: &dyn UnitKind) -> impl Iterator<Item = &'static ParamSpec> {
    kind.params().iter().filter(|p| !p.name.starts_with('~'))
}

fn row(p: &ParamSpec) -> Vec<String> {
    let default = match p.default {
        None => "required".to_owned(),
        Some("") => "optional".to_owned(),
        Some(text) => format!("= {text}"),
    };
    vec![p.name.to_owned(), type_name(p.ty), default, p.doc.to_owned()]
}

fn kind(kind: &dyn UnitKind) -> Json {
    let parameter = |p: &ParamSpec| {
        json!({
            "name": p.name,
            "type": type_name(p.ty),
            "required": p.default.is_none(),
            "default": p.default.filter(|d| !d.is_empty()),
            "doc": p.doc,
        })
    };
    let port = |p: &PortSpec| {
        json!({
            "name": p.name,
            "kind": if p.kind == PortKind::Signal { "signal" } else { "event" },
            "type": if p.kind == PortKind::Signal { "real" } else { p.ty.name() },
            "optional": p.optional,
        })
    };
    let ports = usual_ports(kind);
    let list = |of: fn(&superdense_models::kinds::Ports) -> &Vec<PortSpec>| {
        ports.as_ref().map(|ports| of(ports).iter().map(port).collect::<Vec<_>>())
    };
    json!({
        "name": kind.name(),
        "summary": kind.summary(),
        "continuous": kind.is_continuous(),
        "inputs": list(|ports| &ports.inputs),
        "outputs": list(|ports| &ports.outputs),
        "parameters": public(kind).map(parameter).collect::<Vec<_>>(),
    })
}

/// The type of a parameter in words.
fn type_name(ty: ParamType) -> String {
    match ty {
        ParamType::Real(None) => "real".into(),
        ParamType::Real(Some(unit)) => format!("real in {unit}"),
        ParamType::Int => "integer".into(),
        ParamType::Bool => "true or false".into(),
        ParamType::Text => "text".into(),
        ParamType::Choice(words) => words.join(" | "),
        ParamType::Duration | ParamType::Period => "duration".into(),
        ParamType::File => "file".into(),
        ParamType::RealList => "list of reals".into(),
        ParamType::Value => "value".into(),
        ParamType::Expression => "expression".into(),
        ParamType::Raw => "table or list".into(),
    }
}
