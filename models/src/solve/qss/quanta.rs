//! Quanta of quantised states.
use serde::{Deserialize, Serialize};

/// How far quantised states may leave their states: `max(relative |x|, minimum)`, fixed anew
/// whenever a variable is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quanta {
    /// Relative to the state.
    pub relative: f64,
    /// At least this, in the units of the state; positive.
    pub minimum: f64,
}

impl Quanta {
    #[inline]
    pub(super) fn of(&self, x: f64, least: f64) -> f64 {
        (self.relative * x.abs()).max(least)
    }
}
