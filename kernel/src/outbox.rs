//! Sending: the output function's view of the wires.
use crate::{
    bag::{Envelope, NONE},
    bus::Bus,
    message::{Message, Payload, Sent, digest_of, identity},
    network::{Network, Route, Target, To},
    port::OutPort,
    time::{Resolution, Tag},
};

/// The way out of a model's output function.
pub struct Outbox<'a, M: Message> {
    bus: &'a mut Bus<M>,
    network: &'a Network<M>,
    source: u32,
    emission: u32,
    last_port: u16,
    sum: u64,
    now: Tag,
    resolution: Resolution,
}

impl<M: Message> std::fmt::Debug for Outbox<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outbox(model {}, {} sent)", self.source, self.emission)
    }
}

impl<'a, M: Message> Outbox<'a, M> {
    /// An outbox for several models in turn; until [`Outbox::of`] it is that of the outside.
    pub(crate) fn new(
        bus: &'a mut Bus<M>,
        network: &'a Network<M>,
        now: Tag,
        resolution: Resolution,
    ) -> Self {
        let source = network.models;
        Self { bus, network, source, emission: 0, last_port: 0, sum: 0, now, resolution }
    }

    /// Turns to the next model.
    #[inline(always)]
    pub(crate) fn of(&mut self, source: u32) {
        self.source = source;
        (self.emission, self.last_port, self.sum) = (0, 0, 0);
    }

    /// The digest of all that the model sent.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// The tag of this cycle.
    pub fn now(&self) -> Tag {
        self.now
    }

    /// The resolution of the run.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Sends a value over an output port. A model may send any number of values per call; each
    /// is a message of its own in the receivers' bags.
    // Always inlined: what is left here is short, and the outbox then stays in registers over a
    // run of models (a tenth of the instructions of DEVStone HI). The usual way makes no call that it
    // comes back from, so a model saves no registers for it (a twelfth).
    #[inline(always)]
    pub fn send<T: Payload<M>, A>(&mut self, port: OutPort<T, A>, value: T) {
        let value = value.wrap();
        let (port, emission) = (port.index(), self.emission);
        self.emission += 1;
        let Some(sender) = self.network.senders.get(self.source as usize) else { return };
        let identity = identity(sender.path, port, emission);
        let digest = digest_of(&value, identity);
        self.sum = self.sum.wrapping_add(digest);
        let source = self.source;
        let to = if port == 0 { sender.first } else { self.network.target(source, port) };
        if let To::Model(model) = to.decode()
            && port >= self.last_port
            && !self.bus.hears(source)
            && self.bus.has_room()
        {
            if port > 0 {
                self.last_port = port;
            }
            if !T::PLAIN {
                self.bus.owning = true;
            }
            let envelope = Envelope { value, source, emission, next: NONE, port };
            return self.bus.hand(model, digest, envelope);
        }
        // A message that nobody hears is in the trace all the same, but is carried nowhere.
        if to != Target::NOWHERE || self.bus.hears(source) {
            let envelope = Envelope { value, source, emission, next: NONE, port };
            self.carry(digest, identity, envelope);
        }
    }

    /// Sends a value from outside. One that reaches nobody takes no number, so that the digests of those
    /// after it are as if it had not come.
    pub(crate) fn send_in(&mut self, port: OutPort<M>, value: M) {
        let (messages, number) = (self.bus.messages(), self.emission);
        self.send(port, value);
        if self.bus.messages() == messages {
            self.emission = number;
        }
    }

    /// Sends what a model sent elsewhere, as it did; those of one model follow each other.
    pub(crate) fn repeat(&mut self, sent: Envelope<M>) {
        if sent.source != self.source {
            self.of(sent.source);
        }
        let path = self.network.senders[sent.source as usize].path;
        let identity = identity(path, sent.port, sent.emission);
        let digest = digest_of(&sent.value, identity);
        self.carry(digest, identity, sent);
    }

    /// Any other way of a message.
    #[inline(always)]
    fn carry(&mut self, digest: u64, identity: u64, envelope: Envelope<M>) {
        let port = envelope.port;
        if port != self.last_port {
            self.bus.disordered |= port < self.last_port;
            self.last_port = port;
        }
        // Not of the outbox, which would have to lie in memory all the time then.
        Carrier { bus: self.bus, network: self.network, now: self.now }
            .carry(digest, identity, envelope);
    }
}

/// The parts of an outbox that only unusual messages need.
struct Carrier<'a, M: Message> {
    bus: &'a mut Bus<M>,
    network: &'a Network<M>,
    now: Tag,
}

impl<M: Message> Carrier<'_, M> {
    #[inline(never)]
    fn carry(&mut self, digest: u64, identity: u64, envelope: Envelope<M>) {
        let (source, port) = (envelope.source, envelope.port);
        self.bus.owning = true;
        if self.bus.hears(source) {
            self.log(source, port, &envelope.value);
        }
        let to = self.network.target(source, port);
        match to.decode() {
            To::Model(model) => self.bus.hand(model, digest, envelope),
            To::Net(net) => self.bus.join(self.network, net, digest, envelope),
            To::Routes(_) if to == Target::NOWHERE => {}
            To::Routes(_) if to == Target::AWAY => self.bus.away.push((self.now, envelope)),
            To::Routes(_) if to == Target::MISSING => self.refuse(source, port),
            To::Routes(list) => self.spread(list, digest, identity, envelope),
        }
    }

    #[cold]
    fn log(&mut self, model: u32, port: u16, value: &M) {
        self.bus.log.push(Sent { model, port, value: value.clone() });
    }

    #[cold]
    fn refuse(&mut self, model: u32, port: u16) {
        self.bus.bad_port.get_or_insert((model, port));
    }

    /// Sends along no, several or translated routes.
    #[inline(never)]
    fn spread(&mut self, list: u32, digest: u64, identity: u64, envelope: Envelope<M>) {
        let network = self.network;
        for &Route { to, z } in network.routes_of(list) {
            let (digest, envelope) = if z == NONE {
                (digest, envelope.clone())
            } else {
                let translation = &network.translations[z as usize];
                let Some(value) = (translation.apply)(&envelope.value) else { continue };
                (digest_of(&value, identity), Envelope { value, ..envelope.clone() })
            };
            match to.decode() {
                To::Model(model) => self.bus.hand(model, digest, envelope),
                To::Net(net) => self.bus.join(network, net, digest, envelope),
                To::Routes(_) => {
                    debug_assert_eq!(to, Target::AWAY, "a route leads to a model, a net or away");
                    self.bus.away.push((self.now, envelope));
                }
            }
        }
    }
}
