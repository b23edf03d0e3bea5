//! Algebraic variables at a decision: they are searched for on the branches that hold.
use super::{
    decide::{Instant, Known, ROUNDS},
    wrapper::{Done, Scratch, Unit},
};
use crate::solve::{
    UnitError,
    core::Core,
    equations::{Equations, Relation, Role},
    ode::Kind,
};

/// How far, relative to its size, a state that follows from constraints may be from what a reset sets it to.
const CONSISTENT: f64 = 1e-6;

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Decides what no algebraic variable does; gives where a search that sides follow may begin, if some can.
    #[inline(never)]
    pub(super) fn guess(&mut self, at: Instant) -> Option<Vec<f64>> {
        self.decide_known(at);
        let follows = (0..self.readers.relations.len()).any(|k| self.can_follow(k));
        follows.then(|| self.scratch.vars.clone())
    }

    /// Gives the algebraic variables their values, by sides that stay, or else by some that follow from `guess` on.
    #[inline(never)]
    pub(super) fn search(&mut self, guess: &mut Option<Vec<f64>>) -> Done {
        let Err(why) = self.solve_algebraic(false) else { return Ok(()) };
        let Some(guess) = guess.take() else { return Err(why) };
        self.scratch.vars = guess;
        self.solve_algebraic(true).map_err(|_| why)
    }

    /// Decides relations beyond their rounding that no algebraic variable moves.
    fn decide_known(&mut self, at: Instant) {
        for _ in 0..ROUNDS {
            self.update_indicators();
            let mut read = false;
            for k in 0..self.readers.relations.len() {
                let (value, error) = self.scratch.indicators[k];
                let Relation { kind, sliding, .. } = &self.readers.relations[k];
                let near = if *kind == Kind::Sign { value } else { value - value.round() };
                let open = self.readers.solved[k] || sliding.is_some() || near.abs() <= error;
                read |= !open && self.change(k, at, &mut Known::Nothing) && self.readers.inner[k];
            }
            if !read {
                break;
            }
        }
    }

    /// Whether relation `k` can follow algebraic variables while they are searched for.
    fn can_follow(&self, k: usize) -> bool {
        let relation = &self.readers.relations[k];
        self.readers.solved[k] && relation.role == Role::Searched && relation.sliding.is_none()
    }

    /// Gives the algebraic variables their values; sides stay, or follow on the way.
    pub(super) fn solve_algebraic(&mut self, follow: bool) -> Done {
        let count = if follow { self.readers.relations.len() } else { 0 };
        let followers: Vec<usize> = (0..count).filter(|&k| self.can_follow(k)).collect();
        let (dims, relations) = (self.scene.dims, &self.readers.relations);
        let Scratch { vars, consistent, errors, work, .. } = &mut self.scratch;
        let options = &self.settings.solver;
        let mut z = vec![0.0; dims.indicators];
        let follow = |vars: &mut [f64]| {
            // Sides may be nested.
            for _ in 0..followers.len() {
                self.scene.equations.indicators(vars, work, &mut z);
                let mut changed = false;
                for &k in &followers {
                    if z[k] != 0.0 && relations[k].is_active(&vars[dims.first_discrete()..]) {
                        let side = &mut vars[dims.first_side() + k];
                        let before = std::mem::replace(side, relations[k].kind.side(z[k]));
                        changed |= before != *side;
                    }
                }
                if !changed {
                    break;
                }
            }
        };
        let tolerances = (options.rtol, options.atol);
        let found = consistent.find(&self.scene.equations, vars, tolerances, follow);
        // They are no better than the search for them left them.
        let errors = errors[dims.algebraic_places()].iter_mut();
        errors.zip(&consistent.corrections).for_each(|(error, left)| *error = error.max(*left));
        Ok(found?)
    }

    /// The states that follow from constraints and have been set, by number, with what they were set to.
    pub(super) fn set_dependent(&self) -> Vec<(usize, f64)> {
        let (first, Scratch { vars, prior, .. }) =
            (self.scene.dims.algebraic_places().start, &self.scratch);
        let all = (0..self.scene.equations.dependent().len()).map(|k| (k, vars[first + k]));
        all.filter(|&(k, value)| value != prior[first + k]).collect()
    }

    /// An error if state number `k` of those that follow from constraints is not what a reset has set it to.
    pub(super) fn lost_reset(&self, k: usize, value: f64) -> Option<UnitError> {
        let found = self.scratch.vars[self.scene.dims.algebraic_places().start + k];
        if (found - value).abs() <= CONSISTENT * (1.0 + value.abs()) {
            return None;
        }
        let dependent = self.scene.equations.dependent().to_vec();
        Some(UnitError::LostReset { state: dependent[k].clone(), value, found, dependent })
    }
}
