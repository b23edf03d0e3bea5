//! The measures of a syntax tree, from its leaves on.

use super::super::{
    error::{ExprError, Span},
    function::{self, Meaning},
    library::{Function, Library, Takes},
    op::Op,
    parser::{Ast, AstId, AstKind, BinaryOp, Segment},
};
use super::{Clash, Measure, Together};

impl Ast {
    /// The measure of the value, and what does not go together in it. Names are looked up without their
    /// indices: `u[3].q` is `u.q`.
    pub fn measure(
        &self,
        names: &dyn Fn(&str) -> Measure,
        functions: &Library,
    ) -> (Measure, Vec<ExprError>) {
        let mut walk = Walk { ast: self, names, functions, found: Vec::new(), errors: Vec::new() };
        for id in 0..self.nodes.len() {
            let measure = walk.node(id);
            walk.found.push(measure);
        }
        let whole = walk.found.last().copied().unwrap_or(Measure::Unknown);
        (whole, walk.errors)
    }
}

struct Walk<'a> {
    ast: &'a Ast,
    names: &'a dyn Fn(&str) -> Measure,
    functions: &'a Library,
    /// By syntax node.
    found: Vec<Measure>,
    errors: Vec<ExprError>,
}

const COMPARED: &str = "they cannot be compared";
const ADDED: &str = "they cannot be added";
const CHOSEN: &str = "no value can be either";

impl Walk<'_> {
    fn node(&mut self, id: AstId) -> Measure {
        let ast = self.ast;
        match &ast.nodes[id].kind {
            AstKind::Number(value) => Measure::Number(Some(*value)),
            AstKind::Bool(_) | AstKind::Not(_) => Measure::Number(None),
            AstKind::Path(segments) => self.path(id, segments),
            AstKind::Neg(a) => self.found[*a].negative(),
            AstKind::Binary(op, a, b) => self.binary(*op, *a, *b),
            AstKind::If(_, a, b) => self.together([*a, *b], Together::Equal, CHOSEN),
            AstKind::Call { name, args } => self.call(*name, args),
            AstKind::Over { name, body, .. } => match name.of(&ast.source) {
                "min" | "max" => self.found[*body],
                "sum" => match self.found[*body] {
                    scale if scale.is_scale() => Measure::Unknown,
                    Measure::Number(_) => Measure::Number(None),
                    other => other,
                },
                _ => Measure::Unknown,
            },
        }
    }

    /// Whether a range around a node has an index of this name.
    fn is_index(&self, id: AstId, name: &str) -> bool {
        self.ast.nodes[id..].iter().any(|node| match &node.kind {
            AstKind::Over { first, body, index, .. } => {
                (*first..=*body).contains(&id) && index.of(&self.ast.source) == name
            }
            _ => false,
        })
    }

    fn path(&self, id: AstId, segments: &[Segment]) -> Measure {
        let names = segments.iter().filter_map(|segment| match segment {
            Segment::Name(span) => Some(span.of(&self.ast.source)),
            Segment::Index(_) => None,
        });
        let name = names.collect::<Vec<_>>().join(".");
        if self.is_index(id, &name) {
            return Measure::Number(None);
        }
        (self.names)(&name)
    }

    fn binary(&mut self, op: BinaryOp, a: AstId, b: AstId) -> Measure {
        match op {
            BinaryOp::Add => self.together([a, b], Together::Sum(1.0), ADDED),
            BinaryOp::Sub => self.together([a, b], Together::Sum(-1.0), ADDED),
            BinaryOp::Mul => self.product([a, b], 1.0),
            BinaryOp::Div => self.product([a, b], -1.0),
            BinaryOp::Pow => self.power(a, b),
            BinaryOp::And | BinaryOp::Or => Measure::Number(None),
            _ => {
                self.together([a, b], Together::Equal, COMPARED);
                Measure::Number(None)
            }
        }
    }

    /// A product with a power; of temperatures whose sum is no difference, quantities make no heat.
    fn product(&mut self, [a, b]: [AstId; 2], power: f64) -> Measure {
        let mixed = |id: AstId, by: AstId| match (self.found[id], self.found[by]) {
            (Measure::Known(sum), Measure::Known(_)) => sum.is_mixed(),
            _ => false,
        };
        let sum = if mixed(a, b) { Some(a) } else { Some(b).filter(|_| mixed(b, a)) };
        if let Some(sum) = sum {
            self.errors
                .push(ExprError::MixedTemperatures { sum: self.text(sum), span: self.span(sum) });
        }
        self.found[a].times(self.found[b], power)
    }

    fn text(&self, id: AstId) -> String {
        let text = self.ast.nodes[id].span.of(&self.ast.source);
        match text.char_indices().nth(40) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }

    fn span(&self, id: AstId) -> Span {
        self.ast.nodes[id].span
    }

    fn together(&mut self, [a, b]: [AstId; 2], how: Together, why: &'static str) -> Measure {
        let (left, right) = (self.found[a], self.found[b]);
        let clash = match left.together(right, how) {
            Ok(measure) => return measure,
            Err(clash) => clash,
        };
        let span = self.span(a).to(self.span(b));
        self.errors.push(match clash {
            Clash::Different => ExprError::Dimensions {
                left: self.text(a),
                of_left: left.text(),
                right: self.text(b),
                of_right: right.text(),
                why,
                span,
            },
            Clash::Scale(first) => {
                let (scale, other) = if first { (a, b) } else { (b, a) };
                ExprError::BesideScale { scale: self.text(scale), other: self.text(other), span }
            }
        });
        Measure::Unknown
    }

    /// Demands a pure number; what is made of the time alone passes for one.
    fn pure(&mut self, id: AstId, of: &str) {
        if let Measure::Known(m) = self.found[id]
            && !m.is_pure()
            && !m.is_soft()
        {
            let (argument, found) = (self.text(id), self.found[id].text());
            let (of, span) = (of.to_owned(), self.span(id));
            self.errors.push(ExprError::NotPure { of, argument, found, span });
        }
    }

    fn power(&mut self, base: AstId, exponent: AstId) -> Measure {
        self.pure(exponent, "an exponent");
        match (self.found[base], self.found[exponent]) {
            (base, Measure::Number(Some(exponent))) => base.power(exponent),
            (Measure::Number(_), _) => Measure::Number(None),
            (Measure::Known(m), _) if m.is_pure() => Measure::Number(None),
            _ => Measure::Unknown,
        }
    }

    fn call(&mut self, name: Span, args: &[AstId]) -> Measure {
        let text = name.of(&self.ast.source);
        let meaning = function::lookup(text);
        match (meaning, args) {
            (None, &[x]) if text == function::PRE => self.found[x],
            (Some(Meaning::Fold(_) | Meaning::Clamp), &[first, ref rest @ ..]) => {
                let first_measure = self.found[first];
                let equal = |all: Measure, &next: &AstId, walk: &mut Self| {
                    walk.together([first, next], Together::Equal, CHOSEN);
                    match all {
                        Measure::Number(_) => walk.found[next],
                        other => other,
                    }
                };
                rest.iter().fold(first_measure, |all, next| equal(all, next, self))
            }
            (Some(Meaning::Op(op)), args) if args.len() == op.arity() => self.operation(op, args),
            _ => {
                if let Some(function) = self.functions.get(text) {
                    self.declared(text, function, (name, args));
                }
                Measure::Unknown
            }
        }
    }

    /// Looks at temperatures that are given to a declared function.
    fn declared(&mut self, name: &str, function: &Function, (at, args): (Span, &[AstId])) {
        match &function.takes {
            Takes::Points(scales) => {
                for ((&arg, &scale), axis) in args.iter().zip(scales).zip(["x", "y"]) {
                    let (points, argument) = (format!("{name}.{axis}"), self.text(arg));
                    let pair = match self.found[arg] {
                        found if found.is_scale() && !scale => (argument, points),
                        Measure::Number(_) if scale => (points, argument),
                        _ => continue,
                    };
                    let (scale, other) = pair;
                    self.errors.push(ExprError::BesideScale { scale, other, span: self.span(arg) });
                }
            }
            Takes::Formula(names, ast) => {
                let given = |name: &str| names.iter().position(|n| n == name);
                let found = |name: &str| match given(name) {
                    Some(k) => args.get(k).map_or(Measure::Unknown, |&arg| self.found[arg]),
                    None => Measure::Unknown,
                };
                let (_, errors) = ast.measure(&found, self.functions);
                let scale = errors.into_iter().find_map(|error| match error {
                    ExprError::BesideScale { scale, other, .. } => Some((scale, other)),
                    _ => None,
                });
                if let Some((scale, other)) = scale {
                    let scale = format!("{name}({scale})");
                    self.errors.push(ExprError::BesideScale { scale, other, span: at });
                }
            }
        }
    }

    fn operation(&mut self, op: Op, args: &[AstId]) -> Measure {
        let x = args[0];
        match (op, args) {
            (Op::Pow, &[base, exponent]) => self.power(base, exponent),
            (Op::Sqrt, _) => self.found[x].power(0.5),
            (Op::Cbrt, _) => self.found[x].power(1.0 / 3.0),
            (Op::Abs | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Noevent, _) => {
                self.found[x]
            }
            (Op::Sign | Op::Step, _) => Measure::Number(None),
            (Op::Hypot | Op::Mod, &[a, b]) => self.together([a, b], Together::Equal, ADDED),
            (Op::Atan2, &[a, b]) => {
                self.together([a, b], Together::Equal, COMPARED);
                Measure::Number(None)
            }
            _ => {
                self.pure(x, &format!("`{}`", op.name()));
                Measure::Number(None)
            }
        }
    }
}
