//! `check --graph`: who depends on whom, as text, JSON and for Graphviz.
use super::report::columns;
use crate::plan::graph::{Graph, Loop, Node};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use superdense_models::kinds::{PortKind, feed_through::Passing};

/// Conditions that never change, and loops, each with its remedy.
pub(super) fn warnings(graph: &Graph) -> Vec<String> {
    graph.units.iter().flat_map(idle).chain(loops(graph)).collect()
}

/// Loops that may go on for ever at one instant, each with its remedy.
pub(super) fn loops(graph: &Graph) -> Vec<String> {
    let warning = |l: &Loop| {
        let ring = l.path.join(", ");
        match l.algebraic {
            true => format!(
                "algebraic loop: {ring}; each of these values depends on the others at the same \
                 instant, and the run hands them round until they stand still, which may take for \
                 ever: put the units under a [coupling] with feed_through = \"settled\" or `iterate`"
            ),
            false => format!(
                "possible loop without delay: {ring}; each of these messages may bring about the \
                 next one at the same instant, for ever unless values end it: put a `delay` into \
                 the loop if they do not"
            ),
        }
    };
    graph.loops.iter().filter(|l| l.coupling.is_none()).map(warning).collect()
}

/// The events of a unit that cannot happen.
fn idle(unit: &Node) -> impl Iterator<Item = String> {
    let warning = |event: &String| {
        format!(
            "{}: event `{event}` never happens: nothing in its condition moves or is set by an event; \
             compare a state, an input or a discrete value that some `reset` assigns, or remove it",
            unit.path
        )
    };
    unit.idle.iter().map(warning)
}

/// For people.
pub(super) fn text(graph: &Graph) -> String {
    let name = |u: u32| &graph.units[u as usize].path;
    let rows: Vec<Vec<String>> = graph
        .edges
        .iter()
        .map(|e| {
            let from = format!("{}.{}", name(e.from.0), e.from.1);
            vec![from, "->".into(), format!("{}.{}", name(e.to.0), e.to.1), e.kind.name().into()]
        })
        .collect();
    let mut text = format!("connections\n{}", columns(&rows, &[]));
    let answers = |n: &Node| {
        let path = n.path.clone();
        let row = move |(input, output, how): &(String, String, Passing)| {
            vec![format!("{path}.{output}"), "follows".into(), input.clone(), word(*how).into()]
        };
        n.at_once.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = graph.units.iter().flat_map(answers).collect();
    let told =
        if rows.is_empty() { ": none\n".to_owned() } else { format!("\n{}", columns(&rows, &[])) };
    text.push_str(&format!("feed-through (outputs that answer at the same instant){told}"));
    let rows: Vec<Vec<String>> = graph
        .loops
        .iter()
        .map(|l| {
            vec![l.name().into(), l.coupling.unwrap_or("not broken").into(), l.path.join(", ")]
        })
        .collect();
    let told =
        if rows.is_empty() { ": none\n".to_owned() } else { format!("\n{}", columns(&rows, &[])) };
    text.push_str(&format!("loops at one instant{told}"));
    text
}

fn word(how: Passing) -> &'static str {
    match how {
        Passing::Always => "always",
        Passing::Value => "by value",
        Passing::Sometimes => "by an event that may happen",
    }
}

/// For programs.
pub(super) fn object(graph: &Graph) -> Json {
    let unit = |n: &Node| {
        let pair = |(input, output, how): &(String, String, Passing)| json!({ "input": input, "output": output, "how": word(*how) });
        json!({
            "unit": n.path, "kind": n.kind, "hidden": n.hidden,
            "feed_through": n.at_once.iter().map(pair).collect::<Vec<_>>(),
        })
    };
    let name = |u: u32| &graph.units[u as usize].path;
    let edge = |e: &crate::plan::graph::Edge| {
        json!({
            "from": format!("{}.{}", name(e.from.0), e.from.1),
            "to": format!("{}.{}", name(e.to.0), e.to.1),
            "kind": e.kind.name(),
        })
    };
    let ring = |l: &Loop| {
        json!({
            "what": l.name(), "path": l.path, "coupling": l.coupling, "outputs": l.outputs,
            "units": l.units.iter().map(|&u| name(u)).collect::<Vec<_>>(),
        })
    };
    json!({
        "units": graph.units.iter().map(unit).collect::<Vec<_>>(),
        "connections": graph.edges.iter().map(edge).collect::<Vec<_>>(),
        "loops": graph.loops.iter().map(ring).collect::<Vec<_>>(),
    })
}

/// For Graphviz: events are dashed, loops at one instant red.
pub(super) fn dot(graph: &Graph, name: &str) -> String {
    let mut text = format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(name));
    let connected = |u: u32| graph.edges.iter().any(|e| e.from.0 == u || e.to.0 == u);
    for (number, n) in (0..).zip(&graph.units).filter(|(u, n)| !n.hidden || connected(*u)) {
        let label = format!("{}\\n{}", n.path, n.kind);
        text.push_str(&format!("  n{number} [label={}];\n", quoted(&label)));
    }
    let red: BTreeSet<u32> = graph.loops.iter().flat_map(|l| l.edges.iter().copied()).collect();
    for (number, e) in (0..).zip(&graph.edges) {
        let style = if e.kind == PortKind::Event { ", style=dashed" } else { "" };
        let colour = if red.contains(&number) { ", color=red" } else { "" };
        let label = quoted(&format!("{} → {}", e.from.1, e.to.1));
        let (from, to) = (e.from.0, e.to.0);
        text.push_str(&format!("  n{from} -> n{to} [label={label}{style}{colour}];\n"));
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}
