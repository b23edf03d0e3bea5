//! Property 10: Time Warp commits what the sequential run does, byte for byte.
use super::{CASES, Case, END, Outcome, options};
use proptest::prelude::*;
use superdense_kernel::parallel::{Cancellation, Method, Migration, Partition, Schedule, Settings};

fn settings(schedule: impl Strategy<Value = Schedule>) -> impl Strategy<Value = Settings> {
    let partition = prop_oneof![
        Just(Partition::Blocks),
        Just(Partition::RoundRobin),
        Just(Partition::Wiring),
        prop::collection::vec(0u32..8, 20).prop_map(Partition::Given),
    ];
    let lazy = any::<bool>();
    let save = prop_oneof![Just(1), Just(7), Just(u32::MAX)];
    let memory = prop_oneof![Just(0.0), Just(3.0), Just(1e4)];
    let patience = prop_oneof![Just(2), Just(16)];
    let migration = prop_oneof![
        Just(Migration::Never),
        Just(Migration::WhenSkewed),
        Just(Migration::AtEachCut)
    ];
    let workers = prop_oneof![Just(1u32), Just(2), Just(3), Just(8)];
    let method = prop_oneof![4 => Just(Method::TimeWarp), 1 => Just(Method::Conservative)];
    (workers, (lazy, method), save, (partition, migration), memory, patience, schedule).prop_map(
        |(
            workers,
            (lazy, method),
            save_every,
            (partition, migration),
            memory,
            patience,
            schedule,
        )| Settings {
            method,
            workers,
            cancellation: if lazy { Cancellation::Lazy } else { Cancellation::Aggressive },
            save_every,
            partition,
            migration,
            schedule,
            memory,
            patience,
            ..Settings::default()
        },
    )
}

/// The first thing in which a parallel run differs from the sequential one.
fn difference(case: &Case, expected: &Outcome, settings: &Settings) -> Option<String> {
    let mut run = case.start(case.tree.build(), options(), str::to_owned);
    let error = run.sim.run_through_parallel(END, settings).err();
    let found = Outcome::of(&run, error);
    let records = found.records.iter().zip(&expected.records).find(|(a, b)| a != b);
    match records {
        Some(records) => Some(format!("{records:?}")),
        None if found == *expected => None,
        None => Some(format!("{:?} {:?}", found, expected)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Virtual workers: batches, cuts and deliveries in any order.
    #[test]
    fn property_10_virtual_workers(
        case in Case::any(),
        settings in settings(any::<u64>().prop_map(Schedule::Virtual)),
    ) {
        prop_assert_eq!(difference(&case, &case.run(), &settings), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Real threads.
    #[test]
    fn property_10_threads(case in Case::any(), settings in settings(Just(Schedule::Threads))) {
        prop_assert_eq!(difference(&case, &case.run(), &settings), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each number of workers with each way to cancel, to save and to divide.
    #[test]
    fn property_10_every_setting(case in Case::any(), seed in any::<u64>()) {
        let methods = [
            (Method::TimeWarp, Cancellation::Aggressive),
            (Method::TimeWarp, Cancellation::Lazy),
            (Method::Conservative, Cancellation::Aggressive),
        ];
        let expected = case.run();
        for (workers, (method, cancellation)) in [1, 2, 8].into_iter().flat_map(|w| methods.map(|m| (w, m))) {
            for save_every in [1, 7, u32::MAX] {
                for partition in [Partition::Blocks, Partition::RoundRobin, Partition::Wiring] {
                    let schedule = Schedule::Virtual(seed);
                    let settings = Settings {
                        method, workers, cancellation, save_every, partition, schedule,
                        ..Settings::default()
                    };
                    prop_assert_eq!(difference(&case, &expected, &settings), None, "{:?}", settings);
                }
            }
        }
    }
}
