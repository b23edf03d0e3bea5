//! `[federate]`: a scenario that takes part in a federation of HELICS.
//!
//! While a scenario is planned, the federation is a unit at the top, whose outputs are what is heard and whose
//! inputs are what is published: so connections, adapters and their mistakes are those of other units
//! ([`ports`]). In the model, ports of the whole stand in its place. What a file says is read in [`read`], and
//! [`facts`] makes of it what a run needs.
mod facts;
mod ports;
mod read;

pub(super) use facts::federate;
pub(super) use ports::{Joint, insert};
pub(super) use read::{FederateDecl, declare};
use std::path::PathBuf;
use superdense_adapters::helics::federate::Taking;
use superdense_models::kinds::ValueType;

/// The name of the unit.
const NAME: &str = "federate";

/// How a scenario takes part in a federation.
#[derive(Debug, Clone, PartialEq)]
pub struct Federate {
    /// The federate.
    pub taking: Taking,
    /// Outputs between nanoseconds are published at the next one.
    pub up: bool,
    /// The output directory of another run, whose record takes the place of the federation.
    pub replay: Option<PathBuf>,
    /// Beside each input of the federate: where it leads.
    pub inputs: Vec<Heard>,
    /// Beside each output: where it comes from.
    pub outputs: Vec<Told>,
    /// Beside each endpoint: where it leads, and where it comes from.
    pub endpoints: Vec<(Option<Heard>, Option<Told>)>,
}

/// Ports of the scenario that hear one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// Numbers of the inputs of the model.
    pub ports: Vec<u16>,
    /// The port in the scenario.
    pub path: String,
    /// The types of what they take.
    pub types: Vec<ValueType>,
    /// Values of signals before the first one is heard; empty for events.
    pub initial: Vec<f64>,
}

/// Ports of the scenario that make one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Numbers of the outputs of the model.
    pub ports: Vec<u16>,
    /// The port in the scenario.
    pub path: String,
    /// They are signals: the last value of an instant counts.
    pub signal: bool,
}
