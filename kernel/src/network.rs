//! The flat network: what couplings amount to once the hierarchy is gone.
use crate::translation::Translation;

/// Where messages of an output port go.
///
/// **Why straight.** Most outputs reach the first input port of one model (not the outside). That
/// model's number is all that sending needs then: no net, no list of receivers, no routes (in
/// DEVStone HI half of the network's memory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target(u32);

const STRAIGHT: u32 = 1 << 31;
const SPREAD: u32 = 3 << 30;

/// A target, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// The first input port of a model.
    Model(u32),
    /// All receivers of a net.
    Net(u32),
    /// No, several or translated routes: number of a list of [`Route`].
    Routes(u32),
}

impl Target {
    /// The empty list of routes: the target of all ports that lead nowhere.
    pub(crate) const NOWHERE: Self = Self(SPREAD);
    /// The target of a port that does not exist.
    pub(crate) const MISSING: Self = Self(u32::MAX);

    /// The target of a port of which other parts of the simulation hear.
    pub(crate) const AWAY: Self = Self(u32::MAX - 1);

    pub(crate) fn model(model: u32) -> Self {
        Self(STRAIGHT | model)
    }
    pub(crate) fn net(net: u32) -> Self {
        Self(net)
    }
    pub(crate) fn routes(list: u32) -> Self {
        Self(SPREAD | list)
    }
    #[inline(always)]
    pub(crate) fn decode(self) -> To {
        let number = self.0 & !SPREAD;
        match self.0 & SPREAD {
            STRAIGHT => To::Model(number),
            SPREAD => To::Routes(number),
            _ => To::Net(number),
        }
    }
    /// A word that stands for it in a digest.
    pub(crate) fn word(self) -> u64 {
        self.0.into()
    }
}

/// One of several ways from an output port, and its translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub to: Target,
    pub z: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receiver {
    pub model: u32,
    pub port: u16,
}

/// All that sending over a model's first output port needs of the model: one record, which is read
/// when something is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    /// Digest of the model's path.
    pub path: u64,
    /// Where the first output port leads.
    pub first: Target,
    /// Where the targets of the other ones start; they end where the next model's start.
    pub others: u32,
}

/// The flat network; model number `models` stands for the outside world.
pub(crate) struct Network<M> {
    pub models: u32,
    /// By model, the outside after them, and one more that only ends the ports of the outside.
    pub senders: Vec<Sender>,
    /// Of output ports but the first.
    pub others: Vec<Target>,
    /// By list of routes, and one more.
    pub route_start: Vec<u32>,
    pub routes: Vec<Route>,
    pub translations: Vec<Translation<M>>,
    /// By net, and one more.
    pub receiver_start: Vec<u32>,
    pub receivers: Vec<Receiver>,
}

impl<M> Network<M> {
    /// Where an output port of a model leads.
    #[inline]
    pub(crate) fn target(&self, model: u32, port: u16) -> Target {
        let [own, next, ..] = &self.senders[model as usize..] else { return Target::MISSING };
        let Some(other) = u32::from(port).checked_sub(1) else { return own.first };
        let other = self.others[..next.others as usize].get((own.others + other) as usize);
        other.copied().unwrap_or(Target::MISSING)
    }

    /// Where the output ports of a model lead.
    pub(crate) fn targets(&self, model: u32) -> impl Iterator<Item = Target> + '_ {
        let [own, next] = [0, 1].map(|k| self.senders[model as usize + k]);
        let others = &self.others[own.others as usize..next.others as usize];
        let first = Some(own.first).filter(|&first| first != Target::MISSING);
        first.into_iter().chain(others.iter().copied())
    }

    /// The output ports of a model that lead somewhere, and where.
    pub(crate) fn wired(&self, model: u32) -> impl Iterator<Item = (u16, To)> + '_ {
        let ports = (0..).zip(self.targets(model)).filter(|&(_, to)| to != Target::NOWHERE);
        ports.map(|(port, to)| (port, to.decode()))
    }

    /// Calls `f` with every model that a target reaches.
    pub(crate) fn reached(&self, to: To, f: &mut impl FnMut(u32)) {
        match to {
            To::Model(model) => f(model),
            To::Net(net) => self.receivers_of(net).iter().for_each(|r| f(r.model)),
            To::Routes(list) => {
                for route in self.routes_of(list) {
                    if !matches!(route.to.decode(), To::Routes(_)) {
                        self.reached(route.to.decode(), f);
                    }
                }
            }
        }
    }

    /// Whether a model can reach another one.
    pub(crate) fn talks(&self, model: u32) -> bool {
        let mut found = false;
        self.wired(model).for_each(|(_, to)| self.reached(to, &mut |_| found = true));
        found
    }

    /// The receivers of a net.
    pub(crate) fn receivers_of(&self, net: u32) -> &[Receiver] {
        let [from, end] = [0, 1].map(|k| self.receiver_start[net as usize + k] as usize);
        &self.receivers[from..end]
    }

    /// A list of routes.
    pub(crate) fn routes_of(&self, list: u32) -> &[Route] {
        let at = list as usize;
        &self.routes[self.route_start[at] as usize..self.route_start[at + 1] as usize]
    }
}
