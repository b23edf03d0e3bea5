//! The unit that finds for the bonds of a line the efforts for which all of them agree.
//!
//! Of units that are told their share of the sum, the first takes what the others leave, so that the shares sum to
//! zero whatever is found. The shares of the others are unknowns, with the condition that they agree with the first at
//! the end of the macro step: gap of what is equal + gap of its integral / step = 0. The second term closes
//! a gap at the start in one step, and keeps small ones from adding up; alone it would leave speeds ringing. Units that
//! are told what is equal hear it of the first; if there is no such unit, what is equal is the unknown, and the
//! condition that shares sum to zero. A second unit, outside of the coupling, integrates what efforts and flows
//! do to the energy.
use super::{
    super::{
        convert,
        evaluate::Evaluator,
        selector::{self, Piece},
        tree::{Body, Child, End, Group, GroupPort, Tree, Unit, Wire, join},
    },
    Bond, COORDINATOR, Gauge, METER,
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    kinds,
    source::Span,
};
use std::{rc::Rc, sync::Arc};
use superdense_models::kinds::{Located, Param, PortSpec};

/// A bond of a line.
pub(super) struct Member {
    pub unit: u32,
    pub bond: Bond,
    /// How the group calls it: `a.flange`.
    pub name: String,
    /// The child of the group that is the unit, or has it inside.
    pub end: End,
}

/// Signals that master and coordinator exchange are algebraic: any tolerance of pieces is one of results.
const EXCHANGE: f64 = 1e-13;

/// Puts coordinator and meter of a line into its group.
pub(super) fn insert(
    tree: &mut Tree,
    group: u32,
    (number, span): (u32, &Span),
    members: Vec<Member>,
    eval: &Evaluator<'_>,
) -> Option<()> {
    let step = step(tree, group, (span, &members), eval)?;
    warn(&members, span, eval);
    let line = Line { group, span, number, members, eval };
    let text = line.texts(step);
    let coordinator = line.coordinator(tree, &text)?;
    line.wire(tree, coordinator, &text)?;
    line.meter(tree, coordinator, step)
}

/// Seconds of the macro step of the group's coupling, which has to repeat its steps.
fn step(
    tree: &Tree,
    group: u32,
    (span, members): (&Span, &[Member]),
    eval: &Evaluator<'_>,
) -> Option<f64> {
    let refuse = |span: &Span, message: String, help: &str| {
        eval.session.report(Mistake::new("bond", span, message).help(help));
        None
    };
    let decl = Rc::clone(&tree.groups[group as usize].decl);
    let key = |name: &str| {
        let keys = decl.coupling.iter().flat_map(|coupling| &coupling.keys);
        keys.clone().find(|(key, _)| key.value == name).map(|(_, node)| node)
    };
    let (Some(step), Some(iterate)) = (key("step"), key("iterate")) else {
        let names: Vec<_> = members.iter().map(|m| format!("`{}`", m.name)).collect();
        let message = format!(
            "{} are bonds of units whose equations are not known, in a group that does not repeat steps",
            names.join(", ")
        );
        let help = "what holds between such units is found by trying steps out: add [coupling] with a `step` and \
                    iterate = {}; parts of known equations have `connectors`";
        return refuse(span, message, help);
    };
    if let Some(node) = key("extrapolation")
        && eval.whole(node, "`extrapolation`")? > 0
    {
        let message = "`extrapolation` in a coupling of bonds".to_owned();
        let help = "what joins bonds is constant in each step, as ramps that end where they have to begin to swing: \
                    delete it, or put the other units into a group of their own";
        return refuse(&node.span, message, help);
    }
    if let Item::Table(table) = &iterate.item {
        let method = match table.get("method") {
            Some(Node { item: Item::Text(method), span }) => Some((method.as_str(), span)),
            Some(_) => None,
            // With a number of corrections, the method is this one unless it is named.
            None => table.get("corrections").map(|node| ("fixed-point", &node.span)),
        };
        if let Some((method @ ("waveform" | "fixed-point"), span)) = method {
            let message = format!("the method {method} in a coupling of bonds");
            let help = "no unit gives the efforts of bonds: they follow from how the units answer, which method = \"newton\" \
                        or \"broyden\" finds";
            return refuse(span, message, help);
        }
    }
    if let Some(node) = key("order")
        && let Item::Text(order) = &node.item
        && order != "jacobi"
    {
        let message = format!("order = \"{order}\" in a coupling of bonds");
        let help = "all that bonds determine is found at once, from units as they know themselves: delete `order`, or put \
                    other units into a group of their own";
        return refuse(&node.span, message, help);
    }
    if let Some(node) = key("units") {
        named(tree, group, node, members, eval)?;
    }
    eval.seconds(step, "`step`")
}

/// Refuses a list of coupled units that lacks one of a line.
fn named(
    tree: &Tree,
    group: u32,
    node: &Node,
    members: &[Member],
    eval: &Evaluator<'_>,
) -> Option<()> {
    let g = &tree.groups[group as usize];
    let mut all = Vec::new();
    for item in node.list("a list of units", "[\"left\", \"right\"]", &eval.session.sink)? {
        let text = item.text("a unit", "\"left\"", &eval.session.sink)?;
        let step = selector::unit(Piece::new(eval.session, &text)).ok()?;
        let (child, found) = super::super::connect::members(g, &step, eval)?;
        all.extend(found.into_iter().map(|member| (child, member)));
    }
    match members.iter().find(|m| !all.contains(&(m.end.child, m.end.member))) {
        None => Some(()),
        Some(lacks) => {
            let message =
                format!("`units` of the coupling lacks that of the bond `{}`", lacks.name);
            let mistake = Mistake::new("bond", &node.span, message);
            eval.session.report(mistake.help("name all units that are joined"));
            None
        }
    }
}

/// Warns of bonds that agree at the ends of steps and swing between.
fn warn(members: &[Member], span: &Span, eval: &Evaluator<'_>) {
    if let Some(first) = members.iter().find(|m| !m.bond.told && m.bond.common.is_none()) {
        let [common, share, integral] = first.bond.words();
        let message = format!(
            "bonds that know each other's {integral} only agree in it at the end of each step, while each \
             {common} and {share} swing from step to step and do not calm down: name the output of `{}` that is \
             the {common}, too",
            first.name
        );
        eval.session.warn(span, &message);
    }
}

/// A line of bonds on its way into units.
struct Line<'a> {
    group: u32,
    span: &'a Span,
    number: u32,
    members: Vec<Member>,
    eval: &'a Evaluator<'a>,
}

/// Tables of the coordinator, and which output is told to each member.
#[derive(Default)]
struct Texts {
    inputs: Vec<String>,
    conditions: Vec<(String, String)>,
    outputs: Vec<(String, String)>,
}

impl Line<'_> {
    fn refuse<T>(&self, message: String, help: &str) -> Option<T> {
        self.eval.session.report(Mistake::new("bond", self.span, message).help(help));
        None
    }

    /// Numbers of members that are told their share, and of those that are told what is equal.
    fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.members.len()).partition(|k| !self.members[*k].bond.told)
    }

    /// Tables of the coordinator, with a macro step of `step` seconds.
    fn texts(&self, step: f64) -> Texts {
        let (given, told) = self.sides();
        let mut t = Texts::default();
        let mut sum: Vec<String> = told.iter().map(|k| format!("s{k}")).collect();
        t.inputs.extend(sum.iter().cloned());
        let Some((&first, others)) = given.split_first() else {
            t.conditions.push(("equal".into(), sum.join(" + ")));
            t.outputs.extend(told.iter().map(|k| (format!("told{k}"), "equal".to_owned())));
            return t;
        };
        let bond = &self.members[first].bond;
        for k in &given {
            t.inputs.extend(bond.common.map(|_| format!("c{k}")));
            t.inputs.extend(bond.integral.map(|_| format!("x{k}")));
        }
        for k in others {
            let gap = |letter| format!("({letter}{first} - {letter}{k})");
            let common = bond.common.map(|_| gap("c"));
            // A length over a time is a speed, so that both terms have one size.
            let integral = bond.integral.map(|_| format!("{}/{step:?}", gap("x")));
            let terms: Vec<String> = common.into_iter().chain(integral).collect();
            t.conditions.push((format!("share{k}"), terms.join(" + ")));
            t.outputs.push((format!("told{k}"), format!("share{k}")));
            t.outputs.extend(bond.common.map(|_| (format!("gap{k}"), gap("c"))));
            t.outputs.extend(bond.integral.map(|_| (format!("whole{k}"), gap("x"))));
            sum.push(format!("share{k}"));
        }
        let rest = if sum.is_empty() { "0".into() } else { format!("-({})", sum.join(" + ")) };
        t.outputs.push((format!("told{first}"), rest));
        t.outputs.extend(told.iter().map(|k| (format!("told{k}"), format!("c{first}"))));
        t
    }

    fn node(&self, item: Item) -> Node {
        Node { item, span: self.span.clone() }
    }

    fn table(&self, entries: Vec<(String, Node)>) -> Node {
        let key = |(name, node)| (Located::new(name, self.span.clone()), node);
        self.node(Item::Table(Table { entries: entries.into_iter().map(key).collect() }))
    }

    fn formulas(&self, entries: &[(String, String)]) -> Node {
        let formula =
            |(name, text): &(String, String)| (name.clone(), self.node(Item::Text(text.clone())));
        self.table(entries.iter().map(formula).collect())
    }

    fn zeros(&self, names: &[String]) -> Node {
        self.table(names.iter().map(|n| (n.clone(), self.node(Item::Int(0)))).collect())
    }

    /// A hidden unit of the group; its child.
    fn add(
        &self,
        tree: &mut Tree,
        (kind, ending): (&str, &str),
        keys: Vec<(&str, Node)>,
    ) -> Option<u32> {
        let kind = kinds::find(kind)?;
        let names: Vec<&str> = self.members.iter().take(3).map(|m| m.name.as_str()).collect();
        let more =
            self.members.len().checked_sub(4).map_or(String::new(), |n| format!("={}", n + 4));
        let name = format!("{}{more}{ending}", names.join("="));
        let title = Located::new(name.clone(), self.span.clone());
        let keys: Vec<_> = keys
            .into_iter()
            .map(|(key, node)| (Located::new(key.to_owned(), self.span.clone()), node))
            .collect();
        let mut params = convert::of_keys(kind, &title, &keys, self.eval)?;
        params.set("exchange_tolerance", Param::Real(EXCHANGE));
        let ports = match kind.ports(&params) {
            Ok(ports) => ports,
            Err(errors) => {
                self.eval.session.unit_errors(self.span, &name, errors);
                return None;
            }
        };
        let g = &mut tree.groups[self.group as usize];
        let child = g.children.len() as u32;
        let body = Body::Unit(tree.units.len() as u32);
        g.children.push(Child::added(&name, body, self.span.clone()));
        tree.units.push(Unit {
            path: join(&g.path, &name),
            kind,
            params: Rc::new(params),
            ports: Arc::new(ports),
            scope: Rc::clone(&g.scope),
            index: None,
            span: self.span.clone(),
            hidden: true,
            wcet: None,
            bonds: Vec::new(),
            links: Vec::new(),
        });
        Some(child)
    }

    fn coordinator(&self, tree: &mut Tree, text: &Texts) -> Option<u32> {
        let mut keys =
            vec![("inputs", self.zeros(&text.inputs)), ("outputs", self.formulas(&text.outputs))];
        if text.conditions.is_empty() {
            return self.add(tree, ("equations", COORDINATOR), keys);
        }
        keys.push(("conditions", self.formulas(&text.conditions)));
        self.add(tree, ("boundary-condition", COORDINATOR), keys)
    }

    /// Connects an output of one child to an input of another.
    fn connect(&self, tree: &mut Tree, from: End, to: End) {
        let g = &mut tree.groups[self.group as usize];
        let connection = Some(g.decl.connections.len() as u32 + self.number);
        g.wires.push(Wire { from, to, connection });
        tree.wires += 1;
    }

    /// Connects a port of a member to one of a hidden child.
    fn lead(&self, tree: &mut Tree, k: usize, port: u16, (child, name): (u32, &str)) -> Option<()> {
        let member = &self.members[k];
        let from = self.reach(tree, member, (port, false))?;
        let to = port_of(tree, self.group, (child, name), true)?;
        self.connect(tree, from, to);
        Some(())
    }

    /// Wires between members and coordinator, and what is to be recorded of them.
    fn wire(&self, tree: &mut Tree, coordinator: u32, text: &Texts) -> Option<()> {
        let has = |name: &str| text.inputs.iter().any(|own| own == name);
        for (k, member) in self.members.iter().enumerate() {
            let bond = &member.bond;
            for (letter, port) in
                [("c", bond.common), ("x", bond.integral), ("s", bond.told.then_some(bond.share))]
            {
                let name = format!("{letter}{k}");
                if let Some(port) = port.filter(|_| has(&name)) {
                    self.lead(tree, k, port, (coordinator, &name))?;
                }
            }
            // A unit is told the unknown itself, where there is one: so there is one signal less.
            let own = format!("share{k}");
            let unknown = text.conditions.iter().find(|(name, _)| *name == own || name == "equal");
            let name = unknown.map_or_else(|| format!("told{k}"), |(name, _)| name.clone());
            let from = port_of(tree, self.group, (coordinator, &name), false)?;
            let input = if bond.told { bond.common.unwrap_or_default() } else { bond.share };
            let to = self.reach(tree, member, (input, true))?;
            self.connect(tree, from, to);
            self.gauge(tree, k, coordinator, bond.words());
        }
        Some(())
    }

    /// Notes the quantities of a bond that its coordinator knows, to be recorded.
    fn gauge(&self, tree: &mut Tree, k: usize, coordinator: u32, words: [&'static str; 3]) {
        let bond = &self.members[k].bond;
        let told = if bond.told { words[0] } else { words[1] };
        let gap = if bond.common_effort { "momentum_gap" } else { "displacement_gap" };
        for (name, port) in [(told, "told"), ("gap", "gap"), (gap, "whole")] {
            let port = format!("{port}{k}");
            if let Some(end) = port_of(tree, self.group, (coordinator, &port), false) {
                let bond = self.members[k].name.clone();
                tree.bonds.gauges.push(Gauge { group: self.group, bond, name, end });
            }
        }
    }

    /// The unit that integrates the power which each bond gives to its unit and the coupling does not take from the
    /// others: share of the sum times distance of what is equal from its mean.
    fn meter(&self, tree: &mut Tree, coordinator: u32, step: f64) -> Option<()> {
        if self.members.iter().any(|m| m.bond.common.is_none()) {
            return Some(());
        }
        let n = self.members.len();
        let each = |text: &dyn Fn(usize) -> (String, String)| -> Vec<(String, String)> {
            (0..n).map(text).collect()
        };
        let sum: Vec<String> = (0..n).map(|k| format!("c{k}")).collect();
        let mean = vec![("mean".to_owned(), format!("({})/{n}", sum.join(" + ")))];
        let power = each(&|k| (format!("w{k}"), format!("s{k}*(c{k} - mean)")));
        let mut outputs = each(&|k| (format!("total{k}"), format!("w{k}")));
        outputs.extend(each(&|k| (format!("step{k}"), format!("r{k}"))));
        let mut reset = each(&|k| (format!("r{k}"), format!("w{k} - l{k}")));
        reset.extend(each(&|k| (format!("l{k}"), format!("w{k}"))));
        let names = |letters: &[&str]| -> Vec<String> {
            letters.iter().flat_map(|l| (0..n).map(move |k| format!("{l}{k}"))).collect()
        };
        let event = self.table(vec![
            ("name".into(), self.node(Item::Text("step".into()))),
            ("every".into(), self.node(Item::Real(step, None))),
            ("reset".into(), self.formulas(&reset)),
        ]);
        let keys = vec![
            ("states", self.zeros(&names(&["w"]))),
            ("discrete", self.zeros(&names(&["r", "l"]))),
            ("inputs", self.zeros(&names(&["s", "c"]))),
            ("let", self.formulas(&mean)),
            ("derivatives", self.formulas(&power)),
            ("outputs", self.formulas(&outputs)),
            ("event", self.node(Item::List(vec![event]))),
        ];
        let meter = self.add(tree, ("equations", METER), keys)?;
        for (k, member) in self.members.iter().enumerate() {
            let (told, answer) = if member.bond.told { ("c", "s") } else { ("s", "c") };
            let own = if member.bond.told { Some(member.bond.share) } else { member.bond.common };
            self.lead(tree, k, own.unwrap_or_default(), (meter, &format!("{answer}{k}")))?;
            let from = port_of(tree, self.group, (coordinator, &format!("told{k}")), false)?;
            let to = port_of(tree, self.group, (meter, &format!("{told}{k}")), true)?;
            self.connect(tree, from, to);
            for (name, port) in [("residual", "step"), ("residual_total", "total")] {
                let port = format!("{port}{k}");
                let end = port_of(tree, self.group, (meter, &port), false)?;
                let bond = member.name.clone();
                tree.bonds.gauges.push(Gauge { group: self.group, bond, name, end });
            }
        }
        Some(())
    }

    /// The port of a member as its group has it: one deep in a template gets a port of each group around it.
    fn reach(&self, tree: &mut Tree, member: &Member, (port, input): (u16, bool)) -> Option<End> {
        match tree.groups[self.group as usize].body(member.end) {
            Body::Group(inner) => {
                let port = self.border(tree, inner, member.unit, (port, input))?;
                Some(End { port, ..member.end })
            }
            _ => Some(End { port, ..member.end }),
        }
    }

    /// A port of a group that leads to the port of a unit in it.
    fn border(
        &self,
        tree: &mut Tree,
        group: u32,
        unit: u32,
        (port, input): (u16, bool),
    ) -> Option<u16> {
        let path = tree.units[unit as usize].path.clone();
        if tree.groups[group as usize].decl.coupling.is_some() {
            let name = super::super::tree::dotted(&path);
            let message = format!("the bond of `{name}` leads out of a [coupling] of its own");
            let help = "the steps of that coupling would hide it: join bonds inside of it, or delete the inner [coupling]";
            return self.refuse(message, help);
        }
        let spec = {
            let ports = &tree.units[unit as usize].ports;
            let all = if input { &ports.inputs } else { &ports.outputs };
            all[usize::from(port)].clone()
        };
        let name = format!("~{path}.{}", spec.name);
        let known = |all: &[GroupPort]| all.iter().position(|p| p.spec.name == name);
        let g = &tree.groups[group as usize];
        if let Some(at) = known(if input { &g.inputs } else { &g.outputs }) {
            return Some(at as u16);
        }
        let (end, body) = inside(g, &path, tree)?;
        let end = match body {
            Body::Group(inner) => {
                End { port: self.border(tree, inner, unit, (port, input))?, ..end }
            }
            _ => End { port, ..end },
        };
        let spec = PortSpec { name, optional: true, ..spec };
        let g = &mut tree.groups[group as usize];
        let ports = if input { &mut g.inputs } else { &mut g.outputs };
        ports.push(GroupPort { spec, span: self.span.clone(), ends: vec![end] });
        Some(ports.len() as u16 - 1)
    }
}

/// The member of a group that is the unit of a path, or has it inside.
fn inside(g: &Group, path: &str, tree: &Tree) -> Option<(End, Body)> {
    let leads = |body: &Body| match *body {
        Body::Unit(unit) => tree.units[unit as usize].path == path,
        Body::Group(inner) => path
            .strip_prefix(&*tree.groups[inner as usize].path)
            .is_some_and(|p| p.starts_with('/')),
        Body::Part(_) => false,
    };
    (0u32..).zip(&g.children).find_map(|(child, c)| {
        let member = c.members.iter().position(leads)?;
        Some((End { child, member: member as u32, port: 0 }, c.members[member]))
    })
}

/// A port of a child that is a unit, by name.
fn port_of(tree: &Tree, group: u32, (child, name): (u32, &str), input: bool) -> Option<End> {
    let end = End { child, member: 0, port: 0 };
    let body = tree.groups[group as usize].body(end);
    Some(End { port: tree.port_number(body, input, name)?, ..end })
}
