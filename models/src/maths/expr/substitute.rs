//! Replacing variables by expressions.

use super::graph::Graph;
use super::op::Op;
use super::scope::{Symbol, VarId};
use super::tree::{Expr, Node, NodeId};

impl Expr {
    /// The expression with each variable among the pairs replaced.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names, VarId};
    ///
    /// let force = Expr::parse("2*x", &Names::new().var("x", 0)).unwrap();
    /// let power = Expr::parse("f*v", &Names::new().var("f", 9).var("v", 1)).unwrap();
    /// assert_eq!(power.substitute(&[(VarId(9), &force)]).eval(&[3.0, 4.0]), 24.0);
    /// ```
    #[must_use]
    pub fn substitute(&self, by: &[(VarId, &Self)]) -> Self {
        if !self.vars().iter().any(|v| by.iter().any(|(w, _)| v == w)) {
            return self.clone();
        }
        let mut graph = Graph::exact();
        let mut roots: Vec<(VarId, NodeId)> = Vec::with_capacity(by.len());
        for (var, expr) in by {
            let imported = graph.import(expr);
            roots.push((*var, imported[imported.len() - 1]));
        }
        let here = graph.import_with(self, |id| {
            roots.iter().find(|(var, _)| *var == id).map(|&(_, root)| root)
        });
        graph.finish(here[self.nodes.len() - 1])
    }

    /// A formula of other expressions, by their names in it.
    ///
    /// # Panics
    /// Unless the text is a formula of these names.
    pub(crate) fn of(text: &str, by: &[(&str, &Self)]) -> Self {
        const PLACES: u32 = 1 << 29;
        let place = |k: usize| VarId(PLACES + k as u32);
        let scope =
            |name: &str| by.iter().position(|(n, _)| *n == name).map(|k| Symbol::Var(place(k)));
        let formula = Self::parse(text, &scope).expect("a formula of these names");
        let by: Vec<(VarId, &Self)> =
            by.iter().enumerate().map(|(k, (_, expr))| (place(k), *expr)).collect();
        formula.substitute(&by)
    }
}

impl Graph {
    /// [`import`](Self::import) with some variables already in the graph as other nodes.
    fn import_with(&mut self, expr: &Expr, known: impl Fn(VarId) -> Option<NodeId>) -> Vec<NodeId> {
        let plain = self.import(expr);
        let mut here: Vec<NodeId> = Vec::with_capacity(expr.nodes.len());
        for (i, node) in expr.nodes.iter().enumerate() {
            self.here = self.origins[plain[i] as usize];
            let id = match *node {
                Node::Const(_) => plain[i],
                Node::Var(var) => known(var).unwrap_or(plain[i]),
                Node::Powi(x, n) => self.powi(here[x as usize], n),
                Node::Call(op, args) => self.call(op, args.map(|arg| here[arg as usize])),
            };
            here.push(id);
        }
        here
    }
}

impl Expr {
    /// The expression while a variable has a value, else another number.
    #[must_use]
    pub fn while_equal(&self, var: VarId, value: f64, other: f64) -> Self {
        let mut graph = Graph::exact();
        let root = graph.import(self)[self.nodes.len() - 1];
        let (var, value) = (graph.var(var), graph.constant(value));
        let is = graph.binary(Op::Equal, var, value);
        let other = graph.constant(other);
        let chosen = graph.select(is, root, other);
        graph.finish(chosen)
    }

    /// The alternative of number `var`; the last one for all other values.
    ///
    /// # Panics
    /// Without alternatives.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, VarId};
    /// let of = [1.0, 2.0, 3.0].map(Expr::constant);
    /// assert_eq!(Expr::choose(VarId(0), &of).eval(&[1.0]), 2.0);
    /// ```
    pub fn choose(var: VarId, alternatives: &[Self]) -> Self {
        let mut graph = Graph::exact();
        let mut roots: Vec<NodeId> = Vec::with_capacity(alternatives.len());
        for expr in alternatives {
            let nodes = graph.import(expr);
            roots.push(nodes[nodes.len() - 1]);
        }
        let mut chosen = roots.pop().expect("an alternative");
        for (number, root) in roots.into_iter().enumerate().rev() {
            let (var, number) = (graph.var(var), graph.constant(number as f64));
            let is = graph.binary(Op::Equal, var, number);
            chosen = graph.select(is, root, chosen);
        }
        graph.finish(chosen)
    }
}
