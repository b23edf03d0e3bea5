//! Additions to models, from a stream of their own: values before the cycle in resets, and
//! named formulas.
use super::build::{binary, mul, num, read, sub, unary};
use crate::generate::{
    named,
    random::Random,
    tree::{self, Rewrite},
};
use superdense_judge::model::{
    Binary, Comparison, Condition, Event, Expr, Model, Switching, Trigger, Unary, Unit, Variable,
};

/// Reads values before the cycle at some places.
struct Before<'a>(&'a mut Random);

impl Rewrite for Before<'_> {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(
                v @ (Variable::State(..) | Variable::Discrete(..) | Variable::Input(..)),
            ) if self.0.chance(40) => Expr::Pre(v),
            e => e,
        }
    }
}

/// Resets of some events read values before the cycle, and keep one.
fn before(random: &mut Random, at: usize, unit: &mut Unit) {
    let states = unit.states.len();
    let mut kept = unit.discrete.len();
    let inputs = unit.inputs.len();
    tree::each_event(unit, &mut |e| {
        if random.chance(50) {
            for (_, to) in &mut e.reset {
                let old = std::mem::replace(to, Expr::Number(0.0));
                *to = tree::expression(old, &mut Before(random));
            }
        }
        if random.chance(40) {
            let v = match random.below(4) {
                0 if inputs > 0 => Variable::Input(at, random.below(inputs)),
                1 => Variable::Discrete(at, random.below(kept)),
                _ if states > 0 => Variable::State(at, random.below(states)),
                _ => Variable::Discrete(at, random.below(kept)),
            };
            let value = match random.below(2) {
                0 => Expr::Pre(v),
                _ => sub(read(v), Expr::Pre(v)),
            };
            e.reset.push((Variable::Discrete(at, kept), value));
            kept += 1;
        }
    });
    for k in unit.discrete.len()..kept {
        unit.discrete.push(0.0);
        unit.outputs.push(read(Variable::Discrete(at, k)));
    }
}

/// A level that rises through the edge of a valve, behind which the flow begins as a root, and an event there.
fn valve(random: &mut Random, at: usize, unit: &mut Unit) {
    let x = || read(Variable::State(at, unit.states.len()));
    let opened = Variable::Discrete(at, unit.discrete.len());
    let (inflow, flow) = (random.pick(&[1.0, 0.5, 0.25]), random.pick(&[0.25, 0.5, 0.8]));
    let root = unary(Unary::Sqrt, binary(Binary::Max, x(), num(0.0)));
    let how = random.pick(&[Comparison::Greater, Comparison::AtLeast]);
    let condition = Condition::Relation(how, x(), num(0.0));
    let event = Event {
        name: format!("open{at}"),
        trigger: Trigger::When { condition, touching: None },
        priority: 0,
        reset: vec![(opened, Expr::Number(1.0))],
        to: None,
        rest: None,
    };
    // It moves on: what rests names it, too.
    let start = random.pick(&[-0.5, -1.0, -0.125]);
    let level = Variable::State(at, unit.states.len());
    unit.events
        .iter_mut()
        .filter_map(|e| e.rest.as_mut())
        .for_each(|rest| rest.values.push((level, start)));
    unit.derivatives.push(sub(num(inflow), mul(num(flow), root)));
    unit.outputs.extend([x(), read(opened)]);
    unit.states.push(start);
    unit.discrete.push(0.0);
    if random.chance(50) {
        unit.events.push(event);
    }
}

/// Adds them to some models.
pub(super) fn extras(random: &mut Random, model: &mut Model) {
    if random.chance(20) {
        for (at, unit) in model.units.iter_mut().enumerate() {
            if !unit.discrete.is_empty() {
                before(random, at, unit);
            }
        }
    }
    if random.chance(15) {
        for u in 0..model.units.len() {
            for _ in 0..random.below(3) {
                named::name_a_part(random, model, u, 80);
            }
        }
    }
    // A level goes on to move for ever, and methods with steps of some seconds would make a billion of these.
    if random.chance(6) && !tree::is_late(model) {
        let mut plain = model.units.iter_mut().enumerate().filter(|(_, u)| {
            u.modes.is_empty() && u.algebraic.is_empty() && u.switching == Switching::Located
        });
        if let Some((at, unit)) = plain.next() {
            valve(random, at, unit);
        }
    }
}
