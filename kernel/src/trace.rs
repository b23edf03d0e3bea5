//! Observers, and the trace hash.
//!
//! **Trace hash, format 2.** Per model a chain over its transitions: tag, kind, digest of the bag
//! and digest of the outputs. Digests of bags and outputs are sums over messages, so they need no
//! order; NaN and zero are canonical. A link is one folded multiplication, of two words as in wyhash
//! (Wang Yi), and so is the digest of a message of one word: a message and the transitions at its two
//! ends cost three of them. The chains are combined in path order at the end. The hash
//! therefore is the same for every event list, declaration order, executor and thread count, and
//! does not depend on what is recorded.
//!
//! A model's outputs count also where nobody hears them: they are what the model did. An input from outside
//! counts with those whom it reaches. One that reaches nobody is in no bag, takes no number among the others,
//! and so leaves no mark.
use crate::{
    bag::Bag,
    fact::Fact,
    key::ModelKey,
    message::{Message, Sent, fold},
    time::Tag,
};
use serde::{Deserialize, Serialize};
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

/// The three transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// δint.
    Internal,
    /// δext.
    External,
    /// δconf.
    Confluent,
}

impl Kind {
    /// The transition of a model that is imminent or influenced, or both.
    #[inline(always)]
    pub(crate) const fn of(imminent: bool, influenced: bool) -> Self {
        match (imminent, influenced) {
            (_, false) => Self::Internal,
            (false, true) => Self::External,
            (true, true) => Self::Confluent,
        }
    }

    /// `INT`, `EXT` or `CONF`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "INT",
            Self::External => "EXT",
            Self::Confluent => "CONF",
        }
    }
}

/// One link of a model's chain.
#[inline(always)]
pub(crate) fn link(chain: u64, tag: Tag, kind: Kind, bag: u64, outputs: u64) -> u64 {
    // The tag's part is the same for all transitions of a cycle.
    let when = (tag.ticks as u64).rotate_left(20) ^ u64::from(tag.micro) << 2 ^ kind as u64;
    fold(chain ^ when, bag.rotate_left(32) ^ outputs)
}

/// A model as observers meet it: a stable key, and its path on request.
pub struct Site<'a> {
    pub(crate) key: ModelKey,
    pub(crate) path: &'a dyn Fn(ModelKey) -> String,
}

impl Site<'_> {
    /// A key that stays valid while the structure changes.
    pub fn key(&self) -> ModelKey {
        self.key
    }
    /// The hierarchical path; built on each call.
    pub fn path(&self) -> String {
        (self.path)(self.key)
    }
}

impl std::fmt::Debug for Site<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path())
    }
}

/// A committed transition.
#[derive(Debug)]
pub struct Transition<'a, M> {
    /// When.
    pub tag: Tag,
    /// Which of the three.
    pub kind: Kind,
    /// The received messages; `None` for an internal transition.
    pub bag: Option<Bag<'a, M>>,
    /// The messages that the model sent in this cycle: port and value, in order of emission.
    pub outputs: &'a [Sent<M>],
    /// When the model is due next; [`Tag::NEVER`] when passive.
    pub next: Tag,
}

/// An observer's answer: go on, or stop after this cycle for a reason.
pub type Verdict = ControlFlow<String>;

/// Is told what a run commits; holds no handle on the run and cannot change it.
///
/// Every method has a default that does nothing and lets the run go on.
pub trait Observer<M: Message>: Send {
    /// Whether [`Observer::transition`] wants to be called for a model (costs time per transition
    /// of that model). Asked when the observer is added, and again when the structure changed; the
    /// answer must not depend on what was told in between.
    fn wants_transitions(&self, model: ModelKey) -> bool {
        let _ = model;
        false
    }
    /// A model made a transition; in one cycle they come in path order.
    fn transition(&mut self, site: &Site<'_>, transition: &Transition<'_, M>) -> Verdict {
        let _ = (site, transition);
        Verdict::Continue(())
    }
    /// A model reported a fact.
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        let _ = (site, tag, fact);
        Verdict::Continue(())
    }
    /// The structure changed: a line that says what.
    fn structure(&mut self, tag: Tag, change: &str) -> Verdict {
        let _ = (tag, change);
        Verdict::Continue(())
    }
    /// Whether [`Observer::cycle`] is of use. Asked when the observer is added, and again when the
    /// structure changed; it is called unless it is of use to no observer. A run that nobody watches
    /// cycle by cycle goes on faster.
    fn wants_cycles(&self) -> bool {
        true
    }
    /// A cycle is committed.
    fn cycle(&mut self, tag: Tag) -> Verdict {
        let _ = tag;
        Verdict::Continue(())
    }
    /// The run was asked to stop.
    fn stop(&mut self, tag: Tag, reason: &str) {
        let _ = (tag, reason);
    }
}

/// Keep the other handle to read the observer after (or during) the run.
impl<M: Message, O: Observer<M>> Observer<M> for Arc<Mutex<O>> {
    fn wants_transitions(&self, model: ModelKey) -> bool {
        self.lock().is_ok_and(|o| o.wants_transitions(model))
    }
    fn transition(&mut self, site: &Site<'_>, t: &Transition<'_, M>) -> Verdict {
        self.lock().map_or(Verdict::Continue(()), |mut o| o.transition(site, t))
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        self.lock().map_or(Verdict::Continue(()), |mut o| o.fact(site, tag, fact))
    }
    fn structure(&mut self, tag: Tag, change: &str) -> Verdict {
        self.lock().map_or(Verdict::Continue(()), |mut o| o.structure(tag, change))
    }
    fn wants_cycles(&self) -> bool {
        self.lock().is_ok_and(|o| o.wants_cycles())
    }
    fn cycle(&mut self, tag: Tag) -> Verdict {
        self.lock().map_or(Verdict::Continue(()), |mut o| o.cycle(tag))
    }
    fn stop(&mut self, tag: Tag, reason: &str) {
        if let Ok(mut o) = self.lock() {
            o.stop(tag, reason);
        }
    }
}
