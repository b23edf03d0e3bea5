//! Variables of one type, which are read and set together.
use super::{
    description::{Scale, Type},
    instance::CallError,
    library::Status,
};
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
    /// For integers of 64 bits: places of what their reals lack, behind all ports.
    pub rests: Vec<usize>,
    /// Places of aliases in other units.
    pub scales: Vec<(usize, Scale)>,
}

/// A whole number as the next real, and what that lacks.
pub(super) fn split(whole: i128) -> (f64, f64) {
    let real = whole as f64;
    (real, (whole - real as i128) as f64)
}

/// The whole number of both.
pub(super) fn joined(real: f64, rest: f64) -> i128 {
    (real.round() as i128).saturating_add(rest as i128)
}

impl Block {
    /// The places of all, if they follow each other.
    pub(super) fn run(&self) -> Option<Range<usize>> {
        let first = *self.places.first()?;
        let follow = self.places.iter().zip(first..).all(|(&place, k)| place == k);
        (follow && self.rests.is_empty()).then(|| first..first + self.places.len())
    }

    /// Turns values that were read into those of aliases.
    pub(super) fn rescale(&self, values: &mut [f64]) {
        for &(place, Scale { factor, offset }) in &self.scales {
            values[place] = values[place] * factor + offset;
        }
    }

    /// Places of all numbers: the reals, then what they lack.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.places.iter().chain(&self.rests).copied()
    }

    /// The own values of all, one after another.
    pub(super) fn gather(&self, values: &[f64], into: &mut Vec<f64>) {
        into.clear();
        into.extend(self.all().map(|p| values[p]));
    }

    /// Places of the elements of each variable.
    pub(super) fn each(&self) -> impl Iterator<Item = Range<usize>> {
        self.variables.iter().scan(0, |next, (_, elements)| {
            let first = *next;
            *next += elements;
            Some(first..*next)
        })
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
    let (reals, rests) = values.split_at(block.places.len());
    let rest = |k: usize| rests.get(k).copied().unwrap_or(0.0);
    let range = block.ty.range();
    let fits = |k: usize, x: f64| {
        let within = |(low, high)| (low..=high).contains(&joined(x, rest(k)));
        x.is_finite() && range.is_none_or(within)
    };
    let Some(bad) = reals.iter().enumerate().position(|(k, &x)| !fits(k, x)) else { return Ok(()) };
    let (name, ty, value) =
        (name_of(std::slice::from_ref(block), block.places[bad]), block.ty, reals[bad]);
    let (takes, help) = match range {
        Some((low, high)) if value.is_finite() => (
            format!("takes whole numbers from {low} to {high}"),
            "limit what is connected to it, or correct its value in `start`",
        ),
        _ => ("takes finite numbers".to_owned(), "check what is connected to it"),
    };
    let value = match range {
        Some(_) if value.is_finite() => joined(value, rest(bad)).to_string(),
        _ => value.to_string(),
    };
    let call = format!("input {name} of type {ty:?} would be {value}, but {takes}; {help}");
    Err(CallError { call, status: Status::Unasked, log: Vec::new() })
}
