//! The methods that `auto` can choose, and cores of them.
use super::{super::start::Refused, prices::Prices, quanta};
use crate::solve::{
    Prepared, Programs, Settings, Stepped, SteppedState,
    core::{Core, Scene},
    equations::Equations,
    ode::Method,
    qss::{CoreState, Explicit, Implicit, Quantised, Sheet},
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
        if let Some(method) = self.stepped() {
            let settings = Settings { method, ..settings.clone() };
            let series = method.series_order().is_some();
            let prepared = prepared.stepped[usize::from(series)].clone();
            let core = Stepped::new(prepared, equations, &settings).map_err(Refused::Method)?;
            return Ok(Runner::Stepped(self, core));
        }
        macro_rules! quantised {
            ($kind:ident) => {
                Quantised::new(prepared.sheet.clone(), equations, settings, quanta(settings))
                    .map(Runner::$kind)
            };
        }
        let core = match self {
            Self::Qss1 => quantised!(Qss1),
            Self::Qss3 => quantised!(Qss3),
            Self::Liqss2 => quantised!(Liqss2),
            _ => quantised!(Qss2),
        };
        core.map_err(Refused::Method)
    }
}

/// A core of one of the methods.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "each unit holds one, and calls go through no pointer"
)]
pub(super) enum Runner {
    Stepped(Candidate, Stepped),
    Qss1(Quantised<Explicit, 1>),
    Qss2(Quantised<Explicit, 2>),
    Qss3(Quantised<Explicit, 3>),
    Liqss2(Quantised<Implicit, 2>),
}

/// The part of it that changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "as above")]
pub(super) enum RunnerState {
    Stepped(Candidate, SteppedState),
    Qss1(CoreState<1>),
    Qss2(CoreState<2>),
    Qss3(CoreState<3>),
    Liqss2(CoreState<2>),
}

/// Evaluates an expression on the core inside a runner.
macro_rules! each {
    ($runner:expr, $core:ident => $do:expr) => {
        match $runner {
            $crate::equations::auto::runner::Runner::Stepped(_, $core) => $do,
            $crate::equations::auto::runner::Runner::Qss1($core) => $do,
            $crate::equations::auto::runner::Runner::Qss2($core) => $do,
            $crate::equations::auto::runner::Runner::Qss3($core) => $do,
            $crate::equations::auto::runner::Runner::Liqss2($core) => $do,
        }
    };
}
pub(super) use each;

impl RunnerState {
    pub(super) fn candidate(&self) -> Candidate {
        match self {
            Self::Stepped(candidate, _) => *candidate,
            Self::Qss1(_) => Candidate::Qss1,
            Self::Qss2(_) => Candidate::Qss2,
            Self::Qss3(_) => Candidate::Qss3,
            Self::Liqss2(_) => Candidate::Liqss2,
        }
    }
}

impl Runner {
    pub(super) fn candidate(&self) -> Candidate {
        match self {
            Self::Stepped(candidate, _) => *candidate,
            Self::Qss1(_) => Candidate::Qss1,
            Self::Qss2(_) => Candidate::Qss2,
            Self::Qss3(_) => Candidate::Qss3,
            Self::Liqss2(_) => Candidate::Liqss2,
        }
    }

    /// Estimated instructions of all steps so far.
    pub(super) fn spent(&self, prices: &Prices) -> f64 {
        let (steps, looks) = each!(self, core => core.work());
        steps as f64 * prices.step(self.candidate()) + looks as f64 * prices.look()
    }

    pub(super) fn watch_bands(&mut self, on: bool) {
        each!(self, core => core.watch_bands(on));
    }

    /// The solution at the present may be off as far as the tolerances allow.
    pub(super) fn distrust(&mut self) {
        if let Self::Stepped(_, core) = self {
            core.distrust();
        }
    }

    pub(super) fn save<E: Equations>(&self) -> RunnerState {
        match self {
            Self::Stepped(candidate, core) => {
                RunnerState::Stepped(*candidate, Core::<E>::save(core))
            }
            Self::Qss1(core) => RunnerState::Qss1(Core::<E>::save(core)),
            Self::Qss2(core) => RunnerState::Qss2(Core::<E>::save(core)),
            Self::Qss3(core) => RunnerState::Qss3(Core::<E>::save(core)),
            Self::Liqss2(core) => RunnerState::Liqss2(Core::<E>::save(core)),
        }
    }

    /// Goes back to what was saved of the same method.
    pub(super) fn restore<E: Equations>(&mut self, scene: &Scene<E>, saved: &RunnerState) {
        match (self, saved) {
            (Self::Stepped(_, core), RunnerState::Stepped(_, saved)) => core.restore(scene, saved),
            (Self::Qss1(core), RunnerState::Qss1(saved)) => core.restore(scene, saved),
            (Self::Qss2(core), RunnerState::Qss2(saved)) => core.restore(scene, saved),
            (Self::Qss3(core), RunnerState::Qss3(saved)) => core.restore(scene, saved),
            (Self::Liqss2(core), RunnerState::Liqss2(saved)) => core.restore(scene, saved),
            _ => debug_assert!(false, "the state of another method"),
        }
    }
}
