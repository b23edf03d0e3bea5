//! Long and thrash-prone runs of tokens that hop between entities (PHOLD).
//!
//! `SUPERDENSE_SOAK=1e9 cargo nextest run --release -p superdense-kernel soak --no-capture` runs as many
//! committed transitions in one run and prints how memory went: after each tenth of it.
use super::*;
use std::{sync::mpsc, thread};

/// Ways to near and to far entities.
const WAYS: u16 = 4;
/// Mean random part of a delay.
const MEAN: f64 = 1e5;

/// A workload.
#[derive(Debug, Clone, Copy)]
struct Hops {
    entities: u32,
    remote: f64,
    /// Least delay.
    least: i64,
    /// All delays are equal to the least one.
    ties: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entity {
    random: u64,
    remote: f64,
    least: i64,
    ties: bool,
    now: i64,
    /// Departure and port, the latest first.
    tokens: Vec<(i64, u16)>,
}

impl Entity {
    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn take(&mut self) {
        let mean = if self.ties { 0.0 } else { MEAN };
        let at = self.now + self.least + (-mean * self.unit().ln()) as i64;
        let far = if self.unit() <= self.remote { WAYS } else { 0 };
        let way = (self.unit() * f64::from(WAYS)) as u16 % WAYS + far;
        let place = self.tokens.partition_point(|t| t.0 >= at);
        self.tokens.insert(place, (at, way));
    }
}

impl Atomic<i64> for Entity {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        2 * WAYS
    }
    fn time_advance(&self) -> Duration {
        self.tokens.last().map_or(Duration::INFINITE, |t| Duration::between(self.now, t.0))
    }
    fn lookahead(&self, _: u16) -> Duration {
        Duration::from_ticks(self.least)
    }
    fn earliest_output(&self, port: u16) -> Duration {
        let first = self.tokens.iter().rfind(|t| t.1 == port);
        first.map_or(Duration::INFINITE, |t| Duration::between(self.now, t.0))
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        let Some(&(due, _)) = self.tokens.last() else { return };
        for way in 0..2 * WAYS {
            let sent = self.tokens.iter().rev().take_while(|t| t.0 == due).filter(|t| t.1 == way);
            sent.for_each(|t| out.send(OutPort::<i64>::new(way), t.0));
        }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.now = fx.now().ticks;
        while self.tokens.pop_if(|t| t.0 == self.now).is_some() {}
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.now = fx.now().ticks;
        bag.on(IN).for_each(|_| self.take());
    }
}

impl Hops {
    fn build(self) -> Simulation<i64> {
        Simulation::new(self.network(), Default::default()).expect("a legal model")
    }

    fn network(self) -> Coupled<i64> {
        let mut top = Coupled::new();
        let Self { entities: n, remote, least, ties } = self;
        let children: Vec<Child> = (0..n)
            .map(|i| {
                let random = u64::from(i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let tokens = Vec::new();
                let mut entity = Entity { random, remote, least, ties, now: 0, tokens };
                for _ in 0..20 {
                    entity.unit();
                }
                entity.take();
                top.add(("entity", i as usize), entity).any()
            })
            .collect();
        let half = n / 2;
        for i in 0..n {
            for way in 0..2 * WAYS {
                let within = (i + [1, 7, 31, 127][usize::from(way % WAYS)]) % half;
                let upper = (i >= half) != (way >= WAYS);
                let to = children[(within + if upper { half } else { 0 }) as usize];
                let from = children[i as usize].output(OutPort::<i64>::new(way));
                top.couple(from, to.input(IN));
            }
        }
        top
    }

    /// The last tick of about so many hops.
    fn end(self, hops: f64) -> i64 {
        let mean = if self.ties { 0.0 } else { MEAN };
        (hops / f64::from(self.entities) * (mean + self.least as f64)) as i64
    }
}

/// Panics when it takes longer than any load of the machine explains.
fn watched<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let worker = thread::spawn(move || {
        let result = run();
        let _ = tell.send(());
        result
    });
    match told.recv_timeout(std::time::Duration::from_secs(240)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} stalls"),
        _ => worker.join().expect("no panic"),
    }
}

#[test]
fn thrash_prone_runs_neither_stall_nor_differ() {
    let plain = Hops { entities: 256, remote: 0.5, least: 10_000, ties: false };
    // Seven of eight entities on one worker.
    let skewed = Partition::Given(vec![0, 0, 0, 0, 0, 0, 0, 1]);
    let cases = [
        ("remote share 0.5", plain, Partition::Blocks),
        ("zero lookahead", Hops { least: 0, ..plain }, Partition::Blocks),
        ("all ties", Hops { ties: true, ..plain }, Partition::Blocks),
        ("all ties, everything remote", Hops { ties: true, ..plain }, Partition::RoundRobin),
        ("skewed load", plain, skewed),
    ];
    for (name, hops, partition) in cases {
        let end = hops.end(20_000.0);
        let mut sequential = hops.build();
        sequential.run_through(end).expect("a run");
        for workers in [2, 8] {
            for cancellation in [Cancellation::Aggressive, Cancellation::Lazy] {
                let partition = partition.clone();
                let settings = Settings { workers, partition, cancellation, ..Settings::default() };
                let what = format!("{name} with {workers} workers, {cancellation:?}");
                let (hash, did) = watched(&what, move || {
                    let mut sim = hops.build();
                    let (_, did) = sim.run_through_parallel(end, &settings).expect("a run");
                    (sim.trace_hash(), did)
                });
                assert_eq!(hash, sequential.trace_hash(), "{what}");
                assert!(did.committed > 10_000, "{what}: {did:?}");
            }
        }
    }
}

/// Idle workers do not make rounds among themselves: of three rounds one holds something, but for
/// those at the ends.
#[test]
fn idle_workers_make_few_rounds() {
    let plain = Hops { entities: 256, remote: 0.1, least: 100_000, ties: false };
    let near = Hops { remote: 0.0, ..plain };
    // All that happens is on one of eight workers.
    let alone = Partition::Given(vec![0]);
    for (name, hops, partition, method) in [
        ("alone", near, alone.clone(), Method::TimeWarp),
        ("alone", near, alone, Method::Conservative),
        ("together", plain, Partition::Blocks, Method::TimeWarp),
        ("together", plain, Partition::Blocks, Method::Conservative),
    ] {
        let end = hops.end(20_000.0);
        let settings =
            Settings { workers: 8, method, partition, probe: false, ..Settings::default() };
        let did = watched(name, move || {
            let mut sim = hops.build();
            sim.run_through_parallel(end, &settings).expect("a run").1
        });
        let (empty, full) = (did.empty_rounds, did.gvt_rounds - did.empty_rounds);
        // Each stretch ends with what is left to commit.
        let ends = 4 * (did.poor_windows + did.sequential_cycles.min(8) + 1);
        assert!(empty <= 2 * full + ends, "{name}, {method:?}: {did:?}");
    }
}

/// Bytes of memory that this process holds; nothing where that is not told.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

/// Bytes of memory at each tenth of a run.
static CURVE: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Looks at the memory of the process at each tenth of a run. Nothing reaches it, so that no rollback
/// makes it look twice.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Gauge {
    every: i64,
}

impl Atomic<i64> for Gauge {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.every)
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        CURVE.lock().expect("no panic").extend(resident());
    }
}

/// Tells how many cycles there were.
struct Cycles(Arc<Mutex<u64>>);

impl Observer<i64> for Cycles {
    fn cycle(&mut self, _: Tag) -> Verdict {
        *self.0.lock().expect("no panic") += 1;
        ControlFlow::Continue(())
    }
}

/// A run during which memory must not grow, with an observer or without.
fn soak(transitions: f64, observed: bool) {
    let hops = Hops { entities: 2048, remote: 0.1, least: 10_000, ties: false };
    let end = hops.end(transitions / 2.0);
    let build = || {
        let mut top = hops.network();
        top.add("gauge", Gauge { every: end / 10 });
        Simulation::new(top, Default::default()).expect("a legal model")
    };
    let settings = Settings { workers: 8, probe: false, ..Settings::default() };
    let (mut sim, mut plain) = (build(), build());
    let cycles = Arc::new(Mutex::new(0));
    if observed {
        sim.observe(Cycles(Arc::clone(&cycles)));
    }
    let (_, did) = sim.run_through_parallel(end, &settings).expect("a run");
    let curve = std::mem::take(&mut *CURVE.lock().expect("no panic"));
    let held: Vec<_> = curve.iter().map(|bytes| bytes >> 10).collect();
    let saved = did.peak_saved_bytes as f64 / did.live_state_bytes as f64;
    println!("{} committed, KiB by tenths {held:?}, saved {saved:.2} times", did.committed);
    assert!(saved <= 4.0, "{saved} times the live state saved");
    assert!(did.committed as f64 > 0.9 * transitions, "{did:?}");
    if let [first, early, .., last] = curve[..] {
        assert!(last < early + early / 4 + (4 << 20), "memory grows: {held:?}");
        // The first tenth of a short run is still filling its lists.
        let warm = transitions >= 1e9;
        assert!(!warm || last <= first + first / 20, "memory grows: {held:?}");
    }
    plain.run_through(end).expect("a run");
    CURVE.lock().expect("no panic").clear();
    assert_eq!(sim.trace_hash(), plain.trace_hash());
    assert_eq!(sim.counts(), plain.counts());
    assert!(!observed || *cycles.lock().expect("no panic") == plain.counts().cycles);
}

#[test]
fn a_soak_needs_no_more_memory_with_time() {
    let wanted = std::env::var("SUPERDENSE_SOAK").ok().and_then(|n| n.parse::<f64>().ok());
    let transitions = wanted.unwrap_or(4e5);
    watched_unless(wanted.is_some(), move || {
        soak(transitions, false);
        soak(transitions / 4.0, true);
    });
}

fn watched_unless(long: bool, run: impl FnOnce() + Send + 'static) {
    if long { run() } else { watched("the soak", run) }
}

/// Windows that hold a few transitions are not worth a round each: after some rounds the sequential
/// executor goes on. Counted, since times depend on what else the machine does.
#[test]
fn windows_that_hold_little_are_given_up() {
    let plain = Hops { entities: 256, remote: 0.5, least: 5_000, ties: false };
    let long = Hops { least: 1_000_000, remote: 0.02, ..plain };
    for (name, hops, crews, gives_up) in [
        ("half of the hops are remote", plain, &[2, 4, 8][..], true),
        ("long delays", long, &[2], false),
    ] {
        let end = hops.end(100_000.0);
        let mut sequential = hops.build();
        sequential.run_through(end).expect("a run");
        let counts = sequential.counts();
        let transitions = counts.internal + counts.external + counts.confluent;
        for &workers in crews {
            let method = Method::Conservative;
            let settings = Settings { workers, method, probe: false, ..Settings::default() };
            let what = format!("{name} with {workers} workers");
            let (found, did) = watched(&what, move || {
                let mut sim = hops.build();
                let (_, did) = sim.run_through_parallel(end, &settings).expect("a run");
                ((sim.trace_hash(), sim.counts()), did)
            });
            assert_eq!(found, (sequential.trace_hash(), counts), "{what}");
            assert_eq!(did.poor_windows > 0, gives_up, "{what}: {did:?}");
            assert_eq!(did.sequential_cycles > 0, gives_up, "{what}: {did:?}");
            assert!(did.committed > 0 && did.rollbacks == 0, "{what}: {did:?}");
            // A round for 32 transitions at least, over the whole run.
            assert!(32 * did.gvt_rounds < transitions, "{what}: {transitions}, {did:?}");
        }
    }
}
