//! One model as Time Warp knows it: what it received, what it did, and how to undo that.
use crate::{
    bag::{Bag, Envelope, NONE, Slice},
    message::Message,
    outbox::Sent,
    time::Tag,
};
use smallvec::SmallVec;
use std::{collections::VecDeque, ops::Range};

/// Messages with destination ports; mostly a single one.
pub(crate) type Load<M> = SmallVec<[(u16, M); 1]>;
/// Receivers, and digests of what each gets; mostly a single one.
pub(crate) type Receivers = SmallVec<[(u32, u64); 1]>;

/// All messages of one λ for one receiver, or their cancellation.
///
/// **Identity.** Source, tag, receiver and the digest of the content: what a model sends at a tag
/// is a function of its state, so nothing that survives a rollback is needed to tell messages
/// apart, and deliveries may overtake each other.
#[derive(Debug, Clone)]
pub(crate) struct Packet<M> {
    pub tag: Tag,
    pub source: u32,
    pub dest: u32,
    /// Digest of the content, as it enters the receiver's bag.
    pub sum: u64,
    /// In canonical order, with destination ports; empty in an anti-message.
    pub load: Load<M>,
}

impl<M> Packet<M> {
    pub fn is_anti(&self) -> bool {
        self.load.is_empty()
    }
}

/// What a λ sent: until the transition it is held with the model, then with its record.
#[derive(Debug)]
pub(crate) struct Sending<M> {
    pub tag: Tag,
    /// Digest of all, for the trace hash.
    pub sum: u64,
    /// Receivers and digests, for anti-messages.
    pub to: Receivers,
    /// For observers only.
    pub log: Option<Box<[Sent<M>]>>,
}

/// What the kernel keeps per model beside its state, and a rollback brings back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clockwork {
    pub last: i64,
    pub chain: u64,
    /// Key of the next internal event; a silent step comes after all cycles of its tick.
    pub next: Tag,
    /// Window start and count of located events (guard R11(b)).
    pub located: (i64, u32),
}

impl Clockwork {
    /// Whether what is next is a silent step.
    #[inline(always)]
    pub fn is_silent(&self) -> bool {
        self.next.micro == u32::MAX && self.next.ticks != i64::MAX
    }
}

/// One model with its inputs and the ends of its history.
pub(crate) struct Unit<M> {
    pub model: u32,
    pub slot: u32,
    pub kind: u16,
    /// Its state cannot be saved: it never runs ahead.
    pub irrevocable: bool,
    pub clock: Clockwork,
    /// By tag, then source.
    pub inputs: VecDeque<Packet<M>>,
    /// How many of them are executed.
    pub done: usize,
    /// The ends of the chain of records, see [`super::history`].
    pub first: u32,
    pub last: u32,
    /// Where the last record ends.
    pub until: Tag,
    /// Transitions since the state was saved.
    pub unsaved: u32,
    /// Save the state before every so many transitions.
    pub save_every: u32,
    /// Nothing comes late: one saved state since GVT is enough, for errors and stops.
    pub safe: bool,
    /// Up to where the last record goes whose state was saved.
    pub saved_at: Tag,
    /// λ was called for the next internal event already.
    pub held: Option<Sending<M>>,
    /// What most units never have.
    pub trouble: Option<Box<Trouble<M>>>,
}

/// What is left of a unit's rollbacks, and what keeps it from going on.
#[derive(Debug)]
pub(crate) struct Trouble<M> {
    /// Lazy cancellation: what was sent before a rollback and may be sent again.
    pub stale: Vec<Sending<M>>,
    /// Anti-messages that came before what they cancel.
    pub antis: Vec<(Tag, u32, u64)>,
    /// The event here must be left to the sequential executor.
    pub barrier: Option<Tag>,
    /// Rollbacks while GVT stood at `struck_at`.
    pub strikes: u32,
    pub struck_at: Tag,
}

impl<M: Message> Unit<M> {
    pub fn new(model: u32, kind: u16, slot: u32, clock: Clockwork) -> Self {
        Self {
            model,
            slot,
            kind,
            irrevocable: false,
            clock,
            inputs: VecDeque::new(),
            done: 0,
            first: NONE,
            last: NONE,
            until: Tag::new(i64::MIN, 0),
            unsaved: 0,
            save_every: 1,
            safe: false,
            saved_at: Tag::new(i64::MIN, 0),
            held: None,
            trouble: None,
        }
    }

    pub fn trouble(&mut self) -> &mut Trouble<M> {
        self.trouble.get_or_insert_with(|| {
            let (stale, antis, struck_at) = (Vec::new(), Vec::new(), Tag::NEVER);
            Box::new(Trouble { stale, antis, barrier: None, strikes: 0, struck_at })
        })
    }

    /// The event that must be left to the sequential executor.
    pub fn barrier(&self) -> Option<Tag> {
        self.trouble.as_ref().and_then(|t| t.barrier)
    }

    /// Whether it went back so often while GVT stood at `gvt`.
    pub fn is_struck(&self, patience: u32, gvt: Tag) -> bool {
        self.trouble.as_ref().is_some_and(|t| t.strikes >= patience && t.struck_at == gvt)
    }

    /// The tag of the next thing to do.
    #[inline]
    pub fn key(&self) -> Tag {
        self.inputs.get(self.done).map_or(self.clock.next, |p| p.tag.min(self.clock.next))
    }

    /// Whether an input at `tag` comes too late for what is executed: for a transition at `tag` or
    /// later, or for a λ after it that awaits its transition.
    #[inline]
    pub fn is_past(&self, tag: Tag) -> bool {
        tag <= self.until || self.held.as_ref().is_some_and(|h| tag < h.tag)
    }

    /// The range of the inputs at `tag`, executed or not.
    pub fn inputs_at(&self, tag: Tag) -> Range<usize> {
        let first = self.inputs.partition_point(|p| p.tag < tag);
        first..first + self.inputs.range(first..).take_while(|p| p.tag == tag).count()
    }

    /// The same for those not executed, of which none is earlier: their end, digest and number of
    /// messages.
    #[inline]
    pub fn due_at(&self, tag: Tag) -> (usize, u64, u32) {
        let (mut end, mut sum, mut messages) = (self.done, 0u64, 0);
        while let Some(packet) = self.inputs.get(end)
            && packet.tag == tag
        {
            sum = sum.wrapping_add(packet.sum);
            messages += packet.load.len() as u32;
            end += 1;
        }
        (end, sum, messages)
    }

    /// Whether the anti-message of an input is here already, which annihilates both.
    pub fn annihilate(&mut self, packet: &Packet<M>) -> bool {
        let Some(trouble) = &mut self.trouble else {
            return false;
        };
        let identity = (packet.tag, packet.source, packet.sum);
        let at = trouble.antis.iter().position(|&a| a == identity);
        at.map(|at| trouble.antis.swap_remove(at)).is_some()
    }

    /// Puts an input in its place among those not executed.
    #[inline]
    pub fn insert(&mut self, packet: Packet<M>) {
        let place = (packet.tag, packet.source);
        if self.inputs.back().is_none_or(|p| (p.tag, p.source) <= place) {
            return self.inputs.push_back(packet);
        }
        let at = self.inputs.partition_point(|p| (p.tag, p.source) <= place);
        self.inputs.insert(at, packet);
    }

    /// Where the input is that an anti-message cancels.
    pub fn find(&self, anti: &Packet<M>) -> Option<usize> {
        self.inputs_at(anti.tag)
            .find(|&i| (self.inputs[i].source, self.inputs[i].sum) == (anti.source, anti.sum))
    }
}

/// Buffers in which bags are put together.
pub(crate) struct Assembly<M> {
    arena: Vec<Envelope<M>>,
    pieces: Vec<Slice>,
}

impl<M: Message> Assembly<M> {
    pub fn new() -> Self {
        Self { arena: Vec::new(), pieces: Vec::new() }
    }

    /// The bag of these inputs of a unit, which are in the order of their sources (R5).
    #[inline]
    pub fn bag(&mut self, unit: &Unit<M>, inputs: Range<usize>) -> Bag<'_, M> {
        self.arena.clear();
        if inputs.len() == 1
            && let [(port, value)] = &unit.inputs[inputs.start].load[..]
        {
            let value = value.clone();
            self.arena.push(Envelope { value, source: 0, emission: 0, next: NONE, port: 0 });
            return Bag { arena: &self.arena, len: 1, first: Slice::one(*port, 0), rest: &[] };
        }
        self.merge(unit.inputs.range(inputs))
    }

    #[inline(never)]
    fn merge<'p>(&mut self, packets: impl Iterator<Item = &'p Packet<M>>) -> Bag<'_, M> {
        self.pieces.clear();
        for (port, value) in packets.flat_map(|packet| &packet.load) {
            let at = self.arena.len() as u32;
            let value = value.clone();
            self.arena.push(Envelope { value, source: 0, emission: at, next: NONE, port: 0 });
            self.pieces.push(Slice::one(*port, at));
        }
        self.pieces.sort_unstable_by_key(|s| (s.port, s.head));
        Bag::of(&self.arena, self.arena.len() as u32, &self.pieces)
    }
}
