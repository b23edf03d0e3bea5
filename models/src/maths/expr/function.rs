//! The functions of the expression language.

use super::op::Op;

/// How a function is built from operations.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// One operation on that many arguments.
    Op(Op),
    /// `min` and `max`: the operation folded over one or more arguments, from the left.
    Fold(Op),
    /// `clamp(x, lo, hi)` = min(max(x, lo), hi).
    Clamp,
}

impl Meaning {
    /// Whether that many arguments fit; if not, how many would.
    pub(super) fn check(self, found: usize) -> Result<(), Takes> {
        let expected = match self {
            Self::Op(op) => op.arity(),
            Self::Fold(_) if found == 0 => return Err(Takes::Some),
            Self::Fold(_) => found,
            Self::Clamp => 3,
        };
        arguments(expected, found)
    }
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Takes {
    #[error("1 argument")]
    One,
    #[error("1 argument or more")]
    Some,
    #[error("{0} arguments")]
    Many(usize),
}

/// Whether that many arguments fit; if not, how many would.
pub(super) fn arguments(expected: usize, found: usize) -> Result<(), Takes> {
    match expected {
        _ if expected == found => Ok(()),
        1 => Err(Takes::One),
        n => Err(Takes::Many(n)),
    }
}

/// Random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Uniform,
    Normal,
    Exponential,
}

impl Drawn {
    pub(super) fn arity(self) -> usize {
        if self == Self::Exponential { 1 } else { 2 }
    }
}

/// The random numbers of a name.
pub(super) fn drawn(name: &str) -> Option<Drawn> {
    Some(match name {
        "uniform" => Drawn::Uniform,
        "normal" => Drawn::Normal,
        "exponential" => Drawn::Exponential,
        _ => return None,
    })
}

const FUNCTIONS: [(&str, Meaning); 32] = [
    ("abs", Meaning::Op(Op::Abs)),
    ("acos", Meaning::Op(Op::Acos)),
    ("asin", Meaning::Op(Op::Asin)),
    ("atan", Meaning::Op(Op::Atan)),
    ("atan2", Meaning::Op(Op::Atan2)),
    ("cbrt", Meaning::Op(Op::Cbrt)),
    ("ceil", Meaning::Op(Op::Ceil)),
    ("clamp", Meaning::Clamp),
    ("cos", Meaning::Op(Op::Cos)),
    ("cosh", Meaning::Op(Op::Cosh)),
    ("exp", Meaning::Op(Op::Exp)),
    ("floor", Meaning::Op(Op::Floor)),
    ("hypot", Meaning::Op(Op::Hypot)),
    ("lambertw", Meaning::Op(Op::LambertW)),
    ("ln", Meaning::Op(Op::Ln)),
    ("log", Meaning::Op(Op::Ln)),
    ("log10", Meaning::Op(Op::Log10)),
    ("log2", Meaning::Op(Op::Log2)),
    ("max", Meaning::Fold(Op::Max)),
    ("min", Meaning::Fold(Op::Min)),
    ("mod", Meaning::Op(Op::Mod)),
    ("noevent", Meaning::Op(Op::Noevent)),
    ("pow", Meaning::Op(Op::Pow)),
    ("round", Meaning::Op(Op::Round)),
    ("sign", Meaning::Op(Op::Sign)),
    ("sin", Meaning::Op(Op::Sin)),
    ("sinh", Meaning::Op(Op::Sinh)),
    ("sqrt", Meaning::Op(Op::Sqrt)),
    ("step", Meaning::Op(Op::Step)),
    ("tan", Meaning::Op(Op::Tan)),
    ("tanh", Meaning::Op(Op::Tanh)),
    ("trunc", Meaning::Op(Op::Trunc)),
];

/// `pre(x)`, the value of x before the cycle: no operation, but another variable.
pub(super) const PRE: &str = "pre";

pub(super) fn lookup(name: &str) -> Option<Meaning> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, meaning)| meaning)
}

/// The meaning of a name in every formula, if it is taken: a function, a constant or the time. Euler's number gives
/// way to a declared `e`, which is the usual letter of a coefficient of restitution.
pub fn built_in(name: &str) -> Option<&'static str> {
    match name {
        "pi" => Some("a constant"),
        "t" | "time" => Some("the time"),
        PRE => Some("a function"),
        _ => lookup(name).map(|_| "a function"),
    }
}

/// All names; `if` and `pre` are among them for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|&(name, _)| name).chain(["if", PRE])
}
