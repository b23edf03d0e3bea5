//! Declarations into instances: arrays, templates, parameters, ports.
use super::{
    bonds, connect, convert, coupling,
    declare::{Declarations, GroupDecl, Of, PortDecl, UnitDecl},
    evaluate::Evaluator,
    joints, links,
    parameters::{Number, Scope, flatten},
    session::{Session, did_you_mean},
    size,
    tree::{Body, Child, Group, GroupPort, Tree, Unit, dotted, join, member_name},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use std::{cmp::Reverse, collections::BTreeSet, rc::Rc, sync::Arc};
use superdense_models::{
    kinds::{Param, Params, PortKind, PortSpec, Ports, UnitKind},
    maths::quantity::Quantity,
};

/// Most units of a scenario.
pub(super) const MAX_UNITS: usize = 500_000;
/// The weight of a continuous unit: solver and formulas take so many times the space of a block.
pub(super) const CONTINUOUS: u64 = 20;
/// Below it a relative tolerance is that of rounding.
const LEAST_TOLERANCE: f64 = 1e-14;
/// Deepest nesting of templates.
pub(super) const MAX_DEPTH: usize = 32;

/// Makes all instances. Group 0 is the scenario.
pub(super) fn expand(declarations: &Declarations, session: &Session) -> Tree {
    let scope = Rc::new(Scope::new(&declarations.root.parameters, None));
    scope.check(session);
    let mut e = Expander {
        declarations,
        session,
        tree: Tree::default(),
        open: Vec::new(),
        used: BTreeSet::new(),
        full: false,
    };
    e.measure(&declarations.root, [&scope, &scope]);
    e.group(String::new(), &declarations.root, Rc::clone(&scope));
    let mut tree = std::mem::take(&mut e.tree);
    e.check_unused(&scope);
    joints::unite(&mut tree, session);
    bonds::loose(&tree, session);
    links::number(&mut tree);
    tree
}

pub(super) struct Expander<'a> {
    declarations: &'a Declarations,
    pub session: &'a Session,
    pub tree: Tree,
    /// Templates around the current one.
    open: Vec<String>,
    used: BTreeSet<String>,
    /// There are too many units, or templates without end, which has been reported.
    full: bool,
}

impl Expander<'_> {
    /// An instance of a group with everything in it; the index of the group.
    fn group(&mut self, path: String, decl: &Rc<GroupDecl>, scope: Rc<Scope>) -> u32 {
        let at = self.tree.groups.len() as u32;
        self.tree.groups.push(Group {
            path: path.clone(),
            decl: Rc::clone(decl),
            scope: Rc::clone(&scope),
            children: Vec::new(),
            declared: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            connectors: Vec::new(),
            bonds: Vec::new(),
            wires: Vec::new(),
        });
        // In path order, so that units get their numbers independently of the text's order.
        let mut order: Vec<&UnitDecl> = decl.units.iter().collect();
        order.sort_by(|a, b| a.name.value.cmp(&b.name.value));
        let mut children = Vec::with_capacity(order.len());
        for unit in order {
            children.push(self.child(&path, unit, &scope));
        }
        let group = &mut self.tree.groups[at as usize];
        group.declared = children.len();
        group.children = children;
        if let Some(federate) = &decl.federate {
            super::federate::insert(&mut self.tree, federate, self.session);
        }
        let inputs = decl.inputs.iter().filter_map(|p| self.port(at, p, true)).collect();
        let outputs = decl.outputs.iter().filter_map(|p| self.port(at, p, false)).collect();
        let group = &mut self.tree.groups[at as usize];
        (group.inputs, group.outputs) = (inputs, outputs);
        joints::exports(&mut self.tree, at, &decl.connectors, self.session);
        joints::resolve(&mut self.tree, at, self.session);
        connect::connect(&mut self.tree, at, self.session);
        links::link(&mut self.tree, at, self.session);
        coupling::couple(&mut self.tree, at, self.session);
        at
    }

    fn child(&mut self, path: &str, unit: &UnitDecl, scope: &Rc<Scope>) -> Child {
        let mut child = Child {
            name: unit.name.value.as_str().into(),
            array: unit.count.is_some(),
            members: Vec::new(),
            wrong: true,
            unconnected: unit.unconnected,
            span: unit.name.span.clone(),
        };
        let eval = Evaluator::new(self.session, scope, &[]);
        let count = match &unit.count {
            Some(node) if child.array => match eval.whole(node, "`count`") {
                Some(n) if n < 0 => {
                    let message = format!("`count` is {n}");
                    let mistake = Mistake::new("bad-count", &node.span, message);
                    self.session.report(mistake.help("an array has zero or more members"));
                    return child;
                }
                Some(n) => n as u64,
                None => return child,
            },
            _ => 1,
        };
        if self.full {
            return child;
        }
        match &unit.of {
            Of::Kind(kind) => self.units(*kind, path, unit, scope, count, &mut child),
            Of::Template(_) => self.instances(path, unit, scope, count, &mut child),
            Of::Unknown => return child,
        }
        child.wrong = (child.members.len() as u64) < count;
        child
    }

    /// Refuses a group that would have too many units.
    fn measure(&mut self, group: &GroupDecl, scopes: [&Rc<Scope>; 2]) {
        let size = size::of(self.declarations, group, scopes, self.session);
        if let Some(template) = size.deep {
            self.full = true;
            let message = format!("`{}` is a template in {MAX_DEPTH} others", template.value);
            let mistake = Mistake::new("template-cycle", &template.span, message);
            self.session.report(mistake.help("nest templates less deep, or use arrays"));
            return;
        }
        let total = size.total;
        let Some(unit) = size.largest.filter(|_| total > MAX_UNITS as u64) else { return };
        self.full = true;
        let name = &unit.name.value;
        let message = match total {
            u64::MAX => format!("with `{name}` the scenario has more units than can be counted"),
            _ => format!(
                "with `{name}` the scenario has {total} units, more than 500 thousand (a continuous \
                 unit counts as {CONTINUOUS})"
            ),
        };
        let span = unit.count.as_ref().map_or(&unit.name.span, |n| &n.span);
        let help = "choose smaller values of `count`; templates in templates multiply; arrays of states \
                    in one unit take less";
        self.session.report(Mistake::new("too-large", span, message).help(help));
    }

    fn units(
        &mut self,
        kind: &'static dyn UnitKind,
        path: &str,
        unit: &UnitDecl,
        scope: &Rc<Scope>,
        count: u64,
        child: &mut Child,
    ) {
        let mut shared: Option<(Rc<Params>, Arc<Ports>)> = None;
        let mut last: Option<Arc<Ports>> = None;
        for i in 0..count as u32 {
            let name = join(path, &member_name(child, i));
            if shared.is_none() {
                let locals = [("i", f64::from(i))];
                let locals = if child.array { &locals[..] } else { &[] };
                let eval = Evaluator::new(self.session, scope, locals);
                let made = self.make(kind, &name, unit, &eval);
                let Some(mut made) = made else {
                    child.members.clear();
                    return;
                };
                // Parameters differ between the members; ports seldom do.
                match &last {
                    Some(ports) if *ports == made.1 => made.1 = Arc::clone(ports),
                    _ => last = Some(Arc::clone(&made.1)),
                }
                if eval.varies.get() {
                    self.push(kind, name, made, scope, child, unit, i);
                    continue;
                }
                shared = Some(made);
            }
            if let Some(made) = shared.clone() {
                self.push(kind, name, made, scope, child, unit, i);
            }
        }
    }

    fn make(
        &self,
        kind: &'static dyn UnitKind,
        name: &str,
        unit: &UnitDecl,
        eval: &Evaluator<'_>,
    ) -> Option<(Rc<Params>, Arc<Ports>)> {
        let mut params = convert::params(kind, unit, eval)?;
        if let Some(node) = &unit.bond
            && bonds::is_known(&self.tree, kind.name(), name)
        {
            let own = kind.elaborate(params.clone(), &|name| eval.constant(name));
            let own = own.and_then(|params| kind.ports_in(&params, &self.session.folder));
            // Mistakes are reported below.
            if let Ok(ports) = own {
                let bonds = bonds::declared(node, (&dotted(name), &ports), self.session);
                params = bonds::reduced(params, &bonds, &ports);
            }
        }
        if kind.accuracy().contains(&"tolerance") {
            self.check_tolerance(unit, &params);
        }
        let made = kind
            .elaborate(params, &|name| eval.constant(name))
            .and_then(|params| Ok((kind.ports_in(&params, &self.session.folder)?, params)));
        match made {
            Ok((ports, params)) => Some((Rc::new(params), Arc::new(ports))),
            Err(errors) => {
                self.session.unit_errors(&unit.name.span, &dotted(name), errors);
                None
            }
        }
    }

    /// Refuses relative tolerances that no method can keep, or that mean nothing.
    fn check_tolerance(&self, unit: &UnitDecl, params: &Params) {
        let Some(Param::Real(tolerance)) = params.get("tolerance").map(|p| &p.value) else {
            return;
        };
        if !(LEAST_TOLERANCE..1.0).contains(tolerance) {
            let at = unit.keys.iter().find(|(key, _)| key.value == "tolerance");
            let span = at.map_or(&unit.name.span, |(_, node)| &node.span);
            let message = format!("`tolerance` is {tolerance:?}");
            let help = "a relative tolerance is at least 1e-14, what doubles allow, and below 1";
            self.session.report(Mistake::new("bad-tolerance", span, message).help(help));
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one caller, two call sites")]
    fn push(
        &mut self,
        kind: &'static dyn UnitKind,
        path: String,
        (params, ports): (Rc<Params>, Arc<Ports>),
        scope: &Rc<Scope>,
        child: &mut Child,
        unit: &UnitDecl,
        i: u32,
    ) {
        let has_connectors = match kind.connectors(&params) {
            Ok(all) => !all.is_empty(),
            Err(errors) => {
                self.session.unit_errors(&unit.name.span, &dotted(&path), errors);
                true
            }
        };
        if let Some(node) = unit.bond.as_ref().filter(|_| has_connectors)
            && !bonds::is_known(&self.tree, kind.name(), &path)
        {
            let message = format!("`{}` has connectors and bonds under a coupling", dotted(&path));
            let help =
                "connectors are solved by equations, bonds by trying steps out: keep one of both";
            self.session.report(Mistake::new("bond", &node.span, message).help(help));
        }
        let (units, body): (_, fn(u32) -> Body) = match has_connectors {
            true => (&mut self.tree.parts, Body::Part),
            false => (&mut self.tree.units, Body::Unit),
        };
        let locals = [("i", f64::from(i))];
        let eval = Evaluator::new(self.session, scope, if child.array { &locals } else { &[] });
        let wcet = unit.wcet.as_ref().and_then(|node| eval.seconds(node, "`wcet`"));
        let own = unit.bond.as_ref().filter(|_| !has_connectors);
        let bonds = own.map_or_else(Vec::new, |node| {
            bonds::declared(node, (&dotted(&path), &ports), self.session)
        });
        child.members.push(body(units.len() as u32));
        units.push(Unit {
            path,
            kind,
            params,
            ports,
            scope: Rc::clone(scope),
            index: child.array.then_some(i),
            span: unit.name.span.clone(),
            hidden: false,
            wcet,
            bonds,
            links: Vec::new(),
        });
    }

    /// Refuses keys of a unit in an instance of a template.
    fn refuse_own_keys(&self, unit: &UnitDecl) {
        if let Some(node) = &unit.bond {
            let message = "`bond` is that of a unit, not of a template's instance";
            let help = "write it in a unit of the template, and give the template a connector: connectors = { \
                        flange = \"unit.flange\" }";
            self.session.report(Mistake::new("bond", &node.span, message).help(help));
        }
        if let Some(node) = &unit.wcet {
            let message = "`wcet` is that of a unit, not of a template's instance";
            let mistake = Mistake::new("bad-wcet", &node.span, message);
            self.session.report(mistake.help("write it in the units of the template"));
        }
    }

    fn instances(
        &mut self,
        path: &str,
        unit: &UnitDecl,
        scope: &Rc<Scope>,
        count: u64,
        child: &mut Child,
    ) {
        let Of::Template(template) = &unit.of else { return };
        self.refuse_own_keys(unit);
        let Some((_, decl)) = self.declarations.templates.get(&template.value) else {
            let known = self.declarations.templates.keys().map(String::as_str);
            let help = did_you_mean(&template.value, known, "templates");
            let message = format!("there is no template `{}`", template.value);
            let mistake = Mistake::new("unknown-template", &template.span, message);
            self.session.report(mistake.help(help));
            return;
        };
        let decl = Rc::clone(decl);
        self.used.insert(template.value.clone());
        if let Some(from) = self.open.iter().position(|open| *open == template.value) {
            // A template that holds this twice would bring it here twice as often on each level.
            self.full = true;
            let ring = self.open[from..].iter().chain([&template.value]);
            let ring: Vec<&str> = ring.map(String::as_str).collect();
            let message = format!("templates contain themselves: {}", ring.join(" -> "));
            let help = format!("a template cannot hold itself; nesting ends at {MAX_DEPTH} levels");
            self.session.report(Mistake::new("template-cycle", &template.span, message).help(help));
            return;
        }
        self.open.push(template.value.clone());
        let mut shared: Option<Rc<Scope>> = None;
        for i in 0..count as u32 {
            if self.full {
                break;
            }
            let name = join(path, &member_name(child, i));
            let inner = match &shared {
                Some(s) => Rc::clone(s),
                None => {
                    let locals = [("i", f64::from(i))];
                    let locals = if child.array { &locals[..] } else { &[] };
                    let eval = Evaluator::new(self.session, scope, locals);
                    let inner = Rc::new(scope_of(
                        &self.tree.groups[0].scope,
                        self.session,
                        &decl,
                        unit,
                        &eval,
                    ));
                    if !eval.varies.get() {
                        shared = Some(Rc::clone(&inner));
                    }
                    inner
                }
            };
            let before = self.session.sink.len();
            let group = self.group(name, &decl, inner);
            child.members.push(Body::Group(group));
            if self.session.sink.len() > before {
                // The other members would repeat the mistakes.
                break;
            }
        }
        self.open.pop();
        if child.members.len() < count as usize {
            child.members.clear();
        }
    }

    /// A port of a group, with the specification of what it leads to.
    fn port(&self, group: u32, decl: &PortDecl, input: bool) -> Option<GroupPort> {
        let g = &self.tree.groups[group as usize];
        let mut ends = Vec::new();
        for selector in &decl.ends {
            let eval = Evaluator::new(self.session, &g.scope, &[]);
            ends.extend(connect::ends(&self.tree, group, selector, input, &eval)?.0);
        }
        let specs = || ends.iter().map(|&e| self.tree.port(g.body(e), input, e.port));
        let first = specs().next()?;
        if let Some(other) = specs().find(|s| s.kind != first.kind || !s.ty.fits(first.ty)) {
            let what = |s: &PortSpec| match s.kind {
                PortKind::Signal => "a signal".to_owned(),
                PortKind::Event => format!("events of type {}", s.ty.name()),
            };
            let (a, b) = (what(first), what(other));
            let message = format!("port `{}` leads to {a} and to {b}", decl.name.value);
            let mistake = Mistake::new("port-mismatch", &decl.name.span, message);
            self.session.report(mistake.help("give the group one port for each of them"));
            return None;
        }
        let mut spec = first.clone();
        spec.optional = specs().all(|s| s.optional);
        spec.name.clone_from(&decl.name.value);
        Some(GroupPort { spec, span: decl.name.span.clone(), ends })
    }

    /// Templates that nobody uses are checked with their defaults.
    fn check_unused(&mut self, scope: &Rc<Scope>) {
        let declarations = self.declarations;
        let mut unused = Vec::new();
        for (name, (_, decl)) in &declarations.templates {
            if !self.used.contains(name) {
                let inner = Rc::new(Scope::new(&decl.parameters, Some(Rc::clone(scope))));
                let size = size::of(declarations, decl, [scope, &inner], self.session);
                unused.push((Reverse(size.total), name, decl, inner));
            }
        }
        // The largest first, which use the others.
        unused.sort_by_key(|u| u.0);
        for (_, name, decl, inner) in unused {
            if self.full || !self.used.insert(name.clone()) {
                continue;
            }
            inner.check(self.session);
            self.measure(decl, [scope, &inner]);
            // A group 0 to find the scenario's parameters in.
            self.tree = Tree::default();
            self.group(String::new(), &Rc::new(GroupDecl::default()), Rc::clone(scope));
            self.open.push(name.clone());
            self.group(name.clone(), decl, inner);
            self.open.pop();
        }
        self.tree = Tree::default();
    }
}

/// The parameters of an instance: defaults of the template, and what the instance gives.
pub(super) fn scope_of(
    root: &Rc<Scope>,
    session: &Session,
    decl: &GroupDecl,
    unit: &UnitDecl,
    eval: &Evaluator<'_>,
) -> Scope {
    let mut scope = Scope::new(&decl.parameters, Some(Rc::clone(root)));
    let given = flatten(&Table { entries: unit.keys.clone() });
    for (key, node) in given {
        if scope.has(&key.value) {
            let value = eval.number(&node, &format!("`{}`", key.value));
            refuse_other_dimension(session, (&key.value, &scope), (&node, value));
            scope.give(&key.value, value);
        } else {
            let Of::Template(template) = &unit.of else { continue };
            let message = format!("template `{}` has no parameter `{}`", template.value, key.value);
            let help = did_you_mean(&key.value, scope.names(), "its parameters");
            let mistake = Mistake::new("unknown-parameter", &key.span, message);
            session.report(mistake.help(help));
        }
    }
    scope.check(session);
    scope
}

/// Refuses a quantity for a parameter whose default is one of another dimension.
fn refuse_other_dimension(
    session: &Session,
    (name, scope): (&str, &Scope),
    (node, value): (&Node, Option<Number>),
) {
    let Item::Text(given) = &node.item else { return };
    let Some(text) = scope.quantity(name) else { return };
    let Some(given_dimension) = value.and_then(|v| v.dimension) else { return };
    let Ok(Some(default)) = Quantity::parse(text) else { return };
    if default.unit.dimension() != given_dimension {
        let message = format!("`{name}` is given as \"{given}\", and the template has \"{text}\"");
        let help = "give a quantity of this dimension, or a plain number in SI base units";
        session.report(Mistake::new("unit-mismatch", &node.span, message).help(help));
    }
}
