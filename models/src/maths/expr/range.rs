//! Bounds on the values of expressions, whatever their variables are.

use super::op::Op;
use super::tree::{Expr, Node, NodeId};

/// The least and the largest value that something may have; infinite where nothing is known.
pub(super) type Range = (f64, f64);

const ANY: Range = (f64::NEG_INFINITY, f64::INFINITY);
const NOT_NEGATIVE: Range = (0.0, f64::INFINITY);

/// The sign of all in a range that is not zero, if there is but one; else zero.
pub(super) fn sign((least, most): Range) -> i8 {
    i8::from(least >= 0.0 && most > 0.0) - i8::from(most <= 0.0 && least < 0.0)
}

/// The range of a node, by those of the nodes before it.
pub(super) fn range(node: &Node, of: &[Range]) -> Range {
    let at = |x: NodeId| of[x as usize];
    let found = match *node {
        Node::Const(c) => (c, c),
        Node::Var(_) => ANY,
        Node::Powi(x, n) if n % 2 == 0 || at(x).0 >= 0.0 => NOT_NEGATIVE,
        Node::Powi(..) => ANY,
        Node::Call(op, [a, b, c]) => match op {
            Op::Neg => (-at(a).1, -at(a).0),
            Op::Noevent => at(a),
            Op::Add => (at(a).0 + at(b).0, at(a).1 + at(b).1),
            Op::Sub => (at(a).0 - at(b).1, at(a).1 - at(b).0),
            Op::Mul if a == b => NOT_NEGATIVE,
            Op::Mul | Op::Div => match sign(at(a)) * sign(at(b)) {
                1 => NOT_NEGATIVE,
                -1 => (f64::NEG_INFINITY, 0.0),
                _ => ANY,
            },
            Op::Pow if at(a).0 >= 0.0 => NOT_NEGATIVE,
            Op::Abs | Op::Sqrt | Op::Exp | Op::Hypot | Op::Cosh => NOT_NEGATIVE,
            Op::Sin | Op::Cos | Op::Tanh | Op::Sign => (-1.0, 1.0),
            Op::Min => (at(a).0.min(at(b).0), at(a).1.min(at(b).1)),
            Op::Max => (at(a).0.max(at(b).0), at(a).1.max(at(b).1)),
            Op::Floor => (at(a).0.floor(), at(a).1.floor()),
            Op::Ceil => (at(a).0.ceil(), at(a).1.ceil()),
            Op::Mod if at(b).0 > 0.0 => (0.0, at(b).1),
            Op::Select => (at(b).0.min(at(c).0), at(b).1.max(at(c).1)),
            Op::Step | Op::Less | Op::LessEq | Op::Equal | Op::NotEqual => (0.0, 1.0),
            Op::And | Op::Or | Op::Not => (0.0, 1.0),
            _ => ANY,
        },
    };
    if found.0.is_nan() || found.1.is_nan() { ANY } else { found }
}

impl Expr {
    /// The sign that the value has wherever it is not zero, if there is but one; else zero.
    pub(super) fn only_sign(&self) -> i8 {
        let mut ranges = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            ranges.push(range(node, &ranges));
        }
        ranges.last().map_or(0, |all| sign(*all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::expr::{Expr, Names};

    #[test]
    fn ranges_hold() {
        let scope = Names::new().var("x", 0).var("y", 1);
        for (text, least, most) in [
            ("abs(x)", 0.0, f64::INFINITY),
            ("1 - min(x*x, 1)", 0.0, 1.0),
            ("max(-x, 0)^1.5", 0.0, f64::INFINITY),
            ("max(x, -1)", -1.0, f64::INFINITY),
            ("if x > y then sin(x) else 3", -1.0, 3.0),
            ("2*sin(x) - 1", f64::NEG_INFINITY, f64::INFINITY),
            ("mod(x, 2) + floor(sin(y) + 0.5)", -1.0, 3.0),
            ("x*y", f64::NEG_INFINITY, f64::INFINITY),
            ("-2*x^4/(1 + y*y)", f64::NEG_INFINITY, 0.0),
        ] {
            let expr = Expr::parse(text, &scope).unwrap();
            let mut ranges = Vec::new();
            for node in expr.nodes() {
                ranges.push(range(node, &ranges));
            }
            assert_eq!(ranges.last(), Some(&(least, most)), "{text}");
        }
    }
}
