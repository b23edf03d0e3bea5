//! Switching functions held still between events.
//!
//! # Why
//! A solver that steps across a kink or a jump unawares loses its order. So each function that
//! switches (`if`, `abs`, `sign`, `min`, `max`, `floor`, ...) gets a variable that says on which
//! side it is. Between events that variable does not change, and the expression is smooth; where
//! the switching function reaches its surface there is an event, and the variable changes with it
//! (Cellier & Kofman 2006, "Continuous System Simulation", section 9.3).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::condition::{Compare, Condition, Logic, difference};
use super::graph::Graph;
use super::op::Op;
use super::range::{Range, range, sign};
use super::scope::VarId;
use super::tree::{Expr, Node, NodeId};

/// The value of its function that a relation holds: its side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// The sign of the function: -1, 0 or 1. Zero is for functions that rest there.
    #[default]
    Sign,
    /// The function rounded down.
    Floor,
}

impl Kind {
    /// The side of a function that has exactly this value.
    pub fn side(self, value: f64) -> f64 {
        match self {
            Self::Sign if value == 0.0 => 0.0,
            Self::Sign => value.signum(),
            Self::Floor => value.floor(),
        }
    }

    /// The side of a function with this value, which may be off by an error: near the end of a side the
    /// way that it goes decides, which a sign tells. Then gives also the side from which it comes.
    pub fn decide(
        self,
        (value, error): (f64, f64),
        heading: impl FnOnce() -> f64,
    ) -> (f64, Option<f64>) {
        let (whole, way) = match self {
            Self::Sign if value.abs() > error => return (value.signum(), None),
            Self::Floor if (value - value.round()).abs() > error => return (value.floor(), None),
            Self::Sign | Self::Floor => (value.round(), heading()),
        };
        match self {
            Self::Sign => (way, Some(-way)),
            Self::Floor if way < 0.0 => (whole - 1.0, Some(whole)),
            Self::Floor => (whole, Some(whole - way)),
        }
    }
}

/// A switching function and the variable that holds its side.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// The function, in terms of variables that may be those of earlier ones.
    pub function: Expr,
    /// The quantity that the variable holds.
    pub kind: Kind,
    /// The variable.
    pub side: VarId,
    /// Whether some expression jumps with it, rather than having a kink.
    pub jumps: bool,
    /// Whether an equation reads the side, itself or through another function, and not only conditions.
    pub stops: bool,
    /// The values of the mode in which the function is looked at; in all of them without.
    pub modes: Option<Vec<f64>>,
    /// The number of the function of whose passing zero the variable tells, instead of a side.
    pub passes: Option<usize>,
    /// The sign that the function has wherever it is not zero, if there is but one; else zero.
    pub only: f64,
}

/// Collects the switching functions of expressions.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Freezer, Names, VarId};
///
/// let drag = Expr::parse("0.5*v*abs(v)", &Names::new().var("v", 0)).unwrap();
/// let mut freezer = Freezer::new(VarId(1), |v| v.0 == 0);
/// let smooth = freezer.freeze(&drag, None);
/// let [frozen] = freezer.found() else { panic!() };
/// assert_eq!(frozen.function.to_string(), "v0");
/// // The sign stands in variable 1.
/// assert_eq!(smooth.eval(&[-2.0, frozen.kind.side(-2.0)]), -2.0);
/// assert_eq!(smooth.eval(&[2.0, -1.0]), -2.0, "the formula of the other side, continued");
/// ```
pub struct Freezer<M> {
    next: VarId,
    moves: M,
    found: Vec<Frozen>,
    /// Whether it is equations that are frozen, or conditions.
    stops: bool,
    /// The mode in which functions are looked at; all without.
    mode: Option<f64>,
    /// How many comparisons for equality of what moves were met: they hold nowhere but in passing.
    pub equalities: usize,
    /// Functions by their text, so that equal ones share a variable.
    known: HashMap<(String, Kind), VarId>,
}

impl<M> std::fmt::Debug for Freezer<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Freezer").field("found", &self.found).finish_non_exhaustive()
    }
}

impl<M: Fn(VarId) -> bool> Freezer<M> {
    /// Variables for sides are numbered from `first` on; `moves` says which variables change
    /// between events: what depends on the others alone needs no event.
    pub fn new(first: VarId, moves: M) -> Self {
        Self {
            next: first,
            moves,
            found: Vec::new(),
            stops: true,
            mode: None,
            equalities: 0,
            known: HashMap::new(),
        }
    }

    /// The functions that were found, inner ones before those that use them.
    pub fn found(&self) -> &[Frozen] {
        &self.found
    }

    /// The expression with its switching functions held still; they are looked at in all modes, or
    /// `only` in this one.
    pub fn freeze(&mut self, expr: &Expr, only: Option<f64>) -> Expr {
        let switches = |node: &Node| matches!(node, Node::Call(op, _) if switches(*op));
        let bare = |node: &Node| matches!(node, Node::Call(Op::Noevent, _));
        if !expr.nodes().iter().any(|node| switches(node) || bare(node)) {
            return expr.clone();
        }
        let looked_at = looked_at(expr.nodes());
        self.mode = only;
        let mut graph = Graph::exact();
        let plain = graph.import(expr);
        // By node of the expression: its frozen form, and whether it moves; whether something in it
        // switches, and its range.
        let mut here: Vec<(NodeId, bool)> = Vec::with_capacity(plain.len());
        let mut switching: Vec<bool> = Vec::with_capacity(plain.len());
        let mut ranges: Vec<Range> = Vec::with_capacity(plain.len());
        for (i, node) in expr.nodes().iter().enumerate() {
            graph.here = graph.origins[plain[i] as usize];
            let moving = match *node {
                Node::Const(_) => false,
                Node::Var(id) => (self.moves)(id),
                _ => node.operands().iter().any(|&arg| here[arg as usize].1),
            };
            here.push(match *node {
                _ if !looked_at[i] => (plain[i], moving),
                Node::Call(Op::Noevent, [x, ..]) => (plain[x as usize], moving),
                Node::Const(_) | Node::Var(_) => (plain[i], moving),
                Node::Powi(x, n) => (graph.powi(here[x as usize].0, n), moving),
                Node::Call(op, args) => {
                    let mut frozen = args.map(|arg| here[arg as usize]);
                    let base = args[0] as usize;
                    let root = matches!(op, Op::Sqrt | Op::Pow) && here[base].1;
                    if root && switching[base] && ranges[base].0 >= 0.0 {
                        // Behind a side's end its formula goes on below zero.
                        let zero = graph.constant(0.0);
                        frozen[0].0 = graph.binary(Op::Max, frozen[0].0, zero);
                    }
                    let ranges = args.map(|arg| ranges[arg as usize]);
                    self.call(&mut graph, op, (frozen, ranges), moving)
                }
            });
            let inside = node.operands().iter().any(|&arg| switching[arg as usize]);
            switching.push(looked_at[i] && (inside || switches(node)));
            ranges.push(range(node, &ranges));
        }
        graph.finish(here[here.len() - 1].0)
    }

    fn call(
        &mut self,
        graph: &mut Graph,
        op: Op,
        (args, ranges): ([(NodeId, bool); 3], [Range; 3]),
        moving: bool,
    ) -> (NodeId, bool) {
        let [a, b, c] = args.map(|(node, _)| node);
        // Of what is held still: the formula of one side goes on where the function does not.
        let [of_a, of_b, _] = ranges;
        let apart = sign((of_a.0 - of_b.1, of_a.1 - of_b.0));
        let still = match op {
            // Its condition stands still, or has been held still.
            Op::Select => return (graph.select(a, b, c), moving),
            Op::And | Op::Or | Op::Not => false,
            _ => !moving || !switches(op),
        };
        if still || matches!(op, Op::And | Op::Or | Op::Not) {
            return (graph.call(op, [a, b, c]), moving);
        }
        let zero = graph.constant(0.0);
        match op {
            Op::Less | Op::LessEq | Op::Equal | Op::NotEqual => {
                self.equalities += usize::from(matches!(op, Op::Equal | Op::NotEqual));
                let plain = graph.call(op, [a, b, c]);
                let z = difference(graph, plain);
                let side = self.jump(graph, (z, apart));
                (graph.binary(op, side, zero), false)
            }
            Op::Min | Op::Max => {
                let z = graph.binary(Op::Sub, a, b);
                let side = self.side(graph, (z, apart), Kind::Sign);
                let (low, high) = if op == Op::Min { (0, 1) } else { (1, 0) };
                // Where both are one number, one that stands still holds the result there.
                let still = args[low].1 && !args[high].1;
                let below = if still { Op::Less } else { Op::LessEq };
                let below = graph.binary(below, side, zero);
                (graph.select(below, args[low].0, args[high].0), true)
            }
            Op::Abs => {
                let side = self.side(graph, (a, sign(of_a)), Kind::Sign);
                (graph.binary(Op::Mul, side, a), true)
            }
            Op::Sign => (self.jump(graph, (a, sign(of_a))), false),
            Op::Step => {
                let side = self.jump(graph, (a, sign(of_a)));
                (graph.binary(Op::LessEq, zero, side), false)
            }
            Op::Floor => (self.side(graph, (a, 0), Kind::Floor), false),
            Op::Ceil => (self.ceil(graph, a), false),
            Op::Trunc | Op::Round => {
                let half = graph.constant(if op == Op::Round { 0.5 } else { 0.0 });
                let side = self.side(graph, (a, sign(of_a)), Kind::Sign);
                let (up, down) = (graph.binary(Op::Add, a, half), graph.binary(Op::Sub, a, half));
                let (up, down) = (self.side(graph, (up, 0), Kind::Floor), self.ceil(graph, down));
                let below = graph.binary(Op::Less, side, zero);
                (graph.select(below, down, up), false)
            }
            Op::Mod => {
                let ratio = graph.binary(Op::Div, a, b);
                let turns = self.side(graph, (ratio, 0), Kind::Floor);
                let whole = graph.binary(Op::Mul, b, turns);
                (graph.binary(Op::Sub, a, whole), true)
            }
            _ => unreachable!("{op:?} does not switch"),
        }
    }

    /// -floor(-x)
    fn ceil(&mut self, graph: &mut Graph, x: NodeId) -> NodeId {
        let negative = graph.unary(Op::Neg, x);
        let floor = self.side(graph, (negative, 0), Kind::Floor);
        graph.unary(Op::Neg, floor)
    }

    /// The sign of z, with which something jumps; z comes with the only sign that it has, or zero.
    fn jump(&mut self, graph: &mut Graph, z: (NodeId, i8)) -> NodeId {
        let place = self.place((&graph.finish(z.0), z.1), Kind::Sign);
        self.found[place.0].jumps = true;
        self.read(graph, place)
    }

    /// The side of z.
    fn side(&mut self, graph: &mut Graph, z: (NodeId, i8), kind: Kind) -> NodeId {
        let place = self.place((&graph.finish(z.0), z.1), kind);
        self.read(graph, place)
    }

    /// The side of a function, or its opposite.
    fn read(&self, graph: &mut Graph, (function, opposite): (usize, bool)) -> NodeId {
        let side = graph.var(self.found[function].side);
        if opposite { graph.unary(Op::Neg, side) } else { side }
    }

    /// The number of the function that holds the side of `z`, and whether that is the opposite one:
    /// functions that are equal up to their signs share one.
    fn place(&mut self, (z, sign): (&Expr, i8), kind: Kind) -> (usize, bool) {
        let key = (z.to_string(), kind);
        let first = self.next.0 as usize - self.found.len();
        let opposite = (z.negated().to_string(), kind);
        let known = match self.known.get(&key) {
            Some(side) => Some((side, false)),
            None if kind == Kind::Sign => self.known.get(&opposite).map(|side| (side, true)),
            None => None,
        };
        if let Some((side, negated)) = known {
            let k = side.0 as usize - first;
            let frozen = &mut self.found[k];
            match (&mut frozen.modes, self.mode) {
                (Some(modes), Some(mode)) if !modes.contains(&mode) => modes.push(mode),
                (modes, None) => *modes = None,
                _ => {}
            }
            if self.stops {
                self.stop(k);
            }
            return (k, negated);
        }
        let side = self.add(z.clone(), kind, self.mode.map(|mode| vec![mode]), None);
        self.known.insert(key, side);
        // Another function, whose pieces change with them, reads inner ones.
        let inner = z.vars().into_iter().filter_map(|v| (v.0 as usize).checked_sub(first));
        inner.for_each(|k| self.stop(k));
        let k = self.found.len() - 1;
        self.found[k].only = f64::from(sign);
        if self.stops {
            self.stop(k);
        }
        (k, false)
    }

    fn add(
        &mut self,
        function: Expr,
        kind: Kind,
        modes: Option<Vec<f64>>,
        passes: Option<usize>,
    ) -> VarId {
        let side = self.next;
        self.next = VarId(side.0 + 1);
        let (jumps, stops) = (false, false);
        self.found.push(Frozen { function, kind, side, jumps, stops, modes, passes, only: 0.0 });
        side
    }

    /// Equations, or another function, read the side of function `k`.
    fn stop(&mut self, k: usize) {
        self.found[k].stops = true;
    }

    /// The condition on sides and on variables that stand still: 1 where it holds, else 0. What moves
    /// equals something where its side is zero, and where it passes zero ([`Frozen::passes`]).
    pub fn condition(&mut self, condition: &Condition, only: Option<f64>) -> Expr {
        let stops = std::mem::replace(&mut self.stops, false);
        let mut graph = Graph::exact();
        let zero = graph.constant(0.0);
        let mut steps: Vec<NodeId> = Vec::with_capacity(condition.logic().len());
        for step in condition.logic() {
            let at = |i: u32| steps[i as usize];
            let node = match *step {
                Logic::Const(holds) => graph.truth(holds),
                Logic::Not(a) => graph.unary(Op::Not, at(a)),
                Logic::And(a, b) => graph.binary(Op::And, at(a), at(b)),
                Logic::Or(a, b) => graph.binary(Op::Or, at(a), at(b)),
                Logic::Atom(i) => self.atom(&mut graph, &condition.atoms()[i as usize], only),
            };
            steps.push(node);
        }
        self.stops = stops;
        let last = steps.pop().unwrap_or(zero);
        graph.finish(last)
    }

    fn atom(&mut self, graph: &mut Graph, atom: &Compare, only: Option<f64>) -> NodeId {
        let relation = self.relation(&atom.z, only);
        let side = match relation {
            Some(place) => self.read(graph, place),
            None => {
                let nodes = graph.import(&self.freeze(&atom.z, only));
                nodes[nodes.len() - 1]
            }
        };
        let (op, zero) = (atom.relation.op(), graph.constant(0.0));
        let holds = graph.binary(op, side, zero);
        let Some((k, _)) = relation.filter(|_| op == Op::Equal) else { return holds };
        let passes = graph.var(self.passing(k));
        let passes = graph.binary(Op::NotEqual, passes, zero);
        graph.binary(Op::Or, holds, passes)
    }

    /// The function that holds the side of `z`, what switches in it held still, and whether that is the
    /// opposite side; none for a z that stands still between events.
    pub fn relation(&mut self, z: &Expr, only: Option<f64>) -> Option<(usize, bool)> {
        let stops = std::mem::replace(&mut self.stops, false);
        let smooth = self.freeze(z, only);
        self.mode = only;
        let moves = smooth.vars().into_iter().any(|v| (self.moves)(v));
        let place = moves.then(|| self.place((&smooth, z.only_sign()), Kind::Sign));
        self.stops = stops;
        place
    }

    /// The variable that is 1 where function `k` passes zero.
    fn passing(&mut self, k: usize) -> VarId {
        let modes = self.found[k].modes.clone();
        if let Some(known) = self.found.iter_mut().find(|f| f.passes == Some(k)) {
            known.modes = modes;
            return known.side;
        }
        self.add(Expr::constant(0.0), Kind::Sign, modes, Some(k))
    }
}

/// Per node whether it stands anywhere else than in [`Op::Noevent`].
fn looked_at(nodes: &[Node]) -> Vec<bool> {
    let mut looked_at = vec![false; nodes.len()];
    if let Some(last) = looked_at.last_mut() {
        *last = true;
    }
    for (i, node) in nodes.iter().enumerate().rev() {
        if looked_at[i] && !matches!(node, Node::Call(Op::Noevent, _)) {
            node.operands().iter().for_each(|&arg| looked_at[arg as usize] = true);
        }
    }
    looked_at
}

/// Whether an operation has a kink or a jump.
fn switches(op: Op) -> bool {
    op.jumps() || matches!(op, Op::Min | Op::Max | Op::Abs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::expr::Names;

    /// Only where something switches under a root that is never negative.
    #[test]
    fn roots_go_on_behind_sides() {
        let scope = Names::new().var("x", 0).var("y", 1);
        for (text, clipped) in [
            ("sqrt(abs(x))", true),
            ("max(x, 0)^1.5", true),
            ("abs(x) + sqrt(y*y + 1)", false),
            ("sqrt(max(x, -1))", false),
        ] {
            let expr = Expr::parse(text, &scope).unwrap();
            let frozen = Freezer::new(VarId(2), |v| v.0 < 2).freeze(&expr, None);
            let is_max = |node: &Node| matches!(node, Node::Call(Op::Max, _));
            assert_eq!(frozen.nodes().iter().any(is_max), clipped, "{text}: {frozen}");
        }
    }
}
