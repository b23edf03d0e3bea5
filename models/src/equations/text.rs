//! Equations given as text, compiled.
use super::sides::Sides;
use crate::{
    maths::{
        expr::{Program, Scalar, VarId},
        rounding::SNAP,
    },
    signal::value::Value,
    solve::{
        consistent::Consistent,
        equations::{Dims, Equations, EventSpec, LinkEquations, Programs, Trigger, Work},
        ode::Arm,
    },
};

/// Assignments that happen together: all right-hand sides are evaluated before any is assigned.
#[derive(Debug, Clone)]
pub struct Reset {
    /// Variables to assign.
    pub targets: Vec<usize>,
    /// Event outputs to send over, with the values that follow the targets in the program.
    pub emits: Vec<u16>,
    /// New values, then values to send.
    pub program: Program,
}

impl Reset {
    fn carry_out(&self, vars: &mut [f64], work: &mut Work, emit: &mut Vec<(u16, Value)>) {
        self.program.run(vars, &mut work.reset);
        let mut values = self.program.results(&work.reset);
        // What the values are computed from is in the registers, and so not assigned yet.
        for (&target, &value) in self.targets.iter().zip(&mut values) {
            vars[target] = value;
        }
        for (&port, &value) in self.emits.iter().zip(values) {
            emit.push((port, Value::Real(value)));
        }
    }
}

/// Compiled text equations.
#[derive(Debug, Clone)]
pub struct TextEquations {
    pub(super) dims: Dims,
    pub(super) events: Vec<EventSpec>,
    pub(super) links: Vec<LinkEquations>,
    pub(super) derivatives: Program,
    pub(super) outputs: Program,
    pub(super) indicators: Program,
    /// By event.
    pub(super) resets: Vec<Reset>,
    /// By event: the mode to which it belongs.
    pub(super) modes: Vec<Option<f64>>,
    /// By event: whether it happens also when its mode is entered while its condition holds.
    pub(super) urgent: Vec<bool>,
    /// Place of the present mode.
    pub(super) mode: Option<usize>,
    /// Events from here on are those of `sides`.
    pub(super) first_internal: usize,
    pub(super) sides: Sides,
    pub(super) handlers: Vec<Handler>,
    /// Names of the states.
    pub(super) names: Vec<String>,
    /// Names of the signal outputs and inputs that the text declares.
    pub(super) output_names: Vec<String>,
    pub(super) input_names: Vec<String>,
}

/// What events of an event input do.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    /// The event input.
    pub port: usize,
    /// The mode to which this belongs.
    pub mode: Option<f64>,
    pub reset: Reset,
}

impl TextEquations {
    /// Whether what belongs to `mode` counts now.
    fn is_active(&self, mode: Option<f64>, vars: &[f64]) -> bool {
        self.mode.zip(mode).is_none_or(|(place, mode)| vars[place] == mode)
    }

    /// The switching function whose side an event changes: each has one downwards and one upwards.
    fn function_of(&self, event: usize) -> Option<usize> {
        event.checked_sub(self.first_internal).map(|k| k / 2)
    }

    /// Whether all indicators of a state event say that it holds.
    fn holds(&self, event: usize, z: &[f64]) -> bool {
        match &self.events[event].trigger {
            Trigger::State { indicators, strict, .. } => {
                let strictly = &self.events[event].strictly;
                let is_strict = |k: &usize| *strict || strictly.contains(k);
                indicators.iter().all(|k| if is_strict(k) { z[*k] < 0.0 } else { z[*k] <= 0.0 })
            }
            _ => false,
        }
    }

    /// Whether an event of a side, whose condition holds, is going to hold on though the side is
    /// another: its function has only touched zero, or has turned back. Else a tick precedes the
    /// crossing that it stands for; that shows where the function is larger than rounding.
    fn goes_on(&self, event: usize, z: &[f64], vars: &[f64], tick: f64, work: &mut Work) -> bool {
        /// Looks ahead, each so many times as far as the one before.
        const LOOKS: i32 = 8;
        const FARTHER: f64 = 16.0;
        const LARGER: f64 = 64.0;
        if !self.sides.changes(event - self.first_internal, vars) {
            return false;
        }
        let Trigger::State { indicators, .. } = &self.events[event].trigger else { return false };
        let size = |z: &[f64]| indicators.iter().fold(0.0, |size: f64, &k| size.max(z[k].abs()));
        let limit = LARGER * size(z);
        for look in 0..LOOKS {
            let later = self.soon(vars, 4.0 * SNAP * tick * FARTHER.powi(look), work);
            if size(&later) > limit {
                return self.holds(event, &later);
            }
        }
        false
    }

    /// Indicators `ahead` seconds later than at `vars`, along the tangent.
    fn soon(&self, vars: &[f64], ahead: f64, work: &mut Work) -> Vec<f64> {
        let mut soon = vars.to_vec();
        let mut rates = vec![0.0; self.dims.states];
        self.derivatives.eval(vars, &mut work.derivatives, &mut rates);
        rates.truncate(self.dims.differential());
        soon[0] += ahead;
        for (x, rate) in soon[Dims::STATES..].iter_mut().zip(&rates) {
            *x += ahead * rate;
        }
        if self.dims.algebraic > 0 {
            // Where there are no consistent values, the next step will say so.
            let _ = Consistent::default().find(self, &mut soon, (0.0, f64::MIN_POSITIVE));
        }
        let mut later = vec![0.0; self.dims.indicators];
        self.indicators.eval(&soon, &mut work.indicators, &mut later);
        later
    }

    /// After an event in a system with modes or sides.
    #[inline(never)]
    fn rearm_modes(
        &self,
        before: &[f64],
        vars: &[f64],
        tick: f64,
        work: &mut Work,
        set: &mut dyn FnMut(usize, Arm),
    ) {
        let entered = self.mode.filter(|&at| vars[at] != before[at - self.dims.first_discrete()]);
        if self.sides.is_empty() && entered.is_none() {
            return;
        }
        let mut z = vec![0.0; self.dims.indicators];
        self.indicators.eval(vars, &mut work.indicators, &mut z);
        for event in self.first_internal..self.events.len() {
            let holds = self.holds(event, &z);
            let wrong = holds && self.goes_on(event, &z, vars, tick, work);
            set(event, if holds && !wrong { Arm::Disarmed } else { Arm::Armed });
        }
        let Some(at) = entered else { return };
        let later = self.soon(vars, 4.0 * SNAP * tick, work);
        for (event, mode) in self.modes.iter().enumerate() {
            if *mode == Some(vars[at]) {
                // What holds now because a tick may come before the crossing it stands for will
                // not hold soon: then the event waits for its condition to become true.
                let stays =
                    self.urgent[event] && self.holds(event, &z) && self.holds(event, &later);
                set(event, if stays { Arm::Armed } else { Arm::Undecided });
            }
        }
    }
}

impl Equations for TextEquations {
    fn dims(&self) -> Dims {
        self.dims
    }
    fn events(&self) -> &[EventSpec] {
        &self.events
    }
    fn links(&self) -> &[LinkEquations] {
        &self.links
    }
    fn derivatives<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, dx: &mut [S]) {
        self.derivatives.eval(vars, &mut work.derivatives, dx);
    }
    fn outputs<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, y: &mut [S]) {
        self.outputs.eval(vars, &mut work.outputs, y);
    }
    fn indicators<S: Scalar>(&self, vars: &[S], work: &mut Work<S>, z: &mut [S]) {
        self.indicators.eval(vars, &mut work.indicators, z);
    }
    fn programs(&self) -> Option<Programs> {
        Some(Programs {
            derivatives: self.derivatives.clone(),
            outputs: self.outputs.clone(),
            indicators: self.indicators.clone(),
        })
    }
    fn reset(&self, event: usize, vars: &mut [f64], work: &mut Work, emit: &mut Vec<(u16, Value)>) {
        self.resets[event].carry_out(vars, work, emit);
        match self.function_of(event) {
            Some(function) => self.sides.follow(function, vars, work),
            None => self.sides.settle(vars, work),
        }
    }
    fn settles(&self, event: usize, other: usize) -> bool {
        let Some(reader) = self.function_of(other) else { return false };
        self.function_of(event).is_none_or(|function| self.sides.follows(reader, function))
    }
    fn concerns(&self, event: usize, vars: &[f64]) -> bool {
        self.is_active(self.modes[event], vars)
    }
    fn first_internal(&self) -> usize {
        self.first_internal
    }
    fn settle(&self, vars: &mut [f64], work: &mut Work) {
        self.sides.settle(vars, work);
    }
    #[inline]
    fn rearm(
        &self,
        before: &[f64],
        vars: &[f64],
        tick: f64,
        work: &mut Work,
        set: &mut dyn FnMut(usize, Arm),
    ) {
        if self.mode.is_some() || !self.sides.is_empty() {
            self.rearm_modes(before, vars, tick, work, set);
        }
    }
    fn receive(
        &self,
        port: usize,
        vars: &mut [f64],
        work: &mut Work,
        emit: &mut Vec<(u16, Value)>,
    ) {
        for handler in self.handlers.iter().filter(|h| h.port == port) {
            if self.is_active(handler.mode, vars) {
                handler.reset.carry_out(vars, work, emit);
            }
        }
        self.sides.settle(vars, work);
    }
    fn resets_its_condition(&self, event: usize) -> bool {
        let (Some(spec), Some(reset)) = (self.events().get(event), self.resets.get(event)) else {
            return false;
        };
        let Trigger::State { indicators, .. } = &spec.trigger else { return false };
        let parts = self.indicators.parts();
        let assigned = |id: &crate::maths::expr::VarId| reset.targets.contains(&(id.0 as usize));
        indicators.iter().any(|&k| parts[k].inputs().iter().any(assigned))
    }
    fn equation(&self, index: usize, vars: &[f64]) -> Option<String> {
        let mode = self.mode.map(|at| (VarId(at as u32), vars[at]));
        let (name, text) = (self.names.get(index)?, self.derivatives.text(index, mode));
        let algebraic = index >= self.dims.differential();
        Some(if algebraic { format!("0 = {text}") } else { format!("{name}' = {text}") })
    }
    fn signal(&self, output: bool, port: usize) -> Option<&str> {
        let names = if output { &self.output_names } else { &self.input_names };
        names.get(port).map(String::as_str)
    }
    fn explain(&self, vars: &[f64]) -> Option<String> {
        let resets = self.resets.iter().map(|r| &r.program);
        let programs =
            [&self.derivatives, &self.outputs, &self.indicators].into_iter().chain(resets);
        programs.filter_map(|p| p.explain_non_finite(vars)).map(|n| n.to_string()).next()
    }
    fn explain_outputs(&self, vars: &[f64]) -> Option<String> {
        self.outputs.explain_non_finite(vars).map(|n| n.to_string())
    }
    fn explain_reset(&self, event: usize, vars: &[f64]) -> Option<String> {
        self.resets[event].program.explain_non_finite(vars).map(|n| n.to_string())
    }
}
