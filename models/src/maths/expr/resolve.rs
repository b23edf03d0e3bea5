//! Names looked up, types checked, constants folded: syntax tree to [`Expr`] or [`Condition`].

use std::sync::Arc;

use super::condition::Condition;
use super::error::{ExprError, Span};
use super::function::{self, Drawn, Meaning};
use super::graph::Graph;
use super::op::Op;
use super::parser::{Ast, AstId, AstKind, BinaryOp, Range, Segment};
use super::scope::{NoValueBefore, Scope, Symbol, element};
use super::suggest::nearest;
use super::tree::{Expr, NodeId, Origin};

/// Most terms of all sums of an expression together, sums in sums counted each time.
const MAX_TERMS: usize = 1_000_000;

impl Ast {
    /// The expression as a number.
    ///
    /// # Errors
    /// Everything that is wrong with names and types, in the order of the text.
    pub fn real(&self, scope: &dyn Scope) -> Result<Expr, Vec<ExprError>> {
        let mut resolver = Resolver::new(self, scope);
        resolver.nodes(0, self.nodes.len());
        let root = resolver.number(self.nodes.len() - 1);
        resolver.end(root).map(|(graph, root)| graph.finish(root))
    }

    /// The expression as a condition.
    ///
    /// # Errors
    /// Everything that is wrong with names and types, in the order of the text.
    pub fn condition(&self, scope: &dyn Scope) -> Result<Condition, Vec<ExprError>> {
        let mut resolver = Resolver::new(self, scope);
        resolver.nodes(0, self.nodes.len());
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
    /// By syntax node: the range expression in whose body it begins.
    bodies: Vec<Option<AstId>>,
    /// Indices of the ranges around.
    indices: Vec<(&'a str, f64)>,
    /// Terms of all ranges so far.
    terms: usize,
    errors: Vec<ExprError>,
}

impl<'a> Resolver<'a> {
    fn new(ast: &'a Ast, scope: &'a dyn Scope) -> Self {
        let mut graph = Graph::exact();
        let source = graph.source(&Arc::from(ast.source.as_str()));
        let mut bodies = vec![None; ast.nodes.len()];
        for (id, node) in ast.nodes.iter().enumerate() {
            // The outermost comes last.
            if let AstKind::Over { first, .. } = node.kind {
                bodies[first] = Some(id);
            }
        }
        let values = vec![Value::Wrong; ast.nodes.len()];
        let (indices, terms, errors) = (Vec::new(), 0, Vec::new());
        Self { ast, scope, graph, source, values, bodies, indices, terms, errors }
    }

    /// Resolves the nodes from `id` to `end`; the bodies of ranges wait for their indices.
    fn nodes(&mut self, mut id: AstId, end: AstId) {
        while id < end {
            if let Some(over) = self.bodies[id]
                && let AstKind::Over { body, .. } = self.ast.nodes[over].kind
                && over < end
            {
                id = body + 1;
                continue;
            }
            self.graph.here = Origin { source: self.source, span: self.span(id) };
            self.values[id] = self.value(id).unwrap_or(Value::Wrong);
            id += 1;
        }
    }

    /// A sum, product, minimum or maximum over a range.
    fn over(
        &mut self,
        name: Span,
        (first, body): (AstId, AstId),
        index: Span,
        range: Range,
    ) -> Option<Value> {
        let text = name.of(&self.ast.source);
        let op = match text {
            "sum" => Op::Add,
            "product" => Op::Mul,
            "min" => Op::Min,
            "max" => Op::Max,
            _ => {
                return self.error(ExprError::NotOverRange { name: text.to_owned(), span: name });
            }
        };
        let (from, to) = (self.whole(range.from), self.whole(range.to));
        let (from, to) = (from?, to?);
        let end = if range.inclusive { to + 1.0 } else { to };
        let neutral = matches!(op, Op::Add | Op::Mul);
        let count = (end - from).max(0.0);
        if count + self.terms as f64 > MAX_TERMS as f64 || count == 0.0 && !neutral {
            let span = self.span(range.from).to(self.span(range.to));
            return self.error(ExprError::BadRange { from, to, limit: MAX_TERMS, span });
        }
        self.terms += count as usize;
        let mut total: Option<NodeId> = None;
        // A range of its own may begin where the body begins.
        let outer = std::mem::take(&mut self.bodies[first]);
        let inner = self.inner(first, body);
        self.bodies[first] = inner;
        for k in 0..count as u64 {
            self.indices.push((index.of(&self.ast.source), from + k as f64));
            let before = self.errors.len();
            self.nodes(first, body + 1);
            let value = self.number(body);
            self.indices.pop();
            if self.errors.len() > before || value.is_none() {
                self.bodies[first] = outer;
                return None;
            }
            let value = value?;
            total = Some(match total {
                Some(total) => self.graph.binary(op, total, value),
                None => value,
            });
        }
        self.bodies[first] = outer;
        let none = self.graph.constant(if op == Op::Mul { 1.0 } else { 0.0 });
        Some(Value::Number(total.unwrap_or(none)))
    }

    /// The outermost range whose body begins at `first` and that lies inside `..=body`.
    fn inner(&self, first: AstId, body: AstId) -> Option<AstId> {
        let begins = |id: &AstId| match self.ast.nodes[*id].kind {
            AstKind::Over { first: begin, .. } => begin == first,
            _ => false,
        };
        (first..=body).rev().find(begins)
    }

    /// A constant whole number.
    fn whole(&mut self, id: AstId) -> Option<f64> {
        let node = self.number(id)?;
        match self.graph.as_const(node) {
            Some(x) if x.fract() == 0.0 && x.abs() <= 9e15 => Some(x),
            _ => {
                self.errors.push(ExprError::BadIndex { span: self.span(id) });
                None
            }
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
            AstKind::Over { name, first, body, index, range } => {
                self.over(*name, (*first, *body), *index, *range)?
            }
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
        if text == function::PRE {
            return self.before(args, span);
        }
        let numbers: Vec<Option<NodeId>> = args.iter().map(|&arg| self.number(arg)).collect();
        let scope = self.scope;
        let declared = scope.function(text);
        let meaning = function::lookup(text);
        let fits = match (declared, function::drawn(text), meaning) {
            (Some(declared), ..) => function::arguments(declared.arity, args.len()),
            (_, Some(drawn), _) => function::arguments(drawn.arity(), args.len()),
            (_, _, Some(meaning)) => meaning.check(args.len()),
            (None, None, None) => {
                let suggestion = nearest(text, function::names());
                let (name, span) = (text.to_owned(), name);
                return self.error(ExprError::UnknownFunction { name, suggestion, span });
            }
        };
        if let Err(expected) = fits {
            let (name, expected, found) = (text.to_owned(), expected.to_string(), args.len());
            return self.error(ExprError::ArgumentCount { name, expected, found, span });
        }
        let numbers: Vec<NodeId> = numbers.into_iter().collect::<Option<_>>()?;
        if let Some(declared) = declared {
            return Some(Value::Number(self.graph.apply(declared, &numbers)));
        }
        if let Some(drawn) = function::drawn(text) {
            return self.draw(drawn, &numbers, span);
        }
        let meaning = meaning?;
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

    /// A random number from uniform ones.
    fn draw(&mut self, drawn: Drawn, args: &[NodeId], span: Span) -> Option<Value> {
        let mut next = || self.scope.draw().map(|id| self.graph.var(id));
        let Some(u) = next() else { return self.error(ExprError::NoDraw { span }) };
        let second = if drawn == Drawn::Normal { next() } else { None };
        let known = |arg: Option<&NodeId>| self.graph.as_constant(*arg?);
        let wrong = match (drawn, known(args.first()), known(args.get(1))) {
            (Drawn::Uniform, Some(low), Some(high)) => high < low,
            (Drawn::Normal, _, Some(deviation)) => deviation < 0.0,
            (Drawn::Exponential, Some(mean), _) => mean < 0.0,
            _ => false,
        };
        if wrong {
            return self.error(ExprError::BadDraw { span });
        }
        let graph = &mut self.graph;
        Some(Value::Number(match (drawn, second, args) {
            (Drawn::Uniform, _, &[low, high]) => {
                let width = graph.binary(Op::Sub, high, low);
                let above = graph.binary(Op::Mul, width, u);
                graph.binary(Op::Add, low, above)
            }
            (Drawn::Normal, Some(turn), &[mean, deviation]) => {
                // A point on a circle with a random radius, in polar coordinates.
                let (minus, round) = (graph.constant(-2.0), graph.constant(std::f64::consts::TAU));
                let log = graph.unary(Op::Ln, u);
                let square = graph.binary(Op::Mul, minus, log);
                let radius = graph.unary(Op::Sqrt, square);
                let angle = graph.binary(Op::Mul, round, turn);
                let side = graph.unary(Op::Cos, angle);
                let standard = graph.binary(Op::Mul, radius, side);
                let away = graph.binary(Op::Mul, deviation, standard);
                graph.binary(Op::Add, mean, away)
            }
            (_, _, &[mean, ..]) => {
                let log = graph.unary(Op::Ln, u);
                let scaled = graph.binary(Op::Mul, mean, log);
                graph.unary(Op::Neg, scaled)
            }
            _ => unreachable!("the number of arguments was checked"),
        }))
    }

    /// `pre(x)`.
    fn before(&mut self, args: &[AstId], span: Span) -> Option<Value> {
        let &[arg] = args else {
            let (name, expected) = (function::PRE.to_owned(), "1 argument".to_owned());
            let found = args.len();
            return self.error(ExprError::ArgumentCount { name, expected, found, span });
        };
        let value = self.number(arg)?;
        let is_path = matches!(self.ast.nodes[arg].kind, AstKind::Path(_));
        let variable = self.graph.as_var(value).filter(|_| is_path);
        match variable.map(|variable| self.scope.before(variable)) {
            Some(Ok(before)) => Some(Value::Number(self.graph.var(before))),
            Some(Err(NoValueBefore::Here)) => self.error(ExprError::NoCycle { span }),
            Some(Err(NoValueBefore::OfThis)) | None => {
                let span = self.span(arg);
                self.error(ExprError::NoVariable { span })
            }
        }
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
                    let index = self.whole(id)?;
                    let known = index >= 0.0 || self.scope.extent(&name).is_some();
                    if !known || index > f64::from(u32::MAX) {
                        return self.error(ExprError::BadIndex { span: self.span(id) });
                    }
                    name.push_str(&format!("[{}]", index as i64));
                }
            }
        }
        if let Some(&(_, value)) = self.indices.iter().rev().find(|(known, _)| *known == name) {
            return Some(Value::Number(self.graph.constant(value)));
        }
        match self.scope.lookup(&name) {
            Some(Symbol::Const(value)) if value.is_finite() => {
                Some(Value::Number(self.graph.constant(value)))
            }
            Some(Symbol::Const(value)) => {
                self.error(ExprError::NonFiniteConstant { name, value, span })
            }
            Some(Symbol::Var(id)) => Some(Value::Number(self.graph.var(id))),
            None if self.array_of(&name).is_some() => {
                let (base, low, high) = self.array_of(&name)?;
                self.error(ExprError::OutOfRange { name, base, low, high, span })
            }
            None => match name.as_str() {
                "pi" => Some(Value::Number(self.graph.constant(std::f64::consts::PI))),
                "e" => Some(Value::Number(self.graph.constant(std::f64::consts::E))),
                _ if function::lookup(&name).is_some() => {
                    self.error(ExprError::FunctionWithoutArguments { name, span })
                }
                _ => match self.scope.extent(&name) {
                    Some((low, high)) => {
                        self.error(ExprError::WithoutIndex { name, low, high, span })
                    }
                    None => {
                        let near = nearest(&name, self.scope.names());
                        let suggestion = near.or_else(|| nearest(&name, ["pi"]));
                        self.error(ExprError::UnknownVariable { name, suggestion, span })
                    }
                },
            },
        }
    }

    /// The array of which `name` would be an element, with its first and last index.
    fn array_of(&self, name: &str) -> Option<(String, i64, i64)> {
        let (base, _) = element(name)?;
        let (low, high) = self.scope.extent(base)?;
        Some((base.to_owned(), low, high))
    }
}
