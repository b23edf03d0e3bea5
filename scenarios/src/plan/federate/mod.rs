//! `[federate]`: a scenario that takes part in a federation of HELICS or mosaik, or is stepped as an FMU.
//!
//! While a scenario is planned, the federation is a unit at the top, whose outputs are what is heard and whose
//! inputs are what is published: so connections, adapters and their mistakes are those of other units
//! ([`ports`]). In the model, ports of the whole stand in its place. What a file says is read in [`read`], and
//! [`facts`] makes of it what a run needs; [`helics`], [`mosaik`] and [`fmi`] know what only they have.
mod facts;
mod fmi;
#[cfg(feature = "helics")]
mod helics;
#[cfg(feature = "mosaik")]
mod mosaik;
mod ports;
mod read;

use super::Record;
pub(super) use facts::federate;
pub(super) use ports::{Joint, insert};
pub(super) use read::{FederateDecl, declare};
use std::path::PathBuf;
use superdense_adapters::federation::data::Type;
#[cfg(feature = "helics")]
use superdense_adapters::helics::federate::Taking;
#[cfg(feature = "mosaik")]
use superdense_adapters::mosaik::simulator::{Address, Offer};
use superdense_models::kinds::ValueType;

/// The name of the unit.
const NAME: &str = "federate";

/// The one that grants times.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// A federation of HELICS, and the time without a grant after which it is told who waits for whom.
    #[cfg(feature = "helics")]
    Helics(Box<Taking>, std::time::Duration),
    /// A world of mosaik, at an address that the command line gives.
    #[cfg(feature = "mosaik")]
    Mosaik(Offer, Option<Address>),
    /// Whoever steps the scenario as an FMU, and the outputs that he sees. Run by itself, the scenario keeps the first
    /// values of its inputs.
    Fmi(Vec<Record>),
}

/// How a scenario takes part in a federation.
#[derive(Debug, Clone, PartialEq)]
pub struct Federate {
    /// The name of the federate.
    pub name: String,
    /// Who grants times.
    pub engine: Engine,
    /// Ticks of a whole time of the federation: of a nanosecond in HELICS, of the resolution in mosaik.
    pub grain: i64,
    /// Outputs between whole times are published at the next one.
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
    /// The publication, attribute or endpoint that is heard.
    pub from: String,
    /// Its type.
    pub ty: Type,
    /// Numbers of the inputs of the model.
    pub ports: Vec<u16>,
    /// The port in the scenario.
    pub path: String,
    /// The types of what they take.
    pub types: Vec<ValueType>,
    /// Values of signals before the first one is heard; empty for events.
    pub initial: Vec<f64>,
    /// The unit of measure that others are told.
    pub unit: Option<String>,
}

/// Ports of the scenario that make one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The type of the value.
    pub ty: Type,
    /// Numbers of the outputs of the model.
    pub ports: Vec<u16>,
    /// The port in the scenario.
    pub path: String,
    /// They are signals: the last value of an instant counts.
    pub signal: bool,
}

impl Engine {
    /// Whether a time may be granted again.
    pub fn repeats(&self) -> bool {
        match self {
            #[cfg(feature = "helics")]
            Self::Helics(..) => false,
            #[cfg(feature = "mosaik")]
            Self::Mosaik(..) => true,
            Self::Fmi(..) => false,
        }
    }

    /// Whether peers decide how far a run may go.
    pub fn has_peers(&self) -> bool {
        !matches!(self, Self::Fmi(..))
    }

    /// Its name in messages.
    pub fn label(&self) -> &'static str {
        match self {
            #[cfg(feature = "helics")]
            Self::Helics(..) => "HELICS",
            #[cfg(feature = "mosaik")]
            Self::Mosaik(..) => "mosaik",
            Self::Fmi(..) => "FMI",
        }
    }
}
