//! Mistakes in an expression: the mistake, its place, and the remedy.
//!
//! Every error carries a byte [`Span`] of the source text and, where there is advice to give, a
//! help text; drawing the line under the span is left to the program that has the scenario file.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes of the source text, always on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        // Sources are limited to 64 KiB, so that saturation never shows.
        let narrow = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        Self { start: narrow(start), end: narrow(end) }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The piece of `source` under this span, empty if it is not a span of that text.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Why a text is not an expression, or not one that can be used where it stands.
///
/// ```
/// use superdense_models::maths::expr::{Expr, Names, Span};
///
/// let scope = Names::new().var("speed", 0);
/// let errors = Expr::parse("2 * sped", &scope).unwrap_err();
/// assert_eq!(errors[0].to_string(), "unknown variable `sped`");
/// assert_eq!(errors[0].span(), Span::new(4, 8));
/// assert_eq!(errors[0].help().unwrap(), "did you mean `speed`?");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum ExprError {
    #[error("the expression is empty")]
    Empty { span: Span },
    #[error("the expression is {length} bytes long; the limit is {limit}")]
    TooLong { length: usize, limit: usize, span: Span },
    #[error("the expression is nested more than {limit} levels deep")]
    TooDeep { limit: usize, span: Span },
    #[error("unexpected character `{found}`")]
    UnexpectedCharacter { found: char, span: Span },
    #[error("`{found}` is no comparison")]
    Reversed { found: &'static str, right: &'static str, span: Span },
    #[error("the number `{text}` is too large")]
    NumberTooLarge { text: String, span: Span },
    #[error("expected {expected}, found `{found}`")]
    UnexpectedToken { found: String, expected: &'static str, span: Span },
    #[error("expected {expected}, found the end of the expression")]
    UnexpectedEnd { expected: &'static str, span: Span },
    #[error("this `{open}` is never closed")]
    Unclosed { open: char, span: Span },
    #[error("this `{close}` closes nothing")]
    Unopened { close: char, span: Span },
    #[error("comparisons cannot be chained")]
    ChainedComparison { span: Span },
    #[error("unknown function `{name}`")]
    UnknownFunction { name: String, suggestion: Option<String>, span: Span },
    #[error("unknown variable `{name}`")]
    UnknownVariable { name: String, suggestion: Option<String>, span: Span },
    #[error("`{name}` is a list")]
    WithoutIndex { name: String, low: i64, high: i64, span: Span },
    #[error("`{name}` is a function")]
    FunctionWithoutArguments { name: String, span: Span },
    #[error("`{name}` takes {expected}, found {found}")]
    ArgumentCount { name: String, expected: String, found: usize, span: Span },
    #[error("expected a number, found a condition")]
    ExpectedNumber { span: Span },
    #[error("expected a condition, found a number")]
    ExpectedCondition { span: Span },
    #[error("an index must be a constant whole number from 0 to 4294967295")]
    BadIndex { span: Span },
    #[error("`{name}` is outside {base}[{low}] to {base}[{high}]")]
    OutOfRange { name: String, base: String, low: i64, high: i64, span: Span },
    #[error("`{name}` cannot be taken over a range")]
    NotOverRange { name: String, span: Span },
    #[error(
        "the range {from}..{to} has no members, or the sums of this formula have more than {limit} terms"
    )]
    BadRange { from: f64, to: f64, limit: usize, span: Span },
    #[error("`pre` has no meaning here")]
    NoCycle { span: Span },
    #[error("nothing is drawn here")]
    NoDraw { span: Span },
    #[error("there is no such distribution")]
    BadDraw { span: Span },
    #[error("`pre` takes the name of a state, an input or a discrete value")]
    NoVariable { span: Span },
    #[error("`{left}` is {of_left}, `{right}` is {of_right}: {why}")]
    Dimensions {
        left: String,
        of_left: String,
        right: String,
        of_right: String,
        why: &'static str,
        span: Span,
    },
    #[error("`{scale}` is a temperature that counts in kelvin, `{other}` has no unit")]
    BesideScale { scale: String, other: String, span: Span },
    #[error(
        "`{sum}` adds two temperatures and takes one away: that is a temperature, and no difference"
    )]
    MixedTemperatures { sum: String, span: Span },
    #[error("{of} takes a pure number, `{argument}` is {found}")]
    NotPure { of: String, argument: String, found: String, span: Span },
    #[error("the constant `{name}` is {value}")]
    NonFiniteConstant { name: String, value: f64, span: Span },
}

impl ExprError {
    /// Where in the source text.
    pub fn span(&self) -> Span {
        match *self {
            Self::Empty { span }
            | Self::TooLong { span, .. }
            | Self::TooDeep { span, .. }
            | Self::UnexpectedCharacter { span, .. }
            | Self::Reversed { span, .. }
            | Self::NumberTooLarge { span, .. }
            | Self::UnexpectedToken { span, .. }
            | Self::UnexpectedEnd { span, .. }
            | Self::Unclosed { span, .. }
            | Self::Unopened { span, .. }
            | Self::ChainedComparison { span }
            | Self::UnknownFunction { span, .. }
            | Self::UnknownVariable { span, .. }
            | Self::WithoutIndex { span, .. }
            | Self::FunctionWithoutArguments { span, .. }
            | Self::ArgumentCount { span, .. }
            | Self::ExpectedNumber { span }
            | Self::ExpectedCondition { span }
            | Self::BadIndex { span }
            | Self::OutOfRange { span, .. }
            | Self::NotOverRange { span, .. }
            | Self::NoCycle { span }
            | Self::NoDraw { span }
            | Self::BadDraw { span }
            | Self::NoVariable { span }
            | Self::BadRange { span, .. }
            | Self::Dimensions { span, .. }
            | Self::BesideScale { span, .. }
            | Self::MixedTemperatures { span, .. }
            | Self::NotPure { span, .. }
            | Self::NonFiniteConstant { span, .. } => span,
        }
    }

    /// The remedy, where there is something to say beyond the message.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::UnexpectedToken { expected, found, .. } => match (*expected, found.as_str()) {
                (OPERATOR, "then" | "else") => "a conditional starts with `if`".into(),
                (OPERATOR, ",") => "only the arguments of a function are separated by `,`".into(),
                (OPERATOR, _) => "a product needs its `*`".into(),
                _ => return None,
            },
            Self::Reversed { right, .. } => format!("write `{right}`"),
            Self::Unclosed { open, .. } => {
                format!("add the missing `{}`", if *open == '[' { ']' } else { ')' })
            }
            Self::Unopened { close, .. } => format!("remove this `{close}`"),
            Self::UnknownFunction { suggestion: Some(name), .. }
            | Self::UnknownVariable { suggestion: Some(name), .. } => {
                format!("did you mean `{name}`?")
            }
            Self::WithoutIndex { name, low, high, .. } => {
                format!("take one of `{name}[{low}]` to `{name}[{high}]`")
            }
            Self::FunctionWithoutArguments { name, .. } => format!("write `{name}(...)`"),
            Self::OutOfRange { base, .. } => format!(
                "define the boundary case, as in let = {{ \"{base}[0]\" = \"1\" }}, or give the \
                 first and last element a formula of their own"
            ),
            Self::BesideScale { other, .. } => format!(
                "declare `{other}` with its unit, such as \"20 degC\" or \"5 K\"; \"20 degC\" counts as \
                 293.15 in formulas"
            ),
            _ => self.fixed_help()?.into(),
        };
        Some(text)
    }

    /// Remedies that name nothing of the formula.
    fn fixed_help(&self) -> Option<&'static str> {
        let text = match self {
            Self::Empty { .. } => "write a number, a variable or a formula",
            Self::TooLong { .. } | Self::TooDeep { .. } => {
                "name parts of it as variables of their own"
            }
            Self::UnexpectedCharacter { found, .. } => match found {
                '=' => "write `==` to compare",
                '&' => "write `and` or `&&`",
                '|' => "write `or` or `||`; the absolute value is `abs(x)`",
                '\u{2212}' | '\u{2013}' => "write the minus sign as `-`",
                '\u{00b7}' | '\u{00d7}' => "write the product as `*`",
                '%' => "write the remainder as `mod(a, b)`",
                '{' | '}' => "group with `(` and `)`",
                _ => return None,
            },
            Self::NumberTooLarge { .. } => "the largest number is about 1.8e308",
            Self::ChainedComparison { .. } => "write `a < b and b < c` instead of `a < b < c`",
            Self::UnknownFunction { .. } => "if it is a variable, the product needs its `*`",
            Self::ExpectedNumber { .. } => {
                "`if c then 1 else 0` turns a condition into a number; `step(x)` is 1 where x >= 0"
            }
            Self::ExpectedCondition { .. } => "compare the number with something, as in `x > 0`",
            Self::BadIndex { .. } => "indices may use numbers and named constants only",
            Self::NotOverRange { .. } => {
                "ranges go with `sum`, `product`, `min` and `max`: `sum(u[k] for k in 1..=N)`"
            }
            Self::BadRange { .. } => {
                "`a..b` ends before b, `a..=b` with b; both are constant whole numbers; a part of a \
                 large sum can be an output of a unit of its own"
            }
            Self::NoCycle { .. } => {
                "`pre(x)` is the value of x before the events of a cycle: use it in `reset` and \
                 `emit` of an event, or keep the value in a discrete one"
            }
            Self::NoDraw { .. } => {
                "random numbers change at events only: draw in `reset` or `emit` of an event, and keep \
                 the number in a discrete value"
            }
            Self::BadDraw { .. } => {
                "uniform(low, high) needs low <= high, and means of `exponential` and deviations of `normal` are zero \
                 or more"
            }
            Self::NoVariable { .. } => "write such as `pre(x)`, and `pre(x) + 1` for a sum",
            Self::Dimensions { .. } => UNITS,
            Self::MixedTemperatures { .. } => DIFFERENCES,
            Self::NotPure { .. } => {
                "divide it by a quantity of its own dimension, declared with its unit"
            }
            Self::NonFiniteConstant { .. } => "constants must be finite",
            _ => return None,
        };
        Some(text)
    }
}

/// The remedy for dimensions that differ.
pub(super) const UNITS: &str = "a number in a product is a pure number: where it stands for a quantity, declare a \
                         parameter with its unit; a name that is declared without one fits everything";

/// The remedy for a number beside a temperature.
pub(super) const SCALES: &str =
    "declare a parameter with its unit, such as \"20 degC\", which counts as 293.15 in formulas";

/// The remedy for a temperature where a difference of temperatures is meant.
pub(super) const DIFFERENCES: &str = "declare the difference that is added to a temperature in kelvin, such as \"2 K\": \
                                      \"2 degC\" counts as 275.15 in formulas";

/// The parser's expectation after a complete operand.
pub(super) const OPERATOR: &str = "an operator or the end";
