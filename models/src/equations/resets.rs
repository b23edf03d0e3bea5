//! The work of events: assignments, messages, modes, the end of a run.
use super::{
    elaborate::indexed,
    events::Events,
    formulas::HELPERS,
    read::{Declared, MODE, Reader},
    text::{DRAWN, DRAWS, Draws, FORMER, Reset},
};
use crate::{
    kinds::{Located, Param, ParamError},
    maths::expr::{Expr, Function, Names, NoValueBefore, Program, Scope, Symbol, VarId},
};
use std::{
    cell::Cell,
    sync::{Arc, OnceLock},
};

impl Events<'_> {
    /// The effects of an event: `reset`, `emit` and `to`.
    pub(super) fn reset(
        &mut self,
        r: &mut Reader<'_>,
        d: &Declared<'_>,
        (from, names): (Option<usize>, &Names),
        [reset, emit, to]: [Option<&Located<Param>>; 3],
    ) -> Reset {
        let (mut targets, mut emits, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let scope = &InEvent { names, received: self.received, draws: Cell::new(0) };
        for (name, p) in entries(r, reset, "reset") {
            let target = self.target(r, name);
            if let (Some(target), Some(expr)) = (target, r.expression(p, scope)) {
                targets.push(target);
                values.push(self.formulas.without_helpers(&expr));
            }
        }
        if let Some(to) = to {
            match (self.formulas.mode, r.mode(d, to)) {
                (Some(var), Some(mode)) => {
                    targets.push(var.0 as usize);
                    values.push(Expr::constant(mode));
                    self.ways.push((from, mode as usize));
                }
                (Some(_), None) => {}
                (None, _) => {
                    let error = ParamError::at(to.span.clone(), "this unit has no modes");
                    r.errors.push(error.help("describe them as [unit.NAME.mode.MODE]"));
                }
            }
        }
        if let Some(joined) = &d.joined {
            joined.divide(self.formulas, &mut targets, &mut values);
        }
        for (name, p) in entries(r, emit, "emit") {
            let port = d.event_outputs.iter().position(|n| n.value == name.value);
            if port.is_none() {
                let error = format!("`{}` is not an event output", name.value);
                let help = "declare it in `event_outputs`";
                r.errors.push(ParamError::at(name.span.clone(), error).help(help));
            }
            if let (Some(port), Some(expr)) = (port, r.expression(p, scope)) {
                emits.push(port as u16);
                values.push(self.formulas.without_helpers(&expr));
            }
        }
        let counter = self.formulas.targets.get(DRAWS).copied().unwrap_or_default();
        let draws = Draws { count: scope.draws.get(), counter };
        let program = Program::compile(&values);
        let (recalls, snaps, reads) = (false, false, OnceLock::new());
        Reset { targets, emits, program, recalls, snaps, draws, reads }
    }
}

/// Names in formulas of events, where variables have a value before the cycle.
struct InEvent<'a> {
    names: &'a Names,
    received: VarId,
    /// Random numbers so far.
    draws: Cell<u32>,
}

impl Scope for InEvent<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.names.lookup(name)
    }
    fn names(&self) -> Vec<&str> {
        self.names.names()
    }
    fn extent(&self, base: &str) -> Option<(i64, i64)> {
        self.names.extent(base)
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.names.function(name)
    }
    fn draw(&self) -> Option<VarId> {
        let number = self.draws.get();
        self.draws.set(number + 1);
        Some(VarId(DRAWN + number))
    }
    fn before(&self, variable: VarId) -> Result<VarId, NoValueBefore> {
        match variable.0 < HELPERS && variable != self.received {
            true => Ok(VarId(FORMER + variable.0)),
            false => Err(NoValueBefore::OfThis),
        }
    }
}

/// The message with which an event ends the run as planned.
pub(super) fn terminate(r: &mut Reader<'_>, p: &Located<Param>) -> Option<Arc<str>> {
    match &p.value {
        Param::Text(message) if !message.trim().is_empty() => Some(message.as_str().into()),
        _ => {
            let error = ParamError::at(p.span.clone(), "`terminate` is the message of the end");
            r.errors.push(error.help("write such as terminate = \"the tank is empty\""));
            None
        }
    }
}

/// The entries of a table inside an event.
pub(super) fn entries<'b>(
    r: &mut Reader<'_>,
    p: Option<&'b Located<Param>>,
    name: &str,
) -> Vec<(&'b Located<String>, &'b Located<Param>)> {
    let Some(p) = p else { return Vec::new() };
    match indexed(&p.value).0 {
        Param::Table(entries) => entries.iter().map(|(k, v)| (k, v)).collect(),
        _ => {
            let error = ParamError::at(p.span.clone(), format!("`{name}` must be a table"));
            r.errors.push(error.help(format!("write {name} = {{ name = \"expression\" }}")));
            Vec::new()
        }
    }
}

impl Reader<'_> {
    /// The number of the mode that a text names.
    pub(super) fn mode(&mut self, d: &Declared<'_>, p: &Located<Param>) -> Option<f64> {
        let names: Vec<&str> = d.modes.iter().map(|(n, _)| n.value.as_str()).collect();
        if let Param::Text(name) = indexed(&p.value).0
            && let Some(k) = names.iter().position(|n| n == name)
        {
            return Some(k as f64);
        }
        if !names.is_empty() {
            let error = ParamError::at(p.span.clone(), "there is no such mode");
            self.errors.push(error.help(format!("the {MODE}s are: {}", names.join(", "))));
        }
        None
    }
}
