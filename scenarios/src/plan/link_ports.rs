//! Additions of shared events to the units of a group: hidden ports and the wires between them.
use super::{
    evaluate::Evaluator,
    links::Resolved,
    parameters::{Scope, declared},
    session::Session,
    tree::{End, LinkInstance, Tree, Wire, dotted, join},
};
use crate::document::{Item, Node, Table};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    sync::Arc,
};
use superdense_models::kinds::{LinkSpec, Located, Param, PortKind, PortSpec, ValueType};

/// The additions of links to a group.
pub(super) struct Wiring<'a> {
    tree: &'a mut Tree,
    group: u32,
    session: &'a Session,
    /// The input by which a member hears an output.
    heard: HashMap<(End, u32, u32), u16>,
    /// Hidden ports by unit: inputs with start values, and outputs.
    inputs: BTreeMap<u32, BTreeMap<String, f64>>,
    outputs: BTreeMap<u32, BTreeSet<String>>,
    /// From which variable a hidden input is fed.
    feeds: BTreeSet<(End, String, End, String)>,
    pairs: BTreeSet<(End, End)>,
}

impl<'a> Wiring<'a> {
    pub(super) fn new(tree: &'a mut Tree, group: u32, session: &'a Session) -> Self {
        let heard = tree.groups[group as usize]
            .wires
            .iter()
            .map(|w| ((w.from, w.to.child, w.to.member), w.to.port))
            .collect();
        Self {
            tree,
            group,
            session,
            heard,
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            feeds: BTreeSet::new(),
            pairs: BTreeSet::new(),
        }
    }

    /// Adds the ports and wires of links that are sorted by name.
    pub(super) fn run(mut self, links: Vec<Resolved>) {
        let mut members: BTreeMap<u32, End> = BTreeMap::new();
        for link in &links {
            for at in 0..link.members.len() {
                let spec = self.spec(link, at);
                let (_, end, unit) = link.members[at];
                self.tree.units[unit as usize].links.push(spec);
                members.insert(unit, end);
            }
            for (_, a, _) in &link.members {
                let others = link.members.iter().filter(|(_, b, _)| a != b);
                self.pairs.extend(others.map(|(_, b, _)| (*a, *b)));
            }
            let path = &self.tree.groups[self.group as usize].path;
            let name = dotted(&join(path, &link.name));
            let members = link.members.iter().map(|m| m.2).collect();
            self.tree.links.push(LinkInstance { name, members });
        }
        for (&unit, &end) in &members {
            self.ports(unit, end);
        }
        self.wire();
    }

    /// The facts about a link that one member must know.
    fn spec(&mut self, link: &Resolved, at: usize) -> LinkSpec {
        let me = &link.members[at];
        let mut known_by = Vec::new();
        for (of, variable) in &link.variables {
            let (name, from, unit) = &link.members[*of as usize];
            let model = link
                .models
                .iter()
                .find(|(who, whose, v, _)| (*who, whose, v) == (at, of, variable));
            known_by.push(match model {
                _ if *of as usize == at => None,
                Some((.., by)) => Some(by.clone()),
                None => Some(self.known(me, (name, *from, *unit), variable)),
            });
        }
        let discrete = |(of, variable): &(u32, String)| {
            let unit = &self.tree.units[link.members[*of as usize].2 as usize];
            unit.kind.is_discrete(&unit.params, variable)
        };
        // Algebraic variables follow from whatever is reset.
        let resets = link.members.iter().zip(&link.resets);
        let moved = resets.flat_map(|((.., unit), resets)| {
            let solved = self.tree.units[*unit as usize].params.get("algebraic").is_some();
            resets.iter().map(move |(target, _)| (*unit, (!solved).then(|| target.value.clone())))
        });
        LinkSpec {
            discrete: link.variables.iter().map(discrete).collect(),
            units: link.members.iter().map(|(.., unit)| *unit).collect(),
            moved: moved.collect(),
            link: 0,
            name: link.name.clone(),
            member: at as u32,
            members: link.members.iter().map(|m| m.0.clone()).collect(),
            variables: link.variables.clone(),
            known_by,
            when: link.when.clone(),
            resets: link.resets.clone(),
            priority: link.priority,
            detection: link.detection[at],
            believed: link.believed,
            resets_told: link.resets_told,
        }
    }

    /// The input by which a member knows a variable of another one.
    fn known(
        &mut self,
        (_, me, my_unit): &(String, End, u32),
        (name, from, unit): (&str, End, u32),
        variable: &str,
    ) -> String {
        let sender = &self.tree.units[unit as usize];
        let carriers = sender.kind.variables(&sender.params);
        let carrier = carriers.iter().find(|(v, _)| v == variable).and_then(|(_, p)| p.as_ref());
        let port = carrier.and_then(|p| sender.ports.outputs.iter().position(|o| o.name == *p));
        if let Some(port) = port
            && let Some(&input) =
                self.heard.get(&(End { port: port as u16, ..from }, me.child, me.member))
        {
            let spec = &self.tree.units[*my_unit as usize].ports.inputs[usize::from(input)];
            if spec.kind == PortKind::Signal {
                return spec.name.clone();
            }
        }
        let input = format!("~{name}.{variable}");
        let start = self.start(unit, variable);
        self.inputs.entry(*my_unit).or_default().insert(input.clone(), start);
        self.outputs.entry(unit).or_default().insert(variable.to_owned());
        self.feeds.insert((from, variable.to_owned(), *me, input.clone()));
        input
    }

    /// The start value of a variable, as far as the plan can tell.
    fn start(&self, unit: u32, variable: &str) -> f64 {
        let unit = &self.tree.units[unit as usize];
        let table = |name: &str| match unit.params.get(name).map(|p| &p.value) {
            Some(Param::Table(entries)) => entries.as_slice(),
            _ => &[],
        };
        let mut own = Table::default();
        for (key, value) in table("parameters") {
            own.entries.push((key.clone(), node_of(value)));
        }
        // Mistakes in these texts are the kind's to report.
        let quiet = Session::new(std::path::Path::new(""));
        let scope = Scope::new(&declared(&own), Some(Rc::clone(&unit.scope)));
        let index = unit.index.map(|i| ("i", f64::from(i)));
        let eval = Evaluator::new(&quiet, &scope, index.as_slice());
        let lists = ["states", "discrete", "inputs"].iter().flat_map(|t| table(t));
        let entry = lists.into_iter().find(|(key, _)| key.value == variable);
        entry.and_then(|(_, v)| eval.number(&node_of(v), "")).map_or(0.0, |n| n.value)
    }

    /// Adds the hidden ports and `~link` to a unit, and moves its wires to the new numbers.
    fn ports(&mut self, unit: u32, end: End) {
        let u = &mut self.tree.units[unit as usize];
        let old = Arc::clone(&u.ports);
        let (inputs, outputs) = (self.inputs.get(&unit), self.outputs.get(&unit));
        if inputs.is_some() || outputs.is_some() {
            let at = |p| Located::new(p, u.span.clone());
            let mut params = (*u.params).clone();
            let entry = |(name, start): (&String, &f64)| {
                (Located::new(name.clone(), u.span.clone()), at(Param::Real(*start)))
            };
            if let Some(inputs) = inputs {
                let table = Param::Table(inputs.iter().map(entry).collect());
                params.values.push(("~inputs".into(), at(table)));
            }
            let entry = |v: &String| {
                (Located::new(format!("~{v}"), u.span.clone()), at(Param::Text(v.clone())))
            };
            if let Some(outputs) = outputs {
                let table = Param::Table(outputs.iter().map(entry).collect());
                params.values.push(("~outputs".into(), at(table)));
            }
            u.params = Rc::new(params);
        }
        let mut ports = match u.kind.ports(&u.params) {
            Ok(ports) => ports,
            Err(errors) => {
                let path = dotted(&u.path);
                self.session.unit_errors(&u.span, &path, errors);
                (*old).clone()
            }
        };
        for list in [&mut ports.inputs, &mut ports.outputs] {
            if !list.iter().any(|p| p.name == "~link") {
                list.push(PortSpec::event("~link", ValueType::Link).optional());
            }
        }
        let place = |list: &[PortSpec], name: &str| list.iter().position(|p| p.name == name);
        let moved = |old: &[PortSpec], new: &[PortSpec], port: u16| {
            old.get(usize::from(port)).and_then(|p| place(new, &p.name)).map_or(port, |p| p as u16)
        };
        let group = &mut self.tree.groups[self.group as usize];
        let mine = |e: &End| (e.child, e.member) == (end.child, end.member);
        for w in &mut group.wires {
            if mine(&w.from) {
                w.from.port = moved(&old.outputs, &ports.outputs, w.from.port);
            }
            if mine(&w.to) {
                w.to.port = moved(&old.inputs, &ports.inputs, w.to.port);
            }
        }
        for e in group.inputs.iter_mut().flat_map(|p| &mut p.ends).filter(|e| mine(e)) {
            e.port = moved(&old.inputs, &ports.inputs, e.port);
        }
        for e in group.outputs.iter_mut().flat_map(|p| &mut p.ends).filter(|e| mine(e)) {
            e.port = moved(&old.outputs, &ports.outputs, e.port);
        }
        u.ports = Arc::new(ports);
    }

    fn wire(&mut self) {
        let port = |tree: &Tree, end: End, input: bool, name: &str| {
            let port = tree.port_number(tree.groups[self.group as usize].body(end), input, name)?;
            Some(End { port, ..end })
        };
        let mut wires = Vec::new();
        for (from, variable, to, input) in &self.feeds {
            let from = port(self.tree, *from, false, &format!("~{variable}"));
            wires.push((from, port(self.tree, *to, true, input)));
        }
        for (a, b) in &self.pairs {
            wires.push((port(self.tree, *a, false, "~link"), port(self.tree, *b, true, "~link")));
        }
        let g = &mut self.tree.groups[self.group as usize];
        for (from, to) in wires {
            if let (Some(from), Some(to)) = (from, to) {
                g.wires.push(Wire { from, to, connection: None });
            }
        }
    }
}

fn node_of(p: &Located<Param>) -> Node {
    let item = match &p.value {
        Param::Real(x) => Item::Real(*x, None),
        Param::Int(i) => Item::Int(*i),
        Param::Bool(b) => Item::Bool(*b),
        Param::Text(t) => Item::Text(t.clone()),
        _ => Item::Date,
    };
    Node { item, span: p.span.clone() }
}
