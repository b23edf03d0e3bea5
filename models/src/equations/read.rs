//! Reading the tables and texts of an equation unit; mistakes are collected, never only the first.
use super::{elaborate::indexed, joined::Joined};
use crate::{
    kinds::{Context, Located, Param, ParamError, Params, Seconds, Span},
    maths::{
        expr::{self, Ast, Condition, Expr, ExprError, Indexed, Names, Scope, Symbol},
        quantity::{Quantity, QuantityError, fraction},
    },
};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};
use superdense_kernel::time::RationalClock;

pub(super) type Entry<'a> = (&'a Located<String>, &'a Located<Param>);

/// Collects mistakes; readers return what they could read.
pub(super) struct Reader<'a> {
    pub params: &'a Params,
    pub errors: Vec<ParamError>,
    /// Indices of the event that is being read.
    pub indices: Vec<(String, i64)>,
    /// Texts, parsed before their names are looked up: elements of an array share one.
    parsed: HashMap<String, Rc<Parsed>>,
    /// Texts of arrays that are wrong, by their place: one element's mistakes are enough.
    told: HashSet<Span>,
    /// Operations of all long formulas so far.
    long: usize,
    /// How many formulas each text stands for; once there is a long one.
    copies: Option<HashMap<Span, usize>>,
}

/// Most operations of all long formulas of a unit together: sums over many in each of many.
const MAX_LONG: usize = 1_000_000;
/// Formulas up to so many operations do not count; their number is limited by that of elements.
pub(super) const SHORT: usize = 64;

/// Counts texts by their places.
fn count(p: &Located<Param>, copies: &mut HashMap<Span, usize>) {
    match indexed(&p.value).0 {
        Param::Text(_) => *copies.entry(p.span.clone()).or_default() += 1,
        Param::Table(entries) => entries.iter().for_each(|(_, p)| count(p, copies)),
        Param::List(list) => list.iter().for_each(|p| count(p, copies)),
        _ => {}
    }
}

enum Parsed {
    Constant(f64),
    Formula(Ast),
}

/// Names known before the run: the unit's own constants, then those of its surroundings.
pub(super) fn constant_scope<'a>(
    own: &'a Names,
    constants: &'a dyn Fn(&str) -> Option<f64>,
) -> impl Fn(&str) -> Option<Symbol> + 'a {
    |name| {
        crate::maths::expr::Scope::lookup(own, name).or_else(|| constants(name).map(Symbol::Const))
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(params: &'a Params) -> Self {
        let (parsed, told) = (HashMap::new(), HashSet::new());
        Self {
            params,
            errors: Vec::new(),
            indices: Vec::new(),
            parsed,
            told,
            long: 0,
            copies: None,
        }
    }

    /// Whether a formula of so many operations, written out, still fits in, with all others that its
    /// text stands for; if not, that is told once, and no later one does.
    pub(super) fn fits(&mut self, span: &Span, operations: usize) -> bool {
        if operations <= SHORT {
            return true;
        }
        let params = self.params;
        let copies = self.copies.get_or_insert_with(|| {
            let mut copies = HashMap::new();
            params.values.iter().for_each(|(_, p)| count(p, &mut copies));
            copies
        });
        // The first one counts for all of them.
        let copies = copies.insert(span.clone(), 0).unwrap_or(1);
        self.add(span, operations, copies)
    }

    /// Counts the operations that the helpers of one formula add to it.
    pub(super) fn add(&mut self, span: &Span, operations: usize, copies: usize) -> bool {
        let before = self.long;
        self.long = before.saturating_add(operations.saturating_mul(copies));
        if self.long > MAX_LONG && before <= MAX_LONG {
            let error = format!(
                "written out, the formulas of this unit have more than {MAX_LONG} operations: this \
                 one {operations}, times {copies}"
            );
            let help = "choose smaller ranges, or form a sum that many formulas need in a unit of \
                        its own and connect it as an input";
            self.errors.push(ParamError::at(span.clone(), error).help(help));
        }
        self.long <= MAX_LONG
    }

    pub(super) fn table(&mut self, name: &str) -> Vec<Entry<'a>> {
        match self.params.get(name) {
            None => Vec::new(),
            Some(p) => self.entries(p, name),
        }
    }

    pub(super) fn entries(&mut self, p: &'a Located<Param>, name: &str) -> Vec<Entry<'a>> {
        match indexed(&p.value).0 {
            Param::Table(entries) => entries.iter().map(|(k, v)| (k, v)).collect(),
            Param::Text(t) if t.is_empty() => Vec::new(),
            _ => {
                let error = ParamError::at(p.span.clone(), format!("`{name}` must be a table"));
                self.errors.push(error.help(format!("write {name} = {{ name = \"expression\" }}")));
                Vec::new()
            }
        }
    }

    pub(super) fn list(
        &mut self,
        p: Option<&'a Located<Param>>,
        name: &str,
    ) -> Vec<&'a Located<Param>> {
        match p.map(|p| (&p.value, &p.span)) {
            None => Vec::new(),
            Some((Param::List(list), _)) => list.iter().collect(),
            Some((Param::Text(t), _)) if t.is_empty() => Vec::new(),
            Some((_, span)) => {
                let error = ParamError::at(span.clone(), format!("`{name}` must be a list"));
                self.errors.push(error.help(format!("write {name} = [\"...\"]")));
                Vec::new()
            }
        }
    }

    pub(super) fn names(&mut self, name: &str) -> Vec<Located<String>> {
        let list = self.list(self.params.get(name), name);
        let mut names = Vec::new();
        for p in list {
            match &p.value {
                Param::Text(t) => names.push(Located::new(t.clone(), p.span.clone())),
                _ => {
                    let error = ParamError::at(p.span.clone(), "a name must be text");
                    self.errors.push(error.help(format!("write {name} = [\"a\", \"b\"]")));
                }
            }
        }
        names
    }

    /// Refuses ports of one side that have the same name.
    pub(super) fn named_once<'n>(
        &mut self,
        names: impl Iterator<Item = &'n Located<String>>,
        side: &str,
    ) {
        let mut seen = HashSet::new();
        for name in names.filter(|name| !seen.insert(name.value.as_str())) {
            let error = format!("this unit has two {side} named `{}`", name.value);
            let help = "signals and events share their names; give one of them another";
            self.errors.push(ParamError::at(name.span.clone(), error).help(help));
        }
    }

    /// An expression: a number, a quantity (in SI base units), or text.
    pub(super) fn expression(&mut self, p: &Located<Param>, scope: &dyn Scope) -> Option<Expr> {
        let (value, indices) = indexed(&p.value);
        match value {
            Param::Real(x) if x.is_finite() => Some(Expr::constant(*x)),
            Param::Int(i) => Some(Expr::constant(*i as f64)),
            Param::Bool(b) => Some(Expr::constant(f64::from(u8::from(*b)))),
            Param::Text(text) => {
                let parsed = self.parsed(&p.span, text)?;
                let ast = match &*parsed {
                    Parsed::Constant(value) => return Some(Expr::constant(*value)),
                    Parsed::Formula(ast) => ast,
                };
                // An element of an array inside an event knows its own indices only.
                let own = if indices.is_empty() { &*self.indices } else { indices };
                if self.long > MAX_LONG {
                    return None;
                }
                match ast.real(&Indexed { names: scope, indices: own }) {
                    Ok(expr) => self.fits(&p.span, expr.nodes().len()).then_some(expr),
                    Err(errors) => {
                        let own = own.to_vec();
                        self.indexed_errors(&p.span, text, errors, &own);
                        None
                    }
                }
            }
            _ => {
                let error = ParamError::at(p.span.clone(), "expected a number or an expression");
                self.errors
                    .push(error.help("write a number such as 2.5, or a formula such as \"2*x\""));
                None
            }
        }
    }

    /// The syntax of a text, read once.
    fn parsed(&mut self, span: &Span, text: &str) -> Option<Rc<Parsed>> {
        if let Some(parsed) = self.parsed.get(text) {
            return Some(Rc::clone(parsed));
        }
        let parsed = match Quantity::parse(text) {
            Ok(Some(q)) if q.si().is_finite() => Parsed::Constant(q.si()),
            Ok(Some(q)) => {
                if self.told.insert(span.clone()) {
                    let error = format!("a constant must be finite, this one is {}", q.si());
                    let help = "check for divisions by zero and overflow: the largest number is \
                                about 1.8e308 in base units";
                    self.errors.push(ParamError::at(span.clone(), error).help(help));
                }
                return None;
            }
            Err(e) => {
                if self.told.insert(span.clone()) {
                    self.errors.push(unknown_unit(span, &e));
                }
                return None;
            }
            Ok(None) => match expr::parse(text) {
                Ok(ast) => Parsed::Formula(ast),
                Err(error) => {
                    self.indexed_errors(span, text, vec![error], &[(String::new(), 0)]);
                    return None;
                }
            },
        };
        let parsed = Rc::new(parsed);
        self.parsed.insert(text.to_owned(), Rc::clone(&parsed));
        Some(parsed)
    }

    /// A condition in text.
    pub(super) fn condition(
        &mut self,
        span: &Span,
        text: &str,
        scope: &dyn Scope,
    ) -> Option<Condition> {
        if self.long > MAX_LONG {
            return None;
        }
        match Condition::parse(text, &Indexed { names: scope, indices: &self.indices }) {
            Ok(condition) => {
                let operations = condition.atoms().iter().map(|part| part.z.nodes().len()).sum();
                self.fits(span, operations).then_some(condition)
            }
            Err(errors) => {
                let own = self.indices.clone();
                self.indexed_errors(span, text, errors, &own);
                None
            }
        }
    }

    /// Mistakes inside a text that stands for many elements: told for the first one.
    fn indexed_errors(
        &mut self,
        span: &Span,
        text: &str,
        errors: Vec<ExprError>,
        indices: &[(String, i64)],
    ) {
        if !indices.is_empty() && !self.told.insert(span.clone()) {
            return;
        }
        let first = self.errors.len();
        self.expression_errors(span, text, errors);
        let values: Vec<String> = indices
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, i)| format!("{name} = {i}"))
            .collect();
        if !values.is_empty() {
            for e in &mut self.errors[first..] {
                e.message += &format!(" (for {})", values.join(", "));
            }
        }
    }

    /// Mistakes inside a text, under their place in it (after the opening quote).
    pub(super) fn expression_errors(&mut self, span: &Span, text: &str, errors: Vec<ExprError>) {
        let quoted = span.len().saturating_sub(text.len()) / 2;
        for e in errors {
            let at = e.span();
            let start = (span.start + quoted + at.start as usize).min(span.end);
            let end = (span.start + quoted + at.end as usize).clamp(start, span.end);
            let error = ParamError::at(start..end, e.to_string());
            let help = e.help().unwrap_or_else(|| FORMULAS.to_owned());
            self.errors.push(error.help(help));
        }
    }

    pub(super) fn constant(&mut self, p: &Located<Param>, scope: &dyn Scope) -> f64 {
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
pub(super) struct Declared<'a> {
    /// The equations that connected units leave, once they are known.
    pub joined: Option<Rc<Joined>>,
    /// States, then algebraic variables.
    pub states: Vec<Entry<'a>>,
    /// How many of `states` are algebraic.
    pub algebraic: usize,
    /// How many of these, the first ones, have derivatives, too, but follow from constraints.
    pub dependent: usize,
    pub inputs: Vec<Entry<'a>>,
    pub hidden_inputs: Vec<Entry<'a>>,
    pub discrete: Vec<Entry<'a>>,
    pub outputs: Vec<Entry<'a>>,
    pub hidden_outputs: Vec<Entry<'a>>,
    pub event_inputs: Vec<Located<String>>,
    pub event_outputs: Vec<Located<String>>,
    /// Modes with what belongs to each, in the order of the text.
    pub modes: Vec<(&'a Located<String>, Vec<Entry<'a>>)>,
}

impl<'a> Declared<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Self {
        let (mut states, algebraic) = (r.table("states"), r.table("algebraic"));
        states.extend(&algebraic);
        Self {
            joined: None,
            states,
            algebraic: algebraic.len(),
            dependent: 0,
            inputs: r.table("inputs"),
            hidden_inputs: r.table("~inputs"),
            discrete: r.table("discrete"),
            outputs: r.table("outputs"),
            hidden_outputs: r.table("~outputs"),
            event_inputs: r.names("event_inputs"),
            event_outputs: r.names("event_outputs"),
            modes: modes(r),
        }
    }

    /// Whether the present mode is an output without being declared as one.
    pub(super) fn shows_mode(&self) -> bool {
        !self.modes.is_empty() && !self.outputs.iter().any(|(k, _)| k.value == MODE)
    }

    /// Names of the states that have a derivative, or of the algebraic variables.
    pub(super) fn unknowns(&self, algebraic: bool) -> &[Entry<'a>] {
        let declared = self.algebraic - self.dependent;
        let (states, rest) = self.states.split_at(self.states.len() - declared);
        if algebraic { rest } else { states }
    }

    /// Takes eliminated variables out of the states and algebraic variables.
    pub(super) fn join(&mut self, joined: Joined) {
        let stays = |(name, _): &Entry<'_>| !joined.eliminates(&name.value);
        let algebraic = self.states.split_off(self.states.len() - self.algebraic);
        self.states.retain(stays);
        let algebraic: Vec<_> = algebraic.into_iter().filter(stays).collect();
        self.algebraic = algebraic.len();
        self.states.extend(algebraic);
        self.joined = Some(Rc::new(joined));
    }

    /// Lets states, by number, follow from constraints: they become the first algebraic variables.
    pub(super) fn depend(&mut self, on_constraints: &[usize]) {
        let place = |k: usize| on_constraints.iter().position(|&other| other == k);
        let mut all: Vec<_> = self.states.drain(..).enumerate().collect();
        let (states, declared) = (all.len() - self.algebraic, self.algebraic);
        all[..states].sort_by_key(|(k, _)| place(*k).map_or(0, |at| 1 + at));
        self.states.extend(all.into_iter().map(|(_, entry)| entry));
        self.dependent = on_constraints.len();
        self.algebraic = declared + self.dependent;
    }

    pub(super) fn all_inputs(&self) -> impl Iterator<Item = Entry<'a>> + '_ {
        self.inputs.iter().chain(&self.hidden_inputs).copied()
    }
}

/// Values at the start.
pub(super) struct StartValues {
    pub initial: Vec<f64>,
    pub inputs: Vec<f64>,
    /// With the mode, if there are modes.
    pub discrete: Vec<f64>,
    pub mode: f64,
}

impl StartValues {
    pub(super) fn read(r: &mut Reader<'_>, d: &Declared<'_>, constants: &Names) -> Self {
        let mut of = |list: &mut dyn Iterator<Item = Entry<'_>>| -> Vec<f64> {
            list.map(|(_, p)| r.constant(p, constants)).collect()
        };
        let initial = of(&mut d.states.iter().copied());
        let inputs = of(&mut d.all_inputs());
        let mut discrete = of(&mut d.discrete.iter().copied());
        let mode = initial_mode(r, d);
        if !d.modes.is_empty() {
            discrete.push(mode);
        }
        Self { initial, inputs, discrete, mode }
    }
}

/// The number of the mode at the start.
fn initial_mode(r: &mut Reader<'_>, d: &Declared<'_>) -> f64 {
    let Some(p) = r.params.get("initial") else { return 0.0 };
    match &p.value {
        Param::Text(t) if t.is_empty() => 0.0,
        Param::Table(entries) => match entries.iter().find(|(name, _)| name.value == MODE) {
            Some((_, p)) if !d.modes.is_empty() => r.mode(d, p).unwrap_or(0.0),
            _ => 0.0,
        },
        _ if d.modes.is_empty() => {
            let error = ParamError::at(p.span.clone(), "`initial` names a mode; there are none");
            let help = "remove it, write the unit's modes: [unit.NAME.mode.on], or equations of the start: \
                        initial = { x = \"expression\" }";
            r.errors.push(error.help(help));
            0.0
        }
        _ => r.mode(d, p).unwrap_or(0.0),
    }
}

/// All texts of a parameter.
pub(super) fn gather_texts<'a>(p: &'a Param, texts: &mut Vec<&'a str>) {
    match p {
        Param::Text(t) => texts.push(t),
        Param::List(list) => list.iter().for_each(|p| gather_texts(&p.value, texts)),
        Param::Table(entries) => entries.iter().for_each(|(_, p)| gather_texts(&p.value, texts)),
        Param::Indexed(inner, _) => gather_texts(inner, texts),
        _ => {}
    }
}

/// The name of the present mode.
pub(super) const MODE: &str = "mode";

fn modes<'a>(r: &mut Reader<'a>) -> Vec<(&'a Located<String>, Vec<Entry<'a>>)> {
    let mut modes = Vec::new();
    for (name, p) in r.table(MODE) {
        let entries = r.entries(p, "a mode");
        check_keys(r, &entries, &["let", "derivatives", "residuals", "outputs", "event", "on"]);
        modes.push((name, entries));
    }
    modes
}

pub(super) fn check_keys(r: &mut Reader<'_>, entries: &[Entry<'_>], known: &[&str]) {
    for (key, _) in entries {
        if !known.contains(&key.value.as_str()) {
            let error = format!("unknown key `{}`", key.value);
            let help = format!("keys are: {}", known.join(", "));
            r.errors.push(ParamError::at(key.span.clone(), error).help(help));
        }
    }
}

fn unknown_unit(span: &Span, e: &QuantityError) -> ParamError {
    let start = (span.start + e.span.start).min(span.end);
    let end = (span.start + e.span.end).clamp(start, span.end);
    let message = format!("unknown unit of measure `{}`", e.error.unknown);
    ParamError::at(start..end, message).help(e.help())
}

/// Resolution and surroundings of a unit, with the names that its times may use.
pub(super) type Place<'a> = (&'a Context<'a>, &'a dyn Scope);

/// Ticks of a [`time`].
fn ticks(r: &mut Reader<'_>, place: Place<'_>, p: &Located<Param>) -> Option<i64> {
    time(r, place, p).map(|(ticks, _)| ticks)
}

/// The clock of a period, from the start on.
pub(super) fn clock(
    r: &mut Reader<'_>,
    place: Place<'_>,
    p: &Located<Param>,
) -> Option<RationalClock> {
    let context = place.0;
    let (n, d) = seconds(context, time(r, place, p)?);
    let clock = RationalClock::new(n, d, 0, context.resolution).ok();
    if clock.is_none() {
        let error = ParamError::at(p.span.clone(), "a period must be positive");
        r.errors.push(error.help("write such as every = \"1 s\""));
    }
    clock
}

/// A [`time`] as a fraction of seconds.
pub(super) fn seconds(context: &Context<'_>, time: (i64, Option<f64>)) -> (i64, i64) {
    time.1.and_then(fraction).unwrap_or((time.0, context.resolution.ticks_per_second()))
}

/// A point in time: a number of seconds, a quantity such as `"50 ms"`, or an expression of constants.
/// Its ticks, and its seconds where these are not an exact decimal but computed.
pub(super) fn time(
    r: &mut Reader<'_>,
    (context, names): Place<'_>,
    p: &Located<Param>,
) -> Option<(i64, Option<f64>)> {
    let computed = match (p.value.seconds(), &p.value) {
        (_, Param::Duration(d)) => return Some((d.ticks(), None)),
        (Err(e), _) => {
            r.errors.push(unknown_unit(&p.span, &e));
            return None;
        }
        (Ok(Some(Seconds::Exact(d))), _) => Err(d),
        (Ok(Some(Seconds::Divided(x))), _) => Ok(x),
        (Ok(None), Param::Text(t)) if matches!(Quantity::parse(t), Ok(None)) => {
            match Expr::parse(t, &Indexed { names, indices: &r.indices }) {
                Ok(e) if !e.vars().is_empty() => {
                    let error = ParamError::at(p.span.clone(), "this must be a constant");
                    r.errors.push(error.help("a time that changes is at = \"...\" of an event"));
                    return None;
                }
                Ok(e) => Ok(e.as_constant().unwrap_or_else(|| e.eval(&[]))),
                Err(errors) => {
                    r.expression_errors(&p.span, t, errors);
                    return None;
                }
            }
        }
        _ => {
            r.errors.push(ParamError::at(p.span.clone(), "this is no time").help(TIMES));
            return None;
        }
    };
    let resolution = context.resolution;
    let ticks = match computed {
        Ok(seconds) => resolution.duration(seconds).map(|d| d.ticks()).map_err(|e| e.to_string()),
        Err(exact) => exact
            .ticks(resolution)
            .map_err(|_| format!("this is no whole number of ticks of {resolution}, or too long")),
    };
    match ticks {
        Ok(ticks) => Some((ticks, computed.ok())),
        Err(why) => {
            r.errors.push(ParamError::at(p.span.clone(), why).help(TIMES));
            None
        }
    }
}

/// Advice about a formula that cannot be read.
const FORMULAS: &str = "the guide to the format says how formulas are written";
/// Advice for a key that is a time.
const TIMES: &str = "write seconds, or a time such as \"50 ms\"";

pub(super) fn instants(
    r: &mut Reader<'_>,
    place: Place<'_>,
    p: &Located<Param>,
) -> Option<Vec<i64>> {
    let list = match &p.value {
        Param::List(list) => list.iter().collect(),
        _ => vec![p],
    };
    let mut found = Vec::with_capacity(list.len());
    for p in list {
        found.push(ticks(r, place, p)?);
    }
    found.sort_unstable();
    found.dedup();
    if let Some(&first) = found.first()
        && first <= 0
    {
        let error = ParamError::at(p.span.clone(), "a time event must come after the start");
        r.errors.push(error.help("give a time above zero; the start itself is set by `states`"));
    }
    Some(found)
}
