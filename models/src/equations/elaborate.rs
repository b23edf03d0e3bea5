//! Expansion of lines that are written once for many: arrays of states, inputs, outputs and events.
//!
//! A key names one element (`u[1]`, `u[N]`), a range (`u[1..=N]`, `u[k in 1..N]`) or, for an array
//! that is declared already, all its elements (`u[k]`). In the texts behind it the index has its
//! name (`i` if none is given). One element wins over a range.
use super::{
    read::{Entry, Reader, constant_scope, gather_texts},
    text::DRAWS,
};
use crate::{
    kinds::{Located, Param, ParamError, Params, Span},
    maths::expr::{Expr, Names, Symbol},
};
use std::collections::{HashMap, HashSet};

/// Most elements of a table.
const MAX_ELEMENTS: usize = 50_000;

/// Names and values of indices.
type Indices = Vec<(String, i64)>;
type OwnEntry = (Located<String>, Located<Param>);

/// Writes the parameters of an equation unit out.
pub(super) fn elaborate(
    params: &Params,
    constants: &dyn Fn(&str) -> Option<f64>,
) -> Result<Params, Vec<ParamError>> {
    let mut reader = Reader::new(params);
    let mut e = Elaborator::new(constants);
    params.values.iter().for_each(|(_, p)| e.name_indices(p));
    let mut out = params.clone();
    if draws(params) {
        let zero = Located::new(Param::Int(0), 0..0);
        let counter = (Located::new(DRAWS.to_owned(), 0..0), zero);
        match out.values.iter_mut().find(|(n, _)| n == "discrete").map(|(_, p)| &mut p.value) {
            Some(Param::Table(entries)) => entries.push(counter),
            Some(_) => {}
            None => {
                let table = Located::new(Param::Table(vec![counter]), 0..0);
                out.values.push(("discrete".to_owned(), table));
            }
        }
    }
    for name in [
        "parameters",
        "inputs",
        "states",
        "algebraic",
        "discrete",
        "let",
        "outputs",
        "derivatives",
        "residuals",
        "initial",
    ] {
        let Some((_, p)) = out.values.iter_mut().find(|(n, _)| n == name) else { continue };
        e.about = about(name);
        e.table(&mut reader, p, &Vec::new());
        match name {
            "parameters" => e.learn(&mut reader, p),
            "inputs" | "states" | "algebraic" | "discrete" => e.declare(p, name),
            _ => {}
        }
    }
    e.about = None;
    for (name, p) in &mut out.values {
        match name.as_str() {
            "event" | "on" => e.events(&mut reader, p),
            "mode" => e.modes(&mut reader, p),
            _ => {}
        }
    }
    if reader.errors.is_empty() { Ok(out) } else { Err(reader.errors) }
}

/// Whether events of a unit draw random numbers.
fn draws(params: &Params) -> bool {
    let of = |p: &Param| {
        let mut texts = Vec::new();
        gather_texts(p, &mut texts);
        let drawn = ["uniform", "normal", "exponential"];
        texts.iter().any(|text| drawn.iter().any(|name| text.contains(name)))
    };
    let events = |name: &str| ["event", "on", "mode"].contains(&name);
    params.values.iter().any(|(name, p)| events(name) && of(&p.value))
}

struct Elaborator<'a> {
    constants: &'a dyn Fn(&str) -> Option<f64>,
    /// The unit's own parameters.
    own: Names,
    /// Indices of the elements of each array, in order.
    arrays: HashMap<String, Vec<Vec<i64>>>,
    /// Arrays with the names that their ranges give to indices; these stand above parameters.
    named: HashSet<(String, String)>,
    /// Indices of the elements of each array of unknowns, by the table that declares them.
    unknowns: HashMap<&'static str, HashMap<String, Vec<Vec<i64>>>>,
    /// Which of these the present table is about.
    about: Option<&'static str>,
}

/// The table whose names the table `name` is about, if it is about one alone.
fn about(name: &str) -> Option<&'static str> {
    match name {
        "derivatives" => Some("states"),
        "residuals" => Some("algebraic"),
        _ => None,
    }
}

/// The name of the index in brackets with a range, and that range.
fn index_of(text: &str) -> (&str, &str) {
    match text.split_once(" in ") {
        Some((name, range)) => (name.trim(), range),
        None => ("i", text),
    }
}

/// The content of the brackets of a key.
enum Bracket {
    /// All values from the first to before the second.
    Range(String, i64, i64),
    /// As declared.
    Free(String),
}

impl<'a> Elaborator<'a> {
    fn new(constants: &'a dyn Fn(&str) -> Option<f64>) -> Self {
        let (arrays, unknowns, named) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { constants, own: Names::new(), arrays, named, unknowns, about: None }
    }

    /// Notes the names that the ranges in keys of a table give to indices.
    fn name_indices(&mut self, p: &Located<Param>) {
        let Param::Table(entries) = &p.value else { return };
        for (key, _) in entries {
            let Some((base, texts)) = split(&key.value) else { continue };
            for (name, range) in texts.into_iter().map(index_of) {
                if range.contains("..") {
                    self.named.insert((base.to_owned(), name.to_owned()));
                }
            }
        }
    }

    /// Makes the values of the unit's parameters known.
    fn learn(&mut self, r: &mut Reader<'_>, p: &Located<Param>) {
        let Param::Table(entries) = &p.value else { return };
        // Mistakes in a value are reported when the unit is compiled.
        let errors = r.errors.len();
        for (name, p) in entries {
            let value = r.constant(p, &constant_scope(&self.own, self.constants));
            self.own.insert(name.value.clone(), Symbol::Const(value));
        }
        r.errors.truncate(errors);
    }

    fn declare(&mut self, p: &Located<Param>, table: &'static str) {
        let Param::Table(entries) = &p.value else { return };
        for (name, _) in entries {
            let Some((base, brackets)) = split(&name.value) else { continue };
            let indices: Option<Vec<i64>> = brackets.iter().map(|b| b.parse().ok()).collect();
            let own = self.unknowns.entry(table).or_default();
            own.entry(base.to_owned()).or_default().extend(indices.clone());
            self.arrays.entry(base.to_owned()).or_default().extend(indices);
        }
    }

    /// Writes the keys of a table out.
    fn table(&self, r: &mut Reader<'_>, p: &mut Located<Param>, around: &Indices) {
        let Param::Table(entries) = &mut p.value else { return };
        let plain =
            |(k, p): &OwnEntry| !k.value.contains('[') && !matches!(p.value, Param::List(_));
        if around.is_empty() && entries.iter().all(plain) {
            return;
        }
        let mut all: Vec<OwnEntry> = Vec::with_capacity(entries.len());
        // Place of each element, and whether it came from a range.
        let mut places: HashMap<String, (usize, bool)> = HashMap::new();
        for (key, value) in listed(std::mem::take(entries)) {
            let Some(elements) = self.elements(r, &key, around) else { continue };
            let values = self.values(r, &value, elements.len());
            let ranged = elements.len() != 1 || elements[0].1.len() > around.len();
            if all.len() + elements.len() > MAX_ELEMENTS {
                let error = ParamError::at(key.span.clone(), "more than 50 thousand elements");
                r.errors
                    .push(error.help("choose a smaller range, or divide it among several units"));
                return;
            }
            for (k, (name, indices)) in elements.into_iter().enumerate() {
                let value = values.get(k).copied().unwrap_or(&value);
                let value = if indices.is_empty() {
                    value.clone()
                } else {
                    let inner = Box::new(value.value.clone());
                    Located::new(Param::Indexed(inner, indices), value.span.clone())
                };
                let entry = (Located::new(name, key.span.clone()), value);
                match places.get(&entry.0.value) {
                    None => {
                        places.insert(entry.0.value.clone(), (all.len(), ranged));
                        all.push(entry);
                    }
                    Some(&(place, true)) if !ranged => {
                        places.insert(entry.0.value.clone(), (place, false));
                        all[place] = entry;
                    }
                    Some(&(_, false)) if ranged => {}
                    Some(_) => {
                        let error = format!("`{}` is given twice", entry.0.value);
                        let error = ParamError::at(key.span.clone(), error);
                        r.errors.push(error.help("let the ranges not overlap"));
                        break;
                    }
                }
            }
        }
        *entries = all;
    }

    /// The values of a list, row by row, for so many elements; nothing for one value for all.
    fn values<'v>(
        &self,
        r: &mut Reader<'_>,
        value: &'v Located<Param>,
        elements: usize,
    ) -> Vec<&'v Located<Param>> {
        let mut values = Vec::new();
        if !matches!(value.value, Param::List(_)) {
            return values;
        }
        leaves(value, &mut values);
        if values.len() != elements {
            let error = format!("a list of {} values for {elements} elements", values.len());
            let help = "give a value for each element, row by row: [[1, 2], [3, 4]]";
            r.errors.push(ParamError::at(value.span.clone(), error).help(help));
        }
        values
    }

    /// The elements that a key stands for, with their indices.
    fn elements(
        &self,
        r: &mut Reader<'_>,
        key: &Located<String>,
        around: &Indices,
    ) -> Option<Vec<(String, Indices)>> {
        let Some((base, texts)) = split(&key.value) else {
            return Some(vec![(key.value.clone(), around.clone())]);
        };
        let mut brackets = Vec::with_capacity(texts.len());
        for text in texts {
            brackets.push(self.bracket(r, (base, &key.span), text, around)?);
        }
        let named = |indices: &[i64]| {
            indices.iter().fold(base.to_owned(), |name, i| format!("{name}[{i}]"))
        };
        let bound = |indices: &[i64]| -> Indices {
            let of = |(b, &i): (&Bracket, &i64)| match b {
                Bracket::Range(name, ..) | Bracket::Free(name) => (name.clone(), i),
            };
            let own = brackets.iter().zip(indices).map(of).filter(|(name, _)| !name.is_empty());
            around.iter().cloned().chain(own).collect()
        };
        if let Some(Bracket::Free(name)) = brackets.iter().find(|b| matches!(b, Bracket::Free(_))) {
            let known = match self.about {
                Some(table) => self.unknowns.get(table).and_then(|arrays| arrays.get(base)),
                None => self.arrays.get(base),
            };
            let Some(known) = known else {
                let error = format!("`{base}[{name}]` is no array of this unit");
                let help = format!("give a range, as in \"{base}[{name} in 1..=10]\"");
                r.errors.push(ParamError::at(key.span.clone(), error).help(help));
                return None;
            };
            let fits = |indices: &&Vec<i64>| {
                indices.len() == brackets.len()
                    && brackets.iter().zip(*indices).all(|(b, i)| match b {
                        Bracket::Range(_, from, to) => (from..to).contains(&i),
                        Bracket::Free(_) => true,
                    })
            };
            return Some(known.iter().filter(fits).map(|i| (named(i), bound(i))).collect());
        }
        let mut all: Vec<Vec<i64>> = vec![Vec::new()];
        for b in &brackets {
            let Bracket::Range(_, from, to) = b else { continue };
            let many = all.len() as i128 * (i128::from(*to) - i128::from(*from)).max(0);
            if many > MAX_ELEMENTS as i128 {
                let error = ParamError::at(key.span.clone(), "more than 50 thousand elements");
                r.errors
                    .push(error.help("choose a smaller range, or divide it among several units"));
                return None;
            }
            let longer = |i: &Vec<i64>| {
                (*from..*to).map(|k| i.iter().copied().chain([k]).collect()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        Some(all.iter().map(|i| (named(i), bound(i))).collect())
    }

    fn bracket(
        &self,
        r: &mut Reader<'_>,
        (base, span): (&str, &Span),
        text: &str,
        around: &Indices,
    ) -> Option<Bracket> {
        let (name, range) = index_of(text);
        if let Some((from, to)) = range.split_once("..") {
            let (to, inclusive) = match to.strip_prefix('=') {
                Some(to) => (to, 1),
                None => (to, 0),
            };
            let (from, to) = (self.whole(r, span, from, around), self.whole(r, span, to, around));
            return Some(Bracket::Range(name.to_owned(), from?, to?.checked_add(inclusive)?));
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let known = |name: &str| {
            let constant = || {
                crate::maths::expr::Scope::lookup(&self.own, name).is_some()
                    || (self.constants)(name).is_some()
            };
            let index = self.named.contains(&(base.to_owned(), name.to_owned()));
            around.iter().any(|(n, _)| n == name) || !index && constant()
        };
        if text.chars().all(word) && text.starts_with(|c: char| !c.is_ascii_digit()) && !known(text)
        {
            return Some(Bracket::Free(text.to_owned()));
        }
        let at = self.whole(r, span, text, around)?;
        Some(Bracket::Range(String::new(), at, at.checked_add(1)?))
    }

    /// A whole number from a formula of constants.
    fn whole(&self, r: &mut Reader<'_>, span: &Span, text: &str, around: &Indices) -> Option<i64> {
        let known = constant_scope(&self.own, self.constants);
        let scope = |name: &str| {
            let index = around.iter().rev().find(|(n, _)| n == name);
            index.map(|&(_, i)| Symbol::Const(i as f64)).or_else(|| known(name))
        };
        let value = match Expr::parse(text.trim(), &scope) {
            Ok(e) => e.as_constant().unwrap_or(f64::NAN),
            Err(errors) => {
                let error = format!("in `[...]`: {}", errors[0]);
                let help = "an index is a formula of parameters; a range is `1..=N`";
                r.errors.push(ParamError::at(span.clone(), error).help(help));
                return None;
            }
        };
        if value.fract() != 0.0 || value.abs() > 4e9 {
            let error = format!("the index `{}` is {value}, not a whole number", text.trim());
            let help = "use floor(...) or choose a whole parameter";
            r.errors.push(ParamError::at(span.clone(), error).help(help));
            return None;
        }
        Some(value as i64)
    }

    /// A list of events, of which some happen `for` many indices.
    fn events(&self, r: &mut Reader<'_>, p: &mut Located<Param>) {
        let Param::List(list) = &mut p.value else { return };
        let mut all = Vec::with_capacity(list.len());
        for item in std::mem::take(list) {
            let Param::Table(mut entries) = item.value else {
                all.push(item);
                continue;
            };
            let at = entries.iter().position(|(k, _)| k.value == "for");
            let range = at.map(|at| entries.remove(at).1);
            let Some(many) = self.repeated(r, range.as_ref()) else { continue };
            for indices in many {
                let mut entries = entries.clone();
                for (key, value) in &mut entries {
                    if matches!(key.value.as_str(), "reset" | "rest") {
                        self.table(r, value, &indices);
                    }
                }
                let table = Param::Table(entries);
                let table = if indices.is_empty() {
                    table
                } else {
                    Param::Indexed(Box::new(table), indices)
                };
                all.push(Located::new(table, item.span.clone()));
            }
        }
        *list = all;
    }

    /// The indices of `for = "i in 1..=N, j in 0..3"`.
    fn repeated(&self, r: &mut Reader<'_>, range: Option<&Located<Param>>) -> Option<Vec<Indices>> {
        let mut all: Vec<Indices> = vec![Vec::new()];
        let Some(range) = range else { return Some(all) };
        let text = match &range.value {
            Param::Text(text) if text.contains(" in ") && text.contains("..") => text,
            _ => {
                let error = ParamError::at(range.span.clone(), "this is not a range");
                r.errors.push(error.help("write for = \"i in 1..=N\""));
                return None;
            }
        };
        for part in text.split(',') {
            let mut longer = Vec::new();
            for indices in &all {
                let b = self.bracket(r, ("", &range.span), part.trim(), indices)?;
                let Bracket::Range(name, from, to) = b else { return Some(all) };
                if (to - from).max(0) as usize * all.len() > MAX_ELEMENTS {
                    let error = ParamError::at(range.span.clone(), "more than 50 thousand events");
                    r.errors.push(
                        error.help("choose a smaller range, or divide it among several units"),
                    );
                    return None;
                }
                for k in from..to {
                    longer.push(indices.iter().cloned().chain([(name.clone(), k)]).collect());
                }
            }
            all = longer;
        }
        Some(all)
    }

    fn modes(&mut self, r: &mut Reader<'_>, p: &mut Located<Param>) {
        let Param::Table(modes) = &mut p.value else { return };
        for (_, mode) in modes {
            let Param::Table(entries) = &mut mode.value else { continue };
            for (key, p) in entries {
                self.about = about(&key.value);
                match key.value.as_str() {
                    "let" | "outputs" | "derivatives" | "residuals" => {
                        self.table(r, p, &Vec::new())
                    }
                    "event" | "on" => self.events(r, p),
                    _ => {}
                }
            }
        }
    }
}

/// Gives the elements of lists names of their own, whose indices begin at 0: `k = [1, 2]` is `k[0]` and `k[1]`.
fn listed(entries: Vec<OwnEntry>) -> Vec<OwnEntry> {
    let mut all = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        match value.value {
            Param::List(items) if !name.value.contains(" in ") && !name.value.contains("..") => {
                let named = items.into_iter().enumerate().map(|(k, item)| {
                    (Located::new(format!("{}[{k}]", name.value), name.span.clone()), item)
                });
                all.extend(listed(named.collect()));
            }
            _ => all.push((name, value)),
        }
    }
    all
}

/// The values of a list and of lists in it.
fn leaves<'v>(value: &'v Located<Param>, all: &mut Vec<&'v Located<Param>>) {
    match &value.value {
        Param::List(items) => items.iter().for_each(|item| leaves(item, all)),
        _ => all.push(value),
    }
}

/// The name and what stands in each pair of brackets, of `u[1..=N][j]`.
fn split(key: &str) -> Option<(&str, Vec<&str>)> {
    let (base, rest) = key.split_once('[')?;
    let inner = rest.trim_end().strip_suffix(']')?;
    Some((base.trim(), inner.split("][").map(str::trim).collect()))
}

/// An element's table or text, with its indices.
pub(super) fn indexed(p: &Param) -> (&Param, &[(String, i64)]) {
    match p {
        Param::Indexed(inner, indices) => (inner, indices),
        other => (other, &[]),
    }
}

/// The place of an entry by its name.
pub(super) fn by_name<'a>(entries: &[Entry<'a>]) -> HashMap<&'a str, &'a Located<Param>> {
    entries.iter().map(|(k, p)| (k.value.as_str(), *p)).collect()
}

/// A text, with `[i]` written out for an element: `u[i]` is `u[3]`.
pub(super) fn whole_text(p: &Param) -> Option<String> {
    let (value, indices) = indexed(p);
    let Param::Text(text) = value else { return None };
    Some(indices.iter().fold(text.trim().to_owned(), |text, (index, i)| {
        text.replace(&format!("[{index}]"), &format!("[{i}]"))
    }))
}

/// The name of an event that was given one, or of the one with this number, for indices.
pub(super) fn event_name(
    given: Option<&Located<Param>>,
    number: usize,
    indices: &[(String, i64)],
) -> String {
    let name = match given.map(|p| &p.value) {
        Some(Param::Text(t)) => t.clone(),
        _ => format!("event{number}"),
    };
    indices.iter().fold(name, |name, (_, i)| format!("{name}[{i}]"))
}

/// The names of events in a list of tables.
pub(super) fn event_names(list: Option<&Located<Param>>) -> Vec<String> {
    let Some(Param::List(list)) = list.map(|p| &p.value) else { return Vec::new() };
    let name = |(number, item): (usize, &Located<Param>)| {
        let (value, indices) = indexed(&item.value);
        let Param::Table(entries) = value else { return None };
        let given = entries.iter().find(|(key, _)| key.value == "name").map(|(_, p)| p);
        Some(event_name(given, number, indices))
    };
    list.iter().enumerate().filter_map(name).collect()
}
