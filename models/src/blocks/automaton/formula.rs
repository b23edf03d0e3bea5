//! Formulas of an automaton: guards, new values, random durations.
use crate::maths::{
    expr::{Condition, Expr, Function, Names, Scope, Symbol, VarId},
    random::RandomStream,
};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Places of the time and of the value of the event before the variables.
pub(super) const TIME: usize = 0;
pub(super) const VALUE: usize = 1;
pub(super) const FIRST: usize = 2;

/// A formula over the time, the value of an event and variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    pub(super) expr: Expr,
    /// Random numbers, behind the variables.
    pub(super) draws: u32,
}

impl Formula {
    pub(super) fn value(&self, vars: &[f64], stream: &mut RandomStream) -> f64 {
        if self.draws == 0 {
            return self.expr.eval(vars);
        }
        // Never zero, whose logarithm is not finite.
        let drawn = (0..self.draws).map(|_| 1.0 - stream.uniform());
        let all: Vec<f64> = vars.iter().copied().chain(drawn).collect();
        self.expr.eval(&all)
    }
}

/// A condition on the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard(pub(super) Condition);

impl Guard {
    pub(super) fn holds(&self, vars: &[f64]) -> bool {
        self.0.eval(vars)
    }
}

/// Names of variables, and what they stand for at the start.
pub(super) struct Variables {
    pub names: Names,
    pub start: Vec<f64>,
}

/// Names in formulas that may draw.
pub(super) struct Drawing<'a> {
    pub names: &'a Names,
    /// Number of variables before random numbers.
    pub first: usize,
    pub draws: Cell<u32>,
}

impl Scope for Drawing<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.names.lookup(name)
    }
    fn names(&self) -> Vec<&str> {
        self.names.names()
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.names.function(name)
    }
    fn draw(&self) -> Option<VarId> {
        let number = self.draws.get();
        self.draws.set(number + 1);
        Some(VarId(self.first as u32 + number))
    }
}
