//! Equations given as text, compiled.
use super::equations::{Dims, Equations, EventSpec, LinkEquations, Programs, Work};
use crate::{
    expr::{Program, Scalar},
    value::Value,
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
        let mut values = vec![0.0; self.targets.len() + self.emits.len()];
        self.program.eval(vars, &mut work.reset, &mut values);
        let (assigned, sent) = values.split_at(self.targets.len());
        for (&target, &value) in self.targets.iter().zip(assigned) {
            vars[target] = value;
        }
        emit.extend(self.emits.iter().zip(sent).map(|(&port, &v)| (port, Value::Real(v))));
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
    /// Event input and what its events do.
    pub(super) handlers: Vec<(usize, Reset)>,
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
    }
    fn receive(
        &self,
        port: usize,
        vars: &mut [f64],
        work: &mut Work,
        emit: &mut Vec<(u16, Value)>,
    ) {
        for (_, reset) in self.handlers.iter().filter(|(p, _)| *p == port) {
            reset.carry_out(vars, work, emit);
        }
    }
    fn explain(&self, vars: &[f64]) -> Option<String> {
        let resets = self.resets.iter().map(|r| &r.program);
        let programs =
            [&self.derivatives, &self.outputs, &self.indicators].into_iter().chain(resets);
        programs.filter_map(|p| p.explain_non_finite(vars)).map(|n| n.to_string()).next()
    }
}
