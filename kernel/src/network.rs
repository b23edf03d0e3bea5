//! The flat network: what couplings amount to once the hierarchy is gone.
use crate::coupled::Translation;

/// Where messages of an output port go.
///
/// **Why straight.** Most outputs reach the first input port of one model. That model's number is
/// all that sending needs then: no net, no list of receivers, no routes (in DEVStone HI half of
/// the network's memory).
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
    /// The empty list of routes: that of all ports that lead nowhere.
    pub const NOWHERE: Self = Self(SPREAD);

    pub fn model(model: u32) -> Self {
        Self(STRAIGHT | model)
    }
    pub fn net(net: u32) -> Self {
        Self(net)
    }
    pub fn routes(list: u32) -> Self {
        Self(SPREAD | list)
    }
    #[inline(always)]
    pub fn decode(self) -> To {
        let number = self.0 & !SPREAD;
        match self.0 & SPREAD {
            STRAIGHT => To::Model(number),
            SPREAD => To::Routes(number),
            _ => To::Net(number),
        }
    }
    /// A word that stands for it in a digest.
    pub fn word(self) -> u64 {
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

/// The flat network; model number `models` stands for the outside world.
pub(crate) struct Network<M> {
    pub models: u32,
    /// By model, and one more: where its output ports start in `targets`.
    pub ports: Vec<u32>,
    pub targets: Vec<Target>,
    /// By list of routes, and one more.
    pub route_start: Vec<u32>,
    pub routes: Vec<Route>,
    pub translations: Vec<Translation<M>>,
    /// By net, and one more.
    pub receiver_start: Vec<u32>,
    pub receivers: Vec<Receiver>,
}

impl<M> Network<M> {
    /// A list of routes.
    pub fn routes_of(&self, list: u32) -> &[Route] {
        let at = list as usize;
        &self.routes[self.route_start[at] as usize..self.route_start[at + 1] as usize]
    }
}
