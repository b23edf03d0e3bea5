//! What indicators and outputs of a quantised unit see.
use super::{
    engine::{Input, State},
    sheet::ROW,
    system::View,
};
use crate::solve::{Dims, series::Series};

/// The variables along the states from engine's time `t` on.
pub(super) struct Along<'a, const P: usize> {
    pub state: &'a State<P>,
    pub t: f64,
}

impl<const P: usize> View<Series<ROW>> for Along<'_, P> {
    fn time(&self) -> Series<ROW> {
        Series::from_slice(&[self.state.origin + self.t, 1.0])
    }
    fn state(&self, index: usize) -> Series<ROW> {
        let mut v = self.state.variables[index];
        v.move_state(self.t);
        let mut c = [0.0; ROW];
        c[0] = v.x;
        c[1..=P].copy_from_slice(&v.d);
        Series(c)
    }
    fn input(&self, index: usize) -> Series<ROW> {
        Series::from_slice(&self.state.inputs[index].expanded(self.t))
    }
    fn discrete(&self, index: usize) -> f64 {
        self.state.discrete[index]
    }
}

/// Series of states under construction, with all else as in a scene.
pub(super) struct Jumped<'a> {
    pub dims: &'a Dims,
    pub vars: &'a [f64],
    pub states: &'a [Series<4>],
    pub inputs: &'a [Input],
    pub t: f64,
}

impl<const N: usize> View<Series<N>> for Jumped<'_> {
    fn time(&self) -> Series<N> {
        Series::from_slice(&[self.vars[0], 1.0])
    }
    fn state(&self, index: usize) -> Series<N> {
        Series::from_slice(&self.states[index].0)
    }
    fn input(&self, index: usize) -> Series<N> {
        let mut c = self.inputs[index].expanded(self.t);
        c[0] = self.vars[self.dims.first_input() + index];
        Series::from_slice(&c)
    }
    fn discrete(&self, index: usize) -> f64 {
        self.vars[self.dims.first_discrete() + index]
    }
}
