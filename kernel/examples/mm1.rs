//! M/M/1: customers come and are served at random, one at a time. Means are compared with their closed forms.
//!
//! ```text
//! cargo run --release -p superdense-kernel --example mm1
//! ```
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Outbox, Simulation,
    error::RunError,
    messages,
    port::{InPort, OutPort},
    time::{Duration, Tag},
};

messages! {
    /// A customer, with the tick of the arrival.
    #[derive(Copy, Serialize, Deserialize)]
    struct Customer { came: i64 }
}

/// Exponential durations.
#[derive(Clone, Serialize, Deserialize)]
struct Exponential {
    mean: f64,
    state: u64,
}

impl Exponential {
    fn draw(&mut self, fx: &mut Effects<Customer>) -> Duration {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        fx.duration_rounded(-self.mean * (1.0 - uniform).ln(), Duration::ZERO)
    }
}

/// Lets customers come.
#[derive(Clone, Serialize, Deserialize)]
struct Source {
    gap: Exponential,
    left: Duration,
}

impl Source {
    const OUT: OutPort<Customer, Self> = OutPort::new(0);
}

impl Atomic<Customer> for Source {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.left
    }
    fn output(&self, out: &mut Outbox<'_, Customer>) {
        out.send(Self::OUT, Customer { came: out.now().ticks });
    }
    fn internal(&mut self, fx: &mut Effects<Customer>) {
        self.left = self.gap.draw(fx);
    }
}

/// Serves them in the order of their arrival.
#[derive(Clone, Serialize, Deserialize)]
struct Server {
    service: Exponential,
    queue: VecDeque<Customer>,
    left: Duration,
}

impl Server {
    const IN: InPort<Customer, Self> = InPort::new(0);
    const DONE: OutPort<Customer, Self> = OutPort::new(0);
}

impl Atomic<Customer> for Server {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.left
    }
    fn output(&self, out: &mut Outbox<'_, Customer>) {
        self.queue.front().into_iter().for_each(|&customer| out.send(Self::DONE, customer));
    }
    fn internal(&mut self, fx: &mut Effects<Customer>) {
        self.queue.pop_front();
        let idle = self.queue.is_empty();
        self.left = if idle { Duration::INFINITE } else { self.service.draw(fx) };
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Customer>, fx: &mut Effects<Customer>) {
        let idle = self.queue.is_empty();
        self.queue.extend(bag.on(Self::IN));
        self.left = if idle { self.service.draw(fx) } else { self.left.minus(elapsed) };
    }
}

/// Seconds of a run, arrivals and services per second.
const STOP: f64 = 200_000.0;
const RATES: [f64; 2] = [0.5, 1.0];

fn main() -> Result<(), RunError> {
    let [arrivals, services] = RATES;
    let exponential = |rate: f64, state| Exponential { mean: 1.0 / rate, state };
    let mut top = Coupled::new();
    let gap = exponential(arrivals, 1);
    let source = top.add("source", Source { gap, left: Duration::ZERO });
    let (service, queue) = (exponential(services, 2), VecDeque::new());
    let server = top.add("server", Server { service, queue, left: Duration::INFINITE });
    top.couple(source.output(Source::OUT), server.input(Server::IN));
    let mut sim = Simulation::new(top, Default::default())?;
    let done = sim.listen("server", Server::DONE)?;
    let second = sim.resolution().ticks_per_second() as f64;
    sim.run_through((STOP * second) as i64)?;

    let left: Vec<(Tag, Customer)> = done.take();
    let customers = left.len() as f64;
    let stays = left.iter().map(|(tag, customer)| (tag.ticks - customer.came) as f64 / second);
    let stay = stays.clone().sum::<f64>() / customers;
    let long = stays.filter(|stay| *stay > 5.0).count() as f64 / customers;
    let free = services - arrivals;
    println!("{customers} customers");
    let compare = |name, found: f64, expected: f64| {
        println!("{name:22}{found:10.5}, closed form {expected:10.5}");
        assert!((found / expected - 1.0).abs() < 0.05, "{name}");
    };
    compare("mean stay / s", stay, 1.0 / free);
    compare("mean number inside", stay * customers / STOP, arrivals / free);
    compare("stays above 5 s", long, (-5.0 * free).exp());
    Ok(())
}

#[test]
fn it_is_as_expected() -> Result<(), RunError> {
    main()
}
