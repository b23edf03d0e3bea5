//! Models that go to other workers.
use super::*;
use crate::parallel::Statistics;

#[test]
fn models_go_to_other_workers_at_each_cut() {
    let migration = Migration::AtEachCut;
    let schedule = Schedule::Virtual(3);
    let settings = Settings { migration, schedule, workers: 3, ..Settings::default() };
    let mut sims =
        [0, 1].map(|_| Simulation::new(nodes(Habit::Add), Default::default()).expect("a model"));
    let [sim, plain] = &mut sims;
    let (_, did) = sim.run_through_parallel(END, &settings).expect("a run");
    plain.run_through(END).expect("a run");
    assert_eq!(sim.trace_hash(), plain.trace_hash());
    assert!(did.migrated > 50, "{did:?}");
}

/// Does something at every tick between two.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Shift {
    now: i64,
    from: i64,
    until: i64,
}

impl Atomic<i64> for Shift {
    fn outputs(&self) -> u16 {
        1
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        out.send(OUT, 1);
    }
    fn time_advance(&self) -> Duration {
        let next = self.from.max(self.now + 1);
        if next < self.until { Duration::between(self.now, next) } else { Duration::INFINITE }
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.now = fx.now().ticks;
    }
}

#[test]
fn models_go_to_workers_that_have_less_to_do() {
    const TICKS: i64 = 4_000;
    // Only the first half of the models has anything to do, and then only the second.
    let model = || {
        let mut top = Coupled::new();
        for i in 0..64 {
            let from = if i < 32 { 0 } else { TICKS };
            top.add(("shift", i), Shift { now: 0, from, until: from + TICKS });
        }
        top
    };
    let given = Partition::Given((0..64).map(|m| m / 32).collect());
    for (partition, migration, moves) in [
        (Partition::Blocks, Migration::WhenSkewed, true),
        (Partition::Wiring, Migration::WhenSkewed, true),
        (Partition::Blocks, Migration::Never, false),
        (given, Migration::WhenSkewed, false),
    ] {
        let mut sims =
            [0, 1].map(|_| Simulation::new(model(), Default::default()).expect("a model"));
        let [sim, plain] = &mut sims;
        let what = format!("{partition:?} {migration:?}");
        let settings = Settings { partition, migration, probe: false, ..Settings::default() };
        for half in 1..=2 {
            let mut total = Statistics::default();
            // In pieces, as scenarios are run; what was measured outlives them.
            for piece in 1..=20 {
                let end = (half - 1) * TICKS + piece * TICKS / 20;
                let (_, did) = sim.run_through_parallel(end, &settings).expect("a run");
                total.add(&did);
            }
            plain.run_through(half * TICKS).expect("a run");
            assert_eq!(sim.trace_hash(), plain.trace_hash(), "{what}");
            assert_eq!(total.migrated > 0, moves, "{what}, half {half}: {total:?}");
            // Of two workers, none does less than a quarter; or one does nearly all.
            let (least, sum) = (total.executed.iter().min(), total.executed.iter().sum::<u64>());
            assert_eq!(
                least.is_some_and(|&l| 4 * l > sum),
                moves,
                "{what}, half {half}: {total:?}"
            );
        }
    }
}

/// Windows wait for the worker that has most to do.
#[test]
fn windows_even_out_what_workers_have_to_do() {
    const TICKS: i64 = 4_000;
    let model = || {
        let mut top = Coupled::new();
        // Only the first half of the models has anything to do, and a sink hears of all of it.
        let sink = top.add("sink", Node::new(i64::MAX, Habit::Add)).any();
        for i in 0..64 {
            let from = if i < 32 { 0 } else { TICKS };
            let shift = top.add(("shift", i), Shift { now: 0, from, until: from + TICKS }).any();
            top.couple(shift.output(OUT), sink.input(IN));
        }
        top
    };
    let mut plain = Simulation::new(model(), Default::default()).expect("a model");
    plain.run_through(TICKS).expect("a run");
    for (migration, moves) in
        [(Migration::WhenSkewed, true), (Migration::AtEachCut, true), (Migration::Never, false)]
    {
        let settings = Settings {
            method: Method::Conservative,
            migration,
            schedule: Schedule::Virtual(7),
            ..Settings::default()
        };
        let mut sim = Simulation::new(model(), Default::default()).expect("a model");
        let mut last = Statistics::default();
        let mut migrated = 0;
        for end in (0..=TICKS).step_by(200) {
            let (_, did) = sim.run_through_parallel(end, &settings).expect("a run");
            migrated += did.migrated;
            last = did;
        }
        assert_eq!((sim.trace_hash(), sim.counts()), (plain.trace_hash(), plain.counts()));
        assert_eq!(migrated > 0, moves, "{migration:?}");
        let (most, sum) = (last.executed.iter().max(), last.executed.iter().sum::<u64>());
        let even = most.is_some_and(|&most| 16 * 2 * most <= 18 * sum);
        assert!(even == moves || migration == Migration::AtEachCut, "{migration:?}: {last:?}");
    }
}
