//! A road before a traffic light. Each car is a model that begins as it enters and is removed as it leaves, so the
//! structure changes twice per car. The mean delay is compared with the closed form of uniform traffic.
//!
//! ```text
//! cargo run --release -p superdense-kernel --example traffic
//! ```
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use superdense_kernel::{
    Atomic, Bag, Component, Coupled, Effects, Outbox, Simulation,
    error::{BuildErrors, RunError},
    messages,
    path::Name,
    port::{InPort, OutPort},
    structure::{Change, PortOf},
    time::{Duration, Resolution, TimeError},
};

messages! {
    /// A car at the stop line asks to go on; the light lets the car of this number go.
    #[derive(Copy, Serialize, Deserialize)]
    struct Car { number: u32 }
}

/// Lets cars enter at equal intervals, each with a slot of the road that must be free.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    seconds: f64,
    interval: Duration,
    slots: u32,
    entered: u32,
    turned_away: u32,
    /// Whether the car that has just been added is still to be coupled.
    wires: bool,
}

impl Atomic<Car> for Entry {
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        self.interval = resolution.duration(self.seconds)?;
        Ok(())
    }
    fn time_advance(&self) -> Duration {
        if self.wires { Duration::ZERO } else { self.interval }
    }
    fn internal(&mut self, fx: &mut Effects<Car>) {
        let number = self.entered % self.slots;
        let (name, here) = (Name::member("car", number), || ".".to_owned());
        self.wires = !self.wires;
        if self.wires {
            let component = Component::atomic(Vehicle { number, state: State::Asks });
            return fx.try_change(Change::Add { parent: here(), name, component });
        }
        self.entered += 1;
        let couple = |from, to| Change::Couple { parent: here(), from, to, translation: None };
        let line = |port| PortOf::child("line", port);
        let car = |port| PortOf::child(name.clone(), port);
        fx.change(couple(car(Vehicle::ASKS.index()), line(Line::ASKED.index())));
        fx.change(couple(line(Line::GO.index()), car(Vehicle::GO.index())));
    }
    /// Somebody is in the slot.
    fn refused(&mut self, _: &str, _: &BuildErrors) {
        self.wires = false;
        self.entered += 1;
        self.turned_away += 1;
    }
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum State {
    Asks,
    Waits,
    Leaves,
}

/// A car at the end of the road, which it reaches a tick after it entered.
#[derive(Clone, Serialize, Deserialize)]
struct Vehicle {
    number: u32,
    state: State,
}

impl Vehicle {
    const GO: InPort<Car, Self> = InPort::new(0);
    const ASKS: OutPort<Car, Self> = OutPort::new(0);
}

impl Atomic<Car> for Vehicle {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        match self.state {
            State::Asks => Duration::from_ticks(1),
            State::Waits => Duration::INFINITE,
            State::Leaves => Duration::ZERO,
        }
    }
    fn output(&self, out: &mut Outbox<'_, Car>) {
        if self.state == State::Asks {
            out.send(Self::ASKS, Car { number: self.number });
        }
    }
    fn internal(&mut self, fx: &mut Effects<Car>) {
        if self.state == State::Leaves {
            fx.change(Change::Remove { path: format!("./car[{}]", self.number) });
        }
        self.state = State::Waits;
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Car>, _: &mut Effects<Car>) {
        if bag.on(Self::GO).any(|car| car.number == self.number) {
            self.state = State::Leaves;
        }
    }
}

/// The stop line: while the light is green, one car goes on per headway.
#[derive(Clone, Serialize, Deserialize)]
struct Line {
    /// In seconds: red and the whole cycle, which begins with it, and the headway.
    red: f64,
    cycle: f64,
    headway: f64,
    second: f64,
    now: f64,
    /// Numbers, and when they came.
    waiting: VecDeque<(u32, f64)>,
    /// When the next one may go.
    free: f64,
    gone: u32,
    delay: f64,
}

impl Line {
    const ASKED: InPort<Car, Self> = InPort::new(0);
    const GO: OutPort<Car, Self> = OutPort::new(0);

    /// The earliest time from `t` on at which the light is green.
    fn green(&self, t: f64) -> f64 {
        let start = (t / self.cycle).floor() * self.cycle;
        t.max(start + self.red)
    }
}

impl Atomic<Car> for Line {
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        self.second = resolution.ticks_per_second() as f64;
        Ok(())
    }
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.waiting.is_empty() {
            return Duration::INFINITE;
        }
        let next = self.green(self.free.max(self.now));
        Duration::from_ticks(((next - self.now) * self.second).round() as i64)
    }
    fn output(&self, out: &mut Outbox<'_, Car>) {
        self.waiting
            .front()
            .into_iter()
            .for_each(|&(number, _)| out.send(Self::GO, Car { number }));
    }
    fn internal(&mut self, fx: &mut Effects<Car>) {
        self.now = fx.now().ticks as f64 / self.second;
        if let Some((_, came)) = self.waiting.pop_front() {
            self.gone += 1;
            self.delay += self.now - came;
            self.free = self.now + self.headway;
        }
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Car>, fx: &mut Effects<Car>) {
        self.now = fx.now().ticks as f64 / self.second;
        self.waiting.extend(bag.on(Self::ASKED).map(|car| (car.number, self.now)));
    }
}

/// Seconds between cars, of red, of a cycle, and between cars that go on.
const INTERVAL: f64 = 1.0;
const RED: f64 = 30.0;
const CYCLE: f64 = 60.0;
const HEADWAY: f64 = 0.4;
const CYCLES: f64 = 20.0;

fn road(slots: u32) -> Result<(Entry, Line), RunError> {
    let mut road = Coupled::new();
    let (interval, entered, turned_away, wires) = (Duration::INFINITE, 0, 0, false);
    road.add("entry", Entry { seconds: INTERVAL, interval, slots, entered, turned_away, wires });
    let (waiting, second, now, free, gone, delay) = (VecDeque::new(), 1.0, 0.0, 0.0, 0, 0.0);
    let (red, cycle, headway) = (RED, CYCLE, HEADWAY);
    road.add("line", Line { red, cycle, headway, second, now, waiting, free, gone, delay });
    let mut top = Coupled::new();
    top.add_component("road", road);
    let mut sim = Simulation::new(top, Default::default())?;
    sim.run_until((CYCLES * CYCLE * sim.resolution().ticks_per_second() as f64) as i64)?;
    let (Some(entry), Some(line)) = (sim.model("road/entry"), sim.model("road/line")) else {
        unreachable!("they stay");
    };
    Ok((Entry::clone(entry), Line::clone(line)))
}

fn main() -> Result<(), RunError> {
    let (entry, line) = road(1000)?;
    let mean = line.delay / f64::from(line.gone);
    // Uniform arrivals: the queue grows in red, and is worked off at the rate of saturation (May 1965).
    let expected = RED * RED / (2.0 * CYCLE * (1.0 - HEADWAY / INTERVAL));
    println!("{} cars, {} changes of structure", line.gone, 4 * line.gone);
    println!("mean delay {mean:.3} s, closed form {expected:.3} s");
    assert!((mean - expected).abs() < INTERVAL / 2.0 && entry.turned_away == 0);
    let (entry, line) = road(20)?;
    println!(
        "with 20 slots: {} of {} cars turned away, {} left",
        entry.turned_away, entry.entered, line.gone
    );
    assert!(entry.turned_away > 0 && entry.entered - entry.turned_away - line.gone <= 20);
    Ok(())
}

#[test]
fn it_is_as_expected() -> Result<(), RunError> {
    main()
}
