//! The calls of model exchange.
use super::{
    super::description::Version,
    Api, RawInstance, Status,
    raw::{Answer, call},
};
use serde::{Deserialize, Serialize};

/// The answer of `completedIntegratorStep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Completed {
    /// Event mode is needed.
    pub event: bool,
    /// The FMU asks to end the run.
    pub terminate: bool,
}

/// Vectors that the FMU fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Vector {
    /// Continuous states.
    States,
    /// Their derivatives.
    Derivatives,
    /// Event indicators.
    Indicators,
    /// Nominal values of the states.
    Nominals,
}

impl Vector {
    /// The function that fills it, behind the prefix of the version.
    pub fn getter(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::States, _) => "GetContinuousStates",
            (Self::Derivatives, Version::V2) => "GetDerivatives",
            (Self::Derivatives, Version::V3) => "GetContinuousStateDerivatives",
            (Self::Indicators, _) => "GetEventIndicators",
            (Self::Nominals, _) => "GetNominalsOfContinuousStates",
        }
    }
}

impl RawInstance {
    /// The continuous-time mode begins.
    pub fn enter_continuous(&mut self) -> Status {
        self.plain(|f| f.enter_continuous, |f| f.enter_continuous)
    }

    /// `setTime`.
    pub fn set_time(&mut self, t: f64) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.set_time,
            Api::V3(f) => f.set_time,
        };
        call!(self, f, t)
    }

    /// `setContinuousStates`.
    pub fn set_states(&mut self, x: &[f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match &self.functions.api {
            Api::V2(f) => f.set_states,
            Api::V3(f) => f.set_states,
        };
        call!(self, f, x.as_ptr(), x.len())
    }

    /// Fills `out`, which has the FMU's own length of it.
    pub fn fill(&mut self, what: Vector, out: &mut [f64]) -> Status {
        if self.dead {
            return Status::Fatal;
        }
        let f = match (&self.functions.api, what) {
            (Api::V2(f), Vector::States) => f.get_states,
            (Api::V2(f), Vector::Derivatives) => f.get_derivatives,
            (Api::V2(f), Vector::Indicators) => f.get_indicators,
            (Api::V2(f), Vector::Nominals) => f.get_nominals,
            (Api::V3(f), Vector::States) => f.get_states,
            (Api::V3(f), Vector::Derivatives) => f.get_derivatives,
            (Api::V3(f), Vector::Indicators) => f.get_indicators,
            (Api::V3(f), Vector::Nominals) => f.get_nominals,
        };
        call!(self, f, out.as_mut_ptr(), out.len())
    }

    /// `completedIntegratorStep`; nobody will go back before this point.
    pub fn completed(&mut self) -> Answer<Completed> {
        if self.dead {
            return (Status::Fatal, Completed::default());
        }
        match &self.functions.api {
            Api::V2(f) => {
                let (mut event, mut terminate) = (0, 0);
                let status = call!(self, f.completed, 1, &raw mut event, &raw mut terminate);
                (status, Completed { event: event != 0, terminate: terminate != 0 })
            }
            Api::V3(f) => {
                let (mut event, mut terminate) = (0, 0);
                let status = call!(self, f.completed, true, &raw mut event, &raw mut terminate);
                (status, Completed { event: event != 0, terminate: terminate != 0 })
            }
        }
    }

    /// Numbers of states and of indicators now, if the FMU can tell.
    pub fn sizes(&mut self) -> Option<(usize, usize)> {
        let Api::V3(f) = &self.functions.api else { return None };
        let (states, indicators) = (f.count_states, f.count_indicators);
        if self.dead || states.is_none() || indicators.is_none() {
            return None;
        }
        let (mut n, mut z) = (0, 0);
        let good = call!(self, states, &raw mut n).is_good();
        let good = good && call!(self, indicators, &raw mut z).is_good();
        good.then_some((n, z))
    }
}
