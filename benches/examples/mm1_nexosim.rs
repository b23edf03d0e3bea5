//! M/M/1 on nexosim: the peer of the kernel's example of this name.
use nexosim::{
    model::{Context, Model, schedulable},
    ports::{EventSinkReader, Output, SinkState, event_queue},
    simulation::{Mailbox, SimInit},
    time::MonotonicTime,
};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, iter, time::Duration};

#[derive(Serialize, Deserialize)]
struct Exponential {
    mean: f64,
    state: u64,
}

impl Exponential {
    fn draw(&mut self) -> Duration {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        // Nothing can be scheduled for the present.
        let nanoseconds = -self.mean * (1.0 - uniform).ln() * 1e9;
        Duration::from_nanos((nanoseconds.round() as u64).max(1))
    }
}

#[derive(Serialize, Deserialize)]
struct Source {
    gap: Exponential,
    out: Output<MonotonicTime>,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.arrive((), cx).await;
    }

    #[nexosim(schedulable)]
    async fn arrive(&mut self, _: (), cx: &Context<Self>) {
        self.out.send(cx.time()).await;
        let gap = self.gap.draw();
        cx.schedule_event(gap, schedulable!(Self::arrive), ()).expect("a later time");
    }
}

#[derive(Serialize, Deserialize)]
struct Server {
    service: Exponential,
    queue: VecDeque<MonotonicTime>,
    stay: Output<f64>,
}

#[Model]
impl Server {
    fn receive(&mut self, came: MonotonicTime, cx: &Context<Self>) {
        self.queue.push_back(came);
        if self.queue.len() == 1 {
            self.serve(cx);
        }
    }

    fn serve(&mut self, cx: &Context<Self>) {
        let service = self.service.draw();
        cx.schedule_event(service, schedulable!(Self::finish), ()).expect("a later time");
    }

    #[nexosim(schedulable)]
    async fn finish(&mut self, _: (), cx: &Context<Self>) {
        if let Some(came) = self.queue.pop_front() {
            self.stay.send(cx.time().duration_since(came).as_secs_f64()).await;
        }
        if !self.queue.is_empty() {
            self.serve(cx);
        }
    }
}

const STOP: f64 = 200_000.0;
const RATES: [f64; 2] = [0.5, 1.0];

fn main() {
    let [arrivals, services] = RATES;
    let exponential = |rate: f64, state| Exponential { mean: 1.0 / rate, state };
    let mut source = Source { gap: exponential(arrivals, 1), out: Output::default() };
    let (service, queue) = (exponential(services, 2), VecDeque::new());
    let mut server = Server { service, queue, stay: Output::default() };
    let (arrives, serves) = (Mailbox::new(), Mailbox::new());
    source.out.connect(Server::receive, &serves);
    let (sink, mut stays) = event_queue(SinkState::Enabled);
    server.stay.connect_sink(sink);
    let bench = SimInit::with_num_threads(1)
        .add_model(source, arrives, "source")
        .add_model(server, serves, "server");
    let mut simulation = bench.init(MonotonicTime::EPOCH).expect("a bench without servers");
    simulation.step_until(Duration::from_secs_f64(STOP)).expect("models that cannot fail");

    let stays: Vec<f64> = iter::from_fn(|| stays.try_read()).collect();
    let customers = stays.len() as f64;
    let stay = stays.iter().sum::<f64>() / customers;
    let long = stays.iter().filter(|stay| **stay > 5.0).count() as f64 / customers;
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
