//! Symbolic derivatives.
//!
//! # Why
//! One pass over the graph from the leaves up (forward mode), so that the derivative shares its
//! parts with the expression and with itself: its size is a small multiple of the expression's,
//! where the textbook rules on a tree double it at each product. Compiled together with the
//! expression, common parts are computed once.

use super::graph::Graph;
use super::op::Op;
use super::scope::VarId;
use super::tree::{Expr, Node, NodeId};

impl Expr {
    /// The partial derivative by a variable.
    ///
    /// Where a function switches the derivative is that of the branch which the function takes
    /// there; `abs` has derivative 0 at 0, and functions with steps have derivative 0 everywhere.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, VarId};
    ///
    /// let f = Expr::parse("x^3 - sin(2*x) + y", &Names::new().var("x", 0).var("y", 1)).unwrap();
    /// assert_eq!(f.differentiate(VarId(0)).to_string(), "3.0*v0^2 - 2.0*cos(2.0*v0)");
    /// assert_eq!(f.differentiate(VarId(1)).to_string(), "1.0");
    /// ```
    #[must_use]
    pub fn differentiate(&self, by: VarId) -> Self {
        let one = Self::constant(1.0);
        self.derivative_along(&[(by, &one)])
    }

    /// The derivative along a vector field: the sum of ∂self/∂x · f over the pairs (x, f); variables
    /// that are not among them stand still. With the right-hand sides of a unit as the field (and
    /// 1 for the time) it is the Lie derivative, i.e. the time derivative along the solution.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, VarId};
    ///
    /// let scope = Names::new().var("x", 0).var("v", 1);
    /// let [dx, dv] = ["v", "-x"].map(|text| Expr::parse(text, &scope).unwrap());
    /// let energy = Expr::parse("x^2/2 + v^2/2", &scope).unwrap();
    /// let change = energy.derivative_along(&[(VarId(0), &dx), (VarId(1), &dv)]);
    /// assert_eq!(change.eval(&[3.0, 4.0]), 0.0);
    /// ```
    #[must_use]
    pub fn derivative_along(&self, field: &[(VarId, &Self)]) -> Self {
        let mut graph = Graph::exact();
        let nodes = graph.import(self);
        let mut speeds: Vec<(VarId, NodeId)> = Vec::new();
        for (var, speed) in field {
            let imported = graph.import(speed);
            speeds.push((*var, imported[imported.len() - 1]));
        }
        speeds.sort_by_key(|&(var, _)| var);
        graph.algebraic = true;
        // None is zero.
        let mut slopes: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            graph.here = graph.origins[nodes[i] as usize];
            let slope = match node {
                Node::Const(_) => None,
                Node::Var(id) => {
                    let found = speeds.binary_search_by_key(id, |&(var, _)| var).ok();
                    found.map(|at| speeds[at].1)
                }
                _ => slope(&mut graph, node, nodes[i], &nodes, &slopes),
            };
            slopes[i] = slope.filter(|&id| graph.as_const(id) != Some(0.0));
        }
        let root = slopes.last().copied().flatten().unwrap_or_else(|| graph.constant(0.0));
        graph.finish(root)
    }
}

/// The derivative of `node`, which is number `this` of the graph.
fn slope(
    graph: &mut Graph,
    node: &Node,
    this: NodeId,
    nodes: &[NodeId],
    slopes: &[Option<NodeId>],
) -> Option<NodeId> {
    let operands = node.operands();
    let value = |i: usize| nodes[operands[i] as usize];
    let slope = |i: usize| slopes[operands[i] as usize];
    match *node {
        Node::Const(_) | Node::Var(_) => None,
        Node::Powi(_, n) => {
            let da = slope(0)?;
            let power = graph.powi(value(0), n - 1);
            let factor = graph.constant(f64::from(n));
            let outer = graph.binary(Op::Mul, factor, power);
            Some(graph.binary(Op::Mul, outer, da))
        }
        Node::Call(Op::Select, _) => {
            if slope(1).is_none() && slope(2).is_none() {
                return None;
            }
            let zero = graph.constant(0.0);
            let (yes, no) = (slope(1).unwrap_or(zero), slope(2).unwrap_or(zero));
            Some(graph.select(value(0), yes, no))
        }
        Node::Call(op, _) if op.arity() == 1 => {
            let da = slope(0)?;
            chain(graph, op, value(0), this, da)
        }
        Node::Call(op, _) => {
            if slope(0).is_none() && slope(1).is_none() {
                return None;
            }
            binary(graph, op, this, [value(0), value(1)], [slope(0), slope(1)])
        }
    }
}

/// f'(a) a' for f = `op`, with f(a) itself at hand.
fn chain(g: &mut Graph, op: Op, a: NodeId, f: NodeId, da: NodeId) -> Option<NodeId> {
    use Op::*;
    let number = |g: &mut Graph, value: f64| g.constant(value);
    let square_plus = |g: &mut Graph, x: NodeId, sign: Op| {
        // 1 ± x²
        let (one, square) = (g.constant(1.0), g.powi(x, 2));
        g.binary(sign, one, square)
    };
    let divisor = match op {
        Neg => return Some(g.unary(Neg, da)),
        Noevent => return Some(da),
        Exp => return Some(g.binary(Mul, f, da)),
        Sin | Cos | Sinh | Cosh | Tan | Tanh | Abs => {
            let outer = match op {
                Sin => g.unary(Cos, a),
                Cos => {
                    let sine = g.unary(Sin, a);
                    g.unary(Neg, sine)
                }
                Sinh => g.unary(Cosh, a),
                Cosh => g.unary(Sinh, a),
                Tan => square_plus(g, f, Add),
                Tanh => square_plus(g, f, Sub),
                _ => g.unary(Sign, a),
            };
            return Some(g.binary(Mul, outer, da));
        }
        Sqrt => {
            let two = number(g, 2.0);
            g.binary(Mul, two, f)
        }
        Cbrt => {
            let (three, square) = (number(g, 3.0), g.powi(f, 2));
            g.binary(Mul, three, square)
        }
        Ln => a,
        Log10 | Log2 => {
            let scale = if op == Log10 { std::f64::consts::LN_10 } else { std::f64::consts::LN_2 };
            let scale = number(g, scale);
            g.binary(Mul, scale, a)
        }
        Asin | Acos => {
            let inside = square_plus(g, a, Sub);
            let root = g.unary(Sqrt, inside);
            if op == Asin { root } else { g.unary(Neg, root) }
        }
        Atan => square_plus(g, a, Add),
        LambertW => {
            // W' = 1 / (a + e^W), regular at 0.
            let exp = g.unary(Exp, f);
            g.binary(Add, a, exp)
        }
        // Steps and truth values.
        _ => return None,
    };
    Some(g.binary(Op::Div, da, divisor))
}

/// The derivative of an operation on two operands, of which at least one changes.
fn binary(
    g: &mut Graph,
    op: Op,
    f: NodeId,
    [a, b]: [NodeId; 2],
    [da, db]: [Option<NodeId>; 2],
) -> Option<NodeId> {
    use Op::*;
    let zero = g.constant(0.0);
    let (a1, b1) = (da.unwrap_or(zero), db.unwrap_or(zero));
    // The two products that most rules are made of; zero factors vanish.
    let products = |g: &mut Graph| (g.binary(Mul, a1, b), g.binary(Mul, a, b1));
    Some(match op {
        Add | Sub => g.binary(op, a1, b1),
        Mul => {
            let (left, right) = products(g);
            g.binary(Add, left, right)
        }
        Div => {
            // (a' - (a/b) b') / b
            let part = g.binary(Mul, f, b1);
            let numerator = g.binary(Sub, a1, part);
            g.binary(Div, numerator, b)
        }
        Pow => power(g, f, [a, b], [da, db]),
        Hypot => {
            let (left, right) = (g.binary(Mul, a, a1), g.binary(Mul, b, b1));
            let sum = g.binary(Add, left, right);
            g.binary(Div, sum, f)
        }
        Atan2 => {
            let (left, right) = products(g);
            let numerator = g.binary(Sub, left, right);
            let (aa, bb) = (g.powi(a, 2), g.powi(b, 2));
            let square = g.binary(Add, aa, bb);
            g.binary(Div, numerator, square)
        }
        Min | Max => {
            let (low, high) = if op == Min { (b, a) } else { (a, b) };
            let second = g.binary(Less, low, high);
            g.select(second, b1, a1)
        }
        Mod => {
            // a - b floor(a/b)
            let ratio = g.binary(Div, a, b);
            let turns = g.unary(Floor, ratio);
            let part = g.binary(Mul, turns, b1);
            g.binary(Sub, a1, part)
        }
        // Truth values.
        _ => return None,
    })
}

/// The derivative of f = a^b.
fn power(g: &mut Graph, f: NodeId, [a, b]: [NodeId; 2], [da, db]: [Option<NodeId>; 2]) -> NodeId {
    // b a^(b-1) a', which is regular at a = 0 where b a' f / a is not.
    let by_base = da.map(|da| {
        let one = g.constant(1.0);
        let less = g.binary(Op::Sub, b, one);
        let power = g.binary(Op::Pow, a, less);
        let outer = g.binary(Op::Mul, b, power);
        g.binary(Op::Mul, outer, da)
    });
    // f ln(a) b'
    let by_exponent = db.map(|db| {
        let log = g.unary(Op::Ln, a);
        let outer = g.binary(Op::Mul, f, log);
        g.binary(Op::Mul, outer, db)
    });
    match (by_base, by_exponent) {
        (Some(x), Some(y)) => g.binary(Op::Add, x, y),
        (Some(x), None) | (None, Some(x)) => x,
        (None, None) => g.constant(0.0),
    }
}
