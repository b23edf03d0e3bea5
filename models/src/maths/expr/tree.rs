//! The typed expression tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{ExprError, Span};
use super::graph::Graph;
use super::op::{Op, apply, powi};
use super::parser::parse;
use super::scalar::Scalar;
use super::scope::{Scope, VarId};

/// Index of a node in its expression.
pub type NodeId = u32;

/// A node of an [`Expr`]. Operands come before the nodes that use them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Node {
    /// A finite number.
    Const(f64),
    /// A variable.
    Var(VarId),
    /// A power with a small whole exponent other than 0 and 1, computed by squaring.
    Powi(NodeId, i32),
    /// An operation; operands beyond its arity repeat the first.
    Call(Op, [NodeId; 3]),
}

impl Node {
    /// The nodes that this one reads.
    pub fn operands(&self) -> &[NodeId] {
        match self {
            Self::Const(_) | Self::Var(_) => &[],
            Self::Powi(x, _) => std::slice::from_ref(x),
            Self::Call(op, args) => &args[..op.arity()],
        }
    }
}

/// The piece of source text that a node comes from; a derivative's nodes come from the piece that
/// was differentiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub(super) source: u32,
    /// Where in that source.
    pub span: Span,
}

/// A real-valued expression over numbered variables.
///
/// Equal parts are stored once, so that it is a graph rather than a tree; the last node is the
/// value.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Names, VarId};
///
/// let scope = Names::new().var("x", 0).var("v", 1).constant("k", 3.0);
/// let spring = Expr::parse("-(2*k)*x - 0.1*v", &scope).unwrap();
/// assert_eq!(spring.to_string(), "-6.0*v0 - 0.1*v1");
/// assert_eq!(spring.eval(&[1.0, 10.0]), -7.0);
/// assert_eq!(spring.vars(), [VarId(0), VarId(1)]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    pub(super) nodes: Vec<Node>,
    pub(super) origins: Vec<Origin>,
    pub(super) sources: Vec<Arc<str>>,
}

impl Expr {
    /// Parses `source` and looks its names up.
    ///
    /// # Errors
    /// The first error of syntax, or else every error of meaning.
    pub fn parse(source: &str, scope: &dyn Scope) -> Result<Self, Vec<ExprError>> {
        parse(source).map_err(|error| vec![error])?.real(scope)
    }

    /// A number.
    ///
    /// # Panics
    /// Unless the number is finite.
    pub fn constant(value: f64) -> Self {
        assert!(value.is_finite(), "a constant must be finite, this one is {value}");
        let mut graph = Graph::exact();
        let root = graph.constant(value);
        graph.finish(root)
    }

    /// A variable.
    pub fn var(id: VarId) -> Self {
        let mut graph = Graph::exact();
        let root = graph.var(id);
        graph.finish(root)
    }

    /// The nodes, operands first; the last one is the value.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number, if the expression is just one.
    pub fn as_constant(&self) -> Option<f64> {
        match self.nodes[..] {
            [Node::Const(value)] => Some(value),
            _ => None,
        }
    }

    /// The variable, if it is nothing else.
    pub fn as_var(&self) -> Option<VarId> {
        match self.nodes[..] {
            [Node::Var(id)] => Some(id),
            _ => None,
        }
    }

    /// The variables on which the value may depend, in ascending order.
    pub fn vars(&self) -> Vec<VarId> {
        let vars = self.nodes.iter().filter_map(|node| match node {
            Node::Var(id) => Some(*id),
            _ => None,
        });
        vars.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The source text of the whole expression, empty for one that was not written as text.
    pub fn source(&self) -> &str {
        let origin = self.origins.last().copied().unwrap_or_default();
        self.sources.get(origin.source as usize).map_or("", |source| source)
    }

    /// The value, straight from the tree: the reference for [`Program`](super::Program), which is
    /// the way to evaluate often.
    ///
    /// # Panics
    /// If `vars` is too short for a variable of the expression.
    pub fn eval<S: Scalar>(&self, vars: &[S]) -> S {
        let mut values: Vec<S> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let value = match *node {
                Node::Const(value) => S::constant(value),
                Node::Var(id) => vars[id.0 as usize].clone(),
                Node::Powi(x, n) => powi(&values[x as usize], n),
                Node::Call(op, args) => apply(op, args, &values),
            };
            values.push(value);
        }
        values.pop().expect("an expression has at least one node")
    }
}
