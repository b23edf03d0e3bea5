//! Reads the tables of an automaton.
use super::{Arrow, Automaton, Cause};
use crate::{
    kinds::{
        Context, Located, Param, ParamError, Params, Span,
        params::{Checked, Entries, ticks_of, value_of},
    },
    signal::value::Value,
};

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

/// The state at the start, and the transitions.
pub(super) fn arrows(
    params: &Params,
    names: &Names,
    context: &Context<'_>,
) -> Checked<(u32, Vec<Arrow>)> {
    let mut errors = Vec::new();
    let initial = match params.text("initial") {
        "" => 0,
        wanted => find(&names.states, "state", wanted, &params.span("initial"), &mut errors),
    };
    let mut arrows = Vec::new();
    match params.get("transitions").map(|p| &p.value) {
        Some(Param::List(list)) => {
            for p in list {
                arrows.extend(arrow(p, names, context, &mut errors));
            }
        }
        _ => errors.push(
            ParamError::at(params.span("transitions"), "`transitions` is no list")
                .help("write transitions = [ { from = \"a\", after = \"1 s\", to = \"b\" } ]"),
        ),
    }
    if errors.is_empty() {
        unreached(params, (names, initial.into()), &arrows, &mut errors);
    }
    if errors.is_empty() { Ok((initial.into(), arrows)) } else { Err(errors) }
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

const KEYS: [&str; 6] = ["from", "to", "after", "on", "value", "emit"];

fn arrow(
    p: &Located<Param>,
    names: &Names,
    context: &Context<'_>,
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
    let cause = cause(&t, names, context, errors);
    let emit = emissions(&t, names, errors);
    Some(Arrow { from: from.into(), cause: cause?, to: to.into(), emit: emit.into() })
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
    context: &Context<'_>,
    errors: &mut Vec<ParamError>,
) -> Option<Cause> {
    match (t.get("after"), t.text("on")) {
        (Some(after), None) => match ticks_of(after, context) {
            Ok(ticks) => Some(Cause::After(ticks)),
            Err(e) => {
                errors.push(e);
                None
            }
        },
        (None, Some((name, span))) => {
            let input = find(&names.inputs, "input", name, &span, errors);
            let wanted = t.get("value").and_then(|v| plain(v, errors));
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

fn plain(p: &Located<Param>, errors: &mut Vec<ParamError>) -> Option<Value> {
    let value = value_of(&p.value);
    if value.is_none() {
        let error = ParamError::at(p.span.clone(), "not a plain value");
        errors.push(error.help("give a number, a text, true or false"));
    }
    value
}

fn emissions(t: &Entries<'_>, names: &Names, errors: &mut Vec<ParamError>) -> Vec<(u16, Value)> {
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
            if let Some(value) = plain(p, errors) {
                out.push((Automaton::OWN + port, value));
            }
        }
    } else if let Some(value) = plain(emit, errors) {
        out.push((Automaton::OWN, value));
    }
    out
}
