//! Electric grids: case files, power flow, machines with governors, frequency control over a
//! network, thermostat loads, converters.
pub mod admittance;
pub mod case;
pub mod converters;
mod disturbances;
mod errors;
pub mod flow;
pub mod host;
pub mod loads;
pub mod machines;
mod matpower;
mod ports;
mod powersystem;
pub mod protection;
mod script;
mod table;
#[cfg(test)]
mod tests;
mod topology;

pub use errors::CaseError;
pub use powersystem::{PowerFlow, PowerSystem};
