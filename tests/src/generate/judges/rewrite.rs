//! Judges that write the same model in another way, so that the same arithmetic is done.
use super::{Case, Judge, Opinion, rounding};
use crate::generate::{
    compare::Bounds,
    excluded,
    hybrid::build::{add, mul, num, read, relation},
    named,
    run::{Outcome, Runner},
    settings::Method,
    tree::{self, Rewrite},
};
use superdense_judge::model::{Comparison, Condition, Expr, Model, Trigger, Unit, Variable};

/// Whether conditions of the model may stand under `not`.
fn may_be_negated(model: &Model) -> bool {
    let equal = |unit: &Unit| {
        tree::events(unit).any(|e| match &e.trigger {
            Trigger::When { condition, .. } => excluded::has_moving_equality(condition, unit),
            _ => false,
        })
    };
    !model.units.iter().any(equal)
}

fn not(c: Condition) -> Condition {
    match c {
        Condition::Not(c) => *c,
        c => Condition::Not(Box::new(c)),
    }
}

fn judged(case: &Case, base: &Outcome, runner: &Runner, model: Model, what: &str) -> Opinion {
    judged_as((case, base), runner, model, what, Outcome::clone)
}

/// Compares what is seen of both runs.
fn judged_as(
    (case, base): (&Case, &Outcome),
    runner: &Runner,
    model: Model,
    what: &str,
    seen: fn(&Outcome) -> Outcome,
) -> Opinion {
    if model == case.model {
        return Opinion::Skipped("nothing to rewrite");
    }
    // Under `auto` a rewritten model may be solved by another method.
    if case.settings.method == Method::Auto {
        return rounding::compare(case, base, &case.with(model), runner, what, &|t| t);
    }
    let other = case.with(model.clone()).run(runner);
    let fine = if case.model.links.is_empty() { FINEST } else { FINE };
    // Sides that are looked at may cut steps.
    let values = Bounds::EXACT.values.max(case.settings.error());
    match Opinion::of(&seen(base), &seen(&other), what, Bounds { values, ..Bounds::EXACT }) {
        // Events that come ever faster end where a rounding says so.
        Opinion::Disagrees(_) if [base, &other].iter().any(|run| rounding::accumulates(run, 4)) => {
            Opinion::Undecided("events accumulate".into())
        }
        // A condition of a link that reads more has its members hear more, which cuts steps: their errors are ticks there.
        Opinion::Disagrees(_) if case.model.resolution >= fine => {
            rounding::compare(case, base, &case.with(model), runner, what, &|t| t)
        }
        opinion => opinion,
    }
}

/// Ticks of 10⁻¹² s and below are shorter than errors of steps, which matter where members of a link agree on a tick.
const FINE: u32 = 12;
/// Ticks of 10⁻¹⁵ s are a few roundings of a second.
const FINEST: u32 = 15;

/// `a and b` is `not (not a or not b)`, and the other way round.
pub(super) struct DeMorgan;

impl Rewrite for DeMorgan {
    fn condition(&mut self, c: Condition) -> Condition {
        let each = |l: Vec<Condition>| l.into_iter().map(not).collect();
        match c {
            Condition::And(list) => Condition::Not(Box::new(Condition::Or(each(list)))),
            Condition::Or(list) => Condition::Not(Box::new(Condition::And(each(list)))),
            c => c,
        }
    }
}

impl Judge for DeMorgan {
    fn name(&self) -> &'static str {
        "de-morgan"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        if !may_be_negated(&case.model) {
            return Opinion::Skipped("equality of values that move");
        }
        let mut model = case.model.clone();
        tree::rewrite(&mut model, &mut DeMorgan);
        judged(case, base, runner, model, "with the conditions rewritten by De Morgan")
    }
}

/// `a >= b` is `not a < b`.
pub(super) struct Negation;

impl Rewrite for Negation {
    fn condition(&mut self, c: Condition) -> Condition {
        let Condition::Relation(how, a, b) = c else { return c };
        let opposite = match how {
            Comparison::Less => Comparison::AtLeast,
            Comparison::AtMost => Comparison::Greater,
            Comparison::Greater => Comparison::AtMost,
            Comparison::AtLeast => Comparison::Less,
            Comparison::Equal | Comparison::NotEqual => return Condition::Relation(how, a, b),
        };
        Condition::Not(Box::new(Condition::Relation(opposite, a, b)))
    }
}

impl Judge for Negation {
    fn name(&self) -> &'static str {
        "negation"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let mut model = case.model.clone();
        tree::rewrite(&mut model, &mut Negation);
        judged(case, base, runner, model, "with `not a < b` for `a >= b`")
    }
}

/// A conjunct that is always true and a disjunct that is always false change nothing.
pub(super) struct Conjunct;

/// Discrete variables that nothing sets, as the last of each unit.
fn constants(model: &mut Model) -> Vec<Expr> {
    let mut list = Vec::new();
    for (u, unit) in model.units.iter_mut().enumerate() {
        list.push(read(Variable::Discrete(u, unit.discrete.len())));
        unit.discrete.push(0.0);
    }
    list
}

/// Without the micro-steps of links, and of what follows on them at their instant; the order stays.
fn links_at_instants(run: &Outcome) -> Outcome {
    let mut run = run.clone();
    let mut linked = None;
    for event in &mut run.events {
        if !event.name.contains('.') {
            linked = Some(event.tick);
        }
        if linked == Some(event.tick) {
            event.micro = 0;
        }
    }
    run
}

fn extended(c: Condition, q: &Expr, how: usize) -> Condition {
    let above = |x| relation(Comparison::Greater, q.clone(), num(x));
    let extra = match how {
        0 => above(-1.0),
        1 => Condition::Or(vec![above(-1.0), above(5.0)]),
        2 => not(Condition::And(vec![above(-1.0), above(0.0)])),
        _ => {
            let mut list = match c {
                Condition::Or(list) => list,
                c => vec![c],
            };
            list.push(above(0.0));
            return Condition::Or(list);
        }
    };
    let mut list = match c {
        Condition::And(list) => list,
        c => vec![c],
    };
    list.push(extra);
    Condition::And(list)
}

impl Judge for Conjunct {
    fn name(&self) -> &'static str {
        "conjunct"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let mut random = case.choices("conjunct");
        let how = random.below(if may_be_negated(&case.model) { 4 } else { 2 });
        let mut model = case.model.clone();
        let q = constants(&mut model);
        let take = |c: &mut Condition| std::mem::replace(c, Condition::And(Vec::new()));
        let mut changed = false;
        for (unit, q) in model.units.iter_mut().zip(&q) {
            tree::each_event(unit, &mut |e| {
                if let Trigger::When { condition, .. } = &mut e.trigger {
                    *condition = extended(take(condition), q, how);
                    changed = true;
                }
            });
        }
        for link in &mut model.links {
            link.when = extended(take(&mut link.when), &q[link.units[0]], how);
            changed = true;
        }
        if !changed {
            return Opinion::Skipped("no condition");
        }
        let what = [
            "`and q > -1`",
            "`and (q > -1 or q > 5)`",
            "`and not (q > -1 and q > 0)`",
            "`or q > 0`",
        ];
        let what = format!("with {}, q = 0, at each condition", what[how]);
        // No rule says how many micro-steps members need to hear of each other.
        judged_as((case, base), runner, model, &what, links_at_instants)
    }
}

/// A part of a formula that gets a name (`let`), or is written out, changes nothing.
pub(super) struct Named;

impl Judge for Named {
    fn name(&self) -> &'static str {
        "named"
    }
    fn share(&self) -> usize {
        25
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let mut model = named::inlined(&case.model);
        if model != case.model {
            return judged(case, base, runner, model, "with the named formulas written out");
        }
        let mut random = case.choices("named");
        for u in 0..model.units.len() {
            named::name_a_part(&mut random, &mut model, u, 60);
        }
        judged(case, base, runner, model, "with names for parts of formulas")
    }
}

/// So many micro-steps in a row may halve a value down to zero.
const HALVINGS: u32 = 500;

/// States are counted in another unit of measure, a power of two.
pub(super) struct Scale;

/// Puts `s*x` in place of each state x.
pub(super) struct Scaled(pub f64);

impl Rewrite for Scaled {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(v @ Variable::State(..)) => mul(num(1.0 / self.0), read(v)),
            Expr::Pre(v @ Variable::State(..)) => mul(num(1.0 / self.0), Expr::Pre(v)),
            e => e,
        }
    }
}

/// Rewrites what states are set to: starts, resets and values of rest.
pub(super) fn map_states(
    model: &mut Model,
    number: &dyn Fn(f64) -> f64,
    formula: &dyn Fn(Expr) -> Expr,
) {
    let take = |e: &mut Expr| std::mem::replace(e, Expr::Number(0.0));
    for unit in &mut model.units {
        unit.states.iter_mut().for_each(|x| *x = number(*x));
        tree::each_event(unit, &mut |e| {
            for (v, to) in &mut e.reset {
                if matches!(v, Variable::State(..)) {
                    *to = formula(take(to));
                }
            }
            for (v, x) in e.rest.iter_mut().flat_map(|r| &mut r.values) {
                if matches!(v, Variable::State(..)) {
                    *x = number(*x);
                }
            }
        });
    }
    for (v, to) in model.links.iter_mut().flat_map(|l| &mut l.reset) {
        if matches!(v, Variable::State(..)) {
            *to = formula(take(to));
        }
    }
}

/// Rewrites all derivatives.
pub(super) fn map_derivatives(model: &mut Model, f: &dyn Fn(Expr) -> Expr) {
    let take = |e: &mut Expr| std::mem::replace(e, Expr::Number(0.0));
    for unit in &mut model.units {
        let modes =
            unit.modes.iter_mut().flat_map(|m| m.derivatives.iter_mut().flatten().flatten());
        unit.derivatives.iter_mut().chain(modes).for_each(|e| *e = f(take(e)));
    }
}

impl Judge for Scale {
    fn name(&self) -> &'static str {
        "scale"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        if case.model.units.iter().any(|u| !u.algebraic.is_empty()) {
            return Opinion::Skipped("algebraic variables have tolerances of their own");
        }
        if base.events.iter().any(|e| e.micro > HALVINGS) {
            return Opinion::Undecided("values that become as small as numbers can be".into());
        }
        let s = case.choices("scale").pick(&[0.125, 32.0, 1024.0]);
        let mut model = case.model.clone();
        tree::rewrite(&mut model, &mut Scaled(s));
        map_states(&mut model, &|x| s * x, &|e| mul(num(s), e));
        map_derivatives(&mut model, &|e| mul(num(s), e));
        let mut other = case.with(model);
        other.settings.absolute *= s;
        let what = format!("with states {s} times as large");
        // Steps and quanta differ in their last bits, and may be others then.
        rounding::compare(case, base, &other, runner, &what, &|t| t)
    }
}

/// Puts `x - c` in place of each state x.
pub(super) struct Shifted(pub f64);

impl Rewrite for Shifted {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(v @ Variable::State(..)) => add(read(v), num(-self.0)),
            Expr::Pre(v @ Variable::State(..)) => add(Expr::Pre(v), num(-self.0)),
            e => e,
        }
    }
}
