//! Equations given as text, compiled.
use crate::{
    maths::expr::{Program, Registers, Scalar, VarId},
    signal::value::Value,
    solve::equations::{Dims, Equations, EventSpec, LinkEquations, Programs, Relation, Work},
};

/// Variables before the present cycle have these numbers, plus their own, until all variables are
/// counted.
pub(super) const FORMER: u32 = 1 << 29;

/// Assignments that happen together: all right-hand sides are evaluated before any is assigned.
#[derive(Debug, Clone)]
pub struct Reset {
    /// Variables to assign.
    pub targets: Vec<usize>,
    /// Event outputs to send over, with the values that follow the targets in the program.
    pub emits: Vec<u16>,
    /// New values, then values to send.
    pub program: Program,
    /// Whether the program reads variables before the present cycle, behind those of the present.
    pub recalls: bool,
}

impl Reset {
    /// Puts the variables before the cycle behind all `variables`.
    pub(super) fn place_former(&mut self, variables: usize) {
        let place = |id: VarId| id.0.checked_sub(FORMER).map(|id| VarId(variables as u32 + id));
        self.recalls = self.program.inputs().iter().any(|id| place(*id).is_some());
        if self.recalls {
            self.program.renumber(|id| place(id).unwrap_or(id));
        }
    }

    fn carry_out(&self, vars: &mut [f64], work: &mut Work, emit: &mut Vec<(u16, Value)>) {
        if self.recalls {
            let Work { prior, both, reset, .. } = work;
            both.clear();
            both.extend_from_slice(vars);
            both.extend_from_slice(prior);
            self.program.run(both, reset);
        } else {
            self.program.run(vars, &mut work.reset);
        }
        let mut values = self.program.results(&work.reset);
        // The operands of the values are in the registers, and so not assigned yet.
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
    pub(super) relations: Vec<Relation>,
    /// Along whose surface the solution may slide: relations, with the slopes of both their sides.
    pub(super) slopes: Vec<(usize, Program)>,
    /// By event.
    pub(super) resets: Vec<Reset>,
    /// Whether one of these, or of the handlers', reads variables before the cycle.
    pub(super) recalls: bool,
    /// By event: the mode to which it belongs.
    pub(super) modes: Vec<Option<f64>>,
    /// Place of the present mode.
    pub(super) mode: Option<usize>,
    /// Names of the modes.
    pub(super) mode_names: Vec<String>,
    pub(super) handlers: Vec<Handler>,
    /// Names of the states.
    pub(super) names: Vec<String>,
    /// Names of the signal outputs and inputs that the text declares.
    pub(super) output_names: Vec<String>,
    pub(super) input_names: Vec<String>,
}

/// The effect of events at an event input.
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
    fn recalls(&self) -> bool {
        self.recalls
    }
    fn relations(&self) -> Vec<Relation> {
        self.relations.clone()
    }
    fn slopes(&self, relation: usize, vars: &[f64]) -> [f64; 2] {
        let mut both = [0.0; 2];
        if let Some((_, program)) = self.slopes.iter().find(|(k, _)| *k == relation) {
            program.eval(vars, &mut Registers::default(), &mut both);
        }
        both
    }
    fn concerns(&self, event: usize, vars: &[f64]) -> bool {
        self.is_active(self.modes[event], vars)
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
    }
    fn equation(&self, index: usize, vars: &[f64]) -> Option<String> {
        let mode = self.mode.map(|at| (VarId(at as u32), vars[at]));
        let (name, text) = (self.names.get(index)?, self.derivatives.text(index, mode));
        let algebraic = index >= self.dims.differential();
        Some(if algebraic { format!("0 = {text}") } else { format!("{name}' = {text}") })
    }
    fn mode(&self, vars: &[f64]) -> Option<&str> {
        self.mode_names.get(vars[self.mode?] as usize).map(String::as_str)
    }
    fn signal(&self, output: bool, port: usize) -> Option<&str> {
        let names = if output { &self.output_names } else { &self.input_names };
        names.get(port).map(String::as_str)
    }
    fn explain(&self, vars: &[f64]) -> Option<String> {
        // Without the variables before the cycle the others cannot be computed.
        let resets = self.resets.iter().filter(|r| !r.recalls).map(|r| &r.program);
        let programs =
            [&self.derivatives, &self.outputs, &self.indicators].into_iter().chain(resets);
        programs.filter_map(|p| p.explain_non_finite(vars)).map(|n| n.to_string()).next()
    }
    fn explain_outputs(&self, vars: &[f64]) -> Option<String> {
        self.outputs.explain_non_finite(vars).map(|n| n.to_string())
    }
    fn explain_reset(&self, event: usize, vars: &[f64]) -> Option<String> {
        let reset = &self.resets[event];
        let why = if reset.recalls { None } else { reset.program.explain_non_finite(vars) };
        why.map(|n| n.to_string())
    }
}
