//! Errors of steps, with the equation, its place and a remedy.
use super::Stepped;
use crate::solve::{
    core::{Failure, Scene},
    equations::Equations,
    failures::{AlgebraicError, lost},
    ode::{Method, StepError},
    progress::Slow,
};

impl Stepped {
    #[cold]
    pub(super) fn too_slow<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        slow: &Slow,
    ) -> Result<(), Box<Failure>> {
        let at = self.state.solver.time();
        let sentence = slow.sentence(&self.steepest(scene, at)?, scene.tick);
        Err(self.failure(&sentence, at))
    }

    #[cold]
    pub(super) fn failure(&self, what: &str, t: f64) -> Box<Failure> {
        let mut x = vec![0.0; self.state.solver.state().len()];
        self.state.solver.dense(t, &mut x);
        Box::new(Failure { what: what.to_owned(), t, x })
    }

    #[cold]
    pub(super) fn explain<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        error: &StepError<Box<AlgebraicError>>,
    ) -> Result<(), Box<Failure>> {
        let at = self.state.at;
        Err(match error {
            StepError::NotFinite { t, component } => {
                let equation = scene.equation(*component);
                let what = match self.has_value(scene, *t, *component) {
                    true => format!(
                        "{equation} has a derivative that is not finite, as that of a square root at zero, which \
                         this method needs; take method \"rk45\" or \"auto\""
                    ),
                    false => format!("{equation} is not finite"),
                };
                self.failure(&what, *t)
            }
            StepError::Underflow { .. } | StepError::Rejections { .. } => {
                let what = format!(
                    "no step is short enough for the tolerances: {} grows beyond bounds, jumps \
                     without an event, or `tolerance` and `absolute_tolerance` are out of reach",
                    self.steepest(scene, at)?
                );
                let more = match scene.equations.dependent() {
                    [] => String::new(),
                    states => format!("; {}", lost(states)),
                };
                self.failure(&(what + &more), at)
            }
            StepError::Rhs(why) => self.failure(&why.to_string(), at),
            _ => self.failure(&error.to_string(), at),
        })
    }

    /// A remark on a state that its absolute tolerance does not control.
    pub(super) fn small_state<E: Equations>(&self, scene: &Scene<E>) -> Option<String> {
        let solver = &self.state.solver;
        let (state, size) = solver.uncontrolled(scene.dims.differential())?;
        let mut vars = Vec::new();
        scene.fill(self.state.at, solver.state(), &mut vars);
        let equation = scene.equations.equation(state, &vars)?;
        let absolute = solver.options().atol * solver.options().nominal(state);
        Some(format!(
            "the state of `{equation}` stays below {size:.1e}, and `absolute_tolerance` lets it be off by {absolute:.1e}: \
             give a smaller one"
        ))
    }

    /// Whether the derivative of a state is finite where a method of derivatives stands.
    fn has_value<E: Equations>(&mut self, scene: &Scene<E>, t: f64, component: usize) -> bool {
        /// Beyond, derivatives are not finite since the values are too large.
        const LARGE: f64 = 1e150;
        let solver = &self.state.solver;
        if !matches!(solver.method(), Method::Rodas | Method::Taylor(..)) || solver.time() != t {
            return false;
        }
        scene.fill(t, solver.state(), &mut self.vars);
        let (mut dx, x) = (vec![0.0; solver.state().len()], solver.state()[component]);
        scene.equations.derivatives(&self.vars, &mut self.work, &mut dx);
        x.abs() < LARGE && dx[component].abs() < LARGE
    }

    /// The equation of the state that changes fastest in comparison with its size, at the end of the last
    /// step; where that is not known, a failure at `at`.
    fn steepest<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        at: f64,
    ) -> Result<String, Box<Failure>> {
        let x = self.state.solver.state();
        scene.fill(self.state.solver.time(), x, &mut self.vars);
        let mut dx = vec![0.0; x.len()];
        scene.equations.derivatives(&self.vars, &mut self.work, &mut dx);
        if scene.dims.algebraic > 0 {
            let rates = self.consistent.rates(&scene.equations, &self.vars, &mut dx);
            rates.map_err(|why| self.failure(&why.to_string(), at))?;
        }
        let pace = |i: usize| dx[i].abs() / (1.0 + x[i].abs());
        let last = |&i: &usize, &j: &usize| pace(i).total_cmp(&pace(j)).then(j.cmp(&i));
        Ok(scene.equation((0..x.len()).max_by(last).unwrap_or(0)))
    }
}
