use super::{Increments, Load, MEAN, Source, Timers, bare::Bare, lists::Alone, nexo, ours, xdevs};
use superdense_kernel::event_list::EventListKind;

#[test]
fn increments_have_the_stated_mean() {
    for increments in Increments::ALL {
        let mut source = Source::of(7);
        let sum: i64 = (0..200_000).map(|_| source.draw(increments)).sum();
        let mean = sum as f64 / 200_000.0 / MEAN as f64;
        assert!((mean - 1.0).abs() < 0.03, "{increments:?}: {mean}");
    }
}

/// All engines see the same increments, so they count the same events.
#[test]
fn engines_count_the_same_events() {
    for increments in Increments::ALL {
        for load in [Load::Hold, Load::Ring] {
            let timers = Timers { load, entities: 50, events: 5_000, increments };
            let events = Bare::new(timers).run();
            assert!((3_000..7_000).contains(&events), "{timers:?}: {events}");
            let mut hashes = Vec::new();
            for kind in EventListKind::ALL {
                let mut sim = ours::build(timers, kind);
                sim.run_until(timers.end()).unwrap();
                assert_eq!(ours::events(timers, &sim), events, "{timers:?} {kind:?}");
                hashes.push(sim.trace_hash());
                if load == Load::Hold {
                    assert_eq!(Alone::new(timers, kind).run(), events, "{timers:?} {kind:?}");
                }
            }
            assert!(hashes.windows(2).all(|w| w[0] == w[1]), "{timers:?}");
            assert_eq!(xdevs::Run::new(timers).run(), events, "{timers:?}");
        }
    }
}

/// Alone, because it counts per process.
#[test]
fn nexosim_counts_the_same_events() {
    let mut before = 0;
    for load in [Load::Hold, Load::Ring] {
        let timers =
            Timers { load, entities: 50, events: 5_000, increments: Increments::Exponential };
        let total = nexo::run(timers, &mut nexo::build(timers));
        assert_eq!(total - before, Bare::new(timers).run());
        before = total;
    }
}
