//! F7 and F9: iterating units at one instant.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Options, Outbox,
    error::RunError,
    port::{InPort, OutPort},
    time::{Duration, Tag},
};
use superdense_tests::record::Run;

/// Publishes the mean of its neighbours when it moved by at least `tolerance`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mean {
    value: f64,
    left: f64,
    right: f64,
    tolerance: f64,
    due: bool,
}

impl Mean {
    const OUT: OutPort<f64, Self> = OutPort::new(0);
    const LEFT: InPort<f64, Self> = InPort::new(0);
    const RIGHT: InPort<f64, Self> = InPort::new(1);

    fn new(value: f64, tolerance: f64) -> Self {
        Self { value, left: 0.0, right: 0.0, tolerance, due: true }
    }
}

impl Atomic<f64> for Mean {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.due { Duration::ZERO } else { Duration::INFINITE }
    }
    fn output(&self, out: &mut Outbox<'_, f64>) {
        out.send(Self::OUT, self.value);
    }
    fn internal(&mut self, _: &mut Effects<f64>) {
        self.due = false;
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, f64>, _: &mut Effects<f64>) {
        self.left = bag.on(Self::LEFT).next().copied().unwrap_or(self.left);
        self.right = bag.on(Self::RIGHT).next().copied().unwrap_or(self.right);
        let value = f64::midpoint(self.left, self.right);
        self.due = (value - self.value).abs() >= self.tolerance;
        self.value = value;
    }
}

fn ring(start: [f64; 3], tolerance: f64) -> Coupled<f64> {
    let mut top = Coupled::new();
    let units: Vec<_> = start
        .iter()
        .enumerate()
        .map(|(i, &v)| top.add(("unit", i), Mean::new(v, tolerance)))
        .collect();
    for i in 0..3 {
        top.couple(units[i].output(Mean::OUT), units[(i + 1) % 3].input(Mean::LEFT));
        top.couple(units[i].output(Mean::OUT), units[(i + 2) % 3].input(Mean::RIGHT));
    }
    top
}

#[test]
fn f07_fix_point_at_one_instant() {
    let mut run = Run::new(ring([0.5, 2.5, 4.5], 1e-3));
    let values = |run: &Run<f64>| {
        [0, 1, 2].map(|i| run.sim.model::<Mean>(&format!("unit[{i}]")).unwrap().value)
    };
    for (n, expected) in [(0, [3.5, 2.5, 1.5]), (1, [2.0, 2.5, 3.0])] {
        assert_eq!(run.sim.step(0), Ok(Some(Tag::new(0, n))));
        assert_eq!(values(&run), expected);
    }
    run.sim.run_through(1_000_000).unwrap();
    assert_eq!(values(&run), [2.500244140625, 2.5, 2.499755859375]);
    let cycles: Vec<_> = (0..13).map(|n| (0, n)).collect();
    assert_eq!(run.tape().cycles, cycles);
}

#[test]
fn f09_same_time_loop_limit() {
    let mut options = Options { start: 77, ..Options::default() };
    options.guards.micro_steps = 100;
    // A tolerance of zero never settles.
    let mut run = Run::with(ring([0.5, 2.5, 4.5], 0.0), options).unwrap();
    let error = run.sim.run_through(1000).unwrap_err();
    assert!(
        matches!(&error, RunError::MicroSteps { limit: 100, at, .. } if *at == Tag::new(77, 101))
    );
    let text = error.to_string();
    assert!(text.contains("(77, 101)") && text.contains("unit["), "{text}");
}
