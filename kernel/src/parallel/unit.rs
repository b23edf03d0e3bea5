//! One model as Time Warp knows it: what it received, what it did, and how to undo that.
use super::inputs::{Identity, Inputs, Queue};
use crate::{bag::NONE, time::Tag};
use smallvec::SmallVec;

/// Messages with destination ports; mostly a single one.
pub(crate) type Load<M> = SmallVec<[(u16, M); 1]>;

/// All messages of one λ for one receiver, or their cancellation, on the way to another worker.
///
/// **Identity.** Source, tag, receiver and the digest of the content: what a model sends at a tag
/// is a function of its state, so nothing that survives a rollback is needed to tell messages
/// apart, and deliveries may overtake each other.
#[derive(Debug, Clone)]
pub(crate) struct Packet<M> {
    /// Its digest is that of the content, as it enters the receiver's bag.
    pub identity: Identity,
    pub dest: u32,
    /// In canonical order, with destination ports; empty in an anti-message.
    pub load: Load<M>,
}

impl<M> Packet<M> {
    pub(super) fn is_anti(&self) -> bool {
        self.load.is_empty()
    }
}

/// Messages of an undone λ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub tag: Tag,
    /// Receivers and digests, for anti-messages; a chain of [`super::history::Receivers`].
    pub to: u32,
}

/// The kernel's data of a model beside its state, which a rollback brings back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clockwork {
    pub last: i64,
    pub chain: u64,
    /// Key of the next internal event; a silent step comes after all cycles of its tick.
    pub next: Tag,
    /// Its recent located events (guard R11(b)).
    pub located: (i64, u32),
}

impl Clockwork {
    /// Whether what is next is a silent step.
    #[inline(always)]
    pub(super) fn is_silent(&self) -> bool {
        self.next.micro == u32::MAX && self.next.ticks != i64::MAX
    }
}

/// One model with its inputs and the ends of its history; two lines of a cache.
#[repr(align(64))]
pub(crate) struct Unit {
    pub model: u32,
    pub slot: u32,
    pub clock: Clockwork,
    /// Inputs that await their transition.
    pub inputs: Queue,
    /// The ends of the chain of records, see [`super::history`].
    pub first: u32,
    pub last: u32,
    /// Where the last record ends.
    pub until: Tag,
    /// A record with what λ sent for the next internal event, if it was called already.
    pub held: u32,
    /// Transitions since the state was saved.
    pub unsaved: u32,
    /// Transitions, also those that were undone.
    pub load: u32,
    /// Data that most units never have.
    pub trouble: Option<Box<Trouble>>,
    pub kind: u16,
    /// Its state cannot be saved: it never runs ahead.
    pub irrevocable: bool,
}

/// Remains of a unit's rollbacks, and the reason that keeps it from going on.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// Lazy cancellation: what was sent before a rollback and may be sent again.
    pub stale: Vec<Sending>,
    /// Anti-messages that came before what they cancel.
    pub antis: Vec<Identity>,
    /// The event here must be left to the sequential executor.
    pub barrier: Option<Tag>,
    /// Rollbacks while GVT stood at `struck_at`.
    pub strikes: u32,
    pub struck_at: Tag,
    /// Transitions up to the last rollback.
    pub upto: u32,
}

/// Transitions without a rollback after which a unit counts as calm: the few that are then done again
/// are few among so many, however much work each is.
const CALM: u32 = 32;

impl Unit {
    pub(super) fn new(model: u32, kind: u16, slot: u32, clock: Clockwork) -> Self {
        Self {
            model,
            slot,
            kind,
            irrevocable: false,
            clock,
            inputs: Queue::default(),
            first: NONE,
            last: NONE,
            until: Tag::new(i64::MIN, 0),
            unsaved: 0,
            held: NONE,
            load: 0,
            trouble: None,
        }
    }

    pub(super) fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_with(|| {
            let (stale, antis, struck_at) = (Vec::new(), Vec::new(), Tag::NEVER);
            Box::new(Trouble { stale, antis, barrier: None, strikes: 0, struck_at, upto: 0 })
        })
    }

    /// Whether it has not gone back for some time.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.trouble.as_ref().is_none_or(|t| self.load.wrapping_sub(t.upto) >= CALM)
    }

    /// The event that must be left to the sequential executor.
    #[inline]
    pub(super) fn barrier(&self) -> Option<Tag> {
        self.trouble.as_ref().and_then(|t| t.barrier)
    }

    /// Whether it went back so often while GVT stood at `gvt`.
    #[inline]
    pub(super) fn is_struck(&self, patience: u32, gvt: Tag) -> bool {
        self.trouble.as_ref().is_some_and(|t| t.strikes >= patience && t.struck_at == gvt)
    }

    /// The tag of the next thing to do.
    #[inline(always)]
    pub(super) fn key<M>(&self, inputs: &Inputs<M>) -> Tag {
        inputs.next(self.inputs).map_or(self.clock.next, |tag| tag.min(self.clock.next))
    }

    /// Whether the anti-message of an input is here already, which annihilates both.
    #[inline]
    pub(super) fn annihilate(&mut self, identity: Identity) -> bool {
        let Some(trouble) = &mut self.trouble else {
            return false;
        };
        let at = trouble.antis.iter().position(|&a| a == identity);
        at.map(|at| trouble.antis.swap_remove(at)).is_some()
    }
}
