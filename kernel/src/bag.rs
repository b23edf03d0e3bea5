//! Bags: what a model receives in one cycle, in the canonical order of rule R5.
use crate::{message::Payload, port::InPort};

/// No model, net or message.
pub(crate) const NONE: u32 = u32::MAX;

/// A message in the arena of the current cycle, chained to the next one of its net.
#[derive(Debug, Clone)]
pub(crate) struct Envelope<M> {
    pub value: M,
    pub source: u32,
    pub emission: u32,
    pub next: u32,
    pub port: u16,
}

/// The chain of one net, for one port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    pub port: u16,
    pub head: u32,
    pub tail: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Parts<'a> {
    /// Chains in canonical order, shared by all receivers of their nets.
    Chains(Slice, &'a [Slice]),
    /// Messages of several nets, merged: (destination port, arena index).
    Merged(&'a [(u16, u32)]),
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
    pub(crate) parts: Parts<'a>,
}

impl<'a, M> Bag<'a, M> {
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
        let (port, at) = match self.parts {
            Parts::Chains(first, _) => (first.port, first.head),
            Parts::Merged(_) => (0, 0),
        };
        Messages { arena: self.arena, parts: self.parts, port, at, left: self.len() }
    }

    /// The message of a bag that holds just one, as most do, with its input port number.
    #[inline]
    pub fn single(&self) -> Option<(u16, &'a M)> {
        if self.len != 1 {
            return None;
        }
        let (port, at) = match self.parts {
            Parts::Chains(first, _) => (first.port, first.head),
            Parts::Merged(list) => *list.first()?,
        };
        Some((port, &self.arena[at as usize].value))
    }

    /// The messages of one port.
    #[inline]
    pub fn on<T: Payload<M> + 'a>(
        &self,
        port: InPort<T>,
    ) -> impl Iterator<Item = &'a T> + use<'a, M, T> {
        let index = port.index();
        self.iter().filter(move |(p, _)| *p == index).filter_map(|(_, m)| T::unwrap(m))
    }
}

/// Iterator of [`Bag::iter`].
#[derive(Debug)]
pub struct Messages<'a, M> {
    arena: &'a [Envelope<M>],
    parts: Parts<'a>,
    port: u16,
    at: u32,
    left: usize,
}

impl<'a, M> Iterator for Messages<'a, M> {
    type Item = (u16, &'a M);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.parts {
            Parts::Chains(_, rest) => {
                let envelope = &self.arena[self.at as usize];
                let item = (self.port, &envelope.value);
                self.at = envelope.next;
                if self.at == NONE
                    && let Some((next, others)) = rest.split_first()
                {
                    (self.port, self.at, *rest) = (next.port, next.head, others);
                }
                Some(item)
            }
            Parts::Merged(list) => {
                let (port, index) = list[self.at as usize];
                self.at += 1;
                Some((port, &self.arena[index as usize].value))
            }
        }
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
