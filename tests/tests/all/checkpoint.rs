//! Property 9 and case W5: going on from a checkpoint is not stopping at all; a unit whose state is
//! an opaque, fallible handle that cannot be cloned takes part.
use crate::properties::{CASES, Case, END, options};
use proptest::prelude::*;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use superdense_kernel::{
    Atomic, Component, Coupled, Effects, Outbox, Simulation, Snapshot,
    error::CheckpointError,
    nested::Nested,
    port::OutPort,
    snapshot::SnapshotError,
    structure::Change,
    time::{Duration, Resolution},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Property 9: bytes into a fresh simulation, at a random tag.
    #[test]
    fn property_09_resumed(case in Case::any(), at in 0..END) {
        let fresh = || Simulation::new(case.tree.build(), options());
        let (Ok(mut whole), Ok(mut first), Ok(mut second)) = (fresh(), fresh(), fresh()) else {
            return Ok(());
        };
        if whole.run_through(END).is_err() || first.run_through(at).is_err() {
            return Ok(());
        }
        let bytes = first.checkpoint().unwrap();
        second.resume(&bytes).unwrap();
        prop_assert_eq!(&second.checkpoint().unwrap(), &bytes, "state bytes are equal");
        second.run_through(END).unwrap();
        prop_assert_eq!(second.trace_hash(), whole.trace_hash());
        prop_assert_eq!(second.counts(), whole.counts());
        prop_assert_eq!(second.checkpoint().unwrap(), whole.checkpoint().unwrap());
    }

    /// Restores in memory: back to a saved state any number of times.
    #[test]
    fn property_09_restored(case in Case::any(), at in 0..END) {
        let Ok(mut sim) = Simulation::new(case.tree.build(), options()) else { return Ok(()) };
        if sim.run_through(at).is_err() {
            return Ok(());
        }
        let saved = sim.save().unwrap();
        let Ok(_) = sim.run_through(END) else { return Ok(()) };
        let hash = sim.trace_hash();
        for _ in 0..2 {
            sim.restore(&saved).unwrap();
            sim.run_through(END).unwrap();
            prop_assert_eq!(sim.trace_hash(), hash);
        }
    }

    /// A simulation that is let run ahead, with inputs, and brought back is what it was, to the
    /// byte, handles of foreign units included; and goes on as if it had never been away.
    #[test]
    fn excursions_leave_no_mark(
        case in Case::any(),
        at in 0..END,
        lengths in prop::collection::vec(1..END, 1..4),
    ) {
        let alive = Arc::new(AtomicUsize::new(0));
        let fresh = || {
            let mut top = case.tree.build();
            top.add("~fmu", Foreign { alive: Arc::clone(&alive), count: 0, stubborn: false });
            Simulation::new(top, options())
        };
        let (Ok(mut straight), Ok(sim)) = (fresh(), fresh()) else { return Ok(()) };
        let mut trial = Nested::new(sim).unwrap();
        let to = |trial: &mut Nested<i64>, tick| trial.write(|s| s.run_through(tick)).is_ok();
        if straight.run_through(END).is_err() || !to(&mut trial, at) {
            return Ok(());
        }
        let bytes = trial.to_bytes().unwrap();
        let saved = trial.save().unwrap();
        let handles = alive.load(Ordering::Relaxed);
        for length in lengths {
            for (when, path, port, value) in case.injections() {
                let _ = trial.write(|s| s.inject(&path, superdense_tests::unit::any_input(port), at + when, value));
            }
            let fine = to(&mut trial, at + length);
            trial.restore(&saved).unwrap();
            if !fine {
                return Ok(());
            }
            prop_assert_eq!(trial.to_bytes().unwrap(), bytes.clone());
        }
        prop_assert_eq!(alive.load(Ordering::Relaxed), handles);
        prop_assert!(to(&mut trial, END));
        prop_assert_eq!(trial.read(Simulation::trace_hash), straight.trace_hash());
    }

    /// Damaged bytes are refused, never obeyed and never a panic.
    #[test]
    fn damaged_bytes_are_refused(case in Case::any(), cut in 0usize..400, flip in 0usize..400) {
        let Ok(mut sim) = Simulation::new(case.tree.build(), options()) else { return Ok(()) };
        if sim.run_through(END / 2).is_err() {
            return Ok(());
        }
        let bytes = sim.checkpoint().unwrap();
        prop_assert!(sim.resume(&bytes[..cut % bytes.len()]).is_err());
        let mut damaged = bytes;
        let at = flip % damaged.len();
        damaged[at] ^= 0x55;
        // A flipped payload bit may give another valid state; it must not panic.
        let _ = sim.resume(&damaged);
    }
}

/// Stands for a unit in another program: a count behind a handle; saved states are handles too.
struct Foreign {
    alive: Arc<AtomicUsize>,
    count: u64,
    stubborn: bool,
}

struct Handle {
    alive: Arc<AtomicUsize>,
    count: u64,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Snapshot for Foreign {
    type Saved = Handle;
    fn save(&self) -> Result<Handle, SnapshotError> {
        if self.stubborn {
            return Err(SnapshotError::Refused("fmi3GetFMUState: error".into()));
        }
        self.alive.fetch_add(1, Ordering::Relaxed);
        Ok(Handle { alive: Arc::clone(&self.alive), count: self.count })
    }
    fn restore(&mut self, saved: &Handle) -> Result<(), SnapshotError> {
        self.count = saved.count;
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        Ok(self.count.to_le_bytes().into())
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let bytes = bytes.try_into().map_err(|_| SnapshotError::Corrupt("not 8 bytes".into()))?;
        self.count = u64::from_le_bytes(bytes);
        Ok(())
    }
}

impl Atomic<i64> for Foreign {
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(3)
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OutPort::<i64>::new(0), self.count as i64);
    }
    fn internal(&mut self, _: &mut Effects<i64>) {
        self.count += 1;
    }
}

fn with_foreign(alive: &Arc<AtomicUsize>, stubborn: bool) -> Simulation<i64> {
    let mut top = Coupled::new();
    top.add("fmu", Foreign { alive: Arc::clone(alive), count: 0, stubborn });
    Simulation::new(top, Default::default()).unwrap()
}

#[test]
fn foreign_handles_are_saved_restored_and_freed() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut sim = with_foreign(&alive, false);
    sim.run_through(30).unwrap();
    let saved = sim.save().unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    sim.run_through(90).unwrap();
    let hash = sim.trace_hash();
    for _ in 0..100 {
        sim.restore(&saved).unwrap();
        sim.run_through(90).unwrap();
        assert_eq!(sim.trace_hash(), hash);
    }
    drop(saved);
    assert_eq!(alive.load(Ordering::Relaxed), 0, "no handle leaks");
    let bytes = sim.checkpoint().unwrap();
    let mut other = with_foreign(&alive, false);
    other.resume(&bytes).unwrap();
    other.run_through(120).unwrap();
    sim.run_through(120).unwrap();
    assert_eq!(other.trace_hash(), sim.trace_hash());
}

#[test]
fn refusals_name_the_unit_and_the_reason() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut sim = with_foreign(&alive, true);
    let refused = sim.save().unwrap_err().to_string();
    assert_eq!(refused, "fmu: the unit refused: fmi3GetFMUState: error");
    let bytes = sim.checkpoint().unwrap();
    let mut other = Simulation::<i64>::new(Coupled::new(), Default::default()).unwrap();
    assert!(matches!(other.resume(&bytes), Err(CheckpointError::Plan { .. })));
    let coarse = superdense_kernel::Options { resolution: Resolution::MICRO, ..Default::default() };
    let mut other = Simulation::<i64>::new(Coupled::new(), coarse).unwrap();
    assert!(matches!(other.resume(&bytes), Err(CheckpointError::Resolution { .. })));
    assert!(matches!(other.resume(b"nothing"), Err(CheckpointError::Unreadable(_))));
}

/// A model that counts its transitions, and asks for another one in its first.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Adds {
    done: u32,
    first: i64,
    child: Option<String>,
}

impl Atomic<i64> for Adds {
    fn time_advance(&self) -> Duration {
        match self.done {
            0 => Duration::from_ticks(self.first),
            1 if self.child.is_some() => Duration::ZERO,
            _ => Duration::INFINITE,
        }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.done += 1;
        if let (1, Some(name)) = (self.done, &self.child) {
            let component = Component::atomic(Self { done: 0, first: 0, child: None });
            let name = name.clone().into();
            fx.change(Change::Add { parent: "".into(), name, component });
        }
    }
}

/// A model that is added, and due at once, before one that is due at once, too, in the order of paths.
#[test]
fn models_that_were_just_added() {
    let build = |child: &str| {
        let mut top = Coupled::new();
        top.add("m", Adds { done: 0, first: 5, child: Some(child.into()) });
        let mut sim = Simulation::new(top, Default::default()).unwrap();
        sim.declare::<Adds>();
        sim
    };
    for child in ["a", "z"] {
        let mut sim = build(child);
        sim.step(100).unwrap();
        let mut other = build(child);
        other.resume(&sim.checkpoint().unwrap()).unwrap();
        for sim in [&mut sim, &mut other] {
            sim.run_through(100).unwrap();
        }
        assert_eq!(other.trace_hash(), sim.trace_hash());
    }
}

#[test]
fn nested_simulations_count_the_same_ticks() {
    let coarse = superdense_kernel::Options { resolution: Resolution::MICRO, ..Default::default() };
    let inner = Simulation::<i64>::new(Coupled::new(), coarse).unwrap();
    let mut top = Coupled::new();
    top.add("inner", Nested::new(inner).unwrap());
    let refused = Simulation::new(top, Default::default()).unwrap_err().to_string();
    assert!(refused.contains("inner") && refused.contains("one resolution"), "{refused}");
}
