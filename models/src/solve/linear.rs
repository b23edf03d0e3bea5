//! Series of small affine systems by their matrix.
//!
//! The first coefficients of `x' = A x + b` are the derivatives, as the equations compute them; all
//! further ones are `c[k+1] = A c[k] / (k+1)`. Where `A` is known that takes a multiplication per entry
//! that is not zero, and no look at the equations.
use super::{
    core::Scene,
    dual::Dual,
    equations::{Dims, Equations, Work},
    ode::Partials,
};
use crate::maths::expr::{Degree, Program};

/// Most states: the matrix is made state by state, and larger systems have better ways.
const STATES: usize = 16;

/// The matrix of a system whose derivatives read states and discrete values only.
#[derive(Debug, Clone, Default)]
pub(super) struct Linear {
    /// The matrix is one for all discrete values.
    constant: bool,
    /// Discrete values for which the matrix was made.
    discrete: Option<Vec<f64>>,
    /// Row, column, value; row by row.
    entries: Vec<(usize, usize, f64)>,
    /// The power of the matrix that is zero, whatever its entries, if there is one: as many
    /// coefficients come after the state itself.
    nilpotent: usize,
    dx: Vec<f64>,
}

impl Linear {
    /// Nothing, if the series of these affine derivatives need more than a matrix.
    pub(super) fn of(derivatives: &Program, dims: &Dims) -> Option<Self> {
        let known = |var: usize| {
            (Dims::STATES..dims.first_input()).contains(&var) || var >= dims.first_discrete()
        };
        let fits = derivatives.inputs().iter().all(|id| known(id.0 as usize));
        let affine = |d: &Degree| *d <= Degree::Polynomial(1);
        let constant = || derivatives.degrees(|id| known(id.0 as usize)).iter().all(affine);
        (fits && dims.algebraic == 0 && dims.states <= STATES)
            .then(|| Self { constant: constant(), ..Self::default() })
    }

    /// The solution's series around `vars`: `rows` gets `stride` coefficients per state. Gives how
    /// many there are before all are zero, `stride` in general.
    pub(super) fn solve<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (dual, work): (&mut Dual, &mut Work),
        vars: &[f64],
        stride: usize,
        rows: &mut [f64],
    ) -> usize {
        if !self.knows(&scene.frame.discrete) {
            self.learn(scene, dual, vars);
        }
        let n = scene.dims.states;
        scene.equations.derivatives(vars, work, &mut self.dx);
        let x = &vars[Dims::STATES..];
        let mut rest = &mut rows[..];
        for (x, dx) in x.iter().zip(&self.dx) {
            let (row, others) = rest.split_at_mut(stride);
            rest = others;
            (row[0], row[1]) = (*x, *dx);
        }
        for k in 1..stride.min(self.nilpotent + 1) - 1 {
            let share = 1.0 / (k + 1) as f64;
            // Counted, here and below: to cut a slice into chunks divides its length.
            for i in 0..n {
                rows[i * stride + k + 1] = 0.0;
            }
            for &(row, column, value) in &self.entries {
                rows[row * stride + k + 1] += value * rows[column * stride + k];
            }
            let mut zero = true;
            for i in 0..n {
                let c = &mut rows[i * stride + k + 1];
                zero &= *c == 0.0;
                *c *= share;
            }
            if zero {
                return k + 1;
            }
        }
        stride.min(self.nilpotent + 1)
    }

    /// Whether the matrix is that for these discrete values.
    #[inline]
    fn knows(&self, discrete: &[f64]) -> bool {
        self.discrete.as_ref().is_some_and(|d| {
            // Most have none, and a call to compare nothing costs all the same.
            self.constant
                || d.len() == discrete.len() && d.iter().zip(discrete).all(|(a, b)| a == b)
        })
    }

    /// Whether it is known that all solutions are parabolas, whatever the states.
    #[inline]
    pub(super) fn parabolic(&self, discrete: &[f64]) -> bool {
        self.nilpotent <= 2 && self.knows(discrete)
    }

    /// The [`parabolic`](Self::parabolic) solution at `vars`: for each state in turn, given its
    /// number and value, the coefficients.
    #[inline(always)]
    pub(super) fn parabolas<E: Equations>(
        &mut self,
        equations: &E,
        work: &mut Work,
        vars: &[f64],
    ) -> impl FnMut(usize, f64) -> [f64; 3] {
        equations.derivatives(vars, work, &mut self.dx);
        let (dx, mut entries) = (&self.dx[..], &self.entries[..]);
        move |i, x| {
            let mut c = [x, dx[i], 0.0];
            while let [(row, column, value), rest @ ..] = entries
                && *row == i
            {
                c[2] += 0.5 * value * dx[*column];
                entries = rest;
            }
            c
        }
    }

    /// The matrix for the present discrete values.
    #[inline(never)]
    pub(super) fn learn<E: Equations>(&mut self, scene: &Scene<E>, dual: &mut Dual, vars: &[f64]) {
        let n = scene.dims.states;
        let (mut dx, mut drift, mut jacobian) = (vec![0.0; n], vec![0.0; n], vec![0.0; n * n]);
        let to = Partials { dx: &mut dx, jacobian: &mut jacobian, drift: &mut drift };
        dual.linearise(&scene.equations, None, vars, |_| 0.0, to);
        let places = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        self.entries.clear();
        for (row, column) in places {
            let value = jacobian[column * n + row];
            if value != 0.0 {
                self.entries.push((row, column, value));
            }
        }
        self.dx.resize(n, 0.0);
        self.nilpotent = nilpotent(n, &self.entries);
        self.discrete = Some(scene.frame.discrete.to_vec());
    }
}

/// The power of a matrix with these places that is zero, whatever the values there; without end if
/// there is none.
fn nilpotent(n: usize, entries: &[(usize, usize, f64)]) -> usize {
    // Which states the rest of a chain of entries may begin with.
    let mut reached = vec![true; n];
    for power in 0..=n {
        if !reached.contains(&true) {
            return power;
        }
        let mut next = vec![false; n];
        for &(row, column, _) in entries {
            next[row] |= reached[column];
        }
        reached = next;
    }
    usize::MAX - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end() {
        let power = |n, places: &[(usize, usize)]| {
            let entries: Vec<_> = places.iter().map(|&(row, column)| (row, column, 1.0)).collect();
            nilpotent(n, &entries)
        };
        assert_eq!(power(2, &[]), 1);
        assert_eq!(power(2, &[(0, 1)]), 2);
        assert_eq!(power(3, &[(0, 1), (1, 2)]), 3);
        assert!(power(2, &[(0, 1), (1, 0)]) > 100);
        assert!(power(2, &[(1, 1)]) > 100);
    }
}
