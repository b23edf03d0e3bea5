//! Where an expression switches: the places that need an event indicator, because a solver that
//! steps across them unawares loses its order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::condition::difference;
use super::error::Span;
use super::graph::Graph;
use super::op::Op;
use super::tree::{Expr, Node, NodeId};

/// Which values of a switching function matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SwitchAt {
    /// Zero: `if`, `abs`, `sign`, `step`, `min`, `max`.
    Zero,
    /// Every whole number: `floor`, `ceil`, `trunc`, `round`, `mod`.
    Integers,
}

/// One switching function of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// The function whose crossings are the switching times.
    pub expr: Expr,
    /// The levels at which it switches.
    pub at: SwitchAt,
    /// What switches, in the source text.
    pub span: Span,
}

impl Expr {
    /// All functions at whose crossings this expression may jump or bend, each once. Those inside a
    /// branch that is not taken are listed too.
    ///
    /// ```
    /// use superdense_models::expr::{Expr, Names, SwitchAt};
    ///
    /// let scope = Names::new().var("x", 0).var("t", 1);
    /// let f = Expr::parse("if x > 1 then abs(x - 2) else floor(t/3)", &scope).unwrap();
    /// let found = f.switches();
    /// let texts: Vec<String> = found.iter().map(|s| s.expr.to_string()).collect();
    /// assert_eq!(texts, ["1.0 - v0", "v0 - 2.0", "v1/3.0"]);
    /// assert_eq!(found[2].at, SwitchAt::Integers);
    /// ```
    pub fn switches(&self) -> Vec<Switch> {
        let mut graph = Graph::exact();
        let nodes = graph.import(self);
        graph.algebraic = true;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (&id, origin) in nodes.iter().zip(&self.origins) {
            let Some((z, at)) = switch(&mut graph, id) else { continue };
            if graph.as_const(z).is_none() && seen.insert((z, at)) {
                found.push(Switch { expr: graph.finish(z), at, span: origin.span });
            }
        }
        found
    }
}

/// The switching function of node `id`, if it switches.
fn switch(graph: &mut Graph, id: NodeId) -> Option<(NodeId, SwitchAt)> {
    let Node::Call(op, [a, b, _]) = graph.nodes[id as usize] else { return None };
    graph.here = graph.origins[id as usize];
    Some(match op {
        Op::Less | Op::LessEq | Op::Equal | Op::NotEqual | Op::Min | Op::Max => {
            (difference(graph, id), SwitchAt::Zero)
        }
        Op::Abs | Op::Sign | Op::Step => (a, SwitchAt::Zero),
        Op::Floor | Op::Ceil | Op::Trunc => (a, SwitchAt::Integers),
        Op::Round => {
            let half = graph.constant(0.5);
            (graph.binary(Op::Add, a, half), SwitchAt::Integers)
        }
        Op::Mod => (graph.binary(Op::Div, a, b), SwitchAt::Integers),
        _ => return None,
    })
}
