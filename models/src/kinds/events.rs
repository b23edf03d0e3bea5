//! State events of a unit, as others may look for them.
use crate::maths::expr::Expr;

/// The state events of a unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StateEvents {
    /// The variables of the conditions: names, and where others see the value; after the time,
    /// which is variable 0.
    pub variables: Vec<(String, Seen)>,
    /// Name, whether it is shared, and the indicators that are all at most 0 when it happens.
    pub events: Vec<(String, bool, Vec<Expr>)>,
}

/// Where others see a variable of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The value that comes in at an input.
    Input(u16),
    /// The value that goes out at an output.
    Output(u16),
    /// Nowhere.
    Hidden,
}
