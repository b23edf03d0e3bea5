//! Generic code as a program, by running it once on numbers that take notes.

use std::cell::RefCell;
use std::rc::Rc;

use super::compile::lower_powi;
use super::graph::{Graph, MAX_POWI};
use super::op::{Op, apply};
use super::program::Program;
use super::scalar::Scalar;
use super::scope::VarId;
use super::tree::NodeId;

/// The sheet to which a recording writes.
struct Sheet {
    graph: Graph,
    /// The code looked at a value, so that another one might take another way.
    consulted: bool,
}

#[derive(Clone)]
enum Kind {
    Constant(f64),
    Node(Rc<RefCell<Sheet>>, NodeId),
}

/// A number that notes what is computed with it; see [`record`].
#[derive(Clone)]
pub struct Recorder(Kind);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Constant(value) => write!(f, "{value}"),
            Kind::Node(_, id) => write!(f, "#{id}"),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

/// The program of what `code` computes: it gets `variables` numbers and writes `results`.
///
/// Nothing if the code looks at a [`value`](Scalar::value) that depends on the variables, since a
/// branch taken once is not the whole code then. Absolute values, remainders and the like are
/// recorded as what they are.
///
/// ```
/// use superdense_models::maths::expr::{Registers, Scalar, record};
/// let program = record(2, 1, |x, y| y[0] = x[0].mul(&x[1]).sin()).unwrap();
/// let mut y = [0.0];
/// program.eval(&[2.0, 0.25], &mut Registers::default(), &mut y);
/// assert_eq!(y, [libm::sin(0.5)]);
/// ```
pub fn record(
    variables: usize,
    results: usize,
    code: impl FnOnce(&[Recorder], &mut [Recorder]),
) -> Option<Program> {
    let sheet = Rc::new(RefCell::new(Sheet { graph: Graph::exact(), consulted: false }));
    let node = |id| Recorder(Kind::Node(Rc::clone(&sheet), id));
    let vars: Vec<Recorder> =
        (0..variables).map(|v| node(sheet.borrow_mut().graph.var(VarId(v as u32)))).collect();
    let mut out = vec![Recorder::constant(0.0); results];
    code(&vars, &mut out);
    let mut sheet_mut = sheet.borrow_mut();
    let roots: Vec<NodeId> = out
        .iter()
        .map(|result| match &result.0 {
            Kind::Constant(value) => sheet_mut.graph.constant(*value),
            Kind::Node(_, id) => *id,
        })
        .collect();
    if sheet_mut.consulted {
        return None;
    }
    let graph = std::mem::replace(&mut sheet_mut.graph, Graph::exact());
    drop(sheet_mut);
    Some(Program::of_graph(graph, &roots))
}

impl Recorder {
    fn id(&self, sheet: &Rc<RefCell<Sheet>>) -> NodeId {
        match &self.0 {
            Kind::Constant(value) => sheet.borrow_mut().graph.constant(*value),
            Kind::Node(_, id) => *id,
        }
    }

    fn call(op: Op, a: &Self, b: &Self) -> Self {
        let sheet = match (&a.0, &b.0) {
            (Kind::Constant(a), Kind::Constant(b)) => {
                return Self(Kind::Constant(apply(op, [0, 1, 0], &[*a, *b])));
            }
            (Kind::Node(sheet, _), _) | (_, Kind::Node(sheet, _)) => Rc::clone(sheet),
        };
        let (a, b) = (a.id(&sheet), b.id(&sheet));
        let id = sheet.borrow_mut().graph.call(op, [a, b, a]);
        Self(Kind::Node(sheet, id))
    }

    fn unary(&self, op: Op) -> Self {
        match &self.0 {
            Kind::Constant(a) => Self(Kind::Constant(apply(op, [0; 3], &[*a]))),
            Kind::Node(sheet, a) => {
                let id = sheet.borrow_mut().graph.call(op, [*a; 3]);
                Self(Kind::Node(Rc::clone(sheet), id))
            }
        }
    }
}

macro_rules! recorded {
    (binary: $($name:ident = $op:ident),*; unary: $($one:ident = $un:ident),*) => {
        $(fn $name(&self, b: &Self) -> Self { Self::call(Op::$op, self, b) })*
        $(fn $one(&self) -> Self { self.unary(Op::$un) })*
    };
}

impl Scalar for Recorder {
    fn constant(value: f64) -> Self {
        Self(Kind::Constant(value))
    }
    fn value(&self) -> f64 {
        match &self.0 {
            Kind::Constant(value) => *value,
            Kind::Node(sheet, _) => {
                sheet.borrow_mut().consulted = true;
                f64::NAN
            }
        }
    }
    fn pow(&self, b: &Self) -> Self {
        // Powers that the graph would keep as such are spelled out, as a program needs them.
        if let (Kind::Node(sheet, a), Kind::Constant(n)) = (&self.0, &b.0)
            && n.fract() == 0.0
            && n.abs() <= f64::from(MAX_POWI)
        {
            #[allow(clippy::cast_possible_truncation, reason = "whole and small")]
            let n = *n as i32;
            if n == 0 {
                return Self::constant(1.0);
            }
            let id = lower_powi(&mut sheet.borrow_mut().graph, *a, n);
            return Self(Kind::Node(Rc::clone(sheet), id));
        }
        Self::call(Op::Pow, self, b)
    }
    recorded! {
        binary: add = Add, sub = Sub, mul = Mul, div = Div, atan2 = Atan2, hypot = Hypot,
            modulo = Mod;
        unary: neg = Neg, sqrt = Sqrt, cbrt = Cbrt, exp = Exp, ln = Ln, sin = Sin, cos = Cos,
            tan = Tan, asin = Asin, acos = Acos, atan = Atan, sinh = Sinh, cosh = Cosh,
            tanh = Tanh, lambert_w = LambertW, log10 = Log10, log2 = Log2, abs = Abs
    }
}
