//! TOML as a tree that remembers where everything stands.
//!
//! **Why not serde.** Serde stops at the first mistake; here every value keeps its span, unknown
//! keys are kept, and all mistakes are found by walking the tree.
use crate::{
    diagnostics::{Mistake, Sink},
    source::{Sources, Span},
};
use std::path::Path;
use superdense_models::{kinds::Located, maths::quantity::Decimal};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Deepest nesting of tables and lists.
const MAX_DEPTH: usize = 64;

/// A value and its place. The span of a text covers its contents without the quotes.
#[derive(Debug, Clone)]
pub struct Node {
    /// The value.
    pub item: Item,
    /// Its place.
    pub span: Span,
}

/// A TOML value.
#[derive(Debug, Clone)]
pub enum Item {
    /// Text.
    Text(String),
    /// Integer.
    Int(i64),
    /// Float, and its digits where it is finite.
    Real(f64, Option<Decimal>),
    /// Truth value.
    Bool(bool),
    /// Date or time of day, for which a scenario has no use.
    Date,
    /// List.
    List(Vec<Node>),
    /// Table.
    Table(Table),
}

/// Keys and values in the order of the text.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<(Located<String>, Node)>,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(k, _)| k.value == key).map(|(_, n)| n)
    }
    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|(k, _)| k.value == key).map(|(_, n)| n)
    }
    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(k, _)| k.value.as_str())
    }
}

impl Node {
    /// The type of the value in words, for messages.
    pub fn type_name(&self) -> &'static str {
        match self.item {
            Item::Text(_) => "a text",
            Item::Int(_) => "an integer",
            Item::Real(..) => "a number",
            Item::Bool(_) => "true or false",
            Item::Date => "a date",
            Item::List(_) => "a list",
            Item::Table(_) => "a table",
        }
    }

    /// A mistake of type.
    pub fn wrong_type(&self, what: &str, wanted: &str, example: &str) -> Mistake {
        let message = format!("{what} is {}, but must be {wanted}", self.type_name());
        Mistake::new("wrong-type", &self.span, message)
            .label(format!("{} here", self.type_name()))
            .help(format!("write {example}"))
    }

    /// The text, or a mistake.
    pub fn text(&self, what: &str, example: &str, sink: &Sink) -> Option<Located<String>> {
        if let Item::Text(t) = &self.item {
            return Some(Located::new(t.clone(), self.span.clone()));
        }
        sink.push(self.wrong_type(what, "a text", example));
        None
    }

    /// The table, or a mistake.
    pub fn table(&self, what: &str, example: &str, sink: &Sink) -> Option<&Table> {
        if let Item::Table(t) = &self.item {
            return Some(t);
        }
        sink.push(self.wrong_type(what, "a table", example));
        None
    }

    /// The list, or a mistake.
    pub fn list(&self, what: &str, example: &str, sink: &Sink) -> Option<&[Node]> {
        if let Item::List(l) = &self.item {
            return Some(l);
        }
        sink.push(self.wrong_type(what, "a list", example));
        None
    }
}

/// Parses a text with its name and folder, reporting all mistakes of syntax; what can be read is
/// returned all the same. Of a text that is not to be shown, and is not TOML, only a place is told.
pub fn parse(
    (name, folder, shown): (String, &Path, bool),
    text: &str,
    sources: &mut Sources,
    sink: &Sink,
) -> Table {
    let base = sources.add(name, folder, text.to_owned());
    let (table, errors) = DeTable::parse_recoverable(text);
    if !shown {
        sources.hide_last();
        if let Some(e) = errors.first() {
            let span = visible(text, e.span().unwrap_or(0..0));
            let help = "correct the file, or move it into the folder of the scenario, where its lines \
                        are shown with the mistake";
            let at = base + span.start..base + span.end;
            sink.push(Mistake::new("syntax", &at, "this is not valid TOML").help(help));
            return Table::default();
        }
    }
    let mut again = 0..0;
    for e in errors.iter().take(20) {
        let span = visible(text, e.span().unwrap_or(0..0));
        let at = base + span.start..base + span.end;
        if !e.message().contains("duplicate key") {
            sink.push(syntax(e.message(), &at));
        } else if !again.contains(&span.start) {
            // Under a header that stands twice, its keys stand twice as well.
            again = section(text, &span);
            let first = earlier(text, &span).map(|s| base + s.start..base + s.end);
            sink.push(duplicate(&at, first));
        }
    }
    let convert = Convert { base, text, sink };
    match convert.node(table.get_ref(), 0..0, 0) {
        Some(Node { item: Item::Table(t), .. }) => t,
        _ => Table::default(),
    }
}

/// Parses what stands behind `--set path=`: a TOML value, or plain text where that fails.
pub fn parse_value(name: &str, prefix: &str, text: &str, sources: &mut Sources) -> Node {
    let base = sources.add(name.to_owned(), Path::new(""), format!("{prefix}{text}"));
    let base = base + prefix.len();
    if let Ok(value) = DeValue::parse(text) {
        let span = value.span();
        let convert = Convert { base, text, sink: &Sink::default() };
        if let Some(node) = convert.node_of(value.get_ref(), span, 0) {
            return node;
        }
    }
    Node { item: Item::Text(text.to_owned()), span: base..base + text.len() }
}

/// A default of the registry, "written as in a scenario", as if it stood at `span`.
pub fn parse_default(text: &str, span: &Span) -> Node {
    let mut node = parse_value("", "", text, &mut Sources::default());
    respan(&mut node, span);
    node
}

fn respan(node: &mut Node, span: &Span) {
    node.span = span.clone();
    match &mut node.item {
        Item::List(list) => list.iter_mut().for_each(|n| respan(n, span)),
        Item::Table(table) => {
            for (key, n) in &mut table.entries {
                key.span = span.clone();
                respan(n, span);
            }
        }
        _ => {}
    }
}

fn syntax(message: &str, span: &Span) -> Mistake {
    let message = message.lines().next().unwrap_or(message);
    Mistake::new("syntax", span, format!("this is not valid TOML: {message}"))
        .help("texts stand in quotes, lists in [ ], tables under [headers]; see https://toml.io")
}

fn duplicate(span: &Span, first: Option<Span>) -> Mistake {
    let mistake = Mistake::new("duplicate-name", span, "this name is defined twice")
        .help("rename one of the two, or delete it");
    match first {
        Some(first) => mistake.label("second definition").also(&first, "first definition"),
        None => mistake,
    }
}

/// An empty span, moved to the character before it on its line.
fn visible(text: &str, span: Span) -> Span {
    let before = text.get(..span.start).and_then(|t| t.chars().next_back());
    match before {
        Some(c) if span.is_empty() && c != '\n' => span.start - c.len_utf8()..span.start,
        _ => span,
    }
}

/// From a header to the next one; nothing for a plain key.
fn section(text: &str, span: &Span) -> Span {
    let start = text[..span.start].rfind('\n').map_or(0, |n| n + 1);
    if !text[start..].trim_start().starts_with('[') {
        return 0..0;
    }
    let end = text[span.end..].find("\n[").map_or(text.len(), |n| span.end + n);
    start..end
}

/// An earlier line that begins in the same way.
fn earlier(text: &str, span: &Span) -> Option<Span> {
    let start = text[..span.start].rfind('\n').map_or(0, |n| n + 1);
    let key = text.get(start..span.end)?;
    let before = text.get(..start)?;
    let starts = |at: &usize| {
        let line = &before[*at..];
        let after = line[key.len()..].chars().next();
        after.is_none_or(|c| !(c.is_alphanumeric() || "_-".contains(c)))
    };
    let mut candidates = before.match_indices(key).map(|(at, _)| at);
    let line_start = |at: &usize| *at == 0 || before.as_bytes()[at - 1] == b'\n';
    let at = candidates.find(|at| line_start(at) && starts(at))?;
    let shift = span.start - start;
    Some(at + shift..at + key.len())
}

struct Convert<'a> {
    base: usize,
    text: &'a str,
    sink: &'a Sink,
}

impl Convert<'_> {
    fn span(&self, span: Span) -> Span {
        self.base + span.start..self.base + span.end
    }

    fn node_of(&self, value: &DeValue<'_>, span: Span, depth: usize) -> Option<Node> {
        let at = self.span(span.clone());
        let item = match value {
            DeValue::String(s) => {
                return Some(Node { item: Item::Text(s.to_string()), span: self.contents(span) });
            }
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(n) => Item::Int(n),
                Err(_) => {
                    self.sink.push(
                        Mistake::new("syntax", &at, "this integer has more than 64 bits")
                            .help("write it as a number with a point, such as 1e20"),
                    );
                    return None;
                }
            },
            DeValue::Float(x) => {
                let digits = x.as_str().replace('_', "");
                Item::Real(digits.parse().unwrap_or(f64::NAN), Decimal::parse(&digits))
            }
            DeValue::Boolean(b) => Item::Bool(*b),
            DeValue::Datetime(_) => Item::Date,
            DeValue::Array(list) => {
                if self.too_deep(depth, &at) {
                    return None;
                }
                let node =
                    |v: &Spanned<DeValue<'_>>| self.node_of(v.get_ref(), v.span(), depth + 1);
                Item::List(list.iter().filter_map(node).collect())
            }
            DeValue::Table(table) => return self.node(table, span, depth),
        };
        Some(Node { item, span: at })
    }

    fn node(&self, table: &DeTable<'_>, span: Span, depth: usize) -> Option<Node> {
        let at = self.span(span);
        if self.too_deep(depth, &at) {
            return None;
        }
        let mut entries: Vec<_> = table
            .iter()
            .filter_map(|(k, v)| {
                let key = Located::new(k.get_ref().to_string(), self.span(k.span()));
                Some((key, self.node_of(v.get_ref(), v.span(), depth + 1)?))
            })
            .collect();
        entries.sort_by_key(|(k, _)| k.span.start);
        Some(Node { item: Item::Table(Table { entries }), span: at })
    }

    fn too_deep(&self, depth: usize, at: &Span) -> bool {
        if depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            self.sink.push(Mistake::new("too-deep", at, message).help("flatten this table"));
        }
        depth > MAX_DEPTH
    }

    /// The span of a string without its quotes.
    fn contents(&self, span: Span) -> Span {
        let raw = self.text.get(span.clone()).unwrap_or("");
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let Some(q) = quotes.iter().find(|q| raw.len() >= 2 * q.len() && raw.starts_with(**q))
        else {
            return self.span(span);
        };
        let mut start = span.start + q.len();
        if q.len() == 3 {
            let rest = &raw[3..];
            start += if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        }
        self.span(start..(span.end - q.len()).max(start))
    }
}
