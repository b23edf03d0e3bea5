//! How fast the states of a unit move, for whoever looks at a run.
use super::{EquationsKind, auto::Automatic, text::TextEquations};
use crate::{signal::value::Value, solve::any::AnyCore, unit::Unit};
use superdense_kernel::Simulation;

impl EquationsKind {
    /// Of the unit at `path`: how many of its states have a derivative, and what derivatives, and the residuals of its
    /// algebraic variables behind them, change by at tick `at` with each state, column by column; none of a unit of
    /// another kind. No cycle may come between the last one and `at`.
    pub fn linearised(sim: &Simulation<Value>, path: &str, at: i64) -> Option<(usize, Vec<f64>)> {
        let given = |unit: &Unit<TextEquations, AnyCore>| unit.linearised(at);
        let raced = |unit: &Unit<TextEquations, Automatic>| unit.linearised(at);
        sim.model(path).map(given).or_else(|| sim.model(path).map(raced))
    }
}
