//! The messages of one cycle: which nets carry something, and which models it reaches.
//!
//! # Why
//!
//! A large model is a sweep through memory, cycle after cycle, so this is laid out for few and
//! short passes. What belongs to a net, and what belongs to a receiver, is one record each.
//! A record is valid only while its `cycle` is the present one, so that nothing has to be visited
//! again to forget a cycle. An output that reaches the first input port of one model (the usual
//! case) needs no net: its messages are chained in the receiver's record.
use crate::{
    bag::{Bag, Envelope, NONE, Slice},
    message::{Message, Sent, digest_of, fold},
    network::Network,
    time::Tag,
};

/// A net's messages of this cycle: a chain in the arena.
#[derive(Debug, Clone, Copy)]
struct Net {
    cycle: u32,
    head: u32,
    tail: u32,
    len: u32,
    /// Sum of message digests; a sum, so that it does not depend on how messages meet.
    sum: u64,
    /// Where its receivers start in the network; they end where the next net's start.
    receivers: u32,
}

/// The messages for a model in this cycle: those that came straight to its first input port, and
/// where the list of the nets that reach it starts.
#[derive(Debug, Clone, Copy)]
struct Inbox {
    sum: u64,
    cycle: u32,
    head: u32,
    tail: u32,
    len: u32,
    nets: u32,
}

const EMPTY: Inbox = Inbox { sum: 0, cycle: 0, head: NONE, tail: NONE, len: 0, nets: NONE };

/// A net that reaches a model in this cycle.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    net: u32,
    next: u32,
    port: u16,
}

/// All messages of one cycle. Buffers keep their capacity: no allocation in steady state.
pub(crate) struct Bus<M> {
    arena: Vec<Envelope<M>>,
    /// By net; one more that only ends the receivers of the last; then nets of injections.
    nets: Vec<Net>,
    fixed: usize,
    /// By model; one more for the outside.
    inbox: Vec<Inbox>,
    deliveries: Vec<Delivery>,
    /// The number of the cycle, from 1; wraps.
    cycle: u32,
    /// Models that receive something, in the order in which they were reached.
    pub influenced: Vec<u32>,
    /// Messages that were sent, kept for observers only.
    pub log: Vec<Sent<M>>,
    /// By model: whether observers want to hear of it. Empty when there is none, so that models
    /// that nobody hears of cost one comparison.
    pub heard: Vec<bool>,
    slices: Vec<Slice>,
    merged: Vec<Slice>,
    /// Seed by which `--ties` permutes bags.
    ties: Option<u64>,
    /// The order of the arena is not that in which bags are shown: some model sent in another
    /// order than that of its ports, or there is a seed that permutes them.
    pub disordered: bool,
    /// Messages of the cycle may own memory.
    pub owning: bool,
    /// Messages that leave this part of a simulation, until they are taken.
    pub away: Vec<(Tag, Envelope<M>)>,
    /// A send to a port that its model does not have: (model, port).
    pub bad_port: Option<(u32, u16)>,
}

impl<M: Message> Bus<M> {
    pub(crate) fn new(network: &Network<M>, ties: Option<u64>) -> Self {
        let net = |&receivers| Net { cycle: 0, head: NONE, tail: NONE, len: 0, sum: 0, receivers };
        let nets: Vec<Net> = network.receiver_start.iter().map(net).collect();
        Self {
            arena: Vec::new(),
            fixed: nets.len(),
            nets,
            inbox: vec![EMPTY; network.models as usize + 1],
            deliveries: Vec::new(),
            cycle: 1,
            influenced: Vec::new(),
            log: Vec::new(),
            heard: Vec::new(),
            slices: Vec::new(),
            merged: Vec::new(),
            ties,
            disordered: ties.is_some(),
            owning: false,
            away: Vec::new(),
            bad_port: None,
        }
    }

    /// Fits the bus to another network; observers hear of no model yet.
    pub(crate) fn fit(&mut self, network: &Network<M>) {
        *self = Self::new(network, self.ties);
    }

    /// Whether observers want to hear of a model; never of the outside.
    #[inline(always)]
    pub(crate) fn hears(&self, model: u32) -> bool {
        self.heard.get(model as usize) == Some(&true)
    }

    /// Makes room for as many receivers.
    pub(crate) fn reserve(&mut self, models: usize) {
        self.influenced.reserve(models);
    }

    /// How many messages there are in this cycle.
    pub(crate) fn messages(&self) -> usize {
        self.arena.len()
    }

    /// Whether one more message finds room.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.arena.len() < self.arena.capacity()
    }

    #[inline(always)]
    fn influence(&mut self, model: u32) {
        // Asked for here, it is a jump to elsewhere instead of a call that comes back.
        if self.influenced.len() == self.influenced.capacity() {
            return self.influence_more(model);
        }
        self.influenced.push(model);
    }

    #[cold]
    #[inline(never)]
    fn influence_more(&mut self, model: u32) {
        self.influenced.push(model);
    }

    /// Hands a message to the first input port of a model, which is not the outside.
    #[inline(always)]
    pub(crate) fn hand(&mut self, model: u32, digest: u64, envelope: Envelope<M>) {
        let at = self.arena.len() as u32;
        self.arena.push(envelope);
        let cycle = self.cycle;
        let inbox = &mut self.inbox[model as usize];
        if inbox.cycle != cycle {
            *inbox = Inbox { sum: digest, cycle, head: at, tail: at, len: 1, nets: NONE };
            return self.influence(model);
        }
        match inbox.len {
            0 => inbox.head = at,
            _ => self.arena[inbox.tail as usize].next = at,
        }
        (inbox.tail, inbox.len, inbox.sum) = (at, inbox.len + 1, inbox.sum.wrapping_add(digest));
    }

    /// Puts a message into a net and, with the first one, reaches the net's receivers.
    #[inline(never)]
    pub(crate) fn join(
        &mut self,
        network: &Network<M>,
        net: u32,
        digest: u64,
        envelope: Envelope<M>,
    ) {
        let at = self.arena.len() as u32;
        self.arena.push(envelope);
        let [n, next] = &mut self.nets[net as usize..][..2] else { return };
        if n.cycle == self.cycle {
            self.arena[n.tail as usize].next = at;
            (n.tail, n.len, n.sum) = (at, n.len + 1, n.sum.wrapping_add(digest));
            return;
        }
        (n.cycle, n.head, n.tail, n.len, n.sum) = (self.cycle, at, at, 1, digest);
        for r in &network.receivers[n.receivers as usize..next.receivers as usize] {
            self.reach(network.models, net, r.model, r.port);
        }
    }

    #[inline(always)]
    fn reach(&mut self, outside: u32, net: u32, model: u32, port: u16) {
        let cycle = self.cycle;
        let inbox = &mut self.inbox[model as usize];
        if inbox.cycle != cycle {
            *inbox = Inbox { cycle, ..EMPTY };
            if model != outside {
                self.influenced.push(model);
            }
        }
        self.deliveries.push(Delivery { net, next: inbox.nets, port });
        inbox.nets = self.deliveries.len() as u32 - 1;
    }

    /// A message from outside straight to an input port, over a net of its own.
    pub(crate) fn inject(
        &mut self,
        network: &Network<M>,
        model: u32,
        port: u16,
        number: u32,
        value: M,
    ) {
        let net = self.nets.len() as u32;
        let sum = digest_of(&value, u64::from(number));
        let at = self.arena.len() as u32;
        // Messages that came through the root's ports have numbers of their own.
        self.disordered |= self.arena.last().is_some_and(|last| last.source == network.models);
        self.owning = true;
        self.arena.push(Envelope {
            value,
            source: network.models,
            emission: number,
            next: NONE,
            port: 0,
        });
        self.nets.push(Net { cycle: self.cycle, head: at, tail: at, len: 1, sum, receivers: 0 });
        self.reach(network.models, net, model, port);
    }

    /// The bag of `model`, which something reaches in this cycle, and its digest.
    #[inline(always)]
    pub(crate) fn bag(&mut self, model: u32, tag: Tag) -> (Bag<'_, M>, u64) {
        let Inbox { sum, head, tail, len, nets, .. } = self.inbox[model as usize];
        let (mut sum, mut len) = (port_sum(sum, 0), len);
        let (mut first, mut rest) = (Slice { port: 0, head, tail }, &[][..]);
        if nets != NONE || self.disordered {
            (sum, len) = self.merge(model, tag);
            (first, rest) = (self.slices[0], &self.slices[1..]);
        }
        // Put together in one place, so that it is not copied.
        (Bag { arena: &self.arena, len, first, rest }, sum)
    }

    /// Leaves the pieces of a bag that nets reach, or that is not in canonical order, in `slices`;
    /// its digest and number of messages.
    ///
    /// Chains are in the order of the arena, which is that of the sources; chains that do not
    /// overlap in it need no merge. So is the usual case of a fan-in from two levels.
    #[inline(never)]
    fn merge(&mut self, model: u32, tag: Tag) -> (u64, u32) {
        let inbox = self.inbox[model as usize];
        let (mut sum, mut len) = (port_sum(inbox.sum, 0), inbox.len);
        let slices = &mut self.slices;
        slices.clear();
        if len > 0 {
            slices.push(Slice { port: 0, head: inbox.head, tail: inbox.tail });
        }
        let mut at = inbox.nets;
        while at != NONE {
            let Delivery { net, next, port } = self.deliveries[at as usize];
            let n = &self.nets[net as usize];
            (sum, len) = (sum.wrapping_add(port_sum(n.sum, port)), len + n.len);
            slices.push(Slice { port, head: n.head, tail: n.tail });
            at = next;
        }
        if slices.len() > 1 {
            slices.sort_unstable_by_key(|s| (s.port, s.head));
        }
        let apart = |w: &[Slice]| w[0].port < w[1].port || w[0].tail < w[1].head;
        if !self.disordered && slices.windows(2).all(apart) {
            return (sum, len);
        }
        let (arena, merged) = (&self.arena, &mut self.merged);
        merged.clear();
        for &Slice { port, head, .. } in &*slices {
            let mut at = head;
            while at != NONE {
                merged.push(Slice::one(port, at));
                at = arena[at as usize].next;
            }
        }
        if let Some(seed) = self.ties {
            let start =
                fold(fold(seed, u64::from(model)), fold(tag.ticks as u64, tag.micro.into()));
            merged.sort_by_key(|s| (s.port, fold(start, s.head.into())));
        } else if self.disordered {
            // Messages of one emission lie in the arena in route order.
            merged.sort_unstable_by_key(|s| {
                let e = &arena[s.head as usize];
                (s.port, e.source, e.port, e.emission, s.head)
            });
        } else {
            merged.sort_unstable_by_key(|s| (s.port, s.head));
        }
        std::mem::swap(slices, merged);
        (sum, len)
    }

    /// Messages that reached the outside: (output port of the root, value).
    pub(crate) fn outside(&mut self, network: &Network<M>, tag: Tag) -> Option<Bag<'_, M>> {
        let reached = self.inbox[network.models as usize].cycle == self.cycle;
        reached.then(|| self.bag(network.models, tag).0)
    }

    /// Forgets the cycle.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        if !self.log.is_empty() {
            self.log.clear();
        }
        // Not only after messages: a translation may have dropped what came in disorder.
        self.disordered = self.ties.is_some();
        if self.arena.is_empty() {
            return;
        }
        if self.owning {
            self.owning = false;
            self.arena.clear();
        } else {
            while let Some(plain) = self.arena.pop() {
                std::mem::forget(plain);
            }
        }
        self.deliveries.clear();
        self.influenced.clear();
        self.nets.truncate(self.fixed);
        self.cycle = self.cycle.wrapping_add(1);
        if self.cycle == 0 {
            // Records of four billion cycles ago must not look new.
            self.nets.iter_mut().for_each(|n| n.cycle = 0);
            self.inbox.fill(EMPTY);
            self.cycle = 1;
        }
    }
}

/// Weighs a digest by the destination port; linear, so that sums of nets add up.
#[inline(always)]
fn port_sum(sum: u64, port: u16) -> u64 {
    sum.wrapping_mul(u64::from(port).wrapping_mul(0x6A09_E667_F3BC_C908) ^ 0xBB67_AE85_84CA_A73B)
}
