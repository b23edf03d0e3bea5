//! Transitions of which observers are still to be told.
//!
//! **Why lists.** Workers write this down and whoever commits reads it: a transition in memory of its
//! own, taken by one thread and given back by another, makes threads wait for each other in the
//! allocator, which took longer than the transition. Here each transition has its piece of a few
//! lists, which keep their memory.
use crate::{
    bag::{Bag, Envelope, NONE, Slice},
    fact::Fact,
    message::{Message, Sent},
    time::Tag,
    trace::{Kind, Transition},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A transition or a fact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub tag: Tag,
    pub model: u32,
    pub kind: Kind,
    /// Messages in the bag.
    pub messages: u32,
    /// When the model is due next, if observers want to hear of its transitions.
    pub next: Option<Tag>,
    bag: Range<u32>,
    outputs: Range<u32>,
    facts: Range<u32>,
}

impl Line {
    /// A transition of which observers hear nothing but the count.
    pub(super) fn new(tag: Tag, model: u32, kind: Kind, messages: u32) -> Self {
        Self { tag, model, kind, messages, next: None, bag: 0..0, outputs: 0..0, facts: 0..0 }
    }
}

/// Where a line stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub tag: Tag,
    pub model: u32,
    /// Whose ledger it is.
    pub of: u32,
    pub line: u32,
}

/// Transitions of one worker or part, in the order in which it made them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ledger<M> {
    lines: Vec<Line>,
    /// As bags show them: with destination ports.
    bags: Vec<Envelope<M>>,
    outputs: Vec<Sent<M>>,
    facts: Vec<Fact>,
    // Buffer.
    #[serde(skip)]
    pieces: Vec<Slice>,
}

impl<M> Default for Ledger<M> {
    fn default() -> Self {
        let (lines, bags, outputs, facts) = Default::default();
        Self { lines, bags, outputs, facts, pieces: Vec::new() }
    }
}

/// The numbers under which a list takes up some more.
fn extend<T>(list: &mut Vec<T>, with: impl IntoIterator<Item = T>) -> Range<u32> {
    let start = list.len() as u32;
    list.extend(with);
    start..list.len() as u32
}

fn piece<'a, T>(list: &'a [T], of: &Range<u32>) -> &'a [T] {
    &list[of.start as usize..of.end as usize]
}

impl<M: Message> Ledger<M> {
    /// A transition with what came in and what was sent, if `line` says when the model is due next,
    /// and facts.
    pub(super) fn add(
        &mut self,
        line: Line,
        bag: impl IntoIterator<Item = (u16, M)>,
        outputs: impl IntoIterator<Item = Sent<M>>,
        facts: impl IntoIterator<Item = Fact>,
    ) {
        let envelope = |(port, value)| Envelope { value, source: 0, emission: 0, next: NONE, port };
        let bag = extend(&mut self.bags, bag.into_iter().map(envelope));
        let outputs = extend(&mut self.outputs, outputs);
        let facts = extend(&mut self.facts, facts);
        self.lines.push(Line { bag, outputs, facts, ..line });
    }

    /// Sorts by tag and model; lines of one model stay in order.
    pub(super) fn sort(&mut self) {
        self.lines.sort_by_key(|line| (line.tag, line.model));
    }

    pub(super) fn line(&self, place: &Place) -> &Line {
        &self.lines[place.line as usize]
    }

    /// Where all lines stand, in the ledger of `of`.
    pub(super) fn places(&self, of: u32) -> impl Iterator<Item = Place> {
        let place = move |(line, l): (u32, &Line)| Place { tag: l.tag, model: l.model, of, line };
        (0..).zip(&self.lines).map(place)
    }

    pub(super) fn facts(&self, place: &Place) -> &[Fact] {
        piece(&self.facts, &self.line(place).facts)
    }

    /// A transition as observers meet it, if they want to.
    pub(super) fn transition(&mut self, place: &Place) -> Option<Transition<'_, M>> {
        let Self { lines, bags, outputs, pieces, .. } = self;
        let Line { tag, kind, next, ref bag, outputs: ref sent, .. } = lines[place.line as usize];
        let next = next?;
        pieces.clear();
        pieces.extend(bag.clone().map(|at| Slice::one(bags[at as usize].port, at)));
        pieces.sort_unstable_by_key(|piece| (piece.port, piece.head));
        let bag = Bag::of(bags, pieces.len() as u32, pieces);
        let bag = (kind != Kind::Internal).then_some(bag);
        Some(Transition { tag, kind, bag, outputs: piece(outputs, sent), next })
    }

    /// Forgets all lines.
    pub(super) fn clear(&mut self) {
        let Self { lines, bags, outputs, facts, .. } = self;
        lines.clear();
        bags.clear();
        outputs.clear();
        facts.clear();
    }
}
