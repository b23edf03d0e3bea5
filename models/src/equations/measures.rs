//! Dimensions of the formulas of an equation unit.
use super::{
    elaborate::indexed,
    read::{Declared, Entry, Reader},
};
use crate::{
    kinds::{Located, Measures, Param, ParamError, Params, Span, measures::base},
    maths::{
        expr::{Library, Measure, parse},
        quantity::Quantity,
    },
};
use std::collections::{HashMap, HashSet};

/// Names with the measures of their declarations.
type Table = HashMap<String, Measure>;

/// The dimensions of variables and outputs, and what does not go together in formulas.
pub(super) fn measures(
    params: &Params,
    names: &dyn Fn(&str) -> Measure,
    functions: &Library,
) -> (Measures, Vec<ParamError>) {
    let mut r = Reader::new(params);
    let d = Declared::read(&mut r);
    if !r.errors.is_empty() {
        // Told when the unit is built.
        return Default::default();
    }
    let mut all = Formulas { r, names, functions, places: HashMap::new(), seen: HashSet::new() };
    let mut table = Table::new();
    for entries in [&all.r.table("parameters"), &d.states, &d.inputs, &d.discrete] {
        all.declare(entries, &mut table);
    }
    let tables = ["let", "derivatives", "residuals", "outputs"].map(|key| all.r.table(key));
    let events = ["event", "on"].map(|key| params.get(key));
    all.part(&mut table, &tables, events);
    let outputs = all.outputs(&d.outputs, &table);
    for (_, entries) in &d.modes {
        let get = |key: &str| entries.iter().find(|(k, _)| k.value == key).map(|(_, p)| *p);
        let tables = ["let", "derivatives", "residuals", "outputs"]
            .map(|key| get(key).map_or_else(Vec::new, |p| all.r.entries(p, key)));
        all.part(&mut table.clone(), &tables, ["event", "on"].map(get));
    }
    (Measures { variables: table, outputs }, all.r.errors)
}

struct Formulas<'a, 'n> {
    r: Reader<'a>,
    /// Measures of parameters around the unit.
    names: &'n dyn Fn(&str) -> Measure,
    functions: &'n Library,
    /// Where names with units are declared.
    places: HashMap<String, Span>,
    /// Texts that were looked at, by their place: elements of an array share one.
    seen: HashSet<Span>,
}

impl<'a> Formulas<'a, '_> {
    /// Learns the units of declared names.
    fn declare(&mut self, entries: &[Entry<'a>], table: &mut Table) {
        for (name, p) in entries {
            let name = base(&name.value);
            let measure = self.formula(p, table).declared();
            let known = table.entry(name.to_owned()).or_insert(measure);
            if *known != measure {
                *known = Measure::Unknown;
            }
            if measure != Measure::Unknown {
                self.places.entry(name.to_owned()).or_insert_with(|| p.span.clone());
            }
        }
    }

    /// The measure of a formula, whose mistakes are collected.
    fn formula(&mut self, p: &Located<Param>, table: &Table) -> Measure {
        let (value, indices) = indexed(&p.value);
        let Param::Text(text) = value else { return Measure::Number(None) };
        if let Ok(Some(q)) = Quantity::parse(text) {
            return Measure::of(&q.unit);
        }
        let Ok(ast) = parse(text) else { return Measure::Unknown };
        let own = &self.r.indices;
        let index = |name: &str| indices.iter().chain(own).any(|(index, _)| index == name);
        let (measure, errors) = ast.measure(
            &|name| match name {
                _ if index(name) => Measure::Number(None),
                "t" | "time" => Measure::TIME,
                _ => match table.get(name) {
                    Some(measure) => *measure,
                    None if name == "pi" => Measure::Number(Some(std::f64::consts::PI)),
                    None => (self.names)(name),
                },
            },
            self.functions,
        );
        if self.seen.insert(p.span.clone()) {
            self.r.expression_errors(&p.span, text, errors);
        }
        measure
    }

    /// Demands that a formula fits what it is for.
    fn fits(&mut self, p: &Located<Param>, measure: Measure, wanted: Measure, of: [&str; 2]) {
        let [what, name] = of;
        let Some(help) = measure.misfit(wanted) else { return };
        let error = format!("{what}`{name}` is {}, this is {}", wanted.text(), measure.text());
        let mut error = ParamError::at(p.span.clone(), error).help(help);
        if let Some(place) = self.places.get(base(name)) {
            error = error.also(place.clone(), format!("`{name}` has its unit from here"));
        }
        if !self.r.errors.iter().any(|e| e.span == error.span) {
            self.r.errors.push(error);
        }
    }

    /// All that stands in the unit, or in a mode of it.
    fn part(
        &mut self,
        table: &mut Table,
        [lets, derivatives, residuals, outputs]: &[Vec<Entry<'a>>; 4],
        [event, on]: [Option<&'a Located<Param>>; 2],
    ) {
        for (name, p) in lets {
            let name = base(&name.value);
            match self.formula(p, table) {
                // A boundary value of an array that is declared.
                Measure::Number(_) if table.contains_key(name) => {}
                Measure::Number(_) => drop(table.insert(name.to_owned(), Measure::Unknown)),
                measure => drop(table.insert(name.to_owned(), measure)),
            }
        }
        for (name, p) in derivatives {
            let measure = self.formula(p, table);
            let wanted = Measures::of(table, &name.value).rate();
            self.fits(p, measure, wanted, ["the derivative of ", &name.value]);
        }
        for (_, p) in residuals.iter().chain(outputs) {
            self.formula(p, table);
        }
        self.events(event, table);
        table.insert("value".into(), Measure::Unknown);
        self.events(on, table);
        table.remove("value");
    }

    fn outputs(&mut self, outputs: &[Entry<'a>], table: &Table) -> Table {
        let mut found = Table::new();
        for (name, p) in outputs {
            let measure = self.formula(p, table).declared();
            let known = found.entry(base(&name.value).to_owned()).or_insert(measure);
            if *known != measure {
                *known = Measure::Unknown;
            }
        }
        found
    }

    fn events(&mut self, list: Option<&'a Located<Param>>, table: &Table) {
        let Some(Param::List(list)) = list.map(|p| &p.value) else { return };
        for event in list {
            let (value, indices) = indexed(&event.value);
            let Param::Table(entries) = value else { continue };
            self.r.indices = indices.to_vec();
            for (key, p) in entries {
                match key.value.as_str() {
                    "when" | "crossing" => {
                        self.formula(p, table);
                    }
                    "at" | "every" | "from" => {
                        let measure = self.formula(p, table);
                        self.fits(p, measure, Measure::TIME, ["", &key.value]);
                    }
                    "emit" | "reset" | "rest" => self.assignments(p, table, &key.value),
                    _ => {}
                }
            }
            self.r.indices.clear();
        }
    }

    fn assignments(&mut self, p: &'a Located<Param>, table: &Table, key: &str) {
        let Param::Table(entries) = indexed(&p.value).0 else { return };
        for (name, p) in entries {
            let measure = self.formula(p, table);
            let wanted = match key {
                "emit" => Measure::Unknown,
                _ if name.value == "within" => Measure::TIME,
                _ => Measures::of(table, &name.value),
            };
            if wanted != Measure::Unknown {
                self.fits(p, measure, wanted, ["", &name.value]);
            }
        }
    }
}
