//! Partial derivatives of right-hand sides.
use super::{
    equations::{Dims, Equations, Work},
    ode::Partials,
    series::Series,
};
use crate::maths::{expr::VarId, sparse::Pattern};
use std::sync::Arc;

/// Fewer states are solved for as fast by a full matrix.
const FEW: usize = 30;
/// A matrix is sparse if less than one of so many entries may differ from zero.
const SPARSE: usize = 6;

/// The derivatives that read each state, where these are few.
#[derive(Debug)]
pub(crate) struct Structure {
    pub pattern: Arc<Pattern>,
    /// States no two of which are read by one derivative: their columns of the Jacobian are found at once
    /// (Curtis, Powell & Reid, IMA J. Appl. Math. 13, 1974).
    pub groups: Vec<Vec<usize>>,
}

impl Structure {
    /// The structure of these equations, if it is known and sparse.
    pub(crate) fn of<E: Equations>(equations: &E) -> Option<Self> {
        let (n, dims) = (equations.dims().states, equations.dims());
        if n < FEW {
            return None;
        }
        let states = Dims::STATES..dims.first_input();
        let state = |id: &VarId| {
            let var = id.0 as usize;
            states.contains(&var).then(|| var - Dims::STATES)
        };
        let mut entries: Vec<(usize, usize)> = (0..n).map(|i| (i, i)).collect();
        for (row, part) in equations.programs()?.derivatives.parts().iter().take(n).enumerate() {
            entries.extend(part.inputs().iter().filter_map(state).map(|column| (row, column)));
            if SPARSE * entries.len() > n * n {
                return None;
            }
        }
        let (pattern, _) = Pattern::new(n, &entries);
        Some(Self { groups: groups(n, &pattern), pattern: Arc::new(pattern) })
    }
}

/// Columns without a common row, each in the first group that takes it.
fn groups(n: usize, pattern: &Pattern) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The groups that have an entry in a row.
    let mut taken: Vec<Vec<usize>> = vec![Vec::new(); n];
    for column in 0..n {
        let rows = || pattern.column(column).map(|place| pattern.row(place));
        let is_free = |group: &usize| rows().all(|row| !taken[row].contains(group));
        let group = (0..groups.len()).find(is_free).unwrap_or(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(column);
        rows().for_each(|row| taken[row].push(group));
    }
    groups
}

/// Working memory for partial derivatives, which are taken along one variable at a time, or along
/// several that no derivative reads together, by series of two terms: exact, at about three times the
/// cost of the right-hand side each.
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
        structure: Option<&Structure>,
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
        let Some(Structure { pattern, groups }) = structure else {
            for (state, column) in jacobian.chunks_exact_mut(dims.states.max(1)).enumerate() {
                self.along(equations, &[state]);
                column.iter_mut().zip(&self.dx).for_each(|(c, value)| *c = value.0[1]);
            }
            return;
        };
        for group in groups {
            self.along(equations, group);
            for place in group.iter().flat_map(|&column| pattern.column(column)) {
                jacobian[place] = self.dx[pattern.row(place)].0[1];
            }
        }
    }

    /// Derivatives in the direction of these states.
    fn along<E: Equations>(&mut self, equations: &E, states: &[usize]) {
        for &state in states {
            self.vars[Dims::STATES + state].0[1] = 1.0;
        }
        equations.derivatives(&self.vars, &mut self.work, &mut self.dx);
        for &state in states {
            self.vars[Dims::STATES + state].0[1] = 0.0;
        }
    }
}
