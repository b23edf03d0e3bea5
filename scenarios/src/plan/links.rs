//! Shared events: what each member must know, and the wires over which they agree.
//!
//! A member gets, behind the ports of its kind, one event input and one event output `~link`, and
//! all members' outputs lead to all others' inputs. A variable of another member that the link
//! uses must be known between exchanges: by a connection that carries exactly this variable where
//! there is one, else by a hidden pair of ports. For these the plan adds to the parameters of the
//! units the tables `~outputs` (port name = variable) and `~inputs` (port name = start value) and
//! asks the kind for its ports again.
use super::{
    connect,
    declare::LinkDecl,
    parameters::{Evaluator, Scope},
    session::{Session, did_you_mean},
    tree::{Body, End, LinkInstance, Tree, Wire, dotted, join},
};
use crate::{diagnostics::Mistake, document::Item, document::Node, document::Table};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    sync::Arc,
};
use superdense_models::{
    expr::{self, Condition, Expr, Symbol, VarId},
    registry::{LinkSpec, Located, Param, PortKind, PortSpec, ValueType},
};

/// A link whose members are known.
struct Resolved {
    name: String,
    priority: i64,
    /// Name in the texts, child and member, unit; in path order.
    members: Vec<(String, End, u32)>,
    variables: Vec<(u32, String)>,
    when: Located<String>,
    resets: Vec<Vec<(Located<String>, Located<String>)>>,
}

/// Plans the links of a group.
pub(super) fn link(tree: &mut Tree, group: u32, session: &Session) {
    let decl = Rc::clone(&tree.groups[group as usize].decl);
    if decl.links.is_empty() {
        return;
    }
    let mut names = BTreeSet::new();
    let mut links = Vec::new();
    for link in &decl.links {
        if !names.insert(&link.name.value) {
            let message = format!("there are two links `{}`", link.name.value);
            let mistake = Mistake::new("duplicate-name", &link.name.span, message);
            session.report(mistake.help("rename one of them"));
        }
        links.extend(resolve(tree, group, link, session));
    }
    links.sort_by(|a, b| a.name.cmp(&b.name));
    Wiring::new(tree, group, session).run(links);
}

fn resolve(tree: &Tree, group: u32, link: &LinkDecl, session: &Session) -> Option<Resolved> {
    let g = &tree.groups[group as usize];
    let scope = Rc::clone(&g.scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let refuse = |span, message: String, help: &str| {
        session.report(Mistake::new("link", span, message).help(help));
        None
    };
    let mut members: Vec<(String, End, u32)> = Vec::new();
    for (step, text) in &link.units {
        let (child, found) = connect::members(g, step, &eval)?;
        for member in found {
            let end = End { child, member, port: 0 };
            let name = g.name_of(end);
            let Body::Unit(unit) = g.body(end) else {
                let help = "links join units, not groups: put the link into the template";
                return refuse(&text.span, format!("`{name}` is a group"), help);
            };
            let kind = tree.units[unit as usize].kind;
            if !kind.is_continuous() {
                let message =
                    format!("`{name}` is of kind \"{}\", which is not continuous", kind.name());
                return refuse(&text.span, message, "only continuous units take part in links");
            }
            if members.iter().any(|(_, e, _)| *e == end) {
                return refuse(&text.span, format!("`{name}` is named twice"), "name it once");
            }
            members.push((name, end, unit));
        }
    }
    if members.len() < 2 {
        let message = format!("link `{}` has no partner", link.name.value);
        let span = link.units.first().map_or(&link.name.span, |(_, t)| &t.span);
        return refuse(span, message, "name at least two units: units = [\"a\", \"b\"]");
    }
    members.sort_by_key(|(_, end, _)| *end);
    let known: Vec<BTreeMap<String, Option<String>>> = members
        .iter()
        .map(|(_, _, u)| {
            let unit = &tree.units[*u as usize];
            unit.kind.variables(&unit.params).into_iter().collect()
        })
        .collect();
    let names = Names { eval: &eval, members: &members, known: &known, used: RefCell::default() };
    let mut good = true;
    if let Err(errors) = Condition::parse(&link.when.value, &names) {
        session.expression(&link.when, &errors);
        good = false;
    }
    let mut resets = vec![Vec::new(); members.len()];
    for (target, text) in &link.reset {
        if let Err(errors) = Expr::parse(&text.value, &names) {
            session.expression(text, &errors);
            good = false;
        }
        match names.split(&target.value) {
            Some((member, variable)) if known[member].contains_key(variable) => {
                let variable = Located::new(variable.to_owned(), target.span.clone());
                resets[member].push((variable, text.clone()));
            }
            _ => {
                let all = names.all();
                let message =
                    format!("link `{}` resets the unknown `{}`", link.name.value, target.value);
                let help = did_you_mean(&target.value, all.iter().map(String::as_str), "variables");
                session.report(Mistake::new("link", &target.span, message).help(help));
                good = false;
            }
        }
    }
    let priority = match &link.priority {
        Some(node) => eval.whole(node, "`priority`")?,
        None => 0,
    };
    let variables: Vec<(u32, String)> = names.used.into_inner().into_iter().collect();
    if good && variables.is_empty() {
        let message = format!("link `{}` uses no variable of its members", link.name.value);
        return refuse(&link.when.span, message, "compare variables, as in \"a.x >= b.x\"");
    }
    let name = link.name.value.clone();
    good.then_some(Resolved { name, priority, members, variables, when: link.when.clone(), resets })
}

/// Names in the texts of a link: constants, and `unit.variable`.
struct Names<'a> {
    eval: &'a Evaluator<'a>,
    members: &'a [(String, End, u32)],
    known: &'a [BTreeMap<String, Option<String>>],
    used: RefCell<BTreeSet<(u32, String)>>,
}

impl Names<'_> {
    fn split<'n>(&self, name: &'n str) -> Option<(usize, &'n str)> {
        let (unit, variable) = name.rsplit_once('.')?;
        Some((self.members.iter().position(|(n, _, _)| n == unit)?, variable))
    }
    fn all(&self) -> Vec<String> {
        let pairs = self.members.iter().zip(self.known);
        pairs.flat_map(|((n, _, _), v)| v.keys().map(move |v| format!("{n}.{v}"))).collect()
    }
}

impl expr::Scope for Names<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        if let Some((member, variable)) = self.split(name)
            && self.known[member].contains_key(variable)
        {
            self.used.borrow_mut().insert((member as u32, variable.to_owned()));
            return Some(Symbol::Var(VarId(0)));
        }
        self.eval.constant(name).map(Symbol::Const)
    }
    fn names(&self) -> Vec<&str> {
        // Borrowed from the maps, so that the suggestion can be a variable.
        self.known.iter().flat_map(|k| k.keys().map(String::as_str)).collect()
    }
}

/// What links add to a group.
struct Wiring<'a> {
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
    fn new(tree: &'a mut Tree, group: u32, session: &'a Session) -> Self {
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

    fn run(mut self, links: Vec<Resolved>) {
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
        self.wire(&links);
    }

    /// What one member must know about a link.
    fn spec(&mut self, link: &Resolved, at: usize) -> LinkSpec {
        let me = &link.members[at];
        let mut known_by = Vec::new();
        for (of, variable) in &link.variables {
            let (name, from, unit) = &link.members[*of as usize];
            known_by.push(if *of as usize == at {
                None
            } else {
                Some(self.known(me, (name, *from, *unit), variable))
            });
        }
        LinkSpec {
            link: 0,
            name: link.name.clone(),
            member: at as u32,
            members: link.members.iter().map(|m| m.0.clone()).collect(),
            variables: link.variables.clone(),
            known_by,
            when: link.when.clone(),
            reset: link.resets[at].clone(),
            priority: link.priority,
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
        let scope = Scope::of_table(&own, Some(Rc::clone(&unit.scope)));
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

    fn wire(&mut self, links: &[Resolved]) {
        let g = &mut self.tree.groups[self.group as usize];
        let span = g.spans.len() as u32;
        g.spans.push(links.first().map_or(0..0, |l| l.when.span.clone()));
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
                g.wires.push(Wire { from, to, span });
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

/// Numbers the links of a finished tree in the order of their names.
pub(super) fn number(tree: &mut Tree) {
    tree.links.sort_by(|a, b| a.name.cmp(&b.name));
    let names: HashMap<String, u32> =
        tree.links.iter().enumerate().map(|(i, l)| (l.name.clone(), i as u32)).collect();
    let members: BTreeSet<u32> = tree.links.iter().flat_map(|l| l.members.clone()).collect();
    for unit in members {
        let unit = &mut tree.units[unit as usize];
        let parent = unit.path.rsplit_once('/').map_or("", |(p, _)| p).to_owned();
        for spec in &mut unit.links {
            let full = dotted(&join(&parent, &spec.name));
            spec.link = names.get(&full).copied().unwrap_or(0);
            // A link of a template has one name per instance.
            spec.name = full;
        }
    }
}
