//! Properties 12 and 19: legitimacy, and time advances that are none.
use super::{CASES, Case, END, LIMIT, Outcome, options};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Coupled,
    error::RunError,
    time::{Duration, Resolution},
};
use superdense_tests::{
    machine::{Machine, On},
    parts::{Gen, Relay},
    record::Run,
    tree::{End, Link, Node, Part},
    unit::Unit,
};

/// Its time advances, one after the other; ∞ at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Wild {
    plan: Vec<Duration>,
    at: usize,
}

impl Machine for Wild {
    fn advance(&self) -> i64 {
        self.plan.get(self.at).map_or(i64::MAX, |d| d.ticks())
    }
    fn output(&self) -> Vec<On> {
        vec![(0, self.at as i64)]
    }
    fn internal(&mut self) {
        self.at += 1;
    }
    fn external(&mut self, _: i64, _: &[On]) {
        self.at += 1;
    }
}

fn any_advance() -> impl Strategy<Value = Duration> {
    let real = |x| Duration::of_seconds(x, Resolution::NANO);
    prop_oneof![
        10 => (0i64..5).prop_map(Duration::from_ticks),
        2 => Just(Duration::ZERO),
        1 => Just(Duration::INFINITE),
        1 => Just(Duration::from_ticks(-1)),
        1 => Just(real(f64::NAN)),
        1 => Just(real(f64::NEG_INFINITY)),
        1 => Just(Duration::from_ticks(i64::MAX - 1)),
        1 => any::<i64>().prop_map(Duration::from_ticks),
        1 => any::<f64>().prop_map(real),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Property 12: without a zero advance there is never a second cycle at a tick.
    #[test]
    fn property_12_legitimate(case in Case::any()) {
        let mut case = case;
        case.tree.each_part(&mut |part, elapsed| {
            part.map_delay(|d| d.max(1));
            *elapsed = 0;
        });
        let outcome = case.run();
        prop_assert_eq!(outcome.error, None);
        prop_assert!(outcome.cycles.iter().all(|c| c.1 == 0));
    }

    /// Property 12: a loop of zero advances that is reached always ends in the guard's error.
    #[test]
    fn property_12_illegitimate(case in Case::any(), size in 2usize..6, at in 0..END) {
        let mut case = case;
        let first = case.tree.children.len();
        let part = |part| Node::Part { part, elapsed: 0 };
        case.tree.children.push(("~start".into(), part(Part::Gen(Gen::once(at, 1)))));
        for i in 0..size {
            case.tree.children.push((format!("~ring[{i}]"), part(Part::Relay(Relay::new(0)))));
        }
        let end = |c| End { child: Some(c), port: 0 };
        for i in 0..=size {
            let to = if i == size { first + 1 } else { first + i + 1 };
            case.tree.links.push(Link { from: end(first + i), to: end(to), z: None });
        }
        let outcome = case.run();
        let (t, n) = outcome.error.expect("the guard");
        prop_assert!(t <= at && n == LIMIT + 1);
        let last = outcome.cycles.iter().filter(|c| c.0 == t).count();
        prop_assert_eq!(last as u32, LIMIT + 1);
        prop_assert_eq!(outcome.error, case.reference().1);
    }

    /// Property 19: any time advance is an error with a name, or has its meaning; no panic, no
    /// hang.
    #[test]
    fn property_19_wild_advances(
        plans in prop::collection::vec(prop::collection::vec(any_advance(), 0..12), 1..4),
        start in prop_oneof![Just(0i64), any::<i64>()],
    ) {
        let mut top = Coupled::new();
        let models: Vec<_> = plans
            .into_iter()
            .enumerate()
            .map(|(i, plan)| top.add(("wild", i), Unit::new(Wild { plan, at: 0 })).any())
            .collect();
        superdense_tests::unit::chain(&mut top, &models);
        let options = superdense_kernel::Options { start, ..options() };
        let result = Run::with(top, options).and_then(|mut run| {
            run.sim.run_through(i64::MAX)?;
            Ok(run)
        });
        match result {
            Ok(run) => {
                let outcome = Outcome::of(&run, None);
                prop_assert!(outcome.cycles.is_sorted_by(|a, b| a < b));
            }
            Err(e @ (RunError::BadAdvance { .. } | RunError::Time { .. })) => {
                // Either a model is named, or the start that no event list holds.
                let name = if start < -(1 << 62) || start == i64::MAX { "the start" } else { "wild[" };
                prop_assert!(e.to_string().contains(name), "{}", e);
            }
            Err(e) => prop_assert!(matches!(e, RunError::MicroSteps { .. }), "{}", e),
        }
    }
}
