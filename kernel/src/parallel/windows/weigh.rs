//! The weight of the next cycle, before anyone goes through it.
use crate::{
    effects::Effects,
    event_list::EventList,
    message::Message,
    parallel::speculation::{hush, speculate},
    simulation::Simulation,
    slab::Why,
    time::{Duration, Tag},
};

/// Models that are tried out, at most.
const SAMPLES: usize = 8;

/// The weight of the transitions of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// Of all together, by the caller's clock.
    pub nanoseconds: u64,
    /// How many models make one.
    pub models: usize,
}

impl<M: Message> Simulation<M> {
    /// An estimate of what the transitions of the next cycle weigh, if that is due up to tick `limit`
    /// and starts an instant: a few of the models that it reaches make theirs by the caller's
    /// clock, and go back. Changes nothing. `None` where models make silent steps, or one that is
    /// tried cannot save its state, or panics.
    ///
    /// **Why.** Where all happens at a few tags, as in DEVStone, what a run weighs is not known from
    /// cycles before.
    ///
    /// ```
    /// use superdense_kernel::{Atomic, Coupled, Simulation, time::Duration};
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct Clock;
    /// impl Atomic<u32> for Clock {
    ///     fn time_advance(&self) -> Duration { Duration::from_ticks(10) }
    /// }
    /// let mut top = Coupled::new();
    /// top.add("clock", Clock);
    /// let mut sim = Simulation::new(top, Default::default())?;
    /// assert_eq!(sim.weigh_next(9, || 0), None);
    /// assert_eq!(sim.weigh_next(10, || 0).map(|weight| weight.models), Some(1));
    /// # Ok::<(), superdense_kernel::error::RunError>(())
    /// ```
    pub fn weigh_next(&mut self, limit: i64, clock: fn() -> u64) -> Option<Weight> {
        let plain = !self.staged && self.failed.is_none() && self.injections.is_empty();
        if !plain || !self.core.ready.is_empty() || !self.core.silent.is_empty() {
            return None;
        }
        let at = self.core.list.next_time().filter(|&at| at <= limit)?;
        hush();
        let (tag, before) = (self.tag_at(at), self.core.now);
        let weight = speculate(|| {
            self.stage(tag).ok()?;
            self.try_some(tag, clock)
        });
        // As if nothing had been.
        let core = &mut self.core;
        self.imminent.iter().for_each(|&m| core.list.schedule(m, at));
        self.imminent.clear();
        core.bus.clear();
        core.bus.influenced.clear();
        core.error = None;
        core.now = before;
        self.staged = false;
        weight.flatten()
    }

    /// Transitions of some of the models of the staged cycle, and their part of it.
    fn try_some(&mut self, tag: Tag, clock: fn() -> u64) -> Option<Weight> {
        let core = &mut self.core;
        let mut moving: Vec<(u32, bool)> = core.bus.influenced.iter().map(|&m| (m, true)).collect();
        moving.extend(self.imminent.iter().map(|&m| (m, false)));
        let mut fx = Effects { observed: false, now: tag, ..Effects::new(core.resolution) };
        let (mut nanoseconds, mut tried) = (0, 0);
        for &(m, reached) in moving.iter().step_by(moving.len().div_ceil(SAMPLES).max(1)) {
            let (kind, slot) = core.homes.of(m);
            let slab = &mut self.slabs.kinds[kind as usize];
            let saved = slab.save(slot).ok()?;
            let elapsed = Duration::between(slab.cell(slot).last, tag.ticks);
            let why = match reached {
                true => Why::External(elapsed, core.bus.bag(m, tag).0),
                false => Why::Internal,
            };
            let start = clock();
            let done = speculate(|| slab.transition_one(slot, why, &mut fx));
            nanoseconds += clock().saturating_sub(start);
            tried += 1;
            slab.restore(slot, &saved).ok()?;
            done?;
        }
        let models = moving.len();
        Some(Weight { nanoseconds: nanoseconds * models as u64 / tried.max(1), models })
    }
}
