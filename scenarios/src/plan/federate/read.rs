//! The tables of `[federate]`, checked for form.
use super::NAME;
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    plan::{
        selector::{self, Connection, Index, Piece, Selector, Step, Via},
        session::{Session, did_you_mean},
    },
    source::Span,
};
use superdense_adapters::federation::data::Type;
use superdense_models::{kinds::Located, maths::quantity};

#[cfg(feature = "helics")]
const KEYS: &[&str] = &[
    "engine",
    "name",
    "core",
    "broker",
    "key",
    "instant",
    "rounding",
    "patience",
    "join",
    "require",
    "stall",
    "stall_ends",
    "input",
    "output",
    "message",
    "launch",
];
#[cfg(feature = "mosaik")]
const MOSAIK_KEYS: &[&str] = &["engine", "resolution", "rounding", "input", "output"];
const FMI_KEYS: &[&str] = &["engine", "input", "output"];
const INPUT_KEYS: &[&str] = &["from", "to", "type", "unit", "initial"];
const OUTPUT_KEYS: &[&str] = &["from", "as", "type", "unit", "every", "quantum"];
const MESSAGE_KEYS: &[&str] = &["name", "from", "to", "peer", "type"];
const LAUNCH_KEYS: &[&str] = &["name", "command"];

/// Names of types, for messages.
const TYPES: [&str; 11] = [
    "double",
    "int",
    "bool",
    "string",
    "complex",
    "vector",
    "complex_vector",
    "named_point",
    "time",
    "char",
    "raw",
];

/// Options of HELICS that would make runs depend on the clock on the wall.
const REFUSED: [(&[&str], &str, &str); 6] = [
    (
        &["iterate", "iteration", "iterative", "force_iteration", "max_iterations"],
        "forced iteration gives other sequences of values from run to run",
        "remove it: events of one instant are carried out in micro-steps, and peers are heard 1 ns later",
    ),
    (
        &["realtime", "real_time", "rt_lag", "rt_lead"],
        "real time makes grants depend on the clock on the wall",
        "remove it",
    ),
    (
        &["async_time", "asynctime"],
        "asynchronous time makes grants depend on the clock on the wall",
        "remove it",
    ),
    (
        &["grant_timeout"],
        "a timeout of grants changes results",
        "remove it, and see `patience` for federates that are lost",
    ),
    (
        &["dynamic", "dynamic_joining"],
        "who joins later is there from another time on in each run",
        "remove it, and name all federates in `require`",
    ),
    (
        &["period", "delta", "time_delta"],
        "there is no step",
        "remove it: own events and values of others decide",
    ),
];

/// The one that grants times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum EngineKind {
    #[cfg(feature = "helics")]
    Helics,
    #[cfg(feature = "mosaik")]
    Mosaik,
    Fmi,
}

/// Engines by their names in files.
const ENGINES: &[(&str, EngineKind)] = &[
    #[cfg(feature = "helics")]
    ("helics", EngineKind::Helics),
    #[cfg(feature = "mosaik")]
    ("mosaik", EngineKind::Mosaik),
    ("fmi", EngineKind::Fmi),
];

impl EngineKind {
    /// Its name in messages.
    pub(super) fn label(self) -> &'static str {
        match self {
            #[cfg(feature = "helics")]
            Self::Helics => "HELICS",
            #[cfg(feature = "mosaik")]
            Self::Mosaik => "mosaik",
            Self::Fmi => "FMI",
        }
    }

    /// The times that it counts.
    pub(super) fn whole_times(self) -> &'static str {
        match self {
            #[cfg(feature = "helics")]
            Self::Helics => "nanoseconds",
            #[cfg(feature = "mosaik")]
            Self::Mosaik => "times of `resolution`",
            Self::Fmi => "ticks",
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            #[cfg(feature = "helics")]
            Self::Helics => KEYS,
            #[cfg(feature = "mosaik")]
            Self::Mosaik => MOSAIK_KEYS,
            Self::Fmi => FMI_KEYS,
        }
    }
}

/// The content of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Carries {
    /// A value of this type.
    Value(Type),
    /// Messages.
    Messages,
}

impl Carries {
    /// The type of its values in records.
    pub(super) fn ty(self) -> Type {
        match self {
            Self::Value(ty) => ty,
            Self::Messages => Type::Raw,
        }
    }

    /// How many ports a value needs; none where that depends on the value.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Value(Type::Complex | Type::NamedPoint) => Some(2),
            Self::Value(Type::Vector | Type::ComplexVector) => None,
            _ => Some(1),
        }
    }
}

/// One way between the scenario and the federation.
pub(in crate::plan) struct Way {
    /// The name of the port of the unit `federate`; of several ports without their indices.
    pub port: String,
    /// Into the scenario, or out of it.
    pub inwards: bool,
    pub carries: Carries,
    /// Publication, input or endpoint in HELICS.
    pub key: String,
    /// The port of the scenario.
    pub selector: Selector,
    pub path: Located<String>,
    pub unit: Option<String>,
    /// The type that the text of messages is read as, in place of that of the port.
    pub read_as: Option<Type>,
    pub initial: Option<Node>,
    /// `every` or `quantum`, by which a signal is sampled.
    pub sampled: Option<(&'static str, Node)>,
    /// The number of its table.
    pub number: usize,
}

/// `[federate]`.
pub(in crate::plan) struct FederateDecl {
    pub engine: EngineKind,
    pub table: Table,
    pub span: Span,
    pub ways: Vec<Way>,
    /// Endpoints: name and peers, by number of their table.
    pub endpoints: Vec<(String, Vec<String>)>,
    #[cfg_attr(not(feature = "helics"), expect(dead_code, reason = "of HELICS"))]
    pub launch: Vec<(String, String)>,
}

/// Reads `[federate]`, and gives the connections of its ports.
pub(in crate::plan) fn declare(
    root: &Table,
    session: &Session,
) -> Option<(FederateDecl, Vec<Connection>)> {
    let node = root.get(NAME)?;
    let table = node.table("`federate`", "[federate] with engine = \"helics\"", &session.sink)?;
    let mut r = Reader { session, ways: Vec::new(), connections: Vec::new() };
    let engine = r.engine(table, &node.span)?;
    r.keys(table, engine.keys(), &format!("[federate] of {}", engine.label()));
    for (number, t) in r.tables(table, "input").into_iter().enumerate() {
        r.input(t, number);
    }
    for (number, t) in r.tables(table, "output").into_iter().enumerate() {
        r.output(t, number);
    }
    let messages = r.tables(table, "message");
    let endpoints = messages.into_iter().enumerate().filter_map(|(n, t)| r.message(t, n)).collect();
    let launch = r.tables(table, "launch").into_iter().filter_map(|t| r.launch(t)).collect();
    r.twice();
    let Reader { mut ways, connections, .. } = r;
    // Bags are in the order of ports of the scenario, and then of names in HELICS.
    ways.sort_by(|a, b| (&a.path.value, &a.key).cmp(&(&b.path.value, &b.key)));
    let (table, span) = (table.clone(), node.span.clone());
    Some((FederateDecl { engine, table, span, ways, endpoints, launch }, connections))
}

struct Reader<'a> {
    session: &'a Session,
    ways: Vec<Way>,
    connections: Vec<Connection>,
}

/// A table of a list, and its place.
type Entry<'t> = (&'t Table, &'t Span);

impl Reader<'_> {
    fn report(&self, code: &'static str, span: &Span, message: String, help: String) {
        self.session.report(Mistake::new(code, span, message).help(help));
    }

    fn keys(&self, table: &Table, known: &[&str], of: &str) {
        for (key, _) in &table.entries {
            let name = key.value.as_str();
            if known.contains(&name) {
                continue;
            }
            if let Some((_, why, help)) = REFUSED.iter().find(|r| r.0.contains(&name)) {
                let message = format!("`{name}` is refused: {why}");
                self.report("federate-refused", &key.span, message, (*help).into());
                continue;
            }
            let help = did_you_mean(name, known.iter().copied(), "known keys");
            self.report("unknown-key", &key.span, format!("{of} has no key `{name}`"), help);
        }
    }

    fn tables<'t>(&self, table: &'t Table, key: &str) -> Vec<Entry<'t>> {
        let example = format!("[[federate.{key}]] with two brackets");
        let Some(node) = table.get(key) else { return Vec::new() };
        let list = node.list(&format!("`{key}`"), &example, &self.session.sink).unwrap_or_default();
        let table = |n: &'t Node| {
            Some((n.table(&format!("`{key}`"), &example, &self.session.sink)?, &n.span))
        };
        list.iter().filter_map(table).collect()
    }

    fn engine(&self, table: &Table, span: &Span) -> Option<EngineKind> {
        // With another name the rest is looked at all the same.
        let usual = ENGINES.first().map(|e| e.1);
        let Some(named) = self.needed(table, "engine", "engine = \"helics\"", span) else {
            return usual;
        };
        let found = ENGINES.iter().find(|e| e.0 == named.value);
        if found.is_none() {
            let message = match named.value.as_str() {
                "helics" | "mosaik" => format!("this build knows no engine `{}`", named.value),
                other => format!("there is no engine `{other}`"),
            };
            let known = did_you_mean(&named.value, ENGINES.iter().map(|e| e.0), "engines");
            let help = match named.value.as_str() {
                name @ ("helics" | "mosaik") => format!("build with --features {name}"),
                _ => known,
            };
            self.report("federate", &named.span, message, help);
        }
        match (found, named.value.as_str()) {
            (Some(found), _) => Some(found.1),
            (None, "helics" | "mosaik") => None,
            (None, _) => usual,
        }
    }

    fn text(&self, table: &Table, key: &str, example: &str) -> Option<Located<String>> {
        table.get(key)?.text(&format!("`{key}`"), example, &self.session.sink)
    }

    fn needed(
        &self,
        table: &Table,
        key: &str,
        example: &str,
        span: &Span,
    ) -> Option<Located<String>> {
        if table.get(key).is_none() {
            let message = format!("`{key}` is missing");
            self.report("federate", span, message, format!("add {example}"));
        }
        self.text(table, key, example).filter(|t| {
            if t.value.is_empty() {
                let message = format!("`{key}` is empty");
                self.report("federate", &t.span, message, format!("write {example}"));
            }
            !t.value.is_empty()
        })
    }

    fn ty(&self, table: &Table) -> Option<Type> {
        let Some(text) = self.text(table, "type", "type = \"double\"") else {
            return table.get("type").is_none().then_some(Type::Double);
        };
        let found = Type::named(&text.value);
        if found.is_none() {
            let message = format!("there is no type `{}`", text.value);
            self.report("federate", &text.span, message, did_you_mean(&text.value, TYPES, "types"));
        }
        found
    }

    /// The unit of measure of an input or output, which others are told. The federation may know more of them.
    fn unit(&self, table: &Table, example: &str) -> Option<String> {
        let unit = self.text(table, "unit", example)?;
        if let Err(why) = quantity::unit(&unit.value) {
            let message =
                format!("there is no unit `{}` here: nothing is checked by it", why.unknown);
            self.session.warn(&unit.span, &message);
        }
        Some(unit.value)
    }

    fn input(&mut self, (table, span): Entry<'_>, number: usize) {
        self.keys(table, INPUT_KEYS, "an input");
        let from = self.needed(table, "from", "from = \"grid/voltage\"", span);
        let to = self.needed(table, "to", "to = \"house.u\"", span);
        let ty = self.ty(table);
        let unit = self.unit(table, "unit = \"V\"");
        let (Some(from), Some(to), Some(ty)) = (from, to, ty) else { return };
        let initial = table.get("initial").cloned();
        self.way(to, Carries::Value(ty), true, from.value, number, |way| Way {
            unit,
            initial,
            ..way
        });
    }

    fn output(&mut self, (table, span): Entry<'_>, number: usize) {
        self.keys(table, OUTPUT_KEYS, "an output");
        let from = self.needed(table, "from", "from = \"house.p\"", span);
        let key = self.needed(table, "as", "as = \"building/power\"", span);
        let ty = self.ty(table);
        let unit = self.unit(table, "unit = \"W\"");
        if table.get("every").is_some()
            && let Some(other) = table.get("quantum")
        {
            let message = "an output has both `every` and `quantum`".into();
            self.report("federate", &other.span, message, "delete one of the two".into());
        }
        let sampled = ["every", "quantum"].into_iter();
        let sampled = sampled.filter_map(|key| Some((key, table.get(key)?.clone()))).next();
        let (Some(from), Some(key), Some(ty)) = (from, key, ty) else { return };
        self.way(from, Carries::Value(ty), false, key.value, number, |way| Way {
            unit,
            sampled,
            ..way
        });
    }

    /// The endpoints of `peer`: one, or a list of them.
    fn peers(&self, table: &Table, span: &Span) -> Option<Vec<String>> {
        let Some(Node { item: Item::List(list), .. }) = table.get("peer") else {
            let peer = self.needed(table, "peer", "peer = \"grid/mail\"", span);
            return Some(vec![peer?.value]);
        };
        let example = "peer = [\"grid/mail\", \"market/mail\"]";
        let text = |node: &Node| Some(node.text("a peer", example, &self.session.sink)?.value);
        let mut peers: Vec<String> = list.iter().map(text).collect::<Option<_>>()?;
        peers.sort_unstable();
        let count = peers.len();
        peers.dedup();
        if peers.is_empty() || peers.len() < count || peers.iter().any(String::is_empty) {
            let message = "`peer` names no endpoint, or one twice".into();
            self.report("federate", span, message, format!("write {example}"));
            return None;
        }
        Some(peers)
    }

    /// The type that messages are read as.
    fn read_as(&self, table: &Table) -> Option<Type> {
        table.get("type")?;
        let ty = self.ty(table)?;
        let one = [Type::Double, Type::Int, Type::Bool, Type::Text];
        if !one.contains(&ty) {
            let message = format!("messages of the type `{}` are not read", ty.written());
            let help = "write type = \"double\", \"int\", \"bool\" or \"string\"".into();
            self.report("federate", &table.get("type")?.span, message, help);
        }
        Some(ty)
    }

    fn message(
        &mut self,
        (table, span): Entry<'_>,
        number: usize,
    ) -> Option<(String, Vec<String>)> {
        self.keys(table, MESSAGE_KEYS, "a message");
        let name = self.needed(table, "name", "name = \"building/mail\"", span);
        let peers = self.peers(table, span);
        let read_as = self.read_as(table);
        let ends = [("from", false, "from = \"alarm.y\""), ("to", true, "to = \"lamp.u\"")];
        let ends = ends.map(|(key, inwards, example)| (self.text(table, key, example), inwards));
        if table.get("from").is_none() && table.get("to").is_none() {
            let message = "this message neither leaves the scenario nor comes to it".into();
            let help = "add from = \"alarm.y\" or to = \"lamp.u\"".into();
            self.report("federate", span, message, help);
        }
        let (name, peers) = (name?.value, peers?);
        for (path, inwards) in ends {
            let Some(path) = path else { continue };
            let read_as = read_as.filter(|_| inwards);
            self.way(path, Carries::Messages, inwards, name.clone(), number, |way| Way {
                read_as,
                ..way
            });
        }
        Some((name, peers))
    }

    fn launch(&self, (table, span): Entry<'_>) -> Option<(String, String)> {
        self.keys(table, LAUNCH_KEYS, "a federate that is started");
        let name = self.needed(table, "name", "name = \"grid\"", span);
        let command =
            self.needed(table, "command", "command = \"python3 grid.py {broker} {key}\"", span);
        Some((name?.value, command?.value))
    }

    /// Notes a way, and the connection between the port of the federation and that of the scenario.
    fn way(
        &mut self,
        path: Located<String>,
        carries: Carries,
        inwards: bool,
        key: String,
        number: usize,
        more: impl FnOnce(Way) -> Way,
    ) {
        let parsed = selector::selector(Piece::new(self.session, &path));
        let mut selector = match parsed {
            Ok(selector) => selector,
            Err(mistake) => return self.session.report(mistake),
        };
        let many = carries.width() != Some(1);
        // Ports of all units of an array are many by themselves.
        let of_array = |step: &Step| step.indices.iter().any(|i| matches!(i.0, Index::All));
        if many
            && !selector.steps.iter().any(of_array)
            && let Some(last) = selector.steps.last_mut()
            && last.indices.is_empty()
        {
            last.name.value.push('_');
            last.indices.push((Index::All, last.name.span.clone()));
        }
        // `/` divides paths.
        let port = if key.contains('/') { key.replace('/', ":") } else { format!(":{key}") };
        let (initial, sampled, unit, read_as) = (None, None, None, None);
        #[rustfmt::skip]
        let way = Way {
            port, inwards, carries, key, selector, path, unit, read_as, initial, sampled, number,
        };
        let way = more(way);
        self.connections.push(connection(&way, many));
        self.ways.push(way);
    }

    /// Reports names that stand twice.
    fn twice(&self) {
        for (k, way) in self.ways.iter().enumerate() {
            let same = |other: &&Way| {
                let own = (other.inwards, other.carries == Carries::Messages, &other.key);
                own == (way.inwards, way.carries == Carries::Messages, &way.key)
                    && (!way.inwards || other.path.value == way.path.value)
            };
            if self.ways[..k].iter().any(|other| same(&other)) {
                let message = format!("`{}` stands twice", way.key);
                let help = "give one of the two another name, or delete it".into();
                self.report("duplicate-name", &way.path.span, message, help);
            }
        }
    }
}

fn connection(way: &Way, many: bool) -> Connection {
    let span = way.path.span.clone();
    let name = |text: &str| Located::new(text.to_owned(), span.clone());
    let all = if many { vec![(Index::All, span.clone())] } else { Vec::new() };
    let steps = vec![
        Step { name: name(NAME), indices: Vec::new() },
        Step { name: name(&way.port), indices: all },
    ];
    let federate = Selector { steps, span: span.clone() };
    let (from, to) = match way.inwards {
        true => (federate, way.selector.clone()),
        false => (way.selector.clone(), federate),
    };
    let via = way.sampled.iter().map(|(key, node)| Via {
        name: Located::new(
            if *key == "every" { "sample" } else { "quantise" }.into(),
            node.span.clone(),
        ),
        positional: vec![node.clone()],
        named: Vec::new(),
        text: match &node.item {
            Item::Text(t) => format!("{key}({t})"),
            other => format!("{key}({other:?})"),
        },
    });
    Connection { from, to, terminals: false, via: via.collect(), loops: Vec::new(), span }
}
