//! What the names in an expression stand for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Index of a variable in the slice that an expression is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u32);

/// What one name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symbol {
    /// A number that is known before the run and folded into the expression.
    Const(f64),
    /// A state, an input, the time: whatever changes during the run.
    Var(VarId),
}

/// The names that an expression may use. Any `Fn(&str) -> Option<Symbol>` is one; [`Names`] is one
/// that can also suggest a name for a misspelt one.
///
/// Paths come in one spelling, without spaces and with indices evaluated: `pump[3].q`. The time is
/// a variable like any other, under the names the scope chooses. A scope wins over the built-in
/// constants `pi` and `e`.
pub trait Scope {
    /// The meaning of `name`, if it has one.
    fn lookup(&self, name: &str) -> Option<Symbol>;

    /// All names, for suggestions in error messages.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl<F: Fn(&str) -> Option<Symbol>> Scope for F {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self(name)
    }
}

/// A table of names.
///
/// ```
/// use superdense_models::expr::{Names, Scope, Symbol};
///
/// let names = Names::new().constant("g", 9.81).var("x", 0).var("t", 1);
/// assert_eq!(names.lookup("g"), Some(Symbol::Const(9.81)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names(BTreeMap<String, Symbol>);

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds (or replaces) a variable.
    #[must_use]
    pub fn var(mut self, name: impl Into<String>, id: u32) -> Self {
        self.insert(name, Symbol::Var(VarId(id)));
        self
    }

    /// Adds (or replaces) a constant.
    #[must_use]
    pub fn constant(mut self, name: impl Into<String>, value: f64) -> Self {
        self.insert(name, Symbol::Const(value));
        self
    }

    /// Adds a name, and returns what it stood for before.
    pub fn insert(&mut self, name: impl Into<String>, symbol: Symbol) -> Option<Symbol> {
        self.0.insert(name.into(), symbol)
    }
}

impl Scope for Names {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.0.get(name).copied()
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}
