use super::{Devstone, Expected, Level, Part, Shape, expected, ours, xdevs};
use superdense_kernel::Ended;

const SHAPES: [Shape; 4] = [Shape::LI, Shape::HI, Shape::HO, Shape::HOmod];

fn of(shape: Shape, width: usize, depth: usize) -> Devstone {
    Devstone { shape, width, depth, work: 0 }
}

/// Counts from the list of levels: atomics, EIC, IC, EOC.
fn laid_out(model: Devstone) -> [u64; 4] {
    let mut sum = [0; 4];
    for depth in 1..=model.depth {
        let level = match depth {
            1 => Level::innermost(),
            _ => Level::outer(model.shape, model.width),
        };
        sum[0] += level.atomics as u64;
        for ((from, _), (to, _)) in level.wires {
            let kind = match (from, to) {
                (Part::Own, _) => 1,
                (_, Part::Own) => 3,
                _ => 2,
            };
            sum[kind] += 1;
        }
    }
    sum
}

fn check(model: Devstone) {
    let Expected { atomics, eic, ic, eoc, transitions, events, cycles } = expected(model);
    assert_eq!(laid_out(model), [atomics, eic, ic, eoc], "{model:?}");

    let mut sim = ours::build(model);
    assert_eq!(sim.run_through(i64::MAX - 1).unwrap(), Ended::Idle);
    let counts = sim.counts();
    assert_eq!(sim.models() as u64, atomics + 1, "{model:?}");
    // The seeder makes one internal transition.
    assert_eq!(counts.internal + counts.confluent, transitions + 1, "{model:?}");
    assert_eq!(counts.external + counts.confluent, transitions, "{model:?}");
    assert_eq!(counts.messages, events, "{model:?}");
    if let Some(cycles) = cycles {
        assert_eq!(counts.cycles, cycles, "{model:?}");
        assert_eq!(u64::from(sim.now().micro) + 1, cycles, "{model:?}");
    }
    let paths: Vec<String> = sim.paths().collect();
    let stones = paths.iter().filter_map(|p| sim.model::<ours::Stone>(p));
    let sum = stones.fold([0; 3], |s, m| {
        [s[0] + u64::from(m.internals), s[1] + u64::from(m.externals), s[2] + m.events]
    });
    assert_eq!(sum, [transitions, transitions, events], "{model:?}");

    let totals = xdevs::Run::new(model).run();
    let peer = [totals.atomics, totals.internals, totals.externals, totals.events];
    assert_eq!(peer, [atomics, transitions, transitions, events], "{model:?}");
}

#[test]
fn every_shape_has_the_counts_of_the_literature() {
    for shape in SHAPES {
        for width in [1, 2, 3, 5, 8] {
            for depth in [1, 2, 3, 4, 7] {
                check(of(shape, width, depth));
            }
        }
    }
}

/// Conformance P29; its pairs are (depth, width).
#[test]
fn p29_transition_counts() {
    for (depth, width, count) in [(2, 2, 2), (3, 4, 13), (5, 5, 41), (4, 10, 136)] {
        for shape in [Shape::HI, Shape::HO] {
            check(of(shape, width, depth));
            assert_eq!(expected(of(shape, width, depth)).transitions, count);
        }
    }
    for (depth, width, count) in [(3, 4, 7), (4, 10, 28)] {
        check(of(Shape::LI, width, depth));
        assert_eq!(expected(of(Shape::LI, width, depth)).transitions, count);
    }
}

#[test]
fn homod_pins() {
    for (size, transitions, events) in
        [(10, 18_712, 92_764), (20, 689_872, 4_097_389), (30, 5_500_982, 34_569_364)]
    {
        let e = expected(of(Shape::HOmod, size, size));
        assert_eq!((e.transitions, e.events), (transitions, events));
    }
    check(of(Shape::HOmod, 10, 10));
}

#[test]
fn the_sizes_of_the_comparison() {
    assert_eq!(expected(of(Shape::LI, 300, 300)).transitions, 89_402);
    assert_eq!(expected(of(Shape::HI, 300, 300)).transitions, 13_410_151);
    assert_eq!(expected(of(Shape::HO, 300, 300)).transitions, 13_410_151);
}
