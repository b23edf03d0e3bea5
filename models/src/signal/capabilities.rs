//! The capability record: the services that a unit offers to others (Gomes et al. 2017, 6.2:
//! information exposed, rollback support).
//!
//! A kind says it in [`UnitKind::capabilities`](crate::kinds::UnitKind::capabilities). The
//! record lists only services that some part of the program asks for: policies of couplings
//! ([`SCHEMES`](crate::couplings::SCHEMES)), and the analysis of linear units.

/// Something that a unit can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Its state can be saved, and brought back any number of times.
    Restore,
    /// Its saved state can be kept as bytes.
    Serialise,
    /// Its outputs come with their time derivatives.
    OutputDerivatives,
    /// Its inputs follow polynomials inside its steps.
    InputPolynomials,
    /// It takes steps of any length, so that what it is told cuts them.
    AnySteps,
    /// Its events and jumps are told at their time.
    EventTimes,
    /// Its equations are known.
    Equations,
}

impl Capability {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::Restore,
        Self::Serialise,
        Self::OutputDerivatives,
        Self::InputPolynomials,
        Self::AnySteps,
        Self::EventTimes,
        Self::Equations,
    ];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Restore => "state access",
            Self::Serialise => "serialisable state",
            Self::OutputDerivatives => "output derivatives",
            Self::InputPolynomials => "inputs inside steps",
            Self::AnySteps => "steps of any length",
            Self::EventTimes => "times of events",
            Self::Equations => "equations",
        }
    }
}

/// The capabilities of a unit: all but those it lacks, each with the reason.
///
/// ```
/// use superdense_models::signal::capabilities::{Capabilities, Capability};
/// let black = Capabilities::all().without(Capability::Restore, "it runs on a test bench");
/// assert_eq!(black.lacks(Capability::Restore), Some("it runs on a test bench"));
/// assert_eq!(black.lacks(Capability::EventTimes), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    lacking: Vec<(Capability, String)>,
}

impl Capabilities {
    /// Nothing is missing.
    pub fn all() -> Self {
        Self::default()
    }

    /// Without one, for a reason.
    #[must_use]
    pub fn without(mut self, what: Capability, why: impl Into<String>) -> Self {
        self.lacking.push((what, why.into()));
        self
    }

    /// Without one if `lacks`.
    #[must_use]
    pub fn unless(self, lacks: bool, what: Capability, why: impl Into<String>) -> Self {
        if lacks { self.without(what, why) } else { self }
    }

    /// Why this is missing, if it is.
    pub fn lacks(&self, what: Capability) -> Option<&str> {
        self.lacking.iter().find(|(c, _)| *c == what).map(|(_, why)| why.as_str())
    }
}
