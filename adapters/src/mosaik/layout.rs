//! Entities and ports, as the file alone tells them.
use super::json::of_param;
use serde_json::Value as Json;
use superdense_models::kinds::{
    Located, Param, ParamError, Params, PortSpec, Ports, Span, ValueType,
};

pub(super) type Checked<T> = Result<T, Vec<ParamError>>;

/// A call of `create`.
#[derive(Debug, Clone)]
pub(super) struct Created {
    /// Its name in the file.
    pub name: String,
    pub model: String,
    pub count: usize,
    pub parameters: Vec<(String, Json)>,
}

/// The entity of a port.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entity {
    /// By its place in the answer to a call of `create`.
    Member(usize),
    /// By its name; children of entities have no place.
    Named(String),
}

/// A port.
#[derive(Debug, Clone)]
pub(super) struct Port {
    pub name: String,
    /// Number of the call of `create`.
    pub created: usize,
    pub entity: Entity,
    pub attribute: String,
    /// The type of its events; none for a signal.
    pub event: Option<ValueType>,
    /// The value before anything is heard, or, of an output, before the first step.
    pub initial: Option<Json>,
    /// Input: the connection passes a value on at the next time.
    pub shifted: bool,
    /// Input: the connection closes a loop at one time.
    pub weak: bool,
    /// Input: the name that the simulator is told for where values come from.
    pub source: Option<String>,
}

/// Entities and ports of a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub created: Vec<Created>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

impl Layout {
    pub(super) fn ports(&self) -> Ports {
        let spec = |p: &Port| match p.event {
            None => PortSpec::signal(p.name.clone()).optional(),
            Some(ty) => PortSpec::event(p.name.clone(), ty).optional(),
        };
        let all = |ports: &[Port]| ports.iter().map(spec).collect();
        Ports { inputs: all(&self.inputs), outputs: all(&self.outputs) }
    }
}

/// Reads the tables of a unit, and collects their mistakes.
struct Reader {
    layout: Layout,
    spans: [Vec<Span>; 2],
    errors: Vec<ParamError>,
}

type Entries = [(Located<String>, Located<Param>)];

const CREATE: [&str; 5] = ["model", "count", "parameters", "inputs", "outputs"];
const INPUT: [&str; 7] = ["attribute", "entity", "event", "initial", "shifted", "weak", "source"];
const OUTPUT: [&str; 4] = ["attribute", "entity", "event", "initial"];
const TYPES: [ValueType; 6] = [
    ValueType::Any,
    ValueType::Unit,
    ValueType::Bool,
    ValueType::Int,
    ValueType::Real,
    ValueType::Text,
];

/// Reads what `create` says.
///
/// # Errors
/// All mistakes.
pub(super) fn layout(params: &Params) -> Checked<Layout> {
    let mut r = Reader { layout: Layout::default(), spans: Default::default(), errors: Vec::new() };
    if let Some(create) = params.get("create")
        && let Some(entries) = r.table(create, "create.NAME with `model`, `inputs` and `outputs`")
    {
        for (name, p) in entries {
            r.create(&name.value, p);
        }
        if entries.is_empty() {
            r.wrong(&create.span, "no entities".into(), "add create.NAME with a `model`");
        }
    }
    r.twins();
    if r.errors.is_empty() { Ok(r.layout) } else { Err(r.errors) }
}

/// Entries of a table that is told to the simulator as it stands.
///
/// # Errors
/// A value that is no table, and values that JSON does not have.
pub(super) fn plain(p: Option<&Located<Param>>) -> Checked<Vec<(String, Json)>> {
    let Some(p) = p else { return Ok(Vec::new()) };
    let entries = match &p.value {
        Param::Text(t) if t.is_empty() => return Ok(Vec::new()),
        Param::Table(entries) => entries,
        _ => {
            let wrong = ParamError::at(p.span.clone(), "not a table");
            return Err(vec![wrong.help("write { name = value, … }")]);
        }
    };
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        match of_param(value) {
            Ok(json) => out.push((key.value.clone(), json)),
            Err(e) => errors.push(e),
        }
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// The entry of a key.
fn find<'a>(entries: &'a Entries, key: &str) -> Option<&'a Located<Param>> {
    entries.iter().find(|(k, _)| k.value == key).map(|(_, p)| p)
}

impl Reader {
    fn wrong(&mut self, span: &Span, message: String, help: &str) {
        self.errors.push(ParamError::at(span.clone(), message).help(help));
    }

    fn table<'a>(&mut self, p: &'a Located<Param>, form: &str) -> Option<&'a Entries> {
        match &p.value {
            Param::Table(entries) => Some(entries),
            _ => {
                self.wrong(&p.span, "not a table".into(), &format!("write a table {form}"));
                None
            }
        }
    }

    fn known(&mut self, entries: &Entries, keys: &[&str]) {
        for (key, _) in entries {
            if !keys.contains(&key.value.as_str()) {
                let message = format!("unknown key `{}`", key.value);
                self.wrong(&key.span, message, &format!("the keys are {}", keys.join(", ")));
            }
        }
    }

    fn text(&mut self, entries: &Entries, key: &str) -> Option<String> {
        let p = find(entries, key)?;
        match &p.value {
            Param::Text(t) if !t.is_empty() => Some(t.clone()),
            _ => {
                self.wrong(&p.span, format!("`{key}` is no text"), "write it in quotes");
                None
            }
        }
    }

    fn flag(&mut self, entries: &Entries, key: &str) -> bool {
        match find(entries, key) {
            None => false,
            Some(Located { value: Param::Bool(b), .. }) => *b,
            Some(p) => {
                self.wrong(&p.span, format!("`{key}` is no truth value"), "write true or false");
                false
            }
        }
    }

    fn create(&mut self, name: &str, p: &Located<Param>) {
        let Some(entries) = self.table(p, "with `model`, `inputs` and `outputs`") else { return };
        self.known(entries, &CREATE);
        let Some(model) = self.text(entries, "model") else {
            if find(entries, "model").is_none() {
                let help = "add model = \"…\", one of the models that the simulator has";
                self.wrong(&p.span, format!("`{name}` has no `model`"), help);
            }
            return;
        };
        let count = match find(entries, "count") {
            None => 1,
            Some(Located { value: Param::Int(n), .. }) if (1..=60_000).contains(n) => *n as usize,
            Some(p) => {
                let message = "`count` is no number of entities".into();
                self.wrong(&p.span, message, "give an integer from 1 to 60000");
                1
            }
        };
        let parameters = plain(find(entries, "parameters"));
        let parameters = parameters.unwrap_or_else(|errors| {
            self.errors.extend(errors);
            Vec::new()
        });
        let indexed = find(entries, "count").is_some() && count > 1;
        self.layout.created.push(Created { name: name.into(), model, count, parameters });
        for (key, input) in [("inputs", true), ("outputs", false)] {
            let Some(p) = find(entries, key) else { continue };
            let form = "port = \"attribute\", or port = { attribute = \"…\", … }";
            let Some(list) = self.table(p, form) else { continue };
            for (port, p) in list {
                self.port(port, p, input, if indexed { count } else { 1 });
            }
        }
    }

    fn port(&mut self, name: &Located<String>, p: &Located<Param>, input: bool, count: usize) {
        let Some(port) = self.one(name, p, input) else { return };
        if count > 1 && port.entity != Entity::Member(0) {
            let help =
                "leave out `count`, or name the entity's attributes in a `create` of its own";
            let message = format!("`{}` names one entity, but there are {count}", name.value);
            self.wrong(&p.span, message, help);
        }
        let ports = if input { &mut self.layout.inputs } else { &mut self.layout.outputs };
        for k in 0..count {
            let mut port = port.clone();
            if count > 1 {
                port.name = format!("{}[{k}]", port.name);
                port.entity = Entity::Member(k);
            }
            ports.push(port);
        }
        self.spans[usize::from(!input)].extend(std::iter::repeat_n(name.span.clone(), count));
    }

    fn one(&mut self, name: &Located<String>, p: &Located<Param>, input: bool) -> Option<Port> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.value.starts_with(|c: char| c.is_ascii_alphabetic())
            || !name.value.chars().all(plain)
        {
            let message = format!("`{}` cannot be the name of a port", name.value);
            let help = "begin with a letter, and go on with letters, digits and `_`";
            self.wrong(&name.span, message, help);
            return None;
        }
        let mut port = Port {
            name: name.value.clone(),
            created: self.layout.created.len() - 1,
            entity: Entity::Member(0),
            attribute: String::new(),
            event: None,
            initial: None,
            shifted: false,
            weak: false,
            source: None,
        };
        if let Param::Text(attribute) = &p.value {
            port.attribute.clone_from(attribute);
            return Some(port);
        }
        let entries = self.table(p, "{ attribute = \"…\", … }, or the attribute in quotes")?;
        self.known(entries, if input { &INPUT } else { &OUTPUT });
        if find(entries, "attribute").is_none() {
            let message = format!("`{}` has no attribute", name.value);
            self.wrong(&p.span, message, "add attribute = \"…\"");
        }
        port.attribute = self.text(entries, "attribute")?;
        if let Some(entity) = self.text(entries, "entity") {
            port.entity = Entity::Named(entity);
        }
        port.event = self.event(entries);
        port.source = self.text(entries, "source");
        port.shifted = self.flag(entries, "shifted");
        port.weak = self.flag(entries, "weak");
        if let Some(initial) = find(entries, "initial") {
            match of_param(initial) {
                Ok(json) => port.initial = Some(json),
                Err(e) => self.errors.push(e),
            }
        }
        self.consistent(&port, entries, p, input);
        Some(port)
    }

    fn event(&mut self, entries: &Entries) -> Option<ValueType> {
        let p = find(entries, "event")?;
        let named = |t: &String| TYPES.into_iter().find(|ty| ty.name() == t);
        let ty = if let Param::Text(t) = &p.value { named(t) } else { None };
        if ty.is_none() {
            let names = TYPES.map(ValueType::name).join(", ");
            let message = "`event` is no type of values".into();
            self.wrong(&p.span, message, &format!("write one of {names} in quotes"));
        }
        ty
    }

    /// Reports keys of a port that do not go together.
    fn consistent(&mut self, port: &Port, entries: &Entries, p: &Located<Param>, input: bool) {
        let name = &port.name;
        if port.shifted && port.weak {
            let help = "a shifted connection passes values on at the next time, a weak one at the same: choose one";
            self.wrong(&p.span, format!("`{name}` is both shifted and weak"), help);
        }
        let needs = (port.shifted || port.weak) && port.event.is_none();
        if needs && port.initial.is_none() {
            let how = if port.shifted { "shifted" } else { "weak" };
            let message = format!("`{name}` is {how}, and has no value to begin with");
            self.wrong(&p.span, message, "add initial = …");
        }
        let Some(initial) = find(entries, "initial") else { return };
        if port.event.is_some() {
            let help = "remove it: an event has no value before it happens";
            self.wrong(&initial.span, format!("`{name}` has events and `initial`"), help);
        } else if !input
            && !matches!(initial.value, Param::Real(_) | Param::Int(_) | Param::Bool(_))
        {
            self.wrong(&initial.span, "`initial` is no number".into(), "a signal is a number");
        }
    }

    /// Refuses ports of one name, and too many of them.
    fn twins(&mut self) {
        let mut found = Vec::new();
        for (ports, spans) in
            [&self.layout.inputs, &self.layout.outputs].into_iter().zip(&self.spans)
        {
            let mut seen = std::collections::BTreeSet::new();
            for (port, span) in ports.iter().zip(spans) {
                if !seen.insert(&port.name) {
                    found.push((span.clone(), format!("two ports have the name `{}`", port.name)));
                }
            }
            if ports.len() > usize::from(u16::MAX) {
                let last = spans.last().cloned().unwrap_or_default();
                found
                    .push((last, format!("{} ports, but at most 65535 have numbers", ports.len())));
            }
        }
        for (span, message) in found {
            self.wrong(
                &span,
                message,
                "the ports of all entities of a unit have names of their own",
            );
        }
    }
}
