//! Small deviations from the present states, for whoever asks how fast these move.
use crate::{
    solve::{core::Core, dual::Dual, equations::Equations, ode::Partials},
    unit::wrapper::Unit,
};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// How many states have a derivative, and at tick `at` what derivatives, and residuals behind them, change by
    /// with each state: one column per state. Sides of relations and discrete values stay as they are.
    pub(crate) fn linearised(&self, at: i64) -> (usize, Vec<f64>) {
        let scene = &self.scene;
        let (states, mut dual) = (scene.dims.states, Dual::default());
        let vars = self.look_into(scene.seconds(at - scene.frame.last));
        let (mut dx, mut drift) = (vec![0.0; states], vec![0.0; states]);
        let mut jacobian = vec![0.0; states * states];
        let partials = Partials { dx: &mut dx, jacobian: &mut jacobian, drift: &mut drift };
        dual.linearise(&scene.equations, None, &vars, |_| 0.0, partials);
        (scene.dims.differential(), jacobian)
    }
}
