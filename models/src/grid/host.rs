//! Common parts of senders and centres on a packet network: they hear something, and answer by
//! packets in the next micro-step.
use crate::signal::value::{Packet, Value};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use superdense_kernel::{Atomic, Bag, Effects, Outbox, port::OutPort, time::Duration};

/// Packets that wait for the next micro-step, with their sender's numbering.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Outgoing {
    template: Packet,
    packets: Vec<Packet>,
}

impl Outgoing {
    const OUT: OutPort<Packet, Self> = OutPort::new(0);

    /// None yet; all will have this source address, code and length in bits.
    pub(super) fn new(source: u32, code: u32, bits: u32) -> Self {
        let template = Packet { source, code, bits, ..Packet::default() };
        Self { template, packets: Vec::new() }
    }

    /// One more packet to an address, made at tick `now`.
    pub(super) fn send(&mut self, destination: u32, value: f64, now: i64) {
        self.template.id += 1;
        self.packets.push(Packet { created: now, destination, value, ..self.template });
    }
}

/// The program on a host.
pub(super) trait Application: Clone + Serialize + DeserializeOwned + Send + 'static {
    /// Number of input ports.
    const INPUTS: u16;

    /// Takes what came, and answers.
    fn hear(&mut self, bag: &Bag<'_, Value>, out: &mut Outgoing, fx: &mut Effects<Value>);
}

/// An application as a model. Output 0: packets.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Host<A: Application> {
    application: A,
    out: Outgoing,
}

impl<A: Application> Host<A> {
    /// A host that has heard nothing yet.
    pub(super) fn new(application: A, out: Outgoing) -> Self {
        Self { application, out }
    }
}

impl<A: Application> Atomic<Value> for Host<A> {
    fn inputs(&self) -> u16 {
        A::INPUTS
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        if self.out.packets.is_empty() { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        self.out.packets.iter().for_each(|&p| out.send(Outgoing::OUT, p));
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.out.packets.clear();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.application.hear(bag, &mut self.out, fx);
    }
}
