//! Adapters on connections: `via hold(0)` puts a unit between two ports.
//!
//! The unit is a hidden child named after its target, such as `tank.u~hold`; adapters before an
//! event input, which may have many drivers, are also named after their source. So names, and
//! with them the trace, do not depend on the order of the text.
use super::{
    connect, convert,
    evaluate::Evaluator,
    selector::Via,
    session::{Session, did_you_mean},
    tree::{Body, Child, End, Tree, Unit, Wire, join},
};
use crate::diagnostics::Mistake;
use std::{collections::HashMap, rc::Rc, sync::Arc};
use superdense_models::registry::{self, Located, Params, PortKind, PortSpec, Ports, UnitKind};

/// Name in `via`, kind, parameters by position.
pub(crate) const ADAPTERS: [(&str, &str, &[&str]); 3] = [
    ("hold", "hold", &["initial"]),
    ("sample", "sampler", &["period"]),
    ("detect", "detector", &["threshold", "direction"]),
];

struct Wanted {
    name: String,
    text: String,
    kind: &'static dyn UnitKind,
    params: Rc<Params>,
    ports: Arc<Ports>,
    ends: (End, End),
    connection: u32,
}

/// The adapters of one group.
#[derive(Default)]
pub(super) struct Adapters {
    wanted: Vec<Wanted>,
}

impl Adapters {
    /// Notes an adapter between two ports.
    pub fn add(
        &mut self,
        tree: &Tree,
        group: u32,
        via: &Via,
        (a, b): (End, End),
        connection: u32,
        eval: &Evaluator<'_>,
    ) -> Option<()> {
        let session = eval.session;
        let g = &tree.groups[group as usize];
        let place = g.span(connection);
        let found = ADAPTERS
            .iter()
            .find(|(name, kind, _)| [name, kind].contains(&&via.name.value.as_str()));
        let Some(&(name, kind, positions)) = found else {
            let message = format!("there is no adapter `{}`", via.name.value);
            let known = ADAPTERS.iter().map(|a| a.0);
            let help = did_you_mean(&via.name.value, known, "adapters");
            session.report(Mistake::new("unknown-adapter", &via.name.span, message).help(help));
            return None;
        };
        let kind = registry::find(kind)?;
        if via.positional.len() > positions.len() {
            let message = format!("`{name}` takes {} values", positions.len());
            let help = format!("write {name}({})", positions.join(", "));
            session.report(Mistake::new("adapter", &via.name.span, message).help(help));
            return None;
        }
        let mut keys = via.named.clone();
        for (node, name) in via.positional.iter().zip(positions) {
            keys.push((Located::new((*name).to_owned(), node.span.clone()), node.clone()));
        }
        let title = Located::new(name.to_owned(), via.name.span.clone());
        let params = convert::of_keys(kind, &title, &keys, eval)?;
        let ports = match kind.ports(&params) {
            Ok(ports) => ports,
            Err(errors) => {
                session.unit_errors(&via.name.span, name, errors);
                return None;
            }
        };
        let (out, into) = (tree.port(g.body(a), false, a.port), tree.port(g.body(b), true, b.port));
        let (front, back) = (ports.inputs.first()?, ports.outputs.first()?);
        let (from, to) = (g.name_of(a), g.name_of(b));
        if out.kind == into.kind && front.kind != back.kind {
            let both = out.kind.name();
            let message =
                format!("`{from}.{}` and `{to}.{}` are both {both}s", out.name, into.name);
            let mistake = Mistake::new("needless-adapter", &via.name.span, message);
            session.report(mistake.help(format!("delete `via {}`", via.text)));
            return None;
        }
        if out.kind != front.kind {
            let (takes, is) = match out.kind {
                PortKind::Signal => ("events", "is a signal"),
                PortKind::Event => ("a signal", "sends events"),
            };
            let message = format!("`{name}` takes {takes}, but `{from}.{}` {is}", out.name);
            let help = match out.kind {
                PortKind::Signal => "between a signal and events use sample('0.1 s') or detect(20)",
                PortKind::Event => "between events and a signal use hold(0)",
            };
            session.report(Mistake::new("wrong-adapter", &via.name.span, message).help(help));
            return None;
        }
        let unitless = |p: &PortSpec| PortSpec { unit: None, ..p.clone() };
        connect::fits(place, (&from, &unitless(out)), (name, front), session)?;
        connect::fits(place, (name, back), (&to, &unitless(into)), session)?;
        let mut hidden = format!("{to}.{}~{name}", into.name);
        if into.kind == PortKind::Event {
            hidden += &format!("~{from}.{}", out.name);
        }
        self.wanted.push(Wanted {
            name: hidden,
            text: via.text.replace('/', ":"),
            kind,
            params: Rc::new(params),
            ports: Arc::new(ports),
            ends: (a, b),
            connection,
        });
        Some(())
    }

    /// Puts the noted adapters into the group.
    pub fn insert(self, tree: &mut Tree, group: u32, session: &Session) {
        let mut count: HashMap<String, u32> = HashMap::new();
        for w in &self.wanted {
            *count.entry(w.name.clone()).or_default() += 1;
        }
        let mut seen: HashMap<String, ()> = HashMap::new();
        for w in self.wanted {
            // Two adapters between the same ports differ by what is written in them.
            let alone = count.get(&w.name) == Some(&1);
            let name = if alone { w.name } else { format!("{}~{}", w.name, w.text) };
            if seen.insert(name.clone(), ()).is_some() {
                let span = tree.groups[group as usize].span(w.connection);
                let message = "this connection stands twice, with the same adapter";
                let mistake = Mistake::new("duplicate-connection", span, message);
                session.report(mistake.help("delete one of the two connections"));
                continue;
            }
            let g = &mut tree.groups[group as usize];
            let child = g.children.len() as u32;
            let unit = tree.units.len() as u32;
            g.children.push(Child {
                name: name.as_str().into(),
                array: false,
                members: vec![Body::Unit(unit)],
                wrong: false,
                span: g.span(w.connection).clone(),
            });
            let end = End { child, member: 0, port: 0 };
            let connection = Some(w.connection);
            g.wires.push(Wire { from: w.ends.0, to: end, connection });
            g.wires.push(Wire { from: end, to: w.ends.1, connection });
            tree.units.push(Unit {
                path: join(&g.path, &name),
                kind: w.kind,
                params: w.params,
                ports: w.ports,
                scope: Rc::clone(&g.scope),
                index: None,
                span: g.span(w.connection).clone(),
                hidden: true,
                links: Vec::new(),
            });
        }
    }
}
