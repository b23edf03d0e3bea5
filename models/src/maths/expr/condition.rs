//! Conditions: truth values built from comparisons, and the event indicators of those.
//!
//! A state event is a set of conditions that must all hold, located where the largest of its
//! indicators reaches zero. So a condition keeps its comparisons as expressions z whose sign
//! decides; anything beyond a plain conjunction is decided from those signs by
//! [`Condition::truth`].

use serde::{Deserialize, Serialize};

use super::error::ExprError;
use super::graph::Graph;
use super::op::Op;
use super::parser::parse;
use super::scope::{Scope, VarId};
use super::tree::{Expr, Node, NodeId};

/// How z compares with zero. `a >= b` is `b - a <= 0`, so that four relations are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Relation {
    /// z < 0
    Less,
    /// z <= 0
    LessEq,
    /// z == 0
    Equal,
    /// z != 0
    NotEqual,
}

impl Relation {
    /// Whether the relation holds for this z.
    pub fn holds(self, z: f64) -> bool {
        match self {
            Self::Less => z < 0.0,
            Self::LessEq => z <= 0.0,
            Self::Equal => z == 0.0,
            Self::NotEqual => z != 0.0,
        }
    }
}

/// One comparison, an atom of a [`Condition`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// The difference of the two sides.
    pub z: Expr,
    /// What is asked of it.
    pub relation: Relation,
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

/// A condition holds while z <= 0, or z < 0 if `strict`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Indicator {
    /// The indicator z, a continuous function wherever its expression is one.
    pub expr: Expr,
    /// Whether z = 0 is outside.
    pub strict: bool,
}

/// A truth value over numbered variables: comparisons joined by `and`, `or` and `not`.
///
/// ```
/// use superdense_models::maths::expr::{Condition, Names};
///
/// let scope = Names::new().var("x", 0).var("v", 1);
/// let bounce = Condition::parse("x <= 0 and v < 0", &scope).unwrap();
/// let [position, speed] = &bounce.indicators().unwrap()[..] else { panic!() };
/// assert_eq!((position.expr.to_string().as_str(), position.strict), ("v0", false));
/// assert_eq!((speed.expr.to_string().as_str(), speed.strict), ("v1", true));
///
/// let either = Condition::parse("x > 1 or v > 1", &scope).unwrap();
/// assert!(either.indicators().is_none());
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
            Node::Call(Op::Less, _) => Relation::Less,
            Node::Call(Op::LessEq, _) => Relation::LessEq,
            Node::Call(Op::Equal, _) => Relation::Equal,
            Node::Call(Op::NotEqual, _) => Relation::NotEqual,
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

    /// The truth on the given variables.
    ///
    /// # Panics
    /// If `vars` is too short for a variable of the condition.
    pub fn eval(&self, vars: &[f64]) -> bool {
        let z: Vec<f64> = self.atoms.iter().map(|atom| atom.z.eval(vars)).collect();
        self.truth(&z)
    }

    /// The event indicators, all of which must be at most zero (below zero if strict), if the
    /// condition is a plain conjunction; `not (a or b)` is one, and `a == b` asks for both signs of
    /// a - b. A condition that always holds has none; one that never holds has the constant 1.
    pub fn indicators(&self) -> Option<Vec<Indicator>> {
        // What has to hold, and whether it is to be negated.
        let mut open = vec![(self.logic.len() - 1, false)];
        let mut seen = vec![[false; 2]; self.logic.len()];
        let mut indicators = Vec::new();
        while let Some((step, negated)) = open.pop() {
            if std::mem::replace(&mut seen[step][usize::from(negated)], true) {
                continue;
            }
            match (self.logic[step], negated) {
                (Logic::Not(a), _) => open.push((a as usize, !negated)),
                (Logic::And(a, b), false) | (Logic::Or(a, b), true) => {
                    open.extend([(b as usize, negated), (a as usize, negated)]);
                }
                (Logic::And(..), true) | (Logic::Or(..), false) => return None,
                (Logic::Const(value), _) if value != negated => {}
                (Logic::Const(_), _) => {
                    indicators.push(Indicator { expr: Expr::constant(1.0), strict: false });
                }
                (Logic::Atom(i), _) => {
                    indicators.extend(self.atoms[i as usize].indicators(negated)?);
                }
            }
        }
        Some(indicators)
    }
}

impl Condition {
    /// One indicator for the whole condition: the minimum over what `or` joins of the maximum over
    /// what `and` joins. None where `a == b` stands in an `or`: its indicator only touches zero.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Condition, Names};
    /// let scope = Names::new().var("x", 0).var("v", 1);
    /// let outside = Condition::parse("x < 0 or not (x <= 1 and v < 2)", &scope).unwrap();
    /// let z = outside.indicator().unwrap().expr;
    /// assert_eq!([[-1.0, 0.0], [0.5, 0.0], [0.5, 3.0]].map(|v| z.eval(&v) < 0.0), [true, false, true]);
    /// ```
    pub fn indicator(&self) -> Option<Indicator> {
        // Per step: the indicator of the step and of its negation.
        let mut steps: Vec<[Option<Indicator>; 2]> = Vec::with_capacity(self.logic.len());
        for step in &self.logic {
            let both = |max: bool, a: u32, b: u32, negated: usize| {
                let (a, b) = (&steps[a as usize][negated], &steps[b as usize][negated]);
                let (a, b) = (a.as_ref()?, b.as_ref()?);
                Some(Indicator { expr: a.expr.extreme(&b.expr, max), strict: a.strict && b.strict })
            };
            let constant = |holds: bool| {
                let expr = Expr::constant(if holds { -1.0 } else { 1.0 });
                Some(Indicator { expr, strict: true })
            };
            steps.push(match *step {
                Logic::Const(holds) => [constant(holds), constant(!holds)],
                Logic::Atom(i) => {
                    let atom = &self.atoms[i as usize];
                    [atom.indicator(false), atom.indicator(true)]
                }
                Logic::Not(a) => {
                    let [yes, no] = steps[a as usize].clone();
                    [no, yes]
                }
                Logic::And(a, b) => [both(true, a, b, 0), both(false, a, b, 1)],
                Logic::Or(a, b) => [both(false, a, b, 0), both(true, a, b, 1)],
            });
        }
        steps.pop()?[0].take()
    }
}

impl Compare {
    /// One indicator: of two conditions on z their extreme.
    fn indicator(&self, negated: bool) -> Option<Indicator> {
        match (self.relation, negated) {
            (Relation::NotEqual, false) | (Relation::Equal, true) => {
                let expr = self.z.extreme(&self.z.negated(), false);
                Some(Indicator { expr, strict: true })
            }
            (Relation::Equal, false) | (Relation::NotEqual, true) => None,
            _ => self.indicators(negated)?.pop(),
        }
    }

    fn indicators(&self, negated: bool) -> Option<Vec<Indicator>> {
        let same = |strict| Indicator { expr: self.z.clone(), strict };
        let opposite = |strict| Indicator { expr: self.z.negated(), strict };
        match (self.relation, negated) {
            (Relation::Less, false) => Some(vec![same(true)]),
            (Relation::LessEq, false) => Some(vec![same(false)]),
            (Relation::Less, true) => Some(vec![opposite(false)]),
            (Relation::LessEq, true) => Some(vec![opposite(true)]),
            (Relation::Equal, false) | (Relation::NotEqual, true) => {
                Some(vec![same(false), opposite(false)])
            }
            (Relation::NotEqual, false) | (Relation::Equal, true) => None,
        }
    }
}

impl Expr {
    /// The larger or the smaller of the two.
    fn extreme(&self, other: &Self, max: bool) -> Self {
        let mut graph = Graph::exact();
        let a = graph.import(self)[self.nodes.len() - 1];
        let b = graph.import(other)[other.nodes.len() - 1];
        let extreme = graph.binary(if max { Op::Max } else { Op::Min }, a, b);
        graph.finish(extreme)
    }

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
