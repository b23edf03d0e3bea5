//! Messages about states under quantised methods.
use super::{core::Quantised, engine::NotFinite, method::Method};
use crate::solve::{
    core::{Core, Scene},
    equations::{Equations, Work},
};

/// A state that stays below so many quanta may be anything.
const SMALL: f64 = 10.0;
/// Beside the largest state it is zero but for rounding.
const ROUNDING: f64 = 1e-13;

/// Why the method cannot go on.
pub(super) fn told<E: Equations>(scene: &Scene<E>, bad: NotFinite) -> String {
    match bad {
        NotFinite::Derivative { state, .. } => format!("{} is not finite", scene.equation(state)),
        NotFinite::Stuck { state, .. } => format!(
            "{} is quantised again and again without progress: it grows beyond bounds, or its quantum is too small; \
             enlarge `dq_rel` or `dq_min`",
            scene.equation(state)
        ),
    }
}

impl<M: Method<P>, const P: usize> Quantised<M, P> {
    /// A remark on a state that moves, but stays so small that its quantum allows any value.
    pub(super) fn small_state<E: Equations>(&self, scene: &Scene<E>) -> Option<String> {
        let engine = &self.state.engine;
        let mut x = vec![0.0; scene.dims.states];
        Core::<E>::states(self, Core::<E>::time(self), &mut x);
        let sizes: Vec<f64> =
            x.iter().zip(&engine.variables).map(|(x, v)| x.abs().max(v.largest)).collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let (mut vars, mut dx) = (Vec::new(), vec![0.0; scene.dims.states]);
        scene.fill(Core::<E>::time(self), &x, &mut vars);
        scene.equations.derivatives(&vars, &mut Work::default(), &mut dx);
        // One that never left zero, although something drives it, is as small as any.
        let moves = |i: usize, size: f64| size > ROUNDING * largest || size == 0.0 && dx[i] != 0.0;
        let is_small = |(i, size): &(usize, &f64)| {
            **size < SMALL * engine.variables[*i].least && moves(*i, **size)
        };
        let (state, size) = sizes.iter().enumerate().find(is_small)?;
        let (equation, least) =
            (scene.equations.equation(state, &vars)?, engine.variables[state].least);
        Some(format!(
            "the state of `{equation}` stays below {size:.1e}, and its quantum lets it be off by {least:.1e}: give a smaller \
             `dq_min` (under the method auto `absolute_tolerance`)"
        ))
    }
}
