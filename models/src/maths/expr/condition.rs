//! Conditions: truth values built from comparisons.
//!
//! A condition keeps its comparisons as expressions z; whether it holds follows from their signs alone
//! ([`Condition::truth`]).

use serde::{Deserialize, Serialize};

use super::error::ExprError;
use super::graph::Graph;
use super::op::Op;
use super::parser::parse;
use super::scope::{Scope, VarId};
use super::tree::{Expr, Node, NodeId};

/// How z compares with zero. `a >= b` is `b - a <= 0`, so that four relations are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// z < 0
    Less,
    /// z <= 0
    LessEq,
    /// z == 0
    Equal,
    /// z != 0
    NotEqual,
}

impl Comparison {
    /// Whether the relation holds for this z.
    pub fn holds(self, z: f64) -> bool {
        match self {
            Self::Less => z < 0.0,
            Self::LessEq => z <= 0.0,
            Self::Equal => z == 0.0,
            Self::NotEqual => z != 0.0,
        }
    }

    pub(super) fn op(self) -> Op {
        match self {
            Self::Less => Op::Less,
            Self::LessEq => Op::LessEq,
            Self::Equal => Op::Equal,
            Self::NotEqual => Op::NotEqual,
        }
    }
}

/// One comparison, an atom of a [`Condition`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// The difference of the two sides.
    pub z: Expr,
    /// The comparison of z with zero.
    pub relation: Comparison,
}

/// A step of a condition's logic; numbers refer to atoms or to earlier steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Logic {
    Const(bool),
    /// The truth of an atom, by its index in [`Condition::atoms`].
    Atom(u32),
    Not(u32),
    And(u32, u32),
    Or(u32, u32),
}

/// A truth value over numbered variables: comparisons joined by `and`, `or` and `not`.
///
/// ```
/// use superdense_models::maths::expr::{Condition, Names};
///
/// let scope = Names::new().var("x", 0).var("v", 1);
/// let either = Condition::parse("x > 1 or v > 1", &scope).unwrap();
/// assert!(either.truth(&[0.5, -0.5])); // 1 - x = 0.5, 1 - v = -0.5
/// assert!(either.eval(&[0.5, 1.5]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    atoms: Vec<Compare>,
    /// Operands before what uses them; the last one is the whole condition.
    logic: Vec<Logic>,
}

impl Condition {
    /// Parses `source` and looks its names up.
    ///
    /// # Errors
    /// The first error of syntax, or else every error of meaning.
    pub fn parse(source: &str, scope: &dyn Scope) -> Result<Self, Vec<ExprError>> {
        parse(source).map_err(|error| vec![error])?.condition(scope)
    }

    /// Takes the truth-valued node `root` apart.
    pub(super) fn from_graph(mut graph: Graph, root: NodeId) -> Self {
        let mut wanted = vec![false; root as usize + 1];
        wanted[root as usize] = true;
        for id in (0..wanted.len()).rev().filter(|&id| graph.nodes[id].is_logic()) {
            if wanted[id] {
                graph.nodes[id].operands().iter().for_each(|&arg| wanted[arg as usize] = true);
            }
        }
        // z may be simplified freely: it is compared by its sign, and nothing else sees it.
        graph.algebraic = true;
        let mut condition = Self { atoms: Vec::new(), logic: Vec::new() };
        let mut steps = vec![0; wanted.len()];
        for id in 0..wanted.len() {
            if wanted[id] {
                steps[id] = condition.logic.len() as u32;
                let step = condition.step(&mut graph, id, &steps);
                condition.logic.push(step);
            }
        }
        condition
    }

    fn step(&mut self, graph: &mut Graph, id: usize, steps: &[u32]) -> Logic {
        let at = |arg: NodeId| steps[arg as usize];
        let relation = match graph.nodes[id] {
            Node::Const(value) => return Logic::Const(value != 0.0),
            Node::Call(Op::Not, [a, ..]) => return Logic::Not(at(a)),
            Node::Call(Op::And, [a, b, _]) => return Logic::And(at(a), at(b)),
            Node::Call(Op::Or, [a, b, _]) => return Logic::Or(at(a), at(b)),
            Node::Call(Op::Less, _) => Comparison::Less,
            Node::Call(Op::LessEq, _) => Comparison::LessEq,
            Node::Call(Op::Equal, _) => Comparison::Equal,
            Node::Call(Op::NotEqual, _) => Comparison::NotEqual,
            node => unreachable!("{node:?} is not a truth value"),
        };
        let z = difference(graph, id as NodeId);
        self.atoms.push(Compare { z: graph.finish(z), relation });
        Logic::Atom(self.atoms.len() as u32 - 1)
    }

    /// The comparisons, in the order of their indices.
    pub fn atoms(&self) -> &[Compare] {
        &self.atoms
    }

    /// How the comparisons are joined: operands before what uses them, the last one is the whole.
    pub fn logic(&self) -> &[Logic] {
        &self.logic
    }

    /// The variables on which the truth may depend, in ascending order.
    pub fn vars(&self) -> Vec<VarId> {
        let mut vars: Vec<VarId> = self.atoms.iter().flat_map(|atom| atom.z.vars()).collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// The truth, given the value of each atom's z.
    ///
    /// # Panics
    /// If `z` is shorter than [`atoms`](Self::atoms).
    pub fn truth(&self, z: &[f64]) -> bool {
        // One comparison, as most conditions are, needs no room.
        if let [Logic::Atom(i)] = self.logic[..] {
            return self.atoms[i as usize].relation.holds(z[i as usize]);
        }
        let mut truths: Vec<bool> = Vec::with_capacity(self.logic.len());
        for step in &self.logic {
            let at = |i: u32| truths[i as usize];
            let truth = match *step {
                Logic::Const(value) => value,
                Logic::Atom(i) => self.atoms[i as usize].relation.holds(z[i as usize]),
                Logic::Not(a) => !at(a),
                Logic::And(a, b) => at(a) && at(b),
                Logic::Or(a, b) => at(a) || at(b),
            };
            truths.push(truth);
        }
        truths.pop().unwrap_or(true)
    }

    /// The truth where it does not hang on the values of z that are no numbers: they may have any sign.
    ///
    /// # Panics
    /// As [`truth`](Self::truth).
    pub fn decided(&self, z: &[f64]) -> Option<bool> {
        let Some(place) = z.iter().position(|z| z.is_nan()) else {
            return Some(self.truth(z));
        };
        let mut z = z.to_vec();
        let [below, none, above] = [-1.0, 0.0, 1.0].map(|sign| {
            z[place] = sign;
            self.decided(&z)
        });
        below.filter(|_| below == none && none == above)
    }

    /// The truth on the given variables.
    ///
    /// # Panics
    /// If `vars` is too short for a variable of the condition.
    pub fn eval(&self, vars: &[f64]) -> bool {
        let z: Vec<f64> = self.atoms.iter().map(|atom| atom.z.eval(vars)).collect();
        self.truth(&z)
    }

    /// This condition with each function replaced.
    #[must_use]
    pub fn map(&self, f: impl Fn(&Expr) -> Expr) -> Self {
        let atoms = self.atoms.iter().map(|a| Compare { z: f(&a.z), relation: a.relation });
        Self { atoms: atoms.collect(), logic: self.logic.clone() }
    }

    /// The condition as alternatives, in each of which all of these functions are at most zero: what a
    /// prediction looks at, which does not tell strict relations from others.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Condition, Names};
    /// let scope = Names::new().var("x", 0).var("v", 1);
    /// let outside = Condition::parse("x < 0 or not (x <= 1 or v < 2)", &scope).unwrap();
    /// assert_eq!(outside.alternatives().iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn alternatives(&self) -> Vec<Vec<Expr>> {
        // Per step: the alternatives of the step and of its negation.
        let mut steps: Vec<[Vec<Vec<Expr>>; 2]> = Vec::with_capacity(self.logic.len());
        for step in &self.logic {
            let both = |a: u32, b: u32, n: usize| {
                let (a, b) = (&steps[a as usize][n], &steps[b as usize][n]);
                a.iter().flat_map(|a| b.iter().map(|b| [&a[..], &b[..]].concat())).collect()
            };
            let either = |a: u32, b: u32, n: usize| {
                [&steps[a as usize][n][..], &steps[b as usize][n][..]].concat()
            };
            steps.push(match *step {
                Logic::Const(true) => [vec![Vec::new()], Vec::new()],
                Logic::Const(false) => [Vec::new(), vec![Vec::new()]],
                Logic::Atom(i) => self.atoms[i as usize].alternatives(),
                Logic::Not(a) => {
                    let [yes, no] = steps[a as usize].clone();
                    [no, yes]
                }
                Logic::And(a, b) => [both(a, b, 0), either(a, b, 1)],
                Logic::Or(a, b) => [either(a, b, 0), both(a, b, 1)],
            });
        }
        let [yes, _] = steps.pop().unwrap_or_default();
        yes
    }
}

impl Compare {
    /// See [`Condition::alternatives`]; then those of the opposite.
    fn alternatives(&self) -> [Vec<Vec<Expr>>; 2] {
        let (z, negated) = (self.z.clone(), self.z.negated());
        let (below, above) = (vec![vec![z.clone()]], vec![vec![negated.clone()]]);
        let (on, off) = (vec![vec![z.clone(), negated.clone()]], vec![vec![z], vec![negated]]);
        match self.relation {
            Comparison::Less | Comparison::LessEq => [below, above],
            Comparison::Equal => [on, off],
            Comparison::NotEqual => [off, on],
        }
    }
}

impl Expr {
    pub(crate) fn negated(&self) -> Self {
        let mut graph = Graph::exact();
        let root = graph.import(self)[self.nodes.len() - 1];
        graph.algebraic = true;
        let negated = graph.unary(Op::Neg, root);
        graph.finish(negated)
    }
}

impl Node {
    /// Whether it joins truth values.
    fn is_logic(&self) -> bool {
        matches!(self, Self::Call(Op::And | Op::Or | Op::Not, _))
    }
}

/// The difference of the two operands of a node.
pub(super) fn difference(graph: &mut Graph, node: NodeId) -> NodeId {
    let [a, b] = *graph.nodes[node as usize].operands() else {
        unreachable!("a comparison has two sides")
    };
    graph.here = graph.origins[node as usize];
    graph.binary(Op::Sub, a, b)
}
