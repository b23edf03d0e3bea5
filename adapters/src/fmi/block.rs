//! Variables of one type, which are read and set together.
use super::{description::Type, instance::CallError, library::Status};
use std::ops::Range;

/// Variables of one type, and the places of their elements among the ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Type.
    pub ty: Type,
    /// Value references.
    pub references: Vec<u32>,
    /// Name and number of elements of each variable.
    pub variables: Vec<(String, usize)>,
    /// Places of all elements.
    pub places: Vec<usize>,
}

impl Block {
    /// The places of all, if they follow each other.
    pub(super) fn run(&self) -> Option<Range<usize>> {
        let first = *self.places.first()?;
        let follow = self.places.iter().zip(first..).all(|(&place, k)| place == k);
        follow.then(|| first..first + self.places.len())
    }

    /// The own values of all, one after another.
    pub(super) fn gather(&self, values: &[f64], into: &mut Vec<f64>) {
        into.clear();
        into.extend(self.places.iter().map(|&p| values[p]));
    }
}

/// The name of the variable that has a port.
pub(super) fn name_of(blocks: &[Block], port: usize) -> String {
    for block in blocks {
        let mut places = block.places.iter();
        for (name, elements) in &block.variables {
            if places.by_ref().take(*elements).any(|&p| p == port) {
                return name.clone();
            }
        }
    }
    port.to_string()
}

pub(super) fn names(block: &Block) -> String {
    let names: Vec<&str> = block.variables.iter().map(|(n, _)| n.as_str()).collect();
    names.join(", ")
}

/// Whether the type can hold the values.
pub(super) fn check(block: &Block, values: &[f64]) -> Result<(), CallError> {
    let range = block.ty.range();
    let fits = |x: f64| x.is_finite() && range.is_none_or(|(low, high)| low <= x && x <= high);
    let Some(bad) = values.iter().position(|&x| !fits(x)) else { return Ok(()) };
    let (name, ty, value) =
        (name_of(std::slice::from_ref(block), block.places[bad]), block.ty, values[bad]);
    let (takes, help) = match range {
        Some((low, high)) if value.is_finite() => (
            format!("takes whole numbers from {low:e} to {high:e}"),
            "limit what is connected to it, or correct its value in `start`",
        ),
        _ => ("takes finite numbers".to_owned(), "check what is connected to it"),
    };
    let call = format!("input {name} of type {ty:?} would be {value}, but {takes}; {help}");
    Err(CallError { call, status: Status::Unasked, log: Vec::new() })
}
