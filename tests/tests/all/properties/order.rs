//! Properties 2, 6, 7: what must not matter, or only by a factor.
use super::{CASES, Case, END, Outcome, options};
use proptest::prelude::*;
use superdense_kernel::{Options, event_list::EventListKind, time::Resolution};
use superdense_tests::{
    choices::Choices,
    parts::{Gen, Queue, Relay},
    record::{Record, Run},
    tree::{End, Link, Node, Part, Tree},
    unit::any_input,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Property 2: the order of declaration and the event list leave no mark, not even in the
    /// order of bags or in the hash.
    #[test]
    fn property_02_permutations(
        case in Case::any(),
        picks in prop::collection::vec(any::<u32>(), 60),
    ) {
        let expected = case.run();
        let mut ch = Choices::new(picks);
        for event_list in [EventListKind::Ladder, EventListKind::Heap, EventListKind::Reference] {
            let top = case.tree.shuffled(&mut ch).build();
            let mut run = case.start(top, Options { event_list, ..options() }, str::to_owned);
            let error = run.sim.run_through(END).err();
            prop_assert_eq!(&Outcome::of(&run, error), &expected);
        }
    }

    /// The hash does not depend on what is recorded; it depends on inputs, resolutions and models.
    #[test]
    fn property_02_the_hash_is_of_the_trace(case in Case::any()) {
        let expected = case.run();
        let hash = |options: Options, extra: bool| {
            let top = case.tree.build();
            let mut sim = superdense_kernel::Simulation::new(top, options).unwrap();
            for (at, path, port, value) in case.injections() {
                let value = if extra { value + 1 } else { value };
                sim.inject(&path, any_input(port), at, value).unwrap();
            }
            let _ = sim.run_through(END);
            sim.trace_hash()
        };
        prop_assert_eq!(hash(options(), false), expected.hash);
        if !case.injections().is_empty() && expected.error.is_none() {
            prop_assert_ne!(hash(options(), true), expected.hash);
        }
        let micro = Options { resolution: Resolution::MICRO, ..options() };
        prop_assert_ne!(hash(micro, false), expected.hash);
    }

    /// Property 6: a later start shifts the trace.
    #[test]
    fn property_06_time_shift(case in Case::any(), shift in -1_000_000_000_000i64..1_000_000_000_000) {
        let expected = case.run();
        let mut run =
            case.start(case.tree.build(), Options { start: shift, ..options() }, str::to_owned);
        let error = run.sim.run_through(END + shift).err();
        let found = Outcome::of(&run, error);
        let back = |r: &Record| Record {
            t: r.t - shift,
            next: r.next.map(|n| (n.0 - shift, n.1)),
            ..r.clone()
        };
        let shifted: Vec<Record> = found.records.iter().map(back).collect();
        prop_assert_eq!(shifted, expected.records);
        prop_assert_eq!(found.error.map(|e| (e.0 - shift, e.1)), expected.error);
    }

    /// Property 7: all delays times k give times k, at the same micro-steps. (Values differ,
    /// since Toggle emits an elapsed time.)
    #[test]
    fn property_07_time_scale(case in Case::any(), k in 1i64..1_000_000_000) {
        let mut tree = case.tree.clone();
        tree.each_part(&mut |part, elapsed| {
            part.map_delay(|d| d * k);
            *elapsed *= k;
        });
        let expected = case.run();
        let mut run = Run::with(tree.build(), options()).unwrap();
        for (at, path, port, value) in case.injections() {
            run.sim.inject(&path, any_input(port), at * k, value).unwrap();
        }
        let error = run.sim.run_through(END * k).err();
        let found = Outcome::of(&run, error);
        let ports = |m: &[(u16, i64)]| m.iter().map(|m| m.0).collect::<Vec<_>>();
        let shape = |r: &Record, k: i64| {
            let next = r.next.map(|n| (n.0 * k, n.1));
            (r.t * k, r.n, r.model.clone(), r.kind, ports(&r.inputs), ports(&r.outputs), next)
        };
        let scaled: Vec<_> = expected.records.iter().map(|r| shape(r, k)).collect();
        let found_shape: Vec<_> = found.records.iter().map(|r| shape(r, 1)).collect();
        prop_assert_eq!(found_shape, scaled);
        prop_assert_eq!(found.error, expected.error.map(|e| (e.0 * k, e.1)));
    }

    /// `--ties` permutes bags, within the ports, and nothing else; the same seed the same way.
    #[test]
    fn property_02_ties_permute_only_bags(case in Case::any(), seed in any::<u64>()) {
        // Models insensitive to order only: the trace stays, up to the order in bags.
        let mut case = case;
        case.tree.each_part(&mut |part, elapsed| {
            if let Part::Proc(p) = part {
                (*part, *elapsed) = (Part::Queue(Queue::new(p.delay)), 0);
            }
        });
        let run = |ties| {
            let mut run =
                case.start(case.tree.build(), Options { ties, ..options() }, str::to_owned);
            let error = run.sim.run_through(END).err();
            Outcome::of(&run, error)
        };
        let (plain, tied) = (run(None), run(Some(seed)));
        prop_assert_eq!(&tied, &run(Some(seed)));
        prop_assert_eq!(plain.hash, tied.hash);
        let sorted = |o: &Outcome| -> Vec<Record> {
            let sort = |r: &Record| {
                let mut r = r.clone();
                r.inputs.sort_unstable();
                r
            };
            o.records.iter().map(sort).collect()
        };
        prop_assert_eq!(sorted(&plain), sorted(&tied));
    }
}

/// Property 2: 20 shuffles of a model that has many equal messages under way.
#[test]
fn property_02_twenty_shuffles_of_a_dense_model() {
    let mut tree = Tree::default();
    let part = |part| Node::Part { part, elapsed: 0 };
    for i in 0..6 {
        tree.children.push((format!("g[{i}]"), part(Part::Gen(Gen::every(1 + i % 2)))));
        tree.children.push((format!("r[{i}]"), part(Part::Relay(Relay::new(i % 3)))));
    }
    for (i, j) in (0..12).flat_map(|i| (0..6).map(move |j| (i, 2 * j + 1))) {
        // Only forward among the relays, so that no zero-time loop arises.
        if i < j {
            let end = |c| End { child: Some(c), port: 0 };
            tree.links.push(Link { from: end(i), to: end(j), z: None });
        }
    }
    let run = |tree: &Tree| {
        let mut run = Run::with(tree.build(), options()).unwrap();
        run.sim.run_through(END).unwrap();
        Outcome::of(&run, None)
    };
    let expected = run(&tree);
    assert!(expected.records.iter().any(|r| r.inputs.len() > 10));
    for seed in 0..20u32 {
        let picks = (0..200).map(|i: u32| (i + 7 * seed).wrapping_mul(2_654_435_761)).collect();
        assert_eq!(run(&tree.shuffled(&mut Choices::new(picks))), expected);
    }
}
