//! Why equations do not become a unit.
use crate::solve::{MethodError, UnitError};

/// Why there is no unit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The method does not take the equations.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// An expression is not defined at the start.
    #[error(transparent)]
    Start(#[from] Box<UnitError>),
}

/// Why a solution cannot slide along surfaces.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSliding {
    #[error("solutions of algebraic equations do not slide")]
    Algebraic,
    #[error(
        "sliding along surfaces of {found} functions (sign, comparisons, ...) in one expression; at most {most} are \
         possible"
    )]
    Functions { found: usize, most: usize },
}
