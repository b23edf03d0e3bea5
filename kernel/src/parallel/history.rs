//! Transitions of the units of a worker, which may have to be undone.
//!
//! **Why one pool.** A history per unit lies as far apart as there are units, and each commit would
//! go through all that memory. Here records are numbers in one pool, chained by unit; a freed one
//! is the next to be used, so that as much memory is touched as there is uncommitted, and saved
//! states are written over instead of allocated.
use super::{
    inputs::Inputs,
    unit::{Clockwork, Sending, Unit},
};
use crate::{
    bag::NONE,
    fact::Fact,
    message::{Message, Sent},
    slab::SavedState,
    time::Tag,
    trace::Kind,
};

/// An executed transition, or a batch of silent steps; two lines of a cache.
#[repr(align(64))]
pub(crate) struct Record<M> {
    /// An input up to here would have come before the end of it: the tag of a transition.
    pub until: Tag,
    pub before: Clockwork,
    /// The unit; [`NONE`] once it is undone, and while λ awaits its transition.
    pub unit: u32,
    /// The unit's record before this one.
    pub earlier: u32,
    /// The unit's record after this one.
    pub later: u32,
    /// The inputs that came for it.
    pub inputs: u32,
    /// Messages in the bag.
    pub messages: u32,
    /// To whom λ sent something, a chain of [`Receivers`].
    pub to: u32,
    /// Digest of all that λ sent, for the trace hash.
    pub sum: u64,
    /// The state before it, or one that is needed no more and may be written over.
    pub state: Option<SavedState>,
    pub told: Option<Box<Told<M>>>,
    /// The kind of its unit.
    pub of: u16,
    /// `None` for silent steps.
    pub kind: Option<Kind>,
    /// The state before it is saved.
    pub is_saved: bool,
}

impl<M> Record<M> {
    fn blank(of: u16) -> Self {
        let never = Tag::NEVER;
        Self {
            until: never,
            before: Clockwork { last: 0, chain: 0, next: never, located: (0, 0) },
            unit: NONE,
            earlier: NONE,
            later: NONE,
            inputs: NONE,
            messages: 0,
            to: NONE,
            sum: 0,
            state: None,
            told: None,
            of,
            kind: None,
            is_saved: false,
        }
    }

    /// Where it begins.
    pub(super) fn tag(&self) -> Tag {
        if self.kind.is_some() { self.until } else { self.before.next }
    }

    /// The state before it, if that is saved.
    pub(super) fn saved(&self) -> Option<&SavedState> {
        self.state.as_ref().filter(|_| self.is_saved)
    }
}

/// The part of a transition that observers are told.
pub(crate) struct Told<M> {
    /// They want the transition, and not only the facts.
    pub heard: bool,
    pub outputs: Vec<Sent<M>>,
    pub facts: Vec<Fact>,
    pub next: Tag,
}

impl<M> Default for Told<M> {
    fn default() -> Self {
        Self { heard: false, outputs: Vec::new(), facts: Vec::new(), next: Tag::NEVER }
    }
}

/// Who received something, and its digest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub dest: u32,
    next: u32,
    pub sum: u64,
}

/// Receivers of what was sent, in chains.
#[derive(Default)]
pub(crate) struct Receivers {
    all: Vec<Receiver>,
    free: Vec<u32>,
}

impl Receivers {
    /// Puts one before a chain.
    #[inline]
    pub(super) fn add(&mut self, chain: &mut u32, dest: u32, sum: u64) {
        let receiver = Receiver { dest, next: *chain, sum };
        *chain = if let Some(number) = self.free.pop() {
            self.all[number as usize] = receiver;
            number
        } else {
            self.all.push(receiver);
            self.all.len() as u32 - 1
        };
    }

    /// Takes the first one off a chain.
    #[inline]
    pub(super) fn pop(&mut self, chain: &mut u32) -> Option<Receiver> {
        let receiver = *self.all.get(*chain as usize)?;
        self.free.push(*chain);
        *chain = receiver.next;
        Some(receiver)
    }

    pub(super) fn holds(&self, chain: u32, dest: u32, sum: u64) -> bool {
        let mut at = chain;
        while let Some(r) = self.all.get(at as usize) {
            if (r.dest, r.sum) == (dest, sum) {
                return true;
            }
            at = r.next;
        }
        false
    }
}

/// All records of a worker.
pub(crate) struct History<M> {
    records: Vec<Record<M>>,
    /// Records to be used again, by kind of unit, so that a saved state fits over the old one.
    free: Vec<Vec<u32>>,
    pub receivers: Receivers,
    /// To be used again.
    #[expect(clippy::vec_box, reason = "records take them as they are")]
    told: Vec<Box<Told<M>>>,
    /// Size of saved states, now and at most.
    pub saved: usize,
    pub peak: usize,
}

impl<M> std::ops::Index<u32> for History<M> {
    type Output = Record<M>;
    #[inline(always)]
    fn index(&self, record: u32) -> &Record<M> {
        &self.records[record as usize]
    }
}

impl<M> std::ops::IndexMut<u32> for History<M> {
    #[inline(always)]
    fn index_mut(&mut self, record: u32) -> &mut Record<M> {
        &mut self.records[record as usize]
    }
}

impl<M: Message> History<M> {
    /// An empty history of units of so many kinds.
    pub(super) fn new(kinds: usize) -> Self {
        let free = (0..kinds).map(|_| Vec::new()).collect();
        let (records, receivers, told) = Default::default();
        Self { records, free, receivers, told, saved: 0, peak: 0 }
    }

    /// A record for a unit of some kind, which belongs to nobody until it is [pushed](Self::push)
    /// or [freed](Self::free). It holds nothing but an old state.
    #[inline]
    pub(super) fn reserve(&mut self, kind: u16) -> u32 {
        if let Some(number) = self.free[kind as usize].pop() {
            return number;
        }
        self.records.push(Record::blank(kind));
        self.records.len() as u32 - 1
    }

    /// Notes that the state of a record was saved.
    #[inline(always)]
    pub(super) fn note_saved(&mut self, number: u32) {
        let record = &mut self.records[number as usize];
        record.is_saved = true;
        self.saved += record.state.as_ref().map_or(0, |state| size_of_val(&**state));
        self.peak = self.peak.max(self.saved);
    }

    /// Appends a reserved record to the history of a unit.
    #[inline]
    pub(super) fn push(
        &mut self,
        number: u32,
        (u, unit): (u32, &mut Unit),
        until: Tag,
    ) -> &mut Record<M> {
        let earlier = std::mem::replace(&mut unit.last, number);
        match earlier {
            NONE => unit.first = number,
            last => self[last].later = number,
        }
        unit.until = until;
        // Filled in place: it is some cache lines long.
        let record = &mut self[number];
        (record.until, record.unit) = (until, u);
        (record.earlier, record.later) = (earlier, NONE);
        record
    }

    /// The records of a unit from a given one on, in order.
    pub(super) fn chain(&self, from: u32) -> impl Iterator<Item = u32> {
        let next = |&r: &u32| Some(self[r].later).filter(|&r| r != NONE);
        std::iter::successors(Some(from).filter(|&r| r != NONE), next)
    }

    /// The first record that an input at `tag` comes too late for; [`NONE`] when there is none.
    pub(super) fn first_past(&self, unit: &Unit, tag: Tag) -> u32 {
        let (mut first, mut at) = (NONE, unit.last);
        while at != NONE && self[at].until >= tag {
            (first, at) = (at, self[at].earlier);
        }
        first
    }

    /// The last record up to a given one, or up to the end for [`NONE`], with a saved state.
    pub(super) fn last_saved(&self, unit: &Unit, upto: u32) -> Option<u32> {
        let mut at = if upto == NONE { unit.last } else { upto };
        while at != NONE && !self[at].is_saved {
            at = self[at].earlier;
        }
        Some(at).filter(|&at| at != NONE)
    }

    /// The record of a unit's transition at `tag`.
    pub(super) fn at(&self, unit: &Unit, tag: Tag) -> Option<&Record<M>> {
        let mut at = unit.last;
        while at != NONE && self[at].until > tag {
            at = self[at].earlier;
        }
        let record = self.records.get(at as usize)?;
        (record.until == tag && record.kind.is_some()).then_some(record)
    }

    /// The part of a record that observers are told.
    pub(super) fn told(&mut self, number: u32) -> &mut Told<M> {
        let Self { records, told, .. } = self;
        let blank = || told.pop().unwrap_or_default();
        records[number as usize].told.get_or_insert_with(blank)
    }

    /// Keeps the memory of what was handed over.
    pub(super) fn put_away(&mut self, mut told: Box<Told<M>>) {
        told.heard = false;
        self.told.push(told);
    }

    /// Messages that the λ of an undone record sent.
    pub(super) fn withdraw(&mut self, number: u32) -> Sending {
        let record = &mut self[number];
        record.told = None;
        Sending { tag: record.until, to: std::mem::replace(&mut record.to, NONE) }
    }

    /// Messages of an undone λ that awaited its transition, with which its record is freed.
    pub(super) fn dismiss(&mut self, number: u32) -> Sending {
        let sending = self.withdraw(number);
        self.free(number);
        sending
    }

    /// The messages of an undone λ await its transition again, in a record of their own: the number
    /// of the old record lives on in the log.
    pub(super) fn hold_again(&mut self, number: u32) -> u32 {
        let record = &mut self[number];
        let (of, until, sum) = (record.of, record.until, record.sum);
        let (to, mut told) = (std::mem::replace(&mut record.to, NONE), record.told.take());
        // Messages of λ stay; the reports of the transition are undone with it.
        if let Some(told) = &mut told {
            told.facts.clear();
            told.heard = false;
        }
        let held = self.reserve(of);
        let record = &mut self[held];
        (record.until, record.sum, record.to, record.told) = (until, sum, to, told);
        held
    }

    /// Cuts off the last record of a unit. Its number lives on until it is [freed](Self::free).
    pub(super) fn undo_last(&mut self, unit: &mut Unit) -> &mut Record<M> {
        let last = unit.last;
        self.release(last);
        self[last].unit = NONE;
        unit.last = self[last].earlier;
        unit.until = Tag::new(i64::MIN, 0);
        match unit.last {
            NONE => unit.first = NONE,
            earlier => {
                self[earlier].later = NONE;
                unit.until = self[earlier].until;
            }
        }
        &mut self[last]
    }

    /// A record may be used again: one that is undone, or was reserved in vain.
    #[inline]
    pub(super) fn free(&mut self, record: u32) {
        self.release(record);
        let kind = self[record].of;
        self.free[kind as usize].push(record);
    }

    #[inline(always)]
    pub(super) fn release(&mut self, record: u32) {
        let record = &mut self.records[record as usize];
        if std::mem::take(&mut record.is_saved) {
            self.saved -= record.state.as_ref().map_or(0, |state| size_of_val(&**state));
        }
    }

    /// Drops what no rollback of the unit to `horizon` or later can need.
    pub(super) fn forget(&mut self, inputs: &mut Inputs<M>, unit: &mut Unit, horizon: Tag) {
        while unit.first != NONE && self[unit.first].until < horizon {
            if !self.forget_first(inputs, unit, horizon) {
                break;
            }
        }
    }

    /// Drops the first record of a unit, which ends before `horizon`, unless a rollback to there can
    /// need it.
    #[inline]
    pub(super) fn forget_first(
        &mut self,
        inputs: &mut Inputs<M>,
        unit: &mut Unit,
        horizon: Tag,
    ) -> bool {
        let (first, later) = (unit.first, self[unit.first].later);
        match later {
            NONE => unit.last = NONE,
            _ if self[later].is_saved || self.is_bridged(later, horizon) => {
                self[later].earlier = NONE;
            }
            _ => return false,
        }
        unit.first = later;
        let record = &mut self.records[first as usize];
        if record.told.is_some() {
            record.told = None;
        }
        inputs.free(std::mem::replace(&mut record.inputs, NONE));
        let mut to = std::mem::replace(&mut record.to, NONE);
        while self.receivers.pop(&mut to).is_some() {}
        self.free(first);
        true
    }

    /// Whether the state before every record from `horizon` on is saved at or after `from`.
    fn is_bridged(&self, from: u32, horizon: Tag) -> bool {
        let mut at = from;
        while at != NONE && !self[at].is_saved {
            if self[at].until >= horizon {
                return false;
            }
            at = self[at].later;
        }
        true
    }
}
