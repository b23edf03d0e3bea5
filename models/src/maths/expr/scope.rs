//! Names in expressions, and their meaning.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::library::{Function, Library};

/// Index of a variable in the slice that an expression is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u32);

/// The meaning of one name.
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

    /// The lowest and the highest index of the array `base`, if there is one.
    fn extent(&self, base: &str) -> Option<(i64, i64)> {
        let _ = base;
        None
    }

    /// The variable that stands for `variable` before the present cycle, for `pre(x)`; none where
    /// there is no cycle, or for what has no value before it.
    fn before(&self, variable: VarId) -> Result<VarId, NoValueBefore> {
        let _ = variable;
        Err(NoValueBefore::Here)
    }

    /// The function of a name that is none of the language's own.
    fn function(&self, name: &str) -> Option<&Function> {
        let _ = name;
        None
    }

    /// A variable that is uniform between 0 and 1, another one at each call; none where nothing is drawn.
    fn draw(&self) -> Option<VarId> {
        None
    }

    /// All names, for suggestions in error messages.
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// Why there is no value before the present cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValueBefore {
    /// The formula belongs to no event.
    Here,
    /// The name is none of a state, an input or a discrete value.
    OfThis,
}

impl<F: Fn(&str) -> Option<Symbol>> Scope for F {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self(name)
    }
}

/// A table of names.
///
/// ```
/// use superdense_models::maths::expr::{Names, Scope, Symbol};
///
/// let names = Names::new().constant("g", 9.81).var("x", 0).var("t", 1);
/// assert_eq!(names.lookup("g"), Some(Symbol::Const(9.81)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    symbols: BTreeMap<String, Symbol>,
    /// By array: lowest and highest index.
    extents: BTreeMap<String, (i64, i64)>,
    functions: Arc<Library>,
}

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

    /// With these functions.
    #[must_use]
    pub fn with(self, functions: &Arc<Library>) -> Self {
        Self { functions: Arc::clone(functions), ..self }
    }

    /// Adds a name, and returns what it stood for before.
    pub fn insert(&mut self, name: impl Into<String>, symbol: Symbol) -> Option<Symbol> {
        let name = name.into();
        if let Some((base, index)) = element(&name) {
            let extent = self.extents.entry(base.to_owned()).or_insert((index, index));
            *extent = (extent.0.min(index), extent.1.max(index));
        }
        self.symbols.insert(name, symbol)
    }
}

impl Scope for Names {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    fn names(&self) -> Vec<&str> {
        self.symbols.keys().map(String::as_str).collect()
    }

    fn extent(&self, base: &str) -> Option<(i64, i64)> {
        self.extents.get(base).copied()
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }
}

/// Array and index of `u[3]`.
pub(super) fn element(name: &str) -> Option<(&str, i64)> {
    let (base, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((base, index.parse().ok()?))
}

/// A scope with whole numbers under some more names: the indices of an array's element.
#[allow(missing_debug_implementations, reason = "the names may be a function")]
pub struct Indexed<'a> {
    /// The other names.
    pub names: &'a dyn Scope,
    /// Name and value of each index.
    pub indices: &'a [(String, i64)],
}

impl Scope for Indexed<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        let own = self.indices.iter().rev().find(|(known, _)| known == name);
        match own {
            Some(&(_, value)) => Some(Symbol::Const(value as f64)),
            None => self.names.lookup(name),
        }
    }

    fn names(&self) -> Vec<&str> {
        let own = self.indices.iter().map(|(name, _)| name.as_str());
        self.names.names().into_iter().chain(own).collect()
    }

    fn before(&self, variable: VarId) -> Result<VarId, NoValueBefore> {
        self.names.before(variable)
    }

    fn extent(&self, base: &str) -> Option<(i64, i64)> {
        self.names.extent(base)
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.names.function(name)
    }

    fn draw(&self) -> Option<VarId> {
        self.names.draw()
    }
}
