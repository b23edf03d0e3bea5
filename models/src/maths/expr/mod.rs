//! Text expressions: parsed, checked, differentiated and compiled.
//!
//! The right-hand sides, outputs, conditions and resets of equation units can be written as text.
//! A text becomes an [`Ast`] by [`parse`]; with a [`Scope`] for its names that becomes an [`Expr`]
//! (a number) or a [`Condition`] (a truth value, made of relations that events come from); expressions
//! have derivatives ([`Expr::differentiate`], [`Expr::derivative_along`]), the variables they
//! depend on ([`Expr::vars`]) and the sides on which they switch ([`Freezer`]); and a set of
//! them is compiled into one [`Program`], which runs on numbers of any kind that is a [`Scalar`].
//!
//! ```
//! use superdense_models::maths::expr::{Condition, Expr, Names, Program, Registers, VarId};
//!
//! // A ball with drag: states h and v, parameters g and c.
//! let scope = Names::new().var("h", 0).var("v", 1).constant("g", 9.81).constant("c", 0.1);
//! let dh = Expr::parse("v", &scope).unwrap();
//! let dv = Expr::parse("-g - c * v * abs(v)", &scope).unwrap();
//! let bounce = Condition::parse("h <= 0 and v < 0", &scope).unwrap();
//!
//! // Everything that an integrator with event location needs, in one program.
//! let jacobian = dv.differentiate(VarId(1));
//! let indicators = bounce.atoms().iter().map(|atom| &atom.z);
//! let exprs = [&dh, &dv, &jacobian].into_iter().chain(indicators);
//! let program = Program::compile(exprs);
//!
//! let mut registers = Registers::default();
//! let mut out = [0.0; 5];
//! program.eval(&[1.0, -2.0], &mut registers, &mut out);
//! assert_eq!(out, [-2.0, -9.81 + 0.4, -0.4, 1.0, -2.0]);
//!
//! let errors = Expr::parse("-g - c * v * asb(w)", &scope).unwrap_err();
//! assert_eq!(errors[0].to_string(), "unknown function `asb`");
//! assert_eq!(errors[0].help().unwrap(), "did you mean `abs`?");
//! ```
//!
//! # The language
//! From the loosest to the tightest:
//!
//! | | |
//! | --- | --- |
//! | `if c then a else b` | also `if(c, a, b)`; extends as far as it can |
//! | `a or b` | also <code>&#124;&#124;</code> |
//! | `a and b` | also `&&` |
//! | `not a` | also `!`, which binds equally loosely: `!x > 1` is `not (x > 1)` |
//! | `<` `<=` `>` `>=` `==` `!=` | cannot be chained |
//! | `a + b`, `a - b` | from the left |
//! | `a * b`, `a / b` | from the left |
//! | `-a`, `+a` | looser than the power: `-x^2` is `-(x^2)` |
//! | `a ^ b` | from the right; also `**` |
//!
//! Numbers (`1`, `1e-3`, `.5`), `true`, `false`, the constants `pi` and `e` unless the scope has
//! its own, paths (`upper.x1`, `pump[3].q`, `row[n - 1]` with n a constant), and the functions
//! `abs acos asin atan atan2(y, x) cbrt ceil clamp(x, lo, hi) cos cosh exp floor hypot lambertw ln`
//! `log` (natural) `log10 log2 max(a, ...) min(a, ...) mod(a, b) pow(a, b) round sign sin sinh sqrt`
//! `step tan tanh trunc`, and `sum(u[k] for k in 1..=N)` (also `product`, `min`, `max`) over constant
//! ranges: `a..b` ends before b, `a..=b` with b. `mod` has the sign of b, `round` takes halves away from zero, `sign(0)` is
//! 0, `step(0)` is 1, `lambertw` is the principal branch, and `min` and `max` pass NaN on. In
//! formulas of events `pre(x)` is the value of the variable x before the cycle ([`Scope::before`]),
//! and `uniform(a, b)`, `normal(mean, deviation)`, `exponential(mean)` are random numbers ([`Scope::draw`]). A scope
//! may have functions of its own ([`Function`]).
//!
//! Arithmetic is done in the order in which it is written; nothing is reassociated. Powers with
//! whole exponents up to 32 are multiplied out by squaring (`x^3` is `x*x*x`, `x^4` is `(x*x)*(x*x)`,
//! a negative exponent divides 1 by that), `x^0.5` is `sqrt(x)`, `x^-0.5` is `1/sqrt(x)`, other
//! powers are `libm::pow`. The branch of `if` that is not taken never influences the result.
//! Comparisons with NaN are false, except `!=`.
//!
//! # Why
//! Parsers of expressions are kept crates elsewhere, but units need more of the tree than a crate
//! gives away: derivatives that share their parts, series of Taylor coefficients over the same
//! instructions, event indicators from the structure of conditions and from every function that
//! switches, errors that name the part of the text that became NaN, and results whose bits do not
//! depend on the platform. With the tree our own, the parser in front of it is the smallest part.
//!
//! Trees are lists of nodes in which operands come first, and equal nodes are one. Every pass is a
//! loop, so that no text can overflow the stack, and derivatives stay small.

mod compile;
mod condition;
mod degree;
mod differentiate;
mod error;
mod explain;
mod freeze;
mod function;
mod graph;
mod lambert;
mod lexer;
mod library;
mod measure;
mod op;
mod parser;
mod part;
mod print;
mod program;
mod range;
mod record;
mod resolve;
mod scalar;
mod scope;
mod substitute;
mod suggest;
mod sum;
mod switches;
mod tape;
mod tree;

#[cfg(test)]
mod tests;

pub use condition::{Compare, Comparison, Condition, Logic};
pub use degree::Degree;
pub use error::{ExprError, Span};
pub use explain::NonFinite;
pub use freeze::{Freezer, Frozen, Kind};
pub use function::built_in;
pub(crate) use library::Library;
pub use library::{Function, Takes};
pub use measure::Measure;
pub use op::Op;
pub(crate) use op::apply;
pub use parser::{Ast, MAX_DEPTH, MAX_SOURCE, parse};
pub use program::{Instr, Program, Registers};
pub use record::{Recorder, record};
pub use scalar::Scalar;
pub use scope::{Indexed, Names, NoValueBefore, Scope, Symbol, VarId};
pub use suggest::nearest;
pub(crate) use sum::Sum;
pub use tape::{Tape, TapeMemory};
pub use tree::{Expr, Node, NodeId, Origin};
