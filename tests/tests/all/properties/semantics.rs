//! Properties 1, 3, 4, 5: the meaning of a model.
use super::{CASES, Case, END, LIMIT, options};
use proptest::prelude::*;
use std::collections::BTreeMap;
use superdense_tests::{
    choices::Choices,
    record::Record,
    reference::Reference,
    tree::{Node, Tree},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * CASES))]

    /// Property 1, first half: the kernel and the naive hierarchical simulator agree on every
    /// cycle, bag order included, up to the tag of a zero-time loop.
    #[test]
    fn property_01_kernel_equals_reference(case in Case::any()) {
        let (reference, error) = case.reference();
        let outcome = case.run();
        prop_assert_eq!(&outcome.records, &reference.records);
        prop_assert_eq!(&outcome.cycles, &reference.cycles);
        prop_assert_eq!(outcome.error, error);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Property 1, second half: the model written on one level has the same trace.
    #[test]
    fn property_01_flattened_equals_hierarchical(case in Case::any()) {
        let reference = Reference::new(&case.tree, 0, LIMIT);
        let rank: BTreeMap<String, usize> =
            reference.leaves().into_iter().enumerate().map(|(i, l)| (l.0, i)).collect();
        let flat = |path: &str| format!("leaf[{}]", rank[path]);
        let mut run = case.start(reference.flat().build(), options(), flat);
        let error = run.sim.run_through(END).err();
        let found = super::Outcome::of(&run, error);
        let expected = case.run();
        let renamed: Vec<Record> = expected
            .records
            .iter()
            .map(|r| Record { model: flat(&r.model), ..r.clone() })
            .collect();
        prop_assert_eq!(found.records, renamed);
        prop_assert_eq!(found.error, expected.error);
    }

    /// Property 3: an extra coupled layer around any part changes only names.
    #[test]
    fn property_03_wrapping(case in Case::any(), picks in prop::collection::vec(any::<u32>(), 8)) {
        let (wrapped, path) = case.tree.wrapped(&mut Choices::new(picks));
        let longer = |model: &str| match model.strip_prefix(&path) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{path}/core{rest}"),
            _ => model.to_owned(),
        };
        let mut run = case.start(wrapped.build(), options(), longer);
        let error = run.sim.run_through(END).err();
        let found = super::Outcome::of(&run, error);
        let expected = case.run();
        let renamed: Vec<Record> = expected
            .records
            .iter()
            .map(|r| Record { model: longer(&r.model), ..r.clone() })
            .collect();
        prop_assert_eq!(found.records, renamed);
        prop_assert_eq!(found.error, expected.error);
    }

    /// Property 4: tags increase strictly, a model makes at most one transition per tag, and
    /// the elapsed time is the distance to its last transition, within its last time advance.
    #[test]
    fn property_04_tags_and_elapsed(case in Case::any()) {
        let mut run = case.start(case.tree.build(), options(), str::to_owned);
        let _ = run.sim.run_through(END);
        let tape = run.tape();
        prop_assert!(tape.cycles.is_sorted_by(|a, b| a < b));
        for (path, part, elapsed) in parts(&case.tree, "") {
            let records: Vec<&Record> = tape.records.iter().filter(|r| r.model == path).collect();
            prop_assert!(records.is_sorted_by(|a, b| a.tag() < b.tag()));
            let mut last = -elapsed;
            let ta = part.advance();
            let mut next = (ta != i64::MAX).then(|| (ta - elapsed, 0));
            let mut told = part.elapsed(&run.sim, &path).into_iter();
            for r in records {
                match r.kind {
                    "EXT" => {
                        prop_assert_eq!(told.next(), Some(r.t - last));
                        prop_assert!(next.is_none_or(|next| r.tag() < next));
                    }
                    _ => prop_assert_eq!(next, Some(r.tag())),
                }
                (last, next) = (r.t, r.next);
            }
        }
    }

    /// Property 5: emitted × fan-out − dropped = delivered.
    #[test]
    fn property_05_conservation_of_messages(case in Case::any()) {
        let mut run = case.start(case.tree.build(), options(), str::to_owned);
        let _ = run.sim.run_through(END);
        let reference = Reference::new(&case.tree, 0, LIMIT);
        let leaves = reference.leaves();
        let tape = run.tape();
        let delivered: usize = tape.records.iter().map(|r| r.inputs.len()).sum();
        let mut expected = 0;
        for r in &tape.records {
            let leaf = leaves.iter().position(|l| l.0 == r.model).expect("a leaf");
            expected += r.outputs.iter().map(|o| reference.fan_out(leaf, o.0)).sum::<usize>();
        }
        let last = tape.cycles.last().map_or(-1, |c| c.0);
        expected += case.injections().iter().filter(|i| i.0 <= last).count();
        prop_assert_eq!(delivered, expected);
        prop_assert_eq!(run.sim.counts().messages, delivered as u64);
    }
}

fn parts(tree: &Tree, prefix: &str) -> Vec<(String, superdense_tests::tree::Part, i64)> {
    let mut found = Vec::new();
    for (name, node) in &tree.children {
        let path = format!("{prefix}{name}");
        match node {
            Node::Part { part, elapsed } => found.push((path, part.clone(), *elapsed)),
            Node::Tree(t) => found.extend(parts(t, &format!("{path}/"))),
        }
    }
    found
}
