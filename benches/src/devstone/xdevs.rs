//! DEVStone on xdevs 0.4, with our levels instead of its own, so that counts can be read and work
//! be given in microseconds.
#![allow(
    unsafe_code,
    reason = "xdevs marks the use of ports unsafe; each is used in the one \
                                function where its documentation allows it"
)]
use super::{Devstone, Level, Part, Shape};
use crate::busy::work;
use std::sync::{Arc, Mutex, PoisonError};
use xdevs::{
    modeling::{Atomic, Component, Coupled, InPort, OutPort},
    simulation::RootCoordinator,
};

/// Atomics, internal and external transitions, and events of a finished run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Atomic models.
    pub atomics: u64,
    /// Internal transitions.
    pub internals: u64,
    /// External transitions.
    pub externals: u64,
    /// Messages received.
    pub events: u64,
}

struct Stone {
    component: Component,
    input: InPort<usize>,
    output: OutPort<usize>,
    sigma: f64,
    work: u32,
    internals: usize,
    externals: usize,
    events: usize,
    totals: Arc<Mutex<Totals>>,
}

impl Atomic for Stone {
    fn get_component(&self) -> &Component {
        &self.component
    }
    fn get_component_mut(&mut self) -> &mut Component {
        &mut self.component
    }
    fn stop(&mut self) {
        let mut t = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        t.atomics += 1;
        t.internals += self.internals as u64;
        t.externals += self.externals as u64;
        t.events += self.events as u64;
    }
    #[inline]
    fn lambda(&self) {
        // SAFETY: a model's own output port, in its output function.
        unsafe { self.output.add_value(self.events) };
    }
    #[inline]
    fn delta_int(&mut self) {
        self.internals += 1;
        self.sigma = f64::INFINITY;
        if self.work > 0 {
            work(self.work);
        }
    }
    #[inline]
    fn delta_ext(&mut self, _: f64) {
        self.externals += 1;
        // SAFETY: a model's own input port, in its external transition.
        self.events += unsafe { self.input.get_values() }.len();
        self.sigma = 0.0;
        if self.work > 0 {
            work(self.work);
        }
    }
    #[inline]
    fn ta(&self) -> f64 {
        self.sigma
    }
}

struct Seeder {
    component: Component,
    output: OutPort<usize>,
    sigma: f64,
}

impl Atomic for Seeder {
    fn get_component(&self) -> &Component {
        &self.component
    }
    fn get_component_mut(&mut self) -> &mut Component {
        &mut self.component
    }
    fn lambda(&self) {
        // SAFETY: a model's own output port, in its output function.
        unsafe { self.output.add_value(0) };
    }
    fn delta_int(&mut self) {
        self.sigma = f64::INFINITY;
    }
    fn delta_ext(&mut self, _: f64) {}
    fn ta(&self) -> f64 {
        self.sigma
    }
}

const PORTS: [&str; 2] = ["1", "2"];

/// A simulation, ready to run, and where its totals will be.
pub struct Run {
    root: RootCoordinator<Coupled>,
    totals: Arc<Mutex<Totals>>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("xdevs run")
    }
}

impl Run {
    /// Builds the model.
    pub fn new(devstone: Devstone) -> Self {
        let totals = Arc::default();
        let outer = Level::outer(devstone.shape, devstone.width);
        let mut inner = level(devstone, "level_1", &Level::innermost(), None, &totals);
        for depth in 1..devstone.depth {
            let name = format!("level_{}", depth + 1);
            inner = level(devstone, &name, &outer, Some((inner, depth)), &totals);
        }
        let mut component = Component::new("seeder");
        let output = component.add_out_port("0");
        let mut top = Coupled::new("top");
        top.add_component(Box::new(Seeder { component, output, sigma: 0.0 }));
        top.add_component(Box::new(inner));
        for port in &PORTS[..devstone.shape.inputs() as usize] {
            top.add_ic("seeder", "0", &format!("level_{}", devstone.depth), port);
        }
        Self { root: RootCoordinator::new(top), totals }
    }

    /// Runs it to its end.
    pub fn run(&mut self) -> Totals {
        self.root.simulate(f64::INFINITY);
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn level(
    devstone: Devstone,
    name: &str,
    level: &Level,
    inner: Option<(Coupled, usize)>,
    totals: &Arc<Mutex<Totals>>,
) -> Coupled {
    let Devstone { shape, work, .. }: Devstone = devstone;
    let mut coupled = Coupled::new(name);
    for port in &PORTS[..Shape::inputs(shape) as usize] {
        coupled.add_in_port::<usize>(port);
    }
    for port in &PORTS[..Shape::outputs(shape) as usize] {
        coupled.add_out_port::<usize>(port);
    }
    let mut inner_name = String::new();
    if let Some((inner, depth)) = inner {
        inner_name = format!("level_{depth}");
        coupled.add_component(Box::new(inner));
    }
    let names: Vec<String> = (0..level.atomics).map(|i| format!("atomic_{i}")).collect();
    for name in &names {
        let mut component = Component::new(name);
        let (input, output) = (component.add_in_port("0"), component.add_out_port("0"));
        coupled.add_component(Box::new(Stone {
            component,
            input,
            output,
            sigma: f64::INFINITY,
            work,
            internals: 0,
            externals: 0,
            events: 0,
            totals: Arc::clone(totals),
        }));
    }
    let end = |(part, port): (Part, u16)| match part {
        Part::Own => (None, PORTS[port as usize]),
        Part::Inner => (Some(&*inner_name), PORTS[port as usize]),
        Part::Atomic(i) => (Some(&*names[i]), "0"),
    };
    for &(from, to) in &level.wires {
        match (end(from), end(to)) {
            ((None, from), (Some(part), to)) => coupled.add_eic(from, part, to),
            ((Some(part), from), (None, to)) => coupled.add_eoc(part, from, to),
            ((Some(a), from), (Some(b), to)) => coupled.add_ic(a, from, b, to),
            _ => unreachable!("no level passes an input through"),
        }
    }
    coupled
}
