//! Models dealt out to parts, and back home.
use super::{
    layout::{Layout, Wire},
    part::Part,
};
use crate::{
    checkpoint::SavedSimulation,
    event_list::EventList,
    homes::Homes,
    message::Message,
    order::order,
    simulation::Simulation,
    slab::{Kind as Slab, Slabs},
};

/// The slabs of a part, by kind.
type Kinds<M> = Vec<Box<dyn Slab<M>>>;

/// Data by which a simulation is taken apart: kept until the partition, the structure or the wishes
/// of observers change.
pub(crate) struct Apart<M: Message> {
    pub(super) layout: Layout,
    /// Parts that have models, ascending.
    pub(super) parts: Vec<(u32, Part<M>)>,
    /// A state from the last time, over which the next one is saved.
    pub(super) saved: Option<SavedSimulation<M>>,
    /// The last tick of the last window.
    pub(super) reached: i64,
    /// Transitions of parts since somebody looked, and what these took: nanoseconds, or the same again
    /// if there is no clock.
    pub(super) work: [Vec<u64>; 2],
    /// The slabs of all other parts, while models are dealt out.
    idle: Vec<(u32, Kinds<M>)>,
    /// By kind and slot.
    part_of: Vec<Vec<u32>>,
    /// For whom it was made; over ranks, by which of them.
    asked: (Vec<u32>, u32, Option<u32>),
    heard: (bool, Vec<bool>),
}

impl<M: Message> Apart<M> {
    /// The one from the last time, or a new one; over ranks, that of a `rank`.
    ///
    /// # Errors
    /// As [`Layout::of`].
    pub(super) fn of(
        sim: &mut Simulation<M>,
        asked: &[u32],
        (workers, rank): (u32, Option<u32>),
    ) -> Result<Self, Wire> {
        let heard = (!sim.core.observers.is_empty(), &sim.core.bus.heard);
        let fits = |apart: &Self| {
            (&*apart.asked.0, apart.asked.1, apart.asked.2) == (asked, workers, rank)
                && (apart.heard.0, &apart.heard.1) == heard
        };
        if let Some(apart) = sim.apart.take().filter(fits) {
            return Ok(apart);
        }
        let layout = Layout::of(sim, asked, workers)?;
        let part_of = sim.parts(&layout.parts);
        let slots = slots(&part_of, 2 * workers);
        let core = &sim.core;
        let mut parts = Vec::new();
        for number in 0..2 * workers {
            let models = layout.models(number);
            if models.is_empty() || rank.is_some_and(|rank| !layout.is_of(number, rank)) {
                continue;
            }
            let place = |&m: &u32| {
                let (kind, slot) = core.homes.of(m);
                (m, kind, slots[kind as usize][slot as usize])
            };
            let homes = Homes::of_some(models.iter().map(place), core.keys.len());
            let network = layout.network(&core.network, number);
            let mut part = sim.part(network, homes, Slabs::of(Vec::new()));
            part.core.meter = core.meter.as_ref().and_then(|meter| meter.fork());
            parts.push((number, Part::new(part, models, &layout, (heard.0, heard.1))));
        }
        let (heard, asked) = ((heard.0, heard.1.clone()), (asked.to_vec(), workers, rank));
        let (saved, reached, idle) = (None, 0, Vec::new());
        let work = [(); 2].map(|()| vec![0; 2 * workers as usize]);
        Ok(Self { layout, parts, saved, reached, work, idle, part_of, asked, heard })
    }

    /// By worker, the transitions and nanoseconds of its parts, which are added to the work of these.
    pub(super) fn take_work(&mut self, has_clock: bool) -> (Vec<u64>, Vec<u64>) {
        let workers = self.layout.workers;
        let mut sums = vec![(0, 0); workers as usize];
        for (n, part) in &mut self.parts {
            let (executed, busy) = &mut sums[(*n % workers) as usize];
            let did = [&mut part.executed, &mut part.busy].map(std::mem::take);
            *executed += did[0];
            *busy += did[1];
            self.work[0][*n as usize] += did[0];
            self.work[1][*n as usize] += did[usize::from(has_clock)];
        }
        sums.into_iter().unzip()
    }
}

impl<M: Message> Simulation<M> {
    /// Models and their next events to parts.
    pub(super) fn deal_out(&mut self, apart: &mut Apart<M>) {
        let count = 2 * apart.layout.workers;
        let mut dealt: Vec<Kinds<M>> = (0..count).map(|_| Vec::new()).collect();
        for (kind, parts) in self.slabs.kinds.iter_mut().zip(&apart.part_of) {
            for (part, slab) in dealt.iter_mut().zip(kind.deal(parts, count)) {
                part.push(slab);
            }
        }
        let silent = self.slabs.may_be_silent();
        let mut parts = apart.parts.iter_mut().peekable();
        for (number, kinds) in (0..).zip(dealt) {
            let Some((_, part)) = parts.next_if(|(n, _)| *n == number) else {
                apart.idle.push((number, kinds));
                continue;
            };
            let (home, core) = (&self.core, &mut part.sim.core);
            core.list.reset(home.keys.len());
            core.silent.reset(if silent { home.keys.len() } else { 0 });
            for &m in &part.models {
                if let Some(at) = home.list.time_of(m) {
                    core.list.schedule(m, at);
                }
                if let Some(at) = home.silent.time_of(m) {
                    core.silent.schedule(m, at);
                }
                core.located.set(m, home.located.get(m));
            }
            let mine = |m: &&u32| apart.layout.parts[**m as usize] == number;
            core.ready.extend(home.ready.iter().filter(mine));
            core.now = home.now;
            (part.sim.ran, part.sim.floor) = (self.ran, self.floor);
            part.receive(kinds);
        }
    }

    /// Models and their next events back from parts.
    pub(super) fn come_together(&mut self, apart: &mut Apart<M>) {
        let core = &mut self.core;
        core.reset_lists(self.slabs.may_be_silent());
        core.ready.clear();
        let mut kinds = std::mem::take(&mut apart.idle);
        for (number, part) in &mut apart.parts {
            for &m in &part.models {
                if let Some(at) = part.sim.core.list.time_of(m) {
                    core.list.schedule(m, at);
                }
                if let Some(at) = part.sim.core.silent.time_of(m) {
                    core.silent.schedule(m, at);
                }
            }
            for (m, window) in part.sim.core.located.iter() {
                core.located.set(m, window);
            }
            core.ready.append(&mut part.sim.core.ready);
            kinds.push((*number, std::mem::take(&mut part.sim.slabs.kinds)));
        }
        order(&mut core.ready, &mut core.marks);
        kinds.sort_by_key(|(number, _)| *number);
        let mut slabs: Vec<Kinds<M>> = apart.part_of.iter().map(|_| Vec::new()).collect();
        for (_, kinds) in kinds {
            for (kind, slab) in slabs.iter_mut().zip(kinds) {
                kind.push(slab);
            }
        }
        for ((kind, parts), slabs) in self.slabs.kinds.iter_mut().zip(&apart.part_of).zip(slabs) {
            kind.collect(parts, slabs);
        }
    }
}

/// By kind and slot: the slot in the part's own slab.
pub(in super::super) fn slots(part_of: &[Vec<u32>], count: u32) -> Vec<Vec<u32>> {
    let each = |parts: &Vec<u32>| {
        let mut counts = vec![0; count as usize];
        let rank = |&part: &u32| {
            counts[part as usize] += 1;
            counts[part as usize] - 1
        };
        parts.iter().map(rank).collect()
    };
    part_of.iter().map(each).collect()
}
