//! Which states are polynomials of the time by their equations, with the sides that hold.
use crate::graph::{Id, Op};
use crate::model::Variable;
use crate::sim::Sim;
use std::collections::HashMap;

struct Walk<'a, 'b, const M: usize> {
    sim: &'a Sim<'b, M>,
    /// By slot of a state.
    derivatives: Vec<Option<Id>>,
    /// Nodes that were looked at; false while that goes on, for what depends on itself is none.
    known: HashMap<Id, bool>,
}

impl<const M: usize> Sim<'_, M> {
    /// Of each state: whether it is one, by slot.
    pub(crate) fn polynomials(&self) -> Vec<bool> {
        let derivatives = self.derivatives();
        let roots = derivatives.clone();
        let mut walk = Walk { sim: self, derivatives, known: HashMap::new() };
        roots.into_iter().map(|id| id.is_none_or(|id| walk.node(id))).collect()
    }
}

impl<const M: usize> Walk<'_, '_, M> {
    fn node(&mut self, id: Id) -> bool {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        self.known.insert(id, false);
        let sys = self.sim.sys;
        let is = match sys.graph.ops[id as usize] {
            Op::Read(Variable::State(u, i)) => {
                let slot = sys.slot(Variable::State(u, i));
                self.derivatives[slot].is_none_or(|id| self.node(id))
            }
            Op::Read(variable @ Variable::Input(..)) => {
                sys.wires.get(&variable).is_none_or(|output| self.node(*output))
            }
            Op::Read(Variable::Algebraic(..)) => false,
            Op::If(formula, a, b) => {
                let yes = self.sim.sides.holds(&sys.graph, formula);
                self.node(if yes { a } else { b })
            }
            Op::Divide(a, b) => self.node(a) && !sys.graph.moves(b),
            Op::Sin(a) | Op::Cos(a) | Op::Exp(a) | Op::Tanh(a) | Op::Sqrt(a) | Op::Log(a) => {
                !sys.graph.moves(a)
            }
            op => op.operands().all(|a| self.node(a)),
        };
        self.known.insert(id, is);
        is
    }
}
