//! Where an expression switches: the places that need an event indicator, because a solver that
//! steps across them unawares loses its order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::condition::difference;
use super::degree::Degree;
use super::error::Span;
use super::graph::Graph;
use super::op::Op;
use super::program::{Instr, Program, fingerprint};
use super::scope::VarId;
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
    /// use superdense_models::maths::expr::{Expr, Names, SwitchAt};
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

/// A program between the places where it switches.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The functions at whose crossings results may jump or bend: at zero, or where the value and the
    /// number that goes with it make a whole number.
    pub functions: Program,
    pub at: Vec<Option<f64>>,
    /// The forms of these functions, and those of the results, between two such crossings.
    pub degrees: Vec<Degree>,
    pub results: Vec<Degree>,
}

impl Program {
    /// The program between the crossings of those functions that have a `followed` form.
    pub(crate) fn pieces(
        &self,
        moves: impl Fn(VarId) -> bool,
        followed: impl Fn(Degree) -> bool,
    ) -> Pieces {
        let by_register = self.by_register(moves, followed);
        let mut functions = self.clone();
        functions.outputs.clear();
        let (mut at, mut degrees) = (Vec::new(), Vec::new());
        for (k, &Instr { op, args: [a, b, _] }) in self.code.iter().enumerate() {
            let (join, whole) = match op {
                Op::Jump | Op::JumpIf | Op::JumpUnless => {
                    // What it would skip is computed; its register stays, with anything in it.
                    functions.code[k] = Instr { op: Op::Neg, args: [0; 3] };
                    continue;
                }
                Op::Less | Op::LessEq | Op::Equal | Op::NotEqual | Op::Min | Op::Max => {
                    (Some(Op::Sub), None)
                }
                Op::Abs | Op::Sign | Op::Step => (None, None),
                Op::Floor | Op::Ceil | Op::Trunc => (None, Some(0.0)),
                Op::Round => (None, Some(0.5)),
                Op::Mod => (Some(Op::Div), Some(0.0)),
                _ => continue,
            };
            let of = |r: u32| by_register[r as usize];
            let mut degree = if join.is_some() { of(a).max(of(b)) } else { of(a) };
            if degree.is_still() || by_register[self.first() + k] == Degree::Switching {
                continue;
            }
            if op == Op::Mod && !of(b).is_still() {
                degree = degree.max(Degree::Smooth);
            }
            functions.outputs.push(match join {
                Some(op) => {
                    functions.code.push(Instr { op, args: [a, b, a] });
                    functions.origins.push(functions.origins[k]);
                    (functions.first() + functions.code.len() - 1) as u32
                }
                None => a,
            });
            at.push(whole);
            degrees.push(degree);
        }
        functions.fingerprint =
            fingerprint(&functions.constants, functions.inputs.len(), &functions.code);
        let results = self.outputs.iter().map(|&out| by_register[out as usize]).collect();
        Pieces { functions, at, degrees, results }
    }
}
