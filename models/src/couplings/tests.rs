//! Estimates against true errors of single macro steps, on two linear masses with exact units.
use super::{
    Compensation, Control, Correction, Estimate, Extrapolation, Iteration, Outputs, Pace, Policy,
    Rehearsal, Rehearse, Slopes, Solver, Until,
};
use crate::signal::{
    Held, NEVER, Poly, Timer,
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
        self.z = series.map(|c| crate::maths::poly::eval(&c, span));
        self.timer.pass(elapsed);
        for (port, value) in bag.iter() {
            if let Value::Segment(s) = value {
                Held::receive(&mut self.inputs[usize::from(port)], s, self.timer.now());
            }
        }
        self.timer.at_once();
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let span = RESOLUTION.seconds(elapsed.ticks());
        Some(Value::Real(crate::maths::poly::eval(&self.series()[usize::from(port)], span)))
    }
}

type Pair = [[f64; 2]; 2];

/// Linear units, and which output (unit, port) leads to which input. Every entry is a signal of the
/// coupling.
struct Whole {
    units: Vec<(Pair, Pair, [f64; 2])>,
    wires: Vec<[(usize, usize); 2]>,
    /// Signals that are effort and flow, and twice the energy as weights of squared states.
    bonds: Vec<[u16; 2]>,
    stored: Vec<f64>,
}

/// Two masses at walls, a spring and a damper between them: x and v both ways.
fn two() -> Whole {
    let b = [[0.0, 0.0], [1.0, 1.0]];
    let units = vec![
        ([[0.0, 1.0], [-2.0, -2.0]], b, [1.0, 0.0]),
        ([[0.0, 1.0], [-2.0, -1.0]], b, [0.0, 0.0]),
    ];
    let wires = (0..4).map(|k| [(k / 2, k % 2), (1 - k / 2, k % 2)]).collect();
    Whole { units, wires, bonds: Vec::new(), stored: Vec::new() }
}

/// Three masses in a chain with springs between them, and dampers to the walls: positions.
fn three() -> Whole {
    let units = vec![
        ([[0.0, 1.0], [-2.0, -0.5]], [[0.0, 0.0], [1.0, 0.0]], [1.0, 0.0]),
        ([[0.0, 1.0], [-2.0, -0.3]], [[0.0, 0.0], [1.0, 1.0]], [0.0, 0.5]),
        ([[0.0, 1.0], [-3.0, -0.4]], [[0.0, 0.0], [1.0, 0.0]], [-0.5, 0.0]),
    ];
    let wires = vec![[(0, 0), (1, 0)], [(1, 0), (0, 0)], [(1, 0), (2, 0)], [(2, 0), (1, 1)]];
    Whole { units, wires, bonds: Vec::new(), stored: Vec::new() }
}

/// A mass at a wall (x, v), and a spring with a second mass (deflection s, speed w) that hears v and
/// gives its force; with three, the second mass has a third one behind a spring.
fn bonded(masses: usize) -> Whole {
    let spring = |k: f64| ([[0.0, -1.0], [k, -0.2]], [[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0]);
    let mut units = vec![([[0.0, 1.0], [-1.0, -0.1]], [[0.0, 0.0], [-1.0, 0.0]], [1.0, 0.0])];
    // Forces s of the springs, speeds v and w.
    let mut wires = vec![[(1, 0), (0, 0)], [(0, 1), (1, 0)]];
    units.push(spring(1.0));
    if masses == 3 {
        units.push(spring(1.0));
        wires.extend([[(2, 0), (1, 1)], [(1, 1), (2, 0)]]);
    }
    let bonds = (0..masses as u16 - 1).map(|k| [2 * k, 2 * k + 1]).collect();
    let stored = vec![1.0; 2 * masses];
    Whole { units, wires, bonds, stored }
}

impl Whole {
    fn model(&self) -> Coupled<Value> {
        let mut top = Coupled::new();
        let add = |(n, &(a, b, z)): (usize, &(Pair, Pair, [f64; 2]))| {
            top.add(format!("unit{n}"), Linear::new(a, b, z))
        };
        let units: Vec<_> = self.units.iter().enumerate().map(add).collect();
        for (k, [(from, out), (to, into)]) in self.wires.iter().enumerate() {
            let told = top.add_input::<Value>(format!("in{k}"));
            let heard = top.add_output::<Value>(format!("out{k}"));
            top.couple(units[*from].output(OutPort::<Value, _>::new(*out as u16)), heard.inside());
            top.couple(told.inside(), units[*to].input(InPort::<Value, _>::new(*into as u16)));
        }
        top
    }

    /// The states of the units on trial.
    fn states(&self, master: &Rehearsal) -> Vec<f64> {
        master.trial.probe(self.units.len(), 2)
    }

    /// exp(A t) z of the whole.
    fn exact(&self, z: &[f64], t: f64) -> Vec<f64> {
        let n = z.len();
        let mut a = vec![vec![0.0; n]; n];
        for (u, (own, ..)) in self.units.iter().enumerate() {
            for (i, row) in own.iter().enumerate() {
                a[2 * u + i][2 * u..2 * u + 2].copy_from_slice(row);
            }
        }
        for [(from, out), (to, into)] in &self.wires {
            for i in 0..2 {
                a[2 * to + i][2 * from + out] += self.units[*to].1[i][*into];
            }
        }
        let (mut sum, mut term) = (z.to_vec(), z.to_vec());
        for k in 1..60 {
            let dot = |r: &Vec<f64>| r.iter().zip(&term).map(|(a, x)| a * x).sum::<f64>();
            term = a.iter().map(|r| dot(r) * t / f64::from(k)).collect();
            sum.iter_mut().zip(&term).for_each(|(s, d)| *s += d);
        }
        sum
    }

    fn signals(&self, z: &[f64]) -> Vec<f64> {
        self.wires.iter().map(|[(unit, port), _]| z[2 * unit + port]).collect()
    }

    fn energy(&self, z: &[f64]) -> f64 {
        z.iter().zip(&self.stored).map(|(z, w)| 0.5 * w * z * z).sum()
    }

    fn policy(&self, order: usize) -> Policy {
        let hold = Extrapolation {
            order,
            start_order: order,
            slopes: Slopes::Samples,
            interpolate: false,
            rate: None,
        };
        let control = Control { tolerance: AIM, shortest: 1, longest: NEVER / 4, power: 1.0 };
        Policy {
            measured: Vec::new(),
            pace: Pace::new(1, Some(control)),
            extrapolations: vec![hold; self.wires.len()],
            compensation: Compensation::None,
            low_pass: None,
            interrupts: false,
            settles: None,
            names: (0..self.wires.len()).map(|k| format!("y{k}")).collect(),
            look_ahead: None,
            balance: None,
            sequence: None,
            bonds: self.bonds.clone(),
            answers: Vec::new(),
        }
    }

    fn master(&self, order: usize, iteration: Option<Iteration>, estimate: Estimate) -> Rehearsal {
        let rehearse =
            Rehearse { iteration, pre_step: None, estimate, correction: Correction::Pessimistic };
        let units = Simulation::new(self.model(), superdense_kernel::Options::default()).unwrap();
        let timer = Timer::due(NEVER, RESOLUTION);
        let mut master =
            Rehearsal::new(self.policy(order), rehearse, timer, units, &Outputs::default())
                .unwrap();
        master.trial.run(0, false).unwrap();
        master
    }
}

const AIM: f64 = 1e-6;

fn master(order: usize, iteration: Option<Iteration>, estimate: Estimate) -> Rehearsal {
    two().master(order, iteration, estimate)
}

/// Steps that the history needs.
const HISTORY: usize = 4;

/// Estimated and true error of each of 60 steps. Under conservation of energy it is the energy that is
/// off.
fn errors(whole: &Whole, mut master: Rehearsal, step: i64) -> Vec<[f64; 2]> {
    let mut all = Vec::new();
    for _ in 0..60 {
        let start = master.trial.save().unwrap();
        let z = whole.states(&master);
        let until = master.trial.tick() + step;
        let (_, ratio) = master.attempt(until, &start).unwrap();
        let reference = whole.exact(&z, RESOLUTION.seconds(step));
        let truth = if whole.bonds.is_empty() {
            let ends = master.trial.ends();
            let off = |(y, r): (&f64, &f64)| (y - r).abs() / (AIM * (1.0 + y.abs()));
            ends.iter().zip(&whole.signals(&reference)).map(off).fold(0.0, f64::max)
        } else {
            (whole.energy(&whole.states(&master)) - whole.energy(&reference)).abs() / AIM
        };
        all.push([ratio.unwrap(), truth]);
    }
    all
}

/// Least and greatest effectivity of single steps, and that of all steps together (by squares).
fn effectivity(all: &[[f64; 2]]) -> [f64; 3] {
    let each = all.iter().map(|[estimate, truth]| estimate / truth);
    let (least, most) = each.fold((f64::MAX, 0.0f64), |(a, b), e| (a.min(e), b.max(e)));
    let square = |k: usize| all.iter().map(|e| e[k] * e[k]).sum::<f64>();
    [least, most, (square(0) / square(1)).sqrt()]
}

const STEPS: [i64; 2] = [20_000_000, 50_000_000];

#[test]
fn estimates_are_near_the_true_errors() {
    let converged = || Some(Iteration::new(Solver::Newton, Until::Converged(1e-13, 50)));
    let corrected = || Some(Iteration::new(Solver::FixedPoint(1.0), Until::Corrections(1)));
    for (order, iteration, estimate) in [
        (0, None, Estimate::Doubling),
        (1, None, Estimate::Doubling),
        (2, None, Estimate::Doubling),
        (0, converged(), Estimate::Doubling),
        (1, converged(), Estimate::Doubling),
        (0, converged(), Estimate::Milne),
        (1, converged(), Estimate::Milne),
        (2, converged(), Estimate::Milne),
        (0, None, Estimate::MultiOrder),
        (1, None, Estimate::MultiOrder),
        (2, None, Estimate::MultiOrder),
        (0, converged(), Estimate::MultiOrder),
        (1, converged(), Estimate::MultiOrder),
        (2, converged(), Estimate::MultiOrder),
        (2, corrected(), Estimate::MultiOrder),
        (0, None, Estimate::Embedded),
        (1, None, Estimate::Embedded),
        (2, None, Estimate::Embedded),
        (0, None, Estimate::ParallelEmbedded),
        (1, None, Estimate::ParallelEmbedded),
        (2, None, Estimate::ParallelEmbedded),
        (0, converged(), Estimate::ParallelEmbedded),
        (1, converged(), Estimate::ParallelEmbedded),
    ] {
        for (masses, whole) in [(2, two()), (3, three())] {
            for step in STEPS {
                let master = whole.master(order, iteration.clone(), estimate);
                let [least, most, all] = effectivity(&errors(&whole, master, step)[HISTORY..]);
                let what =
                    format!("{masses} masses, order {order}, {estimate:?}, {step}: {iteration:?}");
                // Order 3 is all that order 2 can be compared with: where the error changes its sign
                // that is not enough, but over all steps it is.
                let single = iteration.is_some() || (order, estimate) != (2, Estimate::MultiOrder);
                let ok =
                    if single { least >= 0.3 && most <= 3.0 } else { (0.9..1.1).contains(&all) };
                println!("{what}: from {least:.3} to {most:.3}, all {all:.3}");
                assert!(ok, "{what}: from {least} to {most}, all {all}");
            }
        }
    }
}

/// While there is too little history for higher orders, no step is taken for exact that is not.
#[test]
fn estimates_without_history_are_not_blind() {
    for iterated in [false, true] {
        for order in 0..=2 {
            let newton = || Iteration::new(Solver::Newton, Until::Converged(1e-13, 50));
            let iteration = iterated.then(newton);
            let master = two().master(order, iteration, Estimate::MultiOrder);
            for [estimate, truth] in &errors(&two(), master, STEPS[1])[..HISTORY] {
                assert!(estimate / truth > 0.3, "{iterated}, {order}: {estimate}, not {truth}");
            }
        }
    }
}

/// The energy that comes of nothing on the bonds is what the whole has too much.
#[test]
fn energy_of_nothing_is_estimated() {
    for order in 0..=2 {
        for masses in [2, 3] {
            for step in STEPS {
                let whole = bonded(masses);
                let master = whole.master(order, None, Estimate::Conservation);
                let [least, most, all] = effectivity(&errors(&whole, master, step)[HISTORY..]);
                let what = format!("{masses} masses, order {order}, {step}");
                assert!((0.9..1.3).contains(&all), "{what}: from {least} to {most}, all {all}");
            }
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
    let mut top = two().model();
    top.add("plant", Stubborn);
    let units = Simulation::new(top, superdense_kernel::Options::default()).unwrap();
    let rehearse = Rehearse {
        iteration: None,
        pre_step: None,
        estimate: Estimate::Doubling,
        correction: Correction::Pessimistic,
    };
    let policy = master(0, None, Estimate::Doubling).plan.policy.clone();
    let timer = Timer::due(NEVER, RESOLUTION);
    let why = Rehearsal::new(policy, rehearse, timer, units, &Outputs::default()).unwrap_err();
    assert_eq!(why.to_string(), "plant: it has no state access");
}
