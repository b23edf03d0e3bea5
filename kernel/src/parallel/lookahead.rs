//! How far workers can go without hearing from each other: declared minimum delays.
//!
//! **The window.** At a cut each worker promises a tick before which nothing leaves it by what it
//! knows itself: neither what is on its way out
//! ([`Atomic::earliest_output`](crate::Atomic::earliest_output) over the ports that lead to other
//! workers), nor what comes of its next events, a lookahead later. What it hears from the others
//! comes no earlier than *their* promises and than what is under way, and leaves a lookahead after
//! that. A worker may go as far as the others promise (Chandy & Misra 1979; Nicol 1993 for the
//! window); its own promise does not hold it back. No null messages: the cut is one.
//!
//! **Models that send to nobody** are not counted: a message that comes late to a sink undoes the
//! sink alone.
use super::{Method, Settings, commit::Cut, unit::Unit};
use crate::{
    event_list::{EventList, HeapList},
    message::Message,
    network::{Network, To},
    simulation::Simulation,
    slab::Kind as Slab,
};

/// Output ports that lead to other workers: model, port and its lookahead in ticks.
pub(super) type Edges = Vec<(u32, u16, i64)>;

/// What a worker knows to leave it, by unit; kept up to date with what units do.
#[derive(Default)]
pub(super) struct Promises {
    /// By unit: its ports that lead to other workers. Empty for a worker without any.
    ports: Vec<Vec<u16>>,
    /// The least lookahead of all these ports.
    pub delay: i64,
    /// Ticks at which something leaves.
    list: HeapList,
    /// Units that did something since the last look, each once.
    moved: Vec<u32>,
    has_moved: Vec<bool>,
}

impl Promises {
    /// Those of units with such ports; with none at all, nothing ever leaves.
    pub fn new(units: usize, edges: impl Iterator<Item = (u32, u16, i64)>) -> Self {
        let mut promises = Self { delay: i64::MAX, ..Self::default() };
        for (u, port, delay) in edges {
            promises.ports.resize(units, Vec::new());
            promises.ports[u as usize].push(port);
            promises.delay = promises.delay.min(delay);
        }
        promises.list.reset(promises.ports.len());
        promises.has_moved.resize(promises.ports.len(), false);
        (0..promises.ports.len() as u32).for_each(|u| promises.note(u));
        promises
    }

    /// A unit did something.
    #[inline]
    pub fn note(&mut self, u: u32) {
        if let Some(noted) = self.has_moved.get_mut(u as usize)
            && !std::mem::replace(noted, true)
            && !self.ports[u as usize].is_empty()
        {
            self.moved.push(u);
        }
    }

    /// The tick before which nothing leaves that is known.
    pub fn earliest<M: Message>(&mut self, units: &[Unit], kinds: &[Box<dyn Slab<M>>]) -> i64 {
        for u in self.moved.drain(..) {
            self.has_moved[u as usize] = false;
            let unit = &units[u as usize];
            let kind = &kinds[unit.kind as usize];
            let ahead = |&port: &u16| kind.earliest_output(unit.slot, port).ticks();
            let least = self.ports[u as usize].iter().map(ahead).min().unwrap_or(i64::MAX);
            match unit.clock.last.saturating_add(least) {
                i64::MAX => self.list.cancel(u),
                at => self.list.schedule(u, at),
            }
        }
        self.list.next_time().unwrap_or(i64::MAX)
    }
}

/// The last tick to which each worker may go, by what all said at their cuts.
pub(super) fn horizons(cuts: &[Cut]) -> impl Iterator<Item = i64> {
    // What leaves each worker first, if it hears nothing.
    let alone = |c: &Cut| c.promise.min(c.own.ticks.saturating_add(c.delay));
    let under_way = cuts.iter().map(|c| c.sent.ticks).min().unwrap_or(i64::MAX);
    let others = move |i: usize| cuts.iter().enumerate().filter(move |&(j, _)| j != i);
    let leaves = move |(j, c): (usize, &Cut)| {
        let heard = others(j).map(|(_, c)| alone(c)).fold(under_way, i64::min);
        alone(c).min(heard.saturating_add(c.delay))
    };
    (0..cuts.len()).map(move |i| others(i).map(leaves).min().unwrap_or(i64::MAX).saturating_sub(1))
}

/// Calls `f` with every model that the target reaches.
pub(super) fn reached<M>(network: &Network<M>, to: To, f: &mut impl FnMut(u32)) {
    match to {
        To::Model(model) => f(model),
        To::Net(net) => {
            let [from, end] = [0, 1].map(|k| network.receiver_start[net as usize + k] as usize);
            network.receivers[from..end].iter().for_each(|r| f(r.model));
        }
        To::Routes(list) => {
            for route in network.routes_of(list) {
                if !matches!(route.to.decode(), To::Routes(_)) {
                    reached(network, route.to.decode(), f);
                }
            }
        }
    }
}

pub(super) fn targets<M>(network: &Network<M>, model: u32) -> impl Iterator<Item = (u16, To)> {
    (0..).zip(network.targets(model).map(|to| to.decode()))
}

/// Whether a model can reach another one.
pub(super) fn talks<M>(network: &Network<M>, model: u32) -> bool {
    let mut found = false;
    targets(network, model).for_each(|(_, to)| reached(network, to, &mut |_| found = true));
    found
}

impl<M: Message> Simulation<M> {
    /// The ports that count; `None` under Time Warp.
    ///
    /// # Errors
    /// The path of a unit that sends to another worker and promises no delay.
    pub(super) fn lookahead(
        &self,
        settings: &Settings,
        parts: &[u32],
    ) -> Result<Option<Edges>, String> {
        if settings.method == Method::TimeWarp {
            return Ok(None);
        }
        let network = &self.core.network;
        let part = |m: u32| parts[m as usize];
        let mut edges = Edges::new();
        for m in 0..network.models {
            for (port, to) in targets(network, m) {
                let mut leaves = false;
                reached(network, to, &mut |other| {
                    let away = other < network.models && part(other) != part(m);
                    leaves |= away && talks(network, other);
                });
                if !leaves {
                    continue;
                }
                let (kind, slot) = self.core.homes.of(m);
                let delay = self.slabs.kinds[kind as usize].lookahead(slot, port).ticks();
                if delay <= 0 {
                    return Err(self.core.path(m));
                }
                edges.push((m, port, delay));
            }
        }
        Ok(Some(edges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parallel::worker::Tally, time::Tag};

    #[test]
    fn a_worker_goes_as_far_as_the_others_promise() {
        const NEVER: i64 = i64::MAX;
        // By worker: its next event, what it sent last, what leaves it, its least delay.
        type Case<'a> = (&'a [(i64, i64, i64, i64)], &'a [i64]);
        let cases: [Case<'_>; 6] = [
            // What is on its way out bounds the other one alone, and what comes of the next event.
            (&[(0, NEVER, 30, 100), (0, NEVER, 50, 100)], &[49, 29]),
            (&[(0, NEVER, 300, 100), (20, NEVER, 500, 100)], &[119, 99]),
            // An answer: 30 arrives, and leaves again at 40.
            (&[(0, NEVER, 30, 100), (0, NEVER, 500, 10), (0, NEVER, 500, 100)], &[9, 29, 9]),
            (&[(0, NEVER, 30, 100), (90, NEVER, 500, 10), (90, NEVER, 500, 10)], &[39, 29, 29]),
            // What is under way at 5 is answered at 15.
            (&[(90, 5, 500, 10), (90, NEVER, 500, 10)], &[14, 14]),
            // Nothing ever leaves the first one.
            (&[(0, NEVER, NEVER, NEVER), (0, NEVER, 50, 100)], &[49, NEVER - 1]),
        ];
        for (workers, expected) in cases {
            let cuts: Vec<Cut> = workers
                .iter()
                .map(|&(own, sent, promise, delay)| Cut {
                    own: Tag::new(own, 0),
                    sent: Tag::new(sent, 0),
                    barrier: Tag::NEVER,
                    front: 0,
                    promise,
                    delay,
                    tally: Tally::default(),
                    failed: false,
                })
                .collect();
            assert_eq!(horizons(&cuts).collect::<Vec<_>>(), expected, "{workers:?}");
        }
    }
}
