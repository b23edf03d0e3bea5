//! Adapters on connections: `via hold(0)` puts a unit between two ports, `via sample('1 ms') via
//! hold(0)` two.
//!
//! The unit is a hidden child named after its target, such as `tank.u~hold`; adapters before an
//! event input, which may have many drivers, are also named after their source, and those of a chain
//! are numbered. So names, and with them the trace, do not depend on the order of the text.
use super::{
    connect, convert,
    evaluate::Evaluator,
    selector::Via,
    session::{Session, did_you_mean},
    tree::{Body, Child, End, Tree, Unit, Wire, join},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
};
use std::{collections::HashMap, rc::Rc, sync::Arc};
use superdense_models::{
    catalogue,
    kinds::{Located, Param, Params, PortKind, PortSpec, Ports, UnitKind},
};

/// An adapter.
pub(crate) struct Adapter {
    /// Name in `via`.
    pub name: &'static str,
    /// Kind of the unit.
    kind: &'static str,
    /// Its parameters by position.
    positions: &'static [&'static str],
    /// The parameter that is the table of all named values.
    table: Option<&'static str>,
}

const fn adapter(
    name: &'static str,
    kind: &'static str,
    positions: &'static [&'static str],
) -> Adapter {
    Adapter { name, kind, positions, table: None }
}

/// All of them.
pub(crate) const ADAPTERS: [Adapter; 8] = [
    adapter("hold", "hold", &["initial"]),
    adapter("sample", "sampler", &["period"]),
    adapter("detect", "detector", &["threshold", "direction"]),
    adapter("quantise", "quantiser", &["quantum"]),
    adapter("gain", "gain", &["gain"]),
    adapter("delay", "delay", &["delay", "initial"]),
    adapter("dead_reckoning", "dead-reckoning", &["band", "order"]),
    Adapter { name: "encode", kind: "encoder", positions: &[], table: Some("map") },
];

/// One adapter of a connection.
struct Stage {
    name: String,
    text: String,
    kind: &'static dyn UnitKind,
    params: Rc<Params>,
    ports: Arc<Ports>,
}

/// The adapters of a connection.
struct Wanted {
    stages: Vec<Stage>,
    ends: (End, End),
    connection: u32,
}

/// The adapters of one group.
#[derive(Default)]
pub(super) struct Adapters {
    wanted: Vec<Wanted>,
}

impl Adapters {
    /// Notes the adapters between two ports.
    pub(super) fn add(
        &mut self,
        tree: &Tree,
        group: u32,
        chain: &[Via],
        (a, b): (End, End),
        connection: u32,
        eval: &Evaluator<'_>,
    ) -> Option<()> {
        let session = eval.session;
        let g = &tree.groups[group as usize];
        let place = g.span(connection);
        let (out, into) = (tree.port(g.body(a), false, a.port), tree.port(g.body(b), true, b.port));
        let (source, to) = (g.name_of(a), g.name_of(b));
        let unitless = |p: &PortSpec| PortSpec { unit: None, ..p.clone() };
        let (mut from, mut before) = (source.clone(), unitless(out));
        let mut stages = Vec::with_capacity(chain.len());
        for (number, via) in (1..).zip(chain) {
            let (adapter, kind, params) = read(via, before.kind, eval)?;
            let name = adapter.name;
            let ports = match kind.ports(&params) {
                Ok(ports) => ports,
                Err(errors) => {
                    session.unit_errors(&via.name.span, name, errors);
                    return None;
                }
            };
            let (front, back) = (ports.inputs.first()?, ports.outputs.first()?);
            if let Some(other) = ports.inputs.iter().skip(1).find(|p| !p.optional) {
                let (text, values) = (&via.text, adapter.positions.join(", "));
                let message = format!(
                    "`via {text}` lacks its {values}: nothing can be connected to its `{}` here",
                    other.name
                );
                let help = format!(
                    "write {name}({values}), or connect a unit of kind \"{}\"",
                    kind.name()
                );
                session.report(Mistake::new("adapter", &via.name.span, message).help(help));
                return None;
            }
            if chain.len() == 1 && out.kind == into.kind && front.kind != back.kind {
                let both = out.kind.name();
                let message =
                    format!("`{source}.{}` and `{to}.{}` are both {both}s", out.name, into.name);
                let mistake = Mistake::new("needless-adapter", &via.name.span, message);
                session.report(mistake.help(format!("delete `via {}`", via.text)));
                return None;
            }
            takes(via, name, front, (&from, &before), session)?;
            connect::fits(place, ((&from, &before), (name, front)), None, session)?;
            let numbered = if chain.len() > 1 { number.to_string() } else { String::new() };
            let mut hidden = format!("{to}.{}~{numbered}{name}", into.name);
            if into.kind == PortKind::Event {
                hidden += &format!("~{source}.{}", out.name);
            }
            (from, before) = (name.to_owned(), back.clone());
            stages.push(Stage {
                name: hidden,
                text: via.text.replace('/', ":"),
                kind,
                params: Rc::new(params),
                ports: Arc::new(ports),
            });
        }
        connect::fits(place, ((&from, &before), (&to, &unitless(into))), None, session)?;
        self.wanted.push(Wanted { stages, ends: (a, b), connection });
        Some(())
    }

    /// Puts the noted adapters into the group.
    pub(super) fn insert(self, tree: &mut Tree, group: u32, session: &Session) {
        let mut count: HashMap<String, u32> = HashMap::new();
        for stage in self.wanted.iter().flat_map(|w| &w.stages) {
            *count.entry(stage.name.clone()).or_default() += 1;
        }
        let mut seen: HashMap<String, ()> = HashMap::new();
        for w in self.wanted {
            // Two adapters between the same ports differ by what is written in them.
            let whole: Vec<&str> = w.stages.iter().map(|s| s.text.as_str()).collect();
            let whole = whole.join(" ");
            let alone = w.stages.iter().all(|s| count.get(&s.name) == Some(&1));
            let mut from = w.ends.0;
            for stage in w.stages {
                let name = if alone { stage.name } else { format!("{}~{whole}", stage.name) };
                if seen.insert(name.clone(), ()).is_some() {
                    let span = tree.groups[group as usize].span(w.connection);
                    let message = "this connection stands twice, with the same adapter";
                    let mistake = Mistake::new("duplicate-connection", span, message);
                    session.report(mistake.help("delete one of the two connections"));
                    break;
                }
                let g = &mut tree.groups[group as usize];
                let child = g.children.len() as u32;
                let unit = tree.units.len() as u32;
                let span = g.span(w.connection).clone();
                g.children.push(Child::added(&name, Body::Unit(unit), span));
                let end = End { child, member: 0, port: 0 };
                g.wires.push(Wire { from, to: end, connection: Some(w.connection) });
                from = end;
                tree.units.push(Unit {
                    path: join(&g.path, &name),
                    kind: stage.kind,
                    params: stage.params,
                    ports: stage.ports,
                    scope: Rc::clone(&g.scope),
                    index: None,
                    span: g.span(w.connection).clone(),
                    hidden: true,
                    wcet: None,
                    bonds: Vec::new(),
                    links: Vec::new(),
                });
            }
            let connection = Some(w.connection);
            let g = &mut tree.groups[group as usize];
            g.wires.push(Wire { from, to: w.ends.1, connection });
        }
    }
}

/// The adapter that a text names, its kind and its parameters; `of` is what it is to take.
fn read(
    via: &Via,
    of: PortKind,
    eval: &Evaluator<'_>,
) -> Option<(&'static Adapter, &'static dyn UnitKind, Params)> {
    let session = eval.session;
    let called = via.name.value.as_str();
    let Some(adapter) = ADAPTERS.iter().find(|a| [a.name, a.kind].contains(&called)) else {
        let message = format!("there is no adapter `{called}`");
        let help = did_you_mean(called, ADAPTERS.iter().map(|a| a.name), "adapters");
        session.report(Mistake::new("unknown-adapter", &via.name.span, message).help(help));
        return None;
    };
    let Adapter { name, kind, positions, table } = adapter;
    let kind = catalogue::find(kind)?;
    if via.positional.len() > positions.len() {
        let (message, help) = match table {
            Some(_) => ("named values".to_owned(), format!("write {name}(up = 1, down = -1)")),
            None => (
                format!("{} values", positions.len()),
                format!("write {name}({})", positions.join(", ")),
            ),
        };
        let message = format!("`{name}` takes {message}");
        session.report(Mistake::new("adapter", &via.name.span, message).help(help));
        return None;
    }
    let mut keys = if table.is_some() { Vec::new() } else { via.named.clone() };
    for (node, name) in via.positional.iter().zip(*positions) {
        keys.push((Located::new((*name).to_owned(), node.span.clone()), node.clone()));
    }
    let title = Located::new((*name).to_owned(), via.name.span.clone());
    // A delay is one of signals or of events; here it is plain which.
    if *name == "delay" && !keys.iter().any(|(k, _)| k.value == "of") {
        let item = Item::Text(of.name().to_owned());
        keys.push((
            Located::new("of".into(), title.span.clone()),
            Node { item, span: title.span.clone() },
        ));
    }
    let mut params = convert::of_keys(kind, &title, &keys, eval)?;
    if let Some(table) = table {
        let entry = |(key, node): &(Located<String>, Node)| {
            Some((key.clone(), convert::value(node, "a value", eval)?))
        };
        let entries: Option<Vec<_>> = via.named.iter().map(entry).collect();
        let entries = Located::new(Param::Table(entries?), title.span);
        params.values.push(((*table).to_owned(), entries));
    }
    Some((adapter, kind, params))
}

/// Whether an adapter takes what it is given: signals or events.
fn takes(
    via: &Via,
    name: &str,
    front: &PortSpec,
    (from, before): (&str, &PortSpec),
    session: &Session,
) -> Option<()> {
    if before.kind == front.kind {
        return Some(());
    }
    let (takes, is) = match before.kind {
        PortKind::Signal => ("events", "is a signal"),
        PortKind::Event => ("a signal", "sends events"),
    };
    let message = format!("`{name}` takes {takes}, but `{from}.{}` {is}", before.name);
    let help = match before.kind {
        PortKind::Signal => "between a signal and events use sample('0.1 s') or detect(20)",
        PortKind::Event => "between events and a signal use hold(0)",
    };
    session.report(Mistake::new("wrong-adapter", &via.name.span, message).help(help));
    None
}
