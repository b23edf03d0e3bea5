//! DEVStone on our kernel.
use super::{Devstone, Level, Part};
use crate::busy::work;
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Child, Coupled, Effects, Options, Outbox, Simulation,
    port::{InPort, OutPort},
    time::Duration,
};

const OUTPUT: OutPort<u64, Seeder> = OutPort::new(0);

/// The atomic of DEVStone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stone {
    /// Messages received.
    pub events: u64,
    sigma: Duration,
    work: u32,
    /// Internal transitions.
    pub internals: u32,
    /// External transitions.
    pub externals: u32,
}

impl Atomic<u64> for Stone {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.sigma
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, u64>) {
        out.send(OUTPUT, self.events);
    }
    fn internal(&mut self, _: &mut Effects<u64>) {
        self.internals += 1;
        self.sigma = Duration::INFINITE;
        if self.work > 0 {
            work(self.work);
        }
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, u64>, _: &mut Effects<u64>) {
        self.externals += 1;
        self.events += bag.len() as u64;
        self.sigma = Duration::ZERO;
        if self.work > 0 {
            work(self.work);
        }
    }
}

/// Fires once, at t = 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Seeder {
    sigma: Duration,
}

impl Atomic<u64> for Seeder {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.sigma
    }
    fn output(&self, out: &mut Outbox<'_, u64>) {
        out.send(OUTPUT, 0);
    }
    fn internal(&mut self, _: &mut Effects<u64>) {
        self.sigma = Duration::INFINITE;
    }
}

/// The model as an author writes it.
pub fn model(devstone: Devstone) -> Coupled<u64> {
    let outer = Level::outer(devstone.shape, devstone.width);
    let mut inner = level(devstone, &Level::innermost(), None);
    for _ in 1..devstone.depth {
        inner = level(devstone, &outer, Some(inner));
    }
    let mut top = Coupled::new();
    let seeder = top.add("seeder", Seeder { sigma: Duration::ZERO });
    let stone = top.add_component("stone", inner);
    for port in 0..devstone.shape.inputs() {
        top.couple(seeder.output(OUTPUT), stone.input(InPort::new(port)));
    }
    top
}

fn level(devstone: Devstone, level: &Level, inner: Option<Coupled<u64>>) -> Coupled<u64> {
    const NAMES: [&str; 2] = ["1", "2"];
    let mut coupled = Coupled::new();
    for port in 0..devstone.shape.inputs() {
        coupled.add_input::<u64>(NAMES[port as usize]);
    }
    for port in 0..devstone.shape.outputs() {
        coupled.add_output::<u64>(NAMES[port as usize]);
    }
    let idle = Stone {
        events: 0,
        sigma: Duration::INFINITE,
        work: devstone.work,
        internals: 0,
        externals: 0,
    };
    let atomics: Vec<Child> =
        (0..level.atomics).map(|i| coupled.add(("atomic", i), idle.clone()).any()).collect();
    let inner = inner.map(|c| coupled.add_component("inner", c));
    let child = |part: Part| match part {
        Part::Own => None,
        Part::Inner => inner,
        Part::Atomic(i) => Some(atomics[i]),
    };
    for &((from, out), (to, input)) in &level.wires {
        let (out, input) = (OutPort::<u64>::new(out), InPort::<u64>::new(input));
        let source = match child(from) {
            Some(c) => c.output(out),
            None => InPort::<u64>::new(out.index()).inside(),
        };
        let sink = match child(to) {
            Some(c) => c.input(input),
            None => OutPort::<u64>::new(input.index()).inside(),
        };
        coupled.couple(source, sink);
    }
    coupled
}

/// The simulation, ready to run.
pub fn build(devstone: Devstone) -> Simulation<u64> {
    Simulation::new(model(devstone), Options::default()).expect("DEVStone is wired properly")
}
