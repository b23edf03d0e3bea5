//! A judge that puts a unit beside the model.
use super::{Case, Judge, Opinion};
use crate::generate::{
    compare::Bounds,
    hybrid::build::{add, neg, num, read, relation, seconds},
    run::{Outcome, Runner},
};
use superdense_judge::model::{Comparison, Event, Trigger, Unit, Variable};

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
