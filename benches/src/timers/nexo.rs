//! Hold and ring on nexosim 1.0, with one thread.
use super::{Increments, Load, Source, Timers};
use nexosim::{
    model::{Context, Model, schedulable},
    ports::Output,
    simulation::{Mailbox, SimInit, Simulation},
    time::MonotonicTime,
};
use serde::{Deserialize, Serialize};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Events of this process; models of nexosim live out of reach.
static EVENTS: AtomicU64 = AtomicU64::new(0);

#[derive(Serialize, Deserialize)]
struct Timer {
    source: Source,
    increments: Increments,
}

#[Model]
impl Timer {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.plan(cx);
    }

    #[nexosim(schedulable)]
    fn fire(&mut self, _: (), cx: &Context<Self>) {
        EVENTS.fetch_add(1, Relaxed);
        self.plan(cx);
    }

    fn plan(&mut self, cx: &Context<Self>) {
        let after = Duration::from_nanos(self.source.draw(self.increments) as u64);
        cx.schedule_event(after, schedulable!(Self::fire), ()).expect("a later time");
    }
}

#[derive(Serialize, Deserialize)]
struct Holder {
    source: Source,
    increments: Increments,
    sent: u64,
    out: Output<u64>,
}

#[Model]
impl Holder {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        self.receive(0, cx);
    }

    fn receive(&mut self, _: u64, cx: &Context<Self>) {
        let after = Duration::from_nanos(self.source.draw(self.increments) as u64);
        cx.schedule_event(after, schedulable!(Self::pass), ()).expect("a later time");
    }

    #[nexosim(schedulable)]
    async fn pass(&mut self, _: ()) {
        EVENTS.fetch_add(1, Relaxed);
        self.sent += 1;
        self.out.send(self.sent).await;
    }
}

/// The simulation, ready to run.
pub fn build(timers: Timers) -> Simulation {
    let mut bench = SimInit::with_num_threads(1);
    let increments = timers.increments;
    match timers.load {
        Load::Hold => {
            for i in 0..timers.entities {
                let timer = Timer { source: Source::of(i), increments };
                bench = bench.add_model(timer, Mailbox::new(), &format!("timer {i}"));
            }
        }
        Load::Ring => {
            let boxes: Vec<Mailbox<Holder>> =
                (0..timers.entities).map(|_| Mailbox::new()).collect();
            let addresses: Vec<_> = boxes.iter().map(Mailbox::address).collect();
            for (i, mailbox) in boxes.into_iter().enumerate() {
                let source = Source::of(i as u32);
                let mut holder = Holder { source, increments, sent: 0, out: Output::default() };
                let next = &addresses[(i + 1) % addresses.len()];
                holder.out.connect(Holder::receive, next.clone());
                bench = bench.add_model(holder, mailbox, &format!("holder {i}"));
            }
        }
    }
    bench.init(MonotonicTime::EPOCH).expect("a bench without servers")
}

/// Runs to the end; returns the number of events of this process.
pub fn run(timers: Timers, sim: &mut Simulation) -> u64 {
    // Its deadline counts as reached, ours does not.
    let last = Duration::from_nanos(timers.end() as u64 - 1);
    sim.step_until(last).expect("models that cannot fail");
    EVENTS.load(Relaxed)
}
