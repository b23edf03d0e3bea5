//! Fixed small runs whose instruction counts must not grow.
use crate::{
    bounces::{Bounces, Flights},
    devstone::{self, Devstone, Shape},
    exchange,
    net::{Net, Run},
    phold::Phold,
    qss, texts,
    timers::{self, Increments, Load, Timers},
};
use superdense_kernel::{Message, Simulation, event_list::EventListKind, parallel::Settings};
use superdense_models::{
    signal::value::Value,
    solve::qss::{Explicit, Implicit},
};

/// A run to count.
pub struct Case {
    /// The key in `gates.toml`.
    pub name: &'static str,
    /// Builds a simulation, which is not counted, and runs it, which is.
    pub run: fn(),
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn devstone(shape: Shape, size: usize) {
    let model = Devstone { shape, width: size, depth: size, work: 0 };
    measured(&mut devstone::ours::build(model), i64::MAX - 1);
}

fn timers(load: Load, increments: Increments) {
    let timers = Timers { load, entities: 1024, events: 100_000, increments };
    measured(&mut timers::ours::build(timers, EventListKind::default()), timers.end());
}

fn continuous((mut sim, end): (Simulation<Value>, i64)) {
    measured(&mut sim, end);
}

/// A ball's bounces.
fn bounces(flights: Flights) {
    continuous(Bounces { text: false, flights }.build());
}

/// A shipped scenario of a network, for so many seconds.
fn network(net: Net, seconds: i64) {
    measured(&mut Run::new(net).into_parts().0, seconds * 1_000_000_000);
}

/// PHOLD under Time Warp.
fn phold() {
    let phold = Phold { entities: 2048, remote: 0.02, lookahead: 100_000, work: 0 };
    let mut sim = phold.build().expect("enough entities");
    measured_in_turn(&mut sim, phold.end(10_000.0));
}

/// All cases.
pub const CASES: [Case; 21] = [
    Case { name: "LI-60x60", run: || devstone(Shape::LI, 60) },
    Case { name: "HI-60x60", run: || devstone(Shape::HI, 60) },
    Case { name: "HO-60x60", run: || devstone(Shape::HO, 60) },
    Case { name: "HOmod-10x10", run: || devstone(Shape::HOmod, 10) },
    Case { name: "hold-1024", run: || timers(Load::Hold, Increments::Exponential) },
    Case { name: "ring-1024", run: || timers(Load::Ring, Increments::Exponential) },
    Case { name: "hold-1024-equal", run: || timers(Load::Hold, Increments::Equal) },
    Case { name: "exchange-jacobi", run: || continuous(exchange::build(100_000)) },
    Case { name: "advection-liqss2", run: || continuous(qss::advection::<Implicit>()) },
    Case { name: "advection-qss2", run: || continuous(qss::advection::<Explicit>()) },
    Case { name: "line-qss2", run: || continuous(qss::line::<Explicit, 2>()) },
    Case { name: "advection-liqss2-text", run: || continuous(texts::advection()) },
    Case { name: "oscillator-rk45", run: || continuous(texts::oscillator(texts::VanDerPol)) },
    Case {
        name: "oscillator-rk45-text",
        run: || continuous(texts::oscillator(texts::VanDerPol::text())),
    },
    Case { name: "queue-10s", run: || network(Net::Queue(10), 10) },
    Case { name: "s4a-10s", run: || network(Net::Bottleneck, 10) },
    Case { name: "torus-10x10-1s", run: || network(Net::Torus(10, 1000), 1) },
    Case { name: "bounces-closed", run: || bounces(Flights::Closed) },
    Case { name: "bounces-rk45", run: || bounces(Flights::Pair) },
    Case { name: "line-qss3", run: || continuous(qss::line::<Explicit, 3>()) },
    Case { name: "phold-time-warp", run: phold },
];

/// The name by which callgrind finds [`measured`].
pub const MEASURED: &str = "*gates::measured*";

/// All that is counted.
#[inline(never)]
pub fn measured<M: Message>(sim: &mut Simulation<M>, end: i64) {
    sim.run_until(end).expect("these models never fail");
}

/// Like [`measured`], for two workers under Time Warp in turn on one core: with more cores the
/// threads meet at points that differ from run to run.
#[inline(never)]
fn measured_in_turn<M: Message>(sim: &mut Simulation<M>, end: i64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).expect("a core of this process");
    }
    let settings = Settings { probe: false, ..Settings::default() };
    sim.run_through_parallel(end, &settings).expect("these models never fail");
}
