//! Signals of parts, led to the unit that they became parts of.
//!
//! A part may stand deep in instances of templates, and the unit of which it is a part further out. Level by level the
//! ends of its wires move out, and a new port of the group carries each signal that crosses its border.
use super::super::{
    session::Session,
    tree::{Body, Child, End, Group, GroupPort, Tree, Wire},
};
use crate::{diagnostics::Mistake, source::Span};
use std::sync::Arc;
use superdense_models::kinds::PortSpec;

/// Where parts and groups stand, and where parts are to go.
pub(super) struct Places {
    /// Per group: its group and its place there; the scenario has none.
    parent: Vec<Option<(u32, End)>>,
    /// Per part: its group.
    pub group: Vec<u32>,
    /// Per part: the group and the child of the unit that it became a part of.
    pub home: Vec<(u32, u32)>,
}

impl Places {
    pub(super) fn new(tree: &Tree) -> Self {
        let mut places = Self {
            parent: vec![None; tree.groups.len()],
            group: vec![0; tree.parts.len()],
            home: vec![(0, 0); tree.parts.len()],
        };
        for (at, g) in (0u32..).zip(&tree.groups) {
            for (end, body) in bodies(g) {
                match body {
                    Body::Group(inner) => places.parent[inner as usize] = Some((at, end)),
                    Body::Part(part) => places.group[part as usize] = at,
                    Body::Unit(_) => {}
                }
            }
        }
        places
    }

    /// The groups from one out to another, both included.
    pub(super) fn up(&self, from: u32, to: u32) -> Vec<u32> {
        let out =
            |at: &u32| self.parent[*at as usize].map(|(outer, _)| outer).filter(|_| *at != to);
        std::iter::successors(Some(from), out).collect()
    }

    /// The innermost group around parts.
    pub(super) fn common(&self, parts: &[u32]) -> u32 {
        let mut groups = parts.iter().map(|part| self.up(self.group[*part as usize], u32::MAX));
        let first = groups.next().unwrap_or_default();
        let others: Vec<Vec<u32>> = groups.collect();
        let common = |g: &&u32| others.iter().all(|up| up.contains(g));
        first.iter().find(common).copied().unwrap_or(0)
    }
}

fn bodies(g: &Group) -> Vec<(End, Body)> {
    let mut all = Vec::new();
    for (child, c) in (0u32..).zip(&g.children) {
        all.extend(
            (0u32..).zip(&c.members).map(|(member, body)| (End { child, member, port: 0 }, *body)),
        );
    }
    all
}

/// Leads all wires of parts to their homes.
pub(super) fn rewire(tree: &mut Tree, places: &Places, session: &Session) {
    // Groups come before those in them.
    for at in (0..tree.groups.len() as u32).rev() {
        let parts: Vec<(End, u32)> = bodies(&tree.groups[at as usize])
            .into_iter()
            .filter_map(
                |(end, body)| if let Body::Part(part) = body { Some((end, part)) } else { None },
            )
            .collect();
        for (end, part) in parts {
            if places.home[part as usize].0 != at
                && let Some((outer, own)) = places.parent[at as usize]
            {
                hoist(tree, (at, end), (outer, own), part);
            }
        }
        home(tree, at, places, session);
    }
}

/// Whether an end is at a child.
fn at(end: End, child: End) -> bool {
    (end.child, end.member) == (child.child, child.member)
}

/// Moves the ends at a part of a group out, to a child of the outer group that stands for it there.
fn hoist(tree: &mut Tree, (group, part_end): (u32, End), (outer, own): (u32, End), part: u32) {
    let ports = Arc::clone(&tree.parts[part as usize].ports);
    let g = &mut tree.groups[group as usize];
    let name = format!("{}~{}", g.path, g.name_of(part_end));
    let span = g.children[part_end.child as usize].span.clone();
    let mut wires: Vec<Wire> = Vec::new();
    let proxy = |port: u16| End { child: u32::MAX, member: 0, port };
    let border = |port: usize| End { port: port as u16, ..own };
    for wire in std::mem::take(&mut g.wires) {
        if at(wire.from, part_end) {
            let spec = ports.outputs[usize::from(wire.from.port)].clone();
            g.inputs.push(crossing(part, spec, wire.to, &span));
            wires.push(Wire {
                from: proxy(wire.from.port),
                to: border(g.inputs.len() - 1),
                connection: None,
            });
        } else if at(wire.to, part_end) {
            let spec = ports.inputs[usize::from(wire.to.port)].clone();
            g.outputs.push(crossing(part, spec, wire.from, &span));
            wires.push(Wire {
                from: border(g.outputs.len() - 1),
                to: proxy(wire.to.port),
                connection: None,
            });
        } else {
            g.wires.push(wire);
        }
    }
    // Ports of the group that lead to the part, by their numbers, with ports of the part.
    let mut inputs: Vec<(usize, u16)> = Vec::new();
    for (k, input) in g.inputs.iter_mut().enumerate() {
        inputs.extend(input.ends.iter().filter(|end| at(**end, part_end)).map(|end| (k, end.port)));
        input.ends.retain(|end| !at(*end, part_end));
    }
    let led = |(k, output): (usize, &GroupPort)| {
        output.ends.first().filter(|end| at(**end, part_end)).map(|end| (k, end.port))
    };
    let outputs: Vec<(usize, u16)> = g.outputs.iter().enumerate().filter_map(led).collect();
    let place = place(&mut tree.groups[outer as usize], part, &name, span);
    let proxy = |end: End| if end.child == u32::MAX { End { child: place, ..end } } else { end };
    let o = &mut tree.groups[outer as usize];
    for wire in &mut o.wires {
        if let Some((_, port)) = outputs.iter().find(|(k, _)| wire.from == border(*k)) {
            wire.from = End { child: place, member: 0, port: *port };
        }
    }
    for (k, port) in inputs {
        let inner = End { child: place, member: 0, port };
        let same = o.wires.iter().filter(|wire| wire.to == border(k));
        wires.extend(same.map(|wire| Wire { to: inner, ..*wire }).collect::<Vec<_>>());
        for input in o.inputs.iter_mut().filter(|input| input.ends.contains(&border(k))) {
            input.ends.push(inner);
        }
    }
    for output in &mut o.outputs {
        if let Some((_, port)) =
            outputs.iter().find(|(k, _)| output.ends.first() == Some(&border(*k)))
        {
            output.ends = vec![End { child: place, member: 0, port: *port }];
        }
    }
    o.wires.extend(wires.into_iter().map(|w| Wire { from: proxy(w.from), to: proxy(w.to), ..w }));
}

/// A child of the outer group that stands for a part.
fn place(outer: &mut Group, part: u32, name: &str, span: Span) -> u32 {
    outer.children.push(Child::added(name, Body::Part(part), span));
    outer.children.len() as u32 - 1
}

/// A port by which a signal of a part crosses the border of a group.
fn crossing(part: u32, mut spec: PortSpec, end: End, span: &Span) -> GroupPort {
    spec.name = format!("~{part}.{}.{}.{}.{}", spec.name, end.child, end.member, end.port);
    spec.optional = true;
    GroupPort { spec, span: span.clone(), ends: vec![end] }
}

/// Ends at parts that are at home in a group become ends at their unit.
fn home(tree: &mut Tree, group: u32, places: &Places, session: &Session) {
    let g = &tree.groups[group as usize];
    let led = |end: End, input: bool| match g.body(end) {
        Body::Part(part) if places.home[part as usize].0 == group => {
            let port = tree.at_home(part, input, end.port).map_or(0, |(_, port)| port);
            End { child: places.home[part as usize].1, member: 0, port }
        }
        _ => end,
    };
    let mut wires: Vec<Wire> = Vec::with_capacity(g.wires.len());
    for wire in &g.wires {
        let new = Wire { from: led(wire.from, false), to: led(wire.to, true), ..*wire };
        if new.to.child == new.from.child && (new.from, new.to) != (wire.from, wire.to) {
            let span =
                wire.connection.map_or(&g.children[wire.from.child as usize].span, |c| g.span(c));
            let message = "this signal leads from a part of a whole to a part of the same";
            let help = "units that are joined are one unit, which cannot be its own input: join the parts by a connector, \
                        or put a unit between, such as a `delay`";
            session.report(Mistake::new("self-loop", span, message).help(help));
        }
        wires.push(new);
    }
    let ends = |ports: &[GroupPort], input: bool| -> Vec<Vec<End>> {
        ports.iter().map(|port| port.ends.iter().map(|end| led(*end, input)).collect()).collect()
    };
    let (inputs, outputs) = (ends(&g.inputs, true), ends(&g.outputs, false));
    let g = &mut tree.groups[group as usize];
    g.wires = wires;
    g.inputs.iter_mut().zip(inputs).for_each(|(port, ends)| port.ends = ends);
    g.outputs.iter_mut().zip(outputs).for_each(|(port, ends)| port.ends = ends);
}
