//! Which values are polynomials of the time by their equations, with the sides that hold.
use crate::graph::{Id, Op};
use crate::model::Variable;
use crate::sim::Sim;
use std::collections::HashMap;

struct Walk<'a, 'b, const M: usize> {
    sim: &'a Sim<'b, M>,
    /// By slot of a state.
    derivatives: Vec<Option<Id>>,
    /// Nodes that were looked at; none while that goes on, for what depends on itself is no polynomial.
    known: HashMap<Id, Option<u32>>,
}

impl<const M: usize> Sim<'_, M> {
    /// Of each state: whether it is one, by slot.
    pub(crate) fn polynomials(&self) -> Vec<bool> {
        let mut walk = self.walk();
        let roots = walk.derivatives.clone();
        roots.into_iter().map(|id| id.is_none_or(|id| walk.node(id).is_some())).collect()
    }

    /// A bound of the degree of a node that is one.
    pub(crate) fn degree(&self, id: Id) -> Option<u32> {
        self.walk().node(id)
    }

    fn walk(&self) -> Walk<'_, '_, M> {
        Walk { sim: self, derivatives: self.derivatives(), known: HashMap::new() }
    }
}

impl<const M: usize> Walk<'_, '_, M> {
    fn node(&mut self, id: Id) -> Option<u32> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        self.known.insert(id, None);
        let degree = self.look(id);
        self.known.insert(id, degree);
        degree
    }

    fn look(&mut self, id: Id) -> Option<u32> {
        let sys = self.sim.sys;
        match sys.graph.ops[id as usize] {
            Op::Read(Variable::Time) => Some(1),
            Op::Read(Variable::State(u, i)) => {
                match self.derivatives[sys.slot(Variable::State(u, i))] {
                    Some(id) => self.node(id).map(|degree| degree.saturating_add(1)),
                    None => Some(0),
                }
            }
            Op::Read(variable @ Variable::Input(..)) => match sys.wires.get(&variable) {
                Some(output) => self.node(*output),
                None => Some(0),
            },
            Op::Read(Variable::Algebraic(..)) => None,
            Op::If(formula, a, b) => {
                let yes = self.sim.sides.holds(&sys.graph, formula);
                self.node(if yes { a } else { b })
            }
            Op::Multiply(a, b) => Some(self.node(a)?.saturating_add(self.node(b)?)),
            Op::Divide(a, b) if !sys.graph.moves(b) => self.node(a),
            Op::Sin(a) | Op::Cos(a) | Op::Exp(a) | Op::Tanh(a) | Op::Sqrt(a) | Op::Log(a) => {
                (!sys.graph.moves(a)).then_some(0)
            }
            Op::Divide(..) => None,
            op => op.operands().try_fold(0, |most, a| Some(self.node(a)?.max(most))),
        }
    }
}
