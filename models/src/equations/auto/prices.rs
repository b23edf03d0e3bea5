//! Estimated instructions of a step of each method, as they were counted on this crate's own methods.
use super::runner::{Candidate, ORDER};
use crate::solve::{
    equations::{Equations, Programs},
    ode::Method,
};

/// The cost of an advance beside the steps that are made in it.
pub(super) const ADVANCE: f64 = 150.0;

/// The sizes by which a step is priced.
#[derive(Debug)]
pub(super) struct Prices {
    states: f64,
    /// Instructions of the compiled right-hand sides, and how many reads of states they make.
    code: f64,
    reads: f64,
    /// Instructions of the compiled indicators.
    indicators: f64,
}

impl Prices {
    pub(super) fn new<E: Equations>(equations: &E) -> Self {
        let dims = equations.dims();
        let states = dims.states as f64;
        let Some(Programs { derivatives, indicators, .. }) = equations.programs() else {
            // Code that cannot be looked at: only one method takes it.
            return Self { states, code: states, reads: states, indicators: 0.0 };
        };
        let parts = derivatives.parts();
        let reads: usize = parts.iter().take(dims.states).map(|part| part.inputs().len()).sum();
        Self {
            states,
            code: derivatives.code().len() as f64,
            reads: reads as f64,
            indicators: indicators.code().len() as f64,
        }
    }

    /// A step, a refused one too.
    pub(super) fn step(&self, candidate: Candidate) -> f64 {
        let n = self.states.max(1.0);
        let slopes = 12.0 * self.code + 20.0 * n;
        let series = |order: usize| {
            let p = order as f64;
            (12.0 + 1.5 * p) * p * self.code + 40.0 * n + 1000.0
        };
        match candidate {
            Candidate::Rk45 => 9.0 * slopes + 1000.0,
            Candidate::Taylor => series(ORDER),
            // The matrix, where it is small; else the series.
            Candidate::Closed => {
                let p = Method::CLOSED_ORDER as f64;
                (p * (4.0 * self.reads + 8.0 * n) + slopes + 1000.0)
                    .min(series(Method::CLOSED_ORDER))
            }
            Candidate::Rodas => {
                let factors = 2.0 * n * n * n + 40.0 * n * n;
                (6.0 + 3.0 * (n + 1.0)) * slopes + factors + 3000.0
            }
            Candidate::Qss1 | Candidate::Qss2 | Candidate::Liqss2 => {
                let readers = self.reads / n;
                let terms = if candidate == Candidate::Qss1 { 1.0 } else { 3.0 };
                let single = terms * 12.0 * self.code / n + 50.0 * terms;
                let own = if candidate == Candidate::Liqss2 { single } else { 0.0 };
                100.0 + 100.0 * terms + readers * single + own
            }
        }
    }

    /// An evaluation of all indicators.
    pub(super) fn look(&self) -> f64 {
        12.0 * self.indicators + 50.0
    }
}
