//! Names looked up, types checked, constants folded: syntax tree to [`Expr`] or [`Condition`].

use std::sync::Arc;

use super::condition::Condition;
use super::error::{ExprError, Span};
use super::function::{self, Meaning};
use super::graph::Graph;
use super::op::Op;
use super::parser::{Ast, AstId, AstKind, BinaryOp, Segment};
use super::scope::{Scope, Symbol};
use super::suggest::nearest;
use super::tree::{Expr, NodeId, Origin};

impl Ast {
    /// The expression as a number.
    ///
    /// # Errors
    /// Everything that is wrong with names and types, in the order of the text.
    pub fn real(&self, scope: &dyn Scope) -> Result<Expr, Vec<ExprError>> {
        let mut resolver = Resolver::new(self, scope);
        resolver.all();
        let root = resolver.number(self.nodes.len() - 1);
        resolver.end(root).map(|(graph, root)| graph.finish(root))
    }

    /// The expression as a condition.
    ///
    /// # Errors
    /// Everything that is wrong with names and types, in the order of the text.
    pub fn condition(&self, scope: &dyn Scope) -> Result<Condition, Vec<ExprError>> {
        let mut resolver = Resolver::new(self, scope);
        resolver.all();
        let root = resolver.truth(self.nodes.len() - 1);
        resolver.end(root).map(|(graph, root)| Condition::from_graph(graph, root))
    }
}

#[derive(Clone, Copy)]
enum Value {
    Number(NodeId),
    Truth(NodeId),
    /// Already reported; what uses it is not reported again.
    Wrong,
}

struct Resolver<'a> {
    ast: &'a Ast,
    scope: &'a dyn Scope,
    graph: Graph,
    source: u32,
    /// By syntax node, as far as they are known.
    values: Vec<Value>,
    errors: Vec<ExprError>,
}

impl<'a> Resolver<'a> {
    fn new(ast: &'a Ast, scope: &'a dyn Scope) -> Self {
        let mut graph = Graph::exact();
        let source = graph.source(&Arc::from(ast.source.as_str()));
        Self { ast, scope, graph, source, values: Vec::new(), errors: Vec::new() }
    }

    fn all(&mut self) {
        for id in 0..self.ast.nodes.len() {
            self.graph.here = Origin { source: self.source, span: self.span(id) };
            let value = self.value(id).unwrap_or(Value::Wrong);
            self.values.push(value);
        }
    }

    fn end(mut self, root: Option<NodeId>) -> Result<(Graph, NodeId), Vec<ExprError>> {
        match root {
            Some(root) if self.errors.is_empty() => Ok((self.graph, root)),
            _ => {
                self.errors.sort_by_key(|error| error.span().start);
                Err(self.errors)
            }
        }
    }

    fn span(&self, id: AstId) -> Span {
        self.ast.nodes[id].span
    }

    fn error(&mut self, error: ExprError) -> Option<Value> {
        self.errors.push(error);
        None
    }

    fn number(&mut self, id: AstId) -> Option<NodeId> {
        match self.values[id] {
            Value::Number(node) => Some(node),
            Value::Wrong => None,
            Value::Truth(_) => {
                self.errors.push(ExprError::ExpectedNumber { span: self.span(id) });
                None
            }
        }
    }

    fn truth(&mut self, id: AstId) -> Option<NodeId> {
        match self.values[id] {
            Value::Truth(node) => Some(node),
            Value::Wrong => None,
            Value::Number(_) => {
                self.errors.push(ExprError::ExpectedCondition { span: self.span(id) });
                None
            }
        }
    }

    /// The meaning of one syntax node, whose parts have one already; none after an error.
    fn value(&mut self, id: AstId) -> Option<Value> {
        let ast = self.ast;
        let span = self.span(id);
        Some(match &ast.nodes[id].kind {
            AstKind::Number(value) => Value::Number(self.graph.constant(*value)),
            AstKind::Bool(value) => Value::Truth(self.graph.truth(*value)),
            AstKind::Path(segments) => self.path(segments, span)?,
            AstKind::Neg(a) => {
                let a = self.number(*a)?;
                Value::Number(self.graph.unary(Op::Neg, a))
            }
            AstKind::Not(a) => {
                let a = self.truth(*a)?;
                Value::Truth(self.graph.unary(Op::Not, a))
            }
            AstKind::Binary(op, a, b) => self.binary(*op, *a, *b)?,
            AstKind::If(c, a, b) => self.conditional(*c, *a, *b)?,
            AstKind::Call { name, args } => self.call(*name, args, span)?,
        })
    }

    fn binary(&mut self, op: BinaryOp, a: AstId, b: AstId) -> Option<Value> {
        if let BinaryOp::And | BinaryOp::Or = op {
            let (a, b) = (self.truth(a), self.truth(b));
            let op = if op == BinaryOp::And { Op::And } else { Op::Or };
            return Some(Value::Truth(self.graph.binary(op, a?, b?)));
        }
        let (a, b) = (self.number(a), self.number(b));
        let (a, b) = (a?, b?);
        let (op, a, b) = match op {
            BinaryOp::Less => (Op::Less, a, b),
            BinaryOp::LessEq => (Op::LessEq, a, b),
            BinaryOp::Greater => (Op::Less, b, a),
            BinaryOp::GreaterEq => (Op::LessEq, b, a),
            BinaryOp::Equal => (Op::Equal, a, b),
            BinaryOp::NotEqual => (Op::NotEqual, a, b),
            BinaryOp::Add => (Op::Add, a, b),
            BinaryOp::Sub => (Op::Sub, a, b),
            BinaryOp::Mul => (Op::Mul, a, b),
            BinaryOp::Div => (Op::Div, a, b),
            BinaryOp::Pow => (Op::Pow, a, b),
            BinaryOp::And | BinaryOp::Or => unreachable!("taken above"),
        };
        let node = self.graph.binary(op, a, b);
        Some(if op.is_truth() { Value::Truth(node) } else { Value::Number(node) })
    }

    fn conditional(&mut self, c: AstId, a: AstId, b: AstId) -> Option<Value> {
        let condition = self.truth(c);
        if let (Value::Truth(yes), Value::Truth(no)) = (self.values[a], self.values[b]) {
            // A choice between conditions is a condition, whose comparisons stay visible.
            let condition = condition?;
            let otherwise = self.graph.unary(Op::Not, condition);
            let yes = self.graph.binary(Op::And, condition, yes);
            let no = self.graph.binary(Op::And, otherwise, no);
            return Some(Value::Truth(self.graph.binary(Op::Or, yes, no)));
        }
        let (yes, no) = (self.number(a), self.number(b));
        Some(Value::Number(self.graph.select(condition?, yes?, no?)))
    }

    fn call(&mut self, name: Span, args: &[AstId], span: Span) -> Option<Value> {
        let text = name.of(&self.ast.source);
        let Some(meaning) = function::lookup(text) else {
            let suggestion = nearest(text, function::names());
            return self.error(ExprError::UnknownFunction {
                name: text.to_owned(),
                suggestion,
                span: name,
            });
        };
        let numbers: Vec<Option<NodeId>> = args.iter().map(|&arg| self.number(arg)).collect();
        if let Err(expected) = meaning.check(args.len()) {
            let (name, found) = (text.to_owned(), args.len());
            return self.error(ExprError::ArgumentCount { name, expected, found, span });
        }
        let numbers: Vec<NodeId> = numbers.into_iter().collect::<Option<_>>()?;
        let graph = &mut self.graph;
        Some(Value::Number(match (meaning, &numbers[..]) {
            (Meaning::Op(op), &[a]) => graph.unary(op, a),
            (Meaning::Op(op), &[a, b]) => graph.binary(op, a, b),
            (Meaning::Fold(op), &[first, ref rest @ ..]) => {
                rest.iter().fold(first, |sum, &next| graph.binary(op, sum, next))
            }
            (Meaning::Clamp, &[x, low, high]) => {
                let raised = graph.binary(Op::Max, x, low);
                graph.binary(Op::Min, raised, high)
            }
            _ => unreachable!("the number of arguments was checked"),
        }))
    }

    fn path(&mut self, segments: &[Segment], span: Span) -> Option<Value> {
        let mut name = String::new();
        for segment in segments {
            match *segment {
                Segment::Name(part) => {
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.push_str(part.of(&self.ast.source));
                }
                Segment::Index(id) => {
                    let index = self.number(id)?;
                    match self.graph.as_const(index) {
                        Some(i) if i.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&i) => {
                            name.push_str(&format!("[{}]", i.abs()));
                        }
                        _ => return self.error(ExprError::BadIndex { span: self.span(id) }),
                    }
                }
            }
        }
        match self.scope.lookup(&name) {
            Some(Symbol::Const(value)) if value.is_finite() => {
                Some(Value::Number(self.graph.constant(value)))
            }
            Some(Symbol::Const(value)) => {
                self.error(ExprError::NonFiniteConstant { name, value, span })
            }
            Some(Symbol::Var(id)) => Some(Value::Number(self.graph.var(id))),
            None => match name.as_str() {
                "pi" => Some(Value::Number(self.graph.constant(std::f64::consts::PI))),
                "e" => Some(Value::Number(self.graph.constant(std::f64::consts::E))),
                _ if function::lookup(&name).is_some() => {
                    self.error(ExprError::FunctionWithoutArguments { name, span })
                }
                _ => {
                    let suggestion = nearest(&name, self.scope.names().into_iter().chain(["pi"]));
                    self.error(ExprError::UnknownVariable { name, suggestion, span })
                }
            },
        }
    }
}
