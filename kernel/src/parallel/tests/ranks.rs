//! Runs over ranks, each on a thread of its own, against the sequential run.
use super::{
    windows::{deceived, network},
    *,
};
use crate::{
    message::fold,
    parallel::{LostRank, Ranks},
};
use std::{sync::Condvar, thread};

/// The state that threads in place of ranks share.
struct Desk {
    table: Mutex<Table>,
    turned: Condvar,
}

#[derive(Default)]
struct Table {
    round: u64,
    came: u32,
    /// By sender and receiver.
    parcels: Vec<Vec<Vec<u8>>>,
    numbers: Vec<i64>,
    lost: Option<u32>,
}

/// A rank on a thread, which by a seed comes late, or at some round not at all.
struct Seat {
    rank: u32,
    ranks: u32,
    desk: Arc<Desk>,
    draws: u64,
    /// Rounds after which it is lost.
    lost_after: Option<u64>,
}

/// A seat for each rank.
fn seats(ranks: u32, seed: u64, lost: Option<(u32, u64)>) -> Vec<Seat> {
    let each = vec![Vec::new(); ranks as usize];
    let parcels = vec![each; ranks as usize];
    let table = Table { parcels, numbers: vec![0; ranks as usize], ..Table::default() };
    let desk = Arc::new(Desk { table: Mutex::new(table), turned: Condvar::new() });
    let seat = |rank| Seat {
        rank,
        ranks,
        desk: Arc::clone(&desk),
        draws: fold(seed, u64::from(rank)),
        lost_after: lost.filter(|lost| lost.0 == rank).map(|lost| lost.1),
    };
    (0..ranks).map(seat).collect()
}

impl Seat {
    /// Puts something on the table, and takes something from it when all have come.
    fn meet<T>(
        &mut self,
        put: impl FnOnce(&mut Table),
        take: impl FnOnce(&mut Table) -> T,
    ) -> Result<T, LostRank> {
        self.draws = fold(self.draws, self.draws.rotate_left(31));
        for _ in 0..self.draws % 4 {
            thread::yield_now();
        }
        let mut table = self.desk.table.lock().expect("no panic");
        let round = table.round;
        if self.lost_after.is_some_and(|rounds| round >= rounds) {
            table.lost = Some(self.rank);
            self.desk.turned.notify_all();
        }
        put(&mut table);
        table.came += 1;
        if table.came == self.ranks {
            (table.came, table.round) = (0, round + 1);
            self.desk.turned.notify_all();
        }
        while table.round == round && table.lost.is_none() {
            table = self.desk.turned.wait(table).expect("no panic");
        }
        match table.lost {
            Some(rank) => Err(LostRank { why: format!("rank {rank} was killed") }),
            None => Ok(take(&mut table)),
        }
    }
}

impl Ranks for Seat {
    fn rank(&self) -> u32 {
        self.rank
    }
    fn ranks(&self) -> u32 {
        self.ranks
    }
    fn least(&mut self, mine: i64) -> Result<i64, LostRank> {
        let me = self.rank as usize;
        let all = self.meet(|table| table.numbers[me] = mine, |table| table.numbers.clone())?;
        // Nobody puts another number there before all have read these.
        self.meet(|_| (), |_| ())?;
        Ok(all.into_iter().fold(i64::MAX, i64::min))
    }
    fn exchange(&mut self, parcels: &mut [Vec<u8>]) -> Result<(), LostRank> {
        let me = self.rank as usize;
        let mine = parcels.to_vec();
        let put = |table: &mut Table| table.parcels[me] = mine;
        let take = |table: &mut Table| table.parcels.iter().map(|from| from[me].clone()).collect();
        let came: Vec<Vec<u8>> = self.meet(put, take)?;
        self.meet(|_| (), |_| ())?;
        parcels.clone_from_slice(&came);
        Ok(())
    }
}

/// Runs a model over ranks; how each of them saw it.
fn over_ranks(
    model: &(impl Fn() -> Coupled<i64> + Sync),
    stop: Option<i64>,
    settings: &Settings,
    seats: Vec<Seat>,
) -> Vec<Outcome> {
    let run = |mut seat: Seat| {
        let mut sim = Simulation::new(model(), Default::default()).expect("a legal model");
        let stop = stop.filter(|_| seat.rank == 0);
        let tape = Arc::new(Mutex::new(Tape { stop, ..Tape::default() }));
        sim.observe(Arc::clone(&tape));
        let mut ends = Vec::new();
        for end in [END / 3, END, END] {
            let ended = sim.run_through_ranks(end, settings, &mut seat).map(|e| e.0);
            ends.push(ended.map_err(|e| e.to_string()));
        }
        let lines = std::mem::take(&mut tape.lock().expect("no panic").lines);
        (ends, sim.trace_hash(), sim.counts(), lines)
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            seats.into_iter().map(|seat| scope.spawn(move || run(seat))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn settings(seed: u64) -> Settings {
    Settings {
        partition: match seed % 3 {
            0 => Partition::RoundRobin,
            1 => Partition::Wiring,
            _ => Partition::Blocks,
        },
        schedule: if seed.is_multiple_of(4) { Schedule::Threads } else { Schedule::Virtual(seed) },
        ..Settings::default()
    }
}

/// Random networks with errors, stops of models and of observers, and what seems irregular: the first rank hears
/// what observers of the sequential run hear, and all ranks come to its end.
#[test]
fn random_networks_over_ranks_run_as_in_the_sequential_run() {
    for seed in 0..240 {
        let stop = (seed % 7 == 0).then_some(200);
        let expected = outcome(network(seed), stop, None);
        let ranks = 1 + seed as u32 % 3;
        let settings = settings(seed);
        let found = over_ranks(&|| network(seed), stop, &settings, seats(ranks, seed, None));
        let first = &found[0];
        let differs = first.3.iter().zip(&expected.3).find(|(a, b)| a != b);
        assert!(
            *first == expected,
            "{seed} {ranks} {settings:?}: {differs:?}\n{:?} {:?} {:?}\n{:?} {:?} {:?}",
            (&first.0, first.2),
            first.3.len(),
            first.1,
            (&expected.0, expected.2),
            expected.3.len(),
            expected.1
        );
        for other in &found[1..] {
            assert_eq!((&other.0, other.1, other.2), (&first.0, first.1, first.2), "{seed}");
        }
    }
}

/// All ends of a run over ranks.
fn ends(found: &[Outcome]) -> Vec<&Result<Ended, String>> {
    found.iter().flat_map(|outcome| &outcome.0).collect()
}

/// Where nothing has a delay, a run over ranks is refused with the wire, or goes from cycle to cycle.
#[test]
fn parts_without_delays_are_refused_or_go_in_step() {
    let model = || nodes(Habit::Add);
    for ranks in [2, 3] {
        let windows = Settings { in_step: false, ..settings(1) };
        let found = over_ranks(&model, None, &windows, seats(ranks, 1, None));
        let refused = |end: &&Result<Ended, String>| {
            let named =
                |why: &String| why.contains("output 0 of 'node[") && why.contains("reaches 'node[");
            end.as_ref().is_err_and(named)
        };
        assert!(ends(&found).iter().all(refused), "{:?}", ends(&found));
        let found = over_ranks(&model, None, &settings(1), seats(ranks, 1, None));
        assert_eq!(found[0], outcome(model(), None, None));
    }
}

/// A unit without a saved state is refused on all ranks alike.
#[test]
fn units_that_cannot_be_saved_are_refused() {
    let model = || {
        let mut top = network(2);
        top.add("socket", Fixed(Node::new(5, Habit::Add)));
        top
    };
    let found = over_ranks(&model, None, &settings(2), seats(2, 2, None));
    let named = |why: &String| why.contains("socket") && why.contains("it goes one way");
    assert!(ends(&found).iter().all(|end| end.as_ref().is_err_and(named)), "{:?}", ends(&found));
}

/// A rank that is lost, at whatever round, ends the run on all others, which have told what was done before.
#[test]
fn a_lost_rank_ends_the_run_with_its_name() {
    let mut told = 0;
    for round in 0..60 {
        let seed = 2 + round % 3;
        let expected = outcome(network(seed), None, None);
        let lost = Some((round as u32 % 3, 4 * round));
        let found = over_ranks(&|| network(seed), None, &settings(1), seats(3, round, lost));
        let lines = &found[0].3;
        if found[0] == expected {
            continue;
        }
        let named = |end: &&Result<Ended, String>| {
            end.as_ref().is_err_and(|why| *why == format!("rank {} was killed", round % 3))
        };
        assert!(ends(&found).into_iter().any(|end| named(&end)), "{round}: {:?}", ends(&found));
        assert!(expected.3.starts_with(lines), "{round}");
        told += lines.len();
    }
    assert!(told > 500, "{told}");
}

/// Windows are gone through, and each rank does its part.
#[test]
fn each_rank_runs_its_own_models() {
    let run = |mut seat: Seat| {
        let mut sim = Simulation::new(pipes(), Default::default()).expect("a legal model");
        sim.run_through_ranks(20_000, &Settings::default(), &mut seat).expect("no error").1
    };
    let did: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> =
            seats(2, 0, None).into_iter().map(|seat| scope.spawn(move || run(seat))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let [a, b] = [&did[0], &did[1]];
    assert!(a.gvt_rounds > 1000 && a.gvt_rounds == b.gvt_rounds, "{did:?}");
    assert!(a.executed == b.executed && a.executed.iter().all(|did| *did > 1000), "{did:?}");
    assert_eq!((a.executed.iter().sum(), a.sequential_cycles), (a.committed, 0), "{did:?}");
}

fn pipes() -> Coupled<i64> {
    let mut top = Coupled::new();
    let pipe = |i| Pipe { delay: 10, now: 0, waiting: vec![(i, 1), (i + 3, 2)] };
    let pipes: Vec<_> = (0..4).map(|i| top.add(("pipe", i as usize), pipe(i)).any()).collect();
    for (i, from) in pipes.iter().enumerate() {
        top.couple(from.output(OUT), pipes[(i + 1) % 4].input(IN));
    }
    top
}

/// Each pipe is in a cluster with a node, which hears it at once. The first models of all clusters are asked to be
/// in one part, and yet they are divided.
#[test]
fn clusters_are_dealt_out_where_their_first_models_share_a_part() {
    let model = || {
        let mut top = Coupled::new();
        let pipe = |i| Pipe { delay: 10, now: 0, waiting: vec![(i, 1), (i + 3, 2)] };
        let nodes: Vec<_> =
            (0..3).map(|i| top.add(("a", i as usize), Node::new(20, Habit::Add)).any()).collect();
        let pipes: Vec<_> = (0..3).map(|i| top.add(("b", i as usize), pipe(i)).any()).collect();
        for i in 0..3 {
            top.couple(nodes[i].output(OUT), pipes[i].input(IN));
            top.couple(pipes[i].output(OUT), nodes[(i + 1) % 3].input(IN));
        }
        top
    };
    let expected = outcome(model(), None, None);
    for ranks in [2, 3] {
        let windows = Settings { in_step: false, ..Settings::default() };
        let mut given = windows.clone();
        given.partition = Partition::Given(vec![0, 0, 0, 1, 1, 1]);
        for settings in [windows, given] {
            let found = over_ranks(&model, None, &settings, seats(ranks, 1, None));
            assert_eq!(found[0], expected);
        }
    }
}

/// A promise that is not kept costs the windows, not the result, also where an observer stops the run later.
#[test]
fn broken_promises_are_found_out_over_ranks() {
    for stop in [None, Some(250)] {
        let expected = outcome(deceived(), stop, None);
        let found = over_ranks(&deceived, stop, &Settings::default(), seats(2, 1, None));
        assert_eq!(found[0], expected);
        assert_eq!((&found[1].0, found[1].1), (&expected.0, expected.1));
    }
}
