//! Flattening: from the hierarchy to nets.
//!
//! A *net* is a list of receivers. Output ports whose messages reach the same receivers share a
//! net, and the receivers share its bag, so that many-to-many wiring (DEVStone HOmod) costs
//! senders + receivers per cycle instead of their product. Coupled ports that several couplings
//! enter are expanded once. All numbering follows the path order, never the order of
//! declaration, so that it is canonical (R5).
mod outputs;

use crate::{
    bag::NONE,
    blueprint::{Blueprint, NodeBody},
    error::{BuildError, BuildErrors},
    event_list::MAX_MODELS,
    key::ModelKey,
    message::{Digest, Message, fold},
    network::{Network, Receiver, Sender, Target},
    translation::Translation,
};
use outputs::Outputs;
use slotmap::SecondaryMap;
use std::collections::HashMap;

/// A net that messages of an output port enter, and through which translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    net: u32,
    z: u32,
}

/// Model keys in path order, and their path digests.
struct Order {
    keys: Vec<ModelKey>,
    paths: Vec<u64>,
}

/// Models in path order, coupled models, and the first vertex of each in the graph of ports.
struct Numbers {
    order: Order,
    coupled: Vec<ModelKey>,
    first: SecondaryMap<ModelKey, u32>,
    vertices: u32,
}

struct Graph<M> {
    /// CSR of couplings by start vertex: (end vertex, translation).
    start: Vec<u32>,
    edges: Vec<(u32, u32)>,
    fan_in: Vec<u32>,
    /// Model of an atomic input vertex (or of an outer output), else `NONE`.
    model: Vec<u32>,
    translations: Vec<Translation<M>>,
    composed: HashMap<(u32, u32), u32>,
    hubs: HashMap<u32, Vec<Entry>>,
    /// Net whose only receiver is this vertex.
    single: Vec<u32>,
    interned: HashMap<Box<[u32]>, u32>,
    net_lists: Vec<u32>,
    net_start: Vec<u32>,
}

/// Lays out the models in path order and their couplings as nets.
pub(crate) fn flatten<M: Message>(
    blueprint: &mut Blueprint<M>,
) -> Result<(Network<M>, Vec<ModelKey>), BuildErrors> {
    let numbers = number(blueprint)?;
    let Numbers { order, coupled, first, vertices } = &numbers;
    let mut graph = Graph::new(blueprint, order, coupled, first, *vertices);
    let outputs = Outputs::of(blueprint, &numbers, &mut graph);
    graph.net_start.push(graph.net_lists.len() as u32);
    let mut net = Network {
        models: order.keys.len() as u32,
        senders: Vec::with_capacity(outputs.ports.len()),
        others: Vec::new(),
        // The first list is empty.
        route_start: vec![0, 0],
        routes: Vec::new(),
        translations: std::mem::take(&mut graph.translations),
        receiver_start: vec![0],
        receivers: Vec::new(),
    };
    let targets = graph.targets(blueprint, &numbers, &mut net);
    // The outside has no path.
    for (w, &path) in outputs.ports.windows(2).zip(order.paths.iter().chain([&0])) {
        let others = net.others.len() as u32;
        let mut target = |port| outputs.target(port, &targets, &mut net);
        let first = if w[0] < w[1] { target(w[0]) } else { Target::MISSING };
        let further: Vec<Target> = (w[0] + 1..w[1]).map(target).collect();
        net.senders.push(Sender { path, first, others });
        net.others.extend(further);
    }
    let others = net.others.len() as u32;
    net.senders.push(Sender { path: 0, first: Target::MISSING, others });
    Ok((net, numbers.order.keys))
}

impl Numbers {
    /// The key of a model; the root stands for the outside, behind all models.
    fn key<M: Message>(&self, blueprint: &Blueprint<M>, model: u32) -> ModelKey {
        self.order.keys.get(model as usize).copied().unwrap_or(blueprint.root)
    }

    fn is_outside(&self, model: u32) -> bool {
        model as usize == self.order.keys.len()
    }

    /// The first vertex that a model receives at; the outside receives at the outputs of the root.
    fn base<M: Message>(&self, blueprint: &Blueprint<M>, model: u32) -> u32 {
        let key = self.key(blueprint, model);
        let inputs = u32::from(blueprint.port_counts(key).0);
        self.first[key] + if self.is_outside(model) { inputs } else { 0 }
    }
}

/// Numbers atomic models in path order and ports as vertices.
fn number<M: Message>(blueprint: &mut Blueprint<M>) -> Result<Numbers, BuildErrors> {
    let too_large = |what| BuildErrors(vec![BuildError::TooLarge { what }]);
    let nodes = blueprint.nodes.len();
    let mut order = Order { keys: Vec::with_capacity(nodes), paths: Vec::with_capacity(nodes) };
    let mut coupled = Vec::new();
    let mut first = SecondaryMap::with_capacity(nodes + 1);
    let mut vertices: u32 = 0;
    let mut stack = vec![(blueprint.root, Digest::new().finish())];
    while let Some((key, path)) = stack.pop() {
        let (inputs, outputs) = blueprint.port_counts(key);
        first.insert(key, vertices);
        vertices = vertices
            .checked_add(u32::from(inputs) + u32::from(outputs))
            .filter(|&v| v < 1 << 30)
            .ok_or_else(|| too_large("ports"))?;
        match &mut blueprint.nodes[key].body {
            NodeBody::Atomic(a) => {
                a.index = order.keys.len() as u32;
                order.keys.push(key);
                order.paths.push(path);
            }
            NodeBody::Coupled(c) => {
                coupled.push(key);
                let children = std::mem::take(&mut c.children);
                for &child in children.iter().rev() {
                    let (stem, index) = blueprint.name_parts(child);
                    let mut d = Digest::new();
                    d.word(path);
                    d.bytes(stem.as_bytes());
                    d.word(index.map_or(u64::MAX, u64::from));
                    stack.push((child, d.finish()));
                }
                if let NodeBody::Coupled(c) = &mut blueprint.nodes[key].body {
                    c.children = children;
                }
            }
        }
    }
    if order.keys.len() > MAX_MODELS {
        return Err(too_large("atomic models"));
    }
    Ok(Numbers { order, coupled, first, vertices })
}

impl<M: Message> Graph<M> {
    /// Adds the receivers of all nets to the network, and gives the target of each net.
    fn targets(
        &self,
        blueprint: &Blueprint<M>,
        numbers: &Numbers,
        net: &mut Network<M>,
    ) -> Vec<Target> {
        let target = |w: &[u32]| {
            let list = &self.net_lists[w[0] as usize..w[1] as usize];
            let receivers = list.iter().map(|&v| {
                let model = self.model[v as usize];
                Receiver { model, port: (v - numbers.base(blueprint, model)) as u16 }
            });
            let before = net.receivers.len();
            net.receivers.extend(receivers);
            if let [Receiver { model, port: 0 }] = net.receivers[before..]
                && !numbers.is_outside(model)
            {
                net.receivers.truncate(before);
                return Target::model(model);
            }
            net.receiver_start.push(net.receivers.len() as u32);
            Target::net(net.receiver_start.len() as u32 - 2)
        };
        self.net_start.windows(2).map(target).collect()
    }

    fn new(
        blueprint: &Blueprint<M>,
        order: &Order,
        coupled: &[ModelKey],
        first: &SecondaryMap<ModelKey, u32>,
        vertices: u32,
    ) -> Self {
        let mut model = vec![NONE; vertices as usize];
        for (m, &key) in order.keys.iter().enumerate() {
            let first = first[key] as usize;
            let inputs = blueprint.port_counts(key).0 as usize;
            model[first..first + inputs].fill(m as u32);
        }
        let (inputs, outputs) = blueprint.port_counts(blueprint.root);
        let out = first[blueprint.root] as usize + inputs as usize;
        model[out..out + outputs as usize].fill(order.keys.len() as u32);

        // Gone through twice rather than kept: they are as many as the edges.
        let each_wire = |edge: &mut dyn FnMut(u32, u32, u32)| {
            for &key in coupled {
                let NodeBody::Coupled(node) = &blueprint.nodes[key].body else { continue };
                let (inputs, outputs) = (first[key], first[key] + node.inputs.len() as u32);
                for w in &node.wires {
                    let from = match w.from.child {
                        Some(child) => first[child] + u32::from(blueprint.port_counts(child).0),
                        None => inputs,
                    };
                    let to = w.to.child.map_or(outputs, |child| first[child]);
                    edge(from + u32::from(w.from.port), to + u32::from(w.to.port), w.z);
                }
            }
        };
        let mut fan_in = vec![0; vertices as usize];
        let mut start = vec![0u32; vertices as usize + 1];
        each_wire(&mut |from, to, _| {
            start[from as usize + 1] += 1;
            fan_in[to as usize] += 1;
        });
        for v in 0..vertices as usize {
            start[v + 1] += start[v];
        }
        let mut fill = start.clone();
        let mut edges = vec![(0, 0); start[vertices as usize] as usize];
        each_wire(&mut |from, to, z| {
            edges[fill[from as usize] as usize] = (to, z);
            fill[from as usize] += 1;
        });
        Self {
            start,
            edges,
            fan_in,
            model,
            translations: blueprint.translations.clone(),
            composed: HashMap::new(),
            hubs: HashMap::new(),
            single: vec![NONE; vertices as usize],
            interned: HashMap::new(),
            net_lists: Vec::new(),
            net_start: Vec::new(),
        }
    }

    /// The routes from vertex `v`, in canonical order.
    fn entries(&mut self, v: u32, routes: &mut Vec<Entry>) {
        // Most ports of a large model have no coupling or one.
        match self.edges[self.start[v as usize] as usize..self.start[v as usize + 1] as usize] {
            [] => return,
            [(to, NONE)] if self.model[to as usize] != NONE => {
                routes.push(Entry { net: self.intern(&[to]), z: NONE });
                return;
            }
            _ => {}
        }
        let mut reached: Vec<(u32, u32)> = Vec::new();
        let mut hubs: Vec<(u32, u32)> = Vec::new();
        let mut stack = vec![(v, NONE)];
        while let Some((at, z)) = stack.pop() {
            for e in self.start[at as usize]..self.start[at as usize + 1] {
                let (to, edge_z) = self.edges[e as usize];
                let z = self.compose(z, edge_z);
                if self.model[to as usize] != NONE {
                    reached.push((z, to));
                } else if self.fan_in[to as usize] > 1 {
                    hubs.push((z, to));
                } else {
                    stack.push((to, z));
                }
            }
        }
        let translations = &self.translations;
        let by_name = |z: u32| translations.get(z as usize).map(|t| &*t.name);
        let key = |&(z, to): &(u32, u32)| (by_name(z), to);
        if !reached.is_sorted_by_key(key) {
            reached.sort_by_key(key);
        }
        hubs.sort_by_key(key);
        let mut rest = &reached[..];
        while let Some(&(z, _)) = rest.first() {
            // Functions of one name need not be one function, so equal ones are neighbours only
            // as far as they go.
            let group = rest.iter().take_while(|r| by_name_eq(&self.translations, r.0, z)).count();
            let list: Vec<u32> = rest[..group].iter().map(|r| r.1).collect();
            let net = self.intern(&list);
            routes.push(Entry { net, z });
            rest = &rest[group..];
        }
        for (z, hub) in hubs {
            self.expand(hub);
            for r in self.hubs[&hub].clone() {
                routes.push(Entry { net: r.net, z: self.compose(z, r.z) });
            }
        }
        if self.crossed(routes) {
            routes.clear();
            self.ranked(v, routes);
        }
    }

    /// Finds the routes from a hub, after those from the hubs that it leads to: hubs of a deep hierarchy, each
    /// of which leads to the next one, would need much stack.
    fn expand(&mut self, hub: u32) {
        let mut open = vec![hub];
        while let Some(&at) = open.last() {
            let known = open.len();
            if !self.hubs.contains_key(&at) {
                self.hubs_after(at, &mut open);
                if open.len() > known {
                    continue;
                }
                let mut inner = Vec::new();
                self.entries(at, &mut inner);
                self.hubs.insert(at, inner);
            }
            open.pop();
        }
    }

    /// The hubs to which a vertex leads, as far as their routes are not known.
    fn hubs_after(&self, v: u32, hubs: &mut Vec<u32>) {
        let mut stack = vec![v];
        while let Some(at) = stack.pop() {
            let edges = self.start[at as usize] as usize..self.start[at as usize + 1] as usize;
            for &(to, _) in &self.edges[edges] {
                if self.model[to as usize] != NONE {
                    continue;
                }
                if self.fan_in[to as usize] <= 1 {
                    stack.push(to);
                } else if !self.hubs.contains_key(&to) {
                    hubs.push(to);
                }
            }
        }
    }

    /// Whether some receiver is reached through different translations, so that the order of
    /// its messages of one emission shows.
    fn crossed(&self, routes: &[Entry]) -> bool {
        if routes.iter().all(|r| r.z == routes[0].z) {
            return false;
        }
        let mut reached = Vec::new();
        for r in routes {
            let net = r.net as usize;
            let first = self.net_start[net] as usize;
            let end = self.net_start.get(net + 1).map_or(self.net_lists.len(), |&e| e as usize);
            reached.extend(self.net_lists[first..end].iter().map(|&to| (to, r.z)));
        }
        reached.sort_unstable();
        reached.windows(2).any(|w| w[0].0 == w[1].0 && w[0].1 != w[1].1)
    }

    /// The routes from `v` one by one, in the route rank of R5: by the path of coupling ports,
    /// then by the names of the translations.
    fn ranked(&mut self, v: u32, routes: &mut Vec<Entry>) {
        let mut reached: Vec<(Vec<u32>, u32, u32)> = Vec::new();
        let mut stack = vec![(Vec::new(), v, NONE)];
        while let Some((path, at, z)) = stack.pop() {
            for e in self.start[at as usize]..self.start[at as usize + 1] {
                let (to, edge_z) = self.edges[e as usize];
                let z = self.compose(z, edge_z);
                let mut path = path.clone();
                path.push(to);
                if self.model[to as usize] == NONE {
                    stack.push((path, to, z));
                } else {
                    reached.push((path, to, z));
                }
            }
        }
        let name = |z: u32| self.translations.get(z as usize).map(|t| &*t.name);
        reached.sort_by(|a, b| (&a.0, name(a.2)).cmp(&(&b.0, name(b.2))));
        for (_, to, z) in reached {
            let net = self.intern(&[to]);
            routes.push(Entry { net, z });
        }
    }

    fn compose(&mut self, first: u32, then: u32) -> u32 {
        if first == NONE || then == NONE {
            return if first == NONE { then } else { first };
        }
        if let Some(&z) = self.composed.get(&(first, then)) {
            return z;
        }
        let both = self.translations[first as usize].then(&self.translations[then as usize]);
        self.translations.push(both);
        let z = self.translations.len() as u32 - 1;
        self.composed.insert((first, then), z);
        z
    }

    fn intern(&mut self, list: &[u32]) -> u32 {
        let next = self.net_start.len() as u32;
        let found = match list {
            [one] => {
                let net = &mut self.single[*one as usize];
                if *net == NONE {
                    *net = next;
                }
                *net
            }
            _ => match self.interned.get(list) {
                Some(&net) => net,
                None => {
                    self.interned.insert(list.into(), next);
                    next
                }
            },
        };
        if found == next {
            self.net_start.push(self.net_lists.len() as u32);
            self.net_lists.extend_from_slice(list);
        }
        found
    }
}

fn by_name_eq<M>(translations: &[Translation<M>], a: u32, b: u32) -> bool {
    // Two functions may share a name; they are then told apart by identity only.
    a == b
        || (a != NONE && b != NONE && {
            let (a, b) = (&translations[a as usize], &translations[b as usize]);
            a.name == b.name && std::sync::Arc::ptr_eq(&a.apply, &b.apply)
        })
}

impl<M: Message> Blueprint<M> {
    /// Digest of the whole structure, by which a checkpoint knows its model.
    pub(crate) fn digest(&self, network: &Network<M>) -> u64 {
        let mut h = u64::from(network.models);
        for s in &network.senders {
            h = fold(h, s.path);
        }
        for r in &network.receivers {
            h = fold(h, u64::from(r.model) << 16 | u64::from(r.port));
        }
        for t in (0..=network.models).flat_map(|m| network.targets(m)) {
            h = fold(h, t.word());
        }
        for r in &network.routes {
            h = fold(h, r.to.word() << 32 | u64::from(r.z));
        }
        h
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Atomic, Bag, Component, Coupled, Effects, Outbox, Simulation,
        port::{InPort, OutPort},
        structure::Change,
        time::Duration,
    };
    use serde::{Deserialize, Serialize};

    const IN: InPort<u32> = InPort::new(0);
    const OUT: OutPort<u32> = OutPort::new(0);

    /// Passes on at once what it hears; the first one begins, and changes the structure.
    #[derive(Clone, Serialize, Deserialize)]
    struct Echo {
        left: Option<i64>,
        heard: u32,
        begins: bool,
    }

    const ECHO: Echo = Echo { left: None, heard: 0, begins: false };

    impl Atomic<u32> for Echo {
        fn inputs(&self) -> u16 {
            1
        }
        fn outputs(&self) -> u16 {
            1
        }
        fn time_advance(&self) -> Duration {
            self.left.map_or(Duration::INFINITE, Duration::from_ticks)
        }
        fn output(&self, out: &mut Outbox<'_, u32>) {
            out.send(OUT, 1);
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            self.left = self.begins.then_some(10);
            if self.begins && fx.now().ticks == 10 {
                let path = "deep/inner/inner/inner".into();
                fx.change(Change::Remove { path });
                let (parent, name) = ("deep/inner/inner".into(), "inner".into());
                fx.change(Change::Add { parent, name, component: nested(LEVELS - 3) });
            }
        }
        fn external(&mut self, _: Duration, bag: &Bag<'_, u32>, _: &mut Effects<u32>) {
            self.heard += bag.len() as u32;
            self.left = Some(0);
        }
    }

    const LEVELS: usize = 10_000;

    /// So many levels, each with a model that hears the level's input and sends to its output.
    fn nested(levels: usize) -> Component<u32> {
        let mut below: Option<Component<u32>> = None;
        for _ in 0..levels {
            let mut level = Coupled::new();
            let (input, output) = (level.add_input::<u32>("in"), level.add_output::<u32>("out"));
            let echo = level.add("echo", ECHO).any();
            let inner = below.take().map(|below| level.add_component("inner", below));
            for child in [Some(echo), inner].into_iter().flatten() {
                level.couple(input.inside(), child.input(IN));
                level.couple(child.output(OUT), output.inside());
            }
            below = Some(level.into());
        }
        below.expect("some levels")
    }

    fn deep() -> Simulation<u32> {
        let mut top = Coupled::new();
        let begins = top.add("begins", Echo { left: Some(5), begins: true, ..ECHO }).any();
        let deep = top.add_component("deep", nested(LEVELS));
        let end = top.add("end", ECHO).any();
        top.couple(begins.output(OUT), deep.input(IN));
        top.couple(deep.output(OUT), end.input(IN));
        Simulation::new(top, Default::default()).expect("a model")
    }

    /// Depth costs no stack: of a model that is built, run, changed, saved, resumed and dropped.
    #[test]
    fn ten_thousand_levels_need_little_stack() {
        let run = || {
            drop(nested(LEVELS));
            let mut sim = deep();
            sim.run_through(6).expect("no error");
            let heard = |sim: &Simulation<u32>| sim.model::<Echo>("end").expect("one").heard;
            assert_eq!(heard(&sim) as usize, LEVELS);
            sim.run_through(17).expect("a proper change");
            let path = format!("deep{}/echo", "/inner".repeat(LEVELS - 1));
            assert!(sim.model::<Echo>(&path).is_some());
            let mut other = deep();
            other.resume(&sim.checkpoint().expect("plain data")).expect("what was saved");
            for sim in [&mut sim, &mut other] {
                sim.run_through(26).expect("no error");
                assert_eq!(heard(sim) as usize, 3 * LEVELS);
            }
            assert_eq!(sim.trace_hash(), other.trace_hash());
        };
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(run);
        thread.expect("a thread").join().expect("no panic");
    }
}
