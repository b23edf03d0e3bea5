//! `[coupling]`: signals between the units of a group pass through a master.
//!
//! The master is a hidden child `~coupling`; connections as such stay what they are, and a group
//! with a master of its own is one member of the group around it.
use super::{
    bonds, connect, convert,
    evaluate::Evaluator,
    foresee::below,
    order,
    selector::{self, Piece},
    session::Session,
    tree::{Body, Child, End, Group, Tree, Unit, Wire, dotted, join},
};
use crate::{
    diagnostics::Mistake,
    document::{Node, Table},
    source::Span,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    sync::Arc,
};
use superdense_models::{
    couplings::{self, CouplingKind, SIGNALS},
    kinds::{Located, Param, Params, PortKind, PortSpec, UnitKind},
};

/// The name of the hidden child.
const NAME: &str = "~coupling";
static KIND: CouplingKind = CouplingKind;

/// Whether a unit is the master of a coupling.
pub(super) fn is_master(unit: &Unit) -> bool {
    unit.hidden && unit.kind.name() == KIND.name()
}

/// Whether a unit is a master that tries its steps out.
pub(super) fn is_rehearsal(unit: &Unit) -> bool {
    is_master(unit) && couplings::rehearses(&unit.params)
}

/// Whether a unit is a master whose units change their order.
pub(super) fn is_sequenced(unit: &Unit) -> bool {
    is_master(unit) && couplings::sequenced(&unit.params)
}

/// The way in which a unit breaks an algebraic loop that passes through it, if it is a master.
pub(super) fn breaks(unit: &Unit) -> Option<&'static str> {
    let master = is_master(unit);
    let iterates = iterates(&unit.params);
    master.then_some(match unit.params.text("feed_through") {
        "settled" => "settled at each exchange",
        _ if iterates => "solved by iteration",
        _ => "told at the next exchange",
    })
}

/// The child that is the master of a group, if it has one.
pub(super) fn master(g: &Group) -> Option<u32> {
    g.children.iter().position(|c| &*c.name == NAME).map(|at| at as u32)
}

/// The outputs that pass through a master, each with the numbers of its wires.
type Lines = BTreeMap<Way, Vec<usize>>;

/// An output that passes through a master, and whose it is to be where each receiver has one of its own.
type Way = (End, Option<Member>);

/// A unit of a group: child and member.
type Member = (u32, u32);

/// The keys of `[coupling]` and where it stands.
pub(super) struct CouplingDecl {
    pub name: Located<String>,
    pub keys: Vec<(Located<String>, Node)>,
}

/// Lays the signals of a group through its master, if it has one.
pub(super) fn couple(tree: &mut Tree, group: u32, session: &Session) {
    let decl = Rc::clone(&tree.groups[group as usize].decl);
    let Some(coupling) = &decl.coupling else { return };
    let scope = Rc::clone(&tree.groups[group as usize].scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let Some(mut params) = convert::of_keys(&KIND, &coupling.name, &coupling.keys, &eval) else {
        return;
    };
    let list = |key: &str| coupling.keys.iter().find(|(k, _)| k.value == key).map(|(_, n)| n);
    if list("events").is_none() {
        interrupt(tree, group, &mut params);
    }
    let Some(units) = members(tree, group, list("units"), &eval) else { return };
    let sequence = match list("sequence") {
        None => order::by_feed_through(tree, group, &units, session),
        Some(node) => match sequence(tree, group, node, &units, &params, &eval) {
            Some(sequence) => sequence,
            None => return,
        },
    };
    let place: HashMap<(u32, u32), usize> = sequence.iter().copied().zip(0..).collect();
    let forward = params.text("order") == "gauss-seidel";
    let sequenced = couplings::sequenced(&params);
    let mut lines = lines(tree, group, &place, (forward, sequenced));
    let echoes = echoes(tree, group, &units);
    for (from, _) in &echoes {
        // Of its own, if each receiver has one.
        let own = sequenced.then_some((from.child, from.member));
        lines.entry((*from, own)).or_default();
    }
    let g = &tree.groups[group as usize];
    if hears_itself(g, (tree, session), coupling, &echoes) {
        return;
    }
    if lines.is_empty() && session.sink.mistakes_of("bond") {
        return;
    }
    if lacks_signals(&lines, coupling, session) || hears_in_steps(g, coupling, &params, session) {
        return;
    }
    let is_coupled = |to: &End| place.contains_key(&(to.child, to.member));
    if shares_power(g, (tree, session), &params, &lines, is_coupled) {
        return;
    }
    warn_of_loose_signals(g, (tree, group, session), &params, &lines);
    if refuses_links(g, (tree, session), coupling, &params, &units) {
        return;
    }
    let units = if params.text("order") == "jacobi" { 1 } else { sequence.len() as i64 };
    let answers = |(end, _): &Way| {
        Param::Int(if order::answers(tree, g, *end, is_coupled, session) { units } else { 0 })
    };
    let answers = lines.keys().map(answers).collect();
    let mut lists = hidden_lists(g, tree, &lines, sequenced.then_some(&sequence[..]));
    lists.push((couplings::ANSWERS, answers));
    let span = &coupling.name.span;
    let located = |p: Param| Located::new(p, span.clone());
    params.values.extend(lists.into_iter().map(|(key, all)| {
        (key.to_owned(), located(Param::List(all.into_iter().map(located).collect())))
    }));
    match KIND.ports(&params) {
        Ok(mut ports) => {
            if couplings::rehearses(&params) {
                listen(tree, group, &mut ports);
            }
            insert(tree, group, coupling, (lines, echoes), (params, ports));
        }
        Err(errors) => session.unit_errors(&coupling.name.span, NAME, errors),
    }
}

/// The effort of a bond acts until the end of a step: what an impact within is worth would depend on when it comes, so
/// that events end steps of bonds.
fn interrupt(tree: &Tree, group: u32, params: &mut Params) {
    if !bonds::coordinators(tree, &tree.groups[group as usize]).is_empty() {
        params.set("events", Param::Text("interrupt".to_owned()));
    }
}

/// Parameters of a master that no scenario gives: its signals and, of a `sequence`, its members with the places
/// of sources and receivers among these.
fn hidden_lists(
    g: &Group,
    tree: &Tree,
    lines: &Lines,
    sequence: Option<&[Member]>,
) -> Vec<(&'static str, Vec<Param>)> {
    let title = |(end, _): &Way| Param::Text(signal(g, tree, *end));
    let mut lists = vec![(SIGNALS, lines.keys().map(title).collect())];
    if let Some(sequence) = sequence {
        let name = |&(child, member): &Member| g.name_of(End { child, member, port: 0 });
        let place: HashMap<Member, i64> = sequence.iter().copied().zip(0..).collect();
        let at = |member: Member| Param::Int(place.get(&member).copied().unwrap_or(0));
        let [members, from, to] = couplings::TEAM;
        lists.push((members, sequence.iter().map(|m| Param::Text(name(m))).collect()));
        lists.push((from, lines.keys().map(|(end, _)| at((end.child, end.member))).collect()));
        lists.push((to, lines.keys().filter_map(|(_, to)| to.map(at)).collect()));
    }
    lists
}

/// Reports a coupling without anything to couple.
fn lacks_signals(lines: &Lines, coupling: &CouplingDecl, session: &Session) -> bool {
    if lines.is_empty() {
        let message = "there is no signal for this coupling";
        let help = "it is for signals between continuous units or groups; delete it, or name \
                    other `units`";
        session.report(Mistake::new("coupling", &coupling.name.span, message).help(help));
    }
    lines.is_empty()
}

/// Reports pre-steps in a group that hears of others within its steps.
fn hears_in_steps(g: &Group, coupling: &CouplingDecl, params: &Params, session: &Session) -> bool {
    let hears = params.get("pre_step").is_some() && !g.inputs.is_empty();
    if hears {
        let message = "`pre_step` finds inputs for whole steps, but its group has inputs";
        let help = "what comes in between would end them: move the coupling to the group around, or use \
                    another one";
        session.report(Mistake::new("coupling", span_of(coupling, "pre_step"), message).help(help));
    }
    hears
}

/// Reports a connection beside an echo that the coupling makes itself.
fn hears_itself(
    g: &Group,
    (tree, session): (&Tree, &Session),
    coupling: &CouplingDecl,
    echoes: &[(End, End)],
) -> bool {
    let mut connected = echoes.iter().filter_map(|(_, to)| g.wires.iter().find(|w| w.to == *to));
    let Some(w) = connected.next() else { return false };
    let port = &tree.port(g.body(w.to), true, w.to.port).name;
    let message = format!("`{}.{port}` hears its own unit", g.name_of(w.to));
    let span = w.connection.map_or(&coupling.name.span, |c| g.span(c));
    let mistake = Mistake::new("coupling", span, message);
    session.report(mistake.help("delete this connection: the coupling makes its own"));
    true
}

/// Reports a scheme that cannot be used where units share events.
fn refuses_links(
    g: &Group,
    (tree, session): (&Tree, &Session),
    coupling: &CouplingDecl,
    params: &Params,
    units: &[Member],
) -> bool {
    let has_links = |m: &Member| {
        let body = g.children[m.0 as usize].members[m.1 as usize];
        below(tree, body).iter().any(|&u| !tree.units[u as usize].links.is_empty())
    };
    if !units.iter().any(has_links) {
        return false;
    }
    for s in couplings::SCHEMES.iter().filter(|s| s.used(params)) {
        let Some((why, instead)) = s.refused_by_links(Some(params)) else { continue };
        let span = span_of(coupling, s.key);
        let message = format!("`{}` and [[link]] contradict each other: {why}", s.key);
        session.report(Mistake::new("coupling", span, message).help(format!("take {instead}")));
        return true;
    }
    if params.get("iterate").is_some() {
        session.warn(span_of(coupling, "iterate"), LATE_LINKS);
    }
    false
}

/// Reports a signal of `power` that several coupled units hear: each of them would be told another quotient.
fn shares_power(
    g: &Group,
    (tree, session): (&Tree, &Session),
    params: &Params,
    lines: &Lines,
    is_coupled: impl Fn(&End) -> bool,
) -> bool {
    let bonds = params.get("power").map_or(&[][..], |p| items(&p.value));
    let named = bonds.iter().flat_map(|bond| items(&bond.value));
    let listeners = |name: &str| {
        let (end, _) = lines.keys().find(|(end, _)| signal(g, tree, *end) == name)?;
        let heard = g.wires.iter().filter(|w| w.from == *end && w.connection.is_some());
        let units = heard.map(|w| w.to).filter(&is_coupled).map(|to| (to.child, to.member));
        Some(units.collect::<BTreeSet<_>>().len())
    };
    for name in named {
        let Param::Text(text) = &name.value else { continue };
        let Some(count @ 2..) = listeners(text) else { continue };
        let message =
            format!("{count} units hear `{text}`, which is one side of a pair of `power`");
        let help = "give its unit an output for each of them, such as v_left = \"v\" and v_right = \"v\", and \
                    name the pairs by these";
        session.report(Mistake::new("coupling", &name.span, message).help(help));
        return true;
    }
    false
}

/// Receivers of power hear it no better than its sources send it: a balance to rounding needs tight ones.
const TIGHT: f64 = 1e-9;

/// Where an event ends a trial, its end is sought together with the values there, which may lead beyond the event.
const LATE_LINKS: &str = "shared events ([[link]]) of steps that are repeated may come late by a part of a step, or keep \
                          the step from converging: compare with a run without `iterate`, or with a shorter `step`";

/// Warns of sources that send what they do less exactly than policies need.
fn warn_of_loose_signals(
    g: &Group,
    around: (&Tree, u32, &Session),
    params: &Params,
    lines: &Lines,
) {
    warn_of_loose_power(g, around, params, lines);
    warn_of_loose_sources(around, params, lines);
}

/// Warns of sources of `power` that send what they do less exactly than the balance counts.
fn warn_of_loose_power(
    g: &Group,
    (tree, group, session): (&Tree, u32, &Session),
    params: &Params,
    lines: &Lines,
) {
    let bonds = params.get("power").map_or(&[][..], |p| items(&p.value));
    for name in bonds.iter().flat_map(|bond| items(&bond.value)) {
        let Param::Text(text) = &name.value else { continue };
        let found = lines.keys().find(|(end, _)| signal(g, tree, *end) == *text);
        let Some((unit, _)) = found.and_then(|(end, _)| tree.origin(group, *end)) else { continue };
        let Some(tolerance) = sent_within(tree, unit) else { continue };
        if tolerance > TIGHT {
            let message = format!(
                "the balance of power is as exact as `{}` sends what it does, to {tolerance}: for one that is \
                 exact to rounding give the unit exchange_tolerance = 1e-12",
                text.rsplit_once('.').map_or(text.as_str(), |(unit, _)| unit)
            );
            session.warn(&name.span, &message);
        }
    }
}

/// How exactly a unit sends what it does.
fn sent_within(tree: &Tree, unit: u32) -> Option<f64> {
    match tree.units[unit as usize].params.get("exchange_tolerance").map(|p| &p.value) {
        Some(Param::Real(tolerance)) => Some(*tolerance),
        _ => None,
    }
}

/// Warns of sources that send what they do less exactly than the errors that an adaptive macro step is to see.
fn warn_of_loose_sources(
    (tree, group, session): (&Tree, u32, &Session),
    params: &Params,
    lines: &Lines,
) {
    let Some(tolerance) = params.get("tolerance") else { return };
    let Param::Real(aim) = tolerance.value else { return };
    let sources: BTreeSet<u32> =
        lines.keys().filter_map(|(end, _)| Some(tree.origin(group, *end)?.0)).collect();
    let loose = |unit: &u32| !tree.units[*unit as usize].hidden;
    let all =
        sources.into_iter().filter(loose).filter_map(|unit| Some((unit, sent_within(tree, unit)?)));
    let Some((unit, sent)) = all.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else {
        return;
    };
    if aim <= sent {
        let message = format!(
            "`{}` sends what it does to {sent}, and the macro step is to follow errors of {aim}: it follows those of what is \
             sent, down to steps that are far too short; give the units exchange_tolerance = {:.0e} or less",
            dotted(&tree.units[unit as usize].path),
            aim / 100.0
        );
        session.warn(&tolerance.span, &message);
    }
}

fn items(param: &Param) -> &[Located<Param>] {
    if let Param::List(items) = param { items } else { &[] }
}

/// The name of an output in the parameters of a coupling.
fn signal(g: &Group, tree: &Tree, end: End) -> String {
    let port = &tree.port(g.body(end), false, end.port).name;
    format!("{}.{port}", g.name_of(end))
}

/// Connects inputs from outside of the group to its master, too.
fn listen(tree: &mut Tree, group: u32, ports: &mut superdense_models::kinds::Ports) {
    let g = &mut tree.groups[group as usize];
    let child = g.children.len() as u32;
    for input in &mut g.inputs {
        input.ends.push(End { child, member: 0, port: ports.inputs.len() as u16 });
        let name = format!("~{}", input.spec.name);
        ports.inputs.push(PortSpec { name, ..input.spec.clone() });
    }
}

/// The units that a list names, or all continuous units and groups.
fn members(
    tree: &Tree,
    group: u32,
    list: Option<&Node>,
    eval: &Evaluator<'_>,
) -> Option<Vec<(u32, u32)>> {
    let g = &tree.groups[group as usize];
    let Some(node) = list else {
        let mut all = Vec::new();
        for (number, child) in (0..).zip(&g.children[..g.declared]) {
            for (member, body) in (0..).zip(&child.members) {
                let coupled = match body {
                    Body::Group(_) => true,
                    Body::Unit(u) => tree.units[*u as usize].kind.is_continuous(),
                    Body::Part(_) => false,
                };
                if coupled {
                    all.push((number, member));
                }
            }
        }
        all.extend(bonds::coordinators(tree, g).into_iter().map(|child| (child, 0)));
        return Some(all);
    };
    let example = "[\"left\", \"right\"]";
    let session = eval.session;
    let mut named = Vec::new();
    for item in node.list("a list of units", example, &session.sink)? {
        let text = item.text("a unit", example, &session.sink)?;
        let step = match selector::unit(Piece::new(session, &text)) {
            Ok(step) => step,
            Err(mistake) => {
                session.report(mistake);
                return None;
            }
        };
        let (child, found) = connect::members(g, &step, eval)?;
        for member in found {
            if named.contains(&(child, member)) {
                let message = format!("`{}` is named twice", text.value);
                let mistake = Mistake::new("coupling", &text.span, message);
                session.report(mistake.help("name it once"));
                return None;
            }
            named.push((child, member));
        }
    }
    named.extend(bonds::coordinators(tree, g).into_iter().map(|child| (child, 0)));
    Some(named)
}

/// `sequence`, which names all members once.
fn sequence(
    tree: &Tree,
    group: u32,
    node: &Node,
    units: &[(u32, u32)],
    params: &Params,
    eval: &Evaluator<'_>,
) -> Option<Vec<(u32, u32)>> {
    let sequence = members(tree, group, Some(node), eval)?;
    let refuse = |message: String, help: &str| {
        eval.session.report(Mistake::new("coupling", &node.span, message).help(help));
        None
    };
    if params.text("order") == "jacobi" {
        let help = "add order = \"gauss-seidel\", or delete `sequence`";
        return refuse("under Jacobi all units go at once: there is no `sequence`".into(), help);
    }
    let g = &tree.groups[group as usize];
    let name = |&(child, member): &(u32, u32)| g.name_of(End { child, member, port: 0 });
    if let Some(missing) = units.iter().find(|u| !sequence.contains(u)) {
        let message = format!("`sequence` lacks `{}`", name(missing));
        return refuse(message, "name every unit of the coupling");
    }
    if let Some(strange) = sequence.iter().find(|u| !units.contains(u)) {
        let message = format!("`{}` is no unit of this coupling", name(strange));
        return refuse(message, "add it to `units`, or delete it");
    }
    Some(sequence)
}

/// Where a key of `[coupling]` stands.
fn span_of<'a>(coupling: &'a CouplingDecl, key: &str) -> &'a Span {
    let found = coupling.keys.iter().find(|(k, _)| k.value == key);
    found.map_or(&coupling.name.span, |(k, _)| &k.span)
}

/// The outputs that pass through the master, each with the numbers of its wires. With `forward`,
/// signals along the sequence do not; `apart`, each receiver has a way of its own.
fn lines(
    tree: &Tree,
    group: u32,
    place: &HashMap<Member, usize>,
    (forward, apart): (bool, bool),
) -> Lines {
    let g = &tree.groups[group as usize];
    let mut lines: Lines = BTreeMap::new();
    for (number, w) in g.wires.iter().enumerate() {
        let at = |end: End| place.get(&(end.child, end.member));
        let (Some(from), Some(to)) = (at(w.from), at(w.to)) else { continue };
        let signal = tree.port(g.body(w.to), true, w.to.port).kind == PortKind::Signal;
        if w.connection.is_some() && signal && !(forward && from < to) {
            let to = apart.then_some((w.to.child, w.to.member));
            lines.entry((w.from, to)).or_default().push(number);
        }
    }
    lines
}

/// Outputs of members that hear themselves, and the inputs by which they do.
fn echoes(tree: &Tree, group: u32, units: &[(u32, u32)]) -> Vec<(End, End)> {
    let g = &tree.groups[group as usize];
    let mut echoes = Vec::new();
    for &(child, member) in units {
        let end = |port| End { child, member, port };
        let Body::Unit(u) = g.body(end(0)) else { continue };
        let unit = &tree.units[u as usize];
        if !unit.kind.hears_itself() {
            continue;
        }
        for (from, output) in (0..).zip(&unit.ports.outputs) {
            let to = unit.ports.inputs.iter().position(|p| p.name == output.name);
            echoes.extend(to.map(|to| (end(from), end(to as u16))));
        }
    }
    echoes
}

/// Reports units that hear themselves where no coupling lets them.
pub(super) fn alone(tree: &Tree, session: &Session) {
    for g in &tree.groups {
        if g.decl.coupling.is_some() && master(g).is_none() {
            // A mistake of the coupling, which is reported.
            continue;
        }
        let iterates = master(g).is_some_and(|m| match g.children[m as usize].members[0] {
            Body::Unit(u) => iterates(&tree.units[u as usize].params),
            Body::Group(_) | Body::Part(_) => false,
        });
        for body in g.children.iter().flat_map(|c| &c.members) {
            let Body::Unit(u) = *body else { continue };
            let unit = &tree.units[u as usize];
            if unit.kind.hears_itself() && !iterates {
                let kind = unit.kind.name();
                let message = format!("a `{kind}` needs a coupling that repeats steps");
                let help = "add [coupling] with a `step` and iterate = {} to its group";
                session.report(Mistake::new("coupling", &unit.span, message).help(help));
            }
        }
    }
}

fn iterates(params: &Params) -> bool {
    params.get("iterate").is_some_and(|p| p.value != Param::Text(String::new()))
}

fn insert(
    tree: &mut Tree,
    group: u32,
    coupling: &CouplingDecl,
    (lines, echoes): (Lines, Vec<(End, End)>),
    (params, ports): (Params, superdense_models::kinds::Ports),
) {
    let unit = tree.units.len() as u32;
    let g = &mut tree.groups[group as usize];
    let child = g.children.len() as u32;
    let span = coupling.name.span.clone();
    g.children.push(Child::added(NAME, Body::Unit(unit), span.clone()));
    for (port, ((from, _), wires)) in (0u16..).zip(lines) {
        let through = End { child, member: 0, port };
        // A signal that only its own source hears counts as a connection, too.
        let connection = wires.first().map_or(Some(0), |&w| g.wires[w].connection);
        wires.iter().for_each(|&w| g.wires[w].from = through);
        g.wires.push(Wire { from, to: through, connection });
        let own = echoes.iter().filter(|(source, _)| *source == from);
        g.wires.extend(own.map(|&(_, to)| Wire { from: through, to, connection }));
    }
    tree.units.push(Unit {
        path: join(&g.path, NAME),
        kind: &KIND,
        params: Rc::new(params),
        ports: Arc::new(ports),
        scope: Rc::clone(&g.scope),
        index: None,
        span,
        hidden: true,
        wcet: None,
        bonds: Vec::new(),
        links: Vec::new(),
    });
}

/// Reads `[coupling]`.
pub(super) fn declared(table: &Table, session: &Session) -> Option<CouplingDecl> {
    let (name, node) = table.entries.iter().find(|(k, _)| k.value == "coupling")?;
    let example = "[coupling] with step = \"10 ms\"";
    let keys = node.table("`coupling`", example, &session.sink)?.entries.clone();
    Some(CouplingDecl { name: name.clone(), keys })
}
