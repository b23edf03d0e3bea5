//! The nets that messages of output ports enter.
use super::{Entry, Graph, Numbers};
use crate::{
    bag::NONE,
    blueprint::Blueprint,
    message::Message,
    network::{Network, Route, Target},
};

/// Output ports of all models, one after the other, and the nets that their messages enter.
pub(super) struct Outputs {
    /// The first port of each model and of the outside, and the number of all.
    pub(super) ports: Vec<u32>,
    /// CSR of entries by port.
    start: Vec<u32>,
    entries: Vec<Entry>,
}

impl Outputs {
    pub(super) fn of<M: Message>(
        blueprint: &Blueprint<M>,
        numbers: &Numbers,
        graph: &mut Graph<M>,
    ) -> Self {
        let models = numbers.order.keys.len() as u32;
        let ports = Vec::with_capacity(models as usize + 2);
        let mut all = Self { ports, start: vec![0], entries: Vec::new() };
        let mut entries = Vec::new();
        for m in 0..=models {
            all.ports.push(all.start.len() as u32 - 1);
            let key = numbers.key(blueprint, m);
            let (inputs, outputs) = blueprint.port_counts(key);
            let first = numbers.first[key];
            // The outside sends through the root's inputs.
            let outside = numbers.is_outside(m);
            let (from, count) =
                if outside { (first, inputs) } else { (first + u32::from(inputs), outputs) };
            for v in from..from + u32::from(count) {
                entries.clear();
                graph.entries(v, &mut entries);
                all.entries.extend_from_slice(&entries);
                all.start.push(all.entries.len() as u32);
            }
        }
        all.ports.push(all.start.len() as u32 - 1);
        all
    }

    /// The target of a port's messages, by the targets of nets.
    pub(super) fn target<M>(&self, port: u32, nets: &[Target], net: &mut Network<M>) -> Target {
        let [start, end] = [0, 1].map(|k| self.start[port as usize + k] as usize);
        match &self.entries[start..end] {
            [] => Target::NOWHERE,
            [Entry { net: n, z: NONE }] => nets[*n as usize],
            entries => {
                let routes = entries.iter().map(|e| Route { to: nets[e.net as usize], z: e.z });
                net.routes.extend(routes);
                net.route_start.push(net.routes.len() as u32);
                Target::routes(net.route_start.len() as u32 - 2)
            }
        }
    }
}
