//! Scenario and template parameters, and the expressions over them.
//!
//! Parameters may refer to each other in any order: each is evaluated when it is first needed.
use super::{evaluate::Evaluator, parcel::Parameter, session::Session};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use std::{cell::RefCell, rc::Rc};
use superdense_models::{
    kinds::Located,
    maths::{
        expr::Measure,
        quantity::{Decimal, Dimension, Quantity},
    },
};

/// Longest chain of parameters that refer to each other.
const MAX_CHAIN: usize = 100;

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    /// In SI base units when it has a dimension.
    pub value: f64,
    /// From a unit of measure; `None` for bare numbers and what is computed from them.
    pub dimension: Option<Dimension>,
    /// Its measure, also where it was computed from quantities.
    pub measure: Measure,
    /// The value as written.
    pub exact: Option<Decimal>,
    /// It is written with angles: rad, deg or rpm.
    pub has_angles: bool,
}

impl Number {
    pub(super) fn plain(value: f64) -> Self {
        Self { value, dimension: None, measure: Measure::Unknown, exact: None, has_angles: false }
    }
}

#[derive(Debug)]
enum State {
    Todo,
    Busy,
    /// `None` when it is wrong, which has been reported.
    Done(Option<Number>),
}

#[derive(Debug)]
struct Entry {
    name: Rc<str>,
    node: Rc<Node>,
    state: RefCell<State>,
}

/// Declared parameters, sorted by name; all instances of a template share them.
pub(super) type Declared = Vec<(Rc<str>, Rc<Node>)>;

/// The parameters in a table; nested tables give names with points.
pub(super) fn declared(table: &Table) -> Declared {
    let entries = flatten(table).into_iter();
    let mut out: Declared =
        entries.map(|(name, node)| (name.value.into(), Rc::new(node))).collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// The parameters of the scenario or of one instance of a template.
#[derive(Debug, Default)]
pub(super) struct Scope {
    parent: Option<Rc<Scope>>,
    /// Sorted by name.
    entries: Box<[Entry]>,
}

impl Scope {
    /// Parameters that have not been evaluated yet.
    pub(super) fn new(declared: &Declared, parent: Option<Rc<Scope>>) -> Self {
        let entry = |(name, node): &(Rc<str>, Rc<Node>)| Entry {
            name: Rc::clone(name),
            node: Rc::clone(node),
            state: RefCell::new(State::Todo),
        };
        Self { parent, entries: declared.iter().map(entry).collect() }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.entries.binary_search_by(|e| (*e.name).cmp(name)).ok()
    }

    /// Replaces a default by the value that an instance gives.
    pub(super) fn give(&mut self, name: &str, value: Option<Number>) {
        if let Some(at) = self.place(name) {
            self.entries[at].state = RefCell::new(State::Done(value));
        }
    }

    /// The names, without those of the parent.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| &*e.name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// The text of a default that is a text, as quantities are.
    pub(super) fn quantity(&self, name: &str) -> Option<&str> {
        match &self.entries[self.place(name)?].node.item {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The parameters that are written as numbers or quantities.
    pub(super) fn settable(&self) -> Vec<Parameter> {
        let one = |entry: &Entry| {
            let (value, unit) = match &entry.node.item {
                Item::Int(i) => (*i as f64, None),
                Item::Real(x, _) => (*x, None),
                Item::Text(text) => {
                    let text = text.trim();
                    Quantity::parse(text).ok()??;
                    let begins = |c: char| c.is_alphabetic() || "%°Ω".contains(c);
                    let at = text.find(char::is_whitespace).or_else(|| text.find(begins))?;
                    (text[..at].parse().ok()?, Some(text[at..].trim().to_owned()))
                }
                _ => return None,
            };
            Some(Parameter { name: entry.name.to_string(), value, unit })
        };
        self.entries.iter().filter_map(one).collect()
    }

    /// Evaluates everything, so that mistakes of unused parameters are found.
    pub(super) fn check(&self, session: &Session) {
        for name in self.names() {
            self.number(name, session);
        }
    }

    /// The value of a name. `None`: unknown. `Some(None)`: known but wrong.
    pub(super) fn number(&self, name: &str, session: &Session) -> Option<Option<Number>> {
        let Some(at) = self.place(name) else {
            return self.parent.as_ref()?.number(name, session);
        };
        let entry = &self.entries[at];
        let busy = match &*entry.state.borrow() {
            State::Done(n) => return Some(*n),
            State::Busy => true,
            State::Todo => false,
        };
        let span = &entry.node.span;
        let chain = session.evaluating.borrow().len();
        if busy {
            let names = session.evaluating.borrow();
            let from = names.iter().position(|(n, _)| n == name).unwrap_or(0);
            let ring: Vec<&str> =
                names[from..].iter().map(|(n, _)| n.as_str()).chain([name]).collect();
            let message = format!("these parameters depend on each other: {}", ring.join(" -> "));
            let mut mistake = Mistake::new("parameter-cycle", span, message)
                .help("give one of them a value that does not use the others");
            for (n, s) in names[from..].iter().skip(1).take(4) {
                mistake = mistake.also(s, format!("`{n}`"));
            }
            session.report(mistake);
            return Some(None);
        }
        if chain > MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} parameters hang on each other in a chain");
            session.report(
                Mistake::new("parameter-cycle", span, message).help("use values instead of names"),
            );
            return Some(None);
        }
        *entry.state.borrow_mut() = State::Busy;
        session.evaluating.borrow_mut().push((name.to_owned(), span.clone()));
        let eval = Evaluator::new(session, self, &[]);
        let value = eval.number(&entry.node, &format!("parameter `{name}`"));
        session.evaluating.borrow_mut().pop();
        *entry.state.borrow_mut() = State::Done(value);
        Some(value)
    }

    /// The names, with those of the parent.
    pub(super) fn all_names<'a>(&'a self, out: &mut Vec<&'a str>) {
        out.extend(self.names());
        if let Some(p) = &self.parent {
            p.all_names(out);
        }
    }

    /// Feeds all values into a digest.
    pub(super) fn digest(&self, session: &Session, d: &mut superdense_kernel::message::Digest) {
        for name in self.names() {
            d.bytes(name.as_bytes());
            d.real(self.number(name, session).flatten().map_or(f64::NAN, |n| n.value));
        }
    }
}

/// Names and values of a table, nested ones with points.
pub(super) fn flatten(table: &Table) -> Vec<(Located<String>, Node)> {
    let mut out = Vec::new();
    let mut todo: Vec<(String, &Table)> = vec![(String::new(), table)];
    while let Some((prefix, table)) = todo.pop() {
        for (key, node) in &table.entries {
            let name = Located::new(format!("{prefix}{}", key.value), key.span.clone());
            match &node.item {
                Item::Table(inner) => todo.push((format!("{}.", name.value), inner)),
                _ => elements(name, node, &mut out),
            }
        }
    }
    out
}

/// A value by its name, or the elements of a list, from `k[0]` on.
fn elements(name: Located<String>, node: &Node, out: &mut Vec<(Located<String>, Node)>) {
    let Item::List(items) = &node.item else { return out.push((name, node.clone())) };
    for (k, item) in items.iter().enumerate() {
        let element = Located::new(format!("{}[{k}]", name.value), name.span.clone());
        elements(element, item, out);
    }
}
