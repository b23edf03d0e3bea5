//! P27 and P28: what is refused, and how the message names it.
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Coupled, Options, Simulation,
    error::{BuildError, RunError},
    time::{Duration, Resolution, Tag},
};
use superdense_tests::{
    machine::{Machine, On},
    parts::{Gen, Proc},
    record::Run,
    unit::{Unit, add, chain, input, output, wire},
};

fn mistakes(top: Coupled<i64>) -> Vec<BuildError> {
    match Simulation::new(top, Options::default()) {
        Err(RunError::Build(errors)) => errors.0,
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    }
}

fn pair() -> (Coupled<i64>, superdense_kernel::Child, superdense_kernel::Child) {
    let mut top = Coupled::new();
    let a = add(&mut top, "a", Proc::new(1));
    let b = add(&mut top, "b", Proc::new(1));
    (top, a, b)
}

/// In→in between siblings and ports of different types do not compile: see the documentation
/// of `Child` and `InPort` in the kernel.
#[test]
fn p27_illegal_couplings() {
    let (mut top, a, _) = pair();
    wire(&mut top, (a, 0), (a, 0));
    assert!(matches!(&mistakes(top)[..], [BuildError::SelfLoop { wire }] if wire == "a.0 -> a.0"));

    let (mut top, a, b) = pair();
    wire(&mut top, (a, 1), (b, 0));
    wire(&mut top, (a, 0), (b, 7));
    let found = mistakes(top);
    assert!(
        matches!(&found[0], BuildError::UnknownPort { path, direction: "output", port: 1, available: 1, .. } if path == "a")
    );
    assert!(
        matches!(&found[1], BuildError::UnknownPort { path, direction: "input", port: 7, .. } if path == "b")
    );
    assert_eq!(found.len(), 2, "all mistakes at once");

    let (mut top, a, b) = pair();
    wire(&mut top, (a, 0), (b, 0));
    wire(&mut top, (a, 0), (b, 0));
    assert!(matches!(&mistakes(top)[..], [BuildError::DuplicateWire { .. }]));

    let (mut top, a, b) = pair();
    let z = |v: &i64| Some(v + 1);
    top.couple_with(a.output(output(0)), b.input(input(0)), "z", z);
    top.couple_with(a.output(output(0)), b.input(input(0)), "z", z);
    assert!(matches!(&mistakes(top)[..], [BuildError::DuplicateWire { .. }]));

    let mut through = Coupled::<i64>::new();
    let (i, o) = (through.add_input::<i64>("i"), through.add_output::<i64>("o"));
    through.couple(i.inside(), o.inside());
    let (mut top, ..) = pair();
    top.add_component("through", through);
    let found = mistakes(top);
    assert!(
        matches!(&found[..], [BuildError::PassThrough { wire }] if wire == "through.i -> through.o")
    );

    let (mut top, ..) = pair();
    add(&mut top, "a", Proc::new(1));
    assert!(matches!(&mistakes(top)[..], [BuildError::DuplicateName { path }] if path == "a"));
}

#[test]
fn p27_no_coupling_across_levels() {
    // The inner child has number 0 in its own model, as "a" has in the outer one.
    let mut inner = Coupled::new();
    let deep = add(&mut inner, "deep", Proc::new(1));
    let (mut top, _, b) = pair();
    top.add_component("inner", inner);
    wire(&mut top, (deep, 0), (b, 0));
    wire(&mut top, (b, 0), (deep, 0));
    let found = mistakes(top);
    assert!(
        matches!(&found[..], [BuildError::UnknownChild { .. }, BuildError::UnknownChild { .. }]),
        "{found:?}"
    );
    assert!(found[1].to_string().contains("coupling number 2"), "{}", found[1]);
}

/// The second of two wires that differ in their function only is legal and delivers.
#[test]
fn p27_two_functions_between_two_ports() {
    let mut top = Coupled::new();
    let g = add(&mut top, "g", Gen::once(5, 1));
    let b = add(&mut top, "b", Proc::new(1));
    wire(&mut top, (g, 0), (b, 0));
    top.couple_with(g.output(output(0)), b.input(input(0)), "+2", |v: &i64| Some(v + 2));
    top.couple_with(g.output(output(0)), b.input(input(0)), "+1", |v: &i64| Some(v + 1));
    let run = Run::through(top, 5);
    assert_eq!(run.received("b"), [((5, 0), vec![1, 2, 3])]);
}

/// Sends to a port that it does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stray;
impl Machine for Stray {
    fn advance(&self) -> i64 {
        3
    }
    fn output(&self) -> Vec<On> {
        vec![(0, 1), (4, 1)]
    }
}

#[test]
fn p27_sending_to_an_unknown_port() {
    let mut top = Coupled::new();
    add(&mut top, "stray", Stray);
    let error = Run::new(top).sim.run_through(10).unwrap_err();
    let RunError::Model { path, at, why } = &error else { panic!("{error}") };
    assert_eq!((path.as_str(), *at), ("stray", Tag::new(3, 0)));
    assert!(why.contains("port 4"), "{why}");
}

/// Turns its time advance bad at a given transition.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Bad {
    advance: Duration,
    bad: Duration,
    when: String,
}

impl Bad {
    fn strike(&mut self, now: &str) {
        if self.when == now {
            self.advance = self.bad;
        }
    }
}

impl Machine for Bad {
    fn advance(&self) -> i64 {
        self.advance.ticks()
    }
    fn internal(&mut self) {
        self.strike("internal");
    }
    fn external(&mut self, _: i64, _: &[On]) {
        self.strike("external");
    }
    fn confluent(&mut self, _: &[On]) {
        self.strike("confluent");
    }
}

#[test]
fn p28_bad_time_advance() {
    let real = |x| Duration::of_seconds(x, Resolution::NANO);
    let kinds = [
        (Duration::from_ticks(-1), "-1 ticks"),
        (real(f64::NAN), "NaN"),
        (real(f64::NEG_INFINITY), "ticks"),
        (real(-0.5), "-500000000 ticks"),
        (real(1e300), "beyond the largest time"),
        (real(1e-12), "below one tick"),
    ];
    for (bad, words) in kinds {
        for when in ["start", "internal", "external", "confluent"] {
            let mut top = Coupled::new();
            let first = if when == "external" { 1000 } else { 10 };
            let advance = if when == "start" { bad } else { Duration::from_ticks(first) };
            let good =
                add(&mut top, "good", Gen::every(if when == "internal" { 1000 } else { 10 }));
            let culprit =
                top.add("culprit", Unit::new(Bad { advance, bad, when: when.to_owned() })).any();
            chain(&mut top, &[good, culprit]);
            let built = Run::with(top, Options::default());
            let (error, at) = match built {
                Err(error) => (error, Tag::ZERO),
                Ok(mut run) => {
                    let error = run.sim.run_through(100).unwrap_err();
                    // All of that cycle is committed, and the error stays.
                    assert_eq!(run.tape().cycles, [(10, 0)]);
                    assert_eq!(run.sim.run_through(200).unwrap_err(), error);
                    (error, Tag::new(10, 0))
                }
            };
            let text = error.to_string();
            assert!(
                matches!(&error, RunError::BadAdvance { path, at: found, .. } if path == "culprit" && *found == at),
                "{when}: {text}"
            );
            assert!(text.contains("culprit") && text.contains(words), "{when}: {text}");
        }
    }
}
