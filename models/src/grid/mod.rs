//! Electric grids: case files, power flow, machines with governors, frequency control over a
//! network, thermostat loads, converters.
pub mod admittance;
pub mod case;
mod converters;
mod disturbances;
mod errors;
pub mod flow;
mod host;
mod loads;
pub mod machines;
mod matpower;
mod ports;
mod powersystem;
mod protection;
mod script;
mod table;
#[cfg(test)]
mod tests;
mod topology;

pub use converters::ConvertersKind;
pub use errors::CaseError;
pub use loads::{LoadTotal, ThermostatLoad};
pub use powersystem::{PowerFlow, PowerSystem};
pub use protection::{AgcCentre, Datagram, UflsCentre};
