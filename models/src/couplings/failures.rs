//! Why a step on trial cannot be made.
use superdense_kernel::{
    error::{CheckpointError, RunError},
    snapshot::SnapshotError,
};

/// Why a master that tries steps out cannot begin, or go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CouplingError {
    /// A unit or the kernel ended a trial.
    #[error(transparent)]
    Run(Box<RunError>),
    /// A unit cannot be brought back to an earlier state.
    #[error(transparent)]
    Checkpoint(#[from] Box<CheckpointError>),
    /// A state cannot be saved or brought back.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A step in which events follow each other without end.
    #[error(
        "the macro step makes no headway: it took more than {most} events to {at} s{}; the coupling may diverge: take \
         a shorter `step`, or a larger `exchange_tolerance` of the unit",
        heard(.signal)
    )]
    Stuck {
        /// Events that were allowed.
        most: usize,
        /// Where it stopped, in seconds.
        at: String,
        /// The signal that was heard last, and its value.
        signal: Option<(String, f64)>,
    },
    /// Corrections do not converge.
    #[error(transparent)]
    Diverges(Box<Divergence>),
    /// A unit does not do the same as on trial.
    #[error(
        "{signal} is {member}, and was {trial} when the macro step was tried out: its unit does not do the same again \
         from the same state; use a coupling that does not repeat steps"
    )]
    Differs {
        /// Its signal.
        signal: String,
        /// The signal of the member.
        member: f64,
        /// The signal on trial.
        trial: f64,
    },
    /// Bonds that say again what others say.
    #[error(
        "the bonds `{}` say the same of their units: how much each of them carries cannot be told, as in a ring of \
         rigid bodies; leave one of these lines out, or let a unit give way",
        .0.join("`, `")
    )]
    Redundant(Vec<String>),
    /// Units that answer moved signals by values that are not finite.
    #[error("the responses to moved signals are not finite")]
    Responses,
    /// Responses that have no pseudo-inverse.
    #[error("{0}")]
    NoInverse(&'static str),
    /// Micro-steps that the implicit step cannot stand for.
    #[error("the implicit step over the macro step is singular")]
    SingularStep,
}

/// Corrections that do not converge.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the macro step does not converge: after {rounds} corrections {worst} is {off:e} from what its receivers were \
     told, relative to 1 + its size, with a tolerance of {tolerance:e} (signals {}); try method = \"newton\", a \
     smaller `relaxation`, a shorter `step`, a larger `max`, or, for whole courses, a smaller `exchange_tolerance` of \
     the units",
    signals.join(", ")
)]
pub struct Divergence {
    /// How many were made.
    pub rounds: u32,
    /// The signal that is off most.
    pub worst: String,
    /// By how much, relative to 1 + its size.
    pub off: f64,
    /// How much is allowed.
    pub tolerance: f64,
    /// All signals.
    pub signals: Vec<String>,
}

impl From<RunError> for CouplingError {
    fn from(why: RunError) -> Self {
        Self::Run(why.into())
    }
}

impl From<Divergence> for CouplingError {
    fn from(why: Divergence) -> Self {
        Self::Diverges(why.into())
    }
}

fn heard(signal: &Option<(String, f64)>) -> String {
    let of = |(name, value): &(String, f64)| {
        format!(", the last of them by `{name}`, which is {value:e} then")
    };
    signal.as_ref().map_or_else(String::new, of)
}

pub(super) type Step<T> = Result<T, CouplingError>;
