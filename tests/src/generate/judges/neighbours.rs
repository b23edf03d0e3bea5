//! Judges that put units beside the model, or a unit into two.
use super::{Case, Judge, Opinion};
use crate::generate::{
    compare::Bounds,
    hybrid::build::{add, neg, num, read, relation, seconds},
    run::{Outcome, Runner},
};
use superdense_judge::model::{Comparison, Condition, Event, Expr, Model, Trigger, Unit, Variable};

/// A unit that has nothing to do with the others, with events of its own, changes nothing.
pub(super) struct Bystander;

fn counter(at: usize, name: &str, trigger: Trigger, k: usize) -> Event {
    let d = Variable::Discrete(at, k);
    Event {
        name: name.into(),
        trigger,
        priority: 0,
        reset: vec![(d, add(read(d), num(1.0)))],
        to: None,
        rest: None,
    }
}

fn bystander(at: usize) -> Unit {
    let x = |k| read(Variable::State(at, k));
    let when = relation(Comparison::AtLeast, x(0), num(0.5));
    let condition = Trigger::When { condition: when, touching: None };
    let every = Trigger::Every { from: seconds(1, 3), every: seconds(1, 3) };
    Unit {
        states: vec![0.0, 1.0],
        discrete: vec![0.0, 0.0],
        derivatives: vec![x(1), neg(x(0))],
        outputs: vec![x(0)],
        events: vec![counter(at, "up", condition, 0), counter(at, "tick", every, 1)],
        ..Unit::default()
    }
}

impl Judge for Bystander {
    fn name(&self) -> &'static str {
        "bystander"
    }
    fn share(&self) -> usize {
        25
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        if case.model.stop.numerator / case.model.stop.denominator > 1_000_000 {
            return Opinion::Skipped("too many events beside it");
        }
        let mut model = case.model.clone();
        let at = model.units.len();
        model.units.push(bystander(at));
        let mut other = case.with(model).run(runner);
        let own = format!("u{at}.");
        other.events.retain(|e| !e.name.starts_with(&own));
        other.values.truncate(base.values.len());
        Opinion::of(base, &other, "with another unit beside it", Bounds::EXACT)
    }
}

/// A unit whose parts have nothing to do with each other becomes two units.
pub(super) struct Split;

/// The variables that a formula of the unit reads, without discrete constants.
fn reads(e: &Expr) -> Vec<Variable> {
    let mut list = Vec::new();
    crate::generate::tree::parts(e, &mut list);
    crate::generate::tree::reads(&list)
}

fn reads_of(c: &Condition) -> Vec<Variable> {
    let mut list = Vec::new();
    crate::generate::tree::parts_of_condition(c, &mut list);
    crate::generate::tree::reads(&list)
}

/// For each group of variables that belong together, its number.
fn groups(unit: &Unit) -> Option<Vec<(Variable, usize)>> {
    let states = (0..unit.states.len()).map(|k| Variable::State(0, k));
    let discrete = (0..unit.discrete.len()).map(|k| Variable::Discrete(0, k));
    let all: Vec<Variable> = states.chain(discrete).collect();
    let mut group: Vec<usize> = (0..all.len()).collect();
    let place = |v: &Variable| all.iter().position(|w| w == v);
    let mut join = |list: Vec<Variable>| {
        let places: Vec<usize> = list.iter().filter_map(place).collect();
        for pair in places.windows(2) {
            let (a, b) = (group[pair[0]], group[pair[1]]);
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
        }
    };
    for (k, e) in unit.derivatives.iter().enumerate() {
        join([vec![Variable::State(0, k)], reads(e)].concat());
    }
    for e in &unit.events {
        let mut list = match &e.trigger {
            Trigger::When { condition, .. } => reads_of(condition),
            Trigger::Crossing { formula, .. } => reads(formula),
            _ => Vec::new(),
        };
        for (v, to) in &e.reset {
            list.push(*v);
            list.extend(reads(to));
        }
        list.extend(e.rest.iter().flat_map(|r| r.values.iter().map(|v| v.0)));
        join(list);
    }
    let first = *group.first()?;
    group.iter().any(|g| *g != first).then(|| all.into_iter().zip(group).collect())
}

/// Moves what does not belong to the first state to a second unit.
fn split(model: &Model) -> Option<Model> {
    let [unit] = &model.units[..] else { return None };
    if !unit.modes.is_empty() || !unit.algebraic.is_empty() || !unit.lets.is_empty() {
        return None;
    }
    if unit.events.iter().any(|e| e.rest.is_some()) {
        // Rest stops all states of a unit.
        return None;
    }
    let groups = groups(unit)?;
    let first = groups[0].1;
    let stays = |v: &Variable| groups.iter().find(|g| g.0 == *v).is_none_or(|g| g.1 == first);
    let moved = |e: &Expr| reads(e).iter().any(|v| !stays(v));
    let event_moved = |e: &Event| match (&e.trigger, e.reset.first()) {
        (_, Some((v, _))) => !stays(v),
        (Trigger::Crossing { formula, .. }, None) => moved(formula),
        (Trigger::When { condition, .. }, None) => reads_of(condition).iter().any(|v| !stays(v)),
        _ => false,
    };
    // Variables keep their numbers; what is not there has no equations and rests.
    let mut units = [unit.clone(), unit.clone()];
    for (at, unit) in units.iter_mut().enumerate() {
        for (k, d) in unit.derivatives.iter_mut().enumerate() {
            if stays(&Variable::State(0, k)) != (at == 0) {
                *d = num(0.0);
            }
        }
        unit.events.retain(|e| event_moved(e) == (at == 1));
        unit.outputs.retain(|e| moved(e) == (at == 1));
    }
    let [mut a, mut b] = units;
    if a.events.is_empty() || b.events.is_empty() {
        return None;
    }
    let mut second = Model { units: vec![b], ..model.clone() };
    let mut renumber = crate::generate::tree::Renumber(|v| match v {
        Variable::State(_, k) => Variable::State(1, k),
        Variable::Discrete(_, k) => Variable::Discrete(1, k),
        v => v,
    });
    crate::generate::tree::rewrite(&mut second, &mut renumber);
    b = second.units.remove(0);
    for e in &mut b.events {
        e.reset.iter_mut().for_each(|r| r.0 = (renumber.0)(r.0));
        e.rest.iter_mut().flat_map(|r| &mut r.values).for_each(|v| v.0 = (renumber.0)(v.0));
    }
    a.outputs.shrink_to_fit();
    Some(Model { units: vec![a, b], ..model.clone() })
}

impl Judge for Split {
    fn name(&self) -> &'static str {
        "split"
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let Some(model) = split(&case.model) else {
            return Opinion::Skipped("cannot be divided");
        };
        let other = case.with(model.clone());
        // Names and outputs as in one unit.
        let moved: Vec<String> =
            model.units[1].events.iter().map(|e| format!("u1.{}", e.name)).collect();
        let order: Vec<usize> = {
            let unit = &case.model.units[0];
            let here = |e: &Expr| model.units[0].outputs.contains(e);
            let n = model.units[0].outputs.len();
            let (mut i, mut j) = (0, n);
            unit.outputs
                .iter()
                .map(|e| {
                    if here(e) {
                        i += 1;
                        i - 1
                    } else {
                        j += 1;
                        j - 1
                    }
                })
                .collect()
        };
        let rename = |mut run: Outcome| {
            for e in &mut run.events {
                if moved.contains(&e.name) {
                    e.name.replace_range(..2, "u0");
                }
            }
            if run.values.len() == order.len() {
                run.values = order.iter().map(|&k| run.values[k]).collect();
            }
            run
        };
        super::rounding::compare_mapped(case, base, &other, runner, "as two units", &rename)
    }
}
