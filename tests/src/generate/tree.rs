//! Walks over the tree of a model: visits and rewrites.
use superdense_judge::model::{Condition, Event, Expr, Model, Trigger, Unit, Variable};

/// A rewriting of formulas: each method gets a part whose own parts are rewritten already.
pub trait Rewrite {
    /// An expression.
    fn expression(&mut self, e: Expr) -> Expr {
        e
    }
    /// A condition.
    fn condition(&mut self, c: Condition) -> Condition {
        c
    }
}

/// Rewrites an expression from its leaves on.
pub fn expression(e: Expr, r: &mut dyn Rewrite) -> Expr {
    let e = match e {
        Expr::Number(_) | Expr::Read(_) | Expr::Pre(_) => e,
        Expr::Unary(f, a) => Expr::Unary(f, Box::new(expression(*a, r))),
        Expr::Binary(f, a, b) => {
            Expr::Binary(f, Box::new(expression(*a, r)), Box::new(expression(*b, r)))
        }
        Expr::Power(a, n) => Expr::Power(Box::new(expression(*a, r)), n),
        Expr::If(c, a, b) => Expr::If(
            Box::new(condition(*c, r)),
            Box::new(expression(*a, r)),
            Box::new(expression(*b, r)),
        ),
    };
    r.expression(e)
}

/// Rewrites a condition from its leaves on.
pub fn condition(c: Condition, r: &mut dyn Rewrite) -> Condition {
    let mut list = |l: Vec<Condition>| l.into_iter().map(|c| condition(c, r)).collect();
    let c = match c {
        Condition::And(l) => Condition::And(list(l)),
        Condition::Or(l) => Condition::Or(list(l)),
        Condition::Not(c) => Condition::Not(Box::new(condition(*c, r))),
        Condition::Relation(how, a, b) => {
            Condition::Relation(how, expression(a, r), expression(b, r))
        }
    };
    r.condition(c)
}

/// Calls `f` with every condition and every expression that stands at the root of a formula.
pub fn each_root(model: &mut Model, f: &mut dyn FnMut(Root<'_>)) {
    model.units.iter_mut().for_each(|unit| each_root_of_unit(unit, f));
    for link in &mut model.links {
        f(Root::Condition(&mut link.when));
        link.reset.iter_mut().for_each(|r| f(Root::Expression(&mut r.1)));
    }
}

/// As [`each_root`], of one unit.
pub fn each_root_of_unit(unit: &mut Unit, f: &mut dyn FnMut(Root<'_>)) {
    let lists = [&mut unit.lets, &mut unit.derivatives, &mut unit.residuals, &mut unit.outputs];
    lists.into_iter().flatten().for_each(|e| f(Root::Expression(e)));
    unit.events.iter_mut().for_each(|e| each_root_of_event(e, f));
    for mode in &mut unit.modes {
        let derivatives = mode.derivatives.iter_mut().flatten().flatten();
        derivatives.for_each(|e| f(Root::Expression(e)));
        mode.events.iter_mut().for_each(|e| each_root_of_event(e, f));
    }
}

/// The root of a formula.
pub enum Root<'a> {
    /// Of a value.
    Expression(&'a mut Expr),
    /// Of an event.
    Condition(&'a mut Condition),
}

/// As [`each_root`], of one event.
pub fn each_root_of_event(event: &mut Event, f: &mut dyn FnMut(Root<'_>)) {
    match &mut event.trigger {
        Trigger::When { condition, .. } => f(Root::Condition(condition)),
        Trigger::Crossing { formula, .. } => f(Root::Expression(formula)),
        Trigger::At(_) | Trigger::Every { .. } => {}
    }
    event.reset.iter_mut().for_each(|r| f(Root::Expression(&mut r.1)));
}

impl Root<'_> {
    /// Rewrites the whole formula.
    pub fn rewrite(self, r: &mut dyn Rewrite) {
        match self {
            Root::Expression(e) => *e = expression(std::mem::replace(e, Expr::Number(0.0)), r),
            Root::Condition(c) => {
                *c = condition(std::mem::replace(c, Condition::And(Vec::new())), r);
            }
        }
    }
}

/// Rewrites all formulas of a model.
pub fn rewrite(model: &mut Model, r: &mut dyn Rewrite) {
    each_root(model, &mut |root| root.rewrite(r));
}

/// Replaces conditions of events only, at their roots.
pub fn each_event_condition(model: &mut Model, f: &mut dyn FnMut(&mut Condition)) {
    let mut of_event = |event: &mut Event| {
        if let Trigger::When { condition, .. } = &mut event.trigger {
            f(condition);
        }
    };
    for unit in &mut model.units {
        each_event(unit, &mut of_event);
    }
    model.links.iter_mut().for_each(|l| f(&mut l.when));
}

/// Calls `f` with all events of a unit.
pub fn each_event(unit: &mut Unit, f: &mut dyn FnMut(&mut Event)) {
    unit.events.iter_mut().for_each(&mut *f);
    unit.modes.iter_mut().for_each(|m| m.events.iter_mut().for_each(&mut *f));
}

/// Whether a model runs for more than a million seconds.
pub fn is_late(model: &Model) -> bool {
    model.stop.numerator / model.stop.denominator > 1_000_000
}

/// All events of a unit.
pub fn events(unit: &Unit) -> impl Iterator<Item = &Event> {
    unit.events.iter().chain(unit.modes.iter().flat_map(|m| &m.events))
}

/// All parts of an expression, itself first.
pub fn parts<'a>(e: &'a Expr, out: &mut Vec<Part<'a>>) {
    out.push(Part::Expression(e));
    match e {
        Expr::Number(_) | Expr::Read(_) | Expr::Pre(_) => {}
        Expr::Unary(_, a) | Expr::Power(a, _) => parts(a, out),
        Expr::Binary(_, a, b) => {
            parts(a, out);
            parts(b, out);
        }
        Expr::If(c, a, b) => {
            parts_of_condition(c, out);
            parts(a, out);
            parts(b, out);
        }
    }
}

/// All parts of a condition, itself first.
pub fn parts_of_condition<'a>(c: &'a Condition, out: &mut Vec<Part<'a>>) {
    out.push(Part::Condition(c));
    match c {
        Condition::Relation(_, a, b) => {
            parts(a, out);
            parts(b, out);
        }
        Condition::And(l) | Condition::Or(l) => l.iter().for_each(|c| parts_of_condition(c, out)),
        Condition::Not(c) => parts_of_condition(c, out),
    }
}

/// A part of a formula.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A value.
    Expression(&'a Expr),
    /// A truth value.
    Condition(&'a Condition),
}

/// The variables that a list of parts reads.
pub fn reads(parts: &[Part<'_>]) -> Vec<Variable> {
    let read = |p: &Part<'_>| match p {
        Part::Expression(Expr::Read(v) | Expr::Pre(v)) => Some(*v),
        _ => None,
    };
    parts.iter().filter_map(read).collect()
}

/// The variables that a formula reads.
pub fn reads_of(e: &Expr) -> Vec<Variable> {
    let mut list = Vec::new();
    parts(e, &mut list);
    reads(&list)
}

/// Whether a formula reads a value before the cycle.
pub fn has_pre(e: &Expr) -> bool {
    let mut list = Vec::new();
    parts(e, &mut list);
    list.iter().any(|p| matches!(p, Part::Expression(Expr::Pre(_))))
}

/// All parts of what brings an event about.
pub fn parts_of_trigger<'a>(trigger: &'a Trigger, out: &mut Vec<Part<'a>>) {
    match trigger {
        Trigger::When { condition, .. } => parts_of_condition(condition, out),
        Trigger::Crossing { formula, .. } => parts(formula, out),
        Trigger::At(_) | Trigger::Every { .. } => {}
    }
}

/// Whether a formula of a unit is constant between events: it reads discrete variables only.
pub fn is_discrete(e: &Expr, unit: &Unit) -> bool {
    reads_of(e).into_iter().all(|v| match v {
        Variable::Discrete(..) | Variable::Mode(_) => true,
        Variable::Let(_, k) => unit.lets.get(k).is_some_and(|e| is_discrete(e, unit)),
        _ => false,
    })
}

/// Renumbers the units that variables belong to.
pub struct Renumber<F: FnMut(Variable) -> Variable>(pub F);

impl<F: FnMut(Variable) -> Variable> Rewrite for Renumber<F> {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(v) => Expr::Read((self.0)(v)),
            Expr::Pre(v) => Expr::Pre((self.0)(v)),
            e => e,
        }
    }
}

/// Puts a number in place of a variable.
pub struct Replace(pub Variable, pub f64);

impl Rewrite for Replace {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(v) | Expr::Pre(v) if v == self.0 => Expr::Number(self.1),
            e => e,
        }
    }
}
