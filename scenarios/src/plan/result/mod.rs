//! `[result]`: what its formulas mean.
//!
//! **How a formula is read.** The language of formulas knows numbers only. So calls that make a number of a
//! signal, and outputs, are cut out of the text and replaced by names of equal length, each of which stands
//! for a variable. What remains is a formula like any other, and its mistakes are where the reader wrote them.
mod label;
mod signal;
mod stream;
mod text;

use super::{
    Record, Source,
    evaluate::Evaluator,
    measures::Units,
    selector::{Piece, is_name, unquoted},
    session::{Session, did_you_mean},
    tree::Tree,
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
    result::{Atom, How, Named, Of, Reduction, Results, Stream},
};
use std::collections::HashMap;
use superdense_models::{
    kinds::{Located, Param, Params},
    maths::expr::{self, Ast, Function, Measure, Symbol, VarId, built_in, parse},
};
use text::{Call, Masked, REDUCTIONS, call, next_path};

const KEYS: &[&str] = &["value", "unit", "over", "ci"];
/// Most outputs of one formula, those of `sum(plant[*].power)` and the like counted as one.
const MOST: usize = 1000;
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

/// The results of a scenario. In a run that was `shortened` by an option, what lies behind its end never
/// happens; else it is a mistake.
pub(super) fn results(
    root: &Table,
    (tree, measures): (&Tree, &Units<'_>),
    (stop, shortened): (i64, bool),
    session: &Session,
) -> Results {
    let mut results = Results::default();
    let Some(node) = root.get("result") else { return results };
    let Some(table) = node.table("`result`", "[result]", &session.sink) else { return results };
    let names: Vec<String> = table.keys().map(str::to_owned).collect();
    let eval = Evaluator::new(session, &tree.groups[0].scope, &[]);
    let mut r = Reader {
        tree,
        measures,
        session,
        eval: &eval,
        stop,
        shortened,
        names: &names,
        window: [0, stop],
        batches: false,
        found: Results::default(),
        signals: HashMap::new(),
        of_signals: HashMap::new(),
        thinned: thinned(tree),
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
        let Some(Formula { ast, vars, unit, batches, text }) = found else {
            if session.sink.is_empty() {
                let message =
                    format!("result `{name}` reads an array of units that has no members");
                let help = "give the array a `count` of 1 at least, or read a `sum` or `count` of its outputs";
                let node = table.entries.iter().find(|(key, _)| key.value == *name);
                node.iter().for_each(|(key, _)| {
                    session.report(Mistake::new("result", &key.span, &*message).help(help));
                });
            }
            continue;
        };
        let scope = Lookup { eval: &eval, stop, vars: &vars, results: Some((&names, count)) };
        match ast.real(&scope) {
            Ok(formula) => {
                let (name, sampled) = (name.clone(), false);
                results.named.push(Named { name, unit, formula, batches, sampled });
            }
            Err(errors) => session.expression(&text, &errors),
        }
    }
    if session.sink.is_empty() {
        order(&mut results, &table.entries, session);
        mark_sampled(&mut results);
    }
    results
}

/// The units that tell of their signals after so many changes only.
fn thinned(tree: &Tree) -> HashMap<&str, i64> {
    let every = |params: &Params| match params.get("every")?.value {
        Param::Int(every @ 2..) => Some(every),
        _ => None,
    };
    let units = tree.units.iter();
    units.filter_map(|unit| Some((unit.path.as_str(), every(&unit.params)?))).collect()
}

/// Marks what comes from signals that their units know at some instants only. What a signal is at its end, or
/// at the beginning, they do know.
fn mark_sampled(results: &mut Results) {
    let count = results.reductions.len();
    let guessed = |r: &Reduction| match (r.of, r.how) {
        (Of::Signal(_), How::Initial | How::Final) | (Of::Stream(_), _) => false,
        (Of::Signal(s), _) => results.signals[s].atoms.iter().any(|atom| match atom {
            Atom::Time => false,
            Atom::Port(port) => results.sampled[*port],
            Atom::Many(_, ports) => ports.iter().any(|&port| results.sampled[port]),
        }),
    };
    let mut marks: Vec<bool> = results.reductions.iter().map(guessed).collect();
    marks.resize(count + results.named.len(), false);
    for &k in &results.order {
        let named = &mut results.named[k];
        named.sampled = named.formula.vars().iter().any(|var| marks[var.0 as usize]);
        marks[count + k] = named.sampled;
    }
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
    measures: &'a Units<'a>,
    session: &'a Session,
    eval: &'a Evaluator<'a>,
    stop: i64,
    shortened: bool,
    names: &'a [String],
    /// Of the result that is being read.
    window: [i64; 2],
    batches: bool,
    found: Results,
    /// Places of signals by their text.
    signals: HashMap<String, usize>,
    /// Measures of signals by their places.
    of_signals: HashMap<usize, Measure>,
    /// Units by path that tell of their signals after so many changes only.
    thinned: HashMap<&'a str, i64>,
}

/// A result's formula, with names for its reductions.
struct Formula {
    ast: Ast,
    vars: HashMap<String, u32>,
    unit: Option<String>,
    batches: Option<usize>,
    text: Located<String>,
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
        let taken = ["stop", "time", "pi"].contains(&name.value.as_str());
        if taken || text::is_word(&name.value) || self.eval.scope.has(&name.value) {
            let message = format!("`{}` has a meaning already", name.value);
            return refuse(
                message,
                "choose another name: results may refer to parameters by theirs, and formulas have words of their own",
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

    /// The tick of a time, in which `stop` is the end of the run.
    fn instant(&self, node: &Node, what: &str) -> Option<i64> {
        let locals = [("stop", self.session.resolution.seconds(self.stop))];
        match &node.item {
            Item::Text(text) if text.trim() == "stop" => Some(self.stop),
            _ => Evaluator::new(self.session, self.eval.scope, &locals).ticks(node, what),
        }
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
        let window = [self.instant(from, "`over`")?, self.instant(to, "`over`")?];
        if self.shortened && window[0] >= self.stop {
            return Some([window[0]; 2]);
        }
        if window[0] >= window[1] || window[1] > self.stop && !self.shortened {
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
        let (mut only, mut units) = (None, Vec::new());
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
                            units.extend(own.clone());
                            masked.cut((start, c.end), reduction);
                            let all = start == 0 && c.end == whole.text().len();
                            only = all.then_some((reduction, own));
                        }
                        None => fine = false,
                    }
                }
                (Some(c), None) if matches!(path, "event" | "interval") => {
                    (at, fine) = (c.end, false);
                    let piece = whole.within(start, c.end);
                    let help = format!("write count({}), or another number of it", piece.text());
                    self.refuse::<()>(piece, "events are no number".into(), help);
                }
                (Some(c), None) if self.is_unknown(path, &whole.text()[c.name.1..c.end]) => {
                    (at, fine) = (c.end, false);
                    let message = format!("unknown function `{path}`");
                    self.refuse::<()>(whole.within(start, end), message, text::remedy(path));
                }
                (None, _) if self.is_output(path) => {
                    fine = false;
                    let message =
                        format!("`{path}` changes during the run, and a result is one number");
                    let help = self.reduced(path);
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
        self.refuse_quantities(whole, &ast, &units)?;
        let batches = only.as_ref().map(|o| o.0).filter(|_| self.batches);
        let batches = batches.filter(|&r| self.found.reductions[r].batches);
        let measure = self.of_formula(whole, &ast, &masked)?;
        let own = only.and_then(|o| o.1);
        if let Some(unit) = &unit {
            self.label(whole, unit, own.as_deref(), measure)?;
        }
        let unit = unit.or(own);
        Some(Formula { ast, vars: masked.vars, unit, batches, text: shown })
    }

    /// Whether a name in front of arguments with outputs is that of no function.
    fn is_unknown(&self, name: &str, args: &str) -> bool {
        let known = text::is_word(name) || built_in(name).is_some();
        args.contains(['.', '[']) && !known && self.session.functions().get(name).is_none()
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
        if !matches!(how, How::Initial | How::Final) {
            self.refuse_thinned(signal, piece)?;
        }
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
                let tick = self.instant(&node, "the instant of `at`")?;
                if tick > self.stop && !self.shortened {
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
                let number = self.eval.number(&node, "the percentage of `percentile`")?;
                let p = number.value;
                if number.dimension.is_some() || !(0.0..=100.0).contains(&p) {
                    let message = match number.dimension {
                        Some(_) => "a percentage has no unit of measure here".to_owned(),
                        None => format!("{p} is no percentage from 0 to 100"),
                    };
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
        if how.takes_values() && !values {
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
        self.eval.session.functions().get(name)
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
