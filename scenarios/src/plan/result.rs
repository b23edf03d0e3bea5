//! `[result]`: what its formulas mean.
//!
//! **How a formula is read.** The language of formulas knows numbers only. So calls that make a number of a
//! signal, and outputs, are cut out of the text and replaced by names of equal length, each of which stands
//! for a variable. What remains is a formula like any other, and its mistakes are where the reader wrote them.
use super::{
    Record, Source,
    evaluate::Evaluator,
    record,
    selector::{Piece, is_name, unquoted},
    session::{Session, did_you_mean},
    tree::Tree,
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    result::{Atom, Form, Gather, How, Named, Of, Reduction, Results, Signal, Stream},
};
use std::collections::HashMap;
use superdense_models::{
    kinds::{Located, PortKind, ValueType},
    maths::expr::{self, Ast, ExprError, Function, Symbol, VarId, parse},
};

const KEYS: &[&str] = &["value", "unit", "over", "ci"];
/// Most outputs of one formula, those of `sum(plant[*].power)` and the like counted as one.
const MOST: usize = 1000;
/// The functions that make a number, and what they are made of.
const REDUCTIONS: &[(&str, Takes)] = &[
    ("initial", Takes::Signal),
    ("final", Takes::Signal),
    ("at", Takes::Signal),
    ("rms", Takes::Signal),
    ("integral", Takes::Signal),
    ("time_of_min", Takes::Signal),
    ("time_of_max", Takes::Signal),
    ("mean", Takes::Values),
    ("std", Takes::Values),
    ("min", Takes::Values),
    ("max", Takes::Values),
    ("percentile", Takes::Values),
    ("duration", Takes::Truth),
    ("first", Takes::Instants),
    ("last", Takes::Instants),
    ("count", Takes::Instants),
    ("rate", Takes::Events),
    ("sum", Takes::Events),
];

/// The operand of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Signal,
    /// A signal, or events with values.
    Values,
    Truth,
    /// A condition, or events.
    Instants,
    Events,
}

/// The results of a scenario.
pub(super) fn results(root: &Table, tree: &Tree, stop: i64, session: &Session) -> Results {
    let mut results = Results::default();
    let Some(node) = root.get("result") else { return results };
    let Some(table) = node.table("`result`", "[result]", &session.sink) else { return results };
    let names: Vec<String> = table.keys().map(str::to_owned).collect();
    let eval = Evaluator::new(session, &tree.groups[0].scope, &[]);
    let mut r = Reader {
        tree,
        session,
        eval: &eval,
        stop,
        names: &names,
        window: [0, stop],
        batches: false,
        found: Results::default(),
        signals: HashMap::new(),
    };
    let mut formulas = Vec::new();
    for (name, node) in &table.entries {
        formulas.push(r.named(name, node));
    }
    // Numbers of variables follow from how many reductions there are, which is known only now.
    results = r.found;
    results.text =
        format!("{:?}", table.entries.iter().map(|(k, n)| (&k.value, said(n))).collect::<Vec<_>>());
    let count = results.reductions.len();
    for (name, found) in names.iter().zip(formulas) {
        let Some(Formula { ast, vars, unit, batches, text }) = found else { continue };
        let scope = Lookup { eval: &eval, stop, vars: &vars, results: Some((&names, count)) };
        match ast.real(&scope) {
            Ok(formula) => results.named.push(Named { name: name.clone(), unit, formula, batches }),
            Err(errors) => session.expression(&text, &errors),
        }
    }
    if session.sink.is_empty() {
        order(&mut results, &table.entries, session);
    }
    results
}

/// The value of a key without its place.
fn said(node: &Node) -> String {
    match &node.item {
        Item::Text(text) => text.clone(),
        Item::Table(t) => {
            format!("{:?}", t.entries.iter().map(|(k, n)| (&k.value, said(n))).collect::<Vec<_>>())
        }
        Item::List(list) => format!("{:?}", list.iter().map(said).collect::<Vec<_>>()),
        Item::Int(i) => i.to_string(),
        Item::Real(x, _) => x.to_string(),
        Item::Bool(b) => b.to_string(),
        Item::Date => "date".into(),
    }
}

/// Finds an order in which each result comes after those that it refers to.
fn order(results: &mut Results, entries: &[(Located<String>, Node)], session: &Session) {
    let count = results.reductions.len();
    let reads = |k: usize| {
        let vars = results.named[k].formula.vars();
        vars.into_iter().filter_map(|v| (v.0 as usize).checked_sub(count)).collect::<Vec<_>>()
    };
    let mut order: Vec<usize> = Vec::new();
    loop {
        let ready = (0..results.named.len())
            .find(|k| !order.contains(k) && reads(*k).iter().all(|other| order.contains(other)));
        match ready {
            Some(k) => order.push(k),
            None => break,
        }
    }
    if let Some(k) = (0..results.named.len()).find(|k| !order.contains(k)) {
        let message = format!("result `{}` refers to itself", results.named[k].name);
        let mistake = Mistake::new("result", &entries[k].0.span, message);
        session.report(mistake.help("write it without itself, or without those that refer to it"));
    }
    results.order = order;
}

struct Reader<'a> {
    tree: &'a Tree,
    session: &'a Session,
    eval: &'a Evaluator<'a>,
    stop: i64,
    names: &'a [String],
    /// Of the result that is being read.
    window: [i64; 2],
    batches: bool,
    found: Results,
    /// Places of signals by their text.
    signals: HashMap<String, usize>,
}

/// A result's formula, with names for its reductions.
struct Formula {
    ast: Ast,
    vars: HashMap<String, u32>,
    unit: Option<String>,
    batches: Option<usize>,
    text: Located<String>,
}

/// A text with names in the places of what was cut out.
struct Masked {
    text: String,
    vars: HashMap<String, u32>,
}

impl Masked {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), vars: HashMap::new() }
    }

    /// Replaces a part by a name of equal length that stands for variable `var`.
    fn cut(&mut self, (start, end): (usize, usize), var: usize) {
        // The shortest text that is cut out, `a.b`, has room for two digits.
        let digit = |x: usize| char::from_digit((x % 36) as u32, 36).unwrap_or('_');
        let mut name = match var {
            0..36 => format!("_{}", digit(var)),
            _ => format!("_{}{}", digit(var / 36), digit(var)),
        };
        while name.len() < end - start {
            name.push('_');
        }
        name.truncate(end - start);
        self.text.replace_range(start..end, &name);
        self.vars.insert(name, var as u32);
    }
}

/// A call in a text: its name, its arguments, and where it ends.
struct Call {
    name: (usize, usize),
    args: Vec<(usize, usize)>,
    end: usize,
}

impl<'a> Reader<'a> {
    fn refuse<T>(&self, piece: Piece<'_>, message: String, help: impl Into<String>) -> Option<T> {
        self.session.report(Mistake::new("result", &piece.span(), message).help(help));
        None
    }

    fn named(&mut self, name: &Located<String>, node: &Node) -> Option<Formula> {
        let refuse = |message: String, help: &str| {
            self.session.report(Mistake::new("result", &name.span, message).help(help));
            None
        };
        if !is_name(&name.value) {
            let help = "names are letters, digits and _, and do not start with a digit";
            return refuse(format!("`{}` cannot be the name of a result", name.value), help);
        }
        if self.eval.scope.has(&name.value) || name.value == "stop" || name.value == "time" {
            let message = format!("`{}` has a meaning already", name.value);
            return refuse(
                message,
                "choose another name: results may refer to parameters by theirs",
            );
        }
        let what = format!("result `{}`", name.value);
        let example = "\"min(tank.level)\", or { value = \"min(tank.level)\", unit = \"m\" }";
        (self.window, self.batches) = ([0, self.stop], false);
        let (node, unit) = match &node.item {
            Item::Table(table) => self.options(&what, node, table)?,
            Item::Text(_) => (node, None),
            _ => {
                self.session.report(node.wrong_type(&what, "a formula", example));
                return None;
            }
        };
        let text = node.text(&what, example, &self.session.sink)?;
        let formula = self.formula(&text, unit)?;
        if self.batches && formula.batches.is_none() {
            let message = "`ci` is for the mean of values of events, and for nothing around it";
            let help =
                "write value = \"mean(unit.output)\" with an output of events, or leave `ci` out";
            self.session.report(Mistake::new("result", &text.span, message).help(help));
        }
        Some(formula)
    }

    fn options<'n>(
        &mut self,
        what: &str,
        node: &Node,
        table: &'n Table,
    ) -> Option<(&'n Node, Option<String>)> {
        let sink = &self.session.sink;
        for (key, _) in table.entries.iter().filter(|(k, _)| !KEYS.contains(&k.value.as_str())) {
            let message = format!("a result has no key `{}`", key.value);
            let help = did_you_mean(&key.value, KEYS.iter().copied(), "known keys");
            sink.push(Mistake::new("unknown-key", &key.span, message).help(help));
        }
        if let Some(node) = table.get("over") {
            self.window = self.over(node)?;
        }
        if let Some(node) = table.get("ci") {
            let level = self.eval.number(node, "`ci`")?.value;
            if level != 0.95 {
                let mistake = Mistake::new("result", &node.span, format!("`ci` is {level}"));
                self.session.report(mistake.help("write ci = 0.95, the level that there is"));
                return None;
            }
            self.batches = true;
        }
        let unit = match table.get("unit") {
            Some(node) => Some(node.text("`unit`", "unit = \"Hz\"", sink)?.value),
            None => None,
        };
        let Some(value) = table.get("value") else {
            let mistake = Mistake::new("missing-key", &node.span, format!("{what} has no `value`"));
            self.session.report(mistake.help("add value = \"min(tank.level)\""));
            return None;
        };
        Some((value, unit))
    }

    fn over(&self, node: &Node) -> Option<[i64; 2]> {
        let example = "over = [\"1 s\", \"stop\"]";
        let list = node.list("`over`", example, &self.session.sink)?;
        let [from, to] = list else {
            let message = "`over` needs two instants: its beginning and its end";
            let mistake = Mistake::new("result", &node.span, message);
            self.session.report(mistake.help(format!("write {example}")));
            return None;
        };
        let instant = |node: &Node| match &node.item {
            Item::Text(text) if text.trim() == "stop" => Some(self.stop),
            _ => self.eval.ticks(node, "`over`"),
        };
        let window = [instant(from)?, instant(to)?];
        if window[0] >= window[1] || window[1] > self.stop {
            let message = "`over` must end after its beginning, and no later than the run";
            let mistake = Mistake::new("result", &node.span, message);
            self.session.report(mistake.help(format!("write {example}")));
            return None;
        }
        Some(window)
    }

    fn formula(&mut self, text: &Located<String>, unit: Option<String>) -> Option<Formula> {
        let whole = Piece::new(self.session, text);
        let mut masked = Masked::new(whole.text());
        let mut only = None;
        let (mut at, mut fine) = (0, true);
        while let Some((start, end)) = next_path(whole.text(), at) {
            at = end;
            let path = &whole.text()[start..end];
            let known = REDUCTIONS.iter().find(|(name, _)| *name == path);
            match (call(whole.text(), (start, end)), known) {
                // With several arguments `min` and `max` are those of formulas.
                (Some(c), Some(_)) if c.args.len() > 1 && matches!(path, "min" | "max") => {}
                (Some(c), Some((_, takes))) => {
                    at = c.end;
                    match self.reduction(whole, &c, *takes) {
                        Some((reduction, own)) => {
                            masked.cut((start, c.end), reduction);
                            let all = start == 0 && c.end == whole.text().len();
                            only = all.then_some((reduction, own));
                        }
                        None => fine = false,
                    }
                }
                (Some(c), None) if matches!(path, "event" | "interval") => {
                    at = c.end;
                    fine = false;
                    let help = format!(
                        "write count({0}), or another number of it",
                        &whole.text()[start..c.end]
                    );
                    self.refuse::<()>(
                        whole.within(start, c.end),
                        "events are no number".into(),
                        help,
                    );
                }
                (None, _) if self.is_output(path) => {
                    fine = false;
                    let message =
                        format!("`{path}` changes during the run, and a result is one number");
                    let help =
                        format!("put a function around it, such as final({path}) or max({path})");
                    self.refuse::<()>(whole.within(start, end), message, help);
                }
                _ => {}
            }
        }
        if !fine {
            return None;
        }
        let shown = Located::new(whole.text().to_owned(), whole.span());
        let ast = match parse(&masked.text) {
            Ok(ast) => ast,
            Err(error) => {
                self.session.expression(&shown, &[error]);
                return None;
            }
        };
        let batches = only.as_ref().map(|o| o.0).filter(|_| self.batches);
        let batches = batches.filter(|&r| self.found.reductions[r].batches);
        let unit = unit.or_else(|| only.and_then(|o| o.1));
        Some(Formula { ast, vars: masked.vars, unit, batches, text: shown })
    }

    /// Whether a path is no parameter, and has the form of an output.
    fn is_output(&self, path: &str) -> bool {
        let dotted = path.contains('.') || path.contains('[');
        dotted && self.eval.constant(path).is_none()
    }

    /// A call that makes a number: its place among the reductions, and its unit of measure.
    fn reduction(
        &mut self,
        whole: Piece<'_>,
        call: &Call,
        takes: Takes,
    ) -> Option<(usize, Option<String>)> {
        let name = whole.text()[call.name.0..call.name.1].to_owned();
        let piece = whole.within(call.name.0, call.end);
        let wanted = if matches!(&*name, "at" | "percentile") { 2 } else { 1 };
        if call.args.len() != wanted {
            let message =
                format!("`{name}` takes {wanted} argument{}", if wanted == 1 { "" } else { "s" });
            let help = match &*name {
                "at" => "write at(unit.output, '5 s')",
                "percentile" => "write percentile(unit.output, 95)",
                _ => "give it one output, formula or condition",
            };
            return self.refuse(piece, message, help);
        }
        let how = self.how(&name, whole, call)?;
        let operand = whole.within(call.args[0].0, call.args[0].1);
        if let Some(stream) = self.stream(operand)? {
            return self.of_stream((how, takes), stream, piece);
        }
        if takes == Takes::Events {
            let help = match &*name {
                "sum" => {
                    "of a signal take integral(...); a sum over units needs a number of it, such as \
                          max(sum(plant[*].power))"
                }
                _ => "give it an output of events, or event('unit', 'name')",
            };
            return self.refuse(piece, format!("`{name}` is a number of events"), help);
        }
        let (signal, unit) = self.signal(operand, takes)?;
        let unit = match how {
            How::Duration | How::First | How::Last | How::TimeOfMin | How::TimeOfMax => {
                Some("s".into())
            }
            How::Count | How::Integral => None,
            _ => unit,
        };
        Some((self.add(how, Of::Signal(signal), false), unit))
    }

    fn how(&self, name: &str, whole: Piece<'_>, call: &Call) -> Option<How> {
        let second = || unquoted(whole.within(call.args[1].0, call.args[1].1));
        Some(match name {
            "initial" => How::Initial,
            "final" if self.window[1] < self.stop => How::At(self.window[1]),
            "final" => How::Final,
            "at" => {
                let node = second();
                let tick = self.eval.ticks(&node, "the instant of `at`")?;
                if tick > self.stop {
                    let message = "this instant is after the end of the run";
                    let mistake = Mistake::new("result", &node.span, message);
                    self.session.report(mistake.help("name one before `stop`"));
                    return None;
                }
                if tick == self.stop { How::Final } else { How::At(tick) }
            }
            "mean" => How::Mean,
            "rms" => How::Rms,
            "std" => How::Std,
            "min" => How::Min,
            "max" => How::Max,
            "time_of_min" => How::TimeOfMin,
            "time_of_max" => How::TimeOfMax,
            "integral" => How::Integral,
            "sum" => How::Sum,
            "percentile" => {
                let node = second();
                let p = self.eval.number(&node, "the percentage of `percentile`")?.value;
                if !(0.0..=100.0).contains(&p) {
                    let message = format!("{p} is no percentage from 0 to 100");
                    let mistake = Mistake::new("result", &node.span, message);
                    self.session.report(mistake.help("write percentile(unit.output, 95)"));
                    return None;
                }
                How::Percentile(p)
            }
            "duration" => How::Duration,
            "first" => How::First,
            "last" => How::Last,
            "count" => How::Count,
            _ => How::Rate,
        })
    }

    fn add(&mut self, how: How, of: Of, batches: bool) -> usize {
        let reduction = Reduction { how, of, window: self.window, batches };
        let all = &mut self.found.reductions;
        let known = all.iter().position(|r| *r == reduction);
        known.unwrap_or_else(|| {
            all.push(reduction);
            all.len() - 1
        })
    }

    fn of_stream(
        &mut self,
        (how, takes): (How, Takes),
        (stream, values, unit): (Stream, bool, Option<String>),
        piece: Piece<'_>,
    ) -> Option<(usize, Option<String>)> {
        if matches!(takes, Takes::Signal | Takes::Truth) {
            let help = "of events there are count, first, last and rate, and mean, std, min, max, sum and \
                        percentile of their values";
            return self.refuse(piece, "this is a number of a signal, not of events".into(), help);
        }
        let needs = !matches!(how, How::Count | How::First | How::Last | How::Rate);
        if needs && !values {
            let help = "take count, first, last or rate, or the gaps: mean(interval(...))";
            return self.refuse(piece, "these events carry no numbers".into(), help);
        }
        let known = self.found.streams.iter().position(|s| *s == stream);
        let at = known.unwrap_or_else(|| {
            self.found.streams.push(stream);
            self.found.streams.len() - 1
        });
        let unit = match how {
            How::First | How::Last => Some("s".into()),
            How::Count | How::Rate => None,
            _ => unit,
        };
        Some((self.add(how, Of::Stream(at), self.batches && how == How::Mean), unit))
    }

    /// The events that a text stands for, whether they carry numbers, and the unit of these; `None`
    /// within if it stands for none.
    #[allow(clippy::option_option, reason = "the outer one is a mistake that was reported")]
    fn stream(&mut self, piece: Piece<'_>) -> Option<Option<(Stream, bool, Option<String>)>> {
        let text = piece.text();
        let head = next_path(text, 0).filter(|&(start, _)| start == 0);
        let call = head.and_then(|path| call(text, path)).filter(|c| c.end == text.len());
        if let Some(c) = call {
            let part = |k: usize| piece.within(c.args[k].0, c.args[k].1);
            return match (&text[c.name.0..c.name.1], c.args.len()) {
                ("event", 2) => self.events(part(0), part(1)).map(|s| Some((s, false, None))),
                ("interval", 1) => match self.stream(part(0))? {
                    Some((inner, ..)) => {
                        Some(Some((Stream::Gaps(Box::new(inner)), true, Some("s".into()))))
                    }
                    None => self.refuse(
                        piece,
                        "`interval` is the time between events".into(),
                        "give it an output of events, or event('unit', 'name')",
                    ),
                },
                ("event", _) => self.refuse(
                    piece,
                    "`event` needs a unit and a name".into(),
                    "write event('ball', 'bounce')",
                ),
                _ => Some(None),
            };
        }
        if head != Some((0, text.len())) || !self.is_output(text) {
            return Some(None);
        }
        let found = record::outputs(self.tree, self.session, piece);
        let first = found.first()?;
        if found.iter().any(|r| r.kind != PortKind::Event) {
            return Some(None);
        }
        let unit = first.unit.clone();
        let numeric = |r: &Record| {
            matches!(r.ty, ValueType::Real | ValueType::Int | ValueType::Bool | ValueType::Packet)
        };
        let values = found.iter().all(numeric);
        let senders = found.iter().filter_map(port_of).map(|p| place(&mut self.found.senders, p));
        Some(Some((Stream::Sent(senders.collect()), values, unit)))
    }

    fn events(&self, unit: Piece<'_>, pattern: Piece<'_>) -> Option<Stream> {
        let text = |piece: Piece<'_>| match unquoted(piece).item {
            Item::Text(text) => text,
            _ => String::new(),
        };
        let (name, pattern) = (text(unit), text(pattern));
        let dotted = |path: &str| path.replace('/', ".");
        let units = self.tree.units.iter().filter(|u| !u.hidden).map(|u| dotted(&u.path));
        let known: Vec<String> =
            units.chain(self.tree.links.iter().map(|l| dotted(&l.name))).collect();
        if !known.contains(&name) {
            let help = did_you_mean(&name, known.iter().map(String::as_str), "units and links");
            return self.refuse(unit, format!("there is no unit or link `{name}`"), help);
        }
        Some(Stream::Events { unit: name, pattern })
    }

    /// The place of a signal or condition, and its unit of measure, where it is an output and nothing else.
    fn signal(&mut self, piece: Piece<'_>, takes: Takes) -> Option<(usize, Option<String>)> {
        let (mut masked, mut atoms) = (Masked::new(piece.text()), Vec::new());
        let (mut at, mut unit) = (0, None);
        while let Some((start, end)) = next_path(piece.text(), at) {
            at = end;
            let path = &piece.text()[start..end];
            let found = match call(piece.text(), (start, end)) {
                Some(c) => match self.many(piece, path, &c)? {
                    Some(atom) => {
                        at = c.end;
                        Some((c.end, atom))
                    }
                    None => None,
                },
                None if path == "time" && self.eval.constant(path).is_none() => {
                    Some((end, Atom::Time))
                }
                None if self.is_output(path) => {
                    let (port, own) = self.port(piece.within(start, end))?;
                    unit = own;
                    Some((end, Atom::Port(port)))
                }
                None if self.names.iter().any(|n| n == path) => {
                    let help =
                        "use it outside of the function: a signal has a value at each instant";
                    return self.refuse(
                        piece.within(start, end),
                        format!("`{path}` is a result"),
                        help,
                    );
                }
                None => None,
            };
            if atoms.len() > MOST {
                let help = "make one number of many outputs, as in sum(plant[*].power)";
                return self.refuse(
                    piece,
                    format!("more than {MOST} outputs in one formula"),
                    help,
                );
            }
            if let Some((end, atom)) = found {
                let known = atoms.iter().position(|a| *a == atom);
                let var = known.unwrap_or_else(|| {
                    atoms.push(atom);
                    atoms.len() - 1
                });
                masked.cut((start, end), var);
            }
        }
        let alone = matches!(&atoms[..], [Atom::Port(_)])
            && next_path(piece.text(), 0) == Some((0, piece.text().len()));
        let form = self.form(piece, &masked, takes)?;
        let key = piece.text().to_owned();
        let all = &mut self.found.signals;
        let place = *self.signals.entry(key).or_insert_with(|| {
            all.push(Signal { atoms, form });
            all.len() - 1
        });
        Some((place, unit.filter(|_| alone)))
    }

    fn form(&self, piece: Piece<'_>, masked: &Masked, takes: Takes) -> Option<Form> {
        let scope = Lookup { eval: self.eval, stop: self.stop, vars: &masked.vars, results: None };
        let shown = Located::new(piece.text().to_owned(), piece.span());
        let report = |errors: Vec<ExprError>| {
            self.session.expression(&shown, &errors);
            None
        };
        let ast = match parse(&masked.text) {
            Ok(ast) => ast,
            Err(error) => return report(vec![error]),
        };
        match (ast.real(&scope), ast.condition(&scope)) {
            (Ok(expr), _) if matches!(takes, Takes::Signal | Takes::Values) => {
                Some(Form::Number(expr))
            }
            (_, Ok(condition)) if matches!(takes, Takes::Truth | Takes::Instants) => {
                Some(Form::Truth(condition))
            }
            (Ok(_), _) => self.refuse(
                piece,
                "this is a number, where a condition is needed".into(),
                format!("compare it, as in {} > 0", piece.text()),
            ),
            (_, Ok(_)) => self.refuse(
                piece,
                "this is a condition, where a number is needed".into(),
                "of conditions there are duration, first, last and count",
            ),
            (Err(errors), _) => report(errors),
        }
    }

    /// Many outputs as one number; `None` within if a call is another function.
    #[allow(clippy::option_option, reason = "the outer one is a mistake that was reported")]
    fn many(&mut self, piece: Piece<'_>, name: &str, call: &Call) -> Option<Option<Atom>> {
        let how = match name {
            "sum" => Some(Gather::Sum),
            "mean" => Some(Gather::Mean),
            "min" => Some(Gather::Min),
            "max" => Some(Gather::Max),
            "count" => Some(Gather::Count),
            _ => None,
        };
        let known = REDUCTIONS.iter().any(|(known, _)| *known == name);
        let [(start, end)] = call.args[..] else { return Some(None) };
        let inner = piece.within(start, end);
        let path = next_path(inner.text(), 0) == Some((0, inner.text().len()));
        let many = inner.text().contains('*') || inner.text().contains("..");
        let how = match how {
            Some(how) if path && many && self.is_output(inner.text()) => how,
            _ if known => {
                let help = "give it a name of its own in [result], and use that outside";
                let message =
                    format!("`{name}` is one number, which is known at the end of the run only");
                return self.refuse(piece.within(call.name.0, call.end), message, help);
            }
            _ => return Some(None),
        };
        let found = record::outputs(self.tree, self.session, inner);
        if found.is_empty() {
            return None;
        }
        let mut ports = Vec::new();
        for record in &found {
            ports.push(self.readable(inner, record)?);
        }
        Some(Some(Atom::Many(how, ports)))
    }

    /// One output of a signal.
    fn port(&mut self, piece: Piece<'_>) -> Option<(usize, Option<String>)> {
        let found = record::outputs(self.tree, self.session, piece);
        match &found[..] {
            [] => None,
            [one] => Some((self.readable(piece, one)?, one.unit.clone())),
            many => {
                let message = format!("`{}` are {} outputs", piece.text(), many.len());
                let help = format!("make one number of them, as in sum({})", piece.text());
                self.refuse(piece, message, help)
            }
        }
    }

    fn readable(&mut self, piece: Piece<'_>, record: &Record) -> Option<usize> {
        if record.kind == PortKind::Event {
            let message = format!("`{}` sends events, which are no signal", record.label);
            let help = "of events there are count, first, last and rate, and mean, std, min, max, sum and \
                        percentile of their values, or a `hold` block makes a signal of them";
            return self.refuse(piece, message, help);
        }
        if !matches!(record.ty, ValueType::Real | ValueType::Int | ValueType::Bool) {
            let message = format!("`{}` carries no numbers", record.label);
            return self.refuse(piece, message, "name an output with numbers");
        }
        Some(place(&mut self.found.ports, port_of(record)?))
    }
}

fn port_of(record: &Record) -> Option<(String, u16)> {
    match &record.source {
        Source::Port { unit, port } => Some((unit.clone(), *port)),
        Source::Aggregate { .. } => None,
    }
}

/// The place of something in a list, in which it stands once.
fn place<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    list.iter().position(|known| *known == one).unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    })
}

/// The next name or path in a text from byte `from` on: where it begins and ends. Texts in quotes and digits of
/// numbers are passed over.
fn next_path(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += 1;
                }
                at += 1;
            }
            b if b.is_ascii_digit() => {
                while at < bytes.len()
                    && (letter(bytes[at]) || bytes[at].is_ascii_digit() || bytes[at] == b'.')
                {
                    at += 1;
                }
            }
            b if letter(b) => return Some((at, end_of_path(bytes, at))),
            _ => at += 1,
        }
    }
    None
}

fn end_of_path(bytes: &[u8], mut at: usize) -> usize {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    loop {
        while at < bytes.len() && part(bytes[at]) {
            at += 1;
        }
        if bytes.get(at) == Some(&b'[') {
            let close = bytes[at..].iter().position(|b| *b == b']');
            let Some(close) = close else { return at };
            at += close + 1;
        }
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        if bytes.get(at) != Some(&b'.')
            || !(next.is_ascii_alphabetic() || next == b'_' || next == b'*')
        {
            return at;
        }
        at += 1 + usize::from(next == b'*');
    }
}

/// The call whose name is at a place, if there is one.
fn call(text: &str, name: (usize, usize)) -> Option<Call> {
    let open = name.1 + text[name.1..].find(|c: char| !c.is_whitespace())?;
    if !text[open..].starts_with('(') {
        return None;
    }
    let (mut depth, mut quote, mut args, mut from) = (0, None, Vec::new(), open + 1);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match (quote, c) {
            (Some(q), _) => quote = Some(q).filter(|q| *q != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => {
                depth -= 1;
                if depth == 0 {
                    args.push((from, at));
                    return Some(Call { name, args, end: at + 1 });
                }
            }
            (None, ',') if depth == 1 => {
                args.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Names in the formulas of results.
struct Lookup<'a> {
    eval: &'a Evaluator<'a>,
    stop: i64,
    vars: &'a HashMap<String, u32>,
    /// The names of all results, and the number of the first one's variable.
    results: Option<(&'a [String], usize)>,
}

impl expr::Scope for Lookup<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        if let Some(&var) = self.vars.get(name) {
            return Some(Symbol::Var(VarId(var)));
        }
        if let Some((names, first)) = self.results
            && let Some(k) = names.iter().position(|n| n == name)
        {
            return Some(Symbol::Var(VarId((first + k) as u32)));
        }
        let stop = || {
            let rate = self.eval.session.resolution.ticks_per_second() as f64;
            (name == "stop").then(|| self.stop as f64 / rate)
        };
        self.eval.constant(name).or_else(stop).map(Symbol::Const)
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.eval.session.library().get(name)
    }

    fn names(&self) -> Vec<&str> {
        let mut out: Vec<&str> = vec!["stop"];
        if let Some((names, _)) = self.results {
            out.extend(names.iter().map(String::as_str));
        }
        self.eval.scope.all_names(&mut out);
        out
    }
}
