//! Series of small affine systems by their matrix.
//!
//! The first coefficients of `x' = A x + b` are the derivatives, as the equations compute them; all
//! further ones are `c[k+1] = A c[k] / (k+1)`. Where `A` is known that takes a multiplication per entry
//! that is not zero, and no look at the equations.
use super::{
    core::Scene,
    dual::Dual,
    equations::{Dims, Equations, Work},
};
use crate::{expr::Program, ode::Partials};

/// Most states: the matrix is made state by state, and larger systems have better ways.
const STATES: usize = 16;

/// The matrix of a system whose derivatives read states and discrete values only.
#[derive(Debug, Default)]
pub(super) struct Linear {
    /// Discrete values for which the matrix was made.
    discrete: Option<Vec<f64>>,
    /// Row, column, value; row by row.
    entries: Vec<(usize, usize, f64)>,
    dx: Vec<f64>,
}

impl Linear {
    /// Nothing, if the series of these affine derivatives need more than a matrix.
    pub(super) fn of(derivatives: &Program, dims: &Dims) -> Option<Self> {
        let known = |var: usize| {
            (Dims::STATES..dims.first_input()).contains(&var) || var >= dims.first_discrete()
        };
        let fits = derivatives.inputs().iter().all(|id| known(id.0 as usize));
        (fits && dims.algebraic == 0 && dims.states <= STATES).then(Self::default)
    }

    /// The solution's series around `vars`: `rows` gets `stride` coefficients per state. Gives how
    /// many there are before all are zero, `stride` in general.
    pub(super) fn solve<E: Equations>(
        &mut self,
        scene: &Scene<'_, E>,
        (dual, work): (&mut Dual, &mut Work),
        vars: &[f64],
        stride: usize,
        rows: &mut [f64],
    ) -> usize {
        if self.discrete.as_deref() != Some(scene.discrete) {
            self.learn(scene, dual, vars);
        }
        let n = scene.dims.states;
        self.dx.resize(n, 0.0);
        scene.equations.derivatives(vars, work, &mut self.dx);
        for (i, dx) in self.dx.iter().enumerate() {
            rows[i * stride] = vars[Dims::STATES + i];
            rows[i * stride + 1] = *dx;
        }
        for k in 1..stride - 1 {
            let share = 1.0 / (k + 1) as f64;
            let (mut place, mut zero) = (0, true);
            for i in 0..n {
                let mut sum = 0.0;
                while let Some(&(row, column, value)) = self.entries.get(place)
                    && row == i
                {
                    sum += value * rows[column * stride + k];
                    place += 1;
                }
                rows[i * stride + k + 1] = sum * share;
                zero &= sum == 0.0;
            }
            if zero {
                return k + 1;
            }
        }
        stride
    }

    /// The matrix for the present discrete values.
    #[inline(never)]
    fn learn<E: Equations>(&mut self, scene: &Scene<'_, E>, dual: &mut Dual, vars: &[f64]) {
        let n = scene.dims.states;
        let (mut dx, mut drift, mut jacobian) = (vec![0.0; n], vec![0.0; n], vec![0.0; n * n]);
        let to = Partials { dx: &mut dx, jacobian: &mut jacobian, drift: &mut drift };
        dual.linearise(scene.equations, vars, |_| 0.0, to);
        let places = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        self.entries.clear();
        for (row, column) in places {
            let value = jacobian[column * n + row];
            if value != 0.0 {
                self.entries.push((row, column, value));
            }
        }
        self.discrete = Some(scene.discrete.to_vec());
    }
}
