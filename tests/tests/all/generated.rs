//! Random models, as `cargo run -p superdense-tests --bin generate` makes them. The variable
//! `SUPERDENSE_MODELS` asks for more than these.
use std::path::PathBuf;
use superdense_judge::model::{Trigger, Variable};
use superdense_tests::generate::{
    bars,
    campaign::{self, Options},
    coverage::{Coverage, FLOOR},
    hybrid, kinds,
    random::Random,
    settings::Method,
    tree,
};

fn options(share: u64) -> Options {
    let models = std::env::var("SUPERDENSE_MODELS").ok().and_then(|n| n.parse().ok());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("generate");
    let mut options = Options::new(1, models.unwrap_or(300) / share, folder);
    options.keep = 3;
    options.threads = 2;
    options
}

#[test]
fn random_hybrid_models_are_judged_right() {
    let report = campaign::run(&options(1)).unwrap();
    let wrong: Vec<_> = report
        .disagreements
        .iter()
        .map(|d| format!("model {} by {}: {}", d.case.number, d.judge, d.finding.difference))
        .collect();
    assert!(wrong.is_empty(), "{}\nsmaller: {:?}", wrong.join("\n"), report.files);
    assert!(!report.decides_little(), "without states: {:?}", report.stateless_decided());
}

#[test]
fn models_have_every_pair_of_operator_trigger_and_key() {
    for seed in [1, 2] {
        let mut coverage = Coverage::default();
        (0..FLOOR).for_each(|number| coverage.add(&campaign::case(seed, number).model));
        assert_eq!(coverage.missing(), Vec::<String>::new(), "seed {seed}\n{}", coverage.table());
    }
}

#[test]
fn units_without_states_have_conditions_inputs_and_algebraic_variables() {
    let (mut conditions, mut inputs, mut algebraic) = (0, 0, 0);
    for number in 0..200 {
        let model = hybrid::without_states(&mut Random::new(1, number, "stateless units"));
        let still: Vec<_> = model.units.iter().filter(|u| u.states.is_empty()).collect();
        assert!(!still.is_empty(), "model {number}");
        for unit in still {
            let located = |t: &Trigger| !matches!(t, Trigger::At(_) | Trigger::Every { .. });
            conditions += tree::events(unit).filter(|e| located(&e.trigger)).count();
            inputs += unit.inputs.len();
            algebraic += unit.algebraic.len();
            let mut resets = tree::events(unit).flat_map(|e| &e.reset);
            assert!(resets.all(|r| matches!(r.0, Variable::Discrete(..))), "model {number}");
        }
    }
    let enough = conditions > 100 && inputs > 50 && algebraic > 50;
    assert!(enough, "{conditions} conditions, {inputs} inputs, {algebraic} algebraic variables");
}

#[test]
fn options_that_mean_nothing_to_a_kind_are_refused() {
    let with = |edit: fn(&mut Options)| {
        let mut options = options(1);
        edit(&mut options);
        options
    };
    let judge = with(|o| o.judge = Some("shift".into()));
    let all = with(|o| o.all_methods = true);
    let quantised = with(|o| o.method = Some(Method::Qss2));
    for kind in ["network", "coupling", "diagram", "executor"] {
        assert!(kinds::refusal(kind, &options(1)).is_none());
        assert!(kinds::refusal(kind, &judge).is_some());
        let plain = ["network", "diagram"].contains(&kind);
        assert_eq!(kinds::refusal(kind, &all).is_some(), plain);
        assert_eq!(kinds::refusal(kind, &quantised).is_some(), kind != "executor");
    }
}

fn of_kind(kind: &str, share: u64) {
    let check = kinds::check(kind).unwrap();
    let found = kinds::run(kind, &options(share), check.as_ref()).unwrap();
    assert!(found.disagreements.is_empty(), "{:?} {:?}", found.disagreements, found.files);
}

#[test]
fn random_networks_are_as_in_a_plain_event_loop() {
    of_kind("network", 3);
}

#[test]
fn random_diagrams_are_as_in_one_unit() {
    of_kind("diagram", 3);
}

#[test]
fn random_masters_come_to_the_whole() {
    of_kind("coupling", 10);
}

#[test]
fn random_models_are_equal_under_every_executor() {
    of_kind("executor", 10);
}

/// With the program beside this one, as `--workspace` builds it.
#[test]
fn bars_of_random_models_hold_the_truth() {
    let found = bars::run(&options(6)).unwrap();
    assert!(found.missed.is_empty(), "{:?}", found.missed);
    let events: usize = found.table.values().map(|cell| cell.events[0]).sum();
    let samples: usize = found.table.values().map(|cell| cell.samples[0]).sum();
    assert!(events > 5 && samples > 100, "{events} events, {samples} samples");
}
