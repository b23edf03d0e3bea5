//! The cost of an exchange: two trivial units that hear each other through a coupling, Jacobi.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Options, Outbox, Simulation,
    port::{InPort, OutPort},
    time::{Duration, Resolution},
};
use superdense_models::{
    couplings::{Compensation, Coupler, Extrapolation, Pace, Policy, Slopes},
    signal::{
        NEVER, Timer,
        value::{Segment, Value},
    },
};

/// Ticks of a macro step.
const STEP: i64 = 1000;

/// A unit that says something else at the end of each macro step.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trivial {
    next: i64,
    y: f64,
    heard: f64,
}

impl Atomic<Value> for Trivial {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.next)
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        out.send(OutPort::<Segment>::new(0), Segment::step(self.y, self.y));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.next = STEP;
        self.y = 1.0 - 0.5 * self.heard;
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        self.next -= elapsed.ticks();
        if let Some((_, Value::Segment(told))) = bag.single() {
            self.heard = told.value(0.0);
        }
    }
}

/// The simulation, and its end after so many exchanges, two in each macro step.
pub fn build(exchanges: u32) -> (Simulation<Value>, i64) {
    let hold = Extrapolation {
        order: 0,
        start_order: 0,
        slopes: Slopes::Samples,
        interpolate: false,
        rate: None,
    };
    let policy = Policy {
        measured: Vec::new(),
        pace: Pace::new(STEP, None),
        extrapolations: vec![hold; 2],
        compensation: Compensation::None,
        low_pass: None,
        interrupts: false,
        settles: None,
        names: vec!["a.y".into(), "b.y".into()],
        look_ahead: None,
        balance: None,
        sequence: None,
        bonds: Vec::new(),
        answers: Vec::new(),
    };
    let mut top = Coupled::new();
    let coupler = Coupler::new(policy, Timer::due(NEVER, Resolution::default()));
    let coupler = top.add("coupler", coupler);
    for (port, name) in (0u16..).zip(["a", "b"]) {
        let unit = top.add(name, Trivial { next: 0, y: f64::from(port), heard: 0.0 });
        top.couple(unit.output(OutPort::<Segment, _>::new(0)), coupler.input(InPort::new(port)));
        let told = OutPort::<Segment, _>::new(1 - port);
        top.couple(coupler.output(told), unit.input(InPort::new(0)));
    }
    let sim = Simulation::new(top, Options::default()).expect("ports that fit");
    (sim, i64::from(exchanges / 2) * STEP)
}
