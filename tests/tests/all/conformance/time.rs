//! T1-T11: time.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Coupled, Options,
    error::RunError,
    time::{Duration, RationalClock, Resolution, Tag, TimeError},
};
use superdense_tests::{
    MS, NEVER, S,
    machine::{Machine, On},
    parts::{Delay, Gen, Sink},
    record::Run,
    unit::{Unit, add, any_input, chain, wire},
};

/// A clock whose k-th instant is computed from k.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Indexed {
    clock: RationalClock,
    k: u64,
}

impl Indexed {
    fn new(numerator: i64, denominator: i64) -> Self {
        let clock = RationalClock::new(numerator, denominator, 0, Resolution::NANO).unwrap();
        Self { clock, k: 0 }
    }
}

impl Machine for Indexed {
    const INPUTS: u16 = 0;
    fn advance(&self) -> i64 {
        self.clock.tick(self.k + 1).unwrap() - self.clock.tick(self.k).unwrap()
    }
    fn output(&self) -> Vec<On> {
        vec![(0, 1)]
    }
    fn internal(&mut self) {
        self.k += 1;
    }
}

/// Clocks into one sink.
fn clocks(list: Vec<Gen>) -> Coupled<i64> {
    let mut top = Coupled::new();
    let k = add(&mut top, "k", Sink::default());
    for (i, gen_) in list.into_iter().enumerate() {
        let c = top.add(("clock", i), Unit::new(gen_)).any();
        wire(&mut top, (c, 0), (k, 0));
    }
    top
}

#[test]
fn t01_ten_tenths() {
    let run = Run::through(clocks(vec![Gen::every(S / 10), Gen::every(S).value(2)]), S);
    let heard = run.received("k");
    assert_eq!(heard.len(), 10);
    assert_eq!(heard[9], ((S, 0), vec![1, 2]));
    assert_eq!(run.tape().cycles.iter().filter(|c| c.0 == S).count(), 1);
}

#[test]
fn t02_drift() {
    let mut top = Coupled::new();
    add(&mut top, "clock", Gen { left: 1_000_000, ..Gen::every(S / 10) });
    let mut sim = superdense_kernel::Simulation::new(top, Options::default()).unwrap();
    sim.run_through(i64::MAX).unwrap();
    assert_eq!(sim.counts().internal, 1_000_000);
    assert_eq!(sim.now(), Tag::new(100_000 * S, 0));
}

#[test]
fn t03_three_clocks() {
    let list = [1, 2, 3].map(|i| Gen::every(i * S / 10).value(i));
    let run = Run::through(clocks(list.to_vec()), 60 * S);
    let heard = run.received("k");
    assert_eq!(heard.len(), 600);
    let count = |set: &[i64]| heard.iter().filter(|h| h.1 == set).count();
    assert_eq!(
        [count(&[1]), count(&[1, 2]), count(&[1, 3]), count(&[1, 2, 3])],
        [200, 200, 100, 100]
    );
}

#[test]
fn t04_master_and_slave_never_drift() {
    const STEPS: u64 = 1_000_000;
    let mut top = Coupled::new();
    let master = add(&mut top, "master", Indexed::new(1, 1000));
    let slave = add(&mut top, "slave", Gen::every(MS));
    let k = add(&mut top, "k", Sink::default());
    wire(&mut top, (master, 0), (k, 0));
    wire(&mut top, (slave, 0), (k, 0));
    let mut sim = superdense_kernel::Simulation::new(top, Options::default()).unwrap();
    for steps in [256_040, STEPS] {
        sim.run_through(steps as i64 * MS).unwrap();
        let bags = sim.model::<Unit<Sink>>("k").unwrap().machine.bags;
        assert_eq!((bags[1], bags[2]), (0, steps));
        assert_eq!(sim.counts().cycles, steps);
    }
}

#[test]
fn t05_no_absorption() {
    let start = 1_000_000_000 * S;
    let mut top = Coupled::new();
    add(&mut top, "a", Gen::every(1));
    let mut run = Run::with(top, Options { start, ..Options::default() }).unwrap();
    run.sim.run_through(start + 5).unwrap();
    let cycles: Vec<_> = (1..=5).map(|i| (start + i, 0)).collect();
    assert_eq!(run.tape().cycles, cycles);
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tiny {
    advance: Duration,
}
impl Machine for Tiny {
    fn advance(&self) -> i64 {
        self.advance.ticks()
    }
}

#[test]
fn t06_tiny_but_positive() {
    let r = Resolution::NANO;
    assert!(matches!(r.duration(1e-20), Err(TimeError::BelowTick { .. })));
    assert_eq!(r.crossing(1e-20).unwrap(), Duration::from_ticks(1));
    // A discrete model: refused, by name.
    let mut top = Coupled::new();
    add(&mut top, "tiny", Tiny { advance: Duration::of_seconds(1e-20, r) });
    let error = Run::with(top, Options::default()).unwrap_err().to_string();
    assert!(error.contains("tiny") && error.contains("below one tick"), "{error}");
    // A continuous unit: one tick, so that tags increase.
    let mut top = Coupled::new();
    add(&mut top, "tiny", Tiny { advance: r.crossing(1e-20).unwrap() });
    let cycles = Run::through(top, 1000).tape().cycles;
    assert_eq!(cycles.len(), 1000);
    assert!(cycles.is_sorted_by(|a, b| a < b));
}

#[test]
fn t06_crossings_round_up_but_not_over() {
    let r = Resolution::NANO;
    let ticks = |s: f64| r.crossing(s).unwrap().ticks();
    assert_eq!([ticks(0.0), ticks(0.3), ticks(1.0 / 3.0)], [0, 300_000_000, 333_333_334]);
    // Every root that lies exactly on a tick, up to the rounding of one division, stays there.
    for k in 1..10_000 {
        assert_eq!(ticks(k as f64 * 1e-9), k);
        assert_eq!(ticks(k as f64 / 1e9 * 1.000_000_000_000_001), k);
    }
    assert_eq!(r.crossing(f64::INFINITY).unwrap(), Duration::INFINITE);
    for bad in [f64::NAN, -1.0, -1e-30, 1e300] {
        assert!(r.crossing(bad).is_err(), "{bad}");
    }
}

#[test]
fn t07_rational_period() {
    let third = RationalClock::new(1, 3, 0, Resolution::NANO).unwrap();
    let first: Vec<i64> = (1..=3).map(|k| third.tick(k).unwrap()).collect();
    assert_eq!(first, [333_333_333, 666_666_667, 1_000_000_000]);
    assert!((1..=1_000_000).all(|m| third.tick(3 * m).unwrap() == m as i64 * S));
    assert_ne!(3 * first[0], S, "repeating the first interval must fail");
    for k in [0, 1, 2, 3, 1_000_000] {
        let at = third.tick(k).unwrap();
        assert_eq!((third.index_from(at), third.index_from(at + 1)), (k, k + 1));
    }
    for (n, d, offset) in [(2, 7, 3), (7, 2, -4), (1, 1, 0), (5, 3, 1)] {
        let clock = RationalClock::new(n, d, offset, Resolution::SECOND).unwrap();
        for at in offset - 3..offset + 40 {
            let first = (0..).find(|&k| clock.tick(k).unwrap() >= at).unwrap();
            assert_eq!(clock.index_from(at), first, "{n}/{d} from {offset} at {at}");
        }
    }
    // A first instant between ticks is rounded with what follows: 1/3 s later is the clock above.
    let later = RationalClock::new(1, 3, 0, Resolution::NANO).unwrap().starting(1, 3).unwrap();
    assert!((0..1000).all(|k| later.tick(k) == third.tick(k + 1)));
    for (first, every) in [((1, 3), (2, 7)), ((-9, 2), (7, 2)), ((6, 3), (1, 1)), ((5, 7), (1, 5))]
    {
        let clock = RationalClock::new(every.0, every.1, 0, Resolution::SECOND).unwrap();
        let clock = clock.starting(first.0, first.1).unwrap();
        for k in 0..40i64 {
            // Whole parts of (2 (a/b + k c/d) + 1) / 2.
            let top = 2 * (first.0 * every.1 + k * every.0 * first.1) + first.1 * every.1;
            assert_eq!(clock.tick(k as u64), Ok(top.div_euclid(2 * first.1 * every.1)));
        }
        for at in -6..40 {
            let first = (0..).find(|&k| clock.tick(k).unwrap() >= at).unwrap();
            assert_eq!(clock.index_from(at), first, "{clock:?} at {at}");
        }
    }
    assert!(third.starting(1, 0).is_err() && third.starting(i64::MAX, 1).is_err());
    // Equal instants in a run.
    let mut top = Coupled::new();
    let thirds = add(&mut top, "thirds", Indexed::new(1, 3));
    let whole = add(&mut top, "whole", Gen::every(S));
    let k = add(&mut top, "k", Sink::default());
    wire(&mut top, (thirds, 0), (k, 0));
    wire(&mut top, (whole, 0), (k, 0));
    let run = Run::through(top, 1000 * S);
    let pairs = run.received("k").iter().filter(|h| h.1.len() == 2).count();
    assert_eq!((pairs, run.tape().cycles.len()), (1000, 3000));
}

#[test]
fn t08_tag_algebra() {
    let zero = Duration::ZERO;
    assert_eq!(Tag::ZERO.after(zero).unwrap(), Tag::new(0, 1));
    let four = (0..4).try_fold(Tag::new(S, 1), |t, _| t.after(zero)).unwrap();
    assert_eq!(four, Tag::new(S, 5));
    assert_eq!(four.after(Duration::from_ticks(S)).unwrap(), Tag::new(2 * S, 0));
    assert!(Tag::new(5, 2) < Tag::new(5, 3) && Tag::new(5, 3) < Tag::new(6, 0));
    assert_eq!(Tag::new(5, 2).after(Duration::INFINITE).unwrap(), Tag::NEVER);
    assert!(Tag::new(i64::MAX - 1, u32::MAX) < Tag::NEVER);
}

#[test]
fn t09_bounds() {
    let last = Tag::new(i64::MAX - 1, 0);
    assert!(matches!(last.after(Duration::from_ticks(5)), Err(TimeError::Overflow { .. })));
    // The tick that stands for never is not a time either.
    assert!(last.after(Duration::from_ticks(1)).is_err());
    assert!(Tag::new(0, u32::MAX).after(Duration::ZERO).is_err());
    assert!(Tag::ZERO.after(Duration::from_ticks(-1)).is_err());
    let r = Resolution::NANO;
    for bad in [f64::NAN, -1.0, 1e300] {
        assert!(r.duration(bad).is_err(), "{bad}");
    }
    assert_eq!(r.duration(0.1).unwrap().ticks(), 100_000_000);
    // In a run: an error that names the model, no wrap and no silent infinity.
    let mut top = Coupled::new();
    add(&mut top, "far", Gen::every(NEVER / 2));
    let mut run = Run::new(top);
    let error = run.sim.run_through(i64::MAX).unwrap_err().to_string();
    assert!(error.contains("far") && error.contains("overflow"), "{error}");
    assert_eq!(run.tape().cycles, [(NEVER / 2, 0), (NEVER / 2 * 2, 0)]);
}

#[test]
fn t09_starts_and_inputs_beyond_all_time() {
    for start in [i64::MIN, -(1 << 62) - 1, i64::MAX] {
        let mut top = Coupled::new();
        add(&mut top, "k", Sink::default());
        let error = Run::with(top, Options { start, ..Options::default() }).unwrap_err();
        assert!(matches!(error, RunError::Time { .. }), "{error}");
    }
    let mut top = Coupled::new();
    add(&mut top, "k", Sink::default());
    let mut run = Run::with(top, Options { start: -(1 << 62), ..Options::default() }).unwrap();
    assert!(matches!(run.sim.inject("k", any_input(0), i64::MAX, 1), Err(RunError::Time { .. })));
    assert!(matches!(run.sim.commit(i64::MAX, vec![]), Err(RunError::Time { .. })));
    run.sim.inject("k", any_input(0), i64::MAX - 1, 1).unwrap();
    run.sim.run_through(i64::MAX).unwrap();
    assert_eq!(run.received("k"), [((i64::MAX - 1, 0), vec![1])]);
}

#[test]
fn t09_odd_numbers_do_not_panic() {
    let clock = RationalClock::new(i64::MAX, 1, 0, Resolution::FEMTO).unwrap();
    assert!(clock.tick(u64::MAX).is_err());
    for text in ["1e-2147483648", "1e99999999999", "", ".", "--1", "1e", "nan", "9e30"] {
        assert!(Resolution::NANO.parse_ticks(text).is_err(), "{text}");
    }
    assert!(Resolution::NANO.parse_ticks("-2.5e-9").is_err());
    assert!(Resolution::NANO.parse_ticks("-25e-10").is_err());
    assert_eq!(Resolution::NANO.parse_ticks("-20e-10"), Ok(-2));
    let far: Result<Resolution, _> = serde_json::from_str("200");
    assert!(far.is_err());
}

#[test]
fn t10_coordinators_copy_the_minimum() {
    for a in 0..=200i64 {
        for b in a..=200 {
            let mut inner = Coupled::new();
            add(&mut inner, "a", Gen::once(a * S / 10, 1));
            add(&mut inner, "b", Gen::once(b * S / 10, 1));
            let mut top = Coupled::new();
            top.add_component("inner", inner);
            let mut sim = superdense_kernel::Simulation::new(top, Options::default()).unwrap();
            let mut seen = Vec::new();
            while let Some(tag) = sim.step(i64::MAX).unwrap() {
                seen.push(tag);
            }
            let mut expected = vec![Tag::new(a * S / 10, 0), Tag::new(b * S / 10, 0)];
            expected.dedup();
            assert_eq!(seen, expected);
        }
    }
}

#[test]
fn t11_path_equality() {
    let mut top = Coupled::new();
    let clock = add(&mut top, "clock", Gen::every(3 * S / 10));
    let one = add(&mut top, "one", Delay::new(S));
    let k = add(&mut top, "k", Sink::default());
    chain(&mut top, &[clock, one, k]);
    let mut row = vec![clock];
    row.extend((0..10).map(|i| top.add(("ten", i), Unit::new(Delay::new(S / 10))).any()));
    chain(&mut top, &row);
    wire(&mut top, (row[10], 0), (k, 1));
    let mut run = Run::new(top);
    run.sim.run_until(31 * S).unwrap();
    let bags = run.of("k");
    assert_eq!(bags.len(), 99);
    assert!(bags.iter().all(|r| r.inputs == [(0, 1), (1, 1)]));
}
