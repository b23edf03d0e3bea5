//! The conservative executor on random networks of pipes with delays, of models without, which stay
//! together, and of sinks.
use super::*;
use crate::{message::fold, parallel::Statistics};

/// Draws from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (fold(self.0, self.0.rotate_left(31)) >> 16) % n
    }
}

/// A pipe that also tells, at once and over a port of its own, that something came.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Bell {
    pipe: Pipe,
    rings: bool,
}

impl Atomic<i64> for Bell {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        if self.rings { Duration::ZERO } else { self.pipe.time_advance() }
    }
    fn lookahead(&self, port: u16) -> Duration {
        if port == 0 { self.pipe.lookahead(0) } else { Duration::ZERO }
    }
    fn earliest_output(&self, _: u16) -> Duration {
        self.time_advance()
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        if self.rings {
            out.send(OutPort::<i64>::new(1), self.pipe.waiting.len() as i64);
        } else {
            self.pipe.output(out);
            out.send(OutPort::<i64>::new(1), -1);
        }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        if !std::mem::take(&mut self.rings) {
            self.pipe.internal(fx);
        }
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.pipe.external(elapsed, bag, fx);
        self.rings = true;
    }
}

pub(super) fn network(seed: u64) -> Coupled<i64> {
    let mut draws = Draws(seed);
    let mut top = Coupled::new();
    let count = 3 + draws.below(9) as usize;
    let (mut children, mut bells) = (Vec::new(), Vec::new());
    for i in 0..count {
        let delay = 1 + draws.below(20) as i64;
        let at = draws.below(30) as i64;
        children.push(match draws.below(5) {
            0 => {
                let habit = match draws.below(6) {
                    0 => Habit::Stop(250),
                    1 => Habit::Fail(280),
                    2 => Habit::Pass(2),
                    _ => Habit::Add,
                };
                top.add(("m", i), Node::new(delay + 5, habit)).any()
            }
            kind => {
                let pipe = Pipe { delay, now: 0, waiting: vec![(at, 1), (at + 7, 2)] };
                if kind > 1 {
                    top.add(("m", i), pipe).any()
                } else {
                    bells.push(i);
                    top.add(("m", i), Bell { pipe, rings: false }).any()
                }
            }
        });
    }
    for from in 0..count {
        let to = (from + 1 + draws.below(count as u64 - 1) as usize) % count;
        let also = (from + 1 + draws.below(count as u64 - 1) as usize) % count;
        top.couple(children[from].output(OUT), children[to].input(IN));
        if also != to {
            top.couple(children[from].output(OUT), children[also].input(IN));
        }
    }
    for i in 0..draws.below(3) as usize {
        let sink = top.add(("sink", i), Node::new(i64::MAX, Habit::Add)).any();
        for from in children.iter().filter(|_| draws.below(2) == 0) {
            top.couple(from.output(OUT), sink.input(IN));
        }
        for &bell in bells.iter().filter(|_| draws.below(2) == 0) {
            top.couple(children[bell].output(OutPort::<i64>::new(1)), sink.input(IN));
        }
    }
    top
}

fn statistics(model: Coupled<i64>, settings: &Settings) -> Statistics {
    let mut sim = Simulation::new(model, Default::default()).expect("a legal model");
    sim.run_through_parallel(END, settings).map_or_else(|_| Statistics::default(), |(_, did)| did)
}

#[test]
fn random_networks_run_as_in_the_sequential_run() {
    let mut windows = 0;
    for seed in 0..300 {
        let stop = (seed % 7 == 0).then_some(200);
        let expected = outcome(network(seed), stop, None);
        let settings = Settings {
            method: Method::Conservative,
            workers: [2, 3, 8][seed as usize % 3],
            partition: match seed % 4 {
                0 => Partition::RoundRobin,
                1 => Partition::Wiring,
                _ => Partition::Blocks,
            },
            schedule: if seed % 15 == 0 { Schedule::Threads } else { Schedule::Virtual(seed) },
            ..Settings::default()
        };
        let found = outcome(network(seed), stop, Some(&settings));
        let differs = found.3.iter().zip(&expected.3).find(|(a, b)| a != b);
        assert!(
            found == expected,
            "{seed} {settings:?}: {differs:?}\n{:?} {:?}\n{:?} {:?}",
            (&found.0, found.2),
            found.3.len(),
            (&expected.0, expected.2),
            expected.3.len()
        );
        let settings = Settings { schedule: Schedule::Virtual(seed), ..settings };
        let did = statistics(network(seed), &settings);
        // All keep their promises.
        assert!(did.window == 0 || did.no_lookahead.is_none(), "{seed}: {did:?}");
        windows += did.gvt_rounds;
    }
    assert!(windows > 3_000, "{windows} windows");
}

/// A pipe that promises more than it keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Liar(Pipe);

impl Atomic<i64> for Liar {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.0.time_advance()
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(3 * self.0.delay)
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

/// Two pipes, one of which breaks its promise.
pub(super) fn deceived() -> Coupled<i64> {
    let mut top = Coupled::new();
    let pipe = |delay| Pipe { delay, now: 0, waiting: vec![(1, 1)] };
    let honest = top.add("honest", pipe(10)).any();
    let liar = top.add("liar", Liar(pipe(5))).any();
    top.couple(honest.output(OUT), liar.input(IN));
    top.couple(liar.output(OUT), honest.input(IN));
    top
}

/// A unit that breaks its promise is found out and named, and the result is that of the sequential
/// run.
#[test]
fn broken_promises_are_found_out() {
    let settings = Settings { method: Method::Conservative, ..Settings::default() };
    assert_eq!(outcome(deceived(), None, Some(&settings)), outcome(deceived(), None, None));
    let did = statistics(deceived(), &settings);
    assert_eq!(did.no_lookahead.as_deref(), Some("liar"), "{did:?}");
}

/// To weigh what comes next leaves no trace, whatever it is.
#[test]
fn weighing_changes_nothing() {
    let mut weighed = 0;
    for seed in 0..40 {
        let run = |weighs: bool, weighed: &mut u32| {
            let mut sim = Simulation::new(network(seed), Default::default()).expect("a model");
            let tape = Arc::new(Mutex::new(Tape::default()));
            sim.observe(Arc::clone(&tape));
            let mut error = None;
            for end in (10..END).step_by(10) {
                if weighs {
                    *weighed += u32::from(sim.weigh_next(i64::MAX, || 7).is_some());
                }
                error = error.or(sim.run_through(end).err().map(|e| e.to_string()));
            }
            let lines = std::mem::take(&mut tape.lock().expect("no panic").lines);
            (lines, error, sim.trace_hash(), sim.counts())
        };
        assert_eq!(run(true, &mut weighed), run(false, &mut weighed), "{seed}");
    }
    assert!(weighed > 500, "{weighed}");
}

/// Models without delays go in step, also where a sink comes first of all in the order of paths.
#[test]
fn a_first_sink_divides_nothing() {
    let model = || {
        let mut top = Coupled::new();
        let sink = top.add("a sink", Node::new(i64::MAX, Habit::Add)).any();
        let nodes: Vec<Child> = (0..5)
            .map(|i| top.add(("node", i), Node::new(3 + i as i64, Habit::Add)).any())
            .collect();
        ring(&mut top, &nodes);
        top.couple(nodes[0].output(OUT), sink.input(IN));
        top
    };
    // All that sends is put together with the second worker's first model.
    let partition = Partition::Given(vec![0, 1, 0, 1, 0, 1]);
    let schedule = Schedule::Virtual(1);
    let settings =
        Settings { method: Method::Conservative, partition, schedule, ..Settings::default() };
    assert_eq!(outcome(model(), None, Some(&settings)), outcome(model(), None, None));
    let did = statistics(model(), &settings);
    assert_eq!((did.window, did.no_lookahead.is_some()), (0, true), "{did:?}");
}

/// Which threads listened.
static LISTENED: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ear;

impl Atomic<i64> for Ear {
    fn inputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::INFINITE
    }
    fn external(&mut self, _: Duration, _: &Bag<'_, i64>, _: &mut Effects<i64>) {
        let (me, mut all) = (std::thread::current().id(), LISTENED.lock().expect("no panic"));
        if !all.contains(&me) {
            all.push(me);
        }
    }
}

/// Models that only listen are divided, also where one worker has all that talk; the run is one
/// window.
#[test]
fn listeners_have_a_thread_each() {
    let mut top = Coupled::new();
    let talker = top.add("a talker", Node::new(5, Habit::Add)).any();
    for i in 0..4 {
        let ear = top.add(("ear", i), Ear).any();
        top.couple(talker.output(OUT), ear.input(IN));
    }
    let settings = Settings {
        method: Method::Conservative,
        partition: Partition::Given(vec![0, 0, 0, 1, 1]),
        ..Settings::default()
    };
    let did = statistics(top, &settings);
    assert!(did.window > 0 && did.committed > 100, "{did:?}");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(LISTENED.lock().expect("no panic").len(), cores.min(2));
}

/// Moves many times in the same instant.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Spinner {
    starts: bool,
    left: u32,
    sum: i64,
}

impl Atomic<i64> for Spinner {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        match (self.starts, self.left) {
            (true, _) => Duration::from_ticks(5),
            (_, 0) => Duration::INFINITE,
            _ => Duration::ZERO,
        }
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OUT, self.sum);
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        self.left -= u32::from(!std::mem::take(&mut self.starts));
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, i64>, _: &mut Effects<i64>) {
        bag.iter().for_each(|(_, v)| self.sum = fold(self.sum as u64, *v as u64) as i64);
    }
}

/// One instant that takes longer than what is done between saved states: parts go on in step.
#[test]
fn the_middle_of_an_instant_is_gone_through_in_step() {
    let model = || {
        let mut top = Coupled::new();
        let spinner = |i| Spinner { starts: true, left: 800, sum: i };
        let all: Vec<Child> = (0..40).map(|i| top.add(("m", i), spinner(i as i64)).any()).collect();
        ring(&mut top, &all);
        top
    };
    let settings = Settings { method: Method::Conservative, ..Settings::default() };
    assert_eq!(outcome(model(), None, Some(&settings)), outcome(model(), None, None));
    let did = statistics(model(), &settings);
    assert!(did.committed > 30_000 && did.sequential_cycles < 40, "{did:?}");
}

/// Tells something at the start, which its promise denies.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Early {
    due: Duration,
}

impl Atomic<i64> for Early {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.due
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(50)
    }
    fn earliest_output(&self, _: u16) -> Duration {
        Duration::from_ticks(50)
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OutPort::<i64>::new(0), 1);
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        self.due = Duration::INFINITE;
    }
}

/// A promise that is broken at the very start is found out, also with a sink behind those who hear of it.
#[test]
fn promises_that_are_broken_at_the_start_are_found_out() {
    let model = |sink: bool| {
        let mut top = Coupled::new();
        let early: Vec<Child> =
            (0..2).map(|i| top.add(("a", i), Early { due: Duration::ZERO }).any()).collect();
        let nodes: Vec<Child> =
            (0..2).map(|i| top.add(("b", i), Node::new(3 + i as i64, Habit::Add)).any()).collect();
        for (early, node) in early.iter().zip(&nodes) {
            top.couple(early.output(OUT), node.input(IN));
        }
        if sink {
            let sink = top.add("c", Node::new(i64::MAX, Habit::Add)).any();
            nodes.iter().for_each(|node| top.couple(node.output(OUT), sink.input(IN)));
        }
        top
    };
    for (sink, parts) in
        [(false, vec![0, 1, 1, 0]), (true, vec![0, 1, 1, 0, 0]), (true, vec![0, 0, 0, 1, 1])]
    {
        for seed in 0..4 {
            let (partition, schedule) = (Partition::Given(parts.clone()), Schedule::Virtual(seed));
            let settings = Settings {
                method: Method::Conservative,
                partition,
                schedule,
                ..Settings::default()
            };
            let found = outcome(model(sink), None, Some(&settings));
            assert_eq!(found, outcome(model(sink), None, None), "{parts:?}");
        }
    }
}
