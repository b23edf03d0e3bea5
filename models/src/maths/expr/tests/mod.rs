//! Tests that need more than one part of the language.

mod freezing;
mod meaning;
mod random;
mod running;
mod sum;
mod syntax;

use super::{Condition, Expr, ExprError, Names};

/// x, y, z, t are variables 0 to 3; n is 4; paths for the path tests.
fn scope() -> Names {
    Names::new()
        .var("x", 0)
        .var("y", 1)
        .var("z", 2)
        .var("t", 3)
        .var("upper.x1", 4)
        .var("pump[3].q", 5)
        .var("row[0][2]", 6)
        .constant("n", 4.0)
        .constant("half", 0.5)
        .constant("broken", f64::INFINITY)
}

fn expr(text: &str) -> Expr {
    Expr::parse(text, &scope()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn condition(text: &str) -> Condition {
    Condition::parse(text, &scope()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn errors(text: &str) -> Vec<ExprError> {
    Expr::parse(text, &scope()).expect_err(text)
}

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
