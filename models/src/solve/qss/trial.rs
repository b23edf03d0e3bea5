//! How a quantiser does for a while: what `auto` compares.
use super::{
    engine::{Engine, Input, Quanta},
    method::Method,
    sheet::Sheet,
};
use crate::{maths::expr::Program, solve::Dims};

/// Right-hand sides and the variables from which a trial starts: time, states, inputs, discrete
/// values. Nothing happens in a trial: inputs stay as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning<'a> {
    pub dims: Dims,
    pub derivatives: &'a Program,
    pub vars: &'a [f64],
}

/// What a trial came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trial {
    /// Requantisations.
    pub steps: u64,
    /// Seconds from the start, and the states there.
    pub end: f64,
    pub x: Vec<f64>,
}

impl Beginning<'_> {
    /// Runs for `seconds`, and at most for so many steps: without a time to the last of these, with
    /// one not at all if they are too few. Nothing also where the method gets stuck.
    pub(crate) fn run<M: Method<P>, const P: usize>(
        &self,
        quanta: Quanta,
        seconds: Option<f64>,
        steps: u64,
    ) -> Option<Trial> {
        let dims = &self.dims;
        let sheet = Sheet::new(self.dims, self.derivatives);
        let mut engine = Engine::<_, M, P>::new(sheet, quanta, f64::INFINITY);
        let inputs = &self.vars[dims.first_input()..dims.first_discrete()];
        let held = |&u: &f64| Input { at: 0.0, coefficients: vec![u] };
        engine.state.inputs = inputs.iter().map(held).collect();
        let x = &self.vars[Dims::STATES..dims.first_input()];
        let discrete = &self.vars[dims.held()];
        engine.start(self.vars[0], x, discrete).ok()?;
        let until = seconds.unwrap_or(f64::INFINITY);
        while engine.next() < until {
            if engine.state.steps >= steps {
                seconds.is_none().then_some(())?;
                break;
            }
            engine.step().ok()?;
        }
        let end = seconds.unwrap_or(engine.now());
        let x = (0..dims.states).map(|i| engine.value(i, end)).collect();
        Some(Trial { steps: engine.state.steps, end, x })
    }
}
