//! Where an expression switches, as expressions.
use super::{
    graph::Graph,
    op::Op,
    tree::{Expr, Node, NodeId},
};

impl Expr {
    /// The quantities at whose zeros the expression has a kink or a jump; where it rounds, sines with zeros there.
    ///
    /// ```
    /// use superdense_models::maths::expr::{Expr, Names};
    ///
    /// let rectified = Expr::parse("max(0, v) + 1", &Names::new().var("v", 0)).unwrap();
    /// assert_eq!(rectified.switches()[0].eval(&[3.0]), -3.0);
    /// ```
    #[must_use]
    pub fn switches(&self) -> Vec<Self> {
        let quantity = |node: &Node| {
            let Node::Call(op, [a, b, _]) = *node else { return None };
            let mut graph = Graph::exact();
            let all = graph.import(self);
            let [a, b] = [a, b].map(|k| all[k as usize]);
            let z = match op {
                Op::Less | Op::LessEq | Op::Equal | Op::NotEqual | Op::Min | Op::Max => {
                    graph.binary(Op::Sub, a, b)
                }
                Op::Abs | Op::Sign | Op::Step => a,
                Op::Floor | Op::Ceil | Op::Trunc => graph.whole(a),
                Op::Round => {
                    let half = graph.constant(0.5);
                    let below = graph.binary(Op::Sub, a, half);
                    graph.whole(below)
                }
                Op::Mod => {
                    let turns = graph.binary(Op::Div, a, b);
                    graph.whole(turns)
                }
                _ => return None,
            };
            Some(graph.finish(z))
        };
        let all = self.nodes().iter().filter_map(quantity);
        all.filter(|z| z.as_constant().is_none()).collect()
    }
}

impl Graph {
    /// A function that passes zero where `a` is a whole number.
    fn whole(&mut self, a: NodeId) -> NodeId {
        let pi = self.constant(std::f64::consts::PI);
        let angle = self.binary(Op::Mul, a, pi);
        self.unary(Op::Sin, angle)
    }
}
