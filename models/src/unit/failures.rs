//! What is said when a unit cannot go on.
use super::wrapper::{Scratch, Unit};
use crate::solve::{
    core::{Core, Failure},
    equations::Equations,
};

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
        self.complain(&vars, &format!("{} at {} s", failure.what, vars[0]))
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
