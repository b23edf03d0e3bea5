//! Cases that are hard on Time Warp, each against the sequential run: silent steps, transitions
//! that fail or panic on values that are not true, units that cannot go back, requests to stop,
//! zero-time loops.
//! Random networks of plain models are in the workspace's property tests.
mod errors;
mod facts;
mod migration;
mod ranks;
mod silent;
mod soak;
mod windows;

use super::{Cancellation, Method, Migration, Partition, Schedule, Settings};
use crate::{
    Atomic, Bag, Child, Coupled, Ended, Fact, ModelKey, Outbox, Simulation,
    core::Counts,
    effects::Effects,
    error::RunError,
    port::{InPort, OutPort},
    snapshot::{Snapshot, SnapshotError},
    time::{Duration, Tag},
    trace::{Observer, Site, Transition, Verdict},
};
use serde::{Deserialize, Serialize};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

const IN: InPort<i64> = InPort::new(0);
const OUT: OutPort<i64> = OutPort::new(0);

/// The reaction of a model to a message.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Habit {
    Add,
    /// Panics unless the bag has so many messages.
    Insist(usize),
    /// Fails at this input.
    Fail(i64),
    /// Asks to stop at this input.
    Stop(i64),
    /// Passes inputs on at once, so many times.
    Pass(i64),
    /// Counts as a located event, as a continuous unit does.
    Locate,
}

/// Sends its sum every period, as far as it has one.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Node {
    period: i64,
    left: i64,
    sum: i64,
    habit: Habit,
}

impl Node {
    fn new(period: i64, habit: Habit) -> Self {
        Self { period, left: period, sum: 0, habit }
    }
}

impl Atomic<i64> for Node {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.left == i64::MAX { Duration::INFINITE } else { Duration::from_ticks(self.left) }
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OUT, self.sum);
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.sum = self.sum.wrapping_mul(31) ^ fx.now().ticks;
        self.left = self.period;
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        if self.left != i64::MAX {
            self.left -= elapsed.ticks();
        }
        let count = self.sum.count_ones();
        self.sum = bag.on(IN).fold(self.sum, |sum, x| sum.wrapping_add(*x).rotate_left(7));
        match self.habit {
            Habit::Add => {}
            Habit::Insist(messages) => assert_eq!(bag.len(), messages, "an incomplete bag"),
            Habit::Fail(at) if fx.now().ticks >= at => fx.fail("as planned"),
            Habit::Stop(at) if fx.now().ticks >= at => fx.stop("as planned"),
            Habit::Pass(times) if i64::from(fx.now().micro) < times => self.left = 0,
            Habit::Locate => fx.located(),
            _ => fx.report(Fact::Note(format!("{count}").into())),
        }
    }
}

/// Makes silent steps, and sends after every third.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Quiet {
    step: i64,
    /// Where the next step begins, or what is due, after the last transition.
    next: i64,
    left: u32,
    sum: i64,
}

impl Quiet {
    fn new(step: i64) -> Self {
        Self { step, next: step, left: 3, sum: 0 }
    }
}

impl Atomic<i64> for Quiet {
    const SILENT: bool = true;
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.next)
    }
    fn is_silent(&self) -> bool {
        self.left > 0
    }
    fn advance(&mut self, bound: Duration, _: &mut Effects<i64>) {
        while self.left > 0 && self.next < bound.ticks() {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(self.step);
            self.next += self.step;
            self.left -= 1;
        }
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OUT, self.sum);
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        (self.next, self.left) = (self.step, 3);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, _: &mut Effects<i64>) {
        self.next -= elapsed.ticks();
        self.sum = bag.on(IN).fold(self.sum, |sum, x| sum.wrapping_add(*x).rotate_left(7));
    }
}

/// A node that cannot save its state, as a socket.
struct Fixed(Node);

impl Snapshot for Fixed {
    type Saved = ();
    fn save(&self) -> Result<(), SnapshotError> {
        Err(SnapshotError::Unsupported("it goes one way".into()))
    }
    fn restore(&mut self, (): &()) -> Result<(), SnapshotError> {
        Err(SnapshotError::Unsupported("it goes one way".into()))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        Err(SnapshotError::Unsupported("it goes one way".into()))
    }
    fn restore_bytes(&mut self, _: &[u8]) -> Result<(), SnapshotError> {
        Err(SnapshotError::Unsupported("it goes one way".into()))
    }
}

impl Atomic<i64> for Fixed {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.0.time_advance()
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        self.0.output(out);
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.0.internal(fx);
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.0.external(elapsed, bag, fx);
    }
}

/// Writes down all that it is told; may ask for a stop at a cycle.
#[derive(Debug, Default)]
struct Tape {
    lines: Vec<String>,
    stop: Option<i64>,
}

impl Observer<i64> for Tape {
    fn wants_transitions(&self, _: ModelKey) -> bool {
        true
    }
    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, i64>) -> Verdict {
        let bag: Vec<_> = t.bag.iter().flat_map(Bag::iter).collect();
        let (kind, out, next) = (t.kind, t.outputs, t.next);
        self.lines.push(format!("{} {site:?} {kind:?} {bag:?} {out:?} {next}", t.tag));
        ControlFlow::Continue(())
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        self.lines.push(format!("{tag} {site:?} {fact:?}"));
        ControlFlow::Continue(())
    }
    fn cycle(&mut self, tag: Tag) -> Verdict {
        self.lines.push(format!("{tag}"));
        match self.stop.take_if(|at| *at <= tag.ticks) {
            Some(_) => ControlFlow::Break("enough".into()),
            None => ControlFlow::Continue(()),
        }
    }
    fn stop(&mut self, tag: Tag, reason: &str) {
        self.lines.push(format!("{tag} stops: {reason}"));
    }
}

type Outcome = (Vec<Result<Ended, String>>, u64, Counts, Vec<String>);

const END: i64 = 300;

/// A run, and how it goes on after a stop.
fn outcome(model: Coupled<i64>, stop: Option<i64>, settings: Option<&Settings>) -> Outcome {
    let mut sim = Simulation::new(model, Default::default()).expect("a legal model");
    let tape = Arc::new(Mutex::new(Tape { stop, ..Tape::default() }));
    sim.observe(Arc::clone(&tape));
    let mut ends = Vec::new();
    for end in [END / 3, END, END] {
        let ended = match settings {
            None => sim.run_through(end),
            Some(settings) => sim.run_through_parallel(end, settings).map(|e| e.0),
        };
        ends.push(ended.map_err(|e| e.to_string()));
    }
    let lines = std::mem::take(&mut tape.lock().expect("no panic").lines);
    (ends, sim.trace_hash(), sim.counts(), lines)
}

/// The sequential run, after every parallel one was found equal to it.
fn check(model: impl Fn() -> Coupled<i64>, stop: Option<i64>) -> Outcome {
    let expected = outcome(model(), stop, None);
    let same = |settings: &Settings| {
        let found = outcome(model(), stop, Some(settings));
        let differs = found.3.iter().zip(&expected.3).find(|(a, b)| a != b);
        assert!(found == expected, "{settings:?}: {differs:?}, {:?} {:?}", found.0, found.2);
    };
    for seed in 0..60u64 {
        let partition = match seed / 4 % 4 {
            0 => Partition::Blocks,
            1 => Partition::RoundRobin,
            2 => Partition::Wiring,
            _ => Partition::Given(vec![0, 0, 1, 2, 1]),
        };
        let migration = match seed % 3 {
            0 => Migration::AtEachCut,
            1 => Migration::WhenSkewed,
            _ => Migration::Never,
        };
        let lazy = seed % 2 == 1;
        let settings = Settings {
            method: if seed % 5 == 4 { Method::Conservative } else { Method::TimeWarp },
            probe: seed % 4 == 0,
            workers: [2, 1, 3, 8][seed as usize % 4],
            cancellation: if lazy { Cancellation::Lazy } else { Cancellation::Aggressive },
            save_every: [1, 7, u32::MAX][seed as usize / 3 % 3],
            partition,
            migration,
            schedule: Schedule::Virtual(seed),
            memory: [0.9, 0.0, 2.0][seed as usize / 5 % 3],
            patience: [16, 2][seed as usize / 7 % 2],
            batch: 64,
            in_step: true,
            clock: None,
        };
        same(&settings);
    }
    same(&Settings { method: Method::Conservative, ..Settings::default() });
    // More workers than cores; a cut after every transition.
    for (workers, batch) in [(2, 64), (8, 1)] {
        same(&Settings { workers, batch, ..Settings::default() });
    }
    expected
}

/// Models in a ring; each also reaches the one after the next.
fn ring(top: &mut Coupled<i64>, nodes: &[Child]) {
    for (i, from) in nodes.iter().enumerate() {
        for step in [1, 2] {
            top.couple(from.output(OUT), nodes[(i + step) % nodes.len()].input(IN));
        }
    }
}

fn nodes(habit: Habit) -> Coupled<i64> {
    let mut top = Coupled::new();
    let children: Vec<_> =
        (0..5).map(|i| top.add(("node", i), Node::new(3 + 2 * i as i64, habit)).any()).collect();
    ring(&mut top, &children);
    top
}

#[test]
fn a_bag_that_is_not_complete_may_panic() {
    // Both senders are due at the same ticks; the receiver panics on one message without the other.
    let model = || {
        let mut top = Coupled::new();
        let receiver = top.add("m", Node::new(i64::MAX, Habit::Insist(2))).any();
        for name in ["a", "z"] {
            let sender = top.add(name, Node::new(5, Habit::Add)).any();
            top.couple(sender.output(OUT), receiver.input(IN));
        }
        top
    };
    let (ends, .., counts, _) = check(model, None);
    assert!(ends.iter().all(Result::is_ok) && counts.external == END as u64 / 5);
}

#[test]
fn errors_and_stops_come_as_in_the_sequential_run() {
    let (ends, .., lines) = check(|| nodes(Habit::Fail(200)), None);
    assert!(ends[1].as_ref().is_err_and(|e| e.contains("as planned")) && lines.len() > 100);
    let (ends, ..) = check(|| nodes(Habit::Stop(250)), None);
    assert!(matches!(&ends[1], Ok(Ended::Stopped(why)) if why == "as planned"));
    for stop in [0, 7, 150, 151] {
        let (ends, ..) = check(|| nodes(Habit::Add), Some(stop));
        assert!(ends.contains(&Ok(Ended::Stopped("enough".into()))), "{ends:?}");
    }
}

#[test]
fn zero_time_loops_and_located_events_are_counted_alike() {
    let model = || {
        let mut top = Coupled::new();
        let pass = |_| Node::new(END / 2, Habit::Pass(300));
        let children: Vec<_> = (0..5).map(|i| top.add(("node", i), pass(i)).any()).collect();
        ring(&mut top, &children);
        top
    };
    let (ends, _, counts, _) = check(model, None);
    assert!(ends.iter().all(Result::is_ok) && counts.cycles > 600);
    let (ends, ..) = check(|| nodes(Habit::Locate), None);
    assert!(ends.iter().all(Result::is_ok));
}

#[test]
fn units_that_cannot_go_back_are_never_run_ahead() {
    // Two of them wired to each other and due at the same tags, among others that can.
    let model = || {
        let mut top = Coupled::new();
        let fixed = [0, 1].map(|i| top.add(("fixed", i), Fixed(Node::new(10, Habit::Add))).any());
        let mut children = fixed.to_vec();
        children
            .extend((2..5).map(|i| top.add(("node", i), Node::new(i as i64, Habit::Add)).any()));
        ring(&mut top, &children);
        top
    };
    let (ends, _, counts, _) = check(model, None);
    assert!(ends.iter().all(Result::is_ok) && counts.confluent > 0);
}

#[test]
fn a_panic_of_an_observer_ends_the_run() {
    struct Bad;
    impl Observer<i64> for Bad {
        fn cycle(&mut self, tag: Tag) -> Verdict {
            assert!(tag.ticks < 50, "as planned");
            ControlFlow::Continue(())
        }
    }
    let ended = std::panic::catch_unwind(|| {
        let mut sim = Simulation::new(nodes(Habit::Add), Default::default()).expect("a model");
        sim.observe(Bad);
        sim.run_through_parallel(END, &Settings { workers: 4, ..Settings::default() })
    });
    assert!(ended.is_err());
}

/// Passes its input on after a delay that it promises.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pipe {
    delay: i64,
    now: i64,
    waiting: Vec<(i64, i64)>,
}

impl Atomic<i64> for Pipe {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.waiting.first().map_or(Duration::INFINITE, |w| Duration::between(self.now, w.0))
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.delay)
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        let due = self.waiting.first().map_or(0, |w| w.0);
        for w in self.waiting.iter().filter(|w| w.0 == due) {
            out.send(OUT, w.1 % 7);
        }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.now = fx.now().ticks;
        self.waiting.retain(|w| w.0 > fx.now().ticks);
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.now = fx.now().ticks;
        let sum = bag.on(IN).fold(0i64, |sum, x| sum.wrapping_add(*x));
        let at = self.now + self.delay + sum.rem_euclid(5);
        self.waiting.push((at, sum.wrapping_add(1)));
        self.waiting.sort_unstable();
    }
}

#[test]
fn declared_delays_make_windows_in_which_nothing_comes_late() {
    let model = || {
        let mut top = Coupled::new();
        let pipes = (0..6).map(|i| {
            let mut waiting = vec![(i as i64, 1), (3, 2)];
            waiting.sort_unstable();
            top.add(("pipe", i), Pipe { delay: 2 + i as i64, now: 0, waiting }).any()
        });
        let pipes: Vec<Child> = pipes.collect();
        ring(&mut top, &pipes);
        // A sink on one of the workers, which hears of everything.
        let sink = top.add("sink", Node::new(i64::MAX, Habit::Add)).any();
        for pipe in &pipes {
            top.couple(pipe.output(OUT), sink.input(IN));
        }
        top
    };
    let (ends, .., lines) = check(model, None);
    assert!(ends.iter().all(Result::is_ok) && lines.len() > 500);
    // On threads windows that hold so little are given up.
    let (method, schedule) = (Method::Conservative, Schedule::Virtual(1));
    let settings = Settings { method, schedule, workers: 3, ..Settings::default() };
    let mut sim = Simulation::new(model(), Default::default()).expect("a model");
    let (_, did) = sim.run_through_parallel(END, &settings).expect("a run");
    assert!(did.no_lookahead.is_none() && did.committed > 200 && did.gvt_rounds > 20, "{did:?}");
    // Zero delay on the way: said, and run in step.
    let mut sim = Simulation::new(nodes(Habit::Add), Default::default()).expect("a model");
    let (_, did) = sim.run_through_parallel(END, &settings).expect("a run");
    assert_eq!((did.no_lookahead.as_deref(), did.window), (Some("node[0]"), 0));
    assert!(did.committed > 300, "{did:?}");
}

/// Counts its transitions in a place that no snapshot knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Leaky;

static LEAK: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

impl Atomic<i64> for Leaky {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(5 + LEAK.load(std::sync::atomic::Ordering::Relaxed) % 3)
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        LEAK.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn state_outside_of_the_snapshot_is_found_by_doing_it_twice() {
    let run = |probe: bool| {
        let mut top = Coupled::new();
        top.add("honest", Node::new(3, Habit::Add));
        top.add("leaky", Leaky);
        let mut sim = Simulation::new(top, Default::default()).expect("a model");
        let settings = Settings { probe, ..Settings::default() };
        sim.run_through_parallel(END, &settings).map(drop).map_err(|e| e.to_string())
    };
    let error = run(true).expect_err("an error");
    assert!(error.contains("leaky") && error.contains("outside of what `save` takes"), "{error}");
    assert_eq!(run(false), Ok(()));
}

/// The test above in which models panic on bags that are not complete, as a process of its own:
/// nobody hears of it.
#[test]
fn speculative_panics_are_not_told() {
    let own = std::env::current_exe().expect("a path");
    let test = "parallel::tests::a_bag_that_is_not_complete_may_panic";
    let done = std::process::Command::new(own)
        .args(["--exact", test, "--nocapture"])
        .output()
        .expect("the test starts");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("1 passed"));
    assert!(!told.contains("panicked"), "{told}");
}

/// Sends to its output ports from the last to the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Backwards;

impl Atomic<i64> for Backwards {
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(10)
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OutPort::<i64>::new(1), 1);
        out.send(OUT, 0);
    }
}

/// The order of what is carried nowhere, by no wire or by a translation that drops it, puts nothing
/// into disorder, which would keep what follows sequential.
#[test]
fn order_of_unheard_messages_is_forgotten() {
    for dropped in [false, true] {
        let mut top = Coupled::new();
        let a = top.add("a", Backwards).any();
        let b = top.add("b", Node::new(7, Habit::Add)).any();
        if dropped {
            for port in 0..2 {
                let from = a.output(OutPort::<i64>::new(port));
                top.couple_with(from, b.input(IN), "none", |_: &i64| None::<i64>);
            }
        }
        let mut sim = Simulation::new(top, Default::default()).unwrap();
        sim.run_through(15).unwrap();
        let (_, did) = sim.run_through_parallel(1_000, &Settings::default()).unwrap();
        assert!(did.committed > 100, "{did:?}");
    }
}

/// Settings with which no run can go on are refused; all others only cost time.
#[test]
fn settings_without_progress_are_refused() {
    let run = |settings: &Settings| {
        let mut sim = Simulation::new(nodes(Habit::Add), Default::default()).expect("a model");
        let ended = sim.run_through_parallel(END, settings).map(|e| e.0);
        // The simulation is as it was, and may be run otherwise.
        (ended, sim.run_through(END), sim.trace_hash())
    };
    let expected = run(&Settings::default());
    for method in [Method::TimeWarp, Method::Conservative] {
        let plain = Settings { method, workers: 3, ..Settings::default() };
        for memory in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(run(&Settings { memory, ..plain.clone() }), expected);
        }
        for settings in [
            Settings { save_every: 0, ..plain.clone() },
            Settings { patience: 0, ..plain.clone() },
            Settings { workers: 0, ..plain.clone() },
            Settings { batch: usize::MAX, ..plain.clone() },
        ] {
            assert_eq!(run(&settings), expected);
        }
        let (refused, ended, hash) = run(&Settings { batch: 0, ..plain });
        let error = refused.expect_err("no worker would do anything");
        assert!(
            matches!(error, RunError::Settings { .. }) && error.to_string().contains("`batch`")
        );
        assert_eq!((ended, hash), (expected.1.clone(), expected.2));
    }
}
