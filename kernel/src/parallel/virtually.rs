//! Workers in turn on one thread, by a seed, with all that may go wrong between threads.
use super::{
    commit::{Committed, Cut},
    cuts::Coordinator,
    telling::Telling,
    unit::{Load, Packet},
    worker::{Worker, World},
};
use crate::{
    message::{Message, fold},
    time::Tag,
};
use crossbeam::queue::SegQueue;

/// Draws from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (fold(self.0, self.0.rotate_left(31)) >> 16) as usize % n.max(1)
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The faults of a run.
struct Faults {
    /// A worker that hardly gets a turn.
    stalled: Option<usize>,
    /// A cut after every event.
    hasty: bool,
    /// Models go back although nothing came late.
    forced: bool,
    /// Messages come twice, with an anti-message for one of the two, in any order.
    doubled: bool,
}

impl Faults {
    fn draw(dice: &mut Dice, workers: usize) -> Self {
        Self {
            stalled: dice.one_in(3).then(|| dice.below(workers)),
            hasty: dice.one_in(4),
            forced: dice.one_in(2),
            doubled: dice.one_in(2),
        }
    }
}

impl Coordinator {
    /// Runs until the orders say halt.
    pub(super) fn virtually<M: Message>(
        &mut self,
        world: &World<'_, M>,
        crew: &mut [Worker<M>],
        seed: u64,
        telling: &mut Telling<'_, M>,
    ) {
        let mut dice = Dice(seed);
        let faults = Faults::draw(&mut dice, crew.len());
        let mut cuts: Vec<Option<Cut>> = crew.iter().map(|_| None).collect();
        let mut committed: Vec<Committed<M>> = crew.iter().map(|_| Committed::default()).collect();
        loop {
            let i = dice.below(crew.len());
            if faults.stalled == Some(i) && !dice.one_in(16) {
                continue;
            }
            let worker = &mut crew[i];
            let turn = if faults.hasty && cuts[i].is_none() { 0 } else { dice.below(4) };
            match turn {
                0 if cuts[i].is_none() => {
                    if faults.hasty {
                        worker.work(world, 1);
                    }
                    if faults.forced && dice.one_in(4) {
                        let draws = (dice.below(worker.units.len()), dice.below(1 << 20));
                        worker.force_back(world, draws, self.orders.gvt);
                    }
                    deliver(&world.inboxes[i], &faults, &mut dice);
                    worker.horizon = self.horizons[i];
                    let (gvt, kept) = (self.orders.gvt, self.orders.kept);
                    cuts[i] = Some(worker.cut(world, gvt, kept, &mut committed[i]));
                }
                1 => {
                    deliver(&world.inboxes[i], &faults, &mut dice);
                    worker.receive(world);
                }
                _ => drop(worker.work(world, 1 + dice.below(8))),
            }
            if cuts.iter().all(Option::is_some) {
                let told: Vec<Cut> = cuts.iter_mut().filter_map(Option::take).collect();
                self.merge(&told, &mut committed, telling);
                if let Some(tag) = self.orders.halt {
                    crew.iter_mut().for_each(|w| w.undo_from(tag));
                    return;
                }
            }
        }
    }
}

/// Deliveries overtake each other.
fn deliver<M: Clone>(inbox: &SegQueue<Packet<M>>, faults: &Faults, dice: &mut Dice) {
    let mut all: Vec<Packet<M>> = std::iter::from_fn(|| inbox.pop()).collect();
    for i in 0..all.len() {
        if faults.doubled && !all[i].is_anti() && dice.one_in(3) {
            let (twice, anti) = (all[i].clone(), Packet { load: Load::new(), ..all[i].clone() });
            all.extend([twice, anti]);
        }
    }
    while !all.is_empty() {
        inbox.push(all.swap_remove(dice.below(all.len())));
    }
}

impl<M: Message> Worker<M> {
    /// A unit goes back to one of its keys from `gvt` on, as if something had come late.
    fn force_back(&mut self, world: &World<'_, M>, draws: (usize, usize), gvt: Tag) {
        let Some(unit) = self.units.get(draws.0) else { return };
        let first = self.history.first_past(unit, gvt);
        let open = self.history.chain(first).map(|r| self.history[r].tag());
        let open: Vec<Tag> = open.filter(|&tag| tag >= gvt).collect();
        if !open.is_empty() && unit.barrier().is_none() {
            let tag = open[draws.1 % open.len()];
            self.roll_back(world, draws.0 as u32, tag);
            self.requeue(world, draws.0 as u32);
        }
    }
}
