//! Compares the event lists with the bare binary heap of the standard library.
//!
//! The *hold* model: the earliest of n events is taken and scheduled again, an increment later.
//! Increments are drawn beforehand; all lists of a row see the same ones, in the same run, in
//! turns, and the fastest of the rounds counts. The machine matters less to the ratios than to
//! the times: quote the ratios.
//!
//! ```text
//! cargo run --release -p superdense-kernel --example event_lists [-- only this distribution]
//! ```

use std::{cmp::Reverse, collections::BinaryHeap, hint::black_box, time::Instant};

use superdense_kernel::event_list::{EventList, HeapList, LATEST, LadderList, ReferenceList};

/// Ticks per unit of time.
const UNIT: f64 = (1u64 << 40) as f64;
const ROUNDS: usize = 15;

/// SplitMix64, as a number in (0, 1].
struct Random(u64);

impl Random {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

type Increment = fn(&mut Random) -> f64;

/// Distributions of the increment, in units of time.
const DISTRIBUTIONS: [(&str, Increment); 9] = [
    ("exponential", |r| -r.draw().ln()),
    ("uniform", |r| 2.0 * r.draw()),
    ("pareto 1.1", |r| 0.01 * r.draw().powf(-1.0 / 1.1)),
    ("pareto 0.5", |r| 1e-6 * r.draw().powf(-2.0).min(1e9)),
    ("clustered", |r| 1.0 + (4.0 * r.draw()).floor() + 1e-6 * r.draw()),
    ("bimodal 1e2", |r| if r.draw() < 0.9 { 0.1 * r.draw() } else { 10.0 * r.draw() }),
    ("bimodal 1e6", |r| if r.draw() < 0.9 { 1e-5 * r.draw() } else { 10.0 * r.draw() }),
    ("all equal", |_| 1.0),
    ("small grid", |r| (1.0 + 8.0 * r.draw()).floor()),
];

/// Something that can run the hold model.
trait Hold {
    fn start(&mut self, first: &[i64]);
    fn run(&mut self, increments: &[i64], events: usize);
}

#[derive(Default)]
struct Bare(BinaryHeap<Reverse<(i64, u32)>>);

impl Hold for Bare {
    fn start(&mut self, first: &[i64]) {
        self.0 = first.iter().zip(0..).map(|(&at, model)| Reverse((at, model))).collect();
    }

    fn run(&mut self, increments: &[i64], events: usize) {
        for i in 0..events {
            let Reverse((at, model)) = self.0.pop().expect("a hold model never runs dry");
            self.0.push(Reverse((at + increments[i & (increments.len() - 1)], model)));
        }
    }
}

#[derive(Default)]
struct List<L> {
    list: L,
    imminent: Vec<u32>,
}

impl<L: EventList> Hold for List<L> {
    fn start(&mut self, first: &[i64]) {
        self.list.reset(first.len());
        first.iter().zip(0..).for_each(|(&at, model)| self.list.schedule(model, at));
    }

    fn run(&mut self, increments: &[i64], events: usize) {
        let mut i = 0;
        while i < events {
            let at = self.list.take(LATEST, &mut |model| self.imminent.push(model));
            let at = at.expect("a hold model never runs dry");
            for &model in &self.imminent {
                self.list.schedule(model, at + increments[i & (increments.len() - 1)]);
                i += 1;
            }
            self.imminent.clear();
        }
    }
}

/// Nanoseconds per event of each, the best of the rounds.
fn measure(models: usize, increment: Increment, lists: &mut [Box<dyn Hold>]) -> Vec<f64> {
    let mut random = Random(models as u64);
    let mut ticks = || (increment(&mut random) * UNIT) as i64;
    let first: Vec<i64> = (0..models).map(|_| ticks()).collect();
    let increments: Vec<i64> = (0..1 << 17).map(|_| ticks()).collect();
    let events = (8 * models).max(1 << 16);
    let mut best = vec![f64::INFINITY; lists.len()];
    for list in lists.iter_mut() {
        list.start(&first);
        list.run(&increments, 4 * models);
    }
    for _ in 0..ROUNDS {
        for (list, best) in lists.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            list.run(black_box(&increments), events);
            *best = best.min(begin.elapsed().as_nanos() as f64 / events as f64);
        }
    }
    best
}

fn main() {
    let only = std::env::args().nth(1);
    println!("ns per event, and how many times that of the bare binary heap");
    println!(
        "{:>8} {:<12} {:>11} {:>17} {:>17} {:>17}",
        "models", "increments", "binary heap", "ladder", "heap", "priority-queue"
    );
    for models in [1, 16, 64, 1024, 65_536] {
        for (name, increment) in DISTRIBUTIONS {
            if only.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            let mut lists: [Box<dyn Hold>; 4] = [
                Box::new(Bare::default()),
                Box::new(List::<LadderList>::default()),
                Box::new(List::<HeapList>::default()),
                Box::new(List::<ReferenceList>::default()),
            ];
            let best = measure(models, increment, &mut lists);
            print!("{models:>8} {name:<12} {:>11.1}", best[0]);
            for time in &best[1..] {
                print!(" {time:>9.1} ({:>4.2}x)", time / best[0]);
            }
            println!();
        }
    }
}
