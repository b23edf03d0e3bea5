//! The registered kind `equations`: a continuous unit from text.
//!
//! ```toml
//! [unit.ball]
//! kind = "equations"
//! parameters = { g = 9.81 }
//! states = { x = 10, v = 0 }
//! derivatives = { x = "v", v = "-g" }
//! outputs = { x = "x" }
//! [[unit.ball.event]]
//! name = "bounce"
//! when = "x <= 0 and v < 0"
//! reset = { v = "-0.9*v" }
//! ```
//! Inputs are numbered: signal inputs, hidden inputs (`~inputs`), event inputs, then `~link`;
//! outputs: signal outputs, hidden outputs (`~outputs`), event outputs, then `~link`.
use super::{
    equations::{Dims, EventSpec, LinkEquations, Trigger},
    text::{Reset, TextEquations},
    unit::{Settings, Unit},
};
use crate::{
    expr::{Condition, Expr, ExprError, Names, Program, VarId},
    ode::Options,
    registry::{
        Context, LinkSpec, Located, Param, ParamError, ParamSpec, ParamType, Params, PortKind,
        PortSpec, Ports, Span, UnitKind, ValueType,
    },
    value::Value,
};
use superdense_kernel::Component;

/// The kind `equations`.
#[derive(Debug)]
pub struct EquationsKind;

const fn raw(name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, ty: ParamType::Raw, default: Some(""), doc }
}

const PARAMS: &[ParamSpec] = &[
    raw("parameters", "constants: name = number or expression"),
    raw("inputs", "signal inputs: name = start value"),
    raw("states", "continuous states: name = initial value"),
    raw("discrete", "values that only events change: name = initial value"),
    raw("let", "helper expressions, in order: name = expression"),
    raw("derivatives", "time derivative of each state: state = expression"),
    raw("outputs", "signal outputs: name = expression"),
    raw("event_inputs", "names of event inputs"),
    raw("event_outputs", "names of event outputs"),
    raw("event", "events: name, when | at | every (from), reset, emit"),
    raw("on", "what an event input does: input, reset, emit; `value` is the event's value"),
    ParamSpec {
        name: "method",
        ty: ParamType::Choice(&["rk45"]),
        default: Some("rk45"),
        doc: "how the equations are solved",
    },
    ParamSpec {
        name: "tolerance",
        ty: ParamType::Real(None),
        default: Some("1e-9"),
        doc: "relative tolerance of the solver",
    },
    ParamSpec {
        name: "absolute_tolerance",
        ty: ParamType::Real(None),
        default: Some("1e-9"),
        doc: "absolute tolerance of the solver, in the units of the states",
    },
    ParamSpec {
        name: "exchange_tolerance",
        ty: ParamType::Real(None),
        default: Some("1e-6"),
        doc: "how far an output may leave the segment that receivers hold, in its units",
    },
    ParamSpec {
        name: "max_step",
        ty: ParamType::Real(Some("s")),
        default: Some("1e6"),
        doc: "longest solver step",
    },
    raw("~inputs", "hidden inputs, made for links"),
    raw("~outputs", "hidden outputs, made for links"),
];

type Entry<'a> = (&'a Located<String>, &'a Located<Param>);

/// Collects mistakes; readers return what they could read.
struct Reader<'a> {
    params: &'a Params,
    errors: Vec<ParamError>,
}

impl<'a> Reader<'a> {
    fn table(&mut self, name: &str) -> Vec<Entry<'a>> {
        match self.params.get(name) {
            None => Vec::new(),
            Some(p) => self.entries(p, name),
        }
    }

    fn entries(&mut self, p: &'a Located<Param>, name: &str) -> Vec<Entry<'a>> {
        match &p.value {
            Param::Table(entries) => entries.iter().map(|(k, v)| (k, v)).collect(),
            Param::Text(t) if t.is_empty() => Vec::new(),
            _ => {
                let error = ParamError::at(p.span.clone(), format!("`{name}` must be a table"));
                self.errors.push(error.help(format!("write {name} = {{ name = \"expression\" }}")));
                Vec::new()
            }
        }
    }

    fn list(&mut self, p: Option<&'a Located<Param>>, name: &str) -> Vec<&'a Located<Param>> {
        match p.map(|p| (&p.value, &p.span)) {
            None => Vec::new(),
            Some((Param::List(list), _)) => list.iter().collect(),
            Some((Param::Text(t), _)) if t.is_empty() => Vec::new(),
            Some((_, span)) => {
                self.errors.push(ParamError::at(span.clone(), format!("`{name}` must be a list")));
                Vec::new()
            }
        }
    }

    fn names(&mut self, name: &str) -> Vec<Located<String>> {
        let list = self.list(self.params.get(name), name);
        let mut names = Vec::new();
        for p in list {
            match &p.value {
                Param::Text(t) => names.push(Located::new(t.clone(), p.span.clone())),
                _ => self.errors.push(ParamError::at(p.span.clone(), "a name must be text")),
            }
        }
        names
    }

    /// An expression: a number, or text.
    fn expression(&mut self, p: &Located<Param>, scope: &Names) -> Option<Expr> {
        match &p.value {
            Param::Real(x) if x.is_finite() => Some(Expr::constant(*x)),
            Param::Int(i) => Some(Expr::constant(*i as f64)),
            Param::Bool(b) => Some(Expr::constant(f64::from(u8::from(*b)))),
            Param::Text(text) => match Expr::parse(text, scope) {
                Ok(expr) => Some(expr),
                Err(errors) => {
                    self.expression_errors(&p.span, text, errors);
                    None
                }
            },
            _ => {
                let error = ParamError::at(p.span.clone(), "expected a number or an expression");
                self.errors.push(error);
                None
            }
        }
    }

    /// Mistakes inside a text, under their place in it (after the opening quote).
    fn expression_errors(&mut self, span: &Span, text: &str, errors: Vec<ExprError>) {
        let quoted = span.len().saturating_sub(text.len()) / 2;
        for e in errors {
            let at = e.span();
            let start = (span.start + quoted + at.start as usize).min(span.end);
            let end = (span.start + quoted + at.end as usize).clamp(start, span.end);
            let error = ParamError::at(start..end, e.to_string());
            self.errors.push(match e.help() {
                Some(help) => error.help(help),
                None => error,
            });
        }
    }

    fn constant(&mut self, p: &Located<Param>, scope: &Names) -> f64 {
        let Some(expr) = self.expression(p, scope) else { return 0.0 };
        match expr.as_constant() {
            Some(x) => x,
            None if expr.vars().is_empty() => expr.eval::<f64>(&[]),
            None => {
                let error = ParamError::at(p.span.clone(), "this must be a constant");
                self.errors.push(error.help("use numbers and parameters only"));
                0.0
            }
        }
    }
}

/// Everything that the texts declare.
struct Declared<'a> {
    states: Vec<Entry<'a>>,
    inputs: Vec<Entry<'a>>,
    hidden_inputs: Vec<Entry<'a>>,
    discrete: Vec<Entry<'a>>,
    outputs: Vec<Entry<'a>>,
    hidden_outputs: Vec<Entry<'a>>,
    event_inputs: Vec<Located<String>>,
    event_outputs: Vec<Located<String>>,
}

impl<'a> Declared<'a> {
    fn read(r: &mut Reader<'a>) -> Self {
        Self {
            states: r.table("states"),
            inputs: r.table("inputs"),
            hidden_inputs: r.table("~inputs"),
            discrete: r.table("discrete"),
            outputs: r.table("outputs"),
            hidden_outputs: r.table("~outputs"),
            event_inputs: r.names("event_inputs"),
            event_outputs: r.names("event_outputs"),
        }
    }

    fn dims(&self) -> Dims {
        Dims {
            states: self.states.len(),
            inputs: self.inputs.len() + self.hidden_inputs.len(),
            discrete: self.discrete.len(),
            outputs: self.outputs.len() + self.hidden_outputs.len(),
            event_inputs: self.event_inputs.len(),
            event_outputs: self.event_outputs.len(),
            indicators: 0,
        }
    }

    fn all_inputs(&self) -> impl Iterator<Item = Entry<'a>> + '_ {
        self.inputs.iter().chain(&self.hidden_inputs).copied()
    }
}

impl UnitKind for EquationsKind {
    fn name(&self) -> &'static str {
        "equations"
    }
    fn summary(&self) -> &'static str {
        "continuous unit: differential equations with events, given as text"
    }
    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }
    fn is_continuous(&self) -> bool {
        true
    }
    fn variables(&self, params: &Params) -> Vec<(String, Option<String>)> {
        let mut r = Reader { params, errors: Vec::new() };
        let d = Declared::read(&mut r);
        let carrier = |name: &str| {
            let is = |(_, p): &&Entry<'_>| matches!(&p.value, Param::Text(t) if t.trim() == name);
            d.outputs.iter().find(is).map(|(k, _)| k.value.clone())
        };
        let names = d.states.iter().chain(&d.discrete).chain(&d.inputs);
        names.map(|(k, _)| (k.value.clone(), carrier(&k.value))).collect()
    }
    fn ports(&self, params: &Params) -> Result<Ports, Vec<ParamError>> {
        let mut r = Reader { params, errors: Vec::new() };
        let d = Declared::read(&mut r);
        let signal = |(k, _): &Entry<'_>| PortSpec::signal(k.value.clone()).optional();
        let event =
            |n: &Located<String>| PortSpec::event(n.value.clone(), ValueType::Any).optional();
        let mut ports = Ports::default();
        ports.inputs.extend(d.inputs.iter().chain(&d.hidden_inputs).map(signal));
        ports.inputs.extend(d.event_inputs.iter().map(event));
        ports.outputs.extend(d.outputs.iter().chain(&d.hidden_outputs).map(signal));
        let sent = |n: &Located<String>| PortSpec::event(n.value.clone(), ValueType::Real);
        ports.outputs.extend(d.event_outputs.iter().map(sent));
        debug_assert!(ports.inputs.iter().all(|p| p.optional || p.kind == PortKind::Event));
        if r.errors.is_empty() { Ok(ports) } else { Err(r.errors) }
    }
    fn build(
        &self,
        params: &Params,
        context: &Context<'_>,
    ) -> Result<Component<Value>, Vec<ParamError>> {
        let mut r = Reader { params, errors: Vec::new() };
        let built = compile(&mut r, context);
        match built {
            Some(unit) if r.errors.is_empty() => Ok(Component::atomic(unit)),
            _ => Err(r.errors),
        }
    }
}

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

fn compile(r: &mut Reader<'_>, context: &Context<'_>) -> Option<Unit<TextEquations>> {
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
    let settings = settings(r, context)?;
    match Unit::new(equations, &initial, &inputs, &discrete, settings) {
        Ok(unit) => Some(unit),
        Err(why) => {
            let error = ParamError::whole(format!("at the start {why}"));
            r.errors.push(error.help("check initial values, start values of inputs, parameters"));
            None
        }
    }
}

fn settings(r: &mut Reader<'_>, context: &Context<'_>) -> Option<Settings> {
    let params = r.params;
    for name in ["tolerance", "absolute_tolerance", "exchange_tolerance", "max_step"] {
        let value = params.real(name);
        if value.is_nan() || value <= 0.0 {
            let error = format!("`{name}` must be positive, this is {value}");
            r.errors.push(ParamError::at(params.span(name), error));
        }
    }
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
        solver,
        exchange_tolerance: params.real("exchange_tolerance"),
        sources: context.input_sources.to_vec(),
    })
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
            let known = ["name", "when", "at", "every", "from", "reset", "emit"];
            check_keys(r, &entries, &known);
            let get = |name: &str| entries.iter().find(|(k, _)| k.value == name).map(|(_, p)| *p);
            let name = match get("name").map(|p| &p.value) {
                Some(Param::Text(t)) => t.clone(),
                _ => format!("event{number}"),
            };
            let trigger = match (get("when"), get("at"), get("every")) {
                (Some(when), None, None) => self.condition(r, when, indicators),
                (None, Some(at), None) => instants(r, context, at).map(Trigger::At),
                (None, None, Some(every)) => {
                    let period = ticks(r, context, every);
                    let from = get("from").map_or(period, |p| ticks(r, context, p));
                    if period.is_some_and(|p| p <= 0) {
                        r.errors
                            .push(ParamError::at(every.span.clone(), "a period must be positive"));
                    }
                    period.zip(from).map(|(period, from)| Trigger::Every { from, period })
                }
                _ => {
                    let error = format!("event `{name}` needs exactly one of when, at, every");
                    r.errors.push(ParamError::at(p.span.clone(), error));
                    None
                }
            };
            let reset = self.reset(r, d, &self.scope, get("reset"), get("emit"));
            if let Some(trigger) = trigger {
                events.push(EventSpec { name: name.into(), trigger });
                resets.push(reset);
            }
        }
        (events, resets)
    }

    fn condition(
        &self,
        r: &mut Reader<'_>,
        when: &Located<Param>,
        indicators: &mut Vec<Expr>,
    ) -> Option<Trigger> {
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
        let (indices, strict) = self.conjunction(r, &condition, &when.span, indicators)?;
        Some(Trigger::State { indicators: indices, strict })
    }

    /// Indicators of a conjunction, added to the unit's.
    fn conjunction(
        &self,
        r: &mut Reader<'_>,
        condition: &Condition,
        span: &Span,
        indicators: &mut Vec<Expr>,
    ) -> Option<(Vec<usize>, bool)> {
        let Some(parts) = condition.indicators().filter(|parts| !parts.is_empty()) else {
            let error =
                ParamError::at(span.clone(), "a condition must be comparisons joined by `and`");
            r.errors.push(error.help("write one event for each part of an `or`"));
            return None;
        };
        // A strict part of a mixed conjunction differs from a weak one only on a surface that the
        // solution crosses anyway.
        let strict = parts.iter().all(|p| p.strict);
        let first = indicators.len();
        indicators.extend(parts.iter().map(|p| self.without_helpers(&p.expr)));
        Some(((first..indicators.len()).collect(), strict))
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
        let (indices, strict) = self.conjunction(r, &detect, &l.when.span, indicators)?;
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
            own,
            sender: l.variables.iter().map(|(m, _)| *m).collect(),
            condition,
            targets,
            reset: Program::compile(&values),
        })
    }
}

fn check_keys(r: &mut Reader<'_>, entries: &[Entry<'_>], known: &[&str]) {
    for (key, _) in entries {
        if !known.contains(&key.value.as_str()) {
            let error = format!("unknown key `{}`", key.value);
            let help = format!("keys are: {}", known.join(", "));
            r.errors.push(ParamError::at(key.span.clone(), error).help(help));
        }
    }
}

/// A point in time, in ticks: a number of seconds, or text with seconds as a decimal.
fn ticks(r: &mut Reader<'_>, context: &Context<'_>, p: &Located<Param>) -> Option<i64> {
    let text = match &p.value {
        Param::Real(x) => format!("{x}"),
        Param::Int(i) => i.to_string(),
        Param::Text(t) => t.trim().trim_end_matches('s').trim().to_owned(),
        Param::Duration(d) => return Some(d.ticks()),
        _ => String::new(),
    };
    match context.resolution.parse_ticks(&text) {
        Ok(ticks) => Some(ticks),
        Err(e) => {
            r.errors.push(ParamError::at(p.span.clone(), e.to_string()));
            None
        }
    }
}

fn instants(r: &mut Reader<'_>, context: &Context<'_>, p: &Located<Param>) -> Option<Vec<i64>> {
    let list = match &p.value {
        Param::List(list) => list.iter().collect(),
        _ => vec![p],
    };
    let mut found = Vec::with_capacity(list.len());
    for p in list {
        found.push(ticks(r, context, p)?);
    }
    found.sort_unstable();
    found.dedup();
    if let Some(&first) = found.first()
        && first <= 0
    {
        r.errors.push(ParamError::at(p.span.clone(), "a time event must come after the start"));
    }
    Some(found)
}
