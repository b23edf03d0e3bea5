//! Everything that passes between a scenario and a federation, whoever grants times: values ([`data`]), their records
//! ([`record`]) and nanoseconds ([`clock`]).
pub mod clock;
pub mod data;
pub mod record;

use data::Data;

/// The place of a value that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An input, by its number.
    Input(usize),
    /// An endpoint, by its number.
    Endpoint(usize),
}

/// A value that came.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// Where.
    pub place: Place,
    /// The time at which it was sent, in whole times of the federation.
    pub at: i64,
    /// Who sent it.
    pub source: String,
    /// The value.
    pub data: Data,
}

/// A value that goes out.
#[derive(Debug, Clone, PartialEq)]
pub enum Departure {
    /// By an output of this number.
    Value(usize, Data),
    /// By an endpoint of this number.
    Message(usize, Vec<u8>),
}
