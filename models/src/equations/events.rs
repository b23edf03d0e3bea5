//! Events of an equation unit from their tables.
use super::{
    elaborate::{event_name, indexed},
    formulas::{Formulas, equality, is_remainder},
    read::{Declared, Entry, Reader, check_keys, clock, instants, seconds, time},
    resets::{entries, terminate},
    text::{Handler, Reset},
};
use crate::{
    kinds::{Context, Located, Param, ParamError, Span},
    maths::expr::{Comparison, Condition, Expr, Logic, Names, Program, Scope, Symbol, VarId},
    solve::equations::{EventSpec, LinkEquations, Rest, Trigger, Truth},
};
use std::sync::Arc;

/// An event with what it does.
pub(super) struct Spec {
    pub spec: EventSpec,
    pub reset: Reset,
    /// The mode to which it belongs.
    pub mode: Option<f64>,
    /// Its condition as alternatives of functions that are at most zero, for predictions.
    pub alternatives: Vec<Vec<Expr>>,
    priority: i64,
}

/// Collects events, and what event inputs do.
pub(super) struct Events<'a> {
    pub(super) formulas: &'a Formulas,
    pub(super) specs: Vec<Spec>,
    pub(super) handlers: Vec<Handler>,
    pub(super) links: Vec<LinkEquations>,
    /// Per link: its condition as alternatives of functions that are at most zero.
    pub(super) shared: Vec<Vec<Vec<Expr>>>,
    /// From a mode, or from all of them, to a mode.
    pub(super) ways: Vec<(Option<usize>, usize)>,
    pub(super) received: VarId,
}

const KEYS: &[&str] = &[
    "name",
    "when",
    "crossing",
    "direction",
    "touching",
    "at",
    "every",
    "from",
    "reset",
    "emit",
    "priority",
    "to",
    "rest",
    "terminate",
];

const HANDLER_KEYS: &[&str] = &["input", "reset", "emit", "to"];

/// A trigger, and its condition as alternatives of functions that are at most zero.
type Foreseen = (Trigger, Vec<Vec<Expr>>);

/// The table of one event, or of an event input.
struct Table<'a> {
    entries: Vec<Entry<'a>>,
    span: &'a Span,
    number: usize,
    indices: &'a [(String, i64)],
    mode: Option<usize>,
}

impl<'a> Table<'a> {
    fn get(&self, key: &str) -> Option<&'a Located<Param>> {
        self.entries.iter().find(|(k, _)| k.value == key).map(|(_, p)| *p)
    }

    fn name(&self) -> String {
        event_name(self.get("name"), self.number, self.indices)
    }
}

impl<'f> Events<'f> {
    pub(super) fn new(formulas: &'f Formulas) -> Self {
        let received = VarId(formulas.dims.received() as u32);
        let (specs, handlers, links, shared, ways) = Default::default();
        Self { formulas, specs, handlers, links, shared, ways, received }
    }

    /// Reads the events and handlers of the unit and of its modes.
    pub(super) fn read(&mut self, r: &mut Reader<'_>, context: &Context<'_>, d: &Declared<'_>) {
        let params = r.params;
        let own = (None, ["event", "on"].map(|key| params.get(key)));
        let of_modes = d.modes.iter().enumerate().map(|(k, (_, entries))| {
            let get = |key: &str| entries.iter().find(|(n, _)| n.value == key).map(|(_, p)| *p);
            (Some(k), ["event", "on"].map(get))
        });
        for (mode, [event, on]) in std::iter::once(own).chain(of_modes) {
            self.tables(r, (event, "event", KEYS), mode, |all, r, t| all.event(r, context, d, t));
            self.tables(r, (on, "on", HANDLER_KEYS), mode, |all, r, t| all.handler(r, d, t));
        }
        self.specs.sort_by_key(|s| s.priority);
    }

    /// Refuses modes to which nothing leads from the first one. Without any `to`, modes are variants,
    /// chosen by `initial`.
    pub(super) fn unreached(&self, r: &mut Reader<'_>, d: &Declared<'_>, initial: f64) {
        if self.ways.is_empty() {
            return;
        }
        let (mut reached, mut open) = (vec![false; d.modes.len()], vec![initial as usize]);
        while let Some(mode) = open.pop() {
            if !std::mem::replace(&mut reached[mode], true) {
                let on = self.ways.iter().filter(|(from, _)| from.is_none_or(|from| from == mode));
                open.extend(on.map(|(_, to)| to));
            }
        }
        for ((name, _), _) in d.modes.iter().zip(reached).filter(|(_, reached)| !reached) {
            let what = format!("no events lead to the mode `{}`", name.value);
            let error = ParamError::at(name.span.clone(), what);
            r.errors.push(
                error.help(format!("add one with to = {:?}, or remove the mode", name.value)),
            );
        }
    }

    /// Reads each table of a list, whose `key` says what it is for.
    fn tables(
        &mut self,
        r: &mut Reader<'_>,
        (list, key, keys): (Option<&Located<Param>>, &str, &[&str]),
        mode: Option<usize>,
        each: impl Fn(&mut Self, &mut Reader<'_>, &Table<'_>),
    ) {
        let brackets = format!("write [[unit.NAME.{key}]] with two brackets");
        let list = match list.map(|p| (&p.value, &p.span)) {
            Some((Param::List(list), _)) => &list[..],
            Some((Param::Text(t), _)) if t.is_empty() => &[],
            Some((_, span)) => {
                let error =
                    ParamError::at(span.clone(), format!("`{key}` must be a list of tables"));
                r.errors.push(error.help(brackets));
                return;
            }
            None => &[],
        };
        for (number, p) in list.iter().enumerate() {
            let (table, indices) = indexed(&p.value);
            let Param::Table(entries) = table else {
                let error = format!("each entry of `{key}` must be a table");
                r.errors.push(ParamError::at(p.span.clone(), error).help(&brackets));
                continue;
            };
            r.indices = indices.to_vec();
            let entries: Vec<Entry<'_>> = entries.iter().map(|(k, v)| (k, v)).collect();
            check_keys(r, &entries, keys);
            each(self, r, &Table { entries, span: &p.span, number, indices, mode });
            r.indices.clear();
        }
    }

    fn event(
        &mut self,
        r: &mut Reader<'_>,
        context: &Context<'_>,
        d: &Declared<'_>,
        table: &Table<'_>,
    ) {
        let triggers = self.triggers(r, context, table);
        let scope = self.scope(table.mode);
        let what = [table.get("reset"), table.get("emit"), table.get("to")];
        let reset = self.reset(r, d, (table.mode, scope), what);
        let priority = match table.get("priority").map(|p| (&p.value, &p.span)) {
            None => 0,
            Some((Param::Int(i), _)) => *i,
            Some((_, span)) => {
                let error = ParamError::at(span.clone(), "`priority` must be a whole number");
                r.errors.push(error.help("lower goes first; the default is 0"));
                0
            }
        };
        let date = table.get("at").map_or(Vec::new(), |p| self.read_by_date(r, p, table.mode));
        let anew = date.iter().any(|var| reset.sets().contains(&(var.0 as usize)));
        let rest = table.get("rest").and_then(|p| self.rest(r, p));
        let ends = table.get("terminate").and_then(|p| terminate(r, p));
        let name: Arc<str> = table.name().into();
        for (trigger, alternatives) in triggers {
            let rest = rest.clone();
            let sets = Some(reset.sets());
            let leads = table.get("to").is_some();
            let ends = ends.clone();
            let new = EventSpec::new(Arc::clone(&name), trigger);
            let spec = EventSpec { rest, sets, leads, anew, ends, ..new };
            let mode = table.mode.map(|k| k as f64);
            self.specs.push(Spec { spec, reset: reset.clone(), mode, alternatives, priority });
        }
    }

    /// `rest = { within = 1e-9, x = 0, v = 0 }`.
    fn rest(&self, r: &mut Reader<'_>, p: &Located<Param>) -> Option<Rest> {
        let (mut within, mut values) = (None, Vec::new());
        for (name, p) in entries(r, Some(p), "rest") {
            let value = r.constant(p, &self.formulas.scope);
            if name.value == "within" {
                within = Some(value).filter(|w| *w > 0.0);
            } else if let Some(target) = self.target(r, name) {
                values.push((target, value));
            }
        }
        if within.is_none() {
            let error = ParamError::at(p.span.clone(), "`rest` needs a positive `within`");
            r.errors.push(error.help("the time between two events below which the unit rests"));
        }
        Some(Rest { within: within?, values })
    }

    /// The variable that an event assigns.
    pub(super) fn target(&self, r: &mut Reader<'_>, name: &Located<String>) -> Option<usize> {
        let target = self.formulas.targets.get(&name.value).copied();
        if target.is_none() {
            let error = format!("`{}` is neither a state nor a discrete value", name.value);
            let help = "declare it in `states` or `discrete`";
            r.errors.push(ParamError::at(name.span.clone(), error).help(help));
        }
        target
    }

    fn scope(&self, mode: Option<usize>) -> &'f Names {
        mode.map_or(&self.formulas.scope, |k| &self.formulas.in_mode[k])
    }

    /// The cause of an event: one trigger, or two for both directions of a crossing.
    fn triggers(
        &mut self,
        r: &mut Reader<'_>,
        context: &Context<'_>,
        table: &Table<'_>,
    ) -> Vec<Foreseen> {
        let keys = ["when", "crossing", "at", "every"];
        let given: Vec<_> = keys.iter().filter_map(|k| Some((*k, table.get(k)?))).collect();
        let name = table.name();
        let &[(key, p)] = &given[..] else {
            let error = format!("event `{name}` needs exactly one of when, crossing, at, every");
            r.errors.push(
                ParamError::at(table.span.clone(), error)
                    .help("add such as when = \"x <= 0 and v < 0\" or every = \"1 s\""),
            );
            return Vec::new();
        };
        if key == "at"
            && let Some(date) = self.date(r, p, table.mode)
        {
            return self.when(r, &date, table.mode, None).into_iter().collect();
        }
        if let (Some(_), "at" | "every") = (table.mode, key) {
            let error = format!("time event `{name}` is inside a mode");
            let help = "put it beside the modes, with resets such as \
                        \"if mode == mode.on then 1 else x\"";
            r.errors.push(ParamError::at(p.span.clone(), error).help(help));
            return Vec::new();
        }
        if let (Some(direction), false) = (table.get("direction"), key == "crossing") {
            let error = ParamError::at(direction.span.clone(), "`direction` goes with `crossing`");
            r.errors.push(error.help("`when` happens as its condition becomes true"));
        }
        if let (Some(from), false) = (table.get("from"), key == "every") {
            let error = ParamError::at(from.span.clone(), "`from` goes with `every`");
            r.errors.push(error.help("it is when a periodic event happens first"));
        }
        let touching = table.get("touching").map(|p| self.band(r, p));
        match key {
            "at" => {
                let at = instants(r, (context, &self.formulas.scope), p)
                    .map(|at| (Trigger::At(at), Vec::new()));
                at.into_iter().collect()
            }
            "every" => {
                let every = self.periodic(r, context, table, p).map(|t| (t, Vec::new()));
                every.into_iter().collect()
            }
            "when" => self.when(r, p, table.mode, touching).into_iter().collect(),
            _ => self.crossing(r, p, table, touching),
        }
    }

    /// An instant that follows from what may change, as a condition on the time.
    fn date(
        &self,
        r: &mut Reader<'_>,
        p: &Located<Param>,
        mode: Option<usize>,
    ) -> Option<Located<Param>> {
        let Param::Text(text) = &p.value else { return None };
        let moves = !self.read_by_date(r, p, mode).is_empty();
        moves.then(|| Located::new(Param::Text(format!("t >= ({text})")), p.span.clone()))
    }

    /// The variables that an instant reads.
    fn read_by_date(
        &self,
        r: &mut Reader<'_>,
        p: &Located<Param>,
        mode: Option<usize>,
    ) -> Vec<VarId> {
        let before = r.errors.len();
        let date = match p.value {
            Param::Text(_) => r.expression(p, self.scope(mode)),
            _ => None,
        };
        // A mistake in a date that does not change is told where it is read.
        r.errors.truncate(before);
        date.map_or(Vec::new(), |date| date.vars())
    }

    fn band(&self, r: &mut Reader<'_>, p: &Located<Param>) -> f64 {
        let band = r.constant(p, &self.formulas.scope);
        if band.is_nan() || band <= 0.0 {
            let error = ParamError::at(p.span.clone(), "`touching` must be positive");
            r.errors.push(error.help("it says how near to zero counts as touching"));
        }
        band
    }

    fn periodic(
        &self,
        r: &mut Reader<'_>,
        context: &Context<'_>,
        table: &Table<'_>,
        every: &Located<Param>,
    ) -> Option<Trigger> {
        let names = (context, &self.formulas.scope as &dyn Scope);
        let clock = clock(r, names, every);
        let Some(p) = table.get("from") else { return clock.map(Trigger::Every) };
        let from = time(r, names, p)?;
        if from.0 <= 0 {
            let error = ParamError::at(p.span.clone(), "a time event must come after the start");
            let help = "leave `from` out, or give the period, for a first event after one period; the start itself is set \
                        by the initial values";
            r.errors.push(error.help(help));
        }
        let (n, d) = seconds(context, from);
        clock.and_then(|clock| clock.starting(n, d).ok()).map(Trigger::Every)
    }

    fn when(
        &mut self,
        r: &mut Reader<'_>,
        when: &Located<Param>,
        mode: Option<usize>,
        touching: Option<f64>,
    ) -> Option<Foreseen> {
        let Param::Text(text) = &when.value else {
            let error = ParamError::at(when.span.clone(), "`when` must be a condition in text");
            r.errors.push(error.help("write such as when = \"x <= 0 and v < 0\""));
            return None;
        };
        let condition = r.condition(&when.span, text, self.scope(mode))?;
        let truth = self.truth(r, (&condition, &when.span), mode, &|_| false)?;
        let trigger = Trigger::State { truth, touching, crossing: None };
        Some((trigger, self.alternatives(&condition, mode)))
    }

    fn crossing(
        &mut self,
        r: &mut Reader<'_>,
        p: &Located<Param>,
        table: &Table<'_>,
        touching: Option<f64>,
    ) -> Vec<Foreseen> {
        let direction = match table.get("direction").map(|p| (&p.value, &p.span)) {
            None => "both",
            Some((Param::Text(t), _)) if ["rising", "falling", "both"].contains(&t.as_str()) => t,
            Some((_, span)) => {
                let error = ParamError::at(span.clone(), "this is no direction of a crossing");
                r.errors.push(error.help("write \"rising\", \"falling\" or \"both\""));
                return Vec::new();
            }
        };
        let Some(z) = r.expression(p, self.scope(table.mode)) else { return Vec::new() };
        let z = self.formulas.without_helpers(&z);
        let only = table.mode.map(|k| k as f64);
        let relation = self.formulas.with_freezer(|f| {
            f.relation(&z, only).map(|(k, negated)| (k, f.found()[k].side, negated))
        });
        let Some((relation, side, opposite)) = relation else {
            let error = ParamError::at(p.span.clone(), "this formula does not move between events");
            r.errors
                .push(error.help("write when = \"... > 0\", which also sees what events change"));
            return Vec::new();
        };
        let mut triggers = Vec::new();
        for (rising, z) in [(false, z.clone()), (true, z.negated())] {
            if direction != "both" && rising != (direction == "rising") {
                continue;
            }
            let below = rising == opposite;
            let on = Expr::parse(
                if below { "if s < 0 then 1 else 0" } else { "if s > 0 then 1 else 0" },
                &Names::new().var("s", side.0),
            );
            let truth = self.in_mode(&on.expect("a formula"), table.mode);
            triggers.push((
                Trigger::State { truth, touching, crossing: Some(relation) },
                vec![self.guarded(&[z], table.mode)],
            ));
        }
        triggers
    }

    /// When a condition holds, from sides of its relations. Some of its inputs stand `still` between events.
    pub(super) fn truth(
        &self,
        r: &mut Reader<'_>,
        (condition, span): (&Condition, &Span),
        mode: Option<usize>,
        still: &dyn Fn(&VarId) -> bool,
    ) -> Option<Truth> {
        let condition = &condition.map(|z| self.formulas.without_helpers(z));
        if condition.alternatives().iter().any(Vec::is_empty) {
            let error = ParamError::at(span.clone(), "this condition always holds");
            r.errors.push(error.help("an event happens as its condition becomes true"));
            return None;
        }
        let only = mode.map(|k| k as f64);
        let first = self.formulas.dims.first_discrete();
        let stands = |v: &VarId| v.0 as usize >= first || still(v);
        let (wrong, on) = self.formulas.with_freezer(|f| {
            let before = f.equalities;
            let parts = parts_that_must_hold(condition);
            let wrong = condition.atoms().iter().enumerate().any(|(i, atom)| {
                let equal = matches!(atom.relation, Comparison::Equal | Comparison::NotEqual);
                let remainder = is_remainder(atom, stands);
                let moves = (equal || remainder) && f.relation(&atom.z, only).is_some();
                let moves = moves && !atom.z.vars().iter().all(stands);
                let seen = atom.relation == Comparison::Equal && parts.contains(&i);
                moves && (!seen || remainder)
            });
            let on = f.condition(condition, only);
            (wrong || f.equalities > before, on)
        });
        if wrong {
            let remainder = condition.atoms().iter().any(|atom| is_remainder(atom, stands));
            r.errors.push(equality(span, remainder));
            return None;
        }
        Some(self.in_mode(&on, mode))
    }

    /// A condition on sides, while its mode is present.
    fn in_mode(&self, on: &Expr, mode: Option<usize>) -> Truth {
        let on = match (self.formulas.mode, mode) {
            (Some(var), Some(k)) => on.while_equal(var, k as f64, 0.0),
            _ => on.clone(),
        };
        Truth::Formula(Program::compile([&on]))
    }

    /// A condition as alternatives of functions that are all at most zero.
    pub(super) fn alternatives(
        &self,
        condition: &Condition,
        mode: Option<usize>,
    ) -> Vec<Vec<Expr>> {
        condition.alternatives().iter().map(|all| self.guarded(all, mode)).collect()
    }

    /// The functions without helpers; those of a mode are at most zero in it only.
    fn guarded(&self, all: &[Expr], mode: Option<usize>) -> Vec<Expr> {
        let guard = |z: &Expr| {
            let z = self.formulas.without_helpers(z);
            match (self.formulas.mode, mode) {
                (Some(var), Some(k)) => z.while_equal(var, k as f64, 1.0),
                _ => z,
            }
        };
        all.iter().map(guard).collect()
    }

    fn handler(&mut self, r: &mut Reader<'_>, d: &Declared<'_>, table: &Table<'_>) {
        let mut scope = self.scope(table.mode).clone();
        scope.insert("value", Symbol::Var(self.received));
        let input = table.get("input");
        let port = match input.map(|p| &p.value) {
            Some(Param::Text(t)) => d.event_inputs.iter().position(|n| n.value == *t),
            _ => None,
        };
        let what = [table.get("reset"), table.get("emit"), table.get("to")];
        let reset = self.reset(r, d, (table.mode, &scope), what);
        let mode = table.mode.map(|k| k as f64);
        match port {
            Some(port) => self.handlers.push(Handler { port, mode, reset }),
            None => {
                let span = input.map_or(table.span, |p| &p.span);
                let error = ParamError::at(span.clone(), "`input` must name an event input");
                r.errors.push(error.help("declare it in `event_inputs`"));
            }
        }
    }
}

/// The relations of a condition that must hold for it to hold.
fn parts_that_must_hold(condition: &Condition) -> Vec<usize> {
    let logic = condition.logic();
    let (mut open, mut parts) = (vec![logic.len() - 1], Vec::new());
    while let Some(step) = open.pop() {
        match logic[step] {
            Logic::And(a, b) => open.extend([a as usize, b as usize]),
            Logic::Atom(i) => parts.push(i as usize),
            Logic::Const(_) | Logic::Not(_) | Logic::Or(..) => {}
        }
    }
    parts
}
