//! The operations of trees and programs, and what each does to numbers of any kind.

use serde::{Deserialize, Serialize};

use super::scalar::Scalar;
use std::cmp::Ordering;

/// An operation. The first group is smooth, the second switches, the third makes truth values
/// (1 and 0), and the last steers a [`Program`](super::Program) and never stands in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of the expression language")]
pub enum Op {
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Hypot,
    Atan2,
    Sqrt,
    Cbrt,
    Exp,
    Ln,
    Log10,
    Log2,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    LambertW,

    Abs,
    Sign,
    Step,
    Floor,
    Ceil,
    Round,
    Trunc,
    Min,
    Max,
    Mod,
    /// a, in which nothing that switches holds a side.
    Noevent,
    /// `if a then b else c`.
    Select,

    /// a < b; a > b is the same with the operands swapped.
    Less,
    /// a <= b.
    LessEq,
    Equal,
    NotEqual,
    And,
    Or,
    Not,

    /// Skip the next `b` instructions.
    Jump,
    /// Skip the next `b` instructions if `a` is true.
    JumpIf,
    /// Skip the next `b` instructions if `a` is false.
    JumpUnless,
}

impl Op {
    /// Whether its value jumps somewhere while its operands move; one that has kinks only does not.
    pub fn jumps(self) -> bool {
        use Op::*;
        matches!(
            self,
            Less | LessEq | Equal | NotEqual | Sign | Step | Floor | Ceil | Trunc | Round | Mod
        )
    }

    /// How many operands it reads.
    pub fn arity(self) -> usize {
        use Op::*;
        match self {
            Add | Sub | Mul | Div | Pow | Hypot | Atan2 | Min | Max | Mod => 2,
            Less | LessEq | Equal | NotEqual | And | Or => 2,
            Select => 3,
            Jump => 0,
            _ => 1,
        }
    }

    /// Whether its result is a truth value.
    pub fn is_truth(self) -> bool {
        use Op::*;
        matches!(self, Less | LessEq | Equal | NotEqual | And | Or | Not)
    }

    /// Whether exchanging the operands leaves every bit of the result as it is.
    pub(super) fn commutes(self) -> bool {
        use Op::*;
        matches!(self, Add | Mul | Equal | NotEqual | And | Or)
    }

    /// Rough cost in additions, to decide what is worth a jump.
    pub(super) fn cost(self) -> u32 {
        use Op::*;
        match self {
            Div | Sqrt => 4,
            Mod => 10,
            Pow => 40,
            LambertW => 200,
            Hypot | Atan2 | Cbrt | Exp | Ln | Log10 | Log2 | Sin | Cos | Tan | Asin | Acos
            | Atan | Sinh | Cosh | Tanh => 15,
            _ => 1,
        }
    }

    /// The name in the expression language.
    pub fn name(self) -> &'static str {
        use Op::*;
        match self {
            Neg | Sub => "-",
            Add => "+",
            Mul => "*",
            Div => "/",
            Pow => "^",
            Hypot => "hypot",
            Atan2 => "atan2",
            Sqrt => "sqrt",
            Cbrt => "cbrt",
            Exp => "exp",
            Ln => "ln",
            Log10 => "log10",
            Log2 => "log2",
            Sin => "sin",
            Cos => "cos",
            Tan => "tan",
            Asin => "asin",
            Acos => "acos",
            Atan => "atan",
            Sinh => "sinh",
            Cosh => "cosh",
            Tanh => "tanh",
            LambertW => "lambertw",
            Abs => "abs",
            Sign => "sign",
            Step => "step",
            Floor => "floor",
            Ceil => "ceil",
            Round => "round",
            Trunc => "trunc",
            Min => "min",
            Max => "max",
            Mod => "mod",
            Noevent => "noevent",
            Select => "if",
            Less => "<",
            LessEq => "<=",
            Equal => "==",
            NotEqual => "!=",
            And => "and",
            Or => "or",
            Not => "not",
            Jump => "jump",
            JumpIf => "jump if",
            JumpUnless => "jump unless",
        }
    }
}

/// The value of `op` on the registers `a`, `b`, `c`. Trees and programs share it, which is why
/// their results are the same bit for bit. Inlined into both loops, where `op` is their one switch.
#[inline(always)]
pub(crate) fn apply<S: Scalar>(op: Op, [a, b, c]: [u32; 3], registers: &[S]) -> S {
    let r = |i: u32| &registers[i as usize];
    let value = |i: u32| registers[i as usize].value();
    let truth = |holds: bool| S::constant(if holds { 1.0 } else { 0.0 });
    match op {
        Op::Neg => r(a).neg(),
        Op::Add => r(a).add(r(b)),
        Op::Sub => r(a).sub(r(b)),
        Op::Mul => r(a).mul(r(b)),
        Op::Div => r(a).div(r(b)),
        Op::Pow => r(a).pow(r(b)),
        Op::Hypot => r(a).hypot(r(b)),
        Op::Atan2 => r(a).atan2(r(b)),
        Op::Sqrt => r(a).sqrt(),
        Op::Cbrt => r(a).cbrt(),
        Op::Exp => r(a).exp(),
        Op::Ln => r(a).ln(),
        Op::Log10 => r(a).log10(),
        Op::Log2 => r(a).log2(),
        Op::Sin => r(a).sin(),
        Op::Cos => r(a).cos(),
        Op::Tan => r(a).tan(),
        Op::Asin => r(a).asin(),
        Op::Acos => r(a).acos(),
        Op::Atan => r(a).atan(),
        Op::Sinh => r(a).sinh(),
        Op::Cosh => r(a).cosh(),
        Op::Tanh => r(a).tanh(),
        Op::LambertW => r(a).lambert_w(),
        Op::Abs => r(a).abs(),
        Op::Sign => S::constant(sign(r(a).level())),
        Op::Step => S::constant(step(r(a).level())),
        Op::Floor => S::constant(r(a).level().floor()),
        Op::Ceil => S::constant(r(a).level().ceil()),
        Op::Round => S::constant(value(a).round()),
        Op::Trunc => S::constant(r(a).level().trunc()),
        Op::Min => if second_is_less(value(a), value(b)) { r(b) } else { r(a) }.clone(),
        Op::Max => if second_is_greater(value(a), value(b)) { r(b) } else { r(a) }.clone(),
        Op::Mod => r(a).modulo(r(b)),
        Op::Noevent => r(a).clone(),
        Op::Select => if value(a) != 0.0 { r(b) } else { r(c) }.clone(),
        Op::Less => truth(r(a).order(r(b)) == Some(Ordering::Less)),
        Op::LessEq => truth(r(a).order(r(b)).is_some_and(Ordering::is_le)),
        Op::Equal => truth(r(a).order(r(b)) == Some(Ordering::Equal)),
        Op::NotEqual => truth(r(a).order(r(b)) != Some(Ordering::Equal)),
        Op::And => truth((value(a) != 0.0) & (value(b) != 0.0)),
        Op::Or => truth((value(a) != 0.0) | (value(b) != 0.0)),
        Op::Not => truth(value(a) == 0.0),
        // Steering has no value; the program's loop takes it before it gets here.
        Op::Jump | Op::JumpIf | Op::JumpUnless => S::constant(0.0),
    }
}

/// x^n for n != 0 by squaring from the highest bit, as programs spell it out in multiplications.
pub(super) fn powi<S: Scalar>(x: &S, n: i32) -> S {
    let magnitude = n.unsigned_abs();
    let mut power = x.clone();
    for bit in (0..magnitude.ilog2()).rev() {
        power = power.mul(&power);
        if magnitude >> bit & 1 == 1 {
            power = power.mul(x);
        }
    }
    if n < 0 { S::constant(1.0).div(&power) } else { power }
}

/// -1, 0 or 1; NaN for NaN.
fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        // Zero without its sign, or NaN.
        x.abs()
    }
}

/// Heaviside's function with step(0) = 1; NaN for NaN.
fn step(x: f64) -> f64 {
    if x.is_nan() { x } else { f64::from(u8::from(x >= 0.0)) }
}

// Unlike `f64::min` these pass NaN on, and the first operand wins between 0 and -0.
fn second_is_less(a: f64, b: f64) -> bool {
    b < a || b.is_nan()
}

fn second_is_greater(a: f64, b: f64) -> bool {
    b > a || b.is_nan()
}
