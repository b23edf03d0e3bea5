//! Compiling the texts of an equation unit.
use super::{
    equations::{Dims, EventSpec, LinkEquations, Rest, Trigger},
    read::{Declared, Entry, Reader, check_keys, instants, ticks},
    settings::Settings,
    start::{Start, under_method},
    text::{Reset, TextEquations},
};
use crate::{
    expr::{Condition, Expr, Names, Program, VarId},
    ode::{Method, Options},
    registry::{Context, LinkSpec, Located, Param, ParamError, Span},
    value::Value,
};
use superdense_kernel::Component;

/// Names known to every expression: the context's constants, looked up as they are used, and the
/// unit's own.
fn constants(r: &mut Reader<'_>, context: &Context<'_>) -> Names {
    let mut scope = Names::new();
    let mut texts: Vec<String> = Vec::new();
    for (_, p) in &r.params.values {
        gather_texts(&p.value, &mut texts);
    }
    for l in context.links {
        texts.push(l.when.value.clone());
        texts.extend(l.reset.iter().map(|(_, e)| e.value.clone()));
    }
    for text in &texts {
        for word in words(text) {
            if let Some(value) = (context.constants)(word) {
                scope.insert(word.to_owned(), crate::expr::Symbol::Const(value));
            }
        }
    }
    for (name, p) in r.table("parameters") {
        let value = r.constant(p, &scope);
        scope.insert(name.value.clone(), crate::expr::Symbol::Const(value));
    }
    scope
}

fn gather_texts(p: &Param, texts: &mut Vec<String>) {
    match p {
        Param::Text(t) => texts.push(t.clone()),
        Param::List(list) => list.iter().for_each(|p| gather_texts(&p.value, texts)),
        Param::Table(entries) => entries.iter().for_each(|(_, p)| gather_texts(&p.value, texts)),
        _ => {}
    }
}

/// Identifiers of a text, dots included.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "_.[]".contains(c)))
        .filter(|w| w.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

pub(super) fn compile(r: &mut Reader<'_>, context: &Context<'_>) -> Option<Component<Value>> {
    let d = Declared::read(r);
    let mut dims = d.dims();
    let constants = constants(r, context);
    let start_of = |r: &mut Reader<'_>, list: &mut dyn Iterator<Item = Entry<'_>>| -> Vec<f64> {
        list.map(|(_, p)| r.constant(p, &constants)).collect()
    };
    let initial = start_of(r, &mut d.states.iter().copied());
    let inputs = start_of(r, &mut d.all_inputs());
    let discrete = start_of(r, &mut d.discrete.iter().copied());

    let mut scope = constants.clone();
    for time in ["t", "time"] {
        scope.insert(time, crate::expr::Symbol::Var(VarId(0)));
    }
    let variables =
        d.states.iter().copied().chain(d.all_inputs()).chain(d.discrete.iter().copied());
    let mut seen: Vec<&str> = vec!["t", "time", "value"];
    for (place, (name, _)) in variables.enumerate() {
        if seen.contains(&name.value.as_str()) {
            let error = format!("`{}` is already a name of this unit", name.value);
            r.errors.push(ParamError::at(name.span.clone(), error).help("choose another name"));
        }
        seen.push(&name.value);
        let id = VarId((Dims::STATES + place) as u32);
        scope.insert(name.value.clone(), crate::expr::Symbol::Var(id));
    }
    let lets = helpers(r, &mut scope, dims);
    let mut texts = Texts { scope, lets, dims };

    let derivatives = texts.derivatives(r, &d);
    let outputs: Vec<Expr> = d
        .outputs
        .iter()
        .chain(&d.hidden_outputs)
        .filter_map(|(_, p)| texts.expression(r, p))
        .collect();
    let mut indicators = Vec::new();
    let (events, resets) = texts.events(r, context, &d, &mut indicators);
    let handlers = texts.handlers(r, &d);
    let links = texts.links(r, context, &mut indicators);
    if !r.errors.is_empty() {
        return None;
    }
    dims.indicators = indicators.len();
    let equations = TextEquations {
        dims,
        events,
        links,
        derivatives: Program::compile(&derivatives),
        outputs: Program::compile(&outputs),
        indicators: Program::compile(&indicators),
        resets,
        handlers,
    };
    let settings = settings(r, context, dims.outputs)?;
    let start = Start { initial: &initial, inputs: &inputs, discrete: &discrete };
    match under_method(r.params, equations, &start, settings) {
        Ok(unit) => Some(unit),
        Err(why) => {
            let error = ParamError::whole(format!("at the start {why}"));
            r.errors.push(error.help("check initial values, start values of inputs, parameters"));
            None
        }
    }
}

fn settings(r: &mut Reader<'_>, context: &Context<'_>, outputs: usize) -> Option<Settings> {
    let params = r.params;
    let positive = ["tolerance", "absolute_tolerance", "exchange_tolerance", "max_step", "dq_min"];
    for name in positive.into_iter().chain(["dq_rel"]) {
        let value = params.real(name);
        if value.is_nan() || value < 0.0 || (value == 0.0 && name != "dq_rel") {
            let error = format!("`{name}` must be positive, this is {value}");
            r.errors.push(ParamError::at(params.span(name), error));
        }
    }
    let method = method(r);
    if !r.errors.is_empty() {
        return None;
    }
    let mut solver =
        Options::tolerance(params.real("tolerance"), params.real("absolute_tolerance"));
    // A step stays well inside the range of ticks.
    let range = i64::MAX as f64 / context.resolution.ticks_per_second() as f64;
    solver.max_step = params.real("max_step").min(range / 16.0);
    Some(Settings {
        resolution: context.resolution,
        start: 0,
        method,
        solver,
        exchange_tolerance: params.real("exchange_tolerance"),
        segment_order: params.get("segment_order").map_or(3, |_| params.int("segment_order"))
            as usize,
        sources: context.input_sources.to_vec(),
        connected: context.output_connected.iter().copied().take(outputs).collect(),
    })
}

/// The method with its order and its step.
fn method(r: &mut Reader<'_>) -> Method {
    let params = r.params;
    let given = params.get("step").is_some_and(|p| p.value != Param::Text(String::new()));
    let step = given.then(|| params.real("step"));
    if step.is_some_and(|h| h.is_nan() || h <= 0.0) {
        r.errors.push(ParamError::at(params.span("step"), "`step` must be positive"));
    }
    let order = params.get("order").map_or(12, |_| params.int("order"));
    let fixed = |r: &mut Reader<'_>, name: &str| {
        if step.is_none() {
            let error = ParamError::at(params.span("method"), format!("`{name}` needs a `step`"));
            r.errors.push(error.help("add a fixed step such as step = \"1 ms\""));
        }
        step.unwrap_or(1.0)
    };
    match params.text("method") {
        "rk23" => Method::Rk23,
        "rk4" => Method::Rk4(fixed(r, "rk4")),
        "euler" => Method::Euler(fixed(r, "euler")),
        "taylor" => Method::Taylor(order.clamp(0, 99) as usize, step),
        "closed" => Method::Closed,
        _ => Method::Rk45,
    }
}

/// `let` expressions, each in terms of variables alone.
fn helpers(r: &mut Reader<'_>, scope: &mut Names, dims: Dims) -> Vec<(VarId, Expr)> {
    let mut lets: Vec<(VarId, Expr)> = Vec::new();
    for (name, p) in r.table("let") {
        if let Some(expr) = r.expression(p, scope) {
            let by: Vec<(VarId, &Expr)> = lets.iter().map(|(v, e)| (*v, e)).collect();
            let expr = expr.substitute(&by);
            let id = VarId((dims.variables() + lets.len()) as u32);
            scope.insert(name.value.clone(), crate::expr::Symbol::Var(id));
            lets.push((id, expr));
        }
    }
    lets
}

/// Compiles texts in the unit's scope.
struct Texts {
    scope: Names,
    lets: Vec<(VarId, Expr)>,
    dims: Dims,
}

impl Texts {
    fn expression(&self, r: &mut Reader<'_>, p: &Located<Param>) -> Option<Expr> {
        Some(self.without_helpers(&r.expression(p, &self.scope)?))
    }

    fn without_helpers(&self, expr: &Expr) -> Expr {
        let by: Vec<(VarId, &Expr)> = self.lets.iter().map(|(v, e)| (*v, e)).collect();
        expr.substitute(&by)
    }

    fn derivatives(&self, r: &mut Reader<'_>, d: &Declared<'_>) -> Vec<Expr> {
        let given = r.table("derivatives");
        for (name, _) in &given {
            if !d.states.iter().any(|(s, _)| s.value == name.value) {
                let error = format!("`{}` is not a state", name.value);
                let known: Vec<&str> = d.states.iter().map(|(s, _)| s.value.as_str()).collect();
                let help = format!("states are: {}", known.join(", "));
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
            }
        }
        let mut expressions = Vec::new();
        for (state, _) in &d.states {
            match given.iter().find(|(n, _)| n.value == state.value) {
                Some((_, p)) => expressions.extend(self.expression(r, p)),
                None => {
                    let error = format!("state `{}` has no derivative", state.value);
                    let help = format!("add derivatives.{} = \"…\"", state.value);
                    r.errors.push(ParamError::at(state.span.clone(), error).help(help));
                }
            }
        }
        expressions
    }

    /// States and discrete values can be assigned.
    fn target(
        &self,
        r: &mut Reader<'_>,
        d: &Declared<'_>,
        name: &Located<String>,
    ) -> Option<usize> {
        let place = |list: &[Entry<'_>]| list.iter().position(|(k, _)| k.value == name.value);
        if let Some(at) = place(&d.states) {
            return Some(Dims::STATES + at);
        }
        if let Some(at) = place(&d.discrete) {
            return Some(self.dims.first_discrete() + at);
        }
        let error = format!("`{}` is neither a state nor a discrete value", name.value);
        r.errors.push(
            ParamError::at(name.span.clone(), error).help("declare it in `states` or `discrete`"),
        );
        None
    }

    fn reset(
        &self,
        r: &mut Reader<'_>,
        d: &Declared<'_>,
        scope: &Names,
        reset: Option<&Located<Param>>,
        emit: Option<&Located<Param>>,
    ) -> Reset {
        let (mut targets, mut emits, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let entries = |p: Option<&Located<Param>>| match p.map(|p| &p.value) {
            Some(Param::Table(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        for (name, p) in entries(reset) {
            let target = self.target(r, d, &name);
            if let (Some(target), Some(expr)) = (target, r.expression(&p, scope)) {
                targets.push(target);
                values.push(self.without_helpers(&expr));
            }
        }
        for (name, p) in entries(emit) {
            let port = d.event_outputs.iter().position(|n| n.value == name.value);
            if port.is_none() {
                let error = format!("`{}` is not an event output", name.value);
                let help = "declare it in `event_outputs`";
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
            }
            if let (Some(port), Some(expr)) = (port, r.expression(&p, scope)) {
                emits.push(port as u16);
                values.push(self.without_helpers(&expr));
            }
        }
        Reset { targets, emits, program: Program::compile(&values) }
    }

    fn events(
        &mut self,
        r: &mut Reader<'_>,
        context: &Context<'_>,
        d: &Declared<'_>,
        indicators: &mut Vec<Expr>,
    ) -> (Vec<EventSpec>, Vec<Reset>) {
        let (mut events, mut resets) = (Vec::new(), Vec::new());
        for (number, p) in r.list(r.params.get("event"), "event").into_iter().enumerate() {
            let entries = r.entries(p, "event");
            let known = ["name", "when", "at", "every", "from", "reset", "emit", "rest"];
            check_keys(r, &entries, &known);
            let get = |name: &str| entries.iter().find(|(k, _)| k.value == name).map(|(_, p)| *p);
            let name = match get("name").map(|p| &p.value) {
                Some(Param::Text(t)) => t.clone(),
                _ => format!("event{number}"),
            };
            let trigger = match (get("when"), get("at"), get("every")) {
                (Some(when), None, None) => self.condition(r, when, indicators),
                (None, Some(at), None) => {
                    instants(r, context, at).map(|at| (Trigger::At(at), Vec::new()))
                }
                (None, None, Some(every)) => {
                    let period = ticks(r, context, every);
                    let from = get("from").map_or(period, |p| ticks(r, context, p));
                    if period.is_some_and(|p| p <= 0) {
                        r.errors
                            .push(ParamError::at(every.span.clone(), "a period must be positive"));
                    }
                    let every = |(period, from)| (Trigger::Every { from, period }, Vec::new());
                    period.zip(from).map(every)
                }
                _ => {
                    let error = format!("event `{name}` needs exactly one of when, at, every");
                    r.errors.push(ParamError::at(p.span.clone(), error));
                    None
                }
            };
            let reset = self.reset(r, d, &self.scope, get("reset"), get("emit"));
            if let Some((trigger, strictly)) = trigger {
                let rest = get("rest").and_then(|p| self.rest(r, d, p));
                events.push(EventSpec { strictly, rest, ..EventSpec::new(name, trigger) });
                resets.push(reset);
            }
        }
        (events, resets)
    }

    /// `rest = { within = 1e-9, x = 0, v = 0 }`.
    fn rest(&self, r: &mut Reader<'_>, d: &Declared<'_>, p: &Located<Param>) -> Option<Rest> {
        let (mut within, mut values) = (None, Vec::new());
        let Param::Table(entries) = &p.value else {
            let error = ParamError::at(p.span.clone(), "`rest` must be a table");
            r.errors.push(error.help("write rest = { within = \"1 ns\", v = 0 }"));
            return None;
        };
        for (name, p) in entries {
            let value = r.constant(p, &self.scope);
            if name.value == "within" {
                within = Some(value).filter(|w| *w > 0.0);
            } else if let Some(target) = self.target(r, d, name) {
                values.push((target, value));
            }
        }
        if within.is_none() {
            let error = ParamError::at(p.span.clone(), "`rest` needs a positive `within`");
            r.errors.push(error.help("the time between two events below which the unit rests"));
        }
        Some(Rest { within: within?, values })
    }

    fn condition(
        &self,
        r: &mut Reader<'_>,
        when: &Located<Param>,
        indicators: &mut Vec<Expr>,
    ) -> Option<(Trigger, Vec<usize>)> {
        let Param::Text(text) = &when.value else {
            r.errors.push(ParamError::at(when.span.clone(), "`when` must be a condition in text"));
            return None;
        };
        let condition = match Condition::parse(text, &self.scope) {
            Ok(condition) => condition,
            Err(errors) => {
                r.expression_errors(&when.span, text, errors);
                return None;
            }
        };
        let (indices, strict, strictly) =
            self.conjunction(r, &condition, &when.span, indicators)?;
        Some((Trigger::State { indicators: indices, strict, touching: None }, strictly))
    }

    /// Indicators of a conjunction, added to the unit's.
    fn conjunction(
        &self,
        r: &mut Reader<'_>,
        condition: &Condition,
        span: &Span,
        indicators: &mut Vec<Expr>,
    ) -> Option<(Vec<usize>, bool, Vec<usize>)> {
        let Some(parts) = condition.indicators().filter(|parts| !parts.is_empty()) else {
            let error =
                ParamError::at(span.clone(), "a condition must be comparisons joined by `and`");
            r.errors.push(error.help("write one event for each part of an `or`"));
            return None;
        };
        let strict = parts.iter().all(|p| p.strict);
        let first = indicators.len();
        indicators.extend(parts.iter().map(|p| self.without_helpers(&p.expr)));
        // A weak part may stay on its surface, where a strict one has to wait.
        let strictly = (first..).zip(&parts).filter(|(_, p)| p.strict).map(|(k, _)| k).collect();
        Some(((first..indicators.len()).collect(), strict, strictly))
    }

    fn handlers(&self, r: &mut Reader<'_>, d: &Declared<'_>) -> Vec<(usize, Reset)> {
        let mut scope = self.scope.clone();
        scope.insert("value", crate::expr::Symbol::Var(VarId(self.dims.received() as u32)));
        let mut handlers = Vec::new();
        for p in r.list(r.params.get("on"), "on") {
            let entries = r.entries(p, "on");
            check_keys(r, &entries, &["input", "reset", "emit"]);
            let get = |name: &str| entries.iter().find(|(k, _)| k.value == name).map(|(_, p)| *p);
            let port = match get("input").map(|p| &p.value) {
                Some(Param::Text(t)) => d.event_inputs.iter().position(|n| n.value == *t),
                _ => None,
            };
            let reset = self.reset(r, d, &scope, get("reset"), get("emit"));
            match port {
                Some(port) => handlers.push((port, reset)),
                None => {
                    let span = get("input").map_or(&p.span, |p| &p.span);
                    let error = ParamError::at(span.clone(), "`input` must name an event input");
                    r.errors.push(error.help("declare it in `event_inputs`"));
                }
            }
        }
        handlers
    }

    fn links(
        &self,
        r: &mut Reader<'_>,
        context: &Context<'_>,
        indicators: &mut Vec<Expr>,
    ) -> Vec<LinkEquations> {
        context.links.iter().filter_map(|l| self.link(r, l, indicators)).collect()
    }

    fn link(
        &self,
        r: &mut Reader<'_>,
        l: &LinkSpec,
        indicators: &mut Vec<Expr>,
    ) -> Option<LinkEquations> {
        // Known between exchanges: own variables, and inputs for those of others.
        let (mut known, mut exchanged) = (self.scope.clone(), self.scope.clone());
        let mut own = Vec::new();
        for (place, (member, variable)) in l.variables.iter().enumerate() {
            let full = format!("{}.{variable}", l.members[*member as usize]);
            let mine =
                if *member == l.member { Some(variable) } else { l.known_by[place].as_ref() };
            let symbol = mine.and_then(|name| crate::expr::Scope::lookup(&self.scope, name));
            let Some(crate::expr::Symbol::Var(var)) = symbol else {
                let error = format!("link `{}` uses `{full}`, which is not known here", l.name);
                r.errors.push(ParamError::at(l.when.span.clone(), error));
                return None;
            };
            if *member == l.member {
                own.push((place, var.0 as usize));
            }
            known.insert(full.clone(), crate::expr::Symbol::Var(var));
            exchanged.insert(full, crate::expr::Symbol::Var(VarId(place as u32)));
        }
        let parse = |r: &mut Reader<'_>, scope: &Names| match Condition::parse(&l.when.value, scope)
        {
            Ok(condition) => Some(condition),
            Err(errors) => {
                r.expression_errors(&l.when.span, &l.when.value, errors);
                None
            }
        };
        let (detect, condition) = (parse(r, &known)?, parse(r, &exchanged)?);
        let (indices, strict, strictly) = self.conjunction(r, &detect, &l.when.span, indicators)?;
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for (name, expr) in &l.reset {
            let target = crate::expr::Scope::lookup(&self.scope, &name.value);
            let Some(crate::expr::Symbol::Var(var)) = target else {
                let error = format!("`{}` is not a state of this unit", name.value);
                r.errors.push(ParamError::at(name.span.clone(), error));
                continue;
            };
            let text = Located::new(Param::Text(expr.value.clone()), expr.span.clone());
            if let Some(expr) = r.expression(&text, &exchanged) {
                targets.push(var.0 as usize);
                values.push(expr);
            }
        }
        Some(LinkEquations {
            link: l.link,
            name: l.name.as_str().into(),
            member: l.member,
            members: l.members.len() as u32,
            priority: l.priority,
            indicators: indices,
            strict,
            strictly,
            own,
            sender: l.variables.iter().map(|(m, _)| *m).collect(),
            condition,
            targets,
            reset: Program::compile(&values),
        })
    }
}
