//! Continuous units in the kernel, under every method.
use super::Unit;
use crate::{
    maths::expr::Scalar,
    signal::value::Value,
    solve::{
        Dims, Equations, EventSpec, Rest, Settings, Trigger,
        equations::Work,
        ode::{Method, Options},
    },
};
use std::sync::{Arc, Mutex};
use superdense_kernel::{
    Component, Coupled, Fact, Simulation,
    error::RunError,
    time::{Resolution, Tag},
    trace::{Observer, Site, Verdict},
};

mod algebraic;
mod bouncing;
mod inputs;
mod methods;
mod quantised;
mod rules;
mod sparse;
mod steps;

pub(super) const PS: f64 = 1e-12;

pub(super) fn ps() -> Resolution {
    Resolution::PICO
}

type Facts = Arc<Mutex<Vec<(i64, String)>>>;

struct Ear(Facts);

impl Observer<Value> for Ear {
    fn fact(&mut self, _: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        if let Fact::Event { name, .. } = fact {
            self.0.lock().unwrap().push((tag.ticks, name.to_string()));
        }
        Verdict::Continue(())
    }
}

/// One unit alone in a run.
pub(super) struct Alone {
    pub sim: Simulation<Value>,
    facts: Facts,
    now: i64,
}

impl Alone {
    pub(super) fn new<E: Equations>(equations: E, initial: &[f64], settings: Settings) -> Self {
        let prepared = crate::solve::Prepared::new(&equations, settings.method);
        let core = crate::solve::Stepped::new(prepared, &equations, &settings).unwrap();
        Self::with_core(equations, core, initial, settings)
    }

    /// The same under another core.
    pub(super) fn with_core<E: Equations, C: crate::solve::core::Core<E>>(
        equations: E,
        core: C,
        initial: &[f64],
        settings: Settings,
    ) -> Self {
        let resolution = settings.resolution;
        let unit = Unit::with_core(equations, core, initial, &[], &[], settings).unwrap();
        let mut top = Coupled::new();
        top.add_component("unit", Component::atomic(unit));
        let options =
            superdense_kernel::Options { resolution, ..superdense_kernel::Options::default() };
        let mut sim = Simulation::new(top, options).unwrap();
        let facts = Facts::default();
        sim.observe(Ear(Arc::clone(&facts)));
        Self { sim, facts, now: 0 }
    }

    /// Ticks and names of events.
    pub(super) fn events(&self) -> Vec<(i64, String)> {
        self.facts.lock().unwrap().clone()
    }

    pub(super) fn run(&mut self, seconds: f64) -> Result<(), RunError> {
        let ticks = seconds * self.sim.resolution().ticks_per_second() as f64;
        self.now = ticks.round() as i64;
        self.sim.run_through(self.now).map(|_| ())
    }

    /// Output `port` at the present.
    pub(super) fn output(&self, port: u16) -> f64 {
        let key = self.sim.find("unit").unwrap();
        let value = self.sim.probe(key, port, self.now).unwrap();
        value.as_real().unwrap()
    }
}

/// Nobody receives anything, at picosecond resolution.
pub(super) fn settings(method: Method, tolerance: f64) -> Settings {
    Settings {
        resolution: ps(),
        method,
        solver: Options::tolerance(tolerance, tolerance),
        connected: vec![false; 8],
        ..Settings::default()
    }
}

/// Equations without events from a function on numbers of any kind: how many states, how many of
/// these are algebraic, the right-hand side.
macro_rules! system {
    ($name:ident, $states:expr $(; $algebraic:expr)?, |$v:ident, $dx:ident| $body:block) => {
        pub(super) struct $name;
        impl Equations for $name {
            fn dims(&self) -> Dims {
                let algebraic = 0 $(+ $algebraic)?;
                Dims { states: $states, algebraic, outputs: $states, ..Dims::default() }
            }
            fn events(&self) -> &[EventSpec] {
                &[]
            }
            fn derivatives<S: Scalar>(&self, $v: &[S], _: &mut Work<S>, $dx: &mut [S]) {
                $body
            }
            fn outputs<S: Scalar>(&self, v: &[S], _: &mut Work<S>, y: &mut [S]) {
                y.clone_from_slice(&v[1..1 + $states]);
            }
        }
    };
}
pub(super) use system;
