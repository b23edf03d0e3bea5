//! What is said when a unit cannot go on.
use crate::solve::{
    UnitError,
    core::{Core, Failure},
    equations::{Dims, Equations},
};
use crate::unit::wrapper::{Scratch, Unit};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// A signal by its name, or else its number.
    #[cold]
    pub(in crate::unit) fn signal(&self, output: bool, port: usize) -> String {
        let name = self.scene.equations.signal(output, port);
        name.map_or_else(|| port.to_string(), |name| format!("`{name}`"))
    }

    #[cold]
    pub(in crate::unit) fn explain(&self, failure: Failure) -> Box<UnitError> {
        let mut vars = Vec::new();
        self.scene.fill(failure.t, &failure.x, &mut vars);
        let mode = self.scene.equations.mode(&vars).map(str::to_owned);
        let (what, why) = (failure.what, self.scene.equations.explain(&vars));
        Box::new(UnitError::Solution { what, at: vars[0], mode, why })
    }

    /// A state that would stand still from here on, though it moves: all of a unit rests.
    pub(in crate::unit) fn stopped_by_rest(&mut self) -> Option<UnitError> {
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
        Some(UnitError::Rest { equation, rate: dx[moving] })
    }

    /// Which of the events in `fired`, at offset `t`, is reset to what is not finite, and why.
    #[cold]
    pub(in crate::unit) fn bad_reset(&mut self, t: f64) -> UnitError {
        self.look(t);
        for &event in &self.state.fired {
            let number = usize::from(event);
            let Scratch { vars, work, emitted, .. } = &mut self.scratch;
            let before = self.scene.equations.explain_reset(number, vars);
            self.scene.equations.reset(number, vars, work, emitted);
            if !self.is_finite() {
                let why = before.or_else(|| self.scene.equations.explain(&self.scratch.vars));
                let event = self.scene.equations.events()[number].name.to_string();
                return UnitError::Reset { event, why };
            }
        }
        UnitError::Resets
    }
}
