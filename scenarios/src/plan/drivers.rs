//! Every input has its driver: none too few, and for signals none too many.
use super::{
    bonds, connect,
    evaluate::Evaluator,
    selector::Selector,
    session::Session,
    tree::{Body, Child, End, Group, Tree, dotted, join},
};
use crate::{diagnostics::Mistake, source::Span};
use std::collections::HashSet;
use superdense_models::kinds::PortKind;

/// The inputs that wrong connections were to drive: they are not reported as unconnected on top.
#[derive(Default)]
pub(super) struct Meant {
    /// Some connections could not even be read.
    anything: bool,
    ends: HashSet<End>,
    children: HashSet<u32>,
}

impl Meant {
    /// Nothing so far, or perhaps anything.
    pub(super) fn new(anything: bool) -> Self {
        Self { anything, ..Self::default() }
    }

    /// Notes the target of a wrong connection.
    pub(super) fn note(&mut self, tree: &Tree, group: u32, to: &Selector, eval: &Evaluator<'_>) {
        let quiet = Session::new(std::path::Path::new(""));
        let name = &to.steps[0].name.value;
        match connect::ends(tree, group, to, true, &eval.reporting_to(&quiet)) {
            Some((ends, _)) => self.ends.extend(ends),
            None => self.children.extend(tree.groups[group as usize].find(name)),
        }
    }
}

/// Reports inputs without a driver and signals with two.
pub(super) fn check(g: &Group, tree: &Tree, meant: &Meant, session: &Session) {
    // Target, place in the text, source (none for an input of the group), in path order.
    let mut drivers: Vec<(End, Option<End>, &Span)> = Vec::with_capacity(g.wires.len());
    drivers.extend(g.inputs.iter().flat_map(|p| p.ends.iter().map(|&e| (e, None, &p.span))));
    let written = g.wires.iter().filter_map(|w| Some((w.to, Some(w.from), g.span(w.connection?))));
    drivers.extend(written);
    drivers.sort_by_key(|(to, from, span)| (*to, *from, span.start));
    for pair in drivers.windows(2) {
        twice(&pair[0], &pair[1], g, tree, session);
    }
    if !meant.anything {
        missing(&drivers, g, tree, meant, session);
    }
}

type Driver<'a> = (End, Option<End>, &'a Span);

fn twice(a: &Driver<'_>, b: &Driver<'_>, g: &Group, tree: &Tree, session: &Session) {
    let (to, from, span) = *b;
    if a.0 != to {
        return;
    }
    let spec = tree.port(g.body(to), true, to.port);
    let name = format!("{}.{}", g.name_of(to), spec.name);
    if from.is_some() && a.1 == from {
        let message = format!("`{name}` is connected twice to the same output");
        let mistake = Mistake::new("duplicate-connection", span, message);
        session.report(mistake.help("delete one of the two connections"));
    } else if spec.kind == PortKind::Signal {
        let (first, second) = if a.2.start <= span.start { (a.2, span) } else { (span, a.2) };
        let message = format!("the signal `{name}` has two drivers");
        let mistake = Mistake::new("two-drivers", second, message).label("second driver");
        let mistake = if first == second { mistake } else { mistake.also(first, "first driver") };
        session.report(mistake.help("delete one, or add the two with a unit of kind \"sum\""));
    }
}

/// Whether a coupling hands the unit's own output to this input.
fn hears_itself(tree: &Tree, body: Body, input: &str) -> bool {
    let Body::Unit(unit) = body else { return false };
    let unit = &tree.units[unit as usize];
    unit.kind.hears_itself() && unit.ports.outputs.iter().any(|p| p.name == input)
}

/// Warns of a signal that keeps its start value.
fn warn(input: &str, name: &str, child: &Child, session: &Session) {
    let message = format!(
        "input `{input}` of `{name}` is not connected and keeps its start value for the whole run: add \
         \"... -> {name}.{input}\" to `connections`, or unconnected = \"ok\" to the unit if that is meant"
    );
    session.warn(&child.span, &message);
}

fn missing(drivers: &[Driver<'_>], g: &Group, tree: &Tree, meant: &Meant, session: &Session) {
    let mut next = 0;
    for (at, child) in (0u32..).zip(&g.children) {
        if meant.children.contains(&at) {
            continue;
        }
        // Members of an array are much alike: the first one stands for all.
        let mut warned = Vec::new();
        for (member, &body) in (0u32..).zip(&child.members) {
            for (port, spec) in tree.ports(body, true).into_iter().enumerate() {
                let end = End { child: at, member, port: port as u16 };
                while drivers.get(next).is_some_and(|d| d.0 < end) {
                    next += 1;
                }
                let driven = drivers.get(next).is_some_and(|d| d.0 == end);
                if driven || meant.ends.contains(&end) {
                    continue;
                }
                if spec.optional {
                    let keeps = spec.kind == PortKind::Signal
                        && !child.unconnected
                        && !hears_itself(tree, body, &spec.name)
                        && !bonds::takes(tree, body, port as u16);
                    if keeps && !warned.contains(&spec.name) {
                        warn(&spec.name, &g.name_of(end), child, session);
                        warned.push(spec.name.clone());
                    }
                    continue;
                }
                let path = dotted(&join(&g.path, &g.name_of(end)));
                let message = format!("input `{}` of `{path}` is not connected", spec.name);
                let takes = match spec.kind {
                    PortKind::Signal => "a signal",
                    PortKind::Event => "events",
                };
                let target = format!("{}.{}", g.name_of(end), spec.name);
                let help = format!("it takes {takes}: add \"... -> {target}\" to `connections`");
                session.report(Mistake::new("unconnected-input", &child.span, message).help(help));
            }
        }
    }
}
