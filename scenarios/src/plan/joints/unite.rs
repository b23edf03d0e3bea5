//! Parts that hang together become one unit.
use super::{
    super::{
        convert,
        evaluate::Evaluator,
        loops::surroundings,
        session::{Session, did_you_mean},
        tree::{Body, Child, Tree, Unit, dotted, join},
    },
    Home, Pin, WHOLE,
    hoist::{Places, rewire},
    resolve::shown,
};
use crate::{diagnostics::Mistake, source::Span};
use std::{collections::BTreeMap, rc::Rc, sync::Arc};
use superdense_models::kinds::{Context, Located, Param, Params, PortSpec, Ports, UnitKind};

/// Settings of the solver, which belong to the whole and not to a part.
pub(crate) const SETTINGS: [&str; 11] = [
    "method",
    "order",
    "step",
    "segment_order",
    "tolerance",
    "absolute_tolerance",
    "exchange_tolerance",
    "dq_rel",
    "dq_min",
    "max_step",
    "switching",
];
/// The method of a whole that names none: circuits are stiff, and may be left with algebraic equations.
const METHOD: &str = "rodas";

/// Puts a unit in the place of all parts that hang together.
pub(in super::super) fn unite(tree: &mut Tree, session: &Session) {
    if tree.parts.is_empty() {
        return;
    }
    for part in &tree.parts {
        settled(part, session);
    }
    let nodes = nodes(tree, session);
    let mut places = Places::new(tree);
    let mut homes: Vec<Option<Home>> = (0..tree.parts.len()).map(|_| None).collect();
    for parts in wholes(tree.parts.len(), &nodes) {
        let group = places.common(&parts);
        let own: Vec<&(Vec<Pin>, Span)> =
            nodes.iter().filter(|(pins, _)| parts.contains(&pins[0].0)).collect();
        let span =
            own.first().map_or(&tree.parts[parts[0] as usize].span, |(_, span)| span).clone();
        if coupled(tree, &places, (&parts, group), &span, session) {
            continue;
        }
        let found = whole(tree, (&parts, &own), (group, &span), session);
        // Of parts that are joined wrongly only the own mistakes count: together they would seem to lack equations.
        let Some((params, made)) = found.filter(|_| session.sink.is_empty()) else { continue };
        let unit = tree.units.len() as u32;
        let child = tree.groups[group as usize].children.len() as u32;
        insert(tree, group, (&parts, &span), params, made.ports);
        for (part, (inputs, outputs)) in parts.iter().zip(made.maps) {
            homes[*part as usize] = Some(Home { unit, inputs, outputs });
            places.home[*part as usize] = (group, child);
        }
    }
    if let Some(homes) = homes.into_iter().collect() {
        tree.homes = homes;
        rewire(tree, &places, session);
    }
}

/// Refuses settings of the solver in a part.
fn settled(part: &Unit, session: &Session) {
    for (name, p) in &part.params.values {
        if SETTINGS.contains(&name.as_str()) && p.span != part.span {
            let message = format!(
                "`{name}` in the unit `{}`, which is a part of a whole",
                dotted(&part.path)
            );
            let help = "units with connectors are solved together: write it once, into a table [joined] of the scenario \
                        or template where they are joined";
            session.report(Mistake::new("joint", &p.span, message).help(help));
        }
    }
}

/// Connectors that are joined, in the order of parts: lines of different groups that name the same one are about one
/// node.
fn nodes(tree: &Tree, session: &Session) -> Vec<(Vec<Pin>, Span)> {
    let mut of: BTreeMap<&Pin, usize> = BTreeMap::new();
    let mut nodes: Vec<Vec<usize>> = Vec::new();
    for (k, joint) in tree.joints.iter().enumerate() {
        let mut own = vec![k];
        for pin in &joint.pins {
            let Some(&node) = of.get(pin) else { continue };
            for other in std::mem::take(&mut nodes[node]) {
                let first = &tree.joints[other];
                if first.group == joint.group && first.pins.contains(pin) {
                    let message = format!("`{}` is joined in two lines", shown(tree, pin));
                    let mistake = Mistake::new("joint", &joint.span, message);
                    let mistake = mistake.also(&first.span, "the other line");
                    session
                        .report(mistake.help("write one line with all connectors that are joined"));
                }
                own.push(other);
            }
        }
        let pins = own.iter().flat_map(|joint| &tree.joints[*joint].pins);
        of.extend(pins.map(|pin| (pin, nodes.len())));
        nodes.push(own);
    }
    let node = |own: Vec<usize>| {
        let mut pins: Vec<Pin> =
            own.iter().flat_map(|joint| tree.joints[*joint].pins.iter().cloned()).collect();
        pins.sort();
        pins.dedup();
        let first = own.iter().min().map_or(0..0, |k| tree.joints[*k].span.clone());
        (pins, first)
    };
    let mut nodes: Vec<_> = nodes.into_iter().filter(|own| !own.is_empty()).map(node).collect();
    nodes.sort_by(|(a, _), (b, _)| a.cmp(b));
    nodes
}

/// Numbers of parts that hang together, in order.
fn wholes(parts: usize, nodes: &[(Vec<Pin>, Span)]) -> Vec<Vec<u32>> {
    let mut root: Vec<usize> = (0..parts).collect();
    fn find(root: &mut [usize], mut k: usize) -> usize {
        while root[k] != k {
            root[k] = root[root[k]];
            k = root[k];
        }
        k
    }
    for (pins, _) in nodes {
        for pin in &pins[1..] {
            let (a, b) = (find(&mut root, pins[0].0 as usize), find(&mut root, pin.0 as usize));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut all: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for k in 0..parts {
        all.entry(find(&mut root, k)).or_default().push(k as u32);
    }
    all.into_values().collect()
}

/// Whether a group that a whole reaches into has a coupling, which is refused.
fn coupled(
    tree: &Tree,
    places: &Places,
    (parts, group): (&[u32], u32),
    span: &Span,
    session: &Session,
) -> bool {
    let within = |part: &u32| places.up(places.group[*part as usize], group);
    let found =
        parts.iter().flat_map(within).find(|g| tree.groups[*g as usize].decl.coupling.is_some());
    if found.is_some() {
        let message = "connectors are joined among the units of a [coupling]";
        let help = "what is joined is one unit: put it into a template of its own, whose inputs and outputs the coupling \
                    exchanges; or declare bonds and add iterate = {}, which finds by trials what holds between them";
        session.report(Mistake::new("joint", span, message).help(help));
    }
    found.is_some()
}

/// The ports of a whole, and where those of its parts are among them.
struct Made {
    ports: Ports,
    maps: Vec<(Vec<u16>, Vec<u16>)>,
}

/// The parameters and ports of the unit that parts become.
fn whole(
    tree: &Tree,
    (parts, nodes): (&[u32], &[&(Vec<Pin>, Span)]),
    (group, span): (u32, &Span),
    session: &Session,
) -> Option<(Params, Made)> {
    let units: Vec<&Unit> = parts.iter().map(|part| &tree.parts[*part as usize]).collect();
    let kind = units[0].kind;
    let names: Vec<String> = units.iter().map(|unit| dotted(&unit.path)).collect();
    let indices: Vec<Option<(&str, f64)>> =
        units.iter().map(|unit| unit.index.map(|i| ("i", f64::from(i)))).collect();
    let evals: Vec<Evaluator<'_>> = units
        .iter()
        .zip(&indices)
        .map(|(unit, i)| Evaluator::new(session, &unit.scope, i.as_slice()))
        .collect();
    let constants: Vec<_> = evals.iter().map(|eval| |name: &str| eval.constant(name)).collect();
    let measures: Vec<_> = evals.iter().map(|eval| |name: &str| eval.measure(name)).collect();
    let contexts: Vec<Context<'_>> = units
        .iter()
        .enumerate()
        .map(|(k, unit)| surroundings(unit, session, &constants[k], &measures[k]))
        .collect();
    let all: Vec<(&str, &Params, &Context<'_>)> =
        (0..units.len()).map(|k| (names[k].as_str(), &*units[k].params, &contexts[k])).collect();
    let place = |part: u32| parts.iter().position(|own| *own == part).unwrap_or(0);
    let pin = |(part, name): &Pin| (place(*part), name.clone());
    let nodes: Vec<Vec<(usize, String)>> =
        nodes.iter().map(|(pins, _)| pins.iter().map(pin).collect()).collect();
    let mut params = match kind.join(&all, &nodes) {
        Ok(params) => params,
        Err(errors) => {
            for (k, error) in errors {
                session.unit_errors(&units[k].span, &names[k], vec![error]);
            }
            return None;
        }
    };
    params.values.extend(settings(tree, kind, (group, span), session)?.values);
    let ports =
        kind.ports(&params).map_err(|errors| session.unit_errors(span, &names[0], errors)).ok()?;
    let find = |all: &[PortSpec], name: String| {
        all.iter().position(|port| port.name == name).unwrap_or(0) as u16
    };
    let map = |(unit, name): (&&Unit, &String)| {
        let of = |own: &[PortSpec], all: &[_]| {
            own.iter().map(|port| find(all, format!("{name}.{}", port.name))).collect()
        };
        (of(&unit.ports.inputs, &ports.inputs), of(&unit.ports.outputs, &ports.outputs))
    };
    let maps = units.iter().zip(&names).map(map).collect();
    Some((params, Made { ports, maps }))
}

/// How a whole in a group is solved: `[joined]` of this group, or of the scenario.
fn settings(
    tree: &Tree,
    kind: &'static dyn UnitKind,
    (group, span): (u32, &Span),
    session: &Session,
) -> Option<Params> {
    let decl = |group: u32| tree.groups[group as usize].decl.joined.as_ref();
    let at = if decl(group).is_some() { group } else { 0 };
    let mut keys = Vec::new();
    if let Some(node) = decl(at) {
        let table = node.table("`joined`", "[joined] with method = \"rodas\"", &session.sink)?;
        for (key, value) in &table.entries {
            if !SETTINGS.contains(&key.value.as_str()) {
                let message = format!("[joined] has no key `{}`", key.value);
                let help = did_you_mean(&key.value, SETTINGS, "known keys");
                session.report(Mistake::new("unknown-key", &key.span, message).help(help));
                return None;
            }
            keys.push((key.clone(), value.clone()));
        }
    }
    let scope = Rc::clone(&tree.groups[at as usize].scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let title = Located::new("joined".to_owned(), span.clone());
    let mut params = convert::of_keys(kind, &title, &keys, &eval)?;
    params.values.retain(|(name, _)| SETTINGS.contains(&name.as_str()));
    if !keys.iter().any(|(key, _)| key.value == "method") {
        params.set("method", Param::Text(METHOD.to_owned()));
    }
    Some(params)
}

/// Puts the unit into its group.
fn insert(
    tree: &mut Tree,
    group: u32,
    (parts, span): (&[u32], &Span),
    params: Params,
    ports: Ports,
) {
    let g = &mut tree.groups[group as usize];
    let below = if g.path.is_empty() { 0 } else { g.path.len() + 1 };
    let names: Vec<String> =
        parts.iter().map(|part| dotted(&tree.parts[*part as usize].path[below..])).collect();
    // Long enough to be told from others, which have other parts.
    let more = if names.len() > 3 { format!("={}", names.len()) } else { String::new() };
    let name = format!("{}{more}{WHOLE}", names[..names.len().min(3)].join("="));
    let body = Body::Unit(tree.units.len() as u32);
    g.children.push(Child::added(&name, body, span.clone()));
    tree.units.push(Unit {
        path: join(&g.path, &name),
        kind: tree.parts[parts[0] as usize].kind,
        params: Rc::new(params),
        ports: Arc::new(ports),
        scope: Rc::clone(&g.scope),
        index: None,
        span: span.clone(),
        hidden: false,
        // One solver does what each of them would do.
        wcet: parts.iter().filter_map(|p| tree.parts[*p as usize].wcet).reduce(|a, b| a + b),
        bonds: Vec::new(),
        links: Vec::new(),
    });
}
