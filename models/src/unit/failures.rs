//! What is said when a unit cannot go on.
use super::wrapper::{Scratch, Unit};
use crate::solve::{
    core::{Core, Failure},
    equations::{Dims, Equations},
};

/// The remedy for a function that is not finite.
const OUT_OF_RANGE: &str =
    "keep what a root, a logarithm or a quotient reads within its range, as in sqrt(max(x, 0))";

impl<E: Equations, C: Core<E>> Unit<E, C> {
    pub(super) fn complain(&self, vars: &[f64], what: &str) -> String {
        match self.scene.equations.explain(vars) {
            Some(why) => format!("{what}: {why}"),
            None => what.to_owned(),
        }
    }

    /// A signal by its name, or else its number.
    #[cold]
    pub(super) fn signal(&self, output: bool, port: usize) -> String {
        let name = self.scene.equations.signal(output, port);
        name.map_or_else(|| port.to_string(), |name| format!("`{name}`"))
    }

    #[cold]
    pub(super) fn explain(&self, failure: &Failure) -> String {
        let mut vars = Vec::new();
        self.scene.fill(failure.t, &failure.x, &mut vars);
        let mode = self.scene.equations.mode(&vars).map(|name| format!(" in the mode `{name}`"));
        let place = format!("{} at {} s{}", failure.what, vars[0], mode.unwrap_or_default());
        let told = self.complain(&vars, &place);
        match failure.what.ends_with("is not finite") {
            true => format!("{told}; {OUT_OF_RANGE}"),
            false => told,
        }
    }

    /// A state that would stand still from here on, though it moves: all of a unit rests.
    pub(super) fn stopped_by_rest(&mut self) -> Option<String> {
        let dims = self.scene.dims;
        // Algebraic values follow a reset later.
        if !self.state.retiring || self.scene.frame.resting || dims.algebraic > 0 {
            return None;
        }
        let Scratch { vars, work, .. } = &mut self.scratch;
        let equations = &self.scene.equations;
        let events = self.state.fired.iter().map(|&e| &equations.events()[usize::from(e)]);
        let rests = || events.clone().filter_map(|e| e.rest.as_ref());
        let named = |i| rests().any(|rest| rest.values.iter().any(|v| v.0 == Dims::STATES + i));
        let mut dx = vec![0.0; dims.states];
        equations.derivatives(vars, work, &mut dx);
        let moves =
            |i: &usize| !named(*i) && dx[*i].abs() > 1e-12 * (1.0 + vars[Dims::STATES + i].abs());
        let moving = (0..dims.states).find(moves)?;
        let equation = equations.equation(moving, vars).unwrap_or_default();
        Some(format!(
            "`rest` stops all states of the unit, and `{equation}` would go on with {} per second; give the state \
             of rest a mode, with what goes on there, or put what goes on into a unit of its own",
            dx[moving]
        ))
    }

    /// Which of the events in `fired`, at offset `t`, is reset to what is not finite, and why.
    #[cold]
    pub(super) fn bad_reset(&mut self, t: f64) -> String {
        let what = "a reset gives a value that is not finite";
        self.look(t);
        for &event in &self.state.fired {
            let number = usize::from(event);
            let Scratch { vars, work, emitted, .. } = &mut self.scratch;
            let before = self.scene.equations.explain_reset(number, vars);
            self.scene.equations.reset(number, vars, work, emitted);
            if !self.is_finite() {
                let what =
                    format!("event `{}`: {what}", self.scene.equations.events()[number].name);
                return match before {
                    Some(why) => format!("{what}: {why}"),
                    None => self.complain(&self.scratch.vars, &what),
                };
            }
        }
        what.to_owned()
    }
}
