//! Fixed small runs whose instruction counts must not grow.
use crate::{
    devstone::{self, Devstone, Shape},
    timers::{self, Increments, Load, Timers},
};
use superdense_kernel::{Simulation, event_list::EventListKind};

/// A run to count: its name, the simulation, and the tick up to which it runs.
pub struct Case {
    /// The key in `gates.toml`.
    pub name: &'static str,
    build: fn() -> (Simulation<u64>, i64),
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn devstone(shape: Shape, size: usize) -> (Simulation<u64>, i64) {
    let model = Devstone { shape, width: size, depth: size, work: 0 };
    (devstone::ours::build(model), i64::MAX - 1)
}

fn timers(load: Load, increments: Increments) -> (Simulation<u64>, i64) {
    let timers = Timers { load, entities: 1024, events: 100_000, increments };
    (timers::ours::build(timers, EventListKind::default()), timers.end())
}

/// All cases.
pub const CASES: [Case; 7] = [
    Case { name: "LI-60x60", build: || devstone(Shape::LI, 60) },
    Case { name: "HI-60x60", build: || devstone(Shape::HI, 60) },
    Case { name: "HO-60x60", build: || devstone(Shape::HO, 60) },
    Case { name: "HOmod-10x10", build: || devstone(Shape::HOmod, 10) },
    Case { name: "hold-1024", build: || timers(Load::Hold, Increments::Exponential) },
    Case { name: "ring-1024", build: || timers(Load::Ring, Increments::Exponential) },
    Case { name: "hold-1024-equal", build: || timers(Load::Hold, Increments::Equal) },
];

/// The name by which callgrind finds [`measured`].
pub const MEASURED: &str = "*gates::measured*";

impl Case {
    /// Builds the simulation, which is not counted, and runs it, which is.
    pub fn run(&self) {
        let (mut sim, end) = (self.build)();
        measured(&mut sim, end);
    }
}

/// All that is counted.
#[inline(never)]
pub fn measured(sim: &mut Simulation<u64>, end: i64) {
    sim.run_until(end).expect("these models never fail");
}
