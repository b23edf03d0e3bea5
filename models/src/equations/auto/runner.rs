//! The methods that `auto` can choose, and cores of them.
use super::{super::refused::Refused, prices::Prices, quanta};
use crate::solve::{
    Prepared, Programs, Settings, Stepped,
    any::{AnyCore, AnyState},
    core::{Core, Scene},
    equations::Equations,
    ode::Method,
    qss::{Quantised, Sheet},
};
use serde::{Deserialize, Serialize};

/// A method that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Candidate {
    Rk45,
    Rk23,
    Closed,
    Taylor,
    Rodas,
    Qss1,
    Qss2,
    Qss3,
    Liqss2,
}

/// The equations as the methods need them, compiled once.
#[derive(Debug)]
pub(super) struct Common {
    /// For methods without series, and with them.
    stepped: [Prepared; 2],
    sheet: Option<Sheet>,
}

impl Common {
    pub(super) fn new<E: Equations>(equations: &E) -> Self {
        let stepped = [Method::Rodas, Method::Closed].map(|m| Prepared::new(equations, m));
        let sheet = |programs: Programs| Sheet::of(equations, &programs);
        Self { stepped, sheet: equations.programs().map(sheet) }
    }
}

/// The order of `taylor`.
pub(super) const ORDER: usize = 12;

impl Candidate {
    /// All, of which earlier ones are taken where they cost as much.
    pub(super) const ALL: [Self; 9] = [
        Self::Closed,
        Self::Rk45,
        Self::Rk23,
        Self::Taylor,
        Self::Rodas,
        Self::Qss2,
        Self::Qss3,
        Self::Liqss2,
        Self::Qss1,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Rk45 => "rk45",
            Self::Rk23 => "rk23",
            Self::Taylor => "taylor",
            Self::Rodas => "rodas",
            Self::Qss1 => "qss1",
            Self::Qss2 => "qss2",
            Self::Qss3 => "qss3",
            Self::Liqss2 => "liqss2",
        }
    }

    /// The order of a quantised method.
    pub(super) fn order(self) -> Option<u32> {
        match self {
            Self::Qss1 => Some(1),
            Self::Qss2 | Self::Liqss2 => Some(2),
            Self::Qss3 => Some(3),
            _ => None,
        }
    }

    /// The method of a solver that steps all states at once; the quantised ones have none.
    fn stepped(self) -> Option<Method> {
        match self {
            Self::Closed => Some(Method::Closed),
            Self::Rk45 => Some(Method::Rk45),
            Self::Rk23 => Some(Method::Rk23),
            Self::Taylor => Some(Method::Taylor(ORDER, None)),
            Self::Rodas => Some(Method::Rodas),
            Self::Qss1 | Self::Qss2 | Self::Qss3 | Self::Liqss2 => None,
        }
    }

    /// A core, or why the method does not take the equations.
    pub(super) fn build<E: Equations>(
        self,
        prepared: &Common,
        equations: &E,
        settings: &Settings,
    ) -> Result<Runner, Refused> {
        macro_rules! quantised {
            ($kind:ident) => {
                Quantised::new(prepared.sheet.clone(), equations, settings, quanta(settings))
                    .map(AnyCore::$kind)
            };
        }
        let core = match self.stepped() {
            Some(method) => {
                let settings = Settings { method, ..settings.clone() };
                let series = method.series_order().is_some();
                let prepared = prepared.stepped[usize::from(series)].clone();
                Stepped::new(prepared, equations, &settings).map(AnyCore::Stepped)
            }
            None => match self {
                Self::Qss1 => quantised!(Qss1),
                Self::Qss3 => quantised!(Qss3),
                Self::Liqss2 => quantised!(Liqss2),
                _ => quantised!(Qss2),
            },
        };
        Ok(Runner { candidate: self, core: core? })
    }
}

/// A core of one of the methods.
#[derive(Debug)]
pub(super) struct Runner {
    pub candidate: Candidate,
    pub core: AnyCore,
}

/// The part of it that changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunnerState {
    pub candidate: Candidate,
    core: AnyState,
}

impl Runner {
    /// Estimated instructions of all steps so far.
    pub(super) fn spent(&self, prices: &Prices) -> f64 {
        let (steps, looks) = self.core.work();
        steps as f64 * prices.step(self.candidate) + looks as f64 * prices.look()
    }

    pub(super) fn save<E: Equations>(&self) -> RunnerState {
        RunnerState { candidate: self.candidate, core: Core::<E>::save(&self.core) }
    }

    /// Goes back to what was saved of the same method.
    pub(super) fn restore<E: Equations>(&mut self, scene: &Scene<E>, saved: &RunnerState) {
        self.core.restore(scene, &saved.core);
    }
}
