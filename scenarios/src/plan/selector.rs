//! The small languages inside texts: `plant[*].flow`, `a.y -> b.u via hold(0) for i in 0..9`.
use super::{evaluate::Evaluator, session::Session};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
    source::Span,
};
use superdense_models::kinds::Located;

/// Which members of an array.
#[derive(Debug, Clone)]
pub(super) enum Index {
    /// `[*]`.
    All,
    /// `[2]`, `[i+1]`.
    One(Node),
    /// `[0..5]`, the end excluded, or `[0..=4]`.
    Range(Node, End),
}

/// The end of a range.
#[derive(Debug, Clone)]
pub(super) struct End {
    last: Node,
    included: bool,
}

impl End {
    fn new(piece: Piece<'_>) -> Self {
        let included = piece.text().starts_with('=');
        let last = piece.slice(usize::from(included), piece.text().len()).node();
        Self { last, included }
    }

    /// The first number behind the range.
    pub(super) fn behind(&self, eval: &Evaluator<'_>, what: &str) -> Option<i64> {
        Some(eval.whole(&self.last, what)?.saturating_add(i64::from(self.included)))
    }
}

/// A name with its indices: one of a unit in an array, one per dimension of a port.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub name: Located<String>,
    pub indices: Vec<(Index, Span)>,
}

/// `unit.port`, or deeper.
#[derive(Debug, Clone)]
pub(super) struct Selector {
    pub steps: Vec<Step>,
    pub span: Span,
}

/// `via hold(0)`.
#[derive(Debug, Clone)]
pub(super) struct Via {
    pub name: Located<String>,
    pub positional: Vec<Node>,
    pub named: Vec<(Located<String>, Node)>,
    /// As written, to tell two adapters apart.
    pub text: String,
}

/// `for i in 0..9`.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub variable: String,
    pub from: Node,
    pub to: End,
}

/// One entry of `connections`.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub from: Selector,
    pub to: Selector,
    /// The selectors name terminals, not ports.
    pub terminals: bool,
    /// Adapters in the order of the signal.
    pub via: Vec<Via>,
    pub loops: Vec<Loop>,
    pub span: Span,
}

/// A line of `connections` that joins connectors: `a.p = b.p`.
#[derive(Debug, Clone)]
pub(super) struct JointDecl {
    pub ends: Vec<Selector>,
    pub loops: Vec<Loop>,
    pub span: Span,
}

/// A piece of a text of the scenario.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    session: &'a Session,
    whole: &'a Located<String>,
    start: usize,
    end: usize,
}

impl<'a> Piece<'a> {
    pub(super) fn new(session: &'a Session, whole: &'a Located<String>) -> Self {
        Self { session, whole, start: 0, end: whole.value.len() }.trim()
    }
    pub(super) fn text(self) -> &'a str {
        &self.whole.value[self.start..self.end]
    }
    pub(super) fn span(self) -> Span {
        self.session.sources.inside(&self.whole.span, &self.whole.value, self.start..self.end)
    }
    /// The part between two bytes of it, without the blanks around.
    pub(super) fn within(self, start: usize, end: usize) -> Self {
        self.slice(start, end)
    }
    fn slice(self, start: usize, end: usize) -> Self {
        Self { end: self.start + end, start: self.start + start, ..self }.trim()
    }
    fn trim(self) -> Self {
        let text = self.text();
        let start = self.start + (text.len() - text.trim_start().len());
        Self { start, end: start + text.trim().len(), ..self }
    }
    fn located(self) -> Located<String> {
        Located::new(self.text().to_owned(), self.span())
    }
    fn node(self) -> Node {
        Node { item: Item::Text(self.text().to_owned()), span: self.span() }
    }
    fn wrong(self, message: impl Into<String>, help: &str) -> Mistake {
        let span = self.span();
        // An empty piece would show nothing.
        let span = if span.is_empty() { self.whole.span.clone() } else { span };
        Mistake::new("connection-syntax", &span, message).help(help)
    }

    /// Splits where `cut` finds a separator outside quotes and brackets.
    fn split(self, separator: &str) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some(at) = self.slice_raw(from).find(separator) {
            parts.push(self.slice(from, from + at));
            from += at + separator.len();
        }
        parts.push(self.slice(from, self.end - self.start));
        parts
    }
    /// `T[2][i+1]` as a name and what stands in its brackets; no brackets if they are not closed one by one.
    fn name_and_indices(self) -> (Self, Option<Vec<Self>>) {
        let text = self.text();
        let mut at = text.find('[').unwrap_or(text.len());
        let name = self.slice(0, at);
        let mut indices = Vec::new();
        while text[at..].starts_with('[') {
            let Some(close) = Outside(&text[at + 1..]).find("]") else { return (name, None) };
            indices.push(self.slice(at + 1, at + 1 + close));
            at += close + 2;
        }
        (name, (at == text.len()).then_some(indices))
    }
    fn slice_raw(self, from: usize) -> Outside<'a> {
        Outside(&self.text()[from..])
    }
}

/// A text searched outside quotes and brackets only.
struct Outside<'a>(&'a str);

impl Outside<'_> {
    fn find(&self, wanted: &str) -> Option<usize> {
        let (mut depth, mut quote) = (0i32, None);
        for (at, c) in self.0.char_indices() {
            match (quote, c) {
                (Some(q), _) if c == q => quote = None,
                (Some(_), _) => {}
                (None, _) if depth == 0 && self.0[at..].starts_with(wanted) => return Some(at),
                (None, '\'' | '"') => quote = Some(c),
                (None, '(' | '[') => depth += 1,
                (None, ')' | ']') => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

/// Letters, digits and `_`, not starting with a digit.
pub(super) fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

type Parsed<T> = Result<T, Mistake>;

const ENDPOINT: &str = "write `unit.port`, `unit[2].port` or `unit[*].port`";

/// `plant[3].pump.flow`.
pub(super) fn selector(piece: Piece<'_>) -> Parsed<Selector> {
    let steps = steps(piece)?;
    if steps.len() < 2 {
        return Err(piece.wrong(format!("`{}` names no port", piece.text()), ENDPOINT));
    }
    Ok(Selector { steps, span: piece.span() })
}

/// Names and indices between points: `plant[*].pump`.
pub(super) fn steps(piece: Piece<'_>) -> Parsed<Vec<Step>> {
    let mut steps = Vec::new();
    for part in piece.split(".") {
        // `..` of a range lies inside brackets and is not split.
        let (name, indices) = part.name_and_indices();
        if !is_name(name.text()) && name.text() != "*" {
            let message = format!("`{}` is not a unit and port", piece.text());
            return Err(part.wrong(message, ENDPOINT));
        }
        let indices =
            indices.ok_or_else(|| part.wrong("this index is not closed", "add the missing `]`"))?;
        steps.push(Step {
            name: name.located(),
            indices: indices.into_iter().map(index).collect::<Parsed<_>>()?,
        });
    }
    Ok(steps)
}

fn index(inner: Piece<'_>) -> Parsed<(Index, Span)> {
    if inner.text() == "*" {
        return Ok((Index::All, inner.span()));
    }
    if inner.text().is_empty() {
        return Err(inner.wrong("this index is empty", "write a number, `*`, or a range `0..5`"));
    }
    let index = match inner.split("..").as_slice() {
        [lo, hi] => Index::Range(lo.node(), End::new(*hi)),
        _ => Index::One(inner.node()),
    };
    Ok((index, inner.span()))
}

/// The name and index of a unit alone: `ball[1]`.
pub(super) fn unit(piece: Piece<'_>) -> Parsed<Step> {
    let (name, indices) = piece.name_and_indices();
    let help = "write the name of a unit beside this link, such as `ball` or `ball[1]`";
    let indices = indices.filter(|_| is_name(name.text())).ok_or_else(|| {
        piece.wrong(format!("`{}` is not the name of a unit", piece.text()), help)
    })?;
    let indices = indices.into_iter().map(index).collect::<Parsed<_>>()?;
    Ok(Step { name: name.located(), indices })
}

/// A connection written as text.
pub(super) fn connection(piece: Piece<'_>) -> Parsed<Connection> {
    const FORM: &str = "write `unit.output -> unit.input`, then perhaps `via hold(0)`, then \
                        perhaps `for i in 0..9`; connectors are joined by `unit.p = other.p`";
    let text = piece.text();
    let arrow = Outside(text).find("->");
    let Some(arrow) = arrow else {
        return Err(piece.wrong("this connection has no arrow `->`", FORM));
    };
    let from = piece.slice(0, arrow);
    let rest = piece.slice(arrow + 2, text.len());
    let (rest, loops) = match Outside(rest.text()).find(" for ") {
        Some(at) => (rest.slice(0, at), loops(rest.slice(at + 5, rest.text().len()))?),
        None => (rest, Vec::new()),
    };
    let (target, via) = match Outside(rest.text()).find(" via ") {
        Some(at) => (rest.slice(0, at), adapters(rest.slice(at + 5, rest.text().len()))?),
        None => (rest, Vec::new()),
    };
    if Outside(target.text()).find("->").is_some() {
        return Err(
            target.wrong("this connection has two arrows", "write one connection per entry")
        );
    }
    let span = piece.span();
    let terminals = [from, target].map(|end| Outside(end.text()).find(":").is_some());
    let (from, to) = match terminals {
        [false, false] => (selector(from)?, selector(target)?),
        _ => (terminal(from)?, terminal(target)?),
    };
    if terminals[0] && !via.is_empty() {
        let help = "leave `via` out, or connect the ports of the terminals one by one";
        return Err(piece.wrong("terminals are connected without adapters", help));
    }
    Ok(Connection { from, to, terminals: terminals[0], via, loops, span })
}

/// `motor[2]:flange`.
fn terminal(piece: Piece<'_>) -> Parsed<Selector> {
    const FORM: &str = "write `unit:terminal -> other:terminal`";
    let text = piece.text();
    let Some(at) = Outside(text).find(":") else {
        return Err(piece.wrong(format!("`{text}` is no terminal, but the other end is one"), FORM));
    };
    let (of, name) = (piece.slice(0, at), piece.slice(at + 1, text.len()));
    if name.text().is_empty() {
        return Err(piece.wrong(format!("`{text}` names no terminal"), FORM));
    }
    let mut steps = steps(of)?;
    steps.push(Step { name: name.located(), indices: Vec::new() });
    Ok(Selector { steps, span: piece.span() })
}

/// Connectors that are joined, `a.p = b.p = c.n for i in 0..9`; nothing for other connections.
pub(super) fn joint(piece: Piece<'_>) -> Option<Parsed<JointDecl>> {
    let text = piece.text();
    let (ends, loops_of) = match Outside(text).find(" for ") {
        Some(at) => (piece.slice(0, at), Some(piece.slice(at + 5, text.len()))),
        None => (piece, None),
    };
    if Outside(ends.text()).find("->").is_some() || Outside(ends.text()).find("=").is_none() {
        return None;
    }
    let read = || {
        let loops = loops_of.map_or(Ok(Vec::new()), loops)?;
        let ends = ends.split("=").into_iter().map(selector).collect::<Parsed<_>>()?;
        Ok(JointDecl { ends, loops, span: piece.span() })
    };
    Some(read())
}

/// `sum(plant[*].power)`: the name and what stands in the parentheses.
pub(super) fn call(piece: Piece<'_>) -> Option<(Piece<'_>, Piece<'_>)> {
    let text = piece.text();
    let open = text.find('(').filter(|_| text.ends_with(')'))?;
    Some((piece.slice(0, open), piece.slice(open + 1, text.len() - 1)))
}

/// `i in 0..9, j in 0..3`.
pub(super) fn loops(piece: Piece<'_>) -> Parsed<Vec<Loop>> {
    const FORM: &str = "write `for i in 0..9` (the end is not included)";
    let mut out = Vec::new();
    for part in piece.split(",") {
        let wrong = || part.wrong(format!("`{}` is not a range", part.text()), FORM);
        let at = Outside(part.text()).find(" in ").ok_or_else(wrong)?;
        let (name, range) = (part.slice(0, at), part.slice(at + 4, part.text().len()));
        let bounds = range.split("..");
        let [from, to] = bounds.as_slice() else { return Err(wrong()) };
        if !is_name(name.text()) || from.text().is_empty() || to.text().is_empty() {
            return Err(wrong());
        }
        out.push(Loop { variable: name.text().to_owned(), from: from.node(), to: End::new(*to) });
    }
    Ok(out)
}

/// `sample('1 s') via hold(0)`: one after the other.
pub(super) fn adapters(piece: Piece<'_>) -> Parsed<Vec<Via>> {
    piece.split(" via ").into_iter().map(via).collect()
}

/// `hold(0)`, `sample('1 s')`, `hold`.
fn via(piece: Piece<'_>) -> Parsed<Via> {
    let text = piece.text();
    let open = text.find('(').unwrap_or(text.len());
    let name = piece.slice(0, open);
    if !is_name(name.text()) || open < text.len() && !text.ends_with(')') {
        let help = "write `via hold(0)`, `via sample('1 s')` or `via detect(20)`";
        return Err(piece.wrong(format!("`{text}` is not an adapter"), help));
    }
    let mut via = Via {
        name: name.located(),
        positional: Vec::new(),
        named: Vec::new(),
        text: text.to_owned(),
    };
    if open < text.len() {
        let inner = piece.slice(open + 1, text.len() - 1);
        for argument in inner.split(",").into_iter().filter(|a| !a.text().is_empty()) {
            let equals = Outside(argument.text()).find("=");
            match equals.filter(|&at| is_name(argument.slice(0, at).text())) {
                Some(at) => via.named.push((
                    argument.slice(0, at).located(),
                    unquoted(argument.slice(at + 1, argument.text().len())),
                )),
                None => via.positional.push(unquoted(argument)),
            }
        }
    }
    Ok(via)
}

/// A text without its quotes.
pub(super) fn unquoted(piece: Piece<'_>) -> Node {
    let text = piece.text();
    let quoted = text.len() >= 2
        && (text.starts_with('\'') && text.ends_with('\'')
            || text.starts_with('"') && text.ends_with('"'));
    if quoted { piece.slice(1, text.len() - 1).node() } else { piece.node() }
}
