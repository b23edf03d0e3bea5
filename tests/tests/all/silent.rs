//! Units that advance silently: inner steps at real offsets that are no events of the kernel.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Bag, Coupled, Effects, Options, Outbox, Simulation,
    error::RunError,
    nested::Nested,
    time::{Duration, Tag},
};
use superdense_tests::{
    parts::{Gen, Proc},
    record::Run,
    unit::{Unit, add, any_input, input, output},
};

/// A value that grows in steps of irregular length and slope, and emits when it reaches one;
/// inputs halve it. Offsets are ticks since the last transition.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ramp {
    x: f64,
    slope: f64,
    start: f64,
    end: f64,
    due: Option<i64>,
    seed: u64,
    steps: u64,
}

impl Ramp {
    fn new(seed: u64) -> Self {
        Self { x: 0.0, slope: 0.0, start: 0.0, end: 0.0, due: None, seed, steps: 0 }
    }
    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(97);
        (self.seed >> 40) as f64 / (1u64 << 24) as f64
    }
    fn value(&self, at: i64) -> f64 {
        self.x + self.slope * (at as f64 - self.start)
    }
    fn restart(&mut self, x: f64) {
        (self.x, self.start, self.end, self.due) = (x, 0.0, 0.0, None);
    }
}

impl Atomic<i64> for Ramp {
    const SILENT: bool = true;
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.due.unwrap_or(self.end.floor() as i64))
    }
    fn is_silent(&self) -> bool {
        self.due.is_none()
    }
    fn advance(&mut self, bound: Duration, _: &mut Effects<i64>) {
        while self.due.is_none() && self.end < bound.ticks() as f64 {
            self.x += self.slope * (self.end - self.start);
            self.start = self.end;
            self.end = self.start + 0.1 + 4.0 * self.random();
            self.slope = 0.05 * self.random();
            self.steps += 1;
            if self.x + self.slope * (self.end - self.start) >= 1.0 {
                let root = self.start + (1.0 - self.x) / self.slope;
                let tick = (root - 1.0 / 1024.0).ceil() as i64;
                self.due = Some(tick.max(self.start.floor() as i64 + 1));
            }
        }
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        let at = self.due.unwrap_or_default();
        out.send(output::<Self>(0), (self.value(at) * 1e9) as i64);
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        let at = self.due.unwrap_or_default();
        self.restart(self.value(at) - 1.0);
    }
    fn external(&mut self, elapsed: Duration, _: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        let at = elapsed.ticks();
        if (at as f64) < self.start {
            fx.fail(format!("an input at {at} before the step at {}", self.start));
        }
        self.restart(self.value(at) / 2.0);
    }
    fn probe(&self, _: u16, elapsed: Duration) -> Option<i64> {
        let at = elapsed.ticks();
        (at as f64 >= self.start).then(|| (self.value(at) * 1e9) as i64)
    }
}

const END: i64 = 400;

/// A ring of three ramps, one of them also fed by a clock through a zero-delay processor.
fn ring() -> Coupled<i64> {
    let mut top = Coupled::new();
    let ramps: Vec<_> = (0..3).map(|i| top.add(("ramp", i), Ramp::new(i as u64 + 1))).collect();
    for i in 0..3 {
        top.couple(ramps[i].output(output(0)), ramps[(i + 1) % 3].input(input(0)));
    }
    let g = add(&mut top, "g", Gen::every(37));
    let p = add(&mut top, "p", Proc::new(0));
    top.couple(g.output(output(0)), p.input(input(0)));
    top.couple(p.output(output(0)), ramps[0].input(input(0)));
    top
}

fn steps(run: &Run) -> Vec<u64> {
    (0..3).map(|i| run.sim.model::<Ramp>(&format!("ramp[{i}]")).unwrap().steps).collect()
}

#[test]
fn silent_steps_are_no_events() {
    let run = Run::through(ring(), END);
    let total: u64 = steps(&run).iter().sum();
    let transitions = run.tape().records.len() as u64;
    assert!(total > 3 * transitions, "{total} steps, {transitions} transitions");
    assert!(run.tape().records.iter().any(|r| r.model == "ramp[1]" && r.kind == "INT"));
    assert!(run.tape().cycles.is_sorted_by(|a, b| a < b));
}

/// Property 8 with silent units: where a run pauses, and how it goes on, leaves no mark.
#[test]
fn splits_leave_no_mark() {
    let whole = Run::through(ring(), END);
    for width in 1..40 {
        let mut run = Run::new(ring());
        let mut at = 0;
        while at < END {
            at = (at + 1 + (at * 7 + width) % width).min(END);
            match at % 4 {
                0 => drop(run.sim.run_until(at).unwrap()),
                1 => drop(run.sim.run_through(at).unwrap()),
                2 => while run.sim.step(at).unwrap().is_some() {},
                _ => drop(run.sim.next_within(at).unwrap()),
            }
        }
        run.sim.run_through(END).unwrap();
        assert_eq!(run.tape().records, whole.tape().records, "width {width}");
        assert_eq!(run.sim.trace_hash(), whole.sim.trace_hash());
        assert_eq!(steps(&run), steps(&whole));
    }
}

/// An input at the tick where the run paused reaches units that have not passed it (R10).
#[test]
fn inputs_at_a_pause() {
    for pause in 1..120 {
        let mut planned = Run::new(ring());
        let mut paused = Run::new(ring());
        planned.sim.inject("ramp[1]", any_input(0), pause, 1).unwrap();
        planned.sim.run_through(END).unwrap();
        paused.sim.run_until(pause).unwrap();
        paused.sim.inject("ramp[1]", any_input(0), pause, 1).unwrap();
        paused.sim.run_through(END).unwrap();
        assert_eq!(paused.tape().records, planned.tape().records, "pause at {pause}");
        // After the cycles of that tick, too: an own cycle, and no unit complains.
        let mut late = Run::new(ring());
        late.sim.run_through(pause).unwrap();
        late.sim.inject("ramp[1]", any_input(0), pause, 1).unwrap();
        late.sim.run_through(END).unwrap();
    }
}

/// `next` lets the units go on as far as they can; then the clock says from where inputs may come.
#[test]
fn next_moves_the_clock_of_silent_units() {
    let mut top = Coupled::new();
    top.add("ramp", Ramp::new(1));
    let mut run = Run::new(top);
    let next = run.sim.next().unwrap();
    assert!(next.ticks > 5 && run.sim.clock() <= next.ticks);
    assert!(matches!(run.sim.inject("ramp", any_input(0), 1, 1), Err(RunError::Past { .. })));
    let at = run.sim.clock();
    run.sim.inject("ramp", any_input(0), at, 1).unwrap();
    run.sim.run_through(END).unwrap();
    assert_eq!(run.of("ramp")[0].tag(), (at, 0));
}

#[test]
fn probing_changes_nothing() {
    let whole = Run::through(ring(), END);
    let mut run = Run::new(ring());
    let keys: Vec<_> = (0..3).map(|i| run.sim.find(&format!("ramp[{i}]")).unwrap()).collect();
    for at in 0..=END {
        run.sim.run_through(at).unwrap();
        for &key in &keys {
            let value = run.sim.probe(key, 0, at).expect("a value at the present");
            assert!((0..1_200_000_000).contains(&value), "{value}");
            assert_eq!(run.sim.probe(key, 0, at), Some(value));
        }
    }
    assert_eq!(run.tape().records, whole.tape().records);
    let last = |run: &Run| run.sim.probe(keys[2], 0, END);
    assert_eq!(last(&run), last(&whole));
    // A model without such a value.
    assert_eq!(run.sim.probe(run.sim.find("g").unwrap(), 0, END), None);
}

/// The ring with the ramps in a simulation of their own: the trace is equal, and the inner run is
/// silent where its units are.
#[test]
fn nested_silent_units() {
    let mut inner = Coupled::new();
    let inp = inner.add_input::<i64>("in");
    let out = inner.add_output::<i64>("out");
    let ramps: Vec<_> = (0..3).map(|i| inner.add(("ramp", i), Ramp::new(i as u64 + 1))).collect();
    for i in 0..3 {
        inner.couple(ramps[i].output(output(0)), ramps[(i + 1) % 3].input(input(0)));
        inner.couple(ramps[i].output(output(0)), out.inside());
    }
    inner.couple(inp.inside(), ramps[0].input(input(0)));
    let inner = Simulation::new(inner, Options::default()).unwrap();
    let mut top = Coupled::new();
    let nested = top.add("nested", Nested::new(inner).unwrap());
    let g = add(&mut top, "g", Gen::every(37));
    let p = add(&mut top, "p", Proc::new(0));
    let k = top.add("k", Unit::new(Proc::new(i64::MAX)));
    top.couple(g.output(output(0)), p.input(input(0)));
    top.couple(p.output(output(0)), nested.input(input(0)));
    top.couple(nested.output(output(0)), k.input(input(0)));
    let mut run = Run::new(top);
    run.sim.run_through(END).unwrap();
    let flat = Run::through(ring(), END);
    let mut expected: Vec<_> = (0..3).flat_map(|i| flat.sent(&format!("ramp[{i}]"))).collect();
    expected.sort();
    let heard: Vec<_> = run
        .received("k")
        .into_iter()
        .flat_map(|(tag, values)| values.into_iter().map(move |v| (tag.0, v)))
        .collect();
    assert_eq!(heard, expected.iter().map(|(tag, v)| (tag.0, v[0])).collect::<Vec<_>>());
    assert!(run.sim.counts().internal > 10);
}

/// Units that break the contract end in an error that names them, not in a hang.
#[test]
fn broken_contracts() {
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Broken {
        moves: i64,
        finds: bool,
        found: bool,
        at: i64,
    }
    impl Atomic<i64> for Broken {
        const SILENT: bool = true;
        fn time_advance(&self) -> Duration {
            Duration::from_ticks(self.at)
        }
        fn is_silent(&self) -> bool {
            !self.found
        }
        fn advance(&mut self, _: Duration, _: &mut Effects<i64>) {
            self.at += self.moves;
            self.found = self.finds;
        }
    }
    let error = |moves, finds| {
        let mut top = Coupled::new();
        top.add("broken", Broken { moves, finds, found: false, at: 10 });
        let mut run = Run::new(top);
        let error = run.sim.run_through(100).unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
        assert_eq!(run.sim.run_through(100).unwrap_err(), error);
        error
    };
    let stalled =
        |e: &RunError, t| matches!(e, RunError::Stalled { at, .. } if *at == Tag::new(t, 0));
    // Stands still; goes on, but not to the bound.
    assert!(stalled(&error(0, false), 10));
    assert!(stalled(&error(1, false), 11));
    // Finds something at the tick of its own step, or before.
    assert!(matches!(error(0, true), RunError::Early { at: Tag { ticks: 10, .. }, .. }));
    assert!(matches!(error(-3, true), RunError::Early { .. }));
    // A time advance that is none.
    assert!(matches!(error(-20, true), RunError::BadAdvance { .. }));
}

/// Runs of cycles of single models, which are made at once, must not pass by events that a silent
/// unit finds meanwhile. Observers keep each cycle apart, so the run that is observed is the
/// reference.
#[test]
fn a_clock_does_not_run_past_silent_units() {
    let model = || {
        let mut top = ring();
        add(&mut top, "clock", Gen::every(3));
        add(&mut top, "other", Gen::every(7));
        top
    };
    let observed = Run::through(model(), END);
    let mut alone = Simulation::new(model(), Options::default()).unwrap();
    alone.run_through(END).unwrap();
    assert_eq!(alone.counts(), observed.sim.counts());
    assert_eq!(alone.trace_hash(), observed.sim.trace_hash());
}
