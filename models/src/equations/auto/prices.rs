//! Estimated instructions of a step of each method, as they were counted on this crate's own methods.
use super::runner::{Candidate, ORDER};
use crate::{
    maths::sparse::Lu,
    solve::{
        dual::Structure,
        equations::{Equations, Programs},
        ode::Method,
    },
};
use std::sync::Arc;

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
    /// Directions along which derivatives are taken for a Jacobian, and the work of its factors.
    directions: f64,
    factors: f64,
}

/// Directions and factors of a full matrix.
fn full(n: f64) -> (f64, f64) {
    (n, 3.0 * n * n * n + 150.0 * n * n)
}

/// Directions and factors of a sparse one: as many entries as there are for most values.
fn sparse(structure: &Structure) -> (f64, f64) {
    let pattern = &structure.pattern;
    let diagonal = pattern.diagonal();
    let mut values = vec![-1.0; pattern.places()];
    for &place in diagonal.iter().flatten() {
        values[place] = diagonal.len() as f64;
    }
    let mut lu = Lu::new(Arc::clone(pattern));
    lu.factor(&values);
    (structure.groups.len() as f64, 440.0 * lu.entries() as f64)
}

impl Prices {
    pub(super) fn new<E: Equations>(equations: &E) -> Self {
        let dims = equations.dims();
        let states = dims.states as f64;
        let Some(Programs { derivatives, indicators, .. }) = equations.programs() else {
            // Code that cannot be looked at: only one method takes it.
            let (directions, factors) = full(states);
            let (code, reads, indicators) = (states, states, 0.0);
            return Self { states, code, reads, indicators, directions, factors };
        };
        let structure = Structure::of(equations);
        let (directions, factors) = structure.as_ref().map_or(full(states), sparse);
        let parts = derivatives.parts();
        let reads: usize = parts.iter().take(dims.states).map(|part| part.inputs().len()).sum();
        Self {
            states,
            code: derivatives.code().len() as f64,
            reads: reads as f64,
            indicators: indicators.code().len() as f64,
            directions,
            factors,
        }
    }

    /// A step, a refused one too, with the search for events in it.
    pub(super) fn step(&self, candidate: Candidate) -> f64 {
        let n = self.states.max(1.0);
        let search = 500.0 * self.indicators;
        let series = |order: usize| {
            let p = order as f64 / ORDER as f64;
            p * (520.0 * p * self.code + 1050.0 * n) + 4400.0 + search
        };
        match candidate {
            Candidate::Rk45 => 190.0 * self.code + 850.0 * n + 1400.0 + search,
            Candidate::Rk23 => 68.0 * self.code + 360.0 * n + 1200.0 + search,
            Candidate::Taylor => series(ORDER),
            // The matrix, where it is small; else the series.
            Candidate::Closed => {
                let p = Method::CLOSED_ORDER as f64;
                (p * (8.0 * self.reads + 16.0 * n) + 25.0 * self.code + 6000.0 + search)
                    .min(series(Method::CLOSED_ORDER))
            }
            Candidate::Rodas => {
                let derivatives = (160.0 + 50.0 * (self.directions + 1.0)) * self.code;
                derivatives + 2200.0 * n + self.factors + 3000.0 + search
            }
            Candidate::Qss1 | Candidate::Qss2 | Candidate::Qss3 | Candidate::Liqss2 => {
                let readers = self.reads / n;
                let (base, terms) = match candidate {
                    Candidate::Qss1 => (300.0, 3.0),
                    Candidate::Qss3 => (1500.0, 18.0),
                    _ => (700.0, 5.5),
                };
                let single = terms * (12.0 * self.code / n + 50.0);
                let own = if candidate == Candidate::Liqss2 { single } else { 0.0 };
                base + readers * single + own
            }
        }
    }

    /// A step of all states, or of so many.
    pub(super) fn piece(&self, candidate: Candidate) -> f64 {
        match candidate.order() {
            Some(_) => self.states.clamp(1.0, 200.0) * self.step(candidate),
            None => self.step(candidate),
        }
    }

    /// An evaluation of all indicators.
    pub(super) fn look(&self) -> f64 {
        12.0 * self.indicators + 50.0
    }
}
