//! One type for the cores of all methods, so that what holds a core is compiled once, and not once per method.
use super::{
    Stepped, SteppedState,
    core::{Advance, Core, Failure, Flips, Scene},
    equations::Equations,
    ode::Path,
    qss::{CoreState, Explicit, Implicit, Paired, Quantised},
};
use crate::signal::statistics::UnitStatistics;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A core of one of the methods.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "each unit holds one, and calls go through no pointer"
)]
pub(crate) enum AnyCore {
    Stepped(Stepped),
    Qss1(Quantised<Explicit, 1>),
    Qss2(Quantised<Explicit, 2>),
    Qss3(Quantised<Explicit, 3>),
    Liqss1(Quantised<Implicit, 1>),
    Liqss2(Quantised<Implicit, 2>),
    Mliqss2(Quantised<Paired, 2>),
}

/// The part of it that changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "as above")]
pub(crate) enum AnyState {
    Stepped(SteppedState),
    First(CoreState<1>),
    Second(CoreState<2>),
    Third(CoreState<3>),
}

/// Evaluates an expression on the core inside.
macro_rules! each {
    ($any:expr, $core:ident => $do:expr) => {
        match $any {
            AnyCore::Stepped($core) => $do,
            AnyCore::Qss1($core) => $do,
            AnyCore::Qss2($core) => $do,
            AnyCore::Qss3($core) => $do,
            AnyCore::Liqss1($core) => $do,
            AnyCore::Liqss2($core) => $do,
            AnyCore::Mliqss2($core) => $do,
        }
    };
}

impl AnyCore {
    /// Steps, and looks at relations and bands, so far.
    pub(crate) fn work(&self) -> (u64, u64) {
        each!(self, core => core.work())
    }

    pub(crate) fn watch_bands(&mut self, on: bool) {
        each!(self, core => core.watch_bands(on));
    }

    /// The solution at the present may be off as far as the tolerances allow.
    pub(crate) fn distrust(&mut self) {
        each!(self, core => core.distrust());
    }

    /// Whether the sign of some relation was not sure since the last call, under a method that does not tighten tolerances.
    pub(crate) fn take_doubtful(&mut self) -> bool {
        each!(self, core => core.take_doubtful())
    }

    /// Whether stability limits the steps of an explicit method.
    pub(crate) fn is_stiff<E: Equations>(&mut self, scene: &Scene<E>) -> bool {
        let Self::Stepped(core) = self else { return false };
        core.is_stiff(scene)
    }
}

impl<E: Equations> Core<E> for AnyCore {
    type State = AnyState;

    fn save(&self) -> AnyState {
        match self {
            Self::Stepped(core) => AnyState::Stepped(Core::<E>::save(core)),
            Self::Qss1(core) => AnyState::First(Core::<E>::save(core)),
            Self::Liqss1(core) => AnyState::First(Core::<E>::save(core)),
            Self::Qss2(core) => AnyState::Second(Core::<E>::save(core)),
            Self::Liqss2(core) => AnyState::Second(Core::<E>::save(core)),
            Self::Mliqss2(core) => AnyState::Second(Core::<E>::save(core)),
            Self::Qss3(core) => AnyState::Third(Core::<E>::save(core)),
        }
    }
    fn restore(&mut self, scene: &Scene<E>, saved: &AnyState) {
        match (self, saved) {
            (Self::Stepped(core), AnyState::Stepped(saved)) => core.restore(scene, saved),
            (Self::Qss1(core), AnyState::First(saved)) => core.restore(scene, saved),
            (Self::Liqss1(core), AnyState::First(saved)) => core.restore(scene, saved),
            (Self::Qss2(core), AnyState::Second(saved)) => core.restore(scene, saved),
            (Self::Liqss2(core), AnyState::Second(saved)) => core.restore(scene, saved),
            (Self::Mliqss2(core), AnyState::Second(saved)) => core.restore(scene, saved),
            (Self::Qss3(core), AnyState::Third(saved)) => core.restore(scene, saved),
            _ => debug_assert!(false, "the state of another method"),
        }
    }

    fn start(&mut self, scene: &Scene<E>, t: f64, x: &[f64], limit: Option<f64>) {
        each!(self, core => core.start(scene, t, x, limit));
    }
    fn remark(&mut self) -> Option<Arc<str>> {
        each!(self, core => Core::<E>::remark(core))
    }
    fn last_remark(&self, scene: &Scene<E>) -> Option<String> {
        each!(self, core => core.last_remark(scene))
    }
    fn chatters(&mut self) {
        each!(self, core => Core::<E>::chatters(core));
    }
    fn own_step(&self) -> Option<f64> {
        each!(self, core => Core::<E>::own_step(core))
    }
    fn inside(&self, scene: &Scene<E>) -> Option<f64> {
        each!(self, core => core.inside(scene))
    }
    fn time(&self) -> f64 {
        each!(self, core => Core::<E>::time(core))
    }
    fn advance(
        &mut self,
        scene: &Scene<E>,
        stop: Option<f64>,
        flips: &mut Flips,
    ) -> Result<Advance, Box<Failure>> {
        each!(self, core => core.advance(scene, stop, flips))
    }
    fn states(&self, t: f64, x: &mut [f64]) {
        each!(self, core => Core::<E>::states(core, t, x));
    }
    fn path(&self) -> Option<&Path> {
        each!(self, core => Core::<E>::path(core))
    }
    fn error(&self, t: f64, state: usize, x: f64) -> f64 {
        each!(self, core => Core::<E>::error(core, t, state, x))
    }
    fn arrive(&mut self, scene: &Scene<E>, t: f64) {
        each!(self, core => core.arrive(scene, t));
    }
    fn jump(&mut self, scene: &Scene<E>, x: &[f64]) {
        each!(self, core => core.jump(scene, x));
    }
    fn input(&mut self, scene: &Scene<E>, port: usize) {
        each!(self, core => core.input(scene, port));
    }
    fn sent(&mut self, scene: &Scene<E>, port: usize) {
        each!(self, core => core.sent(scene, port));
    }
    fn outside(&mut self, scene: &Scene<E>, vars: &[f64]) -> bool {
        each!(self, core => core.outside(scene, vars))
    }
    fn expand(
        &mut self,
        scene: &Scene<E>,
        at: (f64, &[f64]),
        order: usize,
        all: bool,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        each!(self, core => core.expand(scene, at, order, all, take));
    }
    fn count(&self, statistics: &mut UnitStatistics) {
        each!(self, core => Core::<E>::count(core, statistics));
    }
}
