//! Equations given as text, compiled.
use super::snap::Given;
use crate::{
    maths::{
        expr::{Degree, Program, Registers, Scalar, VarId},
        random::RandomStream,
    },
    signal::value::Value,
    solve::{
        equations::{Dims, Equations, EventSpec, LinkEquations, Programs, Relation, Work},
        snap,
    },
};
use std::{borrow::Cow, sync::OnceLock};

/// Variables before the present cycle have these numbers, plus their own, until all variables are
/// counted.
pub(super) const FORMER: u32 = 1 << 29;

/// Random numbers of a formula have these numbers, until all variables are counted.
pub(super) const DRAWN: u32 = 1 << 28;
/// The discrete value that counts the random numbers of a unit.
pub(super) const DRAWS: &str = "~draws";

/// Random numbers that a reset draws. They follow from their number in the unit's stream, which is a discrete value,
/// so that a unit that is set back draws the same ones again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Draws {
    /// How many.
    pub count: u32,
    /// The variable that counts all of the unit.
    pub counter: usize,
}

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
    /// Whether the program compares or rounds something.
    pub snaps: bool,
    /// Random numbers, behind all variables.
    pub draws: Draws,
    /// Per target: the variables that its value is computed from; found when somebody asks.
    pub reads: OnceLock<Vec<Vec<usize>>>,
}

impl Reset {
    /// The `variables` from which it computes the one at `place`, if it sets that.
    fn origins(&self, place: usize, variables: usize) -> Option<&[usize]> {
        let k = self.targets.iter().position(|target| *target == place)?;
        let own = |id: &VarId| match id.0 as usize / variables {
            0 => Some(id.0 as usize),
            1 if self.recalls => Some(id.0 as usize - variables),
            _ => None,
        };
        let read = |part: &Program| part.inputs().iter().filter_map(own).collect();
        let reads = self.reads.get_or_init(|| self.program.parts().iter().map(read).collect());
        Some(&reads[k])
    }

    /// The variables that it changes.
    pub(super) fn sets(&self) -> Vec<usize> {
        let counter = (self.draws.count > 0).then_some(self.draws.counter);
        self.targets.iter().copied().chain(counter).collect()
    }

    /// Puts the variables before the cycle behind all `variables`, and random numbers behind these.
    pub(super) fn place_former(&mut self, variables: usize) {
        let former = |id: VarId| id.0 >= FORMER;
        self.recalls = self.program.inputs().iter().any(|id| former(*id));
        let drawn = variables * if self.recalls { 2 } else { 1 };
        let place = |id: VarId| match id.0 {
            n if n >= FORMER => VarId(variables as u32 + n - FORMER),
            n if n >= DRAWN => VarId(drawn as u32 + n - DRAWN),
            _ => id,
        };
        if self.recalls || self.draws.count > 0 {
            self.program.renumber(place);
        }
        self.snaps = self.program.code().iter().any(|step| step.op.jumps());
    }

    fn carry_out(
        &self,
        vars: &mut [f64],
        work: &mut Work,
        (stream, dims): (&RandomStream, &Dims),
        emit: &mut Vec<(u16, Value)>,
    ) {
        let Work { prior, both, reset, sizes, .. } = work;
        let more = self.recalls || self.draws.count > 0;
        if more {
            both.clear();
            both.extend_from_slice(vars);
            if self.recalls {
                both.extend_from_slice(prior);
            }
            if self.draws.count > 0 {
                let before = vars[self.draws.counter];
                let mut stream = stream.from(before as u64);
                // Never zero, whose logarithm is not finite.
                both.extend((0..self.draws.count).map(|_| 1.0 - stream.uniform()));
                vars[self.draws.counter] = before + f64::from(self.draws.count);
            }
        }
        self.program.run(if more { both } else { vars }, reset);
        let mut snapped: Vec<f64> = Vec::new();
        if self.snaps {
            let given =
                Given { vars: if more { both } else { vars }, recalls: self.recalls, sizes, dims };
            snapped.extend(self.program.results(reset));
            snap(&self.program, given.vars, |k| given.doubt(k), &mut snapped);
        }
        // The operands of the values are in the registers, and so not assigned yet.
        let results = self.program.results(reset).skip(snapped.len());
        let mut values = snapped.iter().chain(results);
        for (&target, &value) in self.targets.iter().zip(&mut values) {
            vars[target] = value;
        }
        for (&port, &value) in self.emits.iter().zip(values) {
            emit.push((port, Value::Real(value)));
        }
    }
}

/// Variables with their factors.
type Sum = Vec<(VarId, f64)>;

/// Compiled text equations.
#[derive(Debug, Clone)]
pub struct TextEquations {
    pub(super) dims: Dims,
    pub(super) events: Vec<EventSpec>,
    pub(super) links: Vec<LinkEquations>,
    pub(super) derivatives: Program,
    pub(super) outputs: Program,
    /// Of each output the variables that it reads with their factors, where it is a sum; found when
    /// somebody asks.
    pub(super) sums: OnceLock<Vec<Option<Sum>>>,
    pub(super) indicators: Program,
    pub(super) relations: Vec<Relation>,
    /// Along whose surface the solution may slide: relations, with the slopes of both their sides.
    pub(super) slopes: Vec<(usize, Program)>,
    /// By event.
    pub(super) resets: Vec<Reset>,
    /// Of random numbers.
    pub(super) stream: RandomStream,
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
    /// How many states, behind the others, follow from constraints.
    pub(super) dependent: usize,
    /// Names of the signal outputs and inputs that the text declares.
    pub(super) output_names: Vec<String>,
    pub(super) input_names: Vec<String>,
}

impl TextEquations {
    /// Whether a derivative, an output or an indicator is a function of what moves that an expansion at one
    /// place may know nothing of.
    pub(super) fn is_smooth(&self) -> bool {
        let past = self.dims.first_discrete();
        let smooth =
            |p: &Program| p.degrees(|v| (v.0 as usize) < past).into_iter().any(Degree::is_open);
        [&self.derivatives, &self.outputs, &self.indicators].into_iter().any(smooth)
    }
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
    fn sum(&self, port: usize, _: &[f64], to: &mut Vec<(usize, f64)>) -> bool {
        to.clear();
        let sum = self.sums.get_or_init(|| self.outputs.sums())[port].as_ref();
        to.extend(sum.iter().flat_map(|sum| sum.iter().map(|(id, f)| (id.0 as usize, *f))));
        sum.is_some()
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
        self.resets[event].carry_out(vars, work, (&self.stream, &self.dims), emit);
    }
    fn origins(&self, of: Option<usize>, place: usize) -> Option<Cow<'_, [usize]>> {
        let variables = self.dims.variables();
        let Some(number) = of else {
            let received = self.handlers.iter().map(|handler| &handler.reset);
            let read = received.filter_map(|reset| reset.origins(place, variables));
            return read.map(<[usize]>::to_vec).reduce(|a, b| [a, b].concat()).map(Cow::Owned);
        };
        match number.checked_sub(self.events.len()).map(|link| &self.links[link]) {
            None => self.resets[number].origins(place, variables).map(Cow::Borrowed),
            Some(link) => {
                let k = link.targets.iter().position(|target| *target == place)?;
                let read = link.reset.part(k);
                Some(read.inputs().iter().map(|id| link.known[id.0 as usize]).collect())
            }
        }
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
        // The mode that one of them enters has not heard of the message.
        let mode = self.mode.map(|at| vars[at]);
        for handler in self.handlers.iter().filter(|h| h.port == port) {
            let heard = handler.mode.is_none() || handler.mode == mode;
            if heard && self.is_active(handler.mode, vars) {
                handler.reset.carry_out(vars, work, (&self.stream, &self.dims), emit);
            }
        }
    }
    fn equation(&self, index: usize, vars: &[f64]) -> Option<String> {
        let mode = self.mode.map(|at| (VarId(at as u32), vars[at]));
        let (name, text) = (self.names.get(index)?, self.derivatives.text(index, mode));
        let algebraic = index >= self.dims.differential();
        Some(if algebraic { format!("0 = {text}") } else { format!("{name}' = {text}") })
    }
    fn dependent(&self) -> &[String] {
        &self.names[self.dims.differential()..][..self.dependent]
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
        let complete = |r: &&Reset| !r.recalls && r.draws.count == 0;
        let resets = self.resets.iter().filter(complete).map(|r| &r.program);
        let programs =
            [&self.derivatives, &self.outputs, &self.indicators].into_iter().chain(resets);
        programs.filter_map(|p| p.explain_non_finite(vars)).map(|n| n.to_string()).next()
    }
    fn explain_outputs(&self, vars: &[f64]) -> Option<String> {
        self.outputs.explain_non_finite(vars).map(|n| n.to_string())
    }
    fn explain_reset(&self, event: usize, vars: &[f64]) -> Option<String> {
        let reset = &self.resets[event];
        let why = if reset.recalls || reset.draws.count > 0 {
            None
        } else {
            reset.program.explain_non_finite(vars)
        };
        why.map(|n| n.to_string())
    }
}
