//! Additions to models, from a stream of their own: values before the cycle in resets, and
//! named formulas.
use super::build::{read, sub};
use crate::generate::{
    named,
    random::Random,
    tree::{self, Rewrite},
};
use superdense_judge::model::{Expr, Model, Unit, Variable};

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
}
