//! The builder of expressions: equal nodes are made once, constants are folded.
//!
//! # Why
//! Two levels of simplification. *Exact* rules never change a bit of any result; they are applied
//! to what people write, so that a formula is computed in the order in which it stands. *Algebraic*
//! rules (0 x = 0, x - x = 0, ...) hold for real numbers only; derivatives need them to stay small.

use std::collections::HashMap;
use std::sync::Arc;

use super::op::{Op, apply, powi};
use super::scope::VarId;
use super::tree::{Expr, Node, NodeId, Origin};

/// Whole exponents up to this are multiplied out: x^n then costs less than a call of `pow` and is
/// smooth at 0 for Taylor series, at an error of at most n/2 units in the last place.
pub(super) const MAX_POWI: i32 = 32;

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Const(u64),
    Var(VarId),
    Powi(NodeId, i32),
    Call(Op, [NodeId; 3]),
}

pub(super) struct Graph {
    pub nodes: Vec<Node>,
    pub origins: Vec<Origin>,
    pub sources: Vec<Arc<str>>,
    index: HashMap<Key, NodeId>,
    /// Whether to apply the algebraic rules as well.
    pub algebraic: bool,
    /// Origin of the nodes that are made next.
    pub here: Origin,
}

impl Graph {
    pub(super) fn exact() -> Self {
        Self {
            nodes: Vec::new(),
            origins: Vec::new(),
            sources: Vec::new(),
            index: HashMap::new(),
            algebraic: false,
            here: Origin::default(),
        }
    }

    /// The number of a source text.
    pub(super) fn source(&mut self, text: &Arc<str>) -> u32 {
        let known = self.sources.iter().position(|s| Arc::ptr_eq(s, text) || s == text);
        let number = known.unwrap_or_else(|| {
            self.sources.push(Arc::clone(text));
            self.sources.len() - 1
        });
        u32::try_from(number).expect("fewer than 2^32 sources")
    }

    fn intern(&mut self, key: Key, node: Node) -> NodeId {
        let next = NodeId::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        *self.index.entry(key).or_insert_with(|| {
            self.nodes.push(node);
            self.origins.push(self.here);
            next
        })
    }

    pub(super) fn constant(&mut self, value: f64) -> NodeId {
        self.intern(Key::Const(value.to_bits()), Node::Const(value))
    }

    pub(super) fn truth(&mut self, holds: bool) -> NodeId {
        self.constant(if holds { 1.0 } else { 0.0 })
    }

    pub(super) fn var(&mut self, id: VarId) -> NodeId {
        self.intern(Key::Var(id), Node::Var(id))
    }

    pub(super) fn powi(&mut self, x: NodeId, n: i32) -> NodeId {
        match (n, self.nodes[x as usize]) {
            // IEEE 754: also for NaN.
            (0, _) => return self.constant(1.0),
            (1, _) => return x,
            (_, Node::Const(value)) => {
                let value = powi(&value, n);
                if value.is_finite() {
                    return self.constant(value);
                }
            }
            (_, Node::Powi(y, m)) if self.algebraic => {
                if let Some(nm) = n.checked_mul(m).filter(|nm| nm.abs() <= MAX_POWI) {
                    return self.powi(y, nm);
                }
            }
            _ => {}
        }
        self.intern(Key::Powi(x, n), Node::Powi(x, n))
    }

    pub(super) fn unary(&mut self, op: Op, a: NodeId) -> NodeId {
        self.call(op, [a; 3])
    }

    pub(super) fn binary(&mut self, op: Op, a: NodeId, b: NodeId) -> NodeId {
        self.call(op, [a, b, a])
    }

    pub(super) fn select(&mut self, condition: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        self.call(Op::Select, [condition, yes, no])
    }

    /// The node for `op`, simplified. Operands beyond the arity must repeat the first.
    pub(super) fn call(&mut self, op: Op, args: [NodeId; 3]) -> NodeId {
        // Before folding, so that constants are raised to powers as variables are.
        if op == Op::Pow
            && let Some(exponent) = self.as_const(args[1])
            && let Some(simpler) = self.simplify_power(args[0], exponent)
        {
            return simpler;
        }
        if let Some(known) = self.fold(op, args) {
            return known;
        }
        if let Some(simpler) = self.simplify_exactly(op, args) {
            return simpler;
        }
        if self.algebraic
            && let Some(simpler) = self.simplify(op, args)
        {
            return simpler;
        }
        let [a, b, _] = args;
        let key = if op.commutes() { [a.min(b), a.max(b), a.min(b)] } else { args };
        self.intern(Key::Call(op, key), Node::Call(op, args))
    }

    pub(super) fn as_const(&self, id: NodeId) -> Option<f64> {
        match self.nodes[id as usize] {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn as_constant(&self, id: NodeId) -> Option<f64> {
        match self.nodes[id as usize] {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn as_var(&self, id: NodeId) -> Option<VarId> {
        match self.nodes[id as usize] {
            Node::Var(id) => Some(id),
            _ => None,
        }
    }

    /// Constant operands give a constant, unless it is not finite: then the operation is left to
    /// the run, whose diagnostics can name it.
    fn fold(&mut self, op: Op, args: [NodeId; 3]) -> Option<NodeId> {
        let mut values = [0.0; 3];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = self.as_const(arg)?;
        }
        let value = apply(op, [0, 1, 2], &values);
        value.is_finite().then(|| self.constant(value))
    }

    fn simplify_exactly(&mut self, op: Op, [a, b, c]: [NodeId; 3]) -> Option<NodeId> {
        let (ca, cb) = (self.as_const(a), self.as_const(b));
        let negated = |id: NodeId| match self.nodes[id as usize] {
            Node::Call(Op::Neg, [inner, ..]) => Some(inner),
            _ => None,
        };
        match op {
            Op::Neg => negated(a),
            Op::Not => match self.nodes[a as usize] {
                Node::Call(Op::Not, [inner, ..]) => Some(inner),
                _ => None,
            },
            Op::Add => match (negated(a), negated(b)) {
                (_, Some(b)) => Some(self.binary(Op::Sub, a, b)),
                (Some(a), None) => Some(self.binary(Op::Sub, b, a)),
                _ => None,
            },
            Op::Sub if cb.is_some_and(|b| b.to_bits() == 0) => Some(a),
            Op::Sub => negated(b).map(|b| self.binary(Op::Add, a, b)),
            Op::Mul => match (ca, cb) {
                (Some(1.0), _) => Some(b),
                (_, Some(1.0)) => Some(a),
                (Some(-1.0), _) => Some(self.unary(Op::Neg, b)),
                (_, Some(-1.0)) => Some(self.unary(Op::Neg, a)),
                _ => None,
            },
            Op::Div => match cb {
                Some(1.0) => Some(a),
                Some(-1.0) => Some(self.unary(Op::Neg, a)),
                _ => None,
            },
            Op::And | Op::Or => {
                // The operand that decides alone: false for `and`, true for `or`.
                let decides = if op == Op::And { 0.0 } else { 1.0 };
                match (ca, cb) {
                    (Some(v), _) => Some(if v == decides { a } else { b }),
                    (_, Some(v)) => Some(if v == decides { b } else { a }),
                    _ if a == b => Some(a),
                    _ => None,
                }
            }
            Op::Select => match ca {
                Some(0.0) => Some(c),
                Some(_) => Some(b),
                None => (b == c).then_some(b),
            },
            _ => None,
        }
    }

    /// Small whole exponents are multiplied out and half ones are square roots.
    fn simplify_power(&mut self, x: NodeId, exponent: f64) -> Option<NodeId> {
        if exponent == 0.5 {
            return Some(self.unary(Op::Sqrt, x));
        }
        if exponent == -0.5 {
            let (one, root) = (self.constant(1.0), self.unary(Op::Sqrt, x));
            return Some(self.binary(Op::Div, one, root));
        }
        let small = exponent.fract() == 0.0 && exponent.abs() <= f64::from(MAX_POWI);
        #[allow(clippy::cast_possible_truncation, reason = "a whole number of at most MAX_POWI")]
        small.then(|| self.powi(x, exponent as i32))
    }

    /// Rules that hold for real numbers, not for every bit pattern.
    fn simplify(&mut self, op: Op, [a, b, _]: [NodeId; 3]) -> Option<NodeId> {
        let (ca, cb) = (self.as_const(a), self.as_const(b));
        let (na, nb) = (self.nodes[a as usize], self.nodes[b as usize]);
        match op {
            Op::Add if ca == Some(0.0) => Some(b),
            Op::Add | Op::Sub if cb == Some(0.0) => Some(a),
            Op::Add if a == b => {
                let two = self.constant(2.0);
                Some(self.binary(Op::Mul, two, a))
            }
            Op::Sub if ca == Some(0.0) => Some(self.unary(Op::Neg, b)),
            Op::Sub if a == b => Some(self.constant(0.0)),
            Op::Neg => match na {
                Node::Call(Op::Sub, [x, y, _]) => Some(self.binary(Op::Sub, y, x)),
                Node::Call(Op::Mul, [x, y, _]) => {
                    let c = self.as_const(x)?;
                    let c = self.constant(-c);
                    Some(self.binary(Op::Mul, c, y))
                }
                _ => None,
            },
            Op::Mul if ca == Some(0.0) || cb == Some(0.0) => Some(self.constant(0.0)),
            // Constants go first, where the next rules find them.
            Op::Mul if cb.is_some() && ca.is_none() => Some(self.binary(Op::Mul, b, a)),
            Op::Mul => self.simplify_product(a, b),
            Op::Div if ca == Some(0.0) => Some(self.constant(0.0)),
            Op::Div => match (na, nb) {
                (Node::Call(Op::Neg, [x, ..]), _) => {
                    let quotient = self.binary(Op::Div, x, b);
                    Some(self.unary(Op::Neg, quotient))
                }
                (_, Node::Call(Op::Neg, [y, ..])) => {
                    let quotient = self.binary(Op::Div, a, y);
                    Some(self.unary(Op::Neg, quotient))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn simplify_product(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let power = |node: Node, id: NodeId| match node {
            Node::Powi(x, n) => (x, n),
            _ => (id, 1),
        };
        match (self.nodes[a as usize], self.nodes[b as usize]) {
            (Node::Const(c), Node::Call(Op::Neg, [y, ..])) => {
                let c = self.constant(-c);
                Some(self.binary(Op::Mul, c, y))
            }
            (Node::Const(c), Node::Call(Op::Mul, [x, y, _])) => {
                let product = c * self.as_const(x)?;
                let product = product.is_finite().then(|| self.constant(product))?;
                Some(self.binary(Op::Mul, product, y))
            }
            (Node::Call(Op::Neg, [x, ..]), _) => {
                let product = self.binary(Op::Mul, x, b);
                Some(self.unary(Op::Neg, product))
            }
            (_, Node::Call(Op::Neg, [y, ..])) => {
                let product = self.binary(Op::Mul, a, y);
                Some(self.unary(Op::Neg, product))
            }
            (na, nb) => {
                let ((x, n), (y, m)) = (power(na, a), power(nb, b));
                // Only with equal signs: x x^-1 is not 1 at 0.
                let joined = x == y && (n > 0) == (m > 0) && (n + m).abs() <= MAX_POWI;
                joined.then(|| self.powi(x, n + m))
            }
        }
    }

    /// Brings all nodes of `expr` in; gives their numbers here.
    pub(super) fn import(&mut self, expr: &Expr) -> Vec<NodeId> {
        let sources: Vec<u32> = expr.sources.iter().map(|text| self.source(text)).collect();
        let mut here: Vec<NodeId> = Vec::with_capacity(expr.nodes.len());
        for (node, origin) in expr.nodes.iter().zip(&expr.origins) {
            let source = sources.get(origin.source as usize).copied().unwrap_or(u32::MAX);
            self.here = Origin { source, span: origin.span };
            let id = match *node {
                Node::Const(value) => self.constant(value),
                Node::Var(id) => self.var(id),
                Node::Powi(x, n) => self.powi(here[x as usize], n),
                Node::Call(op, args) => self.call(op, args.map(|arg| here[arg as usize])),
            };
            here.push(id);
        }
        here
    }

    /// The expression whose value is `root`, without the nodes it does not need.
    pub(super) fn finish(&self, root: NodeId) -> Expr {
        let mut needed = vec![false; root as usize + 1];
        needed[root as usize] = true;
        for id in (0..=root as usize).rev() {
            if needed[id] {
                self.nodes[id].operands().iter().for_each(|&arg| needed[arg as usize] = true);
            }
        }
        let mut renumbered = vec![0; needed.len()];
        let mut kept_sources: Vec<u32> = Vec::new();
        let mut expr = Expr { nodes: Vec::new(), origins: Vec::new(), sources: Vec::new() };
        for id in (0..needed.len()).filter(|&id| needed[id]) {
            renumbered[id] = expr.nodes.len() as NodeId;
            let at = |arg: NodeId| renumbered[arg as usize];
            expr.nodes.push(match self.nodes[id] {
                Node::Powi(x, n) => Node::Powi(at(x), n),
                Node::Call(op, args) => Node::Call(op, args.map(at)),
                leaf => leaf,
            });
            let Origin { source, span } = self.origins[id];
            let text = self.sources.get(source as usize);
            let known = kept_sources.iter().position(|&kept| kept == source);
            let kept = known.unwrap_or_else(|| {
                kept_sources.push(source);
                expr.sources.push(text.cloned().unwrap_or_else(|| Arc::from("")));
                kept_sources.len() - 1
            });
            expr.origins.push(Origin { source: kept as u32, span });
        }
        expr
    }
}
