//! Functions that a scenario declares: by a formula over arguments, or by points.
//!
//! Both are expressions over their arguments, which are put into the formulas that call them. So a table
//! is differentiated, compiled and explained as all else, and the joints of its pieces are comparisons, whose sides
//! are held and whose kinks are located. Units that call none compile to what they were.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    graph::Graph,
    op::Op,
    parser::Ast,
    scope::VarId,
    tree::{Expr, Node, NodeId},
};
use crate::maths::lookup::{Between, Cubic, pieces};

/// A function of `arity` arguments, the variables 0, 1, ... of its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The number of arguments.
    pub arity: usize,
    /// The value.
    pub body: Expr,
    /// How dimensions of arguments are looked at.
    pub takes: Takes,
}

/// How a function takes its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// In a formula with these names.
    Formula(Vec<String>, Arc<Ast>),
    /// At points; by argument, whether these are temperatures on a scale.
    Points(Vec<bool>),
}

/// Functions by their names.
pub(crate) type Library = BTreeMap<String, Function>;

impl Function {
    /// A function of one argument through points with ascending `x`; beyond them it is `held`, or goes straight on.
    ///
    /// # Panics
    /// As [`pieces`].
    pub fn of_points(x: &[f64], y: &[f64], between: Between, held: bool) -> Self {
        let mut table = Table { graph: Graph::exact() };
        let (joints, cubics) = table.joined(x, pieces(x, y, between, held));
        let root = table.tree(0, &joints, &mut |table, k| {
            let Cubic { origin, coefficients } = cubics[k];
            let coefficients = coefficients.map(|c| table.graph.constant(c));
            table.polynomial(0, origin, coefficients)
        });
        let takes = Takes::Points(vec![false]);
        Self { arity: 1, body: table.graph.finish(root), takes }
    }

    /// A function of two arguments through the points of a grid; `z` has a row for each of `x`, with a value for
    /// each of `y`. Pieces are products of those of functions of one argument.
    ///
    /// # Panics
    /// As [`pieces`].
    pub fn of_grid([x, y]: [&[f64]; 2], z: &[Vec<f64>], between: Between, held: bool) -> Self {
        // For each of y, the pieces along x.
        let along: Vec<Vec<Cubic>> = (0..y.len())
            .map(|j| {
                let column: Vec<f64> = z.iter().map(|row| row[j]).collect();
                pieces(x, &column, between, held)
            })
            .collect();
        let mut table = Table { graph: Graph::exact() };
        let root = table.tree(0, x, &mut |table, k| {
            let origin = along[0][k].origin;
            // Each coefficient of x is a function of y.
            let across: [Vec<Cubic>; 4] = std::array::from_fn(|m| {
                let values: Vec<f64> = along.iter().map(|all| all[k].coefficients[m]).collect();
                pieces(y, &values, between, held)
            });
            table.tree(1, y, &mut |table, l| {
                let coefficients = std::array::from_fn(|m| {
                    let Cubic { origin, coefficients } = across[m][l];
                    let inner = coefficients.map(|c| table.graph.constant(c));
                    table.polynomial(1, origin, inner)
                });
                table.polynomial(0, origin, coefficients)
            })
        });
        let takes = Takes::Points(vec![false; 2]);
        Self { arity: 2, body: table.graph.finish(root), takes }
    }
}

/// Makes the expression of a table.
struct Table {
    graph: Graph,
}

impl Table {
    /// Joins pieces that go straight on.
    fn joined(&self, x: &[f64], all: Vec<Cubic>) -> (Vec<f64>, Vec<Cubic>) {
        let (mut joints, mut kept) = (Vec::new(), vec![all[0]]);
        for (&joint, &next) in x.iter().zip(&all[1..]) {
            let last = kept[kept.len() - 1];
            let [_, a, b, c] = last.coefficients;
            let straight = [b, c] == [0.0; 2] && next.coefficients[1..] == [a, 0.0, 0.0];
            if !straight {
                joints.push(joint);
                kept.push(next);
            }
        }
        (joints, kept)
    }

    /// A choice among pieces by where the argument lies: each is found by few comparisons.
    fn tree(
        &mut self,
        argument: u32,
        joints: &[f64],
        piece: &mut dyn FnMut(&mut Self, usize) -> NodeId,
    ) -> NodeId {
        if joints.is_empty() {
            return piece(self, 0);
        }
        let middle = joints.len() / 2;
        let before = self.tree(argument, &joints[..middle], piece);
        let after = self
            .tree(argument, &joints[middle + 1..], &mut |table, k| piece(table, middle + 1 + k));
        let (x, joint) = (self.graph.var(VarId(argument)), self.graph.constant(joints[middle]));
        let is_before = self.graph.binary(Op::Less, x, joint);
        self.graph.select(is_before, before, after)
    }

    /// A polynomial in an argument less `origin`, by Horner's rule.
    fn polynomial(&mut self, argument: u32, origin: f64, coefficients: [NodeId; 4]) -> NodeId {
        let zero = |table: &Self, node: NodeId| table.graph.as_const(node) == Some(0.0);
        let x = self.graph.var(VarId(argument));
        let origin = self.graph.constant(origin);
        let degree = (1..4).rev().find(|&k| !zero(self, coefficients[k])).unwrap_or(0);
        let mut value = coefficients[degree];
        for k in (0..degree).rev() {
            let from = self.graph.binary(Op::Sub, x, origin);
            let product = self.graph.binary(Op::Mul, value, from);
            value = match zero(self, coefficients[k]) {
                true => product,
                false => self.graph.binary(Op::Add, product, coefficients[k]),
            };
        }
        value
    }
}

impl Graph {
    /// The value of a function for arguments that are here.
    pub(super) fn apply(&mut self, function: &Function, args: &[NodeId]) -> NodeId {
        let body = &function.body;
        let outer = self.here;
        let sources: Vec<u32> = body.sources.iter().map(|text| self.source(text)).collect();
        let mut here: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
        for (node, origin) in body.nodes.iter().zip(&body.origins) {
            let source = sources[origin.source as usize];
            let written = !self.sources[source as usize].is_empty();
            self.here = outer;
            if written {
                (self.here.source, self.here.span) = (source, origin.span);
            }
            let id = match *node {
                Node::Const(value) => self.constant(value),
                Node::Var(VarId(k)) => args[k as usize],
                Node::Powi(x, n) => self.powi(here[x as usize], n),
                Node::Call(op, args) => self.call(op, args.map(|arg| here[arg as usize])),
            };
            here.push(id);
        }
        self.here = outer;
        here[here.len() - 1]
    }
}
