//! A room under a controller. Somebody outside sets the temperature while the run goes on, and reads the heating:
//! inputs are injected into the root, and outputs leave it. All is compared with the recursion by hand.
//!
//! ```text
//! cargo run --release -p superdense-kernel --example controller
//! ```
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Outbox, Simulation,
    error::RunError,
    port::{InPort, OutPort},
    time::{Duration, Resolution, TimeError},
};

/// Seconds between samples, the time constant of the room, and the gains of the controller.
const SAMPLE: f64 = 0.5;
const ROOM: f64 = 8.0;
const GAINS: [f64; 2] = [2.0, 0.15];

/// A first-order lag, by its exact solution; tells its temperature when it is asked.
#[derive(Clone, Serialize, Deserialize)]
struct Room {
    second: f64,
    temperature: f64,
    heat: f64,
    asked: bool,
}

impl Room {
    const HEAT: InPort<f64, Self> = InPort::new(0);
    const ASK: InPort<f64, Self> = InPort::new(1);
    const TEMPERATURE: OutPort<f64, Self> = OutPort::new(0);
}

impl Atomic<f64> for Room {
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        self.second = resolution.ticks_per_second() as f64;
        Ok(())
    }
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.asked { Duration::ZERO } else { Duration::INFINITE }
    }
    fn output(&self, out: &mut Outbox<'_, f64>) {
        out.send(Self::TEMPERATURE, self.temperature);
    }
    fn internal(&mut self, _: &mut Effects<f64>) {
        self.asked = false;
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, f64>, _: &mut Effects<f64>) {
        let seconds = elapsed.ticks() as f64 / self.second;
        self.temperature = self.heat + (self.temperature - self.heat) * (-seconds / ROOM).exp();
        bag.on(Self::HEAT).for_each(|heat| self.heat = *heat);
        self.asked |= bag.on(Self::ASK).next().is_some();
    }
}

/// A sampled PI controller.
#[derive(Clone, Serialize, Deserialize)]
struct Controller {
    period: Duration,
    left: Duration,
    target: f64,
    sum: f64,
    /// Findings that are not told yet.
    heat: Option<f64>,
}

impl Controller {
    const TARGET: InPort<f64, Self> = InPort::new(0);
    const TEMPERATURE: InPort<f64, Self> = InPort::new(1);
    const ASK: OutPort<f64, Self> = OutPort::new(0);
    const HEAT: OutPort<f64, Self> = OutPort::new(1);
}

impl Atomic<f64> for Controller {
    fn init(&mut self, resolution: Resolution) -> Result<(), TimeError> {
        self.period = resolution.duration(SAMPLE)?;
        self.left = self.period;
        Ok(())
    }
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        if self.heat.is_some() { Duration::ZERO } else { self.left }
    }
    fn output(&self, out: &mut Outbox<'_, f64>) {
        match self.heat {
            Some(heat) => out.send(Self::HEAT, heat),
            None => out.send(Self::ASK, 0.0),
        }
    }
    fn internal(&mut self, _: &mut Effects<f64>) {
        if self.heat.take().is_none() {
            self.left = self.period;
        }
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, f64>, _: &mut Effects<f64>) {
        self.left = self.left.minus(elapsed);
        bag.on(Self::TARGET).for_each(|target| self.target = *target);
        for temperature in bag.on(Self::TEMPERATURE) {
            let error = self.target - temperature;
            self.sum += error * SAMPLE;
            self.heat = Some(GAINS[0] * error + GAINS[1] * self.sum);
        }
    }
}

fn main() -> Result<(), RunError> {
    let mut top = Coupled::new();
    let (target, heat) = (top.add_input::<f64>("target"), top.add_output::<f64>("heat"));
    let room = top.add("room", Room { second: 1.0, temperature: 15.0, heat: 15.0, asked: false });
    let (period, left) = (Duration::INFINITE, Duration::INFINITE);
    let pi = Controller { period, left, target: 15.0, sum: 100.0, heat: None };
    let pi = top.add("pi", pi);
    top.couple(target.inside(), pi.input(Controller::TARGET));
    top.couple(pi.output(Controller::ASK), room.input(Room::ASK));
    top.couple(room.output(Room::TEMPERATURE), pi.input(Controller::TEMPERATURE));
    top.couple(pi.output(Controller::HEAT), room.input(Room::HEAT));
    top.couple(pi.output(Controller::HEAT), heat.inside());
    let mut sim = Simulation::new(top, Default::default())?;
    let heating = sim.listen("", heat)?;
    let second = sim.resolution().ticks_per_second();

    // By hand, from sample to sample.
    let (mut temperature, mut power, mut sum) = (15.0, 15.0, 100.0);
    let (mut wish, mut samples) = (15.0, 0);
    for minute in 1..=5 {
        sim.run_through(minute * 60 * second)?;
        for (tag, heat) in heating.take() {
            temperature = power + (temperature - power) * (-SAMPLE / ROOM).exp();
            sum += (wish - temperature) * SAMPLE;
            power = GAINS[0] * (wish - temperature) + GAINS[1] * sum;
            samples += 1;
            assert_eq!(tag.ticks as f64, f64::from(samples) * SAMPLE * second as f64);
            assert!((heat - power).abs() < 1e-9, "{tag}: {heat}, by hand {power}");
        }
        println!("{minute} min: {temperature:.4} of {wish} °C, heating {power:.4}");
        // Who looks on decides: warmer until it is 19 °C, a tenth of a second from now.
        wish = f64::min(19.0, wish + 2.0);
        sim.inject("", target, minute * 60 * second + second / 10, wish)?;
    }
    assert_eq!(samples, 600);
    Ok(())
}

#[test]
fn it_is_as_expected() -> Result<(), RunError> {
    main()
}
