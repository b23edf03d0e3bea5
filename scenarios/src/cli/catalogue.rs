//! `superdense list` and `superdense schema`.
use super::{
    Done,
    report::{Console, Stop, columns},
};
use crate::{kinds::kinds, plan::usual_ports};
use serde_json::{Value as Json, json};
use superdense_models::{
    kinds::{ParamSpec, ParamType, PortKind, PortSpec, UnitKind},
    maths::expr::nearest,
};

/// Prints the kinds of units with their ports and parameters; of one kind its documentation, too.
pub(super) fn list(console: &Console, only: Option<&str>) -> Done {
    if let Some(name) = only {
        let found = kinds().into_iter().find(|k| k.name() == name);
        let one = found.ok_or_else(|| Stop::usage(unknown(name)))?;
        let text = format!("{}\n{}", brief(one), plain(one.doc()));
        console.say(&text, || kind(one));
        return Ok(());
    }
    let text: String = kinds().iter().map(|k| brief(*k)).collect();
    console.say(&text, || json!({ "kinds": kinds().iter().map(|k| kind(*k)).collect::<Vec<_>>() }));
    Ok(())
}

fn unknown(name: &str) -> String {
    let near = nearest(name, kinds().iter().map(|k| k.name()));
    let help = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    format!("there is no kind `{name}`; {help}`superdense list` shows all")
}

fn brief(kind: &dyn UnitKind) -> String {
    let rows: Vec<_> = public(kind).map(row).collect();
    let (name, summary, ports) = (kind.name(), kind.summary(), crate::schema::ports(kind));
    format!("{name}: {summary}\n  {ports}\n{}", columns(&rows, &[]))
}

/// Documentation for a terminal: examples are indented, and links are their texts.
fn plain(doc: &str) -> String {
    let mut code = false;
    let mut text = String::new();
    for line in doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        if line.starts_with("```") {
            code = !code;
        } else if code {
            text += &format!("    {line}\n");
        } else {
            text += &format!("{}\n", line.replace("[`", "`").replace("`]", "`"));
        }
    }
    text
}

/// Prints the JSON schema of scenario files; it is JSON with and without `--json`.
pub(super) fn schema(console: &Console) -> Done {
    if !console.quiet || console.json {
        console.object(&crate::schema::schema());
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
        "doc": kind.doc(),
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
        ParamType::Bytes => "bytes".into(),
        ParamType::Bool => "true or false".into(),
        ParamType::Text => "text".into(),
        ParamType::Choice(words) => words.join(" | "),
        ParamType::Duration | ParamType::Period => "duration".into(),
        ParamType::File => "file".into(),
        ParamType::RealList => "list of reals".into(),
        ParamType::ValueList => "list of values".into(),
        ParamType::Value => "value".into(),
        ParamType::Expression => "expression".into(),
        ParamType::Raw => "table or list".into(),
    }
}
