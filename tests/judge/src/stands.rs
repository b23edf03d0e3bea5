//! Whether a value that is zero with all its derivatives is at rest, for the judged program, too.
use crate::graph::{Id, Op};
use crate::model::Variable;
use crate::number::Dd;
use crate::sim::{Sim, Stop};
use crate::tape::{ORDER, Series};
use std::collections::HashSet;

/// The nodes that move a node.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    seen: HashSet<Id>,
    /// Units whose states are in it.
    units: HashSet<usize>,
    /// It hears outputs.
    pub(crate) wired: bool,
    /// It reads what is found by solving equations.
    pub(crate) solved: bool,
}

impl<const M: usize> Sim<'_, M> {
    /// Whether a node whose series is zero stays zero. Its terms may be at rest, by equations or because the unit
    /// rests. Where terms that move cancel, the judged program makes an error in each of them, except where they are
    /// polynomials that it follows exactly, in one unit.
    pub(crate) fn stands(&self, z: Id, series: &Series<M>) -> Result<bool, Stop> {
        let mut terms = Vec::new();
        self.terms(z, Dd::ONE, &mut terms);
        terms.retain(|t| t.1 != Dd::ZERO);
        let resting = self.resting(series)?;
        let mut parts = Parts::default();
        for (id, _) in terms {
            if !self.rests(id, &resting, &mut HashSet::new())? {
                self.gather(id, &mut parts);
            }
        }
        if parts.seen.is_empty() {
            return Ok(true);
        }
        if parts.wired || parts.solved || parts.units.len() > 1 {
            return Ok(false);
        }
        let most = self.limits.uncertainty.exact_degree.min(ORDER as u32);
        Ok(self.degree(z).is_some_and(|degree| degree <= most.max(1)))
    }

    /// The branch of a switching node that holds.
    fn branch(&self, op: Op) -> Option<Id> {
        match op {
            Op::If(c, a, b) => Some(if self.sides.holds(&self.sys.graph, c) { a } else { b }),
            Op::Min(a, b, side) => Some(if self.sides.of(side) <= 0 { a } else { b }),
            Op::Max(a, b, side) => Some(if self.sides.of(side) >= 0 { a } else { b }),
            _ => None,
        }
    }

    /// The terms of a sum, with the sides that hold.
    fn terms(&self, id: Id, by: Dd, list: &mut Vec<(Id, Dd)>) {
        let op = self.sys.graph.ops[id as usize];
        let constant = |id: Id| match self.sys.graph.ops[id as usize] {
            Op::Const(bits) => Some(Dd::new(f64::from_bits(bits))),
            _ => None,
        };
        if let Some(branch) = self.branch(op) {
            return self.terms(branch, by, list);
        }
        match op {
            Op::Negate(a) => self.terms(a, -by, list),
            Op::Abs(a, side) => self.terms(a, if self.sides.of(side) < 0 { -by } else { by }, list),
            Op::Add(a, b) => {
                self.terms(a, by, list);
                self.terms(b, by, list);
            }
            Op::Subtract(a, b) => {
                self.terms(a, by, list);
                self.terms(b, -by, list);
            }
            Op::Multiply(a, b) => match (constant(a), constant(b)) {
                (Some(c), _) => self.terms(b, by * c, list),
                (_, Some(c)) => self.terms(a, by * c, list),
                _ => add(list, id, by),
            },
            _ => add(list, id, by),
        }
    }

    /// Slots of the states that are at rest by their equations: no derivative is moved by anything but such states.
    fn resting(&self, series: &Series<M>) -> Result<HashSet<usize>, Stop> {
        let derivatives = self.derivatives();
        let still = |slot: &usize| {
            derivatives[*slot].is_none()
                || series.free[*slot].get(1).is_some_and(|x| x.c == Dd::ZERO)
        };
        let mut resting: HashSet<usize> = (0..self.sys.states).filter(still).collect();
        loop {
            let mut moved = Vec::new();
            for slot in &resting {
                if let Some(id) = derivatives[*slot]
                    && !self.rests(id, &resting, &mut HashSet::new())?
                {
                    moved.push(*slot);
                }
            }
            if moved.is_empty() {
                return Ok(resting);
            }
            moved.iter().for_each(|slot| {
                resting.remove(slot);
            });
        }
    }

    /// Whether nothing moves a node if these states are at rest. A product with a zero at rest is at rest.
    fn rests(
        &self,
        id: Id,
        resting: &HashSet<usize>,
        seen: &mut HashSet<Id>,
    ) -> Result<bool, Stop> {
        if !seen.insert(id) {
            return Ok(true);
        }
        let op = self.sys.graph.ops[id as usize];
        let list: Vec<Id> = match op {
            Op::Read(Variable::Time) => return Ok(false),
            Op::Read(v @ Variable::State(..)) => return Ok(resting.contains(&self.sys.slot(v))),
            Op::Multiply(a, b) => {
                for factor in [a, b] {
                    let zero = self.now(factor)?.c == Dd::ZERO;
                    if zero && self.rests(factor, resting, &mut seen.clone())? {
                        return Ok(true);
                    }
                }
                vec![a, b]
            }
            op => self.below(op),
        };
        for a in list {
            if !self.rests(a, resting, seen)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The nodes that move a node at an instant.
    fn below(&self, op: Op) -> Vec<Id> {
        match op {
            Op::Read(Variable::Algebraic(u, _)) => self.sys.residuals[&u].clone(),
            Op::Read(v @ Variable::Input(..)) => {
                self.sys.wires.get(&v).copied().into_iter().collect()
            }
            op => match self.branch(op) {
                Some(branch) => vec![branch],
                None => op.operands().collect(),
            },
        }
    }

    /// The nodes that move a node, also by way of the derivatives.
    pub(crate) fn parts(&self, id: Id) -> Parts {
        let mut parts = Parts::default();
        self.gather(id, &mut parts);
        parts
    }

    fn gather(&self, id: Id, parts: &mut Parts) {
        if !parts.seen.insert(id) {
            return;
        }
        let op = self.sys.graph.ops[id as usize];
        match op {
            Op::Read(v @ Variable::State(u, _)) => {
                parts.units.insert(u);
                if let Some(derivative) = self.derivatives()[self.sys.slot(v)] {
                    self.gather(derivative, parts);
                }
            }
            Op::Read(Variable::Algebraic(..)) => parts.solved = true,
            Op::Read(v @ Variable::Input(..)) => parts.wired |= self.sys.wires.contains_key(&v),
            _ => {}
        }
        self.below(op).into_iter().for_each(|a| self.gather(a, parts));
    }
}

fn add(list: &mut Vec<(Id, Dd)>, id: Id, by: Dd) {
    match list.iter_mut().find(|t| t.0 == id) {
        Some(t) => t.1 = t.1 + by,
        None => list.push((id, by)),
    }
}
