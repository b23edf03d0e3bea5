//! Estimates against true errors of single macro steps, on two linear masses with exact units.
use super::{
    Compensation, Control, Estimate, Extrapolation, Iteration, Pace, Policy, Rehearsal, Rehearse,
    Slopes, Solver, Until,
};
use crate::{
    signal::{Held, NEVER, Poly, Timer},
    value::{Flag, Segment, Value},
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Outbox, Simulation, Snapshot,
    port::{InPort, OutPort},
    snapshot::SnapshotError,
    time::{Duration, Resolution},
};

const POWERS: usize = 24;
const RESOLUTION: Resolution = Resolution::NANO;

/// z' = A z + B u with polynomial inputs, by its series: exact.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Linear {
    a: [[f64; 2]; 2],
    b: [[f64; 2]; 2],
    z: [f64; 2],
    inputs: [Option<Held>; 2],
    timer: Timer,
}

impl Linear {
    fn new(a: [[f64; 2]; 2], b: [[f64; 2]; 2], z: [f64; 2]) -> Self {
        Self { a, b, z, inputs: [None, None], timer: Timer::due(0, RESOLUTION) }
    }
    fn series(&self) -> [Vec<f64>; 2] {
        let now = self.timer.now();
        let poly = |h: &Option<Held>| {
            h.as_ref().map_or(Poly::constant(0.0), |h| h.shifted(now, &self.timer))
        };
        let u = [poly(&self.inputs[0]), poly(&self.inputs[1])];
        let mut z = [vec![self.z[0]], vec![self.z[1]]];
        for k in 0..POWERS {
            let rate = |row: usize| {
                let own: f64 = (0..2).map(|j| self.a[row][j] * z[j][k]).sum();
                let at = |j: usize| u[j].coefficients().get(k).copied().unwrap_or(0.0);
                own + (0..2).map(|j| self.b[row][j] * at(j)).sum::<f64>()
            };
            let next = [rate(0), rate(1)].map(|r| r / (k as f64 + 1.0));
            z[0].push(next[0]);
            z[1].push(next[1]);
        }
        z
    }
}

impl Atomic<Value> for Linear {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, c) in (0u16..).zip(self.series()) {
            let segment = Segment::new(&c, Flag::Continuous, c[0]);
            out.send(OutPort::<Segment>::new(port), segment);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, _: &mut Effects<Value>) {
        let series = self.series();
        let span = RESOLUTION.seconds(elapsed.ticks());
        self.z = series.map(|c| crate::poly::eval(&c, span));
        self.timer.pass(elapsed);
        for (port, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.inputs[usize::from(port)], s, self.timer.now());
            }
        }
        self.timer.at_once();
    }
}

/// Two masses at walls, a spring and a damper between them: x and v both ways.
fn masses() -> Coupled<Value> {
    let a = [[0.0, 1.0], [-2.0, -2.0]];
    let b = [[0.0, 0.0], [1.0, 1.0]];
    let mut top = Coupled::new();
    let first = top.add("first", Linear::new(a, b, [1.0, 0.0]));
    let second = top.add("second", Linear::new([[0.0, 1.0], [-2.0, -1.0]], b, [0.0, 0.0]));
    for port in 0..4u16 {
        let told = top.add_input::<Value>(format!("in{port}"));
        let heard = top.add_output::<Value>(format!("out{port}"));
        let (from, to) = if port < 2 { (first, second) } else { (second, first) };
        top.couple(from.output(OutPort::<Value>::new(port % 2)), heard.inside());
        top.couple(told.inside(), to.input(InPort::<Value>::new(port % 2)));
    }
    top
}

/// exp(A t) z of the whole.
fn exact(z: &[f64], t: f64) -> Vec<f64> {
    let a = [
        [0.0, 1.0, 0.0, 0.0],
        [-2.0, -2.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 1.0, -2.0, -1.0],
    ];
    let (mut sum, mut term) = (z.to_vec(), z.to_vec());
    for k in 1..60 {
        term = a
            .iter()
            .map(|r| r.iter().zip(&term).map(|(a, x)| a * x).sum::<f64>() * t / f64::from(k))
            .collect();
        sum.iter_mut().zip(&term).for_each(|(s, d)| *s += d);
    }
    sum
}

fn master(order: usize, iteration: Option<Iteration>, estimate: Estimate) -> Rehearsal {
    let hold = Extrapolation {
        order,
        start_order: order,
        slopes: Slopes::Samples,
        interpolate: false,
        rate: None,
    };
    let control = Control { tolerance: 1e-6, shortest: 1, longest: NEVER / 4, power: 1.0 };
    let policy = Policy {
        pace: Pace::new(1, Some(control)),
        extrapolations: vec![hold; 4],
        compensation: Compensation::None,
        low_pass: None,
        interrupts: false,
        settles: None,
        names: ["x1", "v1", "x2", "v2"].map(str::to_owned).to_vec(),
        look_ahead: None,
        balance: None,
    };
    let rehearse = Rehearse { iteration, pre_step: None, estimate, pessimistic: true };
    let units = Simulation::new(masses(), superdense_kernel::Options::default()).unwrap();
    let mut master =
        Rehearsal::new(policy, rehearse, Timer::due(NEVER, RESOLUTION), units).unwrap();
    master.trial.run(0, false).unwrap();
    master
}

/// Estimated by true error of each of 60 steps, after some that the history needs.
fn effectivities(mut master: Rehearsal, step: i64) -> Vec<f64> {
    let mut all = Vec::new();
    for number in 0..60 {
        let start = master.trial.save().unwrap();
        let z = master.trial.ends();
        let until = master.trial.tick() + step;
        let (_, ratio) = master.attempt(until, &start).unwrap();
        let reference = exact(&z, RESOLUTION.seconds(step));
        let ends = master.trial.ends();
        let off = |(y, r): (&f64, &f64)| (y - r).abs() / (1e-6 * (1.0 + y.abs()));
        let truth = ends.iter().zip(&reference).map(off).fold(0.0, f64::max);
        if number >= 4 {
            all.push(ratio.unwrap() / truth);
        }
    }
    all
}

#[test]
fn estimates_are_near_the_true_errors() {
    let converged = || Some(Iteration::new(Solver::Newton, Until::Converged(1e-13, 50)));
    for (order, iteration, estimate) in [
        (0, None, Estimate::Doubling),
        (1, None, Estimate::Doubling),
        (2, None, Estimate::Doubling),
        (0, converged(), Estimate::Doubling),
        (1, converged(), Estimate::Doubling),
        (0, converged(), Estimate::Milne),
        (1, converged(), Estimate::Milne),
        (2, converged(), Estimate::Milne),
    ] {
        for step in [20_000_000, 50_000_000] {
            let what = format!("order {order}, {estimate:?}, {step}: {iteration:?}");
            let all = effectivities(master(order, iteration.clone(), estimate), step);
            let (least, most) =
                all.iter().fold((f64::MAX, 0.0f64), |(a, b), &e| (a.min(e), b.max(e)));
            assert!(least >= 0.3 && most <= 3.0, "{what}: from {least} to {most}");
        }
    }
}

/// Excursions of any kind leave the trial as it was, to the byte.
#[test]
fn trials_come_back_to_the_byte() {
    let mut master = master(1, None, Estimate::Doubling);
    for length in [1, 7, 1_000_000, 333_333_333] {
        let before = master.to_bytes().unwrap();
        let saved = master.save().unwrap();
        for excursion in [1, 3] {
            let start = master.trial.save().unwrap();
            let until = master.trial.tick() + excursion * length;
            master.attempt(until, &start).unwrap();
            assert_ne!(master.to_bytes().unwrap(), before);
            master.restore(&saved).unwrap();
            assert_eq!(master.to_bytes().unwrap(), before, "{length}");
        }
        let start = master.trial.save().unwrap();
        master.attempt(master.trial.tick() + length, &start).unwrap();
    }
}

/// A unit that cannot be brought back.
#[derive(Debug)]
struct Stubborn;

impl Snapshot for Stubborn {
    type Saved = ();
    fn save(&self) -> Result<(), SnapshotError> {
        Err(SnapshotError::Unsupported("it has no state access".into()))
    }
    fn restore(&mut self, (): &()) -> Result<(), SnapshotError> {
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        self.save().map(|()| Vec::new())
    }
    fn restore_bytes(&mut self, _: &[u8]) -> Result<(), SnapshotError> {
        Ok(())
    }
}

impl Atomic<Value> for Stubborn {
    fn time_advance(&self) -> Duration {
        Duration::INFINITE
    }
}

#[test]
fn who_cannot_be_brought_back_is_named() {
    let mut top = masses();
    top.add("plant", Stubborn);
    let units = Simulation::new(top, superdense_kernel::Options::default()).unwrap();
    let rehearse = Rehearse {
        iteration: None,
        pre_step: None,
        estimate: Estimate::Doubling,
        pessimistic: true,
    };
    let policy = master(0, None, Estimate::Doubling).plan.policy.clone();
    let why = Rehearsal::new(policy, rehearse, Timer::due(NEVER, RESOLUTION), units).unwrap_err();
    assert_eq!(why, "plant: it has no state access");
}
