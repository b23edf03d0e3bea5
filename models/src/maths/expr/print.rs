//! Expressions as text that parses back to the same value.
//!
//! The work list stands in for recursion, because a long sum is a deep tree; the limit stops
//! derivatives, whose shared parts a text has to repeat, from printing without end.

use std::fmt;

use super::op::Op;
use super::scope::VarId;
use super::tree::{Expr, Node, NodeId};

/// Nodes printed before the rest is replaced by an ellipsis.
const MAX_PRINTED: usize = 2 * super::parser::MAX_SOURCE;

/// How tightly the outermost operator binds; an operand looser than its place gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Whole,
    Or,
    And,
    Not,
    Comparison,
    Comparand,
    Sum,
    Term,
    Product,
    Factor,
    Neg,
    Power,
    Base,
}

enum Work {
    Node(NodeId, Binding),
    Text(&'static str),
    Exponent(i32),
}

impl fmt::Display for Expr {
    /// Variables are called `v0`, `v1`, ...; [`Expr::display_with`] gives them their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, &|id| format!("v{}", id.0), f)
    }
}

impl Expr {
    /// The expression as text in the expression language.
    pub fn display_with(&self, name: impl Fn(VarId) -> String) -> String {
        let mut text = String::new();
        print(self, &name, &mut text).expect("writing to a string succeeds");
        text
    }
}

fn print(expr: &Expr, name: &dyn Fn(VarId) -> String, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut stack = vec![Work::Node(expr.nodes.len() as NodeId - 1, Binding::Whole)];
    let mut printed = 0;
    while let Some(work) = stack.pop() {
        let (id, place) = match work {
            Work::Node(id, place) => (id, place),
            Work::Text(text) => {
                out.write_str(text)?;
                continue;
            }
            Work::Exponent(n) => {
                write!(out, "^{n}")?;
                continue;
            }
        };
        printed += 1;
        if printed > MAX_PRINTED {
            return out.write_char('…');
        }
        let node = expr.nodes[id as usize];
        let parentheses = binding(node) < place;
        if parentheses {
            out.write_char('(')?;
            stack.push(Work::Text(")"));
        }
        match node {
            Node::Const(value) => write!(out, "{value:?}")?,
            Node::Var(id) => out.write_str(&name(id))?,
            Node::Powi(x, n) => {
                stack.push(Work::Exponent(n));
                stack.push(Work::Node(x, Binding::Base));
            }
            Node::Call(op, args) => push_call(&mut stack, op, args),
        }
    }
    Ok(())
}

fn push_call(stack: &mut Vec<Work>, op: Op, args: [NodeId; 3]) {
    let [a, b, _] = args;
    let infix = |left, text, right| {
        [Work::Node(b, right), Work::Text(text), Work::Node(a, left)].into_iter()
    };
    use Binding::*;
    match op {
        Op::Neg => stack.extend([Work::Node(a, Neg), Work::Text("-")]),
        Op::Not => stack.extend([Work::Node(a, Not), Work::Text("not ")]),
        Op::Add => stack.extend(infix(Sum, " + ", Term)),
        Op::Sub => stack.extend(infix(Sum, " - ", Term)),
        Op::Mul => stack.extend(infix(Product, "*", Factor)),
        Op::Div => stack.extend(infix(Product, "/", Factor)),
        Op::Pow => stack.extend(infix(Base, "^", Base)),
        Op::Less => stack.extend(infix(Comparand, " < ", Comparand)),
        Op::LessEq => stack.extend(infix(Comparand, " <= ", Comparand)),
        Op::Equal => stack.extend(infix(Comparand, " == ", Comparand)),
        Op::NotEqual => stack.extend(infix(Comparand, " != ", Comparand)),
        Op::And => stack.extend(infix(And, " and ", Not)),
        Op::Or => stack.extend(infix(Or, " or ", And)),
        _ => {
            stack.push(Work::Text(")"));
            for (i, &arg) in args[..op.arity()].iter().enumerate().rev() {
                stack.push(Work::Node(arg, Whole));
                stack.push(Work::Text(if i == 0 { "(" } else { ", " }));
            }
            stack.push(Work::Text(op.name()));
        }
    }
}

fn binding(node: Node) -> Binding {
    match node {
        // A leading minus binds like the operator.
        Node::Const(value) if value.is_sign_negative() => Binding::Neg,
        Node::Const(_) | Node::Var(_) => Binding::Base,
        Node::Powi(..) => Binding::Power,
        Node::Call(op, _) => match op {
            Op::Or => Binding::Or,
            Op::And => Binding::And,
            Op::Not => Binding::Not,
            Op::Less | Op::LessEq | Op::Equal | Op::NotEqual => Binding::Comparison,
            Op::Add | Op::Sub => Binding::Sum,
            Op::Mul | Op::Div => Binding::Product,
            Op::Neg => Binding::Neg,
            Op::Pow => Binding::Power,
            _ => Binding::Base,
        },
    }
}
