//! Reads the tables of an automaton.
use super::{
    Arrow, Automaton, Cause,
    formula::{Drawing, FIRST, Formula, Guard, TIME, VALUE, Variables},
};
use crate::{
    kinds::{
        Context, Located, Param, ParamError, Params, Span,
        params::{Checked, Entries, clash, ticks_of, value_of},
    },
    maths::{
        expr::{Condition, Expr, ExprError, Names as Scope, Symbol, VarId},
        quantity::Quantity,
    },
    signal::value::Value,
};
use std::cell::Cell;

pub(super) struct Names {
    pub states: Vec<String>,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

fn list(params: &Params, name: &str, errors: &mut Vec<ParamError>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let help = format!("write {name} = [\"a\", \"b\"]");
    match params.get(name).map(|p| &p.value) {
        Some(Param::List(list)) => {
            for p in list {
                match &p.value {
                    Param::Text(t) if names.contains(t) => errors.push(
                        ParamError::at(p.span.clone(), format!("`{t}` is listed twice"))
                            .help("use each name once"),
                    ),
                    Param::Text(t) => names.push(t.clone()),
                    _ => errors.push(ParamError::at(p.span.clone(), "not a name").help(&help)),
                }
            }
        }
        None => {}
        Some(Param::Text(t)) if t.is_empty() => {}
        Some(_) => {
            let message = format!("`{name}` is no list of names");
            errors.push(ParamError::at(params.span(name), message).help(help));
        }
    }
    names
}

/// States and ports.
pub(super) fn names(params: &Params) -> Checked<Names> {
    let mut errors = Vec::new();
    let states = list(params, "states", &mut errors);
    let inputs = list(params, "inputs", &mut errors);
    let outputs = list(params, "outputs", &mut errors);
    if states.is_empty() && errors.is_empty() {
        let error = ParamError::at(params.span("states"), "an automaton needs a state");
        errors.push(error.help("write states = [\"a\", \"b\"]"));
    }
    for own in ["state", "number"] {
        if outputs.iter().any(|o| o == own) {
            let message = format!("every automaton has an output `{own}` of its own");
            errors.push(ParamError::at(params.span("outputs"), message).help("rename yours"));
        }
    }
    if errors.is_empty() { Ok(Names { states, inputs, outputs }) } else { Err(errors) }
}

fn find(
    names: &[String],
    what: &str,
    name: &str,
    span: &Span,
    errors: &mut Vec<ParamError>,
) -> u16 {
    match names.iter().position(|n| n == name) {
        Some(k) => k as u16,
        None => {
            let known = names.join(", ");
            let help = if known.is_empty() {
                format!("the unit has no {what}s; list them in {what}s = […]")
            } else {
                format!("the {what}s are {known}")
            };
            errors.push(ParamError::at(span.clone(), format!("no {what} `{name}`")).help(help));
            0
        }
    }
}

/// The variables with their values at the start.
pub(super) fn variables(params: &Params, context: &Context<'_>) -> Checked<Variables> {
    let mut names = Scope::new().with(context.functions);
    for (name, k) in [("t", TIME), ("value", VALUE)] {
        names.insert(name, Symbol::Var(VarId(k as u32)));
    }
    let (mut start, mut errors) = (Vec::new(), Vec::new());
    let entries = match params.get("variables").map(|p| &p.value) {
        Some(Param::Table(entries)) => &entries[..],
        None => &[],
        Some(Param::Text(t)) if t.is_empty() => &[],
        Some(_) => {
            let error = ParamError::at(params.span("variables"), "`variables` is no table");
            errors.push(error.help("write variables = { n = 0 }"));
            &[]
        }
    };
    for (name, p) in entries {
        let constants = |name: &str| (context.constants)(name).map(Symbol::Const);
        let value = match &p.value {
            Param::Text(t) => match (Quantity::parse(t), Expr::parse(t, &constants)) {
                (Ok(Some(q)), _) => Some(q.si()),
                (_, Ok(expr)) => Some(expr.eval(&[])),
                (_, Err(wrong)) => {
                    told(&p.span, wrong, &mut errors);
                    continue;
                }
            },
            other => value_of(other).and_then(|v| v.as_real()),
        };
        if value.is_none_or(|x| !x.is_finite())
            || crate::maths::expr::built_in(&name.value).is_some()
        {
            let error = ParamError::at(name.span.clone(), "this is no variable with a number");
            errors.push(error.help("give a name that is no function, and a number: n = 0"));
        }
        start.push(value.unwrap_or(0.0));
        let place = VarId((FIRST + start.len() - 1) as u32);
        if names.insert(name.value.clone(), Symbol::Var(place)).is_some() {
            let error =
                ParamError::at(name.span.clone(), format!("`{}` is given twice", name.value));
            errors.push(error.help("use each name once"));
        }
    }
    if errors.is_empty() { Ok(Variables { names, start }) } else { Err(errors) }
}

const DRAWS: &str = "random numbers are drawn by `set` and `after`: set a variable, and read that";

/// Mistakes of a formula.
fn told(span: &Span, wrong: Vec<ExprError>, errors: &mut Vec<ParamError>) {
    for e in wrong {
        let help = match e {
            ExprError::NoDraw { .. } => Some(DRAWS.to_owned()),
            ref e => e.help(),
        };
        let help =
            help.unwrap_or_else(|| "formulas know variables, parameters, `t` and `value`".into());
        errors.push(ParamError::at(span.clone(), e.to_string()).help(help));
    }
}

/// Reads formulas of transitions.
struct Formulas<'a> {
    variables: &'a Variables,
    context: &'a Context<'a>,
}

impl Formulas<'_> {
    /// The names of a text, with the parameters that it uses.
    fn names(&self, text: &str) -> Scope {
        let mut names = self.variables.names.clone();
        let word = |c: char| !(c.is_alphanumeric() || "_.[]".contains(c));
        for name in text.split(word).filter(|name| !name.is_empty()) {
            if let Some(value) = (self.context.constants)(name)
                && crate::maths::expr::Scope::lookup(&names, name).is_none()
            {
                names.insert(name, Symbol::Const(value));
            }
        }
        names
    }

    fn formula(
        &self,
        p: &Located<Param>,
        draws: bool,
        errors: &mut Vec<ParamError>,
    ) -> Option<Formula> {
        let text = match &p.value {
            Param::Text(t) => t.clone(),
            Param::Int(i) => i.to_string(),
            Param::Real(x) => format!("{x:?}"),
            _ => {
                let error = ParamError::at(p.span.clone(), "not a formula");
                errors.push(error.help("write a number or such as \"n + 1\""));
                return None;
            }
        };
        let names = self.names(&text);
        let first = FIRST + self.variables.start.len();
        let drawing = Drawing { names: &names, first, draws: Cell::new(0) };
        let parsed = match draws {
            true => Expr::parse(&text, &drawing),
            false => Expr::parse(&text, &names),
        };
        match parsed {
            Ok(expr) => Some(Formula { expr, draws: drawing.draws.get() }),
            Err(wrong) => {
                told(&p.span, wrong, errors);
                None
            }
        }
    }

    /// `if = "n < 3"`.
    fn guard(&self, t: &Entries<'_>, errors: &mut Vec<ParamError>) -> Option<Guard> {
        let p = t.get("if")?;
        let Param::Text(text) = &p.value else {
            let error = ParamError::at(p.span.clone(), "`if` is no condition");
            errors.push(error.help("write such as if = \"n < 3\""));
            return None;
        };
        match Condition::parse(text, &self.names(text)) {
            Ok(condition) => Some(Guard(condition)),
            Err(wrong) => {
                told(&p.span, wrong, errors);
                None
            }
        }
    }

    /// New values of variables.
    fn set(&self, t: &Entries<'_>, errors: &mut Vec<ParamError>) -> Vec<(usize, Formula)> {
        let mut found = Vec::new();
        for (name, p) in table(t, "set", errors) {
            let known = crate::maths::expr::Scope::lookup(&self.variables.names, &name.value);
            let place = match known {
                Some(Symbol::Var(VarId(k))) if k as usize >= FIRST => k as usize,
                _ => {
                    let error = format!("`{}` is no variable", name.value);
                    let help = "declare it: variables = { n = 0 }";
                    errors.push(ParamError::at(name.span.clone(), error).help(help));
                    continue;
                }
            };
            found.extend(self.formula(p, true, errors).map(|formula| (place, formula)));
        }
        found
    }

    /// Numbers for outputs.
    fn send(
        &self,
        t: &Entries<'_>,
        names: &Names,
        errors: &mut Vec<ParamError>,
    ) -> Vec<(u16, Formula)> {
        let mut found = Vec::new();
        for (name, p) in table(t, "send", errors) {
            let port = find(&names.outputs, "output", &name.value, &name.span, errors);
            let formula = self.formula(p, false, errors);
            found.extend(formula.map(|formula| (Automaton::OWN + port, formula)));
        }
        found
    }
}

type Entry<'a> = (&'a Located<String>, &'a Located<Param>);

/// The entries of a table in a transition.
fn table<'a>(t: &Entries<'a>, key: &str, errors: &mut Vec<ParamError>) -> Vec<Entry<'a>> {
    match t.get(key).map(|p| (&p.value, &p.span)) {
        None => Vec::new(),
        Some((Param::Table(entries), _)) => entries.iter().map(|(k, p)| (k, p)).collect(),
        Some((_, span)) => {
            let error = ParamError::at(span.clone(), format!("`{key}` is no table"));
            errors.push(error.help(format!("write {key} = {{ name = \"formula\" }}")));
            Vec::new()
        }
    }
}

/// The state at the start, and the transitions.
pub(super) fn arrows(
    params: &Params,
    names: &Names,
    context: &Context<'_>,
) -> Checked<(u32, Vec<Arrow>)> {
    let variables = variables(params, context)?;
    let formulas = Formulas { variables: &variables, context };
    let mut errors = Vec::new();
    let initial = match params.text("initial") {
        "" => 0,
        wanted => find(&names.states, "state", wanted, &params.span("initial"), &mut errors),
    };
    let mut arrows = Vec::new();
    match params.get("transitions").map(|p| &p.value) {
        Some(Param::List(list)) => {
            for p in list {
                arrows.extend(arrow(p, names, &formulas, &mut errors));
            }
        }
        _ => errors.push(
            ParamError::at(params.span("transitions"), "`transitions` is no list")
                .help("write transitions = [ { from = \"a\", after = \"1 s\", to = \"b\" } ]"),
        ),
    }
    clashes(params, names, context, &mut errors);
    if errors.is_empty() {
        unreached(params, (names, initial.into()), &arrows, &mut errors);
    }
    if errors.is_empty() { Ok((initial.into(), arrows)) } else { Err(errors) }
}

/// Refuses names of parameters beside words at one input or output, and names of states that are sent.
fn clashes(params: &Params, names: &Names, context: &Context<'_>, errors: &mut Vec<ParamError>) {
    if context.is_heard(0) {
        let span = params.span("states");
        errors.extend(names.states.iter().filter_map(|name| clash(name, &span, context)));
    }
    let mut said: Vec<(bool, &str, &Located<Param>)> = Vec::new();
    let Some(Param::List(list)) = params.get("transitions").map(|p| &p.value) else { return };
    for transition in list {
        let Some(t) = Entries::new(transition, &KEYS, &mut Vec::new()) else { continue };
        if let (Some((input, _)), Some(value)) = (t.text("on"), t.get("value")) {
            said.push((true, input, value));
        }
        match (t.get("emit").map(|p| (p, &p.value)), names.outputs.first()) {
            (Some((_, Param::Table(entries))), _) => {
                said.extend(entries.iter().map(|(name, p)| (false, &*name.value, p)));
            }
            (Some((p, _)), Some(first)) => said.push((false, first, p)),
            _ => {}
        }
    }
    let word = |p: &Param| matches!(p, Param::Text(t) if (context.constants)(t.trim()).is_none());
    for (input, port, p) in &said {
        let beside = said.iter().any(|(i, other, p)| (i, other) == (input, port) && word(&p.value));
        if let Param::Text(name) = &p.value
            && beside
        {
            errors.extend(clash(name, &p.span, context));
        }
    }
}

/// Refuses states to which no sequence of transitions leads.
fn unreached(
    params: &Params,
    (names, initial): (&Names, u32),
    arrows: &[Arrow],
    errors: &mut Vec<ParamError>,
) {
    let mut reached = vec![false; names.states.len()];
    let mut open = vec![initial];
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut reached[state as usize], true) {
            open.extend(arrows.iter().filter(|a| a.from.contains(&state)).map(|a| a.to));
        }
    }
    for (name, _) in names.states.iter().zip(reached).filter(|(_, reached)| !reached) {
        let what = format!("no transitions lead to the state `{name}`");
        let error = ParamError::at(params.span("states"), what);
        errors.push(error.help("add one that does, or remove the state and what begins there"));
    }
}

const KEYS: [&str; 9] = ["from", "to", "after", "on", "value", "if", "emit", "send", "set"];

fn arrow(
    p: &Located<Param>,
    names: &Names,
    formulas: &Formulas<'_>,
    errors: &mut Vec<ParamError>,
) -> Option<Arrow> {
    let t = Entries::new(p, &KEYS, errors)?;
    let from = origins(&t, names, errors);
    let to = match t.text("to") {
        Some((name, span)) => find(&names.states, "state", name, &span, errors),
        None => {
            errors.push(missing(&t, "to"));
            0
        }
    };
    let cause = cause(&t, names, formulas, errors);
    let emit = emissions(&t, names, formulas.context, errors);
    let guard = formulas.guard(&t, errors);
    let (send, set) = (formulas.send(&t, names, errors), formulas.set(&t, errors));
    Some(Arrow {
        from: from.into(),
        cause: cause?,
        to: to.into(),
        emit: emit.into(),
        guard,
        send: send.into(),
        set: set.into(),
    })
}

fn missing(t: &Entries<'_>, key: &str) -> ParamError {
    ParamError::at(t.span.clone(), format!("a transition needs `{key}`"))
        .help(format!("add {key} = a state"))
}

fn origins(t: &Entries<'_>, names: &Names, errors: &mut Vec<ParamError>) -> Vec<u32> {
    let states = &names.states;
    match t.get("from") {
        Some(Located { value: Param::Text(s), .. }) if s == "*" => {
            (0..states.len() as u32).collect()
        }
        Some(Located { value: Param::Text(s), span }) => {
            vec![find(states, "state", s, span, errors).into()]
        }
        Some(Located { value: Param::List(list), .. }) => {
            let mut from = Vec::new();
            for p in list {
                if let Param::Text(s) = &p.value {
                    from.push(find(states, "state", s, &p.span, errors).into());
                } else {
                    errors.push(
                        ParamError::at(p.span.clone(), "not the name of a state")
                            .help(format!("the states are {}", states.join(", "))),
                    );
                }
            }
            from
        }
        _ => {
            errors.push(missing(t, "from"));
            Vec::new()
        }
    }
}

fn cause(
    t: &Entries<'_>,
    names: &Names,
    formulas: &Formulas<'_>,
    errors: &mut Vec<ParamError>,
) -> Option<Cause> {
    match (t.get("after"), t.text("on")) {
        (Some(after), None) => match (ticks_of(after, formulas.context), &after.value) {
            (Ok(ticks), _) => Some(Cause::After(ticks)),
            (Err(_), Param::Text(text)) if matches!(Quantity::parse(text), Ok(None)) => {
                formulas.formula(after, true, errors).map(Cause::Computed)
            }
            (Err(e), _) => {
                errors.push(e);
                None
            }
        },
        (None, Some((name, span))) => {
            let input = find(&names.inputs, "input", name, &span, errors);
            let wanted = t.get("value").and_then(|v| plain(v, formulas.context, errors));
            Some(Cause::On(input, wanted))
        }
        _ => {
            let message = "a transition needs either `after` or `on`";
            let help = "add after = \"5 s\" or on = \"input\"";
            errors.push(ParamError::at(t.span.clone(), message).help(help));
            None
        }
    }
}

/// A plain value; the name of a parameter is its number.
fn plain(p: &Located<Param>, context: &Context<'_>, errors: &mut Vec<ParamError>) -> Option<Value> {
    let number = match &p.value {
        Param::Text(name) => (context.constants)(name.trim()).map(Value::Real),
        _ => None,
    };
    let value = number.or_else(|| value_of(&p.value));
    if value.is_none() {
        let error = ParamError::at(p.span.clone(), "not a plain value");
        errors.push(error.help("give a number, a text, true or false"));
    }
    value
}

fn emissions(
    t: &Entries<'_>,
    names: &Names,
    context: &Context<'_>,
    errors: &mut Vec<ParamError>,
) -> Vec<(u16, Value)> {
    let Some(emit) = t.get("emit") else { return Vec::new() };
    if names.outputs.is_empty() {
        let error =
            ParamError::at(emit.span.clone(), "nothing to emit on: the unit has no outputs");
        errors.push(error.help("add outputs = [\"y\"]"));
        return Vec::new();
    }
    let mut out = Vec::new();
    if let Param::Table(entries) = &emit.value {
        for (name, p) in entries {
            let port = find(&names.outputs, "output", &name.value, &name.span, errors);
            if let Some(value) = plain(p, context, errors) {
                out.push((Automaton::OWN + port, value));
            }
        }
    } else if let Some(value) = plain(emit, context, errors) {
        out.push((Automaton::OWN, value));
    }
    out
}
