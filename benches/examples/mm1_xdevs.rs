//! M/M/1 on xdevs: the peer of the kernel's example of this name.
#![allow(unsafe_code, reason = "the ports of xdevs want it")]
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use xdevs::{
    modeling::{Atomic, Component, Coupled, InPort, OutPort},
    simulation::RootCoordinator,
};

struct Exponential {
    mean: f64,
    state: u64,
}

impl Exponential {
    fn draw(&mut self) -> f64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        -self.mean * (1.0 - uniform).ln()
    }
}

struct Source {
    component: Component,
    out: OutPort<f64>,
    gap: Exponential,
    left: f64,
    now: f64,
}

impl Atomic for Source {
    fn get_component(&self) -> &Component {
        &self.component
    }
    fn get_component_mut(&mut self) -> &mut Component {
        &mut self.component
    }
    fn lambda(&self) {
        // SAFETY: a model's own output port, in its output function.
        unsafe { self.out.add_value(self.now + self.left) };
    }
    fn delta_int(&mut self) {
        self.now += self.left;
        self.left = self.gap.draw();
    }
    fn delta_ext(&mut self, _: f64) {}
    fn ta(&self) -> f64 {
        self.left
    }
}

struct Server {
    component: Component,
    input: InPort<f64>,
    service: Exponential,
    queue: VecDeque<f64>,
    left: f64,
    now: f64,
    stays: Arc<Mutex<Vec<f64>>>,
}

impl Atomic for Server {
    fn get_component(&self) -> &Component {
        &self.component
    }
    fn get_component_mut(&mut self) -> &mut Component {
        &mut self.component
    }
    fn lambda(&self) {}
    fn delta_int(&mut self) {
        self.now += self.left;
        if let Some(came) = self.queue.pop_front() {
            self.stays.lock().expect("one thread").push(self.now - came);
        }
        let idle = self.queue.is_empty();
        self.left = if idle { f64::INFINITY } else { self.service.draw() };
    }
    fn delta_ext(&mut self, elapsed: f64) {
        self.now += elapsed;
        let idle = self.queue.is_empty();
        // SAFETY: a model's own input port, in its external transition.
        self.queue.extend(unsafe { self.input.get_values() });
        self.left = if idle { self.service.draw() } else { self.left - elapsed };
    }
    fn ta(&self) -> f64 {
        self.left
    }
}

const STOP: f64 = 200_000.0;
const RATES: [f64; 2] = [0.5, 1.0];

fn main() {
    let [arrivals, services] = RATES;
    let exponential = |rate: f64, state| Exponential { mean: 1.0 / rate, state };
    let stays = Arc::new(Mutex::new(Vec::new()));
    let mut top = Coupled::new("top");
    let mut component = Component::new("source");
    let out = component.add_out_port("out");
    let gap = exponential(arrivals, 1);
    top.add_component(Box::new(Source { component, out, gap, left: 0.0, now: 0.0 }));
    let mut component = Component::new("server");
    let input = component.add_in_port("in");
    let (service, queue, left) = (exponential(services, 2), VecDeque::new(), f64::INFINITY);
    let found = Arc::clone(&stays);
    let server = Server { component, input, service, queue, left, now: 0.0, stays: found };
    top.add_component(Box::new(server));
    top.add_ic("source", "out", "server", "in");
    RootCoordinator::new(top).simulate(STOP);

    let left = stays.lock().expect("one thread");
    let customers = left.len() as f64;
    let stay = left.iter().sum::<f64>() / customers;
    let long = left.iter().filter(|stay| **stay > 5.0).count() as f64 / customers;
    let free = services - arrivals;
    println!("{customers} customers");
    let compare = |name, found: f64, expected: f64| {
        println!("{name:22}{found:10.5}, closed form {expected:10.5}");
        assert!((found / expected - 1.0).abs() < 0.05, "{name}");
    };
    compare("mean stay / s", stay, 1.0 / free);
    compare("mean number inside", stay * customers / STOP, arrivals / free);
    compare("stays above 5 s", long, (-5.0 * free).exp());
}
