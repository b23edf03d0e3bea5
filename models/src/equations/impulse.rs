//! Jumps of what is rigidly connected.
//!
//! # Why
//! Two capacitors in series share the voltage of an ideal source. Where an event lets the source jump, an impulse of
//! current goes through both, and each takes its part of the jump, so that no charge is lost between them (the
//! impulsive motion of singular systems: Verghese, Lévy & Kailath 1981). Elimination leaves one of the two as a state. How
//! much of the jump it takes is how much its rate changes with the rate of what jumps in the constraint: the equations of
//! connected units are linear in rates, and an impulse is a rate beyond all others.
use super::{formulas::Formulas, joined::Joined};
use crate::maths::expr::{Expr, Node, Sum, VarId};

/// From here on variables stand for the rates at which constraints jump.
const RATES: u32 = 1 << 27;

/// The variable of the rate at which constraint `k` jumps.
pub(super) fn rate(k: usize) -> VarId {
    VarId(RATES + k as u32)
}

/// A constraint by which a state was eliminated.
pub(super) struct Constraint {
    /// The eliminated state.
    pub state: VarId,
    /// The constraint when it was eliminated: a sum that is zero.
    pub zero: Sum,
}

/// How states that remain answer to the jump of a constraint.
pub(super) struct Jump {
    /// The constraint, a sum that is zero and jumps, over the variables as they were before elimination.
    zero: Expr,
    /// States by name, with the shares of the jump that they take.
    shares: Vec<(String, Expr)>,
}

/// Why jumps of a constraint, by number, do not divide.
pub(super) struct Indivisible {
    pub constraint: usize,
    /// Whether it jumps where something switches, and not by what an event assigns.
    pub switches: bool,
}

/// Which variables may jump, and which move.
pub(super) struct Kinds<'a> {
    pub is_assigned: &'a dyn Fn(VarId) -> bool,
    pub moves: &'a dyn Fn(VarId) -> bool,
}

/// The jumps of constraints. `field` has the rates of the states that remain, by name; `others` is
/// what remains beside, in which a rate of a jump is more than its share.
pub(super) fn jumps(
    constraints: &[Constraint],
    field: &[(&str, &Sum)],
    others: &[&Sum],
    kinds: &Kinds<'_>,
) -> Result<Vec<Jump>, Indivisible> {
    let mut all = Vec::new();
    for (k, constraint) in constraints.iter().enumerate() {
        let zero = constraint.zero.expr();
        let assigned = zero.vars().iter().any(|v| (kinds.is_assigned)(*v));
        let switches = jumps_by(&zero, kinds.moves);
        if !assigned && !switches {
            continue;
        }
        let reads = |sum: &Sum| sum.vars().contains(&rate(k));
        let answers: Vec<_> = field.iter().filter(|(_, sum)| reads(sum)).collect();
        let divides = !others.iter().any(|sum| reads(sum));
        if answers.is_empty() && divides {
            continue;
        }
        if switches || !divides {
            return Err(Indivisible { constraint: k, switches });
        }
        let share =
            |(name, sum): &&(&str, &Sum)| ((*name).to_owned(), sum.expr().differentiate(rate(k)));
        all.push(Jump { zero, shares: answers.iter().map(share).collect() });
    }
    Ok(all)
}

/// Whether an expression may jump while these variables move.
fn jumps_by(expr: &Expr, moves: &dyn Fn(VarId) -> bool) -> bool {
    let nodes = expr.nodes();
    let mut moving = vec![false; nodes.len()];
    let mut found = false;
    for (k, node) in nodes.iter().enumerate() {
        moving[k] = match node {
            Node::Var(v) => moves(*v),
            other => other.operands().iter().any(|a| moving[*a as usize]),
        };
        let jumps = matches!(node, Node::Call(op, _) if op.jumps());
        found |= jumps && moving[k];
    }
    found
}

impl Jump {
    /// The shares that an event adds to states, by their places, where it gives `targets` new `values`.
    fn added(
        &self,
        joined: &Joined,
        formulas: &Formulas,
        (targets, values): (&[usize], &[Expr]),
    ) -> Vec<(usize, Expr)> {
        let here = |expr: &Expr| joined.renumbered(expr, |name| formulas.symbol(name));
        let before = here(&self.zero);
        let (read, discrete) = (before.vars(), formulas.dims.first_discrete());
        // States that the event sets as well have their own new values: only discrete values jump in the constraint.
        let jumps = |(v, _): &(VarId, &Expr)| v.0 as usize >= discrete && read.contains(v);
        let new = targets.iter().zip(values).map(|(v, x)| (VarId(*v as u32), x));
        let new: Vec<(VarId, &Expr)> = new.filter(jumps).collect();
        if new.is_empty() {
            return Vec::new();
        }
        let after = before.substitute(&new);
        let share = |(name, share): &(String, Expr)| {
            let place = formulas.targets.get(name).copied()?;
            let by = [("share", &here(share)), ("after", &after), ("before", &before)];
            Some((place, formulas.without_helpers(&Expr::of("share*(after - before)", &by))))
        };
        self.shares.iter().filter_map(share).collect()
    }
}

impl Joined {
    /// Lets states take their shares of jumps of constraints in an event that gives `targets` new `values`.
    pub(super) fn divide(
        &self,
        formulas: &Formulas,
        targets: &mut Vec<usize>,
        values: &mut Vec<Expr>,
    ) {
        let given = (targets.clone(), values.clone());
        for jump in &self.jumps {
            for (place, added) in jump.added(self, formulas, (&given.0, &given.1)) {
                let known = targets.iter().position(|target| *target == place);
                let k = known.unwrap_or_else(|| {
                    targets.push(place);
                    values.push(Expr::var(VarId(place as u32)));
                    targets.len() - 1
                });
                values[k] = Expr::of("x + added", &[("x", &values[k]), ("added", &added)]);
            }
        }
    }
}
