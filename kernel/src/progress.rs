//! The kernel's own part of a saved run: how far it is, and what each model has done.
//!
//! **Why checks.** A checkpoint may be damaged, or made by somebody who keeps to the format and the checksum.
//! Whatever is read is held against what every run keeps to before anything is changed, and the next events
//! against the time advances of the restored models: times that no run could have are refused.
use crate::{
    core::{Cell, Counts},
    effects::Effects,
    event_list::{EARLIEST, EventList, LATEST},
    message::Message,
    options::Guards,
    simulation::Simulation,
    time::Tag,
};
use serde::{Deserialize, Serialize};

/// The kernel's own part of a saved state; per model in path order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub now: Tag,
    pub ran: bool,
    pub floor: i64,
    pub retired: u64,
    pub restructured: bool,
    pub counts: Counts,
    pub last: Vec<i64>,
    pub chain: Vec<u64>,
    pub visible: Vec<Option<i64>>,
    pub silent: Vec<Option<i64>>,
    pub ready: Vec<u32>,
    pub located: Vec<(u32, (i64, u32))>,
}

fn ascends(mut numbers: impl Iterator<Item = u32>, models: usize) -> bool {
    let mut next = 0;
    numbers.all(|m| {
        let fits = u64::from(m) >= next && (m as usize) < models;
        next = u64::from(m) + 1;
        fits
    })
}

impl Progress {
    /// The reason why no run of so many models could be there.
    pub(crate) fn defect(&self, models: usize, guards: &Guards) -> Option<&'static str> {
        // All else looks into parts of the right sizes.
        if !self.sizes_fit(models) {
            return Some("its parts do not fit together");
        }
        let checks = [
            (self.clock_fits(), "its clock is at no time"),
            (self.counts_fit(), "its counts contradict each other"),
            (self.events_fit(models), "an event is at no time"),
            (self.located_fit(models, guards), "its located events are at no time"),
        ];
        checks.into_iter().find(|&(fits, _)| !fits).map(|(_, why)| why)
    }

    fn sizes_fit(&self, models: usize) -> bool {
        let sizes = [self.last.len(), self.chain.len(), self.visible.len(), self.silent.len()];
        sizes == [models; 4] && (self.restructured || self.retired == 0)
    }

    fn clock_fits(&self) -> bool {
        let Self { now, floor, .. } = self;
        // Some model moved in the last cycle, unless it is gone.
        let moved = self.last.iter().max() == Some(&now.ticks) || self.restructured || !self.ran;
        let is_time = (EARLIEST..=LATEST).contains(&now.ticks) && now.micro < u32::MAX;
        is_time && moved && *floor >= now.ticks
    }

    fn counts_fit(&self) -> bool {
        let Counts { cycles, internal, external, confluent, messages } = self.counts;
        let sum = |parts: &[u64]| parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part));
        let (Some(all), Some(heard)) =
            (sum(&[internal, external, confluent]), sum(&[external, confluent]))
        else {
            return false;
        };
        let begun = self.ran
            || all == 0 && self.now.micro == 0 && self.chain.iter().all(|&chain| chain == 0);
        // Each cycle has a transition, and each that hears something a message.
        begun && self.ran == (cycles > 0) && cycles <= all && messages >= heard
    }

    fn events_fit(&self, models: usize) -> bool {
        let Self { now, floor, ran, .. } = self;
        let later = |at: i64| at > now.ticks || !ran && at == now.ticks;
        let fits = |m: usize| {
            let event = match (self.visible[m], self.silent[m]) {
                (None, None) => true,
                (Some(at), None) => later(at) && at >= *floor && at <= LATEST,
                (None, Some(at)) => at >= *floor && at <= LATEST,
                (Some(_), Some(_)) => false,
            };
            event && self.last[m] <= now.ticks
        };
        let is_free =
            |&m: &u32| (self.visible[m as usize], self.silent[m as usize]) == (None, None);
        ascends(self.ready.iter().copied(), models)
            && (*ran || self.ready.is_empty())
            && self.ready.iter().all(is_free)
            && (0..models).all(fits)
    }

    fn located_fit(&self, models: usize, guards: &Guards) -> bool {
        let counted = |&(_, (start, count)): &(u32, (i64, u32))| {
            start <= self.now.ticks && (1..=guards.state_events).contains(&count)
        };
        ascends(self.located.iter().map(|l| l.0), models) && self.located.iter().all(counted)
    }
}

impl<M: Message> Simulation<M> {
    /// How far the run is. If λ was called already for a cycle, that is before the cycle.
    pub(crate) fn progress(&self) -> Progress {
        let core = &self.core;
        let models = 0..core.keys.len() as u32;
        let mut progress = Progress {
            now: core.now,
            ran: self.ran,
            floor: self.floor,
            retired: self.retired,
            restructured: self.restructured,
            counts: core.counts,
            last: self.cells().map(|c| c.last).collect(),
            chain: self.cells().map(|c| c.chain).collect(),
            visible: models.clone().map(|m| core.list.time_of(m)).collect(),
            silent: models.map(|m| core.silent.time_of(m)).collect(),
            ready: core.ready.clone(),
            located: core.located.iter().collect(),
        };
        if self.staged {
            progress.now = self.before;
            if core.now.micro > 0 {
                progress.ready.clone_from(&self.imminent);
            } else {
                let at = Some(core.now.ticks);
                self.imminent.iter().for_each(|&m| progress.visible[m as usize] = at);
            }
        }
        progress
    }

    /// Goes on from there, with models that are restored.
    pub(crate) fn proceed_from(&mut self, p: &Progress) {
        let core = &mut self.core;
        core.now = p.now;
        // A panic leaves behind what its transition asked for.
        let observed = core.fx.observed;
        core.fx = Effects { now: p.now, observed, ..Effects::new(core.resolution) };
        core.bus.bad_port = None;
        core.counts = p.counts;
        core.ready.clone_from(&p.ready);
        core.located = p.located.iter().copied().collect();
        core.reset_lists(self.slabs.may_be_silent());
        for m in 0..core.keys.len() {
            let (kind, slot) = core.homes.of(m as u32);
            let cell = Cell { last: p.last[m], chain: p.chain[m], sent: 0 };
            self.slabs.kinds[kind as usize].set_cell(slot, cell);
            if let Some(at) = p.visible[m] {
                core.list.schedule(m as u32, at);
            }
            if let Some(at) = p.silent[m] {
                core.silent.schedule(m as u32, at);
            }
        }
        (core.error, core.stop) = (None, None);
        core.changes.clear();
        core.bus.clear();
        (self.ran, self.floor, self.retired) = (p.ran, p.floor, p.retired);
        self.restructured = p.restructured;
        (self.failed, self.staged) = (None, false);
    }

    /// A restored model whose next event does not follow from its state.
    pub(crate) fn astray(&self, p: &Progress) -> Option<u32> {
        let follows = |m: usize| {
            let (kind, slot) = self.core.homes.of(m as u32);
            let (advance, silent) = self.slabs.kinds[kind as usize].due(slot);
            let ready = p.ready.binary_search(&(m as u32)).is_ok();
            let told = (p.visible[m], p.silent[m], ready);
            if advance.is_infinite() {
                return told == (None, None, false);
            }
            let at = p.last[m].checked_add(advance.ticks()).filter(|_| advance.ticks() >= 0);
            match at {
                None => false,
                Some(_) if silent => told == (None, at, false),
                Some(now) if p.ran && now == p.now.ticks => told == (None, None, true),
                Some(_) => told == (at, None, false),
            }
        };
        (0..p.last.len()).find(|&m| !follows(m)).map(|m| m as u32)
    }
}
