//! Units that are connected become one unit of equations.
//!
//! # Why
//! Connectors that are joined share their potential and displacement as one variable, so that what makes them equal
//! needs no equations; one equation says that their flows sum to zero. A potential that is a rate makes its
//! displacement a state. What the equations of the parts make of all that is for [`super::joined`].
use super::{
    compile::constants,
    connectors::{Connector, connectors},
    elaborate::{event_name, indexed},
    events::Events,
    formulas::Formulas,
    joined::{FLOWS, JOINED},
    read::{Declared, Entry, Reader},
    rename::Renamer,
    text::DRAWS,
};
use crate::{
    kinds::{Context, Located, Param, ParamError, Params},
    maths::expr::{Names, Scope, Symbol},
};
use std::collections::{BTreeMap, BTreeSet};

type OwnEntry = (Located<String>, Located<Param>);

/// Tables that only take the names of the part.
const TABLES: [&str; 8] =
    ["inputs", "states", "discrete", "algebraic", "let", "derivatives", "outputs", "initial"];

/// Parts that are joined.
pub(super) struct Joining<'a> {
    /// Name, parameters and surroundings of each.
    pub parts: &'a [(&'a str, &'a Params, &'a Context<'a>)],
    /// Connectors that are joined to each other: numbers of parts, and names.
    pub nodes: &'a [Vec<(usize, String)>],
}

/// The parameters of one unit in the place of all parts of `joining`, without settings of its solver.
///
/// # Errors
/// All mistakes of the parts, with their numbers.
pub(super) fn join(joining: &Joining<'_>) -> Result<Params, Vec<(usize, ParamError)>> {
    let mut errors = Vec::new();
    for (k, (_, params, context)) in joining.parts.iter().enumerate() {
        errors.extend(mistakes(params, context).into_iter().map(|error| (k, error)));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(merged(joining))
}

/// The mistakes of a part by itself, with connectors to which nothing is joined.
fn mistakes(params: &Params, context: &Context<'_>) -> Vec<ParamError> {
    let mut r = Reader::new(params);
    let all = connectors(&mut r);
    refuse(&mut r, &all);
    if !r.errors.is_empty() {
        return r.errors;
    }
    let alone = merged(&Joining { parts: &[("", params, context)], nodes: &[] });
    let mut r = Reader::new(&alone);
    let d = Declared::read(&mut r);
    let names = constants(&mut r, context);
    let mut formulas = Formulas::new(&mut r, &d, names);
    formulas.rates(&mut r, &d, false);
    formulas.rates(&mut r, &d, true);
    formulas.outputs(&mut r, &d);
    let mut events = Events::new(&formulas);
    events.read(&mut r, context, &d);
    r.errors
}

/// Refuses what connected units cannot have.
fn refuse(r: &mut Reader<'_>, all: &[Connector]) {
    if let Some((name, _)) = r.table("mode").first() {
        let error = ParamError::at(name.span.clone(), "a unit with connectors has no modes");
        let help = "write its equations with `if` and a discrete value that events change, as in \
                    residuals = { p = \"if(closed > 0.5, p.v - n.v, p.i)\" }";
        r.errors.push(error.help(help));
        return;
    }
    let declared = ["inputs", "states", "discrete", "algebraic", "let", "parameters"];
    let own: BTreeSet<&str> = declared
        .into_iter()
        .flat_map(|key| r.table(key))
        .map(|(name, _)| name.value.as_str())
        .collect();
    let residuals = r.table("residuals");
    for connector in all {
        let name = &connector.name;
        if own.contains(name.value.as_str()) {
            let error = format!("the connector `{}` has the name of a variable", name.value);
            r.errors.push(
                ParamError::at(name.span.clone(), error).help("give one of them another name"),
            );
        }
        if residuals.iter().all(|(key, _)| key.value != name.value) {
            let error = format!("the connector `{}` has no residual", name.value);
            let variables: Vec<String> = connector
                .variables()
                .map(|variable| format!("{}.{variable}", name.value))
                .collect();
            let help = format!(
                "add an equation between {} and what the unit knows: residuals = {{ {} = \"...\" }}",
                variables.join(", "),
                name.value
            );
            r.errors.push(ParamError::at(name.span.clone(), error).help(help));
        }
    }
}

/// Connectors that are joined, and their variables.
struct Node<'a> {
    /// Part and connector.
    ends: Vec<(usize, &'a Connector)>,
    /// `a.p = b.p`.
    name: String,
    potential: String,
    displacement: Option<String>,
}

/// The names of a part with a connector's variable.
fn variable(part: &str, connector: &str, name: &str) -> String {
    let dot = if part.is_empty() { "" } else { "." };
    format!("{part}{dot}{connector}.{name}")
}

/// All nodes: those given, then one for each connector to which nothing is joined.
fn nodes<'a>(joining: &Joining<'_>, all: &'a [Vec<Connector>]) -> Vec<Node<'a>> {
    let find = |(part, name): &(usize, String)| {
        Some((*part, all[*part].iter().find(|c| c.name.value == *name)?))
    };
    let mut ends: Vec<Vec<(usize, &Connector)>> =
        joining.nodes.iter().map(|node| node.iter().filter_map(find).collect()).collect();
    for (part, own) in all.iter().enumerate() {
        for connector in own {
            let joined = |(p, c): &(usize, &Connector)| *p == part && c.name == connector.name;
            if !ends.iter().flatten().any(joined) {
                ends.push(vec![(part, connector)]);
            }
        }
    }
    let node = |ends: Vec<(usize, &'a Connector)>| {
        let (part, first) = ends[0];
        let variable = |name: &String| variable(joining.parts[part].0, &first.name.value, name);
        let names: Vec<String> = ends
            .iter()
            .map(|(part, c)| match joining.parts[*part].0 {
                "" => c.name.value.clone(),
                part => format!("{part}.{}", c.name.value),
            })
            .collect();
        Node {
            name: names.join(" = "),
            potential: variable(&first.potential),
            displacement: first.displacement.as_ref().map(variable),
            ends,
        }
    };
    ends.into_iter().map(node).collect()
}

/// The tables of a unit that grows.
#[derive(Default)]
struct Tables {
    tables: BTreeMap<&'static str, Vec<OwnEntry>>,
    lists: BTreeMap<&'static str, Vec<Located<Param>>>,
}

impl Tables {
    fn put(&mut self, table: &'static str, name: Located<String>, value: Param) {
        let value = Located::new(value, name.span.clone());
        self.tables.entry(table).or_default().push((name, value));
    }

    fn into_params(self) -> Params {
        let whole = |value| Located::new(value, 0..0);
        let tables = self.tables.into_iter().map(|(name, t)| (name, Param::Table(t)));
        let lists = self.lists.into_iter().map(|(name, l)| (name, Param::List(l)));
        let values = tables.chain(lists).map(|(name, value)| (name.to_owned(), whole(value)));
        Params { values: values.collect() }
    }
}

fn merged(joining: &Joining<'_>) -> Params {
    let all: Vec<Vec<Connector>> =
        joining.parts.iter().map(|(_, params, _)| connectors(&mut Reader::new(params))).collect();
    let nodes = nodes(joining, &all);
    let mut tables = Tables::default();
    for (k, (name, params, context)) in joining.parts.iter().enumerate() {
        let mut others = BTreeMap::new();
        for node in &nodes {
            for (_, c) in node.ends.iter().filter(|(part, _)| *part == k) {
                let own = |variable: &str| format!("{}.{variable}", c.name.value);
                others.insert(own(&c.potential), node.potential.clone());
                if let (Some(x), Some(common)) = (&c.displacement, &node.displacement) {
                    others.insert(own(x), common.clone());
                }
            }
        }
        part(&mut tables, (name, params, context), &all[k], others);
    }
    for node in &nodes {
        close(&mut tables, joining, node);
    }
    tables.into_params()
}

/// The variables of a node, and the equation that its flows sum to zero.
fn close(tables: &mut Tables, joining: &Joining<'_>, node: &Node<'_>) {
    let span = &node.ends[0].1.name.span;
    let named = |name: &str| Located::new(name.to_owned(), span.clone());
    let flow =
        |(part, c): &(usize, &Connector)| variable(joining.parts[*part].0, &c.name.value, &c.flow);
    for end in &node.ends {
        tables.put("algebraic", named(&flow(end)), Param::Int(0));
    }
    let flows: Vec<String> = node.ends.iter().map(flow).collect();
    tables.put("algebraic", named(&node.potential), Param::Int(0));
    tables.put("residuals", named(&node.potential), Param::Text(flows.join(" + ")));
    let label = format!("{FLOWS} `{}`", node.name);
    tables.put(JOINED, named(&node.potential), Param::Text(label));
    if let Some(x) = &node.displacement {
        tables.put("states", named(x), Param::Int(0));
        tables.put("derivatives", named(x), Param::Text(node.potential.clone()));
        tables.put(JOINED, named(x), Param::Text(format!("the position of `{}`", node.name)));
    }
}

/// The tables of a part under their names in the whole.
fn part(
    tables: &mut Tables,
    (name, params, context): (&str, &Params, &Context<'_>),
    own: &[Connector],
    others: BTreeMap<String, String>,
) {
    let mut r = Reader::new(params);
    let constants = constants(&mut r, context);
    let declared: Vec<Entry<'_>> = ["inputs", "states", "discrete", "algebraic", "let"]
        .into_iter()
        .flat_map(|key| r.table(key))
        .collect();
    let mut renamer = Renamer { prefix: name, own: BTreeSet::new(), others };
    let names = declared.iter().map(|(name, _)| name.value.as_str());
    renamer.own.extend(names.chain(own.iter().map(|c| c.name.value.as_str())).map(first_word));
    parameters(tables, &mut renamer, &constants);
    // The count of random numbers is one for all.
    renamer.others.insert(DRAWS.to_owned(), DRAWS.to_owned());
    for key in TABLES {
        let Some(p) = params.get(key) else { continue };
        let Param::Table(entries) = renamer.table(p, &[], &[]).value else { continue };
        let all = tables.tables.entry(key).or_default();
        let known = |all: &[OwnEntry], name: &str| all.iter().any(|(k, _)| k.value == name);
        for (name, value) in entries {
            if name.value != DRAWS || !known(all, DRAWS) {
                all.push((name, value));
            }
        }
    }
    for (key, p) in r.table("residuals") {
        let value = renamer.value(p, &[]);
        let connector = own.iter().find(|c| c.name.value == key.value);
        let Some(connector) = connector else {
            tables.tables.entry("residuals").or_default().push((renamer.located(key), value));
            continue;
        };
        let flow = variable(name, &key.value, &connector.flow);
        let label = format!("the residual `{}` of `{name}`", key.value);
        tables.put(JOINED, Located::new(flow.clone(), key.span.clone()), Param::Text(label));
        let entry = (Located::new(flow, key.span.clone()), value);
        tables.tables.entry("residuals").or_default().push(entry);
    }
    for key in ["event_inputs", "event_outputs", "free"] {
        let text =
            |n: &Located<String>| Located::new(Param::Text(renamer.name(&n.value)), n.span.clone());
        let names: Vec<_> = r.names(key).iter().map(text).collect();
        tables.lists.entry(key).or_default().extend(names);
    }
    for key in ["event", "on"] {
        let list = r.list(params.get(key), key);
        let events = list.iter().enumerate().map(|(k, p)| event(&renamer, key, k, p));
        tables.lists.entry(key).or_default().extend(events.collect::<Vec<_>>());
    }
}

/// All numbers that the formulas of a part know, as parameters.
fn parameters(tables: &mut Tables, renamer: &mut Renamer<'_>, constants: &Names) {
    for known in constants.names() {
        // A variable of the part hides a number around it.
        let Some(Symbol::Const(value)) = constants.lookup(known) else { continue };
        if renamer.own.contains(&first_word(known)) || !value.is_finite() {
            continue;
        }
        let name = Located::new(renamer.name(known), 0..0);
        tables.put("parameters", name, Param::Real(value));
    }
    let words: Vec<String> = constants.names().into_iter().map(first_word).collect();
    renamer.own.extend(words);
}

fn first_word(name: &str) -> String {
    name.split(['.', '[']).next().unwrap_or_default().to_owned()
}

/// An event of a part, or what it does when it hears one.
fn event(renamer: &Renamer<'_>, list: &str, number: usize, p: &Located<Param>) -> Located<Param> {
    let (value, indices) = indexed(&p.value);
    let Param::Table(entries) = value else { return p.clone() };
    let mut all: Vec<OwnEntry> = Vec::with_capacity(entries.len() + 1);
    for (key, value) in entries {
        let value = match key.value.as_str() {
            "reset" | "rest" | "emit" => renamer.table(value, indices, &["within"]),
            "name" | "input" => match &value.value {
                Param::Text(text) => {
                    Located::new(Param::Text(renamer.name(text)), value.span.clone())
                }
                _ => value.clone(),
            },
            "terminate" | "direction" | "touching" | "to" => value.clone(),
            _ => renamer.value(value, indices),
        };
        all.push((key.clone(), value));
    }
    if list == "event" && !all.iter().any(|(key, _)| key.value == "name") {
        let name = renamer.name(&event_name(None, number, &[]));
        let text = Located::new(Param::Text(name), p.span.clone());
        all.push((Located::new("name".to_owned(), p.span.clone()), text));
    }
    let table = Param::Table(all);
    let table = match indices {
        [] => table,
        _ => Param::Indexed(Box::new(table), indices.to_vec()),
    };
    Located::new(table, p.span.clone())
}
