//! Properties 8, 13, 18: where a run pauses and what arrives nowhere leaves no mark.
use super::{CASES, Case, END, Outcome, driven, options};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects,
    structure::Change,
    time::{Duration, Tag},
};
use superdense_tests::{
    parts::Gen,
    record::Record,
    tree::{End, Link, Node, Step, Tree, Z},
    unit::Unit,
};

/// Adds a guest without couplings, and removes it again, at given intervals.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Host {
    stay: i64,
    turn: u32,
}

impl Atomic<i64> for Host {
    fn time_advance(&self) -> Duration {
        Duration::from_ticks(self.stay)
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        let number = self.turn / 2;
        if self.turn.is_multiple_of(2) {
            let component = Component::atomic(Unit::new(Gen::every(1)));
            let name = format!("n guest[{number}]").into();
            fx.change(Change::Add { parent: String::new(), name, component });
        } else {
            fx.change(Change::Remove { path: format!("n guest[{number}]") });
        }
        self.turn += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Property 8: any sequence of run_until, run_through, step and the three calls is one run.
    #[test]
    fn property_08_splits(
        case in Case::any(),
        pauses in prop::collection::vec((0..END, 0u8..5), 0..12),
    ) {
        let expected = case.run();
        let mut pauses = pauses;
        pauses.sort_unstable();
        let found = driven(case.start(case.tree.build(), options(), str::to_owned), |sim| {
            for (at, way) in pauses {
                match way {
                    0 => drop(sim.run_until(at)?),
                    1 => drop(sim.run_through(at)?),
                    2 => drop(sim.step(at)?),
                    3 => drop(sim.next()?),
                    _ => {
                        let next = sim.next()?;
                        if next.ticks <= at {
                            sim.emit(next.ticks)?;
                            sim.commit(next.ticks, Vec::new())?;
                        }
                    }
                }
            }
            sim.run_through(END).map(drop)
        });
        prop_assert_eq!(found, expected);
    }

    /// Property 8: a pause at every tag.
    #[test]
    fn property_08_split_at_every_tag(case in Case::any()) {
        let expected = case.run();
        let found = driven(case.start(case.tree.build(), options(), str::to_owned), |sim| {
            while let Some(tag) = sim.step(END)? {
                assert_eq!(tag, sim.now());
            }
            Ok(())
        });
        prop_assert_eq!(found, expected);
    }

    /// Property 13: an empty bag, or one that a translation drops, changes nothing.
    #[test]
    fn property_13_what_arrives_nowhere(
        case in Case::any(),
        times in prop::collection::vec((0..END, any::<bool>()), 0..6),
    ) {
        let expected = case.run();
        // One more input of the root, over which nothing passes.
        let mut tree = case.tree.clone();
        let port = tree.inputs;
        tree.inputs += 1;
        let open = |n: &Node| n.ports().0 > 0;
        if let Some(child) = tree.children.iter().position(|c| open(&c.1)) {
            tree.links.push(Link {
                from: End { child: None, port },
                to: End { child: Some(child), port: 0 },
                z: Some(Z { name: "nothing".into(), steps: vec![Step::Drop] }),
            });
        }
        let mut times = times;
        times.sort_unstable();
        let found = driven(case.start(tree.build(), options(), str::to_owned), |sim| {
            for (at, after) in times {
                if after {
                    sim.run_through(at)?;
                } else {
                    sim.run_until(at)?;
                }
                sim.commit(at, Vec::new())?;
                sim.commit(at, vec![(port, 1)])?;
            }
            sim.run_through(END).map(drop)
        });
        prop_assert_eq!(found, expected);
    }

    /// Property 18: a guest without couplings is no matter to the others.
    #[test]
    fn property_18_guests(case in Case::any(), stay in 1i64..20) {
        let expected = case.run();
        let mut top = case.tree.build();
        top.add("host", Host { stay, turn: 0 });
        let mut run = case.start(top, options(), str::to_owned);
        let error = run.sim.run_through(END).err();
        let found = Outcome::of(&run, error);
        let own = |r: &&Record| r.model != "host" && !r.model.starts_with("n guest");
        let others: Vec<Record> = found.records.iter().filter(own).cloned().collect();
        prop_assert_eq!(others, expected.records);
        prop_assert_eq!(found.error, expected.error);
    }
}

/// The clock never goes back, and a run to a time already reached does nothing.
#[test]
fn property_08_the_clock_stands() {
    let mut tree = Tree::default();
    let part = superdense_tests::tree::Part::Gen(Gen::every(4));
    tree.children.push(("g".into(), Node::Part { part, elapsed: 0 }));
    let mut run = superdense_tests::record::Run::new(tree.build());
    for (end, clock, cycles) in [(10, 10, 2), (3, 10, 2), (12, 12, 3), (12, 12, 3)] {
        run.sim.run_through(end).unwrap();
        assert_eq!((run.sim.clock(), run.tape().cycles.len()), (clock, cycles));
    }
    assert_eq!(run.sim.now(), Tag::new(12, 0));
}
