//! Comparisons in the formulas of events.
//!
//! A bucket that is filled for a second at two litres per second holds two litres, but for rounding. A formula that asks
//! then for `k >= 2` must not hang on the last bit. So what rounding alone may keep apart is equal (rule 10), and a value that
//! is a whole number but for rounding is one for `floor` and its like.
use crate::{maths::rounding::SUMMED, solve::equations::Dims};

/// The variables that a program is given, and how large states were lately.
pub(super) struct Given<'a> {
    /// All variables, those before the cycle behind them if the program reads these, and random numbers.
    pub vars: &'a [f64],
    /// Whether the program reads those before the cycle.
    pub recalls: bool,
    /// Per state its size when the step began in which it is now.
    pub sizes: &'a [f64],
    /// The places of the variables.
    pub dims: &'a Dims,
}

impl Given<'_> {
    /// How far a variable may be off by rounding. Discrete values are as they were set.
    pub(super) fn doubt(&self, k: usize) -> f64 {
        let (all, x) = (self.dims.variables(), self.vars[k].abs());
        let place = k % all;
        if k >= if self.recalls { 2 * all } else { all } {
            return 0.0;
        }
        match place.checked_sub(Dims::STATES) {
            None => f64::EPSILON * x,
            Some(_) if place >= self.dims.first_discrete() => 0.0,
            Some(state) => SUMMED * x.max(self.sizes.get(state).copied().unwrap_or_default()),
        }
    }
}
