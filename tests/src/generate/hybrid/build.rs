//! Short names for making formulas.
use superdense_judge::model::{Binary, Comparison, Condition, Expr, Instant, Unary, Variable};

/// A number.
pub fn num(x: f64) -> Expr {
    Expr::Number(x)
}
/// A variable's value.
pub fn read(v: Variable) -> Expr {
    Expr::Read(v)
}
/// Time.
pub fn time() -> Expr {
    Expr::Read(Variable::Time)
}
/// A function of one argument.
pub fn unary(f: Unary, a: Expr) -> Expr {
    Expr::Unary(f, Box::new(a))
}
/// A function of two arguments.
pub fn binary(f: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(f, Box::new(a), Box::new(b))
}
/// `a + b`.
pub fn add(a: Expr, b: Expr) -> Expr {
    binary(Binary::Add, a, b)
}
/// `a - b`.
pub fn sub(a: Expr, b: Expr) -> Expr {
    match b {
        Expr::Number(x) if x < 0.0 => add(a, num(-x)),
        b => binary(Binary::Subtract, a, b),
    }
}
/// `a*b`.
pub fn mul(a: Expr, b: Expr) -> Expr {
    binary(Binary::Multiply, a, b)
}
/// `-a`.
pub fn neg(a: Expr) -> Expr {
    unary(Unary::Negate, a)
}
/// `a^n`.
pub fn pow(a: Expr, n: u32) -> Expr {
    Expr::Power(Box::new(a), n)
}
/// `if c then a else b`.
pub fn choose(c: Condition, a: Expr, b: Expr) -> Expr {
    Expr::If(Box::new(c), Box::new(a), Box::new(b))
}
/// A comparison.
pub fn relation(how: Comparison, a: Expr, b: Expr) -> Condition {
    Condition::Relation(how, a, b)
}
/// An instant.
pub fn seconds(numerator: i64, denominator: i64) -> Instant {
    Instant { numerator, denominator }
}
