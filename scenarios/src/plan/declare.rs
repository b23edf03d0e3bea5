//! Declarations of the document, checked for form: units, templates, connections, links.
use super::{
    coupling::{self, CouplingDecl},
    parameters::{Declared, declared, flatten},
    selector::{self, Connection, JointDecl, Piece, Selector, Step, is_name},
    session::{Session, did_you_mean},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    kinds,
    source::Span,
};
use std::{collections::BTreeMap, rc::Rc};
use superdense_models::{
    kinds::{Located, UnitKind},
    maths::expr::built_in,
};

/// Keys of a scenario.
pub(super) const ROOT_KEYS: &[&str] = &[
    "title",
    "description",
    "stop",
    "resolution",
    "seed",
    "micro_steps",
    "sample",
    "partition",
    "record",
    "result",
    "include",
    "parameters",
    "function",
    "table",
    "unit",
    "template",
    "connections",
    "joined",
    "link",
    "coupling",
    "plot",
    "federate",
];
const TEMPLATE_KEYS: &[&str] = &[
    "description",
    "parameters",
    "inputs",
    "outputs",
    "connectors",
    "unit",
    "connections",
    "joined",
    "link",
    "coupling",
];
const LINK_KEYS: &[&str] =
    &["name", "units", "when", "reset", "priority", "detect", "detectors", "values", "models"];

/// The definition from which an instance is made.
pub(super) enum Of {
    Kind(&'static dyn UnitKind),
    Template(Located<String>),
    /// Reported.
    Unknown,
}

/// `[unit.name]`.
pub(super) struct UnitDecl {
    pub name: Located<String>,
    pub of: Of,
    pub count: Option<Node>,
    /// Inputs without a connection keep their start values on purpose.
    pub unconnected: bool,
    /// The longest time that a transition takes, for `check --real-time`.
    pub wcet: Option<Node>,
    /// Ports by which the unit is joined to others without known equations.
    pub bond: Option<Node>,
    /// All other keys.
    pub keys: Vec<(Located<String>, Node)>,
}

/// A port of a group and the inner ports it stands for.
pub(super) struct PortDecl {
    pub name: Located<String>,
    pub ends: Vec<Selector>,
}

/// `[[link]]`.
pub(super) struct LinkDecl {
    pub name: Located<String>,
    pub units: Vec<(Step, Located<String>)>,
    pub when: Located<String>,
    pub reset: Vec<(Located<String>, Located<String>)>,
    pub priority: Option<Node>,
    pub detect: Option<Located<String>>,
    pub detectors: Option<Vec<(Step, Located<String>)>>,
    pub values: Option<Located<String>>,
    /// `unit.variable` by which a unit knows another one's, and that one.
    pub models: Vec<(Located<String>, Located<String>)>,
}

/// The scenario itself, or a template.
#[derive(Default)]
pub(super) struct GroupDecl {
    pub parameters: Declared,
    pub inputs: Vec<PortDecl>,
    pub outputs: Vec<PortDecl>,
    /// By name; `order` is that of the text.
    pub units: Vec<UnitDecl>,
    pub connections: Vec<Connection>,
    /// Connectors of a template, and which inner ones they are.
    pub connectors: Vec<PortDecl>,
    pub joints: Vec<JointDecl>,
    /// `[joined]`: how what is joined is solved.
    pub joined: Option<Node>,
    pub links: Vec<LinkDecl>,
    pub coupling: Option<CouplingDecl>,
    /// The federation, of the scenario itself.
    pub federate: Option<super::federate::FederateDecl>,
    /// Some connections could not be read.
    pub unread: bool,
}

/// Everything that is declared.
pub(super) struct Declarations {
    pub root: Rc<GroupDecl>,
    pub templates: BTreeMap<String, (Span, Rc<GroupDecl>)>,
}

/// Reads the declarations of a document.
pub(super) fn declare(root: &Table, session: &Session) -> Declarations {
    let d = Declarer { session };
    d.unknown_keys(root, ROOT_KEYS, "a scenario");
    let mut templates = BTreeMap::new();
    for (name, node) in d.named(root, "template", "[template.pump]") {
        let example = "[template.pump] with units below it";
        if let Some(table) = node.table("a template", example, &session.sink) {
            d.unknown_keys(table, TEMPLATE_KEYS, "a template");
            templates.insert(name.value.clone(), (name.span.clone(), Rc::new(d.group(table))));
        }
    }
    let mut group = d.group(root);
    d.federate(root, &mut group);
    Declarations { root: Rc::new(group), templates }
}

struct Declarer<'a> {
    session: &'a Session,
}

impl Declarer<'_> {
    fn report(&self, m: Mistake) {
        self.session.report(m);
    }

    /// The tables below `unit` or `template`, with valid names.
    fn named<'t>(
        &self,
        table: &'t Table,
        key: &str,
        example: &str,
    ) -> Vec<(&'t Located<String>, &'t Node)> {
        let Some(node) = table.get(key) else { return Vec::new() };
        let what = format!("`{key}`");
        let Some(inner) = node.table(&what, example, &self.session.sink) else { return Vec::new() };
        let mut out = Vec::new();
        for (name, node) in &inner.entries {
            if is_name(&name.value) {
                out.push((name, node));
            } else {
                let message = format!("`{}` cannot be a name", name.value);
                let help = "names are letters, digits and _, and do not start with a digit";
                self.report(Mistake::new("bad-name", &name.span, message).help(help));
            }
        }
        out
    }

    fn unknown_keys(&self, table: &Table, known: &[&str], of: &str) {
        for (key, _) in &table.entries {
            if !known.contains(&key.value.as_str()) {
                let message = format!("{of} has no key `{}`", key.value);
                let help = did_you_mean(&key.value, known.iter().copied(), "known keys");
                self.report(Mistake::new("unknown-key", &key.span, message).help(help));
            }
        }
    }

    fn group(&self, table: &Table) -> GroupDecl {
        let sink = &self.session.sink;
        let mut group = GroupDecl::default();
        if let Some(node) = table.get("parameters")
            && let Some(t) = node.table("`parameters`", "parameters = { rate = 2.0 }", sink)
        {
            group.parameters = declared(t);
            for (name, _) in flatten(t) {
                let elements = name.value.replace(['[', ']'], "");
                if !elements.split('.').all(is_name) {
                    let message = format!("`{}` cannot be the name of a parameter", name.value);
                    let help = "names are letters, digits and _, and do not start with a digit";
                    self.report(Mistake::new("bad-name", &name.span, message).help(help));
                } else if let Some(what) = built_in(&name.value) {
                    let message = format!("`{}` is {what} in all formulas", name.value);
                    let help = "choose another name for the parameter";
                    self.report(Mistake::new("bad-name", &name.span, message).help(help));
                }
            }
        }
        for (name, node) in self.named(table, "unit", "[unit.tank]") {
            if let Some(t) = node.table("a unit", "[unit.tank] with kind = \"...\"", sink) {
                group.units.push(self.unit(name, t));
            }
        }
        group.inputs = self.ports(table, "inputs");
        group.outputs = self.ports(table, "outputs");
        group.connectors = self.ports(table, "connectors");
        group.joined = table.get("joined").cloned();
        self.connections(table, &mut group);
        if let Some(node) = table.get("link") {
            let links = node.list("`link`", "[[link]] with two brackets", sink).unwrap_or_default();
            for link in links {
                if let Some(t) = link.table("a link", "[[link]]", sink) {
                    group.links.extend(self.link(t, &link.span));
                }
            }
        }
        group.coupling = coupling::declared(table, self.session);
        group
    }

    /// The federation, with connections to its ports.
    fn federate(&self, root: &Table, group: &mut GroupDecl) {
        let Some((decl, connections)) = super::federate::declare(root, self.session) else {
            return;
        };
        if let Some(unit) = group.units.iter().find(|u| u.name.value == "federate") {
            let message = "a federate cannot have a unit of the name `federate`";
            let mistake = Mistake::new("duplicate-name", &unit.name.span, message);
            self.report(mistake.help("rename the unit"));
            return;
        }
        if group.coupling.is_some() {
            let message = "the units of a [coupling] are connected to a federation directly";
            let mistake = Mistake::new("federate", &decl.span, message);
            self.report(mistake.help("put these units and their [coupling] into a template"));
            return;
        }
        group.connections.extend(connections);
        group.federate = Some(decl);
    }

    fn unit(&self, name: &Located<String>, table: &Table) -> UnitDecl {
        let sink = &self.session.sink;
        let kind = table.get("kind").map(|n| n.text("`kind`", "kind = \"constant\"", sink));
        let template =
            table.get("template").map(|n| n.text("`template`", "template = \"pump\"", sink));
        let of = match (kind, template) {
            (None, None) => {
                let message = format!("unit `{}` has neither a kind nor a template", name.value);
                let help = "add kind = \"...\"; `superdense list` shows all kinds";
                self.report(Mistake::new("missing-kind", &name.span, message).help(help));
                Of::Unknown
            }
            (Some(_), Some(_)) => {
                let message = format!("unit `{}` has both a kind and a template", name.value);
                let help = "delete one of the two keys";
                self.report(Mistake::new("missing-kind", &name.span, message).help(help));
                Of::Unknown
            }
            (Some(kind), None) => kind.map_or(Of::Unknown, |k| self.kind(&k)),
            (None, Some(template)) => template.map_or(Of::Unknown, Of::Template),
        };
        let own = ["kind", "template", "count", "unconnected", "wcet", "bond"];
        let keys = table.entries.iter().filter(|(k, _)| !own.contains(&k.value.as_str()));
        let count = table.get("count").cloned();
        let unconnected = table.get("unconnected").is_some_and(|n| self.unconnected(n));
        let wcet = table.get("wcet").cloned();
        let bond = table.get("bond").cloned();
        let keys = keys.cloned().collect();
        UnitDecl { name: name.clone(), of, count, unconnected, wcet, bond, keys }
    }

    fn unconnected(&self, node: &Node) -> bool {
        let example = "unconnected = \"ok\"";
        let text = node.text("`unconnected`", example, &self.session.sink);
        let Some(text) = text.filter(|text| text.value != "ok") else { return true };
        let message = format!("`unconnected` is \"{}\"", text.value);
        let help = "write unconnected = \"ok\", or leave the key out";
        self.report(Mistake::new("bad-value", &node.span, message).help(help));
        false
    }

    fn kind(&self, name: &Located<String>) -> Of {
        if let Some(kind) = kinds::find(&name.value) {
            return Of::Kind(kind);
        }
        let known = kinds::kinds();
        let known = known.iter().map(|k| k.name());
        let help = match kinds::missing_feature(&name.value) {
            Some(feature) => format!("this build is without it: build with --features {feature}"),
            None => did_you_mean(&name.value, known, "`superdense list` shows all kinds"),
        };
        let message = format!("there is no kind `{}`", name.value);
        self.report(Mistake::new("unknown-kind", &name.span, message).help(help));
        Of::Unknown
    }

    fn ports(&self, table: &Table, key: &str) -> Vec<PortDecl> {
        let sink = &self.session.sink;
        let example = format!("{key} = {{ flow = \"meter.y\" }}");
        let Some(node) = table.get(key) else { return Vec::new() };
        let Some(t) = node.table(&format!("`{key}`"), &example, sink) else { return Vec::new() };
        let mut out = Vec::new();
        for (name, node) in &t.entries {
            if !is_name(&name.value) {
                let message = format!("`{}` cannot be the name of a port", name.value);
                let help = "names are letters, digits and _, and do not start with a digit";
                self.report(Mistake::new("bad-name", &name.span, message).help(help));
            }
            let items = match &node.item {
                Item::List(l) => l.as_slice(),
                _ => std::slice::from_ref(node),
            };
            if key == "outputs" && items.len() != 1 {
                let mistake = Mistake::new(
                    "group-output",
                    &node.span,
                    "an output of a template stands for one inner output",
                );
                self.report(mistake.help("add the values with a unit of kind \"sum\""));
            }
            let texts = items.iter().filter_map(|n| n.text("an inner port", &example, sink));
            let ends =
                texts.filter_map(|t| self.parsed(selector::selector(Piece::new(self.session, &t))));
            out.push(PortDecl { name: name.clone(), ends: ends.collect() });
        }
        out
    }

    fn parsed<T>(&self, result: Result<T, Mistake>) -> Option<T> {
        result.map_err(|m| self.report(m)).ok()
    }

    fn connections(&self, table: &Table, group: &mut GroupDecl) {
        let sink = &self.session.sink;
        let example = "connections = [\"source.y -> tank.u\"]";
        let Some(node) = table.get("connections") else { return };
        for item in node.list("`connections`", example, sink).unwrap_or_default() {
            let connection = match &item.item {
                Item::Text(t) => {
                    let text = Located::new(t.clone(), item.span.clone());
                    let piece = Piece::new(self.session, &text);
                    if let Some(joint) = selector::joint(piece) {
                        group.joints.extend(self.parsed(joint));
                        continue;
                    }
                    self.parsed(selector::connection(piece))
                }
                Item::Table(t) => self.connection_table(t, &item.span),
                _ => {
                    sink.push(item.wrong_type("a connection", "a text", "\"source.y -> tank.u\""));
                    None
                }
            };
            group.unread |= connection.is_none();
            group.connections.extend(connection);
        }
    }

    /// `{ from = "a.y", to = "b.u", via = "hold", initial = 0 }`.
    fn connection_table(&self, table: &Table, span: &Span) -> Option<Connection> {
        let sink = &self.session.sink;
        let example = "{ from = \"a.y\", to = \"b.u\" }";
        let text = |key: &str| {
            let Some(node) = table.get(key) else {
                let message = format!("this connection has no `{key}`");
                self.report(
                    Mistake::new("connection-syntax", span, message)
                        .help(format!("write {example}")),
                );
                return None;
            };
            node.text(&format!("`{key}`"), example, sink)
        };
        let (from, to) = (text("from"), text("to"));
        let mut via = Vec::new();
        if let Some(n) = table.get("via") {
            let text = n.text("`via`", "via = \"hold\"", sink)?;
            via = self.parsed(selector::adapters(Piece::new(self.session, &text)))?;
            // Options that stand beside are for the last adapter.
            if let Some(last) = via.last_mut() {
                let own = ["from", "to", "via", "for"];
                let named = table.entries.iter().filter(|(k, _)| !own.contains(&k.value.as_str()));
                last.named.extend(named.cloned());
                for (k, n) in &last.named {
                    last.text += &format!(" {}={}", k.value, self.session.sources.slice(&n.span));
                }
            }
        }
        if via.is_empty() {
            self.unknown_keys(table, &["from", "to", "via", "for"], "a connection without `via`");
        }
        let loops = match table.get("for") {
            None => Vec::new(),
            Some(n) => {
                let text = n.text("`for`", "for = \"i in 0..9\"", sink)?;
                self.parsed(selector::loops(Piece::new(self.session, &text)))?
            }
        };
        let selector =
            |t: &Located<String>| self.parsed(selector::selector(Piece::new(self.session, t)));
        let (from, to) = (selector(&from?), selector(&to?));
        Some(Connection { from: from?, to: to?, terminals: false, via, loops, span: span.clone() })
    }

    fn link(&self, table: &Table, span: &Span) -> Option<LinkDecl> {
        let sink = &self.session.sink;
        self.unknown_keys(table, LINK_KEYS, "a link");
        let need = |key: &str, example: &str| {
            let node = table.get(key);
            if node.is_none() {
                let message = format!("this link has no `{key}`");
                let help = format!("add {example}");
                self.report(Mistake::new("link", span, message).help(help));
            }
            node
        };
        let name = need("name", "name = \"collision\"")
            .and_then(|n| n.text("`name`", "name = \"collision\"", sink));
        let when = need("when", "when = \"a.x >= b.x\"");
        let when = when.and_then(|n| n.text("`when`", "when = \"a.x >= b.x\"", sink));
        let example = "units = [\"a\", \"b\"]";
        let units = self.members(need("units", example)?, "`units`")?;
        let detectors = match table.get("detectors") {
            Some(node) => Some(self.members(node, "`detectors`")?),
            None => None,
        };
        let detect = match table.get("detect") {
            Some(node) => Some(node.text("`detect`", "detect = \"between\"", sink)?),
            None => None,
        };
        let values = match table.get("values") {
            Some(node) => Some(node.text("`values`", "values = \"true\"", sink)?),
            None => None,
        };
        let mut reset = Vec::new();
        let example = "reset = { \"a.v\" = \"-a.v\" }";
        if let Some(node) = table.get("reset") {
            let t = node.table("`reset`", example, sink)?;
            // `a.v = …` without quotes is a nested table, which means the same.
            for (key, node) in flatten(t) {
                let text = match &node.item {
                    Item::Text(t) => Located::new(t.clone(), node.span.clone()),
                    Item::Int(_) | Item::Real(..) => {
                        let text = self.session.sources.slice(&node.span);
                        Located::new(text.to_owned(), node.span.clone())
                    }
                    _ => {
                        sink.push(node.wrong_type("a reset", "a formula", example));
                        return None;
                    }
                };
                reset.push((key, text));
            }
        }
        let mut models = Vec::new();
        if let Some(node) = table.get("models") {
            let example = "models = { \"a.x_of_b\" = \"b.x\" }";
            for (key, node) in flatten(node.table("`models`", example, sink)?) {
                models.push((key, node.text("a variable", example, sink)?));
            }
        }
        let priority = table.get("priority").cloned();
        let (name, when) = (name?, when?);
        Some(LinkDecl { name, units, when, reset, priority, detect, detectors, values, models })
    }

    /// Units of a link.
    fn members(&self, list: &Node, key: &str) -> Option<Vec<(Step, Located<String>)>> {
        let (sink, example) = (&self.session.sink, "[\"a\", \"b\"]");
        let mut units = Vec::new();
        for item in list.list(key, example, sink)? {
            let text = item.text("a unit of a link", example, sink)?;
            let step = self.parsed(selector::unit(Piece::new(self.session, &text)))?;
            units.push((step, text));
        }
        Some(units)
    }
}
