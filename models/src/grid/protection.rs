//! Frequency control over a packet network: senders of reports, the centre for under-frequency
//! load shedding (UFLS), the centre for automatic generation control (AGC).
//!
//! Addresses: the centre has one, load buses have their bus number, machines their bus number plus
//! an offset. What a packet means is its code ([`REPORT`] and so on).
use super::{
    host::{Application, Host, Outgoing},
    machines::{Machines, Plan},
    powersystem::{load_buses, machines_of, read_case, unsolved},
};
use crate::{
    blocks::events::number,
    kinds::{
        ParamType, ValueType,
        feed_through::{FeedThrough, Passing},
        params::{Reader, needed, with},
        ports::{event, happened, ports},
    },
    signal::value::{Packet, Value, each_in_order, refused},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use superdense_kernel::{Bag, Component, Effects, EventKind, port::InPort};

/// A machine's frequency fell below the threshold of this number.
const REPORT: u32 = 1;
/// A speed deviation per unit.
pub(crate) const MEASUREMENT: u32 = 2;
/// Shed this share of the initial load.
const SHED: u32 = 3;
/// A new reference power per unit.
const REFERENCE: u32 = 4;

const PACKETS: InPort<Packet> = InPort::new(0);
const TRIPPED: u16 = 1;

/// The packets of a code, in the order in which they queue up.
fn heard(
    bag: &Bag<'_, Value>,
    code: u32,
    fx: &mut Effects<Value>,
) -> impl Iterator<Item = Packet> + use<> {
    let mut all = Vec::new();
    let other = each_in_order(bag, PACKETS, Packet::key, |&packet| all.push(packet));
    refused::<Packet>(other, || "in".into(), fx);
    all.into_iter().filter(move |p| p.code == code)
}

/// Puts values into packets. Input 0: values.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sender {
    to: u32,
}

impl Application for Sender {
    const INPUTS: u16 = 1;

    fn hear(&mut self, bag: &Bag<'_, Value>, out: &mut Outgoing, fx: &mut Effects<Value>) {
        for (_, value) in bag.iter() {
            match value.as_real() {
                Some(x) => out.send(self.to, x, fx.now().ticks),
                None => fx.fail(format!("a packet can carry a number, not {value}")),
            }
        }
    }
}

unit_kind! {
    /// `datagram`: puts the value of each event into a packet. Input `in` (numbers), output `out`
    /// (packets), one micro-step later.
    ///
    /// ```toml
    /// [unit.sensor]
    /// kind = "datagram"
    /// address = 130
    /// to = 0
    /// code = 1
    /// ```
    Datagram = "datagram", "puts values into packets",
    params: [
        with("address", ParamType::Int, "0", "own address"),
        with("to", ParamType::Int, "0", "address of the destination"),
        with("code", ParamType::Int, "0", "what the value means"),
        with("bytes", ParamType::Bytes, "64", "length with all headers"),
    ],
    ports: |_| Ok(ports([event("in", ValueType::Any)], [event("out", ValueType::Packet)])),
    feed_through: |_, _| FeedThrough::All(Passing::Always),
    build: |params, _| {
        let mut r = Reader::new(params);
        let address = |r: &mut Reader<'_>, name| r.int(name, 0, u32::MAX.into()) as u32;
        let (source, code) = (address(&mut r, "address"), address(&mut r, "code"));
        let bits = 8 * r.int("bytes", 0, 1 << 24) as u32;
        let to = address(&mut r, "to");
        r.finish(Component::atomic(Host::new(Sender { to }, Outgoing::new(source, code, bits))))
    },
}

/// Arms a stage when enough machines report it, and sheds. Input 0: packets.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ufls {
    needed: usize,
    share: f64,
    loads: Vec<u32>,
    /// Per stage: the machines that reported it.
    reports: BTreeMap<u32, BTreeSet<u32>>,
}

impl Application for Ufls {
    const INPUTS: u16 = 1;

    fn hear(&mut self, bag: &Bag<'_, Value>, out: &mut Outgoing, fx: &mut Effects<Value>) {
        for packet in heard(bag, REPORT, fx) {
            let stage = packet.value as u32;
            let machines = self.reports.entry(stage).or_default();
            if machines.insert(packet.source) && machines.len() == self.needed {
                happened(fx, &format!("arm {stage}"), EventKind::Private);
                for bus in &self.loads {
                    out.send(*bus, self.share, fx.now().ticks);
                }
            }
        }
    }
}

unit_kind! {
    /// `ufls-centre`: under-frequency load shedding. Input `in` (packets; those with code 1 count),
    /// output `out` (packets). When `reports` distinct machines have reported a stage, it is armed
    /// once, and every load bus is told to shed `share` of its initial load.
    ///
    /// ```toml
    /// [unit.ufls]
    /// kind = "ufls-centre"
    /// network = "ieee39.json"
    /// reports = 3
    /// share = 0.07
    /// ```
    UflsCentre = "ufls-centre", "sheds load when enough machines report low frequency",
    params: [
        needed("network", ParamType::File, "network, for the load buses"),
        with("reports", ParamType::Int, "3", "distinct reports that arm a stage"),
        with("share", ParamType::Real(None), "0.07", "share of the initial load that is shed"),
        with("address", ParamType::Int, "0", "own address"),
        with("bytes", ParamType::Bytes, "64", "length of a command with all headers"),
    ],
    ports: |_| Ok(ports([event("in", ValueType::Packet)], [event("out", ValueType::Packet)])),
    build: |params, context| {
        let case = read_case(params, context.folder)?;
        let mut r = Reader::new(params);
        let share = params.real("share");
        let ok = (0.0..=1.0).contains(&share);
        r.check(ok, "share", format!("`share` is {share}"), "give a share from 0 to 1");
        let source = r.int("address", 0, u32::MAX.into()) as u32;
        let bits = 8 * r.int("bytes", 0, 1 << 24) as u32;
        let needed = r.int("reports", 1, 1 << 20) as usize;
        let ufls = Ufls { needed, share, loads: load_buses(&case), reports: BTreeMap::new() };
        r.finish(Component::atomic(Host::new(ufls, Outgoing::new(source, SHED, bits))))
    },
}

/// A governed machine as the centre knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Governed {
    /// Place among the machines.
    place: usize,
    address: u32,
    rating: f64,
    power: f64,
    connected: bool,
}

/// Integrates the frequency deviation. Inputs: 0 packets, 1 places of tripped machines.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Agc {
    /// Gain times period divided by base power and droop.
    factor: f64,
    integral: f64,
    machines: Vec<Governed>,
}

impl Application for Agc {
    const INPUTS: u16 = 2;

    fn hear(&mut self, bag: &Bag<'_, Value>, out: &mut Outgoing, fx: &mut Effects<Value>) {
        for (_, value) in bag.iter().filter(|(port, _)| *port == TRIPPED) {
            let place = number(value, "tripped", fx);
            let gone = self.machines.iter_mut().filter(|m| m.place as f64 == place);
            gone.for_each(|m| m.connected = false);
        }
        for packet in heard(bag, MEASUREMENT, fx) {
            let rating: f64 = self.machines.iter().filter(|m| m.connected).map(|m| m.rating).sum();
            self.integral -= self.factor * rating * packet.value;
            happened(fx, "agc", EventKind::Private);
            for m in self.machines.iter().filter(|m| m.connected) {
                let reference = m.power + self.integral * m.rating / rating;
                out.send(m.address, reference, fx.now().ticks);
            }
        }
    }
}

unit_kind! {
    /// `agc-centre`: automatic generation control. Inputs `in` (packets; those with code 2 carry the
    /// speed deviation w), `tripped` (places of machines); output `out` (packets: new reference
    /// powers). At each measurement the integral falls by `gain`·`period`·B·w with
    /// B = ΣSn/S/R over the connected governed machines, which share it by their ratings.
    ///
    /// ```toml
    /// [unit.agc]
    /// kind = "agc-centre"
    /// network = "ieee39.json"
    /// governors = [30, 31, 32, 33]
    /// ```
    AgcCentre = "agc-centre", "automatic generation control",
    params: [
        needed("network", ParamType::File, "network with machine data"),
        needed("governors", ParamType::RealList, "buses whose machines have governors"),
        with("gain", ParamType::Real(None), "0.05", "integral gain per second"),
        with("period", ParamType::Duration, "4 s", "time between measurements"),
        with("address", ParamType::Int, "0", "own address"),
        with("offset", ParamType::Int, "100", "address of a machine minus its bus number"),
        with("bytes", ParamType::Bytes, "64", "length of a command with all headers"),
    ],
    ports: |_| Ok(ports(
        [event("in", ValueType::Packet), event("tripped", ValueType::Int).optional()],
        [event("out", ValueType::Packet)],
    )),
    build: |params, context| {
        let case = read_case(params, context.folder)?;
        let mut r = Reader::new(params);
        let governed = machines_of(&mut r, params, "governors", &case);
        let offset = r.int("offset", 0, 1 << 30) as u32;
        let source = r.int("address", 0, u32::MAX.into()) as u32;
        let bits = 8 * r.int("bytes", 0, 1 << 24) as u32;
        let (gain, period) = (r.finite("gain"), context.resolution.seconds(r.span("period")));
        r.finish(())?;
        let plan = Plan { governed: vec![false; case.machines.len()], ..Plan::default() };
        let machines = Machines::new(&case, &plan).map_err(|why| unsolved(params, why))?;
        let missing = || unsolved(params, "the file has no `gov`");
        let droop = case.governor.ok_or_else(missing)?.droop;
        let governed = governed.into_iter().map(|place| Governed {
            place,
            address: offset + case.buses[case.machines[place].bus].id,
            rating: case.machines[place].rating,
            power: machines.powers()[place],
            connected: true,
        });
        let factor = gain * period / case.base / droop;
        let agc = Agc { factor, integral: 0.0, machines: governed.collect() };
        Ok(Component::atomic(Host::new(agc, Outgoing::new(source, REFERENCE, bits))))
    },
}
