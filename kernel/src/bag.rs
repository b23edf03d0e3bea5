//! Bags: what a model receives in one cycle, in the canonical order of rule R5.
use crate::{message::Payload, port::InPort};
use serde::{Deserialize, Serialize};

/// No model, net or message.
pub(crate) const NONE: u32 = u32::MAX;

/// The end of a chain.
fn none() -> u32 {
    NONE
}

/// A message in the arena of the current cycle, chained to the next one of its net.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Envelope<M> {
    pub value: M,
    pub source: u32,
    pub emission: u32,
    /// Elsewhere it is in no chain.
    #[serde(skip, default = "none")]
    pub next: u32,
    pub port: u16,
}

/// A piece of a bag: messages for one port, chained from `head` to `tail`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    pub port: u16,
    pub head: u32,
    pub tail: u32,
}

impl Slice {
    /// A single message.
    pub(crate) fn one(port: u16, at: u32) -> Self {
        Self { port, head: at, tail: at }
    }
}

/// The messages that reach a model in one cycle, port by port.
///
/// A bag is a multiset: the kernel presents it in one canonical order (destination port, source
/// path, source port, emission, route) so that runs repeat exactly, and a model must not depend
/// on that order. `--ties` permutes it to find models that do.
#[derive(Debug, Clone, Copy)]
pub struct Bag<'a, M> {
    pub(crate) arena: &'a [Envelope<M>],
    pub(crate) len: u32,
    /// Chains in canonical order, shared by all receivers of their nets; single messages where
    /// chains overlap.
    pub(crate) first: Slice,
    pub(crate) rest: &'a [Slice],
}

impl<'a, M> Bag<'a, M> {
    /// The messages of these pieces, which are as many.
    pub(crate) fn of(arena: &'a [Envelope<M>], len: u32, pieces: &'a [Slice]) -> Self {
        let (first, rest) = match pieces {
            [first, rest @ ..] => (*first, rest),
            [] => (Slice::one(0, 0), pieces),
        };
        Self { arena, len, first, rest }
    }

    /// The number of messages on all ports.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True when there is no message (the kernel never delivers such a bag).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All messages with their input port numbers, in canonical order.
    #[inline]
    pub fn iter(&self) -> Messages<'a, M> {
        Messages { arena: self.arena, slice: self.first, rest: self.rest, left: self.len() }
    }

    /// The message of a bag that holds just one, as most do, with its input port number.
    #[inline]
    pub fn single(&self) -> Option<(u16, &'a M)> {
        if self.len != 1 {
            return None;
        }
        Some((self.first.port, &self.arena[self.first.head as usize].value))
    }

    /// The messages of one port.
    #[inline]
    pub fn on<T: Payload<M> + 'a, A>(
        &self,
        port: InPort<T, A>,
    ) -> impl Iterator<Item = &'a T> + use<'a, M, T, A> {
        let index = port.index();
        self.iter().filter(move |(p, _)| *p == index).filter_map(|(_, m)| T::unwrap(m))
    }
}

/// Iterator of [`Bag::iter`].
#[derive(Debug)]
pub struct Messages<'a, M> {
    arena: &'a [Envelope<M>],
    /// The piece of the next message, from that on.
    slice: Slice,
    rest: &'a [Slice],
    left: usize,
}

impl<'a, M> Iterator for Messages<'a, M> {
    type Item = (u16, &'a M);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let Slice { port, head, tail } = self.slice;
        let envelope = &self.arena[head as usize];
        if head != tail {
            self.slice.head = envelope.next;
        } else if let Some((&next, others)) = self.rest.split_first() {
            (self.slice, self.rest) = (next, others);
        }
        Some((port, &envelope.value))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
