//! Messages that the units of a worker received.
//!
//! **Why one pool.** A queue per unit lies as far apart as there are units. Here an input is a
//! number; the one freed last is the next to be used, so that as much memory is touched as there
//! are inputs that may still be needed. Messages lie there as bags show them: a bag is no copy.
use crate::{
    bag::{Bag, Envelope, NONE, Slice},
    time::Tag,
};

/// The identity of the messages that one λ sent to one unit: source, tag and digest, see
/// [`Packet`](super::unit::Packet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub tag: Tag,
    pub sum: u64,
    pub source: u32,
}

#[derive(Debug, Clone, Copy)]
struct Input {
    identity: Identity,
    /// The next one of its unit or record.
    next: u32,
    messages: u32,
}

/// Inputs of a unit that await their transition, by tag and source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

/// The inputs at the head of a queue that have one tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    /// The first one, or [`NONE`].
    pub head: u32,
    tail: u32,
    /// Digest of the bag, and its number of messages.
    pub sum: u64,
    pub messages: u32,
}

/// All inputs of a worker.
pub(crate) struct Inputs<M> {
    inputs: Vec<Input>,
    /// By number: the first message of an input, or one of those after it. Freed ones keep their
    /// value until they are used again.
    arena: Vec<Envelope<M>>,
    free: Vec<u32>,
    // Buffers.
    order: Vec<(u16, u32, u32)>,
    pieces: Vec<Slice>,
}

impl<M> Inputs<M> {
    pub(super) fn new() -> Self {
        let (inputs, arena, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { inputs, arena, free, order: Vec::new(), pieces: Vec::new() }
    }

    /// An input of one message for a destination port.
    #[inline]
    pub(super) fn single(&mut self, identity: Identity, port: u16, value: M) -> u32 {
        // The port of the destination stands where that of the source is on the bus.
        let envelope = Envelope { value, source: 0, emission: 0, next: NONE, port };
        let input = Input { identity, next: NONE, messages: 1 };
        if let Some(number) = self.free.pop() {
            self.arena[number as usize] = envelope;
            self.inputs[number as usize] = input;
            return number;
        }
        self.arena.push(envelope);
        self.inputs.push(input);
        self.arena.len() as u32 - 1
    }

    /// An input of messages in canonical order, with their destination ports; [`NONE`] for none.
    pub(super) fn several(
        &mut self,
        identity: Identity,
        load: impl IntoIterator<Item = (u16, M)>,
    ) -> u32 {
        let (mut first, mut last) = (NONE, NONE);
        for (port, value) in load {
            let number = self.single(identity, port, value);
            match last {
                NONE => first = number,
                last => {
                    self.arena[last as usize].next = number;
                    self.inputs[first as usize].messages += 1;
                }
            }
            last = number;
        }
        first
    }

    pub(super) fn identity(&self, input: u32) -> Identity {
        self.inputs[input as usize].identity
    }

    /// The numbers of a chain.
    fn chain(&self, head: u32) -> impl Iterator<Item = u32> {
        let some = |at: u32| Some(at).filter(|&at| at != NONE);
        std::iter::successors(some(head), move |&at| some(self.inputs[at as usize].next))
    }

    /// The messages of a chain with their destination ports, input by input.
    pub(super) fn messages(&self, head: u32) -> impl Iterator<Item = (u16, &M)> {
        let some = |at: u32| Some(at).filter(|&at| at != NONE);
        self.chain(head).flat_map(move |first| {
            let next = move |&at: &u32| some(self.arena[at as usize].next);
            std::iter::successors(some(first), next)
                .map(|at| (self.arena[at as usize].port, &self.arena[at as usize].value))
        })
    }

    /// The tag of the first input in a queue.
    #[inline(always)]
    pub(super) fn next(&self, queue: Queue) -> Option<Tag> {
        self.inputs.get(queue.head as usize).map(|input| input.identity.tag)
    }

    /// Puts an input in its place.
    #[inline]
    pub(super) fn insert(&mut self, queue: &mut Queue, number: u32) {
        if queue.head == NONE {
            *queue = Queue { head: number, tail: number };
            return;
        }
        let Identity { tag, source, .. } = self.identity(number);
        let after = |i: &Identity| (i.tag, i.source) > (tag, source);
        if !after(&self.identity(queue.tail)) {
            self.inputs[queue.tail as usize].next = number;
            queue.tail = number;
            return;
        }
        let (mut before, mut at) = (NONE, queue.head);
        while !after(&self.identity(at)) {
            (before, at) = (at, self.inputs[at as usize].next);
        }
        self.inputs[number as usize].next = at;
        match before {
            NONE => queue.head = number,
            before => self.inputs[before as usize].next = number,
        }
    }

    /// Puts back what a record had taken, which is earlier than all in the queue.
    pub(super) fn put_back(&mut self, queue: &mut Queue, head: u32) {
        let Some(tail) = self.chain(head).last() else { return };
        self.inputs[tail as usize].next = queue.head;
        if queue.head == NONE {
            queue.tail = tail;
        }
        queue.head = head;
    }

    /// The inputs at `tag`, of which none in the queue is earlier.
    #[inline]
    pub(super) fn due(&self, queue: Queue, tag: Tag) -> Due {
        let mut due = Due { head: NONE, tail: NONE, sum: 0, messages: 0 };
        let mut at = queue.head;
        while let Some(input) = self.inputs.get(at as usize)
            && input.identity.tag == tag
        {
            due.head = queue.head;
            due.tail = at;
            due.sum = due.sum.wrapping_add(input.identity.sum);
            due.messages += input.messages;
            at = input.next;
        }
        due
    }

    /// Takes them off.
    #[inline]
    pub(super) fn take(&mut self, queue: &mut Queue, due: &Due) {
        if let Some(last) = self.inputs.get_mut(due.tail as usize) {
            queue.head = std::mem::replace(&mut last.next, NONE);
        }
    }

    /// Whether a chain holds an input.
    pub(super) fn holds(&self, head: u32, identity: Identity) -> bool {
        self.chain(head).any(|at| self.identity(at) == identity)
    }

    /// Removes an input from a queue that holds it.
    pub(super) fn remove(&mut self, queue: &mut Queue, identity: Identity) {
        let mut before = NONE;
        let mut at = queue.head;
        while at != NONE && self.identity(at) != identity {
            (before, at) = (at, self.inputs[at as usize].next);
        }
        if at == NONE {
            return;
        }
        let next = std::mem::replace(&mut self.inputs[at as usize].next, NONE);
        match before {
            NONE => queue.head = next,
            before => self.inputs[before as usize].next = next,
        }
        if queue.tail == at {
            queue.tail = before;
        }
        self.free(at);
    }

    /// Frees a chain of inputs.
    #[inline]
    pub(super) fn free(&mut self, head: u32) {
        let mut at = head;
        while at != NONE {
            let mut message = at;
            let Input { next, messages, .. } = self.inputs[at as usize];
            self.free.push(message);
            for _ in 1..messages {
                message = self.arena[message as usize].next;
                self.free.push(message);
            }
            at = next;
        }
    }

    /// The bag of some inputs.
    #[inline]
    pub(super) fn bag(&mut self, due: &Due) -> Bag<'_, M> {
        if due.messages == 1 && due.head == due.tail {
            let port = self.arena[due.head as usize].port;
            let first = Slice::one(port, due.head);
            return Bag { arena: &self.arena, len: 1, first, rest: &[] };
        }
        self.merge(due)
    }

    /// Merges several messages, which are in the order of their sources (R5).
    #[inline(never)]
    fn merge(&mut self, due: &Due) -> Bag<'_, M> {
        self.order.clear();
        let mut at = due.head;
        loop {
            let mut message = at;
            while message != NONE {
                let Envelope { port, next, .. } = self.arena[message as usize];
                self.order.push((port, self.order.len() as u32, message));
                message = next;
            }
            if at == due.tail {
                break;
            }
            at = self.inputs[at as usize].next;
        }
        self.order.sort_unstable();
        self.pieces.clear();
        self.pieces.extend(self.order.iter().map(|&(port, _, message)| Slice::one(port, message)));
        Bag::of(&self.arena, self.pieces.len() as u32, &self.pieces)
    }

    /// The inputs of a record, which are all of one tag.
    pub(super) fn again(&self, head: u32) -> Due {
        match self.inputs.get(head as usize) {
            Some(input) => self.due(Queue { head, tail: NONE }, input.identity.tag),
            None => Due { head: NONE, tail: NONE, sum: 0, messages: 0 },
        }
    }
}
