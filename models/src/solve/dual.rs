//! Partial derivatives of right-hand sides.
use super::{
    equations::{Dims, Equations, Work},
    ode::Partials,
    series::Series,
};

/// Working memory for partial derivatives, which are taken along one variable at a time, by series
/// of two terms: exact, at about three times the cost of the right-hand side each.
#[derive(Debug, Default)]
pub(crate) struct Dual {
    vars: Vec<Series<2>>,
    dx: Vec<Series<2>>,
    work: Work<Series<2>>,
}

impl Dual {
    /// Derivatives of the states at `vars`, where input `k` changes at `rate(k)` with time.
    pub(crate) fn linearise<E: Equations>(
        &mut self,
        equations: &E,
        vars: &[f64],
        rate: impl Fn(usize) -> f64,
        Partials { dx, jacobian, drift }: Partials<'_>,
    ) {
        let dims = equations.dims();
        self.vars.clear();
        self.vars.extend(vars.iter().map(|&v| Series([v, 0.0])));
        self.dx.resize(dims.states, Series::default());
        self.vars[0].0[1] = 1.0;
        for k in 0..dims.inputs {
            self.vars[dims.first_input() + k].0[1] = rate(k);
        }
        equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
        for (i, value) in self.dx.iter().enumerate() {
            [dx[i], drift[i]] = value.0;
        }
        self.vars[0].0[1] = 0.0;
        for k in 0..dims.inputs {
            self.vars[dims.first_input() + k].0[1] = 0.0;
        }
        for (state, column) in jacobian.chunks_exact_mut(dims.states.max(1)).enumerate() {
            self.vars[Dims::STATES + state].0[1] = 1.0;
            equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
            column.iter_mut().zip(&self.dx).for_each(|(c, value)| *c = value.0[1]);
            self.vars[Dims::STATES + state].0[1] = 0.0;
        }
    }
}
