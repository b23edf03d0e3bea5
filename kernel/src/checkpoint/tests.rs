//! Bytes of checkpoints that were changed, with and without a digest that fits.
use super::*;
use crate::{
    Atomic, Bag, Coupled, Effects, Ended, Outbox,
    nested::Nested,
    parallel::{Schedule, Settings},
    port::{InPort, OutPort},
    structure::Change,
    time::{Duration, Tag},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const IN: InPort<i64> = InPort::new(0);
const OUT: OutPort<i64> = OutPort::new(0);
const MIDDLE: i64 = 40;
const END: i64 = 100;

/// Sends every period, and makes silent steps in between if it is to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Beat<const SILENT: bool> {
    period: i64,
    left: i64,
    quiet: i64,
    sum: i64,
    adds: bool,
}

impl<const SILENT: bool> Beat<SILENT> {
    fn new(period: i64) -> Self {
        let (left, quiet) = if SILENT { (period / 4, 3) } else { (period, 0) };
        Self { period, left, quiet, sum: 1, adds: false }
    }
}

impl<const SILENT: bool> Atomic<i64> for Beat<SILENT> {
    const SILENT: bool = SILENT;
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.period == 0 { Duration::INFINITE } else { Duration::from_ticks(self.left) }
    }
    fn is_silent(&self) -> bool {
        self.quiet > 0
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OUT, self.sum);
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        *self = Self { sum: self.sum.wrapping_mul(31), ..Self::new(self.period) };
        if fx.now().ticks == 21 {
            fx.located();
        }
        if self.period == 7 && fx.now().ticks == 21 && self.adds {
            let mut inner = Coupled::new();
            let beat = inner.add("beat", Beat::<false>::new(5)).any();
            let _ = (beat, inner.add_input::<i64>("in"));
            let (parent, name) = (String::new(), "guest".into());
            fx.change(Change::Add { parent, name, component: inner.into() });
        }
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, _: &mut Effects<i64>) {
        self.left -= elapsed.ticks();
        self.sum = bag.on(IN).fold(self.sum, |sum, x| sum.wrapping_add(*x).rotate_left(7));
    }
    fn advance(&mut self, bound: Duration, _: &mut Effects<i64>) {
        while self.quiet > 0 && self.left < bound.ticks() {
            self.left += self.period / 4;
            self.quiet -= 1;
            self.sum = self.sum.wrapping_add(1);
        }
    }
}

fn top(adds: bool) -> Coupled<i64> {
    let mut top = Coupled::new();
    let ring = [
        top.add("a", Beat::<false> { adds, ..Beat::new(7) }).any(),
        top.add("b", Beat::<true>::new(16)).any(),
        top.add("c", Beat::<false>::new(0)).any(),
        top.add("d", Beat::<false>::new(11)).any(),
    ];
    for (i, from) in ring.iter().enumerate() {
        top.couple(from.output(OUT), ring[(i + 1) % 4].input(IN));
    }
    top
}

fn simulation(adds: bool) -> Simulation<i64> {
    Simulation::new(top(adds), Default::default()).expect("a model")
}

/// One in the middle, for which an input waits.
fn middle(adds: bool) -> Simulation<i64> {
    let mut sim = simulation(adds);
    sim.run_through(MIDDLE).expect("no error");
    sim.inject("c", IN, MIDDLE + 3, 5).expect("an input");
    sim
}

fn resealed(body: &[u8]) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.extend(seal(body));
    bytes
}

#[test]
fn each_changed_byte_is_refused() {
    let mut sim = middle(true);
    let bytes = sim.checkpoint().expect("plain data");
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0x55] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            sim.resume(&damaged).expect_err("a changed byte");
        }
        sim.resume(&bytes[..at]).expect_err("an end that is missing");
    }
    // It is as it was.
    let mut plain = middle(true);
    for sim in [&mut sim, &mut plain] {
        sim.run_through(END).expect("no error");
    }
    assert_eq!((sim.trace_hash(), sim.counts()), (plain.trace_hash(), plain.counts()));
}

/// Each byte is changed behind a digest that fits: what is not refused has the structure and the times of
/// the run, and only values and counts that others could have.
#[test]
fn changes_behind_a_proper_digest_do_not_run_on_with_other_times() {
    let (mut refused, mut ran) = (0, 0);
    for adds in [false, true] {
        let bytes = middle(adds).checkpoint().expect("plain data");
        let body = &bytes[..bytes.len() - SEAL];
        let file: File<i64> = decode(body).expect("a checkpoint");
        for at in 0..body.len() {
            for change in [1, 2, 0x80, 0x55, 0xFF] {
                let mut other = body.to_vec();
                other[at] ^= change;
                let mut sim = simulation(adds);
                let taken = catch_unwind(AssertUnwindSafe(|| sim.resume(&resealed(&other))));
                if taken.expect("no panic").is_err() {
                    refused += 1;
                    continue;
                }
                ran += 1;
                let read: File<i64> = decode(&other).expect("it was taken");
                let times = |p: &Progress| {
                    (
                        p.now.ticks,
                        p.visible.clone(),
                        p.silent.clone(),
                        p.ready.clone(),
                        p.restructured,
                    )
                };
                assert_eq!(times(&read.progress), times(&file.progress), "byte {at} ^ {change}");
                assert!(read.progress.floor <= MIDDLE + 3);
            }
        }
    }
    println!("{refused} refused, {ran} taken");
    assert!(refused > ran);
}

/// Data that no run could have saved are refused, and the simulation stays as it was.
#[test]
fn progress_that_no_run_makes_is_refused() {
    let mut sim = middle(false);
    let bytes = sim.checkpoint().expect("plain data");
    let body = &bytes[..bytes.len() - SEAL];
    type Change = fn(&mut File<i64>);
    let changes: [(&str, Change); 28] = [
        ("now later", |f| f.progress.now.ticks += 1),
        ("now later than the floor", |f| f.progress.now.ticks = f.progress.floor + 1),
        ("no time", |f| f.progress.now = Tag::NEVER),
        ("last micro-step", |f| f.progress.now.micro = u32::MAX),
        ("floor before", |f| f.progress.floor = f.progress.now.ticks - 1),
        ("floor beyond events", |f| f.progress.floor = END),
        ("never ran", |f| f.progress.ran = false),
        ("no cycles", |f| f.progress.counts.cycles = 0),
        ("too many cycles", |f| f.progress.counts.cycles = u64::MAX),
        ("counts overflow", |f| f.progress.counts.internal = u64::MAX),
        ("too few messages", |f| f.progress.counts.messages = 0),
        ("retired", |f| f.progress.retired = 1),
        ("restructured", |f| f.progress.restructured = true),
        ("moved in the future", |f| f.progress.last[2] = END),
        ("moved before", |f| f.progress.last[0] -= 1),
        ("a model less", |f| _ = f.progress.chain.pop()),
        ("a state less", |f| _ = f.states.pop()),
        ("no events", |f| f.progress.visible.clear()),
        ("no silent steps", |f| f.progress.silent.clear()),
        ("an event in the past", |f| f.progress.visible[0] = Some(MIDDLE - 1)),
        ("an event more", |f| f.progress.visible[2] = Some(END)),
        ("an event less", |f| f.progress.visible[0] = None),
        ("visible and silent", |f| f.progress.visible[1] = Some(END)),
        ("visible instead", |f| {
            f.progress.visible[1] = f.progress.silent[1].take();
        }),
        ("ready, too", |f| f.progress.ready = vec![0]),
        ("ready without number", |f| f.progress.ready = vec![9]),
        ("located without number", |f| f.progress.located = vec![(9, (0, 1))]),
        ("an input before", |f| f.injections[0].0 = 0),
    ];
    for (what, change) in changes {
        let mut file: File<i64> = decode(body).expect("a checkpoint");
        change(&mut file);
        let other = resealed(&encode(&file).expect("plain data"));
        assert_ne!(other, bytes, "{what} changes nothing");
        let refused = sim.resume(&other);
        assert!(refused.is_err(), "{what}");
        // Unless models were touched already, it is as it was; else nothing goes on with it.
        let next = sim.next_within(END);
        let unit = matches!(refused, Err(CheckpointError::Unit { .. }));
        assert_eq!(matches!(next, Err(RunError::Unrestored { .. })), unit, "{what}: {refused:?}");
        sim.resume(&bytes).expect("the true one");
    }
    let mut plain = middle(false);
    for sim in [&mut sim, &mut plain] {
        sim.run_through(END).expect("no error");
    }
    assert_eq!((sim.trace_hash(), sim.counts()), (plain.trace_hash(), plain.counts()));
}

/// A model with others inside, which make silent steps.
fn nested() -> Simulation<i64> {
    let mut inner = Coupled::new();
    let (input, output) = (inner.add_input::<i64>("in"), inner.add_output::<i64>("out"));
    let quiet = inner.add("quiet", Beat::<true>::new(16)).any();
    inner.couple(input.inside(), quiet.input(IN));
    inner.couple(quiet.output(OUT), output.inside());
    let inner = Simulation::new(inner, Default::default()).expect("a model");
    let mut top = Coupled::new();
    let nested = top.add("nested", Nested::new(inner).expect("a sound one")).any();
    let ring = [
        nested,
        top.add("x", Beat::<false>::new(9)).any(),
        top.add("y", Beat::<false>::new(13)).any(),
    ];
    for (i, from) in ring.iter().enumerate() {
        top.couple(from.output(OUT), ring[(i + 1) % 3].input(IN));
    }
    Simulation::new(top, Default::default()).expect("a model")
}

/// A nested simulation is saved between λ and the transition, and when its silent steps are ahead.
#[test]
fn nested_simulations_are_saved_at_any_moment() {
    let mut plain = nested();
    plain.run_through(END).expect("no error");
    let expected = (plain.trace_hash(), plain.counts());
    for at in 0..END {
        let (mut sim, mut other) = (nested(), nested());
        sim.run_through(at).expect("no error");
        other.resume(&sim.checkpoint().expect("plain data")).expect("what was saved");
        other.run_through(END).expect("no error");
        assert_eq!((other.trace_hash(), other.counts()), expected, "resumed at {at}");
        // λ was called for the next cycle, which the saved state is before.
        let mut sim = nested();
        sim.run_until(at).expect("no error");
        sim.emit(at).expect("no error");
        let saved = sim.save().expect("plain data");
        let mut other = nested();
        other.resume(&sim.checkpoint().expect("plain data")).expect("what was saved");
        sim.run_through(END).expect("no error");
        assert_eq!((sim.trace_hash(), sim.counts()), expected, "emitted at {at}");
        sim.restore(&saved).expect("what was saved");
        for sim in [&mut sim, &mut other] {
            sim.run_through(END).expect("no error");
            assert_eq!((sim.trace_hash(), sim.counts()), expected, "restored at {at}");
        }
    }
    for seed in 0..40 {
        let settings = Settings {
            workers: 3,
            schedule: Schedule::Virtual(seed),
            probe: seed % 2 == 0,
            ..Settings::default()
        };
        let mut sim = nested();
        let ended = sim.run_through_parallel(END, &settings).expect("no error").0;
        assert_eq!(ended, Ended::Reached);
        assert_eq!((sim.trace_hash(), sim.counts()), expected, "{settings:?}");
    }
}

/// Any bytes behind a proper head and digest.
#[test]
fn random_bytes_are_refused() {
    let bytes = middle(true).checkpoint().expect("plain data");
    let head = encode(&(MAGIC, VERSION)).expect("plain data").len();
    let mut draw = 1u64;
    let mut next = move || {
        draw = crate::message::fold(draw, 0x9E37_79B9_7F4A_7C15);
        draw
    };
    for _ in 0..20_000 {
        // From somewhere on.
        let from = head + next() as usize % (bytes.len() - head);
        let length = next() as usize % 300;
        let mut other = bytes[..from].to_vec();
        other.extend((0..length).map(|_| next() as u8 >> (next() % 8)));
        simulation(true).resume(&resealed(&other)).expect_err("random bytes");
    }
}
