//! Times as files write them.
use super::Param;
use crate::maths::quantity::{Decimal, Dimension, Quantity, QuantityError};

/// Seconds as a file may write them.
pub(crate) enum Seconds {
    /// A decimal, with or without a unit of time.
    Exact(Decimal),
    /// A division, such as `"1/3 s"`.
    Divided(f64),
}

impl Param {
    /// Seconds that are written as a number, or as a text of a number and perhaps a unit of time.
    ///
    /// # Errors
    /// A number with an unknown unit.
    pub(crate) fn seconds(&self) -> Result<Option<Seconds>, QuantityError> {
        let exact = match self {
            Self::Real(x) => Decimal::parse(&format!("{x:?}")),
            Self::Int(i) => Some(Decimal::whole(*i)),
            Self::Text(text) => match Quantity::parse(text)? {
                None => Decimal::parse(text.trim()),
                Some(q) if q.unit.dimension() != Dimension::TIME => None,
                Some(q) => match (q.over, q.exact_si()) {
                    (Some(_), _) => return Ok(Some(Seconds::Divided(q.si()))),
                    (None, exact) => exact,
                },
            },
            _ => None,
        };
        Ok(exact.map(Seconds::Exact))
    }
}
