//! Properties 1-8, 12, 13, 18, 19 of the conformance list, on random models.
mod guards;
mod order;
mod parallel;
mod semantics;
mod splits;

use proptest::prelude::*;
use superdense_kernel::{Coupled, Guards, Options, Simulation, error::RunError};
use superdense_tests::{
    choices::Choices,
    record::{Record, Run},
    reference::Reference,
    tree::Tree,
    unit::any_input,
};

/// Random models per property.
pub(crate) const CASES: u32 = 300;
/// Ticks of a run.
pub(crate) const END: i64 = 60;
/// Largest micro-step; small, since zero-time loops are frequent.
pub(crate) const LIMIT: u32 = 25;

/// A random model with inputs from outside.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub tree: Tree,
    /// (tick, number of the model among those with inputs, port, value), reduced to what exists.
    inputs: Vec<(i64, usize, u16, i64)>,
}

impl Case {
    /// A strategy; shrinking the numbers shrinks the model.
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        prop::collection::vec(any::<u32>(), 20..400).prop_map(|data| {
            let mut ch = Choices::new(data);
            let tree = Tree::random(&mut ch, 4, &mut 20);
            let leaves = Reference::new(&tree, 0, LIMIT).leaves();
            let open: Vec<usize> = (0..leaves.len()).filter(|&i| leaves[i].1.0 > 0).collect();
            let count = if open.is_empty() { 0 } else { ch.below(8) };
            let input = |_| {
                let at = i64::from(ch.below(END as u32 - 10));
                let leaf = open[ch.index(open.len())];
                let port = ch.below(u32::from(leaves[leaf].1.0)) as u16;
                (at, leaf, port, 100 + i64::from(ch.below(50)))
            };
            let inputs = (0..count).map(input).collect();
            Self { tree, inputs }
        })
    }

    /// (tick, path, port, value).
    pub(crate) fn injections(&self) -> Vec<(i64, String, u16, i64)> {
        let leaves = Reference::new(&self.tree, 0, LIMIT).leaves();
        let input =
            |&(at, leaf, port, v): &(i64, usize, u16, i64)| (at, leaves[leaf].0.clone(), port, v);
        self.inputs.iter().map(input).collect()
    }

    /// The result of the reference simulator.
    pub(crate) fn reference(&self) -> (Reference, Option<(i64, u32)>) {
        let mut reference = Reference::new(&self.tree, 0, LIMIT);
        for &(at, leaf, port, value) in &self.inputs {
            reference.inject(at, leaf, port, value);
        }
        let error = reference.run_through(END).err();
        (reference, error)
    }

    /// A kernel run of some model with this case's inputs, their paths mapped.
    pub(crate) fn start(
        &self,
        top: Coupled<i64>,
        options: Options,
        path: impl Fn(&str) -> String,
    ) -> Run {
        let mut run = Run::with(top, options).expect("a legal model");
        for (at, model, port, value) in self.injections() {
            let at = at + options.start;
            run.sim.inject(&path(&model), any_input(port), at, value).expect("an open port");
        }
        run
    }

    /// The plain run of this case.
    pub(crate) fn run(&self) -> Outcome {
        let mut run = self.start(self.tree.build(), options(), str::to_owned);
        let error = run.sim.run_through(END).err();
        Outcome::of(&run, error)
    }
}

pub(crate) fn options() -> Options {
    Options { guards: Guards { micro_steps: LIMIT, ..Guards::default() }, ..Options::default() }
}

/// All that a run shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub records: Vec<Record>,
    pub cycles: Vec<(i64, u32)>,
    pub error: Option<(i64, u32)>,
    pub hash: u64,
}

impl Outcome {
    pub(crate) fn of(run: &Run, error: Option<RunError>) -> Self {
        let tape = run.tape();
        Self {
            records: tape.records,
            cycles: tape.cycles,
            error: error.map(|e| tag_of(&e)),
            hash: run.sim.trace_hash(),
        }
    }
}

/// The tag of the only error that random models may raise.
pub(crate) fn tag_of(error: &RunError) -> (i64, u32) {
    match error {
        RunError::MicroSteps { at, .. } => (at.ticks, at.micro),
        other => panic!("{other}"),
    }
}

/// Lets a run go on to the end by `drive`.
pub(crate) fn driven(
    mut run: Run,
    drive: impl FnOnce(&mut Simulation<i64>) -> Result<(), RunError>,
) -> Outcome {
    let error = drive(&mut run.sim).err();
    Outcome::of(&run, error)
}
