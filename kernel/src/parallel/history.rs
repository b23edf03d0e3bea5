//! What the units of a worker did and may have to undo.
//!
//! **Why one pool.** A history per unit lies as far apart as there are units, and each commit would
//! go through all that memory. Here records are numbers in one pool, chained by unit; a freed one
//! is the next to be used, so that as much memory is touched as there is uncommitted, and saved
//! states are written over instead of allocated.
use super::unit::{Clockwork, Sending, Unit};
use crate::{
    bag::NONE, effects::Fact, message::Message, outbox::Sent, slab::SavedState, time::Tag,
    trace::Kind,
};

/// An executed transition, or a batch of silent steps.
pub(crate) struct Record<M> {
    pub tag: Tag,
    /// An input up to here would have come before the end of it.
    pub until: Tag,
    /// The unit; [`NONE`] once it is undone.
    pub unit: u32,
    /// Messages in the bag.
    pub messages: u32,
    /// The unit's record before this one.
    pub earlier: u32,
    /// The unit's record after this one.
    pub later: u32,
    /// The kind of its unit.
    pub of: u16,
    /// `None` for silent steps.
    pub kind: Option<Kind>,
    /// The state before it is saved.
    pub is_saved: bool,
    /// That state, or one that is needed no more and may be written over.
    pub state: Option<SavedState>,
    pub before: Clockwork,
    pub sending: Option<Sending<M>>,
    pub told: Option<Box<Told<M>>>,
}

impl<M> Record<M> {
    fn blank() -> Self {
        let tag = Tag::NEVER;
        let before = Clockwork { last: 0, chain: 0, next: tag, located: (0, 0) };
        Self {
            tag,
            until: tag,
            unit: NONE,
            messages: 0,
            earlier: NONE,
            later: NONE,
            of: 0,
            kind: None,
            is_saved: false,
            state: None,
            before,
            sending: None,
            told: None,
        }
    }

    /// The state before it, if that is saved.
    pub fn saved(&self) -> Option<&SavedState> {
        self.state.as_ref().filter(|_| self.is_saved)
    }
}

/// What observers are told of a transition.
pub(crate) struct Told<M> {
    /// They want the transition, and not only the facts.
    pub heard: bool,
    pub bag: Vec<(u16, M)>,
    pub outputs: Vec<Sent<M>>,
    pub facts: Vec<Fact>,
    pub next: Tag,
}

/// All records of a worker.
pub(crate) struct History<M> {
    records: Vec<Record<M>>,
    /// Records to be used again, by kind of unit, so that a saved state fits over the old one.
    free: Vec<Vec<u32>>,
    /// Size of saved states, now and at most.
    pub saved: usize,
    pub peak: usize,
}

impl<M> std::ops::Index<u32> for History<M> {
    type Output = Record<M>;
    fn index(&self, record: u32) -> &Record<M> {
        &self.records[record as usize]
    }
}

impl<M> std::ops::IndexMut<u32> for History<M> {
    fn index_mut(&mut self, record: u32) -> &mut Record<M> {
        &mut self.records[record as usize]
    }
}

impl<M: Message> History<M> {
    /// An empty history of units of so many kinds.
    pub fn new(kinds: usize) -> Self {
        let free = (0..kinds).map(|_| Vec::new()).collect();
        Self { records: Vec::new(), free, saved: 0, peak: 0 }
    }

    /// A record for a unit of some kind, which belongs to nobody until it is [pushed](Self::push)
    /// or [freed](Self::free).
    #[inline]
    pub fn reserve(&mut self, kind: u16) -> u32 {
        if let Some(number) = self.free[kind as usize].pop() {
            return number;
        }
        self.records.push(Record { of: kind, ..Record::blank() });
        self.records.len() as u32 - 1
    }

    /// Notes that the state of a record was saved.
    #[inline]
    pub fn note_saved(&mut self, number: u32) {
        let record = &mut self.records[number as usize];
        record.is_saved = true;
        self.saved += record.state.as_ref().map_or(0, |state| size_of_val(&**state));
        self.peak = self.peak.max(self.saved);
    }

    /// Appends a reserved record to the history of a unit, to be filled in: one of silent steps, so
    /// far.
    #[inline]
    pub fn push(
        &mut self,
        number: u32,
        (u, unit): (u32, &mut Unit<M>),
        until: Tag,
        before: Clockwork,
    ) -> &mut Record<M> {
        match unit.last {
            NONE => unit.first = number,
            last => self[last].later = number,
        }
        let earlier = std::mem::replace(&mut unit.last, number);
        unit.until = until;
        // A free one holds nothing but an old state. Filled in place: it is some cache lines long.
        let record = &mut self[number];
        debug_assert!(record.sending.is_none() && record.told.is_none());
        (record.tag, record.until, record.unit) = (until, until, u);
        (record.kind, record.messages) = (None, 0);
        (record.earlier, record.later) = (earlier, NONE);
        record.before = before;
        record
    }

    /// The records of a unit from a given one on, in order.
    pub fn chain(&self, from: u32) -> impl Iterator<Item = u32> {
        let next = |&r: &u32| Some(self[r].later).filter(|&r| r != NONE);
        std::iter::successors(Some(from).filter(|&r| r != NONE), next)
    }

    /// The first record that an input at `tag` comes too late for; [`NONE`] when there is none.
    pub fn first_past(&self, unit: &Unit<M>, tag: Tag) -> u32 {
        let (mut first, mut at) = (NONE, unit.last);
        while at != NONE && self[at].until >= tag {
            (first, at) = (at, self[at].earlier);
        }
        first
    }

    /// The last record up to a given one, or up to the end for [`NONE`], with a saved state.
    pub fn last_saved(&self, unit: &Unit<M>, upto: u32) -> Option<u32> {
        let mut at = if upto == NONE { unit.last } else { upto };
        while at != NONE && !self[at].is_saved {
            at = self[at].earlier;
        }
        Some(at).filter(|&at| at != NONE)
    }

    /// Cuts off the last record of a unit. Its number lives on until it is [freed](Self::free).
    pub fn undo_last(&mut self, unit: &mut Unit<M>) -> (Tag, Option<Sending<M>>) {
        let last = unit.last;
        self.release(last);
        let record = &mut self[last];
        (record.unit, record.told) = (NONE, None);
        let (tag, sending) = (record.tag, record.sending.take());
        unit.last = record.earlier;
        unit.until = Tag::new(i64::MIN, 0);
        match unit.last {
            NONE => unit.first = NONE,
            last => {
                self[last].later = NONE;
                unit.until = self[last].until;
            }
        }
        (tag, sending)
    }

    /// A record may be used again: one that is undone, or was reserved in vain.
    #[inline]
    pub fn free(&mut self, record: u32) {
        self.release(record);
        let kind = self[record].of;
        self.free[kind as usize].push(record);
    }

    #[inline]
    fn release(&mut self, record: u32) {
        let record = &mut self.records[record as usize];
        if std::mem::take(&mut record.is_saved) {
            self.saved -= record.state.as_ref().map_or(0, |state| size_of_val(&**state));
        }
    }

    /// Drops what no rollback of the unit to `horizon` or later can need.
    #[inline]
    pub fn forget(&mut self, unit: &mut Unit<M>, horizon: Tag) {
        while unit.first != NONE {
            let first = unit.first;
            let Record { until, later, .. } = self[first];
            if until >= horizon {
                break;
            }
            if later != NONE && !self[later].is_saved && !self.is_bridged(later, horizon) {
                break;
            }
            let record = &mut self[first];
            if record.sending.is_some() {
                record.sending = None;
            }
            if record.told.is_some() {
                record.told = None;
            }
            self.free(first);
            unit.first = later;
        }
        let first = match unit.first {
            NONE => {
                unit.last = NONE;
                horizon
            }
            first => {
                let record = &mut self[first];
                record.earlier = NONE;
                record.tag
            }
        };
        while unit.done > 0 && unit.inputs.front().is_some_and(|p| p.tag < first) {
            unit.inputs.pop_front();
            unit.done -= 1;
        }
        if unit.inputs.is_empty() {
            // The next one comes to the start of the buffer, which is in a cache.
            unit.inputs.clear();
        }
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
