//! Dimensions of what a unit declares.
use crate::maths::expr::Measure;
use std::collections::HashMap;

/// Names of a unit, without indices, with their dimensions; what has no unit of measure may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measures {
    /// States, inputs and discrete values.
    pub variables: HashMap<String, Measure>,
    /// Outputs.
    pub outputs: HashMap<String, Measure>,
}

impl Measures {
    /// Of a variable or an output, whose index does not count.
    pub fn of(table: &HashMap<String, Measure>, name: &str) -> Measure {
        table.get(base(name)).copied().unwrap_or(Measure::Unknown)
    }
}

/// The name of an array of which `u[3]` is an element.
pub(crate) fn base(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}
