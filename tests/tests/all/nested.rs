//! A simulation as a model of another: closure under coupling.
use crate::properties::{CASES, Case, END, LIMIT, options};
use proptest::prelude::*;
use superdense_tests::{
    parts::Queue,
    record::{Record, Run},
    tree::{Node, Part, Tree},
    unit::any_input,
};

/// Replaces what depends on the order of a bag: at the border of a nested run messages are
/// ordered by its ports, not by the models inside.
fn insensitive(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.each_part(&mut |part, elapsed| {
        if let Part::Proc(p) = part {
            (*part, *elapsed) = (Part::Queue(Queue::new(p.delay)), 0);
        }
    });
    tree
}

fn sorted(records: &[Record], but: &str) -> Vec<Record> {
    let others = records.iter().filter(|r| !r.model.starts_with(but));
    let sort = |r: &Record| {
        let mut r = r.clone();
        r.inputs.sort_unstable();
        r
    };
    others.map(sort).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// A coupled model as a nested simulation changes nothing for the others, micro-step by
    /// micro-step.
    #[test]
    fn closure_under_coupling(case in Case::any()) {
        let tree = insensitive(&case.tree);
        for (i, (name, node)) in tree.children.iter().enumerate() {
            if !matches!(node, Node::Tree(_)) {
                continue;
            }
            let inside = format!("{name}/");
            let run = |nested| {
                let mut run = Run::with(tree.build_nesting(nested), options()).unwrap();
                for (at, path, port, value) in case.injections() {
                    if !path.starts_with(&inside) {
                        run.sim.inject(&path, any_input(port), at, value).unwrap();
                    }
                }
                let ok = run.sim.run_through(END).is_ok();
                (run, ok)
            };
            let ((flat, flat_ok), (nested, nested_ok)) = (run(None), run(Some(i)));
            prop_assert_eq!(flat_ok, nested_ok, "limit {}", LIMIT);
            prop_assert_eq!(&flat.tape().cycles, &nested.tape().cycles);
            prop_assert_eq!(sorted(&flat.tape().records, &inside), {
                let tape = nested.tape();
                sorted(&tape.records, name)
            });
        }
    }
}
