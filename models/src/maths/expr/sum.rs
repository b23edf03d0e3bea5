//! Expressions as sums: numbers times variables, and whatever else is added.
//!
//! # Why
//! Equations of connected units are solved for variables that stand in them with a constant factor, and put into
//! each other until nothing is left of redundant ones. That works only if equal terms cancel, which the exact
//! rules of [`Graph`](super::graph) do not do.

use std::collections::BTreeMap;

use super::graph::Graph;
use super::op::Op;
use super::scope::VarId;
use super::tree::{Expr, Node, NodeId};

/// Up to here, relative to two terms that cancel, the rest of them is rounding.
const ROUNDING: f64 = 1e-14;

/// A number, variables with their factors, and other expressions with theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub constant: f64,
    pub terms: BTreeMap<VarId, f64>,
    rest: Vec<(f64, Expr)>,
}

fn plus(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.abs() <= ROUNDING * a.abs().max(b.abs()) { 0.0 } else { sum }
}

impl Sum {
    /// The sum that an expression is.
    pub(crate) fn of(expr: &Expr) -> Self {
        let nodes = expr.nodes();
        let mut sum = Self::default();
        // How often each node is added; operands come before the nodes that use them.
        let mut factors = vec![0.0; nodes.len()];
        if let Some(last) = factors.last_mut() {
            *last = 1.0;
        }
        let constant = |id: NodeId| match nodes[id as usize] {
            Node::Const(value) => Some(value),
            _ => None,
        };
        for (k, node) in nodes.iter().enumerate().rev() {
            let factor = factors[k];
            if factor == 0.0 {
                continue;
            }
            match *node {
                Node::Const(value) => sum.constant = plus(sum.constant, factor * value),
                Node::Var(id) => sum.term(id, factor),
                Node::Call(Op::Neg, [a, ..]) => factors[a as usize] -= factor,
                Node::Call(Op::Add, [a, b, _]) => {
                    factors[a as usize] += factor;
                    factors[b as usize] += factor;
                }
                Node::Call(Op::Sub, [a, b, _]) => {
                    factors[a as usize] += factor;
                    factors[b as usize] -= factor;
                }
                Node::Call(op, [a, b, _]) => match (op, constant(a), constant(b)) {
                    (Op::Mul, Some(c), _) => factors[b as usize] += factor * c,
                    (Op::Mul, _, Some(c)) => factors[a as usize] += factor * c,
                    (Op::Div, _, Some(c)) if (factor / c).is_finite() => {
                        factors[a as usize] += factor / c;
                    }
                    _ => sum.rest.push((factor, expr.part_at(k as NodeId))),
                },
                Node::Powi(..) => sum.rest.push((factor, expr.part_at(k as NodeId))),
            }
        }
        sum
    }

    fn term(&mut self, id: VarId, factor: f64) {
        let before = self.terms.get(&id).copied().unwrap_or(0.0);
        match plus(before, factor) {
            0.0 => self.terms.remove(&id),
            sum => self.terms.insert(id, sum),
        };
    }

    /// Adds so many times another sum.
    pub(crate) fn add(&mut self, other: &Self, factor: f64) {
        self.constant = plus(self.constant, factor * other.constant);
        other.terms.iter().for_each(|(id, c)| self.term(*id, factor * c));
        for (c, expr) in &other.rest {
            match self.rest.iter().position(|(_, own)| own.nodes() == expr.nodes()) {
                None => self.rest.push((factor * c, expr.clone())),
                Some(at) => match plus(self.rest[at].0, factor * c) {
                    0.0 => drop(self.rest.remove(at)),
                    sum => self.rest[at].0 = sum,
                },
            }
        }
    }

    /// Puts a sum, which is also given as an expression, in the place of a variable.
    pub(crate) fn put(&mut self, id: VarId, by: &Self, expr: &Expr) {
        if let Some(factor) = self.terms.remove(&id) {
            self.add(by, factor);
        }
        if self.bends(id) {
            for (factor, part) in std::mem::take(&mut self.rest) {
                self.add(&Self::of(&part.substitute(&[(id, expr)])), factor);
            }
        }
    }

    /// The sum that the variable equals where this one is zero; it stands in one term only.
    pub(crate) fn solved_for(mut self, id: VarId) -> Self {
        let factor = self.terms.remove(&id).unwrap_or(1.0);
        let mut solved = Self::default();
        solved.add(&self, -1.0 / factor);
        solved
    }

    /// The first of the expressions that are no variables.
    pub(crate) fn rest(&self) -> Option<&Expr> {
        self.rest.first().map(|(_, expr)| expr)
    }

    /// How often an expression that is no variable is added.
    pub(crate) fn factor(&self, expr: &Expr) -> f64 {
        let found = self.rest.iter().find(|(_, own)| own.nodes() == expr.nodes());
        found.map_or(0.0, |(factor, _)| *factor)
    }

    /// Whether a variable stands in more than a term.
    pub(crate) fn bends(&self, id: VarId) -> bool {
        self.rest.iter().any(|(_, expr)| expr.vars().contains(&id))
    }

    /// The variables on which it depends, in ascending order.
    pub(crate) fn vars(&self) -> Vec<VarId> {
        let mut vars: Vec<VarId> = self.rest.iter().flat_map(|(_, expr)| expr.vars()).collect();
        vars.extend(self.terms.keys());
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// The sum as an expression.
    pub(crate) fn expr(&self) -> Expr {
        let mut graph = Graph::exact();
        graph.algebraic = true;
        let mut root = graph.constant(self.constant);
        let mut add = |graph: &mut Graph, id: NodeId, factor: f64| {
            let size = graph.constant(factor.abs());
            let term = graph.binary(Op::Mul, size, id);
            let op = if factor < 0.0 { Op::Sub } else { Op::Add };
            root = graph.binary(op, root, term);
        };
        for (id, factor) in &self.terms {
            let id = graph.var(*id);
            add(&mut graph, id, *factor);
        }
        for (factor, expr) in &self.rest {
            let id = graph.import(expr)[expr.nodes.len() - 1];
            add(&mut graph, id, *factor);
        }
        graph.finish(root)
    }
}

impl Expr {
    /// The part whose value is that of a node.
    fn part_at(&self, node: NodeId) -> Self {
        let mut graph = Graph::exact();
        let root = graph.import(self)[node as usize];
        graph.finish(root)
    }
}
