//! The feed-through of an equation unit, from the variables that its texts read.
use super::{
    compile::constants,
    events::{Events, Spec},
    formulas::Formulas,
    lower::{Lowered, lower},
    read::{Declared, Reader},
};
use crate::{
    kinds::{
        Context, Params,
        feed_through::{FeedThrough, Passing},
    },
    maths::expr::Expr,
    solve::equations::Dims,
};

/// From the texts of a unit; nothing for a unit with mistakes, which others report.
pub(super) fn feed_through(params: &Params, context: &Context<'_>) -> FeedThrough {
    let mut r = Reader::new(params);
    let mut d = Declared::read(&mut r);
    let names = constants(&mut r, context);
    // Switching functions read what stands in them; their sides are not looked at.
    let Lowered { mut formulas, equations, .. } =
        lower(&mut r, &mut d, &names, Formulas::with_switching);
    let outputs = formulas.outputs(&mut r, &d);
    let mut events = Events::new(&formulas);
    events.read(&mut r, context, &d);
    if !r.errors.is_empty() {
        return FeedThrough::None;
    }
    let dims = &formulas.dims;
    let residuals = &equations[dims.differential()..];
    let reach = Reach { dims, residuals, outputs: &outputs, events: &events };
    let mut pairs = Vec::new();
    for input in 0..dims.inputs {
        let mut moved = vec![false; dims.variables()];
        moved[dims.first_input() + input] = true;
        reach.algebraic(&mut moved);
        let at_once: Vec<bool> = outputs.iter().map(|e| reads(e, &moved)).collect();
        let value = (0..).zip(&at_once).filter(|(_, at_once)| **at_once);
        pairs.extend(value.map(|(output, _)| (input as u16, output, Passing::Value)));
        reach.answers(input, moved, &at_once, &[], &mut pairs);
    }
    for event in 0..dims.event_inputs {
        let mut moved = vec![false; dims.variables()];
        let mut sent = Vec::new();
        for handler in events.handlers.iter().filter(|h| h.port == event) {
            handler.reset.targets.iter().for_each(|&target| moved[target] = true);
            let passing = handler.mode.map_or(Passing::Always, |_| Passing::Sometimes);
            sent.extend(handler.reset.emits.iter().map(|&port| (port, passing)));
        }
        reach.algebraic(&mut moved);
        let silent = vec![false; outputs.len()];
        reach.answers(dims.inputs + event, moved, &silent, &sent, &mut pairs);
    }
    FeedThrough::Pairs(pairs)
}

struct Reach<'a> {
    dims: &'a Dims,
    residuals: &'a [Expr],
    outputs: &'a [Expr],
    events: &'a Events<'a>,
}

impl Reach<'_> {
    /// Algebraic variables move with what any of their equations reads.
    fn algebraic(&self, moved: &mut [bool]) {
        if self.residuals.iter().any(|e| reads(e, moved)) {
            moved[self.dims.algebraic_places()].fill(true);
        }
    }

    /// Notes all other messages that are sent at once when the variables in `moved` jump: those of
    /// events that this may set off, and of events that these may. Outputs in `told` are known
    /// already; `sent` are event outputs.
    fn answers(
        &self,
        input: usize,
        mut moved: Vec<bool>,
        told: &[bool],
        sent: &[(u16, Passing)],
        pairs: &mut Vec<(u16, u16, Passing)>,
    ) {
        let mut sent = sent.to_vec();
        let mut done = vec![false; self.events.specs.len()];
        loop {
            let next = |(k, spec): &(usize, &Spec)| !done[*k] && self.sets_off(spec, &moved);
            let Some((k, spec)) = self.events.specs.iter().enumerate().find(next) else { break };
            done[k] = true;
            spec.reset.targets.iter().for_each(|&target| moved[target] = true);
            self.algebraic(&mut moved);
            sent.extend(spec.reset.emits.iter().map(|&port| (port, Passing::Sometimes)));
        }
        let jumps = self.outputs.iter().zip(told).map(|(e, told)| !told && reads(e, &moved));
        let jumps = (0..).zip(jumps).filter(|(_, jumps)| *jumps);
        let jumps = jumps.map(|(output, _)| (output, Passing::Sometimes));
        let first = self.outputs.len() as u16;
        let mut all: Vec<(u16, Passing)> =
            jumps.chain(sent.iter().map(|&(port, passing)| (first + port, passing))).collect();
        all.sort_unstable();
        // Of several ways the surest one, which comes first.
        all.dedup_by_key(|(output, _)| *output);
        pairs.extend(all.into_iter().map(|(output, passing)| (input as u16, output, passing)));
    }

    fn sets_off(&self, spec: &Spec, moved: &[bool]) -> bool {
        spec.alternatives.iter().flatten().any(|z| reads(z, moved))
    }
}

fn reads(expr: &Expr, moved: &[bool]) -> bool {
    expr.vars().iter().any(|v| moved.get(v.0 as usize).copied().unwrap_or(false))
}
