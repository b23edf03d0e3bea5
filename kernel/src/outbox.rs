//! Sending: the output function's view of the wires, and the messages of one cycle.
use crate::{
    bag::{Bag, Envelope, NONE, Parts},
    flatten::Network,
    message::{Message, Payload, digest_of, fold},
    port::OutPort,
    time::{Resolution, Tag},
};

/// A net's messages of this cycle: a chain in the arena.
#[derive(Debug, Clone, Copy)]
struct Chain {
    head: u32,
    tail: u32,
    len: u32,
    /// Sum of message digests; a sum, so that it does not depend on how messages meet.
    sum: u64,
}

const EMPTY: Chain = Chain { head: NONE, tail: NONE, len: 0, sum: 0 };

/// A net that reaches an input port in this cycle.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    net: u32,
    next: u32,
    port: u16,
}

/// A sent message, as observers see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent<M> {
    pub(crate) model: u32,
    /// The output port's number.
    pub port: u16,
    /// The value, before any translation.
    pub value: M,
}

/// All messages of one cycle. Buffers keep their capacity: no allocation in steady state.
pub(crate) struct Bus<M> {
    arena: Vec<Envelope<M>>,
    chains: Vec<Chain>,
    active: Vec<u32>,
    deliveries: Vec<Delivery>,
    /// First delivery per model; one more for the outside.
    inbox: Vec<u32>,
    /// Models that receive something, in the order in which they were reached.
    pub influenced: Vec<u32>,
    /// Digest of each imminent model's outputs, in their order.
    pub out_sums: Vec<u64>,
    /// What was sent, kept for observers only.
    pub log: Vec<Sent<M>>,
    pub keep_log: bool,
    merged: Vec<(u16, u32)>,
    nets: usize,
    /// Seed by which `--ties` permutes bags.
    pub ties: Option<u64>,
    /// A send to a port that its model does not have: (model, port).
    pub bad_port: Option<(u32, u16)>,
}

impl<M: Message> Bus<M> {
    pub fn new(network: &Network<M>) -> Self {
        Self {
            arena: Vec::new(),
            chains: vec![EMPTY; network.nets()],
            active: Vec::new(),
            deliveries: Vec::new(),
            inbox: vec![NONE; network.models as usize + 1],
            influenced: Vec::new(),
            out_sums: Vec::new(),
            log: Vec::new(),
            keep_log: false,
            merged: Vec::new(),
            nets: network.nets(),
            ties: None,
            bad_port: None,
        }
    }

    /// Puts a message into a net and, with the first one, reaches the net's receivers.
    #[inline]
    fn post(&mut self, network: &Network<M>, net: u32, digest: u64, envelope: Envelope<M>) {
        let at = self.arena.len() as u32;
        self.arena.push(envelope);
        let chain = &mut self.chains[net as usize];
        chain.sum = chain.sum.wrapping_add(digest);
        chain.len += 1;
        if chain.tail != NONE {
            self.arena[chain.tail as usize].next = at;
            chain.tail = at;
            return;
        }
        chain.head = at;
        chain.tail = at;
        self.active.push(net);
        for r in network.receivers(net) {
            self.deliver(network.models, net, r.model, r.port);
        }
    }

    #[inline]
    fn deliver(&mut self, outside: u32, net: u32, model: u32, port: u16) {
        let inbox = &mut self.inbox[model as usize];
        if *inbox == NONE && model != outside {
            self.influenced.push(model);
        }
        self.deliveries.push(Delivery { net, next: *inbox, port });
        *inbox = self.deliveries.len() as u32 - 1;
    }

    /// A message from outside straight to an input port, over a net of its own.
    pub fn inject(&mut self, network: &Network<M>, model: u32, port: u16, number: u32, value: M) {
        let net = self.chains.len() as u32;
        let digest = fold(digest_of(&value), u64::from(number));
        let at = self.arena.len() as u32;
        self.arena.push(Envelope {
            value,
            source: network.models,
            emission: number,
            next: NONE,
            port: 0,
        });
        self.chains.push(Chain { head: at, tail: at, len: 1, sum: digest });
        self.deliver(network.models, net, model, port);
    }

    /// True when `model` receives something in this cycle.
    #[inline]
    pub fn reaches(&self, model: u32) -> bool {
        self.inbox[model as usize] != NONE
    }

    /// The bag of `model`, and its digest.
    #[inline]
    pub fn bag(&mut self, network: &Network<M>, model: u32, tag: Tag) -> (Bag<'_, M>, u64) {
        let first = self.deliveries[self.inbox[model as usize] as usize];
        let simple = first.next == NONE && self.ties.is_none();
        if simple && (first.net as usize >= self.nets || !network.mixed[first.net as usize]) {
            let chain = self.chains[first.net as usize];
            let parts = Parts::Chain { port: first.port, head: chain.head, len: chain.len };
            return (Bag { arena: &self.arena, parts }, port_sum(chain.sum, first.port));
        }
        self.merge(model, tag)
    }

    #[inline(never)]
    fn merge(&mut self, model: u32, tag: Tag) -> (Bag<'_, M>, u64) {
        let mut sum = 0u64;
        let mut nets: Vec<(u16, u32)> = Vec::new();
        let mut at = self.inbox[model as usize];
        while at != NONE {
            let d = self.deliveries[at as usize];
            nets.push((d.port, d.net));
            at = d.next;
        }
        self.merged.clear();
        for (port, net) in nets {
            let chain = self.chains[net as usize];
            sum = sum.wrapping_add(port_sum(chain.sum, port));
            let mut at = chain.head;
            while at != NONE {
                self.merged.push((port, at));
                at = self.arena[at as usize].next;
            }
        }
        let arena = &self.arena;
        if let Some(seed) = self.ties {
            let start =
                fold(fold(seed, u64::from(model)), fold(tag.ticks as u64, tag.micro.into()));
            self.merged.sort_by_key(|&(port, at)| (port, fold(start, at.into())));
        } else {
            // Messages of one emission lie in the arena in route order.
            self.merged.sort_unstable_by_key(|&(port, at)| {
                let e = &arena[at as usize];
                (port, e.source, e.port, e.emission, at)
            });
        }
        (Bag { arena, parts: Parts::Merged(&self.merged) }, sum)
    }

    /// What reached the outside: (output port of the root, value).
    pub fn outside(&mut self, network: &Network<M>, tag: Tag) -> Option<Bag<'_, M>> {
        let model = network.models;
        if self.reaches(model) { Some(self.bag(network, model, tag).0) } else { None }
    }

    /// Forgets the cycle.
    pub fn clear(&mut self, outside: u32) {
        self.arena.clear();
        self.deliveries.clear();
        for net in self.active.drain(..) {
            self.chains[net as usize] = EMPTY;
        }
        self.chains.truncate(self.nets);
        for m in self.influenced.drain(..) {
            self.inbox[m as usize] = NONE;
        }
        self.inbox[outside as usize] = NONE;
        self.out_sums.clear();
        self.log.clear();
    }
}

/// Weighs a digest by the destination port; linear, so that sums of nets add up.
#[inline(always)]
fn port_sum(sum: u64, port: u16) -> u64 {
    sum.wrapping_mul(u64::from(port).wrapping_mul(0x6A09_E667_F3BC_C908) ^ 0xBB67_AE85_84CA_A73B)
}

/// The way out of a model's output function.
pub struct Outbox<'a, M: Message> {
    pub(crate) bus: &'a mut Bus<M>,
    pub(crate) network: &'a Network<M>,
    pub(crate) source: u32,
    pub(crate) path: u64,
    pub(crate) emission: u32,
    pub(crate) sum: u64,
    pub(crate) now: Tag,
    pub(crate) resolution: Resolution,
}

impl<M: Message> std::fmt::Debug for Outbox<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outbox(model {}, {} sent)", self.source, self.emission)
    }
}

impl<M: Message> Outbox<'_, M> {
    /// The tag of this cycle.
    pub fn now(&self) -> Tag {
        self.now
    }

    /// The resolution of the run.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Sends a value over an output port. A model may send any number of values per call; each
    /// is a message of its own in the receivers' bags.
    #[inline]
    pub fn send<T: Payload<M>>(&mut self, port: OutPort<T>, value: T) {
        let value = value.wrap();
        let port = port.index();
        let emission = self.emission;
        self.emission += 1;
        let identity = fold(self.path, u64::from(port) << 32 | u64::from(emission));
        let digest = fold(digest_of(&value), identity);
        self.sum = self.sum.wrapping_add(digest);
        if self.bus.keep_log {
            self.bus.log.push(Sent { model: self.source, port, value: value.clone() });
        }
        let network = self.network;
        let first = (network.ports[self.source as usize] + u32::from(port)) as usize;
        if first >= network.ports[self.source as usize + 1] as usize {
            self.bus.bad_port.get_or_insert((self.source, port));
            return;
        }
        let (start, end) = (network.route_start[first], network.route_start[first + 1]);
        let routes = &network.routes[start as usize..end as usize];
        let source = self.source;
        let envelope = |value| Envelope { value, source, emission, next: NONE, port };
        let Some((last, rest)) = routes.split_last() else { return };
        for r in rest {
            if r.z == NONE {
                self.bus.post(network, r.net, digest, envelope(value.clone()));
            } else if let Some(v) = (network.translations[r.z as usize].apply)(&value) {
                self.bus.post(network, r.net, fold(digest_of(&v), identity), envelope(v));
            }
        }
        if last.z == NONE {
            self.bus.post(network, last.net, digest, envelope(value));
        } else if let Some(v) = (network.translations[last.z as usize].apply)(&value) {
            self.bus.post(network, last.net, fold(digest_of(&v), identity), envelope(v));
        }
    }
}
