//! Who works where, so that whatever passes from one part to another has a promised delay.
use crate::{
    bag::NONE,
    message::Message,
    network::{Network, Route, Target, To},
    simulation::Simulation,
};
use smallvec::SmallVec;

/// An output port that leads to other parts.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub model: u32,
    pub port: u16,
    /// Parts of other workers that hear of what leaves here before it does.
    pub ahead: Vec<u32>,
    /// Parts that only listen: they hear of it after the window.
    pub behind: Vec<u32>,
}

/// The parts of all models, and what leads from one to another.
///
/// Worker `w` has part `w`, and part `workers + w` for those of its models that send to nobody and hear
/// over ports that lead to several workers: these are a window behind, so that no delay is needed to
/// reach them.
pub(super) struct Layout {
    /// By model.
    pub parts: Vec<u32>,
    pub workers: u32,
    /// Ascending.
    pub edges: Vec<Edge>,
    /// The least delay of all that is told ahead; 0 for parts that go from cycle to cycle together.
    pub delay: i64,
    /// A wire without a delay, because of which they do.
    pub undelayed: Option<Wire>,
}

/// A wire over which a message may pass without a promised delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Wire {
    /// Path of the sender.
    pub from: String,
    /// Its output port.
    pub port: u16,
    /// Path of a receiver.
    pub to: String,
}

/// Sets of models that have to stay together.
struct Clusters(Vec<u32>);

impl Clusters {
    fn of(&mut self, mut m: u32) -> u32 {
        while self.0[m as usize] != m {
            let above = self.0[m as usize];
            self.0[m as usize] = self.0[above as usize];
            m = above;
        }
        m
    }

    /// The first model stands for its cluster.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// Parts for clusters of models that send something: equal numbers of models, in the order of their first ones. Others
    /// stay where they were asked to be. Nothing if there is one cluster.
    fn spread(&mut self, talks: &[bool], asked: &[u32], workers: u32) -> Option<Vec<u32>> {
        let models = 0..asked.len() as u32;
        let mut sizes = vec![0u64; asked.len()];
        for m in models.clone().filter(|m| talks[*m as usize]) {
            sizes[self.of(m) as usize] += 1;
        }
        if sizes.iter().filter(|size| **size > 0).count() < 2 {
            return None;
        }
        let (all, mut before) = (sizes.iter().sum::<u64>(), 0);
        let middle = |size: &u64| {
            let middle = before + size / 2;
            before += size;
            (middle * u64::from(workers) / all) as u32
        };
        let parts: Vec<u32> = sizes.iter().map(middle).collect();
        let place = |m: u32| match talks[m as usize] {
            true => parts[self.of(m) as usize],
            false => asked[m as usize],
        };
        Some(models.map(place).collect())
    }
}

impl Layout {
    /// The parts of a partition when models that reach each other without delay stay together. If
    /// nothing is left to divide, models are dealt out in turn.
    ///
    /// # Errors
    /// A wire without a delay, if some model makes silent steps then.
    pub(super) fn of<M: Message>(
        sim: &Simulation<M>,
        asked: &[u32],
        workers: u32,
    ) -> Result<Self, Wire> {
        let network = &sim.core.network;
        let models = network.models;
        let talks: Vec<bool> = (0..models).map(|m| network.talks(m)).collect();
        let mut clusters = Clusters((0..models).collect());
        let mut undelayed = None;
        for m in 0..models {
            for (port, to) in network.wired(m) {
                if promised(sim, m, port) > 0 {
                    continue;
                }
                network.reached(to, &mut |other| {
                    if other < models && talks[other as usize] {
                        clusters.join(m, other);
                        let apart = asked[m as usize] != asked[other as usize];
                        undelayed = undelayed.or(apart.then_some((m, port, other)));
                    }
                });
            }
        }
        let mut parts: Vec<u32> = (0..models).map(|m| asked[clusters.of(m) as usize]).collect();
        // Parts of models that send to nobody say nothing: these come last.
        let mut talking = (0..models as usize).filter(|&m| talks[m]).map(|m| parts[m]);
        let only = talking.next();
        if let Some((m, port, other)) = undelayed
            && talking.all(|part| Some(part) == only)
        {
            // The first models of clusters may have been asked to be in one part, and others of them elsewhere.
            if let Some(spread) = clusters.spread(&talks, asked, workers) {
                parts = spread;
            } else {
                let wire = Wire { from: sim.core.path(m), port, to: sim.core.path(other) };
                let silent = sim.slabs.may_be_silent();
                return if silent { Err(wire) } else { Ok(Self::in_step(sim, workers, wire)) };
            }
        }
        let main = parts.clone();
        let mut sinks = Vec::new();
        for m in 0..models {
            for (_, to) in network.wired(m) {
                network.reached(to, &mut |other| sinks.push(other));
                sinks.retain(|&other| other < models && !talks[other as usize]);
                // All of a port, so that they listen at the same time.
                let leaves = sinks.iter().any(|&other| main[other as usize] != main[m as usize]);
                for other in sinks.drain(..).filter(|_| leaves) {
                    parts[other as usize] = main[other as usize] + workers;
                }
            }
        }
        let delay = i64::MAX;
        let mut this = Self { parts, workers, edges: Vec::new(), delay, undelayed: None };
        this.find_edges(network, |m, port| promised(sim, m, port));
        Ok(this)
    }

    /// Models dealt out in turn: neighbours mostly move in the same cycles.
    fn in_step<M: Message>(sim: &Simulation<M>, workers: u32, wire: Wire) -> Self {
        let parts = (0..sim.core.network.models).map(|m| m % workers).collect();
        let mut this = Self { parts, workers, edges: Vec::new(), delay: 0, undelayed: Some(wire) };
        this.find_edges(&sim.core.network, |_, _| 0);
        this
    }

    /// Whether any part only listens.
    pub(super) fn has_listeners(&self) -> bool {
        self.parts.iter().any(|&part| part >= self.workers)
    }

    /// Whether a part is one of this worker's.
    pub(super) fn is_of(&self, part: u32, worker: u32) -> bool {
        part % self.workers == worker
    }

    /// The models of a worker, ascending.
    pub(super) fn of_worker(&self, worker: u32) -> impl Iterator<Item = u32> {
        let mine = move |(_, part): &(u32, &u32)| self.is_of(**part, worker);
        (0..).zip(&self.parts).filter(mine).map(|(m, _)| m)
    }

    /// Whether parts go from cycle to cycle together, since they reach each other without delay.
    pub(super) fn is_in_step(&self) -> bool {
        self.delay == 0
    }

    fn find_edges<M>(&mut self, network: &Network<M>, delay: impl Fn(u32, u16) -> i64) {
        for m in 0..network.models {
            for (port, to) in network.wired(m) {
                self.find(network, (m, port, to), || delay(m, port));
            }
        }
    }

    fn find<M>(
        &mut self,
        network: &Network<M>,
        (model, port, to): (u32, u16, To),
        delay: impl FnOnce() -> i64,
    ) {
        let own = self.parts[model as usize];
        let mut others = SmallVec::<[u32; 8]>::new();
        network.reached(to, &mut |other| {
            others.extend(self.parts.get(other as usize).copied().filter(|&part| part != own));
        });
        if others.is_empty() {
            return;
        }
        others.sort_unstable();
        others.dedup();
        let (ahead, behind) = others.split_at(others.partition_point(|&p| p < self.workers));
        if !ahead.is_empty() {
            self.delay = self.delay.min(delay());
        }
        let (ahead, behind) = (ahead.to_vec(), behind.to_vec());
        self.edges.push(Edge { model, port, ahead, behind });
    }

    /// The models of a part, ascending.
    pub(super) fn models(&self, part: u32) -> Vec<u32> {
        (0..).zip(&self.parts).filter(|(_, p)| **p == part).map(|(m, _)| m).collect()
    }

    /// The network as a part sees it: the same numbers, but only what reaches its own models, and what
    /// these send away.
    pub(super) fn network<M>(&self, whole: &Network<M>, part: u32) -> Network<M> {
        let mine = |m: u32| self.parts.get(m as usize) == Some(&part);
        let mut net = Network {
            models: whole.models,
            senders: whole.senders.clone(),
            others: whole.others.clone(),
            route_start: vec![0, 0],
            routes: Vec::new(),
            translations: whole.translations.clone(),
            receiver_start: vec![0],
            receivers: Vec::new(),
        };
        let nets = whole.receiver_start.len() as u32 - 1;
        for number in 0..nets {
            let receivers = whole.receivers_of(number).iter().filter(|r| mine(r.model));
            net.receivers.extend(receivers);
            net.receiver_start.push(net.receivers.len() as u32);
        }
        let mut edges = self.edges.iter().filter(|e| mine(e.model)).peekable();
        for m in 0..=whole.models {
            for (port, to) in whole.wired(m) {
                let leaves = edges.next_if(|e| (e.model, e.port) == (m, port)).is_some();
                let away = leaves.then_some(Route { to: Target::AWAY, z: NONE });
                let target = narrow(&mut net, whole, to, away, &mine);
                match port.checked_sub(1) {
                    None => net.senders[m as usize].first = target,
                    Some(other) => {
                        let at = net.senders[m as usize].others + u32::from(other);
                        net.others[at as usize] = target;
                    }
                }
            }
        }
        net
    }
}

/// A target without the receivers of other parts, and with one more route.
fn narrow<M>(
    net: &mut Network<M>,
    whole: &Network<M>,
    to: To,
    away: Option<Route>,
    mine: &impl Fn(u32) -> bool,
) -> Target {
    let keeps = |net: &Network<M>, to: To| match to {
        To::Model(model) => mine(model),
        To::Net(number) => !net.receivers_of(number).is_empty(),
        To::Routes(_) => false,
    };
    let straight = [Route { to: target(to), z: NONE }];
    let routes = if let To::Routes(list) = to { whole.routes_of(list) } else { &straight };
    let kept: SmallVec<[Route; 4]> =
        routes.iter().copied().filter(|r| keeps(net, r.to.decode())).collect();
    match (&kept[..], away) {
        ([], None) => Target::NOWHERE,
        ([Route { to, z: NONE }], None) => *to,
        ([], Some(away)) => away.to,
        _ => {
            net.routes.extend(kept.into_iter().chain(away));
            net.route_start.push(net.routes.len() as u32);
            Target::routes(net.route_start.len() as u32 - 2)
        }
    }
}

fn target(to: To) -> Target {
    match to {
        To::Model(model) => Target::model(model),
        To::Net(net) => Target::net(net),
        To::Routes(list) => Target::routes(list),
    }
}

/// The ticks by which a model promises its outputs over a port to come after their causes. What
/// makes silent steps promises nothing: nobody else may make them.
fn promised<M: Message>(sim: &Simulation<M>, m: u32, port: u16) -> i64 {
    let (kind, slot) = sim.core.homes.of(m);
    let kind = &sim.slabs.kinds[kind as usize];
    if kind.may_be_silent() { 0 } else { kind.lookahead(slot, port).ticks() }
}
