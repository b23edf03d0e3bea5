//! How far workers can go without hearing from each other: declared minimum delays.
//!
//! **The window.** At a cut each worker promises a tick before which nothing that it knows leaves
//! it ([`Atomic::earliest_output`](crate::Atomic::earliest_output) over the ports that lead to
//! other workers). What it hears later comes at GVT or after it, and leaves no sooner than the
//! least lookahead after that. All keys before the least of both are safe (Chandy & Misra 1979;
//! Nicol 1993 for the window). No null messages: the cut is one.
//!
//! **Models that send to nobody** are not counted: a message that comes late to a sink undoes the
//! sink alone.
use super::{Method, Settings};
use crate::{
    message::Message,
    network::{Network, To},
    simulation::Simulation,
};

/// Output ports that lead to other workers: model and port.
pub(super) type Edges = Vec<(u32, u16)>;

/// Calls `f` with every model that the target reaches.
fn reached<M>(network: &Network<M>, to: To, f: &mut impl FnMut(u32)) {
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

fn targets<M>(network: &Network<M>, model: u32) -> impl Iterator<Item = (u16, To)> {
    let [from, end] = [0, 1].map(|k| network.ports[model as usize + k] as usize);
    (0..).zip(network.targets[from..end].iter().map(|t| t.decode()))
}

/// Whether a model can reach another one.
pub(super) fn talks<M>(network: &Network<M>, model: u32) -> bool {
    let mut found = false;
    targets(network, model).for_each(|(_, to)| reached(network, to, &mut |_| found = true));
    found
}

impl<M: Message> Simulation<M> {
    /// The ports that count, and the least lookahead in ticks; `None` under Time Warp.
    ///
    /// # Errors
    /// The path of a unit that sends to another worker and promises no delay.
    pub(super) fn lookahead(&self, settings: &Settings) -> Result<Option<(Edges, i64)>, String> {
        if settings.method == Method::TimeWarp {
            return Ok(None);
        }
        let network = &self.core.network;
        let part = |m: u32| settings.worker_of(m, network.models);
        let mut edges = Edges::new();
        let mut least = i64::MAX;
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
                least = least.min(delay);
                edges.push((m, port));
            }
        }
        Ok(Some((edges, least)))
    }
}
