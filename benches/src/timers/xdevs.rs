//! Hold and ring on xdevs 0.4, whose time is in float seconds.
#![allow(
    unsafe_code,
    reason = "xdevs marks the use of ports unsafe; each is used in the one \
                                function where its documentation allows it"
)]
use super::{Increments, Load, MEAN, Source, Timers};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use xdevs::{
    modeling::{Atomic, Component, Coupled, InPort, OutPort},
    simulation::{RootCoordinator, Simulator},
};

/// An entity of either load; times are ticks, kept in floats that hold them exactly.
struct Entity {
    component: Component,
    ring: Option<(InPort<usize>, OutPort<usize>)>,
    source: Source,
    increments: Increments,
    /// Times of its tokens, the latest first.
    tokens: Vec<f64>,
    now: f64,
    events: Arc<AtomicU64>,
}

impl Entity {
    fn keep(&mut self) {
        let at = self.now + self.source.draw(self.increments) as f64;
        let place = self.tokens.partition_point(|&t| t >= at);
        self.tokens.insert(place, at);
    }

    fn up(&self) -> usize {
        let first = self.tokens.last();
        self.tokens.iter().rev().take_while(|&t| Some(t) == first).count()
    }
}

impl Atomic for Entity {
    fn get_component(&self) -> &Component {
        &self.component
    }
    fn get_component_mut(&mut self) -> &mut Component {
        &mut self.component
    }
    fn lambda(&self) {
        if let Some((_, out)) = &self.ring {
            // SAFETY: a model's own output port, in its output function.
            (0..self.up()).for_each(|i| unsafe { out.add_value(i) });
        }
    }
    fn delta_int(&mut self) {
        let up = self.up();
        self.now = self.tokens.last().copied().unwrap_or(self.now);
        self.tokens.truncate(self.tokens.len() - up);
        self.events.store(self.events.load(Relaxed) + up as u64, Relaxed);
        if self.ring.is_none() {
            self.keep();
        }
    }
    fn delta_ext(&mut self, e: f64) {
        self.now += e;
        // SAFETY: a model's own input port, in its external transition.
        let count = self.ring.as_ref().map_or(0, |(i, _)| unsafe { i.get_values() }.len());
        (0..count).for_each(|_| self.keep());
    }
    fn ta(&self) -> f64 {
        self.tokens.last().map_or(f64::INFINITY, |t| t - self.now)
    }
}

/// A model, ready to run, and its count of events.
pub struct Run {
    root: RootCoordinator<Coupled>,
    timers: Timers,
    events: Arc<AtomicU64>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("xdevs run")
    }
}

impl Run {
    /// Builds the model.
    pub fn new(timers: Timers) -> Self {
        let events = Arc::default();
        let mut top = Coupled::new("top");
        let names: Vec<String> = (0..timers.entities).map(|i| format!("e{i}")).collect();
        for (i, name) in names.iter().enumerate() {
            let mut component = Component::new(name);
            let ring = (timers.load == Load::Ring)
                .then(|| (component.add_in_port("in"), component.add_out_port("out")));
            let mut entity = Entity {
                component,
                ring,
                source: Source::of(i as u32),
                increments: timers.increments,
                tokens: Vec::new(),
                now: 0.0,
                events: Arc::clone(&events),
            };
            entity.keep();
            top.add_component(Box::new(entity));
        }
        if timers.load == Load::Ring {
            for (i, name) in names.iter().enumerate() {
                top.add_ic(name, "out", &names[(i + 1) % names.len()], "in");
            }
        }
        Self { root: RootCoordinator::new(top), timers, events }
    }

    /// Runs to the end; returns the number of events.
    pub fn run(&mut self) -> u64 {
        debug_assert!(self.timers.end() / MEAN < 1 << 22, "floats hold ticks exactly");
        self.root.simulate(self.timers.end() as f64);
        debug_assert!(self.root.get_name() == "top");
        self.events.load(Relaxed)
    }
}
