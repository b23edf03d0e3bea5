//! A variant of a structure with FMUs in place of its own basic models.
use super::Bench;
use superdense::{
    Overrides, load,
    run::{executor::Executor, memory, pulse::Pulse},
};

const STRUCTURE: &str = include_str!("../../../../scenarios/library/ses/feedforward.json");

/// Overshoot and settling time, and the controlled variable at each sample.
fn run(bench: &Bench, sets: &[(&str, &str)]) -> ([f64; 2], Vec<f64>) {
    let file = bench.0.join("feedforward.json");
    let sets: Vec<_> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let plan = load(&file, &sets, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    let keep = memory::Keep { samples: true, ..memory::Keep::default() };
    let done = memory::run(plan, keep, Executor::default(), &Pulse::default()).unwrap().unwrap();
    let result = |name: &str| {
        let line = done.summary.results.iter().find(|line| line.name == name).unwrap();
        line.outcome.value().unwrap()
    };
    let value = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    let samples = done.samples.lines().skip(1).map(value).collect();
    ([result("overshoot"), result("settling")], samples)
}

/// Controller and disturbance as FMUs for model exchange, against those of this program, in both structures.
#[test]
fn basic_models_may_be_fmus() {
    let bench = Bench::new("ses").fmu("PID", &[]).fmu("Step", &[]);
    let parts = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/parts/control.toml");
    let text = STRUCTURE.replace("../../parts/control.toml", parts);
    std::fs::write(bench.0.join("feedforward.json"), text).unwrap();
    for (structure, k, ti) in [("0", "1", "10"), ("0", "10", "2"), ("1", "1", "5")] {
        let sets = [("feedforward", structure), ("k", k), ("Ti", ti)];
        let (native, own) = run(&bench, &sets);
        let (fmi, other) = run(&bench, &[&sets[..], &[("myinterface", "fmi")]].concat());
        assert_eq!((own.len(), other.len()), (401, 401));
        let far = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-6, "{sets:?}: {far:e}");
        assert!((native[0] - fmi[0]).abs() < 1e-6, "{sets:?}: {native:?} {fmi:?}");
        assert!((native[1] - fmi[1]).abs() < 1e-4, "{sets:?}: {native:?} {fmi:?}");
        // Neither run is the other one in disguise.
        assert!(own != other, "{sets:?}");
    }
}
